"""Three ways to overwrite pages, page by page: the worked examples of the SNIA tutorial of 2009.

Each starts from a block of 16 pages, half of which hold data that is still needed:

    EB-1   b  c  ×  ×         the host writes W, X, Y,
           j  ×  k  l         then Z, A, and B', C', R' in the place of b, c, r
           m  ×  ×  ×
           ×  ×  q  r

    read_erase_modify_write   the block is read, erased and written again, twice
    read_modify_write         it is written to the next erased block, twice; the old one is erased
                              later, so that no write waits for an erase
    garbage_collection        what is needed is copied once; new pages go wherever pages are free

The operations are carried out on pages that can be programmed once and erased by the block, and
counted; no count is written down here.

Source: L. Smith, "NAND Flash Solid State Storage Performance and Capability: an In-depth Look",
SNIA tutorial, 2009, examples 1 to 3. Its slides show the states; that a whole block goes to the
buffer, and not only the pages that are kept, is how we read "buffer holds data". Where Z and A go
in the third example is not legible in our copy; any free pages give the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

State = Literal["free", "valid", "invalid"]
Writer = Literal["host", "copy", ""]

_COUNTED = ("reads", "programs", "erases")
PAGES = 16
COLUMNS = 4
START = "b c - - j - k l m - - - - - q r"
FIRST = {2: "W", 3: "X", 5: "Y"}
SECOND = {0: "B'", 1: "C'", 9: "Z", 10: "A", 15: "R'"}


@dataclass(frozen=True)
class TutorialPage:
    """A page of a block after a step.

    Example:
        >>> TutorialPage("b", "valid").data
        'b'
    """

    data: str = ""
    """What it holds; empty for a free page and where the tutorial names nothing."""
    state: State = "free"
    """Free (erased), valid, or invalid: what it holds is needed no more."""
    written: Writer = ""
    """Who wrote it in this step: the host, or the drive that copied it; empty for neither."""


@dataclass(frozen=True)
class TutorialStep:
    """What a drive does at one time of an example, and what its pages hold after it.

    Example:
        >>> step = worked_example("garbage_collection").steps[1]
        >>> step.reads, step.programs, step.erases
        (8, 11, 0)
    """

    time: str
    """`t1`, `t2`, …"""
    operations: tuple[str, ...]
    """In words, in order."""
    reads: int
    """Pages read."""
    programs: int
    """Pages programmed."""
    erases: int
    """Blocks erased."""
    host_pages: tuple[str, ...]
    """Pages that the host wrote."""
    buffer: tuple[str, ...]
    """What the drive holds in its memory after the step."""
    blocks: Mapping[str, tuple[TutorialPage, ...]]
    """Pages of each block, 16 in order."""


@dataclass(frozen=True)
class TutorialExample:
    """One of the three, from its start to its end.

    Example:
        >>> example = worked_example("read_erase_modify_write")
        >>> example.reads, example.programs, example.erases, example.waf
        (19, 24, 2, 3.0)
    """

    name: str
    """`read_erase_modify_write`, `read_modify_write` or `garbage_collection`."""
    title: str
    """In words."""
    steps: tuple[TutorialStep, ...]
    """From the start on."""

    @property
    def reads(self) -> int:
        """Pages read, all steps together."""
        return sum(step.reads for step in self.steps)

    @property
    def programs(self) -> int:
        """Pages programmed."""
        return sum(step.programs for step in self.steps)

    @property
    def erases(self) -> int:
        """Blocks erased."""
        return sum(step.erases for step in self.steps)

    @property
    def host_pages(self) -> int:
        """Pages that the host wrote."""
        return sum(len(step.host_pages) for step in self.steps)

    @property
    def copied_pages(self) -> int:
        """Pages programmed that the host did not write."""
        return self.programs - self.host_pages

    @property
    def waf(self) -> float:
        """Pages programmed per page of the host."""
        return self.programs / self.host_pages


def worked_example(name: str) -> TutorialExample:
    """Return an example of the tutorial, carried out.

    Args:
        name: `read_erase_modify_write`, `read_modify_write` or `garbage_collection`.

    Returns:
        Its steps with the states of all pages, and their counts.

    Raises:
        ValueError: for another name.

    Source:
        SNIA tutorial of 2009 (L. Smith), examples 1, 2 and 3.

    Example:
        >>> example = worked_example("garbage_collection")
        >>> example.host_pages, example.copied_pages, example.waf
        (8, 8, 2.0)
    """
    if name not in _EXAMPLES:
        message = f"example is {name!r}; accepted: {', '.join(_EXAMPLES)}"
        raise ValueError(message)
    title, carry_out = _EXAMPLES[name]
    flash = _Flash()
    carry_out(flash)
    return TutorialExample(name, title, tuple(flash.steps))


def worked_examples() -> tuple[TutorialExample, ...]:
    """Return the three examples in the order of the tutorial.

    Returns:
        Read-erase-modify-write, read-modify-write, garbage collection.

    Source:
        SNIA tutorial of 2009 (L. Smith).

    Example:
        >>> [example.waf for example in worked_examples()]
        [3.0, 3.0, 2.0]
    """
    return tuple(worked_example(name) for name in _EXAMPLES)


def waf_of_victims(invalid_share: float) -> float:
    """Return the WAF where each collected block holds the same share of invalid pages.

    The question of the tutorial after its third example: what if only 10 % had been invalid?

    Args:
        invalid_share: share of a victim's pages that need not be copied, above 0 to 1.

    Returns:
        `1 / share`: as many new pages fit as were invalid, and a whole block is programmed.

    Raises:
        ValueError: when the share is out of range.

    Source:
        SNIA tutorial of 2009 (L. Smith); Rosenblum & Ousterhout 1992.

    Example:
        >>> waf_of_victims(0.5), waf_of_victims(0.1)
        (2.0, 10.0)
    """
    if not 0.0 < invalid_share <= 1.0:
        message = f"invalid_share is {invalid_share}; accepted: above 0, at most 1"
        raise ValueError(message)
    return 1.0 / invalid_share


@dataclass
class _Flash:
    """Blocks whose pages are programmed once, and a buffer; notes steps."""

    blocks: dict[str, list[TutorialPage]] = field(default_factory=dict)
    buffer: dict[int, str] = field(default_factory=dict)
    steps: list[TutorialStep] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    host: list[str] = field(default_factory=list)

    def start(self, *free: str) -> None:
        """Begin with the block of the tutorial, and erased ones."""
        pages = [
            TutorialPage("", "invalid") if data == "-" else TutorialPage(data, "valid")
            for data in START.split()
        ]
        self.blocks = {"EB-1": pages} | {name: [TutorialPage()] * PAGES for name in free}
        self.end(f"the start: {_valid(pages)} of {PAGES} pages of EB-1 are needed")

    def read(self, name: str) -> None:
        """Read the valid pages of a block into the buffer."""
        pages = self.blocks[name]
        self.buffer = {at: page.data for at, page in enumerate(pages) if page.state == "valid"}
        self.counts["reads"] += len(self.buffer)
        self.operations.append(f"read {len(self.buffer)} pages of {name} into the buffer")

    def erase(self, name: str) -> None:
        """Erase a block, of which nothing but what is in the buffer is needed."""
        lost = {page.data for page in self.blocks[name] if page.state == "valid"}
        if lost - set(self.buffer.values()):
            message = f"{name} is erased, and {sorted(lost)} are not in the buffer"
            raise ValueError(message)
        self.blocks[name] = [TutorialPage()] * PAGES
        self.counts["erases"] += 1
        self.operations.append(f"erase {name}")

    def write(self, name: str, pages: Mapping[int, str], new: Mapping[int, str]) -> None:
        """Program pages from the buffer and from the host, in the order of the block."""
        together = {**pages, **new}
        for at in sorted(together):
            if any(page.state != "free" for page in self.blocks[name][at:]):
                message = f"page {at} of {name} is not free, or one after it is not"
                raise ValueError(message)
            writer: Writer = "host" if at in new else "copy"
            self.blocks[name][at] = TutorialPage(together[at], "valid", writer)
        copied = len(together) - len(new)
        self.counts["programs"] += len(together)
        self.host += new.values()
        names = ", ".join(new.values())
        copies = f"{copied} pages of the buffer and " if copied else ""
        self.operations.append(f"write {copies}{names} to {name}")
        self.buffer = {}

    def invalidate(self, name: str, data: Sequence[str]) -> None:
        """Take pages for invalid: newer ones are elsewhere."""
        self.blocks[name] = [
            TutorialPage(page.data, "invalid") if page.data in data else page
            for page in self.blocks[name]
        ]

    def end(self, start: str = "") -> None:
        """Note a step."""
        operations = (start,) if start else tuple(self.operations)
        blocks = {name: tuple(pages) for name, pages in self.blocks.items()}
        self.steps.append(
            TutorialStep(
                time=f"t{len(self.steps) + 1}",
                operations=operations,
                reads=self.counts["reads"],
                programs=self.counts["programs"],
                erases=self.counts["erases"],
                host_pages=tuple(self.host),
                buffer=tuple(self.buffer.values()),
                blocks=blocks,
            )
        )
        self.operations, self.host = [], []
        self.counts = dict.fromkeys(_COUNTED, 0)
        for name, pages in self.blocks.items():
            self.blocks[name] = [TutorialPage(page.data, page.state) for page in pages]


def _valid(pages: Sequence[TutorialPage]) -> int:
    return sum(page.state == "valid" for page in pages)


def _without(buffer: Mapping[int, str], replaced: Mapping[int, str]) -> dict[int, str]:
    return {at: data for at, data in buffer.items() if at not in replaced}


def _read_erase_modify_write(flash: _Flash) -> None:
    flash.start()
    for new in (FIRST, SECOND):
        flash.read("EB-1")
        flash.erase("EB-1")
        flash.end()
        flash.write("EB-1", _without(flash.buffer, new), new)
        flash.end()


def _read_modify_write(flash: _Flash) -> None:
    flash.start("EB-2", "EB-3")
    for old, free, new in (("EB-1", "EB-2", FIRST), ("EB-2", "EB-3", SECOND)):
        flash.read(old)
        flash.write(free, _without(flash.buffer, new), new)
        flash.invalidate(old, [page.data for page in flash.blocks[old]])
        flash.erase(old)
        flash.end()


def _garbage_collection(flash: _Flash) -> None:
    flash.start("EB-2")
    flash.read("EB-1")
    kept = dict(zip((1, 2, 5, 6, 7, 8, 9, 10), flash.buffer.values(), strict=True))
    flash.write("EB-2", kept, {0: "W", 3: "X", 4: "Y"})
    flash.invalidate("EB-1", [page.data for page in flash.blocks["EB-1"]])
    flash.end()
    flash.erase("EB-1")
    flash.write("EB-2", {}, {11: "Z", 12: "B'", 13: "C'", 14: "R'", 15: "A"})
    flash.invalidate("EB-2", ["b", "c", "r"])
    flash.end()


_EXAMPLES: dict[str, tuple[str, Callable[[_Flash], None]]] = {
    "read_erase_modify_write": ("Read, erase, modify, write", _read_erase_modify_write),
    "read_modify_write": ("Read, modify, write", _read_modify_write),
    "garbage_collection": ("Garbage collection", _garbage_collection),
}
EXAMPLES = tuple(_EXAMPLES)
"""Names of the examples, in the order of the tutorial."""
