//! Tencent Cloud Block Storage CSV: `time_s,sector,sectors,type,volume`, no header in the
//! published files.
//!
//! Type 0 reads and 1 writes, the reverse of `mqsim`. Time has a resolution of one second, so
//! requests of a second arrive together: replay these closed-loop when latency matters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{comma_fields, is_header, number, quote, seconds, sectors};
use super::{Durability, Format, Line, LineReader, Request};
use crate::op::HostOp;

/// `tencent` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tencent {}

impl Format for Tencent {
    const LINE: &'static str = "time_s,sector,sectors,type,volume, type 0 = read, 1 = write";

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
        let [time, sector, sector_count, code, volume] = comma_fields(text)?;
        number("volume", volume)?;
        Ok(Line::Request(Request {
            time: seconds("time", time)?,
            volume,
            offset_bytes: sectors("sector", sector)?,
            size_bytes: sectors("sectors", sector_count)?,
            op: match code {
                "0" => HostOp::Read,
                "1" => HostOp::Write,
                _ => return Err(format!("type {} is unknown", quote(code))),
            },
            durability: Durability::default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ns;

    #[test]
    fn zero_reads_and_one_writes() {
        let Ok(Line::Request(request)) = Reader.line("1538323199,13896880,128,0,1063") else {
            panic!("a request")
        };
        assert_eq!((request.op, request.volume), (HostOp::Read, "1063"));
        assert_eq!(request.time, Ns(1_538_323_199_000_000_000));
        assert_eq!((request.offset_bytes, request.size_bytes), (13_896_880 * 512, 65_536));
        assert_eq!(Reader.line("Timestamp,Offset,Size,IOType,VolumeID"), Ok(Line::Other));
        for bad in ["1,2,3,2,4", "1,2,3,R,4", "1,2,3,0", "1,2,3,0,", "1,2,3,0,4,5"] {
            assert!(Reader.line(bad).is_err(), "{bad}");
        }
    }
}
