"""The bill of materials of the wheel: CycloneDX 1.6, for `*.dist-info/sboms` (PEP 770).

```text
cargo metadata, for each platform ─► crates that are linked, and what they link ─┐
Cargo.lock ────────────────────────► their checksums ────────────────────────────┼─► SBOM.cdx.json
sources of crates in C ────────────► the libraries that they bring along ────────┤
pyproject.toml ────────────────────► Python packages: required, or of an extra ──┘
```
Written by `tools/audit.py --write`, and the same for the same sources: no time, no serial number,
no path. The Rust standard library is in every wheel; its version is that of the compiler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import audit

SPEC = "1.6"
PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
# Extras for work on the program itself: nobody else installs them.
INNER = ("dev", "docs")
CHECKSUM = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = [^\n]*\nchecksum = "(\w+)"')
# A library in C that a crate brings along: name, licence, and where its version is.
IN_C = {
    "zstd-sys": ("zstd", "BSD-3-Clause", r"\+zstd\.([\d.]+)$"),
    "liblzma-sys": ("xz", "0BSD", "xz/src/liblzma/api/lzma/version.h"),
}
Component = dict[str, Any]


def text() -> str:
    """Return the document.

    Raises:
        subprocess.CalledProcessError: where cargo cannot say.
    """
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def document() -> dict[str, Any]:
    """Return the document as plain data."""
    crates, links = _crates()
    root = crates.pop(audit.SKIN)
    packages = list(_packages((audit.ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    wheel = f"pkg:pypi/opennandlab@{root['version']}"
    links[wheel] = sorted([*links.pop(root["bom-ref"]), *(one["bom-ref"] for one in packages)])
    std = {"type": "library", "bom-ref": "rust-std", "name": "std", "scope": "required",
           "description": "the Rust standard library, of the compiler that built the wheel",
           "licenses": _licences("MIT OR Apache-2.0")}  # fmt: skip
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": wheel,
                "name": "opennandlab",
                "version": root["version"],
                "licenses": _licences(audit.APACHE),
                "purl": wheel,
            }
        },
        "components": [std, *(crates[name] for name in sorted(crates)), *packages],
        "dependencies": [
            {"ref": ref, "dependsOn": links[ref]} for ref in sorted(links) if links[ref]
        ],
    }


def _licences(expression: str) -> list[dict[str, str]]:
    return [{"expression": expression.replace("/", " OR ")}]


def _crates() -> tuple[dict[str, Component], dict[str, list[str]]]:
    """Return the crates that are linked by name, or name and version, and what each links."""
    locked = (audit.ROOT / "Cargo.lock").read_text(encoding="utf-8")
    checksums = {(name, version): one for name, version, one in CHECKSUM.findall(locked)}
    found: dict[str, Component] = {}
    links: dict[str, set[str]] = {}
    for platform in PLATFORMS:
        said = audit.metadata("--filter-platform", platform)
        packages = {one["id"]: one for one in said["packages"]}
        for identity, linked in audit.linking(said).items():
            one = packages[identity]
            checksum = checksums.get((one["name"], one["version"]))
            name = one["name"] if one["name"] == audit.SKIN else f"{one['name']} {one['version']}"
            found[name] = _crate(one, checksum)
            links.setdefault(_url(one), set()).update(_url(packages[other]) for other in linked)
    return found, {ref: sorted(others) for ref, others in links.items()}


def _url(package: Mapping[str, Any]) -> str:
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"


def _crate(package: Mapping[str, Any], checksum: str | None) -> Component:
    """Return a crate; one without a checksum is of this source tree."""
    name, version = package["name"], package["version"]
    made: Component = {
        "type": "library",
        "bom-ref": _url(package),
        "name": name,
        "version": version,
        "scope": "required",
        "licenses": _licences(package["license"]),
    }
    if checksum is not None:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        made["purl"] = _url(package)
    if name in IN_C:
        library, licence, where = IN_C[name]
        number = _version(where, version, Path(package["manifest_path"]).parent)
        made["components"] = [
            {
                "type": "library",
                "bom-ref": f"{library}@{number}",
                "name": library,
                "version": number,
                "licenses": _licences(licence),
            }
        ]
    return made


def _version(where: str, crate: str, folder: Path) -> str:
    """Return the version of a library in C, from that of its crate or from a header."""
    if not where.endswith(".h"):
        match = re.search(where, crate)
        return match[1] if match else "unknown"
    header = (folder / where).read_text(encoding="utf-8")
    names = ("MAJOR", "MINOR", "PATCH")
    found = [re.search(rf"define LZMA_VERSION_{name} (\d+)", header) for name in names]
    return ".".join(one[1] for one in found if one)


def _packages(project: str) -> Iterator[Component]:
    """Yield the Python packages of a pyproject.toml, those of an extra as optional."""
    core = re.search(r"^dependencies = \[(.*?)^\]$", project, re.MULTILINE | re.DOTALL)
    extras = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    lists = [("", core[1] if core else "")]
    lists += re.findall(r"^(\w+) = \[(.*?)\]$", extras, re.MULTILINE | re.DOTALL)
    for extra, body in lists:
        lines = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("#"))
        for name, bounds in audit.REQUIREMENT.findall(lines):
            if extra in INNER or name == "opennandlab":
                continue
            properties = [("requirement", f"{name}{bounds}"), ("extra", extra)]
            yield {
                "type": "library",
                "bom-ref": f"pkg:pypi/{audit.normal(name)}",
                "name": audit.normal(name),
                "scope": "optional" if extra else "required",
                "purl": f"pkg:pypi/{audit.normal(name)}",
                "properties": [
                    {"name": f"opennandlab:{key}", "value": value}
                    for key, value in properties
                    if value
                ],
            }
