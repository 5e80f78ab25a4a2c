"""Documents that were saved before there was a store, as points of one.

Of a result all is known that a sweep would know: its key is that of the same run in a sweep. Other
documents do not say all that decides them (a life test names its device, an ECC curve does not say
when it was to stop, a real drive is never the same twice): their key holds the digest of the
document itself, so the same document is one point, and two runs are two.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opennandlab.base.canonical import digest
from opennandlab.base.errors import DocumentError, StoreError
from opennandlab.documents import app, pts, result
from opennandlab.documents.ecc import CodeComparison, CurveDocument
from opennandlab.documents.life import DriveLifeTest, LifeTest
from opennandlab.documents.partial import readable
from opennandlab.documents.record import JsonObject
from opennandlab.documents.saved import damaged, read_document, read_moments, refuse_edited, typed
from opennandlab.store.entry import Entry, Scalar, key_of, numbers

UNKNOWN = "unknown"
# What a result calls a device or workload that is neither a preset nor a file.
CUSTOM = "custom"
# What a simulated test depends on, of its header.
PROCEDURE = (
    *("pts_version", "profile", "time_base", "cache", "data", "active_range", "threads"),
    *("queue_depth", "align_bytes", "oio_throttle", "options"),
)
# Next to the documents of simulated tests, which are the same on every machine.
MOMENTS = "run.json"
SILENT = (
    "does not say all its settings, nor when and by which program it was made; its key is its own, "
    "the time is that of the file"
)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a document says of its point; the rest is what it does not say."""

    verb: str
    settings: JsonObject
    metrics: dict[str, float]
    seed: int | None = None
    coordinates: dict[str, Scalar] = field(default_factory=dict)
    program: str = UNKNOWN
    model_version: int = 0
    created: str | None = None
    wall_s: float = 0.0
    document: JsonObject
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Adopted:
    """The points of a file.

    Args:
        entries: The points.
        notes: What the document does not say, in words.
    """

    entries: list[Entry]
    notes: list[str]


def adopt(path: Path, keys: Sequence[str] = ()) -> Adopted:
    """Read a saved document as points.

    Args:
        path: A result, a standard test, an ECC curve or comparison of curves, a life test, or a
            run of applications.
        keys: Settings that become coordinates, by dotted key, such as `ftl.gc_policy` or
            `workload.queue_depth`.

    Raises:
        ResultError: when it is no such document, is damaged or edited.
        StoreError: when it is of a run that was cut or whose checks failed, and for a key that its
            settings do not have.
    """
    document = read_document(path, list(READERS))
    refuse_edited(path, document)
    try:
        drafts = list(READERS[document["schema"]](path, document))
    except DocumentError as error:
        raise damaged(path, error) from None
    entries = [_entry(path, draft, keys) for draft in drafts]
    notes = dict.fromkeys(note for draft in drafts for note in draft.notes)
    return Adopted(entries, [f"{path}: {note}" for note in notes])


def _entry(path: Path, draft: Draft, keys: Sequence[str]) -> Entry:
    coordinates = draft.coordinates | {key: _setting(path, draft.settings, key) for key in keys}
    return Entry(
        key=key_of(draft.verb, draft.settings, draft.seed, draft.model_version),
        verb=draft.verb,
        seed=draft.seed,
        settings=draft.settings,
        coordinates=coordinates,
        metrics=draft.metrics,
        document=draft.document,
        error=None,
        wall_s=draft.wall_s,
        program=draft.program,
        model_version=draft.model_version,
        created=draft.created or _written(path),
        host="",
        sweep=None,
    )


def _setting(path: Path, settings: JsonObject, key: str) -> Scalar:
    """Return a value of the settings; keys of the device need not state this.

    Raises:
        StoreError: where there is none.
    """
    for start in (settings, settings.get("device"), settings.get("header")):
        found: Any = start
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        # A policy with parameters is called by its kind.
        if isinstance(found, Mapping) and isinstance(found.get("kind"), str):
            rest = [f"{name}={value}" for name, value in found.items() if name != "kind"]
            found = " ".join([found["kind"], *rest])
        if isinstance(found, Scalar) and found is not None:
            return found
    raise StoreError(f"{path}: its settings have no single value `{key}`")


def _written(path: Path) -> str:
    """Return when a file was written, which is the closest that is known."""
    when = dt.datetime.fromtimestamp(path.stat().st_mtime, tz=dt.timezone.utc)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def _of_result(path: Path, document: JsonObject) -> Iterator[Draft]:
    content = result.from_file(document)[0]
    if content.partial or content.metrics is None:
        raise StoreError(f"{path}: the run was interrupted; accepted: complete runs")
    if not content.checks.passed:
        raise StoreError(f"{path}: its self-checks failed: its numbers cannot be trusted")
    is_replay = "trace" in content.workload
    settings: JsonObject = {
        "device": content.device,
        "options" if is_replay else "workload": content.workload,
    }
    notes: tuple[str, ...] = ()
    if content.state.origin != "fresh":
        settings["origin"] = document["state"]["origin"]
        notes = ("began with a drive that was not empty; its key is not that of any sweep",)
    if content.observed is not None:
        settings["observed"] = document["observed"]
    names = {"device": content.run.device_name, "workload": content.run.workload_name}
    if names["workload"] in {None, CUSTOM}:
        names["workload"] = content.workload.get("name")
    predicted = content.effective.predicted_waf
    more = {} if predicted is None else {"predicted_waf": predicted}
    yield Draft(
        verb="replay" if is_replay else "benchmark",
        settings=settings,
        seed=content.seed,
        coordinates={name: value for name, value in names.items() if value is not None},
        metrics=dict(numbers(document["metrics"])) | more,
        program=content.tool.version,
        model_version=content.model_version,
        created=content.created,
        wall_s=float(content.run.wall_s),
        document=document,
        notes=notes,
    )


