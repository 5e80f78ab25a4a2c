//! How far a block of the flash is, and how far it will be.

use super::die::{Class, Transaction};
use crate::controller::{FlashOp, OpKind};

/// How far a block is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) erases: u32,
    /// Those and the erases that wait or run.
    pub(super) erases_ordered: u32,
    pub(super) programmed: u32,
    /// Pages whose program has begun; kept where pages are programmed in parts.
    pub(super) sent: u32,
    /// Programs queued or running.
    pub(super) pending: u32,
    /// Those among them that move data inside the die, past the controller's memory.
    pub(super) inside: u32,
    /// The class of its programs: parity and padding follow the pages that they complete.
    pub(super) class: Class,
    /// Pages that will be programmed when everything is done that was ordered; kept where the power
    /// may fail.
    pub(super) promised: u32,
}

impl Progress {
    /// Whether one of `erases`, or of the programs of `programmed` pages after them, is to come.
    pub(super) fn is_behind(&self, erases: u32, programmed: u32) -> bool {
        self.erases < erases || self.erases == erases && self.programmed < programmed
    }

    /// An operation joins its queue: how often the block was erased when it will be its turn.
    #[inline]
    pub(super) fn order(&mut self, op: FlashOp, class: Class) -> u32 {
        let erases = self.erases_ordered;
        match op.kind() {
            OpKind::Program | OpKind::Copyback => {
                self.pending += op.count();
                let is_inside = op.kind() == OpKind::Copyback;
                self.inside += if is_inside { op.count() } else { 0 };
                self.class = class;
            }
            OpKind::Erase => self.erases_ordered += 1,
            OpKind::Read => {}
        }
        erases
    }

    /// A transaction has ended; returns whether it followed the rules.
    #[inline]
    pub(super) fn end(&mut self, transaction: &Transaction) -> bool {
        match transaction.kind {
            OpKind::Read => true,
            OpKind::Erase => {
                self.erases += 1;
                self.programmed = 0;
                true
            }
            OpKind::Program | OpKind::Copyback => {
                let is_inside = transaction.kind == OpKind::Copyback;
                let in_order = self.programmed + transaction.slots == transaction.programmed_limit
                    || is_inside;
                let in_time = self.erases == transaction.cycles;
                self.programmed = transaction.programmed_limit;
                self.pending -= transaction.settled;
                self.inside -= if is_inside { transaction.settled } else { 0 };
                in_order && in_time
            }
        }
    }

    /// An operation that begins at this page has ended without the flash.
    pub(super) fn pass_over(&mut self, op: FlashOp, first: u32) {
        match op.kind() {
            OpKind::Read => {}
            OpKind::Program | OpKind::Copyback => {
                let own = if op.programs_part() { 0 } else { op.count() };
                self.programmed = first + own;
                self.sent = self.programmed;
                self.pending -= op.count();
                let is_inside = op.kind() == OpKind::Copyback;
                self.inside -= if is_inside { op.count() } else { 0 };
            }
            OpKind::Erase => {
                self.erases += 1;
                self.programmed = 0;
                self.sent = 0;
            }
        }
    }
}
