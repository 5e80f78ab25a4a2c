"""The tutorial's analysis of bandwidth against die count: every value of its tables, and scaling.

The tables are formulas evaluated by hand from the die's times; each printed digit is held.
"""

from __future__ import annotations

import math

import pytest

from opennandlab.theory import (
    BLOCK_SIZES,
    LINK_MB_S,
    MIXES,
    TUTORIAL_VARIANTS,
    TutorialDie,
    block_size_iops,
    block_size_mb_s,
    die_count_sweep,
    link_cap_mb_s,
    mixed_efficiency,
    mixed_rate,
    normalised_rms,
    rms,
    rms_per_watt,
    scaling_efficiency,
)
from opennandlab.theory.bandwidth import DIE_COUNTS

# One die: 100/0, 75/25, 50/50, 25/75, 0/100, root mean square; MB/s.
ONE_DIE = {
    "SLC n=64": (114.286, 44.214, 27.409, 19.860, 15.572, 57.279),
    "MLC n=64": (57.143, 16.389, 9.567, 6.755, 5.220, 27.197),
    "MLC n=128": (57.143, 17.815, 10.552, 7.496, 5.813, 27.510),
}
# Rates with the links that hold them back (S SATA-II, P PCIe), RMS: free, behind SATA-II, PCIe.
SWEEPS = {
    "SLC n=64": """
        1    114.29     44.21      27.41     19.86     15.57     57.28    57.3   57.3
        2    228.57     88.43      54.82     39.72     31.14    114.56   114.6  114.6
        4    457.14S   176.86     109.64     79.44     62.29    229.12   169.4  229.1
        8    914.29S   353.71S    219.27    158.88    124.57    458.23   231.9  458.2
        16  1828.57SP  707.43S    438.54S   317.77S   249.15    916.46   290.5  609.2
        32  3657.14SP 1414.85SP   877.09S   635.53S   498.30S  1832.92   300.0  827.2
        64  7314.29SP 2829.71SP  1754.18SP 1271.06SP  996.59S  3665.84   300.0  999.3
    """,
    "MLC n=64": """
        1     57.14     16.39       9.57      6.75      5.22     27.20    27.2   27.2
        4    228.57     65.56      38.27     27.02     20.88    108.79   108.8  108.8
        8    457.14S   131.11      76.53     54.04     41.76    217.57   153.4  217.6
        16   914.29S   262.23     153.06    108.07     83.52    435.15   200.4  435.1
        32  1828.57SP  524.46S    306.13S   216.15    167.05    870.29   262.5  537.3
        64  3657.14SP 1048.91SP   612.26S   432.30S   334.09S  1740.59   300.0  731.2
        128 7314.29SP 2097.82SP  1224.51SP  864.59S   668.19S  3481.18   300.0  915.9
    """,
}
TO_FILL = {
    "SLC n=64": {"sata2": [3, 7, 11, 16, 20], "pcie1x4": [9, 23, 37, 51, 65]},
    "MLC n=64": {"sata2": [6, 19, 32, 45, 58], "pcie1x4": [18, 62, 105, 149, 192]},
}


def digits(text: str) -> float:
    """Return half a unit of the last digit of a printed number, and a little for rounding twice."""
    return 0.5001 * 10.0 ** -len(text.partition(".")[2])


@pytest.mark.parametrize("name", list(ONE_DIE))
def test_one_die(name: str) -> None:
    die = TUTORIAL_VARIANTS[name]
    for share, expected in zip(MIXES, ONE_DIE[name], strict=False):
        assert die.mb_s(share) == pytest.approx(expected, abs=5.001e-4)
    assert die.rms_mb_s() == pytest.approx(ONE_DIE[name][-1], abs=5.001e-4)


def test_times_and_imbalance() -> None:
    times = {
        "SLC n=64": (35.0, 256.875, 7.34),
        "MLC n=64": (70.0, 766.25, 10.95),
        "MLC n=128": (70.0, 688.125, 9.83),
    }
    for name, (read_us, write_us, imbalance) in times.items():
        die = TUTORIAL_VARIANTS[name]
        assert (die.transfer_us, die.read_us, die.write_us) == (10.0, read_us, write_us)
        assert die.imbalance == pytest.approx(imbalance, abs=0.00501)


