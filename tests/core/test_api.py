"""The package as users find it: names, equality, pickles, figures, frames and types."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import opennandlab as onl

SMALL = {
    "nand": {
        "channels": 1, "dies_per_channel": 2, "planes_per_die": 1, "blocks_per_plane": 64,
        "pages_per_block": 32,
    }
}  # fmt: skip
WORK = {"name": "writes", "pattern": "random", "total": {"drive_writes": 1}}
CHANGES = {f"nand.{key}": value for key, value in SMALL["nand"].items()}


@pytest.fixture(scope="module")
def result():
    return onl.benchmark(SMALL, WORK, seed=7)


@pytest.fixture(scope="module")
def tested():
    return onl.pts.run("latency", "sim:tlc_standard", changes=CHANGES, time_base="smoke", seed=7)


def _waf(result_of: tuple[onl.DeviceConfig, int]) -> float:
    device, seed = result_of
    return float(onl.benchmark(device, WORK, seed=seed).metrics["waf"])


def test_a_name_is_reached_without_importing_more_than_it_needs():
    heavy = "{'numpy', 'pandas', 'matplotlib', 'plotly', 'typer', 'rich', 'sphinx'}"
    for code in (
        "import opennandlab as onl; dir(onl); onl.__version__",
        "import opennandlab as onl; onl.presets(); onl.load_device('tlc_standard')",
    ):
        found = subprocess.run(
            [sys.executable, "-c", f"{code}; import sys; print({heavy} & set(sys.modules))"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert found.stdout == "set()\n"


@pytest.mark.parametrize("name", ["ecc", "policies", "pts", "reliability", "theory"])
def test_a_room_is_an_attribute_without_an_import_of_its_own(name):
    code = f"import opennandlab as onl; print(onl.{name}.__name__, {name!r} in dir(onl))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == f"opennandlab.{name} True\n"


def test_equal_runs_are_equal_results_with_equal_hashes(result):
    again = onl.benchmark(SMALL, WORK, seed=7)
    assert (again, hash(again)) == (result, hash(result))
    assert len({again, result, onl.benchmark(SMALL, WORK, seed=8)}) == 2
    assert result != "a result"
    edited = onl.Result({**result.document, "seed": 8})
    assert edited.digest == result.digest
    assert edited != result


def test_devices_workloads_results_and_tests_are_pickled_by_value(result, tested):
    device = onl.load_device(SMALL)
    curve = onl.ecc.curve("bch:m=13,t=8", "bsc", [1e-3, 2e-3])
    for one in (device, onl.load_workload(WORK, device), result, tested, curve):
        copy = pickle.loads(pickle.dumps(one))
        assert (copy, hash(copy)) == (one, hash(one))
    drive = onl.Simulation(device, seed=3)
    copy = pickle.loads(pickle.dumps(drive))
    assert drive.run(WORK) == copy.run(WORK)


def test_a_pool_of_processes_runs_devices():
    device = onl.load_device(SMALL)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        wafs = list(pool.map(_waf, [(device, 1), (device, 2)]))
    assert wafs == [_waf((device, 1)), _waf((device, 2))]


def test_a_result_is_drawn_as_a_figure_a_page_or_one_figure_of_it(result, tmp_path):
    assert "latency-by-percentile" in result.figures
    figure = result.plot(figure="latency-by-percentile")
    assert figure.layout.title.text == "Latency by percentile: writes on custom"
    assert [line.name for line in figure.data] == ["write"]
    assert result.plot().layout.title.text == "Throughput: writes on custom"
    assert result.plot(tmp_path / "all.svg") is None
    result.plot(tmp_path / "one.svg", figure="latency-by-percentile")
    every, one = ((tmp_path / f"{name}.svg").read_text() for name in ("all", "one"))
    assert every.count("<text") > one.count("<text")
    with pytest.raises(onl.ConfigError, match="`latency` is none of this document's; accepted: "):
        result.plot(figure="latency")
    with pytest.raises(onl.OutputError, match="accepted file extensions"):
        result.plot(tmp_path / "waf.gif")


def test_what_a_notebook_shows_has_the_figure_in_it(result, tested):
    curve = onl.ecc.curve("bch:m=13,t=8", "bsc", [1e-3, 2e-3])
    for one in (result, tested, curve):
        shown = one._repr_html_()
        assert "<svg" in shown
        assert "<?xml" not in shown
        assert "<script" not in shown


def test_a_standard_test_is_one_call_and_its_document_is_typed(tested, tmp_path):
    assert tested.results.attained
    assert tested.header.seed == 7
    frame = tested.frame("art")
    assert list(frame.columns) == ["0/100", "65/35", "100/0"]
    assert frame.loc["4", "0/100"] == pytest.approx(tested.results.art_ms_rnd_4kib_write)
    assert len(tested.frame()) == len(tested.cells.rows)
    assert tested.plot(figure="tracked").data
    tested.plot(tmp_path / "latency.html")
    assert "Latency" in (tmp_path / "latency.html").read_text()
    tested.save(tmp_path / "latency.json")
    assert onl.load(tmp_path / "latency.json") == tested
    with pytest.raises(onl.ConfigError, match="is not a table of this test; accepted: art, "):
        tested.frame("iops_mean")


def test_a_standard_test_from_python_is_that_of_the_command_and_is_resumed(tested, tmp_path):
    settings = {"changes": CHANGES, "time_base": "smoke", "seed": 7, "output": tmp_path / "run"}
    kept = onl.pts.run("latency", "sim:tlc_standard", **settings)
    assert kept == tested
    assert (tmp_path / "run" / "latency.json").read_bytes() == tested.to_bytes()
    steps = []
    again = onl.pts.run(
        "latency", "sim:tlc_standard", resume=True, progress=steps.append, **settings
    )
    assert again == tested
    assert not steps, "a run that is done is read, not made again"


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("iopps", "sim:tlc_standard"), {}, "did you mean `iops`"),
        (("iops", "tlc_standard"), {}, "accepted: sim:PRESET"),
        (("iops", "sim:tlc_standard"), {"queue_dept": 1}, "did you mean `queue_depth`"),
        (("iops", "sim:tlc_standard"), {"profile": "X"}, "accepted: E, C"),
        (("iops", "sim:tlc_standard"), {"resume": True}, "needs the `output`"),
        (("iops", "sim:tlc_standard"), {"options": {}}, "has no such setting"),
        (("iops", "sim:tlc_standard"), {"queue_depth": "many"}, "a number is given as text"),
        (("iops", 5), {}, "are text, such as"),
    ],
)
def test_what_a_standard_test_cannot_have_is_refused_with_what_is_accepted(
    arguments, settings, message
):
    with pytest.raises(onl.ConfigError, match=message):
        onl.pts.run(*arguments, **settings)


def test_tables_of_read_levels_and_retries_are_frames():
    table = onl.ecc.llr_table(0.01, 3).frame()
    assert table["p_if_0"].sum() == pytest.approx(1.0)
    assert len(table) == 4
    model = onl.reliability.load_model("tlc")
    told = model.llr_table("upper", 3)
    assert list(told.frame()["sensed"]) == list(told.sensed)
    retries = model.retry_table(pe_cycles=3000)
    assert list(retries.frame()["retention_h"]) == list(retries.retention_h)
    assert "rber_lower" in retries.frame()


def test_the_package_says_that_it_is_typed():
    assert (Path(onl.__file__).parent / "py.typed").exists()


USER_SCRIPT = """
from collections.abc import Callable

