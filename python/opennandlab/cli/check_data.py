"""`check-data`: is a drive as large as it claims?"""

import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._ending import raising
from opennandlab.cli._gate import gate_plan
from opennandlab.cli._progress import Clock, Pace, shown
from opennandlab.cli.options.common import SEED_MAX, Printed
from opennandlab.cli.options.rows import flag
from opennandlab.cli.options.target import TargetOptions

if TYPE_CHECKING:
    from opennandlab.targets.claimed_size import Plan, Stage, Verdict
    from opennandlab.targets.opening import Request
    from opennandlab.targets.raw import Raw


@dataclass(frozen=True, kw_only=True)
class CheckDataOptions(TargetOptions, Printed):
    """Options of `check-data`."""

    full: Annotated[bool, flag("Write and read every byte, not samples.")] = False
    cache_size: Annotated[
        str,
        flag(
            "Bytes written between writing and reading samples, so that no cache of the drive "
            "answers.",
            metavar="SIZE",
        ),
    ] = "64MiB"
    seed: Annotated[
        int | None,
        flag(
            "Tag of the stamps; default: random, so that stamps of earlier checks do not count.",
            min=0,
            max=SEED_MAX,
        ),
    ] = None


def check_data(given: CheckDataOptions) -> None:
    """Check that a drive holds as much as it claims; all its data are lost."""
    from opennandlab.base.units import parse_bytes
    from opennandlab.targets.claimed_size import Check, make_plan
    from opennandlab.targets.raw import open_raw, refuse_simulated

    tag = secrets.randbits(64) if given.seed is None else given.seed
    cache_bytes = parse_bytes(given.cache_size)
    request = given.request(tag)
    refuse_simulated(request)
    if given.dry_run:
        _plan(given, request, cache_bytes)
        return
    raw = open_raw(request)
    try:
        plan = make_plan(
            raw.capacity_bytes, raw.sector_bytes, is_full=given.full, cache_bytes=cache_bytes
        )
        with shown(_Line(), quiet=given.quiet) as watch:
            verdict = Check(raw, plan, tag, raising(watch)).run()
    finally:
        raw.close()
    if given.as_json:
        terminal.emit_json(_document(raw, plan, verdict, tag))
    elif not given.quiet:
        _show(raw, plan, verdict)
    if verdict.kind != "sound":
        raise typer.Exit(terminal.FAILED)


class _Line:
    """Writes the progress of a check."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._pace = Pace(clock)
        self._pace.left(0, 1)

    def __call__(self, state: "Stage") -> str:
        """Return one line."""
        if state.total is None or not state.done:
            return f"check-data · {state.text}"
        share = f"{state.done / state.total:.0%}"
        parts = ("check-data", share, self._pace.left(state.done, state.total), state.text)
        return " · ".join(filter(None, parts))


def _plan(given: CheckDataOptions, request: "Request", cache_bytes: int) -> None:
    """Print what would be written, and write nothing."""
    from opennandlab.targets.claimed_size import make_plan
    from opennandlab.targets.opening import sketch
    from opennandlab.targets.safety import Work

    target = sketch(request)
    plan = make_plan(
        target.capacity_bytes, target.sector_bytes, is_full=given.full, cache_bytes=cache_bytes
    )
    is_said = not given.as_json and not given.quiet
    if is_said:
        rows = _plan_rows(plan)
        terminal.stdout().print(terminal.plain_table(["would be done", "value"], rows))
    work = Work(fill_bytes=plan.stamp_bytes + plan.wash_bytes)
    gate = gate_plan(request, work, is_said=is_said)
    if given.as_json:
        terminal.emit_json({"target": request.text, **_plan_document(plan), "device": gate})


def _plan_rows(plan: "Plan") -> list[list[str]]:
    from opennandlab.base.words import size

    where = "all of it" if plan.is_full else f"every {size(plan.step_bytes)}, and the first as much"
    return [
        ["claimed", size(plan.capacity_bytes)],
        ["stamps", where],
        ["stamps written and read", size(plan.stamp_bytes)],
        ["written to clear caches", size(plan.wash_bytes)],
    ]


def _plan_document(plan: "Plan") -> dict[str, Any]:
    return {
        "claimed_bytes": plan.capacity_bytes,
        "full": plan.is_full,
        "step_bytes": plan.step_bytes,
        "stamp_bytes": plan.stamp_bytes,
        "cache_bytes": plan.cache_bytes,
        "wash_bytes": plan.wash_bytes,
    }


def _document(raw: "Raw", plan: "Plan", verdict: "Verdict", tag: int) -> dict[str, Any]:
    found = verdict.found
    return {
        "target": raw.name,
        **_plan_document(plan),
        "seed": tag,
        "verdict": verdict.kind,
        "real_bytes": verdict.real_bytes,
        "first_bad_byte": found.first_bad,
        "read_bytes": found.read_bytes,
        "own_bytes": found.own_bytes,
        "bad_bytes": found.counts,
        "written_bytes": verdict.written_bytes,
    }


# Names of the kinds of bytes that did not hold their stamp.
BAD = {
    "strange": "stamps of another place",
    "blank": "zeros",
    "old": "stamps of another run",
    "garbage": "anything else",
    "error": "refused with an error",
}


def _show(raw: "Raw", plan: "Plan", verdict: "Verdict") -> None:
    from opennandlab.base.words import number, size

    found, claimed = verdict.found, raw.capacity_bytes
    rows = [
        ["claimed", f"{number(claimed)} B", size(claimed)],
        ["real", *_real(verdict)],
        ["read", f"{number(found.read_bytes)} B", size(found.read_bytes)],
        ["as written", f"{number(found.own_bytes)} B", size(found.own_bytes)],
        *(
            [BAD[name], f"{number(count)} B", size(count)]
            for name, count in found.counts.items()
            if count
        ),
        [
            "written by this check",
            f"{number(verdict.written_bytes)} B",
            size(verdict.written_bytes),
        ],
    ]
    terminal.stdout().print(terminal.Grid(["", "bytes", "about"], rows))
    typer.echo(raw.name)
    terminal.stdout().print(_sentence(plan, verdict))


def _real(verdict: "Verdict") -> list[str]:
    from opennandlab.base.words import number, size

    real = verdict.real_bytes
    return ["unknown", "-"] if real is None else [f"{number(real)} B", size(real)]


def _sentence(plan: "Plan", verdict: "Verdict") -> str:
    """Return the outcome as a sentence."""
    from opennandlab.base.words import number

    found = verdict.found
    if verdict.kind == "sound":
        where = "everywhere" if plan.is_full else "as far as was looked"
        more = "" if plan.is_full else "; --full looks at every byte"
        return f"sound: each place held its stamp, {where}{more}"
    if verdict.kind == "wraps":
        place, origin = found.example or (0, 0)
        return (
            f"wraps: byte {number(place)} holds what was written to byte {number(origin)}; the "
            f"real size is {number(verdict.real_bytes)} bytes"
        )
    if verdict.kind == "lost":
        return f"lost: nothing beyond byte {number(verdict.real_bytes)} holds what was written"
    return (
        f"damaged: {number(found.read_bytes - found.own_bytes)} bytes are not as written, the "
        f"lowest near byte {number(found.first_bad)}, and some above are: the real size is unknown"
    )
