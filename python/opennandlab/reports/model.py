"""A report as plain data: chapters of sections of figures and tables.

```text
document (JSON) ──► views ──► Chapter { Section { Figure | Table } } ──► html | pdf | csv | svg
```
A view decides what is shown; a renderer decides how. Nothing here knows a test, a drawing library
or a file. Values that were not measured are None and stay so until they are written as `n/a`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from opennandlab.reports.figure.model import Figure

Cell = float | int | str | None
Kind = Literal["good", "plain", "warning", "bad"]
# Groups of facts: the heading of each, and its rows of name and value.
Facts = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

# Longer texts break into lines in a narrow window.
LONG_MIN = 14


class Marked(str):
    """A number with a mark: one text on a page, two columns in CSV.

    Args:
        amount: The number.
        mark: Its mark.
    """

    __slots__ = ("amount", "mark")

    amount: float
    mark: str

    @classmethod
    def of(cls, text: str, amount: float, mark: str) -> Marked:
        """Return a marked number.

        Args:
            text: The number and its mark, as a page shows them.
            amount: The number.
            mark: The mark.
        """
        made = cls(text)
        made.amount, made.mark = amount, mark
        return made


@dataclass(frozen=True)
class Table:
    """A table of numbers or words.

    Args:
        id: Stable name, unique in its chapter, and that of its CSV file.
        title: What it shows, with the unit.
        columns: Heads; the first is that of the row names.
        rows: Name of the row, then its cells; a string is written as it is.
        note: A sentence below the title.
        span: Head over all columns but the first, such as `R/W mix (%)`.
        digits: Decimals of its numbers; None for as many as four digits need.
        wraps: Whether words in its cells break into lines, and rows become cards on a phone.
        tones: How each row is coloured; empty for no colours.
        marked: The column whose numbers may be `Marked`; None for none.
        unit: That of all numbers, where they have one; files of tables name it in each head.
    """

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    span: str = ""
    digits: int | None = None
    wraps: bool = False
    tones: tuple[Kind, ...] = ()
    marked: int | None = None
    unit: str = ""

    @property
    def wordy(self) -> tuple[bool, ...]:
        """Whether each column holds words, which begin on the left, rather than numbers."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return tuple(map(_holds_words, columns))

    @property
    def long(self) -> tuple[bool, ...]:
        """Whether each column has texts that break into lines where room is scarce."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return tuple(any(len(str(cell)) > LONG_MIN for cell in cells) for cells in columns)

    @property
    def known(self) -> Table | None:
        """The table without columns of unknown values; None for a table of nothing else.

        They are named in the note: files of tables keep them.
        """
        columns = list(zip(*self.rows, strict=True)) if self.rows else []
        empty = [at for at, cells in enumerate(columns) if at and all(map(_is_nothing, cells))]
        if not empty or self.wraps:
            return self
        kept = [at for at in range(len(self.columns)) if at not in empty]
        if len(kept) == 1:
            return None
        names = ", ".join(self.columns[at] for at in empty)
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
            note=f"{self.note} Not known: {names}.".strip(),
            marked=None if self.marked is None or self.marked in empty else kept.index(self.marked),
        )


Item = Figure | Table


@dataclass(frozen=True)
class Section:
    """Items that belong together.

    Args:
        id: Stable name, unique in its chapter.
        title: Its heading.
        items: What it shows, in order.
        lead: Sentences below the heading.
        folded: Whether a page shows its items on demand: long lists of what went well.
    """

    id: str
    title: str
    items: tuple[Item, ...]
    lead: str = ""
    folded: bool = False

    @property
    def known(self) -> list[Item]:
        """The items of which something is known, as pages show them."""
        shown = (item.known if isinstance(item, Table) else item for item in self.items)
        return [item for item in shown if item is not None]


@dataclass(frozen=True)
class Badge:
    """A word or two that qualify the whole chapter.

    Args:
        text: Such as `STEADY STATE NOT ATTAINED`.
        kind: `good`, `plain`, `warning` or `bad`.
    """

    text: str
    kind: Kind = "plain"

    @classmethod
    def of_outcome(cls, *, passed: bool, partial: bool = False) -> Badge:
        """Return the verdict on a campaign that passed, failed, or was interrupted."""
        if partial:
            return cls("INTERRUPTED", "warning")
        return cls("PASSED", "good") if passed else cls("FAILED", "bad")


@dataclass(frozen=True)
class Headline:
    """A number that is quoted.

    Args:
        name: Its name.
        value: The number, written.
        unit: Its unit; empty for a ratio or a word.
    """

    name: str
    value: str
    unit: str = ""

    @property
    def text(self) -> str:
        """The number with its unit."""
        return f"{self.value} {self.unit}".strip()


@dataclass(frozen=True)
class Chapter:
    """The report of one document.

    Args:
        id: Stable name, unique in the report.
        title: Its heading.
        subtitle: A line below it.
        verdict: Whether the document passed, in a word.
        reason: The reason of the verdict, as a sentence.
        headlines: The numbers that are quoted, shown before everything else.
        facts: Groups of (name, value) that make the header.
        badges: Words that qualify everything below.
        deviations: Deviations of the run from the standard, a sentence each.
        standard: The standard.
        warnings: Warnings of the test.
        missing: Parts of the document that are missing or unusable.
        sections: Its content.
        brief: The header in one line, for the head of each printed page.
        test: Name of the test, such as `iops`.
    """

    id: str
    title: str
    subtitle: str = ""
    verdict: Badge | None = None
    reason: str = ""
    headlines: tuple[Headline, ...] = ()
    facts: Facts = ()
    badges: tuple[Badge, ...] = ()
    deviations: tuple[str, ...] = ()
    standard: str = "the specification"
    warnings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    brief: str = ""
    test: str = ""

    @property
    def opening(self) -> Figure | None:
        """The figure that answers the question of a chapter with headlines: it is next to them."""
        figures = (item for item in self.items if not isinstance(item, Table))
        return next(figures, None) if self.headlines else None

    @property
    def rest(self) -> list[tuple[Section, list[Item]]]:
        """The sections below the opening, each with the items of which something is known."""
        opening = self.opening
        found = [(one, [item for item in one.known if item is not opening])
                 for one in self.sections]  # fmt: skip
        return [(one, items) for one, items in found if items]

    @property
    def items(self) -> Iterator[Item]:
        """All figures and tables."""
        return (item for section in self.sections for item in section.items)


@dataclass(frozen=True)
class Report:
    """Chapters under one title.

    Args:
        title: Heading.
        lead: A sentence below it.
        chapters: At least one.
        warnings: Warnings of the report as a whole, such as of runs that differ.
        foot: Version, date or digest, at the end.
        kind: Subject of such reports, for the line above the title.
    """

    title: str
    lead: str
    chapters: tuple[Chapter, ...]
    warnings: tuple[str, ...] = ()
    foot: str = field(default="", compare=False)
    kind: str = "standard tests of solid-state storage"

    @property
    def figures(self) -> list[Figure]:
        """All figures."""
        return [
            item
            for chapter in self.chapters
            for item in chapter.items
            if not isinstance(item, Table)
        ]

    def heading(self, figure: Figure) -> list[str]:
        """Return lines that name drive and load above a figure without its page; empty if none do.

        Chapters with a subtitle, such as those of standard tests, have them there.

        Args:
            figure: A figure of the report.
        """
        first = self.chapters[0]
        is_named = first.title == self.title != figure.title and not first.subtitle
        return [self.title, self.lead] if is_named else []

    @property
    def summary(self) -> Table | None:
        """A row for each chapter with its verdict and headlines; None for a single chapter."""
        if len(self.chapters) < 2:
            return None
        rows = tuple(
            (
                chapter.title,
                chapter.verdict.text if chapter.verdict else "",
                "; ".join(f"{one.name}: {one.text}" for one in chapter.headlines),
                len(chapter.deviations),
            )
            for chapter in self.chapters
        )
        return Table("summary", "Summary", ("test", "verdict", "results", "deviations"), rows)

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing parts of all chapters."""
        named = len(self.chapters) > 1
        return tuple(
            f"{chapter.title}: {text}" if named else text
            for chapter in self.chapters
            for text in chapter.missing
        )


