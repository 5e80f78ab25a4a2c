"""Watching a run: breakdown and timeline, from the command line and from Python."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from msgspec import structs

import opennandlab as onl
from conftest import SHORT, SMALL, Cli
from documents import run_page, same_drawing
from opennandlab.core.observation import parse_window
from opennandlab.documents.metrics import Band, Breakdown, ClassBreakdown
from opennandlab.reports import breakdown as report
from opennandlab.reports import html
from opennandlab.reports.figure.model import Stack
from opennandlab.reports.summary import collection_table
from opennandlab.reports.time_parts import PARTS, breakdown_tables
from places import ROOT

MIXED: dict[str, Any] = {**SHORT, "name": "mixed", "read_pct": 50}
SUSPENDS = {
    **SMALL,
    "controller": {"scheduler": {"kind": "priority"}, "suspend": {}},
}
WINDOW_S = (0.05, 0.06)


@pytest.fixture(scope="module")
def watched() -> onl.Result:
    return onl.benchmark(SUSPENDS, MIXED, breakdown=True, timeline=WINDOW_S)


def test_the_parts_of_each_band_sum_to_its_latency(watched: onl.Result) -> None:
    assert watched.passed
    assert watched.breakdown is not None
    assert set(watched.breakdown) == {"read", "write"}
    for op, section in watched.breakdown.items():
        latency = watched.metrics["latency_us"][op]
        whole, *bands = section["bands"]
        assert whole["band"] == "all"
        assert whole["count"] == section["count"] == latency["count"]
        assert whole["latency_us_mean"] == pytest.approx(latency["mean"], rel=1e-9)
        for band in section["bands"]:
            assert set(band["parts_us"]) <= set(PARTS)
            assert sum(band["parts_us"].values()) == pytest.approx(band["latency_us_mean"])
        assert sum(band["count"] for band in bands) == whole["count"]
        means = [band["latency_us_mean"] for band in bands]
        assert means == sorted(means)


def test_commands_that_met_a_collection_are_slower_and_told_apart(watched: onl.Result) -> None:
    apart = watched.metrics["latency_by_collection"]
    for op in ("read", "write"):
        met, not_met = apart["met"][op], apart["not_met"][op]
        assert met["count"] + not_met["count"] == watched.metrics["latency_us"][op]["count"]
        assert met["mean"] > not_met["mean"]
    head, rows = collection_table(watched.content)
    assert [row[0] for row in rows] == [
        "read, met",
        "write, met",
        "read, not met",
        "write, not met",
    ]
    assert all(len(row) == len(head) for row in rows)


def test_watching_changes_no_figure_but_adds_the_breakdown(watched: onl.Result) -> None:
    for device, watched_here in ((SUSPENDS, watched), (SMALL, None)):
        seen = watched_here or onl.benchmark(device, MIXED, breakdown=True, timeline=WINDOW_S)
        plain = onl.benchmark(device, MIXED)
        only_timeline = onl.benchmark(device, MIXED, timeline=WINDOW_S)
        assert only_timeline.digest == plain.digest
        assert plain.breakdown is None
        assert plain.timeline is None
        document = json.loads(json.dumps(seen.document))
        assert document.pop("observed") == {"breakdown": True}
        del document["metrics"]["breakdown"]
        del document["metrics"]["latency_by_collection"]
        for section in ("metrics", "series", "checks", "state"):
            assert document[section] == plain.document[section], section


def test_a_breakdown_can_be_had_as_a_frame(watched: onl.Result) -> None:
    frame = watched.breakdown_frame()
    assert frame.index.names == ["class", "band"]
    parts = frame.drop(columns=["count", "latency"]).sum(axis=1)
    assert parts.to_numpy() == pytest.approx(frame["latency"].to_numpy())
    assert onl.benchmark(SMALL, MIXED).breakdown_frame().empty


def test_the_answer_names_the_largest_part(watched: onl.Result) -> None:
    assert watched.breakdown is not None
    for table in breakdown_tables(watched.content):
        top = watched.breakdown[table.op]["bands"][-1]
        part = max(top["parts_us"], key=lambda name: top["parts_us"][name])
        share = round(100 * top["parts_us"][part] / top["latency_us_mean"])
        assert table.answer.startswith(f"{top['band']} {table.op}s: {share} % of ")
        assert table.answer.endswith(f"{PARTS[part]} ({part})")


def test_many_parts_share_a_column_and_still_sum(watched: onl.Result) -> None:
    names = list(PARTS)[:12]
    parts = {name: float(index + 1) for index, name in enumerate(names)}
    band = Band(band="all", count=3, latency_us_mean=78.0, parts_us=parts)
    breakdown = Breakdown(read=ClassBreakdown(count=3, bands=[band]))
    metrics = structs.replace(watched.content.metrics, breakdown=breakdown)
    (table,) = breakdown_tables(structs.replace(watched.content, metrics=metrics))
    # The four smallest are 1 to 4 µs.
    assert table.head == ["reads, mean µs", "ops", "latency", *names[4:], "rest"]
    assert table.rows[0][-1] == "10"


def test_a_timeline_is_a_trace_event_document(watched: onl.Result, tmp_path: Path) -> None:
    assert watched.timeline is not None
    watched.timeline.save(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    check_trace(document, *(second * 1e6 for second in WINDOW_S))


def check_trace(document: dict[str, Any], from_us: float, to_us: float) -> None:
    """Hold a document against the Trace Event Format: what its viewers need of each event."""
    assert document["otherData"]["dropped_events"] == 0
    events = document["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) > 20
    assert {event["ph"] for event in events} <= {"X", "M", "C", "s", "t", "f"}
    check_tracks(events)
    levels = [event for event in events if event["ph"] == "C"]
    assert {level["name"] for level in levels} == {"queue_depth", "erased_blocks"}
    for level in levels:
        assert {"name", "ph", "ts", "pid", "args"} <= set(level)
        assert from_us <= level["ts"] < to_us
        assert 0 <= level["args"].get("queue_depth", 0) <= SHORT["queue_depth"]
        assert level["args"].get("erased_blocks", 1) > 0
    lanes: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for span in spans:
        assert {"name", "ph", "ts", "dur", "pid", "tid"} <= set(span)
        assert from_us - 1e-6 <= span["ts"] <= span["ts"] + span["dur"] <= to_us + 1e-6
        lanes.setdefault((span["pid"], span["tid"]), []).append((span["ts"], span["dur"]))
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    assert set(lanes) == named
    assert {"dies", "channels", "host commands"} <= {
        event["args"]["name"]
        for event in events
        if event["name"] == "process_name" and event["pid"] in {pid for pid, _ in named}
    }
    # A die, a channel and a slot do one thing at a time.
    for lane, times in lanes.items():
        times.sort()
        for (start, length), (after, _) in itertools.pairwise(times):
            assert start + length <= after + 1e-6, lane


def check_tracks(events: list[dict[str, Any]]) -> None:
    """Every track has its place, every span its lane, and arrows begin and end on spans."""
    spans = [event for event in events if event["ph"] == "X"]
    places = [e for e in events if e["name"] in {"process_sort_index", "thread_sort_index"}]
    names = [e for e in events if e["name"] in {"process_name", "thread_name"}]
    assert len(places) == len(names)
    order = {e["pid"]: e["args"]["sort_index"] for e in places if e["name"][0] == "p"}
    assert order[6] < order[1] < order[2] < order[4], "from the host down to the flash, then levels"
    assert all(span["tid"] in span["args"].values() for span in spans)
    check_arrows(events)


def check_arrows(events: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Bind arrows to spans as Perfetto's reader of this format does; return the spans of each.

    Events are sorted by time, those of equal times stay in the order of the file. `s` and `t`, and
    `f` with `bp: e`, belong to the span that is open on their thread then; a span that took no
    time is closed at once.
    """
    open_spans: dict[tuple[int, int], tuple[int, dict[str, Any]]] = {}
    chains: dict[int, list[dict[str, Any]]] = {}
    under_way: set[int] = set()
    timed = [event for event in events if event["ph"] in {"X", "s", "t", "f"}]
    for event in sorted(timed, key=lambda event: round(event["ts"] * 1000)):
        thread, at = (event["pid"], event["tid"]), round(event["ts"] * 1000)
        if event["ph"] == "X":
            open_spans[thread] = (at + round(event["dur"] * 1000), event)
            continue
        number = event["id"]
        end, span = open_spans[thread]
        assert at < end, event
        assert (event["ph"] == "f") == (event.get("bp") == "e")
        assert (event["ph"] == "s") == (number not in chains)
        assert event["ph"] == "s" or number in under_way, "an arrow ends once"
        under_way.add(number)
        if event["ph"] == "f":
            under_way.remove(number)
        chains.setdefault(number, []).append(span)
    assert not under_way
    for event in (event for event in events if event["ph"] == "s"):
        spans = chains[event["id"]]
        assert [span["ts"] for span in spans[1:]] == sorted(span["ts"] for span in spans[1:])
        if event["cat"] == "collection":
            assert len({span["tid"] for span in spans}) == 1, "all on one die"
            assert spans[0]["pid"] == 3
        else:
            assert spans[0]["pid"] == 6
            assert len({span["args"]["operation"] for span in spans[1:]}) == 1
            assert all(names(span, spans[0]["args"]["command"]) for span in spans[1:])
    return chains


