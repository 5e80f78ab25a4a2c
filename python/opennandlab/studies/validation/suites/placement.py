"""Placement handles: data that the host keeps apart.

Greedy collection takes the emptiest block wherever it is, so the victims of all handles have the
same number of live pages: handles of uniform traffic, whatever their sizes and rates, each have the
write amplification of uniform writes at the spare factor of the drive. With the ids of the oracle
of `ftl.write_frontiers` nothing differs from it at all.

Sources: the formula of greedy collection (Bux & Iliadis 2010; Desnoyers 2014); for separate open
blocks B. Van Houdt, Performance Evaluation 70 (2013); the statistics are definitions of the NVM
Express Base Specification 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from opennandlab.studies.validation.case import (
    Case,
    Document,
    Effort,
    Kind,
    Relation,
    Run,
    lookup,
    quotient,
    read,
)
from opennandlab.studies.validation.devices import Log, overwrites
from opennandlab.studies.validation.suites.waf_uniform import FORMULAS, SOURCES
from opennandlab.theory.uniform import greedy

SUITE = "placement"
BLOCK = 64
SPARE = 0.20
FRACTION, SHARE = 0.2, 0.8
PATTERN = {"kind": "hot_cold", "fraction": FRACTION, "share": SHARE}
TEN_CHOICES = {"kind": "d_choices", "d": 10}
STANDARD = "NVM Express Base Specification 2.1"
_case = partial(Case, suite=SUITE)
# Four parts of the space, each with its share of the writes, and the handle of each.
PARTS = ((0.1, 0.4), (0.2, 0.3), (0.3, 0.2), (0.4, 0.1))
ZONED = {
    "kind": "zoned",
    "zones": [{"fraction": fraction, "share": share} for fraction, share in PARTS],
}
RANGES = {
    "by": "range",
    "ranges": [{"fraction": fraction, "id": id_} for id_, (fraction, _) in enumerate(PARTS)],
}


def cases(effort: Effort) -> list[Case]:
    """Return the cases of the suite.

    Args:
        effort: quick (4096 blocks), or full (16384 blocks, three seeds).

    Example:
        >>> {case.suite for case in cases(Effort.QUICK)}
        {'placement'}
    """
    blocks = 4096 if effort is Effort.QUICK else 16384
    return [*_oracle(blocks), *_handles(blocks), *_isolation(blocks), *_log(blocks)]


def _fdp(handles: int, isolation: str = "persistently") -> dict[str, Any]:
    return {"kind": "fdp", "handles": handles, "isolation": isolation}


def _run(
    log: Log,
    placement: Mapping[str, Any],
    policy: str | dict[str, Any] = "greedy",
    pattern: Mapping[str, Any] = PATTERN,
    ids: Mapping[str, Any] | None = None,
) -> Run:
    device = log.device(policy)
    device["ftl"]["placement"] = dict(placement)
    workload = overwrites(dict(pattern))
    workload["placement"] = dict(ids or {"by": "hot_cold"})
    return Run(device, workload)


def _oracle(blocks: int) -> Iterator[Case]:
    log = Log.with_spare(blocks, BLOCK, SPARE, reserve=2)
    oracle = Run(
        log.device("greedy", {"kind": "hot_cold", "fraction": FRACTION}), overwrites(PATTERN)
    )
    yield _case(
        name="oracle",
        title="Ids of the hot/cold oracle give what the oracle gives",
        runs=(oracle, _run(log, _fdp(2))),
        quantity="metrics.waf, second / first",
        measure=quotient("metrics.waf"),
        expected=1.0,
        tolerance=0.0,
        kind=Kind.EXACT,
        formula="1",
    )


def _handles(blocks: int) -> Iterator[Case]:
    log = Log.with_spare(blocks, BLOCK, SPARE, reserve=2)
    expected = partial(greedy, BLOCK, log.spare_factor)
    run = _run(log, _fdp(4), pattern=ZONED, ids=RANGES)
    for handle, (fraction, share) in enumerate(PARTS):
        yield _case(
            name=f"greedy-handle{handle}",
            title="Each of four handles is a log with the spare factor of the drive",
            source=SOURCES["greedy"],
            runs=(run,),
            quantity=f"1 + moved / host bytes of handle {handle}",
            measure=partial(handle_waf, handle),
            expected=expected,
            tolerance=0.01,
            formula=f"{FORMULAS['greedy']}; {fraction:.0%} of the pages, {share:.0%} of the writes",
        )


def handle_waf(handle: int, documents: Sequence[Document]) -> float:
    """Return the write amplification of a handle whose data stays its own.

    Args:
        handle: Its id.
        documents: A result.

    Returns:
        One plus moved over host bytes.

    Example:
        >>> row = {"host_bytes": 4, "moved_bytes": 2}
        >>> handle_waf(0, [{"metrics": {"fdp": {"handles": [row]}}}])
        1.5
    """
    row = documents[0]["metrics"]["fdp"]["handles"][handle]
    return 1.0 + float(row["moved_bytes"]) / float(row["host_bytes"])


def _isolation(blocks: int) -> Iterator[Case]:
    log = Log.with_spare(blocks, BLOCK, SPARE, reserve=2)
    kinds = {
        "none": {"kind": "none"},
        "initially": _fdp(2, "initially"),
        "persistently": _fdp(2),
    }
    runs = {name: _run(log, kind, TEN_CHOICES) for name, kind in kinds.items()}
    for less, more in (("initially", "none"), ("persistently", "initially")):
        yield _case(
            name=f"{less}-beats-{more}",
            title="What is kept apart for longer is moved less, where blocks may age",
            source="Van Houdt, Performance Evaluation 2013",
            runs=(runs[more], runs[less]),
            quantity="metrics.waf, second / first",
            measure=quotient("metrics.waf"),
            expected=1.0,
            tolerance=0.003,
            kind=Kind.ORDER,
            formula=f"d = 10: {less} <= {more}",
            relation=Relation.AT_MOST,
        )


def _log(blocks: int) -> Iterator[Case]:
    log = Log.with_spare(blocks, BLOCK, SPARE, reserve=2)
    run = _run(log, _fdp(4), pattern=ZONED, ids=RANGES)
    yield _case(
        name="log-identity",
        title="Media bytes are host bytes times the write amplification",
        source=STANDARD,
        runs=(run,),
        quantity="MBMW / (HBMW x metrics.waf)",
        measure=_written_quotient,
        expected=1.0,
        tolerance=1e-12,
        formula="1",
    )
    yield _case(
        name="log-erased",
        title="Media bytes erased are whole reclaim units",
        source=STANDARD,
        runs=(run,),
        quantity="MBE / reclaim unit - metrics.gc_cycles",
        measure=_erased_difference,
        expected=0.0,
        tolerance=0.0,
        kind=Kind.EXACT,
        formula="0",
    )


def _written_quotient(documents: Sequence[Document]) -> float:
    host, media = (
        lookup(documents[0], f"metrics.fdp.{who}_bytes_with_metadata_written")
        for who in ("host", "media")
    )
    return media / (host * read("metrics.waf")(documents))


def _erased_difference(documents: Sequence[Document]) -> float:
    erased, unit, cycles = (
        lookup(documents[0], f"metrics.{key}")
        for key in ("fdp.media_bytes_erased", "fdp.reclaim_unit_bytes", "gc_cycles")
    )
    return erased / unit - cycles
