"""The documents of the standard tests: `opennandlab.pts/1`, and `opennandlab.suite/1` for several.

One document holds all that a test measured, and every report is drawn from it. What a test found
out besides its cells is in `results`, which differs from test to test: see `pts_results`.

Units are in the names: `_s`, `_ms`, `_us`, `_ns`, `_bytes`, `_kib`, `_mb_s` (10^6 bytes per
second), `_pct`. Times are those of the target: a simulated drive has a clock of its own. A figure
that was not measured is `null`.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType, structs

from opennandlab.documents.partial import readable
from opennandlab.documents.pts_base import Results
from opennandlab.documents.pts_header import Header
from opennandlab.documents.pts_results import RESULTS
from opennandlab.documents.record import (
    JsonObject,
    Number,
    Problem,
    Record,
    Row,
    made,
    plain,
    read,
)

SCHEMA: Final = "opennandlab.pts/1"
SUITE_SCHEMA: Final = "opennandlab.suite/1"

# A count or a time in whole nanoseconds, as arrays of 64 bits hold them.
Whole = Annotated[int, Meta(ge=0, le=2**63 - 1)]


# Whether a drive collected while a value was steady.
Collection = Literal["seen", "none", "not_applicable", "unknown"]


class Phase(Record, frozen=True, kw_only=True):
    """A stretch of the test.

    Args:
        name: Such as `purge`, `wipc`, `round`.
        index: Its place, from 0.
        round: Number of the round, from 1; `null` outside rounds.
        start_s: Begin.
        end_s: End.
        written_bytes: Bytes written since the last purge, at its end.
        group: Part of the test with a purge of its own; absent for the only one.
    """

    name: str
    index: int
    round: int | None
    start_s: Number
    end_s: Number
    written_bytes: Number
    group: str | None = None


class Cell(Row, frozen=True):
    """A measured cell: a row with these columns.

    Args:
        phase: Part of the test it belongs to.
        round: Number of the round, from 1; `null` outside rounds.
        rw_pct: Reads in percent of the requests.
        block_bytes: Size of a request; `null` for a mix of sizes.
        threads: Threads (TC); `null` where an origin does not tell.
        queue_depth: Requests outstanding per thread (QD), likewise.
        label: Its name in tables.
        start_s: Begin.
        seconds: Measured time.
        ios: Requests completed.
        iops: Requests per second.
        read_iops: Reads per second.
        write_iops: Writes per second.
        mb_s: 10^6 bytes per second.
        read_mb_s: The same of reads.
        write_mb_s: The same of writes.
        lat_us_mean: Mean response time (ART).
        lat_us_p50: 50 % of the requests take at most this; `null` with less than ten beyond.
        lat_us_p99: 99 % do.
        lat_us_p999: 99.9 % do.
        lat_us_p9999: 99.99 % do.
        lat_us_p99999: 99.999 % do.
        lat_us_max: Longest response time (MRT).
        written_bytes: Bytes written since the last purge, at its end.
        waf: Write amplification; `null` where the target does not tell.
        cpu_pct: Processor time of the host; `null` where the target does not tell.
        power_w: Mean power of the drive in watts; `null` if it is unknown. Absent in older
            documents, as the columns after it.
        j_per_gb: Joules for each 10^9 bytes that were read and written.
        iops_per_w: Requests per second and watt, which are requests per joule.
        at_s: Begin of the measured time of a real drive, in seconds since 1970; `null` of
            simulated drives, whose clock is their own.
    """

    phase: str
    round: int | None
    rw_pct: Number
    block_bytes: int | None
    threads: int | None
    queue_depth: int | None
    label: str
    start_s: Number
    seconds: Number
    ios: Number
    iops: Number
    read_iops: Number
    write_iops: Number
    mb_s: Number
    read_mb_s: Number
    write_mb_s: Number
    lat_us_mean: Number | None
    lat_us_p50: Number | None
    lat_us_p99: Number | None
    lat_us_p999: Number | None
    lat_us_p9999: Number | None
    lat_us_p99999: Number | None
    lat_us_max: Number | None
    written_bytes: Number
    waf: Number | None
    cpu_pct: Number | None
    power_w: Number | None = None
    j_per_gb: Number | None = None
    iops_per_w: Number | None = None
    at_s: Number | None = None

    @property
    def end_s(self) -> float:
        """Its end in the target's time."""
        return self.start_s + self.seconds

    def number(self, column: str) -> float | None:
        """Return the number of a column; None where it was not measured."""
        value = getattr(self, column)
        return None if value is None else float(value)


