//! Records of `serve --record`: `seq,conn,op,flags,off,len,t_arrive,t_target,t_reply`.
//!
//! Offset and length are in bytes, times in nanoseconds since the server began. The time of a
//! request is its arrival. Zeros that were to be allocated are writes, others are trims; fetching
//! ahead is a read. Flag 1 is force unit access.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{comma_fields, number, quote};
use super::rwbs::PassedOver;
use super::{Durability, Format, Line, LineReader, Request};
use crate::op::HostOp;
use crate::units::Ns;

/// Flag of a command: force unit access.
const FUA: u64 = 1;
/// Flag of a command: zeros are to be allocated.
const NO_HOLE: u64 = 2;

/// A record is of one drive.
const VOLUME: &str = "0";

/// `served` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Served {}

impl Format for Served {
    const LINE: &'static str = "seq,conn,op,flags,off,len,t_arrive,t_target,t_reply";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader { without_data: PassedOver::new("without data") })
    }
}

struct Reader {
    without_data: PassedOver,
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let fields: [&str; 9] = comma_fields(text)?;
        let [sequence, connection, op, flags, offset, length, arrive, ..] = fields;
        if text == Served::LINE {
            return Ok(Line::Other);
        }
        number("seq", sequence)?;
        number("conn", connection)?;
        let flags = number("flags", flags)?;
        let time = Ns(number("t_arrive", arrive)?);
        let op = match op {
            "read" | "cache" => HostOp::Read,
            "write" => HostOp::Write,
            "write_zeroes" if flags & NO_HOLE != 0 => HostOp::Write,
            "trim" | "write_zeroes" => HostOp::Trim,
            "flush" => return Ok(Line::Request(Request::flush(time, VOLUME))),
            "block_status" => return Ok(self.without_data.pass_over()),
            other => return Err(format!("{} is no request of a served drive", quote(other))),
        };
        Ok(Line::Request(Request {
            time,
            volume: VOLUME,
            offset_bytes: number("off", offset)?,
            size_bytes: number("len", length)?,
            op,
            durability: Durability {
                is_fua: op == HostOp::Write && flags & FUA != 0,
                ..Durability::default()
            },
        }))
    }

    fn remarks(&self) -> Vec<String> {
        self.without_data.remark().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_writes_or_trims() {
        let mut reader = Served {}.reader();
        assert_eq!(reader.line(Served::LINE), Ok(Line::Other));
        let mut op = |op: &str, flags: u64| {
            let text = format!("7,0,{op},{flags},8192,4096,1500,2500,2600");
            match reader.line(&text) {
                Ok(Line::Request(request)) => {
                    assert_eq!((request.time, request.offset_bytes), (Ns(1500), 8192));
                    Some((request.op, request.durability.is_fua))
                }
                Ok(_) => None,
                Err(message) => panic!("{message}"),
            }
        };
        assert_eq!(op("read", 1), Some((HostOp::Read, false)));
        assert_eq!(op("write", 0), Some((HostOp::Write, false)));
        assert_eq!(op("write", 1), Some((HostOp::Write, true)));
        assert_eq!(op("write_zeroes", 1), Some((HostOp::Trim, false)));
        assert_eq!(op("write_zeroes", 3), Some((HostOp::Write, true)));
        assert_eq!(op("block_status", 0), None);
        let flush = Line::Request(Request::flush(Ns(1500), VOLUME));
        assert_eq!(reader.line("8,0,flush,0,0,0,1500,2500,2600"), Ok(flush));
        assert_eq!(reader.remarks(), ["1 request without data was passed over"]);
        assert!(reader.line("7,0,erase,0,0,1,0,0,0").is_err());
    }
}
