"""The ECC lab in the drive: LDPC by table, the recovery ladder, reads decoded bit by bit."""

from __future__ import annotations

import math
from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.errors import ConfigError
from opennandlab.reliability import life_test

LDPC = {"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"}
READS = {
    "pattern": "random",
    "read_pct": 100,
    "block_size_bytes": 4096,
    "precondition": [{"kind": "sequential_fill"}],
}


def device(ecc: dict[str, Any], rber: float, **sections: Any) -> dict[str, Any]:
    """A small drive of one raw bit error rate."""
    nand = {
        "channels": 1,
        "dies_per_channel": 2,
        "planes_per_die": 1,
        "blocks_per_plane": 32,
        "pages_per_block": 32,
        "page_size_bytes": 4096,
        "oob_size_bytes": 600,
        "rber_floor": rber,
        "rber_ceil": rber,
    }
    return {"nand": nand, "ecc": ecc, **sections}


def measured(drive: dict[str, Any], reads: int, *, timed: bool = False) -> dict[str, Any]:
    """Metrics of random page reads of a full drive, and the warnings."""
    work = {**READS, "timed": timed, "total": {"ios": reads}}
    document = onl.benchmark(drive, work).document
    assert document["checks"]["passed"]
    return {**document["metrics"], "warnings": document["warnings"]}


@pytest.mark.parametrize("timed", [True, False])
def test_every_read_is_on_one_step_of_the_ladder(*, timed: bool) -> None:
    controller = {"read_retry": {"step_count_max": 2, "rber_factor": 0.9}, "soft_read": {}}
    parity = {"parity": {"stripe": 2}}
    drive = device(LDPC, 2.1e-2, controller=controller, ftl=parity)
    metrics = measured(drive, 2000, timed=timed)
    steps = metrics["recovery"]
    assert set(steps) == {"first_read", "retry", "soft", "rebuilt", "uncorrectable"}
    assert len(steps["retry"]) == 2
    assert set(steps["soft"]) == {"3", "7"}
    total = sum(steps["retry"]) + sum(steps["soft"].values())
    total += steps["first_read"] + steps["rebuilt"] + steps["uncorrectable"]
    assert total == sum(metrics["reads"].values()) >= 2000
    # At 0.017 after two steps, hard decisions fail, soft ones seldom do.
    assert sum(steps["soft"].values()) > 0.9 * total


def test_soft_reads_take_time() -> None:
    hard = measured(device(LDPC, 1.6e-2), 500, timed=True)
    drive = device(LDPC, 1.6e-2, controller={"soft_read": {"reads": [7], "setup_us": 5}})
    soft = measured(drive, 500, timed=True)
    assert soft["recovery"]["soft"]["7"] > 490
    assert hard["recovery"]["uncorrectable"] > 490
    gained = soft["latency_us"]["read"]["p50"] - hard["latency_us"]["read"]["p50"]
    drive_now = onl.load_device(drive)
    timing = drive_now["nand.timing"]
    sense = timing["t_read_us"]
    # Six further senses with their setup, and six transfers.
    assert gained > 6 * (sense if isinstance(sense, (int, float)) else min(sense)) + 30


@pytest.mark.parametrize(
    ("ecc", "rber"),
    [
        ({"algorithm": "bch", "bch_m": 8, "bch_t": 2}, 4e-4),
        ({"algorithm": "bch", "bch_m": 13, "bch_t": 8}, 7e-4),
        (LDPC, 7.5e-3),
    ],
)
def test_bit_true_reads_agree_with_the_model(ecc: dict[str, Any], rber: float) -> None:
    reads = 600
    model = measured(device(ecc, rber), reads)
    bits = measured(device({**ecc, "fidelity": "bit_true"}, rber), reads)
    rate = 1.0 - math.exp(-model["uber"] * 4096 * 8)
    lost = bits["uncorrectable_reads"] / reads
    # 4.5 standard errors, and what 100 errors a point leave open in the table of a LDPC code.
    allowed = 4.5 * math.sqrt(rate * (1 - rate) / reads) + (
        0.25 * rate if "ldpc_code" in ecc else 0
    )
    assert abs(lost - rate) < allowed, (lost, rate)
    assert bits["uber_method"] == "observed"
    low, high = bits["uber_interval"]
    assert 0 < low < bits["uber"] < high
    assert model["uber_interval"] == [model["uber"]] * 2


