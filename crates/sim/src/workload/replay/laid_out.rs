//! A trace that is laid out on a drive, before its requests are drawn.

use std::sync::Arc;

use super::layout::Layout;
use super::source::Replay;
use super::MergedPages;
use crate::workload::trace::Trace;
use crate::workload::{Admission, TraceFacts};

/// See the module.
pub(in crate::workload) struct LaidOut {
    pub trace: Arc<Trace>,
    pub layout: Layout,
    pub admission: Admission,
    /// `None` in closed loops.
    pub time_scale: Option<f64>,
    pub repeat: u64,
    pub merged: Option<MergedPages>,
    pub warnings: Vec<String>,
}

impl LaidOut {
    /// Its requests; those of the volumes that are not left out carry the numbers of these hosts,
    /// in order, or of the only one.
    pub fn generator(&self, tenants: &[u8]) -> Replay {
        let mut by_volume = vec![tenants[0]; self.trace.volumes().len()];
        if tenants.len() > 1 {
            for (volume, &tenant) in self.layout.volumes().zip(tenants) {
                by_volume[volume] = tenant;
            }
        }
        self.replay(self.layout.clone(), by_volume)
    }

    /// Those of a volume, as a host.
    pub fn of_volume(&self, volume: usize, tenant: u8) -> Replay {
        self.replay(self.layout.only(volume), vec![tenant; self.trace.volumes().len()])
    }

    fn replay(&self, layout: Layout, tenants: Vec<u8>) -> Replay {
        Replay::new(Arc::clone(&self.trace), layout, self.time_scale, self.repeat, tenants)
    }

    /// The name of the only volume that is replayed of several; empty if the trace has one, or if
    /// several are.
    pub fn name_of_only_volume(&self) -> String {
        let names = self.trace.volumes();
        let mut volumes = self.layout.volumes();
        match (volumes.next(), volumes.next()) {
            (Some(only), None) if names.len() > 1 => names[only].clone(),
            _ => String::new(),
        }
    }

    /// What the account of its host states.
    pub fn facts(&self) -> TraceFacts {
        let is_placed = |record: &&_| self.layout.start(record).is_some();
        let count = self.trace.records().iter().filter(is_placed).count() as u64;
        TraceFacts { requests: count * self.repeat, pages: self.merged }
    }
}
