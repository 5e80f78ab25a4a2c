//! The generator of a replay: records in order, addresses mapped, times scaled.
//!
//! It ends with the trace. Trims of a trace name their own addresses, so nothing is ever
//! retargeted.

use std::sync::Arc;

use super::layout::Layout;
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
    /// Arrival of the first request that is replayed: it comes at 0, whatever was left out before
    /// it.
    start: Ns,
    next_index: usize,
}

impl Replay {
    pub fn new(trace: Arc<Trace>, layout: Layout, time_scale: Option<f64>) -> Self {
        let first = trace.records().iter().find(|record| layout.place(record).is_some());
        let start = first.map_or(Ns(0), |record| record.arrival);
        Self { trace, layout, time_scale, start, next_index: 0 }
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
                ..HostCommand::new(record.op(), sector, sector_count)
            });
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
