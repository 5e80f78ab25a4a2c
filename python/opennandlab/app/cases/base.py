"""What a case is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from opennandlab.app.draw import Draw
from opennandlab.app.ops import AnyOp, Append, Create, Fsync
from opennandlab.base.errors import ConfigError

KIB: Final = 1024
MIB: Final = 1024 * 1024


class Case(ABC):
    """A generator of a script.

    Args:
        seed: Seed of its choices.
        sizes: Sizes that differ from `SIZES`.

    Raises:
        ConfigError: for a size that the case does not have, or that is no size.
    """

    name: ClassVar[str]
    # Names and defaults; `_bytes` are bytes, the others counts.
    SIZES: ClassVar[dict[str, int]] = {}
    # Kinds of work that iterations do in turn, each for `SLICES` of them; nothing for one kind.
    PARTS: ClassVar[tuple[str, ...]] = ()
    SLICES: ClassVar[int] = 1
    # Parts whose slices are no places of the file.
    SCATTERED: ClassVar[tuple[str, ...]] = ()
    # What a rate of a part counts, per second.
    UNIT: ClassVar[str] = "MB"

    def __init__(self, seed: int, sizes: Mapping[str, int]) -> None:
        """Check the sizes."""
        for key, value in sizes.items():
            if key not in self.SIZES:
                known = ", ".join(self.SIZES) or "none"
                raise ConfigError(f"{self.name}.{key}", f"no such size; accepted: {known}")
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1 << 40:
                raise ConfigError(f"{self.name}.{key}", f"`{value}`; accepted: 1 to 2^40")
        self.sizes = {**self.SIZES, **sizes}
        self.draw = Draw(seed, self.name)

    @abstractmethod
    def bytes(self, iterations: int) -> int:
        """Return about how many bytes of a file system it takes at most."""

    def amount(self, part: int) -> float:
        """Return what an iteration of a part does, in `UNIT`; 0 for a case without parts."""
        del part
        return 0.0

    def setup(self) -> Iterator[AnyOp]:
        """Yield what is there before the first iteration; it is not measured."""
        return iter(())

    def before(self, index: int) -> Iterator[AnyOp]:
        """Yield what comes before an iteration and is not measured, such as an eviction."""
        del index
        return iter(())

    @abstractmethod
    def iteration(self, index: int) -> Iterator[AnyOp]:
        """Yield one iteration."""


def file_of(name: str, total: int, piece: int) -> Iterator[AnyOp]:
    """Yield the creation of a file that is written from its start to its end in pieces."""
    yield Create(file=name)
    for done in range(0, total, piece):
        yield Append(file=name, len=min(piece, total - done))


class OneFile(Case):
    """A case whose work is on one file of `file_bytes`."""

    file: ClassVar[str]
    # It is written in pieces of so many bytes before the first iteration; 0 leaves that out.
    piece_bytes: ClassVar[int]

    def bytes(self, iterations: int) -> int:
        """Return the file."""
        del iterations
        return self.sizes["file_bytes"] + MIB

    def setup(self) -> Iterator[AnyOp]:
        """Yield the file, durable."""
        if self.piece_bytes:
            yield from file_of(self.file, self.sizes["file_bytes"], self.piece_bytes)
            yield Fsync(file=self.file)
