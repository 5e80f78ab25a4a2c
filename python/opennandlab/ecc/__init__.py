"""The ECC lab: codes on channels, how often they fail, and how fast they decode.

    import opennandlab as onl
    onl.ecc.llr_table(5e-3, reads=3).llrs
    onl.ecc.limits(0.9)["7"]
    onl.ecc.curve("bch:m=13,t=8,data_bits=4096", "bsc", [1e-3, 2e-3], errors=100)

    codes, channels, points    what is typed, checked
    bch, ldpc                  the codecs by themselves: bits in, bits out
    tables                     LLR tables and Shannon limits
    tally                      counts, and what follows from them
    engine, strata             frames over threads; where failures are too rare to be met by chance
    curves, comparing, timing  what can be asked
    container                  files of codewords

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opennandlab.ecc.bch import BchCode, Uncorrectable
    from opennandlab.ecc.channels import Channel
    from opennandlab.ecc.codes import Code, Decoder
    from opennandlab.ecc.comparing import UnlikeCodesError, compare
    from opennandlab.ecc.container import decode_file, encode_file
    from opennandlab.ecc.curves import Curve, CurveInterrupted, curve
    from opennandlab.ecc.figures import plot
    from opennandlab.ecc.ldpc import LdpcCode, LdpcWords
    from opennandlab.ecc.tables import LlrTable, limits, llr_table
    from opennandlab.ecc.timing import speed

# Public name -> the module that has it. One row makes a name public.
_HOMES = {
    "BchCode": "bch",
    "Channel": "channels",
    "Code": "codes",
    "Curve": "curves",
    "CurveInterrupted": "curves",
    "Decoder": "codes",
    "LdpcCode": "ldpc",
    "LdpcWords": "ldpc",
    "LlrTable": "tables",
    "Uncorrectable": "bch",
    "UnlikeCodesError": "comparing",
    "compare": "comparing",
    "curve": "curves",
    "decode_file": "container",
    "encode_file": "container",
    "limits": "tables",
    "llr_table": "tables",
    "plot": "figures",
    "speed": "timing",
}

__all__ = [
    "BchCode",
    "Channel",
    "Code",
    "Curve",
    "CurveInterrupted",
    "Decoder",
    "LdpcCode",
    "LdpcWords",
    "LlrTable",
    "Uncorrectable",
    "UnlikeCodesError",
    "compare",
    "curve",
    "decode_file",
    "encode_file",
    "limits",
    "llr_table",
    "plot",
    "speed",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `opennandlab.ecc` has no `{name}`")
    return getattr(import_module(f"opennandlab.ecc.{home}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