def test_bit_true_fates_are_the_same_with_and_without_time() -> None:
    # Untimed, codewords are decoded side by side; each has its own noise.
    drive = device({**LDPC, "fidelity": "bit_true"}, 1.75e-2, controller={"soft_read": {}})
    with_time, without = (measured(drive, 70, timed=timed) for timed in (True, False))
    assert without["recovery"] == with_time["recovery"]
    assert without["recovery"]["soft"]["7"] > 0
    assert sum(without["recovery"]["soft"].values()) + without["uncorrectable_reads"] == 70


def test_margin_and_method_of_uber() -> None:
    low = measured(device(LDPC, 1e-3, controller={"soft_read": {}}), 200)
    assert low["uber_method"] == "extrapolated"
    assert any("extrapolated" in text for text in low["warnings"])
    assert low["uber"] < 1e-15
    strict = measured(
        device({**LDPC, "reliability_class": "enterprise"}, 1e-3, controller={"soft_read": {}}), 200
    )
    assert 1 < strict["ecc_margin"] < low["ecc_margin"]
    high = measured(device(LDPC, 8e-3), 200)
    assert high["uber_method"] == "table"
    assert high["ecc_margin"] < 1
    bch = measured(device({"bch_m": 14, "bch_t": 40}, 1e-4), 200)
    assert bch["uber_method"] == "analytic"
    alike, apart = (
        measured(device({"bch_m": 14, "bch_t": 40, "codeword_spread": cv}, 1e-3), 200)["uber"]
        for cv in (0.0, 0.3)
    )
    assert apart > 100 * alike


def test_a_table_of_the_device() -> None:
    table = [[1e-3, 1e-4, None, None], [1e-2, 1e-1, 1e-5, None], [2e-2, 1.0, 1e-2, None]]
    own = device({**LDPC, "fer_table": table}, 1e-2)
    assert measured(own, 200)["uber"] == pytest.approx(0.1 / 32768)
    soft = device({**LDPC, "fer_table": table}, 1e-2, controller={"soft_read": {"reads": [3]}})
    assert measured(soft, 200)["uber"] == pytest.approx(1e-5 / 32768)


@pytest.mark.parametrize(
    ("ecc", "controller", "words"),
    [
        ({"algorithm": "ldpc"}, {}, "nand-4k-r090"),
        ({"algorithm": "ldpc", "ldpc_code": "nand-4k-r080"}, {}, "fer_table"),
        ({**LDPC, "fer_table": [[1e-3, 0.1, 0.1, 0.1]]}, {}, "1 points"),
        ({**LDPC, "fer_table": [[1e-3, 0.1, None, None], [1e-2, 0.01, None, None]]}, {}, "rising"),
        (
            {**LDPC, "fer_table": [[1e-3, 0.1, None, None], [1e-2, 0.2, None, None]]},
            {"soft_read": {"reads": [3]}},
            "no rates after 3 reads",
        ),
        ({"ldpc_code": "nand-4k-r090"}, {}, "no effect"),
        ({}, {"soft_read": {}}, "ldpc"),
        (LDPC, {"soft_read": {"reads": [5]}}, "[3, 7]"),
        ({"algorithm": "none", "fidelity": "bit_true"}, {}, "bch or ldpc"),
        ({"fidelity": "exact"}, {}, "bit_true"),
    ],
)
def test_what_cannot_be_is_refused(
    ecc: dict[str, Any], controller: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words.replace("[", r"\[").replace("]", r"\]")):
        onl.load_device(device(ecc, 1e-3, controller=controller))


def test_life_test_of_an_ldpc_drive() -> None:
    hard = life_test(device(LDPC, 1e-3), "client", waf=1.0)
    soft = life_test(device(LDPC, 1e-3, controller={"soft_read": {}}), "client", waf=1.0)
    assert hard.uber == pytest.approx(hard.codeword_failure / 32768)
    assert soft.uber <= hard.uber
    with pytest.raises(ConfigError, match="bch"):
        life_test(device(LDPC, 1e-3), "client", waf=1.0, cv=0.2)
