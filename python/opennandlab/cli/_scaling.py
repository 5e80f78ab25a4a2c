"""What `theory scaling` computes and prints: a document first, then its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opennandlab.base.words import number
from opennandlab.cli import _terminal as terminal
from opennandlab.cli._bandwidth import mix_name

if TYPE_CHECKING:
    from pathlib import Path

    from opennandlab.cli.options.common import Printed
    from opennandlab.core.config import DeviceConfig
    from opennandlab.theory.energy import DriveEnergy

# Read share of the rates against block size: the tutorial's 75/25.
BLOCK_SIZE_MIX = 0.75


def parse_rates(texts: list[str]) -> dict[int, list[float]]:
    """Return units and their five rates, of texts such as `2:1010,560,470,440,430`."""
    measured: dict[int, list[float]] = {}
    for text in texts:
        head, _, tail = text.partition(":")
        try:
            units, values = int(head), [float(part) for part in tail.split(",")]
        except ValueError:
            units, values = 0, []
        if units < 1 or len(values) != 5 or not all(0 < value < float("inf") for value in values):
            raise ValueError(
                f"--rates is `{text}`; accepted: units, a colon and five positive rates, such as "
                "2:1010,560,470,440,430"
            )
        if units in measured:
            raise ValueError(f"--rates gives {units} units twice")
        measured[units] = values
    return dict(sorted(measured.items()))


def parse_units(text: str) -> list[int]:
    """Return numbers of units in order, of a text such as `1,2,4`."""
    try:
        counts = sorted({int(part) for part in text.split(",")})
    except ValueError:
        counts = [0]
    if counts[0] < 1:
        raise ValueError(f"--units is `{text}`; accepted: whole numbers from 1, as in 1,2,4")
    return counts


def measured_sweep(
    device_name: str, units_text: str, seed: int, output: Path | None, given: Printed
) -> None:
    """Simulate a sweep of units, mixes and sizes, and print or write it.

    Args:
        device_name: The device of a unit.
        units_text: Numbers of units.
        seed: Seed of all randomness.
        output: Folder of the files, if there are any.
        given: How it is printed.
    """
    from opennandlab.cli._progress import shown
    from opennandlab.cli._report_tables import show, write
    from opennandlab.core.config import own_device
    from opennandlab.reports import scaling as pages
    from opennandlab.studies import scaling as study

    device = own_device(device_name, {})
    terminal.check_folder(output)
    units = parse_units(units_text)
    with shown(_line, quiet=given.quiet or given.as_json) as watch:

        def look(what: str, share: float) -> None:
            if watch is not None:
                watch((what, share))

        found = study.sweep(device, units=units, seed=seed, watch=look)
    content = pages.document(found, device.to_dict(), seed)
    if output is not None:
        write(content, pages.report(found, device.name), output, "scaling", as_csv=True)
    if given.as_json:
        terminal.emit_json(content)
    elif not given.quiet:
        show(f"{pages.TITLE}, {device.name}", [pages.table(found)], None)
        if output is not None:
            terminal.note(f"written to {output}")


def _line(now: tuple[str, float]) -> str:
    return f"{now[0]}  {now[1]:.0%}"


def tutorial_rates(
    cell: str, dies: int, units_text: str, link: str
) -> tuple[dict[int, list[float]], float, float]:
    """Return the rates of units of so many dies that share one link, by the tutorial's formula.

    With them, of the fewest units at 75/25: the rate in whole pages before the link, and its cap.
    """
    from opennandlab.theory.bandwidth import MIXES, TUTORIAL_DIES, link_cap_mb_s

    counts = parse_units(units_text)
    die = TUTORIAL_DIES[cell]
    caps = [float("inf") if link == "ideal" else link_cap_mb_s(link, share) for share in MIXES]
    rates = {
        count: [
            die.device_mb_s(share, dies * count, cap)
            for share, cap in zip(MIXES, caps, strict=True)
        ]
        for count in counts
    }
    page_mb_s = die.device_mb_s(BLOCK_SIZE_MIX, dies * counts[0])
    return rates, page_mb_s, caps[MIXES.index(BLOCK_SIZE_MIX)]


def device_energy(device: DeviceConfig, dies: int | None) -> DriveEnergy:
    """Return what a unit draws by the energies of a device: of all its dies, or of so many."""
    from opennandlab.theory.energy import DriveEnergy

    nand, controller = device["nand"], device["controller"]
    energy, power = nand.get("energy"), controller.get("power", {})
    if energy is None:
        raise ValueError(
            "--config names a device without nand.energy; accepted: one that has it, or --watts"
        )
    count = nand["channels"] * nand["dies_per_channel"] if dies is None else dies
    active_w = power.get("active_w", power.get("idle_w", 0.0))
    return DriveEnergy(
        nand["page_size_bytes"],
        nand["pages_per_block"],
        read_uj=energy["read_uj"],
        program_uj=energy["program_uj"],
        erase_uj=energy["erase_uj"],
        transfer_nj_per_kib=energy["transfer_nj_per_kib"],
        idle_w=count * energy["idle_mw"] * 1e-3 + active_w,
        host_nj_per_kib=power.get("host_nj_per_kib", 0.0),
    )


def unit_watts(energy: DriveEnergy, rates: list[float], units: int) -> list[float]:
    """Return the mean power of one of several units, by mix, at their rates together in MB/s."""
    from opennandlab.theory.bandwidth import MIXES

    return [energy.watts(rate / units, share) for share, rate in zip(MIXES, rates, strict=True)]


def scaling_document(
    measured: dict[int, list[float]],
    watts: float | None,
    page_bytes: int,
    limits: tuple[float, float] | None = None,
    energy: DriveEnergy | None = None,
) -> dict[str, Any]:
    """Return the scaling of rates as a document; the fewest units are the base.

    `limits` is what whole pages give at 75/25 before a link, and the cap of the link, which counts
    useful bytes; by default the base's own rate, and none. `energy` is what a unit draws, where its
    mean power is not given as `watts`.
    """
    from opennandlab.theory import scaling
    from opennandlab.theory.bandwidth import MIXES

    base_units, base = next(iter(measured.items()))
    mixes = [mix_name(share) for share in MIXES]
    rows = []
    for units, rates in measured.items():
        normalised = scaling.normalised_rms(rates, base)
        by_mix = [] if energy is None else unit_watts(energy, rates, units)
        mean = sum(by_mix) / len(by_mix) if by_mix else watts
        rows.append(
            {
                "units": units,
                "rates": {mix_name(r): rate for r, rate in zip(MIXES, rates, strict=True)},
                "rms": scaling.rms(rates),
                "normalised_rms": normalised,
                "scaling_efficiency": normalised * base_units / units,
                "rms_per_watt": None if mean is None else scaling.rms_per_watt(rates, mean * units),
                **({"unit_watts": dict(zip(mixes, by_mix, strict=True))} if by_mix else {}),
                "mixed_efficiency": {
                    mix_name(r): scaling.mixed_efficiency(rate, r, rates[0], rates[-1])
                    for r, rate in zip(MIXES[1:-1], rates[1:-1], strict=True)
                },
            }
        )
    page_mb_s, cap = limits or (base[MIXES.index(BLOCK_SIZE_MIX)], float("inf"))
    sizes = {
        size: min(scaling.block_size_mb_s(page_mb_s, size, page_bytes), cap)
        for size in scaling.BLOCK_SIZES
    }
    return {
        "mixes": mixes,
        "watts": watts,
        "page_bytes": page_bytes,
        "rows": rows,
        "block_sizes": [
            {"block_bytes": size, "mb_s": rate, "iops": rate * 1e6 / size}
            for size, rate in sizes.items()
        ],
    }


def show_scaling(document: dict[str, Any]) -> None:
    """Print the tables of a scaling document."""
    console = terminal.stdout()
    rates, scale = [], []
    has_power = document["rows"][0]["rms_per_watt"] is not None
    power = ["RMS / W"] if has_power else []
    inner = list(document["rows"][0]["mixed_efficiency"])
    mixed = [f"mixed at {mix}" for mix in inner]
    for row in document["rows"]:
        units = str(row["units"])
        rates.append([units, *map(number, row["rates"].values()), number(row["rms"])])
        scale.append(
            [
                units,
                f"{row['normalised_rms']:.3f}",
                f"{row['scaling_efficiency']:.3f}",
                *([number(row["rms_per_watt"])] if power else []),
                *(f"{value:.3f}" for value in row["mixed_efficiency"].values()),
            ]
        )
    blocks = [
        [number(line["block_bytes"]), number(line["mb_s"]), number(line["iops"])]
        for line in document["block_sizes"]
    ]
    for title, heads, shown in (
        ("rates, MB/s or as given", ["units", *document["mixes"], "RMS"], rates),
        (
            "root mean square over the fewest units, per unit, and mixes over taking turns",
            ["units", "normalised", "efficiency", *power, *mixed],
            scale,
        ),
        (
            f"75/25 against block size: whole pages of {document['page_bytes']} B move",
            ["block, B", "MB/s", "IOPS"],
            blocks,
        ),
    ):
        console.print(title, style="bold", markup=False)
        console.print(terminal.plain_table(heads, shown))
        console.print()
    console.print(
        "mixed: below 1 where reads and writes collide; above 1 where they overlap, or where a "
        "link holds 100/0 back more than the mix",
        style="dim",
        markup=False,
    )
