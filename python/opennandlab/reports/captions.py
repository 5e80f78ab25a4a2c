"""Captions of figures in a paper: what is drawn, how to read it, of which drive and load.

On a page the text around a figure names its drive, and titles are short. In a paper the caption is
alone: abbreviations are written out, and what the heading of the report states follows.
"""

from __future__ import annotations

import re
from dataclasses import replace

from opennandlab.reports.figure.model import Figure, Plot, Relief
from opennandlab.reports.model import Report
from opennandlab.reports.variation import SOURCES

# Titles of one to three words name only the values.
PLAIN = re.compile(r"[\w/]+( [\w/]+){0,2}")
NAMES_BOTH = re.compile(r" (against|by|over|of) ")
UNITS = ("MB/s", "µs", "ms")
SIMULATED = re.compile(r"\bsim:(\S+)")
WORDS = (
    (re.compile(r", (log|linear) scale$"), ""),
    (re.compile(r"\bKiB (\d+)/\d+"), r"KiB requests, \1 % reads"),
    (re.compile(r"\bRND\b"), "random"),
    (re.compile(r"\bSEQ\b"), "sequential"),
    (re.compile(r"\bART\b"), "mean response time"),
    (re.compile(r"\bMRT\b"), "longest response time"),
    (re.compile(r"^WAF\b"), "write amplification"),
    (re.compile(r", window$"), ", in the measurement window"),
    (re.compile(r"^Response time histogram: (Response time, )?"), "Histogram of response times: "),
)


def captioned(report: Report, figure: Figure) -> Figure:
    """Return a figure of a report with its whole caption.

    Args:
        report: The report.
        figure: One of its figures.
    """
    note = figure.note.replace(f" {SOURCES}", "")
    said = [figure.caption] if figure.caption else [_sentence(subject(figure)), note]
    said.append(_about(report, figure))
    if isinstance(figure, Plot) and figure.y.label in UNITS:
        # On a page the title has the name of the values.
        name = NAMES_BOTH.split(figure.title)[0]
        y = replace(figure.y, label=f"{name[:1].lower()}{name[1:]}, {figure.y.label}")
        figure = replace(figure, y=y)
    return replace(figure, caption=" ".join(part for part in said if part))


def subject(figure: Figure) -> str:
    """Return what a figure shows, over what, in words.

    >>> from opennandlab.reports.figure.model import Axis
    >>> subject(Plot("p", "Throughput", Axis("simulated time, s"), Axis("MB/s"), ()))
    'Throughput against simulated time'
    >>> subject(Plot("p", "Response time histogram: RND 4 KiB 0/100", Axis("ms"), Axis("n"), ()))
    'Histogram of response times: random 4 KiB requests, 0 % reads'
    """
    said = figure.title
    if isinstance(figure, Relief) and ": 3-D" in said:
        scale = ", on a logarithmic scale" if figure.z.scale == "log" else ""
        said = f"{_name(figure.z.label)} against {_name(figure.y)} and {_name(figure.x)}{scale}"
    elif isinstance(figure, Plot) and PLAIN.fullmatch(said) and not NAMES_BOTH.search(said):
        said = f"{said} against {_name(figure.x.label)}"
    for pattern, words in WORDS:
        said = pattern.sub(words, said)
    return f"{said[:1].upper()}{said[1:]}"


def _name(label: str) -> str:
    """Return the name of an axis without its unit."""
    return label.rpartition(", ")[0] or label


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _about(report: Report, figure: Figure) -> str:
    """Return the drive, the load, and a verdict that qualifies them; empty where none is known."""
    chapter = next((one for one in report.chapters if figure in one.items), None)
    if chapter is None:
        return ""
    details = chapter.subtitle or (report.lead if report.title == chapter.title else "")
    # The name of a test or of the figure itself is no name of a drive.
    is_named = chapter.title != figure.title and not (
        chapter.subtitle and chapter.title == report.title
    )
    head = chapter.title if is_named else ""
    said = ", ".join(part for part in (head, details.replace(" · ", ", ")) if part)
    said = SIMULATED.sub(r"simulated \1", said)
    if head or chapter.subtitle:
        said = f"Drive and load: {said}"
    said = f"{said[:1].upper()}{said[1:]}"
    verdict = chapter.verdict
    is_doubtful = verdict is not None and verdict.kind in {"warning", "bad"}
    doubt = verdict.text if verdict is not None and is_doubtful else ""
    return " ".join(_sentence(one) for one in (said, f"{doubt[:1].upper()}{doubt[1:]}") if one)
