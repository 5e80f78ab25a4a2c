"""`ocp`: logs of a drive that nvme-cli or a simulated run has written."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from opennandlab.documents.ocp import OcpDocument


@dataclass(frozen=True, kw_only=True)
class OcpOptions(Printed):
    """Options of `ocp`."""

    files: Annotated[
        list[Path],
        argument(
            "Logs of one moment: JSON of nvme-cli (ocp smart-add-log, ocp latency-monitor-log, "
            "smart-log), 512 bytes of log C0h or C3h, or a file of --ocp.",
            metavar="FILE…",
            show_default=False,
        ),
    ]
    before: Annotated[
        list[Path] | None,
        flag(
            "Logs of an earlier moment: shows what was counted since. May be repeated.",
            metavar="FILE",
        ),
    ] = None


def ocp(given: OcpOptions) -> None:
    """Show logs of a drive, and its write amplification between two moments."""
    from opennandlab.documents.ocp import OCP_SCHEMA, OcpDocument
    from opennandlab.documents.record import plain
    from opennandlab.measured.ocp import changes, joined, read_logs

    after = joined((str(path), read_logs(path)) for path in given.files)
    before = None
    if given.before:
        before = joined((str(path), read_logs(path)) for path in given.before)
    document = OcpDocument(
        schema=OCP_SCHEMA,
        origin="files",
        source=[path.name for path in (*(given.before or ()), *given.files)],
        before=before,
        after=after,
        change=changes(before, after),
    )
    if given.as_json:
        terminal.emit_json(plain(document))
    elif not given.quiet:
        _show(document)


def _show(document: "OcpDocument") -> None:
    from opennandlab.base.words import number
    from opennandlab.reports.ocp import tables

    console = terminal.stdout(is_numbers=True)
    for head, rows in tables(document):
        console.print(terminal.plain_table(head, rows))
        console.print()
    change = document.change
    since = "since the counters began" if document.before is None else "between the two moments"
    if change.waf is None:
        console.print(f"write amplification {since}: unknown", markup=False)
    else:
        low, high = change.waf_range or (None, None)
        text = (
            f"write amplification {since}: {number(change.waf)} "
            f"({number(low)} to {number(high)}: data units are whole), "
            f"{number(change.media_bytes_written)} bytes programmed for "
            f"{number(change.host_bytes_written)} of hosts"
        )
        console.print(text, markup=False)
    for name, reason in change.unknown.items():
        console.print(f"{name} is unknown: {reason}", markup=False)
