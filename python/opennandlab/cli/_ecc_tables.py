"""What the commands of `ecc` print for a person."""

from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.documents.ecc import CodeComparison, CurveDocument

# What a point was found by, next to its rate.
METHODS = {
    "monte_carlo": "counted", "importance_sampling": "strata", "analytic": "exact",
}  # fmt: skip


def show_curve(document: "CurveDocument") -> None:
    """Print the points of a curve."""
    from opennandlab.ecc.curves import table_head, table_rows

    console = terminal.stdout()
    settings = document.decoder_settings or {}
    words = [f"{key} {value}" for key, value in settings.items() if key != "algorithm"]
    console.print(
        f"{document.code} ({document.code_bits}, {document.info_bits}), rate "
        f"{document.rate:.4f}, on {document.channel}; "
        f"{', '.join([document.decoder, *words])}; seed {document.seed}"
        + (f"; counted by {document.engine}" if document.engine else ""),
        markup=False,
        soft_wrap=True,
    )
    if reduced := document.code_identity.get("reduced_shifts"):
        note = f"{reduced} shifts of at least the size of a block were taken modulo it"
        console.print(note, markup=False, soft_wrap=True)
    console.print(terminal.plain_table(table_head(document), table_rows(document)))
    for point in document.points:
        error, unseen = point.relative_error, point.unseen_share
        if not isinstance(error, float) or not isinstance(unseen, float):
            continue
        if unseen > 1.0:
            note = f"too few frames for a rate, only that it is below {point.fer_high:.2g}"
        else:
            worth = point.effective_frames or 0
            note = (
                f"standard error {error:.0%}, worth {worth:.2g} frames; strata without errors may "
                f"add {unseen:.0%}"
            )
        console.print(f"{point.x:g}: {note}", style="dim", markup=False, soft_wrap=True)


def show_comparison(document: "CodeComparison") -> None:
    """Print curves side by side, and the limits."""
    is_rber = document.x == "rber"
    head = ["RBER" if is_rber else "Eb/N0, dB"]
    head += [curve.code.rpartition("/")[2] for curve in document.curves]
    xs = sorted({point.x for curve in document.curves for point in curve.points})
    body = []
    for x in xs:
        row = [f"{x:g}"]
        for curve in document.curves:
            point = next((point for point in curve.points if point.x == x), None)
            row.append("-" if point is None else f"{point.fer:.3g} ({METHODS[point.method]})")
        body.append(row)
    terminal.stdout().print(terminal.plain_table(head, body))
    limits = document.limits if is_rber else document.limits_ebn0_db
    shown = ", ".join(f"{reads}: {value:.5g}" for reads, value in limits.items())
    terminal.stdout().print(
        f"Shannon limits at rate {document.rate:.4f} by reads: {shown}",
        markup=False,
        soft_wrap=True,
    )


def show_speed(document: dict[str, Any]) -> None:
    """Print rates of decoding."""
    terminal.stdout().print(
        f"{document['code']} ({document['code_bits']}, {document['info_bits']}), "
        f"{document['decoder']}, one thread, median and best of many rounds",
        markup=False,
        soft_wrap=True,
    )
    head = ["point", "information, Mb/s", "best", "coded, Mb/s", "iterations", "decoded"]
    body = []
    for row in document["rows"]:
        what = f"{row['bit_errors']} bit errors" if "bit_errors" in row else f"{row['x']:g}"
        iterations = row["iterations_mean"]
        body.append(
            [
                what,
                f"{row['information_mbit_s']:.1f}",
                f"{row['information_mbit_s_max']:.1f}",
                f"{row['coded_mbit_s']:.1f}",
                "-" if iterations is None else f"{iterations:.2f}",
                f"{row['decoded_share']:.1%}",
            ]
        )
    terminal.stdout().print(terminal.plain_table(head, body))
