"""The `theory bandwidth --plot` page: bandwidth against die count, as the 2009 tutorial draws it.

```text
document of `theory bandwidth --json` ──► one chart per die: five mixes, caps, measured points
                                     └──► one chart of root mean squares behind the links
```
Both axes are logarithmic. A file whose name ends in .svg gets the drawings alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from opennandlab.files import write_atomically
from opennandlab.reports.chart import HEIGHT, WIDTH, Axis, Chart, Line, svg
from opennandlab.reports.plot import chart_page

TITLE = "Bandwidth against die count"
# Mixes take the first five colours; what is not a mix shares the sixth.
CAP_COLOUR = 5


def write(document: dict[str, Any], path: str | Path) -> None:
    """Write the figure: an HTML page, or an SVG drawing where the name ends in .svg.

    Raises:
        OutputError: when it cannot be written, and why.
    """
    text = drawing(document) if Path(path).suffix.lower() == ".svg" else page(document)
    write_atomically(Path(path), text.encode())


def page(document: dict[str, Any]) -> str:
    """Return the HTML page of a sweep document."""
    head = f'<p class="lead">{escape(_conditions(document))}</p>'
    return chart_page(TITLE, head, list(charts(document)))


def drawing(document: dict[str, Any]) -> str:
    """Return the charts below each other as one SVG document."""
    title = 26
    drawn = list(charts(document))
    parts = [
        f'<text x="12" y="{index * (HEIGHT + title) + 19}" font-weight="bold">'
        f"{escape(chart.title)}</text>"
        f'<svg y="{index * (HEIGHT + title) + title}" width="{WIDTH}" height="{HEIGHT}" '
        + svg(chart).removeprefix("<svg ")
        for index, chart in enumerate(drawn)
    ]
    height = len(drawn) * (HEIGHT + title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>{"".join(parts)}</svg>\n'
    )


def charts(document: dict[str, Any]) -> Iterator[Chart]:
    """Yield a chart for each die of a sweep document, then that of the root mean squares."""
    for name, variant in document["variants"].items():
        yield _mixes(name, variant, document)
    yield _rms(document)


def _mixes(name: str, variant: dict[str, Any], document: dict[str, Any]) -> Chart:
    counts = [row["dies"] for row in variant["rows"]]
    lines = []
    for index, mix in enumerate(document["mixes"]):
        rates = [row["mb_s"][mix] for row in variant["rows"]]
        lines.append(Line(f"{mix} read/write", counts, rates, colour=index))
    measured = variant.get("measured", [])
    for index, mix in enumerate(document["mixes"]):
        points = [point for point in measured if point["mix"] == mix]
        if points:
            x, y = [[point[key] for point in points] for key in ("dies", "mb_s")]
            # The legend says it once, whichever mix.
            legend = "simulated" if index == 0 else ""
            lines.append(Line(f"simulated {mix}", x, y, stroke="none", colour=index, legend=legend))
    ends = [counts[0], counts[-1]]
    lines += [
        Line(
            f"{link['name']}, {link['mb_s']:.0f} MB/s",
            ends,
            [link["mb_s"]] * 2,
            stroke="dashed",
            colour=CAP_COLOUR,
        )
        for link in document["links"].values()
    ]
    note = (
        f"Page read {variant['read_us']:.6g} µs, page write with its share of an erase "
        f"{variant['write_us']:.6g} µs: {variant['imbalance']:.3g} times as long."
    )
    return Chart(f"{name}: MB/s against dies", _dies(counts), _rate(), tuple(lines), note)


def _rms(document: dict[str, Any]) -> Chart:
    lines = []
    for index, (name, variant) in enumerate(document["variants"].items()):
        counts = [row["dies"] for row in variant["rows"]]
        free = [row["rms_mb_s"] for row in variant["rows"]]
        lines.append(Line(name, counts, free, colour=index))
        for link, facts in document["links"].items():
            capped = [row["capped"][link]["rms_mb_s"] for row in variant["rows"]]
            lines.append(
                Line(f"{name}, {facts['name']}", counts, capped, stroke="dashed", colour=index)
            )
    note = "Root mean square of the five mixes; dashed behind a link."
    return Chart("Root mean square against dies", _dies(counts), _rate(), tuple(lines), note)


def _dies(counts: list[int]) -> Axis:
    return Axis("dies", "log", tuple((float(count), str(count)) for count in counts))


def _rate() -> Axis:
    return Axis("MB/s", "log")


def _conditions(document: dict[str, Any]) -> str:
    parameters = document["parameters"]
    text = (
        "SNIA NAND performance tutorial, L. Smith, 2009: large transfers, infinite buffer, deep "
        "queues, one block erased per block written, links without overhead. "
        f"{parameters['registers'].capitalize()} register per die"
    )
    channels = parameters["channels"]
    text += f", {channels} channels." if channels else ", a channel for each die."
    if any("measured" in variant for variant in document["variants"].values()):
        text += " Circles are simulated, before any link."
    return text
