"""What other packages register may stand where built-in names stand, and nothing is hidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opennandlab as onl
from conftest import COMMAND
from opennandlab.ecc.codes import Code
from opennandlab.policies import plugins
from opennandlab.reliability.model import load_model

# They run what their devices and results name.
pytestmark = pytest.mark.usefixtures("allowed")

MODULE = """
from pathlib import Path

import numpy as np

LOADED = True
__opennandlab__ = {"workloads": ["three"], "traces": ["uneven", "breaks", "records"],
                   "codes": ["three"]}

class Lazy:
    def __init__(self, weight=1.0):
        self.weight = weight

    def choose(self, pool):
        return pool.order[pool.live[pool.order].argmin()]

burst = {"pattern": "random", "total": {"drive_writes": 1}, "timed": False}

def half(device):
    pages = device.effective["logical_pages"] // 2
    return {"pattern": "sequential", "total": {"ios": pages}, "timed": False}

def records(path):
    count = len(Path(path).read_text().split())
    places = np.arange(count, dtype=np.int64)
    yield np.ones(count, dtype=np.int8), places * 8, np.full(count, 8), places * 1000
    yield np.zeros(count, dtype=np.int8), places * 8, np.full(count, 8), (places + count) * 1000

def uneven(path):
    yield np.ones(3, dtype=int), np.ones(2, dtype=int), np.ones(3, dtype=int)

def breaks(path):
    raise ValueError("this is not a trace of mine")

hamming = np.array([[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]])

def strong():
    return "bch:m=13,t=8,data_bits=4096"

gentle = {"kind": "power_law", "exponent": 1.5}
three = 3
"""
POINTS = """
[opennandlab.policies]
lazy = thirdparty:Lazy
greedy = thirdparty:Lazy
gone = thirdparty:Gone

[opennandlab.workloads]
burst = thirdparty:burst
half = thirdparty:half

[opennandlab.traces]
lines = thirdparty:records

[opennandlab.codes]
hamming-7 = thirdparty:hamming
strong = thirdparty:strong

