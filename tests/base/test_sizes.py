"""Sizes with their units: the three forms that are taken, each as it always was."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.base.units import parse_bytes
from opennandlab.measured import csv
from opennandlab.pts.bench.matrix import sizes

NUMBERS = st.one_of(
    st.from_regex(r"[0-9]{1,7}(\.[0-9]{1,6})?", fullmatch=True),
    st.integers(0, 40_000).map(lambda count: str(count * 512)),
    st.integers(0, 200).map(lambda count: f"{count / 2:g}"),
)
KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
OF_DRIVES = {
    "": 1, "B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB,
    "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
}  # fmt: skip
# In any case of letters.
OF_TESTS = {"": 1, "b": 1, "k": KIB, "kib": KIB, "kb": 10**3, "m": MIB, "mib": MIB, "mb": 10**6}
OF_TABLES = {
    "b": 1, "k": KIB, "kb": KIB, "ki": KIB, "kib": KIB, "m": MIB, "mb": MIB, "mi": MIB,
    "mib": MIB, "g": GIB, "gb": GIB, "gib": GIB, "t": TIB, "tb": TIB, "tib": TIB,
}  # fmt: skip


def cased(data: st.DataObject, unit: str) -> str:
    return "".join(data.draw(st.sampled_from((letter, letter.upper()))) for letter in unit)


@given(NUMBERS, st.sampled_from(sorted(OF_DRIVES)), st.sampled_from(("", " ")))
def test_sizes_of_drives(number: str, unit: str, gap: str) -> None:
    exact = Fraction(number) * OF_DRIVES[unit]
    text = f"{number}{gap}{unit}"
    if exact < 1 << 63:
        assert parse_bytes(text) == int(exact)
    other = unit.swapcase()
    if other not in OF_DRIVES:
        with pytest.raises(ConfigError, match="is not understood"):
            parse_bytes(f"{number}{other}")


@given(st.data(), NUMBERS, st.sampled_from(sorted(OF_TESTS)))
def test_sizes_of_requests(data: st.DataObject, number: str, unit: str) -> None:
    exact = Fraction(number) * OF_TESTS[unit]
    text = number + cased(data, unit)
    if 0 < exact <= 16 * MIB and exact % 512 == 0:
        assert sizes(text) == (exact,)
    else:
        with pytest.raises(ValueError, match=" is "):
            sizes(text)


@given(st.data(), NUMBERS, st.sampled_from(sorted(OF_TABLES)))
def test_sizes_of_tables(data: st.DataObject, number: str, unit: str) -> None:
    exact = Fraction(number) * OF_TABLES[unit]
    table = f"block,rw,iops\n{number} {cased(data, unit)},0/100,10\n"
    if 512 <= exact <= 64 * MIB and exact % 512 == 0:
        assert csv.cells(table, "t.csv", None)[0].block_bytes == exact
    else:
        with pytest.raises(ResultError, match=r"not a (request )?size"):
            csv.cells(table, "t.csv", None)
