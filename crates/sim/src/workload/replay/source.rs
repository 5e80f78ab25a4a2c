//! The generator of a replay: records in order, addresses mapped, times scaled.
//!
//! It ends with the trace, which may be repeated. Trims of a trace name their own addresses, so
//! nothing is ever retargeted.

use std::sync::Arc;

use super::layout::Layout;
use super::MergedPages;
use crate::op::HostCommand;
use crate::units::Ns;
use crate::workload::trace::Trace;
use crate::workload::Generator;

/// Hands out the records of a shared trace.
pub(in crate::workload) struct Replay {
    trace: Arc<Trace>,
    layout: Layout,
    /// `None` in closed loops, which have no arrival times.
    time_scale: Option<f64>,
    /// Arrival of the first request that is replayed in time: it comes at 0, whatever was left out
    /// before it.
    start: Ns,
    next_index: usize,
    /// Times that the trace was replayed as a whole, and is to be; from the start of one to that of
    /// the next: its span and the mean gap.
    round: u64,
    repeat: u64,
    period: Ns,
    merged: Option<MergedPages>,
    /// Numbers of the hosts, by volume.
    tenants: Vec<u8>,
}

impl Replay {
    pub fn new(
        trace: Arc<Trace>,
        layout: Layout,
        time_scale: Option<f64>,
        repeat: u64,
        tenants: Vec<u8>,
    ) -> Self {
        let placed = trace.records().iter().filter(|record| layout.place(record).is_some());
        let first =
            if time_scale.is_some() { placed.map(|record| record.arrival).next() } else { None };
        let start = first.unwrap_or_default();
        let period = period(&trace);
        let (next_index, round, merged) = (0, 0, None);
        Self {
            trace,
            layout,
            time_scale,
            start,
            next_index,
            round,
            repeat,
            period,
            merged,
            tenants,
        }
    }

    /// The same, with counts of the pages that it touches.
    pub fn counted(self, merged: Option<MergedPages>) -> Self {
        Self { merged, ..self }
    }
}

/// From the start of one replay to that of the next: the span of a trace and its mean gap.
pub(super) fn period(trace: &Trace) -> Ns {
    let span = trace.records().iter().map(|record| record.arrival.0).max().unwrap_or_default();
    Ns(span + span.checked_div(trace.records().len() as u64 - 1).unwrap_or_default())
}

impl Generator for Replay {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let before = batch.len();
        while batch.len() - before < count {
            let Some(record) = self.trace.records().get(self.next_index) else {
                if self.round + 1 >= self.repeat {
                    return;
                }
                (self.next_index, self.round) = (0, self.round + 1);
                continue;
            };
            self.next_index += 1;
            let Some((sector, sector_count)) = self.layout.place(record) else { continue };
            let shift = self.period.0 * self.round;
            let arrival = scaled(Ns((record.arrival - self.start).0 + shift), self.time_scale);
            batch.push(HostCommand {
                arrival,
                is_fua: record.is_fua(),
                tenant: self.tenants[record.volume_index()],
                ..HostCommand::new(record.op(), sector, sector_count)
            });
        }
    }

    fn retarget(&mut self, _: &mut HostCommand) {}

    fn merged_pages(&self) -> Option<MergedPages> {
        self.merged
    }
}

/// Several replays as one, in the order of their arrivals; those of one time in the order of the
/// replays.
pub(in crate::workload) struct Joined(Vec<Source>);

/// A replay, and commands of it that were drawn ahead, the next one last.
struct Source {
    replay: Replay,
    ahead: Vec<HostCommand>,
}

/// Commands drawn ahead.
const AHEAD: usize = 256;

impl Joined {
    pub fn new(replays: impl IntoIterator<Item = Replay>) -> Self {
        let source = |replay| Source { replay, ahead: Vec::with_capacity(AHEAD) };
        Self(replays.into_iter().map(source).collect())
    }
}

impl Generator for Joined {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        for _ in 0..count {
            let next = self.0.iter_mut().filter_map(|source| {
                if source.ahead.is_empty() {
                    source.replay.fill(&mut source.ahead, AHEAD);
                    source.ahead.reverse();
                }
                source.ahead.last().map(|command| command.arrival).map(|arrival| (arrival, source))
            });
            // The first of the earliest.
            let Some((_, source)) = next.min_by_key(|(arrival, _)| *arrival) else { return };
            batch.extend(source.ahead.pop());
        }
    }

    fn retarget(&mut self, _: &mut HostCommand) {}
}

/// Nearest nanosecond of the scaled time; exact when the scale is 1.
fn scaled(time: Ns, scale: Option<f64>) -> Ns {
    match scale {
        None => Ns(0),
        Some(1.0) => time,
        Some(scale) => Ns((time.0 as f64 * scale).round() as u64),
    }
}
