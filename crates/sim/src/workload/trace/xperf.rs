//! Disk events as `xperf -i TRACE.etl -a dumper` prints them.
//!
//! ```text
//!  DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, …
//! ```
//!
//! The file names the columns of each event in its header. Times are microseconds, addresses and
//! sizes hexadecimal bytes. The time stamp is the completion: a request arrives at `TimeStamp` −
//! `ElapsedTime`. A process name may hold commas; the columns behind it that are needed are found
//! from the one that begins with `0x`. Other events are skipped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{number, quote};
use super::{Flags, Format, Line, LineReader, Request};
use crate::op::HostOp;
use crate::units::Ns;

/// Later than any latency, so that no arrival is before zero.
const START_NS: u64 = 86_400_000_000_000;

/// `xperf` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Xperf {}

impl Format for Xperf {
    const LINE: &'static str =
        "DiskRead|DiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, \
         ElapsedTime, DiskNum, …";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader { is_begun: false })
    }
}

struct Reader {
    /// Whether the header or an event of a disk was seen.
    is_begun: bool,
}

fn hexadecimal(name: &str, text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = if is_number { u64::from_str_radix(digits, 16).ok() } else { None };
    value.ok_or_else(|| format!("{name} {} is not a hexadecimal number", quote(text)))
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let (event, rest) = text.trim_start().split_once(',').unwrap_or((text.trim(), ""));
        let op = match event.trim() {
            "DiskRead" => HostOp::Read,
            "DiskWrite" => HostOp::Write,
            "DiskFlush" => HostOp::Flush,
            "BeginHeader" => {
                self.is_begun = true;
                return Ok(Line::Other);
            }
            _ if self.is_begun => return Ok(Line::Other),
            other => return Err(format!("event {}", quote(other))),
        };
        self.is_begun = true;
        let fields: Vec<_> = rest.split(',').map(str::trim).collect();
        if fields[0] == "TimeStamp" {
            return Ok(Line::Other);
        }
        let missing = |name: &str| format!("there is no {name} field");
        let irp = fields.iter().position(|field| field.starts_with("0x"));
        let irp = irp.ok_or_else(|| missing("IrpPtr"))?;
        let process = super::fields::between(rest, fields[1], fields[1.max(irp - 1)]);
        let process = process.find(')').map_or(process, |end| &process[..=end]);
        let at = |index: usize, name: &str| {
            fields.get(irp + index).copied().ok_or_else(|| missing(name))
        };
        let (offset_bytes, size_bytes, next) = match op {
            HostOp::Flush => (0, 0, 1),
            _ => (
                hexadecimal("ByteOffset", at(1, "ByteOffset")?)?,
                hexadecimal("IOSize", at(2, "IOSize")?)?,
                3,
            ),
        };
        let elapsed = number("ElapsedTime", at(next, "ElapsedTime")?)?;
        let volume = at(next + 1, "DiskNum")?;
        number("DiskNum", volume)?;
        let end = number("TimeStamp", fields[0])?;
        let time = end
            .checked_mul(1_000)
            .and_then(|end| end.checked_add(START_NS)?.checked_sub(elapsed.checked_mul(1_000)?));
        let time = time.map(Ns).ok_or("TimeStamp or ElapsedTime is too large")?;
        Ok(Line::Request(Request {
            time,
            volume,
            offset_bytes,
            size_bytes,
            op,
            flags: Flags::default(),
            process,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp::{Flush, Read, Write};

    #[test]
    fn arrivals_are_completions_less_elapsed_times() {
        let mut reader = Xperf {}.reader();
        let lines = [
            "BeginHeader",
            "           DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID, IrpPtr",
            "            FileIo,  1, 2",
            "EndHeader",
        ];
        for text in lines {
            assert_eq!(reader.line(text), Ok(Line::Other), "{text}");
        }
        for (text, op, (offset, size)) in [
            ("DiskRead, 5000, a, b.exe (1234), 77, 0xe1, 0x1000, 0x200, 500, 0", Read, (4096, 512)),
            (
                "DiskWrite, 5000, a, b.exe (1234), 7, 3, 0xe, 0x2000, 0x200, 500, 0",
                Write,
                (8192, 512),
            ),
            ("DiskFlush, 5000, a, b.exe (1234), 77, 0xffffe1, 500, 0, 0x6", Flush, (0, 0)),
        ] {
            let Ok(Line::Request(request)) = reader.line(text) else { panic!("{text}") };
            assert_eq!((request.op, request.time.0 - START_NS), (op, 4_500_000), "{text}");
            assert_eq!((request.offset_bytes, request.size_bytes), (offset, size), "{text}");
            assert_eq!((request.volume, request.process), ("0", "a, b.exe (1234)"), "{text}");
        }
        for bad in ["DiskRead, 1, a (1), 2", "DiskRead, x, a (1), 2, 0x1, 0x0, 0x200, 5, 0"] {
            assert!(reader.line(bad).is_err(), "{bad}");
        }
        assert!(Xperf {}.reader().line("FileIo, 1").is_err());
    }
}
