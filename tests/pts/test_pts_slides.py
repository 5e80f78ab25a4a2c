"""The figures of the tutorials: which a target can have, what they measure, and their page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fake_target import FakeTarget
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app
from opennandlab.documents.record import plain
from opennandlab.pts import Settings
from opennandlab.pts.bench import slides
from opennandlab.pts.bench.runner import run_test
from opennandlab.pts.bench.slides import SLIDES, chosen, jobs_of, objection
from opennandlab.reports.figure.model import Plot
from opennandlab.reports.model import Table
from opennandlab.reports.pts import slides as pages
from opennandlab.reports.pts import source
from opennandlab.targets.opening import Request

SMALL = """
nand: {channels: 2, dies_per_channel: 1, planes_per_die: 1, blocks_per_plane: 64,
       pages_per_block: 32}
ftl: {over_provisioning_pct: 0.28, gc_reserve_blocks: 2}
"""
BUFFERED = SMALL.replace("reserve_blocks: 2", "reserve_blocks: 2, write_buffer_pages: 64")
COMPRESSING = SMALL.replace(
    "reserve_blocks: 2", "reserve_blocks: 2, compression: {data: file, ratio: 0.5}"
)
QUICK = ("--time-base", "smoke", "--ss-max-rounds", "5")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    contents = {"small": SMALL, "buffered": BUFFERED, "compressing": COMPRESSING}
    contents["ageing"] = f"{SMALL}reliability: {{kind: states, preset: tlc}}\n"
    for name, text in contents.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def run(*arguments: str) -> Result:
    done = CliRunner().invoke(app, ["pts", "slides", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.mark.parametrize(
    ("device", "left_out"),
    [
        ("small", {"data", "cache", "amount", "age"}),
        ("buffered", {"data", "amount", "age"}),
        ("compressing", {"cache", "amount", "age"}),
        ("ageing", {"data", "cache", "amount"}),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_slide_is_left_out_where_its_lines_would_be_equal(device, left_out):
    request = Request(f"sim:{device}.yaml")
    found = {name: objection(slide, request, Settings()) for name, slide in SLIDES.items()}
    assert {name for name, reason in found.items() if reason} == left_out


@pytest.mark.usefixtures("here")
def test_real_targets_leave_out_what_cannot_be_set():
    request = Request("file:drive.img?size=16GiB")
    reasons = {name: objection(slide, request, Settings()) for name, slide in SLIDES.items()}
    assert {name for name, reason in reasons.items() if reason} == {"cache", "age"}
    assert "kind file" in reasons["cache"]
    # Three quarters of 10 GiB are less than the amount.
    small = Request("file:drive.img?size=10GiB")
    assert not objection(SLIDES["amount"], small, Settings())
    assert "8 GiB" in objection(SLIDES["amount"], small, Settings(profile="C"))
    assert objection(SLIDES["amount"], small, Settings(active_range_pct=50))


def test_each_slide_is_made_by_the_machinery_of_vary():
    values = {name: jobs_of(slide, Settings())[1].values for name, slide in SLIDES.items()}
    assert values["active-range"] == ["100", "80", "50", "25", "10", "5"]
    assert values["oio"] == ["1", "2", "4", "8"]
    jobs, varied = jobs_of(SLIDES["amount"], Settings())
    assert [job.settings.ar_amount_bytes for job in jobs] == [0, 8 << 30]
    assert varied.documents == [job.name for job in jobs]
    # Threads of the user and outstanding requests in all exclude each other.
    jobs, _ = jobs_of(SLIDES["oio"], Settings(threads=4, queue_depth=8))
    for job in jobs:
        job.settings.check()
    assert jobs_of(SLIDES["age"], Settings())[0][1].overrides == {"nand.stress.retention_h": 8760}


def test_slides_are_chosen_by_name():
    assert [slide.name for slide in chosen(None)] == list(SLIDES)
    assert [slide.name for slide in chosen("oio, active_range,oio")] == ["oio", "active-range"]
    for text in ("speed", ""):
        with pytest.raises(ConfigError, match="accepted: data, cache, oio"):
            chosen(text)


def chapter_of(name: str) -> tuple[Any, list[Any]]:
    """Return the chapter of a slide on the drive of formulas, and its documents."""
    slide = slides.SLIDES[name]
    jobs, varied = jobs_of(slide, Settings(time_base="smoke"))
    documents = [
        run_test(job.test, FakeTarget(), settings=job.settings, name=job.name) for job in jobs
    ]
    measured = [source.read(plain(document), document.name, []) for document in documents]
    labels = [slide.label(value) for value in varied.values]
    shown = pages.chapter(
        name=name, title=slide.title, measured=measured, labels=labels, varied=varied,
        note=slide.note,
    )  # fmt: skip
    return shown, documents


def test_a_slide_of_write_saturation_is_a_line_for_each_value():
    shown, documents = chapter_of("oio")
    plot, table = shown.items
    assert isinstance(plot, Plot)
    assert isinstance(table, Table)
    assert [line.name for line in plot.series] == ["OIO 1", "OIO 2", "OIO 4", "OIO 8"]
    for line, document in zip(plot.series, documents, strict=True):
        cells = [cell for cell in document.cells.rows if cell.phase == "wsat"]
        assert list(line.y) == [cell.iops for cell in cells]
    ratios = [row[table.columns.index("end / first row")] for row in table.rows]
    expected = [one.results.steady_iops / documents[0].results.steady_iops for one in documents]
    assert ratios == pytest.approx(expected)
    assert ratios[0] == 1
    assert {row[-1] for row in table.rows} == {"smoke"}
    assert "oio = 1, 2, 4, 8" in shown.sections[0].lead
    # What differs between the runs is no fact of all of them.
    facts = {key for _, rows in shown.facts for key, _ in rows}
    assert "Target" in facts
    assert not facts & {"OIO throttle", "Threads / queue depth", "Digest"}


@pytest.mark.usefixtures("here")
def test_a_slide_of_response_times_has_reads_and_writes_of_each_value():
    slide = SLIDES["age"]
    done = run("--target", "sim:ageing.yaml", *QUICK, "--only", "age", "--output", "out", "-q")
    assert done.exit_code == 0, done.output
    suite = json.loads(Path("out/age/suite.json").read_text())
    assert suite["varied"]["key"] == "nand.stress.retention_h"
    found = [
        source.read(json.loads(Path(f"out/age/{name}.json").read_text()), name, [])
        for name in suite["documents"]
    ]
    varied = jobs_of(slide, Settings())[1]
    shown = pages.chapter(
        name="age", title=slide.title, measured=found, labels=["new", "old"], varied=varied
    )
    plot, table = shown.items
    assert isinstance(plot, Plot)
    assert isinstance(table, Table)
    assert [line.name for line in plot.series] == [
        "reads, new", "reads, old", "writes, new", "writes, old",
    ]  # fmt: skip
    art = next(block for block in found[0].tables if block.id == "art")
    assert table.rows[0][2] == art.values[art.rows.index("4")][art.columns.index("100/0")]


def test_the_command_leaves_a_suite_for_each_slide_and_a_page(here: Path):
    changed = ("--set", "ftl.over_provisioning_pct=0.3")
    done = run("--target", "sim:buffered.yaml", *QUICK, *changed, "--output", "out")
    assert done.exit_code == 0, done.output
    assert "data was left out" in done.stderr
    assert sorted(path.name for path in (here / "out").iterdir()) == [
        "active-range", "cache", "oio", "slides.html",
    ]  # fmt: skip
    page = (here / "out" / "slides.html").read_text()
    for title in ("Write cache", "Outstanding requests", "Active range", "Amount was left out"):
        assert title in page
    assert page.count("device changed: ftl.over_provisioning_pct=0.3") == 3
    suite = json.loads((here / "out" / "cache" / "suite.json").read_text())
    assert suite["varied"] == {
        "key": "cache",
        "values": ["disabled", "enabled"],
        "documents": ["wsat-cache-disabled", "wsat-cache-enabled"],
    }
    # The same again goes on with what is there, and makes the same page.
    resumed = ("--output", "out", "--resume", "--json")
    again = run("--target", "sim:buffered.yaml", *QUICK, *changed, *resumed)
    assert again.exit_code == 0, again.output
    assert set(json.loads(again.stdout)["slides"]) == {"cache", "oio", "active-range"}
    assert (here / "out" / "slides.html").read_text() == page


def test_a_target_without_any_of_the_slides_is_refused(here: Path):
    done = run("--target", "sim:small.yaml", *QUICK, "--only", "cache,age", "--output", "out")
    assert done.exit_code == 2
    assert "no slide is left for this target: cache: the device has no volatile" in done.stderr
    assert not (here / "out").exists()
    assert run("--target", "sim:small.yaml", "--only", "speed").exit_code == 2
    plan = run("--target", "sim:small.yaml", *QUICK, "--only", "oio", "--dry-run", "--json")
    assert [one["name"] for one in json.loads(plan.stdout)["plans"]] == [
        "wsat-oio-1", "wsat-oio-2", "wsat-oio-4", "wsat-oio-8",
    ]  # fmt: skip
    assert not (here / "out").exists()
