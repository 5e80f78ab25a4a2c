"""How much a device's code takes: failures of codewords, UBER, and the RBER at which it is reached.

```text
RBER ──► P(a codeword fails) ──► UBER of a page ──► the RBER at which it is that of the class
```
BCH codes fail with the exact tail, over pages that differ if they are said to; LDPC codes by the
table of the device, decoded from as many reads as its controller makes. Below the first point of a
table its line continues, and so the limit of an LDPC code is no measurement.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig
from opennandlab.reliability.jedec import CLASSES
from opennandlab.reliability.spread import codeword_failure

# Between these is the limit of every code; halvings that leave twelve digits.
RBER_MIN, RBER_MAX, HALVINGS = 1e-12, 0.5, 50


@dataclass(frozen=True)
class CodeLimit:
    """What a code takes.

    Args:
        device: Name of the device.
        drive_class: `client` or `enterprise`.
        uber_max: Data errors per bit read, at most.
        rber: Raw bit error rate at which a page has that UBER.
        correctable_rber: Raw bit error rate at which a codeword has t errors on average; None for
            LDPC.
        is_extrapolated: Whether it follows from the line below the first point of a table.
    """

    device: str
    drive_class: str
    uber_max: float
    rber: float
    correctable_rber: float | None
    is_extrapolated: bool


def page_failure(
    device: DeviceConfig, rates: NDArray[np.float64], cv: float = 0.0
) -> tuple[float, float]:
    """Return the mean failure probability of a full codeword, and the UBER of a page.

    Args:
        device: With its code.
        rates: Raw bit error rates, over which both are means.
        cv: Relative standard deviation of the error rates of pages.

    Raises:
        ConfigError: for a spread with LDPC.
    """
    if device["ecc.algorithm"] == "ldpc":
        if cv > 0.0:
            message = f"{cv} needs a code with a bound; accepted: 0, or ecc.algorithm bch"
            raise ConfigError("cv", message)
        table = np.array(_core.codeword_failures(device.json, rates.ravel().tolist()))
        return float(table[:, 0].mean()), float(table[:, 1].mean())
    code = json.loads(_core.page_code(device.json))
    parity, full, last = (code[key] for key in ("parity_bits", "data_bits", "last_data_bits"))
    mends = code["correctable"]
    whole = float(codeword_failure(full + parity, mends, rates, cv).mean())
    short = float(codeword_failure(last + parity, mends, rates, cv).mean())
    failed = (code["codewords"] - 1) * whole + short
    return whole if code["codewords"] > 1 else short, failed / code["page_bits"]


def code_limit(
    device: DeviceConfig, drive_class: str = "client", cv: float = 0.0, name: str = "device"
) -> CodeLimit:
    """Return the raw bit error rate up to which a code keeps the UBER of a class.

    Args:
        device: With its code.
        drive_class: `client` or `enterprise`.
        cv: Relative standard deviation of the error rates of pages.
        name: Name of the device.

    Raises:
        ConfigError: for a device without a code, and for a spread with LDPC.

    >>> from opennandlab.core.config import load_device
    >>> f"{code_limit(load_device('emmc_16gb')).rber:.3g}"
    '0.000879'
    """
    if device["ecc.algorithm"] == "none":
        raise ConfigError(
            "ecc.algorithm", f"{name} has no code, so that nothing limits its errors; accepted: a "
            "device with bch or ldpc"
        )  # fmt: skip
    asked = CLASSES[drive_class]
    low, high = math.log(RBER_MIN), math.log(RBER_MAX)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        _, uber = page_failure(device, np.array([math.exp(middle)]), cv)
        low, high = (middle, high) if uber < asked.uber_max else (low, middle)
    code = json.loads(_core.page_code(device.json))
    mends = code["correctable"]
    bits = code["parity_bits"] + code["data_bits" if code["codewords"] > 1 else "last_data_bits"]
    return CodeLimit(
        name,
        drive_class,
        asked.uber_max,
        math.exp(low),
        None if mends is None else mends / bits,
        mends is None,
    )
