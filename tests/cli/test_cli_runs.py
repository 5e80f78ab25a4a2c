"""`opennandlab runs`: what it prints where, and what its exit codes mean."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from opennandlab.cli import _process as process
from opennandlab.cli import _runs_tables as tables
from opennandlab.cli import app
from opennandlab.store import Store
from places import FOLDER
from stored import entry, failed

SAVED = FOLDER / "saved"
LIST = """\
key      ┃ verb      ┃ gc_policy ┃ op  ┃ seed ┃ metrics               ┃  age ┃ status
━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━╇━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━╇━━━━━━━
44a6b726 │ benchmark │ greedy    │ 0.6 │    3 │ it broke              │ 10 d │ failed
d8964097 │ benchmark │ fifo      │ 0.4 │    4 │ WAF 4, IOPS 2 500     │ 10 d │ done
23caa68e │ benchmark │ fifo      │ 0.4 │    3 │ WAF 3.875, IOPS 2 400 │ 10 d │ done
"""
TABLE = """\
gc_policy ┃  op ┃ seeds ┃         waf ┃        iops
━━━━━━━━━━╇━━━━━╇━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━━
fifo      │ 0.1 │     5 │ 1.88 ± 0.25 │   800 ± 200
fifo      │ 0.4 │     5 │ 3.75 ± 0.25 │ 2 300 ± 200
greedy    │   0 │     5 │ 1.25 ± 0.25 │   300 ± 200
greedy    │ 0.3 │     5 │ 3.12 ± 0.25 │ 1 800 ± 200
random    │ 0.2 │     5 │ 2.50 ± 0.25 │ 1 300 ± 200
±: 95 % interval of the mean over seeds (Student's t)
"""
SHOW = """\
benchmark, seed 1: done
key      {key}
sweep    first
varied   ftl.gc_policy=greedy, ftl.op=0
created  2026-01-02T03:00:01Z
took     0.5 s
program  1.0, model version 9
host     here

metric     ┃ value
━━━━━━━━━━━╇━━━━━━
waf        │ 1.125
iops.read  │    10
iops.total │   200

settings
device.ftl.gc_policy  greedy
device.ftl.op         0
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a store with 25 points and a failed one."""
    with Store.open(tmp_path / "store") as store:
        store.add([*(entry(number) for number in range(25)), failed(33)])
    return tmp_path / "store"


@pytest.fixture
def runs(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs `runs` on that store: exit code, stdout, stderr."""
    monkeypatch.setattr(tables, "age", lambda *_: "10 d")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = process.run(app, ["runs", *arguments, "--store", str(place)])
        captured = capsys.readouterr()
        lines = [text.rstrip() for text in captured.out.splitlines()]
        return code, "".join(f"{text}\n" for text in lines), captured.err

    return run


@pytest.mark.parametrize("verb", ["list", "show", "table", "export", "add", "merge", "rm"])
def test_every_command_has_help_with_an_example(runs: Any, verb: str) -> None:
    code, out, _ = runs(verb, "--help")
    assert code == 0
    text = " ".join(out.split())
    for part in (f"Example: opennandlab runs {verb}", "--json", "--quiet", "--store"):
        assert part in text


def test_list_shows_the_newest_and_how_many_there_are(runs: Any) -> None:
    code, out, err = runs("list", "--limit", "3")
    assert (code, out) == (0, LIST)
    assert "3 of 26 points; --limit N shows more" in err
    code, out, _ = runs("list", "--where", "waf>3", "--where", "op=0.3", "--order", "-waf")
    assert [line.split(" │ ")[5].strip() for line in out.splitlines()[2:]] == [
        "WAF 3.375, IOPS 2 000", "WAF 3.25, IOPS 1 900", "WAF 3.125, IOPS 1 800",
    ]  # fmt: skip
    code, out, err = runs("list", "--where", "waf>99")
    assert (code, out, err.strip()) == (0, "", "no points")
    assert runs("list", "--quiet") == (0, "", "")
    whole = f"{entry(9).key}\n{entry(8).key}\n"
    assert runs("list", "--keys", "--where", "waf<2.2", "--limit", "2") == (0, whole, "")


def test_list_as_json_has_the_points_with_what_they_have(runs: Any, place: Path) -> None:
    code, out, err = runs("list", "--json", "--limit", "2")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["store"], found["matched"]) == (str(place / "runs.db"), 26)
    broken, last = found["rows"]
    assert (broken["status"], broken["error"], broken["metrics"]) == ("failed", "it broke", {})
    assert last["key"] == entry(24).key
    assert last["coordinates"] == entry(24).coordinates
    assert last["metrics"] == entry(24).metrics


