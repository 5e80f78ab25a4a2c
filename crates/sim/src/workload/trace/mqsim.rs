//! `SSDsim` and `MQSim` ASCII traces: `time_ns device sector sectors type`, five whole numbers
//! between blanks.
//!
//! Type 1 reads and 0 writes; sectors are 512 B; the device column is a volume number. The field's
//! copies of the `UMass` Financial traces come in this form too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{blank_fields, number, quote, sectors};
use super::{Durability, Format, Line, LineReader, Request};
use crate::op::HostOp;
use crate::units::Ns;

/// `mqsim` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mqsim {}

impl Format for Mqsim {
    const LINE: &'static str = "time_ns device sector sectors type, type 1 = read, 0 = write";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader)
    }
}

struct Reader;

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        request(text).map(Line::Request)
    }
}

pub(super) fn request(text: &str) -> Result<Request<'_>, String> {
    let [time, device, sector, sector_count, code] = blank_fields(text)?;
    number("device", device)?;
    Ok(Request {
        time: Ns(number("time", time)?),
        volume: device,
        offset_bytes: sectors("sector", sector)?,
        size_bytes: sectors("sectors", sector_count)?,
        op: match code {
            "0" => HostOp::Write,
            "1" => HostOp::Read,
            _ => return Err(format!("type {} is unknown", quote(code))),
        },
        durability: Durability::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reads_and_zero_writes() {
        let read = request("938944000 13 93230992 32 1").unwrap();
        assert_eq!(read.op, HostOp::Read);
        assert_eq!((read.time, read.volume), (Ns(938_944_000), "13"));
        assert_eq!((read.offset_bytes, read.size_bytes), (93_230_992 * 512, 16_384));
        assert_eq!(request("0\t0  303567 7 0").unwrap().op, HostOp::Write);
        for bad in ["1 2 3 4", "1 2 3 4 5", "1 2 3 4 1 6", "0.5 0 1 1 1", "1 a 3 4 1", "1 0 -3 4 1"]
        {
            assert!(request(bad).is_err(), "{bad}");
        }
    }
}
