"""Pages of life tests, validations, logs, codes and power cuts, against the numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from opennandlab import _core, ecc
from opennandlab.cli import app
from opennandlab.comparing.naming import by_keys
from opennandlab.core.config import load_device
from opennandlab.core.loading import loaded, made_report, report_of
from opennandlab.documents.record import plain
from opennandlab.documents.validation import CaseRow
from opennandlab.ecc.charts import report as report_of_codes
from opennandlab.ecc.curves import Curve
from opennandlab.ecc.drawn import of_document as of_curve
from opennandlab.ecc.reaching import TARGET, Reach
from opennandlab.reports import validation
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.html import page
from opennandlab.reports.model import Report, Section, Table, page_of
from opennandlab.studies.power.campaign import SMALL, Campaign, Settings

LIFE: dict[str, Any] = {
    "schema": "opennandlab.life/1", "drive_class": "client", "model": "tlc", "tbw_tb": 10.0,
    "waf": 2.0, "waf_source": "given", "pe_cycles": 1500.0, "pe_cycles_rated": 3000.0,
    "retention_h": 8760.0, "retention_c": 30.0, "bake_c": 66.0, "bake_h": 100.0, "rber": 1e-4,
    "rber_by_page": {"lower": 5e-5, "upper": 1.5e-4}, "retry": False, "codeword_failure": 1e-12,
    "uber": 2e-16, "uber_max": 1e-15, "bits_read": 1e12, "errors_expected": 2e-4,
    "errors_drawn": 0, "uber_drawn": 0.0, "uber_low": 0.0, "uber_high": 3e-12,
    "bits_to_show": 3e15, "seed": 42, "passed": True,
}  # fmt: skip


SPAN = {"count": 5000, "mean": 12.0, "p50": 10.0, "p99": 30.0, "p999": None, "max": 80.0}
KINDS = {"read": 2000, "write": 3000, "flush": 1, "trim": 0, "write_zeroes": 0, "cache": 0,
         "block_status": 0}  # fmt: skip
SERVED: dict[str, Any] = {
    "schema": "opennandlab.served/1", "device": {}, "seed": 42, "timing": "real",
    "read_only": False, "requests": KINDS, "bytes": {**KINDS, "write": 12288000}, "errors": 0,
    "drive": {
        "read_bytes": 8192000, "written_bytes": 12288000, "trimmed_bytes": 0, "flushes": 2,
        "fua_writes": 0, "programmed_bytes": 24576000, "waf": 2.0, "collections": 7,
        "moved_pages": 9, "erases": 7, "free_blocks": 34, "mapped_pages": 3000,
        "buffered_pages": 0, "stored_bytes": 12288000, "uncorrectable_reads": 0,
        "erase_count_mean": 0.1, "erase_count_max": 1, "is_worn_out": False,
    },
    "checks": {"contradiction": "two pages of one address", "media_errors": 0,
               "media_errors_by_cause": {}, "silent_errors": 0, "faults_struck": 0,
               "passed": False},
    "passed": False,
    "run": {"wall_ns": 1_176_000_000, "accepted": 1, "connections": 0, "rejected": 0,
            "lateness_us": {**SPAN, "p99": None}, "latency_us": SPAN,
            "response_us": {**SPAN, "p99": 31.0}},
    "digest": "",
}  # fmt: skip


def case(**changes: Any) -> CaseRow:
    given: dict[str, Any] = {
        "suite": "waf", "case": "a", "title": "t", "source": "s", "quantity": "q", "formula": "f",
        "kind": "formula", "relation": "=", "expected": 2.0, "measured": [2.01], "seeds": [1],
        "error": 0.005, "tolerance": 0.01, "accepted": [-0.01, 0.01], "passed": True,
        "verdict": "passed", "problem": "", "command": "c",
    }  # fmt: skip
    return CaseRow(**{**given, **changes})


def shown(document: dict[str, Any]) -> Report:
    made = made_report(loaded(document))
    assert made is not None
    return made


def test_a_served_drive_has_times_requests_and_its_verdict() -> None:
    """It was refused, as were captures."""
    made = shown(SERVED)
    [chapter] = made.chapters
    assert chapter.verdict is not None
    assert (chapter.verdict.text, chapter.reason) == ("FAILED", "two pages of one address")
    assert [(one.name, one.value) for one in chapter.headlines][:1] == [
        ("written by clients", "11.72 MiB")
    ]
    times = plot_of(made, "times")
    # x is 1/(1-p). Lateness has its median alone, and no line.
    assert [(line.name, list(line.x), list(line.y)) for line in times.series] == [
        ("latency of the model", [2.0, 100.0], [10.0, 30.0]),
        ("response, arrival to reply", [2.0, 100.0], [10.0, 31.0]),
    ]
    rows = {one.id: one.rows for one in chapter.items if isinstance(one, Table)}
    assert rows["requests"] == (
        ("read", 2000, 2000), ("write", 3000, 12288000), ("flush", 1, 1),
    )  # fmt: skip
    assert "power" not in rows
    assert "A served drive" in page(made)


def test_a_capture_is_drawn_by_its_steps() -> None:
    """40 requests of 4 KiB in steps of 0.4 s: 14, 13 and 13."""
    saved = json.loads((Path(__file__).parent.parent / "saved" / "capture.json").read_text())
    made = shown(saved)
    line = plot_of(made, "throughput").series[0]
    assert list(line.x) == [0.0, 0.4, 0.8, 1.17]
    rates = [count * 4096 / length / 1e6 for count, length in ((14, 0.4), (13, 0.4), (13, 0.37))]
    assert [value for value in line.y if value is not None] == pytest.approx([*rates, rates[-1]])
    [table] = [one for one in made.chapters[0].items if isinstance(one, Table)]
    assert table.rows == (("RND 4 KiB R", 26, "65.00"), ("RND 4 KiB W", 14, "35.00"))
    assert made.lead == "1 file of format csv, 1 volume, 2 streams"
    without = shown({**saved, "steps": None, "step_s": None, "no_steps": "times go back"})
    assert not without.figures
    assert without.chapters[0].warnings[0] == "times go back"


def plot_of(made: Report, name: str) -> Plot:
    return next(one for one in made.figures if isinstance(one, Plot) and one.id == name)


# Life tests.


def test_a_life_test_states_its_rate_against_the_limit() -> None:
    made = shown(LIFE)
    [chapter] = made.chapters
    assert chapter.verdict is not None
    assert chapter.verdict.text == "PASSED"
    assert "2e-16 is within the limit of 1e-15" in chapter.reason
    plot = plot_of(made, "uber")
    # No error was drawn: an upper bound, never a rate of 0.
    assert [line.draw for line in plot.series] == ["points", "bounds"]
    assert plot.series[1].y == [3e-12]
    assert plot.marks[0].value == 1e-15
    pages = next(one for one in chapter.items if isinstance(one, Table) and one.id == "pages")
    assert [row[0] for row in pages.rows] == ["lower", "upper"]
    failed = shown(LIFE | {"uber": 3e-14, "passed": False})
    assert failed.chapters[0].reason == "an UBER of 3e-14, 30 times the limit of 1e-15"


# Validations.


def test_a_validation_draws_errors_as_shares_of_what_is_accepted() -> None:
    rows = [
        case(), case(case="b", error=-0.05, verdict="known miss", passed=False, mechanism="no x"),
        case(suite="other", case="c", error=0.0),
        case(suite="other", case="d", error=None, measured=[None], passed=False, verdict="failed",
             problem="did not run"),
    ]  # fmt: skip
    document = {
        "schema": "opennandlab.validation/1", "passed": False, "case_count": 4, "failed_count": 1,
        "rows": [plain(row) for row in rows],
    }  # fmt: skip
    made = shown(document)
    lines = {line.name: (list(line.x), list(line.y)) for line in plot_of(made, "shares").series}
    # By hand: 0.005 of 0.01; 0.05 of 0.01 is beyond the end, 3; an exact case is at 0.
    assert lines == {"passed": ([0.5, 0.0], [2.0, 1.0]), "known miss": ([3.0], [2.0])}
    chapter = made.chapters[0]
    assert chapter.verdict is not None
    assert chapter.verdict.text == "FAILED"
    assert chapter.reason.startswith("2 of 4 cases are outside")
    misses = next(one for one in chapter.items if one.id == "misses")
    assert isinstance(misses, Table)
    assert "No x. Expected 2, measured 2.01: -5.00 % where ±1 %" in str(misses.rows[0][1])
    assert "Did not run." in str(misses.rows[1][1])
    assert "KNOWN MISSES" in page(validation.report(loaded(document | {"failed_count": 0, "rows":
        document["rows"][:3]})))  # fmt: skip


def test_long_lists_are_folded() -> None:
    table = Table("t", "Cases", ("case", "value"), (("a", 1.0),))
    made = page_of("title", "", [table])
    (chapter,) = made.chapters
    section = Section("s", "s", (table,), folded=True)
    text = page(replace(made, chapters=(replace(chapter, sections=(section,)),)))
    assert "<details><summary>Cases: 1</summary>" in text
    assert "<summary>Cases" not in page(made)


# Codes.


def test_the_page_of_a_code_states_where_it_reaches_the_target() -> None:
    curve = ecc.curve("bch:m=8,t=4", "bsc", "5e-4:2e-2:12", method="analytic")
    made = report_of_codes(curve.content)
    [chapter] = made.chapters
    found = Reach.of(of_curve(curve.content), TARGET)
    assert found.x is not None
    # Exact: the tail of a binomial at that point, between two points taken as straight.
    assert math.isclose(_core.ecc_tail(255, 4, found.x), TARGET, rel_tol=0.05)
    # The capacity of a binary symmetric channel, from its definition.
    capacity = found.limits.capacity_x if found.limits else 0.0
    entropy = -capacity * math.log2(capacity) - (1 - capacity) * math.log2(1 - capacity)
    assert math.isclose(1 - entropy, 223 / 255, rel_tol=1e-9)
    assert found.gap == f"{capacity / found.x:.3g} times"
    assert f"at an RBER of {found.x:#.3g}" in chapter.reason
    assert chapter.headlines[0].value == f"{found.x:#.3g}"


def test_a_target_that_no_point_shows_is_not_claimed() -> None:
    counted = ecc.curve("bch:m=8,t=4", "bsc", [1.5e-2, 2e-2], errors=20, method="monte_carlo")
    [chapter] = report_of_codes(counted.content).chapters
    assert "does not reach a frame error rate of 0.001 at any point" in chapter.reason
    assert chapter.headlines[0].value == "not reached"
    # Points without an error are bounds: the target is reached there or at a worse channel.
    none = ecc.curve("bch:m=8,t=4", "bsc", [1e-5, 2e-2], errors=20, max_frames=20_000,
                     method="monte_carlo")  # fmt: skip
    found = Reach.of(of_curve(none.content), TARGET)
    assert (found.x, found.is_bound) == (1e-5, True)
    assert found.gap.startswith("at most ")
    assert "or a worse channel" in found.text
    alone = Curve(ecc.curve("bch:m=8,t=4", "bsc", [2e-2], errors=20).content)
    assert "a frame error rate of" in report_of_codes(alone.content).chapters[0].reason
    assert report_of_codes(alone.content).chapters[0].headlines == ()


# Power cuts.


def test_cuts_without_a_fault_are_drawn_by_their_moment() -> None:
    campaign = Campaign(Settings(load_device(SMALL), 50, targets=("random", "gc", "erase")))
    campaign.to_the_end()
    document = campaign.document("x")
    assert document.aimed is not None
    assert list(document.aimed) == ["random", "gc", "erase"]
    assert sum(document.aimed.values()) == document.cuts == 50
    made = shown(plain(document))
    plot = plot_of(made, "aims")
    # The rule of three, by hand.
    assert list(plot.series[0].x) == [3000 / count for count in document.aimed.values()]
    assert made.chapters[0].opening is plot
    # Of a document without that, no figure is invented.
    before = {key: value for key, value in plain(document).items() if key != "aimed"}
    assert shown(before).figures == []


# Names of many documents.


@pytest.mark.parametrize(("names", "found"), [
    (["a=1, b=x", "a=2, b=y"], ("a, b", ["1, x", "2, y"])),
    (["a=1", "b=1"], None), (["a=1", "a"], None), (["one", "two"], None),
])  # fmt: skip
def test_names_that_set_the_same_keys_are_told_by_their_values(
    names: list[str], found: object
) -> None:
    assert by_keys(names) == found


def test_the_logs_of_a_drive_have_a_page(tmp_path: Path) -> None:
    out = tmp_path / "logs.json"
    given = ["benchmark", "-w", "W2", "-c", "tlc_standard", "--set", "nand.blocks_per_plane=64",
             "--set", "workload.total={drive_writes: 0.2}", "--ocp", str(out), "--ocp-thresholds",
             "5,10,15,20", "-q"]  # fmt: skip
    assert CliRunner().invoke(app, given).exit_code == 0
    made = report_of(out)
    document = json.loads(out.read_text())
    [waf, *_] = made.chapters[0].headlines
    assert math.isclose(float(waf.value), document["change"]["waf"], rel_tol=1e-3)
    log = document["after"]["latency_monitor_log"]
    lines = plot_of(made, "slow").series
    drawn = {line.name: sum(value or 0.0 for value in line.y) for line in lines}
    counts = [log[f"Active Bucket Counter: Bucket {at}"]["Write"] for at in range(4)]
    assert drawn == {"writes": sum(counts)}
