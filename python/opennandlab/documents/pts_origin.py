"""Where a test comes from: the specification or whose method, and whether its cells are its own."""

from __future__ import annotations

from opennandlab.documents.pts_header import Header

# Tests of SNIA SSS PTS.
STANDARD = ("iops", "throughput", "latency", "wsat", "hir", "xsr", "dirth", "ecw")
INSIDE = "method of SSD-iq (Haas and co-authors, 2025)"
SPANJER = 'method of "What\'s up with these numbers?" (Spanjer)'
SMITH = "method of the SNIA NAND performance tutorial (Smith, 2009)"
OURS = "method of opennandlab"
REAL_WORLD = "follows SNIA's Real World Storage Workload test (2018); names of its parts are ours"
# The others, as their modules have it.
METHODS = {
    "skew": INSIDE,
    "fill": INSIDE,
    "zones": INSIDE,
    "load": INSIDE,
    "identify": OURS,
    "rwsw": REAL_WORLD,
    "surface": SPANJER,
    "stability": SPANJER,
    "independence": SPANJER,
    "composite": SPANJER,
    "burst": SPANJER,
    "consistency": "method of AnandTech's performance consistency test (2012)",
    "rw_ratio": SMITH,
    "block_size": SMITH,
    "scalability": SMITH,
    "pathological": SMITH,
    "access_time": OURS,
    "position": "method of zcav in bonnie++ (Coker)",
}


def method(test: str) -> str | None:
    """Return whose method a test has; None for one of the specification.

    >>> method("iops"), method("zones")
    (None, 'method of SSD-iq (Haas and co-authors, 2025)')
    """
    return None if test in STANDARD else METHODS.get(test)


def is_own_matrix(header: Header) -> bool:
    """Whether block sizes or mixes were asked for that are not those of the specification."""
    return not header.options.keys().isdisjoint({"block_sizes", "mixes"})
