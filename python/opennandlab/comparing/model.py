"""What a family of documents says of each of its documents, for a comparison.

```text
document ──Family.numbers──► {path: Number}      label, value, interval, which way is better
documents ──objections────► Difference | Remark  why they must not be compared
          ──doubts────────► Difference | Remark  what a reader of the deltas should know
```
A finding names documents by place: one finding speaks of all that it holds for, so a sentence is
said once, whatever the number of documents.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from opennandlab.base.errors import ResultError
from opennandlab.documents.comparison import Comparison, Deviation
from opennandlab.documents.record import JsonObject
from opennandlab.reports.model import Report, Section

Better = Literal["lower", "higher"]


class UnlikeError(ResultError):
    """Documents that must not be compared.

    Args:
        reasons: One sentence each.
        remedy: What would make them comparable; empty if it is not known.
    """

    def __init__(self, reasons: list[str], remedy: str = "") -> None:
        """Keep the reasons apart."""
        super().__init__("; ".join(reasons))
        self.reasons = reasons
        self.remedy = remedy


@dataclass(frozen=True)
class Number:
    """A number of a document.

    Args:
        value: The number; None where it is not known.
        label: What a table calls it, with its unit.
        better: Which way is better; None for neither, such as for counts of commands.
        low: Lower end of its interval, or least of what it is the mean of; None where not known.
        high: Upper end.
        is_main: Whether it is shown without `--all`.
    """

    value: float | None
    label: str
    better: Better | None = None
    low: float | None = None
    high: float | None = None
    is_main: bool = False


@dataclass(frozen=True)
class Difference:
    """Something in which documents differ.

    Args:
        what: What it is, after "different".
        groups: Places of the documents that are equal in it, and how it stands there in words.
        why: Why that matters; empty where nobody asks.
        verbs: What stands between document and words, for one and for several.
    """

    what: str
    groups: tuple[tuple[tuple[int, ...], str], ...]
    why: str = ""
    verbs: tuple[str, str] = ("has", "have")


@dataclass(frozen=True)
class Remark:
    """A sentence about some documents.

    Args:
        text: The sentence; its first `{}` stands for the names of the documents.
        places: The documents; empty for all of them.
        remedy: What makes them comparable; empty if it is not known.
    """

    text: str
    places: tuple[int, ...] = ()
    remedy: str = ""


Finding = Difference | Remark


def differing(
    what: str,
    values: Sequence[Any],
    shown: Sequence[str],
    why: str = "",
    *,
    same: Callable[[Any, Any], bool] = operator.eq,
) -> Iterator[Difference]:
    """Yield the difference of values, one for each document; nothing where all are the same.

    >>> [found.groups for found in differing("seed", [1, 2, 1], ["1", "2", "1"])]
    [(((0, 2), '1'), ((1,), '2'))]
    """
    groups: list[tuple[Any, list[int]]] = []
    for place, value in enumerate(values):
        for known, places in groups:
            if same(known, value):
                places.append(place)
                break
        else:
            groups.append((value, [place]))
    if len(groups) > 1:
        found = tuple((tuple(places), shown[places[0]]) for _, places in groups)
        yield Difference(what, found, why)


def remarks(text: str, holds: Sequence[bool], remedy: str = "") -> Iterator[Remark]:
    """Yield a sentence about the documents of which it holds; nothing if there are none."""
    places = tuple(place for place, one in enumerate(holds) if one)
    if places:
        yield Remark(text, places, remedy)


def sampled(what: str, methods: Sequence[str | None]) -> Iterator[Remark]:
    """Yield that a rate was counted in some documents, and follows from a model in others.

    Args:
        what: The rate.
        methods: How each document has it: `observed` for a count, None for a rate not known.
    """
    if any(one not in {"observed", None} for one in methods):
        text = f"{what} of {{}} was counted in a sample, that of others is from a model: not ranked"
        yield from remarks(text, [one == "observed" for one in methods])


class Family(ABC):
    """Documents of one kind: what they are, their numbers, and when they may be compared.

    A family is a file of `comparing/families` with one instance of a subclass, `FAMILY`.
    """

    # What one of them is, in messages: `a result of benchmark or replay`.
    name: str
    # The types that `numbers` and the rest take.
    kinds: tuple[type, ...]
    # Whether intervals stand in the table, next to the values; they always decide what is marked.
    shows_intervals: bool = False
    # Whether numbers are those of single runs with random numbers: small differences are chance.
    is_drawn: bool = False
    # Whether intervals hold what runs differ by chance: then they alone decide.
    has_run_intervals: bool = True

    @abstractmethod
    def opened(self, document: JsonObject, name: str) -> Any:  # noqa: ANN401 (of any family)
        """Return what `numbers` takes, of a whole document as plain JSON.

        Args:
            document: The JSON.
            name: What to call it where it does not say.

        Raises:
            DocumentError: when it is not what its schema says.
        """

    def parts(self, document: Any, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
        """Yield what a document compares, with names: itself, or what it is a list of."""
        yield name, document

    @abstractmethod
    def numbers(self, document: Any) -> dict[str, Number]:  # noqa: ANN401
        """Return the numbers of a document by path, the most telling first."""

    def order(self, paths: Sequence[str]) -> list[str]:
        """Return the paths of all documents in the order of the table."""
        return list(paths)

    def objections(self, documents: Sequence[Any]) -> Iterator[Finding]:
        """Yield why documents must not be compared."""
        del documents
        return iter(())

    def doubts(self, documents: Sequence[Any]) -> Iterator[Finding]:
        """Yield what a reader of the deltas should know."""
        del documents
        return iter(())

    def unlike_rows(self, documents: Sequence[Any]) -> Iterator[tuple[tuple[str, ...], Finding]]:
        """Yield paths of numbers that are shown without a ranking, and why."""
        del documents
        return iter(())

    def test(self, documents: Sequence[Any]) -> str | None:
        """Return the standard test that documents are of; None for other families.

        Raises:
            ResultError: for different ones, of which nothing can be compared.
        """
        del documents
        return None

    def model_version(self, document: Any) -> int | None:  # noqa: ANN401
        """Return the version of the model that made it; None where it does not say."""
        del document
        return None

    def is_same_run(self, one: Any, other: Any) -> bool:  # noqa: ANN401
        """Return whether a difference of the numbers can only come from the program."""
        del one, other
        return False

    def deviations(self, documents: Sequence[Any], names: Sequence[str]) -> list[Deviation]:
        """Return how far documents of simulated drives are from one of a measured drive."""
        del documents, names
        return []

    def summary(self, documents: Sequence[Any], names: Sequence[str]) -> list[str]:
        """Return for each document but the first how it stands against it; may be empty."""
        del documents, names
        return []

    def sections(self, documents: Sequence[Any], names: Sequence[str]) -> tuple[Section, ...]:
        """Return what a page shows below the table, such as lines above one another."""
        del documents, names
        return ()

    def differing_keys(self, documents: Sequence[Any]) -> list[tuple[str, list[str]]]:
        """Return the keys of device and workload in which documents differ, with their values."""
        del documents
        return []

    def report(
        self, documents: Sequence[Any], names: Sequence[str], found: Comparison
    ) -> Report | None:
        """Return the page that the family has of its own, without the table; None for none."""
        del documents, names, found
        return None
