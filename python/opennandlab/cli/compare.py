"""`compare`: deltas between result files of like things."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from opennandlab.cli import _terminal as terminal
from opennandlab.cli._terminal import Json, Quiet

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
        list[Path], typer.Argument(metavar="FILE FILE...", help="Result files.", show_default=False)
    ],
    force: Annotated[
        bool,
        typer.Option("--force", help="Compare unlike things; the objection stays in the output."),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put results side by side; the first is what the others are measured against."""
    with terminal.guard(as_json=as_json):
        from opennandlab.comparison import UnlikeError
        from opennandlab.comparison import compare as put_side_by_side
        from opennandlab.result import Result

        results = [Result.load(path) for path in files]
        try:
            comparison = put_side_by_side(results, [str(path) for path in files], force=force)
        except UnlikeError as refusal:
            terminal.stop(
                terminal.REFUSED,
                f"{refusal} (--force compares nevertheless and keeps this warning)",
                as_json=as_json,
                reasons=refusal.reasons,
            )
        if as_json:
            terminal.emit_json(comparison)
        elif not quiet:
            _show(comparison)


def _show(comparison: dict[str, Any]) -> None:
    from rich.table import Table

    from opennandlab.summary import number

    console = terminal.stdout()
    for text in comparison["reasons"]:
        console.print(f"UNLIKE THINGS: {text}", style="bold red", markup=False)
    for text in comparison["warnings"]:
        console.print(f"warning: {text}", style="yellow", markup=False)
    table = Table("metric", show_edge=False, pad_edge=False)
    for name in comparison["names"]:
        table.add_column(name, justify="right", overflow="fold")
    for label, path in ROWS.items():
        row = comparison["metrics"].get(path)
        # A tail that is too thin to state is shown as such, wherever its mean is shown.
        mean = comparison["metrics"].get(re.sub(r"\.p\d+$", ".mean", path))
        if row is None or mean is None or all(value is None for value in mean["values"]):
            continue
        cells = [
            number(value) if index == 0 or delta is None else f"{number(value)} ({delta:+.1f} %)"
            for index, (value, delta) in enumerate(
                zip(row["values"], row["delta_pct"], strict=True)
            )
        ]
        table.add_row(label, *cells)
    console.print(table)
