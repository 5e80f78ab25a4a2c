//! The registers of a new card: OCR, CID, CSD and extended CSD.
//!
//! Sources of the layouts: JESD84-B51, 7.1 OCR, 7.2 CID, 7.3 CSD, 7.4 Extended CSD. Values are
//! this card's: sizes follow from the drive; times in the properties are upper bounds, assumed.

use super::ext_csd as at;
use super::options::{Hpi, Options, Standard};
use super::storage::{Layout, SECTORS_PER_GROUP};

/// Voltage windows: 1.70 to 1.95 V and 2.7 to 3.6 V.
pub(super) const OCR_WINDOWS: u32 = 0x00ff_8080;
/// Access mode of sectors, bits 30 and 29.
pub(super) const OCR_SECTORS: u32 = 0x4000_0000;
/// Power-up has ended.
pub(super) const OCR_READY: u32 = 0x8000_0000;
/// Commands that may wait in the queue.
pub(super) const QUEUE_DEPTH: u32 = 32;
/// Most entries of a packed command, as `MAX_PACKED_WRITES` and `MAX_PACKED_READS` report.
pub(super) const PACKED_MAX: u8 = 63;

/// CRC-7 with the polynomial x^7 + x^3 + 1, as in the last byte of CID and CSD.
fn crc7(bytes: &[u8]) -> u8 {
    let mut crc = 0u8;
    for &byte in bytes {
        for bit in (0..8).rev() {
            let is_set = ((byte >> bit) & 1) ^ (crc >> 6);
            crc = (crc << 1) & 0x7f;
            if is_set == 1 {
                crc ^= 0x09;
            }
        }
    }
    crc
}

fn sealed(mut register: [u8; 16]) -> [u8; 16] {
    register[15] = crc7(&register[..15]) << 1 | 1;
    register
}

/// The card's identification: no maker, `ONLSIM`, the seed as its serial number.
pub(super) fn cid(seed: u64) -> [u8; 16] {
    let mut cid = [0; 16];
    cid[1] = 0x01; // CBX: BGA
    cid[3..9].copy_from_slice(b"ONLSIM");
    cid[9] = 0x10; // PRV 1.0
    cid[10..14].copy_from_slice(&(seed as u32).to_be_bytes());
    cid[14] = 0x10; // MDT: January 2013, in the count of extended revisions above 4
    sealed(cid)
}

/// Sets bits `high` to `low` of a register whose byte 0 has bits 127 to 120.
fn put(register: &mut [u8; 16], high: u32, low: u32, value: u32) {
    for bit in low..=high {
        if (value >> (bit - low)) & 1 == 1 {
            register[15 - bit as usize / 8] |= 1 << (bit % 8);
        }
    }
}

/// The card specific data.
pub(super) fn csd(layout: &Layout) -> [u8; 16] {
    let mut csd = [0; 16];
    put(&mut csd, 127, 126, 3); // CSD_STRUCTURE: in the extended CSD
    put(&mut csd, 125, 122, 4); // SPEC_VERS: 4.1 and later
    put(&mut csd, 119, 112, 0x4f); // TAAC: 40 ms
    put(&mut csd, 111, 104, 1); // NSAC
    put(&mut csd, 103, 96, 0x32); // TRAN_SPEED: 26 MHz
    put(&mut csd, 95, 84, 0x0f5 & !0x080); // CCC: classes 0, 2, 4, 5, 6
    put(&mut csd, 83, 80, 9); // READ_BL_LEN: 512
    let (size, multiplier) = if layout.is_by_sector() {
        (0xfff, 7)
    } else {
        // (C_SIZE + 1) 2^(C_SIZE_MULT + 2) blocks of 512 bytes; at most the largest size that the
        // fields can state.
        let multiplier = (0..=7).find(|it| layout.user_sectors >> (it + 2) <= 4096).unwrap_or(7);
        ((layout.user_sectors >> (multiplier + 2)).saturating_sub(1) as u32, multiplier)
    };
    put(&mut csd, 73, 62, size.min(0xfff));
    put(&mut csd, 49, 47, multiplier);
    put(&mut csd, 46, 42, 31); // ERASE_GRP_SIZE, with the next: 32 x 32 blocks
    put(&mut csd, 41, 37, 31); // ERASE_GRP_MULT
    put(&mut csd, 36, 32, u32::from(layout.groups_per_wp) - 1); // WP_GRP_SIZE
    put(&mut csd, 31, 31, 1); // WP_GRP_ENABLE
    put(&mut csd, 28, 26, 2); // R2W_FACTOR
    put(&mut csd, 25, 22, 9); // WRITE_BL_LEN: 512
    sealed(csd)
}

