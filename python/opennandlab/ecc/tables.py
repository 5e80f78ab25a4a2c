"""LLR tables of sensed cells, and the Shannon limits of a code rate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from opennandlab import _core
from opennandlab.base.frames import needed
from opennandlab.ecc.channels import Channel, check_rber

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True)
class LlrTable:
    """What each pattern of reads says about a bit.

    Args:
        document: As `ecc llr --json` prints it.
    """

    document: dict[str, Any]

    @property
    def thresholds(self) -> np.ndarray:
        """Voltages of the reads, `float64, (reads,)`, in units of half the distance of the states.

        Ascending; the state of bit 1 is at -1, that of bit 0 at +1.
        """
        return self._array("thresholds")

    @property
    def llrs(self) -> np.ndarray:
        """LLR of each bin, lowest voltage first, `float64, (reads + 1,)`; positive for bit 0."""
        return self._array("llrs")

    @property
    def probabilities(self) -> np.ndarray:
        """`P(bin | bit)`, as `float64, (2, reads + 1)`."""
        return self._array("probabilities")

    @property
    def mutual_information(self) -> float:
        """Information about a bit in its bin, bits."""
        return float(self.document["mutual_information"])

    @property
    def sigma(self) -> tuple[float, float]:
        """Widths of the states of bit 0 and bit 1, in units of half their distance."""
        zero, one = self.document["sigma"]
        return zero, one

    def _array(self, key: str) -> np.ndarray:
        import numpy as np

        return np.array(self.document[key], dtype=float)

    def rows(self) -> list[list[str]]:
        """Return the table as text: bin, from, to, LLR, P(bin | 0), P(bin | 1)."""
        edges = ["-inf", *(f"{value:+.4f}" for value in self.document["thresholds"]), "+inf"]
        zero, one = self.document["probabilities"]
        return [
            [
                str(place),
                edges[place],
                edges[place + 1],
                f"{llr:+.3f}",
                f"{zero[place]:.4e}",
                f"{one[place]:.4e}",
            ]
            for place, llr in enumerate(self.document["llrs"])
        ]

    def frame(self) -> pd.DataFrame:
        """Return one row for each bin: its edges, LLR and probabilities (needs pandas)."""
        import numpy as np

        with needed():
            import pandas as pd

        edges = [-np.inf, *self.thresholds, np.inf]
        zero, one = self.probabilities
        return pd.DataFrame(
            {"from": edges[:-1], "to": edges[1:], "llr": self.llrs, "p_if_0": zero, "p_if_1": one}
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(text)}</th>" for text in HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        return f"<table><tr>{head}</tr>{body}</table>"


HEAD = ("bin", "from", "to", "LLR", "P(bin | 0)", "P(bin | 1)")


def llr_table(  # noqa: PLR0913 - one argument for each thing that is to be chosen
    rber: float,
    reads: int = 3,
    *,
    thresholds: Sequence[float] | None = None,
    spacing: float | None = None,
    sigma_ratio: float = 1.0,
    llr_rber: float | None = None,
) -> LlrTable:
    """Return the LLR table of cells with this raw bit error rate.

    Two Gaussian states at +1 (bit 0) and -1 (bit 1); of equal width `sigma = 1 / Q^-1(RBER)`.

    Args:
        rber: Raw bit error rate with one read, above 0 and below 0.5.
        reads: 1, 3 or 7; any number with `thresholds` or `spacing`.
        thresholds: Voltages of the reads, ascending, in units of half the distance of the states;
            default those that keep the most mutual information.
        spacing: Distance of evenly spaced reads instead.
        sigma_ratio: Width of the state of bit 1 over that of bit 0, 0.25 to 4. The reads, also the
            single one, then move towards the narrow state.
        llr_rber: Compute the LLRs for cells of this rate, as a controller does that believes in it;
            thresholds and probabilities stay those of `rber`.

    Raises:
        ConfigError: for an argument out of its range.

    Source:
        Wang et al., "Enhanced precision through multiple reads for LDPC decoding in flash
        memories", JSAC 2014.

    >>> [round(float(llr), 3) for llr in llr_table(5e-3, reads=3).llrs]
    [-7.443, -1.685, 1.685, 7.443]
    """
    if thresholds is not None:
        thresholds = list(thresholds)
        reads = len(thresholds)
    channel = Channel.parse(
        f"sensing:{reads}",
        thresholds=thresholds,
        spacing=spacing,
        sigma_ratio=sigma_ratio,
        llr_rber=llr_rber,
    )
    check_rber("rber", rber)
    return LlrTable(json.loads(_core.ecc_llr_table(channel.spec, rber)))


def limits(rate: float) -> dict[str, float]:
    """Return the highest raw bit error rates at which codes of a rate can exist.

    Args:
        rate: Information bits per sent bit, 1e-6 to 0.999999.

    Returns:
        RBER for `1`, `3`, `7` reads at the best thresholds, and `unquantised`.

    Raises:
        ConfigError: for a rate out of its range.

    Source:
        C. Shannon, "A mathematical theory of communication", 1948: mutual information = rate.

    >>> round(limits(0.9)["3"], 6)
    0.022414
    """
    return {name: row["rber"] for name, row in all_limits(rate).items()}


def all_limits(rate: float) -> dict[str, dict[str, float]]:
    """Return the limits as `rber` and as `ebn0_db`, dB per information bit."""
    document: dict[str, dict[str, float]] = json.loads(_core.ecc_limits(float(rate)))
    return document
