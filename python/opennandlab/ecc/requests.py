"""Questions to the lab as documents: what a validation case asks, and the document that answers it.

A question names the function and its arguments: `{"ask": "limits", "rate": 0.9}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opennandlab.ecc.channels import Channel
from opennandlab.ecc.codes import Decoder
from opennandlab.ecc.curves import curve
from opennandlab.ecc.tables import limits, llr_table


def answer(question: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return the document that answers a question.

    Args:
        question: `ask` is `limits`, `llr_table` or `curve`; the rest are arguments. For `curve`,
            `channel` and `decoder` may be mappings of their settings.
        seed: Seed of a curve.

    Raises:
        ValueError: for a question that nobody answers.

    >>> round(answer({"ask": "limits", "rate": 0.5}, 1)["1"], 5)
    0.11003
    """
    arguments = dict(question)
    ask = arguments.pop("ask", None)
    if ask == "limits":
        return dict(limits(**arguments))
    if ask == "llr_table":
        return llr_table(**arguments).document
    if ask == "curve":
        channel = arguments.pop("channel")
        if isinstance(channel, Mapping):
            channel = Channel.parse(**channel)
        decoder = arguments.pop("decoder", None)
        settings = None if decoder is None else Decoder(**decoder)
        found = curve(
            arguments.pop("code"),
            channel,
            arguments.pop("points"),
            decoder=settings,
            seed=seed,
            **arguments,
        )
        return {"points": {str(place): point for place, point in enumerate(found.points)}}
    raise ValueError(f"there is no request `{ask}`; accepted: limits, llr_table, curve")