class Cells(Record, frozen=True, kw_only=True):
    """All measured cells.

    Args:
        columns: Names of the columns.
        rows: One list per cell.
    """

    columns: list[str]
    rows: list[Cell]


class Sample(Row, frozen=True):
    """A piece in time of a cell: a row with these columns.

    Args:
        phase: Part of the test it belongs to.
        end_s: Its end.
        iops: Requests per second.
        mb_s: 10^6 bytes per second.
        lat_us_mean: Mean response time.
        lat_us_max: Longest response time.
        written_bytes: Bytes written since the last purge, at its end.
    """

    phase: str
    end_s: Number
    iops: Number | None
    mb_s: Number | None
    lat_us_mean: Number | None
    lat_us_max: Number | None
    written_bytes: Number | None


class Samples(Record, frozen=True, kw_only=True):
    """The pieces in time of the cells that were sampled.

    Args:
        columns: Names of the columns.
        rows: One list per sample.
    """

    columns: list[str]
    rows: list[Sample]


class Tracking(Record, frozen=True, kw_only=True):
    """A value that must be steady.

    Args:
        metric: Column of the cells.
        rw_pct: Reads in percent.
        block_bytes: Size of a request; `null` for a mix of sizes.
        label: The cell of the round.
    """

    metric: str
    rw_pct: Number
    block_bytes: int | None
    label: str


class RoundValue(Row, frozen=True):
    """The tracked value in one round: a row with these columns.

    Args:
        round: Number of the round, from 1.
        value: The value; `null` where it is not a number.
    """

    round: int
    value: Number | None


