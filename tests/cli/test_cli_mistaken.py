"""Files in the place of others: the error names the file and what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Cli

EXCHANGED = "file (were -w and -c exchanged?)"
CASES = (
    ("small.yaml", "small.yaml", "small.yaml: this is a device file; accepted: a workload"),
    ("small.yaml", "short.yaml", "short.yaml: this is a workload file; accepted: a device"),
    ("short.yaml", "jobs.fio", "jobs.fio: this is a job file of fio; accepted: YAML"),
    ("own.json", "small.yaml", "own.json: this is a document `opennandlab.result/1`; accepted"),
    ("short.yaml", "own.json", "own.json: this is a document `opennandlab.result/1`; accepted"),
    ("fio.json", "small.yaml", "fio.json: this is an output of fio; accepted: a workload"),
)


@pytest.mark.parametrize(("workload", "device", "said"), CASES)
def test_a_file_in_the_place_of_another_is_named(
    workload: str, device: str, said: str, cli: Cli, folder: Path
) -> None:
    """Parsers told of unknown fields, and of a missing document start."""
    (folder / "jobs.fio").write_text("; of a drive\n[global]\nsize=16m\n[a]\nrw=read\n")
    (folder / "own.json").write_text('{"schema": "opennandlab.result/1", "name": "a"}')
    (folder / "fio.json").write_text('{"fio version": "fio-3.38", "jobs": []}')
    found = cli("benchmark", "-w", workload, "-c", device)
    assert found.returncode == 2
    assert found.stderr.startswith(f"error: {said}")
    assert (EXCHANGED in found.stderr) == ("jobs.fio" not in said)


def test_what_is_wrong_in_a_file_of_the_right_kind_is_told_as_before(
    cli: Cli, folder: Path
) -> None:
    (folder / "odd.yaml").write_text("ftl: {}\ntenants: []\n")
    found = cli("benchmark", "-c", "odd.yaml", "-w", "short.yaml")
    assert "unknown field `tenants`" in found.stderr


def test_a_name_that_is_too_long_for_a_file_is_shortened(cli: Cli, folder: Path) -> None:
    """The whole name, 100,000 characters, was printed."""
    (folder / "fleet.yaml").write_text(
        "{devices: 1, device: small.yaml, suites: {a: {run: " + "x" * 100_000 + "}}}"
    )
    found = cli("fleet", "run", "fleet.yaml", "-o", "out")
    assert found.returncode == 3
    assert "(100000 characters): File name too long" in found.stderr
    assert len(found.stderr) < 300
