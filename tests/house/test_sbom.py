"""The bill of materials of the wheel: what CycloneDX 1.6 requires, and all that is linked."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from places import ROOT
from scripts import load_tool

TEXT = (ROOT / "SBOM.cdx.json").read_text(encoding="utf-8")
# Required, and allowed, in a component of that schema, as far as we use it.
REQUIRED = {"type", "name"}
ALLOWED = REQUIRED | {
    "bom-ref", "components", "description", "hashes", "licenses", "properties", "purl", "scope",
    "version",
}  # fmt: skip


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    return json.loads(TEXT)


def components(bill: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [one for part in bill["components"] for one in part.get("components", ())]
    return [bill["metadata"]["component"], *bill["components"], *inner]


def test_it_is_what_the_schema_requires(bill: dict[str, Any]) -> None:
    """The whole schema was applied by its own validator when the form was made."""
    assert set(bill) == {"$schema", "bomFormat", "specVersion", "version", "metadata",
                         "components", "dependencies"}  # fmt: skip
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert bill["$schema"] == "http://cyclonedx.org/schema/bom-1.6.schema.json"
    for one in components(bill):
        assert set(one) >= REQUIRED, one
        assert set(one) <= ALLOWED, one
        assert one["type"] in {"application", "library"}
        assert one.get("scope", "required") in {"required", "optional", "excluded"}
        assert all(set(part) == {"expression"} for part in one.get("licenses", ()))
        assert len(one.get("licenses", ())) <= 1
        for part in one.get("hashes", ()):
            assert part["alg"] == "SHA-256"
            assert re.fullmatch(r"[0-9a-f]{64}", part["content"])
        assert re.fullmatch(r"pkg:(cargo|pypi)/[\w.-]+(@[\w.%-]+)?", one.get("purl", "pkg:pypi/a"))
        assert all(set(part) == {"name", "value"} for part in one.get("properties", ()))


def test_references_are_unique_and_lead_somewhere(bill: dict[str, Any]) -> None:
    names = [one["bom-ref"] for one in components(bill)]
    assert len(set(names)) == len(names)
    for one in bill["dependencies"]:
        assert {one["ref"], *one["dependsOn"]} <= set(names)
    reached, left = set[str](), [bill["metadata"]["component"]["bom-ref"]]
    links = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    while left:
        reached.add(name := left.pop())
        left += [other for other in links.get(name, ()) if other not in reached]
    listed = {one["bom-ref"] for one in bill["components"]} - {"rust-std"}
    assert listed <= reached


def test_it_has_the_crates_of_the_lock_and_no_others(bill: dict[str, Any]) -> None:
    sbom = load_tool("sbom")
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    sums = {f"{name} {version}": one for name, version, one in sbom.CHECKSUM.findall(lock)}
    crates = [one for one in bill["components"] if one.get("purl", "").startswith("pkg:cargo/")]
    assert len(crates) > 40
    for one in crates:
        assert one["hashes"][0]["content"] == sums[f"{one['name']} {one['version']}"]
    names = {one["name"] for one in components(bill)}
    assert names >= {"pyo3", "serde", "zstd", "xz", "opennandlab-sim", "libm"}
    # Of another system, of the compiler alone, of tests, of a feature that a wheel lacks.
    assert not names & {"windows-sys", "syn", "serde_derive", "proptest", "divan", "cudarc"}
    version = re.search(r'^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert bill["metadata"]["component"]["version"] == version[1]


def test_it_has_the_python_packages_with_their_extras(bill: dict[str, Any]) -> None:
    found = {
        one["name"]: (one["scope"], {part["name"]: part["value"] for part in one["properties"]})
        for one in bill["components"]
        if one.get("purl", "").startswith("pkg:pypi/")
    }
    assert found["numpy"] == ("required", {"opennandlab:requirement": "numpy>=1.24,<3"})
    assert found["matplotlib"][0] == "optional"
    assert found["matplotlib"][1]["opennandlab:extra"] == "plot"
    assert {name for name, (scope, _) in found.items() if scope == "required"} == {
        "msgspec", "numpy", "rich", "ruamel-yaml", "typer",
    }  # fmt: skip
    assert "pytest" not in found


def test_it_names_no_place_and_no_time() -> None:
    assert not re.search(r'file:|/home|/root|timestamp|"serialNumber"', TEXT)
