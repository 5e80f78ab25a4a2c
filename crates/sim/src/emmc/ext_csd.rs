//! The extended CSD: 512 bytes of properties (192 to 511) and modes (0 to 191).
//!
//! Source of positions, sizes and access types: JESD84-B51, 7.4 Extended CSD register, and for what
//! 4.51 has of it JESD84-B451, 7.4. Bytes that are in no row read as zeros and cannot be written.

use super::options::Standard;
use Access::{Kept, Mixed, Once, Read, Reset, Write};

/// How a field is written, and how long it keeps its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// R: only read.
    Read,
    /// R/W: written once in the life of the card.
    Once,
    /// R/W/E: written as often as wanted, kept without power.
    Kept,
    /// `R/W/E_P`: as often as wanted, reset by power, reset pin and CMD0.
    Reset,
    /// `W/E_P`: written, and reads as zero.
    Write,
    /// Bits of several of these, or of `R/W/C_P`: written once between two power cycles or hardware
    /// resets.
    Mixed,
}

impl Access {
    /// As the standard writes it.
    pub fn name(self) -> &'static str {
        match self {
            Read => "R",
            Once => "R/W",
            Kept => "R/W/E",
            Reset => "R/W/E_P",
            Write => "W/E_P",
            Mixed => "mixed",
        }
    }
}

/// A field of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// As the standard calls it.
    pub name: &'static str,
    /// The first byte, which is the least significant.
    pub index: u16,
    /// The number of bytes.
    pub bytes: u16,
    /// The first revision that has it; cards of older revisions return zero.
    pub since: Standard,
    /// How it is written.
    pub access: Access,
    /// Whether this card lets it be written; else CMD6 ends with `SWITCH_ERROR`.
    pub is_writable: bool,
}

macro_rules! fields {
    ($(
        $name:ident =
            $index:literal, $bytes:literal, $since:ident, $access:ident, $is_writable:literal;
    )*) => {
        /// All fields that this card knows, by position.
        pub const FIELDS: &[Field] = &[$(Field {
            name: stringify!($name),
            index: $index,
            bytes: $bytes,
            since: Standard::$since,
            access: $access,
            is_writable: $is_writable,
        },)*];
        $(#[allow(dead_code, missing_docs)] // a few positions are here for the list alone
        pub(super) const $name: usize = $index;)*
    };
}

