"""A life test after JESD218 on the simulated drive: write to the end, bake, read everything back.

```text
sequential fill ─► random page writes ─► bake: `nand.stress` ─► every page read through the code
                   to TBW, untimed        of the class           corrected, retried, lost: counted
```

Unlike `life`, which asks the models for a mean, wear is that of every block here: what collection,
wear leveling and bad blocks made of the writes. Blocks, page types and recovery steps are those of
the drive, and the pages that cannot be corrected are counted.

The drive may be scaled down: dies are alike and so are blocks, so fewer of them show the same
wear, error rates and shares, in less time. Its write amplification is lower, so that of the whole
drive is measured apart (`amplification`), and the writes of the host are those that wear the whole
drive as much; bytes are scaled up again. Only the number of pages read back is smaller, which
`passes` compensates for: every pass draws again, as if it read another drive.

With `cuts` the drive is cut from power between stretches of writing: see `drive_cuts`.

Left out: early failures, the temperature of writing, more than one drive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from opennandlab.base.errors import ConfigError, InternalError
from opennandlab.core.by_hand import is_set, overruled
from opennandlab.core.config import DeviceConfig, load_device, map_unit_bytes
from opennandlab.core.config import Source as DeviceSource
from opennandlab.core.config import Source as WorkloadSource
from opennandlab.core.result import Result
from opennandlab.core.run import Simulation
from opennandlab.core.slices import Progress
from opennandlab.documents.life import DRIVE_LIFE_SCHEMA, DriveCuts, DriveLifeTest
from opennandlab.documents.metrics import Metrics
from opennandlab.documents.record import JsonObject
from opennandlab.reliability.amplification import amplification
from opennandlab.reliability.drive_cuts import Cutter
from opennandlab.reliability.jedec import BAKE_C, DriveClass
from opennandlab.reliability.model import Source, load_model
from opennandlab.reliability.scaling import scaled, with_reserve
from opennandlab.reliability.storage import Storage
from opennandlab.reliability.writes import TRACE, Recorded, Writes
from opennandlab.stats.poisson import CONFIDENCE, poisson_interval

# Page programs of a test unless asked otherwise: some seconds.
PROGRAMS = 1e8
# A workload writes at most so often as much as the drive holds.
DRIVE_WRITES_MAX = 1e6
# Writing ends when the mean wear is so near the rated cycles; a step may not go beyond.
WEAR_TOLERANCE = 0.002
STEPS_MAX = 60
# Drive writes of the first step over the rated cycles, before the wear of one is known.
FIRST_STEP = 0.02
# Share of the rated cycles from which on a step goes all the way.
NEAR = 0.05
# Power cuts of a life: each reads the whole drive.
CUTS_MAX = 100_000


def drive_life_test(  # noqa: PLR0913 - what a test plan states
    device: DeviceSource,
    drive_class: str = "client",
    *,
    tbw_tb: float | None = None,
    workload: WorkloadSource | None = None,
    model: Source | None = None,
    reads: float = 0.0,
    storage_h: float | None = None,
    storage_c: float | None = None,
    passes: float = 1.0,
    programs: float = PROGRAMS,
    powered: bool = False,
    cuts: int = 0,
    claims: Sequence[str] | None = None,
    repeat: bool = False,
    trace_sha256: str | None = None,
    seed: int = 42,
    progress: Callable[[Progress], None] | None = None,
) -> DriveLifeTest:
    """Run a life test after JESD218 on a simulated drive.

    Args:
        device: Preset, file, mapping or device.
        drive_class: `client` or `enterprise`.
        tbw_tb: Bytes that the host writes, TB; by default until the mean wear is the rated one,
            blocks beyond it staying in use (`nand.wear_out: ignore`).
        workload: What the host writes: name, file or mapping, of which the pattern, the sizes and
            the range count; or `trace:FILE`, a recorded trace whose addresses are made to span the
            drive. By default one map unit anywhere at random, the hardest.
        model: Error model; by default the device's own.
        reads: Reads per page of the block before the final one.
        storage_h: Hours that the data is kept; by default `nand.stress.retention_h` where that
            was set by hand, else what the class asks for.
        storage_c: Temperature of these hours, likewise.
        passes: How often the whole drive is read back.
        programs: Page programs to simulate, about; the drive is scaled down to them, and as many
            go into the write amplification of the whole drive.
        powered: The drive has power while the data is kept: that time is simulated, and at its end
            no data is older than `ftl.refresh.after_days`. Without power, which JESD218 asks for,
            nothing is refreshed.
        cuts: Power cuts, evenly over the writes; what they show is in the outcome.
        claims: What the drive promises when it is cut, of `honest-flush`, `plp`, `ordered` and
            `rzat`; by default what its options in `power` say.
        repeat: A trace is replayed again and again; without, it must write enough.
        trace_sha256: SHA-256 that the text of the trace must have.
        seed: Seed of the drive and its addresses.
        progress: Called about 50 times a second.

    Returns:
        The outcome.

    Raises:
        ConfigError: for an unknown class or a value out of range, and for cuts of a drive that does
            not find its data again; for a trace without writes, or with too few for one replay.
        TraceError: for a trace that cannot be read, or is another one.
        Interrupted: on Ctrl-C.

    Source:
        JEDEC JESD218 (recalled, unverified); UBER as in N. Mielke et al., IRPS 2008.

    >>> small = {"nand": {"pages_per_block": 64, "max_pe_cycles": 20}}
    >>> test = drive_life_test(small, "client", programs=1e5)
    >>> round(test.pe_cycles), test.pages_read > 1000
    (20, True)
    """
    _check(cuts, tbw=tbw_tb, passes=passes, programs=programs)
    given = load_device(device)
    storage = Storage.of(given, drive_class, storage_h, storage_c, reads)
    required, warnings = storage.required, storage.warnings
    whole, of_device = _as_tested(given, model, is_worn_out=tbw_tb is None)
    warnings += of_device
    writes = _drive_writes(whole, tbw_tb)
    cycles = float(whole["nand.max_pe_cycles"]) if writes is None else max(1.0, writes)
    kept_h = required.retention_h
    if powered:
        required = required.under_power(whole)
    small = scaled(whole, programs / cycles)
    if cuts:
        cuttable = with_reserve(small, whole)
        warnings += overruled(small, cuttable.to_dict(), "what is moved between cuts needs room")
        small = cuttable
    host = _host(small, workload, tbw_tb, trace_sha256, repeat=repeat)
    work = Writes.of(small, host).fitted(whole, small)
    warnings += work.cut_to(small)
    measured = amplification(whole, small, Writes.of(whole, host), programs, seed, progress)
    factor = 1.0 if measured is None else measured.factor
    drive = Simulation(small, seed)
    cutter = Cutter(drive, work.keys, claims) if cuts else None
    # More writes wear the scaled drive as much as these wear the whole one.
    scaled_writes = None if writes is None else 1.0 + (writes - 1.0) * factor
    written = _write(drive, work, scaled_writes, cutter, cuts, progress)
    fill = float(small.effective["logical_bytes"])
    trace = work.replayed(written.host_bytes - fill, repeat=repeat)
    written.of_whole(factor, fill)
    if powered:
        drive.idle(3600.0 * kept_h, progress=progress)
    drive.set_stress(
        retention_h=required.retention_h, temperature_c=required.retention_c, reads=storage.reads
    )
    found = drive.run(_reading(small, passes), progress=progress)
    outcome = _outcome(found, written, whole, small, required, seed)
    outcome = structs.replace(
        outcome,
        workload=work.name,
        trace=trace,
        waf_pages=None if measured is None else measured.pages,
        waf_factor=None if measured is None else factor,
        warnings=[*warnings, *outcome.warnings],
    )
    if powered:
        outcome = structs.replace(outcome, refreshes=outcome.pe_cycles - written.pe_cycles)
    return outcome if cutter is None else _with_cuts(outcome, cutter.found())


def _as_tested(
    given: DeviceConfig, model: Source | None, *, is_worn_out: bool
) -> tuple[DeviceConfig, list[str]]:
    """Return the device that is tested, and warnings of what that overrules."""
    whole = _with_model(given, model)
    warnings = overruled(given, whole.to_dict(), "the errors are those of the model")
    if is_worn_out:
        worn = whole.replace({"nand.wear_out": "ignore"})
        why = "without an amount to write (--tbw) blocks are used until the mean is worn out"
        warnings += overruled(whole, worn.to_dict(), why)
        whole = worn
    if is_set(given, "nand.stress.retention_h") or is_set(given, "nand.stress.reads"):
        # It is how data is kept at the end, and not while it is written.
        whole = whole.replace({"nand.stress.retention_h": 0.0, "nand.stress.reads": 0.0})
    return whole, warnings


def _host(
    device: DeviceConfig,
    workload: WorkloadSource | None,
    tbw_tb: float | None,
    digest: str | None,
    *,
    repeat: bool,
) -> WorkloadSource | Recorded | None:
    """Return the workload, or the trace that it names, which is read once for all drives."""
    if isinstance(workload, str) and workload.startswith(TRACE):
        if tbw_tb is None and not repeat:
            message = "the rated cycles are not reached by one replay; accepted: --repeat, or --tbw"
            raise ConfigError("repeat", message)
        return Recorded.read(workload.removeprefix(TRACE), device, digest)
    for name, is_given in (("repeat", repeat), ("trace_sha256", digest is not None)):
        if is_given:
            raise ConfigError(name, f"is of a trace; accepted: with the workload `{TRACE}FILE`")
    return workload


def _drive_writes(whole: DeviceConfig, tbw_tb: float | None) -> float | None:
    """Return how often the drive is written, or refuse it."""
    if tbw_tb is None:
        return None
    logical = float(whole.effective["logical_bytes"])
    writes = tbw_tb * 1e12 / logical
    # The whole drive is read back, so all of it must be written.
    if not 1.0 <= writes <= DRIVE_WRITES_MAX:
        message = (
            f"{tbw_tb:g} TB is out of range; accepted: from {logical / 1e12:.12g} TB, one fill of "
            f"this drive, to {DRIVE_WRITES_MAX * logical / 1e12:.3g} TB"
        )
        raise ConfigError("tbw", message)
    return writes


def _check(cuts: int, **amounts: float | None) -> None:
    for name, value in amounts.items():
        if value is not None and not 0.0 < value < math.inf:
            raise ConfigError(name, f"{value} is not usable; accepted: a number above 0")
    if not 0 <= cuts <= CUTS_MAX:
        raise ConfigError("cuts", f"{cuts} is not usable; accepted: 0 to {CUTS_MAX}")


def _with_cuts(outcome: DriveLifeTest, shown: DriveCuts) -> DriveLifeTest:
    is_sound = not shown.faults and not shown.errors
    return structs.replace(outcome, cuts=shown, passed=outcome.passed and is_sound)


@dataclass
class _Written:
    """What was written so far."""

    host_bytes: float = 0.0
    nand_bytes: float = 0.0
    pe_cycles: float = 0.0
    is_worn_out: bool = False

    def add(self, found: Result) -> None:
        """Count a step."""
        metrics = _metrics(found)
        self.host_bytes += metrics.host_bytes_written
        self.nand_bytes += metrics.nand_bytes_written
        self.pe_cycles = metrics.wear.mean
        self.is_worn_out = bool(found.content.state.worn_out)

    def add_bytes(self, host: float, nand: float) -> None:
        """Count what was written around a cut."""
        self.host_bytes += host
        self.nand_bytes += nand

    def of_whole(self, factor: float, fill: float) -> None:
        """Leave those writes of the host behind the fill that wear a whole drive as much."""
        if self.host_bytes > fill:
            self.host_bytes = fill + (self.host_bytes - fill) / factor


def _metrics(found: Result) -> Metrics:
    metrics = found.content.metrics
    if metrics is None:
        raise InternalError("a run that ended has no metrics")
    return metrics


def _with_model(device: DeviceConfig, model: Source | None) -> DeviceConfig:
    """Return the device with another error model, if one is given."""
    if model is None:
        return device
    document = device.to_dict()
    document["reliability"] = load_model(model).parameters
    # What the former model filled in is not what the user asked for.
    retry = document["controller"].get("read_retry", {})
    for key in ("rber_factor", "horizon_h"):
        if f"controller.read_retry.{key}" not in device.given:
            retry.pop(key, None)
    changed = load_device(document)
    return DeviceConfig(changed.core, device.name, device.given)


def _write(  # noqa: PLR0913, PLR0917 - what a test plan states
    drive: Simulation,
    work: Writes,
    drive_writes: float | None,
    cutter: Cutter | None,
    cuts: int,
    progress: Callable[[Progress], None] | None,
) -> _Written:
    """Fill the drive and overwrite it, cut from power so often on the way.

    It is written so many times, or until its rated cycles.
    """
    written = _Written()
    logical = float(drive.device.effective["logical_bytes"])
    drive.precondition([{"kind": "sequential_fill"}], progress=progress)
    written.host_bytes = written.nand_bytes = logical

    def step(amount: float) -> None:
        for part in work.stretches(drive, amount):
            written.add(work.run(drive, part, progress))

    rated = float(drive.device["nand.max_pe_cycles"])
    # With cuts a step goes no further than to the next one.
    pace = _Pace(max(min(FIRST_STEP, 0.1 / (cuts + 1)) * rated, 0.1))
    for stretch in range(cuts + 1):
        if drive_writes is None:
            _wear(written, step, rated * (stretch + 1) / (cuts + 1), pace)
        elif drive_writes > 1.0:
            step((drive_writes - 1.0) / (cuts + 1))
        if written.is_worn_out:
            break
        if cutter is not None and stretch < cuts:
            written.add_bytes(*cutter.cut((stretch + 1) / (cuts + 1), written.pe_cycles))
    return written


@dataclass
class _Pace:
    """How much is written in the next step, in drive writes, and what the last one wore."""

    amount: float
    cycles_per_write: float | None = None
    # The largest step so far, from which on a new goal begins.
    largest: float = 0.0

    def aim(self, left: float, goal: float) -> None:
        """Choose the next step, with so many cycles left to a goal."""
        if self.cycles_per_write is None:
            return
        # Half of the way while the goal is far, since amplification may still grow.
        share = 0.5 if left > NEAR * goal else 1.0
        rate = self.cycles_per_write
        most = share * left / rate if rate > 0.0 else math.inf
        self.amount = min(2.0 * self.amount, most)


def _wear(written: _Written, step: Callable[[float], None], goal: float, pace: _Pace) -> None:
    """Write until the mean wear is so many cycles, or the drive takes no more."""
    pace.amount = max(pace.amount, pace.largest)
    for _ in range(STEPS_MAX):
        left = goal - written.pe_cycles
        if written.is_worn_out or left <= max(WEAR_TOLERANCE * goal, 0.1):
            break
        pace.aim(left, goal)
        before = written.pe_cycles
        step(pace.amount)
        pace.cycles_per_write = (written.pe_cycles - before) / pace.amount
        pace.largest = max(pace.largest, pace.amount)


def _reading(device: DeviceConfig, passes: float) -> JsonObject:
    """Return the workload that reads every page, in order."""
    page_bytes = map_unit_bytes(device.to_dict())
    pages = int(float(device.effective["logical_bytes"]) * passes) // page_bytes
    return {
        "pattern": "sequential",
        "read_pct": 100,
        "block_size_bytes": page_bytes,
        "timed": False,
        "total": {"ios": max(1, pages)},
    }


def _outcome(  # noqa: PLR0913, PLR0917 - what a test plan states
    found: Result,
    written: _Written,
    whole: DeviceConfig,
    small: DeviceConfig,
    required: DriveClass,
    seed: int,
) -> DriveLifeTest:
    metrics = _metrics(found)
    raw, wear, uber, method = metrics.raw_errors, metrics.wear, metrics.uber, metrics.uber_method
    if raw is None or raw.rber is None or uber is None or method is None:
        raise InternalError("the drive was read back without a count of its errors")
    scale = float(whole.effective["logical_bytes"]) / float(small.effective["logical_bytes"])
    pages = sum(structs.astuple(metrics.reads))
    bits = pages * 8.0 * map_unit_bytes(small.to_dict())
    lost = metrics.uncorrectable_reads
    low, high = poisson_interval(lost)
    passed = not written.is_worn_out and max(uber, low / bits) <= required.uber_max
    return DriveLifeTest(
        schema=DRIVE_LIFE_SCHEMA,
        drive_class=required.name,
        device=whole.name,
        seed=seed,
        scale=scale,
        simulated_pages=int(small.effective["physical_pages"]),
        tbw_tb=written.host_bytes * scale / 1e12,
        drive_writes=written.host_bytes / float(small.effective["logical_bytes"]),
        waf=written.nand_bytes / written.host_bytes,
        pe_cycles=wear.mean,
        pe_cycles_min=wear.min,
        pe_cycles_max=wear.max,
        pe_cycles_rated=float(whole["nand.max_pe_cycles"]),
        worn_out=written.is_worn_out,
        retention_h=required.retention_h,
        retention_c=required.retention_c,
        bake_c=BAKE_C,
        bake_h=required.bake_h(BAKE_C),
        rber=raw.rber,
        page_types=raw.page_types,
        recovery=metrics.recovery,
        pages_read=pages,
        bits_read=bits,
        uncorrectable=lost,
        uncorrectable_expected=raw.uncorrectable_expected,
        uber_observed=lost / bits,
        uber_low=low / bits,
        uber_high=high / bits,
        uber=uber,
        uber_method=method,
        uber_max=required.uber_max,
        margin=metrics.ecc_margin,
        bits_to_show=-math.log((1.0 - CONFIDENCE) / 2.0) / required.uber_max,
        passed=passed,
        warnings=found.warnings,
    )
