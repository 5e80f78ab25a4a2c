"""Devices and workloads: presets, files, overrides, and what is said about mistakes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.hints import nearest
from opennandlab.core.config import PRESETS, device_presets, leaves, load_replay, workload_presets
from opennandlab.core.overrides import parse_overrides, set_path
from places import ROOT


def test_the_standard_device_is_the_one_of_the_benchmark_page() -> None:
    device = onl.load_device("tlc_standard")
    assert device["nand.cell_type"] == "TLC"
    assert (device["nand.blocks_per_plane"], device["nand.pages_per_block"]) == (1024, 256)
    assert device["ftl.gc_policy"]["kind"] == "greedy"
    assert device["ftl.over_provisioning_pct"] == 0.07
    assert device.effective["raw_bytes"] == 32 << 30


def test_the_default_device_is_the_standard_device() -> None:
    assert onl.load_device("config") == onl.load_device("tlc_standard")


def test_the_enterprise_device_is_the_one_of_the_benchmark_page() -> None:
    device = onl.load_device("mlc_enterprise")
    assert device["nand.max_pe_cycles"] == 10_000
    assert (device["nand.rber_floor"], device["nand.rber_ceil"]) == (1e-9, 5e-4)
    assert device["ftl.gc_policy"]["kind"] == "cost_benefit"


@pytest.mark.parametrize("name", device_presets())
def test_the_copies_of_the_presets_are_identical(name: str) -> None:
    copy = ROOT / "docs" / "resources" / "config" / f"{name}.yaml"
    assert copy.read_bytes() == (PRESETS / f"{name}.yaml").read_bytes()


@pytest.mark.parametrize("device", device_presets())
def test_every_workload_fits_every_device(device: str) -> None:
    loaded = onl.load_device(device)
    for name in workload_presets():
        assert onl.load_workload(name, loaded).name == name


def test_the_five_workloads_have_their_names() -> None:
    assert set(workload_presets()) >= {"W1", "W2", "W3", "W4", "W5"}


def test_a_device_may_come_from_a_name_a_file_or_a_dict(tmp_path: Path, small: Any) -> None:
    path = tmp_path / "device.yaml"
    path.write_text("nand: {channels: 4}\n", encoding="utf-8")
    assert onl.load_device(path)["nand.channels"] == 4
    assert onl.load_device(str(path)) == onl.load_device({"nand": {"channels": 4}})
    assert onl.load_device(small)["nand.channels"] == 2


def test_a_device_cannot_be_changed_afterwards(small: Any) -> None:
    device = onl.load_device(small)
    small["nand"]["channels"] = 99
    assert device["nand.channels"] == 2
    with pytest.raises(TypeError):
        device["nand"]["channels"] = 3
    device.to_dict()["nand"]["channels"] = 3
    assert device["nand.channels"] == 2
    other = device.replace({"nand.channels": 1})
    assert (device["nand.channels"], other["nand.channels"]) == (2, 1)
    assert device != other
    assert len({device, onl.load_device(device), other}) == 2


def test_a_resolved_device_resolves_to_itself(small: Any) -> None:
    device = onl.load_device(small)
    assert onl.load_device(device.to_dict()) == device


def sent(thing: Any) -> Any:
    """Return what another process gets."""
    return pickle.loads(pickle.dumps(thing))


def test_devices_and_workloads_can_be_pickled(small: Any, short: Any) -> None:
    """Pools of processes send them: `cannot pickle 'mappingproxy' object` came from all of them."""
    device = onl.load_device(small, {"ftl.gc_policy": "fifo"})
    workload = onl.load_workload(short, device)
    assert device.effective["raw_bytes"] > 0  # what is computed once must not stand in the way
    assert device["ftl.gc_policy.kind"] == "fifo"
    for config in (device, workload, load_replay({"name": "r"}, device)):
        again = sent(config)
        assert again == config
        assert hash(again) == hash(config)
        assert again.name == config.name
    again = sent(device)
    assert dict(again.given) == dict(device.given)
    same = onl.benchmark(again, sent(workload))
    assert same.digest == onl.benchmark(device, workload).digest


def test_a_workload_for_this_device_is_taken_as_it_is(small: Any, short: Any) -> None:
    """It was parsed and checked again by everything that took it."""
    device = onl.load_device(small)
    workload = onl.load_workload(short, device)
    assert onl.load_workload(workload, device) is workload
    larger = onl.load_workload(workload, onl.load_device(small, {"nand.blocks_per_plane": 128}))
    assert larger == workload
    assert larger is not workload
    assert onl.load_workload(workload, device, fresh=True)["precondition"] == ()


def test_numpy_numbers_are_numbers() -> None:
    import numpy as np

    assert onl.load_device({"nand": {"channels": np.int64(4)}})["nand.channels"] == 4


def test_every_constant_of_the_flash_has_a_source() -> None:
    device = onl.load_device("tlc_standard")
    for path, _ in leaves(device["nand"], "nand"):
        if path.startswith(("nand.timing.", "nand.rber")):
            assert device.origin(path) not in {"default", ""}, path
    assert "benchmark page" in device.origin("nand.blocks_per_plane")
    assert device.origin("ftl.gc_policy.kind") == "given: tlc_standard"
    assert device.origin("nand.channels") == "default"


@pytest.mark.parametrize(
    ("document", "path", "words"),
    [
        ({"nand": {"pgae_size_bytes": 4096}}, "nand.pgae_size_bytes", "did you mean `page_size_"),
        ({"nnad": {}}, "nnad", "did you mean `nand`"),
        ({"ftl": {"gc_policy": "gredy"}}, "ftl.gc_policy", "did you mean `greedy`"),
        ({"ftl": {"gc_policy": {"kind": "d_choices", "dd": 3}}}, "ftl.gc_policy", "`d`"),
        ({"nand": {"channels": "eight"}}, "nand.channels", "eight"),
        ({"nand": {"channels": 2.5}}, "nand.channels", "2.5"),
        ({"nand": {"channels": 0}}, "nand.channels", "0"),
        ({"nand": {"channels": -1}}, "nand.channels", "-1"),
        ({"nand": {"channels": None}}, "nand.channels", "null"),
        ({"nand": {"channels": True}}, "nand.channels", "true"),
        ({"nand": {"pages_per_block": 0}}, "nand.pages_per_block", "0"),
        ({"nand": {"blocks_per_plane": 0}}, "nand.blocks_per_plane", "0"),
        ({"nand": {"page_size_bytes": 5000}}, "nand.page_size_bytes", "power of two"),
        ({"nand": {"page_size_bytes": "4 furlongs"}}, "nand.page_size_bytes", "furlongs"),
        ({"nand": {"timing": {"t_read_us": "50us"}}}, "nand.timing.t_read_us", "microseconds"),
        ({"nand": {"timing": {"t_read_us": -1}}}, "nand.timing.t_read_us", "-1"),
        ({"nand": {"rber_floor": float("nan")}}, "nand.rber_floor", "not a finite number"),
        ({"nand": {"rber_floor": 2}}, "nand.rber_floor", "2"),
        ({"nand": []}, "nand", "mapping"),
        ({"nand": {"timing": [25]}}, "nand.timing", "mapping"),
        ({"ftl": {"gc_policy": ["greedy"]}}, "ftl.gc_policy", "mapping"),
        ({"ftl": {"over_provisioning_pct": 0}}, "ftl.over_provisioning_pct", "0"),
        ({"ftl": {"over_provisioning_pct": 0.0001}}, "ftl.over_provisioning_pct", "no spare block"),
        ({"ftl": {"gc_reserve_blocks": 10**6}}, "ftl.over_provisioning_pct", "reserve"),
        ({"ecc": {"algorithm": "turbo"}}, "ecc.algorithm", "turbo"),
        (
            {"nand": {"blocks_per_plane": 8, "channels": 1, "dies_per_channel": 1}},
            "ftl.over_provisioning_pct",
            "8 good blocks|16 good blocks",
        ),
    ],
)
def test_a_mistake_is_named_by_path_value_and_remedy(
    document: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(onl.ConfigError) as refusal:
        onl.load_device(document)
    assert refusal.value.path == path
    assert any(word in refusal.value.message for word in words.split("|")), refusal.value.message
    assert str(refusal.value) == f"{path}: {refusal.value.message}"


def test_a_date_is_no_number() -> None:
    import datetime as dt

    with pytest.raises(onl.ConfigError, match="neither number nor text"):
        onl.load_device({"nand": {"channels": dt.date(2020, 1, 1)}})


def test_a_document_that_contains_itself_is_refused() -> None:
    document: dict[str, Any] = {}
    document["nand"] = document
    with pytest.raises(onl.ConfigError):
        onl.load_device(document)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(onl.ConfigError, match="did you mean `tlc_standard`") as refusal:
        onl.load_device("tlc-standart")
    assert "mlc_enterprise" in str(refusal.value)
    with pytest.raises(onl.ConfigError, match=r"none\.yaml: No such file"):
        onl.load_device("none.yaml")
    assert nearest("completely different", ["tlc_standard"]) is None


def test_overrides_are_typed_as_yaml_types_them() -> None:
    overrides = parse_overrides(
        ["ftl.gc_policy={kind: d_choices, d: 3}", "nand.channels=4", "ecc.algorithm=none", "a.b="]
    )
    assert overrides == {
        "ftl.gc_policy": {"kind": "d_choices", "d": 3},
        "nand.channels": 4,
        "ecc.algorithm": "none",
        "a.b": None,
    }


@pytest.mark.parametrize("text", ["nand.channels", "=4", "nand..channels=4", ".=1", "a=[1"])
def test_an_override_must_be_a_key_and_a_value(text: str) -> None:
    with pytest.raises(onl.ConfigError, match="--set"):
        parse_overrides([text])


def test_an_override_reaches_into_a_policy_given_by_name() -> None:
    device = onl.load_device({"ftl": {"gc_policy": "d_choices"}}, {"ftl.gc_policy.d": 3})
    assert device["ftl.gc_policy"] == {"kind": "d_choices", "d": 3}
    with pytest.raises(onl.ConfigError, match="no keys inside"):
        set_path({"nand": {"channels": 3}}, "nand.channels.x", 1)


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"patern": "random"}, "patern", "did you mean `pattern`"),
        ({"pattern": "radnom"}, "pattern", "did you mean `random`"),
        ({"total": {}}, "total", "exactly one"),
        ({"total": {"ios": 0}}, "total.ios", "at least 1"),
        ({"total": {"bytes": "1 Gigabyte"}}, "total.bytes", "Gigabyte"),
        ({"total": {"seconds": 1}, "timed": False}, "total.seconds", "untimed"),
        ({"queue_depth": 0}, "queue_depth", "0"),
        ({"read_pct": 60, "trim_pct": 60}, "trim_pct", "40"),
        ({"block_size_bytes": 100}, "block_size_bytes", "512"),
        # The small device has 12.5 MiB: a request must fit.
        ({"block_size_bytes": "1GiB"}, "block_size_bytes", "at most"),
        ({"precondition": [{"kind": "sequential_fil"}]}, "precondition[0]", "sequential_fill"),
    ],
)
def test_a_workload_mistake_is_named_too(
    small: Any, short: Any, change: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(onl.ConfigError) as refusal:
        onl.load_workload({**short, **change}, onl.load_device(small))
    assert refusal.value.path.startswith(path), refusal.value
    assert words in refusal.value.message


def test_a_distribution_of_sizes_may_have_numbers_as_keys(small: Any, short: Any) -> None:
    mix = {**short, "block_size_bytes": {512: 4, 4096: 67}}
    loaded = onl.load_workload(mix, onl.load_device(small))
    assert loaded["block_size_bytes"]["4096"] == 67


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ({"nand": {"channels": "x"}}, "expected a whole number from 0"),
        ({"nand": 3}, "expected a mapping of keys"),
        ({"nand": {"timing": {"t_erase_us": [1]}}}, "a list, expected a number"),
        ({"ftl": {"gc_policy": 3}}, "expected a mapping of keys"),
    ],
)
def test_a_refusal_speaks_of_the_file_not_of_the_parser(device: Any, words: str) -> None:
    with pytest.raises(onl.ConfigError, match=words) as refusal:
        onl.load_device(device)
    for residue in ("column", "u32", "f64", "struct", "enum"):
        assert residue not in str(refusal.value)


def test_ratios_have_a_name_that_states_the_unit(tmp_path: Path) -> None:
    own = {"ftl": {"over_provisioning_ratio": 0.2, "gc_trigger_free_ratio": 0.3}}
    today = {"ftl": {"over_provisioning_pct": 0.2, "gc_trigger_free_pct": 0.3}}
    file = tmp_path / "own.yaml"
    file.write_text("ftl:\n  # Mine.\n  over_provisioning_ratio: 0.2\n")
    assert onl.load_device(own).to_dict() == onl.load_device(today).to_dict()
    key = "ftl.over_provisioning_pct"
    changed = onl.load_device(own, {"ftl.over_provisioning_ratio": 0.3})
    assert (changed[key], changed.origin(key)) == (0.3, "given: --set")
    assert onl.load_device(own, {key: 0.4})[key] == 0.4
    replaced = onl.load_device("mlc_enterprise").replace({"ftl.over_provisioning_ratio": 0.5})
    assert (replaced[key], replaced.origin(key)) == (0.5, "given: mlc_enterprise")
    assert onl.load_device(file).origin(key) == "Mine."
    with pytest.raises(onl.ConfigError, match=r"`over_provisioning_pct` is given too"):
        onl.load_device({"ftl": {"over_provisioning_pct": 0.2, "over_provisioning_ratio": 0.2}})
