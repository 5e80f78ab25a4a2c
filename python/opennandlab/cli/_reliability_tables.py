"""The tables of `reliability`: what its commands found, for a person.

One function for each command; nothing is computed here.
"""

from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from opennandlab.documents.life import DriveLifeTest, LifeTest
    from opennandlab.documents.read_errors import Recovery
    from opennandlab.reliability.code_limit import CodeLimit


def dim(text: str) -> None:
    terminal.stdout().print(text, style="dim", markup=False, soft_wrap=True)


def words(values: dict[str, Any]) -> str:
    from opennandlab.base.words import number

    return ", ".join(f"{name} {number(value)}" for name, value in values.items())


SPOKEN = {
    "pe_cycles": "P/E cycles", "retention_h": "h since programming", "temperature_c": "°C",
    "reads": "reads per page of the block",
}  # fmt: skip


def spoken(values: dict[str, Any]) -> str:
    """Return stresses in words, for the line below the title of a page."""
    from opennandlab.base.words import number

    return ", ".join(
        f"{number(value) if value or name != 'reads' else 'no'} {SPOKEN.get(name, name)}"
        for name, value in values.items()
    )


def print_rows(rows: list[dict[str, Any]], names: list[str]) -> None:
    from opennandlab.base.words import number

    lines = [
        [f"{row[name]:.4e}" if name == "rber" else number(row[name]) for name in names]
        for row in rows
    ]
    terminal.stdout().print(terminal.plain_table(names, lines))


def print_limit(limit: "CodeLimit") -> None:
    """What a code takes, in one line."""
    mean = limit.correctable_rber
    where = (
        ", on the line of its table" if limit.is_extrapolated or mean is None
        else f"; t of n bits are {mean:.3e}"
    )  # fmt: skip
    dim(
        f"the code of {limit.device} keeps UBER {limit.uber_max:g} ({limit.drive_class}) up to an "
        f"RBER of {limit.rber:.3e}{where}"
    )


def print_states(found: Any) -> None:  # noqa: ANN401 - StatesUnderStress
    """Each state next to the level above it."""
    rows = []
    for state, (mean, sigma) in enumerate(zip(found.mean, found.sigma, strict=True)):
        name = "E" if state == 0 else f"P{state}"
        cells = ["", "", "", ""]
        if state < len(found.best_levels):
            page = found.page_types[found.page_of_level[state]]
            levels = (found.default_levels[state], found.best_levels[state])
            cells = [str(state + 1), *(f"{level:+.3f}" for level in levels), page]
        rows.append([name, f"{mean:+.3f}", f"{sigma:.3f}", *cells])
    heads = ["state", "mean", "width", "level above", "default", "best", "page"]
    terminal.stdout().print(terminal.plain_table(heads, rows))


def print_llr(table: Any) -> None:  # noqa: ANN401 - an LlrTable; importing it would slow --help
    console = terminal.stdout()
    offsets = ", ".join(f"{offset:+.4f}" for offset in table.offsets)
    console.print(
        f"{table.page_type} page: offsets {offsets} gaps; RBER {table.rber:.4e}, information "
        f"{table.mutual_information:.5f} of 1 bit",
        markup=False,
        soft_wrap=True,
    )
    rows = [
        [sensed, f"{value:+.3f}", f"{zero:.4e}", f"{one:.4e}"]
        for sensed, value, zero, one in zip(
            table.sensed, table.llr, table.p_if_0, table.p_if_1, strict=True
        )
    ]
    console.print(terminal.plain_table(["sensed", "LLR", "P if 0", "P if 1"], rows))


def print_retry(rows: list[dict[str, Any]], table: Any) -> None:  # noqa: ANN401 - a RetryTable
    from opennandlab.base.words import number

    levels = [f"{index + 1}" for index in range(table.offsets.shape[1])]
    lines = [
        [
            str(row["step"]),
            number(row["retention_h"]),
            *(f"{rate:.2e}" for rate in row["rber"]),
            *(f"{offset:+.2f}" for offset in row["offsets"]),
        ]
        for row in rows
    ]
    best = [f"{rate:.2e}" for rate in table.best_rber]
    lines.append(["best", "", *best, *(f"{offset:+.2f}" for offset in table.best_offsets)])
    heads = ["step", "hours", *(f"RBER {name}" for name in table.page_types), *levels]
    terminal.stdout().print(terminal.plain_table(heads, lines))
    dim("columns 1 to n: offset of each read level, gaps; step 0: the default levels")


def print_pairs(document: dict[str, Any]) -> None:
    from opennandlab.base.words import number

    rows = [[name, number(value)] for name, value in document.items()]
    terminal.stdout().print(terminal.Grid(("", ""), rows, left=(0, 1), is_plain=True))


def _corrected_by(steps: "Recovery") -> dict[str, int]:
    """Return page reads by what corrected them."""
    return {
        "first read": steps.first_read,
        **{f"retry {index}": count for index, count in enumerate(steps.retry, 1)},
        "search": steps.calibrated or 0,
        **{f"soft {reads}": count for reads, count in steps.soft.items()},
        "rebuilt": steps.rebuilt,
        "lost": steps.uncorrectable,
        "default levels": steps.default_levels or 0,
    }


