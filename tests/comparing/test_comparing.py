"""Any number of documents of any family side by side: best and worst, and lines that fit."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
import pts_documents
from conftest import Cli
from drawn_tables import drawn as grid_lines
from opennandlab.base.canonical import digest
from opennandlab.cli._tables import Grid
from opennandlab.comparing import layout, side_by_side
from opennandlab.comparing.families import HOMES, curves, of_kind, results
from opennandlab.comparing.naming import names_of, width
from opennandlab.comparing.rows import extremes
from opennandlab.documents.comparison import Comparison
from opennandlab.documents.ecc import CurveDocument
from opennandlab.documents.life import DriveLifeTest
from opennandlab.documents.record import plain, read
from opennandlab.store import Entry, Store, key_of
from opennandlab.studies.sweeps.verbs import VERBS
from places import ROOT

RESULT = ROOT / "examples" / "results" / "benchmark-page" / "W2-greedy.json"
Json = dict[str, Any]


def sealed(document: Json) -> Json:
    """Return a document with the digest of its content."""
    document["digest"] = digest(document)
    return document


def result(place: int) -> Json:
    document: Json = json.loads(RESULT.read_text(encoding="utf-8"))
    metrics = document["metrics"]
    metrics["waf"] += place
    metrics["iops"]["total"] *= 1 + place
    metrics["lifetime_days"] /= 1 + place
    return sealed(document)


def standard_test(place: int) -> Json:
    document = pts_documents.iops()
    document["results"]["iops_rnd_4kib_write"] *= 1 + place
    return sealed(document)


def curve(place: int, channel: str = "bsc") -> Json:
    code = f"bch:m=13,t={8 + place % 3},data_bits=4096"
    points = [1e-3 / (1 + place), 2e-3, 4e-3]
    return onl.ecc.curve(code, channel, points, method="analytic").document


def comparison(place: int) -> Json:
    codes = ["bch:m=13,t=8,data_bits=4096", "bch:m=13,t=9,data_bits=4096"]
    return onl.ecc.compare(codes, "bsc", [1e-3, 2e-3 + place * 1e-4], method="analytic")


def life(place: int) -> Json:
    document = onl.reliability.life_test("tlc_standard").to_dict()
    return document | {"uber": document["uber"] * (1 + place)}


def drive_life(place: int) -> Json:
    """Return a document as a simulated drive gives it."""
    given: Json = {
        "schema": "opennandlab.drive-life/1", "drive_class": "client", "device": "small",
        "page_types": {}, "recovery": {"first_read": 9, "rebuilt": 0, "retry": [], "soft": {},
        "uncorrectable": place}, "uber_method": "analytic", "warnings": [], "passed": True,
        "worn_out": False, "margin": None,
    }  # fmt: skip
    numbers = {
        name: 1 if kind == "int" else 1.5
        for name, kind in DriveLifeTest.__annotations__.items()
        if kind in {"int", "float"}
    }
    ends = {"uber_low": 0.5 + place, "uber_observed": 1.0 + place, "uber_high": 1.8 + place}
    return {**numbers, **given, **ends, "waf": 2.0 + place}


def validation(place: int) -> Json:
    row = {
        "suite": "waf", "case": "greedy", "title": "t", "source": "s", "quantity": "WAF",
        "formula": "f", "kind": "formula", "relation": "=", "expected": 2.0,
        "measured": [2.0 + place / 100], "seeds": [1], "error": place / 200, "tolerance": 0.1,
        "passed": True, "problem": "", "command": "c",
    }  # fmt: skip
    return {
        "schema": "opennandlab.validation/1", "passed": True, "case_count": 1, "failed_count": 0,
        "rows": [row],
    }  # fmt: skip


def formula(place: int) -> Json:
    return {
        "schema": "opennandlab.formula/1", "formula": "theory.waf", "parameters": {},
        "metrics": {"waf": 2.0 + place},
    }  # fmt: skip


@cache
def played() -> Json:
    """Return one photo, taken on a drive of 1.2 GB."""
    drive = {"channels": 1, "dies_per_channel": 2, "blocks_per_plane": 330, "pages_per_block": 256}
    verb = VERBS["app"]
    read_settings = verb.reader({"device": {"nand": {**drive, "planes_per_die": 1}}})
    return verb.run(read_settings({"app.cases": {"camera": 1}}), 42, lambda _: None)


def application(place: int) -> Json:
    document = copy.deepcopy(played())
    document["total_ms"]["mean"] *= 1 + place
    document["score"]["score"] /= 1 + place
    return sealed(document)


MAKERS: dict[str, Callable[[int], Json]] = {
    "result": result,
    "pts": standard_test,
    "ecc-curve": curve,
    "ecc-comparison": comparison,
    "life": life,
    "drive-life": drive_life,
    "validation": validation,
    "app": application,
    "formula": formula,
}
# A path of each family, and which of three documents is its best and worst.
TOLD = {
    "result": ("waf", 0, 2),
    "pts": ("results.iops_rnd_4kib_write", 2, 0),
    "life": ("uber", 0, 2),
    "drive-life": ("waf", 0, 2),
    "validation": ("waf.greedy.error", 0, 2),
    "app": ("total_ms", 0, 2),
    "formula": ("waf", 0, 2),
}


def saved(folder: Path, kind: str, count: int, names: str = "{}") -> list[str]:
    """Write documents of a family; return their paths."""
    made = []
    for place in range(count):
        path = folder / f"{names.format(place)}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(MAKERS[kind](place)), encoding="utf-8")
        made.append(str(path))
    return made


def compared(kind: str, count: int = 3) -> Comparison:
    family = of_kind(kind)
    documents = [family.opened(MAKERS[kind](place), str(place)) for place in range(count)]
    return side_by_side(documents, force=True)


def test_every_family_has_a_document_here() -> None:
    assert set(MAKERS) == set(HOMES)


@pytest.mark.parametrize("kind", TOLD)
def test_best_and_worst_follow_the_direction(kind: str) -> None:
    path, best, worst = TOLD[kind]
    row = compared(kind).metrics[path]
    assert (row.best, row.worst) == ([best], [worst])
    assert row.values[0] is not None
    assert row.delta_pct[0] == 0.0


@pytest.mark.parametrize("kind", MAKERS)
def test_equal_documents_have_neither_best_nor_worst(kind: str) -> None:
    family = of_kind(kind)
    documents = [family.opened(MAKERS[kind](0), "x")] * 3
    found = side_by_side([next(iter(family.parts(one, "")))[1] for one in documents], force=True)
    assert found.metrics
    assert all(row.best is None and row.worst is None for row in found.metrics.values())


def test_what_has_no_direction_is_not_marked() -> None:
    found = compared("result")
    for path in ("host_bytes_written", "latency_us.write.count", "duration_s"):
        assert results.better(path) is None
        assert found.metrics[path].better is None
    assert found.metrics["iops.total"].better == "higher"
    assert (found.metrics["iops.total"].best, found.metrics["iops.total"].worst) == ([2], [0])


@pytest.mark.parametrize(
    ("values", "low", "high", "better", "told"),
    [
        ([1.0, 2.0, 3.0], None, None, "lower", ([0], [2])),
        ([1.0, 2.0, 3.0], None, None, "higher", ([2], [0])),
        ([1.0, 2.0, 3.0], None, None, None, (None, None)),
        ([2.0, 2.0], None, None, "lower", (None, None)),
        # Two that are best together, by the fifth digit too; of three they are most.
        ([1.0, 1.0, 3.0, 4.0], None, None, "lower", ([0, 1], [3])),
        ([1.00000, 1.00001, 3.0, 4.0], None, None, "lower", ([0, 1], [3])),
        ([1.0, 1.0, 3.0], None, None, "lower", (None, [2])),
        # Intervals that meet tell nothing, and one that is missing is the value itself.
        ([1.0, 1.2, 3.0, 4.0], [0.9, 1.1, 2.8, 3.8], [1.15, 1.3, 3.2, 4.2], "lower", ([0, 1], [3])),
        ([1.0, 1.2, 3.0], [0.9, None, 2.8], [1.15, None, 3.2], "lower", ([0], [2])),
        ([0.0, 0.1], [0.0, 0.0], [0.3, 0.4], "lower", (None, None)),
        # One that meets both ends is neither.
        ([1.0, 2.0, 3.0], [0.5, 1.0, 2.5], [1.5, 3.0, 3.5], "lower", ([0], [2])),
        # What is missing is neither.
        ([None, 2.0, 3.0], None, None, "lower", ([1], [2])),
        ([None, 2.0, None], None, None, "lower", (None, None)),
        ([float("nan"), 2.0, 3.0], None, None, "lower", ([1], [2])),
    ],
)
def test_best_and_worst_can_be_told_apart(
    values: list[float | None],
    low: list[float | None] | None,
    high: list[float | None] | None,
    better: Any,
    told: tuple[list[int] | None, list[int] | None],
) -> None:
    nothing = [None] * len(values)
    assert extremes(values, low or nothing, high or nothing, better) == told


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("count", [2, 3, 5, 8, 20])
@pytest.mark.parametrize("kind", MAKERS)
def test_no_line_is_longer_than_the_terminal(kind: str, count: int, columns: int) -> None:
    found = compared(kind, 2)
    rows = [
        (row.label or path, widened(row, count)) for path, row in list(found.metrics.items())[:24]
    ]
    names = [
        f"a-long-name-of-a-study-with-seed-{place}-and-policy-greedy" for place in range(count)
    ]
    sources = [f"some/where/{'deep/' * 12}{name}.json" for name in names]
    drawn = layout.table(
        rows, names, sources, layout.Screen(columns, layout.Glyphs(), of_kind(kind).shows_intervals)
    )
    lines = grid_lines(Grid(drawn.heads, drawn.lines, repeated=1), columns)
    assert max(map(width, [*lines, *drawn.legend])) <= columns
    # Every document has its name in the table, and its file in the legend.
    legend = "".join(line.strip() for line in drawn.legend)
    table = "\n".join(lines)
    for place, name in enumerate(names):
        assert name in legend or f"seed-{place}" in table
    for head in heads_of(drawn):
        assert re.search(rf"(?m)(^|\s){re.escape(head)}(\s|$)", table), head
    # Every number is in it: its values, in order, one for each document.
    for label, row in rows:
        assert label.split()[0][:8] in table.replace("\n", " ")
        assert sum(value is not None for value in row.values) in {0, count}


def widened(row: Any, count: int) -> Any:
    """Return a row with values of as many documents."""
    from msgspec import structs

    value = row.values[-1]
    values = [None if value is None else value * (1 + place / 7) for place in range(count)]
    first = values[0]
    deltas = [None if it is None or not first else (it / first - 1) * 100 for it in values]
    low = [None if it is None else 0.8 * it for it in values]
    high = [None if it is None else 1.3 * it for it in values]
    return structs.replace(
        row, values=values, delta_pct=deltas, low=low, high=high, best=[0], worst=[count - 1]
    )


def heads_of(drawn: layout.Drawn) -> list[str]:
    """Return what the legend calls the documents."""
    return [line.split()[0] for line in drawn.legend if not line.startswith(" ")]


def test_blocks_of_columns_repeat_the_first_document() -> None:
    rows = [("WAF", widened(compared("formula").metrics["waf"], 4))] * 2
    names = ["reference-run", "second-run", "third-run", "fourth-run"]
    drawn = layout.table(rows, names, None, layout.Screen(60, layout.Glyphs()))
    lines = grid_lines(Grid(drawn.heads, drawn.lines, repeated=1), 60)
    heads = [line for line in lines if "run" in line]
    assert all("reference-run" in line for line in heads) or len(lines) == 6
    for name in names:
        assert any(name in line for line in lines)


def test_many_documents_are_rows() -> None:
    rows = [("WAF", widened(compared("formula").metrics["waf"], 20))]
    names = [f"run-{place}" for place in range(20)]
    drawn = layout.table(rows, names, None, layout.Screen(100, layout.Glyphs()))
    lines = grid_lines(Grid(drawn.heads, drawn.lines, repeated=1), 100)
    assert len(lines) == 22
    assert lines[2].startswith("run-0 ")
    assert lines[21].startswith("run-19")


def test_a_terminal_without_the_signs_gets_others() -> None:
    signs = layout.glyphs("ascii")
    rows = [("WAF", widened(compared("formula").metrics["waf"], 3))]
    drawn = layout.table(rows, ["a", "b", "c"], None, layout.Screen(80, signs))
    text = "\n".join(part for _, *cells in drawn.lines for cell in cells for part in cell)
    assert text.isascii()
    assert "* 3" in text or "*" in text
    assert "!" in text


def test_marks_have_colours_where_there_are_colours(cli: Cli, tmp_path: Path) -> None:
    files = saved(tmp_path, "life", 2)
    shown = cli("compare", *files, FORCE_COLOR="1", TERM="xterm")
    (line,) = [one for one in shown.stdout.splitlines() if re.match(r"(\x1b\[\d+m)*UBER +│", one)]
    assert re.search(r"\x1b\[32m[^\x1b]*▲", line)
    assert re.search(r"\x1b\[31m[^\x1b]*▼", line)
    plain = cli("compare", *files, NO_COLOR="1").stdout
    assert "\x1b" not in plain
    assert "▲" in plain


def test_names_tell_files_apart() -> None:
    assert names_of(["a/w2-greedy.json", "b/w2-fifo.json"]) == ["w2-greedy", "w2-fifo"]
    assert names_of(["x/a/iops.json", "x/b/iops.json"]) == ["a", "b"]
    assert names_of(["x/a/1/iops.json", "x/b/1/iops.json", "x/b/2/iops.json"]) == [
        "a/1", "b/1", "b/2",
    ]  # fmt: skip
    assert len(set(names_of(["r.json"] * 20))) == 20


def test_an_objection_is_said_once_for_many() -> None:
    documents = [result(0) for _ in range(20)]
    for document in documents[1:]:
        document["device"]["ftl"]["over_provisioning_pct"] = 0.28
        sealed(document)
    documents[19]["seed"] = 7
    found = side_by_side([onl.Result(sealed(one)) for one in documents], force=True)
    (reason,) = found.reasons
    assert reason.startswith("different over-provisioning: #1 has 0.07")
    assert "#2, #3, #4, #5 and 15 others have 0.28" in reason
    assert len(found.warnings) == 1
    with pytest.raises(onl.UnlikeError) as refusal:
        side_by_side([onl.Result(one) for one in documents])
    assert refusal.value.reasons == found.reasons


def test_versions_of_the_model_are_said_once_for_many(cli: Cli, tmp_path: Path) -> None:
    files = []
    for place in range(6):
        document = result(place)
        document["model_version"] = 3 if place == 0 else 4
        path = tmp_path / f"v{place}.json"
        path.write_text(json.dumps(sealed(document)), encoding="utf-8")
        files.append(str(path))
    shown = cli("compare", *files).stdout
    assert shown.count("MODEL VERSIONS DIFFER") == 1
    assert shown.count("Version 4 changed") == 1


def test_mixed_families_are_refused_with_the_family_of_each(cli: Cli, tmp_path: Path) -> None:
    files = [
        saved(tmp_path / kind, kind, 1, f"the-{kind}")[0] for kind in ("result", "pts", "life")
    ]
    refused = cli("compare", *files)
    assert refused.returncode == 2
    for words in (
        "the-result.json is a result of `benchmark`",
        "the-pts.json is a document of a standard test",
        "the-life.json is a life test by the models",
    ):
        assert words in refused.stderr
    with pytest.raises(onl.ResultError, match="#2 is a life test"):
        onl.compare([onl.load(files[0]), onl.load(files[2])])
    with pytest.raises(onl.ResultError, match="#1 cannot be compared: it is a int"):
        onl.compare([1, 2])
    with pytest.raises(onl.ResultError, match="accepted: two or more"):
        onl.compare([])


@pytest.mark.parametrize("kind", sorted(set(MAKERS) - {"formula"}))
def test_the_command_compares_files_of_every_family(cli: Cli, tmp_path: Path, kind: str) -> None:
    files = saved(tmp_path, kind, 3, "study-{}/document")
    shown = cli("compare", *files, "--force", "--all", COLUMNS="80")
    assert shown.returncode == 0, shown.stderr
    assert max(map(width, shown.stdout.splitlines())) <= 80
    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    document = json.loads(
        cli("compare", *files, "--force", "--json", "--html", str(page), "--csv", str(table)).stdout
    )
    assert read(document, Comparison)[0].sources is not None
    text = page.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>")
    rows = list(csv.reader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert rows[0][:5] == ["path", "number", "better", "best", "worst"]
    assert all(len(row) == len(rows[0]) for row in rows)
    for row in rows[1:]:
        values = document["metrics"][row[0]]["values"]
        assert [None if it == "" else float(it) for it in row[5 : 5 + len(values)]] == values
    if kind in TOLD:
        path, best, worst = TOLD[kind]
        assert document["metrics"][path]["best"] == [best]
        assert document["metrics"][path]["worst"] == [worst]
        assert 'class="best"' in text
        assert 'class="worst"' in text
    if kind == "ecc-curve":
        assert "Frame error rate, 1 read" in text
    # Python says the same of what it loads.
    loaded = [onl.load(path) for path in files]
    again = onl.compare(loaded, document["names"][: len(files)], force=True)
    if kind != "ecc-comparison":
        assert again["metrics"] == document["metrics"]


def test_a_damaged_file_is_named(cli: Cli, tmp_path: Path) -> None:
    files = saved(tmp_path, "life", 2)
    document = json.loads(Path(files[1]).read_text(encoding="utf-8"))
    del document["uber"]
    Path(files[1]).write_text(json.dumps(document), encoding="utf-8")
    refused = cli("compare", *files)
    assert refused.returncode == 2
    assert f"{files[1]}: damaged" in refused.stderr
    Path(files[1]).write_text('{"schema": "opennandlab.li', encoding="utf-8")
    refused = cli("compare", *files)
    assert refused.returncode == 2
    assert files[1] in refused.stderr
    Path(files[1]).write_text('{"schema": "opennandlab.suite/1"}', encoding="utf-8")
    refused = cli("compare", *files)
    assert refused.returncode == 2
    assert "accepted: opennandlab.result/1" in refused.stderr


def entry(place: int, kind: str = "result") -> Entry:
    """Return a point whose document is of a family."""
    document = MAKERS[kind](place)
    settings = {"policy": place}
    return Entry(
        key=key_of(kind, settings, 42, 9), verb="benchmark", seed=42, settings=settings,
        coordinates={"ftl.gc_policy": f"policy{place}", "workload": "W2"}, metrics={"waf": 1.0},
        document=document, error=None, wall_s=0.1, program="1", model_version=9,
        created="2026-01-02T03:04:05Z", host="", sweep=None,
    )  # fmt: skip


def test_keys_of_a_store_are_compared_like_files(cli: Cli, tmp_path: Path) -> None:
    entries = [entry(place) for place in range(3)]
    with Store.open(tmp_path / "store") as store:
        store.add(entries)
    keys = [one.key[:12] for one in entries]
    shown = cli("compare", *keys, "--store", str(tmp_path / "store"))
    assert shown.returncode == 0, shown.stderr
    for one, name in zip(entries, ("policy0", "policy1", "policy2"), strict=True):
        assert f"gc_policy={name}" in shown.stdout
        assert one.key[:12] in shown.stdout
    # Next to a file of the same family.
    (file,) = saved(tmp_path, "result", 1, "beside")
    document = json.loads(
        cli("compare", keys[1], file, "--store", str(tmp_path / "store"), "--json").stdout
    )
    assert document["names"] == [keys[1], "beside"]
    missing = cli("compare", "abcdef", keys[0], "--store", str(tmp_path / "store"))
    assert missing.returncode == 2
    assert "abcdef: no such file, and as the key of a point: no point in" in missing.stderr
    nowhere = cli("compare", "abcdef", keys[0], "--store", str(tmp_path / "none"))
    assert nowhere.returncode == 2
    assert "no such file, and as the key of a point" in nowhere.stderr
    # A point that failed has nothing to compare.
    failed = replace(entries[0], key="f" * 64, document=None, metrics={}, error="it broke")
    with Store.open(tmp_path / "store") as store:
        store.add([failed])
    refused = cli("compare", "f" * 12, keys[0], "--store", str(tmp_path / "store"))
    assert refused.returncode == 2
    assert "has no document, it failed: it broke" in refused.stderr
    # A file is a file, whatever it is called.
    (named,) = saved(tmp_path, "result", 1, "x")
    Path(named).rename(tmp_path / keys[0])
    alone = cli("compare", keys[0], file)
    assert alone.returncode == 0, alone.stderr


def read_curve(document: Json) -> CurveDocument:
    return read(document, CurveDocument)[0]


def test_curves_are_read_off_inside_their_points_only() -> None:
    document = read_curve(curve(0))
    found = curves.FAMILY.numbers(document)
    place = found.get("rber@fer=1e-03")
    rates = [point.fer for point in document.points]
    assert (place is not None) == (min(rates) <= 1e-3 <= max(rates))
    crossing = curves.crossing(document.points, 0.1, "rber")
    assert crossing is not None
    exact = onl.ecc.curve(document.code, "bsc", [crossing[0]], method="analytic").fer[0]
    # Straight on logarithmic axes between points that are a factor of two apart.
    assert exact == pytest.approx(0.1, rel=0.35)
    assert curves.crossing(document.points, 1e-30, "rber") is None
    assert curves.crossing(document.points, 0.99999, "rber") is None


def test_the_point_at_a_rate_has_the_interval_of_the_rates() -> None:
    document = curve(0)
    for point in document["points"]:
        point["fer_low"], point["fer_high"] = point["fer"] / 1.5, point["fer"] * 1.5
    points = read_curve(document).points
    rate = (points[0].fer * points[-1].fer) ** 0.5
    found = curves.crossing(points, rate, "rber")
    assert found is not None
    place, low, high = found
    assert low is not None
    assert high is not None
    assert low < place < high
    assert points[0].x <= low
    assert high <= points[-1].x


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"channel": "awgn", "channel_settings": {"kind": "awgn"}}, "different channels"),
        ({"rate": 0.5}, "different rates"),
        ({"code_bits": 9000}, "different frames"),
    ],
)
def test_unlike_curves_are_objected_to(change: Json, reason: str) -> None:
    one, other = curve(0), copy.deepcopy(curve(0)) | change
    with pytest.raises(onl.UnlikeError, match=reason):
        onl.compare([read_curve(one), read_curve(other)])


def test_curves_of_a_comparison_stand_beside_other_curves() -> None:
    codes = of_kind("ecc-comparison").opened(comparison(0), "x")
    found = onl.compare([codes, read_curve(curve(1))], ["codes", "alone"], force=True)
    assert found["names"] == [
        "codes: bch:m=13,t=8,data_bits=4096", "codes: bch:m=13,t=9,data_bits=4096", "alone",
    ]  # fmt: skip
    row = found["metrics"]["fer@rber=0.002"]
    # The same code twice: two of three are no distinction.
    assert row["values"][1] == row["values"][2]
    assert row["best"] is None
    assert row["worst"] == [0]


def test_the_unsure_has_no_best() -> None:
    """The interval of the observed UBER of two drives overlaps: none is called better."""
    found = compared("drive-life", 2).metrics["uber_observed"]
    assert found.low == [0.5, 1.5]
    assert (found.best, found.worst) == (None, None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"drive_class": "enterprise"},
            "different drive classes: #1 has client, #2 has enterprise",
        ),
        ({"tbw_tb": 1.0}, "different bytes written"),
        ({"retention_h": 1.0}, "different retention"),
    ],
)
def test_unlike_life_tests_are_objected_to(change: Json, reason: str) -> None:
    family = of_kind("life")
    documents: Sequence[Any] = [
        family.opened(life(0) | {"drive_class": "client"}, ""),
        family.opened(life(0) | {"drive_class": "client"} | change, ""),
    ]
    with pytest.raises(onl.UnlikeError, match=re.escape(reason)):
        onl.compare(documents)


def test_what_is_compared_can_be_saved_and_loaded(tmp_path: Path) -> None:
    found = compared("result")
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(plain(found)), encoding="utf-8")
    assert onl.load(path) == found
    assert '"best": null' in path.read_text(encoding="utf-8")


def test_a_rate_of_which_nothing_was_seen_is_a_bound(cli: Cli, tmp_path: Path) -> None:
    """A curve without an error was shown as 0, 100 % better than any other."""
    files = []
    for place, (fer, low, high) in enumerate([(1e-3, 8e-4, 1.3e-3), (0.0, 0.0, 1.84e-4)]):
        document = curve(0)
        for point in document["points"]:
            point |= {"fer": fer, "fer_low": low, "fer_high": high, "method": "monte_carlo"}
        path = tmp_path / f"c{place}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        files.append(str(path))
    shown = cli("compare", *files)
    assert shown.returncode == 0, shown.stderr
    (line, *_) = [line for line in shown.stdout.splitlines() if line.startswith("FER at")]
    assert "<0.000184" in line
    assert "±30 %" in line
    assert "-100" not in line
