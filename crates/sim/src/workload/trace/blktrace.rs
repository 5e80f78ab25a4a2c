//! Records of blktrace, as lines of blkparse.
//!
//! ```text
//!  magic 4 · sequence 4 · ns 8 · sector 8 · bytes 4 · action 4 · pid 4 · device 4 · cpu 4
//!  error 2 · further bytes 2
//! ```
//!
//! After `struct blk_io_trace` of the kernel (`include/uapi/linux/blktrace_api.h`), little-endian:
//! the upper half of the action is what the request is, the lower what happened to it. A device is
//! `major << 20 | minor`. The further bytes of A (remapped) are, big-endian, the device above, the
//! one below and the sector above. Messages and others that are no requests become events `m`.
//! There is a file for each processor; the order of the records is not that of their times.

use std::fmt::Write;

use super::RecordSize;
use crate::units::SECTOR_BYTES;

/// The first three bytes of the magic number; the fourth is a version.
const MAGIC: [u8; 3] = [0x74, 0x61, 0x65];
const HEADER_BYTES: usize = 48;
pub(super) const RECORD: RecordSize = RecordSize::AtLeast(HEADER_BYTES);

// Bits of the upper half of the action.
const WRITE: u32 = 2;
const FLUSH: u32 = 4;
const SYNC: u32 = 8;
const NOTIFY: u32 = 0x400;
const AHEAD: u32 = 0x800;
const META: u32 = 0x1000;
const DISCARD: u32 = 0x2000;
const FUA: u32 = 0x8000;

/// Whether a file starts like this.
pub(super) fn is_start(head: &[u8]) -> bool {
    head.get(1..4) == Some(&MAGIC)
}

/// Writes a record as a line.
pub(super) fn print(record: &[u8], line: &mut String) -> Result<(), String> {
    line.clear();
    if !is_start(record) {
        return Err("no record of blktrace: its magic number is missing".to_owned());
    }
    let u32_at = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("4 bytes"));
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    let (sequence, ns, sector, bytes) = (u32_at(4), u64_at(8), u64_at(16), u32_at(24));
    let (action, pid, device, cpu) = (u32_at(28), u32_at(32), u32_at(36), u32_at(40));
    let what = action >> 16;
    let event = match action & 0xffff {
        _ if what & NOTIFY != 0 => 'm',
        1 => 'Q',
        7 => 'D',
        8 => 'C',
        13 => 'X',
        15 => 'A',
        _ => 'm',
    };
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let mut rwbs = String::new();
    rwbs.push_str(if what & FLUSH != 0 { "F" } else { "" });
    rwbs.push(match what {
        _ if what & DISCARD != 0 => 'D',
        _ if what & WRITE != 0 && bytes > 0 => 'W',
        _ if bytes > 0 => 'R',
        _ => 'N',
    });
    for (bit, letter) in [(FUA, 'F'), (AHEAD, 'A'), (SYNC, 'S'), (META, 'M')] {
        if what & bit != 0 {
            rwbs.push(letter);
        }
    }
    let sectors = u64::from(bytes).div_ceil(SECTOR_BYTES);
    let (major, minor) = (device >> 20, device & 0xf_ffff);
    let more = &record[HEADER_BYTES..];
    let above = match (event, more.first_chunk::<4>()) {
        ('A', Some(above)) => {
            let above = u32::from_be_bytes(*above);
            format!(" <- ({},{})", above >> 20, above & 0xf_ffff)
        }
        _ => " [-]".to_owned(),
    };
    let place = if bytes == 0 { String::new() } else { format!(" {sector} + {sectors}") };
    write!(
        line,
        "{major},{minor} {cpu} {sequence} {seconds}.{rest:09} {pid} {event} {rwbs}{place}{above}"
    )
    .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{RecordSize, Trace, TraceOptions};
    use super::*;
    use crate::op::HostOp;

    /// A record of sequence, time, sector, bytes and action, of process 100 on device 8,0.
    fn record(ns: u64, sector: u64, bytes: u32, action: u32, more: &[u8]) -> Vec<u8> {
        let mut record = vec![7, 0x74, 0x61, 0x65, 1, 0, 0, 0];
        record.extend(ns.to_le_bytes());
        record.extend(sector.to_le_bytes());
        for value in [bytes, action, 100, 8 << 20, 0, (more.len() as u32) << 16] {
            record.extend(value.to_le_bytes());
        }
        record.extend(more);
        record
    }

    fn read(bytes: &[u8]) -> Result<Trace, String> {
        let mut reader = std::io::BufReader::with_capacity(7, bytes);
        let options = TraceOptions::default();
        Trace::read(&mut reader, "t", &options).map_err(|error| error.to_string())
    }

    fn requests() -> Vec<Vec<u8>> {
        vec![
            record(0, 0, 0, 0x0400_0000, &[b'f'; 16]),
            record(1000, 2048, 4096, 0x001a_0001, &[]),
            record(5000, 4096, 8192, 0x0011_0001, &[]),
            record(9000, 2048, 4096, 0x0082_0008, &[]),
            record(20_000, 0, 0, 0x001c_0001, &[]),
            record(30_000, 2064, 4096, 0x8016_0001, &[]),
            record(3000, 2056, 4096, 0x8012_0001, &[]),
            record(40_000, 8192, 65_536, 0x2010_0001, &[]),
        ]
    }

    #[test]
    fn records_are_requests() {
        let trace = read(&requests().concat()).unwrap();
        let found: Vec<_> = trace
            .records()
            .iter()
            .map(|it| (it.arrival.0, it.op(), it.sector, it.sector_count, it.is_fua()))
            .collect();
        let expected = [
            (0, HostOp::Write, 2048, 8, false),
            (2000, HostOp::Write, 2056, 8, true),
            (4000, HostOp::Read, 4096, 16, false),
            (19_000, HostOp::Flush, 0, 0, false),
            (29_000, HostOp::Flush, 0, 0, false),
            (29_000, HostOp::Write, 2064, 8, true),
            (39_000, HostOp::Trim, 8192, 128, false),
        ];
        assert_eq!(found, expected);
        assert_eq!(trace.volumes(), ["8,0"]);
    }

    /// LVM on the disk: 253,0 is above 8,0.
    #[test]
    fn remaps_name_the_device_above() {
        let above = [(253_u32 << 20).to_be_bytes(), (8_u32 << 20).to_be_bytes(), [0; 4], [0; 4]];
        let mut line = String::new();
        print(&record(1000, 64, 4096, 0x001a_000f, &above.concat()), &mut line).unwrap();
        assert_eq!(line, "8,0 0 1 0.000001000 100 A WS 64 + 8 <- (253,0)");
    }

    #[test]
    fn a_cut_a_foreign_and_a_big_endian_record_are_named() {
        let whole = requests().concat();
        let message = read(&whole[..whole.len() - 5]).unwrap_err();
        // The first record has 16 bytes more than the others.
        assert!(message.starts_with("t: byte 352: the file ends after 43 bytes"), "{message}");
        let mut foreign = whole.clone();
        foreign[64] = 0;
        foreign[65] = 0;
        let message = read(&foreign).unwrap_err();
        assert!(message.starts_with("t: byte 64: no record of blktrace"), "{message}");
        let message = read(&[0x65, 0x61, 0x74, 7, 0, 0, 0, 1]).unwrap_err();
        assert!(message.contains("big-endian") && message.contains("blkparse -i t"), "{message}");
        assert_eq!(RECORD, RecordSize::AtLeast(48));
    }
}