@pytest.mark.parametrize("name", list(SWEEPS))
def test_die_count_sweep(name: str) -> None:
    lines = [line.split() for line in SWEEPS[name].strip().splitlines()]
    rows = die_count_sweep(TUTORIAL_VARIANTS[name], [int(line[0]) for line in lines])
    for row, (_, *cells) in zip(rows, lines, strict=True):
        for index, cell in enumerate(cells[:5]):
            shown = cell.rstrip("SP")
            assert row.mb_s[index] == pytest.approx(float(shown), abs=digits(shown))
            held = [link for link in LINK_MB_S if row.is_capped(link, index)]
            marks = {"S": "sata2", "P": "pcie1x4"}
            assert held == [marks[mark] for mark in cell[len(shown) :]]
        for cell, value in zip(
            cells[5:],
            (row.rms_mb_s, row.rms_capped_mb_s("sata2"), row.rms_capped_mb_s("pcie1x4")),
            strict=True,
        ):
            assert value == pytest.approx(float(cell), abs=digits(cell))


@pytest.mark.parametrize("name", list(TO_FILL))
def test_dies_to_fill_a_link(name: str) -> None:
    die = TUTORIAL_VARIANTS[name]
    for link, counts in TO_FILL[name].items():
        cap = LINK_MB_S[link]
        assert [die.dies_to_fill(share, cap) for share in MIXES] == counts
        for share, count in zip(MIXES, counts, strict=True):
            assert die.device_mb_s(share, count) >= cap
            assert die.device_mb_s(share, count - 1) < cap


def test_measured_products_against_the_caps() -> None:
    # Tutorial: 208 and 743 MB/s RMS; 10 channels of 4 dies on SATA-II, 24 of 8 on PCIe.
    die = TUTORIAL_VARIANTS["SLC n=64"]
    for dies, link, measured, share in (
        (40, "sata2", 208.0, 0.693),
        (192, "pcie1x4", 743.0, 0.743),
    ):
        theory = die_count_sweep(die, [dies])[0].rms_capped_mb_s(link)
        assert theory == pytest.approx(LINK_MB_S[link])
        assert measured / theory == pytest.approx(share, abs=5.01e-4)


def test_cache_register_overlaps_array_and_bus() -> None:
    die = TutorialDie(25.0, 200.0, 3000.0, registers="cache")
    assert (die.read_us, die.write_us) == (25.0, 246.875)
    # A bus slower than the array decides, and the erase still comes on top.
    slow = TutorialDie(25.0, 200.0, 3000.0, bus_mb_s=10.0, registers="cache")
    assert (slow.read_us, slow.write_us) == (400.0, 446.875)
    with pytest.raises(ValueError, match="registers is 'both'"):
        TutorialDie(25.0, 200.0, 3000.0, registers="both")


def test_channels_limit_the_sweep() -> None:
    die = TUTORIAL_VARIANTS["SLC n=64"]
    row = die_count_sweep(die, [40], channels=2)[0]
    assert row.mb_s == pytest.approx([800.0, 800.0, 800.0, 794.41, 622.87], rel=1e-4)
    free = die_count_sweep(die, [40], channels=10)[0]
    assert free.mb_s[0] == 4000.0  # 40 dies could read 4571
    assert free.mb_s[1:] == die_count_sweep(die, [40])[0].mb_s[1:]
    with pytest.raises(ValueError, match="channels is 0"):
        die_count_sweep(die, [4], channels=0)


