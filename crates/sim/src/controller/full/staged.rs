//! Pages that wait in memory for the rest of their program unit: those that come alone, and writes
//! that complete when they are programmed.
//!
//! ```text
//! write of a unit ─► its program unit is not complete ─► staged ─┐
//! write, padding  ─► the program unit goes to the die ◄──────────┘ all end with the program
//! the same, where memory is enough ─► told when the die takes the unit; a flush waits for the rest
//! map page        ─► told at once: memory has it, and no timer pads the blocks of the map
//! ```

use super::die::{Array, Class, Queued, Transaction};
use super::{Full, Order};
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::op::Source;
use crate::units::{DieId, Ns, Ppn};

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

    /// Whether a page is in the controller's memory: it is not programmed yet. Asked for a read of
    /// a command, which then takes no flash time and counts as served from there.
    #[inline]
    pub fn holds(&mut self, page: Ppn) -> bool {
        let progress = &self.blocks[self.geometry.block_of(page).0 as usize];
        let is_held = (progress.erases < progress.erases_ordered
            || progress.programmed <= self.geometry.page_index(page))
            && progress.inside == 0;
        self.tally.memory_reads += u64::from(is_held);
        is_held
    }

    /// Whether memory has room for a write that leaves its program unit incomplete: nothing of its
    /// block waits for the die before it, so that memory holds one unit in addition to that of the
    /// die.
    pub(super) fn has_room_for(&self, die: DieId, class: Class, op: FlashOp, now: Ns) -> bool {
        let (page, is_slc) = (self.geometry.page_index(op.first()), op.is_slc());
        let block = self.geometry.block_of(op.first());
        let is_of_block = |it: &Queued| {
            it.op.kind() != OpKind::Read && self.geometry.block_of(it.op.first()) == block
        };
        self.units.stages(is_slc)
            && self.units.span(page, is_slc).1 > page + 1
            && !self.is_lost(die, now)
            && !self.dies[die.0 as usize].queues[class as usize].iter().rev().any(is_of_block)
    }

    /// A write is in memory, whatever its die does.
    pub(super) fn stage_at_once(&mut self, index: u32, queued: &Queued) {
        if let Some(timeline) = &mut self.timeline {
            timeline.collects(index, queued.op.source(), queued.since);
        }
        if let Some(work) = &mut self.work {
            work.programmed[usize::from(queued.op.is_slc())][queued.op.source() as usize] += 1;
        }
        self.blocks[self.geometry.block_of(queued.op.first()).0 as usize].pending -= 1;
        self.tell_unserved(index, queued, queued.since);
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

    /// The die takes a program unit: commands for which it is enough that memory had it are told,
    /// and the die still owes the program.
    pub(super) fn tell_in_memory(&mut self, index: u32, ops: &mut [Queued], now: Ns) {
        for queued in ops.iter_mut().filter(|queued| queued.op.completes_in_memory()) {
            self.tell_unserved(index, queued, now);
            self.pending += u64::from(queued.op.count());
            queued.op = queued.op.of_command(NO_COMMAND);
        }
    }

    /// Running programs whose commands have completed already, and for which a command waits.
    pub fn follow_programs(&mut self, command: u32, now: Ns) -> u32 {
        let mut count = 0;
        for die in &mut self.dies {
            let array = match &mut die.array {
                Array::Busy(transaction) => Some(transaction),
                Array::Free | Array::Suspending => None,
            };
            let suspended = die.suspended.as_mut().map(|suspended| &mut suspended.transaction);
            for transaction in array.into_iter().chain(suspended).chain(&mut die.input) {
                let told = transaction.ops.iter().find(|it| it.op.completes_in_memory());
                let Some(&Queued { op, detail, .. }) = told else { continue };
                let op = FlashOp::new(op.kind(), Source::Pad, op.first(), 1).of_command(command);
                transaction.ops.push(Queued { op, detail, since: now, plane: None, busy: None });
                count += 1;
            }
        }
        self.pending += u64::from(count);
        count
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