def page_of(title: str, lead: str, items: Sequence[Item], foot: str = "") -> Report:
    """Return a report of figures and tables, a section for each.

    Args:
        title: Heading.
        lead: A sentence below it.
        items: The figures and tables.
        foot: Version, date or digest, at the end.
    """
    sections = tuple(Section(item.id, item.title, (item,)) for item in items)
    return Report(title, lead, (Chapter("figures", title, sections=sections),), (), foot, "figures")


def _is_nothing(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and cell in {"", "-", "n/a"})


def _is_unknown(cell: Cell) -> bool:
    return isinstance(cell, str) and cell.startswith("n/a")


def _holds_words(cells: Sequence[Cell]) -> bool:
    """Return whether most of the known cells are words.

    >>> _holds_words(("MB/s", "%", "")), _holds_words(("7 / 10", "n/a", 3.0)), _holds_words(())
    (True, False, False)
    """
    known = [cell for cell in cells if cell not in {None, "", "-"} and not _is_unknown(cell)]
    words = [cell for cell in known if _is_words(cell)]
    return 2 * len(words) > len(known)


def _is_words(cell: Cell) -> bool:
    """Return whether a cell is a text that begins with no digit, after a sign; marks do not count.

    Keys of runs may begin with a digit; their settings follow.

    >>> _is_words("%"), _is_words("+3 %"), _is_words("+"), _is_words(Marked.of("* 3", 3.0, "*"))
    (True, False, True, False)
    >>> _is_words("53679c374155 gc_policy=random")
    True
    """
    if not isinstance(cell, str) or isinstance(cell, Marked):
        return False
    return "=" in cell or not cell.lstrip("+-.")[:1].isdigit()
