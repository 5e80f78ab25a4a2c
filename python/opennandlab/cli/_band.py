"""`--shrink` and `--band`: a smaller drive for the whole one, and all drives of a data sheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.cli.options.benchmark import BenchmarkOptions
    from opennandlab.cli.options.common import BandKind
    from opennandlab.cli.options.pts import Asked
    from opennandlab.core.config import DeviceConfig, WorkloadConfig
    from opennandlab.documents.pts import PtsDocument
    from opennandlab.pts.bench.suite import Job, Suite
    from opennandlab.stats.groups import Group
    from opennandlab.studies.rating.band import Variants

# Options of a single result.
OF_ONE = (
    "output", "save_image", "plot", "paper", "style", "breakdown", "breakdown_plot", "timeline",
    "requests", "requests_every", "state", "ocp", "ocp_thresholds",
)  # fmt: skip
# Figures of a benchmark and of the points of a test, and their names in tables.
METRICS = {
    "throughput_mb_s.write": "write MB/s",
    "throughput_mb_s.read": "read MB/s",
    "iops.total": "IOPS",
    "waf": "WAF",
}
FIGURES = {
    "skew": {"steady_mb_s": "MB/s", "waf": "WAF"},
    "fill": {"mb_s": "MB/s", "waf": "WAF"},
    "zones": {"mb_s": "MB/s", "waf": "WAF"},
    "load": {"achieved_per_s": "writes/s", "read_us_p50": "read p50", "read_us_p99": "read p99"},
}


def fitting(
    given: BenchmarkOptions,
    device: DeviceConfig,
    workload_sets: Mapping[str, Any],
    *,
    is_told: bool = True,
) -> tuple[DeviceConfig, WorkloadConfig]:
    """Return a device and the workload for it, divided by `--shrink`.

    Args:
        given: Options.
        device: The whole device.
        workload_sets: Keys of the workload that are changed.
        is_told: Whether notes are printed.
    """
    from opennandlab.core.config import load_workload
    from opennandlab.core.shrinking import asked_divisor, shrink

    whole = load_workload(given.workload, device, overrides=workload_sets)
    if given.shrink is None:
        return device, whole
    found = shrink(device, whole, asked_divisor(given.shrink))
    if is_told and not given.quiet:
        for text in (f"drive and workload are divided by {found.divisor}", *found.notes):
            terminal.note(f"--shrink: {text}")
    return found.device, found.workload


def run_band(
    given: BenchmarkOptions, device_sets: Mapping[str, Any], workload_sets: Mapping[str, Any]
) -> None:
    """Run a workload on all drives of a data sheet, and print the bands."""
    from opennandlab.core.config import own_device
    from opennandlab.core.run import Start, prepare_benchmark
    from opennandlab.studies.rating.band import figures

    given.refuse(OF_ONE, "with --band, which runs many drives; accepted: one run without it")
    found = variants_of(given.config, device_sets, given.band)
    warnings: dict[str, None] = {}
    rows: dict[str, dict[str, float]] = {}
    for name, keys in found.keys.items():
        device = own_device(str(given.config), {**keys, **device_sets})
        smaller, workload = fitting(given, device, workload_sets, is_told=not rows)
        begun = prepare_benchmark(Start(smaller, given.seed), workload)
        with terminal.progress_line(quiet=given.quiet) as show:
            result = begun.measure(progress=show, slice_ops=given.slice_ops)
        rows[name] = dict(figures(result.metrics, METRICS))
        warnings |= dict.fromkeys(result.warnings)
    bands = found.bands(rows)
    if given.as_json:
        terminal.emit_json(
            {
                "device": device.name, "workload": given.workload, "seed": given.seed,
                "shrink": given.shrink, "variants": rows, "bands": bands,
                "warnings": [*warnings],
            }
        )  # fmt: skip
    elif not given.quiet:
        for text in warnings:
            terminal.note(f"warning: {text}", style="yellow")
        show_bands(found, {given.workload: bands}, METRICS, "workload")


def variants_of(file: str | None, settings: Mapping[str, Any], kind: BandKind | None) -> Variants:
    """Return the drives that the sheet of a device file would fit.

    Raises:
        ConfigError: without a file that `config from-rating` made.
    """
    from opennandlab.base.errors import ConfigError
    from opennandlab.studies.rating.band import variants

    if file is None or kind is None:
        raise ConfigError("--band", "needs a device of `config from-rating`: --config FILE")
    return variants(Path(file), settings, kind.value)


def run_test_band(wanted: Asked, job: Job, kind: BandKind) -> None:
    """Run a test on all drives of a data sheet, and print the bands of its points."""
    from opennandlab.base.errors import ConfigError
    from opennandlab.cli._pts_run import VARIANT, execute
    from opennandlab.documents.pts import Varied

    if wanted.vary is not None:
        raise ConfigError(
            "--band", "runs many drives, and so does --vary; accepted: one of the two"
        )
    if wanted.request.kind != "sim":
        raise ConfigError("--band", f"is for simulated drives, not {wanted.request.text}")
    file = wanted.request.text.removeprefix("sim:")
    found = variants_of(file, wanted.request.overrides, kind)
    jobs = [
        replace(job, name=f"{job.name}-{number}", overrides={**job.overrides, **keys})
        for number, keys in enumerate(found.keys.values(), 1)
    ]
    names = [one.name for one in jobs]
    varied = Varied(key=VARIANT, values=[*found.keys], documents=names)

    def bands(suite: Suite) -> dict[str, Any]:
        made = _bands_of(job.test.name, found, [*suite.documents.values()])
        if not (wanted.quiet or wanted.as_json):
            show_bands(found, made, FIGURES[job.test.name], job.test.name)
        return {"bands": [_flat(point, it) for point, it in made.items()]}

    execute(wanted, job.name, jobs, varied, bands)


def _flat(point: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point as documents have it: `steady_mb_s`, `band_mb_s`, and who set its ends."""
    row: dict[str, Any] = {"point": point}
    for key, band in figures.items():
        row[key] = band["value"]
        if "band" in band:
            short = f"band_{key.removeprefix('steady_')}"
            row |= {short: band["band"], f"{short}_by": [band["low_by"], band["high_by"]]}
    return row


