"""Findings as sentences, and numbers and deltas as they stand in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opennandlab.base.words import NOTHING, number
from opennandlab.comparing.model import Difference, Finding

# Of documents that share something so many are named, the rest is counted; of groups that differ
# this number is listed.
NAMED_MAX = 4
GROUPS_MAX = 4
# From here on a number has an exponent.
PLAIN_MAX = 1e7
# A change by this factor or more is told as a factor.
FACTOR = 10.0
FACTOR_PLAIN_MAX = 1e5


def sentences(findings: Iterable[Finding], names: Sequence[str]) -> list[str]:
    """Return findings as sentences, each once."""
    return list(dict.fromkeys(sentence(one, names) for one in findings))


def sentence(finding: Finding, names: Sequence[str]) -> str:
    """Return a finding in words.

    >>> from opennandlab.comparing.model import Remark
    >>> found = Difference("cache", (((0,), "1"), ((1, 2), "2")), "it decides")
    >>> sentence(found, ["a", "b", "c"])
    'different cache: a has 1, b and c have 2: it decides'
    >>> sentence(Remark("{}: partial", (0, 1)), ["a", "b", "c"])
    'a and b: partial'
    """
    if not isinstance(finding, Difference):
        return finding.text.replace("{}", joined([names[place] for place in finding.places]), 1)
    said = []
    for places, shown in finding.groups[:GROUPS_MAX]:
        verb = finding.verbs[len(places) > 1]
        said.append(f"{joined([names[place] for place in places])} {verb} {shown}")
    rest = sum(len(places) for places, _ in finding.groups[GROUPS_MAX:])
    if rest:
        values = len(finding.groups) - GROUPS_MAX
        said.append(f"and {values} more {'values' if values > 1 else 'value'} in {_others(rest)}")
    why = f": {finding.why}" if finding.why else ""
    return f"different {finding.what}: {('; ' if '; ' in ''.join(said) else ', ').join(said)}{why}"


def remedy(findings: Iterable[Finding]) -> str:
    """Return the conditions of a comparison: settings that documents must have in common.

    >>> from opennandlab.comparing.model import Remark
    >>> groups = (((0,), "1"), ((1,), "2"))
    >>> remedy([Difference("state: fresh", groups), Difference("cache", groups)])
    'comparable are documents of the same state and cache'
    >>> remedy([Difference("cache", groups), Remark("{}: partial", (0,), "whole tests")])
    'comparable are documents of the same cache, and whole tests'
    """
    found = list(findings)
    what = [one.what.partition(":")[0] for one in found if isinstance(one, Difference)]
    others = [one.remedy for one in found if not isinstance(one, Difference) and one.remedy]
    same = [f"documents of the same {joined(list(dict.fromkeys(what)))}"] if what else []
    said = ", and ".join([*same, *dict.fromkeys(others)])
    return f"comparable are {said}" if said else ""


def joined(names: Sequence[str], count_max: int = NAMED_MAX) -> str:
    """Return names as a list in words, those beyond the first few counted.

    >>> joined(["a"]), joined(["a", "b", "c"]), joined(list("abcdefg"))
    ('a', 'a, b and c', 'a, b, c, d and 3 others')
    >>> joined(["a, x", "b, x", "c"])
    'a, x; b, x and c'
    """
    # Names of settings have commas of their own, and are long.
    is_long = any(", " in name for name in names)
    comma, count_max = ("; ", min(count_max, 2)) if is_long else (", ", count_max)
    shown = list(names[:count_max])
    if len(names) > count_max + 1:
        return f"{comma.join(shown)} and {_others(len(names) - count_max)}"
    shown = list(names)
    return " and ".join([comma.join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _others(count: int) -> str:
    return f"{count} other{'s' if count > 1 else ''}"


def short(value: float | None) -> str:
    """Write a number with four digits.

    >>> short(1031475), short(0.2239), short(104399.0), short(3.9e-33), short(2.5e9), short(None)
    ('1 031 000', '0.2239', '104 400', '3.9e-33', '2.5e+09', '-')
    """
    if value is None:
        return NOTHING
    return number(float(f"{value:.4g}")) if abs(value) < PLAIN_MAX else f"{value:.4g}"


def spread(value: float | None, low: float | None, high: float | None) -> str:
    """Write how far an interval reaches from its value, at most.

    >>> spread(0.02, 0.015, 0.028), spread(2.0, 2.0, 2.0), spread(2.0, None, 3.0)
    ('±40 %', '', '')
    >>> spread(1.0, 0.1, 2.93), spread(1.0, 0.93, 1.07)
    ('±193 %', '±7 %')
    """
    if not value or low is None or high is None or low == high:
        return ""
    share = 100 * max(high - value, value - low) / abs(value)
    return f"±{share:.0f} %" if share >= 10 else f"±{share:.2g} %"


def bounded(value: float | None, low: float | None, high: float | None) -> str:
    """Write a number; where none was met, its upper bound.

    >>> bounded(0.0, 0.0, 1.84e-4), bounded(0.0, None, None), bounded(0.5, 0.4, 0.6)
    ('<0.000184', '0', '0.5')
    """
    if value == 0 and low == 0 and high:
        return f"<{short(float(f'{high:.3g}'))}"
    return short(value)


def change(first: float | None, value: float | None, delta_pct: float | None) -> str:
    """Write the change against the first: in percent, a large one as a factor.

    >>> change(2.0, 2.5, 25.0), change(2.0, 50.0, 2400.0), change(1.0, 1e-6, -99.9999)
    ('+25.0 %', '×25', '÷1e+06')
    >>> change(0.0, 1.0, None), change(2.0, 0.0, -100.0)
    ('', '-100.0 %')
    >>> change(1.0, 1.0001, 0.01), change(3000.0, 1.0, -99.97)
    ('0.0 %', '÷3 000')
    """
    if delta_pct is None or first is None or value is None:
        return ""
    ratio = value / first if first else 1.0
    if ratio >= FACTOR:
        return f"×{_factor(ratio)}"
    if 0 < ratio <= 1 / FACTOR:
        return f"÷{_factor(1 / ratio)}"
    text = f"{delta_pct:+.1f} %"
    return "0.0 %" if text in {"+0.0 %", "-0.0 %"} else text


def _factor(ratio: float) -> str:
    return number(float(f"{ratio:.3g}")) if ratio < FACTOR_PLAIN_MAX else f"{ratio:.0e}"
