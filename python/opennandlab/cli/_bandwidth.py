"""What `theory bandwidth` computes and prints: a document first, then its tables."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opennandlab.cli import _terminal as terminal

if TYPE_CHECKING:
    from rich.console import Console

    from opennandlab.studies.validation.suites.bandwidth import Point
    from opennandlab.theory.bandwidth import DieCountRow, TutorialDie

Row = tuple[str, object, str]
# Dies that a sweep simulates at most: the suite's range.
MEASURED_DIES_MAX = 32


def chosen_variants(
    cell: str | None, pages_per_block: int | None, registers: str
) -> dict[str, "TutorialDie"]:
    """Return the dies to show: those of the tutorial, or with another number of pages a block."""
    from dataclasses import replace

    from opennandlab.theory.bandwidth import TUTORIAL_DIES, TUTORIAL_VARIANTS

    dies = {
        name: die
        for name, die in TUTORIAL_VARIANTS.items()
        if cell is None or name.lower().startswith(cell)
    }
    if pages_per_block is not None:
        dies = {
            f"{name.upper()} n={pages_per_block}": replace(die, pages_per_block=pages_per_block)
            for name, die in TUTORIAL_DIES.items()
            if cell in {None, name}
        }
    return {name: replace(die, registers=registers) for name, die in dies.items()}


def sweep_document(
    variants: dict[str, "TutorialDie"], channels: int | None, directions: str
) -> dict[str, Any]:
    """Return the tables of the analysis as one document."""
    from opennandlab.theory.bandwidth import LINK_MB_S, LINK_NAMES, MIXES, die_count_sweep

    registers = next(iter(variants.values())).registers
    document: dict[str, Any] = {
        "parameters": {"registers": registers, "channels": channels, "directions": directions},
        "mixes": [mix_name(share) for share in MIXES],
        "links": {key: {"name": LINK_NAMES[key], "mb_s": cap} for key, cap in LINK_MB_S.items()},
        "variants": {},
    }
    for name, die in variants.items():
        rows = die_count_sweep(die, channels=channels, directions=directions)
        document["variants"][name] = {
            "read_us": die.read_us,
            "write_us": die.write_us,
            "imbalance": die.imbalance,
            "rows": [_row(row) for row in rows],
            "dies_to_fill": {link: _to_fill(die, link, directions) for link in LINK_MB_S},
        }
    return document


@dataclass(frozen=True)
class PointOptions:
    """What the options of one point say."""

    cell: str
    dies: int
    read_pct: float
    link: str
    channels: int | None
    directions: str


def point_rows(
    die: "TutorialDie", given: PointOptions, seed: int | None
) -> tuple[dict[str, Any], list[Row]]:
    """Return parameters and rows of one point; simulated too where a seed is given."""
    import math

    from opennandlab.studies.validation.suites.bandwidth import Point
    from opennandlab.theory.bandwidth import link_cap_mb_s

    share = given.read_pct / 100
    cap = math.inf
    if given.link != "ideal":
        cap = link_cap_mb_s(given.link, share, given.directions)
    bus = math.inf if given.channels is None else given.channels * die.bus_mb_s
    parameters: dict[str, Any] = {
        "cell": given.cell,
        "dies": given.dies,
        "read_pct": given.read_pct,
        "link": given.link,
        **({"channels": given.channels} if given.channels else {}),
        **({"registers": die.registers} if die.registers != "single" else {}),
        **({"directions": given.directions} if given.directions != "shared" else {}),
    }
    rows: list[Row] = [
        ("device_mb_s", die.device_mb_s(share, given.dies, min(cap, bus)), "MB/s"),
        ("die_mb_s", die.mb_s(share), "MB/s"),
        ("link_mb_s", None if cap == math.inf else cap, "MB/s"),
        ("bus_mb_s", die.bus_mb_s, "MB/s"),
        ("dies_to_fill_bus", die.dies_to_fill(share, die.bus_mb_s), "dies"),
    ]
    if cap != math.inf:
        rows.append(("dies_to_fill_link", die.dies_to_fill(share, cap), "dies"))
    if seed is not None:
        buses = None if given.channels is None else min(given.channels, given.dies)
        if given.dies > MEASURED_DIES_MAX:
            raise ValueError(f"--measure takes at most {MEASURED_DIES_MAX} dies, not {given.dies}")
        measured = measure_point(Point(die, given.dies, share, buses), seed)
        rows.append(("simulated_mb_s", measured["mb_s"], "MB/s, before any link"))
        rows.append(("error", measured["error"], "of the formula, before any link"))
    return parameters, rows


def measure_sweep(document: dict[str, Any], variants: dict[str, "TutorialDie"], seed: int) -> None:
    """Simulate the sweep; adds `measured` to each die, and states which counts have none."""
    from opennandlab.studies.validation.suites.bandwidth import Point
    from opennandlab.theory.bandwidth import MIXES

    channels = document["parameters"]["channels"]
    document["parameters"]["seed"] = seed
    left_out = set()
    for name, die in variants.items():
        points = []
        for dies in (row["dies"] for row in document["variants"][name]["rows"]):
            buses = None if channels is None else min(channels, dies)
            if dies > MEASURED_DIES_MAX or (buses and dies % buses):
                left_out.add(dies)
                continue
            points += [measure_point(Point(die, dies, share, buses), seed) for share in MIXES]
        document["variants"][name]["measured"] = points
    document["formula_only"] = {
        "dies": sorted(left_out),
        "why": f"more than {MEASURED_DIES_MAX} dies, or not a multiple of the channels; "
        "links and cache registers are in the formula only",
    }


def measure_point(point: "Point", seed: int) -> dict[str, Any]:
    """Simulate one point, and say how far from the formula it is."""
    from opennandlab.core.run import benchmark
    from opennandlab.studies.validation.suites.bandwidth import tutorial_mb_s

    run = point.run()
    document = benchmark(run.device, run.workload, seed=seed).document
    metrics = document["metrics"]
    programs = sum(metrics["programs"].values())
    read = metrics["host_bytes_read"]
    rate = tutorial_mb_s(document)
    return {
        "dies": point.dies,
        "mix": mix_name(point.read_share),
        "mb_s": rate,
        "formula_mb_s": point.expected_mb_s,
        "error": rate / point.expected_mb_s - 1.0,
        "read_share": read / (read + metrics["host_bytes_written"]),
        "blocks_erased_per_written": sum(metrics["erases"].values())
        * point.die.pages_per_block
        / programs
        if programs
        else None,
    }


def mix_name(read_share: float) -> str:
    """Return a mix as the tutorial writes it: 75/25."""
    return f"{100 * read_share:g}/{100 * (1 - read_share):g}"


def show_sweep(document: dict[str, Any]) -> None:
    """Print the tables of a sweep document."""
    console = terminal.stdout()
    for name, variant in document["variants"].items():
        console.print(
            f"{name}: page read {variant['read_us']:.6g} µs, write {variant['write_us']:.6g} µs "
            f"({variant['imbalance']:.3g} times as long); MB/s",
            style="bold",
            markup=False,
        )
        _show_rates(console, document, variant)
        console.print()
        if "measured" in variant:
            _show_measured(console, document, variant["measured"])
            console.print()
        _show_rms(console, document, variant)
        console.print()
    console.print(
        ", ".join(f"{link['name'][0]} = {link['name']}" for link in document["links"].values())
        + ": a mark where it holds a rate back, and the dies that fill it",
        style="dim",
        markup=False,
    )
    if "formula_only" in document:
        left = ", ".join(map(str, document["formula_only"]["dies"])) or "none"
        why = document["formula_only"]["why"]
        console.print(f"not simulated: {left} dies ({why})", style="dim", markup=False)


def _show_rates(console: "Console", document: dict[str, Any], variant: dict[str, Any]) -> None:
    links = document["links"]
    shown = []
    for row in variant["rows"]:
        cells = []
        for mix in document["mixes"]:
            held = "".join(
                link["name"][0]
                for key, link in links.items()
                if row["capped"][key]["mb_s"][mix] < row["mb_s"][mix]
            )
            cells.append(f"{_rate(row['mb_s'][mix])} {held:<{len(links)}}")
        shown.append([str(row["dies"]), *cells])
    rates = len(shown)
    for key, link in links.items():
        counts = variant["dies_to_fill"][key].values()
        padding = " " * len(links)
        shown.append([f"fill {link['name'][0]}", *(f"{count} {padding}" for count in counts)])
    console.print(terminal.Grid(["dies", *document["mixes"]], shown, sections={rates}))


def _show_measured(
    console: "Console", document: dict[str, Any], measured: list[dict[str, Any]]
) -> None:
    console.print("simulated, MB/s, and error in %", markup=False)
    shown = []
    for dies in dict.fromkeys(point["dies"] for point in measured):
        points = [point for point in measured if point["dies"] == dies]
        shown.append([str(dies), *(_with_error(it["mb_s"], it["error"]) for it in points)])
    console.print(terminal.plain_table(["dies", *document["mixes"]], shown))


def _show_rms(console: "Console", document: dict[str, Any], variant: dict[str, Any]) -> None:
    from opennandlab.theory.scaling import rms

    links = document["links"]
    measured = variant.get("measured")
    heads = ["dies", "RMS", *(f"behind {link['name']}" for link in links.values())]
    heads += ["simulated, error"] if measured else []
    shown = []
    for row in variant["rows"]:
        cells = [str(row["dies"]), _rate(row["rms_mb_s"])]
        cells += [_rate(row["capped"][key]["rms_mb_s"], 1) for key in links]
        rates = [point["mb_s"] for point in measured or [] if point["dies"] == row["dies"]]
        if rates:
            cells.append(_with_error(rms(rates), rms(rates) / row["rms_mb_s"] - 1))
        shown.append(cells)
    console.print(terminal.plain_table(heads, shown))


def _rate(mb_s: float, digits: int = 2) -> str:
    return f"{mb_s:,.{digits}f}".replace(",", " ")


def _with_error(rate: float, error: float) -> str:
    # Adding zero turns -0.0 into 0.0.
    return f"{_rate(rate)} {round(100 * error, 2) + 0.0:+.2f}"


def _row(row: "DieCountRow") -> dict[str, Any]:
    return {
        "dies": row.dies,
        "mb_s": _by_mix(row.mb_s),
        "rms_mb_s": row.rms_mb_s,
        "capped": {
            link: {"mb_s": _by_mix(rates), "rms_mb_s": row.rms_capped_mb_s(link)}
            for link, rates in row.capped_mb_s.items()
        },
    }


def _by_mix(rates: tuple[float, ...]) -> dict[str, float]:
    from opennandlab.theory.bandwidth import MIXES

    return {mix_name(share): rate for share, rate in zip(MIXES, rates, strict=True)}


def _to_fill(die: "TutorialDie", link: str, directions: str) -> dict[str, int]:
    from opennandlab.theory.bandwidth import MIXES, link_cap_mb_s

    return {
        mix_name(share): die.dies_to_fill(share, link_cap_mb_s(link, share, directions))
        for share in MIXES
    }
