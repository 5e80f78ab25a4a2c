"""The drives of an array in a measurement: each takes requests and returns their ends.

A member has no clock. The array asks all of them when something happens next, and lets the earliest
continue; so a request that waits for several members begins when the last of them is done, to the
nanosecond. A disc is served here; a flash drive is the core's, as recorded requests are played on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

from opennandlab import _core
from opennandlab.targets.base import WornOutError
from opennandlab.targets.disc import Mechanics


class Member(ABC):
    """A drive that takes requests.

    Args:
        next_ns: When something happens next in it, unless a request comes before; None for never.
    """

    next_ns: int | None = None

    @abstractmethod
    def start(self, now_ns: int, token: int, kind: int, offset: int, size: int) -> None:
        """Take a request; `token` names it."""

    @abstractmethod
    def advance(self, now_ns: int) -> list[int]:
        """Let everything happen up to a time, and return what ended."""


class DiscMember(Member):
    """A disc: one request is served, the others wait.

    Args:
        mechanics: Its arm and platter.
    """

    def __init__(self, mechanics: Mechanics) -> None:
        """Begin without requests."""
        self.mechanics = mechanics
        self._is_nearest = mechanics.disc.queue == "nearest"
        self._waiting: deque[tuple[int, int, int, int]] = deque()
        self._token = 0

    def start(self, now_ns: int, token: int, kind: int, offset: int, size: int) -> None:
        """Take a request."""
        self._waiting.append((token, kind, offset, size))
        if self.next_ns is None:
            self._serve(now_ns)

    def advance(self, now_ns: int) -> list[int]:
        """End the current request, and serve the next."""
        ended = []
        while self.next_ns is not None and self.next_ns <= now_ns:
            ended.append(self._token)
            at_ns, self.next_ns = self.next_ns, None
            if self._waiting:
                self._serve(at_ns)
        return ended

    def _serve(self, now_ns: int) -> None:
        if self._is_nearest:
            ways = [abs(row[2] - self.mechanics.head) for row in self._waiting]
            self._waiting.rotate(-ways.index(min(ways)))
        self._token, *rest = self._waiting.popleft()
        self.next_ns = now_ns + self.mechanics.serve_one(*rest)


class FlashMember(Member):
    """A flash drive.

    Args:
        player: The drive.
        name: Its name in the error when it is worn out.
    """

    def __init__(self, player: _core.Player, name: str) -> None:
        """Begin at time 0."""
        self.player, self._name = player, name
        self._ended: list[int] = []
        self._next_ns: int | None = None

    def start(self, now_ns: int, token: int, kind: int, offset: int, size: int) -> None:
        """Take a request; the next `advance` returns one that ends at once."""
        self._note(now_ns, self.player.step(now_ns, (token, kind, offset, size)))

    def advance(self, now_ns: int) -> list[int]:
        """Let the drive work."""
        self._note(now_ns, self.player.step(now_ns, None))
        ended, self._ended = self._ended, []
        self.next_ns = self._next_ns
        return ended

    def _note(self, now_ns: int, stepped: tuple[list[tuple[int, int, bool]], int | None]) -> None:
        done, self._next_ns = stepped
        if any(is_refused for _, _, is_refused in done):
            raise WornOutError(f"{self._name}: a member is worn out and takes no more writes")
        self._ended += [token for token, _, _ in done]
        self.next_ns = now_ns if self._ended else self._next_ns
