"""Watts of cells: of a simulated drive against sums by hand, of a real one against a log."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Cli
from fake_target import FakeTarget
from opennandlab.base.canonical import digest
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import load_device
from opennandlab.core.shrinking import shrink
from opennandlab.documents import pts
from opennandlab.documents.record import plain
from opennandlab.measured.power_log import read_power_log
from opennandlab.pts import TESTS, Place, Settings, run_test
from opennandlab.pts.bench.watts import attached
from opennandlab.reports.pts import source
from opennandlab.reports.pts.views import chapter_of
from opennandlab.targets.base import Limit, Measurement, Stimulus
from opennandlab.targets.simulated import SimulatedTarget

READ, PROGRAM, ERASE, TRANSFER_KIB, IDLE_DIE = 30e-6, 70e-6, 200e-6, 80e-9, 2.5e-3
COMMAND, HOST_KIB, ACTIVE, IDLE = 3e-6, 500e-9, 1.0, 0.5
ENERGY = {
    "nand.energy": {
        "read_uj": 30, "program_uj": 70, "erase_uj": 200, "transfer_nj_per_kib": 80, "idle_mw": 2.5,
    },
    "controller.power": {
        "idle_w": IDLE, "active_w": ACTIVE, "command_uj": 3, "host_nj_per_kib": 500,
    },
}  # fmt: skip
DIES, PAGE_KIB, BLOCK_PAGES = 2, 4, 32
# What each cell draws whatever it does: a closed loop has a command outstanding at all times.
BASE_W = DIES * IDLE_DIE + ACTIVE
FILL = Stimulus("sequential", block_bytes=128 << 10, queue_depth=4)
BEGAN = 1_764_403_200.0


def drive(changes: dict[str, Any] | None = None) -> SimulatedTarget:
    target = SimulatedTarget(SMALL, ENERGY | (changes or {}))
    limit = Limit(bytes=2 * target.capacity_bytes)
    target.run(FILL, limit, seed=1, is_measured=False)
    return target


def watts(done: Measurement) -> float:
    found = done.inside["power_w"]
    assert found is not None
    return float(found)


@pytest.mark.parametrize("ramp", [0.0, 0.5])
def test_reads_draw_idle_power_and_the_energy_of_each(ramp: float) -> None:
    done = drive().run(
        Stimulus(read_pct=100, queue_depth=4), Limit(ios=8000, ramp_ratio=ramp), seed=2
    )
    each = READ + PAGE_KIB * (TRANSFER_KIB + HOST_KIB) + COMMAND
    assert watts(done) == pytest.approx(BASE_W + done.iops * each, rel=1e-3)


def test_sequential_writes_add_programs_and_erases() -> None:
    # In order nothing is moved: a program, and the 32nd of an erase, for each page.
    done = drive().run(FILL, Limit(bytes=64 << 20, ramp_ratio=0.1), seed=2)
    pages = done.mb_s * 1e6 / (PAGE_KIB << 10)
    each = PROGRAM + PAGE_KIB * (TRANSFER_KIB + HOST_KIB) + ERASE / BLOCK_PAGES
    expected = BASE_W + pages * each + done.iops * COMMAND
    assert watts(done) == pytest.approx(expected, rel=0.01)


def test_random_writes_add_what_is_moved() -> None:
    target = drive()
    random = Stimulus(queue_depth=8)
    target.run(random, Limit(bytes=4 * target.capacity_bytes), seed=2, is_measured=False)
    done = target.run(random, Limit(ios=20_000, ramp_ratio=0.02), seed=3)
    waf = float(done.inside["waf"] or 0.0)
    page = PAGE_KIB * TRANSFER_KIB
    each = (
        waf * (PROGRAM + page + ERASE / BLOCK_PAGES) + (waf - 1) * (READ + page)
        + PAGE_KIB * HOST_KIB + COMMAND
    )  # fmt: skip
    assert waf > 1.5
    assert watts(done) == pytest.approx(BASE_W + done.iops * each, rel=0.01)


def test_the_power_is_of_the_window_not_of_the_ramp() -> None:
    # The ramp ends when the drive is quiet: its collections are not in the watts of the reads.
    steps = {"kind": "steps", "soft_spare_blocks": 8}
    target = drive(
        {
            "ftl.collection": steps,
            "ftl.write_frontiers": "host_gc",
            "ftl.idle_collection": {"after_us": 10, "spare_blocks_goal": 8},
        }
    )
    target.run(Stimulus(queue_depth=8), Limit(ios=20_000), seed=2)
    limit = Limit(ios=2000, quiet_seconds=0.05, seconds_max=10.0, ramp_ratio=0.1)
    done = target.run(Stimulus(read_pct=100), limit, seed=3)
    each = READ + PAGE_KIB * (TRANSFER_KIB + HOST_KIB) + COMMAND
    assert done.inside["erases"]
    assert watts(done) == pytest.approx(BASE_W + done.iops * each, rel=1e-3)


def test_a_document_has_the_watts_of_each_cell_and_idle_power_once() -> None:
    found = run_test(TESTS["latency"], SimulatedTarget(SMALL, ENERGY), settings=SMOKE)
    for cell in found.cells.rows:
        assert cell.power_w is not None
        assert cell.power_w > BASE_W
        assert cell.iops_per_w == pytest.approx(cell.iops / cell.power_w)
        assert cell.j_per_gb == pytest.approx(cell.power_w / (cell.mb_s * 1e-3))
        assert cell.at_s is None
    power = found.header.power
    assert power is not None
    assert power.idle_w == pytest.approx(DIES * IDLE_DIE + IDLE)
    assert (power.source, power.missing) == ("energies", None)
    grids = {table.id: table for table in found.tables if pts.is_of_power(table.id)}
    assert list(grids) == ["power_w", "j_per_gb", "iops_per_w", "power"]
    last = [
        cell
        for cell in found.cells.rows
        if cell.phase == "round" and (cell.block_bytes, cell.rw_pct) == (8192, 65)
    ][-5:]
    joules = math.fsum((cell.power_w or 0.0) * cell.seconds for cell in last)
    shown = [grids[name].values[2][1] for name in ("power_w", "iops_per_w")]
    assert shown == pytest.approx(
        [
            joules / math.fsum(cell.seconds for cell in last),
            sum(cell.ios for cell in last) / joules,
        ]
    )
    assert grids["power_w"].rows == ["0.5", "4", "8"]
    assert grids["power_w"].columns == ["0/100", "65/35", "100/0"]
    assert grids["power"].rows == ["RND 4 KiB 0/100 (histogram)"]


def test_a_drive_without_energies_has_no_watts() -> None:
    found = run_test(TESTS["latency"], SimulatedTarget(SMALL), settings=SMOKE)
    assert {cell.power_w for cell in found.cells.rows} == {None}
    assert {cell.iops_per_w for cell in found.cells.rows} == {None}
    assert not any(pts.is_of_power(table.id) for table in found.tables)
    assert found.header.power == SimulatedTarget(SMALL).power_facts()
    assert found.header.power.idle_w is found.header.power.source is None
    assert "no nand.energy and no controller.power" in (found.header.power.missing or "")


@pytest.mark.parametrize(
    ("key", "idle_w", "told"),
    [
        ("nand.energy", DIES * IDLE_DIE, "those of the flash alone"),
        ("controller.power", IDLE, "those of the controller alone"),
    ],
)
def test_watts_of_a_part_say_of_which(key: str, idle_w: float, told: str) -> None:
    power = SimulatedTarget(SMALL, {key: ENERGY[key]}).power_facts()
    assert power.idle_w == pytest.approx(idle_w)
    assert told in (power.missing or "")


def test_a_divided_drive_has_the_watts_of_the_whole() -> None:
    device = load_device("micron_7450_max_800gb")
    small = shrink(device, {"block_size_bytes": 4096, "total": {"ios": 1}}, 64).device
    whole, part = (one.to_dict()["nand"] for one in (device, small))
    assert part["energy"].pop("erase_uj") * 64 == pytest.approx(whole["energy"].pop("erase_uj"))
    assert part["energy"] == whole["energy"]
    # Erases alone cost energy, and blocks of 64 pages have half the erases of those of 32.
    costly = {"nand.energy": {"read_uj": 0, "program_uj": 0, "erase_uj": 6400}}
    found = []
    for divisor in (1, 2):
        erase = {"nand.energy": {**costly["nand.energy"], "erase_uj": 6400 / divisor}}
        pages = {"nand.pages_per_block": 64 // divisor, "nand.timing.t_erase_us": 3500 / divisor}
        target = SimulatedTarget(SMALL, pages | erase)
        target.run(FILL, Limit(bytes=2 * target.capacity_bytes), seed=1, is_measured=False)
        found.append(watts(target.run(FILL, Limit(bytes=128 << 20, ramp_ratio=0.1), seed=2)))
    assert found[1] == pytest.approx(found[0], rel=0.02)


def test_the_page_shows_watts_and_where_they_come_from() -> None:
    content = plain(run_test(TESTS["latency"], SimulatedTarget(SMALL, ENERGY), settings=SMOKE))
    page = chapter_of(source.read(content, "latency", []))
    (section,) = [one for one in page.sections if one.id == "power"]
    assert [item.id for item in section.items] == ["power_w", "j_per_gb", "iops_per_w", "power"]
    titles = [item.title for item in section.items]
    assert titles[:3] == ["Mean power, W", "Energy per host byte, J/GB", "IOPS per watt, IOPS/W"]
    told = "power by nand.energy and controller.power; idle 0.5050 W"
    assert section.lead == f"P{told[1:]}."
    assert ("Power", told) in [row for _, group in page.facts for row in group]


# Logs of a power meter.

SMOKE = Settings(time_base="smoke")


class Metered(FakeTarget):
    """The drive of formulas with the clock of the wall, which a meter has too."""

    kind = "file"
    is_virtual = False
    now_s = BEGAN

    def run(self, *given: Any, **named: Any) -> Measurement:
        done = super().run(*given, **named)
        self.now_s += 0.5
        done.inside["began_at_s"] = self.now_s
        self.now_s += done.seconds
        return done


def metered(place: Place | None = None) -> pts.PtsDocument:
    settings = Settings(time_base="smoke", ss_max_rounds=5)
    return run_test(TESTS["throughput"], Metered(), settings=settings, place=place or Place())


def logged(folder: Path, samples: list[tuple[float, float]], head: str = "") -> Path:
    path = folder / "watts.csv"
    path.write_text(head + "".join(f"{at!r},{power!r}\n" for at, power in samples))
    return path


def steps(document: pts.PtsDocument, shift_s: float = 0.0) -> list[tuple[float, float]]:
    """2 W until the tenth cell, then 6 W, every tenth of a second."""
    cells = document.cells.rows
    edge_s, end_s = (cells[at].at_s or 0.0 for at in (9, -1))
    count = int((end_s + 10 - BEGAN) * 10)
    times = [BEGAN + at / 10 for at in range(count)]
    return [(at - shift_s, 2.0 if at < edge_s else 6.0) for at in times]


@pytest.mark.parametrize("head", ["", "# meter 3\n\nseconds,watts\n", "\ufeffTime (s), Power\n"])
def test_a_cell_has_the_mean_of_its_samples(tmp_path: Path, head: str) -> None:
    document = metered()
    log = read_power_log(logged(tmp_path, steps(document), head), "LOG")
    found = attached(document, log, "LOG")
    cells = found.cells.rows
    assert [cell.power_w for cell in cells[:9]] == [2.0] * 9
    assert {cell.power_w for cell in cells[9:]} == {6.0}
    assert cells[0].iops_per_w == pytest.approx(cells[0].iops / 2.0)
    assert found.header.power is not None
    assert found.header.power.source == "log"
    assert found.header.power.idle_w is None
    assert found.header.power.log is not None
    assert found.header.power.log.clock == "epoch"
    (table,) = [one for one in found.tables if pts.is_of_power(one.id)]
    assert table.rows[0] == "SEQ 1024 KiB 100/0"
    assert found.digest == digest(pts.to_json(found))
    # Again: the tables are replaced, not added to.
    assert attached(found, log, "LOG") == found


def test_times_may_be_those_of_the_run(tmp_path: Path) -> None:
    document = metered()
    run = pts.RunFacts(wall_s=1.0, began_s=BEGAN)
    document = replaced(document, run=run)
    path = logged(tmp_path, steps(document, BEGAN))
    found = attached(document, read_power_log(path, "LOG"), "LOG")
    assert [cell.power_w for cell in found.cells.rows][8:10] == [2.0, 6.0]
    assert found.header.power is not None
    assert found.header.power.log is not None
    assert found.header.power.log.clock == "run"
    cut = replaced(document, run=pts.RunFacts(wall_s=1.0))
    with pytest.raises(ConfigError, match="interrupted and resumed"):
        attached(cut, read_power_log(path, "LOG"), "LOG")


def replaced(document: pts.PtsDocument, **changes: Any) -> pts.PtsDocument:
    from msgspec import structs

    return structs.replace(document, **changes)


def test_a_cell_with_one_sample_is_unknown_and_so_is_its_row(tmp_path: Path) -> None:
    document = metered()
    cells = document.cells.rows
    last = cells[-1]
    inside = [(cell.at_s or 0.0) + 0.01 for cell in cells[:-1]]
    samples = sorted([(at, 4.0) for at in inside] + [(at + 0.01, 5.0) for at in inside])
    samples.append(((last.at_s or 0.0) + 0.01, 9.0))
    found = attached(document, read_power_log(logged(tmp_path, samples), "LOG"), "LOG")
    assert [cell.power_w for cell in found.cells.rows] == [4.5] * (len(cells) - 1) + [None]
    assert found.cells.rows[-1].iops_per_w is found.cells.rows[-1].j_per_gb is None
    assert found.header.power is not None
    told = f"1 of {len(cells)} cells have fewer than 2 samples or reach beyond the log"
    assert found.header.power.missing == told
    (table,) = [one for one in found.tables if pts.is_of_power(one.id)]
    assert table.values[-1] == [None, None, None]
    assert table.values[0][0] == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1,2\n3,4\n2,4\n", "line 3: 2 s after 3 s is not sorted"),
        ("1,2\n2,x\n", "line 2: `x` is not a number"),
        ("1,2\n2,-1\n", "line 2: -1 W is not 0 to 1e"),
        ("1,2\n2,nan\n", "line 2: not a finite number"),
        ("-1,2\n", "line 1: -1 s is not sorted"),
        ("1,2,3\n", "line 1: 3 columns"),
        ("1;2\n2;3\n", "line 1: 1 column"),
        ("infinity,infinity\n1,2\n", "line 1: not a finite number"),
        ("1,1_0\n", "line 1: `1_0` is not a number"),
        ("seconds,watts\nmore,names\n", "line 2: `more` is not a number"),
    ],
)
def test_a_log_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "watts.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match="accepted: lines of seconds,watts") as refused:
        read_power_log(path, "LOG")
    assert told in str(refused.value)


def test_the_line_that_a_meter_is_writing_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "watts.csv"
    for end in ("3,", "3,1", "3"):  # Of `3,12.5`.
        path.write_text(f"1,2\n2,3\n{end}")
        assert read_power_log(path, "LOG").seconds == [1.0, 2.0]


def test_a_cell_in_which_the_log_begins_or_ends_is_unknown(tmp_path: Path) -> None:
    document = metered()
    whole = steps(document)
    last = document.cells.rows[-1]
    middle_s = (last.at_s or 0.0) + last.seconds / 2
    for samples, place in (
        ([one for one in whole if one[0] < middle_s], -1),
        ([one for one in whole if one[0] > (document.cells.rows[0].at_s or 0.0) + 0.5], 0),
    ):
        log = read_power_log(logged(tmp_path, samples), "LOG")
        found = [cell.power_w for cell in attached(document, log, "LOG").cells.rows]
        assert [at for at, power in enumerate(found) if power is None] == [place % len(found)]


def test_a_log_of_another_day_is_refused(tmp_path: Path) -> None:
    document = metered()
    for samples in ([(BEGAN - 86400, 3.0), (BEGAN - 86399, 3.0)], []):
        log = read_power_log(logged(tmp_path, samples), "LOG")
        with pytest.raises(ConfigError, match="a log of another day") as refused:
            attached(document, log, "LOG")
        assert "2025-11-29 08:00:0" in str(refused.value)


def test_documents_without_times_of_day_are_refused(tmp_path: Path) -> None:
    log = read_power_log(logged(tmp_path, [(1.0, 2.0), (2.0, 2.0)]), "LOG")
    simulated = run_test(TESTS["throughput"], FakeTarget(), settings=SMOKE)
    with pytest.raises(ConfigError, match="a clock of its own"):
        attached(simulated, log, "LOG")
    document = metered()
    cells = pts.Cells(
        columns=document.cells.columns,
        rows=[replaced(cell, at_s=None) for cell in document.cells.rows],
    )
    with pytest.raises(ConfigError, match="no cell with a time of day"):
        attached(replaced(document, cells=cells), log, "LOG")


def test_a_log_is_attached_to_results_that_are_there(
    cli: Cli, folder: Path, tmp_path: Path
) -> None:
    run = folder / "run"
    run.mkdir()
    document = metered(Place(run))
    suite = {"schema": "opennandlab.suite/1", "name": "all", "documents": ["throughput"],
             "digests": {"throughput": document.digest}, "results": {}, "varied": None,
             "left_out": {}}  # fmt: skip
    (run / "suite.json").write_text(json.dumps({**suite, "digest": digest(suite)}))
    path = logged(tmp_path, steps(document))
    done = cli("pts", "power", str(run), str(path))
    assert done.returncode == 0
    assert "power by the log watts.csv" in done.stdout
    kept = json.loads((run / "throughput.json").read_text())
    assert kept["digest"] == digest(kept) != document.digest
    assert json.loads((run / "run.json").read_text())["throughput"]["digest"] == kept["digest"]
    of_all = json.loads((run / "suite.json").read_text())
    assert of_all["digests"] == {"throughput": kept["digest"]}
    assert of_all["digest"] == digest(of_all)
    assert cli("report", str(run / "throughput.json")).returncode == 0
    again = json.loads(cli("pts", "power", str(run), str(path), "--json").stdout)
    assert again["documents"][0]["digest"] == kept["digest"]
    path.write_text("1,2\n1,3\n")
    refused = cli("pts", "power", str(run / "throughput.json"), str(path))
    assert refused.returncode == 2
    assert json.loads((run / "throughput.json").read_text()) == kept
    empty = folder / "empty"
    empty.mkdir()
    assert cli("pts", "power", str(empty), str(path)).returncode == 2


def test_logs_that_no_run_can_have_are_refused_before_it(cli: Cli, folder: Path) -> None:
    (folder / "watts.csv").write_text("1,2\n2,x\n")
    test = ("pts", "latency", "--power-log", "watts.csv", "--target")
    simulated = cli(*test, "sim:tlc_standard")
    assert (simulated.returncode, "a clock of its own" in simulated.stderr) == (2, True)
    damaged = cli(*test, "file:drive.img?size=64MiB")
    assert (damaged.returncode, "line 2" in damaged.stderr) == (2, True)
    (folder / "watts.csv").unlink()
    missing = cli(*test, "file:drive.img?size=64MiB")
    assert (missing.returncode, "does not exist" in missing.stderr) == (2, True)
    assert not (folder / "drive.img").exists()


def test_an_older_document_keeps_its_columns() -> None:
    content = pts.to_json(run_test(TESTS["throughput"], FakeTarget(), settings=SMOKE))
    count = len(pts.Cell.__struct_fields__) - 4
    content["cells"]["columns"] = content["cells"]["columns"][:count]
    content["cells"]["rows"] = [row[:count] for row in content["cells"]["rows"]]
    del content["header"]["power"]
    document, unknown = pts.from_file(content)
    assert unknown == []
    assert pts.to_json(document) == content
    assert {cell.power_w for cell in document.cells.rows} == {None}
