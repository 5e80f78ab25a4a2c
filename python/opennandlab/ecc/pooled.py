"""Points of the store as curves: those that differ in point and seed alone become one curve.

Counts of different seeds are independent and add up, those of weighted strata too. Of points that
were run twice with one seed, which share their frames, the one with more frames is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce

from msgspec import structs

from opennandlab.base.errors import ConfigError
from opennandlab.documents.ecc import CURVE_SCHEMA, CurveDocument, CurvePoint
from opennandlab.documents.record import read
from opennandlab.ecc.bounds import Limits
from opennandlab.ecc.curves import ERRORS_TO_TRUST, IDENTITY
from opennandlab.ecc.point import ANALYTIC, IMPORTANCE_SAMPLING, MONTE_CARLO, Method, Point
from opennandlab.ecc.tally import Tally
from opennandlab.store import Store


def stored_curves(store: Store, where: Sequence[str]) -> list[CurveDocument]:
    """Return the curves of a store.

    Args:
        store: The store.
        where: Conditions on its points.

    Raises:
        ConfigError: when no curve is among the points that these hold for.
    """
    keys = store.rows(where=[*where, "status=done"], columns=["key"]).column("key")
    documents = [store.entry(str(key)).document for key in keys]
    curves = [
        read(document, CurveDocument)[0]
        for document in documents
        if document is not None and document.get("schema") == CURVE_SCHEMA
    ]
    if not curves:
        raise ConfigError("--where", "no curve is left; accepted: points of ecc.curve")
    return pooled(curves)


def pooled(curves: Sequence[CurveDocument]) -> list[CurveDocument]:
    """Return one curve for all that differ in seed and points alone; the seed is the first."""
    found: dict[str, list[CurveDocument]] = {}
    for curve in curves:
        what = {key: getattr(curve, key) for key in IDENTITY if key != "seed"}
        found.setdefault(json.dumps(what, sort_keys=True), []).append(curve)
    return [_joined(group) for group in found.values()]


def _joined(curves: Sequence[CurveDocument]) -> CurveDocument:
    first = min(curves, key=lambda curve: curve.seed)
    rows: dict[float, dict[int, CurvePoint]] = {}
    for curve in curves:
        for row in curve.points:
            known = rows.setdefault(row.x, {})
            if curve.seed not in known or row.frames > known[curve.seed].frames:
                known[curve.seed] = row
    limits = Limits(first.channel_settings, float(first.rate))
    points: list[CurvePoint] = []
    for x, seeds in sorted(rows.items()):
        if len(seeds) == 1:
            points += seeds.values()
            continue
        rber = limits.hard_rber(x)
        point = _added([Point.of(row, first.code) for row in seeds.values()])
        points.append(point.record(first.code_bits, first.info_bits, x if rber is None else rber))
    partial = any(curve.partial for curve in curves) or None
    return structs.replace(first, points=points, partial=partial)


def _added(points: Sequence[Point]) -> Point:
    """Return the counts of several seeds at one point."""
    methods = {point.method for point in points}
    tally: Tally = reduce(Tally.__add__, (point.tally for point in points))
    exact = next((point.exact for point in points if point.exact), None)
    if exact is not None:
        return Point(points[0].x, tally, exact=exact, method=ANALYTIC)
    strata: dict[int, Tally] = {}
    for point in points:
        for weight, counts in point.strata.items():
            strata[weight] = strata.get(weight, Tally()) + counts
    is_weighted = IMPORTANCE_SAMPLING in methods and (
        len(methods) == 1 or tally.frame_errors < ERRORS_TO_TRUST
    )
    method: Method = IMPORTANCE_SAMPLING if is_weighted else MONTE_CARLO
    return Point(points[0].x, tally, strata, method=method)
