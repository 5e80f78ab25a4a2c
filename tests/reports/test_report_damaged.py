"""Damaged, older and foreign documents: what is missing is said, the rest is drawn, nothing falls.

Documents are cut off at any byte, lose any of their keys, and hold anything in any place.
"""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opennandlab as onl
import pts_documents
from opennandlab.base.errors import ResultError
from opennandlab.core.loading import loaded, made_report
from opennandlab.reports import html
from opennandlab.reports.model import Report
from opennandlab.reports.pts import source, views
from opennandlab.reports.pts.salvage import closed, salvage

DOCUMENTS = {test: make() for test, make in pts_documents.MAKERS.items()}
# Large tables only slow the search down.
SMALL = [test for test in DOCUMENTS if len(json.dumps(DOCUMENTS[test])) < 80_000]
ODD = st.sampled_from(
    [None, True, -1, 0, 1e308, -1e308, 10**400, "", "x", [], {}, [[]], [None], {"a": 1}, "NaN"]
)
QUICK = settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def drawn(document: dict[str, Any], complaints: list[str] | None = None) -> tuple[str, ...]:
    """Draw a document as from its file; return what it says is missing."""
    document, found = salvage(json.dumps(document).encode())
    complaints = [*(complaints or []), *found]
    chapter = views.chapter(document, "name", complaints)
    text = html.page(Report(chapter.title, "", (chapter,)))
    assert text.rstrip().endswith("</html>")
    return chapter.missing


def holder(document: Any, path: list[int]) -> tuple[Any, Any]:
    """Return a container inside a document and one of its keys, by arbitrary numbers."""
    node, place = document, None
    for step in path:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        if not keys:
            break
        place = (node, keys[step % len(keys)])
        inner = node[place[1]]
        if not isinstance(inner, dict | list):
            break
        node = inner
    assert place is not None
    return place


@QUICK
@given(st.sampled_from(SMALL), st.lists(st.integers(0, 10**6), min_size=1, max_size=5))
def test_any_key_may_be_missing(test: str, path: list[int]) -> None:
    document = copy.deepcopy(DOCUMENTS[test])
    node, key = holder(document, path)
    del node[key]
    # The digest at least does not match any more; it says nothing of what made the document.
    assert drawn(document) or "tool" not in document or node is document["tool"]


@QUICK
@given(st.sampled_from(SMALL), st.lists(st.integers(0, 10**6), min_size=1, max_size=5), ODD)
def test_anything_may_stand_anywhere(test: str, path: list[int], odd: Any) -> None:
    document = copy.deepcopy(DOCUMENTS[test])
    node, key = holder(document, path)
    is_changed = json.dumps(node[key]) != json.dumps(odd)
    node[key] = odd
    missing = drawn(document)
    is_inside = document.get("tool") == DOCUMENTS[test].get("tool")
    assert missing or not is_changed or not is_inside


@QUICK
@given(st.sampled_from(SMALL), st.floats(0, 1))
def test_a_document_may_end_anywhere(test: str, share: float) -> None:
    raw = json.dumps(DOCUMENTS[test]).encode()
    cut = raw[: int(share * (len(raw) - 1))]
    document, complaints = salvage(cut)
    assert complaints
    if isinstance(document, dict):
        assert drawn(document, complaints)


@QUICK
@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_read_or_refused(raw: bytes) -> None:
    value, complaints = salvage(raw)
    assert complaints or value is None or json.loads(raw.decode("utf-8-sig")) == value


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner)
       | st.dictionaries(st.text(), inner), max_leaves=12), st.floats(0, 1))  # fmt: skip
def test_what_is_salvaged_is_a_beginning(value: Any, share: float) -> None:
    text = json.dumps({"a": value})
    cut = closed(text[: int(share * len(text))])
    if cut:
        assert isinstance(json.loads(cut), dict)


def test_all_whole_rows_before_the_end_are_kept() -> None:
    raw = json.dumps(DOCUMENTS["iops"])
    last = raw.rindex("[", 0, raw.index(']]}, "steady_state"'))
    document, complaints = salvage(raw[: last + 5].encode())
    measured = source.read(document, "name", complaints)
    assert len(measured.cells) == len(DOCUMENTS["iops"]["cells"]["rows"]) - 1
    missing = views.chapter_of(measured).missing
    assert any("damaged or cut off" in text for text in missing)
    assert any("no steady_state" in text for text in missing)


@pytest.mark.parametrize("test", DOCUMENTS)
def test_each_section_may_be_gone(test: str) -> None:
    for name in ("header", "phases", "cells", "steady_state", "results", "tables"):
        document = copy.deepcopy(DOCUMENTS[test])
        del document[name]
        text = " ".join(views.chapter(document, "name").missing)
        assert f"no {name}" in text, (name, text)


def test_an_edited_number_is_noticed() -> None:
    document = copy.deepcopy(DOCUMENTS["xsr"])
    document["cells"]["rows"][3][10] += 1
    assert any("digest" in text for text in drawn(document))


def test_a_newer_schema_is_drawn_as_far_as_it_is_known() -> None:
    document = copy.deepcopy(DOCUMENTS["xsr"])
    document["schema"] = "opennandlab.pts/2"
    assert any("this build reads opennandlab.pts/1" in text for text in drawn(document))


def test_numbers_that_are_none_are_named() -> None:
    raw = json.dumps(DOCUMENTS["xsr"]).replace('"seed": 42', '"seed": NaN')
    _, complaints = salvage(raw.encode())
    assert complaints == ["1 number is NaN"]


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(ResultError, match="no JSON document"):
        source.load(path)


RESULT = onl.benchmark(
    {"nand": {"channels": 1, "blocks_per_plane": 16, "pages_per_block": 8}},
    {"pattern": "random", "total": {"ios": 50}},
).document


@QUICK
@given(
    st.sampled_from(["device", "workload"]),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    ODD | st.just(...),
)
def test_a_result_of_an_odd_drive_is_drawn_or_refused(part: str, path: list[int], odd: Any) -> None:
    """Schemas leave keys of drives open; theory asked for them and ended in a KeyError."""
    document = copy.deepcopy(RESULT)
    node, key = holder(document[part], path)
    if odd is ...:
        del node[key]
    else:
        node[key] = odd
    with contextlib.suppress(ResultError):
        assert made_report(loaded(document)) is not None
