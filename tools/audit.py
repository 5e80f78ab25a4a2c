"""Audits what we build on: known faults, licences, sources, and the licence texts in the wheel.

    python tools/audit.py            exit 1 where anything is found
    python tools/audit.py --write    write THIRD-PARTY.txt and SBOM.cdx.json again

```text
pyproject.toml, what is installed ──┐
                                    ├─ known_faults ─► no release with a known fault
Cargo.lock ─────────────────────────┘
metadata of installed packages ─────┬─ licences ─────► of `PERMISSIVE` alone
cargo metadata ─────────────────────┤
                                    └─ what is linked ► THIRD-PARTY.txt has its texts,
                                                        SBOM.cdx.json lists it (`sbom.py`)
```
It asks no database of advisories: those cannot be reached where this runs. What it did not look at
is said in its last line.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_faults import AS_OF, PYTHON, RUST, Fault

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "THIRD-PARTY.txt"
BILL = ROOT / "SBOM.cdx.json"
SKIN = "opennandlab-py"
APACHE = "Apache-2.0"
PERMISSIVE = {
    "0BSD", APACHE, "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
    "ISC", "MIT", "MIT-CMU", "PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib", "bzip2-1.0.6",
}  # fmt: skip
# What packages without a licence expression call theirs, in a classifier or in words.
CALLED = {
    "Apache Software License": APACHE, "Apache 2.0": APACHE, "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause", "ISC License (ISCL)": "ISC", "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}  # fmt: skip
# Next to the texts of a crate, those of the library in another language that it brings along.
BROUGHT = {"zstd-sys": ["zstd/LICENSE"], "liblzma-sys": ["xz/COPYING.0BSD"]}
LICENCE_NAME = re.compile(r"(un)?licen[cs]e|copying", re.IGNORECASE)
REQUIREMENT = re.compile(
    r'"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*((?:[<>=!~]=?[^";]*)?)(?:;[^"]*)?"'
)
LOCKED = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"(?:\nsource = "([^"]+)")?')


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers, as far as it has any.

    >>> numbers("2.1.2+zstd.1.5.7") < numbers("2.10")
    True
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    parts = [int(one) for one in found[0].split(".")] if found else []
    while parts and parts[-1] == 0:  # 1.3 is 1.3.0
        parts.pop()
    return tuple(parts)


def normal(name: str) -> str:
    """Return the name of a package as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def has(fault: Fault, version: str) -> bool:
    """Tell whether a release has a fault."""
    return numbers(fault.since) <= numbers(version) < numbers(fault.fixed)


def admitted(text: str, faults: Sequence[Fault] = PYTHON) -> Iterator[str]:
    """Yield the requirements of a pyproject.toml that admit a release with a known fault.

    Args:
        text: Its content.
        faults: Those known.
    """
    for name, bounds in dict.fromkeys(REQUIREMENT.findall(text)):
        least = re.search(r">=\s*([\w.]+)", bounds)
        for fault in faults:
            if fault.package != normal(name):
                continue
            if least is None or numbers(least[1]) < numbers(fault.fixed):
                yield (
                    f"pyproject.toml: `{name}{bounds}` admits {fault.identity}; accepted: "
                    f">={fault.fixed}"
                )


def installed() -> dict[str, importlib.metadata.Distribution]:
    """Return what is installed of our package's requirements, and of theirs."""
    found: dict[str, importlib.metadata.Distribution] = {}
    left = ["opennandlab"]
    while left:
        name = normal(left.pop())
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # an extra, or of another system
            continue
        of_extras = "" if name == "opennandlab" else "extra =="
        for requirement in found[name].requires or ():
            named = re.match(r"[A-Za-z0-9._-]+", requirement)
            is_dev = re.search(r"extra == ['\"](dev|docs)['\"]", requirement)
            if named and not is_dev and (not of_extras or of_extras not in requirement):
                left.append(named[0])
    return found


def licence_of(package: importlib.metadata.Distribution) -> str:
    """Return the licence of a package as an expression, or what it says instead."""
    said: Any = package.metadata
    if expression := said.get("License-Expression"):
        return str(expression)
    classifiers = [
        one.rpartition(" :: ")[2]
        for one in said.get_all("Classifier") or ()
        if one.startswith("License :: OSI Approved :: ")
    ]
    words = classifiers or [str(said.get("License") or "unknown").splitlines()[0].strip()]
    return " AND ".join(CALLED.get(one, one) for one in words)


def is_permitted(expression: str) -> bool:
    """Tell whether a licence expression leaves a way that is permitted.

    >>> is_permitted("(MIT OR GPL-3.0) AND Zlib"), is_permitted("MIT AND GPL-3.0")
    (True, False)
    >>> is_permitted("MIT/Apache-2.0"), is_permitted("")
    (True, False)
    """
    text = expression.replace("/", " OR ")
    while inner := re.search(r"\(([^()]*)\)", text):
        word = "MIT" if is_permitted(inner[1]) else "refused"
        text = text[: inner.start()] + word + text[inner.end() :]
    return any(
        all(one.strip() in PERMISSIVE for one in way.split(" AND ")) for way in text.split(" OR ")
    )


@dataclass(frozen=True)
class Crate:
    """A crate as `cargo metadata` has it."""

    name: str
    version: str
    licence: str
    folder: Path


