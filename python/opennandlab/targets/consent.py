"""What a user agreed to lose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Consent:
    """Permission to destroy what a target holds; nothing by default.

    Args:
        destructive: All contents may be lost.
        i_know: Which device is meant: its serial number, or the last part of its path; needed for
            devices, so that a slip in `/dev/sdX` costs nothing.
        force: A partition table or a file-system signature does not stop us.
    """

    destructive: bool = False
    i_know: str | None = None
    force: bool = False


NONE = Consent()
