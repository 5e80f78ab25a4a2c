"""What may be chance, what is not comparable, and what is said of both."""

from __future__ import annotations

import copy
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from test_comparing import Json, entry, result, sealed

import opennandlab as onl
from conftest import Cli
from opennandlab.comparing import side_by_side
from opennandlab.comparing.standing import standing
from opennandlab.documents.life import LifeTest
from opennandlab.reliability import life_test
from opennandlab.stats.poisson import poisson_interval
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
    assert done.stderr.count("shown, but not ranked: different over-provisioning") == 1
    assert "comparable are documents of the same over-provisioning" in done.stderr
    assert "--force ranks them nevertheless" in done.stderr
    # Without the table nothing is shown.
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    assert cli("compare", *files, "--csv", "-").stdout == ""
    for flags in (("--json",), ("--quiet",), ("--csv", "-")):
        text = cli("compare", *files, *flags).stderr
        assert "not compared: different over-provisioning" in text
        assert "above" not in text


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


def same_mean_p(first: int, second: int) -> float:
    """Return how likely counts at least as far apart are, if both have one mean.

    The conditional test: of their sum each event is of the first with probability one half (J.
    Przyborowski and H. Wilenski, Biometrika 31, 1940).
    """
    count, least = first + second, min(first, second)
    tail = sum(math.comb(count, one) for one in range(least + 1)) / 2**count
    return min(1.0, 2.0 * tail)


def test_counts_of_errors_that_chance_explains_are_neither_better_nor_worse() -> None:
    """Life tests with other seeds were better or worse by the errors that happened to be drawn."""
    test = life_test("tlc_standard", seed=1)
    for first, second, is_apart in [(117, 102, False), (0, 3, False), (30, 31, False),
                                    (117, 200, True), (0, 12, True)]:  # fmt: skip
        both = [with_errors(test, count) for count in (first, second)]
        found = side_by_side(both, ["a", "b"])
        for path in ("errors_drawn", "uber_drawn"):
            assert found.metrics[path].best == ([0] if is_apart else None), (path, first, second)
        (said,) = standing(found, list(found.metrics))
        assert ("worse in" in said) is is_apart
        # What is ranked, the exact test calls unlikely; intervals that meet are the stricter rule.
        assert same_mean_p(first, second) < 0.01 if is_apart else True
    assert same_mean_p(117, 102) == pytest.approx(0.344, abs=0.001)


def with_errors(test: LifeTest, count: int) -> LifeTest:
    low, high = poisson_interval(count)
    bits = test.bits_read
    return structs.replace(test, errors_drawn=count, uber_drawn=count / bits, uber_low=low / bits,
                           uber_high=high / bits)  # fmt: skip


def test_counts_of_other_numbers_of_bits_are_shown_without_a_ranking() -> None:
    once, twice = (life_test("tlc_standard", passes=passes) for passes in (1.0, 2.0))
    found = side_by_side([once, twice], ["once", "twice"])
    row = found.metrics["errors_drawn"]
    assert (row.better, row.best, row.worst) == (None, None, None)
    assert row.values[1] == pytest.approx(2.0 * (row.values[0] or 0.0), rel=0.1)
    assert found.metrics["uber_drawn"].better == "lower"
    assert "rates of errors are ranked, their numbers are not" in " ".join(found.warnings)


def test_a_sample_is_not_ranked_against_a_model() -> None:
    runs = [copy.deepcopy(result(0)) for _ in range(2)]
    for run, rate, method in zip(runs, (1e-9, 1e-7), ("analytic", "observed"), strict=True):
        run["metrics"] |= {"uber": rate, "uber_method": method, "uber_interval": [rate, 2 * rate]}
    found = side_by_side([onl.Result(sealed(run)) for run in runs], ["model", "sample"])
    row = found.metrics["uber"]
    assert (row.better, row.best, row.worst) == (None, None, None)
    assert row.values == [1e-9, 1e-7]
    said = "the UBER of sample was counted in a sample, that of others is from a model: not ranked"
    assert said in found.warnings
    found = side_by_side([onl.Result(sealed(runs[1]))] * 2, ["a", "b"])
    assert not [text for text in found.warnings if "not ranked" in text]


def test_lost_pages_of_runs_have_the_interval_of_their_count() -> None:
    """Of three and five lost pages five were called worse, by 67 %."""
    runs = [copy.deepcopy(result(0)) for _ in range(2)]
    for run, seed, lost in zip(runs, (1, 2), (3, 5), strict=True):
        run["seed"], run["metrics"]["uncorrectable_reads"] = seed, lost
    found = side_by_side([onl.Result(sealed(run)) for run in runs], ["a", "b"])
    row = found.metrics["uncorrectable_reads"]
    assert (row.best, row.worst) == (None, None)
    # Garwood's limits of 3 and of 5, of tables of Poisson limits.
    assert row.low == pytest.approx([0.619, 1.624], abs=1e-3)
    assert row.high == pytest.approx([8.767, 11.668], abs=1e-3)
    # Of the same run by two builds nothing is chance.
    runs[1]["seed"] = 1
    found = side_by_side([onl.Result(sealed(run)) for run in runs], ["a", "b"])
    assert found.metrics["uncorrectable_reads"].worst == [1]


def test_numbers_that_one_document_alone_has_are_in_the_sentence() -> None:
    """A timed run against an untimed one was `no difference`, without a word on its latencies."""
    first, second = (copy.deepcopy(result(0)) for _ in range(2))
    second["metrics"] |= {"lifetime_days": None, "uber": None, "ecc_margin": None}
    found = side_by_side([onl.Result(sealed(one)) for one in (first, second)], ["a", "b"])
    count = sum(None in row.values and row.values[0] is not None for row in found.metrics.values())
    assert count >= 2
    (said,) = standing(found, list(found.metrics))
    assert said.endswith(f"; {count} numbers only in a.")
    back = side_by_side([onl.Result(sealed(one)) for one in (second, first)], ["b", "a"])
    assert standing(back, [])[0] == f"a against b: {count} numbers only in a."