def test_a_table_of_latex_is_what_is_printed(runs: Any, tmp_path: Path) -> None:
    path = tmp_path / "means.tex"
    assert runs("table", "waf by gc_policy,op", "--tex", str(path))[0] == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[1] == r"\begin{tabular}{lrrr}"
    assert lines[3] == r"gc\_policy & op & seeds & waf \\"
    assert lines[5] == r"fifo & $0.1$ & $5$ & $1.88 \pm 0.25$ \\"
    assert runs("table", "waf", "--tex", str(tmp_path / "a.csv"))[0] == 2


def test_table_shows_means_within_100_columns(runs: Any, tmp_path: Path) -> None:
    code, out, err = runs("table", "waf,iops by gc_policy", "--csv", str(tmp_path / "means.csv"))
    assert (code, out) == (0, TABLE)
    assert "note: also grouped by `ftl.op`: these points differ in more than the seed" in err
    assert "note: 1 failed point is left out" in err
    lines = (tmp_path / "means.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("ftl.gc_policy,ftl.op,waf,waf.low,waf.high,waf.count,iops.total,")
    assert len(lines) == 6
    _, out, _ = runs("table", "waf,iops,iops.read by ftl.gc_policy,ftl.op,program")
    assert max(map(len, out.splitlines())) <= 100
    found = json.loads(runs("table", "waf by op", "--json", "--where", "op<0.2")[1])
    assert (found["by"], found["added"], found["failed"]) == (["ftl.op"], [], 0)
    assert [row["by"] for row in found["rows"]] == [{"ftl.op": 0.0}, {"ftl.op": 0.1}]
    mean = found["rows"][0]["means"]["waf"]
    assert (mean["mean"], mean["count"]) == (1.25, 5)
    assert mean["low"] < 1.25 < mean["high"]


def test_show_is_a_summary_or_the_document(runs: Any, tmp_path: Path) -> None:
    key = entry(1).key
    assert runs("show", key[:9])[:2] == (0, SHOW.format(key=key))
    code, out, _ = runs("show", key, "--json")
    assert (code, json.loads(out)) == (0, entry(1).document)
    code, out, err = runs("show", key, "--quiet", "--output", str(tmp_path / "one.json"))
    assert (code, out, err) == (0, "", "")
    assert json.loads((tmp_path / "one.json").read_bytes()) == entry(1).document
    code, out, _ = runs("show", failed(33).key)
    assert code == 0
    assert "error    it broke" in out
    code, out, _ = runs("show", failed(33).key, "--json")
    assert code == 2
    assert "has no document, it failed: it broke" in json.loads(out)["error"]["message"]
    assert runs("show", "ffffffff")[0] == 2


def test_export_says_how_many(runs: Any, tmp_path: Path) -> None:
    code, out, err = runs("export", str(tmp_path / "a.csv"), "--where", "seed=1")
    assert (code, out) == (0, "")
    assert f"5 points saved to {tmp_path / 'a.csv'}" in err
    found = json.loads(runs("export", str(tmp_path / "a.jsonl"), "--documents", "--json")[1])
    schema = "opennandlab.cli.runs.export/1"
    assert found == {"schema": schema, "file": str(tmp_path / "a.jsonl"), "points": 26}
    assert len((tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()) == 26
    code, _, err = runs("export", str(tmp_path / "a.xlsx"))
    assert code == 2
    assert "accepted file extensions: .csv, .parquet, .jsonl" in err
    assert runs("table", "waf by op", "--csv", str(tmp_path / "a.txt"))[0] == 2


def test_rm_asks_on_a_terminal_and_nowhere_else(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    code, _, err = runs("rm", "--where", "waf>3")
    assert code == 2
    assert "would remove 8 points of 26 from" in err
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, _, err = runs("rm", entry(0).key[:8])
    assert code == 2
    assert "remove 1 point of 26 from" in err
    assert "nothing was removed" in err
    monkeypatch.setattr("sys.stdin", Terminal("Yes\n"))
    assert runs("rm", entry(0).key[:8], entry(0).key)[0] == 0
    removed = json.loads(runs("rm", "--where", "status=failed", "--yes", "--json")[1])
    assert removed == {"schema": "opennandlab.cli.runs.rm/1", "removed": 1}
    assert "0 points removed" in runs("rm", "--where", "waf>99")[2]
    assert json.loads(runs("list", "--json")[1])["matched"] == 24
    for arguments in ([], [entry(1).key, "--where", "waf>2"]):
        code, _, err = runs("rm", *arguments)
        assert code == 2
        assert "accepted: exactly one of KEY…, --where and --unfinished" in err


def test_merge_says_what_was_new(runs: Any, tmp_path: Path) -> None:
    with Store.open(tmp_path / "other") as other:
        other.add([entry(0), entry(33), entry(40)])
    code, out, err = runs("merge", str(tmp_path / "other"))
    assert (code, out) == (0, "")
    text = " ".join(err.split())
    assert text.endswith("runs.db, 1 in place of failed ones, 1 known before")
    assert text.startswith("1 new point in")
    code, _, err = runs("merge", str(tmp_path / "none"))
    assert code == 2
    assert "nothing was kept there yet" in err


def test_add_takes_saved_documents_and_show_gives_them_back(
    runs: Any, place: Path, tmp_path: Path
) -> None:
    saved = str(SAVED / "result.json")
    found = json.loads(runs("add", saved, "--by", "ftl.gc_policy", "--json")[1])
    assert found == {
        "schema": "opennandlab.cli.runs.add/1", "store": str(place / "runs.db"), "new": 1,
        "replaced": 0, "known": 0, "notes": [],
    }  # fmt: skip
    assert "0 new points in" in runs("add", saved)[2]
    key = json.loads(runs("list", "--json", "--limit", "1", "--where", "device!=x")[1])["rows"][0]
    assert runs("show", key["key"], "--output", str(tmp_path / "again.json"))[0] == 0
    assert json.loads((tmp_path / "again.json").read_bytes()) == json.loads(
        (SAVED / "result.json").read_bytes()
    )
    code, out, err = runs("add", str(SAVED / "pts.json"))
    assert (code, out) == (0, "")
    assert "note: " in err
    code, _, err = runs("add", str(tmp_path / "none.json"))
    assert code == 2
    assert "No such file" in err


def test_a_store_that_cannot_be_written_is_exit_code_3(
    runs: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(place) as other:
        other._database.connection.execute("BEGIN IMMEDIATE")
        impatient = {"create": True, "timeout_s": 0.05}
        monkeypatch.setattr(Store.open.__func__, "__kwdefaults__", impatient)
        code, _, err = runs("rm", "--where", "status=failed", "--yes")
    assert code == 3
    assert "this process itself has been writing to it" in " ".join(err.split())


def test_without_a_store_nothing_is_listed_and_none_is_made(cli: Cli, folder: Path) -> None:
    done = cli("runs", "list", "--store", "none")
    assert done.returncode == 2
    assert "error: no store of runs in none: nothing was kept there yet" in done.stderr
    assert not (folder / "none").exists()
    (folder / "some.txt").write_text("x" * 9000)
    done = cli("runs", "list", "--store", "some.txt", "--json")
    assert done.returncode == 2
    assert "not a database" in json.loads(done.stdout)["error"]["message"]


def test_a_table_without_by_has_a_row_for_each_point(runs: Any, tmp_path: Path) -> None:
    found = json.loads(runs("table", "waf", "--where", "status=done", "--json")[1])
    listed = json.loads(runs("list", "--where", "status=done", "--limit", "100", "--json")[1])
    assert found["columns"][-2:] == ["seed", "waf"]
    assert [row[-1] for row in found["rows"]] == [row["metrics"]["waf"] for row in listed["rows"]]
    every = json.loads(runs("table", "--json")[1])
    assert {"key", "verb", "seed", "status", "waf"} <= set(every["columns"])
    assert len(every["rows"]) == listed["matched"] + 1
    path = tmp_path / "points.csv"
    code, out, err = runs("table", "--csv", str(path))
    assert code == 0
    assert "waf" in out
    assert "columns; --csv" in err
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(every["rows"]) + 1
    code, _, err = runs("table", "waff")
    assert code == 2
    assert "did you mean `waf`" in err


def test_tags_and_notes_are_given_by_command(runs: Any) -> None:
    one, other = runs("list", "--keys")[1].split()[:2]
    for key in (one[:8], other):
        assert runs("tag", key, "paper")[0] == 0
    found = json.loads(runs("tag", one, "figure-3", "paper", "--json")[1])
    assert (found["key"], found["tags"], found["note"]) == (one, ["paper", "figure-3"], "")
    assert "no note" in runs("note", one)[1]
    code, said, _ = runs("note", one, "for the\u001b[2J paper")
    assert (code, "\u001b" in said, "for the" in said) == (0, False, True)
    assert set(runs("list", "--keys", "--where", "tag=paper")[1].split()) == {one, other}
    gone = json.loads(runs("tag", one, "paper", "--remove", "--json")[1])
    assert gone["tags"] == ["figure-3"]
    assert runs("list", "--keys", "--where", "tag=paper")[1].split() == [other]
    for words, reason in (
        (("tag", one, "a b"), "without spaces"),
        # Letters that turn the words next to them around, or hide.
        *(
            (("tag", one, f"a{letter}b"), "can be printed")
            for letter in "\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u200b\x9b\u2028"
        ),
        (("tag", one, "none", "--remove"), "has no tag `none`; accepted: figure-3"),
        (("tag", one, "--remove"), "is given without a tag"),
        (("tag", "ffffffff", "x"), "no point"),
        (("note", one, "x" * 2001), "accepted: 2000"),
    ):
        code, _, said = runs(*words)
        assert (code, reason in said) == (2, True), said
    assert runs("note", one, "", "--quiet")[1] == ""
    assert json.loads(runs("note", one, "--json")[1])["note"] == ""


def test_show_has_tags_and_note(runs: Any, place: Path) -> None:
    key = runs("list", "--keys")[1].split()[0]
    assert "tags " not in runs("show", key)[1]
    runs("tag", key, "paper", "figure-3")
    runs("note", key, "as \u202e planned\u200f")
    lines = runs("show", key)[1].splitlines()
    assert "tags     paper, figure-3" in lines
    assert "note     as \\u202e planned\\u200f" in lines
    # A tag that an earlier version took.
    with Store.open(place) as opened:
        opened._database.connection.execute("UPDATE remark SET tags = ?", ("a\u202eb",))
    for words in (("show", key), ("tag", key), ("list",)):
        assert "\u202e" not in runs(*words)[1]


def test_smoke_tests_are_marked_in_lists_and_tables(runs: Any, place: Path, tmp_path: Path) -> None:
    """Cells too short to measure stood among measurements without a mark."""
    assert "caution" not in runs("table", "--json")[1]
    settings = [
        {"pts": {"time_base": "smoke"}},
        {"header": {"time_base": {"name": "smoke"}}},
        {"pts": {"time_base": "scaled"}},
        {"stages": [{"settings": {"time_base": "smoke"}}]},
    ]
    verbs = ["pts.iops", "pts.iops", "pts.iops", "chain"]
    with Store.open(place) as opened:
        opened.add([
            entry(40 + place, key=f"{place:x}" * 64, verb=verb, settings=one,
                  created="2026-01-03T03:00:00Z")
            for place, (verb, one) in enumerate(zip(verbs, settings, strict=True), 10)
        ])  # fmt: skip
    code, out, err = runs("list", "--limit", "5")
    marks = {line[0]: line.split()[-1] for line in out.splitlines()[2:]}
    assert (code, marks) == (0, {"a": "smoke", "b": "smoke", "c": "done", "d": "smoke",
                                 "4": "failed"})  # fmt: skip
    assert "smoke: not a result" in err
    csv = tmp_path / "points.csv"
    for words in (("export", str(csv)), ("table", "--csv", str(csv)),
                  ("table", "waf", "--csv", str(csv))):  # fmt: skip
        assert runs(*words)[0] == 0
        head, *rows = csv.read_text(encoding="utf-8").splitlines()
        at = head.split(",").index("caution")
        assert sorted(row.split(",")[at] for row in rows)[-4:] == ["", *["smoke: not a result"] * 3]
    assert sorted(runs("list", "--keys", "--where", "caution!=null")[1].split()) == [
        letter * 64 for letter in "abd"
    ]
    assert "pts.iops, seed 0: smoke: not a result" in runs("show", "a" * 64)[1]
    assert "3 points of smoke tests: not a result" in runs("table", "waf by verb")[2]
