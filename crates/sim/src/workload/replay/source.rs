//! The generator of a replay: records in order, addresses mapped, times scaled.
//!
//! It ends with the trace. Trims of a trace name their own addresses, so nothing is ever
//! retargeted.

use std::sync::Arc;

use super::layout::Layout;
use super::MergedPages;
use crate::op::HostCommand;
use crate::units::Ns;
use crate::workload::trace::Trace;
use crate::workload::Generator;

/// Hands out the records of a shared trace.
pub(super) struct Replay {
    trace: Arc<Trace>,
    layout: Layout,
    /// `None` in closed loops, which have no arrival times.
    time_scale: Option<f64>,
    /// Arrival of the first request that is replayed in time: it comes at 0, whatever was left out
    /// before it.
    start: Ns,
    next_index: usize,
    merged: Option<MergedPages>,
}

impl Replay {
    pub fn new(
        trace: Arc<Trace>,
        layout: Layout,
        time_scale: Option<f64>,
        merged: Option<MergedPages>,
    ) -> Self {
        let placed = trace.records().iter().filter(|record| layout.place(record).is_some());
        let first =
            if time_scale.is_some() { placed.map(|record| record.arrival).next() } else { None };
        let start = first.unwrap_or_default();
        Self { trace, layout, time_scale, start, next_index: 0, merged }
    }
}

impl Generator for Replay {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let before = batch.len();
        for record in &self.trace.records()[self.next_index..] {
            if batch.len() - before == count {
                return;
            }
            self.next_index += 1;
            let Some((sector, sector_count)) = self.layout.place(record) else { continue };
            let arrival = scaled(record.arrival - self.start, self.time_scale);
            batch.push(HostCommand {
                arrival,
                is_fua: record.is_fua(),
                ..HostCommand::new(record.op(), sector, sector_count)
            });
        }
    }

    fn retarget(&mut self, _: &mut HostCommand) {}

    fn merged_pages(&self) -> Option<MergedPages> {
        self.merged
    }
}

/// Nearest nanosecond of the scaled time; exact when the scale is 1.
fn scaled(time: Ns, scale: Option<f64>) -> Ns {
    match scale {
        None => Ns(0),
        Some(1.0) => time,
        Some(scale) => Ns((time.0 as f64 * scale).round() as u64),
    }
}
