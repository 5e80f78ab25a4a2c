"""A model of the raw bit error rate: loaded by name, file or device, asked with arrays.

The model itself is the core's; here names become its JSON, and scalars and arrays its lists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.base.files import is_there, read_yaml
from opennandlab.base.frames import needed
from opennandlab.base.hints import hints, nearest
from opennandlab.base.plain import to_json
from opennandlab.core.config import (
    DeviceConfig,
    device_presets,
    load_device,
)
from opennandlab.core.own import model
from opennandlab.policies import plugins
from opennandlab.policies.source import is_name

if TYPE_CHECKING:
    import pandas as pd

Floats: TypeAlias = NDArray[np.float64]
Source: TypeAlias = "str | Path | Mapping[str, Any] | DeviceConfig | Model"

# Name -> section of a device file.
MODELS: dict[str, dict[str, Any]] = {
    "tlc": {"kind": "states", "preset": "tlc"},
    "slc": {"kind": "states", "preset": "slc"},
    "mlc": {"kind": "states", "preset": "mlc"},
    "qlc": {"kind": "states", "preset": "qlc"},
    "kim": {"kind": "kim"},
    "weibull": {"kind": "weibull"},
    "power_law": {"kind": "power_law"},
    "exponential": {"kind": "exponential"},
    "read_disturb": {"kind": "read_disturb"},
}
"""Models by name: threshold-voltage states of four cells, then formulas."""

# Temperature at which models state their hours unless told otherwise, degrees Celsius.
REFERENCE_C = 40.0


@dataclass(frozen=True)
class StatesUnderStress:
    """Threshold-voltage states of a cell; voltages in gaps, `float64`."""

    mean: Floats
    """Mean of each state, lowest first."""
    sigma: Floats
    """Standard deviation of each state."""
    default_levels: Floats
    """Read levels set for fresh flash."""
    best_levels: Floats
    """Read levels of fewest errors now."""
    page_of_level: tuple[int, ...]
    """Page type that each level belongs to."""
    page_types: tuple[str, ...]
    """Names, lower page first."""


@dataclass(frozen=True)
class LlrTable:
    """What 1, 3 or 7 reads of a page tell about a bit."""

    page_type: str
    """Name of the page type."""
    offsets: Floats
    """How far all levels were moved for each read, gaps."""
    sensed: tuple[str, ...]
    """Bits of the reads, lowest offset first; from the surest 0 to the surest 1."""
    llr: Floats
    """ln P(sensed | 0) / P(sensed | 1); positive means 0."""
    p_if_0: Floats
    """Probability of each pattern when the bit is 0."""
    p_if_1: Floats
    """Probability of each pattern when the bit is 1."""
    mutual_information: float
    """Between bit and pattern, bits."""
    rber: float
    """Error rate of a decision by sign."""

    def frame(self) -> pd.DataFrame:
        """Return one row for each pattern of the reads (needs pandas)."""
        with needed():
            import pandas as pd

        columns = {"llr": self.llr, "p_if_0": self.p_if_0, "p_if_1": self.p_if_1}
        return pd.DataFrame({"sensed": self.sensed, **columns})


@dataclass(frozen=True)
class RetryTable:
    """Offsets to try in turn when a page cannot be read; voltages in gaps."""

    page_types: tuple[str, ...]
    """Names, lower page first."""
    default_rber: Floats
    """Error rate with the default levels, per page type."""
    best_rber: Floats
    """Error rate with the best levels, per page type."""
    best_offsets: Floats
    """Offsets of the best levels."""
    retention_h: Floats
    """Hours after which each step is the best."""
    offsets: Floats
    """`(steps, levels)`: how far each level is moved."""
    rber: Floats
    """`(steps, page types)`: error rate with each step."""

    def frame(self) -> pd.DataFrame:
        """Return one row for each step: hours, offsets in gaps, error rates (needs pandas)."""
        with needed():
            import pandas as pd

        offsets = {f"offset_{level}": row for level, row in enumerate(self.offsets.T, 1)}
        rates = dict(zip((f"rber_{name}" for name in self.page_types), self.rber.T, strict=True))
        return pd.DataFrame({"retention_h": self.retention_h, **offsets, **rates})


class Model:
    """A model of the raw bit error rate.

    >>> load_model("kim").rber([0, 3000]).round(6).tolist()
    [0.00148, 0.006718]
    """

    def __init__(self, text: str, name: str = "custom") -> None:
        """Keep the resolved JSON, as the core wrote it."""
        self._json = text
        self.name = name

    def __repr__(self) -> str:
        """Name the model."""
        return f"<Model {self.name}>"

    @property
    def parameters(self) -> dict[str, Any]:
        """The resolved section of a device file, `kind` included."""
        parameters: dict[str, Any] = json.loads(self._json)
        return parameters

    @property
    def page_types(self) -> tuple[str, ...]:
        """Names of the page types that it tells apart, lower page first; empty if none."""
        return tuple(_core.page_types(self._json))

    def rber(
        self,
        pe_cycles: ArrayLike,
        retention_h: ArrayLike = 0.0,
        temperature_c: ArrayLike = REFERENCE_C,
        reads: ArrayLike = 0.0,
        page_type: str | None = None,
    ) -> Floats:
        """Return the raw bit error rate.

        Args:
            pe_cycles: Program/erase cycles of the block.
            retention_h: Hours since the page was programmed.
            temperature_c: Temperature during these hours, degrees Celsius.
            reads: Reads of the block since then, per page of the block.
            page_type: `lower`, `middle`, ...; by default the mean over page types.

        Returns:
            `float64`, in the shape that the arguments have together.

        Raises:
            ConfigError: for a value out of range, or a page type that the model does not know.

        >>> tlc = load_model("tlc")
        >>> bool(tlc.rber(3000, retention_h=720) > 1.5 * tlc.rber(3000))
        True
        """
        columns = np.broadcast_arrays(
            *(np.asarray(value, float) for value in (pe_cycles, retention_h, temperature_c, reads))
        )
        points = list(zip(*(column.ravel().tolist() for column in columns), strict=True))
        index = None if page_type is None else self._page(page_type)
        values = _core.rber(self._json, points, index)
        return np.array(values, float).reshape(columns[0].shape)

    def states(
        self,
        pe_cycles: float = 0.0,
        retention_h: float = 0.0,
        temperature_c: float = REFERENCE_C,
        reads: float = 0.0,
    ) -> StatesUnderStress:
        """Return the threshold-voltage states under stress, and the read levels.

        Args:
            pe_cycles: Program/erase cycles of the block.
            retention_h: Hours since the page was programmed.
            temperature_c: Temperature during these hours, degrees Celsius.
            reads: Reads of the block since then, per page of the block.

        Returns:
            Means, widths and levels.

        Raises:
            ConfigError: for a model without states, or a value out of range.

        >>> len(load_model("qlc").states().mean)
        16
        """
        point = (float(pe_cycles), float(retention_h), float(temperature_c), float(reads))
        found = json.loads(_core.states(self._json, point))
        return StatesUnderStress(
            mean=_floats(found["mean"]),
            sigma=_floats(found["sigma"]),
            default_levels=_floats(found["default_levels"]),
            best_levels=_floats(found["best_levels"]),
            page_of_level=tuple(found["page_of_level"]),
            page_types=tuple(found["page_types"]),
        )

    def llr_table(  # noqa: PLR0913 - a stress has four parts
        self,
        page_type: str = "lower",
        count: int = 3,
        *,
        pe_cycles: float = 0.0,
        retention_h: float = 0.0,
        temperature_c: float = REFERENCE_C,
        reads: float = 0.0,
        offsets: ArrayLike | None = None,
        levels: str | ArrayLike = "default",
    ) -> LlrTable:
        """Return log-likelihood ratios for several reads of a page.

        Args:
            page_type: `lower`, `middle`, ...
            count: Reads: 1, 3 or 7.
            pe_cycles: Program/erase cycles of the block.
            retention_h: Hours since the page was programmed.
            temperature_c: Temperature during these hours, degrees Celsius.
            reads: Reads of the block since then, per page of the block.
            offsets: How far the levels are moved for each read, gaps; by default those that tell
                most. Their number then counts, not `count`.
            levels: Around which levels: `default`, `best`, or one voltage for each.

        Raises:
            ConfigError: for a model without states, another number of reads, or a bad value.

        >>> table = load_model("tlc").llr_table("lower", 3, pe_cycles=3000)
        >>> table.sensed, bool(table.mutual_information > 0.97)
        (('000', '001', '011', '111'), True)
        """
        point = (float(pe_cycles), float(retention_h), float(temperature_c), float(reads))
        at: list[float] | None = None
        if isinstance(levels, str):
            if levels not in {"default", "best"}:
                raise ConfigError("levels", f"`{levels}` is unknown; accepted: default, best")
            if levels == "best":
                at = self.states(*point).best_levels.tolist()
        else:
            at = np.asarray(levels, float).tolist()
        moved = None if offsets is None else np.asarray(offsets, float).tolist()
        text = _core.llr_table(
            self._json, point, self._page(page_type, with_states=True), count, moved, at
        )
        found = json.loads(text)
        bins = found["bins"]
        return LlrTable(
            page_type=page_type,
            offsets=_floats(found["offsets"]),
            sensed=tuple(row["sensed"] for row in bins),
            llr=_floats([row["llr"] for row in bins]),
            p_if_0=_floats([row["p_if_0"] for row in bins]),
            p_if_1=_floats([row["p_if_1"] for row in bins]),
            mutual_information=found["mutual_information"],
            rber=found["rber"],
        )

    def retry_table(  # noqa: PLR0913 - a stress has four parts
        self,
        steps: int = 8,
        horizon_h: float = 8760.0,
        *,
        pe_cycles: float = 0.0,
        retention_h: float = 0.0,
        temperature_c: float = REFERENCE_C,
        reads: float = 0.0,
    ) -> RetryTable:
        """Return the read-retry table that follows from charge loss.

        Args:
            steps: Entries of the table, 1 to 64.
            horizon_h: Retention that the last entry is made for, at `temperature_c`.
            pe_cycles: Program/erase cycles of the block.
            retention_h: Hours since the page was programmed, for the error rates.
            temperature_c: Temperature during these hours, degrees Celsius.
            reads: Reads of the block since then, for the error rates.

        Returns:
            Offsets of each step, and what a page under stress reads with it.

        Raises:
            ConfigError: for a model without states, or a value out of range.

        >>> table = load_model("tlc").retry_table(pe_cycles=3000, retention_h=8760)
        >>> bool((table.rber[-1] < table.default_rber).all())
        True
        """
        wear, temperature = float(pe_cycles), float(temperature_c)
        text = _core.retry_steps(
            self._json,
            (wear, float(horizon_h), temperature, 0.0),
            steps,
            (wear, float(retention_h), temperature, float(reads)),
        )
        found = json.loads(text)
        rows = found["steps"]
        return RetryTable(
            page_types=tuple(found["page_types"]),
            default_rber=_floats(found["default_rber"]),
            best_rber=_floats(found["best_rber"]),
            best_offsets=_floats(found["best_levels"]) - _floats(found["default_levels"]),
            retention_h=_floats([row["retention_h"] for row in rows]),
            offsets=_floats([row["offsets"] for row in rows]),
            rber=_floats([row["rber"] for row in rows]),
        )

    def _page(self, page_type: str, *, with_states: bool = False) -> int:
        names = self.page_types
        if page_type in names:
            return names.index(page_type)
        if not names and with_states:
            kind = self.parameters["kind"]
            message = f"`{kind}` has no threshold-voltage states; accepted: states"
            raise ConfigError("reliability.kind", message)
        accepted = ", ".join(names) or "none: this model does not distinguish page types"
        raise ConfigError("page_type", f"`{page_type}` is unknown; accepted: {accepted}")


def load_model(source: Source) -> Model:
    """Load a model by name, from a file, from a mapping, or from a device.

    Args:
        source: A name of `MODELS`, one that a package has registered, `module:name`, a device
            preset, the path of a YAML file that holds a
            `reliability` section or is one, a mapping with `kind`, a device, or a model.

    Raises:
        ConfigError: with dotted path, the offending value and what is accepted.

    >>> load_model({"kind": "power_law", "exponent": 1.5}).parameters["exponent"]
    1.5
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, DeviceConfig):
        return Model(_core.device_reliability(source.json), source.name)
    if isinstance(source, Mapping):
        return _made(source, "custom")
    text = str(source)
    section = MODELS.get(text) or _registered(text)
    if section is not None:
        return _made(section, text)
    path = Path(text)
    if path.suffix in {".yaml", ".yml"} or is_there(path):
        return _from_file(path)
    if text in device_presets():
        return load_model(load_device(text))
    names = [*MODELS, *device_presets()]
    near = nearest(text, names)
    meant = f"; did you mean `{near}`?" if near else ""
    accepted = ", ".join(names)
    raise ConfigError(
        ".", f"unknown model `{text}`; accepted: {accepted}, or the path of a YAML file{meant}"
    )


