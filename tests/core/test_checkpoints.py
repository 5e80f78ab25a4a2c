"""`ftl.map_checkpoint`: counted, of no effect where it is absent, refused on other maps."""

from __future__ import annotations

from typing import Any

import pytest

import opennandlab as onl
from opennandlab.base.errors import ConfigError

# 16 map pages of 1024 entries; the cache holds one of them.
DEVICE: dict[str, Any] = {
    "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "blocks_per_plane": 320,
             "pages_per_block": 64, "page_size_bytes": 4096},
    "ftl": {"over_provisioning_pct": 0.25, "mapping": {"kind": "dftl", "cache_bytes": 4096}},
}  # fmt: skip
WRITES = {
    "name": "writes", "pattern": "random", "block_size_bytes": 4096, "timed": False,
    "precondition": [{"kind": "sequential_fill"}], "total": {"ios": 10_000},
}  # fmt: skip


def with_checkpoint(**keys: int) -> dict[str, Any]:
    """Return the device with checkpoints."""
    return {**DEVICE, "ftl": {**DEVICE["ftl"], "map_checkpoint": keys}}


def test_checkpoints_are_counted() -> None:
    plain = onl.benchmark(DEVICE, WRITES, seed=3).document["metrics"]["mapping"]
    assert "checkpoints" not in plain
    found = onl.benchmark(with_checkpoint(every_writes=500, pages=6), WRITES, seed=3)
    mapping = found.document["metrics"]["mapping"]
    assert mapping["checkpoints"] == {"count": 20, "pages": 120}
    # Some changes are written by checkpoints, and need no eviction then.
    programs = [it["programs"]["update"] for it in (plain, mapping)]
    assert programs[0] < programs[1] <= programs[0] + 120


def test_a_checkpoint_is_no_larger_than_the_map() -> None:
    found = onl.benchmark(with_checkpoint(every_writes=5000, pages=1000), WRITES, seed=3)
    pages = onl.load_device(DEVICE).effective["logical_pages"] // 1024
    assert found.document["metrics"]["mapping"]["checkpoints"] == {"count": 2, "pages": 2 * pages}


@pytest.mark.parametrize(
    ("ftl", "said"),
    [
        ({"mapping": "page"}, r"ftl.map_checkpoint: .*mapping page; accepted: none"),
        ({"mapping": {"kind": "fast", "log_blocks": 4}}, r"ftl.map_checkpoint: .*mapping fast"),
        ({"map_checkpoint": {"every_writes": 0, "pages": 8}}, r"every_writes: 0"),
        ({"map_checkpoint": {"every_writes": 8, "pages": 0}}, r"pages: 0"),
        ({"map_checkpoint": {"every_writes": 8, "pages": 65537}}, r"pages: 65537"),
        ({"map_checkpoint": {"every_writes": -1, "pages": 8}}, r"ftl.map_checkpoint"),
        ({"map_checkpoint": {"every_writes": 8}}, r"ftl.map_checkpoint"),
        ({"map_checkpoint": "always"}, r"ftl.map_checkpoint"),
    ],
)
def test_what_cannot_be_is_refused(ftl: dict[str, Any], said: str) -> None:
    good = with_checkpoint(every_writes=100, pages=8)
    with pytest.raises(ConfigError, match=said):
        onl.load_device({**good, "ftl": {**good["ftl"], **ftl}})
