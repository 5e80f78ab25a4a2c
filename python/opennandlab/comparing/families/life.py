"""Life tests, of both kinds: by the models alone, and of a simulated drive.

Two tests are of one thing where drive class, bytes written, and hours and temperature without power
are equal; then UBER tells the drives apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opennandlab.comparing.model import Better, Family, Finding, Number, differing, remarks
from opennandlab.documents.life import DriveLifeTest, LifeTest
from opennandlab.documents.record import JsonObject, plain, read

Test = LifeTest | DriveLifeTest
# Path -> what a table calls it, and which way is better; these are shown, `--all` shows the rest.
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
# What the 95 % interval of the document is of.
OBSERVED = {"uber_observed", "uber_drawn"}
# Of a test, not of what it found.
SETTINGS = {"seed", "uber_low", "uber_high"}


class LifeTests(Family):
    """Documents of one kind of life test."""

    shows_intervals = True

    def __init__(self, kind: type[Test], name: str) -> None:
        """Take the kind."""
        self.name = name
        self.kinds = (kind,)
        self._kind = kind

    def opened(self, document: JsonObject, name: str) -> Test:
        """Return the record."""
        del name
        if self._kind is LifeTest:
            return read(document, LifeTest)[0]
        return read(document, DriveLifeTest)[0]

    def numbers(self, document: Test) -> dict[str, Number]:
        """Return what was found, by path."""
        flat = dict(_numbers(plain(document)))
        main = [path for path in MAIN if path in flat]
        rest = [path for path in flat if path not in MAIN]
        return {
            path: Number(
                flat[path],
                MAIN[path][0] if path in MAIN else path,
                _better(path),
                low=document.uber_low if path in OBSERVED else None,
                high=document.uber_high if path in OBSERVED else None,
                is_main=path in MAIN and flat[path] is not None,
            )
            for path in (*main, *rest)
        }

    def objections(self, documents: Sequence[Test]) -> Iterator[Finding]:
        """Yield other classes and conditions."""
        for what, values in {
            "drive classes": [one.drive_class for one in documents],
            "bytes written by the host": [f"{one.tbw_tb:.4g} TB" for one in documents],
            "retention": [
                f"{one.retention_h:.4g} h at {one.retention_c:g} °C" for one in documents
            ],
        }.items():
            yield from differing(what, values, values)

    def doubts(self, documents: Sequence[Test]) -> Iterator[Finding]:
        """Yield other seeds, sources of the WAF, scales, and what the tests warn of."""
        models = [one.model if isinstance(one, LifeTest) else one.device for one in documents]
        if len(set(models)) == 1:
            seeds = [str(one.seed) for one in documents]
            yield from differing("seeds", seeds, seeds)
        yield from remarks("{}: worn out before the end", [_worn(one) for one in documents])
        told = [one.warnings if isinstance(one, DriveLifeTest) else [] for one in documents]
        for text in dict.fromkeys(text for one in told for text in one):
            yield from remarks(f"{{}}: {text}", [text in one for one in told])


FAMILY = LifeTests(LifeTest, "a life test by the models")
DRIVES = LifeTests(DriveLifeTest, "a life test of a simulated drive")


def _worn(test: Test) -> bool:
    return isinstance(test, DriveLifeTest) and test.worn_out


def _better(path: str) -> Better | None:
    if path in MAIN:
        return MAIN[path][1]
    if path.startswith("rber_by_page.") or path.endswith((".rber", ".uber")):
        return "lower"
    return REST_BETTER.get(path)


def _numbers(found: object, path: str = "") -> Iterator[tuple[str, float | None]]:
    """Yield numbers by path; whether something holds is 1 or 0."""
    if isinstance(found, dict):
        for key, value in found.items():
            if path or key not in SETTINGS:
                yield from _numbers(value, f"{path}.{key}" if path else str(key))
    elif found is None or isinstance(found, int | float):
        yield path, None if found is None else float(found)