def _bands_of(
    test: str, found: Variants, documents: Sequence[PtsDocument]
) -> dict[str, dict[str, Any]]:
    """Return the bands of the figures of a test, by its points; those that all drives have."""
    by_variant = dict(zip(found.keys, (dict(_points(test, it)) for it in documents), strict=True))
    first = next(iter(by_variant.values()))
    shared = [name for name in first if all(name in points for points in by_variant.values())]
    bands = {
        name: found.bands({key: points[name] for key, points in by_variant.items()})
        for name in shared
    }
    for name in shared:
        law, _, share = name.partition(":")
        if law == "static":
            bands[name]["ideal_waf"] = {"value": found.ideal_waf(float(share))}
    return bands


def sweep_bands(
    found: Variants, groups: Sequence[Group], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the bands of the numbers of a sweep, by what else was varied."""
    from opennandlab.studies.sweeps.axes import label

    by_point: dict[str, dict[str, dict[str, float]]] = {}
    known = {
        tuple(label(value) for value in keys.values()): name for name, keys in found.keys.items()
    }
    own = [*next(iter(found.keys.values()))]
    for group in groups:
        rest = [f"{key}={value}" for key, value in group.coordinates.items() if key not in own]
        name = known[tuple(group.coordinates[key] for key in own)]
        rows = by_point.setdefault(", ".join(rest) or "all", {})
        rows[name] = {key: group.means[key].mean for key in names if key in group.means}
    return {point: found.bands(rows) for point, rows in by_point.items()}


def _points(test: str, document: PtsDocument) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the points of a test by their names; those of loads by their places."""
    from opennandlab.documents.record import plain

    for place, point in enumerate(plain(document.results)["points"], 1):
        figures = {key: point[key] for key in FIGURES[test] if point[key] is not None}
        yield _name(test, place, point), figures


def _name(test: str, place: int, point: Mapping[str, Any]) -> str:
    if test == "fill":
        return f"{point['pct']:g} %"
    if test == "zones":
        return f"{point['open']} x {point['zone_bytes'] / (1 << 20):g} MiB"
    return str(point["pattern"]) if test == "skew" else f"load {place}"


def show_bands(
    found: Variants, bands: Mapping[str, Mapping[str, Any]], names: Mapping[str, str], label: str
) -> None:
    """Print bands by point and figure, and the drives by their numbers."""
    console = terminal.stdout()
    numbers = {name: str(number) for number, name in enumerate(found.keys, 1)}
    rows = []
    for point, figures in bands.items():
        for key, band in figures.items():
            if key in names:
                ends = [_text(end) for end in band["band"]]
                by = f"{numbers[band['low_by']]}, {numbers[band['high_by']]}"
                rows.append([point, names[key], _text(band["value"]), *ends, by])
            else:
                value = _text(band["value"])
                rows.append([point, "WAF, static data apart", value, "", "", ""])
    heads = (label, "figure", "value", "least", "most", "by")
    console.print(terminal.Grid(heads, rows, left=(0, 1)))
    for name, number in numbers.items():
        console.print(f"{number}: {name}", markup=False)


def _text(value: float) -> str:
    """Return a figure of a band: four digits."""
    return f"{value:.3f}" if value < 100 else f"{value:.0f}"
