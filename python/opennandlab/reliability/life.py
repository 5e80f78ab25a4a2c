"""A life test after JESD218: write to the rated amount, keep without power, read everything back.

```text
write TBW ──► P/E cycles = TBW x WAF / capacity ──► retention of the class ──► read back ──► UBER
```

Nothing is simulated write by write: wear is the mean over the drive, retention is the class's own
(a bake of equal effect is printed next to it), and UBER follows from the error model and the code
as `P(codeword fails) / data bits`, averaged over page types and layers; LDPC codes by the table of
the device, decoded from as many reads as its controller makes. What a test of this size
would *see* is then drawn once from that rate, with its interval: a drive is read a few times, and
1e-15 is shown only by 3e15 bits without an error.

Left out: wear that differs between blocks, early failures, the temperature of writing.
"""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from opennandlab.base.errors import ConfigError
from opennandlab.core.by_hand import overruled
from opennandlab.core.config import DeviceConfig, load_device, map_unit_bytes
from opennandlab.core.config import Source as DeviceSource
from opennandlab.documents.life import LIFE_SCHEMA, LifeTest
from opennandlab.reliability.code_limit import page_failure
from opennandlab.reliability.jedec import BAKE_C
from opennandlab.reliability.model import Model, Source, layer_factors, load_model
from opennandlab.reliability.storage import Storage
from opennandlab.stats.poisson import CONFIDENCE, EXACT_EVENTS_MAX, poisson_interval
from opennandlab.theory.prediction import predicted_waf, why_no_formula


def life_test(  # noqa: PLR0913 - what a test plan states
    device: DeviceSource,
    drive_class: str = "client",
    *,
    tbw_tb: float | None = None,
    waf: float | None = None,
    model: Source | None = None,
    reads: float = 0.0,
    storage_h: float | None = None,
    storage_c: float | None = None,
    cv: float = 0.0,
    layers: int = 1,
    layer_swing: float = 0.0,
    retry: bool = False,
    passes: float = 1.0,
    powered: bool = False,
    seed: int = 42,
) -> LifeTest:
    """Run a life test after JESD218 on a device.

    Args:
        device: Preset, file, mapping or device.
        drive_class: `client` or `enterprise`.
        tbw_tb: Bytes that the host writes, TB; by default what wears the flash to its rated cycles.
        waf: Write amplification; by default the closed form for uniform random writes.
        model: Error model; by default the device's own.
        reads: Reads per page of the block before the final one.
        storage_h: Hours that the data is kept; by default `nand.stress.retention_h` where that
            was set by hand, else what the class asks for.
        storage_c: Temperature of these hours, likewise.
        cv: Relative standard deviation of the error rates of pages.
        layers: Layers of the stack.
        layer_swing: How much more than the mean the outermost layers err, 0 to 2.
        retry: Read at the best levels, as a drive ends up doing; needs a model with states.
        passes: How often the whole drive is read back.
        powered: The drive has power while the data is kept, and refreshes it: at the end no data
            is older than `ftl.refresh.after_days`, and each time that it was all moved has worn the
            flash by its share. Without power, which JESD218 asks for, nothing is refreshed.
        seed: Seed of the drawn outcome.

    Returns:
        The outcome.

    Raises:
        ConfigError: for an unknown class, a spread `cv` with LDPC, or a value out of range.

    Source:
        JEDEC JESD218 (recalled, unverified); UBER as in N. Mielke et al., IRPS 2008.

    >>> test = life_test("tlc_standard", "client")
    >>> test.pe_cycles, test.passed
    (3000.0, False)
    """
    drive = load_device(device)
    storage = Storage.of(drive, drive_class, storage_h, storage_c, reads)
    required, warnings = storage.required, storage.warnings
    for name, value in (("tbw", tbw_tb), ("passes", passes)):
        if value is not None and not 0.0 < value < math.inf:
            raise ConfigError(name, f"{value} is not usable; accepted: a number above 0")
    factor, factor_source = _waf(drive, waf)
    raw_bytes = drive.effective["physical_pages"] * map_unit_bytes(drive.to_dict())
    rated = float(drive["nand.max_pe_cycles"])
    written = rated * raw_bytes / factor if tbw_tb is None else tbw_tb * 1e12
    cycles = rated if tbw_tb is None else written * factor / raw_bytes
    refreshes = None
    if powered:
        kept, required = required.retention_h, required.under_power(drive)
        times = math.floor(kept / required.retention_h) if required.retention_h < kept else 0
        refreshes = times * float(drive.effective["logical_bytes"]) / raw_bytes
        cycles += refreshes
    chosen = load_model(drive if model is None else model)
    if model is not None:
        by = {"reliability": chosen.parameters}
        warnings += overruled(drive, by, "the errors are those of the model")
    stress = (cycles, required.retention_h, required.retention_c, storage.reads)
    rates, names = _rates(chosen, stress, retry=retry)
    spread = np.outer(rates, layer_factors(layers, layer_swing)).clip(0.0, 0.5)
    failure, uber = page_failure(drive, spread, cv)
    bits = float(drive.effective["logical_bytes"]) * 8.0 * passes
    errors = drawn(uber * bits, seed)
    low, high = poisson_interval(errors)
    return LifeTest(
        schema=LIFE_SCHEMA,
        drive_class=drive_class,
        model=chosen.name,
        tbw_tb=written / 1e12,
        waf=factor,
        waf_source=factor_source,
        pe_cycles=cycles,
        pe_cycles_rated=rated,
        retention_h=required.retention_h,
        retention_c=required.retention_c,
        refreshes=refreshes,
        bake_c=BAKE_C,
        bake_h=required.bake_h(BAKE_C),
        rber=float(rates.mean()),
        rber_by_page=dict(zip(names, rates.tolist(), strict=False)),
        retry=retry,
        codeword_failure=failure,
        uber=uber,
        uber_max=required.uber_max,
        bits_read=bits,
        errors_expected=uber * bits,
        errors_drawn=errors,
        uber_drawn=errors / bits,
        uber_low=low / bits,
        uber_high=high / bits,
        bits_to_show=-math.log((1.0 - CONFIDENCE) / 2.0) / required.uber_max,
        seed=seed,
        passed=uber <= required.uber_max,
        warnings=warnings or None,
    )


