//! Spans of activity in a window of simulated time, for trace viewers.
//!
//! The document follows the Trace Event Format that Chrome's and Perfetto's viewers open: complete
//! events (`ph: X`) with microseconds, one process per kind of lane, one thread per lane; counters
//! (`ph: C`) for levels. Source: "Trace Event Format", Chromium project.
//!
//! ```text
//! 1 dies         senses, programs, erases      4 levels         queue depth, erased blocks
//! 2 channels     transfers                     5 planes         senses of planes by themselves
//! 3 collections  first move to erase           6 host commands  slot by slot, issue to completion
//! ```
//!
//! Spans of dies, planes and channels name their operation of the flash, and the commands of the
//! host that it serves: those that wait for it, and those that wrote the pages that it programs.
//! The writer of a page is noted when the write buffer takes the page, and kept until the program
//! has ended; of a page that several commands wrote, the last is named.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{json, Value};

use crate::op::{HostCommand, Source};
use crate::units::{Lpn, Ns, Ppn, SECTOR_BYTES};

/// Where something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The array of a die.
    Die(u32),
    /// A plane that reads independently.
    Plane {
        /// Its die.
        die: u32,
        /// Its index there.
        plane: u32,
        /// Planes of a die.
        planes: u32,
    },
    /// A channel.
    Channel(u32),
    /// What a die does for a collection, from its first step to its erase.
    Collection(u32),
    /// A command of the host, by its slot in the drive.
    Command(u32),
}

/// Spans kept at most: about 200 bytes each in the file.
const SPAN_COUNT_MAX: usize = 1_000_000;

/// A command of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its place in the order of arrival, from 0.
    pub number: u64,
    /// Its first sector.
    pub sector: u64,
    /// Its sectors; 0 if it has none.
    pub sector_count: u32,
}

impl Command {
    /// The command of this number.
    pub fn new(number: u64, command: &HostCommand) -> Self {
        Self { number, sector: command.sector, sector_count: command.sector_count }
    }
}

/// An operation of the flash: its die, when it started there, its block, and its first map unit in
/// the block, if that is known.
pub type OperationId = (u32, Ns, u32, Option<u32>);

/// An operation of the flash.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Unique in a timeline.
    pub id: OperationId,
    /// Its (first) page in the block, if it is known.
    pub page: Option<u32>,
    /// The commands that it serves, in order.
    pub commands: Vec<u64>,
}

/// The command or operation that a span belongs to.
#[derive(Clone, Debug)]
enum Whole {
    Unknown,
    Command(Command),
    Operation(Operation),
}

struct Span {
    lane: Lane,
    name: &'static str,
    from: Ns,
    to: Ns,
    whole: Whole,
}

/// A span that has not ended.
struct Begun {
    name: &'static str,
    from: Ns,
    command: Option<Command>,
}

impl Begun {
    fn whole(&self) -> Whole {
        self.command.map_or(Whole::Unknown, Whole::Command)
    }
}

struct Level {
    name: &'static str,
    at: Ns,
    value: u64,
}

/// See the module.
pub struct Timeline {
    from: Ns,
    to: Ns,
    spans: Vec<Span>,
    levels: Vec<Level>,
    /// The values of each level: when the window begins, and the latest.
    latest: BTreeMap<&'static str, [u64; 2]>,
    /// The spans that have begun and not ended.
    begun: BTreeMap<Lane, Begun>,
    /// The command that wrote a logical page last, until the page is programmed.
    writers: BTreeMap<Lpn, u64>,
    /// The same of the page that leaves the write buffer next, if it stalled before.
    pub retried: Option<u64>,
    /// The command whose data the program of a page of the flash carries, until that has ended.
    programs: BTreeMap<Ppn, u64>,
    dropped: u64,
}

impl Timeline {
    /// Records what happens between two points of the stage's time.
    pub fn new(from: Ns, to: Ns) -> Self {
        Self {
            from,
            to,
            spans: Vec::new(),
            levels: Vec::new(),
            latest: BTreeMap::new(),
            begun: BTreeMap::new(),
            writers: BTreeMap::new(),
            retried: None,
            programs: BTreeMap::new(),
            dropped: 0,
        }
    }

    /// An operation of the flash went on from `from` to `to`.
    pub fn operation(
        &mut self,
        lane: Lane,
        name: &'static str,
        [from, to]: [Ns; 2],
        operation: Operation,
    ) {
        self.span(lane, name, [from, to], Whole::Operation(operation));
    }

    fn span(&mut self, lane: Lane, name: &'static str, [from, to]: [Ns; 2], whole: Whole) {
        if to <= self.from || from >= self.to {
            return;
        }
        if self.spans.len() + self.levels.len() >= SPAN_COUNT_MAX {
            self.dropped += 1;
            return;
        }
        let (from, to) = (from.max(self.from), to.min(self.to));
        self.spans.push(Span { lane, name, from, to, whole });
    }

