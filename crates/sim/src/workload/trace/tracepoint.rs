//! Block events as text of ftrace, trace-cmd and `perf script`.
//!
//! ```text
//!  task-pid [cpu] flags 12.345678: block_rq_issue: 8,0 WS 4096 () 2048 + 8 [task]
//!  task pid [cpu] 12.345678: block:block_rq_issue: 8,0 R 4096 () 2048 + 8 none,0,0 [task]
//! ```
//!
//! After `include/trace/events/block.h` of the kernel: device, RWBS, bytes, the command of requests
//! that are not of the block layer, sector and sectors; newer kernels add a priority before the
//! task. A request is its issue to the driver. Other events are skipped; a flush has no
//! sectors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{quote, seconds, sectors};
use super::rwbs::{PassedOver, Rwbs};
use super::{Format, Line, LineReader};

/// `tracepoint` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tracepoint {}

impl Format for Tracepoint {
    const LINE: &'static str =
        "task-pid [cpu] time_s: block_rq_issue: maj,min rwbs bytes () sector + sectors [task]";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader { without_data: PassedOver::new("without data") })
    }
}

struct Reader {
    without_data: PassedOver,
}

/// Time, name and the rest of an event.
fn event(text: &str) -> Option<(&str, &str, &str)> {
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once(": ")?;
        let time = before.rsplit([' ', '\t']).next()?;
        if time.contains('.') && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            let (name, fields) = after.split_once(": ").or(after.trim().split_once(':'))?;
            return Some((time, name.trim(), fields));
        }
        rest = after;
    }
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let Some((time, name, fields)) = event(text) else {
            let is_remark = ["cpus=", "CPU ", "version = "].iter().any(|it| text.starts_with(it));
            return if is_remark {
                Ok(Line::Other)
            } else {
                Err("no event with a time".to_owned())
            };
        };
        let time = seconds("time", time)?;
        if name.strip_prefix("block:").unwrap_or(name) != "block_rq_issue" {
            return Ok(Line::Other);
        }
        let missing = |name: &str| format!("there is no {name} field");
        let (front, back) = fields.split_once('(').ok_or_else(|| missing("command"))?;
        let (_, back) = back.split_once(')').ok_or_else(|| missing("command"))?;
        let mut front = front.split_ascii_whitespace();
        let volume = front.next().ok_or_else(|| missing("device"))?;
        let rwbs = Rwbs::of(front.next().ok_or_else(|| missing("rwbs"))?)?;
        let (place, process) = back.split_once('[').ok_or_else(|| missing("task"))?;
        let process = process.trim_end().strip_suffix(']').ok_or_else(|| missing("task"))?;
        let mut place = place.split_ascii_whitespace();
        let sector = place.next().ok_or_else(|| missing("sector"))?;
        match place.next() {
            Some("+") => {}
            other => return Err(format!("{} instead of `+`", quote(other.unwrap_or_default()))),
        }
        let size_bytes = sectors("sectors", place.next().ok_or_else(|| missing("sectors"))?)?;
        let request = rwbs.request(time, volume, process, (sector, size_bytes))?;
        Ok(request.map_or_else(|| self.without_data.pass_over(), Line::Request))
    }

    fn remarks(&self) -> Vec<String> {
        self.without_data.remark().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Request;
    use super::*;
    use crate::op::HostOp::{self, Flush, Read, Write};
    use crate::units::Ns;

    const TEXT: &str = "\
# tracer: nop
 kworker/0:1H-210 [000] d..1. 12.000001: block_rq_issue: 8,0 WFS 4096 () 2048 + 8 [kworker/0:1H]
 fio  4821 [001]    12.000002:   block:block_rq_issue: 8,0 R 65536 () 4096 + 128 none,0,0 [a b]
 fio  4821 [001]    12.000003:   block:block_rq_complete: 8,0 R () 4096 + 128 none,0,0 [0]
 fio-4821 [001] .... 12.000004: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [fio]
 fio-4821 [001] .... 12.000005: block_rq_issue: 8,0 N 36 (12 01 00) 0 + 0 [fio]
";

    #[test]
    fn an_issue_is_a_request() {
        let mut reader = Tracepoint {}.reader();
        let mut found: Vec<(u64, HostOp, u64, u64, String)> = Vec::new();
        for text in TEXT.lines().skip(1) {
            match reader.line(text).unwrap() {
                Line::Request(Request {
                    time: Ns(ns),
                    op,
                    offset_bytes,
                    size_bytes,
                    process,
                    ..
                }) => {
                    found.push((ns - 12_000_000_000, op, offset_bytes, size_bytes, process.into()));
                }
                line => assert_eq!(line, Line::Other, "{text}"),
            }
        }
        let expected = [
            (1000, Write, 2048 * 512, 4096, "kworker/0:1H".to_owned()),
            (2000, Read, 4096 * 512, 65_536, "a b".to_owned()),
            (4000, Flush, 0, 0, "fio".to_owned()),
        ];
        assert_eq!(found, expected);
        assert_eq!(reader.remarks(), ["1 request without data was skipped"]);
        for bad in [
            "fio-1 [0] 1.0: block_rq_issue: 8,0 W 4096 () 8 - 8 [a]",
            "fio-1 [0] 1.0: block_rq_issue: 8,0 X 4096 () 8 + 8 [a]",
            "fio-1 [0] 1.0: block_rq_issue: 8,0 W 4096",
            "1.0 block_rq_issue",
        ] {
            assert!(reader.line(bad).is_err(), "{bad}");
        }
    }
}
