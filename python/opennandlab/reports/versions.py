"""Versions of the model: what each changed, and which numbers of two documents differ by it.

Numbers are comparable only within one version of the model. Documents of two versions are compared
nevertheless, since that is how one sees what a version changed; then the comparison states this.
`CHANGES` has one row for each version; CHANGELOG.md has the whole text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from opennandlab.base.words import number
from opennandlab.documents.comparison import ModelDifference, Row

# Model version -> what changed with it, in one sentence; "results change" in CHANGELOG.md.
CHANGES: dict[int, str] = {
    2: "results have counters by source (fold, parity, pad, rebuild); their form changed.",
    3: (
        "drives with read retry, soft reads or parity (a retry takes a transfer, a failed decoding "
        "its time), error rates by page type with `reliability: states`, noise of bit-true LDPC "
        "for each codeword, and trims in `precondition: workload`."
    ),
    4: (
        "runs in which reads fail (random streams for each die), counted read disturb, writes of "
        "parts of pages into a write buffer, collection in steps, the constants of `reliability: "
        "states`, worn-out drives, and the product presets."
    ),
    5: (
        "reads of pages that wait to be programmed or are being programmed (from memory), writes "
        "of parts of units, replay in closed loop of traces whose times are out of order, flushes "
        "and FUA writes of traces, preconditioning of tenants, and which drives have a WAF by "
        "theory."
    ),
    6: (
        "flushes of drives without a write buffer (they wait for the writes under way, watched or "
        "not), the preset of the S3700 (a moved map unit takes the processor, buses are those of "
        "the part), and cautions about WAF that is on its way or of a few pages."
    ),
}
# Changed numbers that the words name; the document has them all.
NAMED_MAX = 8


def difference(
    versions: Sequence[int | None],
    rows: Mapping[str, Row],
    at: int,
    *,
    same_settings: bool,
) -> ModelDifference | None:
    """Say what is between the versions of two documents of a comparison.

    Args:
        versions: Versions of all documents; None where one does not tell.
        rows: Their numbers by path.
        at: Place of the document that is compared with the first.
        same_settings: Whether device, workload and seed of both are equal.

    Returns:
        None where the versions are equal, or one of them is not known.

    >>> rows = {"waf": Row(values=[2.0, 2.5], delta_pct=[0.0, 25.0])}
    >>> found = difference([3, 4], rows, 1, same_settings=True)
    >>> found.changed, list(found.changes)
    (['waf'], ['4'])
    """
    first, other = versions[0], versions[at]
    if first is None or other is None or first == other:
        return None
    pairs = {path: (row.values[0], row.values[at]) for path, row in rows.items()}
    both = {path: pair for path, pair in pairs.items() if None not in pair}
    changed = [path for path, (one, new) in both.items() if one != new]
    return ModelDifference(
        place=at,
        versions=[first, other],
        changes={str(version): text for version, text in _between(first, other)},
        same_settings=same_settings,
        number_count=len(both),
        changed=sorted(changed, key=lambda path: -_size(rows[path].delta_pct[at])),
        one_sided=[path for path, pair in pairs.items() if pair.count(None) == 1],
    )


def blocks(
    found: Sequence[ModelDifference],
    names: Sequence[str],
    rows: Mapping[str, Row],
    said: Callable[[str], str] = str,
) -> list[list[str]]:
    """Return differences as sentences: versions, what changed, which numbers, by how much.

    Documents of one version share a block; which of their numbers differ is then in the table.

    Args:
        found: Result of `difference`.
        names: What the documents are called.
        rows: Their numbers by path.
        said: Words for a path.
    """
    groups: dict[tuple[tuple[int, ...], bool], list[ModelDifference]] = {}
    for one in found:
        groups.setdefault((tuple(one.versions), one.same_settings), []).append(one)
    return [_words(group, names, rows, said) for group in groups.values()]


def _words(
    group: Sequence[ModelDifference],
    names: Sequence[str],
    rows: Mapping[str, Row],
    said: Callable[[str], str],
) -> list[str]:
    found = group[0]
    first, other = found.versions
    name = names[found.place]
    if len(group) > 1:
        some = ", ".join(names[one.place] for one in group[:NAMED_MAX])
        name = f"{some} and {len(group) - NAMED_MAX} more" if len(group) > NAMED_MAX else some
    text = [f"{names[0]} was made by version {first} of the model, {name} by version {other}."]
    text += [f"Version {version} changed: {change}" for version, change in found.changes.items()]
    text.append(
        "Device, workload and seed are equal: what differs is due to the model."
        if found.same_settings
        else "Their settings or seeds differ too: the model is one reason for deltas among others."
    )
    if len(group) > 1:
        counts = [len(one.changed) for one in group]
        text.append(
            f"Of the numbers that the first has too, {min(counts)} to {max(counts)} differ."
        )
    elif not found.changed:
        text.append(f"None of the {found.number_count} numbers that both have changed.")
    else:
        shown = [_shown(path, rows[path], found.place, said) for path in found.changed[:NAMED_MAX]]
        most = ", most of all" if len(found.changed) > NAMED_MAX else ""
        text.append(
            f"{len(found.changed)} of the {found.number_count} numbers that both have changed"
            f"{most}: {'; '.join(shown)}."
        )
    if found.one_sided and len(group) == 1:
        text.append(f"{len(found.one_sided)} numbers are in one of the two only.")
    return text


def _between(first: int, other: int) -> Iterator[tuple[int, str]]:
    """Yield the versions after the older one, up to the newer, with what each changed."""
    known = max(CHANGES)
    for version in range(min(first, other) + 1, min(max(first, other), known) + 1):
        yield version, CHANGES.get(version, "not recorded.")
    if max(first, other) > known:
        yield max(first, other), f"not known to this program, whose newest version is {known}."


def _size(delta_pct: float | None) -> float:
    """Return how large a change is; from zero it is without bound."""
    return math.inf if delta_pct is None else abs(delta_pct)


def _shown(path: str, row: Row, at: int, said: Callable[[str], str]) -> str:
    delta = row.delta_pct[at]
    change = "" if delta is None else f" ({delta:+.2g} %)"
    return f"{said(path)} {number(row.values[0])} → {number(row.values[at])}{change}"
