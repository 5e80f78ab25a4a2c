//! Pages that wait in memory for the rest of their program unit: those that come alone, and writes
//! that complete when they are programmed.
//!
//! ```text
//! write of a unit ─► its program unit is not complete ─► staged ─┐
//! write, padding  ─► the program unit goes to the die ◄──────────┘ all end with the program
//! the same, where memory is enough ─► told when the die takes the unit; a flush waits for the rest
//! map page        ─► told at once: memory has it, and no timer pads the blocks of the map
//! ```

use super::die::{Class, Queued, Transaction};
use super::Full;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::geometry::Geometry;
use crate::op::Source;
use crate::units::{BlockId, DieId, Ns};

/// Writes of each die whose program unit is not complete.
pub(super) struct Staged(Vec<Vec<Queued>>);

impl Staged {
    pub(super) fn new(die_count: u32) -> Self {
        Self((0..die_count).map(|_| Vec::new()).collect())
    }

    /// Takes out what waits for the program unit of a block.
    fn take(&mut self, geometry: &Geometry, index: u32, block: BlockId) -> Vec<Queued> {
        let all = std::mem::take(&mut self.0[index as usize]);
        let is_ready = |queued: &Queued| geometry.block_of(queued.op.first()) == block;
        let (ready, rest) = all.into_iter().partition(is_ready);
        self.0[index as usize] = rest;
        ready
    }
}

impl Full {
    /// Takes the only operation that waits on a die which does nothing, if that is a page of an
    /// incomplete program unit: a write that came alone. Nothing else can start there then, and
    /// nobody has to choose.
    #[inline]
    pub(super) fn stage_alone(&mut self, index: u32) -> bool {
        let flash = &mut self.flash;
        let die = &flash.dies[index];
        if die.waiting != 1 || !die.does_nothing() {
            return false;
        }
        let class = Class::HostWrite;
        let Some(&Queued { op, .. }) = die.queues[class as usize].front() else { return false };
        let is_part = op.kind() == OpKind::Program
            && !op.programs_part()
            && flash.design.leaves_unit_open(op);
        if !is_part || flash.is_watched() || self.staged.is_some() {
            return false;
        }
        flash.dies.take_alone(&flash.design, index, class);
        flash.watch.note_programmed(op, 1);
        flash.blocks.of(flash.design.block_of(op)).pending -= 1;
        self.done.pending -= 1;
        self.done.push(op, None);
        true
    }

    /// Whether memory has room for a write that leaves its program unit incomplete: nothing of its
    /// block waits for the die before it, so that memory holds one unit in addition to that of the
    /// die.
    pub(super) fn has_room_for(&self, die: DieId, class: Class, op: FlashOp, now: Ns) -> bool {
        let design = &self.flash.design;
        let block = design.block_of(op);
        let is_of_block =
            |it: &Queued| it.op.kind() != OpKind::Read && design.block_of(it.op) == block;
        design.leaves_unit_open(op)
            && !design.is_lost(die, now)
            && !self.flash.dies[die.0].queues[class as usize].iter().rev().any(is_of_block)
    }

    /// A write is in memory, whatever its die does.
    pub(super) fn stage_at_once(&mut self, index: u32, queued: &Queued) {
        let flash = &mut self.flash;
        flash.watch.note_begun(index, queued.op.source(), queued.since);
        flash.watch.note_programmed(queued.op, 1);
        flash.blocks.of(flash.design.block_of(queued.op)).pending -= 1;
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
            self.done.pending += u64::from(queued.op.count());
            queued.op = queued.op.of_command(NO_COMMAND);
        }
    }

    /// What waits in memory for the program unit of a block goes to the die with it.
    #[inline]
    pub(super) fn unstage(&mut self, index: u32, transaction: &mut Transaction) {
        if self.staged.is_some() {
            let ready = self.take_staged(index, BlockId(transaction.block));
            transaction.ops.splice(0..0, ready);
        }
    }

    /// Takes out what waits for the program unit of a block.
    pub(super) fn take_staged(&mut self, index: u32, block: BlockId) -> Vec<Queued> {
        let geometry = &self.flash.design.geometry;
        let staged = self.staged.as_mut();
        staged.map_or_else(Vec::new, |staged| staged.take(geometry, index, block))
    }
}