[opennandlab.reliability]
gentle = thirdparty:gentle
"""


def package(folder: Path, name: str, points: str, module: str = "") -> None:
    """Install a package into a folder, as an installer leaves it."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(points)
    if module:
        (folder / f"{name}.py").write_text(module)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package, for this process and for those that it starts."""
    folder = tmp_path / "site"
    package(folder, "thirdparty", POINTS, MODULE)
    monkeypatch.syspath_prepend(str(folder))
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.delitem(sys.modules, "thirdparty", raising=False)
    return folder


@pytest.mark.usefixtures("site")
def test_a_registered_policy_stands_where_a_built_in_one_stands(small: Any, short: Any) -> None:
    wanted = onl.benchmark(small, short).metrics
    for given in ("lazy", {"kind": "lazy", "weight": 2.0}, "thirdparty:Lazy"):
        small["ftl"]["gc_policy"] = given
        result = onl.benchmark(small, short)
        assert result.metrics == wanted
        assert result.document["device"]["ftl"]["gc_policy"]["name"] == "thirdparty:Lazy"
    small["ftl"]["gc_policy"] = "gone"
    with pytest.raises(onl.ConfigError, match=r"thirdparty.py has no `Gone`; it has LOADED, Lazy"):
        onl.load_device(small)


@pytest.mark.usefixtures("site")
def test_a_built_in_name_wins_and_imports_nothing(small: Any) -> None:
    small["ftl"]["gc_policy"] = "greedy"
    assert dict(onl.load_device(small)["ftl.gc_policy"]) == {"kind": "greedy"}
    assert "thirdparty" not in sys.modules


def test_a_name_that_two_packages_register_is_refused(site: Path, small: Any) -> None:
    package(site, "other", "[opennandlab.policies]\nlazy = other:Lazy\n")
    small["ftl"]["gc_policy"] = "lazy"
    words = r"`lazy` is registered twice, by other 1.2 \(other:Lazy\) and thirdparty 1.2"
    with pytest.raises(onl.ConfigError, match=words):
        onl.load_device(small)


@pytest.mark.usefixtures("site")
def test_a_registered_workload_is_a_mapping_or_makes_one(small: Any, tmp_path: Path) -> None:
    device = onl.load_device(small)
    result = onl.benchmark(device, "burst")
    assert result.document["workload"]["pattern"]["kind"] == "random"
    half = onl.benchmark(device, "half")
    half.save(tmp_path / "half.json")
    pages = device.effective["logical_pages"]
    assert half.metrics["host_bytes_written"] == pages // 2 * 4096
    assert onl.verify(tmp_path / "half.json").identical
    with pytest.raises(onl.ConfigError, match="`thirdparty:three` is int; accepted: a mapping"):
        onl.benchmark(device, "thirdparty:three")
    with pytest.raises(onl.ConfigError, match="unknown workload `hal`; accepted: W1"):
        onl.benchmark(device, "hal")


def test_a_registered_reader_gives_the_requests_of_a_trace(
    site: Path, small: Any, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text("a\n" * 100)
    options = {"format": "lines", "precondition": [], "timed": False}
    results = [
        onl.replay(small, trace, options | {"format": form})
        for form in ("lines", "thirdparty:records", f"{site}/thirdparty.py:records")
    ]
    assert len({json.dumps(dict(result.metrics)) for result in results}) == 1
    assert results[0].metrics["host_bytes_written"] == 100 * 4096
    assert results[0].metrics["host_bytes_read"] == 100 * 4096
    recorded = results[0].document["workload"]["trace"]
    assert recorded["reader"] == "thirdparty:records"
    results[0].save(tmp_path / "result.json")
    assert onl.verify(tmp_path / "result.json").identical
    trace.write_text("a\n" * 99)
    with pytest.raises(onl.TraceError, match="another trace than the one recorded"):
        onl.verify(tmp_path / "result.json")
    (site / "thirdparty.py").write_text(MODULE + "# changed\n")
    with pytest.raises(onl.ConfigError, match="is another source than the one recorded"):
        onl.verify(tmp_path / "result.json")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("thirdparty:uneven", "gave 3 arrays of shapes"),
        ("thirdparty:breaks", "raised ValueError: this is not a trace of mine"),
    ],
)
def test_a_reader_that_gives_no_requests_is_named(
    small: Any, tmp_path: Path, form: str, words: str
) -> None:
    (tmp_path / "trace.txt").write_text("a\n")
    with pytest.raises(onl.TraceError, match=words):
        onl.replay(small, tmp_path / "trace.txt", {"format": form})


@pytest.mark.usefixtures("site")
def test_a_registered_code_is_a_text_or_a_matrix() -> None:
    strong = Code.parse("strong")
    assert strong.identity == Code.parse("bch:m=13,t=8,data_bits=4096").identity
    assert strong.text == "strong"
    hamming = Code.parse("hamming-7")
    assert (hamming.code_bits, hamming.info_bits) == (7, 4)
    assert hamming.identity == Code.parse("thirdparty:hamming").identity
    with pytest.raises(onl.ConfigError, match="`thirdparty:three` gives int; accepted: the text"):
        Code.parse("thirdparty:three")
    with pytest.raises(onl.ConfigError, match="hamming-8"):
        Code.parse("hamming-8")


@pytest.mark.usefixtures("site")
def test_a_registered_model_is_a_section_of_a_device(small: Any) -> None:
    wanted = load_model({"kind": "power_law", "exponent": 1.5}).parameters
    assert load_model("gentle").parameters == wanted
    assert load_model("thirdparty:gentle").parameters == wanted
    for given in ("gentle", {"kind": "gentle"}, "thirdparty:gentle"):
        device = onl.load_device(small | {"reliability": given})
        assert dict(device["reliability"]) == wanted


def test_all_are_listed_with_their_faults(site: Path) -> None:
    package(site, "other", "[opennandlab.policies]\nlazy = other:Lazy\n")
    done = subprocess.run(
        [str(COMMAND), "plugins", "--json"], capture_output=True, text=True, check=True, timeout=60
    )
    rows = {
        (row["group"], row["name"], row["package"]): row
        for row in json.loads(done.stdout)["plugins"]
    }
    assert len(rows) == 10
    lazy = rows["opennandlab.policies", "lazy", "thirdparty"]
    assert lazy == {
        "group": "opennandlab.policies", "name": "lazy", "package": "thirdparty",
        "version": "1.2", "object": "thirdparty:Lazy", "loads": True, "error": None,
        "hidden": False, "clashes": True,
    }  # fmt: skip
    assert rows["opennandlab.policies", "greedy", "thirdparty"]["hidden"]
    gone = rows["opennandlab.policies", "gone", "thirdparty"]
    assert (gone["loads"], gone["clashes"]) == (False, False)
    assert "has no `Gone`" in gone["error"]
    assert "no module `other`" in rows["opennandlab.policies", "lazy", "other"]["error"]
    table = subprocess.run(
        [str(COMMAND), "plugins", "--no-load"], capture_output=True, text=True, check=True,
        timeout=60,
    ).stdout  # fmt: skip
    assert "thirdparty 1.2" in table
    assert "not loaded; hidden by the built-in name" in table
    assert "registered twice" in table


def test_matrices_travel_as_alist() -> None:
    from opennandlab.ecc.codes import _alist

    matrix = np.array([[1, 1, 0, 1], [0, 1, 1, 1]])
    assert _alist(matrix, "m") == ("4 2\n2 3\n1 2 1 2\n3 3\n1 0\n1 2\n2 0\n1 2\n1 2 4\n2 3 4\n")


def test_groups_are_those_of_the_documentation() -> None:
    assert list(plugins.GROUPS.values()) == [
        "opennandlab.policies",
        "opennandlab.workloads",
        "opennandlab.traces",
        "opennandlab.codes",
        "opennandlab.reliability",
    ]
