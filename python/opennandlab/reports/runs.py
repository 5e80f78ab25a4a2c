"""Many runs as one figure: a number against what was varied, a line for each of something else.

Lines carry the 95 % interval over the seeds as a band, points as bars. Where documents have the
value that theory predicts, theory is the line, dashed, and the points are single marks: both are
seen if they agree. A rate of which no error was met is drawn as the bound that is known of it.

Frame error rates have counts, which say more than the spread over a few seeds: a point of one seed
has the interval of its document, and counted points of several seeds are one count of all frames,
with the interval of Clopper and Pearson. Weighted strata of several seeds have Student's interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opennandlab import _core
from opennandlab.base.errors import ConfigError, inert
from opennandlab.base.plain import is_number
from opennandlab.base.words import number, size
from opennandlab.reports import labels
from opennandlab.reports.figure import scale
from opennandlab.reports.figure.model import Axis, Draw, Filling, Number, Plot, Scale, Series
from opennandlab.reports.model import Cell, Chapter, Report, Section, Table
from opennandlab.stats.groups import Group, Mean, Scalar

# Values over more than this ratio lie on a logarithmic axis.
WIDE = 100.0
# Rates whose zero says only that nothing was met, and the bound that is known then.
RATES = ("fer", "ber", "rber", "uber")
UPPER_END = {"fer": "fer_high"}
RBER_AXIS, EBN0_AXIS = "raw bit error rate (RBER)", "Eb/N0, dB per information bit"
# What only points of counted frames, and only those of weighted strata have.
COUNTED, WEIGHTED = "channel_ber", "relative_error"
POOLED = (
    " Frame error rates are drawn as one count of the frames of all seeds, with Clopper and "
    "Pearson's interval, where frames were counted."
)
BARS = "; bars: 95 % intervals"
# What the raw bytes of a device are the product of.
RAW = (
    "channels", "dies_per_channel", "planes_per_die", "blocks_per_plane", "pages_per_block",
    "page_size_bytes",
)  # fmt: skip
# A factor of at least 1: an axis that begins there shows how much of it collection adds.
WAF = "waf"
# Lines of theory that the legend names apart.
THEORIES_MAX, THEORY = 4, ", theory"
# Names in a sentence.
NAMED_MAX = 12


# Coordinates of a group, and a value along the axis in place of its own -> what theory predicts.
Formula = Callable[[Mapping[str, Scalar], str, float], float | None]
# Steps of a curve of theory between its ends, and of all curves of a figure together.
STEPS, STEPS_OF_ALL = 120, 960
# Of fewer points there is no band, but a bar at each.
BAND_MIN = 3


@dataclass(frozen=True)
class Wanted:
    """What is drawn.

    Args:
        x: Key along the axis.
        y: Number along the y axis.
        lines: Key with a line for each of its values; None for one line.
        facets: Key with a figure for each of its values; None for one figure.
        theory: Number that theory predicts for `y`; None for none.
        formula: That number of a group with another value of `x`, which draws the curve between
            the points; None if it is unknown.
    """

    x: str
    y: str
    lines: str | None = None
    facets: str | None = None
    theory: str | None = None
    formula: Formula | None = None


def choose(
    groups: Sequence[Group], asked: Mapping[str, str], metric: str, theory: str | None
) -> Wanted:
    """Return what is drawn where not all of it was said.

    Along the axis goes the key with the most numbers, then a line for each value of the next, then
    a figure for each of a third one.

    Raises:
        ConfigError: for a key or a number that the runs do not have, and for too many keys.
    """
    keys = list(dict.fromkeys(key for group in groups for key in group.coordinates))
    names = list(dict.fromkeys(name for group in groups for name in group.means))
    for part in ("x", "lines", "facets"):
        if part in asked and asked[part] not in keys:
            accepted = ", ".join(keys) or "nothing, for nothing was varied"
            raise ConfigError(
                f"plot.{part}", f"`{asked[part]}` was not varied; accepted: {accepted}"
            )
    y = asked.get("y", metric)
    if names and y not in names:
        raise ConfigError("plot.y", f"`{y}` is not a metric of these runs; accepted: {_few(names)}")
    if not keys:
        raise ConfigError("plot.x", "nothing was varied: there is no axis")
    free = [key for key in keys if key not in asked.values()]
    x = asked.get("x") or max(free or keys, key=lambda key: _numbers(groups, key))
    free = [key for key in free if key != x]
    lines = asked.get("lines") or (free.pop(0) if free else None)
    facets = asked.get("facets") or (free.pop(0) if free else None)
    if free:
        raise ConfigError(
            "plot", f"{', '.join(free)} would be mixed in one plot; accepted: each as x, lines or "
f"facets, or fixed by --where"
        )  # fmt: skip
    return Wanted(x, y, lines, facets, theory if y == metric and theory in names else None)


def plots(groups: Sequence[Group], wanted: Wanted, title: str = "") -> list[Plot]:
    """Return the figures: one, or one for each value of `facets`."""
    if wanted.facets is None:
        return [_plot(groups, wanted, "runs", title)]
    values = list(dict.fromkeys(group.coordinates.get(wanted.facets) for group in groups))
    name = labels.parts(wanted.facets)[0]
    found = []
    for place, value in enumerate(values, 1):
        part = [group for group in groups if group.coordinates.get(wanted.facets) == value]
        head = f"{name}: {_told_value(wanted.facets, value)}"
        found.append(_plot(part, wanted, f"runs-{place}", head))
    return _shared(found)


def _shared(found: Sequence[Plot]) -> list[Plot]:
    """Return plots on the same axes, so that they can be compared by eye."""
    scales: dict[str, Scale] = {
        name: "log" if any(getattr(one, name).scale == "log" for one in found) else "linear"
        for name in ("x", "y")
    }
    alike = [
        replace(one, x=replace(one.x, scale=scales["x"]), y=replace(one.y, scale=scales["y"]))
        for one in found
    ]
    ends = {name: [scale.ends(one, name) for one in alike] for name in ("x", "y")}
    both = {name: (min(low for low, _ in of), max(high for _, high in of))
            for name, of in ends.items()}  # fmt: skip
    return [
        replace(one, x=replace(one.x, ends=both["x"]), y=replace(one.y, ends=both["y"]))
        for one in alike
    ]


def report(title: str, groups: Sequence[Group], wanted: Wanted, names: Sequence[str]) -> Report:
    """Return a page: the figures, and the table of all groups."""
    drawn = Section("figures", "Figures", tuple(plots(groups, wanted, title)))
    listed = Section("numbers", "Numbers", (table(groups, names),))
    lead = (
        "Means over seeds; bands, upright lines and ± are 95 % intervals by Student's distribution."
        + (POOLED if wanted.y == "fer" else "")
        if any(group.count > 1 for group in groups)
        else ""
    )
    chapter = Chapter("runs", title, sections=(drawn, listed))
    return Report(title, lead, (chapter,), kind="a sweep of runs")


def named(made: Report, settings: Mapping[str, Any], varied: Sequence[str]) -> Report:
    """Return a page with drive and load of its points, as far as these were not varied.

    Args:
        made: The page.
        settings: Those of one of the points.
        varied: Names of what differs among them.
    """

    def common(name: str, *parts: str) -> Mapping[str, Any]:
        found = settings.get(name)
        is_one = not any(one == name or one.startswith(parts) for one in varied)
        return found if isinstance(found, Mapping) and is_one else {}

    said = []
    nand, work = common("device", "device.", "nand.").get("nand"), common("workload", "workload.")
    if isinstance(nand, Mapping) and (raw := raw_words(nand)):
        said.append(raw)
    pattern = work.get("pattern")
    kind = pattern.get("kind") if isinstance(pattern, Mapping) else None
    if work.get("name") or kind:
        said.append(inert(str(work.get("name") or f"{kind} pattern")))
        said += [f"queue depth {work['queue_depth']}"] if work.get("timed") else ["untimed"]
    (chapter,) = made.chapters
    return replace(made, chapters=(replace(chapter, subtitle=", ".join(said)),))


def raw_words(nand: Mapping[str, Any]) -> str:
    """Return size and cell type of a flash, such as `16 MiB raw, TLC`; empty if not whole."""
    if not all(isinstance(nand.get(key), int) for key in RAW):
        return ""
    return f"{size(math.prod(nand[key] for key in RAW))} raw, {nand.get('cell_type')}"


def table(groups: Sequence[Group], names: Sequence[str]) -> Table:
    """Return all groups with some of their numbers."""
    keys = list(dict.fromkeys(key for group in groups for key in group.coordinates))
    heads = (*keys, "runs", *names)
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        cells = [told(group.means.get(name)) for name in names]
        if group.problem is not None and not group.count:
            cells = [f"failed: {group.problem}", *[""] * (len(names) - 1)]
        coordinates = [shown(group.coordinates.get(key)) for key in keys]
        rows.append((*coordinates, group.count, *cells))
    return Table("runs", "Runs", heads, tuple(rows), wraps=False)


def shown(value: Scalar) -> str:
    """Return a coordinate as it stands in a table.

    >>> shown(0.07), shown(True), shown(None), shown("greedy")
    ('0.07', 'true', '', 'greedy')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else inert(str(value))


