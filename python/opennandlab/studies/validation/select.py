"""Which cases to run: suites by name, cases by pattern.

Unknown names are refused with the names that exist; a pattern that matches nothing is an error too,
because "0 of 0 passed" would read like success.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from opennandlab.base.deprecated import current
from opennandlab.studies.validation.case import Case, Effort
from opennandlab.studies.validation.suites import ON_REQUEST, SUITES


def select_cases(
    suites: Sequence[str] = (), pattern: str = "*", effort: Effort = Effort.FULL
) -> list[Case]:
    """Return the cases of some suites whose names match a pattern.

    Args:
        suites: names of suites, or unique beginnings of them; none means all but those that take
            hours.
        pattern: shell pattern for the names of cases, such as `greedy-*`.
        effort: quick or full.

    Returns:
        The cases, in the order of the suites.

    Raises:
        ValueError: when a suite does not exist or nothing matches.

    Example:
        >>> [case.name for case in select_cases(["trim"], "fifo-mapped-q0.1")]
        ['fifo-mapped-q0.1']
    """
    left_out = ON_REQUEST if effort is Effort.FULL else ()
    usual = [name for name in SUITES if name not in left_out]
    names = [_full_name(name) for name in suites] or usual
    available = [case for name in dict.fromkeys(names) for case in SUITES[name](effort)]
    chosen = [case for case in available if fnmatchcase(case.name, pattern)]
    if not chosen:
        message = f"no case of {', '.join(names)} matches {pattern!r} ({effort.value})"
        raise ValueError(message)
    return chosen


def _full_name(name: str) -> str:
    name = current("suite", name)
    if name in SUITES:
        return name
    begun = [suite for suite in SUITES if name and suite.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        message = f"{name!r} may be any of {', '.join(begun)}; write more of it"
    else:
        message = f"no suite is called {name!r}; accepted: {', '.join(SUITES)}"
    raise ValueError(message)
