"""The extended CSD of a new card: properties, values after reset, what older revisions lack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from opennandlab import _core
from opennandlab.emmc import registers as at
from opennandlab.emmc.card import Card
from opennandlab.emmc.case import Check, Group

GROUP = Group[Card]("registers", "7.4 Extended CSD register")


def fields() -> list[dict[str, Any]]:
    """Return the fields that the card says it has."""
    rows: list[dict[str, Any]] = json.loads(_core.emmc_fields())
    return rows


@GROUP("6.10 Commands, CMD8")
def length(card: Card) -> Iterator[Check]:
    """Read the register with CMD8."""
    card.start()
    answer = card.command(8)
    yield "bytes", len(answer.data), 512
    yield "errors", answer.errors, "none"
    yield "state", card.state, "tran"


@GROUP()
def revision(card: Card) -> Iterator[Check]:
    """Read the revisions."""
    card.start()
    yield "EXT_CSD_REV is known", card.get(at.EXT_CSD_REV) in at.REVISIONS, True
    yield "CSD_STRUCTURE", card.get(at.CSD_STRUCTURE), 2
    yield "standard command set", card.get(at.S_CMD_SET) & 1, 1


@GROUP(options={"standard": "4.51"})
def revision_4_51(card: Card) -> Iterator[Check]:
    """Read the revision of a card of 4.51."""
    card.start()
    yield "EXT_CSD_REV", card.get(at.EXT_CSD_REV), 6


@GROUP(options={"standard": "4.51"})
def later_fields(card: Card) -> Iterator[Check]:
    """Look on a card of 4.51 for fields of 5.0 and 5.1."""
    card.start()
    image = card.ext_csd()
    found = [
        row["name"] for row in fields()
        if row["since"] > 6 and any(image[row["index"] : row["index"] + row["bytes"]])
    ]  # fmt: skip
    yield "not zero", ", ".join(found), ""


@GROUP()
def sector_count(card: Card) -> Iterator[Check]:
    """Compare SEC_COUNT with the sectors that can be read."""
    card.start()
    count = card.get(at.SEC_COUNT, 4)
    yield "errors of the last", card.command(17, card.address(count - 1)).errors, "none"
    beyond = count if card.is_by_sector else count * at.SECTOR
    yield "errors of the next", card.command(17, beyond).errors, "ADDRESS_OUT_OF_RANGE"


@GROUP()
def group_sizes(card: Card) -> Iterator[Check]:
    """Read the sizes of erase and write protect groups of high capacity."""
    card.start()
    yield "HC_ERASE_GRP_SIZE is set", card.get(at.HC_ERASE_GRP_SIZE) > 0, True
    yield "HC_WP_GRP_SIZE is set", card.get(at.HC_WP_GRP_SIZE) > 0, True


@GROUP()
def write_reliability(card: Card) -> Iterator[Check]:
    """Read what the card says of reliable writes: the enhanced definition, of any size."""
    card.start()
    yield "EN_REL_WR", card.get(at.WR_REL_PARAM) >> 2 & 1, 1
    yield "REL_WR_SEC_C", card.get(at.REL_WR_SEC_C), 1


@GROUP()
def mandatory_features(card: Card) -> Iterator[Check]:
    """Read the features that cards of 4.5 and later must have."""
    card.start()
    yield "HPI", card.get(at.HPI_FEATURES) & 1, 1
    yield "BKOPS", card.get(at.BKOPS_SUPPORT) & 1, 1
    yield "RPMB", card.get(at.RPMB_SIZE_MULT) > 0, True
    yield "boot partitions", card.get(at.BOOT_SIZE_MULT) > 0, True
    yield "packed reads, 5 or more", card.get(at.MAX_PACKED_READS) >= 5, True
    yield "packed writes, 3 or more", card.get(at.MAX_PACKED_WRITES) >= 3, True


@GROUP()
def times(card: Card) -> Iterator[Check]:
    """Read the times that hosts wait for."""
    card.start()
    for name in ("GENERIC_CMD6_TIME", "POWER_OFF_LONG_TIME", "PARTITION_SWITCH_TIME",
                 "OUT_OF_INTERRUPT_TIME", "TRIM_MULT", "ERASE_TIMEOUT_MULT"):  # fmt: skip
        yield f"{name} is set", card.get(getattr(at, name)) > 0, True


@GROUP("7.4 Extended CSD register, CACHE_SIZE", options={"cache_kib": 512})
def cache_size(card: Card) -> Iterator[Check]:
    """Read the size of a cache of 512 KiB, in kilobits."""
    card.start()
    yield "CACHE_SIZE", card.get(at.CACHE_SIZE, 4), 4096


@GROUP("7.4 Extended CSD register, CMDQ_DEPTH", since=8)
def queue_depth(card: Card) -> Iterator[Check]:
    """Read the depth of the command queue: 32 less one."""
    card.start()
    yield "CMDQ_SUPPORT", card.get(at.CMDQ_SUPPORT), 1
    yield "CMDQ_DEPTH", card.get(at.CMDQ_DEPTH), 31


@GROUP()
def modes_after_power(card: Card) -> Iterator[Check]:
    """Read the modes of a new card."""
    card.start()
    image = card.ext_csd()
    names = (
        "CMDQ_MODE_EN", "BARRIER_CTRL", "CACHE_CTRL", "POWER_OFF_NOTIFICATION",
        "EXCEPTION_EVENTS_CTRL", "HPI_MGMT", "RST_N_FUNCTION", "BKOPS_EN", "USER_WP", "BOOT_WP",
        "ERASE_GROUP_DEF", "BOOT_CONFIG_PROT", "PARTITION_CONFIG", "HS_TIMING",
    )  # fmt: skip
    found = [name for name in names if image[getattr(at, name)]]
    yield "not zero", ", ".join(found), ""


@GROUP()
def reserved_bytes(card: Card) -> Iterator[Check]:
    """Look for bytes that are set and belong to no field."""
    card.start()
    known = {
        index for row in fields() for index in range(row["index"], row["index"] + row["bytes"])
    }
    found = [str(at_) for at_, byte in enumerate(card.ext_csd()) if byte and at_ not in known]
    yield "bytes", ", ".join(found), ""


@GROUP()
def only_written(card: Card) -> Iterator[Check]:
    """Write fields that are only written, and read them."""
    card.start()
    card.switch(at.BUS_WIDTH, 2)
    card.switch(at.FLUSH_CACHE, 1)
    card.switch(at.SANITIZE_START, 1)
    image = card.ext_csd()
    yield "BUS_WIDTH", image[at.BUS_WIDTH], 0
    yield "FLUSH_CACHE", image[at.FLUSH_CACHE], 0
    yield "SANITIZE_START", image[at.SANITIZE_START], 0
