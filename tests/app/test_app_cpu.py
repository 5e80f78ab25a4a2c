"""Think time of a phone: where it is put, what it adds, and what of the run is the drive's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from opennandlab.app.requests import busy_ns
from opennandlab.app.thinking import PHONE2013, processor, spread
from opennandlab.app.trace import MARK, WRITE, Request
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app as command_line

# Run times of the talk's report, in milliseconds, and its counts: "Truth about eMMC performance
# benchmark" (A. Lee).
TALK = {"camera": (2792, 10), "web": (51389, 100), "contact": (53508, 200),
        "install": (18344, 10), "gallery": (18765, 100)}  # fmt: skip
TALK_MS = 144_797
gaps = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=8), min_size=1, max_size=4
)


def made(iterations: list[list[tuple[int, int]]]) -> tuple[Request, ...]:
    """Return a trace: of each request the time since the one before, and its own."""
    found = []
    now = 0
    for index, each in enumerate(iterations):
        now += 5
        found.append(Request(MARK, 0, 0, 0, now, now, ("a", index, False)))
        last = now
        for gap, took in each:
            now += gap
            found.append(Request(WRITE, 0, 0, 4096, now, now + took))
            last = max(last, now + took)
        now = last + 1
        found.append(Request(MARK, 0, 0, 0, now, now, ("a", index, True)))
    return tuple(found)


@given(gaps, st.integers(1, 1000))
def test_think_time_is_added_once_and_changes_no_order(
    iterations: list[list[tuple[int, int]]], think: int
) -> None:
    before = made(iterations)
    after = spread(before, think)
    marks = [one.arrive for one in before if one.mark], [one.arrive for one in after if one.mark]
    spans = [[end - begin for begin, end in zip(it[::2], it[1::2], strict=True)] for it in marks]
    assert [now - then for then, now in zip(*spans, strict=True)] == [think] * len(iterations)
    pauses = [[begin - end for end, begin in zip(it[1::2], it[2::2], strict=False)] for it in marks]
    assert pauses[0] == pauses[1]
    assert [one.arrive for one in after] == sorted(one.arrive for one in after)
    for requests in (before, after):
        assert all(one.arrive <= one.reply for one in requests)
    # A request waits for the replies that it waited for: they are those that came before it.
    waits = [
        [
            sum(it.reply <= one.arrive for it in requests[:place])
            for place, one in enumerate(requests)
        ]
        for requests in (before, after)
    ]
    assert waits[0] == waits[1]


def test_without_think_time_nothing_moves() -> None:
    requests = made([[(3, 4), (1, 9)], [(0, 0)]])
    assert spread(requests, 0) is requests


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=8),
    st.lists(st.integers(0, 70), min_size=2, max_size=8),
)
def test_time_of_the_drive_is_that_of_a_set_of_moments(
    spans: list[tuple[int, int]], edges: list[int]
) -> None:
    """The oracle counts moments one by one."""
    times = [(start, start + took) for start, took in spans]
    ordered = sorted(edges)
    windows = list(zip(ordered[::2], ordered[1::2], strict=False))
    requests = [Request(WRITE, 0, 0, 4096, 0, 0)] * len(times)
    busy = {moment for start, end in times for moment in range(start, end)}
    wanted = {moment for begin, end in windows for moment in range(begin, end)}
    assert busy_ns(requests, times, windows) == len(busy & wanted)


def test_the_phone_of_2013_takes_what_the_talk_reports(tmp_path: Path) -> None:
    words = ["app", "run", "--target", "sim:emmc_16gb", "--suite", "heavy", "--runs", "1",
             "--cpu", "phone2013", "--output", str(tmp_path), "--quiet"]  # fmt: skip
    done = CliRunner().invoke(command_line, words)
    assert done.exit_code == 0, done.output
    document = json.loads((tmp_path / "app.json").read_bytes())
    assert document["total_ms"]["mean"] == pytest.approx(TALK_MS, rel=0.02)
    cases = {one["case"]: one for one in document["cases"] if one["iterations"]}
    for case, (total, count) in TALK.items():
        found = cases[case]
        assert found["iterations"] == count
        assert found["response_ms"]["mean"] == pytest.approx(total / count, rel=0.03)
        # What is left is the time of the recording, between requests, on a fast machine.
        drive, run = found["drive_ms"]["mean"], found["run_time_ms"]["mean"]
        assert 0 < drive < run - 0.95 * count * PHONE2013[case]
    assert document["cpu"] == {"name": "phone2013", "think_ms": dict(PHONE2013)}
    parts = sum(one["drive_ms"]["mean"] for one in cases.values())
    assert document["drive_ms"]["mean"] == pytest.approx(parts)


def test_a_file_of_think_times(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text("contact: 100\n")
    run = ["app", "run", "--target", "sim:emmc_16gb", "--case", "contact=2", "--runs", "1"]
    found = []
    for more in ([], ["--cpu", str(path)]):
        done = CliRunner().invoke(command_line, [*run, *more, "--json"])
        assert done.exit_code == 0, done.output
        found.append(json.loads(done.stdout))
    assert "cpu" not in found[0]
    assert found[1]["cpu"] == {"name": "slow.yaml", "think_ms": {"contact": 100.0}}
    one, other = (it["total_ms"]["mean"] for it in found)
    assert other == pytest.approx(one + 200, abs=5)
    one, other = (it["drive_ms"]["mean"] for it in found)
    assert other == pytest.approx(one, rel=0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contact: -1\n", "cpu.contact: `-1`; accepted: 0 to 3600000 ms"),
        ("contact: .nan\n", "cpu.contact"),
        ("contact: much\n", "cpu.contact: `much`"),
        ("contact: true\n", "cpu.contact"),
        ("web: 3\n", "cpu.contact: .*no time"),
        ("contact: 1\nmaps: 3\n", "cpu.maps: is not a case"),
        ("", "cpu.yaml"),
        ("- 3\n", "cpu.yaml"),
    ],
)
def test_bad_think_times_are_refused_with_their_key(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "cpu.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        processor(str(path), ["contact"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "sim:emmc_16gb", "--cpu", "no-such-file"], "no-such-file"),
        (
            ["--target", "sim:emmc_16gb", "--cpu", "phone2013", "--case", "mediascan"],
            "cpu.mediascan",
        ),
        (["--target", "dir:.", "--cpu", "phone2013"], "--cpu"),
    ],
)
def test_the_command_refuses(options: list[str], said: str) -> None:
    done = CliRunner().invoke(command_line, ["app", "run", *options, "--json"])
    assert done.exit_code == 2
    assert said in json.loads(done.stdout)["error"]["message"]
