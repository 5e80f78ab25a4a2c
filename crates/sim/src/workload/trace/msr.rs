//! MSR Cambridge CSV: `timestamp,host,disk,Read|Write,offset,size,response`, no header.
//!
//! Offset and size are bytes; timestamp and response time are Windows FILETIME ticks of 100 ns. A
//! volume is a host with a disk number, named `hm_0` as the files of the collection are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{between, comma_fields, is_header, number, scaled};
use super::rwbs::word_op;
use super::{Durability, Format, Line, LineReader, Request};
use crate::units::Ns;

/// Windows FILETIME: ticks of 100 ns since 1601.
const TICK_NS: u64 = 100;

/// `msr` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Msr {}

impl Format for Msr {
    const LINE: &'static str =
        "timestamp,host,disk,Read|Write,offset_bytes,size_bytes,response_time";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader)
    }
}

struct Reader;

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if is_header(text, &["timestamp"]) {
            return Ok(Line::Other);
        }
        let [time, host, disk, op, offset, size, response] = comma_fields(text)?;
        number("disk", disk)?;
        number("response time", response)?;
        Ok(Line::Request(Request {
            time: Ns(scaled("timestamp", time, TICK_NS)?),
            volume: between(text, host, disk),
            offset_bytes: number("offset", offset)?,
            size_bytes: number("size", size)?,
            op: word_op(op)?,
            durability: Durability::default(),
        }))
    }

    fn volume_name(&self, volume: &str) -> String {
        volume.split(',').map(str::trim).collect::<Vec<_>>().join("_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;

    #[test]
    fn ticks_bytes_and_volume() {
        let line = "128166385295514663,hm,0,Write,9056014336,2048,2833";
        let mut reader = Reader;
        let Ok(Line::Request(request)) = reader.line(line) else { panic!("{line}") };
        assert_eq!(request.time, Ns(12_816_638_529_551_466_300));
        assert_eq!((request.offset_bytes, request.size_bytes), (9_056_014_336, 2048));
        assert_eq!(request.op, HostOp::Write);
        assert_eq!(reader.volume_name(request.volume), "hm_0");
        assert!(reader.line("999999999999999999,hm,0,Write,0,512,1").is_err(), "beyond 2^64 ns");
        assert!(reader.line("1,hm,0,Erase,0,512,1").is_err());
        assert!(reader.line("1,hm,0,Read,0,512").is_err());
    }
}
