"""`load`: any document that this program writes, read by what its `schema` says it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import DocumentError, ResultError
from opennandlab.core.config import DeviceConfig
from opennandlab.core.images import drive_of, is_image, read_image, wear_of
from opennandlab.core.result import Result
from opennandlab.core.tested import PtsResult
from opennandlab.core.viewed import Viewed, viewed
from opennandlab.documents import pts
from opennandlab.documents.app import AppDocument
from opennandlab.documents.calibration import CalibrationDocument
from opennandlab.documents.capture import CaptureDocument
from opennandlab.documents.comparison import Comparison
from opennandlab.documents.ecc import CodeComparison, CurveDocument
from opennandlab.documents.emmc import EmmcDocument
from opennandlab.documents.fleet import FleetDocument
from opennandlab.documents.life import DriveLifeTest, LifeTest
from opennandlab.documents.ocp import OcpDocument
from opennandlab.documents.power_endurance import EnduranceDocument
from opennandlab.documents.power_files import FilesDocument
from opennandlab.documents.power_loss import PowerDocument
from opennandlab.documents.pts import PtsDocument, SuiteDocument
from opennandlab.documents.record import JsonObject, read
from opennandlab.documents.result import ResultDocument
from opennandlab.documents.saved import damaged, read_document, refuse_edited
from opennandlab.documents.schema import FAMILIES
from opennandlab.documents.served import ServedDocument
from opennandlab.documents.validation import ValidationDocument
from opennandlab.ecc.curves import Curve

if TYPE_CHECKING:
    from opennandlab.reports.model import Report

# What is nothing but its record, but for the curve.
Rest = (
    CurveDocument
    | SuiteDocument
    | Comparison
    | CodeComparison
    | LifeTest
    | DriveLifeTest
    | ValidationDocument
    | ServedDocument
    | AppDocument
    | EmmcDocument
    | FleetDocument
    | OcpDocument
    | PowerDocument
    | FilesDocument
    | CalibrationDocument
    | EnduranceDocument
    | CaptureDocument
)
Loaded = Result | Curve | PtsResult | Rest
# Kinds of documents of which there were others before.
VERSIONS = {"calibration": 2}
# What a `schema` says -> the record of the whole document.
KINDS = {
    f"opennandlab.{family}/{VERSIONS.get(family, 1)}": kind for family, kind in FAMILIES.items()
}


def load(path: str | Path, *, check_digest: bool = True) -> Loaded:
    """Read a document that was saved.

    Args:
        path: The file.
        check_digest: Refuse a file whose numbers were changed after it was written.

    Returns:
        A `Result`, an ECC `Curve` or the `PtsResult` of a standard test, by the `schema` in the
        file; for other kinds (suites, comparisons, life tests, validation, served drives,
        logs of drives, calibrations, captures) the declared record: keys are attributes.
        Applications, eMMCs, fleets and power cuts print as tables, too.

    Raises:
        ResultError: when the file is damaged, foreign or newer than this build, and why.

    >>> import tempfile
    >>> import opennandlab as onl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     onl.benchmark("tlc_standard", "W1").save(f"{folder}/result.json")
    ...     onl.load(f"{folder}/result.json").metrics["waf"]
    1.0
    """
    path = Path(path)
    document = read_document(path, list(KINDS))
    if check_digest:
        refuse_edited(path, document)
    try:
        return loaded(document)
    except DocumentError as error:
        raise damaged(path, error) from None


def loaded(document: JsonObject) -> Loaded:
    """Return a document as the kind of its `schema`.

    Raises:
        DocumentError: for a value that the kind does not have, and where.
    """
    kind = KINDS[document["schema"]]
    if kind is ResultDocument:
        return Result(document)
    if kind is PtsDocument:
        return PtsResult.of(pts.from_file(document)[0])
    found: Rest = read(document, kind)[0]
    if isinstance(found, CurveDocument):
        return Curve(found)
    with_views: Rest = viewed(found)
    return with_views


def report_of(path: Path) -> Report:
    """Return the report of a document that is no standard test, or of a device image.

    Raises:
        ImageError: when an image is damaged or newer than this build, and why.
        ResultError: when the file is damaged or edited, or its kind has no report.
    """
    if is_image(path):
        return _worn(path)
    found = load(path)
    try:
        made = made_report(found)
    except ResultError as error:
        raise ResultError(f"{path}: {error}") from error
    if made is None:
        kind = str(getattr(found, "schema", "pts")).partition("/")[0].removeprefix("opennandlab.")
        raise ResultError(
            f"{path}: a document of the kind `{kind}` has no figure; accepted: standard tests, "
            "suites, results, curves and comparisons of codes, power cuts, fleets, applications, "
            "eMMCs, calibrations, life tests, validations, logs and captures, served drives, "
            "device images"
        )
    return made


def made_report(found: object) -> Report | None:
    """Return the report of a document; None for standard tests, and kinds that have none.

    Raises:
        ResultError: when a device or a workload in it has not the keys that one has. Schemas leave
            them open, so that documents of older versions are read.
    """
    try:
        return _made_report(found)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ResultError(f"the parts of this document do not fit together ({what})") from error


def _made_report(found: object) -> Report | None:
    from opennandlab.ecc import charts
    from opennandlab.reports import calibration, capture, life, ocp, plot, served, validation

    if isinstance(found, Viewed):
        return found.report()
    makers: dict[type, Any] = {
        Result: lambda one: plot.report(one.content),
        Curve: lambda one: charts.report(one.content),
        CodeComparison: charts.report,
        CalibrationDocument: calibration.report,
        LifeTest: life.report,
        DriveLifeTest: life.report,
        ValidationDocument: validation.report,
        OcpDocument: ocp.report,
        CaptureDocument: capture.report,
        ServedDocument: served.report,
    }
    maker = makers.get(type(found))
    made: Report | None = None if maker is None else maker(found)
    return made


def _worn(path: Path) -> Report:
    """Return the report of a device image; its policy is not run."""
    from opennandlab.reports import wear

    # The seed is that of runs to come.
    drive = drive_of(read_image(path), 0, path)
    device = DeviceConfig(drive.device(), path.name)
    return wear.report(path.name, device.to_dict(), device.effective, wear_of(drive))
