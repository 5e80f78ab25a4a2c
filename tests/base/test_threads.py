"""Threads of untimed writes: no result depends on their number."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import opennandlab as onl
from conftest import Cli

WORKLOAD = {
    "name": "w",
    "pattern": "random",
    "total": {"ios": 20_000},
    "precondition": [
        {"kind": "sequential_fill", "fills": 1},
        {"kind": "workload", "drive_writes": 0.5},
    ],
}
DEVICE = {
    "nand": {"channels": 4, "dies_per_channel": 2, "blocks_per_plane": 64, "pages_per_block": 64}
}


@pytest.fixture(autouse=True)
def _default() -> Iterator[None]:
    """Leave the number of threads as it was."""
    yield
    onl.set_threads(None)


def test_results_are_the_same_bytes() -> None:
    """The digest covers all that a run gives."""
    digests = set()
    for threads in (1, 2, 7, None):
        onl.set_threads(threads)
        digests.add(onl.benchmark(DEVICE, WORKLOAD, seed=3).digest)
    assert len(digests) == 1


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_numbers_out_of_range_are_refused(count: int) -> None:
    """With what is accepted."""
    with pytest.raises(onl.ConfigError, match="accepted: 1 to 1024"):
        onl.set_threads(count)


def test_the_command_line_takes_the_number(cli: Cli, folder: Path) -> None:
    """Before the verb, since it concerns the program; results are the same."""
    digests = set()
    for threads in ("1", "3"):
        output = f"{threads}.json"
        done = cli(
            "--threads", threads, "benchmark", "-w", "short.yaml", "-c", "small.yaml", "-o", output
        )
        assert done.returncode == 0, done.stderr
        digests.add(onl.load(folder / output).digest)
    assert len(digests) == 1
    refused = cli("--threads", "0", "config", "list")
    assert refused.returncode == 2
    assert "--threads" in refused.stderr