def names(span: dict[str, Any], command: int) -> bool:
    """Whether a span says that it serves a command."""
    args = span["args"]
    return command in args.get("commands", []) or args.get("command") == command


def timeline_of(
    device: dict[str, Any], workload: dict[str, Any], requests: Path
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Run a workload; return its events and the rows of its requests."""
    result = onl.benchmark(device, workload, timeline=(0.0, 3600.0), requests=requests)
    assert result.timeline is not None
    check_tracks(result.timeline.document["traceEvents"])
    with requests.open(newline="", encoding="utf-8") as file:
        return result.timeline.document["traceEvents"], list(csv.DictReader(file))


def test_commands_of_a_timeline_are_the_rows_of_requests(tmp_path: Path) -> None:
    device = {**SMALL, "host": {"command_overhead_us": 3, "queue_depth_max": 4}}
    mixed = {**MIXED, "queue_depth": 9, "flush_every": 16, "total": {"ios": 3000}}
    events, rows = timeline_of(device, mixed, tmp_path / "rows.csv")
    spans = {event["args"]["command"]: event for event in events
             if event["ph"] == "X" and event["pid"] == 6}  # fmt: skip
    assert len(rows) == len(spans) == 3000
    assert any(int(row["submission_ns"]) for row in rows), "some waited outside of the drive"
    for row in rows:
        span = spans[int(row["seq"])]
        times = (span["ts"] * 1000, (span["ts"] + span["dur"]) * 1000)
        assert tuple(map(round, times)) == (int(row["start_ns"]), int(row["complete_ns"]))
        assert span["name"] == row["op"]
        place = [span["args"].get(key) for key in ("offset_bytes", "size_bytes")]
        expected = [int(row["offset_bytes"]), int(row["size_bytes"])]
        assert place == (expected if row["op"] != "flush" else [None, None])


def test_an_arrow_of_a_read_leads_to_its_sense_and_its_transfer(tmp_path: Path) -> None:
    device = {**SMALL, "host": {"command_overhead_us": 3}}
    reads = {**SHORT, "read_pct": 100, "queue_depth": 1, "total": {"ios": 500}}
    events, rows = timeline_of(device, reads, tmp_path / "rows.csv")
    chains = list(check_arrows(events).values())
    assert len(chains) == len(rows) == 500
    for command, sense, transfer in chains:
        assert [command["name"], sense["pid"], transfer["pid"]] == ["read", 1, 2]
        assert sense["args"]["for"] == transfer["args"]["for"] == "commands"
        assert command["ts"] <= sense["ts"]
        assert sense["ts"] + sense["dur"] <= transfer["ts"] + 1e-6
        assert transfer["ts"] + transfer["dur"] <= command["ts"] + command["dur"] + 1e-6
        assert sense["tid"] == command["args"]["offset_bytes"] // 4096 % 2, "pages take turns"
    assert len({chain[0]["args"]["command"] for chain in chains}) == 500


def test_arrows_of_buffered_writes_lead_to_programs_that_come_later(tmp_path: Path) -> None:
    device = {
        **SMALL,
        "ftl": {**SMALL["ftl"], "write_buffer_pages": 32},
        "host": {"command_overhead_us": 3},
    }
    writes = {**SHORT, "read_pct": 0, "queue_depth": 1, "total": {"ios": 2000}}
    events, _ = timeline_of(device, writes, tmp_path / "rows.csv")
    chains = list(check_arrows(events).values())
    commands = [chain[0]["args"]["command"] for chain in chains if chain[0]["pid"] == 6]
    # At the end 16 wait; those that a later write has replaced are not programmed.
    assert len(commands) == len(set(commands)) > 1900
    for command, transfer, *programs in (chain for chain in chains if chain[0]["pid"] == 6):
        assert (transfer["pid"], programs[0]["pid"]) == (2, 1)
        assert all(program["name"] == "program" for program in programs)
        assert transfer["ts"] >= command["ts"]
        assert programs[0]["tid"] == command["args"]["offset_bytes"] // 4096 % 2


def test_the_command_prints_tables_and_writes_files(cli: Cli, folder: Path) -> None:
    (folder / "device.yaml").write_text(json.dumps(SUSPENDS), encoding="utf-8")
    (folder / "mixed.yaml").write_text(json.dumps(MIXED), encoding="utf-8")
    run = ("benchmark", "-w", "mixed.yaml", "-c", "device.yaml")
    files = ("-o", "result.json", "--breakdown-plot", "parts.svg")
    done = cli(*run, *files, "--breakdown", "--timeline", "50ms:0.06s", "trace.json")
    assert done.returncode == 0, done.stderr
    for text in ("reads, mean µs", "writes, mean µs", "p99.9-max reads: ", "dies busy"):
        assert text in done.stdout
    assert "timeline saved to trace.json: open it in ui.perfetto.dev" in done.stderr
    ET.parse(folder / "parts.svg")
    check_trace(json.loads((folder / "trace.json").read_text(encoding="utf-8")), 5e4, 6e4)
    assert cli("verify", "result.json").returncode == 0
    # A result that hides that it was watched is another one.
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    del document["observed"]
    (folder / "result.json").write_text(json.dumps(document), encoding="utf-8")
    forged = cli("verify", "result.json")
    assert forged.returncode == 1
    assert "metrics.breakdown" in forged.stdout + forged.stderr


def test_a_replay_can_be_watched(cli: Cli, folder: Path) -> None:
    # MSR: timestamp in 100 ns, host, disk, type, offset, size, latency.
    lines = [f"{index * 500},h,0,{'Read' if index % 3 else 'Write'},{index % 97 * 4096},4096,1"
             for index in range(2000)]  # fmt: skip
    (folder / "trace.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = ("replay", "trace.csv", "-c", "small.yaml", "--trace-format", "msr", "-o", "r.json")
    done = cli(*run, "--breakdown", "--timeline", "1ms:20ms", "out.json")
    assert done.returncode == 0, done.stderr
    assert "p99.9-max reads: " in done.stdout
    assert (folder / "out.json").exists()
    assert cli("verify", "r.json").returncode == 0


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ("2", "not a valid window"),
        ("1s:2s:3s", "not a valid window"),
        ("0:1s", "`0` is not a valid time"),
        ("1s:soon", "`soon` is not a valid time"),
        ("-1s:1s", "`-1s` is not a valid time"),
        ("2s:1s", "from 2 s to 1 s is not a valid window"),
        ("1s:1s", "from 1 s to 1 s is not a valid window"),
        ("1s:99999999999s", "is not a valid window"),
    ],
)
def test_a_window_that_is_none_is_refused_before_the_run(
    cli: Cli, folder: Path, window: str, reason: str
) -> None:
    done = cli("benchmark", "-w", "short.yaml", "-c", "small.yaml", "--timeline", window, "t.json")
    assert done.returncode == 2
    assert reason in done.stderr
    assert not (folder / "t.json").exists()


def test_windows_are_read_to_the_nanosecond() -> None:
    assert parse_window("2.0s:2.1s") == (2_000_000_000, 2_100_000_000)
    assert parse_window("500ms : 600 ms") == (500_000_000, 600_000_000)
    assert parse_window("0ns:.5µs") == (0, 500)


def test_a_window_after_the_run_leaves_the_result_and_no_timeline(cli: Cli, folder: Path) -> None:
    run = ("benchmark", "-w", "short.yaml", "-c", "small.yaml", "-o", "r.json")
    done = cli(*run, "--timeline", "100s:101s", "t.json")
    assert done.returncode == 3
    assert "from 100 s to 101 s lies after the end of the measured part" in done.stderr
    assert (folder / "r.json").exists()
    assert not (folder / "t.json").exists()
    late = cli(*run, "--timeline", "1ms:100s", "t.json")
    assert late.returncode == 0
    assert "before the end of the timeline's window at 100 s" in late.stderr
    assert (folder / "t.json").exists()


def test_what_cannot_be_watched_is_refused(cli: Cli, tmp_path: Path) -> None:
    untimed = cli("benchmark", "-w", "endless.yaml", "-c", "small.yaml", "--breakdown")
    assert untimed.returncode == 2
    assert "timed: false" in untimed.stderr
    with pytest.raises(onl.ConfigError, match="ends after its beginning"):
        onl.benchmark(SMALL, SHORT, timeline=(2.0, 1.0))
    with pytest.raises(onl.ConfigError, match="after the end of the measured part"):
        onl.benchmark(SMALL, {**SHORT, "total": {"seconds": 0.01}}, timeline=(2.0, 3.0))
    twice = cli("benchmark", "-w", "short.yaml", "-o", "x.json", "--timeline", "0s:1s", "x.json")
    assert twice.returncode == 2
    assert "two outputs" in twice.stderr
    result = onl.benchmark(SMALL, SHORT, timeline=(50.0, 51.0))
    assert result.timeline is not None
    with pytest.raises(onl.OutputError, match="lies after the end"):
        result.timeline.save(tmp_path / "out.json")


def test_a_step_of_a_session_can_be_watched() -> None:
    drive = onl.Simulation(SMALL)
    assert drive.run(MIXED, breakdown=True).breakdown
    assert drive.run(MIXED).breakdown is None


def test_the_plot_stacks_parts_to_the_whole(watched: onl.Result) -> None:
    made = report.report(watched.content)
    assert [figure.title for figure in made.figures] == [
        "Where the time of reads went", "Where the time of writes went",
    ]  # fmt: skip
    assert watched.breakdown is not None
    for op, stack in zip(("read", "write"), made.figures, strict=True):
        assert isinstance(stack, Stack)
        unit = 1e3 if stack.x.label.endswith("ms") else 1.0
        means = [band["latency_us_mean"] / unit for band in watched.breakdown[op]["bands"]]
        assert stack.totals == pytest.approx(means)
    page = html.page(made)
    assert page.count("<figure") == 2
    assert "The parts" in page


def test_the_page_shows_what_its_commands_print_and_draw(tmp_path: Path, command: Path) -> None:
    docs = ROOT / "docs"
    text = (docs / "where-time-goes.md").read_text(encoding="utf-8")
    found = [outcome.complaint for outcome in run_page(text, tmp_path, command.parent)]
    assert len(found) > 4
    wrong = "\n\n".join(complaint for complaint in found if complaint)
    assert not wrong, f"{wrong}\n\nto write it anew: python tests/documents.py docs/<the page>"
    for name in ("where-time-goes-before.svg", "where-time-goes-after.svg"):
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        committed = (docs / "resources" / name).read_text(encoding="utf-8")
        assert same_drawing(drawn, committed), f"draw anew: python tools/draw.py {name[:-4]}"


def test_what_is_on_is_shown_and_what_is_off_is_named(cli: Cli, folder: Path) -> None:
    (folder / "device.yaml").write_text(json.dumps(SUSPENDS), encoding="utf-8")
    shown = cli("config", "show", "device.yaml").stdout
    rows = {line.split("│")[0].strip(): line.split("│")[1:] for line in shown.splitlines()}
    value, unit, source = rows["controller.suspend.suspend_us"]
    assert (value.strip(), unit.strip()) == ("20", "µs")
    assert source.strip().startswith("assumed: ")
    kind = [cell.strip() for cell in rows["controller.scheduler.kind"]]
    assert kind == ["priority", "", "given: device.yaml"]
    assert "ftl.copyback" not in rows
    off = shown.partition("off: ")[2]
    for name in ("ftl.copyback", "ftl.slc_cache", "nand.multi_plane"):
        assert name in off
    # What was written down is shown, even where it switches something off.
    given = cli("config", "show", "device.yaml", "--set", "nand.multi_plane=false").stdout
    assert "nand.multi_plane" not in given.partition("off: ")[2]
    assert "given: --set" in given


def test_the_page_names_every_part() -> None:
    page = ROOT / "docs" / "where-time-goes.md"
    table = page.read_text(encoding="utf-8").partition("## The parts")[2]
    assert [part for part in PARTS if f"`{part}`" not in table] == []
