"""Verifying a result: the same thing run again must give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opennandlab.base.canonical import deterministic_part, digest, first_difference
from opennandlab.base.errors import CodeError, ConfigError, ResultError
from opennandlab.core.cautions import is_fresh, is_session
from opennandlab.core.observation import recorded
from opennandlab.core.result import Result, model_version, tool
from opennandlab.core.run import Run, Start, prepare_benchmark, prepare_replay
from opennandlab.core.slices import Watcher
from opennandlab.documents.result import Origin, ResultDocument, Tool
from opennandlab.documents.saved import ForeignError
from opennandlab.policies import policy as policies
from opennandlab.policies.source import named_in

# Documents that can be checked in another way, and how.
OTHERWISE = {
    "opennandlab.pts": "a document of a standard test is checked by running its command again: "
    "of a simulated drive both documents have the same `digest`, and `compare` shows what differs",
}


@dataclass(frozen=True)
class Verdict:
    """What a verification found.

    Args:
        identical: True when the deterministic part came out byte-identical.
        difference: Dotted path and values of the first difference, file against rerun.
        digest_file: The digest that the file states.
        digest_rerun: The digest of the rerun; None when it was not run.
        note: What explains the difference, where that is known.
    """

    identical: bool
    difference: str | None
    digest_file: str
    digest_rerun: str | None
    note: str | None = None


def verify(  # noqa: PLR0913 (options, by name)
    path: str | Path,
    *,
    state: str | None = None,
    trace: str | Path | Sequence[str | Path] = (),
    gc_policy: object = None,
    progress: Watcher | None = None,
    slice_ops: int | None = None,
) -> Verdict:
    """Run what a result file describes again, and compare the deterministic parts.

    Args:
        path: The result file.
        state: Where the device image is now, as `image:FILE`, if the result started from one.
        trace: Where the trace is now, if the result replayed one; or those of its tenants.
        gc_policy: The policy, if the result is of one whose name does not lead back to it.
        progress: Called about 20 times a second.
        slice_ops: Operations in a slice; results do not depend on it.

    Raises:
        ResultError: when the file is not a complete result.
        ConfigError: when its device or workload is refused.
        Interrupted: on Ctrl-C.
    """
    filed = _loaded(path)
    content = filed.content
    if filed.partial:
        raise ResultError(f"{path}: partial: an interrupted run cannot be repeated")
    if is_session(content):
        raise ResultError(f"{path}: made step by step: cannot be repeated from this file alone")
    if content.model_version != model_version():
        return Verdict(
            identical=False,
            difference=f"model_version: {content.model_version} against {model_version()}",
            digest_file=filed.digest,
            digest_rerun=None,
            note="other versions of the model give other numbers; it was not run again",
        )
    try:
        with named_in(path, is_record=True):
            traces = [trace] if isinstance(trace, str | Path) else list(trace or ())
            run = _run_again(content, state, traces, gc_policy)
    except CodeError:
        raise
    except ConfigError as error:
        if filed.digest == digest(filed.document):
            raise
        raise ResultError(
            f"{path}: damaged or edited: its content does not match its digest: {error}"
        ) from error
    _refuse_unresolved(path, content, run)
    rerun = run.measure(progress=progress, slice_ops=slice_ops)
    # The file as it is: a key that this build does not know is a difference too.
    found, made = filed.document, rerun.document
    difference = first_difference(deterministic_part(found), deterministic_part(made))
    if difference is None and filed.digest != rerun.digest:
        difference = f"digest: {filed.digest} against {rerun.digest}"
    note = None if difference is None else _reason(filed)
    return Verdict(difference is None, difference, filed.digest, rerun.digest, note)


def _reason(filed: Result) -> str | None:
    """Return why a result may differ from its run, if that is known."""
    if filed.digest != digest(filed.document):
        return "the file was changed after it was written: its content does not match its digest"
    return _changed_sources(filed.content.tool)


def _refuse_unresolved(path: str | Path, content: ResultDocument, run: Run) -> None:
    """Refuse a result whose device lacks keys, or has others than the device that it describes."""
    unresolved = first_difference({"device": content.device}, {"device": run.device.to_dict()})
    if unresolved is not None:
        raise ResultError(
            f"{path}: damaged: {unresolved} (the file against the device that it describes); "
            "accepted: all keys of the resolved device, as a result has them"
        )


def _loaded(path: str | Path) -> Result:
    """Read a result file; of what is checked in another way, say how."""
    try:
        return Result.load(path, check_digest=False)
    except ForeignError as error:
        hint = OTHERWISE.get(error.schema.partition("/")[0])
        if hint is None:
            raise
        raise ResultError(f"{error}; {hint}") from None


def _changed_sources(made_by: Tool) -> str | None:
    """Tell which of both builds is not that of its commit."""
    here = tool()
    builds = (("the build that wrote the file", made_by), ("this build", here))
    changed = [f"{name} (commit {one.commit})" for name, one in builds if one.dirty is True]
    if not changed:
        return None
    return f"the sources were changed after the commit of {' and of '.join(changed)}"


def _run_again(
    document: ResultDocument,
    state: str | None,
    traces: list[str | Path],
    gc_policy: object,
) -> Run:
    run = document.run
    if state is None and run.image_path is not None:
        state = f"image:{run.image_path}"
    elif state is None and is_fresh(document):
        state = "fresh"
    elif state is None and isinstance(document.state.origin, Origin):
        raise ResultError(
            "the result began with a device image and does not record its path: --state image:FILE"
        )
    _same_policy(document.device, gc_policy)
    start = Start(document.device, document.seed, state, gc_policy)
    if "trace" in document.workload:
        if len(traces) > 1:
            raise ResultError(f"the result replayed one trace, and {len(traces)} are given")
        path = traces[0] if traces else run.trace_path
        if path is None:
            raise ResultError(
                "the result replayed a trace and does not record its path: --trace FILE"
            )
        return prepare_replay(start, path, document.workload, recorded(document))
    tenants = document.workload.get("tenants") or ()
    if traces and not any("trace" in tenant for tenant in tenants):
        raise ResultError("the result replayed no trace: leave out --trace")
    traces = traces or list(run.trace_paths or ())
    return prepare_benchmark(start, document.workload, watch=recorded(document), traces=traces)


def _same_policy(device: Mapping[str, Any], gc_policy: object) -> None:
    """Refuse a policy whose source is not that of the result.

    Raises:
        ResultError: with both.
    """
    if gc_policy is None:
        return
    ftl = device.get("ftl")
    recorded = (ftl.get("gc_policy") if isinstance(ftl, Mapping) else None) or {}
    here = policies.given(gc_policy).record()
    if here != recorded:
        raise ResultError(f"the result was made with the policy {recorded}, not with {here}")
