//! Traces of `VMware` virtual SCSI disks, as `CloudPhysics` published them: binary records of two
//! versions, little-endian without a file header, and the CSV that `vscsiStats` prints.
//!
//! ```text
//!  version 1, 32 bytes:  sn 4 · len 4 · nSG 4 · cmd 2 · ver 2 · lbn 8 · ts 8
//!  version 2, 40 bytes:  cmd 2 · ver 2 · sn 4 · len 4 · nSG 4 · lbn 8 · ts 8 · rt 8
//!  CSV:                  serial,bytes,sg_entries,read|write,lbn,time_us
//! ```
//!
//! `len` is in bytes, `lbn` counts sectors of 512 B, `ts` is in microseconds; `cmd` is a SCSI
//! operation code (SBC-4: READ and WRITE of 6, 10, 12 and 16 bytes, SYNCHRONIZE CACHE of 10 and
//! 16, UNMAP). The version is the upper byte of `ver`; it is recognised if all of the first records
//! state it. A file is one disk. Other commands and those without data are skipped and counted,
//! as is an UNMAP whose `len` is that of a list of ranges: they are in data that is not recorded.
//! Force unit access is not recorded either, as it is a flag of the command and not of its code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{comma_fields, is_header, number, scaled, sectors};
use super::rwbs::{scsi_op, word_op, PassedOver, OTHER_COMMANDS};
use super::{Flags, Format, Line, LineReader, RecordSize, Request};
use crate::op::HostOp;
use crate::units::{Ns, SECTOR_BYTES};

/// A file has one disk, without a name.
const VOLUME: &str = "0";
const MICROSECOND_NS: u64 = 1_000;
/// Records at the start of a file that must all state a version.
const RECORDS_TRIED: usize = 64;

/// `vscsi` has no parameters: the version is read from the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vscsi {}