// Name = first byte, bytes, first revision, access, whether this card lets it be written.
fields! {
    CMDQ_MODE_EN = 15, 1, V51, Reset, true;
    SECURE_REMOVAL_TYPE = 16, 1, V50, Mixed, false;
    PRODUCT_STATE_AWARENESS_ENABLEMENT = 17, 1, V50, Mixed, false;
    MAX_PRE_LOADING_DATA_SIZE = 18, 4, V50, Read, false;
    PRE_LOADING_DATA_SIZE = 22, 4, V50, Kept, false;
    FFU_STATUS = 26, 1, V50, Read, false;
    MODE_OPERATION_CODES = 29, 1, V50, Write, false;
    MODE_CONFIG = 30, 1, V50, Reset, false;
    BARRIER_CTRL = 31, 1, V51, Once, true;
    FLUSH_CACHE = 32, 1, V451, Write, true;
    CACHE_CTRL = 33, 1, V451, Reset, true;
    POWER_OFF_NOTIFICATION = 34, 1, V451, Reset, true;
    PACKED_FAILURE_INDEX = 35, 1, V451, Read, false;
    PACKED_COMMAND_STATUS = 36, 1, V451, Read, false;
    CONTEXT_CONF = 37, 15, V451, Reset, false;
    EXT_PARTITIONS_ATTRIBUTE = 52, 2, V451, Once, false;
    EXCEPTION_EVENTS_STATUS = 54, 2, V451, Read, false;
    EXCEPTION_EVENTS_CTRL = 56, 2, V451, Reset, true;
    DYNCAP_NEEDED = 58, 1, V451, Read, false;
    CLASS_6_CTRL = 59, 1, V451, Reset, true;
    INI_TIMEOUT_EMU = 60, 1, V451, Read, false;
    DATA_SECTOR_SIZE = 61, 1, V451, Read, false;
    USE_NATIVE_SECTOR = 62, 1, V451, Once, false;
    NATIVE_SECTOR_SIZE = 63, 1, V451, Read, false;
    PROGRAM_CID_CSD_DDR_SUPPORT = 130, 1, V451, Read, false;
    PERIODIC_WAKEUP = 131, 1, V451, Kept, true;
    TCASE_SUPPORT = 132, 1, V451, Write, true;
    PRODUCTION_STATE_AWARENESS = 133, 1, V50, Kept, false;
    SEC_BAD_BLK_MGMNT = 134, 1, V451, Once, false;
    ENH_START_ADDR = 136, 4, V451, Once, false;
    ENH_SIZE_MULT = 140, 3, V451, Once, false;
    GP_SIZE_MULT = 143, 12, V451, Once, false;
    PARTITION_SETTING_COMPLETED = 155, 1, V451, Once, false;
    PARTITIONS_ATTRIBUTE = 156, 1, V451, Once, false;
    MAX_ENH_SIZE_MULT = 157, 3, V451, Read, false;
    PARTITIONING_SUPPORT = 160, 1, V451, Read, false;
    HPI_MGMT = 161, 1, V451, Reset, true;
    RST_N_FUNCTION = 162, 1, V451, Once, true;
    BKOPS_EN = 163, 1, V451, Mixed, true;
    BKOPS_START = 164, 1, V451, Write, true;
    SANITIZE_START = 165, 1, V451, Write, true;
    WR_REL_PARAM = 166, 1, V451, Read, false;
    WR_REL_SET = 167, 1, V451, Once, false;
    RPMB_SIZE_MULT = 168, 1, V451, Read, false;
    FW_CONFIG = 169, 1, V451, Once, false;
    USER_WP = 171, 1, V451, Mixed, true;
    BOOT_WP = 173, 1, V451, Mixed, true;
    BOOT_WP_STATUS = 174, 1, V451, Read, false;
    ERASE_GROUP_DEF = 175, 1, V451, Reset, true;
    BOOT_BUS_CONDITIONS = 177, 1, V451, Kept, true;
    BOOT_CONFIG_PROT = 178, 1, V451, Mixed, true;
    PARTITION_CONFIG = 179, 1, V451, Mixed, true;
    ERASED_MEM_CONT = 181, 1, V451, Read, false;
    BUS_WIDTH = 183, 1, V451, Write, true;
    STROBE_SUPPORT = 184, 1, V51, Read, false;
    HS_TIMING = 185, 1, V451, Reset, true;
    POWER_CLASS = 187, 1, V451, Reset, true;
    CMD_SET_REV = 189, 1, V451, Read, false;
    CMD_SET = 191, 1, V451, Reset, false;
    EXT_CSD_REV = 192, 1, V451, Read, false;
    CSD_STRUCTURE = 194, 1, V451, Read, false;
    DEVICE_TYPE = 196, 1, V451, Read, false;
    DRIVER_STRENGTH = 197, 1, V451, Read, false;
    OUT_OF_INTERRUPT_TIME = 198, 1, V451, Read, false;
    PARTITION_SWITCH_TIME = 199, 1, V451, Read, false;
    PWR_CL_52_195 = 200, 1, V451, Read, false;
    PWR_CL_26_195 = 201, 1, V451, Read, false;
    PWR_CL_52_360 = 202, 1, V451, Read, false;
    PWR_CL_26_360 = 203, 1, V451, Read, false;
    MIN_PERF_R_4_26 = 205, 1, V451, Read, false;
    MIN_PERF_W_4_26 = 206, 1, V451, Read, false;
    MIN_PERF_R_8_26_4_52 = 207, 1, V451, Read, false;
    MIN_PERF_W_8_26_4_52 = 208, 1, V451, Read, false;
    MIN_PERF_R_8_52 = 209, 1, V451, Read, false;
    MIN_PERF_W_8_52 = 210, 1, V451, Read, false;
    SECURE_WP_INFO = 211, 1, V51, Read, false;
    SEC_COUNT = 212, 4, V451, Read, false;
    SLEEP_NOTIFICATION_TIME = 216, 1, V50, Read, false;
    S_A_TIMEOUT = 217, 1, V451, Read, false;
    PRODUCTION_STATE_AWARENESS_TIMEOUT = 218, 1, V50, Read, false;
    S_C_VCCQ = 219, 1, V451, Read, false;
    S_C_VCC = 220, 1, V451, Read, false;
    HC_WP_GRP_SIZE = 221, 1, V451, Read, false;
    REL_WR_SEC_C = 222, 1, V451, Read, false;
    ERASE_TIMEOUT_MULT = 223, 1, V451, Read, false;
    HC_ERASE_GRP_SIZE = 224, 1, V451, Read, false;
    ACC_SIZE = 225, 1, V451, Read, false;
    BOOT_SIZE_MULT = 226, 1, V451, Read, false;
    BOOT_INFO = 228, 1, V451, Read, false;
    SEC_TRIM_MULT = 229, 1, V451, Read, false;
    SEC_ERASE_MULT = 230, 1, V451, Read, false;
    SEC_FEATURE_SUPPORT = 231, 1, V451, Read, false;
    TRIM_MULT = 232, 1, V451, Read, false;
    MIN_PERF_DDR_R_8_52 = 234, 1, V451, Read, false;
    MIN_PERF_DDR_W_8_52 = 235, 1, V451, Read, false;
    PWR_CL_200_130 = 236, 1, V451, Read, false;
    PWR_CL_200_195 = 237, 1, V451, Read, false;
    PWR_CL_DDR_52_195 = 238, 1, V451, Read, false;
    PWR_CL_DDR_52_360 = 239, 1, V451, Read, false;
    CACHE_FLUSH_POLICY = 240, 1, V51, Read, false;
    INI_TIMEOUT_AP = 241, 1, V451, Read, false;
    CORRECTLY_PRG_SECTORS_NUM = 242, 4, V451, Read, false;
    BKOPS_STATUS = 246, 1, V451, Read, false;
    POWER_OFF_LONG_TIME = 247, 1, V451, Read, false;
    GENERIC_CMD6_TIME = 248, 1, V451, Read, false;
    CACHE_SIZE = 249, 4, V451, Read, false;
    PWR_CL_DDR_200_360 = 253, 1, V50, Read, false;
    FIRMWARE_VERSION = 254, 8, V50, Read, false;
    DEVICE_VERSION = 262, 2, V50, Read, false;
    OPTIMAL_TRIM_UNIT_SIZE = 264, 1, V50, Read, false;
    OPTIMAL_WRITE_SIZE = 265, 1, V50, Read, false;
    OPTIMAL_READ_SIZE = 266, 1, V50, Read, false;
    PRE_EOL_INFO = 267, 1, V50, Read, false;
    DEVICE_LIFE_TIME_EST_TYP_A = 268, 1, V50, Read, false;
    DEVICE_LIFE_TIME_EST_TYP_B = 269, 1, V50, Read, false;
    VENDOR_PROPRIETARY_HEALTH_REPORT = 270, 32, V50, Read, false;
    NUMBER_OF_FW_SECTORS = 302, 4, V50, Read, false;
    CMDQ_DEPTH = 307, 1, V51, Read, false;
    CMDQ_SUPPORT = 308, 1, V51, Read, false;
    BARRIER_SUPPORT = 486, 1, V51, Read, false;
    FFU_ARG = 487, 4, V50, Read, false;
    OPERATION_CODES_TIMEOUT = 491, 1, V50, Read, false;
    FFU_FEATURES = 492, 1, V50, Read, false;
    SUPPORTED_MODES = 493, 1, V50, Read, false;
    EXT_SUPPORT = 494, 1, V451, Read, false;
    LARGE_UNIT_SIZE_M1 = 495, 1, V451, Read, false;
    CONTEXT_CAPABILITIES = 496, 1, V451, Read, false;
    TAG_RES_SIZE = 497, 1, V451, Read, false;
    TAG_UNIT_SIZE = 498, 1, V451, Read, false;
    DATA_TAG_SUPPORT = 499, 1, V451, Read, false;
    MAX_PACKED_WRITES = 500, 1, V451, Read, false;
    MAX_PACKED_READS = 501, 1, V451, Read, false;
    BKOPS_SUPPORT = 502, 1, V451, Read, false;
    HPI_FEATURES = 503, 1, V451, Read, false;
    S_CMD_SET = 504, 1, V451, Read, false;
}

