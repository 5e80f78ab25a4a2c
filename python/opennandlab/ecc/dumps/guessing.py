"""The code of an unknown dump.

```text
known dialects ──► a sample decodes? ──► yes: that one
no ──► places of words (chunks, or records of the OOB) x orders of bits
   ──► gcd of differences of four words, at random ──► degree above 20, twice ──► generator
   ──► degree, strength, primitive polynomial ──► parities again ──► mask ──► a layout that decodes
```
Differences of words of one step cancel masks, and the scrambler if their pages have the same number
in their blocks.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

from opennandlab.base.errors import ConfigError
from opennandlab.documents.ecc_layout import Order
from opennandlab.ecc.dumps.coding import decode
from opennandlab.ecc.dumps.dialects import DIALECTS, Asked, layout_of
from opennandlab.ecc.dumps.files import pieces
from opennandlab.ecc.dumps.inspecting import Column, inspect
from opennandlab.ecc.dumps.layout import ORDERS, Layout, Word, bytes_at, gather, halves_swapped
from opennandlab.ecc.dumps.polynomials import DEGREES, bch_of, divisors, gcd, without_x

if TYPE_CHECKING:
    from opennandlab.ecc.dumps.layout import Pages

SAMPLE_PAGES = 512
TRIED_PAGES = 16
QUADRUPLES = 12
# Of two random words a common factor of this degree is one in a million.
DEGREE_MIN = 20
STEPS = (512, 1024, 2048, 4096)
META_MAX = 32
# A layout is right if most of the words decode.
RIGHT_SHARE = 0.5
# Places that are searched for a single word, some seconds each.
SEARCHED_PLACES = 8
# Pages of a block, for scramblers.
BLOCK_PAGES = (128, 64, 32)
# Bytes of a word other than 00 and FF, for it to be evidence.
TOLD_BYTES = 32
# A dialect by which words decode is no chance.
CHANCE_MAX = 1e-9
# Pages with the same stream are that many apart.
TURN = 128


@dataclass(frozen=True)
class Guess:
    """What a dump's code may be.

    Args:
        layout: The layout.
        decoded: Share of the words of the sample that decode.
        others: Names of dialects that fit as well.
        how: `dialect`, `differences` or `search`.
    """

    layout: Layout
    decoded: float
    others: list[str]
    how: str


def guess(path: Path, page_bytes: int, oob_bytes: int) -> Guess | None:
    """Return the code of a dump, or None if no linear code is found.

    Args:
        path: The dump.
        page_bytes: Data of a page.
        oob_bytes: Its spare bytes.

    Raises:
        ConfigError: for a dump of erased pages alone.
    """
    numbers, pages, columns, tail = _sample(path, page_bytes, oob_bytes)
    found = _known(pages, numbers, page_bytes, oob_bytes)
    if found is not None:
        return found
    places = list(_placed(page_bytes, oob_bytes, columns, tail))
    for placed in places:
        for order in ORDERS:
            one = _by_differences(placed, order, numbers, pages)
            if one is not None:
                return one
    return next(_by_search(places, numbers, pages), None)


def _sample(
    path: Path, page_bytes: int, oob_bytes: int
) -> tuple[list[int], Pages, list[Column], int]:
    """Return numbers and content of some written pages, columns of the OOB, the constant tail."""
    import numpy as np

    seen = inspect(path, page_bytes, oob_bytes)
    if seen.pages == seen.erased:
        raise ConfigError(str(path), f"all {seen.pages} pages are erased; accepted: written ones")
    numbers: list[int] = []
    kept: list[Pages] = []
    for first, pages in pieces(path, page_bytes + oob_bytes):
        rows = np.flatnonzero((pages != 0xFF).any(axis=1))
        numbers += [first + int(row) for row in rows]
        kept.append(pages[rows])
        if len(numbers) >= SAMPLE_PAGES:
            break
    return numbers[:SAMPLE_PAGES], np.concatenate(kept)[:SAMPLE_PAGES], seen.columns, seen.tail


def _known(pages: Pages, numbers: list[int], page_bytes: int, oob_bytes: int) -> Guess | None:
    """Return the dialect by which a sample decodes; of several the one with fewest bits mended."""
    found: list[tuple[float, float, str, Layout]] = []
    # Spread over the sample, so that the pages of a block show how many there are.
    rows = sorted({at * (len(pages) - 1) // (TRIED_PAGES - 1) for at in range(TRIED_PAGES)})
    tried, some = pages[rows], [numbers[row] for row in rows]
    for name, dialect in DIALECTS.items():
        blocks = (None,) if dialect.scrambler is None else BLOCK_PAGES
        for step, strength, block in product(dialect.fields, dialect.strengths, blocks):
            asked = Asked(page_bytes, oob_bytes, step, strength, block=block)
            try:
                layout = layout_of(name, asked)
            except ConfigError:
                continue
            share, mended, words = _decoded(layout, tried, some)
            chance = layout.code(layout.words[0]).miscorrection_probability() ** words
            if share >= RIGHT_SHARE and chance < CHANCE_MAX:
                found.append((-share, mended, name, layout))
    if not found:
        return None
    found.sort(key=lambda one: (one[0], one[1], -one[3].strength))
    share, _, name, layout = found[0]
    others = [one[3].name for one in found[1:]]
    return Guess(layout, -share, others, "dialect")


def _decoded(layout: Layout, pages: Pages, numbers: list[int]) -> tuple[float, float, int]:
    """Return the share of words that decode, bits mended in one, and how many words decode.

    Words of hardly any bytes but 00 and FF are codewords of many codes, and are left out.
    """
    import numpy as np

    states = np.concatenate(
        [decode(layout, pages[at : at + 1], number).states for at, number in enumerate(numbers)]
    )
    is_told = np.zeros(states.shape, np.bool_)
    for at, word in enumerate(layout.words):
        data = gather(pages, word.covered, is_little=layout.is_little)
        is_told[:, at] = ((data != 0) & (data != 0xFF)).sum(axis=1) >= TOLD_BYTES
    if not is_told.any():
        return 0.0, 0.0, 0
    states = states[is_told]
    good = states >= 0
    # Equal words are one piece of evidence.
    rows = np.argwhere(is_told)[good]
    parts = [
        gather(pages[[row]], layout.words[at].covered, is_little=layout.is_little)
        for row, at in rows
    ]
    different = len({part.tobytes() for part in parts})
    return float(good.mean()), float(states[good].mean()) if good.any() else 0.0, different


@dataclass(frozen=True)
class Places:
    """Where words may be: covered bytes, and room for parity behind them.

    Args:
        page_bytes: Data of a page.
        oob_bytes: Its spare bytes.
        step: Data of a word.
        data: First byte of the data of each word.
        ends: Bytes of the rest of each word: covered ones, then parity.
    """

    page_bytes: int
    oob_bytes: int
    step: int
    data: list[int]
    ends: list[tuple[int, int]]


def _placed(page_bytes: int, oob_bytes: int, columns: list[Column], tail: int) -> Iterator[Places]:
    raw = page_bytes + oob_bytes
    varying = _varying(columns)
    for step in (one for one in STEPS if page_bytes % one == 0):
        count = page_bytes // step
        data = [at * step for at in range(count)]
        for ends in _records(varying, count, page_bytes, raw):
            yield Places(page_bytes, oob_bytes, step, data, ends)
        for size in {raw // count, (raw - tail) // count, -(-(raw - tail) // count)}:
            if step < size <= raw // count:
                starts = [at * size for at in range(count)]
                ends = [(at + step, at + size) for at in starts]
                yield Places(page_bytes, oob_bytes, step, starts, ends)


def _varying(columns: list[Column]) -> list[Column]:
    """Return runs of bytes that change; of a single page, from the first to the last but FF."""
    found = [one for one in columns if one.value is None]
    if not found and (used := [one for one in columns if one.value != 0xFF]):
        found = [Column(used[0].first, used[-1].first + used[-1].count - used[0].first, None)]
    return found


def _records(
    varying: list[Column], count: int, page_bytes: int, raw: int
) -> Iterator[list[tuple[int, int]]]:
    """Yield records of the OOB with parity for each word, with covered bytes in front."""
    if not varying:
        return
    first, last = varying[0].first, varying[-1].first + varying[-1].count
    sizes = {(last - first) // count, -(-(last - first) // count)}
    even = [[(first + at * one, first + (at + 1) * one) for at in range(count)] for one in sizes]
    for edges in [[(one.first, one.first + one.count) for one in varying], *even]:
        sizes = {stop - start for start, stop in edges}
        if len(edges) != count or len(sizes) > 1 or 0 in sizes or edges[-1][1] > raw:
            continue
        gaps = [first - page_bytes, *(after[0] - before[1] for before, after in pairwise(edges))]
        for meta in range(min([*gaps, META_MAX]) + 1):
            yield [(start - meta, stop) for start, stop in edges]


def _by_differences(placed: Places, order: Order, numbers: list[int], pages: Pages) -> Guess | None:
    generator = _generator(placed, order, numbers, pages)
    if generator is None:
        return None
    code = bch_of(generator)
    if code is None:
        return None
    layout = _layout(placed, order, code)
    if layout is None:
        return None
    layout = replace(layout, mask=_mask(layout, pages))
    share, _, _ = _decoded(layout, pages[:TRIED_PAGES], numbers[:TRIED_PAGES])
    return Guess(layout, share, [], "differences") if share >= RIGHT_SHARE else None


def _by_search(places: list[Places], numbers: list[int], pages: Pages) -> Iterator[Guess]:
    """Yield layouts for a single word: primitive polynomials that divide it, or its complement."""
    for placed, order in product(places[:SEARCHED_PLACES], ORDERS):
        words = [word for group in _words(placed, order, numbers, pages) for word in group]
        if len(words) != 1:
            return
        first, stop = placed.ends[0]
        for base, m in product(_bases(placed), DEGREES):
            strength = 8 * (stop - first) // m
            for polynomial in divisors(words[0] ^ base, m) if strength else ():
                layout = _layout(placed, order, (m, strength, polynomial))
                if layout is None:
                    continue
                one = replace(layout, mask=None if base else layout.mask)
                share, flips, _ = _decoded(one, pages, numbers)
                if share == 1.0 and not flips:
                    yield Guess(one, share, [], "search")


def _bases(placed: Places) -> tuple[int, int]:
    """Return words that a code has with no mask, and with that of erased words: zeros, ones."""
    first, stop = placed.ends[0]
    return 0, (1 << 8 * (placed.step + stop - first)) - 1


def _generator(placed: Places, order: Order, numbers: list[int], pages: Pages) -> int | None:
    """Return the divisor that differences of words share; None if there is no such."""
    words = _words(placed, order, numbers, pages)
    groups = [group for group in words if len(group) >= 4]
    if not groups:
        return _of_few([word for group in words for word in group], _bases(placed))
    dice = random.Random(len(numbers))  # noqa: S311 (a sample)
    found: list[int] = []
    for _ in range(QUADRUPLES):
        first, *others = dice.sample(dice.choice(groups), 4)
        common = without_x(reduce(gcd, (first ^ other for other in others)))
        # A flipped bit leaves no common divisor; chance leaves a small factor too much.
        if common.bit_length() > DEGREE_MIN:
            found.append(common)
        if len(found) == 3:
            break
    both = [gcd(one, other) for one, other in combinations(found, 2)]
    return max((one for one in both if one.bit_length() > DEGREE_MIN), default=None)


def _of_few(words: list[int], bases: tuple[int, int]) -> int | None:
    """Return the common divisor of a few words of any step, or of their complements."""
    for base in bases if len(words) >= 2 else ():
        common = without_x(reduce(gcd, (word ^ base for word in words)))
        if common.bit_length() > DEGREE_MIN:
            return common
    return None


def _words(placed: Places, order: Order, numbers: list[int], pages: Pages) -> list[list[int]]:
    """Return different words of one step and one place in a block, as polynomials."""
    import numpy as np

    groups: dict[tuple[int, int], dict[int, None]] = {}
    turn = 1 if len(numbers) < 4 * TURN else TURN
    for step, (start, (first, stop)) in enumerate(zip(placed.data, placed.ends, strict=True)):
        parts = [bytes_at(start, placed.step), bytes_at(first, stop - first)]
        found = gather(pages, parts, is_little=False)
        if order == "nibble":
            found = halves_swapped(found)
        if order == "lsb":
            found = np.packbits(np.unpackbits(found, axis=1, bitorder="little"), axis=1)
        for number, row in zip(numbers, found, strict=True):
            key = step, number % turn
            groups.setdefault(key, {})[int.from_bytes(row.tobytes(), "big")] = None
    return [list(one) for one in groups.values()]


def _layout(placed: Places, order: Order, code: tuple[int, int, int]) -> Layout | None:
    """Return the layout of a code in places; None if there is no such code, or no room for it."""
    from opennandlab.ecc.bch import BchCode

    m, strength, polynomial = code
    try:
        longest = BchCode(m, strength, polynomial=polynomial)
    except ConfigError:
        return None
    parity = longest.parity_bytes
    words = []
    for start, (first, stop) in zip(placed.data, placed.ends, strict=True):
        if (meta := stop - parity - first) < 0:
            return None
        covered = [bytes_at(start, placed.step)]
        covered += [bytes_at(first, meta)] if meta else []
        words.append(Word(tuple(covered), bytes_at(first + meta, parity)))
    if words[0].bits > longest.max_data_bits:
        return None
    return Layout(
        "guessed", placed.page_bytes, placed.oob_bytes, m, strength, polynomial, order,
        bytes(parity), tuple(words), tuple(bytes_at(at, placed.step) for at in placed.data),
        bytes_at(placed.page_bytes, 1),
    )  # fmt: skip


def _mask(layout: Layout, pages: Pages) -> bytes:
    """Return the most common difference between stored and computed parity."""
    from opennandlab.ecc.dumps.coding import parity_of

    counts: Counter[bytes] = Counter()
    for word in layout.words:
        stored, computed = parity_of(layout, word, pages)
        counts.update(row.tobytes() for row in stored ^ computed)
    return counts.most_common(1)[0][0]
