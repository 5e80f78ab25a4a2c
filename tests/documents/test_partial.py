"""Damaged documents: what is read of them, what stands for what was lost, and what is said."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import pts_documents
from opennandlab.documents import pts
from opennandlab.documents.partial import readable
from opennandlab.documents.record import Record, Row
from opennandlab.reports.pts import header
from opennandlab.reports.pts.source import read

IOPS = pts_documents.iops()


class Point(Row, frozen=True):
    """A row."""

    x: int
    y: float | None


class Part(Record, frozen=True, kw_only=True):
    """An entry of a list."""

    name: str
    count: int
    note: str | None = None


class Whole(Record, frozen=True, kw_only=True):
    """A document."""

    title: str
    size: int
    is_new: bool
    part: Part | None
    parts: list[Part]
    rows: list[Point]
    counts: list[int]
    facts: dict[str, float | str | None]


GIVEN: dict[str, Any] = {
    "title": "a", "size": 3, "is_new": True, "part": {"name": "p", "count": 1},
    "parts": [{"name": "q", "count": 2}, {"name": "r", "count": 3, "note": "n"}],
    "rows": [[1, 2.0], [3, None]], "counts": [1, 2], "facts": {"k": "v"},
}  # fmt: skip
# What stands in the document -> what is read, and what is said of it.
DAMAGE: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({}, {}, []),
    ({"newer": 1}, {}, []),
    ({"title": 5}, {"title": ""}, ["title: `5` is not valid; accepted: text"]),
    ({"size": "x"}, {"size": 0}, ['size: `"x"` is not valid; accepted: a whole number']),
    ({"is_new": None}, {"is_new": False}, ["is_new: `null` is not valid; accepted: true or false"]),
    # An entry without its number is left out whole; without its text it stays.
    (
        {"parts": [{"name": "q"}, {"count": 3, "odd": 1}]},
        {"parts": [Part(name="", count=3)]},
        ["parts[0].count: missing", "parts[1].name: missing"],
    ),
    ({"part": {"name": "p"}}, {"part": None}, ["part.count: missing"]),
    (
        {"rows": [[1], [3, 4.0], [5, "x"]]},
        {"rows": [Point(3, 4.0)]},
        [
            "rows[0]: has 1 entry; accepted: at least 2",
            'rows[2][1]: `"x"` is not valid; accepted: a number or null',
        ],
    ),
    # A list of numbers that lacks one would be taken for a shorter one.
    (
        {"counts": [1, None]},
        {"counts": []},
        ["counts[1]: `null` is not valid; accepted: a whole number"],
    ),
    (
        {"facts": {"k": [], "l": 1.5}},
        {"facts": {"k": None, "l": 1.5}},
        ["facts.k: `[]` is not valid; accepted: a number, text or null"],
    ),
    ({"parts": 7}, {"parts": []}, ["parts: `7` is not valid; accepted: a list"]),
]


@pytest.mark.parametrize(("change", "expected", "said"), DAMAGE)
def test_what_is_lost_is_named_and_the_rest_is_read(
    change: dict[str, Any], expected: dict[str, Any], said: list[str]
) -> None:
    sound, _ = readable(GIVEN, Whole)
    found, lost = readable(GIVEN | change, Whole)
    assert [
        f"{one.path}: {one.message}".replace(" or text or", ", text or") for one in lost
    ] == said
    for name in Whole.__struct_fields__:
        assert getattr(found, name) == expected.get(name, getattr(sound, name))


def test_nothing_at_all_is_a_document_of_which_all_is_lost() -> None:
    found, lost = readable({}, Whole)
    assert [one.path for one in lost] == list(Whole.__struct_fields__)
    assert found == Whole(
        title="", size=0, is_new=False, part=None, parts=[], rows=[], counts=[], facts={}
    )


def test_columns_of_another_order_are_put_into_ours() -> None:
    document = copy.deepcopy(IOPS)
    cells = document["cells"]
    cells["columns"] = [*reversed(cells["columns"]), "newer"]
    cells["rows"] = [[*reversed(row), 1] for row in cells["rows"]]
    found, lost = pts.from_damaged(document)
    assert lost == []
    assert found.cells.rows == pts.from_json(IOPS).cells.rows


def facts(**header_changes: Any) -> dict[str, str]:
    document = copy.deepcopy(IOPS)
    for key, value in header_changes.items():
        if value is ...:
            del document["header"][key]
        else:
            document["header"][key] = value
    shown = header.facts(read(document, "name"))
    return {key: value for _, rows in shown for key, value in rows}


def test_what_the_header_lost_is_not_taken_for_an_answer() -> None:
    assert facts(seed=0)["Seed"] == "0"
    assert facts(seed=...)["Seed"] == "n/a"
    assert facts(wipc=None)["WIPC"] == "none"
    assert facts(wipc=...)["WIPC"] == facts(wipc={"pattern": "x"})["WIPC"] == "n/a"
    assert facts(oio_throttle=None)["OIO throttle"] == "none"
    assert facts(oio_throttle=...)["OIO throttle"] == "n/a"
    assert facts(target=...)["User capacity"] == "n/a"


def test_a_steady_state_that_lacks_an_entry_is_not_called_attained() -> None:
    document = copy.deepcopy(IOPS)
    assert read(document, "name").attained is True
    del document["steady_state"][1]["rounds"]
    assert read(document, "name").attained is None
    document["steady_state"][0]["steady"] = False
    assert read(document, "name").attained is False


def test_many_losses_of_one_list_are_told_together() -> None:
    document = copy.deepcopy(IOPS)
    for row in document["cells"]["rows"][:50]:
        del row[25:]
    missing = [text for text in read(document, "name").missing if text.startswith("cells")]
    assert missing[0] == "cells.rows[0]: has 25 entries; accepted: at least 26"
    assert missing[3:] == ["cells.rows: 47 more"]
