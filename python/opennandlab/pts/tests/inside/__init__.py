"""Tests that look into an FTL: what a host can find out about a drive it cannot open.

    skew    steady rate and write amplification of skewed writes     victims, hot and cold data
    fill    the same by what share of the drive is in use            spare area
    zones   rates of zones that are trimmed and written as logs      superblocks: size and number
    load    response times of a probe next to writes at a rate        collection in the foreground

    identify   six cells of these kinds, and what they tell together

They follow the method by which SSD-iq (G. Haas and co-authors, 2025) compares drives. All of them
begin with a purge, and every point whose past would matter does: it is a group of its own in the
document. `course` writes to a steady end, `facts` states what is known of the drive from its file.
"""

from __future__ import annotations

from opennandlab.pts.bench.test import Test
from opennandlab.pts.tests.inside import fill, identify, load, skew, zones

INSIDE: dict[str, Test] = {
    test.name: test for test in (skew.TEST, fill.TEST, zones.TEST, load.TEST, identify.TEST)
}

__all__ = ["INSIDE"]
