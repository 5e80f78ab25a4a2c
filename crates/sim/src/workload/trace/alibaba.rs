//! Alibaba block traces CSV: `device_id,opcode,offset,length,timestamp`.
//!
//! Opcode R or W; offset and length in bytes; timestamp in microseconds since 1970.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{comma_fields, is_header, number, scaled};
use super::rwbs::word_op;
use super::{Durability, Format, Line, LineReader, Request};
use crate::units::Ns;

/// `alibaba` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Alibaba {}

impl Format for Alibaba {
    const LINE: &'static str = "device_id,R|W,offset_bytes,length_bytes,timestamp_us";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader)
    }
}

struct Reader;

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if is_header(text, &["device_id"]) {
            return Ok(Line::Other);
        }
        let [volume, op, offset, size, time] = comma_fields(text)?;
        number("device_id", volume)?;
        Ok(Line::Request(Request {
            time: Ns(scaled("timestamp", time, 1_000)?),
            volume,
            offset_bytes: number("offset", offset)?,
            size_bytes: number("length", size)?,
            op: word_op(op)?,
            durability: Durability::default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;

    #[test]
    fn bytes_and_microseconds() {
        let Ok(Line::Request(request)) = Reader.line("419,W,8792731648,16384,1577808144360767")
        else {
            panic!("a request")
        };
        assert_eq!((request.op, request.volume), (HostOp::Write, "419"));
        assert_eq!(request.time, Ns(1_577_808_144_360_767_000));
        assert_eq!((request.offset_bytes, request.size_bytes), (8_792_731_648, 16_384));
        assert_eq!(Reader.line("device_id,opcode,offset,length,timestamp"), Ok(Line::Other));
        for bad in ["419,X,0,512,1", "a,W,0,512,1", "419,W,0,512,1.5", "419,W,0,512"] {
            assert!(Reader.line(bad).is_err(), "{bad}");
        }
    }
}