def print_drive_life(test: "DriveLifeTest") -> None:
    from opennandlab.base.words import number

    steps = test.recovery
    begun = f"{number(steps.remembered)} of all began with a kept step" if steps.remembered else ""
    notes = {"first read": begun}
    pages = ", ".join(f"{name} {row.rber:.2e}" for name, row in test.page_types.items())
    low, high = number(test.uber_low), number(test.uber_high)
    margin = test.margin
    blocks = f"blocks {test.pe_cycles_min} to {test.pe_cycles_max}"
    rows = [
        (
            "simulated",
            f"{number(test.simulated_pages)} pages",
            "the whole drive" if test.scale == 1 else f"the drive has {test.scale:.4g} x",
        ),
        *_written(test),
        (
            "wear",
            f"{number(test.pe_cycles)} P/E",
            f"{blocks}, rated {number(test.pe_cycles_rated)}",
        ),
        (
            "retention",
            f"{number(test.retention_h)} h at {number(test.retention_c)} °C{_power(test)}",
            f"as {number(test.bake_h)} h at {number(test.bake_c)} °C",
        ),
        ("RBER", f"{test.rber:.3e}", pages or "one rate for all pages"),
        *(
            (f"  {name}", f"{number(count)} pages", notes.get(name, ""))
            for name, count in _corrected_by(steps).items()
            if count
        ),
        (
            "lost",
            f"{number(test.uncorrectable)} in {test.bits_read:.3g} bits",
            f"expected {test.uncorrectable_expected:.4g}; per bit {low} to {high} (95 %)",
        ),
        ("UBER", f"{test.uber:.3e}", f"{test.uber_method}; limit {test.uber_max:.0e}"),
        (
            "margin",
            "-" if margin is None else f"x {margin:.3f}",
            "by which the RBER could grow until the limit",
        ),
        ("to show it", f"{test.bits_to_show:.3g} bits", "read without an error, 95 %"),
    ]
    console = terminal.stdout()
    console.print(
        f"JESD218 {test.drive_class}, {test.device}, simulated with seed {test.seed}",
        style="bold",
        markup=False,
    )
    console.print(terminal.Grid(("", "value", ""), rows, left=(0, 2)))
    verdict = "passed" if test.passed else "not passed"
    reason = f"worn out after {number(test.tbw_tb)} TB; " if test.worn_out else ""
    console.print(f"{verdict}: {reason}UBER {test.uber:.3e}, accepted {test.uber_max:.0e}")


def _written(test: "DriveLifeTest") -> list[tuple[str, str, str]]:
    """Return what was written, and of which drive the write amplification is."""
    from opennandlab.base.words import number

    worn_out = ", worn out before TBW" if test.worn_out else ""
    written = (
        "written",
        f"{number(test.tbw_tb)} TB x WAF {number(test.waf)}",
        f"{number(test.drive_writes)} drive writes, {test.workload or 'random'}{worn_out}",
    )
    rows = [written]
    if test.trace is not None:
        rounds = f"{number(test.trace.rounds)} times, made to span the drive"
        if not test.trace.rounds:
            rounds = "not replayed: the fill before it writes the whole amount"
        rows.append(("  trace", f"SHA-256 {test.trace.sha256[:12]}…", rounds))
    if test.waf_pages is None or test.waf_factor is None:
        return rows
    pages = f"{number(test.waf_pages)} pages"
    return [*rows, ("  WAF of", pages, f"{test.waf_factor:.3f} x that of the simulated ones")]


def _power(test: "LifeTest | DriveLifeTest") -> str:
    """Return how often the data of a drive under power was refreshed, for its line."""
    from opennandlab.base.words import number

    return "" if test.refreshes is None else f", {number(test.refreshes)} P/E of refresh"


def print_life(test: "LifeTest") -> None:
    from opennandlab.base.words import number

    pages = ", ".join(f"{name} {rate:.2e}" for name, rate in test.rber_by_page.items())
    low, high = number(test.uber_low), number(test.uber_high)
    rows = [
        ("written", f"{number(test.tbw_tb)} TB x WAF {number(test.waf)}", test.waf_source),
        ("wear", f"{number(test.pe_cycles)} P/E", f"rated {number(test.pe_cycles_rated)}"),
        (
            "retention",
            f"{number(test.retention_h)} h at {number(test.retention_c)} °C{_power(test)}",
            f"as {number(test.bake_h)} h at {number(test.bake_c)} °C",
        ),
        ("RBER", f"{test.rber:.3e}", pages or f"model {test.model}"),
        ("codeword fails", f"{test.codeword_failure:.3e}", "analytic"),
        ("UBER", f"{test.uber:.3e}", f"analytic; limit {test.uber_max:.0e}"),
        (
            "drawn",
            f"{number(test.errors_drawn)} errors in {test.bits_read:.3g} bits",
            f"UBER {low} to {high} (95 %)",
        ),
        ("to show it", f"{test.bits_to_show:.3g} bits", "read without an error, 95 %"),
    ]
    console = terminal.stdout()
    console.print(
        f"JESD218 {test.drive_class}, model {test.model}"
        + (", read at the best levels" if test.retry else ""),
        style="bold",
        markup=False,
    )
    console.print(terminal.Grid(("", "value", ""), rows, left=(0, 2)))
    verdict = "passed" if test.passed else "not passed"
    console.print(f"{verdict}: UBER {test.uber:.3e}, accepted {test.uber_max:.0e}")
