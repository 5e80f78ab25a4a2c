"""The four states of a device: young or old, clean or dirty.

```text
old     write: the whole drive is written `drive_writes` times (30), without a clock, then formatted
        warp:  each block is given the erases that this takes, and those that would have failed
               on the way are retired: P/E = drive writes x WAF of sequential fills (1) x user
               capacity / capacity of the good blocks, +-10 % a block (drawn; assumed)
dirty   files are written until 95 % of the drive holds data; then a quarter of them is deleted,
        without trim, and their room is written again, with small writes between, until
        `dirty_writes` capacities (1.19) were written; with `pages`, single pages at random places
        instead of the files that are written again
```
Files die together and leave whole blocks to collect; pages leave a few live ones in every block.
What the source wrote is not known; both are bounds. Dirt is always written. Written age takes
seconds for a drive of 16 GB, since it runs without a clock; warped age takes milliseconds, for
large drives and many of them.

Formatting clears the dirt and not the age: erase counts and blocks that failed stay. `erase` erases
all blocks, as a secure erase does; `discard` trims all, as making a file system does, and each
block is erased only when it is needed. What age costs
follows from the keys of the device: `nand.wear_timing`, `nand.failures`, `reliability`. The numbers
are those of "Truth about eMMC performance benchmark" (A. Lee): 16 GB x 30, and 19 GB on 16 GB.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from opennandlab import _core
from opennandlab.app.draw import Draw
from opennandlab.app.suites import FULL_RATIO, check_delete_pct
from opennandlab.app.trace import TRIM, WRITE, Request, records
from opennandlab.base.errors import ConfigError
from opennandlab.core.config import DeviceConfig, load_steps
from opennandlab.core.slices import iter_run
from opennandlab.documents.app import DELETE_PCT

STATES: Final = ("young-clean", "young-dirty", "old-clean", "old-dirty")
DIRT: Final = ("files", "pages")
AGES: Final = ("write", "warp")
FORMATS: Final = ("erase", "discard")
# Bytes of one trim of a whole drive.
DISCARD_BYTES: Final = 1 << 30
# How much the blocks of a warped drive differ in wear: assumed.
WARP_SPREAD: Final = 0.1
PAGE, PIECE = 4096, 512 << 10
PHOTO_MIN, PHOTO_MAX = 2 << 20, 4 << 20
SMALL_PER_PHOTO, SMALL_MEDIAN, SMALL_CAP = 4, 16 << 10, 256 << 10
# Requests of one call of the core, so that Ctrl-C is heard.
BATCH: Final = 2000
Tell = Callable[[str, float], None]


@dataclass(frozen=True)
class Wanted:
    """A state.

    Args:
        name: One of `STATES`.
        drive_writes: Capacities written to age an old drive.
        dirty_writes: Capacities written to make a drive dirty.
        dirt_of: `files` or `pages`: what is written once 95 % is in use.
        age_by: `write` or `warp`: whether age is written or set.
        format_by: `erase` or `discard`: how an old drive is formatted.
        delete_pct: Percent of the files that are deleted once 95 % is in use; of none the drive
            is left as it is then.

    Raises:
        ConfigError: for an unknown name, or amounts out of range.
    """

    name: str = "young-clean"
    drive_writes: int = 30
    dirty_writes: float = 1.19
    dirt_of: str = "files"
    age_by: str = "write"
    format_by: str = "erase"
    delete_pct: float = DELETE_PCT

    def __post_init__(self) -> None:
        """Check name, words and amounts."""
        if self.name not in STATES:
            raise ConfigError("state", f"`{self.name}`; accepted: {', '.join(STATES)}, image:FILE")
        if self.dirt_of not in DIRT:
            raise ConfigError("dirt", f"`{self.dirt_of}`; accepted: {', '.join(DIRT)}")
        if self.age_by not in AGES:
            raise ConfigError("age", f"`{self.age_by}`; accepted: {', '.join(AGES)}")
        if self.format_by not in FORMATS:
            raise ConfigError("format", f"`{self.format_by}`; accepted: {', '.join(FORMATS)}")
        if not 1 <= self.drive_writes <= 1000:
            raise ConfigError("drive_writes", f"{self.drive_writes}; accepted: 1 to 1000")
        check_delete_pct(self.delete_pct)
        if not FULL_RATIO <= self.dirty_writes <= 100:
            message = f"{self.dirty_writes}; accepted: {FULL_RATIO} to 100"
            raise ConfigError("dirty_writes", message)

    @property
    def is_old(self) -> bool:
        """Whether the drive is aged."""
        return self.name.startswith("old")

    @property
    def is_dirty(self) -> bool:
        """Whether the drive is filled."""
        return self.name.endswith("dirty")

    @property
    def age(self) -> str:
        """The age of the drive, in words."""
        if not self.is_old:
            return "fresh from the factory"
        end = "erased" if self.format_by == "erase" else "discarded"
        if self.age_by == "warp":
            return f"wear and failed blocks of {self.drive_writes} sequential fills, set; {end}"
        return f"{self.drive_writes} sequential fills, untimed; then {end}"

    @property
    def dirt(self) -> str:
        """The content of the drive, in words."""
        if not self.is_dirty:
            return "formatted; nothing is on it but what cases read"
        if self.dirt_of == "files" and not self.delete_pct:
            return f"files until {FULL_RATIO:.0%} is in use; none is deleted"
        return (
            f"files until {FULL_RATIO:.0%} is in use, then {self.dirt_of}: {self.dirty_writes:g} "
            "capacities written in all"
        )


def aged(
    device: DeviceConfig,
    seed: int,
    wanted: Wanted,
    tell: Tell,
    drive: _core.Drive | None = None,
) -> _core.Drive:
    """Return a drive of the wanted age, formatted.

    Args:
        device: The device.
        seed: Seed of the drive.
        wanted: The state; only its age matters here.
        tell: Told what is done, and how much of it.
        drive: The drive that becomes so much older; None for a new one.

    Raises:
        ConfigError: when the drive wears out before it is so old.
    """
    drive = device.drive(seed) if drive is None else drive
    if not wanted.is_old:
        return drive
    # Of a drive that is discarded the last fill is written: its blocks wait for their erases.
    fills = wanted.drive_writes
    if wanted.age_by == "warp":
        fills = 0 if wanted.format_by == "erase" else 1
        effective = device.effective
        ratio = effective["logical_pages"] / effective["physical_pages"]
        # Erases are set on a drive without data, and from zero on: those that it had are added.
        drive.purge()
        had = json.loads(drive.wear())["erase_count_mean"] or 0.0
        drive.warp((wanted.drive_writes - fills) * ratio + had, WARP_SPREAD, seed)
    if fills:
        steps = load_steps([{"kind": "sequential_fill", "fills": fills}])
        drive.begin_precondition(steps.core, seed)
        for state in iter_run(drive):
            tell("aging", state.fraction or 0.0)
        _refuse_worn_out(drive, device, wanted)
    if wanted.format_by == "erase":
        drive.purge()
        return drive
    player = _core.Player(drive)
    capacity = player.capacity_bytes()
    starts = range(0, capacity, DISCARD_BYTES)
    trims = [
        Request(TRIM, 0, start, min(DISCARD_BYTES, capacity - start), 1000 * at, 1000 * at + 1000)
        for at, start in enumerate(starts)
    ]
    player.play(records(trims))
    return player.drive()


def _refuse_worn_out(drive: _core.Drive, device: DeviceConfig, wanted: Wanted) -> None:
    """Refuse an age at which the drive takes no more writes."""
    found = json.loads(drive.outcome())["state"]
    if found["worn_out"]:
        written = sum(step["host_bytes_written"] for step in found["steps"])
        fills = written / device.effective["logical_bytes"]
        message = f"the drive wore out in fill {fills:.1f} of {wanted.drive_writes}"
        raise ConfigError("drive_writes", f"{message}; accepted: fewer, or a higher rating")


def soil(player: _core.Player, seed: int, wanted: Wanted, tell: Tell) -> None:
    """Write until the drive is dirty.

    Args:
        player: The drive.
        seed: Seed of sizes and places.
        wanted: How much, and of what.
        tell: Told how much of it is done.
    """
    capacity = player.capacity_bytes()
    target = int(wanted.dirty_writes * capacity)
    batch: list[Request] = []
    written = 0
    for offset, length in _dirt(capacity, Draw(seed, "dirt"), wanted.dirt_of, wanted.delete_pct):
        if written >= target:
            break
        at = 1000 * len(batch)
        batch.append(Request(WRITE, 0, offset, length, at, at + 1000))
        written += length
        if len(batch) == BATCH:
            player.play(records(batch))
            batch.clear()
            tell("filling", written / target)
    player.play(records(batch))


def reached(
    device: DeviceConfig,
    seed: int,
    wanted: Wanted,
    tell: Tell,
    drive: _core.Drive | None = None,
) -> _core.Drive:
    """Return a drive in a state, at rest.

    Args:
        device: The device.
        seed: Seed of the drive, and of sizes and places of what is written.
        wanted: The state.
        tell: Told what is done, and how much of it.
        drive: The drive that is brought into it; None for a new one.

    Raises:
        ConfigError: for drives that are no plain disks.
    """
    drive = aged(device, seed, wanted, tell, drive)
    if not wanted.is_dirty:
        return drive
    player = _core.Player(drive)
    soil(player, seed, wanted, tell)
    return player.drive()


def _dirt(capacity: int, draw: Draw, dirt_of: str, delete_pct: float) -> Iterator[tuple[int, int]]:
    """Yield writes for ever: files until the drive is full, then files or pages over them.

    If no file is deleted they end when it is full.
    """
    limit = int(capacity * FULL_RATIO) // PAGE * PAGE
    files: list[tuple[int, int]] = []
    cursor = 0
    while cursor < limit:
        sizes = [_size(draw.between(PHOTO_MIN, PHOTO_MAX), limit)]
        sizes += [
            _size(draw.lognormal(SMALL_MEDIAN, SMALL_CAP), limit) for _ in range(SMALL_PER_PHOTO)
        ]
        for size in sizes:
            length = min(size, limit - cursor)
            if length:
                files.append((cursor, length))
                yield from _pieces(cursor, length)
                cursor += length
    if dirt_of == "files" and not delete_pct:
        return
    while dirt_of == "pages":
        yield draw.below(limit // PAGE) * PAGE, PAGE
    while True:
        count = int(len(files) * delete_pct / 100)
        for number in draw.shuffled(range(len(files)))[: max(1, count)]:
            offset, length = files[number]
            yield from _pieces(offset, length)
            # Directories, journals and databases are written in between, a page at a time.
            for _ in range(SMALL_PER_PHOTO):
                yield draw.below(limit // PAGE) * PAGE, PAGE


def _size(wanted: int, limit: int) -> int:
    """Return whole pages, and no file above a twentieth of the drive."""
    return max(PAGE, min(wanted, limit // 20) // PAGE * PAGE)


def _pieces(offset: int, length: int) -> Iterator[tuple[int, int]]:
    for done in range(0, length, PIECE):
        yield offset + done, min(PIECE, length - done)
