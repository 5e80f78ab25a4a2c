"""`ocp`: logs of a drive that nvme-cli or a simulated run has written."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from opennandlab.cli import _terminal as terminal
from opennandlab.cli.options.common import Printed
from opennandlab.cli.options.rows import argument, flag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opennandlab.documents.ocp import DeviceLogs, OcpDocument


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

    console = terminal.stdout(is_numbers=True)
    for head, rows in _tables(document):
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


def _tables(document: "OcpDocument") -> "Iterator[tuple[list[str], list[list[str]]]]":
    """Yield heads and rows of each log."""
    from opennandlab.base.words import NOTHING, number
    from opennandlab.measured.ocp import SMART_COUNTERS, count

    after, before, change = document.after, document.before, document.change
    for name, title in (("smart_log", "log 02h"), ("smart_add_log", "OCP log C0h")):
        now = getattr(after, name)
        then = None if before is None else getattr(before, name)
        if now is None and then is None:
            continue
        rows, lacking = [], 0
        for key in now or then or ():
            values = [count((log or {}).get(key)) for log in (then, now)]
            if values == [None, None]:
                lacking += 1
                continue
            old, new = values
            changed = change.counters.get(key)
            if key in SMART_COUNTERS and old is not None and new is not None and new >= old:
                changed = new - old
            if before is None:
                rows.append([key, number(values[1])])
            else:
                rows.append([key, *map(number, values), number(changed)])
        if lacking:
            rows.append(
                [f"{lacking} fields without a value", *[NOTHING] * (1 if before is None else 3)]
            )
        yield [title, "value"] if before is None else [title, "before", "after", "change"], rows
    for logs, when in ((before, "before"), (after, "after")):
        if logs is not None and logs.latency_monitor_log is not None:
            yield _monitor(logs, when if before is not None else "")


def _monitor(logs: "DeviceLogs", when: str) -> tuple[list[str], list[list[str]]]:
    """Return the table of slow commands of the window that runs, and of the one before."""
    from opennandlab.base.words import number
    from opennandlab.measured.ocp import BUCKETS, COUNTER, KINDS, LATENCY, WINDOWS

    log = logs.latency_monitor_log or {}
    limits = [number(log[f"Active Threshold {letter}"]) for letter in "ABCD"]
    rows = []
    for window in WINDOWS:
        for bucket in range(BUCKETS):
            top = f"to {limits[bucket + 1]}" if bucket + 1 < BUCKETS else "or more"
            counts = log[f"{window} {COUNTER}: Bucket {bucket}"]
            slowest = log[f"{window} {LATENCY}: Bucket {bucket}"]
            row = [f"{window.lower()} {bucket}", f"{limits[bucket]} {top}"]
            for kind in KINDS:
                row += [number(counts[kind]), number(slowest[kind])]
            rows.append(row)
    head = [f"C3h {when}".strip(), "latency, ms"]
    for kind in KINDS:
        head += [f"{kind.lower()}s", "longest"]
    return head, rows
