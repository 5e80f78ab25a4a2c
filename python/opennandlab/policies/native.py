"""Policies that are called without the interpreter: their signature, and how it is checked.

In C:

    int64_t choose(uint64_t now, uint32_t die, uint32_t pages_per_block, uint32_t block_count,
                   const uint32_t *live, const uint32_t *erase_counts, const uint64_t *closed_at,
                   const int64_t *rank, const uint8_t *states);
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from opennandlab.base.errors import ConfigError

# As `numba.cfunc` takes it.
SIGNATURE = (
    "int64(uint64, uint32, uint32, uint32, CPointer(uint32), CPointer(uint32), "
    "CPointer(uint64), CPointer(int64), CPointer(uint8))"
)
# The same for a function of a library that ctypes has loaded.
FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_uint64,
    *[ctypes.c_uint32] * 3,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_uint8),
)
# What functions of ctypes are, whichever library they come from.
_Function: Any = FUNCTION.__mro__[1]


def address_of(thing: Any) -> int | None:  # noqa: ANN401 (anything may be handed over)
    """Return the address of a native function; None for what is none."""
    if isinstance(thing, type):
        return None
    if isinstance(thing, _Function):
        return ctypes.cast(thing, ctypes.c_void_p).value
    address = getattr(thing, "address", None)
    return address if isinstance(address, int) and not isinstance(address, bool) else None


def check(thing: Any, name: str) -> None:  # noqa: ANN401
    """Refuse a native function of another signature.

    Raises:
        ConfigError: with both signatures.
    """
    if isinstance(thing, _Function):
        kinds = (thing.restype, *(thing.argtypes or ()))
        wanted = (FUNCTION._restype_, *FUNCTION._argtypes_)
        if kinds == wanted:
            return
        found = f"{_name(kinds[0])}({', '.join(map(_name, kinds[1:]))})"
        accepted = f"{_name(wanted[0])}({', '.join(map(_name, wanted[1:]))})"
    else:
        if not address_of(thing):
            raise ConfigError("ftl.gc_policy", f"`{name}` has the address 0")
        signature = getattr(thing, "_sig", None)
        found, accepted = _of_numba(str(signature)), SIGNATURE
        if signature is None or found == accepted:
            return
    raise ConfigError("ftl.gc_policy", f"`{name}` has the signature {found}; accepted: {accepted}")


def _of_numba(signature: str) -> str:
    """Return how numba takes a signature that it prints.

    >>> _of_numba("(uint64, uint32*) -> int64")
    'int64(uint64, CPointer(uint32))'
    """
    turned = re.sub(r"^\((.*?),?\) -> (.*)$", r"\2(\1)", signature)
    return re.sub(r"(\w+)\*", r"CPointer(\1)", turned)


def _name(kind: Any) -> str:  # noqa: ANN401 (a type of ctypes, or None)
    return "none" if kind is None else str(kind.__name__)
