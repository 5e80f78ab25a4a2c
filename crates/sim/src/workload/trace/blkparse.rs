//! Text as blkparse prints it by default:
//! `maj,min cpu sequence time pid action rwbs sector + sectors [process]`.
//!
//! One request causes several events: Q queued, D dispatched to the driver, C completed. Exactly
//! one kind is read: Q if the trace has any, since these are the requests of the host at the time
//! of the request; else D, else C, with a remark. `{kind: blkparse, event: D}` takes requests after
//! merging. Of events without sectors, those whose RWBS has a flush are flushes; plugs and messages
//! ask nothing, nor do commands of zones without sectors, whose address is not printed. A remark
//! names the devices that have no such event. The summary at the end of the output is recognised by
//! its first line, `CPU0 (…):` or `Total (…):`, and ends when events follow, as in outputs that
//! were joined.
//!
//! A device that is stacked on another, such as LVM on a disk, passes its requests on, and the
//! trace has them at both. A (remapped) shows this: `8,0 … A W 1052672 + 16 <- (253,0) 2048` is of
//! the lower device, and the one behind the arrow is above it. By default the requests of the
//! lowest devices count; see [`Layer`].
//!
//! The records of blktrace itself become such lines first (`blktrace`).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{number, quote, seconds, sectors};
use super::ops::{Flags, RESET};
use super::rwbs::{PassedOver, Rwbs};
use super::{blktrace, Format, Line, LineReader, RecordSize, Request};
use crate::config::is_default;

/// Parameters of `blkparse`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Blkparse {
    /// The event that counts as the request; by default Q, in a trace without any D, else C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<BlockEvent>,
    /// Which requests count if devices are stacked on others: those of `bottom`, `top` or `all`
    /// devices; default `bottom`.
    #[serde(skip_serializing_if = "is_default")]
    pub layer: Layer,
}

/// Devices of a stack whose requests count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Devices that are on no other: requests to the drives.
    #[default]
    Bottom,
    /// Devices with no other on them: requests to the volumes.
    Top,
    /// All: a request counts once for each device that it passed.
    All,
}

/// An event in the life of a block request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum BlockEvent {
    /// Completed.
    C,
    /// Dispatched to the driver.
    D,
    /// Queued: asked by the host.
    Q,
}

impl BlockEvent {
    fn of(action: &str) -> Option<Self> {
        match action {
            "Q" => Some(Self::Q),
            "D" => Some(Self::D),
            "C" => Some(Self::C),
            _ => None,
        }
    }
}

impl Format for Blkparse {
    const LINE: &'static str =
        "maj,min cpu sequence time_s pid action rwbs sector + sectors [process], or records of \
         blktrace";

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader {
            wanted: self.event,
            best: self.event,
            has_events: false,
            has_requests: false,
            is_summary: false,
            devices: BTreeMap::new(),
            layer: self.layer,
            stacks: BTreeSet::new(),
            zones: PassedOver::new(
                "to zones (ZR without an address, ZRA of all, ZO, ZC, ZF: open, close, finish)",
            ),
        })
    }
}

struct Reader {
    wanted: Option<BlockEvent>,
    /// The event that is read: the wanted one, or the best found.
    best: Option<BlockEvent>,
    has_events: bool,
    has_requests: bool,
    is_summary: bool,
    /// By device, such as `8,0`.
    devices: BTreeMap<String, Seen>,
    layer: Layer,
    /// Pairs of a device and the one below that it passes requests on to.
    stacks: BTreeSet<(String, String)>,
    zones: PassedOver,
}

