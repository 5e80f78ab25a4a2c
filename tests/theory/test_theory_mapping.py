"""Maps of blocks and caches of maps: the closed forms next to simulations of a few lines.

The simulations are the textbook schemes on plain lists, written without the simulator, and for BAST
and FAST merge in full whatever a log holds, as the formulas do.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from opennandlab.theory import (
    che_hit_rate,
    che_hit_rate_zipf,
    waf_bast,
    waf_block_mapping,
    waf_fast,
    zipf_popularity,
)


def lru_hit_rate(popularity: np.ndarray, held: int, references: int, seed: int) -> float:
    """Ask a real cache, and count from the second half on."""
    ranks = np.random.default_rng(seed).choice(popularity.size, references, p=popularity)
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for number, entry in enumerate(ranks.tolist()):
        if entry in cache:
            cache.move_to_end(entry)
            hits += number >= references // 2
            continue
        if len(cache) == held:
            cache.popitem(last=False)
        cache[entry] = None
    return hits / (references - references // 2)


def bast_waf(data: int, logs: int, pages: int, policy: str, seed: int) -> float:
    """Uniform single pages on full blocks: a log block each for a few, the oldest is merged."""
    writes = 400_000
    draw = random.Random(seed)  # noqa: S311 (a test)
    # Pages in the log block of each block of data that has one, the oldest log block first.
    used: OrderedDict[int, int] = OrderedDict()
    merges = 0
    for number in range(writes):
        block = draw.randrange(data)
        if used.get(block) == pages:
            del used[block]
            merges += number >= writes // 4
        elif block not in used and len(used) == logs:
            used.popitem(last=False)
            merges += number >= writes // 4
        used[block] = used.get(block, 0) + 1
        if policy == "lru":
            used.move_to_end(block)
    return 1 + pages * merges / (writes - writes // 4)


def fast_waf(data: int, logs: int, pages: int, periods: int, seed: int) -> float:
    """Uniform single pages on full blocks: a log of all, whose oldest block is recycled."""
    draw = random.Random(seed)  # noqa: S311 (a test)
    # Where the newest copy of a page is, of those that are in the log: by block of data.
    newest: list[dict[int, tuple[int, int]]] = [{} for _ in range(data)]
    log: deque[list[tuple[int, int]]] = deque()
    merges = 0
    for period in range(periods):
        if len(log) == logs:
            for place, (block, page) in enumerate(log.popleft()):
                if newest[block].get(page) == (period - logs, place):
                    newest[block].clear()
                    merges += period >= periods // 4
        written = [(draw.randrange(data), draw.randrange(pages)) for _ in range(pages)]
        for place, (block, page) in enumerate(written):
            newest[block][page] = (period, place)
        log.append(written)
    return 1 + merges / (periods - periods // 4)


@pytest.mark.parametrize(
    ("pages", "held", "exponent", "expected"),
    [
        (65_536, 4_096, 0.99, 0.6633),
        (262_144, 8_192, 0.99, 0.6300),
        (65_536, 16_384, 0.8, 0.6351),
        (32_768, 1_024, 1.2, 0.8236),
        (1_000, 250, 0.0, 0.25),
    ],
)
def test_hit_rates_of_the_table(pages: int, held: int, exponent: float, expected: float) -> None:
    assert che_hit_rate_zipf(pages, exponent, held) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("pages", "held", "exponent"),
    [(4_096, 256, 0.99), (4_096, 1_024, 0.8), (2_048, 512, 0.0), (8_192, 512, 1.2)],
)
def test_hit_rate_of_a_cache(pages: int, held: int, exponent: float) -> None:
    popularity = zipf_popularity(pages, exponent)
    measured = lru_hit_rate(popularity, held, 600_000, seed=pages + held)
    # 4.5 sigma of 300,000 references, and what is left of the approximation at such sizes.
    assert che_hit_rate(popularity, held) == pytest.approx(measured, abs=0.0045)


def test_hit_rate_of_classes() -> None:
    popularity = np.concatenate([np.full(200, 0.8 / 200), np.full(1800, 0.2 / 1800)])
    measured = lru_hit_rate(popularity, 400, 600_000, seed=7)
    assert che_hit_rate(popularity, 400) == pytest.approx(measured, abs=0.0045)


def test_hit_rate_at_its_limits() -> None:
    assert che_hit_rate([3.0, 1.0, 0.0], 2) == 1.0
    assert che_hit_rate([3.0, 1.0], 0) == 0.0
    assert che_hit_rate([1e300, 1e300, 1.0], 2) == pytest.approx(1.0)
    assert che_hit_rate([1e300, 1e300, 1e-300, 1e-320], 3) == pytest.approx(1.0)
    # Millions of pages, and a cache that lacks a few of them.
    assert che_hit_rate_zipf(2_000_000, 0.99, 1_999_990) == pytest.approx(1.0, abs=1e-5)
    assert che_hit_rate_zipf(2_000_000, 0.0, 20_000) == 0.01
    rates = [che_hit_rate_zipf(100_000, 0.99, held) for held in (1, 10, 100, 1_000, 99_999)]
    assert rates == sorted(rates)


def test_block_map() -> None:
    assert [waf_block_mapping(64, pages) for pages in (1, 2, 32, 64)] == [64, 32, 2, 1]


@pytest.mark.parametrize(
    ("data", "logs", "pages", "expected"),
    [(256, 8, 64, 63.00), (64, 32, 16, 9.00), (1024, 64, 64, 1 + 64 * (1 - 64 / 1024))],
)
def test_bast_where_logs_do_not_fill(data: int, logs: int, pages: int, expected: float) -> None:
    assert waf_bast(data, logs, pages) == pytest.approx(expected, rel=1e-9)
    assert waf_bast(data, logs, pages, "lru") == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize("replacement", ["fifo", "lru"])
@pytest.mark.parametrize(
    ("data", "logs", "pages"), [(256, 8, 64), (64, 32, 16), (64, 60, 16), (100, 80, 8), (32, 24, 4)]
)
def test_bast_beside_a_simulation(
    data: int, logs: int, pages: int, replacement: Literal["fifo", "lru"]
) -> None:
    measured = bast_waf(data, logs, pages, replacement, seed=logs)
    assert waf_bast(data, logs, pages, replacement) == pytest.approx(measured, rel=0.01)


def test_bast_with_a_log_for_each_block() -> None:
    # Each log block takes b pages before it is merged.
    assert waf_bast(64, 64, 16) == waf_bast(64, 100, 16, "lru") == 2.0
    assert waf_bast(64, 64, 16) == pytest.approx(bast_waf(64, 64, 16, "fifo", seed=1), rel=1e-3)


@pytest.mark.parametrize(
    ("data", "logs", "pages", "expected"),
    [(256, 8, 64, 23.1), (1024, 8, 64, 44.5), (1024, 64, 64, 13.76), (512, 16, 32, 17.17)],
)
def test_fast_values(data: int, logs: int, pages: int, expected: float) -> None:
    assert waf_fast(data, logs, pages) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("data", "logs", "pages"),
    [(256, 8, 64), (512, 16, 32), (64, 1, 16), (16, 4, 8), (8, 8, 16), (2, 1, 8), (16, 64, 8)],
)
def test_fast_beside_a_simulation(data: int, logs: int, pages: int) -> None:
    measured = fast_waf(data, logs, pages, 12_000, seed=data + logs)
    # The worst is the longest log, whose merges are rare: 0.092 +- 0.003 in a recycled block.
    assert waf_fast(data, logs, pages) == pytest.approx(measured, rel=0.008)


def test_fast_at_its_limits() -> None:
    # A log of one block merges what is in it: a page is in D different blocks at most.
    assert waf_fast(10**6, 1, 64) == pytest.approx(65.0, rel=1e-4)
    # A log so long that every page is written again in it.
    assert waf_fast(4, 10_000, 64) == 1.0
    wafs = [waf_fast(256, logs, 64) for logs in (1, 2, 4, 8, 16, 64, 256)]
    assert wafs == sorted(wafs, reverse=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: waf_bast(0, 1, 64), "data_blocks is 0"),
        (lambda: waf_bast(8, 1, 64, "clock"), "replacement is 'clock'; accepted: fifo, lru"),
        (lambda: waf_fast(8, 0, 64), "log_blocks is 0"),
        (lambda: waf_block_mapping(64, 65), "pages_per_request is 65"),
        (lambda: che_hit_rate([], 1), "no entry that is asked for"),
        (lambda: che_hit_rate([0.5, -0.5], 1), "none negative"),
        (lambda: che_hit_rate([1.0], -1), "cache_entries is -1"),
        (lambda: zipf_popularity(10, -1.0), "exponent is -1"),
    ],
)
def test_refusals(call: Callable[[], float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