import opennandlab as onl

device: onl.DeviceConfig = onl.load_device("tlc_standard", {"ftl.gc_policy": "fifo"})


def watch(state: onl.Progress) -> None:
    print(state.fraction)


result: onl.Result = onl.benchmark(device, "W2", seed=1, progress=watch)
passed: bool = result.passed
result.plot("waf.svg")
found: onl.PtsResult = onl.pts.run("iops", "sim:tlc_standard", profile="C")
word: str = found.verdict.word
curve: onl.Curve = onl.ecc.curve("bch:m=13,t=8", "bsc", [1e-3])
runs: onl.Runs = onl.sweep(device, "W2", vary={"ftl.gc_policy": ["greedy", "fifo"]})
frame = runs.frame()
waf: float = onl.theory.greedy(256, 0.07)
handlers: dict[str, Callable[[], object]] = {"presets": onl.presets}
version: str = onl.__version__
try:
    onl.compare([result, onl.load("b.json")])
except onl.UnlikeError as error:
    print(error)
document = onl.load("a.json")
if isinstance(document, onl.Result):
    print(document.metrics["waf"])
"""


@pytest.mark.long
def test_a_script_of_a_user_passes_the_strict_checks_of_mypy(tmp_path):
    (tmp_path / "script.py").write_text(USER_SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "script.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Success" in found.stdout, found.stdout + found.stderr