def metadata(*options: str) -> dict[str, Any]:
    """Return what `cargo metadata` says of this workspace.

    Raises:
        subprocess.CalledProcessError: where cargo cannot say.
    """
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *options]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def linking(said: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the crates whose code is linked into the wheel, each with those that it links.

    Args:
        said: The metadata.
    """
    packages = {one["id"]: one for one in said["packages"]}
    nodes = {one["id"]: one["deps"] for one in said["resolve"]["nodes"]}

    def is_macro(identity: str) -> bool:  # which runs in the compiler alone
        kinds = {kind for target in packages[identity]["targets"] for kind in target["kind"]}
        return "proc-macro" in kinds

    found: dict[str, list[str]] = {}
    left = [identity for identity, one in packages.items() if one["name"] == SKIN]
    while left:
        identity = left.pop()
        if identity in found:
            continue
        found[identity] = [
            dep["pkg"]
            for dep in nodes[identity]
            if any(kind["kind"] is None for kind in dep["dep_kinds"]) and not is_macro(dep["pkg"])
        ]
        left += found[identity]
    return found


def crates() -> tuple[list[Crate], list[Crate]]:
    """Return all crates of others, and those whose code is linked into the wheel.

    Raises:
        subprocess.CalledProcessError: where cargo cannot say.
    """
    said = metadata()
    packages = {one["id"]: one for one in said["packages"]}
    linked = linking(said)

    def listed(identities: Iterator[str]) -> list[Crate]:
        found = [
            Crate(
                one["name"], one["version"], one["license"] or "", Path(one["manifest_path"]).parent
            )
            for one in (packages[identity] for identity in identities)
            if one["source"]
        ]
        return sorted(found, key=lambda one: (one.name, numbers(one.version)))

    return listed(iter(packages)), listed(iter(linked))


def third_party(linked: Sequence[Crate]) -> str:
    """Return the licence texts that a wheel needs: each once, with the crates that it is of."""
    elected, texts = [], dict[str, list[str]]()
    for crate in linked:
        title = f"{crate.name} {crate.version}"
        names = list(BROUGHT.get(crate.name, ()))
        if APACHE in re.split(r"\s+OR\s+|/", crate.licence):
            elected.append(title)
        else:
            names += sorted(
                path.name
                for path in crate.folder.iterdir()
                if path.is_file() and LICENCE_NAME.match(path.name)
            )
        for name in names:
            text = (crate.folder / name).read_text(encoding="utf-8")
            lines = [line.rstrip() for line in text.strip().splitlines()]
            texts.setdefault("\n".join(lines), []).append(
                title if "/" not in name else f"{title}: {name.partition('/')[0]}"
            )
    rule = "-" * 80
    head = "Code of others that is linked into opennandlab, and its licences. By tools/audit.py."
    chosen = "Apache License 2.0, the text of which is in LICENSE, was chosen for"
    parts = [head, _of("", [chosen, "the Rust standard library", *elected])]
    parts += [_of(text, list(dict.fromkeys(titles))) for text, titles in texts.items()]
    return f"\n\n{rule}\n".join(parts) + "\n"


def _of(text: str, titles: Sequence[str]) -> str:
    """Return a text below what it is of."""
    return "\n    ".join(titles) + (f"\n\n{text}" if text else "")


def bill() -> str:
    """Return the bill of materials."""
    import sbom  # which reads the crates by this module

    return sbom.text()


def of_python() -> Iterator[str]:
    """Yield what is wrong with Python packages."""
    yield from admitted((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for name, package in sorted(installed().items()):
        for fault in PYTHON:
            if fault.package == name and has(fault, package.version):
                yield f"{name} {package.version}: {fault.identity}; accepted: >={fault.fixed}"
        if not is_permitted(licence := licence_of(package)):
            yield f"{name} {package.version}: the licence `{licence}` is not in PERMISSIVE"


def of_rust() -> Iterator[str]:
    """Yield what is wrong with crates."""
    locked = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    for name, version, source in LOCKED.findall(locked):
        if source and not source.startswith("registry+"):
            yield f"Cargo.lock: {name} {version} comes from {source}; accepted: the registry"
        for fault in RUST:
            if fault.package == name and has(fault, version):
                yield f"Cargo.lock: {name} {version}: {fault.identity}; accepted: >={fault.fixed}"
    try:
        every, linked = crates()
    except (OSError, subprocess.CalledProcessError) as error:
        yield f"cargo metadata: {getattr(error, 'stderr', None) or error}"
        return
    for crate in every:
        if not is_permitted(crate.licence):
            yield f"{crate.name} {crate.version}: `{crate.licence}` is not in PERMISSIVE"
    if not TEXTS.is_file() or TEXTS.read_text(encoding="utf-8") != third_party(linked):
        yield f"{TEXTS.name} is not that of Cargo.lock: python tools/audit.py --write"
    if not BILL.is_file() or BILL.read_text(encoding="utf-8") != bill():
        yield f"{BILL.name} is not that of Cargo.lock and pyproject.toml: tools/audit.py --write"


def main() -> int:
    """Audit, or write the texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {TEXTS.name}, {BILL.name}")
    if parser.parse_args().write:
        TEXTS.write_text(third_party(crates()[1]), encoding="utf-8")
        BILL.write_text(bill(), encoding="utf-8")
        return 0
    found = [*of_python(), *of_rust()]
    known = f"{len(PYTHON) + len(RUST)} faults known as of {AS_OF}"
    unchecked = "advisories since then, and whether releases were yanked"
    print(*found, f"audit: {len(found)} findings; {known}. Not checked: {unchecked}.", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
