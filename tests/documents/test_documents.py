"""Documents: declared once; saved ones load, damaged ones are refused by the name of the key."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pts_documents
from fake_target import FakeTarget
from opennandlab import _core
from opennandlab.base.canonical import digest, readable_json
from opennandlab.base.errors import DocumentError
from opennandlab.documents import pts, result
from opennandlab.documents.pts_results import RESULTS
from opennandlab.documents.record import Record, made, path_text, read, shown
from opennandlab.documents.schema import FAMILIES, described, schema
from opennandlab.pts import TESTS, run_test
from opennandlab.pts.bench.document import to_bytes
from places import FOLDER

SAVED = FOLDER / "saved"
READERS = {"result": result, "pts": pts}
DOCUMENTS = {name: json.loads((SAVED / f"{name}.json").read_bytes()) for name in READERS}
QUICK = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
# Values that no key takes by accident.
ODD = [-1.5, "odd", True, [None], {"odd": 1}, [[]], None, 10**400]

# What other schemas declare.
FOREIGN = {("device",), ("workload",), ("header", "target", "device", "config")}


def places(node: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield every place below a document, but for what other schemas declare."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if (*at, key) in FOREIGN:
            continue
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


def put(document: dict[str, Any], place: tuple[str | int, ...], *value: Any) -> dict[str, Any]:
    """Return a copy with another value at a place, or without it."""
    changed = copy.deepcopy(document)
    node: Any = changed
    for part in place[:-1]:
        node = node[part]
    if value:
        node[place[-1]] = value[0]
    else:
        del node[place[-1]]
    return changed


PLACES = {name: list(places(document)) for name, document in DOCUMENTS.items()}


@pytest.mark.parametrize("family", READERS)
def test_a_document_of_an_older_commit_loads_and_is_saved_as_it_was(family: str) -> None:
    text = (SAVED / f"{family}.json").read_text(encoding="utf-8")
    reader = READERS[family]
    document, unknown = reader.from_file(json.loads(text))
    assert unknown == []
    assert readable_json(reader.to_json(document)) + "\n" == text
    assert digest(reader.to_json(document)) == document.digest


@pytest.mark.parametrize("name", TESTS)
def test_what_a_standard_test_writes_is_declared(name: str) -> None:
    document = run_test(TESTS[name], FakeTarget(), settings=pts_documents.settings_of(name))
    assert type(document.results) is RESULTS[name]
    saved = json.loads(to_bytes(document))
    again, unknown = pts.from_file(saved)
    assert (again, unknown) == (document, [])
    assert to_bytes(again) == to_bytes(document)


def test_every_standard_test_has_results() -> None:
    assert set(RESULTS) == set(TESTS)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"workload": {"timed": False, "queue_depth": 1}},
        {"workload": {"read_pct": 50, "flush_every": 7, "fua_pct": 10}},
        {"workload": {"trim_pct": 10}},
        {"workload": {"tenants": [{"name": "a", "pattern": "random"}]}},
        {"device": {"host": {"link": "sata3", "read_cache": {"pages": 8, "policy": "lru"}}}},
        {"device": {"controller": {"scheduler": "out_of_order"}}},
        {"device": {"ecc": {"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"}}},
        {"device": {"ecc": {"algorithm": "none"}}},
    ],
)
@pytest.mark.parametrize("breakdown", [False, True])
def test_what_the_core_says_is_declared(small, short, changes, breakdown) -> None:
    device = {**small, **changes.get("device", {})}
    workload = {**short, **changes.get("workload", {})}
    if "tenants" in workload:
        del workload["queue_depth"]
    resolved = _core.Device(json.dumps(device))
    core = _core.Drive(resolved, 42)
    before = core.outcome()
    assert made(json.loads(before), result.Outcome).metrics is None
    if breakdown and workload.get("timed", True):
        core.observe(breakdown, None)
    core.begin(_core.Workload(json.dumps(workload), resolved), 42)
    for ops in (1, 50, 10**9, 10**9, 10**9):
        core.advance(ops)
        text = core.outcome()
        outcome = msgspec.json.decode(text, type=result.Outcome)
        assert msgspec.to_builtins(outcome) == json.loads(text)
    assert outcome.complete
    assert outcome.metrics is not None


@pytest.mark.parametrize("family", READERS)
@QUICK
@given(st.data())
def test_a_key_that_is_missing_is_named(family: str, data: Any) -> None:
    place = data.draw(st.sampled_from([p for p in PLACES[family] if isinstance(p[-1], str)]))
    changed = put(DOCUMENTS[family], place)
    error = refusal(family, changed)
    if error is None:
        # An optional key, or an entry of a mapping whose keys are not fixed.
        assert is_free(family, place)
    else:
        assert error.path == path_text(place)
        assert "missing; accepted: " in error.message


def refusal(family: str, document: dict[str, Any]) -> DocumentError | None:
    """Return what is said against a document; None when it is taken."""
    try:
        READERS[family].from_file(document)
    except DocumentError as error:
        return error
    return None


def is_free(family: str, place: tuple[str | int, ...]) -> bool:
    """Tell whether a key may be absent, by the schema."""
    node = schema(family)
    root = node
    for part in place:
        while "$ref" in node or "anyOf" in node:
            if "anyOf" in node:
                kinds = [one for one in node["anyOf"] if "$ref" in one or "items" in one]
                node = kinds[0] if len(kinds) == 1 else named(root, node, place)
            node = root["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        if isinstance(part, int):
            node = node.get("items", {})
        elif "properties" not in node:
            return True
        else:
            last, node = node, node["properties"][part]
    return place[-1] not in last.get("required", ())


def named(root: dict[str, Any], node: dict[str, Any], place: tuple[str | int, ...]) -> Any:
    """Return the option that the saved document has: the results of the stability test."""
    del root, node
    assert place[0] == "results"
    return {"$ref": "#/$defs/StabilityResults"}


@pytest.mark.parametrize("family", READERS)
@QUICK
@given(st.data(), st.sampled_from(ODD))
def test_a_value_of_another_type_is_named(family: str, data: Any, odd: Any) -> None:
    place = data.draw(st.sampled_from(PLACES[family]))
    changed = put(DOCUMENTS[family], place, odd)
    error = refusal(family, changed)
    if error is None:
        # A value that may stand there, and so comes out again; `null` may be an absent key.
        found = READERS[family].to_json(READERS[family].from_file(changed)[0])
        assert found == changed or odd in (None, {"odd": 1}, [None], [[]])
    else:
        # The key itself, or what it holds instead.
        assert error.path.startswith(path_text(place)) or error.path == path_text(place[:-1])
        assert re.search("accepted: |out of range|not known here", error.message)


def test_errors_say_what_stands_there_and_what_is_accepted() -> None:
    document = DOCUMENTS["result"]
    wrong = put(document, ("metrics", "raw_errors", "page_types", "upper", "rber"), "much")
    with pytest.raises(DocumentError) as refusal:
        result.from_file(wrong)
    assert str(refusal.value) == (
        'metrics.raw_errors.page_types.upper.rber: `"much"` is not valid; accepted: a number'
    )
    gone = put(document, ("state", "steps", 0, "waf"))
    with pytest.raises(DocumentError) as refusal:
        result.from_file(gone)
    assert str(refusal.value) == "state.steps[0].waf: missing; accepted: a number or null"
    short = put(DOCUMENTS["pts"], ("cells", "rows", 1), ["round"])
    with pytest.raises(DocumentError, match=re.escape("cells.rows[1]: has 1 entry")):
        pts.from_file(short)


def test_a_key_that_this_build_does_not_know_is_left_out_of_files_and_named() -> None:
    document = put(DOCUMENTS["result"], ("metrics", "merges"), {"full": 3})
    document = put(document, ("metrics", "raw_errors", "page_types", "upper", "odd"), 1)
    typed, unknown = result.from_file(document)
    assert sorted(unknown) == ["metrics.merges", "metrics.raw_errors.page_types.upper.odd"]
    assert result.to_json(typed) == DOCUMENTS["result"]
    with pytest.raises(DocumentError, match=r"metrics.merges: not a known key"):
        result.from_json(put(DOCUMENTS["result"], ("metrics", "merges"), 3))


def test_the_keys_of_the_program_itself_are_exact() -> None:
    class Part(Record, frozen=True, kw_only=True):
        whole: int

    assert made({"whole": 1}, Part) == Part(whole=1)
    assert read({"whole": 1, "odd": 2}, Part) == (Part(whole=1), ["odd"])
    for value in ({"whole": 1.5}, {"whole": True}, {}, [], None, {"whole": 1, "odd": 2}):
        with pytest.raises(DocumentError):
            made(value, Part)


def test_values_are_shown_on_one_short_line() -> None:
    assert shown("x" * 100) == '`"' + "x" * 38 + "…`"
    assert shown({1j}) == "`set`"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_key_is_described(family: str) -> None:
    made_schema = schema(family)
    parts = [made_schema, *made_schema["$defs"].values()]
    for part in parts:
        assert part["description"]
        keys = [*part.get("properties", {}).values(), *part.get("prefixItems", [])]
        assert all(key["description"] for key in keys)
    assert json.loads(json.dumps(made_schema)) == made_schema


def test_a_field_without_a_description_is_found() -> None:
    class Silent(Record, frozen=True, kw_only=True):
        """Says nothing of its field."""

        whole: int

    with pytest.raises(KeyError, match="whole"):
        described(Silent)


def test_a_damaged_result_file_is_refused_by_the_command_with_the_key(cli, folder) -> None:
    changed = put(DOCUMENTS["result"], ("metrics", "wear", "mean"), "much")
    changed["digest"] = digest(changed)
    (folder / "a.json").write_text(json.dumps(changed), encoding="utf-8")
    done = cli("verify", "a.json")
    assert done.returncode == 2
    assert 'metrics.wear.mean: `"much"` is not valid; accepted: a number' in done.stderr
    assert "Traceback" not in done.stderr


def test_threads_may_read_their_first_document_at_once() -> None:
    """The decoder prepares a class at first use; two threads that did so crashed the program."""
    program = """
import sys, threading
from opennandlab.documents import record, result
from opennandlab.base.errors import DocumentError
sys.setswitchinterval(1e-6)
start = threading.Barrier(8)
refused = []
def read():
    start.wait()
    try:
        record.made({}, result.ResultDocument)
    except DocumentError as error:
        refused.append(error)
threads = [threading.Thread(target=read) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(refused))
"""
    for _ in range(3):
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert (found.returncode, found.stdout) == (0, b"8\n"), found.stderr