def _registered(name: str) -> dict[str, Any] | None:
    """Return the section that somebody's own name stands for; None where it is no such name."""
    if is_name(name):
        return model(name)
    known = is_there(Path(name)) or name in device_presets()
    plugin = None if known else plugins.find("reliability", name, ".")
    return None if plugin is None else model(plugin.object)


def layer_factors(layers: int, swing: float) -> Floats:
    """Return the factor of the error rate of each layer of a 3D stack; their mean is 1.

    Args:
        layers: Layers of the stack.
        swing: How much more than the mean the outermost layers err, 0 to 2.

    Returns:
        `float64, (layers,)`, bottom first.

    Raises:
        ConfigError: for no layers, or a swing out of range.

    Source:
        That the outer layers are worst: Y. Luo et al., SIGMETRICS 2018; the parabola is assumed.

    >>> layer_factors(3, 0.5).round(3).tolist()
    [1.125, 0.75, 1.125]
    """
    if not 0 <= layers < 2**32:
        raise ConfigError("layers", f"{layers} is not usable; accepted: 1 to 10000")
    return np.array(_core.layer_factors(layers, swing), float)


def _floats(values: object) -> Floats:
    return np.array(values, float)


def _from_file(path: Path) -> Model:
    document = read_yaml(path)
    if "kind" in document:
        return _made(document, path.name)
    return load_model(load_device(path))


def _made(section: Mapping[str, Any], name: str) -> Model:
    text = to_json(dict(section))
    with hints({"reliability": section}):
        return Model(_core.resolve_reliability(text), name)
