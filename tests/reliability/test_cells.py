"""Cells from Python and the command line, against an oracle of their own and hostile input."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from opennandlab import reliability
from opennandlab.base.errors import ConfigError
from opennandlab.cli import app

RUNNER = CliRunner()
RATIO = 0.02


def run(*arguments: str, code: int = 0) -> str:
    result = RUNNER.invoke(app, ["reliability", "cells", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def answer(*arguments: str, code: int = 0) -> dict:
    return json.loads(run(*arguments, "--json", code=code))


def below(x: float, degrees: float | None) -> float:
    """Return the distribution function of unit variance; Student's t by its density."""
    if degrees is None:
        return 0.5 * math.erfc(-x / math.sqrt(2))
    scale = math.sqrt((degrees - 2) / degrees)
    front = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(degrees * math.pi)
    # By Simpson's rule from 0.
    at = np.linspace(0, x / scale, 4001)
    density = front * (1 + at**2 / degrees) ** (-(degrees + 1) / 2)
    weights = np.ones(4001)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return 0.5 + float(weights @ density) * (at[1] - at[0]) / 3


def oracle(name: str, stress: dict[str, float], degrees: float | None = None) -> list[float]:
    """Return the rates of the page types, summed over states and neighbours one by one."""
    model = reliability.load_model(name)
    found = model.states(**stress)
    count = len(found.mean)
    target = [-1.4, *map(float, range(count - 1))]
    centre = sum(target) / count
    variance = sum((one - centre) ** 2 for one in target) / count
    rates = []
    for page in range(len(found.page_types)):
        at = [k for k in range(count - 1) if found.page_of_level[k] == page]
        wrong = 0.0
        for state, neighbour in np.ndindex(count, count):
            width = math.sqrt(found.sigma[state] ** 2 - RATIO**2 * variance)
            shift = RATIO * (target[neighbour] - centre)
            ends = [(found.default_levels[k] - found.mean[state] - shift) / width for k in at]
            shares = [0.0, *(below(end, degrees) for end in ends), 1.0]
            own = sum(k < state for k in at) % 2
            wrong += sum(
                shares[part + 1] - shares[part] for part in range(len(at) + 1) if part % 2 != own
            )
        rates.append(wrong / count**2)
    return rates


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["slc", "mlc", "tlc", "qlc"]),
    st.floats(0, 3000),
    st.floats(0, 20_000),
    st.floats(0, 1000),
)
def test_rates_are_sums_over_states_and_neighbours(
    name: str, cycles: float, hours: float, reads: float
) -> None:
    stress = {"pe_cycles": cycles, "retention_h": hours, "reads": reads}
    counted = reliability.count_cells(name, **stress, wordlines=1, page_bytes=1)
    ours = [page.cells for page in counted.pages]
    assert ours == pytest.approx(oracle(name, stress), rel=1e-9, abs=1e-14)
    plain = reliability.load_model(name)
    rates = [float(plain.rber(**stress, page_type=page.page_type)) for page in counted.pages]
    assert [page.plain for page in counted.pages] == pytest.approx(rates, rel=1e-12)


def test_heavy_tails_are_those_of_the_density() -> None:
    stress = {"pe_cycles": 3000.0, "retention_h": 0.0}
    heavy = reliability.count_cells("tlc", **stress, wordlines=16, cells={"tail": {"student": 6}})
    ours = [page.cells for page in heavy.pages]
    assert ours == pytest.approx(oracle("tlc", stress, 6.0), rel=1e-6)
    assert heavy.agrees