impl Format for Vscsi {
    const LINE: &'static str = "binary records of version 1 (32 bytes) or 2 (40 bytes), or lines \
                                serial,bytes,sg_entries,read|write,lbn,time_us";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader {
            version: Version::One,
            other_commands: PassedOver::new(OTHER_COMMANDS),
            without_data: PassedOver::new("without data"),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    fn record_bytes(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    /// Whether a record states this version and a command of one byte.
    fn is_of(self, record: &[u8]) -> bool {
        let (cmd, version) = match self {
            Self::One => (12, 1),
            Self::Two => (0, 2),
        };
        record[cmd + 1] == 0 && record[cmd + 3] == version
    }

    /// The version of binary records that start like this; `None` if they are something else.
    fn of(head: &[u8]) -> Option<Self> {
        [Self::Two, Self::One].into_iter().find(|version| {
            let records = head.chunks_exact(version.record_bytes());
            records.len() > 0 && records.take(RECORDS_TRIED).all(|record| version.is_of(record))
        })
    }
}

struct Reader {
    version: Version,
    other_commands: PassedOver,
    without_data: PassedOver,
}

impl Reader {
    fn request(&mut self, cmd: u16, len: u32, lbn: u64, ts: u64) -> Result<Line<'static>, String> {
        let too_large = |what: &str, value: u64| format!("{what} {value} is too large");
        let time = ts.checked_mul(MICROSECOND_NS).map(Ns).ok_or_else(|| too_large("ts", ts));
        let op = match scsi_op(cmd, u64::from(len)) {
            Some(HostOp::Flush) => return Ok(Line::Request(Request::flush(time?, VOLUME))),
            Some(op) => op,
            None => return Ok(self.other_commands.pass_over()),
        };
        if len == 0 {
            return Ok(self.without_data.pass_over());
        }
        Ok(Line::Request(Request {
            time: time?,
            volume: VOLUME,
            offset_bytes: lbn.checked_mul(SECTOR_BYTES).ok_or_else(|| too_large("lbn", lbn))?,
            size_bytes: u64::from(len),
            op,
            flags: Flags::default(),
            process: "",
        }))
    }
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if is_header(text, &["serial number", "vscsi cmd trace. (trace format version 1)"]) {
            return Ok(Line::Other);
        }
        let [serial, bytes, entries, op, lbn, time] = comma_fields(text)?;
        number("serial", serial)?;
        number("sg_entries", entries)?;
        let size_bytes = number("bytes", bytes)?;
        let request = Request {
            time: Ns(scaled("time", time, MICROSECOND_NS)?),
            volume: VOLUME,
            offset_bytes: sectors("lbn", lbn)?,
            size_bytes,
            op: word_op(op)?,
            flags: Flags::default(),
            process: "",
        };
        Ok(if size_bytes == 0 { self.without_data.pass_over() } else { Line::Request(request) })
    }

    fn records(&mut self, head: &[u8]) -> Option<RecordSize> {
        self.version = Version::of(head)?;
        Some(RecordSize::Fixed(self.version.record_bytes()))
    }

    fn record<'a>(&mut self, bytes: &'a [u8], _: &'a mut String) -> Result<Line<'a>, String> {
        if !self.version.is_of(bytes) {
            let version = if self.version == Version::One { 1 } else { 2 };
            return Err(format!("the record is not of version {version}, as those before it"));
        }
        match self.version {
            Version::One => {
                let (len, cmd) = (u32_at(bytes, 4), u16_at(bytes, 12));
                self.request(cmd, len, u64_at(bytes, 16), u64_at(bytes, 24))
            }
            Version::Two => {
                let (len, cmd) = (u32_at(bytes, 8), u16_at(bytes, 0));
                self.request(cmd, len, u64_at(bytes, 16), u64_at(bytes, 24))
            }
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.other_commands.remark().into_iter().chain(self.without_data.remark()).collect()
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(version: Version, cmd: u16, len: u32, lbn: u64, ts: u64) -> Vec<u8> {
        let (sn, sg) = (7_u32.to_le_bytes(), 1_u32.to_le_bytes());
        let (cmd, len) = (cmd.to_le_bytes(), len.to_le_bytes());
        let (lbn, ts) = (lbn.to_le_bytes(), ts.to_le_bytes());
        match version {
            Version::One => {
                [&sn[..], &len[..], &sg[..], &cmd[..], &[5, 1], &lbn[..], &ts[..]].concat()
            }
            Version::Two => {
                [&cmd[..], &[5, 2], &sn[..], &len[..], &sg[..], &lbn[..], &ts[..], &[9; 8]].concat()
            }
        }
    }

    #[test]
    fn both_versions_and_the_csv_say_the_same() {
        let mut text_reader = Vscsi {}.reader();
        let line = text_reader.line("2147483692,4096,1,write,24048792,2756778716647").unwrap();
        for version in [Version::One, Version::Two] {
            let bytes = record(version, 0x2a, 4096, 24_048_792, 2_756_778_716_647);
            let mut reader = Vscsi {}.reader();
            assert_eq!(reader.records(&bytes), Some(RecordSize::Fixed(version.record_bytes())));
            assert_eq!(reader.record(&bytes, &mut String::new()), Ok(line), "{version:?}");
        }
        let Line::Request(request) = line else { panic!("a request") };
        assert_eq!((request.op, request.size_bytes), (HostOp::Write, 4096));
        assert_eq!(request.offset_bytes, 24_048_792 * 512);
        assert_eq!(request.time, Ns(2_756_778_716_647_000));
        let header = "Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,Time Stamp";
        assert_eq!(text_reader.line(header), Ok(Line::Other));
    }

    #[test]
    fn operation_codes_of_all_lengths() {
        let mut reader = Vscsi {}.reader();
        let first = record(Version::Two, 0x28, 512, 0, 0);
        reader.records(&first);
        for (codes, op) in
            [([0x08, 0x28, 0xa8, 0x88], HostOp::Read), ([0x0a, 0x2a, 0xaa, 0x8a], HostOp::Write)]
        {
            for code in codes {
                let bytes = record(Version::Two, code, 512, 1, 1);
                let mut text = String::new();
                let Ok(Line::Request(request)) = reader.record(&bytes, &mut text) else {
                    panic!("{code}")
                };
                assert_eq!(request.op, op);
            }
        }
        for code in [0x35, 0x91] {
            let bytes = record(Version::Two, code, 0, 1, 2);
            let flush = Request::flush(Ns(2000), VOLUME);
            assert_eq!(
                reader.record(&bytes, &mut String::new()),
                Ok(Line::Request(flush)),
                "{code}"
            );
        }
        let bytes = record(Version::Two, 0x42, 4096, 8, 2);
        let mut text = String::new();
        let unmap = reader.record(&bytes, &mut text);
        let Ok(Line::Request(unmap)) = unmap else { panic!("{unmap:?}") };
        assert_eq!((unmap.op, unmap.offset_bytes, unmap.size_bytes), (HostOp::Trim, 4096, 4096));
        // UNMAP with a list of one range, REPORT LUNS, and a read of nothing.
        for (code, len) in [(0x42, 24), (0xa0, 16), (0x28, 0)] {
            assert_eq!(
                reader.record(&record(Version::Two, code, len, 1, 1), &mut String::new()),
                Ok(Line::Other)
            );
        }
        let remarks = reader.remarks();
        assert_eq!(remarks[0], format!("2 requests {OTHER_COMMANDS} were skipped"));
        assert_eq!(remarks[1], "1 request without data was skipped");
        assert!(reader
            .record(&record(Version::Two, 0x28, 512, 1 << 55, 1), &mut String::new())
            .is_err());
        assert!(reader
            .record(&record(Version::Two, 0x28, 512, 1, u64::MAX), &mut String::new())
            .is_err());
        assert!(reader
            .record(
                &[record(Version::One, 0x28, 512, 1, 1), vec![0; 8]].concat(),
                &mut String::new()
            )
            .is_err());
    }

    #[test]
    fn text_and_zeros_are_no_records() {
        for head in [&[0; 400][..], &[b'1'; 400], b"", &[2; 31]] {
            assert_eq!(Version::of(head), None);
        }
    }
}
