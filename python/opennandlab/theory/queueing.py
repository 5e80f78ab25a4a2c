"""Open loops: Poisson reads on dies with fixed service time, the M/D/1 queue, exact to any digit.

A read holds its die for `s = tR + x` (sense, then transfer) and waits in arrival order. Response is
waiting plus service. D dies that share no bus, each read on a random die, are D such queues at the
rate `lambda / D`. Left out: a bus between them, writes, and a limit on the number outstanding.

The waiting-time distribution is an alternating sum whose terms exceed the answer by many orders of
magnitude, so it is summed with as many decimal digits as that takes, at least 80.

Sources: A. K. Erlang, "The theory of probabilities and telephone conversations" (1909);
A. Pollaczek and A. Khinchine for the mean; L. Kleinrock, "Queueing Systems" vol. 1 (1975).
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal

from opennandlab.theory._check import (
    require_at_least,
    require_count,
    require_open_share,
    require_positive,
)

DIGITS_MIN = 80
# Beyond this many service times the exact sum takes seconds; the tail is exponential long before.
SERVICE_TIMES_LIMIT = 4000.0


@dataclass(frozen=True)
class DeterministicQueue:
    """One server with Poisson arrivals and fixed service time (M/D/1). Times in microseconds.

    Example:
        >>> queue = DeterministicQueue(service_us=60.0, load=0.6)
        >>> round(queue.response_us_mean, 3), round(queue.response_us_quantile(0.99), 1)
        (105.0, 331.8)
    """

    service_us: float
    """s, the fixed service time."""
    load: float
    """rho = lambda s, the share of time that the server is busy; below 1."""

    def __post_init__(self) -> None:
        """Refuse a queue that grows without limit."""
        require_positive("service_us", self.service_us)
        require_open_share("load", self.load)

    @property
    def response_us_mean(self) -> float:
        """Mean time from arrival to completion, `s + rho s / (2 (1 - rho))`."""
        return self.service_us * (1.0 + self.load / (2.0 * (1.0 - self.load)))

    @property
    def outstanding_mean(self) -> float:
        """Mean number waiting or in service, by Little's law, arrival rate times mean response."""
        return self.load * self.response_us_mean / self.service_us

    def waiting_probability(self, waiting_us: float) -> float:
        """Return the probability that a request waits no longer than a given time.

        Args:
            waiting_us: t, at least 0, at most 4000 service times.

        Returns:
            `P(W <= t) = (1 - rho) sum_(k <= t/s) (-u_k)^k / k! exp(u_k)`, `u_k = lambda (t - k s)`.

        Raises:
            ValueError: when the time is out of range.

        Source:
            Erlang 1909.
        """
        periods = require_at_least("waiting_us", waiting_us, 0.0) / self.service_us
        if periods > SERVICE_TIMES_LIMIT:
            message = f"waiting_us is {waiting_us}; accepted: up to 4000 service times"
            raise ValueError(message)
        return float(self._waiting(Decimal(periods)))

    def response_us_quantile(self, probability: float) -> float:
        """Return the response time that a share of the requests does not exceed.

        Args:
            probability: such as 0.99.

        Returns:
            The quantile, in microseconds. The service time where that many do not wait at all.

        Raises:
            ValueError: when the probability is not between 0 and 1.

        Source:
            The distribution of `waiting_probability`, inverted.
        """
        wanted = require_open_share("probability", probability)
        if wanted <= 1.0 - self.load:
            return self.service_us
        low, high = 0.0, 1.0
        while self._waiting(Decimal(high)) < wanted:
            low, high = high, 2.0 * high
            if high > SERVICE_TIMES_LIMIT:
                message = (
                    f"load is {self.load:.6g}: the {probability:g} quantile is beyond 4000 service "
                    "times; accepted: a lower rate, or more dies"
                )
                raise ValueError(message)
        # Bisection: the distribution has a kink at each whole number of service times.
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            if self._waiting(Decimal(middle)) < wanted:
                low = middle
            else:
                high = middle
        return self.service_us * (1.0 + high)

    def _waiting(self, periods: Decimal) -> Decimal:
        """Return P(W <= t) for t in service times."""
        # The largest term is about exp(lambda t) times the answer.
        digits = DIGITS_MIN + int(2.0 * self.load * float(periods))
        with decimal.localcontext() as context:
            context.prec = digits
            load = Decimal(self.load)
            growth = (load * periods).exp()
            decay = (-load).exp()
            total = Decimal(0)
            factorial = Decimal(1)
            for count in range(int(periods) + 1):
                # The first term is 1 even at time 0, where decimal arithmetic refuses 0^0.
                power = (load * (count - periods)) ** count if count else Decimal(1)
                factorial *= max(count, 1)
                total += power / factorial * growth
                growth *= decay
            return (1 - load) * total


def independent_dies(iops: float, dies: int, service_us: float) -> DeterministicQueue:
    """Return the queue that each of D dies is when reads go to random dies and no bus is shared.

    Args:
        iops: reads per second of the whole device.
        dies: D.
        service_us: time that a read holds its die, in microseconds.

    Returns:
        The queue of one die; response times of the device are those of this queue.

    Raises:
        ValueError: when an argument is out of range or a die cannot keep up.

    Source:
        A Poisson stream split at random is Poisson streams.

    Example:
        >>> round(independent_dies(80_000, 8, 60.0).load, 3)
        0.6
    """
    rate = require_positive("iops", iops) * 1e-6 / require_count("dies", dies, 1)
    service = require_positive("service_us", service_us)
    return DeterministicQueue(service, rate * service)


def little_error(iops: float, latency_us_mean: float, queue_depth: float) -> float:
    """Return how far a closed loop is from Little's law, relative to its queue depth.

    Args:
        iops: completions per second.
        latency_us_mean: mean latency in microseconds.
        queue_depth: q, requests always outstanding.

    Returns:
        `throughput * latency / q - 1`; 0 when the law holds.

    Raises:
        ValueError: when an argument is out of range.

    Source:
        J. D. C. Little, "A proof for the queuing formula L = lambda W" (1961).

    Example:
        >>> abs(little_error(16_666.667, 60.0, 1)) < 1e-6
        True
    """
    outstanding = require_positive("iops", iops) * require_positive("latency_us", latency_us_mean)
    error = outstanding * 1e-6 / require_positive("queue_depth", queue_depth) - 1.0
    return error if math.isfinite(error) else math.inf
