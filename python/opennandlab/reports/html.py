"""A report as one HTML file: it opens offline, prints, and can be read without a script.

The script of plotly is inlined once; each figure stands there as a static drawing first, which the
interactive one replaces when it comes into view, with its numbers as a table below. Colours follow
the reader's setting, light or dark; print is light. What came from documents is escaped by the
template engine; only our own drawings and scripts are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from opennandlab.reports import words
from opennandlab.reports.figure import colours, interactive, static
from opennandlab.reports.figure.model import Relief
from opennandlab.reports.figure_tables import table_of
from opennandlab.reports.model import Item, Marked, Report, Table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# What begins no element that our own texts of figures have.
FOREIGN = re.compile(r"<(?!(br|/?extra)>)")
# A value with its change, which has a line of its own where room is scarce.
DELTA = re.compile(r"(.+) (\([+\N{MINUS SIGN}-]?[0-9][^()]*\))")
OPTION = re.compile(r"--[a-z][a-z-]*")
# A plain word at the beginning of a message, and the quotations in it.
FIRST_WORD = re.compile(r"[a-z]+(-[a-z]+)*(?=:? |$)")
QUOTED = re.compile(r"`([^`]+)`")


def page(report: Report) -> str:
    """Return a report as one HTML page."""
    from markupsafe import Markup

    figures = report.figures
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            folds=False,
            drawn=_drawn(is_static=True),
            running=lambda text: Markup(css_string(text)),  # noqa: S704 (escaped letter by letter)
            theme=colours.theme(figures),
            style=Markup(asset("report.css")),  # noqa: S704 (our own file)
            script=Markup(asset("report.js")),  # noqa: S704 (our own file)
            template=template(),
            plotly=Markup(plotly_script() if figures else ""),  # noqa: S704 (the library)
        )
    )


def chapters(report: Report) -> Markup:
    """Return the chapters of a report as a part of a larger page, which brings scripts and style.

    Its figures are drawn by `report.js` from their data; static drawings are left out. The set-up
    is folded, so that the first figure is in sight.
    """
    from markupsafe import Markup

    made = _environment().get_template("chapters.html.j2")
    text = made.render(report=report, folds=True, drawn=_drawn(is_static=False))
    return Markup(text)  # noqa: S704 (escaped)


def template() -> Markup:
    """Return what the layouts of all figures of a page share, as JSON."""
    from markupsafe import Markup

    return Markup(_json(interactive.TEMPLATE))  # noqa: S704 (our own)


def _drawn(*, is_static: bool) -> Callable[[Item, int, str], Markup]:
    """Return what draws an item of a chapter below a heading, with a title of some level."""
    from markupsafe import Markup

    def drawn(item: Item, place: int, heading: str, level: int = 3) -> Markup:
        # A heading is not said twice.
        text = _item(
            item, f"c{place}-{item.id}", level, is_titled=item.title == heading, is_static=is_static
        )
        return Markup(text)  # noqa: S704 (made by our own templates)

    return drawn


@cache
def plotly_script() -> str:
    """Return the script that draws, as it stands in a page."""
    from plotly.offline import get_plotlyjs

    # `</` would end the script element early; inside a string `<\\/` is the same.
    return str(get_plotlyjs()).replace("</script", "<\\/script")


def css_string(text: str) -> str:
    r"""Return text as a string of CSS in which no letter has a meaning.

    >>> css_string('a"</style>')
    '"a\\22 \\3c \\2f style\\3e "'
    """
    return '"' + "".join(
        letter if letter.isalnum() and letter.isascii() else f"\\{ord(letter):x} "
        for letter in text
    ) + '"'  # fmt: skip


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["written"] = _written
    environment.globals["tone"] = _tone
    environment.filters["sentence"] = sentence
    return environment


def sentence(text: str) -> Markup:
    """Return a message as a sentence of a page: with a capital, and its quotations as code.

    A key or a name at the beginning stays as it is.

    >>> str(sentence("the key `a<b` is not valid")), str(sentence("nand.stress had no effect"))
    ('The key <code>a&lt;b</code> is not valid', 'nand.stress had no effect')
    """
    from markupsafe import Markup, escape

    shown = f"{text[0].upper()}{text[1:]}" if FIRST_WORD.match(text) else text
    return Markup(QUOTED.sub(r"<code>\1</code>", str(escape(shown))))  # noqa: S704 (escaped)


def _tone(cell: object) -> str:
    """Return the class of a cell that is marked as the best or worst of its row."""
    mark = cell.mark if isinstance(cell, Marked) else ""
    return mark if mark in {"best", "worst"} else ""


def _written(amount: object, digits: int | None = None) -> Markup:
    """Write a cell of a table; an option of a command is not broken after its hyphens."""
    from markupsafe import Markup, escape

    text = str(escape(words.value(amount, digits)))
    if found := DELTA.fullmatch(text):
        text = f'{found[1]} <span class="delta">{found[2]}</span>'
    return Markup(OPTION.sub(r'<span class="option">\g<0></span>', text))  # noqa: S704 (escaped)


def asset(name: str) -> str:
    """Return a file of the page: style, script, or a template."""
    folder = resources.files("opennandlab.reports") / "page"
    return (folder / name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """Return JSON in which no `<` can end the element that holds it, nor begin another.

    Plotly makes links and letters of some elements in its texts: only ours are left to it.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return FOREIGN.sub("&lt;", text).replace("<", "\\u003c")


def _item(item: Item, anchor: str, level: int, *, is_titled: bool, is_static: bool) -> str:
    if isinstance(item, Table):
        return _table(item, anchor, is_titled=is_titled)
    from markupsafe import Markup

    shown = table_of(item)
    return (
        _environment()
        .get_template("figure.html.j2")
        .render(
            anchor=anchor,
            level=level,
            is_titled=is_titled,
            figure=item,
            depth=isinstance(item, Relief) and item.shape != "bands",
            # Escaped when it was drawn.
            drawing=Markup(static.inline(item, anchor) if is_static else ""),  # noqa: S704
            data=Markup(_json(interactive.figure(item))),  # noqa: S704 (cannot end its element)
            unit=shown.title.removeprefix(f"{item.title}, ").partition(";")[0],
            numbers=Markup(_table(shown, "", is_inner=True)),  # noqa: S704 (a template)
        )
    )


def _table(table: Table, anchor: str, *, is_inner: bool = False, is_titled: bool = False) -> str:
    return (
        _environment()
        .get_template("table.html.j2")
        .render(table=table, anchor=anchor, is_inner=is_inner, is_titled=is_titled)
    )
