//! Completed operations that wait to be taken, and the number of those not yet completed.

use std::collections::VecDeque;

use crate::controller::breakdown::Parts;
use crate::controller::FlashOp;
use crate::units::Ppn;

/// See the module.
#[derive(Default)]
pub struct Done {
    /// Operations that are queued or running.
    pub(super) pending: u64,
    ops: VecDeque<FlashOp>,
    /// When observed, what each of them spent its time on.
    parts: VecDeque<Parts>,
    /// What the operation told last spent its time on, when observed.
    last: Parts,
}

impl Done {
    /// Operations that are queued or running.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// An operation is done; `parts` is how its time was spent, when observed.
    #[inline]
    pub(super) fn push(&mut self, op: FlashOp, parts: Option<Parts>) {
        if let Some(parts) = parts {
            self.parts.push_back(parts);
        }
        self.ops.push_back(op);
    }

    /// The next operation that is done; [`Done::parts`] are its parts then.
    #[inline]
    pub fn take(&mut self) -> Option<FlashOp> {
        let next = self.ops.front_mut()?;
        let op = *next;
        if op.frees_buffer() && op.count() > 1 {
            *next = op.run_of(Ppn(op.first().0 + 1), op.count() - 1);
            return Some(op.run_of(op.first(), 1));
        }
        self.ops.pop_front();
        if let Some(parts) = self.parts.pop_front() {
            self.last = parts;
        }
        Some(op)
    }

    /// The next operation that is done, if it is a run of pages that leave the write buffer.
    #[inline]
    pub fn take_freed(&mut self) -> Option<FlashOp> {
        let is_freed = self.ops.front().is_some_and(|op| op.frees_buffer());
        if is_freed && self.parts.is_empty() {
            self.ops.pop_front()
        } else {
            None
        }
    }

    /// Whether all operations that are done were taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// What the operation taken last spent its time on; zero unless observed.
    pub fn parts(&self) -> &Parts {
        &self.last
    }
}