/// Events Q, D and C of a device.
#[derive(Default)]
struct Seen {
    kept: u64,
    passed: u64,
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if self.is_summary && !is_event(text) {
            return Ok(Line::Other);
        }
        self.is_summary = false;
        // One for each processor, when the output was not made by way of a pipe.
        if !self.has_events && text.starts_with("Input file ") {
            return Ok(Line::Other);
        }
        if self.has_events && ["CPU", "Total"].iter().any(|word| text.starts_with(word)) {
            self.is_summary = true;
            return Ok(Line::Other);
        }
        let line = self.event(text)?;
        self.has_events = true;
        Ok(line)
    }

    fn records(&mut self, head: &[u8]) -> Option<RecordSize> {
        blktrace::is_start(head).then_some(blktrace::RECORD)
    }

    fn record<'a>(&mut self, bytes: &'a [u8], text: &'a mut String) -> Result<Line<'a>, String> {
        blktrace::print(bytes, text)?;
        self.line(text)
    }

    fn repeated_volumes(&self) -> Vec<String> {
        let volumes: BTreeSet<_> = match self.layer {
            Layer::Bottom => self.doubled().map(|(above, _)| above).collect(),
            Layer::Top => self.doubled().map(|(_, below)| below).collect(),
            Layer::All => BTreeSet::new(),
        };
        volumes.into_iter().cloned().collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.stack_remarks();
        remarks.extend(self.zones.remark());
        let (None, Some(best)) = (self.wanted, self.best) else { return remarks };
        remarks.extend(match best {
            BlockEvent::Q => Vec::new(),
            BlockEvent::D => vec![absent("Q (queued)", "D (dispatched to the driver)")],
            BlockEvent::C => vec![absent("Q (queued) or D (dispatched)", "C (completed)")],
        });
        for (device, seen) in &self.devices {
            if seen.kept == 0 && seen.passed > 0 {
                remarks.push(format!(
                    "device {device} has no events {best:?}; its other events ({}) were passed \
                     over; {{kind: blkparse, event: …}} chooses the event",
                    seen.passed
                ));
            }
        }
        remarks
    }
}

fn absent(missing: &str, event: &str) -> String {
    format!("no events {missing}: the requests are its events {event}")
}

/// Whether a line begins with a device, as events do and lines of a summary do not.
fn is_event(text: &str) -> bool {
    let device = text.split_ascii_whitespace().next().and_then(|field| field.split_once(','));
    device.is_some_and(|(major, minor)| {
        number("device", major).is_ok() && number("device", minor).is_ok()
    })
}

impl Reader {
    /// The pairs of devices that both have requests.
    fn doubled(&self) -> impl Iterator<Item = (&String, &String)> {
        let has = |device: &str| self.devices.get(device).is_some_and(|seen| seen.kept > 0);
        let pairs = self.stacks.iter().map(|(above, below)| (above, below));
        pairs.filter(move |(above, below)| has(above) && has(below))
    }

    fn stack_remarks(&self) -> Vec<String> {
        let remark = |(above, below): (&String, &String)| {
            let kept = |device: &String| self.devices[device].kept;
            let left_out = |device, other| {
                format!(
                    "the {} requests of {device} are left out, those of {other} count",
                    kept(device)
                )
            };
            let (done, others) = match self.layer {
                Layer::Bottom => (left_out(above, below), "top or all"),
                Layer::Top => (left_out(below, above), "bottom or all"),
                Layer::All => ("requests count at both".to_owned(), "bottom or top"),
            };
            format!(
                "device {above} lies on {below} and passes its requests on: {done}; {{kind: \
                 blkparse, layer: …}} (--layer) chooses, {others}"
            )
        };
        self.doubled().map(remark).collect()
    }