    /// A die does something for a collection.
    pub fn collects(&mut self, die: u32, source: Source, now: Ns) {
        if let Some(name) = collection_of(source) {
            self.begin(Lane::Collection(die), name, now, None);
        }
    }

    /// Something begins, unless it has begun; `command` is which, of a command with a number.
    pub fn begin(&mut self, lane: Lane, name: &'static str, now: Ns, command: Option<Command>) {
        self.begun.entry(lane).or_insert(Begun { name, from: now, command });
    }

    /// Ends the span of a lane, if one has begun.
    pub fn end(&mut self, lane: Lane, now: Ns) {
        if let Some(begun) = self.begun.remove(&lane) {
            self.span(lane, begun.name, [begun.from, now], begun.whole());
        }
    }

    /// The number of the command in a slot of the drive, if there is one.
    pub fn number_in(&self, slot: u32) -> Option<u64> {
        Some(self.begun.get(&Lane::Command(slot))?.command?.number)
    }

    /// The write buffer has taken pages of the command in a slot.
    #[cold]
    pub fn takes(&mut self, slot: u32, first: Lpn, page_count: u32) {
        let Some(number) = self.number_in(slot) else { return };
        self.writers.extend((first.0..first.0 + page_count).map(|page| (Lpn(page), number)));
    }

    /// A page leaves the write buffer: the number of the command that wrote it last, if it is
    /// known.
    #[cold]
    pub fn leaves(&mut self, lpn: Lpn) -> Option<u64> {
        self.writers.remove(&lpn)
    }

    /// The program of a page of the flash is ordered, with the data of the command of this number,
    /// if it is known.
    #[cold]
    pub fn orders(&mut self, page: Ppn, number: Option<u64>) {
        match number {
            Some(number) => self.programs.insert(page, number),
            None => self.programs.remove(&page),
        };
    }

