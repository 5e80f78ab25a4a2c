//! Writes that complete when they are programmed: they wait in memory with their data.
//!
//! ```text
//! write of a unit ─► its program unit is not complete ─► staged ─┐
//! write, padding  ─► the program unit goes to the die ◄──────────┘ all end with the program
//! map page        ─► told at once: memory has it, and no timer pads the blocks of the map
//! ```

use super::die::{Queued, Transaction};
use super::Full;
use crate::controller::NO_COMMAND;
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
