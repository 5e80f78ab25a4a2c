"""What we build on: no release with a known fault, licences that permit, texts in the wheel."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

import opennandlab
from places import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from audit import BILL, LOCKED, TEXTS, admitted, has, is_permitted, licence_of, numbers
from known_faults import PYTHON, RUST, Fault


def test_no_bound_admits_a_release_with_a_known_fault() -> None:
    """`pyarrow>=14` and `starlette>=0.45` did."""
    assert list(admitted((ROOT / "pyproject.toml").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("requirement", "faults"),
    [
        ("pyarrow>=14", ["CVE-2023-47248", "CVE-2026-25087"]),
        ("pyarrow>=23.0.1", []),
        ("pyarrow", ["CVE-2023-47248", "CVE-2026-25087"]),
        ("starlette[full]>=1.2,<2; python_version > '3'", ["CVE-2026-54282", "CVE-2026-54283"]),
        ("Jinja2<4", ["CVE-2024-56326", "CVE-2025-27516"]),
        ("ssd", []),
    ],
)
def test_a_bound_that_admits_one_is_found(requirement: str, faults: list[str]) -> None:
    said = list(admitted(f'dependencies = [\n    "{requirement}",\n]\n'))
    assert [re.findall(r"admits ([\w-]+);", one)[0] for one in said] == faults


def test_a_fault_is_of_the_releases_between_two() -> None:
    fault = Fault("X", "p", "0.10.1", since="0.10.0")
    assert [has(fault, one) for one in ("0.9.3", "0.10.0", "0.10.1", "1.0")] == [
        False, True, False, False,
    ]  # fmt: skip
    assert numbers("1.3.0") == numbers("1.3") < numbers("1.3.1") < numbers("1.10")


def test_no_crate_has_a_known_fault_and_all_are_of_the_registry() -> None:
    locked = LOCKED.findall((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    assert len(locked) > 50
    for name, version, source in locked:
        assert not source or source.startswith("registry+"), name
        assert not [one for one in RUST if one.package == name and has(one, version)]


def test_every_fault_can_be_looked_up() -> None:
    for one in (*PYTHON, *RUST):
        assert re.fullmatch(r"(CVE|PYSEC|RUSTSEC)-\d{4}-\d{4,6}", one.identity)
        assert numbers(one.since) < numbers(one.fixed)


@pytest.mark.parametrize(
    "licence",
    [
        "MIT OR Apache-2.0",
        "MIT/Apache-2.0",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
    ],
)
def test_a_licence_permits_by_one_way_through_it(licence: str) -> None:
    assert is_permitted(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR GPL-2.0) AND (GPL-2.0 OR GPL-3.0)",
        "unknown",
        "",
    ],
)
def test_a_licence_without_such_a_way_does_not(licence: str) -> None:
    assert not is_permitted(licence)


def test_packages_say_their_licence_in_three_ways() -> None:
    found = {name: licence_of(importlib.metadata.distribution(name)) for name in ("numpy", "rich")}
    assert found["rich"] == "MIT"
    assert all(is_permitted(licence) for licence in found.values())


def test_the_texts_are_those_of_the_locked_crates() -> None:
    """`tools/audit.py` compares them with the crates' own; this needs no compiler."""
    locked = {f"{name} {version}" for name, version, _ in LOCKED.findall(
        (ROOT / "Cargo.lock").read_text(encoding="utf-8"))}  # fmt: skip
    text = TEXTS.read_text(encoding="utf-8")
    heads = [part.partition("\n\n")[0] for part in text.split("-" * 80 + "\n")[1:]]
    named = {line.strip().partition(":")[0] for head in heads for line in head.splitlines()}
    named -= {"Apache License 2.0, the text of which is in LICENSE, was chosen for",
              "the Rust standard library"}  # fmt: skip
    assert named <= locked
    assert {one.split()[0] for one in named} >= {"pyo3", "serde", "zstd-sys", "schemars", "libm"}
    for holder in ("Andrew Gallant", "Meta Platforms", "Trifecta Tech Foundation", "Isis Agora"):
        assert holder in text


def test_the_wheel_has_the_texts_and_the_bill() -> None:
    installed = importlib.metadata.distribution("opennandlab")
    package = Path(str(installed.locate_file("opennandlab/__init__.py"))).resolve()
    if package != Path(opennandlab.__file__).resolve():
        pytest.skip("the package that is imported is not the installed wheel")
    names = {Path(str(one)).name for one in installed.files or ()}
    assert {"LICENSE", TEXTS.name, BILL.name} <= names