/// The extended CSD of a new card.
pub(super) fn ext_csd(options: &Options, layout: &Layout, cache_kib: u32) -> [u8; at::BYTES] {
    let mut bytes = [0; at::BYTES];
    let hpi = match options.hpi {
        Hpi::Cmd13 => 0x01,
        Hpi::Cmd12 => 0x03,
    };
    let rel_param = if options.standard == Standard::V51 { 0x14 } else { 0x04 };
    let rows: &[(usize, u8)] = &[
        (at::EXT_CSD_REV, options.standard.revision()),
        (at::CSD_STRUCTURE, 2),
        (at::S_CMD_SET, 1),
        (at::HPI_FEATURES, hpi),
        (at::BKOPS_SUPPORT, 1),
        (at::MAX_PACKED_READS, PACKED_MAX),
        (at::MAX_PACKED_WRITES, PACKED_MAX),
        (at::GENERIC_CMD6_TIME, 10),
        (at::POWER_OFF_LONG_TIME, 255),
        (at::INI_TIMEOUT_AP, 10),
        (at::TRIM_MULT, 2),
        (at::SEC_FEATURE_SUPPORT, 0x55),
        (at::SEC_ERASE_MULT, 10),
        (at::SEC_TRIM_MULT, 10),
        (at::BOOT_INFO, 0x07),
        (at::BOOT_SIZE_MULT, layout.boot_size_mult),
        (at::RPMB_SIZE_MULT, layout.rpmb_size_mult),
        (at::ACC_SIZE, 6),
        (at::HC_ERASE_GRP_SIZE, (SECTORS_PER_GROUP / 1024) as u8),
        (at::ERASE_TIMEOUT_MULT, 2),
        (at::REL_WR_SEC_C, 1),
        (at::HC_WP_GRP_SIZE, layout.groups_per_wp),
        (at::S_A_TIMEOUT, 17),
        (at::OUT_OF_INTERRUPT_TIME, 5),
        (at::PARTITION_SWITCH_TIME, 2),
        (at::DEVICE_TYPE, 0x57),
        (at::WR_REL_PARAM, rel_param),
        (at::WR_REL_SET, 0x1f),
        (at::ERASED_MEM_CONT, 0),
    ];
    for &(index, value) in rows {
        bytes[index] = value;
    }
    let words = [
        (at::SEC_COUNT, layout.user_sectors as u32),
        // Kilobits: mmc-utils divides by 8 to print KiB.
        (at::CACHE_SIZE, cache_kib * 8),
    ];
    for (index, word) in words {
        bytes[index..index + 4].copy_from_slice(&word.to_le_bytes());
    }
    if options.standard >= Standard::V50 {
        bytes[at::FIRMWARE_VERSION] = 1;
        bytes[at::SLEEP_NOTIFICATION_TIME] = 12;
        bytes[at::PRE_EOL_INFO] = 1;
        bytes[at::SECURE_REMOVAL_TYPE] = 0x01;
        bytes[at::OPTIMAL_TRIM_UNIT_SIZE] = 1;
        bytes[at::OPTIMAL_WRITE_SIZE] = (layout.unit_bytes / 4096).clamp(1, 255) as u8;
        bytes[at::OPTIMAL_READ_SIZE] = (layout.unit_bytes / 4096).clamp(1, 255) as u8;
    }
    if options.standard == Standard::V51 {
        bytes[at::CMDQ_SUPPORT] = 1;
        bytes[at::CMDQ_DEPTH] = QUEUE_DEPTH as u8 - 1;
        bytes[at::BARRIER_SUPPORT] = u8::from(cache_kib > 0);
        // First in, first out.
        bytes[at::CACHE_FLUSH_POLICY] = 1;
        // Manual and automatic.
        bytes[at::STROBE_SUPPORT] = 0;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_that_of_command_frames() {
        // The frames of CMD0 and CMD17 with argument 0, as every description of the bus shows them.
        assert_eq!(crc7(&[0x40, 0, 0, 0, 0]), 0x4a);
        assert_eq!(crc7(&[0x51, 0, 0, 0, 0]), 0x2a);
        assert_eq!(cid(7)[15] & 1, 1);
    }
}
