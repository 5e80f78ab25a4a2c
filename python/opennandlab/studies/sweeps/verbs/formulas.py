"""`theory.*` and `reliability.rber`: what is computed, not simulated; no seed decides anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import ConfigError
from opennandlab.documents.record import JsonObject
from opennandlab.store.entry import numbers
from opennandlab.studies.sweeps.verb import Reader, Verb
from opennandlab.studies.sweeps.verbs.life import model_of, stated_model
from opennandlab.theory.closed_loop import busy_dies
from opennandlab.theory.endurance import drive_writes_per_day, tbw_bytes
from opennandlab.theory.queueing import independent_dies
from opennandlab.theory.waf import Traffic, predict_waf

SCHEMA = "opennandlab.formula/1"
# Default of a drive without spare factor and over-provisioning.
OVER_PROVISIONING = 0.07
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
Values = dict[str, float | None]


class Formula(Verb):
    """A formula with its parameters."""

    title: ClassVar[str] = "a formula"
    is_random: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        values: Sequence[str],
        usual: Mapping[str, Any],
        compute: Callable[[Mapping[str, Any]], Values],
        stated: Callable[[JsonObject], JsonObject] = dict,
    ) -> None:
        """Take what is computed.

        Args:
            name: As it is typed.
            values: Names of the values that some parameters have; the first is drawn.
            usual: Parameters and their defaults; None for none.
            compute: Parameters -> values by name; raises `ValueError` for invalid values.
            stated: Parameters -> the same, with the content of files instead of their names.
        """
        self.name = name  # type: ignore[misc]
        self.metric = values[0]  # type: ignore[misc]
        self.keys = dict.fromkeys(usual, "a parameter")  # type: ignore[misc]
        self.usual = dict(usual)
        self._values = tuple(values)
        self._compute = compute
        self._stated = stated

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what fills in the defaults of a point."""

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            self.check(changes)
            found = {**self.usual, **request, **changes}
            for name, value in found.items():
                self._check_kind(name, value)
            return self._stated(found)

        return settings

    def _check_kind(self, name: str, value: object) -> None:
        """Refuse text for a number, and a number for text."""
        usual = self.usual[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(usual, int | float) and not is_number:
            raise ConfigError(name, f"`{value}` is refused; accepted: a number")
        if isinstance(usual, str) and not isinstance(value, str | Mapping):
            raise ConfigError(name, f"`{value}` is refused; accepted: text such as {usual}")
        if usual is None and value is not None and not (is_number or isinstance(value, str)):
            raise ConfigError(name, f"`{value}` is refused; accepted: a number or text")

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Compute."""
        del seed, place
        watch(None)
        try:
            values = self._compute(settings)
        except (ValueError, TypeError) as error:
            raise ConfigError(".", str(error)) from error
        return {"schema": SCHEMA, "formula": self.name, "parameters": settings, "metrics": values}

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return all values, since a point may lack some: a policy without a closed form."""
        del request
        return list(self._values)

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the values."""
        return dict(numbers(document["metrics"]))


class ErrorModel(Formula):
    """An error model at one stress."""

    title: ClassVar[str] = "an error model"


def _waf(given: Mapping[str, Any]) -> Values:
    spare, over = given["spare_factor"], given["over_provisioning_pct"]
    if spare is not None and over is not None:
        raise ValueError("give either spare_factor or over_provisioning_pct")
    if spare is None:
        over = OVER_PROVISIONING if over is None else over
        spare = over / (1 + over)
    skew: dict[str, Any] = {}
    if given["hot_fraction"] is not None:
        skew = {
            "pattern": "hot_cold",
            "fraction": given["hot_fraction"],
            "share": given["hot_share"],
        }
    traffic = Traffic(**skew, trim_share=given["trim_pct"] / 100, trim_target=given["trim_target"])
    waf = predict_waf(given["policy"], {"d": given["d"]}, given["pages_per_block"], spare, traffic)
    return {"waf": waf, "spare_factor_effective": spare}


def _queueing(given: Mapping[str, Any]) -> Values:
    dies, service_us = given["dies"], given["service_us"]
    if (given["arrivals_per_s"] is None) == (given["queue_depth"] is None):
        raise ValueError("give either arrivals_per_s (open loop) or queue_depth (closed loop)")
    if given["arrivals_per_s"] is None:
        depth = given["queue_depth"]
        busy = busy_dies(dies, depth)
        return {"iops": busy / service_us * 1e6, "latency_us_mean": depth * service_us / busy}
    queue = independent_dies(given["arrivals_per_s"], dies, service_us)
    return {
        "load": queue.load,
        "latency_us_mean": queue.response_us_mean,
        **{f"latency_us_{name}": queue.response_us_quantile(at) for name, at in QUANTILES.items()},
    }


def _endurance(given: Mapping[str, Any]) -> Values:
    written = tbw_bytes(
        given["raw_tb"] * 1e12,
        given["pe_cycles"],
        given["write_amplification"],
        given["wear_efficiency"],
    )
    found: Values = {"tbw_tb": written / 1e12}
    if given["user_tb"] is not None:
        user = given["user_tb"] * 1e12
        found["dwpd"] = drive_writes_per_day(written, user, given["years"])
    return found


def _rber(given: Mapping[str, Any]) -> Values:
    model = model_of(given["model"])
    stress = {key: given[key] for key in ("pe_cycles", "retention_h", "temperature_c", "reads")}
    return {"rber": float(model.rber(**stress, page_type=given["page_type"]))}


FORMULAS: tuple[Formula, ...] = (
    Formula(
        "theory.waf",
        ("waf", "spare_factor_effective"),
        {
            "policy": "greedy", "d": 10, "pages_per_block": 256, "spare_factor": None,
            "over_provisioning_pct": None, "hot_fraction": None, "hot_share": None, "trim_pct": 0.0,
            "trim_target": "any",
        },
        _waf,
    ),
    Formula(
        "theory.queueing",
        ("latency_us_mean", "iops", "load", *(f"latency_us_{name}" for name in QUANTILES)),
        {"dies": 1, "service_us": 60.0, "arrivals_per_s": None, "queue_depth": None},
        _queueing,
    ),
    Formula(
        "theory.endurance",
        ("tbw_tb", "dwpd"),
        {
            "raw_tb": 1.0, "pe_cycles": 3000, "write_amplification": 1.0, "wear_efficiency": 1.0,
            "user_tb": None, "years": 5.0,
        },
        _endurance,
    ),
    ErrorModel(
        "reliability.rber",
        ("rber",),
        {
            "model": "tlc", "pe_cycles": 0.0, "retention_h": 0.0, "temperature_c": 40.0,
            "reads": 0.0, "page_type": None,
        },
        _rber,
        lambda given: {**given, "model": stated_model(given["model"])},
    ),
)  # fmt: skip
