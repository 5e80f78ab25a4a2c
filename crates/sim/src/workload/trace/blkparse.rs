//! Text as blkparse prints it by default:
//! `maj,min cpu sequence time pid action rwbs sector + sectors [process]`.
//!
//! One request causes several events: Q queued, D dispatched to the driver, C completed. Exactly
//! one kind is read, Q by default: it is what the host asked, at the time it asked. `{kind:
//! blkparse, event: D}` takes requests after merging. In RWBS a leading F (flush before) is passed
//! over, then R reads, W writes and D discards; events without sectors (flushes, plugs, messages)
//! ask nothing. The summary at the end of the output is recognised by its first line, `CPU0 (…):`
//! or `Total (…):`, and ends the trace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{number, quote, seconds, sectors};
use super::{Format, Line, LineReader, Request};
use crate::op::HostOp;

/// Parameters of `blkparse`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Blkparse {
    /// The event that counts as the request; default Q.
    pub event: BlockEvent,
}

/// An event in the life of a block request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BlockEvent {
    /// Queued: asked by the host.
    #[default]
    Q,
    /// Dispatched to the driver.
    D,
    /// Completed.
    C,
}

impl Format for Blkparse {
    const LINE: &'static str =
        "maj,min cpu sequence time_s pid action rwbs sector + sectors [process]";

    fn reader(&self) -> Box<dyn LineReader> {
        let action = match self.event {
            BlockEvent::Q => "Q",
            BlockEvent::D => "D",
            BlockEvent::C => "C",
        };
        Box::new(Reader { action, has_events: false, is_summary: false })
    }
}

struct Reader {
    action: &'static str,
    has_events: bool,
    is_summary: bool,
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if self.is_summary {
            return Ok(Line::Other);
        }
        if self.has_events && ["CPU", "Total"].iter().any(|word| text.starts_with(word)) {
            self.is_summary = true;
            return Ok(Line::Other);
        }
        let line = event(text, self.action)?;
        self.has_events = true;
        Ok(line)
    }
}

fn event<'a>(text: &'a str, wanted: &str) -> Result<Line<'a>, String> {
    let mut fields = text.split_ascii_whitespace();
    let mut next = |name: &str| fields.next().ok_or_else(|| format!("there is no {name} field"));
    let volume = next("device")?;
    let (major, minor) = volume
        .split_once(',')
        .ok_or_else(|| format!("device {} is not a pair of numbers such as 8,0", quote(volume)))?;
    number("device", major)?;
    number("device", minor)?;
    number("cpu", next("cpu")?)?;
    number("sequence", next("sequence")?)?;
    let time = seconds("time", next("time")?)?;
    number("pid", next("pid")?)?;
    if next("action")? != wanted {
        return Ok(Line::Other);
    }
    let Some(op) = operation(next("rwbs")?)? else { return Ok(Line::Other) };
    let sector = next("sector")?;
    if sector.starts_with('[') {
        return Ok(Line::Other);
    }
    let sector = sectors("sector", sector)?;
    match next("+")? {
        "+" => {}
        other => return Err(format!("{} instead of `+`", quote(other))),
    }
    let size_bytes = sectors("sectors", next("sectors")?)?;
    if size_bytes == 0 {
        return Ok(Line::Other);
    }
    Ok(Line::Request(Request { time, volume, offset_bytes: sector, size_bytes, op }))
}

fn operation(rwbs: &str) -> Result<Option<HostOp>, String> {
    match rwbs.bytes().find(|&byte| byte != b'F') {
        Some(b'R') => Ok(Some(HostOp::Read)),
        Some(b'W') => Ok(Some(HostOp::Write)),
        Some(b'D') => Ok(Some(HostOp::Trim)),
        // Nothing but flushes, or N: no data.
        None | Some(b'N') => Ok(None),
        Some(_) => Err(format!("rwbs {} is unknown", quote(rwbs))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ns;

    const TEXT: &str = "\
  8,0    3        1     0.000000000   697  G   W 223490 + 8 [flush]
  8,0    3        2     0.000001829   697  Q   W 223490 + 8 [flush]
  8,0    3        3     0.000002000   697  Q  FWFS 223498 + 16 [flush]
  8,0    3        4     0.000004000   697  D   W 223490 + 8 [flush]
  8,0    1        5     0.500000000     0  C   W 223490 + 8 [0]
  8,0    1        6     1.000000000   700  Q   D 4096 + 2048 [fstrim]
  8,0    1        7     1.000000001   700  Q   RA 64 + 256 [cat]
  8,0    1        8     1.000000002   700  Q  FWS [flush]
  8,0    1        9     1.000000003   700  P   N [cat]
  8,0    1        0     1.000000004     0  m   N cfq700 alloced
CPU0 (8,0):
 Reads Queued:           0,        0KiB	 Writes Queued:           0,        0KiB
Total (8,0):
Throughput (R/W): 0KiB/s / 0KiB/s
Events (8,0): 20 entries
";

    fn read(event: BlockEvent) -> Vec<(Ns, HostOp, u64)> {
        let mut reader = Blkparse { event }.reader();
        let requests = TEXT.lines().filter_map(|line| match reader.line(line).unwrap() {
            Line::Request(r) => Some((r.time, r.op, r.size_bytes / 512)),
            Line::Other => None,
        });
        requests.collect()
    }

    #[test]
    fn one_kind_of_event_is_the_request() {
        let queued = [
            (Ns(1829), HostOp::Write, 8),
            (Ns(2000), HostOp::Write, 16),
            (Ns(1_000_000_000), HostOp::Trim, 2048),
            (Ns(1_000_000_001), HostOp::Read, 256),
        ];
        assert_eq!(read(BlockEvent::Q), queued);
        assert_eq!(read(BlockEvent::D), [(Ns(4000), HostOp::Write, 8)]);
        assert_eq!(read(BlockEvent::C), [(Ns(500_000_000), HostOp::Write, 8)]);
    }

    #[test]
    fn a_summary_needs_events_before_it() {
        assert!(Blkparse::default().reader().line("CPU0 (8,0):").is_err());
        let bad =
            ["8 0 1 0.0 1 Q W 1 + 1", "8,0 0 1 0.0 1 Q X 1 + 1", "8,0 0 1 0.0 1 Q W 1 - 1", "8,0"];
        for line in bad {
            assert!(Blkparse::default().reader().line(line).is_err(), "{line}");
        }
    }
}
