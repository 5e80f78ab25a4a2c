//! Counting what dies do, where energy is asked for.
//!
//! Reads are counted when they are started, with what they need beside; programs when they are
//! taken from their queue, page by page, since a program unit may have pages of several reasons.

use super::die::Transaction;
use super::Full;
use crate::controller::{Detail, FlashOp, OpKind};

/// Planes of a die, at most.
const PLANES_MAX: usize = 64;

/// Pages of the flash in the next sense of a run of collected reads, which are spread evenly over
/// its senses.
pub(super) fn pages_of_sense(op: FlashOp, detail: Detail) -> u16 {
    detail.pages.div_ceil(op.sense_count().max(1) as u16)
}

impl Full {
    /// A read starts, as (part of) an operation as it stood in its queue.
    pub(super) fn note_read(&mut self, read: &Transaction, op: FlashOp, detail: Detail) {
        let pages = if op.count() > 1 {
            let rereads = read.rereads.retries + read.rereads.soft_reads;
            u64::from(pages_of_sense(op, detail)) + u64::from(rereads)
        } else {
            self.pages_of_joined(read)
        };
        let crossings = u64::from(read.slots + read.rereads.crossings);
        let Some(work) = &mut self.work else { return };
        work.sensed[usize::from(read.is_slc)][read.source as usize] += pages;
        work.crossings += crossings;
    }

    /// Pages that reads sense together, once and again as often as one of their units needs.
    fn pages_of_joined(&self, read: &Transaction) -> u64 {
        if let [only] = read.ops.as_slice() {
            return only.detail.senses();
        }
        let mut senses = [0; PLANES_MAX];
        for queued in &read.ops {
            let page = self.geometry.physical_index(self.geometry.page_index(queued.op.first()));
            let plane = &mut senses[(page % self.geometry.plane_count) as usize];
            *plane = queued.detail.senses().max(*plane);
        }
        senses.iter().sum()
    }

    /// An erase or a copyback starts.
    pub(super) fn note_inside(&mut self, transaction: &Transaction) {
        let planes = u64::from(self.geometry.plane_count);
        let Some(work) = &mut self.work else { return };
        let source = transaction.source as usize;
        if transaction.kind == OpKind::Erase {
            work.erased[source] += planes;
        } else {
            let pages = u64::from(transaction.settled);
            work.sensed[usize::from(transaction.is_slc)][source] += pages;
        }
    }
}
