//! Mobile block traces of ACSL Technion (Pixel 6a):
//! `proces,device,rw_flag,sector,size,timestamp`.
//!
//! The first column is spelt `proces` in the data and `process` in their description. Sector and
//! size count 512 B, the timestamp is in seconds, the device is a volume. The process name may be
//! anything, such as `<...>`: the other columns are counted from the end of the line. The letters
//! are those of RWBS; a flush has no address.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{is_header, number, seconds, sectors};
use super::rwbs::{PassedOver, Rwbs};
use super::{Format, Line, LineReader, Request};

/// `mobile` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mobile {}

impl Format for Mobile {
    const LINE: &'static str = "process,device,R|W,sector,sectors,time_s";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader { without_data: PassedOver::new("without data") })
    }
}

struct Reader {
    without_data: PassedOver,
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let mut fields = text.rsplitn(6, ',').map(str::trim);
        let mut last =
            || fields.next().ok_or_else(|| "fewer than 6 comma-separated fields".to_owned());
        let (time, size, sector) = (last()?, last()?, last()?);
        let (op, device, _process) = (last()?, last()?, last()?);
        if op.len() > 4 && is_header(text, &["proces", "process"]) {
            return Ok(Line::Other);
        }
        number("device", device)?;
        let (time, size_bytes) = (seconds("timestamp", time)?, sectors("size", size)?);
        let (rwbs, volume) = (Rwbs::of(op)?, device);
        match (rwbs.op, rwbs.flush(time, volume)) {
            (Some(op), _) if size_bytes > 0 => {
                let (offset_bytes, durability) = (sectors("sector", sector)?, rwbs.durability);
                Ok(Line::Request(Request {
                    time,
                    volume,
                    offset_bytes,
                    size_bytes,
                    op,
                    durability,
                }))
            }
            (_, Some(flush)) => Ok(Line::Request(flush)),
            (_, None) => Ok(self.without_data.pass_over()),
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.without_data.remark().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;
    use crate::units::Ns;

    #[test]
    fn the_process_may_be_anything() {
        let mut reader = Mobile {}.reader();
        for first in ["proces", "process"] {
            let header = format!("{first},device,rw_flag,sector,size,timestamp");
            assert_eq!(reader.line(&header), Ok(Line::Other));
        }
        for process in ["<...>", "kworker/u16:3", "a, b", ""] {
            let text = format!("{process},8388608,W,128,8,5218128.1812390005");
            let Ok(Line::Request(request)) = reader.line(&text) else { panic!("{text}") };
            assert_eq!((request.op, request.volume), (HostOp::Write, "8388608"));
            assert_eq!(request.time, Ns(5_218_128_181_239_000));
            assert_eq!((request.offset_bytes, request.size_bytes), (65_536, 4096));
        }
        let flush = Line::Request(Request::flush(Ns(1_500_000_000), "8388608"));
        for text in ["x,8388608,FF,0,0,1.5", "x,8388608,FF,18446744073709551615,0,1.5"] {
            assert_eq!(reader.line(text), Ok(flush), "{text}");
        }
        assert_eq!(reader.line("x,8388608,W,0,0,1.5"), Ok(Line::Other));
        assert_eq!(reader.remarks(), ["1 request without data was passed over"]);
        for bad in ["8388608,W,128,8,1.5", "x,8388608,Z,128,8,1.5", "x,a,W,128,8,1.5"] {
            assert!(reader.line(bad).is_err(), "{bad}");
        }
    }
}
