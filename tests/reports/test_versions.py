"""Documents of two versions of the model: what `compare` says about them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
import pts_documents
from opennandlab import _core
from opennandlab.base.canonical import digest
from opennandlab.comparing import compare
from opennandlab.documents.comparison import Row
from opennandlab.reports import versions
from places import ROOT

RESULTS = ROOT / "examples" / "results"


def older(document: dict[str, Any], version: int, waf: float) -> dict[str, Any]:
    """Return a result as another version of the model might have given it."""
    found = copy.deepcopy(document)
    found["model_version"] = version
    found["metrics"]["waf"] = waf
    found["digest"] = digest(found)
    return found


@pytest.fixture
def result() -> dict[str, Any]:
    path = RESULTS / "benchmark-page" / "W2-greedy.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def test_every_version_has_its_sentence_and_its_place_in_the_changelog() -> None:
    assert list(versions.CHANGES) == list(range(2, _core.model_version() + 1))
    text = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    for version in versions.CHANGES:
        assert f"ersion {version}" in text


def test_two_versions_are_named_with_what_lies_between_and_what_changed(
    result: dict[str, Any],
) -> None:
    now = onl.Result(result)
    before = onl.Result(older(result, 2, waf=now.metrics["waf"] / 2))
    found = compare([before, now], ["old", "new"])
    assert found["like"] is True
    assert not any("version" in text for text in found["warnings"])
    (model,) = found["models"]
    assert model["versions"] == [2, result["model_version"]]
    assert list(model["changes"]) == [str(it) for it in range(3, result["model_version"] + 1)]
    assert model["same_settings"] is True
    assert model["changed"] == ["waf"]
    assert model["number_count"] > 50


def test_one_version_says_nothing(result: dict[str, Any]) -> None:
    assert "models" not in compare([onl.Result(result), onl.Result(result)])


def test_other_settings_are_said_to_matter_too(result: dict[str, Any]) -> None:
    before = older(result, 3, waf=9.0)
    before["seed"] = 1
    before["digest"] = digest(before)
    (model,) = compare([onl.Result(before), onl.Result(result)])["models"]
    assert model["same_settings"] is False


def test_a_version_that_is_not_known_yet_is_said_to_be() -> None:
    rows = {"waf": Row(values=[2.0, 2.0], delta_pct=[0.0, 0.0])}
    newest = max(versions.CHANGES)
    found = versions.difference([newest, newest + 1], rows, 1, same_settings=True)
    assert found is not None
    assert "not known to this program" in found.changes[str(newest + 1)]
    text = versions.blocks([found], ["a", "b"], rows)[0]
    assert "None of the 1 numbers that both have changed." in text
    assert versions.difference([None, newest], rows, 1, same_settings=True) is None


def test_words_name_the_largest_changes() -> None:
    values = {f"m{place}": (1.0, 1.0 + place / 100) for place in range(12)}
    rows = {
        path: Row(values=[one, other], delta_pct=[0.0, (other / one - 1) * 100])
        for path, (one, other) in values.items()
    }
    rows["new"] = Row(values=[None, 1.0], delta_pct=[None, None])
    found = versions.difference([3, 4], rows, 1, same_settings=True)
    assert found is not None
    text = versions.blocks([found], ["a", "b"], rows, str.upper)[0]
    assert text[0] == "a was made by version 3 of the model, b by version 4."
    assert text[-2].startswith(
        "11 of the 12 numbers that both have changed, most of all: M11 1 → 1.11 (+11 %);"
    )
    assert text[-1] == "1 numbers are in one of the two only."


def test_the_command_prints_one_block_and_its_exit_code_stays(
    cli: Any, result: dict[str, Any], tmp_path: Path
) -> None:
    files = []
    for version, waf in ((3, 9.0), (result["model_version"], result["metrics"]["waf"])):
        path = tmp_path / f"v{version}.json"
        path.write_text(json.dumps(older(result, version, waf)), encoding="utf-8")
        files.append(str(path))
    done = cli("compare", *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MODEL VERSIONS DIFFER") == 1
    shown = " ".join(done.stdout.split())
    assert "by version 3 of the model" in shown
    assert f"WAF 9 → {result['metrics']['waf']:.4g}" in shown
    assert "MODEL VERSIONS DIFFER" not in cli("compare", files[1], files[1]).stdout


def test_documents_of_standard_tests_say_so_too(cli: Any, tmp_path: Path) -> None:
    files = []
    for version in (3, 4):
        document = pts_documents.iops()
        document["header"]["target"]["platform"]["model_version"] = version
        document["results"]["iops_rnd_4kib_write"] *= version
        document["digest"] = digest(document)
        files.append(tmp_path / f"v{version}.json")
        files[-1].write_text(json.dumps(document), encoding="utf-8")
    done = cli("compare", *map(str, files), "--html", str(tmp_path / "both.html"))
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "MODEL VERSIONS DIFFER v3 was made by version 3 of the model, v4 by version 4." in shown
    assert "random 4 KiB writes, IOPS" in shown
    assert "made by different versions" not in shown
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "Model versions differ: v3 was made by version 3" in page
