"""Comparing documents of standard tests: like with like, deltas, plots above one another."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import pts_documents
import pts_recorder
from conftest import Cli
from fake_target import FakeTarget
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ResultError
from opennandlab.comparing import side_by_side
from opennandlab.documents.record import plain
from opennandlab.pts import TESTS, run_test
from opennandlab.reports import html
from opennandlab.reports.figure.model import Plot, Relief
from opennandlab.reports.model import Table
from opennandlab.reports.pts import likeness, overlay
from opennandlab.reports.pts.source import read


def other(test: str = "iops", **header: Any) -> dict[str, Any]:
    """Return a document that differs in its header and whose cells are a tenth faster."""
    document = copy.deepcopy(pts_documents.MAKERS[test]())
    for path, value in header.items():
        *outer, last = path.split("__")
        node = document["header"]
        for key in outer:
            node = node[key]
        node[last] = value
    place = pts_recorder.CELL_COLUMNS.index("iops")
    for row in document["cells"]["rows"]:
        row[place] *= 1.1
    for table in document["tables"]:
        table["values"] = [
            [value if isinstance(value, str) else value and 1.1 * value for value in row]
            for row in table["values"]
        ]
    document["digest"] = digest(document)
    return document


def compared(*documents: dict[str, Any]) -> dict[str, Any]:
    names = [f"run {place}" for place in range(len(documents))]
    measured = [read(one, "name") for one in documents]
    return plain(side_by_side(measured, names, force=True))


def test_like_things_give_deltas() -> None:
    found = compared(pts_documents.iops(), other())
    assert found["like"] is True
    assert found["reasons"] == found["warnings"] == []
    assert found["metrics"]["iops[4, 0/100]"]["delta_pct"] == pytest.approx([0.0, 10.0])
    steady = found["metrics"]["steady_state.RND 4 KiB 0/100.iops"]
    assert steady["delta_pct"] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (
            {"target__device__over_provisioning_ratio": 0.28},
            "different over-provisioning: run 0 has",
        ),
        ({"active_range__share": 0.5}, "different over-provisioning: run 0 has 7.37 %"),
        ({"profile": "C"}, "different profile"),
        ({"time_base__name": "smoke"}, "different time base"),
        ({"time_base__clock": "real"}, "different clock"),
        ({"cache__state": "enabled"}, "different write cache"),
        ({"threads": 2}, "different threads"),
        ({"queue_depth": 16}, "different queue depth"),
        ({"wipc__capacities": 1.0}, "different workload-independent preconditioning"),
        ({"pts_version": "1.1"}, "different version of the specification"),
        ({"oio_throttle": 4}, "different limit of outstanding requests"),
        ({"purge__is_purge": False}, "different purge"),
    ],
)
def test_unlike_things_are_named(header: dict[str, Any], reason: str) -> None:
    found = compared(pts_documents.iops(), other(**header))
    assert found["like"] is False
    assert found["reasons"][0].startswith(reason)


def test_a_run_without_steady_state_is_an_objection() -> None:
    found = compared(pts_documents.iops(), pts_documents.iops(attained=False))
    assert any("run 1 did not attain steady state" in text for text in found["reasons"])


def test_what_clouds_the_deltas_is_a_warning() -> None:
    found = compared(
        pts_documents.iops(), other(seed=7, target__platform={"simulator_version": "9"})
    )
    assert found["like"] is True
    assert [text.split(":")[0] for text in found["warnings"]] == [
        "different seeds (42 and 7)",
        "made by different versions (simulator 0.1.0, model 7 and simulator 9)",
    ]


def test_drives_of_other_wear_are_named() -> None:
    worn = {"name": "eol", "erase_count_mean": 3000.0, "rated_pe_cycles": 3000, "lost_blocks": 0,
            "image_sha256": None}  # fmt: skip
    found = compared(pts_documents.iops(), other(target__state=worn))
    assert found["like"] is True
    assert found["warnings"] == [
        "different states of the drive before the test: run 0 has young, run 1 has eol"
    ]
    young = worn | {"name": "young", "erase_count_mean": 0.0}
    assert compared(pts_documents.iops(), other(target__state=young))["warnings"] == []


def test_a_smoke_is_said_to_be_no_measurement() -> None:
    smoke = other(time_base__name="smoke")
    found = compared(smoke, smoke)["warnings"]
    assert [text for text in found if "smoke" in text] == [
        "run 0 and run 1: smoke: not a result",
    ]


def test_different_tests_cannot_be_compared() -> None:
    with pytest.raises(ResultError, match="different tests cannot be compared"):
        compared(pts_documents.iops(), pts_documents.xsr())
    with pytest.raises(ResultError, match="accepted: two or more"):
        compared(pts_documents.iops())


@pytest.mark.parametrize("test", pts_documents.MAKERS)
def test_the_plots_of_all_runs_stand_above_one_another(test: str) -> None:
    documents = [pts_documents.MAKERS[test](), other(test), other(test)]
    measured = [read(one, "name") for one in documents]
    names = ["a", "b", "c"]
    report = overlay.report(measured, names, side_by_side(measured, names, force=True))
    plots = [item for item in report.chapters[0].items if isinstance(item, Plot)]
    assert plots
    for plot in plots:
        for name in names:
            assert any(line.name == name or line.name.startswith(f"{name}: ")
                       for line in plot.series), (plot.id, name)  # fmt: skip
    assert html.page(report).rstrip().endswith("</html>")


def test_a_delta_table_holds_every_run_and_its_delta() -> None:
    measured = [read(one, "name") for one in (pts_documents.iops(), other())]
    report = overlay.report(measured, ["a", "b"], side_by_side(measured, ["a", "b"], force=True))
    table = next(item for item in report.chapters[0].items if item.id == "delta-iops")
    assert isinstance(table, Table)
    assert [row[1] for row in table.rows[:3]] == ["a", "b", "Δ b, %"]
    assert table.rows[2][2:] == ("+10.0",) * 7
    grid = next(item for item in report.chapters[0].items if item.id == "3d-columns")
    assert isinstance(grid, Relief)
    assert list(grid.cells) == pytest.approx([110.0] * 56)


def test_one_sentence_says_how_a_run_stands_against_the_first() -> None:
    first, other = pts_documents.iops(), pts_documents.iops()
    table = other["tables"][0]
    table["values"] = [[2 * value for value in row] for row in table["values"]]
    table["values"][0][0] *= 5
    table["values"][1][1] /= 4
    measured = [read(first, "a"), read(other, "b")]
    assert " ".join(likeness.summary(measured, ["a", "b"])) == (
        "b has 2 × the IOPS of a, in the median of 56 cells: at best 10 × (0.5 KiB, 0/100), at "
        "worst 0.5 × (4 KiB, 5/95)."
    )
    assert likeness.summary([measured[0], measured[0]], ["a", "b"]) == [
        "b has the same IOPS as a, in all 56 cells."
    ]
    # Without a table, what was tracked.
    sentence = likeness.summary([read(pts_documents.wsat(), "a")] * 2, ["a", "b"])
    assert sentence == ["b against a, steady state: RND 4 KiB 0/100: 1 ×."]


def test_the_command_refuses_unless_forced(cli: Cli, folder: Path) -> None:
    ratio = {"target__device__over_provisioning_ratio": 0.28}
    (folder / "a.json").write_text(json.dumps(pts_documents.iops()), encoding="utf-8")
    (folder / "b.json").write_text(json.dumps(other(**ratio)), encoding="utf-8")
    refused = cli("compare", "a.json", "b.json", "--html", "c.html")
    assert refused.returncode == 2
    assert "over-provisioning" in refused.stderr
    assert not (folder / "c.html").exists()
    forced = cli("compare", "a.json", "b.json", "--force", "--html", "c.html")
    assert forced.returncode == 0
    assert "UNLIKE THINGS" in forced.stdout
    assert "UNLIKE THINGS" in (folder / "c.html").read_text(encoding="utf-8")
    document = json.loads(cli("compare", "a.json", "b.json", "--force", "--json").stdout)
    assert document["like"] is False
    assert document["names"] == ["a", "b"]


def test_the_command_names_every_number_whatever_it_is_called(cli: Cli, folder: Path) -> None:
    """Rows such as `uniform` made the terminal take `skew[uniform, WAF]` for a colour."""
    document = pts_documents.iops()
    document["tables"][0]["rows"][0] = "uniform"
    document["digest"] = digest(document)
    for name in ("[red]a.json", "[bold]b.json"):
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    shown = cli("compare", "[red]a.json", "[bold]b.json").stdout
    assert f"{document['tables'][0]['id']}[uniform, " in shown
    assert "[red]a" in shown


def test_a_page_tells_each_number_once(cli: Cli, folder: Path) -> None:
    """The page listed all cells as `iops[4, 0/100]` in front of the same tables."""
    for name in ("a.json", "b.json"):
        (folder / name).write_text(json.dumps(pts_documents.iops()), encoding="utf-8")
    assert cli("compare", "a.json", "b.json", "--html", "c.html").returncode == 0
    text = (folder / "c.html").read_text(encoding="utf-8")
    assert "iops[4, 0/100]" not in text
    assert ">Results</h2>" not in text
    assert text.count("random 4 KiB writes, IOPS") == 1


def test_a_folder_stands_for_the_one_document_in_it(cli: Cli, folder: Path) -> None:
    for name in ("one", "other"):
        (folder / name).mkdir()
        text = json.dumps(pts_documents.iops())
        (folder / name / "iops.json").write_text(text, encoding="utf-8")
        (folder / name / "run.json").write_text("{}", encoding="utf-8")
    assert cli("compare", str(folder / "one"), str(folder / "other"), "--quiet").returncode == 0
    (folder / "other/latency.json").write_text("{}", encoding="utf-8")
    refused = cli("compare", str(folder / "one"), str(folder / "other"))
    assert refused.returncode == 2
    assert "other: a folder; accepted: one document, of which it has iops.json, latency.json" in (
        refused.stderr
    )


def test_a_document_is_not_compared_with_a_result(cli: Cli, folder: Path) -> None:
    (folder / "a.json").write_text(json.dumps(pts_documents.iops()), encoding="utf-8")
    (folder / "r.json").write_text('{"schema": "opennandlab.result/1"}', encoding="utf-8")
    done = cli("compare", "a.json", "r.json")
    assert done.returncode == 2
    assert "others of its kind" in done.stderr


def test_captures_are_alike_by_their_content() -> None:
    """Not by the place of their file: one name has stood for two traces."""
    chosen = pts_documents.settings_of("rwsw")
    found = plain(run_test(TESTS["rwsw"], FakeTarget(), settings=chosen))
    one, moved, foreign = (copy.deepcopy(found) for _ in range(3))
    moved["header"]["options"]["capture"] = "elsewhere.json"
    foreign["results"]["capture"]["digest"] = "0" * 64
    assert compared(one, moved)["reasons"] == []
    assert ["options of the test" in text for text in compared(one, foreign)["reasons"]] == [True]
