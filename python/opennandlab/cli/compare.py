"""`compare`: deltas between result files, or documents of standard tests, of like things."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet

if TYPE_CHECKING:
    from collections.abc import Callable

    from opennandlab.documents.comparison import Comparison, Row

# What the table shows; `--json` has every number.
ROWS = {
    "WAF": "waf",
    "Throughput, write, MB/s": "throughput_mb_s.write",
    "Throughput, read, MB/s": "throughput_mb_s.read",
    "IOPS": "iops.total",
    "Write latency mean, µs": "latency_us.write.mean",
    "Write latency p99, µs": "latency_us.write.p99",
    "Write latency p99.9, µs": "latency_us.write.p999",
    "Read latency mean, µs": "latency_us.read.mean",
    "Read latency p99, µs": "latency_us.read.p99",
    "Read latency p99.9, µs": "latency_us.read.p999",
    "GC cycles": "gc_cycles",
    "GC pages moved": "gc_pages_moved",
    "ECC correction rate, %": "ecc_correction_rate_pct",
    "UBER, per bit read": "uber",
    "WL stddev": "wl_stddev",
    "Lifetime estimate, days": "lifetime_days",
}


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE FILE...",
            help="Result files, or documents of one standard test.",
            show_default=False,
        ),
    ],
    force: Annotated[
        bool,
        typer.Option("--force", help="Compare unlike results; the objection stays in the output."),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Standard tests: write a page with the plots overlaid."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare results side by side, relative to the first."""
    with terminal.guard(as_json=as_json):
        if html is not None:
            inputs = {f"the input {path}": path for path in files}
            terminal.check_outputs({"--html": html}, dict(inputs))
        if _compare_tests(files, html, force=force, as_json=as_json, quiet=quiet):
            return
        from opennandlab.comparison import UnlikeError, side_by_side
        from opennandlab.documents.record import plain
        from opennandlab.result import Result

        results = [Result.load(path) for path in files]
        try:
            comparison = side_by_side(results, [str(path) for path in files], force=force)
        except UnlikeError as refusal:
            terminal.stop(
                terminal.REFUSED,
                f"{refusal} (--force compares nevertheless and keeps this warning)",
                as_json=as_json,
                reasons=refusal.reasons,
            )
        if as_json:
            terminal.emit_json(plain(comparison))
        elif not quiet:
            _show(comparison)


def _compare_tests(
    files: list[Path], html: Path | None, *, force: bool, as_json: bool, quiet: bool
) -> bool:
    """Compare documents of a standard test, if that is what was given; tell whether it was."""
    from opennandlab.documents.record import plain
    from opennandlab.errors import ResultError
    from opennandlab.reports.pts import likeness, source

    files = [_document_in(path) for path in files]
    loaded = [source.load(path) for path in files]
    kinds = {source.family(document) for document, _ in loaded}
    if "pts" not in kinds:
        if html is not None:
            raise ResultError("--html overlays standard tests; `benchmark --plot` draws a result")
        return False
    if kinds != {"pts"}:
        raise ResultError("a document of a standard test is compared with others of its kind only")
    measured = [
        source.read(document, path.stem, complaints)
        for path, (document, complaints) in zip(files, loaded, strict=True)
    ]
    names = _names(files)
    found = likeness.compare(measured, names)
    if found.reasons and not force:
        terminal.stop(
            terminal.REFUSED,
            f"{'; '.join(found.reasons)} (--force compares nevertheless and keeps this warning)",
            as_json=as_json,
            reasons=found.reasons,
        )
    if html is not None:
        from opennandlab.reports import output
        from opennandlab.reports.pts import overlay

        output.write(overlay.report(measured, names, found), html, ".html")
    if as_json:
        terminal.emit_json(plain(found))
    elif not quiet:
        _show_tests(found, likeness.summary(measured, names))
        if html is not None:
            typer.echo(f"wrote {html}")
    return True


