"""TRIM: unmapped pages are spare pages that the host lends to the drive.

When the share q of the requests trims and the rest writes a uniformly random logical page, the
number of mapped pages settles where trims that hit balance writes to unmapped pages. Each mapped
page then dies at the rate `1 / (s U)` per host write, s being the mapped share, so programs per
host write are those of a trim-free drive of `s U` logical pages. Exact for victim policies that
see only live counts or age. Left out: trims of ranges, and the fluctuation of the mapped share (of
order `1 / sqrt(U)`).

Source: T. Frankie, G. Hughes, K. Kreutz-Delgado, "A mathematical model of the trim command in
NAND-flash SSDs", ACM-SE 2012, and "The effect of trim requests on write amplification",
arXiv:1208.1794.
"""

from __future__ import annotations

from opennandlab.theory._check import require_open_share, require_share

TARGETS = ("any", "mapped")


def mapped_share(trim_share: float, target: str = "any") -> float:
    """Return the share of the logical pages that hold data in the steady state.

    Args:
        trim_share: q, share of the requests that trim: 0 to 1 for `any`, below 1/2 for `mapped`.
        target: `any`, a trim hits a random logical page; `mapped`, a random page that holds data.

    Returns:
        `s = 1 - q` for `any`, `s = (1 - 2 q) / (1 - q)` for `mapped`.

    Raises:
        ValueError: when no mapped page would be left, or the target is unknown.

    Source:
        Frankie et al. 2012.

    Example:
        >>> round(mapped_share(0.1, "mapped"), 4)
        0.8889
    """
    share = require_share("trim_share", trim_share)
    if target not in TARGETS:
        message = f"target is {target!r}; accepted: {', '.join(TARGETS)}"
        raise ValueError(message)
    limit = 1.0 if target == "any" else 0.5
    if share >= limit:
        message = f"trim_share is {trim_share}; accepted for {target}: less than {limit}"
        raise ValueError(message)
    return 1.0 - share if target == "any" else (1.0 - 2.0 * share) / (1.0 - share)


def spare_factor_with_trim(spare_factor: float, trim_share: float, target: str = "any") -> float:
    """Return the spare factor of the trim-free drive with the same write amplification.

    Args:
        spare_factor: S_f without trims, 0 to 1 exclusive.
        trim_share: q, share of the requests that trim.
        target: `any` or `mapped`, as in `mapped_share`.

    Returns:
        `1 - s rho`, with `rho = 1 - S_f` and s from `mapped_share`.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        Frankie et al. 2012.

    Example:
        >>> round(spare_factor_with_trim(0.07 / 1.07, 0.1, "mapped"), 4)
        0.1693
    """
    rho = 1.0 - require_open_share("spare_factor", spare_factor)
    return 1.0 - mapped_share(trim_share, target) * rho