def _waf(device: DeviceConfig, waf: float | None) -> tuple[float, str]:
    if waf is not None:
        if not 1.0 <= waf < math.inf:
            raise ConfigError("waf", f"{waf} is not usable; accepted: 1 or more")
        return waf, "given"
    value = predicted_waf(device.to_dict(), device.effective)
    if value is None:
        why = why_no_formula(device.to_dict(), device.effective)
        message = f"no closed form for this device: {why}"
        accepted = (
            "1 or more (`--waf 3`, in a sweep `life.waf`), or a life test that simulates the drive "
            "(without --analytic, in a sweep `reliability.drive-life`)"
        )
        raise ConfigError("waf", f"{message}; accepted: {accepted}")
    return value, "closed form, uniform random writes"


def _rates(
    model: Model, stress: tuple[float, float, float, float], *, retry: bool
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the error rate of each page type, and their names."""
    names = model.page_types
    cycles, hours, temperature, reads = stress
    if retry:
        table = model.retry_table(
            pe_cycles=cycles, retention_h=hours, temperature_c=temperature, reads=reads
        )
        return table.best_rber, names
    if not names:
        return np.atleast_1d(model.rber(*stress)), names
    return np.array([model.rber(*stress, page_type=name) for name in names]).ravel(), names


def drawn(mean: float, seed: int, name: str = "reliability.life") -> int:
    """Draw a Poisson variable; only `Random.random` is the same in every version of Python.

    Args:
        mean: Its mean.
        seed: Seed of the draw.
        name: Name of what is drawn: draws of other names are independent of it.
    """
    stream = random.Random(f"{seed}/{name}")  # noqa: S311 - a simulation, not a secret
    if mean > EXACT_EVENTS_MAX:
        share = min(max(stream.random(), 1e-15), 1.0 - 1e-15)
        return max(0, round(mean + math.sqrt(mean) * NormalDist().inv_cdf(share)))
    count, passed = 0, -math.log1p(-stream.random())
    while passed < mean:
        count += 1
        passed -= math.log1p(-stream.random())
    return count
