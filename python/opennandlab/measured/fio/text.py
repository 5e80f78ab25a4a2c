"""Where the documents of fio stand in a file, and which of them are results.

fio writes notes before its JSON where both go to one place, and people keep logs of consoles. A
document begins at a line that starts with `{`; everything else is other text. With
`--status-interval` each document has the totals until then, and the last is the result; outputs
that were appended to one file are several results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from opennandlab.measured.fio import terse

START = re.compile(r'^[ \t]*(\{)(?=\s*["}])', re.MULTILINE)
STRINGS_AND_ENDS = re.compile(r'"(?:[^"\\]|\\.)*"|\}')
SIDES = ("read", "write", "trim", "mixed")


class CutError(ValueError):
    """A document that breaks off, or is damaged.

    Args:
        start: Place of its first character in the text.
        at: Place where it cannot be read on.
        reason: What is wrong there.
    """

    def __init__(self, start: int, at: int, reason: str) -> None:
        """Keep the places next to the message."""
        super().__init__(reason)
        self.start = start
        self.at = at


@dataclass(frozen=True)
class Pieces:
    """What a text consists of.

    Args:
        documents: Its JSON documents, in order.
        other: The lines around them that are not empty.
        cut: Why the last one is missing; None where all are whole.
    """

    documents: list[dict[str, Any]]
    other: list[str] = field(default_factory=list)
    cut: CutError | None = None


class TwiceError(ValueError):
    """A key that an object has twice."""

    def __init__(self, key: str) -> None:
        """Keep the key with the message."""
        super().__init__(f"the key `{key[:60]}` is given twice, with different values")
        self.key = key


class _Objects:
    """Makes the objects of a document, and counts them: each ends with a brace."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return an object.

        An option may be there again, of which fio takes the last; before 3.4 it fills lists of
        percentiles with equal entries.

        Raises:
            TwiceError: for figures that contradict each other.
        """
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found and found[key] != value and not isinstance(value, str):
                raise TwiceError(key)
            found[key] = value
        self.count += 1
        return found

    def place_of(self, key: str, text: str, start: int) -> int:
        """Return where a key of the object that could not be made is, the last time."""
        ends = (one.start() for one in STRINGS_AND_ENDS.finditer(text, start) if one[0] == "}")
        end = next(islice(ends, self.count, None), len(text))
        return max(text.rfind(json.dumps(key), start, end), start)


def each(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Yield the documents of a text, each with where it begins and ends; there may be thousands.

    Raises:
        CutError: at one that breaks off or is damaged.
    """
    place = 0
    while match := START.search(text, place):
        start = match.start(1)
        objects = _Objects()
        try:
            document, place = json.JSONDecoder(object_pairs_hook=objects.of).raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise CutError(start, error.pos, error.msg) from None
        except TwiceError as error:
            raise CutError(start, objects.place_of(error.key, text, start), str(error)) from None
        except (ValueError, RecursionError) as error:
            raise CutError(start, start, str(error)) from None
        yield document, start, place


def pieces(text: str) -> Pieces:
    """Return the documents of a text, as far as they are whole, and what else it holds.

    Raises:
        TerseError: for a terse output that cannot be read.
    """
    documents: list[dict[str, Any]] = []
    other, place = "", 0
    cut = None
    try:
        for document, start, end in each(text):
            documents.append(document)
            other += text[place:start]
            place = end
    except CutError as error:
        cut = error
        other += text[place : error.start]
        place = len(text)
    if not documents and cut is None:
        return Pieces(*terse.documents(text))
    around = other + text[place:] if documents else ""
    lines = [line.strip() for line in around.splitlines() if line.strip()]
    return Pieces(documents, lines, cut)


def runs(documents: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the documents of each run: the last is its result, the others totals on the way."""
    found: list[list[Mapping[str, Any]]] = []
    for document in documents:
        if found and _goes_on(found[-1][-1], document):
            found[-1].append(document)
        else:
            found.append([document])
    return found


def results(documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last document of each run."""
    return [run[-1] for run in runs(documents)]


def _goes_on(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Tell whether a document has the later totals of the same jobs, and not those of another run.

    Totals never fall, and a job that has ended keeps its figures to the last digit. Another run of
    the same jobs began after the first, so that more time passed between both than its jobs have
    run, while their run times hardly differ.
    """
    earlier, later = _totals(before), _totals(after)
    if [one[0] for one in earlier] != [one[0] for one in later]:
        return False
    if any(new < old for one, two in zip(earlier, later, strict=True)
           for old, new in zip(one[1:], two[1:], strict=True)):  # fmt: skip
        return False
    passed = _moment_ms(after) - _moment_ms(before)
    grown = sum(two[3] - one[3] for one, two in zip(earlier, later, strict=True))
    longest = max((one[3] for one in later), default=0.0)
    is_begun = any(one[1] for one in earlier)
    has_ended = any(
        old[2] and _sides(one) == _sides(two)
        for old, one, two in zip(earlier, _jobs(before), _jobs(after), strict=True)
    )
    # A run has ended when each of its jobs did something, or failed.
    is_whole = all(
        one[2] or (isinstance(job, dict) and job.get("error"))
        for one, job in zip(earlier, _jobs(before), strict=True)
    )
    return has_ended or not (is_whole and is_begun and passed >= longest and grown < passed / 2)


def _jobs(document: Mapping[str, Any]) -> list[Any]:
    found = document.get("jobs") or document.get("client_stats")
    return found if isinstance(found, list) else []


def _sides(job: object) -> list[dict[str, Any]]:
    found = [job.get(name) for name in SIDES] if isinstance(job, dict) else []
    return [side for side in found if isinstance(side, dict)]


def _totals(document: Mapping[str, Any]) -> list[tuple[str, float, float, float]]:
    """Return of each job its name, bytes, requests and longest run time in ms."""
    found = []
    for job in _jobs(document):
        sides = _sides(job)
        figures = {
            key: [float(side[key]) for side in sides if isinstance(side.get(key), int | float)]
            for key in ("io_bytes", "total_ios", "runtime")
        }
        name = f"{job.get('jobname')}/{job.get('groupid')}" if sides else ""
        found.append((name, sum(figures["io_bytes"]), sum(figures["total_ios"]),
                      max(figures["runtime"], default=0.0)))  # fmt: skip
    return found


def _moment_ms(document: Mapping[str, Any]) -> float:
    """Return when a document was written, in ms; 0 before fio 2.2.5, which does not say."""
    for key, factor in (("timestamp_ms", 1.0), ("timestamp", 1e3)):
        if isinstance(document.get(key), int):
            return float(document[key]) * factor
    return 0.0
