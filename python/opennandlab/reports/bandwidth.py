"""The `theory bandwidth --plot` figures: bandwidth against die count, as in the 2009 tutorial.

```text
document of `theory bandwidth --json` ──► one plot per die: five mixes, caps, measured points
                                     └──► one plot of root mean squares behind the links
```
Both axes are logarithmic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opennandlab.reports.figure.model import Axis, Plot, Series
from opennandlab.reports.model import Report, page_of

TITLE = "Bandwidth against die count"
# Mixes take the first five colours; what is not a mix shares the sixth.
CAP_COLOUR = 5


def report(document: dict[str, Any]) -> Report:
    """Return the report of a sweep document."""
    return page_of(TITLE, _conditions(document), list(plots(document)))


def plots(document: dict[str, Any]) -> Iterator[Plot]:
    """Yield a plot for each die of a sweep document, then that of the root mean squares."""
    for name, variant in document["variants"].items():
        yield _mixes(name, variant, document)
    yield _rms(document)


def _mixes(name: str, variant: dict[str, Any], document: dict[str, Any]) -> Plot:
    counts = [row["dies"] for row in variant["rows"]]
    lines = []
    for index, mix in enumerate(document["mixes"]):
        rates = [row["mb_s"][mix] for row in variant["rows"]]
        lines.append(Series(f"{mix} read/write", counts, rates, "line", colour=index))
    measured = variant.get("measured", [])
    for index, mix in enumerate(document["mixes"]):
        points = [point for point in measured if point["mix"] == mix]
        if points:
            x, y = [[point[key] for point in points] for key in ("dies", "mb_s")]
            # The legend says it once, whichever mix.
            legend = "simulated" if index == 0 else ""
            lines.append(Series(f"simulated {mix}", x, y, "points", colour=index, legend=legend))
    ends = [counts[0], counts[-1]]
    lines += [
        Series(
            f"{link['name']}, {link['mb_s']:.0f} MB/s",
            ends,
            [link["mb_s"]] * 2,
            "line",
            colour=CAP_COLOUR,
            stroke=stroke,
        )
        for stroke, link in enumerate(document["links"].values(), start=1)
    ]
    note = (
        f"Page read {variant['read_us']:.6g} µs, page write with its share of an erase "
        f"{variant['write_us']:.6g} µs: {variant['imbalance']:.3g} times as long."
    )
    title = f"{name}: MB/s against dies"
    return Plot(f"mixes-{name}", title, _dies(counts), _rate(), tuple(lines), note)


def _rms(document: dict[str, Any]) -> Plot:
    lines = []
    for index, (name, variant) in enumerate(document["variants"].items()):
        counts = [row["dies"] for row in variant["rows"]]
        free = [row["rms_mb_s"] for row in variant["rows"]]
        lines.append(Series(name, counts, free, "line", colour=index))
        for stroke, (link, facts) in enumerate(document["links"].items(), start=1):
            capped = [row["capped"][link]["rms_mb_s"] for row in variant["rows"]]
            label = f"{name}, {facts['name']}"
            lines.append(Series(label, counts, capped, "line", colour=index, stroke=stroke))
    note = "Root mean square of the five mixes; broken lines behind a link."
    title = "Root mean square against dies"
    return Plot("rms", title, _dies(counts), _rate(), tuple(lines), note)


def _dies(counts: list[int]) -> Axis:
    return Axis("dies", "log", tuple((float(count), str(count)) for count in counts))


def _rate() -> Axis:
    return Axis("bandwidth, MB/s", "log")


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
