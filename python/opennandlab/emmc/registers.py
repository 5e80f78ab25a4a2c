"""Numbers of the standard: commands, bits of the status, positions of the extended CSD.

Source: JESD84-B51, 6.10 Commands, 6.13 Device status, 7.4 Extended CSD register.
"""

from __future__ import annotations

from typing import Final

SECTOR: Final = 512
GROUP_SECTORS: Final = 1024

# The bits of R1 that tell of something wrong, and of events.
ERRORS: Final = {
    31: "ADDRESS_OUT_OF_RANGE",
    30: "ADDRESS_MISALIGN",
    29: "BLOCK_LEN_ERROR",
    28: "ERASE_SEQ_ERROR",
    27: "ERASE_PARAM",
    26: "WP_VIOLATION",
    25: "DEVICE_IS_LOCKED",
    24: "LOCK_UNLOCK_FAILED",
    23: "COM_CRC_ERROR",
    22: "ILLEGAL_COMMAND",
    21: "DEVICE_ECC_FAILED",
    20: "CC_ERROR",
    19: "ERROR",
    16: "CID_CSD_OVERWRITE",
    15: "WP_ERASE_SKIP",
    13: "ERASE_RESET",
    7: "SWITCH_ERROR",
    6: "EXCEPTION_EVENT",
}
READY_FOR_DATA: Final = 1 << 8
STATES: Final = (
    "idle", "ready", "ident", "stby", "tran", "data", "rcv", "prg", "dis", "btst", "slp",
)  # fmt: skip

# Positions of the first byte.
CMDQ_MODE_EN: Final = 15
BARRIER_CTRL: Final = 31
FLUSH_CACHE: Final = 32
CACHE_CTRL: Final = 33
POWER_OFF_NOTIFICATION: Final = 34
PACKED_FAILURE_INDEX: Final = 35
PACKED_COMMAND_STATUS: Final = 36
EXCEPTION_EVENTS_STATUS: Final = 54
EXCEPTION_EVENTS_CTRL: Final = 56
CLASS_6_CTRL: Final = 59
DATA_SECTOR_SIZE: Final = 61
PERIODIC_WAKEUP: Final = 131
PARTITION_SETTING_COMPLETED: Final = 155
PARTITIONING_SUPPORT: Final = 160
HPI_MGMT: Final = 161
RST_N_FUNCTION: Final = 162
BKOPS_EN: Final = 163
BKOPS_START: Final = 164
SANITIZE_START: Final = 165
WR_REL_PARAM: Final = 166
WR_REL_SET: Final = 167
RPMB_SIZE_MULT: Final = 168
USER_WP: Final = 171
BOOT_WP: Final = 173
BOOT_WP_STATUS: Final = 174
ERASE_GROUP_DEF: Final = 175
BOOT_BUS_CONDITIONS: Final = 177
BOOT_CONFIG_PROT: Final = 178
PARTITION_CONFIG: Final = 179
ERASED_MEM_CONT: Final = 181
BUS_WIDTH: Final = 183
HS_TIMING: Final = 185
EXT_CSD_REV: Final = 192
CSD_STRUCTURE: Final = 194
DEVICE_TYPE: Final = 196
OUT_OF_INTERRUPT_TIME: Final = 198
PARTITION_SWITCH_TIME: Final = 199
SEC_COUNT: Final = 212
HC_WP_GRP_SIZE: Final = 221
REL_WR_SEC_C: Final = 222
ERASE_TIMEOUT_MULT: Final = 223
HC_ERASE_GRP_SIZE: Final = 224
BOOT_SIZE_MULT: Final = 226
BOOT_INFO: Final = 228
SEC_FEATURE_SUPPORT: Final = 231
TRIM_MULT: Final = 232
CORRECTLY_PRG_SECTORS_NUM: Final = 242
BKOPS_STATUS: Final = 246
POWER_OFF_LONG_TIME: Final = 247
GENERIC_CMD6_TIME: Final = 248
CACHE_SIZE: Final = 249
PRE_EOL_INFO: Final = 267
DEVICE_LIFE_TIME_EST_TYP_A: Final = 268
DEVICE_LIFE_TIME_EST_TYP_B: Final = 269
CMDQ_DEPTH: Final = 307
CMDQ_SUPPORT: Final = 308
BARRIER_SUPPORT: Final = 486
MAX_PACKED_WRITES: Final = 500
MAX_PACKED_READS: Final = 501
BKOPS_SUPPORT: Final = 502
HPI_FEATURES: Final = 503
S_CMD_SET: Final = 504

# EXT_CSD_REV -> revision of the standard.
REVISIONS: Final = {
    0: "4.0",
    1: "4.1",
    2: "4.2",
    3: "4.3",
    5: "4.41",
    6: "4.51",
    7: "5.0",
    8: "5.1",
}

# Arguments of CMD38.
ERASE: Final = 0x00000000
TRIM: Final = 0x00000001
DISCARD: Final = 0x00000003
SECURE_ERASE: Final = 0x80000000
SECURE_TRIM_1: Final = 0x80000001
SECURE_TRIM_2: Final = 0x80008000

# Bits of the argument of CMD23.
RELIABLE: Final = 1 << 31
PACKED: Final = 1 << 30


def errors_of(status: int) -> str:
    """Return the names of the bits of R1 that tell of something wrong or of an event.

    >>> errors_of(0x00400900), errors_of(0x900)
    ('ILLEGAL_COMMAND', 'none')
    """
    return ", ".join(name for bit, name in ERRORS.items() if status >> bit & 1) or "none"


def state_of(status: int) -> str:
    """Return the state that R1 tells.

    >>> state_of(0x00000900)
    'tran'
    """
    code = status >> 9 & 15
    return STATES[code] if code < len(STATES) else f"reserved ({code})"


def number(image: bytes, index: int, count: int = 1) -> int:
    """Return a field of the extended CSD, its first byte the least significant."""
    return int.from_bytes(image[index : index + count], "little")


def crc7(data: bytes) -> int:
    """Return the CRC of a command frame or a register: x^7 + x^3 + 1.

    >>> hex(crc7(bytes([0x40, 0, 0, 0, 0])))
    '0x4a'
    """
    crc = 0
    for byte in data:
        for bit in range(7, -1, -1):
            crc = crc << 1 ^ (0x09 if (crc >> 6 ^ byte >> bit) & 1 else 0)
            crc &= 0x7F
    return crc


def field(register: bytes, high: int, low: int) -> int:
    """Return bits of CID or CSD, which are sent with bit 127 first."""
    return int.from_bytes(register, "big") >> low & (1 << high - low + 1) - 1