def _document_in(path: Path) -> Path:
    """Return a file, or the one document of a standard test in a folder.

    Raises:
        ResultError: for a folder with none or several, naming them.
    """
    from opennandlab.errors import ResultError

    if not path.is_dir():
        return path
    aside = {"run.json", "suite.json"}
    found = sorted(one for one in path.glob("*.json") if one.name not in aside)
    if len(found) == 1:
        return found[0]
    names = ", ".join(one.name for one in found[:8]) or "none"
    raise ResultError(f"{path}: a folder; accepted: one document, of which it has {names}")


def _names(files: list[Path]) -> list[str]:
    """Return short names that tell the files apart."""
    stems = [path.stem for path in files]
    if len(set(stems)) == len(stems):
        return stems
    folders = [path.resolve().parent.name for path in files]
    if len(set(folders)) == len(folders) and len(set(stems)) == 1:
        return folders
    parents = [f"{path.resolve().parent.name}/{path.stem}" for path in files]
    if len(set(parents)) == len(parents):
        return parents
    return [f"#{place + 1} {path.stem}" for place, path in enumerate(files)]


def _show_tests(comparison: "Comparison", summary: list[str]) -> None:
    """Print results and tables of a standard test; the first run is what deltas are against."""
    from rich.markup import escape
    from rich.table import Table

    from opennandlab.reports.pts.tables import spoken_path

    console = terminal.stdout()
    for text in comparison.reasons:
        console.print(f"UNLIKE THINGS: {text}", style="bold red", markup=False)
    for text in comparison.warnings:
        console.print(f"warning: {text}", style="yellow", markup=False)
    _show_models(comparison, spoken_path)
    for text in summary:
        console.print(text, style="bold", markup=False, soft_wrap=True)
    table = Table("number", show_edge=False, pad_edge=False)
    for name in comparison.names:
        table.add_column(escape(name), justify="right", overflow="fold")
    for path, row in comparison.metrics.items():
        if all(value is None for value in row.values):
            continue
        table.add_row(escape(spoken_path(path)), *_cells(row))
    console.print(table)


def _show_models(comparison: "Comparison", said: "Callable[[str], str]") -> None:
    """Print what lies between versions of the model, one block for each that is not the first's."""
    from opennandlab import versions

    console = terminal.stdout()
    for found in comparison.models or []:
        console.print("MODEL VERSIONS DIFFER", style="bold yellow", markup=False)
        for text in versions.words(found, comparison.names, comparison.metrics, said):
            console.print(f"  {text}", style="yellow", markup=False, soft_wrap=True)


def _cells(row: "Row") -> list[str]:
    """Return the values of a row, each with its delta against the first."""
    from opennandlab.summary import number

    return [
        number(value) if index == 0 or delta is None else f"{number(value)} ({delta:+.1f} %)"
        for index, (value, delta) in enumerate(zip(row.values, row.delta_pct, strict=True))
    ]


def _show(comparison: "Comparison") -> None:
    from rich.markup import escape
    from rich.table import Table

    console = terminal.stdout()
    for text in comparison.reasons:
        console.print(f"UNLIKE THINGS: {text}", style="bold red", markup=False)
    for text in comparison.warnings:
        console.print(f"warning: {text}", style="yellow", markup=False)
    labels = {path: label for label, path in ROWS.items()}
    _show_models(comparison, lambda path: labels.get(path, path))
    table = Table("metric", show_edge=False, pad_edge=False)
    for name in comparison.names:
        table.add_column(escape(name), justify="right", overflow="fold")
    for label, path in ROWS.items():
        row = comparison.metrics.get(path)
        # A tail that is too thin to state is shown as such, wherever its mean is shown.
        mean = comparison.metrics.get(re.sub(r"\.p\d+$", ".mean", path))
        if row is None or mean is None or all(value is None for value in mean.values):
            continue
        table.add_row(label, *_cells(row))
    console.print(table)
