"""`pts.run`: a standard test from Python, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from opennandlab.base.errors import ConfigError
from opennandlab.base.hints import nearest
from opennandlab.core.tested import PtsResult
from opennandlab.pts.bench.folder import Place, prepared
from opennandlab.pts.bench.plan import Settings
from opennandlab.pts.bench.record import Watcher
from opennandlab.pts.bench.runner import outlook_of, run_test
from opennandlab.pts.bench.test import Test
from opennandlab.targets.consent import NONE, Consent
from opennandlab.targets.opening import Request, open_target

# What is not given by its own name but through the rest of the call.
NOT_GIVEN = {"options"}


def run_named(  # noqa: PLR0913 (options, by name)
    tests: Mapping[str, Test],
    test: str,
    target: str,
    *,
    changes: Mapping[str, Any] | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    consent: Consent = NONE,
    progress: Watcher | None = None,
    given: Mapping[str, Any],
) -> PtsResult:
    """Run one of `tests`; see `pts.run`."""
    if not isinstance(test, str) or not isinstance(target, str):
        raise ConfigError("target", "test and target are text, such as `iops`, `sim:tlc_standard`")
    chosen = _test(tests, test)
    settings = _settings(chosen, given)
    folder = None if output is None else Path(output)
    if resume and folder is None:
        raise ConfigError("resume", "needs the `output` of the run that was interrupted")
    place = Place(folder, resume)
    request = Request(
        target,
        overrides=dict(changes or {}),
        seed=settings.seed,
        consent=consent,
        folder=None if folder is None else folder / "fio",
        state=settings.state,
    )
    if chosen.kinds and request.kind not in chosen.kinds:
        kinds = ", ".join(chosen.kinds)
        raise ConfigError("target", f"`{test}` needs a target of the kind {kinds}, not {target}")
    with prepared(place, [test]):
        if request.kind != "sim":
            outlook_of(chosen, settings, request)
        opened = open_target(request)
        try:
            found = run_test(
                chosen, opened, settings=settings, place=place, name=test, watch=progress
            )
        finally:
            opened.close()
    return PtsResult.of(found)


def _test(tests: Mapping[str, Test], name: str) -> Test:
    if name in tests:
        return tests[name]
    near = nearest(name, list(tests))
    meant = f"; did you mean `{near}`?" if near else ""
    raise ConfigError("test", f"`{name}` is not a test; accepted: {', '.join(tests)}{meant}")


def _settings(test: Test, given: Mapping[str, Any]) -> Settings:
    """Return what is asked of a test: settings of all tests, and the options of this one."""
    known = [field.name for field in fields(Settings) if field.name not in NOT_GIVEN]
    own = [option.key for option in test.options]
    for key in given:
        if key not in known and key not in own:
            near = nearest(key, [*known, *own])
            meant = f"; did you mean `{near}`?" if near else ""
            accepted = ", ".join([*own, *known])
            raise ConfigError(
                key, f"`{test.name}` has no such setting; accepted: {accepted}{meant}"
            )
    settings = Settings(
        **{key: value for key, value in given.items() if key in known},
        options={key: value for key, value in given.items() if key in own},
    )
    try:
        settings.check()
    except TypeError as error:
        raise ConfigError(
            "settings", f"a number is given as text, or text as a number: {error}"
        ) from None
    return settings