/// Bytes of the register.
pub(super) const BYTES: usize = 512;

/// Bits of `USER_WP` (JESD84-B51, 7.4, as those below): protect until power-off,
/// protect permanently, and whether the former is disabled.
const US_PWR_WP_EN: u8 = 0x01;
const US_PERM_WP_EN: u8 = 0x04;
const US_PWR_WP_DIS: u8 = 0x08;
/// Bits of `BOOT_WP`.
const B_PERM_WP_EN: u8 = 0x04;
const B_PERM_WP_SEC_SEL: u8 = 0x08;
const B_PERM_WP_DIS: u8 = 0x10;
/// Bits of `BOOT_CONFIG_PROT`.
const PWR_BOOT_CONFIG_PROT: u8 = 0x01;
/// Bits of `PARTITION_CONFIG`.
const PARTITION_ACCESS: u8 = 0x07;

/// The register of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExtCsd {
    bytes: [u8; BYTES],
    /// The values of fields after a reset that does not keep them.
    defaults: [u8; BYTES],
}

impl ExtCsd {
    /// With these values in a new card.
    pub(super) fn new(bytes: &[u8; BYTES]) -> Self {
        Self { bytes: *bytes, defaults: *bytes }
    }

    /// The field that a byte belongs to, if the card's revision has it.
    pub(super) fn field(&self, index: usize) -> Option<&'static Field> {
        let found = FIELDS
            .iter()
            .find(|it| (it.index as usize..(it.index + it.bytes) as usize).contains(&index))?;
        (found.since.revision() <= self.bytes[EXT_CSD_REV]).then_some(found)
    }

    pub(super) fn get(&self, index: usize) -> u8 {
        self.bytes[index]
    }

    /// A field of two bytes, the first the least significant.
    pub(super) fn get_u16(&self, index: usize) -> u16 {
        u16::from_le_bytes([self.bytes[index], self.bytes[index + 1]])
    }

    pub(super) fn set(&mut self, index: usize, value: u8) {
        self.bytes[index] = value;
    }

    /// Sets a field of four bytes, the first the least significant.
    pub(super) fn set_u32(&mut self, index: usize, value: u32) {
        self.bytes[index..index + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// As CMD8 sends it: write-only fields read as zero.
    pub(super) fn image(&self) -> [u8; BYTES] {
        let mut image = self.bytes;
        for field in FIELDS.iter().filter(|it| it.access == Write) {
            image[field.index as usize] = 0;
        }
        image
    }

    /// CMD0, the reset pin or a power cycle: resets the fields that all of these reset.
    pub(super) fn reset(&mut self) {
        for field in FIELDS.iter().filter(|it| matches!(it.access, Reset | Write)) {
            let place = field.index as usize..(field.index + field.bytes) as usize;
            self.bytes[place.clone()].copy_from_slice(&self.defaults[place]);
        }
        // The bits of mixed fields that have this access.
        self.bytes[PARTITION_CONFIG] &= !PARTITION_ACCESS;
        self.bytes[USER_WP] &= !(US_PWR_WP_EN | US_PERM_WP_EN);
    }

    /// The reset pin or a power cycle, but not CMD0: resets the bits that can be written once per
    /// power cycle.
    pub(super) fn reset_power(&mut self) {
        self.bytes[USER_WP] &= !US_PWR_WP_DIS;
        // Permanent protection stays, and which boot partition it is for.
        self.bytes[BOOT_WP] &= B_PERM_WP_EN | B_PERM_WP_SEC_SEL | B_PERM_WP_DIS;
        self.bytes[BOOT_CONFIG_PROT] &= !PWR_BOOT_CONFIG_PROT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap_and_stay_in_their_segment() {
        let mut limit = 0;
        for field in FIELDS {
            assert!(field.index >= limit, "{} begins inside the one before", field.name);
            limit = field.index + field.bytes;
            assert!(limit as usize <= BYTES);
            let is_mode = limit <= 192;
            assert!(is_mode || field.access == Read, "{} is a property", field.name);
            assert!(!field.is_writable || field.access != Read, "{}", field.name);
        }
    }

    #[test]
    fn older_revisions_lack_what_came_later() {
        let mut bytes = [0; BYTES];
        bytes[EXT_CSD_REV] = Standard::V451.revision();
        let old = ExtCsd::new(&bytes);
        assert!(old.field(CMDQ_MODE_EN).is_none() && old.field(CACHE_CTRL).is_some());
        assert!(old.field(0).is_none(), "nothing is at byte 0");
    }
}
