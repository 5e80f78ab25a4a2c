"""`onl.load`: each kind of document is read as what it is, others are refused with the reason."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opennandlab as onl
import pts_documents
from opennandlab.base.canonical import digest, readable_json
from opennandlab.documents.app import AppDocument
from opennandlab.documents.calibration import CalibrationDocument
from opennandlab.documents.capture import CaptureDocument
from opennandlab.documents.comparison import Comparison
from opennandlab.documents.ecc import CodeComparison
from opennandlab.documents.emmc import EmmcDocument
from opennandlab.documents.fleet import FleetDocument
from opennandlab.documents.life import DriveLifeTest, LifeTest
from opennandlab.documents.ocp import OcpDocument
from opennandlab.documents.partial import nothing
from opennandlab.documents.power_endurance import EnduranceDocument
from opennandlab.documents.power_files import FilesDocument
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.documents.pts import SuiteDocument
from opennandlab.documents.record import plain
from opennandlab.documents.schema import FAMILIES
from opennandlab.documents.served import ServedDocument
from opennandlab.documents.validation import ValidationDocument
from places import FOLDER

SAVED = FOLDER / "saved"


def suite() -> dict[str, Any]:
    made: dict[str, Any] = {
        "schema": "opennandlab.suite/1", "name": "s", "documents": ["a"], "digests": {"a": "0"},
        "results": {"a": {"iops": 1.0}}, "varied": None, "left_out": {},
    }  # fmt: skip
    return made | {"digest": digest(made)}


def served() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(ServedDocument))
    return made | {"digest": digest(made)}


def app() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(AppDocument))
    return made | {"digest": digest(made)}


def fleet() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(FleetDocument))
    return made | {"digest": digest(made)}


def emmc() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(EmmcDocument))
    return made | {"digest": digest(made)}


def power() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(PowerDocument))
    return made | {"digest": digest(made)}


def power_files() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(FilesDocument))
    return made | {"digest": digest(made)}


def calibration() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(CalibrationDocument))
    return made | {"digest": digest(made)}


def capture() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(CaptureDocument))
    return made | {"digest": digest(made)}


def power_endurance() -> dict[str, Any]:
    made: dict[str, Any] = plain(nothing(EnduranceDocument))
    return made | {"digest": digest(made)}


CODES = ["bch:m=8,t=4", "bch:m=8,t=4,data_bits=222"]
ROW = {
    "suite": "s", "case": "c", "title": "t", "source": "definition", "quantity": "WAF",
    "formula": "f", "kind": "exact", "relation": "=", "expected": 1.0, "measured": [1.0],
    "seeds": [1], "error": 0.0, "tolerance": 0.0, "passed": True, "problem": "", "command": "x",
}  # fmt: skip
# Documents as their files hold them.
MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "result": lambda: json.loads((SAVED / "result.json").read_bytes()),
    "pts": pts_documents.iops,
    "suite": suite,
    "ecc-curve": lambda: onl.ecc.curve(CODES[0], "bsc", [1e-4], method="analytic").document,
    "ecc-comparison": lambda: onl.ecc.compare(CODES, "bsc", [1e-4], method="analytic"),
    "compare": lambda: {
        "schema": "opennandlab.compare/1", "names": ["a", "b"], "like": True, "reasons": [],
        "warnings": [], "metrics": {"waf": {"values": [1, 2.0], "delta_pct": [0.0, 100.0]}},
    },
    "life": lambda: onl.reliability.life_test("tlc_standard").to_dict(),
    "drive-life": lambda: plain(nothing(DriveLifeTest)),
    "validation": lambda: {
        "schema": "opennandlab.validation/1", "passed": True, "case_count": 1, "failed_count": 0,
        "rows": [ROW],
    },
    "served": served,
    "app": app,
    "emmc": emmc,
    "fleet": fleet,
    "ocp": lambda: plain(nothing(OcpDocument)),
    "power": power,
    "power-files": power_files,
    "calibration": calibration,
    "power-endurance": power_endurance,
    "capture": capture,
}  # fmt: skip
KINDS: dict[str, type] = {
    "result": onl.Result,
    "pts": onl.PtsResult,
    "suite": SuiteDocument,
    "ecc-curve": onl.ecc.Curve,
    "ecc-comparison": CodeComparison,
    "compare": Comparison,
    "life": LifeTest,
    "drive-life": DriveLifeTest,
    "validation": ValidationDocument,
    "served": ServedDocument,
    "app": AppDocument,
    "emmc": EmmcDocument,
    "fleet": FleetDocument,
    "ocp": OcpDocument,
    "power": PowerDocument,
    "power-files": FilesDocument,
    "calibration": CalibrationDocument,
    "power-endurance": EnduranceDocument,
    "capture": CaptureDocument,
}


def saved(folder: Path, value: Any) -> Path:
    path = folder / "file.json"
    path.write_text(value if isinstance(value, str) else readable_json(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kind_of_document_is_read_as_what_it_is(family: str, tmp_path: Path) -> None:
    given = MAKERS[family]()
    found = onl.load(saved(tmp_path, given))
    assert isinstance(found, KINDS[family])
    assert (found.document if hasattr(found, "document") else plain(found)) == given


@pytest.mark.parametrize("family", FAMILIES)
def test_a_damaged_document_is_refused_by_file_and_key(family: str, tmp_path: Path) -> None:
    given = copy.deepcopy(MAKERS[family]())
    key = next(name for name in list(given)[1:] if isinstance(given[name], list | dict))
    given[key] = 5
    with pytest.raises(onl.ResultError, match=rf"file.json: damaged: {key}: `5` is not valid"):
        onl.load(saved(tmp_path, given), check_digest=False)


@pytest.mark.parametrize("family", ["result", "pts", "suite"])
def test_an_edited_document_is_refused_unless_that_is_asked_for(
    family: str, tmp_path: Path
) -> None:
    path = saved(tmp_path, MAKERS[family]() | {"newer": 1})
    with pytest.raises(onl.ResultError, match="does not match its digest"):
        onl.load(path)
    assert type(onl.load(path, check_digest=False)) is KINDS[family]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty; accepted: opennandlab.result/1"),
        ("{", "no complete JSON document"),
        ("[1]", "has no `schema` of ours; accepted: .*opennandlab.validation/1"),
        ('{"schema": "opennandlab.bill/1"}', "holds `opennandlab.bill/1`; accepted: open"),
        ('{"schema": "opennandlab.pts/2"}', "holds `opennandlab.pts/2`.*: use the newer version"),
    ],
)
def test_what_is_not_ours_is_refused_with_what_is_accepted(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(onl.ResultError, match=words):
        onl.load(saved(tmp_path, text))
