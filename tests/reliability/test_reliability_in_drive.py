"""Stress in the drive: page types, retry tables, counted reads, and the life test of a drive."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import opennandlab as onl
from opennandlab import reliability
from opennandlab.reliability import drive_life_test
from opennandlab.theory.reliability import PageCode

# One die of 32 blocks of 48 pages: every page type as often as another.
NAND = {
    "channels": 1,
    "dies_per_channel": 1,
    "planes_per_die": 1,
    "blocks_per_plane": 32,
    "pages_per_block": 48,
    "page_size_bytes": 4096,
    "oob_size_bytes": 1024,
}
BCH = {"bch_m": 14, "bch_t": 72}
TYPES = ("lower", "middle", "upper")


def device(stress: dict[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """A small drive that wears as the states say."""
    nand = NAND if stress is None else {**NAND, "stress": stress}
    return {"nand": nand, "reliability": {"kind": "states"}, "ecc": BCH, **sections}


def read(drive: dict[str, Any], ios: int = 3000, **workload: Any) -> dict[str, Any]:
    work = {
        "pattern": "sequential",
        "read_pct": 100,
        "block_size_bytes": 4096,
        "timed": False,
        "total": {"ios": ios},
        "precondition": [{"kind": "sequential_fill", "fills": 100}],
        **workload,
    }
    document = onl.benchmark(drive, work).document
    assert document["checks"]["passed"]
    return {**document["metrics"], "warnings": document["warnings"]}


def test_page_types_err_as_the_model_says_under_the_stress() -> None:
    stress = {"retention_h": 2000, "temperature_c": 30, "reads": 100}
    found = read(device(stress))
    cycles = found["wear"]["mean"]
    # Blocks differ by one erase at most, which moves the rates by less than 1e-4.
    assert found["wear"]["max"] - found["wear"]["min"] <= 1
    model = reliability.load_model("tlc")
    types = found["raw_errors"]["page_types"]
    assert tuple(types) == TYPES
    for name in TYPES:
        expected = float(model.rber(cycles, **stress, page_type=name))
        assert types[name]["rber"] == pytest.approx(expected, rel=1e-4)
    reads = [types[name]["reads"] for name in TYPES]
    # Consecutive pages of a block go through the types in turn.
    assert max(reads) - min(reads) <= 0.02 * sum(reads)
    mean = sum(row["reads"] * row["rber"] for row in types.values()) / sum(reads)
    assert found["raw_errors"]["rber"] == pytest.approx(mean, rel=1e-12)


def test_failures_go_by_page_type_and_not_by_the_mean() -> None:
    found = read(device({"retention_h": 100, "temperature_c": 30}))
    code = PageCode(4096, 16383 - 1001, 1001, 72)
    types = found["raw_errors"]["page_types"]
    for row in types.values():
        assert row["beyond_step"] == [pytest.approx(code.failure(row["rber"]), rel=1e-3)]
    of_mean = code.uber(found["raw_errors"]["rber"])
    assert found["uber"] > 3 * of_mean, "the upper pages decide"


def test_retry_steps_are_those_of_the_states() -> None:
    stress = {"retention_h": 8760, "temperature_c": 40}
    retry = {"step_count_max": 4, "horizon_h": 4000}
    found = read(device(stress, controller={"read_retry": retry}))
    model = reliability.load_model("tlc")
    cycles = found["wear"]["mean"]
    # The table is that of worn flash at the horizon; the page is read as it is now.
    made = model.retry_table(4, 4000, pe_cycles=3000)
    for index, name in enumerate(TYPES):
        rates = found["raw_errors"]["page_types"][name]["rber_by_step"]
        assert len(rates) == 5
        assert rates[0] == pytest.approx(
            float(model.rber(cycles, **stress, page_type=name)), rel=1e-4
        )
        assert rates[-1] < rates[0]
        worn = model.retry_table(4, 4000, pe_cycles=3000, **stress).rber[:, index]
        assert all(rate < there for rate, there in zip(rates[1:], worn, strict=True))
    assert made.offsets.shape == (4, 7)
    steps = found["recovery"]
    expected = [0.0] * 5
    for row in found["raw_errors"]["page_types"].values():
        for step, share in enumerate(row["beyond_step"]):
            expected[step] += share * row["reads"]
    beyond = sum(steps["retry"]) + steps["uncorrectable"]
    total = sum(row["reads"] for row in found["raw_errors"]["page_types"].values())
    for step, mean in enumerate(expected):
        deviation = math.sqrt(mean * (1 - mean / total)) + 1e-9
        assert abs(beyond - mean) < 4.5 * deviation + 1
        beyond -= steps["retry"][step] if step < 4 else 0


def test_a_given_factor_is_used_and_a_horizon_without_states_refused() -> None:
    stress = {"retention_h": 8760}
    retry = {"step_count_max": 2, "rber_factor": 0.5}
    found = read(device(stress, controller={"read_retry": retry}), 200)
    for row in found["raw_errors"]["page_types"].values():
        rber = row["rber"]
        assert row["rber_by_step"] == pytest.approx([rber, rber / 2, rber / 4], rel=1e-12)
    retry = {"horizon_h": 1000}
    for sections in (
        {"reliability": {"kind": "kim"}},
        {"controller": {"read_retry": {"rber_factor": 0.5}}},
    ):
        drive = device(**sections)
        drive.setdefault("controller", {}).setdefault("read_retry", {}).update(retry)
        with pytest.raises(onl.ConfigError, match=r"read_retry\.horizon_h"):
            onl.load_device(drive)
    plain = onl.load_device({"controller": {"read_retry": {}}})
    assert plain["controller.read_retry.rber_factor"] == 0.6


def test_counted_reads_disturb_their_block_until_it_is_erased() -> None:
    # 150 passes over the drive: 150 reads per page of each block.
    pages = 32 * 48
    calm = read(device(), 150 * pages)["raw_errors"]
    found = read(device({"count_reads": True}), 150 * pages)["raw_errors"]
    assert found["reads_per_page_max"] == pytest.approx(150, rel=0.1)
    model = reliability.load_model("tlc")
    cycles = 100.0
    for name in TYPES:
        # The mean over reads 0 to 150, in classes that are a fourth of an octave wide.
        mean = float(model.rber(cycles, reads=list(range(150)), page_type=name).mean())
        assert found["page_types"][name]["rber"] == pytest.approx(mean, rel=0.01)
        # Sums of tails round in their last digits.
        assert found["page_types"][name]["rber"] >= calm["page_types"][name]["rber"] * (1 - 1e-12)
    written = read(device({"count_reads": True}), 5000, pattern="random", read_pct=50)
    assert written["raw_errors"]["reads_per_page_max"] < 20


def test_read_disturb_counts_the_reads_of_the_block() -> None:
    # Cai et al., DSN 2015: an error rate per read of the block; a block has 48 pages here.
    drive = {**device({"reads": 1000}), "reliability": {"kind": "read_disturb"}}
    found = read(drive)
    slope = 1.335e-14 * found["wear"]["mean"] ** 1.468
    assert found["raw_errors"]["rber"] == pytest.approx(slope * 1000 * 48, rel=1e-2)
    model = {"kind": "read_disturb", "pages_per_block": 1}
    assert read({**drive, "reliability": model})["raw_errors"]["rber"] == pytest.approx(
        slope * 1000, rel=1e-2
    )


def test_stress_that_the_model_ignores_is_warned_of_and_no_stress_is_no_section() -> None:
    found = read({"nand": {**NAND, "stress": {"retention_h": 10, "reads": 5}}}, 100)
    assert any("nand.stress.retention_h had no effect" in text for text in found["warnings"])
    assert any("nand.stress.reads had no effect" in text for text in found["warnings"])
    assert "raw_errors" not in read({"nand": NAND}, 100)
    known = read(
        {"nand": {**NAND, "stress": {"retention_h": 10}}, "reliability": {"kind": "kim"}}, 100
    )
    assert not any("nand.stress" in text for text in known["warnings"])
    for stress, words in (
        ({"retention_h": -1}, "nand.stress.retention_h"),
        ({"temperature_c": 500}, "nand.stress.temperature_c"),
        ({"reads": 1e9}, "nand.stress.reads"),
        ({"age": 1}, "age"),
    ):
        with pytest.raises(onl.ConfigError, match=words):
            onl.load_device({"nand": {"stress": stress}})


def test_a_drive_can_be_baked_between_jobs() -> None:
    drive = onl.Simulation(device(), seed=3)
    drive.precondition([{"kind": "sequential_fill", "fills": 30}])
    work = {
        "pattern": "sequential",
        "read_pct": 100,
        "block_size_bytes": 4096,
        "timed": False,
        "total": {"ios": 1000},
    }
    fresh = drive.run(work).document["metrics"]["raw_errors"]["rber"]
    drive.set_stress(retention_h=8760.0, temperature_c=30.0)
    aged = drive.run(work).document
    model = reliability.load_model("tlc")
    cycles = aged["metrics"]["wear"]["mean"]
    rates = aged["metrics"]["raw_errors"]["page_types"]
    for name in TYPES:
        expected = float(model.rber(cycles, 8760, 30, page_type=name))
        assert rates[name]["rber"] == pytest.approx(expected, rel=1e-4)
    assert aged["metrics"]["raw_errors"]["rber"] > 1.2 * fresh
    with pytest.raises(onl.ConfigError, match="retention_h"):
        drive.set_stress(retention_h=-1.0)


LIFE = {
    "nand": {**NAND, "blocks_per_plane": 128, "max_pe_cycles": 60},
    "reliability": {"kind": "states"},
    "ecc": BCH,
    "ftl": {"over_provisioning_pct": 0.15, "gc_reserve_blocks": 2},
}


def test_a_life_test_wears_bakes_and_reads_the_drive_back() -> None:
    strong = {"read_retry": {"step_count_max": 5}}
    test = drive_life_test({**LIFE, "controller": strong}, "client", seed=5)
    assert test.pe_cycles == pytest.approx(60, abs=0.5)
    assert test.pe_cycles_min <= test.pe_cycles <= test.pe_cycles_max
    assert test.scale == 1
    assert test.waf > 1.5
    raw = 128 * 48 * 4096
    # What was written through the flash is what wore it.
    assert test.tbw_tb * 1e12 * test.waf == pytest.approx(60 * raw, rel=0.03)
    model = reliability.load_model("tlc")
    for name in TYPES:
        expected = float(model.rber(test.pe_cycles, 8760, 30, page_type=name))
        assert test.page_types[name].rber == pytest.approx(expected, rel=5e-3)
    counts = test.recovery
    others = sum(counts.retry) + counts.rebuilt + counts.uncorrectable
    assert counts.first_read + others == test.pages_read
    assert test.uber_low <= test.uber_observed <= test.uber_high
    again = drive_life_test({**LIFE, "controller": strong}, "client", seed=5)
    assert again == test
    weak = drive_life_test({**LIFE, "ecc": {"bch_m": 13, "bch_t": 8}}, "client", passes=2)
    assert not weak.passed
    spread = math.sqrt(weak.uncorrectable_expected)
    assert abs(weak.uncorrectable - weak.uncorrectable_expected) < 4.5 * spread + 1
    assert weak.pages_read == pytest.approx(2 * test.pages_read, abs=2)


def test_a_drive_that_wears_out_before_tbw_fails_and_another_model_can_be_asked() -> None:
    with pytest.raises(onl.ConfigError, match=r"tbw: 1e\+308 TB is out of range; accepted: from"):
        drive_life_test(LIFE, "enterprise", tbw_tb=1e308)
    # It wrote a whole pass without a word: the drive is filled before it is read back.
    capacity_tb = float(onl.load_device(LIFE).effective["logical_bytes"]) / 1e12
    with pytest.raises(onl.ConfigError, match=f"accepted: from {capacity_tb} TB, one fill"):
        drive_life_test(LIFE, "enterprise", tbw_tb=0.99 * capacity_tb)
    assert drive_life_test(LIFE, "enterprise", tbw_tb=capacity_tb).drive_writes == 1.0
    hopeless = drive_life_test(LIFE, "enterprise", tbw_tb=1.0)
    assert hopeless.worn_out
    assert not hopeless.passed
    # What it took, not what was asked.
    logical = 1e12 * hopeless.tbw_tb / hopeless.drive_writes
    assert logical == pytest.approx(128 * 48 * 4096 / 1.15, rel=1e-3)
    assert hopeless.tbw_tb < 1e-2
    half = drive_life_test(LIFE, "enterprise", tbw_tb=2e-4, model="slc")
    assert half.tbw_tb == pytest.approx(2e-4, rel=0.01)
    assert not half.worn_out
    assert half.passed
    assert tuple(half.page_types) == ("lower",)
    for arguments in ({"drive_class": "military"}, {"tbw_tb": -1.0}, {"passes": 0.0}):
        with pytest.raises(onl.ConfigError):
            drive_life_test(LIFE, **arguments)


def test_a_large_drive_is_scaled_down_and_wears_alike() -> None:
    nand = {**LIFE["nand"], "channels": 4, "dies_per_channel": 4, "blocks_per_plane": 256}
    whole = {**LIFE, "nand": {**nand, "max_pe_cycles": 20}, "ftl": {"over_provisioning_pct": 0.2}}
    # 20 erases of every block, and what is on it now.
    test = drive_life_test(whole, programs=20 * 128 * 48)
    assert test.scale == pytest.approx(32, rel=0.02)
    assert test.simulated_pages == 128 * 48
    assert test.tbw_tb * 1e12 * test.waf == pytest.approx(21 * 16 * 256 * 48 * 4096, rel=0.02)


# JEDEC JESD219, enterprise: sizes in percent of the writes, and groups.
SIZES = {512: 4, 1024: 1, 1536: 1, 2048: 1, 2560: 1, 3072: 1, 3584: 1}
SIZES |= {4096: 67, 8192: 10, 16384: 7, 32768: 3, 65536: 3}
GROUPS = [
    {"fraction": 0.05, "share": 0.5},
    {"fraction": 0.15, "share": 0.3},
    {"fraction": 0.8, "share": 0.2},
]
JESD219 = {
    "pattern": {"kind": "zoned", "zones": GROUPS},
    "block_size_bytes": SIZES,
    "align_bytes": 4096,
    "total": {"drive_writes": 1},
}


@pytest.mark.parametrize("workload", [JESD219, {**JESD219, "pattern": {"kind": "zipf"}}, None])
def test_a_life_has_the_write_amplification_of_the_whole_drive(
    workload: dict[str, Any] | None,
) -> None:
    nand = {**NAND, "channels": 4, "dies_per_channel": 2, "blocks_per_plane": 256}
    cycles = {"max_pe_cycles": 100, "wear_out": "ignore"}
    whole = onl.load_device({"nand": nand | cycles, "ftl": {"over_provisioning_pct": 0.12}})
    test = drive_life_test(whole, workload=workload, programs=4e6)
    assert test.scale > 3
    assert test.waf_pages == 8 * 256 * 48
    assert test.waf_factor != 1.0
    life = drive_life_test(whole, workload=workload, programs=1e9)
    assert life.scale == 1
    assert life.waf_pages is None
    assert test.waf == pytest.approx(life.waf, rel=0.01)
    assert test.tbw_tb == pytest.approx(life.tbw_tb, rel=0.01)
    given = drive_life_test(whole, workload=workload, programs=4e6, tbw_tb=test.tbw_tb)
    assert given.tbw_tb == pytest.approx(test.tbw_tb, rel=1e-3)
    assert given.pe_cycles == pytest.approx(100, rel=0.01)


def test_a_life_has_the_name_of_its_workload(cli, folder) -> None:
    (folder / "host.yaml").write_text(json.dumps(JESD219))
    (folder / "named.yaml").write_text(json.dumps({**JESD219, "name": "composite"}))
    command = ("reliability", "life", "-c", "small.yaml", "--set", "nand.max_pe_cycles=5")
    for asked, name in (("host.yaml", "host"), ("named.yaml", "composite"), (None, "random")):
        given = () if asked is None else ("-w", asked)
        shown = cli(*command, *given)
        assert f"drive writes, {name} " in shown.stdout, shown.stderr


def test_the_command_simulates_unless_asked_for_the_models(cli) -> None:
    small = ("reliability", "life", "-c", "small.yaml", "--set", "nand.max_pe_cycles=30")
    shown = cli(*small, "--set", "ecc.bch_m=14", "--set", "ecc.bch_t=60")
    assert shown.returncode == 0, shown.stderr
    assert "simulated with seed 42" in shown.stdout
    assert "passed: UBER" in shown.stdout
    shown = cli(*small, "--set", "ecc.bch_m=14", "--set", "ecc.bch_t=60", "--tbw", "1")
    assert shown.returncode == 1
    assert "not passed: worn out after" in shown.stdout
    found = json.loads(cli(*small, "--json", "--seed", "7").stdout)
    assert found["seed"] == 7
    assert found["pe_cycles"] == pytest.approx(30, abs=0.5)
    shown = cli(*small, "--waf", "2")
    assert shown.returncode == 2
    assert "accepted: with --analytic" in shown.stderr


THIRD = {"pattern": "random", "active_range_pct": 33, "total": {"drive_writes": 1}}


# A hundredth of the life with as few cycles: the same wear in less time.
SHORT = {"nand.max_pe_cycles": 300, "reliability.wear_cycles": 1365.0}


@pytest.mark.parametrize(
    ("preset", "changes", "drive_class", "tbw_tb", "workload"),
    [
        # The page on reliability shows the first, and is run too.
        pytest.param("nvme_gen4_tlc", {}, "client", 600.0, THIRD, marks=pytest.mark.long),
        ("qlc_pslc", {}, "client", 200.0, THIRD),
        # The small drive keeps a larger share of its blocks in reserve: 70 of 73 TB.
        ("mlc_enterprise_plp", SHORT, "enterprise", 70.0, None),
    ],
)
def test_product_presets_live_as_long_as_they_are_rated(
    preset: str,
    changes: dict[str, Any],
    drive_class: str,
    tbw_tb: float,
    workload: dict[str, Any] | None,
) -> None:
    device = onl.load_device(preset).replace(changes)
    # The worst of few blocks is a matter of luck: the Gen4 drive has the fewest superblocks.
    programs = 1e8 if preset == "nvme_gen4_tlc" else 2e7
    test = drive_life_test(device, drive_class, tbw_tb=tbw_tb, workload=workload, programs=programs)
    assert test.passed
    assert test.margin is not None
    assert 1.0 < test.margin < 3.0
    assert test.uncorrectable == 0


def test_small_writes_all_over_wear_a_client_drive_before_its_rating() -> None:
    test = drive_life_test("qlc_pslc", tbw_tb=200.0, programs=5e7)
    assert test.worn_out
    assert not test.passed
    assert test.tbw_tb == pytest.approx(81, rel=0.1)


def test_spread_blocks_fail_more_often_at_the_same_mean_rate() -> None:
    def uber(spread: dict[str, float]) -> tuple[float, float]:
        test = drive_life_test(
            {
                **LIFE,
                "nand": {**LIFE["nand"], "max_pe_cycles": 15, "error_spread": spread},
                "controller": {"read_retry": {"step_count_max": 5}},
            },
            programs=1e5,
        )
        return test.rber, test.uber

    calm, spread = uber({}), uber({"block_cv": 0.3, "layers": 16, "layer_swing": 0.5})
    assert spread[0] == pytest.approx(calm[0], rel=0.02)
    assert spread[1] > calm[1]


def test_data_under_power_is_no_older_than_its_refresh() -> None:
    # A year of 8760 h holds 12 times 730 h.
    device = {**LIFE, "ftl": {**LIFE["ftl"], "refresh": {"after_days": 730 / 24}}}
    plain = drive_life_test(device, "client", tbw_tb=2e-4)
    test = drive_life_test(device, "client", tbw_tb=2e-4, powered=True)
    assert (plain.retention_h, plain.refreshes) == (8760, None)
    assert test.retention_h == pytest.approx(730)
    drive = onl.load_device(device)
    share = drive.effective["logical_bytes"] / (128 * 48 * 4096)
    # To within a block for each time, and the open block.
    assert test.refreshes == pytest.approx(12 * share, rel=0.02)
    assert test.pe_cycles == pytest.approx(plain.pe_cycles + test.refreshes, abs=0.01)
    assert test.rber < plain.rber
    analytic = reliability.life_test(device, waf=2.0, tbw_tb=1e-3, powered=True)
    assert analytic.refreshes == pytest.approx(12 * share)
    assert analytic.retention_h == pytest.approx(730)
    stored = reliability.life_test(device, waf=2.0, tbw_tb=1e-3)
    assert analytic.pe_cycles - stored.pe_cycles == pytest.approx(12 * share)
    with pytest.raises(onl.ConfigError, match="after_days"):
        drive_life_test(LIFE, powered=True)