CHIPS = st.fixed_dictionaries({
    "model": st.sampled_from(["slc", "mlc", "tlc", "qlc"]),
    "pe_cycles": st.floats(0, 5000),
    "retention_h": st.floats(0, 20_000),
    "data": st.sampled_from(["random", "zeros", "ones"]),
    "open_block": st.booleans(),
    "seed": st.integers(0, 2**32),
    "levels": st.sampled_from(["default", "best"]),
})  # fmt: skip
SECTIONS = st.fixed_dictionaries({
    "randomiser": st.sampled_from(["prbs15", "hash", "none"]),
    "read_noise": st.floats(0, 0.5),
    "coupling": st.sampled_from([
        [RATIO], [], [RATIO, {"bitline": 1, "ratio": 0.005}, {"wordline": 2, "ratio": 0.004}],
    ]),
})  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(CHIPS, SECTIONS, st.booleans())
def test_counts_agree_whatever_is_stored(
    chip: dict[str, Any],
    cells: dict[str, Any],
    in_passes: bool,  # noqa: FBT001 - drawn
) -> None:
    orders = {"mlc": "two_step", "tlc": "foggy_fine", "qlc": "foggy_fine"}
    if in_passes and chip["model"] in orders:
        cells = {**cells, "program": orders[chip["model"]]}
    counted = reliability.count_cells(**chip, wordlines=8, page_bytes=4096, cells=cells)
    assert counted.agrees, counted
    assert all(page.bits == 8 * 8 * 4096 for page in counted.pages)


def test_parts_add_up_and_the_seed_decides() -> None:
    one = reliability.count_cells("tlc", pe_cycles=3000, wordlines=20, page_bytes=512, seed=1)
    again = reliability.count_cells("tlc", pe_cycles=3000, wordlines=20, page_bytes=512, seed=1)
    other = reliability.count_cells("tlc", pe_cycles=3000, wordlines=20, page_bytes=512, seed=2)
    assert one == again != other
    seen: list[int] = []
    reliability.count_cells("slc", wordlines=20, page_bytes=64, progress=seen.append)
    assert seen == [8, 16, 20]


def test_the_command_draws_tables_of_80_columns() -> None:
    small = ("--wordlines", "8", "--bytes", "2048", "--retention-h", "0")
    text = run(*small, "--offsets=-0.2,0,0.2", "--valleys", "--information")
    for words in ("expected", "bits that change", "information", "rate over best"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 80
    found = answer(*small, "--offsets=-0.2,0,0.2", "--valleys", "--set", "read_noise=0.1")
    assert found["agrees"] is True
    assert found["cells"] == {"read_noise": 0.1}
    assert [page["page_type"] for page in found["pages"]] == ["lower", "middle", "upper"]
    assert [len(page["changed"]) for page in found["pages"]] == [2, 2, 2]
    assert [valley["level"] for valley in found["valleys"]] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "kim"), "states"),
        (("--wordlines", "0"), "1 to 1000000"),
        (("--bytes", "0"), "1 to 131072"),
        (("--bytes", "200000"), "1 to 131072"),
        (("--offsets=0.2,0.1",), "rising"),
        (("--offsets", "3,4"), "-2 to 2"),
        (("--offsets", "0"), "2 or more"),
        (("--valleys", "--open"), "no open block"),
        (("--set", "coupling=[0.2]"), "below 0.0"),
        (("--set", "program=two_step"), "foggy_fine"),
        (("--set", "tail.student=1"), "2.1 to 1000"),
        (("--set", "randomizer=none"), "randomiser"),
        (("--set", "blocks=4"), "omitted"),
        (("--pe", "-1"), "0 to"),
        (("--temperature-c", "500"), "-55 to 200"),
        (("--data", "noise"), "zeros"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(arguments: tuple[str, ...], words: str) -> None:
    result = RUNNER.invoke(app, ["reliability", "cells", *arguments])
    assert result.exit_code == 2, result.output
    assert words in result.output.replace("\n", " ")


def test_python_refuses_as_the_command_does() -> None:
    with pytest.raises(ConfigError, match="wordlines"):
        reliability.count_cells("tlc", wordlines=0)
    with pytest.raises(ConfigError, match=r"cells\.coupling"):
        reliability.count_cells("tlc", cells={"coupling": [0.4]})
