"""A point of a store that is run again: does it give the same document?"""

from __future__ import annotations

from dataclasses import dataclass

from opennandlab.base.campaign import Watcher
from opennandlab.base.canonical import deterministic_part, first_difference
from opennandlab.base.errors import CodeError
from opennandlab.policies.source import named_in
from opennandlab.store import Entry
from opennandlab.store.packing import digest_of
from opennandlab.studies.sweeps.engine import run_point
from opennandlab.studies.sweeps.verbs import verb_of


@dataclass(frozen=True)
class Again:
    """What came out.

    Args:
        identical: Whether it is the same.
        text: What is to be said of it.
    """

    identical: bool
    text: str


def run_again(entry: Entry, watch: Watcher) -> Again:
    """Run a point of a store again, and compare it with what is kept.

    Args:
        entry: The point.
        watch: Told what share is done.

    Raises:
        ConfigError: for a verb that cannot be run, such as that of an adopted document.
    """
    verb_of(entry.verb)
    with named_in(f"point {entry.key[:12]}", is_record=True):
        done = run_point(entry.verb, entry.key, entry.settings, entry.seed, watch)
    if done.is_refused:  # that says nothing of the point
        raise CodeError(".", str(done.error))
    if done.document is None or entry.document is None:
        text = f"{done.error or 'it runs now'}; before: {entry.error or 'it ran'}"
        return Again(done.error == entry.error, text)
    ours, theirs = digest_of(done.document), digest_of(entry.document)
    if ours == theirs:
        return Again(identical=True, text=f"identical, digest {ours[:12]}")
    kept, made = deterministic_part(entry.document), deterministic_part(done.document)
    where = first_difference(kept, made)
    return Again(identical=False, text=f"differs: {where} (kept against run again)")
