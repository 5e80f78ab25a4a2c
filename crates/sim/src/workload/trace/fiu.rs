//! FIU traces (`IODedup` and `SRCMap`, SNIA IOTTA):
//! `time_ns pid process lba sectors R|W major minor md5`, between blanks.
//!
//! Koller and Rangaswami, "I/O Deduplication: Utilizing Content Similarity to Improve I/O
//! Performance", FAST 2010. LBA and size count sectors of 512 B. The MD5 of the content is not
//! used. A process name may hold blanks: columns are counted from both ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{between, number, sectors};
use super::rwbs::word_op;
use super::{Durability, Format, Line, LineReader, Request};
use crate::units::Ns;

/// `fiu` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fiu {}

impl Format for Fiu {
    const LINE: &'static str = "time_ns pid process lba sectors R|W major minor md5";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader)
    }
}

struct Reader;

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let mut fields = text.split_ascii_whitespace();
        let missing = || "fewer than 9 blank-separated fields".to_owned();
        let mut last = || fields.next_back().ok_or_else(missing);
        let (_md5, minor, major) = (last()?, last()?, last()?);
        let (op, size, lba) = (last()?, last()?, last()?);
        let mut first = || fields.next().ok_or_else(missing);
        let (time, pid, _process) = (first()?, first()?, first()?);
        number("pid", pid)?;
        number("major", major)?;
        number("minor", minor)?;
        Ok(Line::Request(Request {
            time: Ns(number("time", time)?),
            volume: between(text, major, minor),
            offset_bytes: sectors("lba", lba)?,
            size_bytes: sectors("size", size)?,
            op: word_op(op)?,
            durability: Durability::default(),
        }))
    }

    fn volume_name(&self, volume: &str) -> String {
        volume.split_ascii_whitespace().collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;

    #[test]
    fn columns_are_counted_from_both_ends() {
        let md5 = "56f11b711d91a065a2b6458eca924523";
        for process in ["gzip", "web server 1"] {
            let text = format!("89968195792462 20782 {process} 283193184 8 R 6 0 {md5}");
            let Ok(Line::Request(request)) = Reader.line(&text) else { panic!("{text}") };
            assert_eq!((request.op, request.time), (HostOp::Read, Ns(89_968_195_792_462)));
            assert_eq!(Reader.volume_name(request.volume), "6,0");
            assert_eq!((request.offset_bytes, request.size_bytes), (283_193_184 * 512, 4096));
        }
        for bad in
            ["1 2 p 3 8 R 6 0", "1 2 p 3 8 X 6 0 m", "1 x p 3 8 R 6 0 m", "1 2 p 3 8 R a 0 m"]
        {
            assert!(Reader.line(bad).is_err(), "{bad}");
        }
    }
}
