//! Spans of activity in a window of simulated time, for trace viewers.
//!
//! The document follows the Trace Event Format that Chrome's and Perfetto's viewers open: complete
//! events (`ph: X`) with microseconds, one process per kind of lane (dies, channels, host), one
//! thread per lane; a counter (`ph: C`) for the queue depth. Source: "Trace Event
//! Format", Chromium project.

use std::collections::BTreeSet;

use serde_json::{json, Value};

use crate::units::Ns;

/// Where something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The array of a die.
    Die(u32),
    /// A plane that reads by itself.
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
    /// A collection of a die, from its first step to its erase.
    Collection(u32),
}

/// Spans kept at most: about 200 bytes each in the file.
const SPAN_COUNT_MAX: usize = 1_000_000;

struct Span {
    lane: Lane,
    name: &'static str,
    from: Ns,
    to: Ns,
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
    dropped: u64,
}

impl Timeline {
    /// Records what happens between two points of the stage's time.
    pub fn new(from: Ns, to: Ns) -> Self {
        Self { from, to, spans: Vec::new(), levels: Vec::new(), dropped: 0 }
    }

    /// Something went on from `from` to `to`.
    pub fn span(&mut self, lane: Lane, name: &'static str, from: Ns, to: Ns) {
        if to <= self.from || from >= self.to {
            return;
        }
        if self.spans.len() + self.levels.len() >= SPAN_COUNT_MAX {
            self.dropped += 1;
            return;
        }
        let (from, to) = (from.max(self.from), to.min(self.to));
        self.spans.push(Span { lane, name, from, to });
    }

    /// A level changed.
    pub fn level(&mut self, name: &'static str, at: Ns, value: u64) {
        if at < self.from || at >= self.to {
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
        let us = |time: Ns| time.0 as f64 * 1e-3;
        let mut events = vec![
            json!({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "dies"}}),
            json!({"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "channels"}}),
            json!({"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "collections"}}),
            json!({"ph": "M", "name": "process_name", "pid": 4, "args": {"name": "levels"}}),
        ];
        if self.spans.iter().any(|span| matches!(span.lane, Lane::Plane { .. })) {
            let args = json!({"name": "planes"});
            events.push(json!({"ph": "M", "name": "process_name", "pid": 5, "args": args}));
        }
        let mut named = BTreeSet::new();
        for span in &self.spans {
            let (process, thread, kind) = match span.lane {
                Lane::Die(index) => (1, index, "die"),
                Lane::Channel(index) => (2, index, "channel"),
                Lane::Collection(index) => (3, index, "die"),
                Lane::Plane { die, plane, planes } => (5, die * planes + plane, "plane"),
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
            events.push(json!({"ph": "X", "name": span.name, "pid": process, "tid": thread,
                               "ts": us(span.from), "dur": us(span.to - span.from)}));
        }
        for level in &self.levels {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_to_the_window() {
        let mut timeline = Timeline::new(Ns(1000), Ns(2000));
        timeline.span(Lane::Die(3), "read", Ns(500), Ns(1500));
        timeline.span(Lane::Die(3), "erase", Ns(2000), Ns(2500));
        timeline.level("queue_depth", Ns(1200), 7);
        let json = timeline.to_json();
        let events = json["traceEvents"].as_array().expect("events");
        let spans: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(spans.len(), 1);
        assert_eq!((&spans[0]["ts"], &spans[0]["dur"]), (&json!(1.0), &json!(0.5)));
        assert!(events.iter().any(|event| event["ph"] == "C"));
    }
}
