//! SPC text, the form of the `UMass` Financial and `WebSearch` traces:
//! `asu,lba,bytes,opcode,seconds`.
//!
//! After the SPC Trace File Format Specification 1.0.1: the application-specific unit is a volume,
//! the LBA counts blocks of 512 B, the opcode is R or W in either case, and optional fields may
//! follow. The same traces circulate in `SSDsim` form; such lines, told by their blanks, are read
//! as `mqsim` reads them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{number, seconds, sectors};
use super::rwbs::word_op;
use super::{mqsim, Durability, Format, Line, LineReader, Request};

/// `spc` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spc {}

impl Format for Spc {
    const LINE: &'static str =
        "asu,lba,bytes,R|W,time_s (or, in SSDsim form, time_ns device sector sectors type)";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader)
    }
}

struct Reader;

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if !text.contains(',') {
            return mqsim::request(text).map(Line::Request);
        }
        let mut fields = text.split(',').map(str::trim);
        let mut next =
            |name: &str| fields.next().ok_or_else(|| format!("there is no {name} field"));
        let asu = next("asu")?;
        number("asu", asu)?;
        Ok(Line::Request(Request {
            volume: asu,
            offset_bytes: sectors("lba", next("lba")?)?,
            size_bytes: number("size", next("size")?)?,
            op: word_op(next("opcode")?)?,
            durability: Durability::default(),
            time: seconds("time", next("time")?)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;
    use crate::units::Ns;

    #[test]
    fn both_forms_of_the_same_request_agree() {
        // 3584 bytes are 7 sectors, 0.026214 s are 26,214,000 ns.
        let text = Reader.line("0,303574,3584,w,0.026214").unwrap();
        assert_eq!(text, Reader.line("26214000 0 303574 7 0").unwrap());
        let Line::Request(request) = text else { panic!("a request") };
        assert_eq!((request.op, request.time), (HostOp::Write, Ns(26_214_000)));
    }

    #[test]
    fn optional_fields_are_passed_over() {
        assert!(Reader.line("1, 55596, 3072, R, 0.078643, 17, note").is_ok());
        assert!(Reader.line("1,55596,3072,R").is_err());
        assert!(Reader.line("1,55596,3072,X,0.1").is_err());
    }
}
