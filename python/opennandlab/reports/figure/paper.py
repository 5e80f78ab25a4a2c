"""A figure for print: one page of exactly the size of its column, without a title.

```text
figures ──► drawn at that width ──► frames fitted until all letters are on the page ──► PDF, SVG
                                    one legend below; a caption in lines of LaTeX
```
Several plots become panels (a), (b) … of one page. In a PDF fonts are embedded (Type 42), in an SVG
letters are paths, so that both print alike everywhere.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from opennandlab.base.errors import ConfigError, OutputError
from opennandlab.reports.figure import scale, static, stylesheet
from opennandlab.reports.figure.model import Figure, Plot, Relief

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Sheet
    from matplotlib.legend import Legend

ENDINGS = (".pdf", ".svg", ".png")
MM_PER_INCH = 25.4
UNITS_MM = {"mm": 1.0, "cm": 10.0, "in": MM_PER_INCH}
SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:\s*[x×]\s*(\d+(?:\.\d+)?))?\s*(mm|cm|in)", re.ASCII)
WIDTHS_MM, HEIGHTS_MM = (40.0, 500.0), (25.0, 700.0)
ACCEPTED = "accepted: WIDTH or WIDTHxHEIGHT in mm, cm or in, such as 85mm or 85x60mm"
# Letters of the smallest size that prints, in points.
LEAST = 7.0
DOTS_PER_INCH = 600
# Inches of white at the edges of the page, between panels, and above one for its heading.
EDGE, GAP, HEAD = 0.03, 0.1, 0.16
# Two panels have room next to each other from this width on.
PAIR_MM = 140.0
# A frame that is smaller, in inches, shows nothing.
FRAME_MIN = 0.4
PASSES = 4
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#",
    "$": r"\$", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "µ": r"$\mu$", "°": r"$^\circ$", "×": r"$\times$", "±": r"$\pm$", "≥": r"$\ge$",
    "≤": r"$\le$", "…": r"\dots{}", "–": "--", "·": r"$\cdot$", "→": r"$\to$", "σ": r"$\sigma$",
}  # fmt: skip
# Words of a caption that LaTeX cannot break, and the signs in them after which it may.
LONG, INNER = re.compile(r"\S{24,}"), re.compile(r"([,:])(?=\w)")
THOUSANDS = re.compile(r"(?<=\d) (?=\d{3}\b)")
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Paper:
    """The page of a figure.

    Args:
        width_mm: Its width.
        height_mm: Its height; None for that of the figure.
        looks: Settings of matplotlib, of a style file.
        notes: Remarks on the style file, such as fonts that are missing.
    """

    width_mm: float
    height_mm: float | None = None
    looks: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, size: str, style: str | Path | None = None) -> Paper:
        """Return the page of a size such as `85mm` or `85x60mm`.

        Args:
            size: Width, or width and height.
            style: A style sheet of matplotlib; None for the usual looks.

        Raises:
            ConfigError: for an invalid size or style sheet, with the accepted ones.

        >>> Paper.of("8.5cm").width_mm, Paper.of("85x60mm").height_mm
        (85.0, 60.0)
        """
        found = SIZE.fullmatch(size.strip())
        if found is None:
            raise ConfigError("paper", f"`{size}` is refused; {ACCEPTED}")
        width, height = (None if it is None else float(it) * UNITS_MM[found[3]]
                         for it in found.groups()[:2])  # fmt: skip
        for value, (low, high), name in (
            (width, WIDTHS_MM, "width"), (height, HEIGHTS_MM, "height"),
        ):  # fmt: skip
            if value is not None and not low <= value <= high:
                raise ConfigError(
                    "paper", f"{name} of {value:g} mm is refused; accepted: {low:g} to {high:g} mm"
                )
        looks, notes = ({}, ()) if style is None else stylesheet.read(Path(style))
        return cls(width or 0.0, height, looks, notes)


def check_ending(path: Path) -> str:
    """Return the form of a file for print.

    Raises:
        OutputError: with the endings that are accepted.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise OutputError(f"{path} for print: accepted file extensions: {', '.join(ENDINGS)}")
    return ending


def page(figures: Sequence[Figure], paper: Paper, form: str) -> bytes:
    """Return figures as one page; the same figures give the same bytes.

    Args:
        figures: At least one; several become panels.
        paper: The page.
        form: `.pdf`, `.svg` or `.png`.

    Raises:
        ConfigError: when the page is too small for the figure.
    """
    if len(figures) > 1 and not all(isinstance(one, Plot) for one in figures):
        raise ConfigError("figure", "surfaces and bars are drawn alone; accepted: one of them")
    own: dict[str, Any] = {"svg.fonttype": "path", **paper.looks}
    with static.style(own=own):
        sheet = _sheet(figures, paper)
        width, height = (mm * MM_PER_INCH for mm in sheet.get_size_inches())
        if form == ".svg":
            size = f'width="{width:.6g}mm" height="{height:.6g}mm" '
            text = re.sub(r' (?:width|height)="[\d.]+pt"', "", static.svg_of(sheet), count=2)
            return text.replace("<svg ", f"<svg {size}", 1).encode()
        about: dict[str, Any] = {"Software": None}
        if form == ".pdf":
            about = {"Title": figures[0].title, "Subject": caption(figures, paper),
                     "Producer": None, "Creator": "opennandlab",
                     "CreationDate": None}  # fmt: skip
        stream = io.BytesIO()
        sheet.savefig(stream, format=form[1:], dpi=DOTS_PER_INCH, metadata=about)
    return stream.getvalue()


