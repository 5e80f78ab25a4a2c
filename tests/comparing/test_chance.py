"""What may be chance, what is not comparable, and what is said of both."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from test_comparing import Json, entry, result, sealed

import opennandlab as onl
from conftest import Cli
from opennandlab.comparing import side_by_side
from opennandlab.comparing.standing import standing
from opennandlab.store import Entry, Store, key_of


def seeded(place: int, waf: float, seed: int) -> Entry:
    """Return a point of one of two settings, with another seed."""
    one = entry(place)
    document = copy.deepcopy(one.document)
    assert document is not None
    document["metrics"]["waf"], document["seed"] = waf, seed
    key = key_of(one.verb, one.settings, seed, 4)
    metrics = {**one.metrics, "waf": waf}
    return replace(one, key=key, seed=seed, document=sealed(document), metrics=metrics)


def saved_as(folder: Path, **documents: Json) -> list[str]:
    """Save documents under their names, and return the files."""
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(sealed(document)), encoding="utf-8")
    return [str(folder / f"{name}.json") for name in documents]


def test_what_may_be_chance_is_neither_best_nor_worst(cli: Cli, tmp_path: Path) -> None:
    """`compare` called differences of 0.2 % best and worst; the browser did not."""
    base = result(0)
    near, far, again = (copy.deepcopy(base) for _ in range(3))
    for other, factor in ((near, 1.04), (far, 1.08), (again, 1.04)):
        other["seed"] += other is not again
        other["metrics"]["waf"] *= factor
    found = side_by_side([onl.Result(base), onl.Result(sealed(near))], ["a", "b"])
    assert (found.metrics["waf"].best, found.metrics["waf"].chance_pct) == (None, 5.0)
    found = side_by_side([onl.Result(base), onl.Result(sealed(far))], ["a", "b"])
    assert (found.metrics["waf"].best, found.metrics["waf"].worst) == ([0], [1])
    # Of the same run by two builds nothing is chance.
    found = side_by_side([onl.Result(base), onl.Result(sealed(again))], ["a", "b"])
    assert found.metrics["waf"].worst == [1]
    shown = cli("compare", *saved_as(tmp_path, a=base, near=near, far=far)).stdout
    assert "near against a: no difference beyond chance." in shown
    assert "far against a: worse in WAF (+8.0 %)" in shown
    assert "≈ +4.0 %" in shown
    assert "≈ may be chance: below 5 %, assumed, as no other seeds are known" in shown


def test_of_points_the_other_seeds_of_their_store_show_what_is_chance(
    cli: Cli, tmp_path: Path
) -> None:
    entries = [seeded(*one) for one in [(0, 1.0, 1), (0, 1.1, 2), (1, 1.15, 1), (1, 1.25, 2)]]
    with Store.open(tmp_path / "store") as store:
        store.add(entries)
    given = [entries[0].key[:12], entries[3].key[:12], "--store", str(tmp_path / "store")]
    row = json.loads(cli("compare", *given, "--json").stdout)["metrics"]["waf"]
    # By hand: variances of ratios to the mean, one degree of freedom each; Student's 97.5 % point
    # of two degrees.
    variances = [2 * (0.05 / 1.05) ** 2, 2 * (0.05 / 1.2) ** 2]
    least = 4.302653 * (2 * sum(variances) / 2) ** 0.5
    assert row["chance_pct"] == pytest.approx(100 * least, rel=1e-5)
    assert (row["best"], row["worst"]) == (None, None)
    assert "by 4 runs with other seeds" in cli("compare", *given).stdout


def test_unlike_things_are_shown_without_a_ranking_and_refused_in_a_sentence(
    cli: Cli, tmp_path: Path
) -> None:
    base = result(0)
    other = copy.deepcopy(base)
    other["device"]["ftl"]["over_provisioning_pct"] = 0.28
    other["metrics"]["waf"] *= 2
    done = cli("compare", *saved_as(tmp_path, a=base, b=other))
    assert done.returncode == 2
    assert "waf" in done.stdout.lower()
    assert not {"▲", "▼", "≈"}.intersection(done.stdout)
    assert "UNLIKE" not in done.stdout
    assert "worse in" not in done.stdout
    row = next(line for line in done.stdout.splitlines() if "over_provisioning_pct" in line)
    assert row.split()[-1] == "0.28"
    assert done.stderr.count("not compared: different over-provisioning") == 1
    assert "comparable are documents of the same over-provisioning" in done.stderr


def test_a_sentence_has_numbers_that_were_zero_in_the_first() -> None:
    """Collections and lost blocks that only the second had were `no difference`."""
    runs = [
        onl.benchmark(
            {"nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
                      "blocks_per_plane": 64, "pages_per_block": 16}},
            {"pattern": "random", "timed": False, "total": {"drive_writes": writes}},
        )
        for writes in (0.5, 1.5)
    ]  # fmt: skip
    found = side_by_side(runs, ["few", "many"], force=True)
    (sentence,) = standing(found, list(found.metrics))
    assert re.search(r"worse in .*\(0 to \d+\)", sentence), sentence
