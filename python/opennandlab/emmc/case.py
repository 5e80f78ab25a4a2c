"""A case of the conformance table: what is done to a card, and what must come of it.

A case is a generator function with its subject as its argument: a card, or what a real device says
of itself. Its docstring states what is done, and it yields checks `(what, found, wanted)`; the case
passes when all of them are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any, Generic, TypeVar

Value = int | str | bool | bytes | None
# What was examined, what was found, what is wanted.
Check = tuple[str, Value, Value]
Subject = TypeVar("Subject")
# Bytes that are written out; more are told by their number and digest.
BYTES_MAX = 8


class NotTold(Exception):  # noqa: N818 (it is no error: the case is skipped)
    """A device, or the tool that asks it, does not tell what a case needs."""


@dataclass(frozen=True)
class Case(Generic[Subject]):
    """A row of the table.

    Args:
        id: Group and name, such as `erase.reversed`.
        clause: Where the standard says it.
        does: What is done.
        run: Does it.
        options: What the card must be next to the device file.
        since: The first `EXT_CSD_REV` that has it.
    """

    id: str
    clause: str
    does: str
    run: Callable[[Subject], Iterator[Check]]
    options: Mapping[str, Any] = field(default_factory=dict)
    since: int = 6


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Args:
        expected: What is wanted, in words.
        found: What was found.
        passed: Whether all checks hold.
    """

    expected: str
    found: str
    passed: bool


class Group(Generic[Subject]):
    """Cases of one chapter: a decorator that collects them in order."""

    def __init__(self, name: str, clause: str) -> None:
        """Begin an empty group; cases without a clause of their own have this one."""
        self.name = name
        self.clause = clause
        self.cases: list[Case[Subject]] = []

    def __call__(
        self,
        clause: str | None = None,
        *,
        since: int = 6,
        options: Mapping[str, Any] | None = None,
    ) -> Callable[[Callable[[Subject], Iterator[Check]]], Callable[[Subject], Iterator[Check]]]:
        """Return a decorator that adds a case."""

        def add(
            run: Callable[[Subject], Iterator[Check]],
        ) -> Callable[[Subject], Iterator[Check]]:
            does = " ".join(cleandoc(run.__doc__ or "").split())
            name = f"{self.name}.{run.__name__.strip('_')}"
            self.cases.append(Case(name, clause or self.clause, does, run, options or {}, since))
            return run

        return add


def text(value: Value) -> str:
    """Write a value for a table.

    >>> text(True), text(b"ab"), text(None), text(255)
    ('yes', '6162', 'nothing', '255')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes):
        if len(value) <= BYTES_MAX:
            return value.hex() or "no bytes"
        from hashlib import sha256

        return f"{len(value)} bytes {sha256(value).hexdigest()[:8]}"
    return "nothing" if value is None else str(value)


def judge(checks: Iterator[Check]) -> Outcome:
    """Carry out a case.

    >>> outcome = judge(iter([("state", "tran", "tran"), ("errors", "none", "ERROR")]))
    >>> outcome.passed, outcome.found
    (False, 'state: tran; errors: none')
    """
    rows = list(checks)
    expected = "; ".join(f"{what}: {text(wanted)}" for what, _, wanted in rows)
    found = "; ".join(f"{what}: {text(seen)}" for what, seen, _ in rows)
    return Outcome(expected, found, all(seen == wanted for _, seen, wanted in rows))
