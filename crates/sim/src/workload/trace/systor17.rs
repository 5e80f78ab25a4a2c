//! SNIA IOTTA "Systor '17" CSV, an enterprise virtual desktop infrastructure:
//! `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! After the README of the distribution (Lee et al., "Understanding Storage Traffic Characteristics
//! on Enterprise Virtual Desktop Infrastructure", SYSTOR 2017): the timestamp is the issue of the
//! request in seconds since 1970, exact to the microsecond; response is in seconds and may be
//! empty; offset and size are bytes; the LUN is a volume. A blank type means that no response was
//! captured: the kind of such a request is unknown, so it is passed over and counted. There is one
//! file per LUN and hour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{comma_fields, is_header, number, quote, seconds};
use super::rwbs::{word_op, PassedOver};
use super::{Durability, Format, Line, LineReader, Request};

/// `systor17` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Systor17 {}

impl Format for Systor17 {
    const LINE: &'static str = "timestamp_s,response_s,R|W,lun,offset_bytes,size_bytes";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader { without_type: PassedOver::new("without a type") })
    }
}

struct Reader {
    without_type: PassedOver,
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if is_header(text, &["timestamp"]) {
            return Ok(Line::Other);
        }
        let [time, response, op, lun, offset, size] = comma_fields(text)?;
        if !response.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(format!("response {} is not a time in seconds", quote(response)));
        }
        number("lun", lun)?;
        let time = seconds("timestamp", time)?;
        let (offset_bytes, size_bytes) = (number("offset", offset)?, number("size", size)?);
        if op.is_empty() {
            return Ok(self.without_type.pass_over());
        }
        let (op, durability) = (word_op(op)?, Durability::default());
        let volume = lun;
        Ok(Line::Request(Request { time, volume, offset_bytes, size_bytes, op, durability }))
    }

    fn remarks(&self) -> Vec<String> {
        self.without_type.remark().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;
    use crate::units::Ns;

    #[test]
    fn seconds_bytes_and_blanks() {
        let mut reader = Systor17 {}.reader();
        let header = "Timestamp,Response,IOType,LUN,Offset,Size";
        assert_eq!(reader.line(header), Ok(Line::Other));
        for response in ["0.000806000", ""] {
            let text = format!("1456095145.133076000,{response},R,4,899056122368,131072");
            let Ok(Line::Request(request)) = reader.line(&text) else { panic!("{text}") };
            assert_eq!((request.op, request.volume), (HostOp::Read, "4"));
            assert_eq!(request.time, Ns(1_456_095_145_133_076_000));
            assert_eq!((request.offset_bytes, request.size_bytes), (899_056_122_368, 131_072));
        }
        assert!(reader.remarks().is_empty());
        assert_eq!(reader.line("1456135202.013118000,0.001,,0,4096,4096"), Ok(Line::Other));
        assert_eq!(reader.remarks(), ["1 request without a type was passed over"]);
        for bad in
            ["1.0,x,R,0,0,512", "1.0,,X,0,0,512", "1.0,,R,a,0,512", "1.0,,R,0,0", ",,R,0,0,1"]
        {
            assert!(reader.line(bad).is_err(), "{bad}");
        }
    }
}
