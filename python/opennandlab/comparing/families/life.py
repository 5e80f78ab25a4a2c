"""Comparison of life tests, of both kinds: by the models alone, and of a simulated drive.

Tests may be compared if drive class, bytes written, and hours and temperature without power are
equal; the drives then differ in their UBER.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from opennandlab.comparing.model import (
    Better,
    Family,
    Finding,
    Number,
    differing,
    remarks,
    sampled,
)
from opennandlab.documents.life import DriveLifeTest, LifeTest
from opennandlab.documents.record import JsonObject, plain, read
from opennandlab.stats.poisson import poisson_interval

Test = LifeTest | DriveLifeTest
# Numbers that are shown without `--all`: path -> label in a table, and which way is better.
MAIN: dict[str, tuple[str, Better | None]] = {
    "passed": ("Passed (1) or not (0)", "higher"),
    "uber": ("UBER", "lower"),
    "uber_max": ("UBER, limit of the class", None),
    "margin": ("Margin of the error rate", "higher"),
    "uber_observed": ("UBER, observed", "lower"),
    "uber_drawn": ("UBER, drawn", "lower"),
    "uncorrectable": ("Lost pages", "lower"),
    "errors_drawn": ("Data errors drawn", "lower"),
    "rber": ("RBER", "lower"),
    "codeword_failure": ("Codeword failures", "lower"),
    "pe_cycles": ("P/E cycles, mean", "lower"),
    "pe_cycles_max": ("P/E cycles, most", "lower"),
    "waf": ("WAF", "lower"),
    "tbw_tb": ("Written by the host, TB", None),
    "refreshes": ("Refreshes, P/E cycles", "lower"),
}
REST_BETTER: dict[str, Better] = {
    "errors_expected": "lower",
    "uncorrectable_expected": "lower",
    "pe_cycles_rated": "higher",
    "worn_out": "lower",
}
# Numbers whose 95 % interval is `uber_low` to `uber_high` of the document.
OBSERVED = {"uber_observed", "uber_drawn"}
# Counts of errors, which have the interval of Poisson's distribution, and their means.
COUNTS = {"errors_drawn", "uncorrectable"}
EXPECTED = {"errors_expected", "uncorrectable_expected"}
# Drives are scaled down to whole blocks.
BITS_TOLERANCE_RATIO = 1e-3
# Fields of a document that are no results.
SETTINGS = {"seed", "uber_low", "uber_high"}


class LifeTests(Family):
    """Documents of one kind of life test."""

    shows_intervals = True

    def __init__(self, kind: type[Test], name: str) -> None:
        """Keep the type of the documents and its name in messages."""
        self.name = name
        # Of a simulated drive the addresses are drawn, and with them its wear.
        self.is_drawn = kind is DriveLifeTest
        self.kinds = (kind,)
        self._kind = kind

    def opened(self, document: JsonObject, name: str) -> Test:
        """Return the record."""
        del name
        return read(document, self._kind)[0]

    def numbers(self, document: Test) -> dict[str, Number]:
        """Return the results by path, those of `MAIN` first."""
        flat = dict(_numbers(plain(document)))
        main = [path for path in MAIN if path in flat]
        rest = [path for path in flat if path not in MAIN]
        ends: dict[str, tuple[float | None, float | None]]
        ends = dict.fromkeys(OBSERVED, (document.uber_low, document.uber_high))
        ends |= {path: poisson_interval(int(flat[path] or 0)) for path in COUNTS if path in flat}
        return {
            path: Number(
                flat[path],
                MAIN[path][0] if path in MAIN else path,
                _better(path),
                *ends.get(path, (None, None)),
                is_main=path in MAIN and flat[path] is not None,
            )
            for path in (*main, *rest)
        }

    def objections(self, documents: Sequence[Test]) -> Iterator[Finding]:
        """Yield different drive classes, bytes written, and conditions of retention."""
        for what, values in {
            "drive classes": [test.drive_class for test in documents],
            "bytes written by the host": [f"{test.tbw_tb:.4g} TB" for test in documents],
            "retention": [
                f"{test.retention_h:.4g} h at {test.retention_c:g} °C" for test in documents
            ],
        }.items():
            yield from differing(what, values, values)

    def unlike_rows(self, documents: Sequence[Test]) -> Iterator[tuple[tuple[str, ...], Finding]]:
        """Yield a rate counted against that of a model, and counts of different numbers of bits."""
        methods = [it.uber_method if isinstance(it, DriveLifeTest) else None for it in documents]
        for one in sampled("the UBER", methods):
            yield ("uber",), one
        bits = [test.bits_read for test in documents]
        why = "rates of errors are ranked, their numbers are not"
        shown = [f"{one:.4g}" for one in bits]
        same = partial(math.isclose, rel_tol=BITS_TOLERANCE_RATIO)
        for found in differing("bits read back", bits, shown, why, same=same):
            yield (*COUNTS, *EXPECTED), found

    def doubts(self, documents: Sequence[Test]) -> Iterator[Finding]:
        """Yield different seeds of the same subject, early wear-out, and warnings of the tests."""
        subjects = {test.model if isinstance(test, LifeTest) else test.device for test in documents}
        if len(subjects) == 1:
            seeds = [str(test.seed) for test in documents]
            yield from differing("seeds", seeds, seeds)
        yield from remarks(
            "{}: worn out before the end", [_is_worn_out(test) for test in documents]
        )
        warnings = [test.warnings if isinstance(test, DriveLifeTest) else [] for test in documents]
        for text in dict.fromkeys(text for texts in warnings for text in texts):
            yield from remarks(f"{{}}: {text}", [text in texts for texts in warnings])


FAMILY = LifeTests(LifeTest, "a life test by the models")
DRIVES = LifeTests(DriveLifeTest, "a life test of a simulated drive")


def _is_worn_out(test: Test) -> bool:
    return isinstance(test, DriveLifeTest) and test.worn_out


def _better(path: str) -> Better | None:
    if path in MAIN:
        return MAIN[path][1]
    if path.startswith("rber_by_page.") or path.endswith((".rber", ".uber")):
        return "lower"
    return REST_BETTER.get(path)


def _numbers(found: object, path: str = "") -> Iterator[tuple[str, float | None]]:
    """Yield the numbers of a document by path; true is 1, false 0, and settings are left out."""
    if isinstance(found, dict):
        for key, value in found.items():
            if path or key not in SETTINGS:
                yield from _numbers(value, f"{path}.{key}" if path else str(key))
    elif found is None or isinstance(found, int | float):
        yield path, None if found is None else float(found)
