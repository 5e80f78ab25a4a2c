"""`ecc.curve`: how often a code fails at one point of a channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from opennandlab.base.campaign import Watcher
from opennandlab.base.errors import ConfigError, ResultError
from opennandlab.core.run import SEED
from opennandlab.documents.ecc import CurvePoint
from opennandlab.documents.record import JsonObject, number_paths
from opennandlab.ecc.channels import Channel, points_of
from opennandlab.ecc.codes import Code, Decoder
from opennandlab.ecc.curves import METHODS, Curve, Effort, Progress, curve
from opennandlab.store.entry import numbers
from opennandlab.store.unfinished import empty
from opennandlab.studies.sweeps.point import PATHS
from opennandlab.studies.sweeps.verb import Reader, Verb

# Counts, and what is a coordinate.
ASIDE = ("tally", "strata", "x")
DECODER = tuple(field.name for field in fields(Decoder))
COUNTS = "curve.json"
EFFORT = {"errors": 100, "max_frames": 1_000_000, "method": "auto", "zero_codeword": False}


class EccCurve(Verb):
    """A code at one point of a channel."""

    is_resumable: ClassVar[bool] = True
    name: ClassVar[str] = "ecc.curve"
    title: ClassVar[str] = "a code at one point of a channel"
    metric: ClassVar[str] = "fer"
    single: ClassVar[tuple[str, ...]] = ("fer_low", "fer_high")
    columns: ClassVar[tuple[str, ...]] = ("fer", "fer_low", "fer_high", "frames", "frame_errors")
    keys: ClassVar[Mapping[str, str]] = {
        "code": "bch:m=M,t=T[,data_bits=N], ldpc:FILE, or a name such as nand-4k-r090",
        "channel": "bsc (the default), awgn, sensing:N or unquantised",
        "x": "the point: RBER, for awgn Eb/N0 in dB",
        "decoder": "settings of an LDPC decoder, such as {algorithm: layered-oms, iterations: 30}",
        "errors": "frame errors after which the point is known well enough; default 100",
        "max_frames": "the most frames; default a million",
        "method": ", ".join(METHODS),
        "zero_codeword": "true: send zeros",
    }

    def reader(self, request: Mapping[str, Any]) -> Reader:
        """Return what resolves code, channel, decoder and effort of a point."""
        axes: set[bool] = set()

        def settings(changes: Mapping[str, Any]) -> JsonObject:
            asked = _unfolded(request) | _unfolded(changes)
            self.check({key: value for key, value in asked.items() if "." not in key})
            missing = next((key for key in ("code", "x") if asked.get(key) is None), None)
            if missing:
                raise ConfigError(missing, f"is missing: {self.keys[missing]}")
            chosen = {key.partition(".")[2]: asked[key] for key in asked if "." in key}
            wrong = next((key for key in chosen if key not in DECODER), None)
            if wrong is not None:
                accepted = ", ".join(DECODER)
                raise ConfigError(f"decoder.{wrong}", f"is not a setting; accepted: {accepted}")
            decoder = Decoder(**chosen) if chosen else None
            code = Code.of(str(asked["code"]), decoder)
            if chosen and code.t is not None:
                name = next(iter(chosen))
                raise ConfigError(
                    f"decoder.{name}", "changes nothing with BCH; accepted: LDPC codes"
                )
            channel = Channel.of(str(asked.get("channel", "bsc")))
            axes.add(channel.has_rber)
            if len(axes) > 1:
                raise ConfigError(
                    "channel", "`x` is Eb/N0 in dB for awgn and a raw bit error rate for others; "
                    "accepted: one kind in a sweep"
                )  # fmt: skip
            x = asked["x"]
            if isinstance(x, bool) or not isinstance(x, int | float):
                raise ConfigError("x", f"`{x}` is refused; accepted: a number")
            points_of([float(x)], channel)
            effort = {key: asked.get(key, usual) for key, usual in EFFORT.items()}
            Effort(effort["errors"], effort["max_frames"], effort["method"])
            found: JsonObject = {
                "code": code.identity,
                "channel": str(asked.get("channel", "bsc")),
                "channel_settings": channel.as_dict(),
                "decoder": code.decoder.as_dict() if code.decoder else None,
                "x": float(x),
                PATHS: {"code": str(asked["code"])},
            }
            return found | effort

        return settings

    def run(
        self, settings: JsonObject, seed: int | None, watch: Watcher, place: Path | None = None
    ) -> JsonObject:
        """Count frames, or compute, until the point is known."""
        given = settings["decoder"]
        decoder = Decoder(**given) if given else None

        def told(progress: Progress) -> None:
            watch(progress.fraction)

        if place is not None and not _can_go_on(place / COUNTS):
            empty(place)
        found = curve(
            settings[PATHS]["code"],
            settings["channel"],
            [settings["x"]],
            decoder=decoder,
            errors=settings["errors"],
            max_frames=settings["max_frames"],
            method=settings["method"],
            zero_codeword=settings["zero_codeword"],
            seed=SEED if seed is None else seed,
            threads=1,
            output=None if place is None else place / COUNTS,
            progress=told,
        )
        return found.document

    def names(self, request: Mapping[str, Any]) -> list[str]:
        """Return the numbers of a point of a curve."""
        del request
        return [path for path in number_paths(CurvePoint) if path.partition(".")[0] not in ASIDE]

    def metrics(self, document: JsonObject) -> dict[str, float]:
        """Return the numbers of the point, counts apart."""
        point = document["points"][0]
        return dict(numbers({key: point[key] for key in point if key not in ASIDE}))


def _can_go_on(counts: Path) -> bool:
    """Tell whether what a run left can be read; of which curve it is, the key of its place says."""
    try:
        Curve.load(counts)
    except ResultError:
        return False
    return True


def _unfolded(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a decoder, given as a mapping, by dotted key."""
    found = {key: value for key, value in asked.items() if key != "decoder"}
    decoder = asked.get("decoder")
    if isinstance(decoder, Mapping):
        found |= {f"decoder.{key}": value for key, value in decoder.items()}
    elif decoder is not None:
        found["decoder.algorithm"] = decoder
    return found
