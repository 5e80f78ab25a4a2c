"""One text for each document: digests, differences, and the readable form."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opennandlab.base.canonical import (
    as_bytes,
    canonical_json,
    digest,
    first_difference,
    oddity,
    readable_json,
)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_canonical_text_reads_back_the_same_and_is_a_fixed_point(value: object) -> None:
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@given(VALUES)
def test_readable_text_holds_the_same_document(value: object) -> None:
    assert canonical_json(json.loads(readable_json(value))) == canonical_json(value)


@given(VALUES, VALUES)
def test_documents_differ_exactly_when_their_canonical_texts_do(one: object, other: object) -> None:
    same = canonical_json(one) == canonical_json(other)
    assert (first_difference(one, other) is None) == same


def test_the_first_difference_is_named_by_path() -> None:
    one = {"metrics": {"waf": 7.5, "wear": {"max": 3}}, "series": {"waf": [1.0, 2.0]}}
    other = {"metrics": {"waf": 7.5, "wear": {"max": 4}}, "series": {"waf": [1.0]}}
    assert first_difference(one, other) == "metrics.wear.max: 3 against 4"
    other["metrics"]["wear"]["max"] = 3
    assert first_difference(one, other) == "series.waf: 2 entries against 1"


def test_whole_numbers_and_floats_are_different_bytes() -> None:
    assert first_difference({"x": 1}, {"x": 1.0}) == "x: 1 against 1.0"


def test_the_digest_leaves_out_machine_and_moment() -> None:
    document = {"schema": "s", "metrics": {"waf": 1.0}}
    outside = {"tool": {"cpu": "x"}, "created": "now", "run": {"wall_s": 1}, "digest": "old"}
    assert digest(document) == digest({**document, **outside})
    assert digest(document) != digest({**document, "seed": 1})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"x": value})


def test_half_a_letter_has_a_digest_and_bytes() -> None:
    r"""`"name": "\\ud800"` in a result ended with a UnicodeEncodeError."""
    assert as_bytes(canonical_json({"name": "\ud800"})) == b'{"name":"\\ud800"}'
    assert len(digest({"name": "\ud800"})) == 64


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"a": [1, {"b": math.nan}]}, "a[1].b: nan"),
        ({"a": json.loads("1e400")}, "a: inf"),
        ({"a": 10**400}, "a: an integer"),
        ({"a": "\ud800"}, "a: text with half"),
        ({"a": {"\ud800": 1}}, "a: text with half"),
        ({"a": json.loads("[" * 150 + "]" * 150)}, "a[0][0]"),
        ({"µ": [None, "½", True, 2**64, 1.5]}, None),
    ],
)
def test_what_a_table_cannot_hold_is_found(document: object, words: str | None) -> None:
    found = oddity(document)
    assert (found or "").startswith(words or "")
    assert (found is None) == (words is None)