def told(mean: Mean | None) -> str:
    """Write a mean to the digits that its interval leaves.

    >>> told(Mean(2.34567, 0.01234, 5)), told(Mean(123456.7, 890.0, 3))
    ('2.346 ± 0.012', '123 460 ± 890')
    >>> told(Mean(1.5e-7, 2e-8, 3)), told(Mean(1.5, None, 1)), told(None)
    ('1.50e-07 ± 2.0e-08', '1.5', '-')
    """
    if mean is None:
        return number(None)
    if not mean.half:
        return number(mean.mean)
    # Two digits of the interval, and the mean to the same place.
    place = 1 - math.floor(math.log10(mean.half))
    size = math.floor(math.log10(max(abs(mean.mean), mean.half)))
    if place > 7 or size > 14:
        digits = max(size + place, 1)
        return f"{mean.mean:.{digits}e} ± {mean.half:.1e}"
    mean_at, half = round(mean.mean, place), round(mean.half, place)
    digits = max(place, 0)
    return f"{mean_at:,.{digits}f} ± {half:,.{digits}f}".replace(",", " ")


def _plot(groups: Sequence[Group], wanted: Wanted, name: str, title: str) -> Plot:
    places = list(dict.fromkeys(group.coordinates.get(wanted.x) for group in groups))
    are_numbers = all(is_number(place) for place in places)
    x_label, factor, is_log = _x_axis(groups, wanted.x, places)
    at = {place: factor * float(place) if are_numbers else float(number)  # type: ignore[arg-type]
          for number, place in enumerate(places)}  # fmt: skip
    ticks = () if are_numbers else tuple(
        (at[place], labels.choice(shown(place))) for place in places
    )  # fmt: skip
    has_theory = any(wanted.theory in group.means for group in groups)
    theory: Draw = "dashed" if are_numbers else "points"
    x_scale: Scale = "log" if are_numbers and (is_log or _is_wide(list(at.values()))) else "linear"
    y_label, y_factor = labels.axis(wanted.y)
    lines = len({group.coordinates.get(wanted.lines or "") for group in groups})
    across = _Across(at, factor, x_scale, are_numbers, min(STEPS, STEPS_OF_ALL // lines))
    series = _named_theory([_times(line, y_factor) for line in _series(groups, wanted, across)])
    values = [y for line in series for y in line.y if y is not None]
    is_rate = wanted.y in RATES
    y_scale: Scale = "log" if is_rate or _is_wide(values) else "linear"
    has_bars = is_rate and any(line.high and not line.is_banded for line in series)
    return Plot(
        name,
        title or subject(wanted),
        Axis(x_label, x_scale, ticks),
        Axis(
            y_label + BARS * has_bars,
            y_scale,
            decades=16 if is_rate else 8,
            least=1.0 if wanted.y == WAF else None,
        ),
        (*series, *_keys(series, theory if has_theory else None)),
        note="" if wanted.lines is None else f"A line for each {labels.parts(wanted.lines)[0]}.",
        ordered=_is_ordered(groups, wanted.lines),
        is_tall=is_rate,
        caption=_caption(groups, wanted, series, has_theory=has_theory),
    )


def subject(wanted: Wanted) -> str:
    """Return the subject of a figure in words.

    >>> subject(Wanted("ftl.over_provisioning_pct", "waf"))
    'Write amplification against over-provisioning'
    """
    name = labels.parts(wanted.y)[0]
    return f"{name[0].upper()}{name[1:]} against {labels.parts(wanted.x)[0]}"


def _caption(
    groups: Sequence[Group], wanted: Wanted, series: Sequence[Series], *, has_theory: bool
) -> str:
    """Return the caption in a paper."""
    said = subject(wanted)
    if wanted.lines is not None:
        said += f", a line for each {labels.parts(wanted.lines)[0]}"
    counts = {group.count for group in groups if group.count}
    if max(counts, default=1) > 1:
        many = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
        banded = {line.is_banded for line in series if len(line.high)}
        kinds = " and ".join(("bands",) * (True in banded) + ("bars",) * (banded != {True}))
        said += f". Means of {many} runs; {kinds}: 95 % intervals"
    return f"{said}{'; dashed: theory' if has_theory else ''}."


def _between(low: float, high: float, scale: Scale, count: int) -> list[float]:
    """Return so many positions between the ends of a line, evenly as the axis shows them.

    >>> _between(1.0, 3.0, "linear", 1), _between(1.0, 100.0, "log", 1)
    ([2.0], [10.0])
    """
    shares = [step / (count + 1) for step in range(1, count + 1)]
    if scale == "log":
        return [low * (high / low) ** share for share in shares]
    return [low + (high - low) * share for share in shares]


def _x_axis(groups: Sequence[Group], key: str, places: Sequence[Scalar]) -> tuple[str, float, bool]:
    """Return the name of the axis, its factor, and whether it is logarithmic however short it is.

    The points of a channel are raw bit error rates, or of `awgn` decibels: no capacity is below
    half a decibel where codes have a rate above 0.6.
    """
    if key != "x" or not any("fer" in group.means for group in groups):
        return *labels.axis(key), False
    kinds = {
        str(group.coordinates["channel"]) == "awgn"
        for group in groups if "channel" in group.coordinates
    }  # fmt: skip
    if len(kinds) > 1:
        raise ConfigError(
            "plot.x", "points over Eb/N0 (awgn) and over raw bit error rates have no common axis; "
            "accepted: one kind of channel, such as --where channel=awgn"
        )  # fmt: skip
    is_rber = not kinds.pop() if kinds else all(
        is_number(place) and 0.0 < place < 0.5 for place in places
    )  # fmt: skip
    return (RBER_AXIS, 1.0, True) if is_rber else (EBN0_AXIS, 1.0, False)


def _named_theory(series: Sequence[Series]) -> tuple[Series, ...]:
    """Return series whose lines of theory are in the legend, if there are several and not many."""
    is_named = 1 < len({line.colour for line in series}) <= THEORIES_MAX
    return tuple(
        replace(line, legend=None) if is_named and line.name.endswith(THEORY) else line
        for line in series
    )


def _keys(series: Sequence[Series], theory: Draw | None) -> Iterator[Series]:
    """Yield rows of the legend that say what marks mean; `theory`: how it is drawn, if it is."""
    nothing: list[Number] = [None]
    if theory is not None:
        colours = {line.colour for line in series}
        is_one = len(colours) == 1
        # Lines of theory have the colours of their points: the legend names each, or all at once.
        if is_one or len(colours) > THEORIES_MAX:
            text = "theory" if is_one else "theory, in the colour of each"
            colour = colours.pop() if is_one else -1
            yield Series(text, nothing, nothing, theory, colour, is_key=True)
    fillings = {one for line in series for one in line.marks}
    if "hollow" in fillings:
        if "full" in fillings:
            yield Series("Monte Carlo", nothing, nothing, "points", -1, marks=["full"], is_key=True)
        yield Series("importance sampling", nothing, nothing, "points", -1, is_key=True)
    if any(line.draw == "bounds" for line in series):
        yield Series("no error: 95 % upper bound", nothing, nothing, "bounds", -1, is_key=True)


@dataclass(frozen=True)
class _Across:
    """Where groups have their places along the axis.

    Args:
        at: Place of each value of the key.
        factor: From a value of the key to its place.
        scale: That of the axis.
        are_numbers: Whether the values are numbers, so that a line between them means something.
        steps: Points of a curve of theory between its ends.
    """

    at: Mapping[Scalar, float]
    factor: float
    scale: Scale
    are_numbers: bool
    steps: int


def _series(groups: Sequence[Group], wanted: Wanted, across: _Across) -> Iterator[Series]:
    key = wanted.lines
    lines = [None] if key is None else list(dict.fromkeys(g.coordinates.get(key) for g in groups))
    places = dict(zip(lines, range(len(lines)), strict=True))
    if key == labels.POLICY_KEY:
        of_policy = labels.policy_places([shown(line) for line in lines])
        lines = sorted(lines, key=lambda line: list(of_policy).index(shown(line)))
        places = {line: of_policy[shown(line)] for line in lines}
    for line in lines:
        part = [group for group in groups if key is None or group.coordinates.get(key) == line]
        part.sort(key=lambda group: across.at[group.coordinates.get(wanted.x)])
        name = labels.parts(wanted.y)[0] if key is None else _line_name(key, line)
        yield from _line(part, wanted, across, name, places[line])


def _line(
    part: Sequence[Group], wanted: Wanted, across: _Across, name: str, colour: int
) -> Iterator[Series]:
    """Yield one line: its points, its bounds, its curve of theory."""
    x = [across.at[group.coordinates.get(wanted.x)] for group in part]
    found = [_point(group, wanted.y) for group in part]
    is_line = across.are_numbers
    is_counted = wanted.y == "fer" and is_line
    means = [group.means.get(wanted.theory or "") for group in part]
    predicted = [None if mean is None else mean.mean for mean in means]
    has_theory = any(value is not None for value in predicted)
    fillings = [point.filling for point in found] if is_counted else ()
    yield Series(
        name, x, [point.value for point in found],
        "dots" if is_line and not has_theory else "points", colour,
        low=[point.low for point in found], high=[point.high for point in found],
        marks=["full"] * len(x) if has_theory else fillings,
        # Dashes mean theory, if there is any.
        stroke=colour if wanted.lines == labels.POLICY_KEY and wanted.theory is None else 0,
        # A band between single points would be a line without measurements.
        is_banded=is_line and not has_theory and len(x) >= BAND_MIN and wanted.y not in RATES,
    )  # fmt: skip
    bounds = [point.bound for point in found]
    if any(bound is not None for bound in bounds):
        legend = name if all(point.value is None for point in found) and wanted.lines else ""
        yield Series(f"{name}: upper bound", x, bounds, "bounds", colour, legend=legend)
    if has_theory:
        steps = across.steps if is_line and x[0] < x[-1] else 0
        between = _between(x[0], x[-1], across.scale, steps)
        more = _theory(part[0], wanted, between, across.factor)
        # Unknown values between the points are not drawn as known ones.
        draw: Draw = "dashed" if is_line and (more or not steps) else "points"
        curve = dict(sorted([*more, *zip(x, predicted, strict=True)], key=lambda it: it[0]))
        yield Series(f"{name}{THEORY}", list(curve), list(curve.values()), draw, colour, legend="")


def _times(line: Series, factor: float) -> Series:
    """Return a series in another unit of its values."""
    if factor == 1.0:
        return line
    y, low, high = ([None if it is None else factor * it for it in of]
                    for of in (line.y, line.low, line.high))  # fmt: skip
    return replace(line, y=y, low=low, high=high)


def _theory(
    group: Group, wanted: Wanted, places: Sequence[float], factor: float
) -> list[tuple[float, Number]]:
    """Return the theory of a line between its points; at whole numbers, if only these have one."""
    if wanted.formula is None:
        return []
    own = [place / factor for place in places]
    for values in (own, list(dict.fromkeys(map(round, own)))):
        found = [(factor * at, wanted.formula(group.coordinates, wanted.x, at)) for at in values]
        known: list[tuple[float, Number]] = [(at, it) for at, it in found if it is not None]
        if known:
            return known
    return []


def _line_name(key: str, value: Scalar) -> str:
    """Return the name of a line: a number alone would not say what it is.

    >>> _line_name("decoder.iterations", 20), _line_name("ftl.gc_policy", "cost_benefit")
    ('iterations 20', 'cost-benefit')
    """
    if not is_number(value):
        return labels.choice(shown(value))
    return f"{labels.parts(key)[0]} {_told_value(key, value)}"


def _told_value(key: str, value: Scalar) -> str:
    """Return a value of a key with its unit.

    >>> _told_value("ftl.over_provisioning_pct", 0.07), _told_value("code", "bch_8")
    ('7 %', 'bch_8')
    """
    if not is_number(value):
        return labels.choice(shown(value))
    _, unit, factor = labels.parts(key)
    return f"{shown(factor * float(value))} {unit}".strip()


@dataclass(frozen=True)
class _Point:
    """What is drawn of a group: a value and its interval, or a bound, or nothing."""

    value: Number = None
    low: Number = None
    high: Number = None
    bound: Number = None
    filling: Filling = "full"


def _point(group: Group, name: str) -> _Point:
    mean = group.means.get(name)
    if mean is None:
        return _Point()
    frames, errors = group.means.get("frames"), group.means.get("frame_errors")
    if name == "fer" and frames is not None and errors is not None:
        found = _counted(group, mean, round(frames.mean * frames.count))
        if found is not None:
            return found
    if _is_bound(name, mean):
        end = group.means.get(UPPER_END.get(name, ""))
        return _Point(bound=None if end is None else end.mean)
    filling: Filling = "hollow" if name == "fer" and WEIGHTED in group.means else "full"
    if mean.half is None:
        return _Point(mean.mean, filling=filling)
    return _Point(mean.mean, mean.low, mean.high, filling=filling)


def _counted(group: Group, mean: Mean, frames: int) -> _Point | None:
    """Return a frame error rate by its counts; None if seeds are more informative."""
    means = group.means
    if frames == 0:
        return _Point(mean.mean, filling="none")
    if COUNTED in means:
        errors = round(means["frame_errors"].mean * means["frame_errors"].count)
        low, high = _core.ecc_interval(errors, frames)
        return _Point(errors / frames, low, high) if errors else _Point(bound=high)
    if mean.count > 1 or not {"fer_low", "fer_high"} <= means.keys():
        return None
    low, high = means["fer_low"].mean, means["fer_high"].mean
    unseen = means.get("unseen_share")
    if mean.mean == 0.0 or (WEIGHTED in means and (unseen is None or unseen.mean > 1.0)):
        return _Point(bound=high)
    return _Point(mean.mean, low, high, filling="hollow" if WEIGHTED in means else "full")


def _is_bound(name: str, mean: Mean) -> bool:
    return name in RATES and mean.mean == 0.0


def _numbers(groups: Sequence[Group], key: str) -> int:
    """Return how many different numbers a key has; 0 where one is no number."""
    values = {group.coordinates.get(key) for group in groups}
    return len(values) if all(is_number(value) for value in values) else 0


def _is_wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) > WIDE * min(values)


def _is_ordered(groups: Sequence[Group], key: str | None) -> bool:
    return key is not None and _numbers(groups, key) > 0


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED_MAX]) + (" …" if len(names) > NAMED_MAX else "")
