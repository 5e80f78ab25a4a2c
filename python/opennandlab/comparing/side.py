"""Documents side by side: the comparison as a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from opennandlab.base.errors import ResultError
from opennandlab.comparing import families
from opennandlab.comparing.model import Family, UnlikeError
from opennandlab.comparing.rows import (
    ASSUMED,
    main_paths,
    rows,
    with_chance,
    without_ends,
    without_rank,
)
from opennandlab.comparing.standing import standing
from opennandlab.comparing.words import remedy, sentences
from opennandlab.documents.comparison import SCHEMA, Comparison, Row
from opennandlab.documents.record import JsonObject, plain
from opennandlab.reports.versions import difference
from opennandlab.store.entry import Entry

# Of more documents only the table shows how each compares with the first.
SENTENCES_MAX = 5
TOO_FEW = "one document is nothing to compare; accepted: two or more, such as a.json b.json"


@dataclass(frozen=True)
class Subject:
    """One column of a comparison.

    Args:
        name: What it is called.
        source: The file, or the key in a store, and what was varied; empty for what was in memory.
        document: As its family takes it.
        entry: The point of a store that it is; None for others.
    """

    name: str
    source: str
    document: Any
    entry: Entry | None = None


@dataclass(frozen=True)
class Side:
    """Documents of one family, one column each.

    Args:
        family: The family of all documents.
        subjects: The columns; the first is what the others are measured against.
        comparison: What came out.
        main: Paths of the rows that are shown without `--all`, in order.
        seeds: Runs with other seeds that chance is estimated from; 0 if it is assumed.
    """

    family: Family
    subjects: tuple[Subject, ...]
    comparison: Comparison
    main: tuple[str, ...]
    seeds: int = 0

    @property
    def documents(self) -> list[Any]:
        """The documents, as their family takes them."""
        return [one.document for one in self.subjects]

    @property
    def every(self) -> tuple[str, ...]:
        """Paths of all rows in which something is known."""
        rows = self.comparison.metrics.items()
        return tuple(path for path, row in rows if any(it is not None for it in row.values))

    def summary(self) -> list[str]:
        """Return a sentence for each document, how it compares with the first.

        Empty for different things, which no sentence may rank, and for more than a few documents.
        """
        if not self.comparison.like or len(self.subjects) > SENTENCES_MAX:
            return []
        own = self.family.summary(self.documents, self.comparison.names)
        return [*own, *standing(self.comparison, () if own else self.main)]


def compare(
    results: Sequence[Any], names: Sequence[str] | None = None, *, force: bool = False
) -> JsonObject:
    """Put documents side by side: results, standard tests, ECC curves, life tests, validations.

    Args:
        results: Documents of one family, as `load` returns them; the first is what the others are
            measured against. An ECC comparison counts as its curves.
        names: What to call them; by place otherwise.
        force: Compare different things too; the reasons against it stay in the output.

    Returns:
        The document `opennandlab.compare/1` as plain JSON: each number of any document with its
        values, deltas, and the places of best and worst.

    Raises:
        UnlikeError: for different things, unless forced.
        ResultError: for fewer than two documents, and for those of different families.
    """
    return plain(side_by_side(results, names, force=force))


def side_by_side(
    results: Sequence[Any], names: Sequence[str] | None = None, *, force: bool = False
) -> Comparison:
    """Return what `compare` does, as declared."""
    names = names or [f"#{index + 1}" for index in range(len(results))]
    if len(names) != len(results):
        raise ResultError(
            f"{len(names)} names for {len(results)} documents; accepted: a name for each"
        )
    found = [families.of_document(one) for one in results]
    for name, one, family in zip(names, results, found, strict=True):
        if family is None:
            raise ResultError(
                f"{name} cannot be compared: it is a {type(one).__name__}; accepted: what "
                "`onl.load` returns of results, standard tests, ECC curves, life tests and "
                "`validate`"
            )
    known = [family for family in found if family is not None]
    refuse_mixed(list(names), known)
    subjects = [
        Subject(name, "", document)
        for given, one in zip(names, results, strict=True)
        for name, document in known[0].parts(one, given)
    ]
    return made(known[0], subjects, force=force).comparison


def refuse_mixed(names: Sequence[str], found: Sequence[Family]) -> None:
    """Refuse documents of different families, naming the family of each.

    Raises:
        ResultError: for these, and for none at all.
    """
    if not found:
        raise ResultError(TOO_FEW)
    if any(family is not found[0] for family in found):
        said = ", ".join(
            f"{name} is {family.name}" for name, family in zip(names, found, strict=True)
        )
        raise ResultError(
            f"a document can be compared only with others of its kind: {said}; accepted: "
            f"documents of "
            "one family"
        )


def is_drawn(family: Family, documents: Sequence[Any]) -> bool:
    """Return whether small differences may be chance: not those of equal runs, nor of formulas."""
    first, *others = documents
    return family.is_drawn and not all(family.is_same_run(first, one) for one in others)


def _has_chance(family: Family, row: Row) -> bool:
    """Return whether small differences in a row are taken for chance."""
    return row.better is not None and not (row.low is not None and family.has_run_intervals)


def unranked(side: Side) -> Side:
    """Return a comparison of which nothing is called best or worst."""
    metrics = {path: without_rank(row) for path, row in side.comparison.metrics.items()}
    return replace(side, comparison=structs.replace(side.comparison, metrics=metrics))


def made(family: Family, subjects: Sequence[Subject], *, force: bool) -> Side:
    """Put subjects of a family side by side.

    Raises:
        UnlikeError: for different things, unless forced.
        ResultError: for fewer than two.
    """
    if len(subjects) < 2:
        raise ResultError(TOO_FEW)
    documents = [one.document for one in subjects]
    names = [one.name for one in subjects]
    test = family.test(documents)
    objections = list(family.objections(documents))
    reasons = sentences(objections, names)
    if reasons and not force:
        raise UnlikeError(reasons, remedy(objections))
    numbers = [family.numbers(document) for document in documents]
    found = rows(numbers)
    found = {path: found[path] for path in family.order(list(found))}
    unlike = list(family.unlike_rows(documents))
    paths = {path for one, _ in unlike for path in one}
    found = {path: without_rank(row) if path in paths else row for path, row in found.items()}
    if is_drawn(family, documents):
        found = {
            path: with_chance(row, ASSUMED) if _has_chance(family, row) else row
            for path, row in found.items()
        }
    elif family.is_drawn:
        found = {path: without_ends(row) for path, row in found.items()}
    versions = [family.model_version(document) for document in documents]
    models = [
        difference(versions, found, place, same_settings=family.is_same_run(documents[0], document))
        for place, document in enumerate(documents)
    ]
    sources = [one.source for one in subjects]
    comparison = Comparison(
        schema=SCHEMA,
        test=test,
        names=names,
        sources=sources if all(sources) else None,
        like=not reasons,
        reasons=reasons,
        warnings=sentences([*family.doubts(documents), *(why for _, why in unlike)], names),
        models=[one for one in models if one] or None,
        metrics=found,
        errors=family.deviations(documents, names) or None,
    )
    return Side(family, tuple(subjects), comparison, tuple(main_paths(numbers, list(found))))