    /// The commands whose data the program of these pages of the flash carries.
    pub fn writers_of(&self, pages: Range<Ppn>) -> impl Iterator<Item = u64> + '_ {
        self.programs.range(pages).map(|(_, &number)| number)
    }

    /// The program of these pages of the flash has ended.
    pub fn programmed(&mut self, pages: Range<Ppn>) {
        for page in pages.start.0..pages.end.0 {
            self.programs.remove(&Ppn(page));
        }
    }

    /// A level has this value from `at` on.
    pub fn level(&mut self, name: &'static str, at: Ns, value: u64) {
        if at <= self.from {
            self.latest.insert(name, [value; 2]);
            return;
        }
        let [_, last] = self.latest.entry(name).or_insert([value; 2]);
        if at >= self.to || std::mem::replace(last, value) == value {
            return;
        }
        if self.spans.len() + self.levels.len() >= SPAN_COUNT_MAX {
            self.dropped += 1;
            return;
        }
        self.levels.push(Level { name, at, value });
    }

    /// `{traceEvents, displayTimeUnit, otherData}`.
    pub fn to_json(&self) -> Value {
        let us = |time: Ns| time.0 as f64 / 1e3;
        let mut events = vec![
            json!({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "dies"}}),
            json!({"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "channels"}}),
            json!({"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "collections"}}),
            json!({"ph": "M", "name": "process_name", "pid": 4, "args": {"name": "levels"}}),
            json!({"ph": "M", "name": "process_name", "pid": 6, "args": {"name": "host commands"}}),
        ];
        if self.spans.iter().any(|span| matches!(span.lane, Lane::Plane { .. })) {
            let args = json!({"name": "planes"});
            events.push(json!({"ph": "M", "name": "process_name", "pid": 5, "args": args}));
        }
        let mut named = BTreeSet::new();
        let mut operations = BTreeMap::new();
        // Those that the window ends.
        let cut = |(&lane, begun): (&Lane, &Begun)| Span {
            lane,
            name: begun.name,
            from: begun.from.max(self.from),
            to: self.to,
            whole: begun.whole(),
        };
        let open: Vec<Span> =
            self.begun.iter().filter(|(_, begun)| begun.from < self.to).map(cut).collect();
        for span in self.spans.iter().chain(&open) {
            let (process, thread, kind) = match span.lane {
                Lane::Die(index) => (1, index, "die"),
                Lane::Channel(index) => (2, index, "channel"),
                Lane::Collection(index) => (3, index, "die"),
                Lane::Plane { die, plane, planes } => (5, die * planes + plane, "plane"),
                Lane::Command(index) => (6, index, "slot"),
            };
            if named.insert((process, thread)) {
                let name = match span.lane {
                    Lane::Plane { die, plane, .. } => format!("die {die}, plane {plane}"),
                    _ => format!("{kind} {thread}"),
                };
                events
                    .push(json!({"ph": "M", "name": "thread_name", "pid": process, "tid": thread,
                                   "args": {"name": name}}));
            }
            let mut event = json!({"ph": "X", "name": span.name, "pid": process, "tid": thread,
                                   "ts": us(span.from), "dur": us(span.to - span.from)});
            match &span.whole {
                Whole::Unknown => {}
                Whole::Command(command) => event["args"] = command_args(command),
                Whole::Operation(operation) => {
                    let next = operations.len();
                    let number = *operations.entry(operation.id).or_insert(next);
                    event["args"] = operation_args(number, operation);
                }
            }
            events.push(event);
        }
        let at_first =
            self.latest.iter().map(|(&name, &[value, _])| Level { name, at: self.from, value });
        let at_first: Vec<Level> = at_first.collect();
        for level in at_first.iter().chain(&self.levels) {
            events.push(json!({"ph": "C", "name": level.name, "pid": 4, "ts": us(level.at),
                               "args": {level.name: level.value}}));
        }
        json!({
            "traceEvents": events,
            "displayTimeUnit": "ns",
            "otherData": {"from_us": us(self.from), "to_us": us(self.to),
                          "dropped_events": self.dropped},
        })
    }
}

fn command_args(command: &Command) -> Value {
    let mut args = json!({"command": command.number});
    if command.sector_count > 0 {
        args["offset_bytes"] = json!(command.sector * SECTOR_BYTES);
        args["size_bytes"] = json!(u64::from(command.sector_count) * SECTOR_BYTES);
    }
    args
}

/// The arguments of a span of the operation that has this number in the document.
fn operation_args(number: usize, operation: &Operation) -> Value {
    let (die, _, block, _) = operation.id;
    let mut args = json!({"die": die, "operation": number, "block": block});
    if let Some(page) = operation.page {
        args["page"] = json!(page);
    }
    match operation.commands.as_slice() {
        [] => {}
        [only] => args["command"] = json!(only),
        several => args["commands"] = json!(several),
    }
    args
}

/// What a collection is called that makes operations of a source; none makes the others.
fn collection_of(source: Source) -> Option<&'static str> {
    match source {
        Source::Gc => Some("collection"),
        Source::Wear => Some("wear leveling"),
        Source::Refresh => Some("refresh"),
        Source::Fold => Some("folding"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_last_to_their_erase_or_to_the_end_of_the_window() {
        let mut timeline = Timeline::new(Ns(1000), Ns(9000));
        timeline.collects(2, Source::Host, Ns(1500));
        timeline.collects(2, Source::Gc, Ns(2000));
        timeline.collects(2, Source::Gc, Ns(3000));
        timeline.end(Lane::Collection(2), Ns(5000));
        timeline.collects(0, Source::Fold, Ns(6000));
        let json = timeline.to_json();
        let events = json["traceEvents"].as_array().expect("events");
        let spans = events.iter().filter(|event| event["ph"] == "X" && event["pid"] == 3);
        let spans: Vec<_> = spans
            .map(|event| (&event["tid"], &event["name"], &event["ts"], &event["dur"]))
            .collect();
        assert_eq!(
            spans,
            [
                (&json!(2), &json!("collection"), &json!(2.0), &json!(3.0)),
                (&json!(0), &json!("folding"), &json!(6.0), &json!(3.0)),
            ]
        );
    }

    #[test]
    fn spans_are_cut_to_the_window() {
        let mut timeline = Timeline::new(Ns(1000), Ns(2000));
        timeline.span(Lane::Die(3), "read", [Ns(500), Ns(1500)], Whole::Unknown);
        timeline.span(Lane::Die(3), "erase", [Ns(2000), Ns(2500)], Whole::Unknown);
        for (at, value) in [(400, 3), (1200, 7), (1300, 7), (1500, 6), (2100, 5)] {
            timeline.level("queue_depth", Ns(at), value);
        }
        let json = timeline.to_json();
        let events = json["traceEvents"].as_array().expect("events");
        let spans: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(spans.len(), 1);
        assert_eq!((&spans[0]["ts"], &spans[0]["dur"]), (&json!(1.0), &json!(0.5)));
        let levels = events.iter().filter(|event| event["ph"] == "C");
        let levels: Vec<_> = levels.map(|at| (&at["ts"], &at["args"]["queue_depth"])).collect();
        let expected = [(json!(1.0), json!(3)), (json!(1.2), json!(7)), (json!(1.5), json!(6))];
        assert_eq!(levels, expected.iter().map(|(at, value)| (at, value)).collect::<Vec<_>>());
    }
}
