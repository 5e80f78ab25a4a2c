"""Drives whose reads sense cells: agreement with the states, and the steps of the ladder."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.errors import ConfigError

BASE: dict[str, Any] = {
    "nand": {
        "channels": 1,
        "dies_per_channel": 2,
        "planes_per_die": 1,
        "blocks_per_plane": 24,
        "pages_per_block": 18,
        "page_size_bytes": 4096,
        "stress": {"retention_h": 500},
        "cells": {"blocks": "all"},
    },
    "ftl": {"over_provisioning_pct": 0.4},
    "ecc": {"step_bytes": 1024, "strength": 60, "fidelity": "cells"},
    "reliability": {"kind": "states", "preset": "tlc"},
}
READS = {
    "pattern": "random",
    "read_pct": 100,
    "timed": False,
    "block_size_bytes": 4096,
    "precondition": [{"kind": "sequential_fill"}],
    "total": {"ios": 800},
}


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Keys over others, section by section."""
    found = dict(base)
    for key, value in over.items():
        inner = found.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict) and "kind" not in value
        found[key] = merged(inner, value) if both else value
    return found


def device(*sections: dict[str, Any]) -> dict[str, Any]:
    """The base with other keys over it."""
    found = BASE
    for section in sections:
        found = merged(found, section)
    return found


def metrics(drive: dict[str, Any], work: dict[str, Any] | None = None) -> dict[str, Any]:
    """Metrics of reads of a drive that was written once."""
    document = onl.benchmark(drive, {**READS, **(work or {})}).document
    assert document["checks"]["passed"]
    found: dict[str, Any] = document["metrics"]
    return found


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {
            "nand": {"page_size_bytes": 16384, "planes_per_die": 2, "multi_plane": True},
            "ftl": {"map_unit_bytes": 4096},
        },
        {"ftl": {"allocation": "superblock"}},
        {"nand": {"error_spread": {"block_cv": 0.3, "layers": 6, "layer_swing": 0.5}}},
        {"nand": {"cells": {"blocks": "all", "read_noise": 0.1}}},
        {"nand": {"cells": {"blocks": "all", "program": "foggy_fine", "randomiser": "hash"}}},
        {
            "nand": {
                "cells": {"blocks": "all", "coupling": [0.02, {"bitline": 1, "ratio": 0.01}]},
            }
        },
        {
            "nand": {
                "cell_type": "MLC",
                "stress": {"retention_h": 8760},
                "cells": {"blocks": "all", "program": "two_step"},
            },
            "reliability": {"kind": "states", "preset": "mlc"},
        },
        {"nand": {"cell_type": "QLC"}, "reliability": {"kind": "states", "preset": "qlc"}},
    ],
    ids=[
        "plain",
        "planes",
        "superblock",
        "spread",
        "noise",
        "foggy_fine",
        "coupling",
        "two_step",
        "qlc",
    ],
)
def test_cells_have_the_errors_that_their_states_let_expect(layout: dict[str, Any]) -> None:
    found = metrics(device(layout))["cells"]
    assert found["agrees"]
    rows = found["page_types"].values()
    assert all(row["errors"] > 1000 for row in rows)
    # One wordline of six has no neighbour that is programmed later, and more errors than the mean
    # that the tables know.
    for row in rows:
        assert abs(row["lost_pages"] - row["lost_pages_expected"]) <= 0.3 * row["pages"]


def test_a_drive_with_cells_moves_and_places_what_one_with_tables_does() -> None:
    work = {"read_pct": 50, "total": {"ios": 6000}}
    young = device({"nand": {"stress": None}})
    cells = metrics(young, work)
    table = metrics(merged(young, {"nand": {"cells": None}, "ecc": {"fidelity": "table"}}), work)
    assert cells.pop("cells")["agrees"]
    for found in (cells, table):
        # What the decoders saw, and how far a drawn page climbs, is of each drive.
        del found["recovery"]
    assert cells == table


def test_pages_climb_the_ladder_from_the_same_cells() -> None:
    old = {"nand": {"stress": {"retention_h": 8760}, "oob_size_bytes": 512}}
    ldpc = {"ecc": {"algorithm": "ldpc", "ldpc_code": "nand-4k-r090"}}
    ladder = {"controller": {"read_retry": {"step_count_max": 3}, "soft_read": {}}}
    base = {key: value for key, value in BASE.items() if key != "ecc"}
    drive = merged(merged({**base, "ecc": {"fidelity": "cells"}}, ldpc), merged(old, ladder))
    worn = [{"kind": "sequential_fill", "fills": 1}]
    found = metrics(drive, {"precondition": worn, "total": {"ios": 60}})
    steps = found["recovery"]
    assert steps["uncorrectable"] == 0
    assert steps["first_read"] < 60
    assert sum(steps["retry"]) > 10
    table = {"nand": {"cells": None}, "ecc": {"fidelity": "table"}}
    drawn = metrics(merged(drive, table), {"precondition": worn, "total": {"ios": 60}})
    # A third of the pages, lower ones, need no step in either.
    assert abs(steps["first_read"] - drawn["recovery"]["first_read"]) < 20


def test_a_search_for_levels_corrects_what_steps_do_not() -> None:
    # A year at 60 degrees Celsius, with one step made for an hour.
    stress = {"nand": {"stress": {"retention_h": 8760, "temperature_c": 60}}}
    retry = {"step_count_max": 1, "horizon_h": 1.0}
    before = device(stress, {"controller": {"read_retry": retry}})
    after = device(stress, {"controller": {"read_retry": {**retry, "calibrate": {}}}})
    lost, found = metrics(before), metrics(after)
    assert lost["uncorrectable_reads"] > 400
    assert found["recovery"]["calibrated"] > 300
    assert found["uncorrectable_reads"] < lost["uncorrectable_reads"] - 300
    # The same search by tables: its cost is that of 16 reads of each level, and one more.
    timed = {"timed": True, "total": {"ios": 200}}
    table = device({"nand": {"cells": None}, "ecc": {"fidelity": "table"}}, stress)
    slow = metrics(merged(table, {"controller": {"read_retry": {**retry, "calibrate": {}}}}), timed)
    fast = metrics(merged(table, {"controller": {"read_retry": retry}}), timed)
    gained = slow["latency_us"]["read"]["mean"] - fast["latency_us"]["read"]["mean"]
    assert gained > 16 * 50


def test_cells_need_states_and_a_code_of_the_package() -> None:
    for section, words in [
        ({"reliability": {"kind": "kim"}}, "reliability states"),
        ({"ecc": {"fidelity": "table"}}, "nand.cells"),
        ({"nand": {"cells": {"blocks": 100}}}, "1 to 48"),
        ({"nand": {"cells": {"program": "two_step"}}}, "foggy_fine"),
        ({"controller": {"read_retry": {"rber_factor": 0.5}}}, "rber_factor"),
    ]:
        drive = device(section)
        with pytest.raises(ConfigError, match=words):
            onl.load_device(drive)
