"""Pages from templates: rendering, and the functions that templates call."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from opennandlab.base.canonical import as_bytes
from opennandlab.base.words import number
from opennandlab.reports import html
from opennandlab.reports.figure import colours
from opennandlab.reports.runs import shown
from opennandlab.store.shown import KEY_DIGITS, age, plain_value

if TYPE_CHECKING:
    from jinja2 import Environment

    from opennandlab.reports.model import Report

# Templates that pages have from reports.
SHARED = ("noted.html.j2",)
# Path of each page in the navigation, and its text.
NAVIGATION = (
    ("/", "Runs"), ("/sweeps", "Sweeps"), ("/live", "Live"), ("/plot", "Plot"), ("/new", "New run"),
)  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """A report as a part of a page.

    Args:
        theme: Values of its colours, in light and dark, by name.
        content: HTML of its chapters.
        has_figures: Whether the page needs the script that draws.
    """

    theme: Mapping[str, str]
    content: str
    has_figures: bool

    @classmethod
    def of(cls, report: Report) -> Figures:
        """Return a report as part of a page."""
        figures = report.figures
        return cls(colours.theme(figures), html.chapters(report), bool(figures))


def rendered(name: str, **values: Any) -> str:  # noqa: ANN401 (whatever a template shows)
    """Return a page, or a part of one; half a surrogate pair becomes its escape."""
    return as_bytes(_environment().get_template(name).render(**values)).decode()


def address(path: str, **query: object) -> str:
    """Return an address with a query; lists give a pair for each value, None gives none.

    >>> address("/plot", where=["a=1", "b<2"], x="a", y=None)
    '/plot?where=a%3D1&where=b%3C2&x=a'
    """
    pairs = [
        (name, str(one))
        for name, value in query.items()
        for one in (value if isinstance(value, list | tuple) else [value])
        if one is not None and one != ""
    ]
    return f"{path}?{urlencode(pairs, errors='backslashreplace')}" if pairs else path


def ago(created: str) -> str:
    """Return the age of a time stamp in words."""
    return age(created, dt.datetime.now(dt.timezone.utc))


def moment(created: str) -> str:
    """Return a time as it is read: to the second, UTC.

    >>> moment("2026-01-02T03:04:05.678+00:00"), moment("")
    ('2026-01-02 03:04:05 UTC', '-')
    """
    return f"{created[:19].replace('T', ' ')} UTC" if created else "-"


def span(seconds: float | None) -> str:
    """Return a length of time in words.

    >>> span(0.25), span(75.0), span(4000.0), span(None)
    ('0.25 s', '1 min 15 s', '1 h 6 min', '-')
    """
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def plain_theme() -> dict[str, str]:
    """Return the colours of a page without figures."""
    return colours.theme(())


@cache
def plotly_script() -> bytes:
    """Return the script that draws; it comes with the package, so that nothing is fetched."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).encode()


@cache
def plotly_version() -> str:
    """Return the version of that script: part of its address, so that a browser may keep it."""
    from plotly.offline import get_plotlyjs_version

    return str(get_plotlyjs_version())


def as_json(value: object) -> str:
    """Return JSON for a data block: no `<` can end the element that holds it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def file_of(name: str) -> bytes:
    """Return a file of the pages: style or script.

    Raises:
        FileNotFoundError: for another name.
    """
    if name in {"report.css", "report.js"}:
        return html.asset(name).encode()
    return (resources.files("opennandlab.ui") / "page" / name).read_bytes()


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def source(name: str) -> str:
        return html.asset(name) if name in SHARED else file_of(name).decode()

    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = html.sentence
    environment.globals |= {
        "address": address, "ago": ago, "moment": moment, "span": span, "number": number,
        "plain": plain_value, "shown": shown, "navigation": NAVIGATION, "digits": KEY_DIGITS,
    }  # fmt: skip
    return environment
