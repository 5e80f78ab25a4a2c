//! Pages that wait in memory for the rest of their program unit: those that come alone, and writes
//! that complete when they are programmed.
//!
//! ```text
//! write of a unit ─► its program unit is not complete ─► staged ─┐
//! write, padding  ─► the program unit goes to the die ◄──────────┘ all end with the program
//! map page        ─► told at once: memory has it, and no timer pads the blocks of the map
//! ```

use super::die::{Class, Queued, Transaction};
use super::{Full, Order};
use crate::controller::{OpKind, NO_COMMAND};
use crate::op::Source;
use crate::units::Ns;

/// Writes of each die whose program unit is not complete.
pub(super) struct Staged(Vec<Vec<Queued>>);

impl Staged {
    pub(super) fn new(die_count: u32) -> Self {
        Self((0..die_count).map(|_| Vec::new()).collect())
    }
}

impl Full {
    /// Whether operations are told one by one, for their times or for the state of their pages.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.is_observed
            || self.timeline.is_some()
            || self.may_lose_dies()
            || self.order_of_erases.is_some()
            || matches!(self.mechanisms.order, Order::WholeDrive)
    }

    /// Takes the only operation that waits on a die which does nothing, if that is a page of an
    /// incomplete program unit: a write that came alone. Nothing else can start there then, and
    /// nobody has to choose.
    #[inline]
    pub(super) fn stage_alone(&mut self, index: u32) -> bool {
        let die = &self.dies[index as usize];
        if die.waiting != 1 || !die.does_nothing() {
            return false;
        }
        let class = Class::HostWrite;
        let Some(&Queued { op, .. }) = die.queues[class as usize].front() else { return false };
        let (page, is_slc) = (self.geometry.page_index(op.first()), op.is_slc());
        let is_part = op.kind() == OpKind::Program
            && !op.programs_part()
            && self.units.stages(is_slc)
            && self.units.span(page, is_slc).1 > page + 1;
        if !is_part || self.is_watched() || self.staged.is_some() {
            return false;
        }
        let die = &mut self.dies[index as usize];
        die.queues[class as usize].pop_front();
        (die.waiting, die.last_turn) = (0, class);
        let pool = die.pool as usize;
        self.pools[pool].moves_waiting -= u32::from(self.is_move(class, op));
        if let Some(work) = &mut self.work {
            work.programmed[usize::from(is_slc)][op.source() as usize] += 1;
        }
        self.blocks[self.geometry.block_of(op.first()).0 as usize].pending -= 1;
        self.pending -= 1;
        self.done.ops.push_back(op);
        true
    }

    /// The data of a program is in memory, where it waits for the rest of its program unit.
    pub(super) fn stage(&mut self, index: u32, queued: Queued, now: Ns) {
        match &mut self.staged {
            Some(staged)
                if queued.op.command() != NO_COMMAND && queued.op.source() != Source::Map =>
            {
                staged.0[index as usize].push(queued);
            }
            _ => self.tell_unserved(index, &queued, now),
        }
    }

    /// What waits in memory for the program unit of a block goes to the die with it.
    #[inline]
    pub(super) fn unstage(&mut self, index: u32, transaction: &mut Transaction) {
        if self.staged.is_some() {
            let ready = self.take_staged(index, transaction.block);
            transaction.ops.splice(0..0, ready);
        }
    }

    /// Takes out what waits for the program unit of a block.
    pub(super) fn take_staged(&mut self, index: u32, block: u32) -> Vec<Queued> {
        let geometry = self.geometry;
        let Some(staged) = &mut self.staged else { return Vec::new() };
        let all = std::mem::take(&mut staged.0[index as usize]);
        let is_ready = |queued: &Queued| geometry.block_of(queued.op.first()).0 == block;
        let (ready, rest) = all.into_iter().partition(is_ready);
        staged.0[index as usize] = rest;
        ready
    }
}
