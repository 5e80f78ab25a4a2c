"""Speed of decoding, of nothing else, on one thread: bits per second of information and of code.

Frames are encoded and sent through the channel beforehand and then decoded over and over, in many
short rounds. Time is what the thread had of a processor, so waiting for other programs does not
count; what they take of caches and clock does. Hence two figures: the median of the rounds, and the
best, which is nearest to that of an idle machine. Timings belong to one machine: they are in no
digest.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError
from opennandlab.ecc.channels import Channel, points_of
from opennandlab.ecc.codes import Code, Decoder

ROUNDS = 25
SECONDS_MAX = 3600.0
# Bits that are prepared: more than a cache of the processor holds, little enough to prepare fast.
PREPARED_BITS = 1 << 22


def speed(  # noqa: PLR0913 - one argument for each thing that is to be chosen
    code: str | Code,
    *,
    bit_errors: int | None = None,
    points: str | Sequence[float] | None = None,
    channel: str | Channel = "bsc",
    decoder: Decoder | None = None,
    seconds: float = 3.0,
    seed: int = 42,
) -> dict[str, Any]:
    """Measure how fast a code is decoded on one thread.

    Args:
        code: As for `curve`.
        bit_errors: Wrong bits in each frame; None if `points` is given.
        points: Points of the channel, one measurement each; None if `bit_errors` is given.
        channel: As for `curve`; with `bit_errors` the rate that LLRs are computed for is theirs.
        decoder: Decoder of an LDPC code given as text; default layered min-sum in 8 bits.
        seconds: Time for each measurement, of a processor.
        seed: Seed of data and noise.

    Returns:
        `{code, channel, decoder, rows: [{x, information_mbit_s, coded_mbit_s, ...}]}` in 10^6 bits
        per second, the median of 5 to 25 rounds; `information_mbit_s_max` is that of the best.
        `bit_errors` instead of `x` where these were given.

    Raises:
        ConfigError: for a code, channel or point that is invalid.
    """
    if decoder is None:
        decoder = Decoder(arithmetic="int8")
    code, channel = Code.of(code, decoder), Channel.of(channel)
    if not 0.0 < seconds <= SECONDS_MAX:
        raise ConfigError("seconds", f"{seconds} is refused; accepted: above 0, up to 3600")
    tasks = _tasks(code, channel, bit_errors, points, seed)
    rows = [{**what, **_measure(code, task, seconds)} for what, task in tasks]
    document: dict[str, Any] = {
        "code": code.text,
        "channel": channel.text,
        "decoder": code.decoder_text,
        "decoder_settings": None if code.decoder is None else code.decoder.as_dict(),
        "code_bits": code.code_bits,
        "info_bits": code.info_bits,
        "threads": 1,
        "rows": rows,
    }
    if len(rows) == 1:
        document |= {key: rows[0][key] for key in ("information_mbit_s", "coded_mbit_s")}
    return document


def _tasks(
    code: Code,
    channel: Channel,
    bit_errors: int | None,
    points: str | Sequence[float] | None,
    seed: int,
) -> list[tuple[dict[str, float], _core.EccTask]]:
    """Return a task for each point, or one for a number of bit errors, with its coordinate."""
    if (bit_errors is None) == (points is None):
        raise ConfigError(
            "points",
            "needs one of the two; accepted: points of the channel, or bit errors per frame",
        )
    if bit_errors is not None:
        if not 0 <= bit_errors <= code.code_bits:
            raise ConfigError(
                "bit_errors", f"{bit_errors} is refused; accepted: 0 to {code.code_bits}"
            )
        rber = min(max(bit_errors, 1) / code.code_bits, 0.49)
        x = rber if channel.has_rber else 4.0
        return [({"bit_errors": bit_errors}, _task(code, channel, x, seed, bit_errors))]
    xs = points_of([] if points is None else points, channel)
    return [({"x": x}, _task(code, channel, x, seed, None)) for x in xs]


def _task(
    code: Code, channel: Channel, x: float, seed: int, bit_errors: int | None
) -> _core.EccTask:
    return _core.EccTask(code.core, channel.spec, x, seed, zero_codeword=False, errors=bit_errors)


def _measure(code: Code, task: _core.EccTask, seconds: float) -> dict[str, Any]:
    frames = max(64, PREPARED_BITS // code.code_bits // 64 * 64)
    rounds, decoded, iterations = task.speed(frames, seconds / ROUNDS, ROUNDS, time.thread_time)
    rates = sorted(count / elapsed for count, elapsed in rounds)
    per_s = statistics.median(rates)
    return {
        "information_mbit_s": per_s * code.info_bits / 1e6,
        "information_mbit_s_max": rates[-1] * code.info_bits / 1e6,
        "coded_mbit_s": per_s * code.code_bits / 1e6,
        "frames_s": per_s,
        "spread": (rates[-1] - rates[0]) / per_s,
        "decoded_share": decoded / frames,
        "iterations_mean": iterations,
    }
