r"""A table as LaTeX, to be put into a paper with `\input`; the rules are those of `booktabs`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from opennandlab.base.errors import inert

ESCAPES = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
# Figures as they are printed: groups of three digits apart, an exponent, an interval.
FIGURE = re.compile(r"-?\d[\d ]*(\.\d+)?(e[+-]?\d+)?( ± \d[\d ]*(\.\d+)?(e[+-]?\d+)?)?")


def latex_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a `tabular`; columns of figures stand on the right.

    Args:
        heads: The first line.
        rows: Cells as they are printed, as many as there are heads.

    >>> print(latex_table(["gc_policy", "waf"], [["fifo", "2.56 ± 0.06"]]))
    % needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    gc\_policy & waf \\
    \midrule
    fifo & $2.56 \pm 0.06$ \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    columns = range(len(heads))
    figures = [all(_is_figure(row[place]) for row in rows) for place in columns]
    lines = [
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join('r' if it else 'l' for it in figures)}}}",
        r"\toprule",
        _line(map(_escaped, heads)),
        r"\midrule",
        *(_line(map(_cell, row)) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    r"""Return a line; what begins as `[` or `*` would be an option of the line end before it.

    >>> _line(["[1]", "2"])
    '{}[1] & 2 \\\\'
    """
    text = " & ".join(cells) + r" \\"
    return "{}" + text if text[:1] in {"[", "*"} else text


def _is_figure(text: str) -> bool:
    return text in {"", "-"} or FIGURE.fullmatch(text) is not None


def _cell(text: str) -> str:
    r"""Write a cell: figures in mathematics, nothing as a dash, all else as text.

    >>> _cell("123 460 ± 890"), _cell("-1.5e-07"), _cell("-"), _cell("a_b")
    ('$123\\,460 \\pm 890$', '$-1.5 \\times 10^{-7}$', '--', 'a\\_b')
    """
    if text == "-":
        return "--"
    if not FIGURE.fullmatch(text):
        return _escaped(text)
    parts = [re.sub(r"(?<=\d) (?=\d)", r"\\,", part) for part in text.split(" ± ")]
    parts = [
        re.sub(r"e([+-]?\d+)", lambda power: rf" \times 10^{{{int(power[1])}}}", part)
        for part in parts
    ]
    return "$" + r" \pm ".join(parts) + "$"


def _escaped(text: str) -> str:
    # An empty line would end the paragraph, and the table with it.
    return "".join(ESCAPES.get(letter, letter) for letter in inert(" ".join(text.split())))