def _of_test(path: Path, document: JsonObject) -> Iterator[Draft]:
    content = pts.from_file(document)[0]
    if content.partial:
        raise StoreError(f"{path}: the test was interrupted; accepted: complete tests")
    header = document["header"]
    target = header["target"]
    is_simulated = target["kind"] == "sim" and target["device"].get("config") is not None
    settings: JsonObject = {"test": content.test, "header": {n: header[n] for n in PROCEDURE}}
    notes: tuple[str, ...] = ()
    if is_simulated:
        settings["device"] = target["device"]["config"]
    else:
        settings |= {"target": target["name"], "document": content.digest}
        notes = ("is of a real drive, which is never the same twice: its key is its own",)
    version = target["platform"].get("model_version") if is_simulated else None
    moment = _moment(path, content)
    if moment is None:
        notes += (
            "does not say when and by which program it was made; the time is that of the file",
        )
    yield Draft(
        verb=f"pts.{content.test}",
        settings=settings,
        seed=content.header.seed,
        coordinates={"target": target["name"], "profile": header["profile"]},
        metrics=dict(numbers(document["results"])),
        program=UNKNOWN if moment is None else moment.tool.version,
        model_version=version if isinstance(version, int) else 0,
        created=None if moment is None else moment.created,
        wall_s=0.0 if moment is None else float(moment.run.wall_s),
        document=document,
        notes=notes,
    )


def _moment(path: Path, content: pts.PtsDocument) -> pts.Moment | None:
    """Return machine and moment of a test: its own, or those in the file next to it."""
    if content.tool is not None and content.created is not None and content.run is not None:
        return pts.Moment(tool=content.tool, created=content.created, run=content.run)
    found = read_moments(path.parent / MOMENTS).get(content.name)
    if not isinstance(found, dict):
        return None
    # Those of other versions lack what has come since.
    moment = readable(found, pts.Moment)[0]
    return moment if moment.digest == content.digest else None


def _of_curve(path: Path, document: JsonObject) -> Iterator[Draft]:
    curve = typed(path, document, CurveDocument)
    if curve.partial:
        raise StoreError(f"{path}: the curve was interrupted; accepted: complete curves")
    rates = {f"fer@{point.x:.6g}": point.fer for point in curve.points}
    yield Draft(
        verb="ecc.curve",
        settings={
            "code": curve.code_identity,
            "channel": curve.channel,
            "channel_settings": curve.channel_settings,
            "decoder": curve.decoder_settings,
            "codewords": curve.codewords,
            "document": digest(document),
        },
        seed=curve.seed,
        coordinates={"code": curve.code, "channel": curve.channel},
        metrics={"rate": float(curve.rate), "info_bits": float(curve.info_bits)} | rates,
        document=document,
        notes=(SILENT,),
    )


def _of_curves(path: Path, document: JsonObject) -> Iterator[Draft]:
    comparison = typed(path, document, CodeComparison)
    if comparison.partial:
        raise StoreError(f"{path}: the comparison was interrupted; accepted: complete ones")
    for curve in document["curves"]:
        yield from _of_curve(path, curve)


def _of_life(path: Path, document: JsonObject) -> Iterator[Draft]:
    test = typed(path, document, LifeTest)
    yield _draft_of_life("reliability.life", document, test.seed, {"model": test.model})


def _of_drive_life(path: Path, document: JsonObject) -> Iterator[Draft]:
    test = typed(path, document, DriveLifeTest)
    yield _draft_of_life("reliability.drive-life", document, test.seed, {"device": test.device})


def _draft_of_life(verb: str, document: JsonObject, seed: int, subject: dict[str, Scalar]) -> Draft:
    texts = {name: value for name, value in document.items() if isinstance(value, str)}
    return Draft(
        verb=verb,
        settings={"stated": texts, "document": digest(document)},
        seed=seed,
        coordinates=subject | {"drive_class": document["drive_class"]},
        metrics={name: value for name, value in numbers(document) if name != "seed"},
        document=document,
        notes=(SILENT,),
    )


def _of_application(path: Path, document: JsonObject) -> Iterator[Draft]:
    content = typed(path, document, app.AppDocument)
    if content.partial or content.total_ms is None:
        raise StoreError(f"{path}: the run was interrupted; accepted: complete runs")
    if not content.passed:
        raise StoreError(f"{path}: its self-checks failed: its numbers cannot be trusted")
    yield application(document)


def application(document: JsonObject) -> Draft:
    """Return what a whole document of applications says of its point."""
    run, state = document["run"], document["state"]
    return Draft(
        verb="app",
        settings={"target": run["target"], "document": document["digest"]},
        seed=document["seed"],
        coordinates={
            "target": run["target"],
            "suite": document["suite"],
            "state": None if state is None else state["name"],
        },
        metrics=app.figures(document),
        program=run["version"],
        created=run["created"] or None,
        wall_s=float(run["wall_s"]),
        document=document,
        notes=("does not say all its settings; its key is its own",),
    )


def application_entry(document: JsonObject) -> Entry:
    """Return a whole document of applications as a point of a store."""
    return _entry(Path("app.json"), application(document), ())


READERS: dict[str, Callable[[Path, JsonObject], Iterator[Draft]]] = {
    "opennandlab.result/1": _of_result,
    "opennandlab.pts/1": _of_test,
    "opennandlab.ecc-curve/1": _of_curve,
    "opennandlab.ecc-comparison/1": _of_curves,
    "opennandlab.life/1": _of_life,
    "opennandlab.drive-life/1": _of_drive_life,
    "opennandlab.app/1": _of_application,
}
