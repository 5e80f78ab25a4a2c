"""Application benchmarks: which numbers are compared, and what must be alike.

Documents are comparable if they ran the same suite in the same mode on the same sizes. Times and
responses are better when they are shorter, the score when it is higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.comparing.model import Better, Family, Finding, Number, differing, remarks
from opennandlab.documents.app import AppDocument
from opennandlab.documents.record import JsonObject, read


class AppRuns(Family):
    """Documents of `app run`."""

    name = "an application benchmark"
    kinds = (AppDocument,)
    is_drawn = True
    shows_intervals = True

    def opened(self, document: JsonObject, name: str) -> AppDocument:
        """Return the record."""
        del name
        return read(document, AppDocument)[0]

    def numbers(self, document: AppDocument) -> dict[str, Number]:
        """Return scores, run times, responses and rates, by path."""
        found: dict[str, Number] = {
            "score.score": _number(document.score.score, "Score", "higher"),
        }
        total = document.total_ms
        if total is not None:
            found["total_ms"] = _number(total.mean, "Run time, ms", "lower", total.samples)
        for one in document.cases:
            if one.run_time_ms is None or one.response_ms is None:
                continue
            name = one.case if one.phase == "main" else f"{one.case} {one.phase}"
            path = f"{one.phase}.{one.case}"
            time, wait = one.run_time_ms, one.response_ms
            found[f"{path}.run_time_ms"] = _number(
                time.mean, f"{name}: run time, ms", "lower", time.samples
            )
            found[f"{path}.response_ms.mean"] = _number(wait.mean, f"{name}: response, ms", "lower")
            found[f"{path}.response_ms.max"] = _number(wait.max, f"{name}: longest, ms", "lower")
        if document.requests is not None:
            for kind in ("read", "write", "flush"):
                latency = getattr(document.requests, kind)
                label = f"{kind}: mean, us"
                found[f"requests.{kind}.mean"] = _number(latency.mean, label, "lower")
                found[f"requests.{kind}.max"] = Number(latency.max, f"{kind}: longest, us", "lower")
        if document.state is not None:
            after, before = document.state.after, document.state.before
            moved = after.moved_pages - before.moved_pages
            found["moved_pages"] = _number(float(moved), "Map units moved by collection", "lower")
        return found

    def objections(self, documents: Sequence[AppDocument]) -> Iterator[Finding]:
        """Yield differences that forbid a comparison: suites, modes, database settings, sizes."""
        for what, values in {
            "suites": [_suite(one) for one in documents],
            "modes": [one.mode for one in documents],
            "SQLite profiles": [f"{one.profile.journal}, {one.profile.sync}" for one in documents],
            "sizes": [str(one.sizes or "the defaults") for one in documents],
            "idle times": [f"{one.idle_ms} ms" for one in documents],
            "think times": [str(one.cpu.think_ms if one.cpu else "none") for one in documents],
            "traces": [_traces(one) for one in documents],
        }.items():
            yield from differing(what, values, values)

    def doubts(self, documents: Sequence[AppDocument]) -> Iterator[Finding]:
        """Yield differences that only weaken one (states, seeds, file systems), and failed runs."""
        for what, values in {
            "states": [one.state.name if one.state else "not known" for one in documents],
            "seeds": [str(one.seed) for one in documents],
            "file systems": [one.environment.file_system for one in documents],
            "evictions": [one.environment.eviction for one in documents],
        }.items():
            yield from differing(what, values, values)
        yield from remarks("{}: interrupted", [one.partial for one in documents])
        failed = [not one.passed and not one.partial for one in documents]
        yield from remarks("{}: a self-check failed", failed)


FAMILY = AppRuns()


def _number(
    value: float | None, label: str, better: Better, samples: Sequence[float] = ()
) -> Number:
    """Return a number with the range of its samples; a known one is a main number."""
    low, high = (min(samples), max(samples)) if len(samples) > 1 else (None, None)
    return Number(value, label, better, low=low, high=high, is_main=value is not None)


def _suite(document: AppDocument) -> str:
    """Return the name of a suite, with the iterations of each case."""
    counts = ", ".join(f"{one.case} {one.iterations}" for one in document.cases if one.iterations)
    return f"{document.suite} ({counts})"


def _traces(document: AppDocument) -> str:
    """Return the last digits of the hashes of the played traces."""
    traces = document.environment.traces
    return "none" if traces is None else ", ".join(text[-12:] for text in traces.values())
