"""One version number, wherever it is stated."""

from __future__ import annotations

import json
import re

from places import ROOT


def stated(name: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_every_file_states_the_same_version() -> None:
    (version,) = stated("Cargo.toml", r'^version = "([^"]+)"$')
    assert stated("Cargo.lock", r'^name = "opennandlab-\w+"\nversion = "([^"]+)"$') == {version}
    assert stated("CITATION.cff", r"^version: (\S+)$") == {version}
    bill = json.loads((ROOT / "SBOM.cdx.json").read_text(encoding="utf-8"))
    assert bill["metadata"]["component"]["version"] == version
    heads = re.findall(r"^## (\S+?),", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[0] == version
    assert '"version"' in (ROOT / "pyproject.toml").read_text("utf-8").partition("dynamic")[2][:20]