def test_directions_of_a_link() -> None:
    caps = [link_cap_mb_s("pcie1x4", share, "apart") for share in MIXES]
    assert caps == pytest.approx([1000.0, 1333.333, 2000.0, 1333.333, 1000.0], rel=1e-6)
    assert {link_cap_mb_s("sata2", share, "apart") for share in MIXES} == {300.0}
    assert {link_cap_mb_s("pcie1x4", share) for share in MIXES} == {1000.0}
    row = die_count_sweep(TUTORIAL_VARIANTS["SLC n=64"], [64], directions="apart")[0]
    assert row.capped_mb_s["pcie1x4"] == pytest.approx(
        [1000.0, 1333.333, 1754.176, 1271.063, 996.594], rel=1e-6
    )
    with pytest.raises(ValueError, match="link is 'usb'; accepted: sata2, pcie1x4"):
        link_cap_mb_s("usb", 0.5)
    with pytest.raises(ValueError, match="accepted: shared, apart"):
        link_cap_mb_s("sata2", 0.5, "both")


def test_rms() -> None:
    assert rms([7.0]) == 7.0
    assert rms([0.0, 0.0, 0.0, 0.0, 5.0]) == pytest.approx(math.sqrt(5.0))
    # At least the mean, at most the largest.
    for name in ONE_DIE:
        rates = [TUTORIAL_VARIANTS[name].mb_s(share) for share in MIXES]
        assert sum(rates) / 5 < rms(rates) < max(rates)
    for wrong in ([], [-1.0], [math.inf], [math.nan]):
        with pytest.raises(ValueError, match="accepted"):
            rms(wrong)


def test_scaling_of_units() -> None:
    one = [500.0, 300.0, 250.0, 220.0, 200.0]
    for units in (1, 2, 8):
        together = [units * rate for rate in one]
        assert normalised_rms(together, one) == pytest.approx(units)
        assert scaling_efficiency(together, one, units) == pytest.approx(1.0)
    assert scaling_efficiency([1000.0] * 5, [500.0] * 5, 4) == 0.5
    with pytest.raises(ValueError, match="the same mixes"):
        normalised_rms([1.0], one)
    with pytest.raises(ValueError, match="RMS of one unit is 0"):
        normalised_rms(one, [0.0] * 5)


def test_tutorial_power() -> None:
    # 88 K-IOPS RMS at 7 per watt; 8 K-IOPS at 3 per watt.
    assert rms_per_watt([88.0] * 5, 88.0 / 7.0) == pytest.approx(7.0)
    assert rms_per_watt([8.0], 8.0 / 3.0) == pytest.approx(3.0)
    with pytest.raises(ValueError, match="watts is 0"):
        rms_per_watt([8.0], 0.0)


def test_the_tutorial_die_mixes_without_collisions() -> None:
    for die in TUTORIAL_VARIANTS.values():
        read, write = die.mb_s(1.0), die.mb_s(0.0)
        for share in MIXES:
            assert mixed_rate(share, read, write) == pytest.approx(die.mb_s(share))
            assert mixed_efficiency(die.mb_s(share), share, read, write) == pytest.approx(1.0)
    assert mixed_efficiency(0.9 * 150.0, 0.5, 300.0, 100.0) == pytest.approx(0.9)


def test_block_sizes() -> None:
    assert (BLOCK_SIZES[0], BLOCK_SIZES[-1], len(BLOCK_SIZES)) == (512, 1 << 20, 12)
    rate, page = 1000.0, 4096
    bandwidth = [block_size_mb_s(rate, size, page) for size in BLOCK_SIZES]
    iops = [block_size_iops(rate, size, page) for size in BLOCK_SIZES]
    assert bandwidth[:4] == [125.0, 250.0, 500.0, 1000.0]
    assert set(bandwidth[3:]) == {1000.0}
    assert len(set(iops[:4])) == 1
    for index in range(4, len(iops)):
        assert iops[index] == pytest.approx(iops[index - 1] / 2.0)
    # A size that is not a multiple pays for the whole last page: 4096 of 2 x 4000.
    assert block_size_mb_s(rate, 4096, 4000) == pytest.approx(512.0)
    assert block_size_mb_s(rate, 1 << 20, 4000) == pytest.approx(1000.0 * 1048576 / (263 * 4000))
    with pytest.raises(ValueError, match="block_bytes is 0"):
        block_size_mb_s(rate, 0, page)


def test_default_die_counts_are_powers_of_two() -> None:
    assert tuple(1 << power for power in range(8)) == DIE_COUNTS
