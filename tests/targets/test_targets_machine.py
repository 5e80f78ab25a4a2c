"""Board, controller and link of a real drive, on systems that are folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from opennandlab.targets.machine import board_facts, path_facts
from opennandlab.targets.probe import Probe

PORT = "sys/devices/pci0000:00/0000:00:01.0"
NVME = f"{PORT}/0000:01:00.0"
LINK = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "4"}
MOST = {"max_link_speed": "16.0 GT/s PCIe", "max_link_width": "4"}
IDS = {"vendor": "0x144d", "device": "0xa80a", "class": "0x010802"}


def system(root: Path, disk: str, files: dict[str, str]) -> Probe:
    """A system with one disk, `sys/devices/…/NAME`, and files."""
    (root / disk).mkdir(parents=True)
    (root / "sys/class/block").mkdir(parents=True)
    (root / "sys/class/block" / Path(disk).name).symlink_to(root / disk)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + "\n")
    return Probe(root)


def of(place: str, **files: str) -> dict[str, str]:
    return {f"{place}/{name}": text for name, text in files.items()}


@pytest.mark.parametrize(
    ("most", "slow"),
    [
        (MOST, True),
        ({**MOST, "max_link_speed": "8.0 GT/s PCIe"}, False),
        ({"max_link_speed": "8.0 GT/s PCIe", "max_link_width": "8"}, True),
        # Of a bridge that does not know, as kernels write it.
        ({"max_link_speed": "Unknown", "max_link_width": "255"}, False),
    ],
)
def test_a_drive_on_pci_express_and_its_link(
    tmp_path: Path, most: dict[str, str], *, slow: bool
) -> None:
    files = of(PORT, **IDS | {"vendor": "0x8086"}) | of(NVME, **IDS, **LINK, **most, numa_node="1")
    probe = system(tmp_path, f"{NVME}/nvme/nvme0/nvme0n1", files)
    (tmp_path / NVME / "driver").symlink_to("../../../bus/pci/drivers/nvme")
    facts, warning = path_facts("nvme0n1", probe)
    assert facts["controller"] == "144d:a80a"
    assert facts["controller_driver"] == "nvme"
    assert facts["link"] == "8.0 GT/s PCIe x4"
    assert facts["numa_node"] == "1"
    assert (warning is not None) == slow
    if warning:
        assert warning.startswith("the link runs at 8.0 GT/s PCIe x4, and could at")
    assert all(facts.values())


def test_a_drive_on_sata_has_the_speed_of_its_port(tmp_path: Path) -> None:
    ahci = "sys/devices/pci0000:00/0000:00:1f.2"
    disk = f"{ahci}/ata3/host2/target2:0:0/2:0:0:0/block/sda"
    files = of(ahci, **IDS) | {
        "sys/class/ata_link/link3/sata_spd": "3.0 Gbps",
        "sys/class/ata_link/link3/hw_sata_spd_limit": "6.0 Gbps",
    }
    facts, warning = path_facts("sda", system(tmp_path, disk, files))
    assert (facts["link"], facts["link_max"]) == ("3.0 Gbps", "6.0 Gbps")
    assert warning is not None
    assert facts["numa_node"] == "unknown"


def test_facts_that_are_missing_are_unknown_and_never_blank(tmp_path: Path) -> None:
    probe = system(tmp_path, "sys/devices/virtual/block/ram0", {})
    facts, warning = path_facts("ram0", probe)
    assert set(facts.values()) == {"unknown"}
    assert warning is None
    assert set(board_facts(probe).values()) == {"unknown"}
    assert set(path_facts("nothing", probe)[0].values()) == {"unknown"}
    # Empty files, and ids that are none.
    broken = system(
        tmp_path / "other", f"{NVME}/nvme/nvme0/nvme0n1",
        of(NVME, vendor="", device="x", numa_node="-1", current_link_width=""),
    )  # fmt: skip
    assert set(path_facts("nvme0n1", broken)[0].values()) == {"unknown"}


def test_the_board_and_its_governor(tmp_path: Path) -> None:
    dmi = of(
        "sys/class/dmi/id",
        board_vendor="Maker", board_name="Board 1", bios_vendor="Other", bios_version="1.2",
        bios_date="01/02/2020", board_serial="secret",
    )  # fmt: skip
    cpus = {
        f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor": name
        for number, name in enumerate(("performance", "powersave", "performance"))
    }
    facts = board_facts(system(tmp_path, "sys/devices/x/sda", dmi | cpus))
    assert facts == {
        "board": "Maker Board 1",
        "bios": "Other 1.2 01/02/2020",
        "governor": "performance, powersave",
    }