class Steady(Record, frozen=True, kw_only=True):
    """What the five-point rule says of a tracked value; numbers are in its unit.

    Args:
        tracking: Which value.
        values_by_round: All rounds, in order.
        attained: Whether every tracked value was steady at once.
        round: The round at which that was; `null` when it was not attained.
        rounds: Rounds that were run.
        rounds_max: Rounds after which the search ends.
        window: Numbers of the last five rounds.
        values: The values in the window.
        steady: Whether this value is steady.
        reason: `steady`, `insufficient`, `invalid`, `excursion`, `slope`, `excursion and slope`;
            `lost reads` where the rule holds and reads in the window gave no data.
        average: Mean of the window.
        excursion: Largest value less smallest.
        slope: Slope of the fitted line, per round.
        intercept: Intercept of the fitted line, at the first round of the window.
        slope_excursion: Change of the fitted line over the window, without sign.
        excursion_allowed: 20 % of the mean.
        slope_allowed: 10 % of the mean.
        collection: Whether the drive collected in every round of the window: `seen`; `none`: the
            value is that of a drive which has not begun to, whatever the rule says of it;
            `not_applicable`: it is of reads, or of a range so small that nothing live is ever in
            the way; `unknown`: a real drive does not tell. Absent in older documents.
        group: Part of the test with a purge of its own; absent for the only one.
    """

    tracking: Tracking
    values_by_round: list[RoundValue]
    attained: bool
    round: int | None
    rounds: int
    rounds_max: int
    window: list[int]
    values: list[Number | None]
    steady: bool
    reason: str
    average: Number | None
    excursion: Number | None
    slope: Number | None
    intercept: Number | None
    slope_excursion: Number | None
    excursion_allowed: Number | None
    slope_allowed: Number | None
    collection: Collection | None = None
    group: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the value is steady by the rule, and not for want of collections."""
        return self.steady and self.collection != "none"

    @property
    def known(self) -> list[Number]:
        """The values in the window; nothing where one of them is unknown."""
        found = [value for value in self.values if value is not None]
        return found if len(found) == len(self.window) == len(self.values) else []


class Table(Record, frozen=True, kw_only=True):
    """A table of the report.

    Args:
        id: Its name within the document.
        title: Heading.
        unit: Unit of the values; several are separated by semicolons.
        row_label: What the rows are.
        column_label: What the columns are.
        rows: Names of the rows.
        columns: Names of the columns.
        values: Values by row.
        low: Of means over the window, the least round of each; of runs that were repeated, the
            lower end of the 95 % interval of their mean. Absent of other tables.
        high: The greatest round, or the upper end.
    """

    id: str
    title: str
    unit: str
    row_label: str
    column_label: str
    rows: list[str]
    columns: list[str]
    values: list[list[Number | str | None]]
    low: list[list[Number | None]] | None = None
    high: list[list[Number | None]] | None = None


class Percentiles(Record, frozen=True, kw_only=True):
    """Response times in microseconds; `null` when fewer than ten requests lie beyond.

    Args:
        mean: Mean.
        p50: 50 % of the requests take at most this.
        p90: 90 % do.
        p99: 99 % do.
        p999: 99.9 % do.
        p9999: 99.99 % do.
        p99999: 99.999 % do.
        max: Longest.
    """

    mean: Number | None
    p50: Number | None
    p90: Number | None
    p99: Number | None
    p999: Number | None
    p9999: Number | None
    p99999: Number | None
    max: Number | None


class Histogram(Record, frozen=True, kw_only=True):
    """All response times of one operating point.

    Args:
        id: Its name within the document.
        title: Heading.
        count: Requests.
        ns: Value of each bin in nanoseconds, ascending.
        counts: Requests of each bin.
        sum_ns: Sum of all response times.
        max_ns: The longest.
        latency_us: Mean and percentiles.
        iops: Requests per second of the operating point; absent where there is none.
    """

    id: str
    title: str
    count: Whole
    ns: list[Whole]
    counts: list[Whole]
    sum_ns: Number
    max_ns: Whole
    latency_us: Percentiles
    iops: Number | None = None


class Tool(Record, frozen=True, kw_only=True):
    """What made a document. Not part of the digest.

    Args:
        version: Version of the package.
        commit: Commit it was built from; `unknown` outside of its repository.
        dirty: Whether the sources of the core were changed after that commit.
        python: Version of the Python interpreter.
        os: System and release.
        cpu: Kind of the machine.
        cpus: Processors that this process could use.
    """

    version: str
    commit: str
    dirty: bool | UnsetType = UNSET
    python: str
    os: str
    cpu: str
    cpus: int | None


class RunFacts(Record, frozen=True, kw_only=True):
    """This run on this machine. Not part of the digest.

    Args:
        wall_s: Wall time.
        began_s: When the test began, in seconds since 1970; absent of simulated drives, of runs
            that were cut and resumed, and in older documents.
    """

    wall_s: Number
    began_s: Number | None = None


class Moment(Record, frozen=True, kw_only=True):
    """What belongs to one machine and moment: an entry of `run.json`.

    Args:
        tool: What made the document.
        created: When, in UTC.
        run: This run.
        digest: Digest of the document; absent where it is not known.
        operator: Who ran it; absent where nobody said.
        notes: What the operator noted; absent without notes.
        model: Model of the device, given by hand; absent where it was not.
        overrides: Keys of the simulated device that the command line changed, by dotted path;
            absent in older files.
    """

    tool: Tool
    created: str
    run: RunFacts
    digest: str | None = None
    operator: str | None = None
    notes: list[str] | None = None
    model: str | None = None
    overrides: JsonObject | None = None


class PtsDocument(Record, frozen=True, kw_only=True):
    """What a standard test measured.

    Units are in the names: `_s`, `_ms`, `_us`, `_ns`, `_bytes`, `_kib`, `_mb_s` (10^6 bytes per
    second), `_pct` (percent). Times are those of the target: a simulated drive has its own clock.
    A figure that was not measured is `null`. Numbers are written as integers where they are whole
    by nature and as floating point otherwise.

    Args:
        schema: Kind and version of the document.
        test: Name of the test; it decides what is in `results`.
        title: Its title.
        name: Name of the run; the file is named after it.
        header: Settings, target and procedure.
        phases: What happened, in order.
        cells: What was measured.
        steady_state: What the five-point rule says, one entry per tracked value.
        results: Figures of this test; `{}` of a run that was cut.
        tables: Tables of the report.
        histograms: Response times of operating points.
        warnings: What the reader should know.
        partial: Whether the run was cut.
        samples: Pieces in time of cells; absent where none were taken.
        digest: SHA-256, in hex, of the canonical JSON of all but `tool`, `created`, `run` and
            itself.
        tool: What made it; absent for simulated drives, whose documents do not depend on it.
        created: When, in UTC; absent for simulated drives.
        run: This run; absent for simulated drives.
    """

    schema: Literal["opennandlab.pts/1"]
    test: str
    title: str
    name: str
    header: Header
    phases: list[Phase]
    cells: Cells
    steady_state: list[Steady]
    results: Results
    tables: list[Table]
    histograms: list[Histogram]
    warnings: list[str]
    partial: bool
    samples: Samples | None = None
    digest: str
    tool: Tool | None = None
    created: str | None = None
    run: RunFacts | None = None


class Varied(Record, frozen=True, kw_only=True):
    """A parameter that was varied.

    Args:
        key: Its name.
        values: Its values.
        documents: Names of their documents.
    """

    key: str
    values: list[str]
    documents: list[str]


class SuiteDocument(Record, frozen=True, kw_only=True):
    """Several documents of one run.

    Args:
        schema: Kind and version of the document.
        name: Name of the suite.
        documents: Names of its documents.
        digests: Their digests, by name.
        results: Their results, by name.
        varied: Parameter that was varied; `null` for none.
        left_out: Tests that this target cannot do, and why.
        digest: SHA-256, in hex, of the canonical JSON of all but itself.
        ratios: Of states of a drive that were varied, the figures of each over those of the first,
            by cell; absent of other suites.
    """

    schema: Literal["opennandlab.suite/1"]
    name: str
    documents: list[str]
    digests: dict[str, str]
    results: dict[str, JsonObject]
    varied: Varied | None
    left_out: dict[str, str]
    digest: str
    ratios: list[Table] | None = None


# Tables of power: those of grids, which may be numbered, and the list of other cells.
POWER_GRIDS: Final = ("power_w", "j_per_gb", "iops_per_w")
POWER_LIST: Final = "power"


def is_of_power(name: str) -> bool:
    """Return whether a table of this id is one of power.

    >>> is_of_power("power"), is_of_power("j_per_gb-2"), is_of_power("iops")
    (True, True, False)
    """
    return name == POWER_LIST or name.partition("-")[0] in POWER_GRIDS


def to_json(document: PtsDocument) -> JsonObject:
    """Return the document as in a file; cells of older ones keep their columns."""
    found = plain(document)
    count = len(document.cells.columns)
    if count < len(Cell.__struct_fields__):
        found["cells"]["rows"] = [row[:count] for row in found["cells"]["rows"]]
    return found


def from_json(value: JsonObject) -> PtsDocument:
    """Return a document that this program made.

    Raises:
        DocumentError: with path, value and what is accepted.
    """
    document = made(_headed(value), PtsDocument)
    found = made(value.get("results"), results_kind(document.test, value), ("results",))
    return structs.replace(document, results=found)


def from_file(value: JsonObject) -> tuple[PtsDocument, list[str]]:
    """Return the document of a file, and the paths of the keys that this build does not know.

    Raises:
        DocumentError: with path, value and what is accepted.
    """
    document, unknown = read(_headed(value), PtsDocument)
    found, more = read(value["results"], results_kind(document.test, value), ("results",))
    return structs.replace(document, results=found), unknown + more


def from_damaged(value: JsonObject) -> tuple[PtsDocument, list[Problem]]:
    """Return as much of a document as can be read, and what was lost of it."""
    arranged = {
        name: _arranged(value[name], kind)
        for name, kind in (("cells", Cell), ("samples", Sample))
        if name in value
    }
    document, lost = readable(_headed(value) | arranged, PtsDocument)
    found, more = readable(value.get("results", {}), results_kind(document.test, value))
    lost += [Problem(("results", *one.place), one.message) for one in more if "results" in value]
    return structs.replace(document, results=found), lost


def _arranged(part: object, kind: type[Row]) -> object:
    """Return rows with the declared columns, in their order: other builds may have others."""
    names = kind.__struct_fields__
    if not isinstance(part, dict) or part.get("columns") == list(names):
        return part
    columns, rows = part.get("columns"), part.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return part
    places = [columns.index(name) if name in columns else None for name in names]
    return part | {
        "rows": [
            [None if place is None else row[place] for place in places]
            if isinstance(row, list) and len(row) == len(columns)
            else row
            for row in rows
        ]
    }


def results_kind(test: str, document: JsonObject) -> type[Results]:
    """Return what the results of a document are; cut runs and imported figures have none."""
    header = document.get("header")
    is_imported = isinstance(header, dict) and header.get("imported") is not None
    is_bare = document.get("partial") is True or is_imported
    return Results if is_bare and document.get("results") == {} else RESULTS.get(test, Results)


def _headed(value: JsonObject) -> JsonObject:
    """Return the document with its results taken out: which they are, its test decides."""
    return value | {"results": {}} if "results" in value else value