def caption(figures: Sequence[Figure], paper: Paper) -> str:
    """Return the caption of a figure: its subject, and how to read it."""
    first = figures[0]
    said = [first.caption] if first.caption else [
        f"{first.title}{'' if first.title.endswith('.') else '.'}", first.note
    ]  # fmt: skip
    if len(figures) > 1:
        heads = "; ".join(
            f"({letter}) {one.title}"
            for letter, one in zip("abcdefghijklmnop", figures, strict=False)
        )
        said.append(f"{heads}.")
    said += _unnamed(first, paper)
    return " ".join(part for part in said if part)


def _unnamed(figure: Figure, paper: Paper) -> list[str]:
    """Return a sentence for each side of a grid on which not every name has room."""
    if not isinstance(figure, Relief):
        return []
    most = scale.names_most(figure, paper.width_mm / MM_PER_INCH - 2 * EDGE)
    steps = [(name, scale.grid_step(len(names), most))
             for name, names in ((figure.x, figure.columns), (figure.y, figure.rows))]  # fmt: skip
    return [f"One in {step} values of {name} is named." for name, step in steps if step > 1]


def latex(figures: Sequence[Figure], path: Path, paper: Paper) -> str:
    """Return the lines that include a figure, with its caption."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", path.stem).strip("-").lower() or "figure"
    shown = path.with_suffix(".pdf").as_posix() if path.suffix == ".svg" else path.as_posix()
    text = "".join(LATEX.get(letter, letter) for letter in caption(figures, paper))
    # The name of a code or a key is wider than a column has patience for.
    text = THOUSANDS.sub(r"\\,", text)
    text = LONG.sub(lambda word: INNER.sub(r"\1\\allowbreak{}", word[0]), text)
    said = fill(f"  \\caption{{{text}}}", 92, subsequent_indent="    ", break_long_words=False,
                break_on_hyphens=False)  # fmt: skip
    return "\n".join(
        ("\\begin{figure}", "  \\centering", f"  \\includegraphics{{{shown}}}", said,
         f"  \\label{{fig:{name}}}", "\\end{figure}")
    )  # fmt: skip


def _sheet(figures: Sequence[Figure], paper: Paper) -> Sheet:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    wide = paper.width_mm / MM_PER_INCH
    columns = 2 if len(figures) > 1 and paper.width_mm >= PAIR_MM else 1
    rows = -(-len(figures) // columns)
    across = (wide - 2 * EDGE - GAP * (columns - 1)) / columns
    head = HEAD if len(figures) > 1 else 0.0
    panel = max(static.height(_bare(one), across) for one in figures) + head
    # Finely, so that letters are measured as print has them.
    sheet = Sheet(figsize=(wide, 10.0), dpi=DOTS_PER_INCH)
    FigureCanvasAgg(sheet)
    panels = [_drawn(sheet, one, across, panel - head) for one in figures]
    legend = _legend(sheet, panels[-1], wide)
    below = 0.0 if legend is None else _inches(sheet, legend)[3] + GAP
    tall = paper.height_mm / MM_PER_INCH if paper.height_mm else (
        below + rows * panel + (rows - 1) * GAP + 2 * EDGE
    )  # fmt: skip
    sheet.set_size_inches(wide, tall)
    if legend is not None:
        legend.set_bbox_to_anchor((EDGE / wide, EDGE / tall), sheet.transFigure)
    each = (tall - 2 * EDGE - below - (rows - 1) * GAP) / rows
    for place, (one, axes) in enumerate(zip(figures, panels, strict=True)):
        row, column = divmod(place, columns)
        left, bottom = EDGE + column * (across + GAP), tall - EDGE - row * (each + GAP) - each
        if head:
            text = f"({chr(ord('a') + place)}) {one.title}"
            sheet.text(left / wide, (bottom + each - 0.11) / tall, text, size=max(LEAST, 7.5))
        box = (left, bottom, across, each - head)
        if isinstance(one, Relief) and one.shape != "bands":
            for old in axes:
                old.remove()
            static.draw(sheet, one, box, LEAST)
        else:
            _fit(sheet, axes, box)
    return sheet


def _bare(figure: Figure) -> Figure:
    """Return a figure without names in its legend: that of the page has them."""
    if isinstance(figure, Plot):
        return replace(figure, series=tuple(replace(line, legend="") for line in figure.series))
    return figure


def _drawn(sheet: Sheet, figure: Figure, wide: float, tall: float) -> list[Axes]:
    """Draw a figure somewhere on the sheet; return its frames."""
    before = len(sheet.axes)
    static.draw(sheet, figure, (0.0, 0.0, wide, tall), LEAST)
    return sheet.axes[before:]


def _legend(sheet: Sheet, axes: Sequence[Axes], wide: float) -> Legend | None:
    """Return the legend of the sheet, in as many columns as there is room for."""
    found: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            # A long name takes several lines.
            found.setdefault(fill(label, int((wide - 0.6) / static.letter())), handle)
    drawn = [one.get_legend() for one in sheet.axes]
    for old in drawn:
        if old is not None:
            old.remove()
    if not any(old is not None for old in drawn):
        return None
    names = list(found)
    for columns in range(len(names), 0, -1):
        # Filled column by column by the library, read row by row by people.
        order = [at for first in range(columns) for at in range(first, len(names), columns)]
        legend = sheet.legend(
            [found[names[at]] for at in order], [names[at] for at in order], loc="lower left",
            ncols=columns, borderaxespad=0, bbox_to_anchor=(0, 0), handletextpad=0.5,
        )  # fmt: skip
        if columns == 1 or _inches(sheet, legend)[2] <= wide - 2 * EDGE:
            return legend
        legend.remove()
    return None


def _inches(sheet: Sheet, artist: Any) -> Box:  # noqa: ANN401 (an artist of any kind)
    box = artist.get_window_extent(sheet.canvas.get_renderer())  # type: ignore[attr-defined]
    left, bottom, width, height = (float(value) / sheet.dpi for value in box.bounds)
    return left, bottom, width, height


def _fit(sheet: Sheet, axes: Sequence[Axes], box: Box) -> None:
    """Set frames so that they and all around them fill a box, in inches."""
    from matplotlib.transforms import Bbox

    wide, tall = sheet.get_size_inches()
    left, bottom, width, height = box
    old = Bbox.union([one.get_position() for one in axes])
    # Begins with the frames over the whole box.
    new = Bbox.from_bounds(left / wide, bottom / tall, width / wide, height / tall)
    _move(axes, old, new)
    renderer = sheet.canvas.get_renderer()  # type: ignore[attr-defined]
    want = Bbox.from_bounds(left, bottom, width, height)
    for _ in range(PASSES):
        for one in axes:
            _spread(sheet, one)
        found = [one.get_tightbbox(renderer, for_layout_only=True) for one in axes]
        around = Bbox.union([one for one in found if one is not None]).transformed(
            sheet.dpi_scale_trans.inverted()
        )
        old = Bbox.union([one.get_position() for one in axes])
        corners = (
            old.x0 + (want.x0 - around.x0) / wide, old.y0 + (want.y0 - around.y0) / tall,
            old.x1 + (want.x1 - around.x1) / wide, old.y1 + (want.y1 - around.y1) / tall,
        )  # fmt: skip
        new = Bbox.from_extents(*corners)
        if new.width * wide < FRAME_MIN or new.height * tall < FRAME_MIN:
            raise ConfigError(
                "paper", f"{wide * MM_PER_INCH:.4g} x {tall * MM_PER_INCH:.4g} mm leave no room "
                "for the figure next to its names; accepted: a larger page"
            )  # fmt: skip
        _move(axes, old, new)


def _move(axes: Sequence[Axes], old: Any, new: Any) -> None:  # noqa: ANN401 (boxes)
    """Move frames as a box moves that holds them all."""
    # Frames on one another move together: all places are those of before.
    for one, at in [(one, one.get_position()) for one in axes]:
        x = [new.x0 + (value - old.x0) / old.width * new.width for value in (at.x0, at.x1)]
        y = [new.y0 + (value - old.y0) / old.height * new.height for value in (at.y0, at.y1)]
        one.set_position((x[0], y[0], x[1] - x[0], y[1] - y[0]))


def _spread(sheet: Sheet, axes: Axes) -> None:
    """Break long names of axes into lines, and set names of ticks apart: fewer, or leaning."""
    _, _, wide, tall = _inches(sheet, axes.patch)
    for axis, at, room in ((axes.xaxis, 2, wide), (axes.yaxis, 3, tall)):
        name = axis.label.get_text().replace("\n", " ")
        size = _inches(sheet, axis.label)[at]
        if size > room and name:
            axis.label.set_text(fill(name, max(8, int(len(name) * room / size))))
    labels = [one for one in axes.get_xticklabels() if one.get_text()]
    spans = [_inches(sheet, one) for one in labels]
    close = any(a[0] + a[2] + 0.03 > b[0] for a, b in itertools.pairwise(spans))
    if not close or any(one.get_rotation() for one in labels):
        return
    if any(one.get_text()[0].isalpha() for one in labels):
        for one in labels:
            one.set(rotation=35, ha="right", rotation_mode="anchor")
        return
    ticks = list(axes.get_xticks())
    texts = [one.get_text() for one in axes.get_xticklabels()]
    axes.set_xticks(ticks, [text if at % 2 == 0 else "" for at, text in enumerate(texts)])
