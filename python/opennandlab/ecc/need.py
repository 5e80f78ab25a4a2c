"""Which strength a data sheet should ask for: the least t that keeps a target.

    P(X > t) / k <= UBER,   X binomial (n, RBER),   n = k + m t

with k data bits of a step and m as controllers choose it: 13 for 512 bytes, 14 for 1024, else the
least degree whose words are long enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opennandlab.base.errors import ConfigError
from opennandlab.theory.reliability import log_codeword_failure

# The longest word, of 2^16 - 1 bits, has room for one bit's parity behind this data.
STEP_BYTES_MAX = 8189
DEGREE_MAX = 16


@dataclass(frozen=True)
class Need:
    """The weakest code that keeps a target.

    Args:
        m: Degree of the field.
        strength: Bit errors that a word corrects, t.
        parity_bytes: Of a step.
        failure: `P(X > t)` of a word.
        uber: The same over its data bits.
    """

    m: int
    strength: int
    parity_bytes: int
    failure: float
    uber: float


def degree_of(step_bytes: int, strength: int) -> int:
    """Return the degree of the field of a step; above 16 no code is long enough.

    >>> degree_of(512, 8), degree_of(1024, 24), degree_of(2048, 40)
    (13, 14, 15)
    """
    usual = {512: 13, 1024: 14}.get(step_bytes, 5)
    return next(
        (m for m in range(usual, DEGREE_MAX + 1) if 8 * step_bytes + m * strength < 1 << m),
        DEGREE_MAX + 1,
    )


def need(rber: float, uber: float, step_bytes: int) -> Need:
    """Return the weakest BCH code that keeps an uncorrectable bit error rate.

    Args:
        rber: Raw bit error rate.
        uber: Uncorrectable word errors for each data bit, at most.
        step_bytes: Data bytes of a word.

    Raises:
        ConfigError: for values out of range, and if no code of degree 16 is strong enough.
    """
    _check({"--rber": rber, "--uber": uber}, step_bytes)
    bits, strength = 8 * step_bytes, 1
    while (m := degree_of(step_bytes, strength)) <= DEGREE_MAX:
        log_failure = log_codeword_failure(bits + m * strength, strength, rber)
        if log_failure - math.log(bits) <= math.log(uber):
            failure = math.exp(log_failure)
            return Need(m, strength, -(-m * strength // 8), failure, failure / bits)
        strength += 1
    message = (
        f"no BCH code of degree {DEGREE_MAX} over {step_bytes} bytes keeps {uber:g} at {rber:g}; "
        "accepted: a smaller step, a lower RBER, or LDPC"
    )
    raise ConfigError("--rber", message)


def limit_rber(strength: int, uber: float, step_bytes: int) -> float:
    """Return the highest raw bit error rate at which a BCH code keeps a target.

    Args:
        strength: Bit errors that a word corrects, t.
        uber: Uncorrectable word errors for each data bit, at most.
        step_bytes: Data bytes of a word.

    Raises:
        ConfigError: for values out of range, and if there is no such code of degree 16.
    """
    _check({"--uber": uber}, step_bytes)
    m = degree_of(step_bytes, max(strength, 1))
    if strength < 1 or m > DEGREE_MAX:
        message = (
            f"{strength} in {step_bytes} bytes is not a BCH code of degree {DEGREE_MAX} or less; "
            "accepted: 1 or more, or fewer with a smaller step"
        )
        raise ConfigError("--strength", message)
    bits, target = 8 * step_bytes, math.log(uber)
    low, high = math.log(1e-12), math.log(0.5)
    # In logarithms of the rate: the failure probability rises with it.
    for _ in range(60):
        middle = 0.5 * (low + high)
        failure = log_codeword_failure(bits + m * strength, strength, math.exp(middle))
        low, high = (middle, high) if failure - math.log(bits) <= target else (low, middle)
    return math.exp(low)


def _check(rates: dict[str, float], step_bytes: int) -> None:
    for name, value in rates.items():
        if not 0.0 < value < 0.5:
            raise ConfigError(name, f"{value} is refused; accepted: above 0, below 0.5")
    if not 1 <= step_bytes <= STEP_BYTES_MAX:
        message = f"{step_bytes} is refused; accepted: 1 to {STEP_BYTES_MAX}"
        raise ConfigError("--step", message)
