"""A result file says enough to be run again, and any change of it is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from opennandlab import _core
from opennandlab.base.canonical import digest
from opennandlab.core.run import Start, prepare_benchmark


@pytest.fixture
def path(small: Any, short: Any, tmp_path: Path) -> Path:
    onl.benchmark(small, short, seed=5).save(tmp_path / "results.json")
    return tmp_path / "results.json"


def edit(path: Path, change: Any, *, sign: bool = False) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    if sign:
        document["digest"] = digest(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_result_is_verified_at_any_slice_size(path: Path) -> None:
    for slice_ops in (None, 97):
        verdict = onl.verify(path, slice_ops=slice_ops)
        assert verdict.identical
        assert verdict.difference is None
        assert verdict.digest_file == verdict.digest_rerun


def test_another_machine_and_moment_do_not_matter(path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["tool"]["cpu"] = "another"
        document["created"] = "2001-01-01T00:00:00Z"
        document["run"]["wall_s"] = 1

    edit(path, change)
    assert onl.verify(path).identical


@pytest.mark.parametrize("sign", [False, True])
def test_an_edited_device_that_cannot_be_run_is_the_file_s_fault(path: Path, sign: Any) -> None:
    """The message named a key, as if the user had given it, and no file."""

    def change(document: dict[str, Any]) -> None:
        document["device"]["nand"]["timing"]["t_program_us"] = []

    edit(path, change, sign=sign)
    with pytest.raises((onl.ResultError, onl.ConfigError)) as refusal:
        onl.verify(path)
    assert "nand.timing.t_program_us: " in str(refusal.value)
    assert ("damaged or edited" in str(refusal.value)) == (not sign)


@pytest.mark.parametrize("sign", [False, True])
def test_a_changed_number_is_named(path: Path, sign: Any) -> None:
    def change(document: dict[str, Any]) -> None:
        document["metrics"]["gc_cycles"] += 1

    edit(path, change, sign=sign)
    verdict = onl.verify(path)
    assert not verdict.identical
    assert verdict.difference is not None
    assert verdict.difference.startswith("metrics.gc_cycles: ")
    assert ("changed after it was written" in (verdict.note or "")) == (not sign)


@pytest.mark.parametrize("dirty", [True, False])
def test_a_build_with_changed_sources_explains_a_difference(
    path: Path, dirty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing differs there is nothing to explain, and the digest does not depend on it."""
    monkeypatch.setattr(_core, "dirty", lambda: False)

    def mark(document: dict[str, Any]) -> None:
        document["tool"]["dirty"] = dirty
        document["tool"]["commit"] = "0123456789ab"

    edit(path, mark)
    assert onl.verify(path).identical
    assert onl.verify(path).note is None
    edit(path, lambda document: document["metrics"].update(gc_cycles=0), sign=True)
    note = onl.verify(path).note
    expected = (
        "the sources were changed after the commit of the build that wrote the file (commit "
        "0123456789ab)"
    )
    assert note == (expected if dirty else None)
    monkeypatch.setattr(_core, "dirty", lambda: True)
    assert "this build" in (onl.verify(path).note or "")


def test_a_file_without_the_mark_is_read(path: Path) -> None:
    """Files of earlier builds do not say whether their sources were changed."""
    edit(path, lambda document: document["tool"].pop("dirty"))
    assert onl.verify(path).identical
    assert "dirty" not in onl.load(path).document["tool"]


def test_a_changed_digest_is_named(path: Path) -> None:
    edit(path, lambda document: document.update(digest="0" * 64))
    verdict = onl.verify(path)
    assert (verdict.difference or "").startswith("digest: ")


def test_another_model_is_not_run_again(path: Path) -> None:
    edit(path, lambda document: document.update(model_version=0), sign=True)
    verdict = onl.verify(path)
    assert not verdict.identical
    assert verdict.digest_rerun is None
    assert (verdict.difference or "").startswith("model_version: 0 against ")


def test_a_result_from_an_image_finds_it_again(small: Any, short: Any, tmp_path: Path) -> None:
    prepared = prepare_benchmark(Start(small), short)
    prepared.measure()
    prepared.save_image(tmp_path / "state.onl")
    state = f"image:{tmp_path / 'state.onl'}"
    onl.benchmark(None, short, state=state).save(tmp_path / "results.json")
    assert onl.verify(tmp_path / "results.json").identical
    (tmp_path / "state.onl").rename(tmp_path / "moved.onl")
    with pytest.raises(onl.ImageError, match="No such file"):
        onl.verify(tmp_path / "results.json")
    moved = f"image:{tmp_path / 'moved.onl'}"
    assert onl.verify(tmp_path / "results.json", state=moved).identical


def test_a_fresh_result_is_verified_from_fresh(small: Any, short: Any, tmp_path: Path) -> None:
    onl.benchmark(small, short, state="fresh").save(tmp_path / "results.json")
    assert onl.verify(tmp_path / "results.json").identical


def test_a_partial_result_cannot_be_verified(path: Path) -> None:
    edit(path, lambda document: document.update(partial=True), sign=True)
    with pytest.raises(onl.ResultError, match="partial"):
        onl.verify(path)


def test_an_impossible_device_in_the_file_is_refused(path: Path) -> None:
    edit(path, lambda document: document["device"]["nand"].update(channels=0), sign=True)
    with pytest.raises(onl.ConfigError, match="channels"):
        onl.verify(path)