    /// A request passed from the device behind the arrow to this one.
    fn remap<'a>(&mut self, below: &str, mut fields: impl Iterator<Item = &'a str>) {
        let above = fields.find(|&field| field == "<-").and_then(|_| fields.next());
        let above = above.and_then(|field| field.strip_prefix('(')?.strip_suffix(')'));
        if let Some(above) = above.filter(|&above| above != below) {
            self.stacks.insert((above.to_owned(), below.to_owned()));
        }
    }

    fn seen(&mut self, device: &str) -> &mut Seen {
        if !self.devices.contains_key(device) {
            self.devices.insert(device.into(), Seen::default());
        }
        self.devices.get_mut(device).expect("it was inserted")
    }

    fn event<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let mut fields = text.split_ascii_whitespace();
        let mut next =
            |name: &str| fields.next().ok_or_else(|| format!("there is no {name} field"));
        let volume = next("device")?;
        let (major, minor) = volume.split_once(',').ok_or_else(|| {
            format!("device {} is not a pair of numbers such as 8,0", quote(volume))
        })?;
        number("device", major)?;
        number("device", minor)?;
        number("cpu", next("cpu")?)?;
        number("sequence", next("sequence")?)?;
        let time = seconds("time", next("time")?)?;
        let process = next("pid")?;
        number("pid", process)?;
        let action = next("action")?;
        if action == "A" {
            self.remap(volume, fields);
            return Ok(Line::Other);
        }
        let Some(event) = BlockEvent::of(action) else { return Ok(Line::Other) };
        let is_read = match self.wanted {
            Some(wanted) => event == wanted,
            None => Some(event) >= self.best,
        };
        if !is_read {
            self.seen(volume).passed += 1;
            return Ok(Line::Other);
        }
        let letters = next("rwbs")?;
        let rwbs = Rwbs::of(letters)?;
        // No sectors: `[process]`, `sector [error]` or `sector (elapsed) [error]` of a flush, and
        // `bytes (command) [process]` or `(command) [error]` of a request that is not of the
        // block layer.
        let is_end = |field: &str| field.starts_with(['[', '(']);
        let sector = next("sector")?;
        let has_sectors = !is_end(sector)
            && match next("+")? {
                "+" => true,
                other if is_end(other) => false,
                other => return Err(format!("{} instead of `+`", quote(other))),
            };
        let size_bytes = if has_sectors { sectors("sectors", next("sectors")?)? } else { 0 };
        let request = match (rwbs.op, rwbs.flush(time, volume)) {
            (Some(op), _) if size_bytes > 0 || (op == RESET && has_sectors) => {
                let (offset_bytes, flags) = (sectors("sector", sector)?, rwbs.flags);
                Request { time, volume, offset_bytes, size_bytes, op, flags, process }
            }
            (_, Some(flush)) => flush.by(process),
            _ if letters.contains('Z') => return Ok(self.zones.pass_over()),
            _ => return Ok(Line::Other),
        };
        let is_better = self.has_requests && self.best != Some(event);
        if is_better {
            for seen in self.devices.values_mut() {
                seen.passed += std::mem::take(&mut seen.kept);
            }
        }
        self.seen(volume).kept += 1 + u64::from(request.flags.has(Flags::FLUSH_FIRST));
        (self.best, self.has_requests) = (Some(event), true);
        Ok(if is_better { Line::Restart(request) } else { Line::Request(request) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;
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

    /// Lines of the programs in addition to reads and writes of sectors: one line per file that is
    /// read, completed flushes, with and without the time they took, and commands of other kinds.
    #[test]
    fn what_has_no_sectors_asks_nothing_but_flushes() {
        let lines = [
            "Input file sda.blktrace.0 added",
            "  8,0 0 5 0.000069466 0  C  WS 0 [0]",
            "  8,0 0 5 0.000069466 0  C  WS 0 (    1234) [0]",
            "  8,0 0 6 0.100000000 9  D   R 36 (12 01 00 00 24 00 ..) [multipathd]",
            "  8,0 0 6 0.100000000 9  C   R (12 01 00 00 24 00 ..) [0]",
        ];
        for event in [None, Some(BlockEvent::C), Some(BlockEvent::D)] {
            let mut reader = Blkparse { event, ..Blkparse::default() }.reader();
            for text in lines {
                assert_eq!(reader.line(text), Ok(Line::Other), "{text}");
            }
            let flush = "  8,0 0 4 0.000068945 0  C  FN 0 [0]";
            let is_read = matches!(event, None | Some(BlockEvent::C));
            let expected = Line::Request(Request::flush(Ns(68_945), "8,0").by("0"));
            let expected = if is_read { expected } else { Line::Other };
            assert_eq!(reader.line(flush), Ok(expected));
            let is_refused = reader.line("  8,0 0 7 0.2 9  C  W 8 - 8 [0]").is_err();
            assert_eq!(is_refused, event != Some(BlockEvent::D));
        }
    }

    fn read(event: BlockEvent) -> Vec<(Ns, HostOp, u64)> {
        let mut reader = Blkparse { event: Some(event), ..Blkparse::default() }.reader();
        let requests = TEXT.lines().filter_map(|line| match reader.line(line).unwrap() {
            Line::Request(r) => Some((r.time, r.op, r.size_bytes / 512)),
            Line::Restart(_) => panic!("the event is given"),
            Line::Other => None,
        });
        requests.collect()
    }

    /// Requests of a trace with these kinds of events only, and the remarks.
    fn best(actions: &str) -> (Vec<Ns>, Vec<String>) {
        let mut reader = Blkparse::default().reader();
        let mut times = Vec::new();
        for line in TEXT.lines() {
            let action = line.split_ascii_whitespace().nth(5).unwrap_or_default();
            if BlockEvent::of(action).is_some() && !actions.contains(action) {
                continue;
            }
            match reader.line(line).unwrap() {
                Line::Request(request) => times.push(request.time),
                Line::Restart(request) => times = vec![request.time],
                Line::Other => {}
            }
        }
        (times, reader.remarks())
    }

    #[test]
    fn without_the_best_event_the_next_is_taken() {
        let queued = [1829, 2000, 1_000_000_000, 1_000_000_001, 1_000_000_002].map(Ns);
        assert_eq!(best("QDC"), (queued.to_vec(), vec![]));
        let (times, remarks) = best("DC");
        assert_eq!(times, [Ns(4000)]);
        assert!(remarks[0].contains("its events D (dispatched"), "{remarks:?}");
        let (times, remarks) = best("C");
        assert_eq!(times, [Ns(500_000_000)]);
        assert!(remarks[0].contains("its events C (completed)"), "{remarks:?}");
    }

    #[test]
    fn a_better_event_that_comes_later_drops_those_before() {
        let mut reader = Blkparse::default().reader();
        let is_restart = |line: Line<'_>| matches!(line, Line::Restart(_));
        for (text, restarts) in [
            ("8,0 0 1 0.1 1 C W 8 + 8 [a]", false),
            ("8,0 0 1 0.2 1 D W 8 + 8 [a]", true),
            ("8,0 0 1 0.3 1 D W 8 + 8 [a]", false),
            ("8,0 0 1 0.4 1 Q W 8 + 8 [a]", true),
        ] {
            assert_eq!(is_restart(reader.line(text).unwrap()), restarts, "{text}");
        }
        assert_eq!(reader.line("8,0 0 1 0.5 1 D W 8 + 8 [a]"), Ok(Line::Other));
    }

    /// Outputs that were joined: events continue behind a summary, and a device without the event
    /// that the others have is named.
    #[test]
    fn joined_outputs_are_read_to_their_end() {
        let mut reader = Blkparse::default().reader();
        let mut count = 0;
        for text in
            TEXT.lines().chain(["  8,16 0 1 2.0 1  D  W 8 + 8 [a]", "CPU0 (8,16):", " Reads"])
        {
            count += usize::from(matches!(reader.line(text).unwrap(), Line::Request(_)));
        }
        assert_eq!(count, 5);
        for text in ["  8,0 0 1 2.5 1  Q  W 8 + 8 [a]", "  8,32 0 1 3.0 1  Q  R 8 + 8 [a]"] {
            assert!(matches!(reader.line(text), Ok(Line::Request(_))));
        }
        let remarks = reader.remarks();
        assert_eq!(remarks.len(), 1);
        assert!(
            remarks[0].starts_with("device 8,16 has no events Q; its other events (1)"),
            "{remarks:?}"
        );
    }

    #[test]
    fn one_kind_of_event_is_the_request() {
        let queued = [
            (Ns(1829), HostOp::Write, 8),
            (Ns(2000), HostOp::Write, 16),
            (Ns(1_000_000_000), HostOp::Trim, 2048),
            (Ns(1_000_000_001), HostOp::Read, 256),
            (Ns(1_000_000_002), HostOp::Flush, 0),
        ];
        assert_eq!(read(BlockEvent::Q), queued);
        assert_eq!(read(BlockEvent::D), [(Ns(4000), HostOp::Write, 8)]);
        assert_eq!(read(BlockEvent::C), [(Ns(500_000_000), HostOp::Write, 8)]);
    }

    /// LVM on a disk: every request was replayed at both devices.
    #[test]
    fn remaps_tell_which_device_lies_on_which() {
        let text = "\
253,0 1 1 0.000000000 4821  Q  WS 2048 + 16 [postgres]
  8,0 1 1 0.000002100 4821  A  WS 1052672 + 16 <- (253,0) 2048
  8,0 1 2 0.000002300 4821  Q  WS 1052672 + 16 [postgres]
  8,0 0 1 0.001002000 4821  A FWFSM 1054720 + 8 <- (253,0) 4096
  8,0 0 2 0.001002300 4821  Q FWFSM 1054720 + 8 [jbd2/dm-0-8]
 8,16 0 3 0.002002300 4821  A  R 64 + 8 <- (8,17) 0
 8,16 0 4 0.002002300 4821  Q  R 64 + 8 [cat]
";
        for (layer, repeated, said) in [
            (Layer::Bottom, vec!["253,0"], "the 1 requests of 253,0 are left out, those of 8,0"),
            (Layer::Top, vec!["8,0"], "the 3 requests of 8,0 are left out, those of 253,0"),
            (Layer::All, vec![], "requests count at both"),
        ] {
            let mut reader = Blkparse { layer, ..Blkparse::default() }.reader();
            text.lines().for_each(|line| {
                reader.line(line).unwrap();
            });
            assert_eq!(reader.repeated_volumes(), repeated, "{layer:?}");
            // The partition behind the other arrow has no requests itself.
            let remarks = reader.remarks();
            assert_eq!(remarks.len(), 1, "{remarks:?}");
            assert!(remarks[0].contains(said) && remarks[0].contains("--layer"), "{remarks:?}");
        }
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
