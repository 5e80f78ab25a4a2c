"""Documents of the standard tests.

Over-provisioning decides the speed of random writes more than anything else, so it is examined
first; then everything in the header that the standard fixes. What differs is a reason not to
compare; what only clouds the deltas is a warning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

from opennandlab.base.errors import ResultError
from opennandlab.comparing.families.results import counted
from opennandlab.comparing.model import Better, Family, Finding, Number, Remark, differing, remarks
from opennandlab.documents import pts
from opennandlab.documents.comparison import Comparison, Deviation
from opennandlab.documents.pts import PtsDocument
from opennandlab.documents.pts_header import Header, Wipc
from opennandlab.documents.record import JsonObject
from opennandlab.documents.record import plain as plain_json
from opennandlab.measured.agreement import agreements
from opennandlab.reports import words
from opennandlab.reports.model import Report
from opennandlab.reports.pts import likeness
from opennandlab.reports.pts.source import Measured, plain, read
from opennandlab.reports.pts.tables import spoken_path

# Rounding of capacities to whole blocks moves the spare area of equal drives by less than this.
SPARE_TOLERANCE_RATIO = 1e-3
# What must be equal: the words for it, and where it stands in the header.
PARAMETERS: tuple[tuple[str, Callable[[Header], object]], ...] = (
    ("profile", lambda header: header.profile),
    ("version of the specification", lambda header: header.pts_version),
    ("time base", lambda header: header.time_base.name),
    ("clock", lambda header: header.time_base.clock),
    ("write cache", lambda header: header.cache.state),
    ("active range", lambda header: plain_json(header.active_range)),
    ("threads", lambda header: header.threads),
    ("queue depth", lambda header: header.queue_depth),
    ("workload-independent preconditioning", lambda header: _wipc(header.wipc)),
    ("limit of outstanding requests", lambda header: header.oio_throttle),
    ("data pattern", lambda header: header.data),
    ("purge", lambda header: header.purge and header.purge.is_purge),
)
# Of documents that were imported these count, where they are told.
TOLD = [one for one in PARAMETERS if one[0] in {"profile", "threads", "queue depth"}]
UNTOLD = (None, "", "unknown")
# Which way is better, by what a name or unit holds; the first that fits counts.
BETTER: tuple[tuple[str, Better | None], ...] = (
    (r"ratio|gain|predicted|_bytes|superblock|_sample$|^probe_|^asked", None),
    (r"power_w|(?<!/)\bw\]?$|j_per_gb|j/gb", "lower"),
    (r"iops|mb_?/?s|throughput|per_s$|min_to_mean|mean_to_deviation", "higher"),
    (r"\bart|\bmrt|lat_|(_|\b)[µu]s(_|\b)|(_|\b)ms(_|\b)|waf|\bcv\b|recovery|to_mean", "lower"),
    (r"drop_pct|share_below_half|excursion|spread|cpu_pct", "lower"),
)
# Tables of which the first that a document has is shown; `--all` shows every one.
MAIN_TABLES = [table for table, _, _ in likeness.JUDGED]


# Metrics that pages show in another unit than the document has.
OTHER_UNITS = {"lat_us_mean": "mean response time, µs", "lat_us_max": "longest response time, µs"}


class StandardTests(Family):
    """Documents of one standard test, whole or as far as they can be read."""

    name = "a document of a standard test"
    kinds = (Measured, PtsDocument)
    is_drawn = True

    def opened(self, document: JsonObject, name: str) -> Measured:
        """Return what can be read of the document."""
        return read(document, name)

    def parts(self, document: Measured | PtsDocument, name: str) -> Iterator[tuple[str, Measured]]:
        """Yield the document, read as far as it can be."""
        if isinstance(document, PtsDocument):
            document = read(plain_json(document), name)
        yield name, document

    def numbers(self, document: Measured) -> dict[str, Number]:
        """Return results, steady values and the cells of tables."""
        flat = dict(likeness.numbers_of(document))
        intervals = dict(_intervals(document))
        # A result that is a cell of a table is as sure as that.
        known = {flat[path]: ends for path, ends in intervals.items() if path in flat}
        units = {block.id: block.unit for block in document.tables}
        table = next((name for name in MAIN_TABLES if document.table(name)), None)
        found = {
            path: Number(
                value,
                _label(path),
                better(path, units),
                *(intervals.get(path) or known.get(value, (None, None))),
                is_main=value is not None and _is_main(path, table),
            )
            for path, value in flat.items()
        }
        return dict(sorted(found.items(), key=lambda item: _order(item[0])))

    def test(self, documents: Sequence[Measured]) -> str | None:
        """Return the test that all documents are of."""
        tests = list(dict.fromkeys(one.test for one in documents))
        if len(tests) > 1:
            raise ResultError(
                f"different tests cannot be compared: {', '.join(f'`{test}`' for test in tests)}; "
                "accepted: documents of one test; `pts import --test` makes another of JSON of fio"
            )
        return tests[0]

    def objections(self, documents: Sequence[Measured]) -> Iterator[Finding]:
        """Yield another spare area, other settings, and drives that were not steady."""
        imported = [one.header.imported is not None for one in documents]
        spares = [None if is_foreign else _spare(one)
                  for one, is_foreign in zip(documents, imported, strict=True)]  # fmt: skip
        if any(imported):
            yield from self._common(documents)
            return
        yield from differing(
            "over-provisioning",
            spares,
            [_percent(spare) for spare in spares],
            "it decides the speed of writes more than anything else",
            same=_close,
        )
        for what, parameter in PARAMETERS:
            values = [parameter(one.header) for one in documents]
            yield from differing(what, values, list(map(_shown, values)))
        options = [_options(one) for one in documents]
        yield from differing("options of the test", options, list(map(_shown, options)))
        yield from remarks(
            f"{{}} {likeness.UNSTEADY}: {likeness.WHY}",
            [one.attained is False for one in documents],
            "tests that reached the steady state, such as of longer cells or more rounds",
        )

    @staticmethod
    def _common(documents: Sequence[Measured]) -> Iterator[Finding]:
        """Yield settings that differ, of those that each document tells.

        Of a drive that was measured elsewhere little is known, and its clock is another: what is
        not told is no objection.
        """
        for what, parameter in TOLD:
            values = [parameter(one.header) for one in documents]
            known = [value for value in values if value not in UNTOLD]
            if len({repr(value) for value in known}) > 1:
                shown = ["not told" if value in UNTOLD else _shown(value) for value in values]
                yield from differing(what, values, shown)

    def deviations(self, documents: Sequence[Measured], names: Sequence[str]) -> list[Deviation]:
        """Return the errors of each other document against the first of another drive."""
        at = next(
            (place for place, one in enumerate(documents)
             if one.header.imported is not None and not _is_simulated(one)), None
        )  # fmt: skip
        if at is None:
            return []
        others = [place for place in range(len(documents)) if place != at]
        pairs = [
            (place, list(agreements(documents[at].tables, documents[place].tables)))
            for place in others
        ]
        return [
            Deviation(
                measured=names[at],
                simulated=names[place],
                both_measured=not _is_simulated(documents[place]) or None,
                tables=found,
            )
            for place, found in pairs
            if found
        ]

    def doubts(self, documents: Sequence[Measured]) -> Iterator[Finding]:
        """Yield what makes the deltas uncertain, and the warnings of the documents."""
        verdicts = [one.verdict for one in documents]
        weak = {one.text for one in verdicts if one.word in {"smoke", "partial"}}
        for text in dict.fromkeys(one.text for one in verdicts if one.text in weak):
            yield from remarks(f"{{}}: {text}", [one.text == text for one in verdicts])
        capacities = [one.capacity_bytes for one in documents]
        own = [one for one in documents if one.header.imported is None]
        if None not in capacities or len(own) == len(documents):
            yield from differing("capacities", capacities, list(map(words.capacity, capacities)))
        states = [_state(one.header) for one in documents]
        yield from differing("states of the drive before the test", states, states)
        seeds = list(dict.fromkeys(one.header.seed for one in own))
        if len(seeds) > 1:
            yield Remark(f"different seeds ({counted(seeds)}): small deltas may be chance")
        # Of known versions of the model the comparison says more than this.
        models = {self.model_version(one) for one in own}
        made = list(dict.fromkeys(map(_version, own)))
        if len(made) > 1 and (None in models or len(models) == 1):
            yield Remark(
                f"made by different versions ({counted(made)}): the numbers may differ for that "
                "alone"
            )
        for one in documents:
            found = one.header.imported
            if found is not None and found.unknown:
                place = documents.index(one)
                yield Remark(f"{{}} does not state: {', '.join(found.unknown)}", (place,))
        yield from remarks(
            "{}: interrupted and resumed", [bool(one.header.interrupted) for one in documents]
        )
        told = [(*one.document.warnings, *one.missing) for one in documents]
        for text in dict.fromkeys(text for one in told for text in one):
            yield from remarks(f"{{}}: {text}", [text in one for one in told])

    def model_version(self, document: Measured) -> int | None:
        """Return the version of the model behind a simulated drive."""
        version = document.header.target.platform.get("model_version")
        return version if isinstance(version, int) and not isinstance(version, bool) else None

    def is_same_run(self, one: Measured, other: Measured) -> bool:
        """Return whether drive, procedure and seed are equal."""
        drives = [each.header.target.device.config_sha256 for each in (one, other)]
        return (
            drives[0] is not None
            and drives[0] == drives[1]
            and one.header.seed == other.header.seed
            and all(value(one.header) == value(other.header) for _, value in PARAMETERS)
            and _options(one) == _options(other)
        )

    def summary(self, documents: Sequence[Measured], names: Sequence[str]) -> list[str]:
        """Return how each document but the first compares with it.

        Of repeated runs a difference is one if their intervals are apart.
        """
        alike = [
            f"{one.simulated} and {one.measured}: no difference in {count} of {first.count} cells "
            f"of {first.title}, where the 95 % intervals of repeated runs meet."
            for one in self.deviations(documents, names)
            for first in one.tables[:1]
            if (count := sum(cell.is_apart is False for cell in first.cells))
        ]
        return likeness.summary(documents, names) + alike

    def report(
        self, documents: Sequence[Measured], names: Sequence[str], found: Comparison
    ) -> Report:
        """Return the page that has tables of deltas, and the plots of all runs in one."""
        from opennandlab.reports.pts import overlay

        return overlay.report(documents, names, found)


FAMILY = StandardTests()


def _options(document: Measured) -> JsonObject:
    """Return the options of a test; a capture by its content, wherever its file was."""
    options: JsonObject = dict(document.header.options)
    capture = getattr(document.document.results, "capture", None)
    if capture is not None:
        options["capture"] = f"{capture.name} {capture.digest[:12]}"
    return options


def better(path: str, units: dict[str, str]) -> Better | None:
    """Return which way a number is better: by its name, of a table by the unit.

    >>> better("results.waf_end", {}), better("results.iops_rnd_4kib_read", {})
    ('lower', 'higher')
    >>> better("art[4, 0/100]", {"art": "ms"}), better("iops[4, 0/100]", {"iops": "IOPS"})
    ('lower', 'higher')
    >>> better("steady_state.RND 4 KiB.iops", {}), better("results.written_bytes", {})
    ('higher', None)
    >>> better("fill[50 %, GB]", {"fill": "GB; MB/s"}), better("fill[50 %, WAF]", {"fill": "1; %"})
    (None, 'lower')
    """
    table, bracket, cell = path.partition("[")
    name = units.get(table, "") or table if bracket else path.rpartition(".")[2]
    if ";" in name:
        # Columns of several units name them themselves.
        name = cell.rpartition(", ")[2].removesuffix("]")
    return next((way for form, way in BETTER if re.search(form, name.lower())), None)


def _label(path: str) -> str:
    """Return the label of a number in a table."""
    if not path.startswith("steady_state."):
        return spoken_path(path)
    of, _, metric = path.removeprefix("steady_state.").rpartition(".")
    label, factor = words.metric(metric)
    said = label if factor == 1.0 else OTHER_UNITS.get(metric, metric)
    group, dot, rest = (
        of[: len(of) // 2],
        of[len(of) // 2 : len(of) // 2 + 1],
        of[len(of) // 2 + 1 :],
    )
    of = group if dot == "." and group == rest else of
    return f"{said}, steady state" if of == metric else f"{of}, {said}, steady state"


def _order(path: str) -> int:
    """Return where a number stands: results first, then what was steady, then cells."""
    if path.startswith("results."):
        return 0
    return 1 if path.startswith("steady_state.") else 2


def _is_main(path: str, table: str | None) -> bool:
    """Return whether a number is shown: a cell is if its table is shown, or none is."""
    return "[" not in path or table in {None, path.partition("[")[0]}


def _intervals(measured: Measured) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
    """Yield the least and the greatest round of what is a mean over the window."""
    for steady in measured.steady:
        known = [float(value) for value in steady.values if value is not None]
        if known:
            yield likeness.steady_path(steady), (min(known), max(known))
    for block in measured.tables:
        yield from _cells(block)


def _cells(block: pts.Table) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
    if block.low is None or block.high is None:
        return
    for row, least, most in zip(block.rows, block.low, block.high, strict=False):
        for column, low, high in zip(block.columns, least, most, strict=False):
            yield f"{block.id}[{row}, {column}]", (low, high)


def _spare(measured: Measured) -> float | None:
    """Return the spare area over the active range: raw / (user × share) − 1."""
    ratio = measured.header.target.device.over_provisioning_ratio
    if ratio is None:
        return None
    return (1 + ratio) / (measured.header.active_range.share or 1.0) - 1


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(1 + one, 1 + other, rel_tol=SPARE_TOLERANCE_RATIO)


def _state(header: Header) -> str:
    """Return the wear of a drive before the test; a simulated one is young unless it says so."""
    state = header.target.state
    if state is None:
        return "young" if header.target.kind == "sim" else "as it came"
    if state.image_sha256 is not None:
        return f"image {state.image_sha256[:12]}"
    return state.name


def _wipc(wipc: Wipc | None) -> JsonObject | None:
    """Return of the preconditioning what does not follow from the capacity of the drive."""
    if wipc is None:
        return None
    return {
        "pattern": wipc.pattern,
        "block_bytes": wipc.block_bytes,
        "capacities": wipc.capacities,
        "passes": wipc.passes,
    }


def _shown(value: object) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, dict):
        # A share of 33.3 % is 0.33299999999999996.
        told = {
            key.replace("_", " "): f"{found:.6g}" if isinstance(found, float) else plain(found)
            for key, found in value.items()
            if found is not None
        }
        return ", ".join(f"{key} {found}" for key, found in told.items()) or "none"
    return f"`{plain(value)}`"


def _percent(ratio: float | None) -> str:
    return f"{'an unknown share' if ratio is None else f'{ratio * 100:.2f} %'} of the active range"


def _is_simulated(measured: Measured) -> bool:
    """Whether figures are of this simulator, be it by way of an output of fio."""
    target = measured.header.target
    return target.kind == "sim" or "(opennandlab " in str(target.platform.get("fio_version"))


def _version(measured: Measured) -> str:
    platform = measured.header.target.platform
    parts = [
        f"{key.removesuffix('_version')} {plain(platform[key])}"
        for key in ("simulator_version", "model_version", "fio_version")
        if platform.get(key) is not None
    ]
    tool = measured.document.tool
    return ", ".join(parts) or (tool.version if tool else "unknown")
