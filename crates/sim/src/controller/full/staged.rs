//! Pages that wait in memory for the rest of their program unit: those that come alone, and writes
//! that complete when they are programmed.
//!
//! ```text
//! write of a unit ─► its program unit is not complete ─► staged ─┐
//! write, padding  ─► the program unit goes to the die ◄──────────┘ all end with the program
//! the same, where memory is enough ─► told when the die takes the unit; a flush waits for the rest
//! map page        ─► told at once: memory has it, and no timer pads the blocks of the map
//! ```

use super::die::Queued;
use crate::geometry::Geometry;
use crate::units::BlockId;

/// Writes of each die whose program unit is not complete.
pub(super) struct Staged(Vec<Vec<Queued>>);

impl Staged {
    pub(super) fn new(die_count: u32) -> Self {
        Self((0..die_count).map(|_| Vec::new()).collect())
    }

    /// An operation waits for the rest of its program unit.
    pub(super) fn push(&mut self, index: u32, queued: Queued) {
        self.0[index as usize].push(queued);
    }

    /// Takes out what waits for the program unit of a block.
    pub(super) fn take(&mut self, geometry: &Geometry, index: u32, block: BlockId) -> Vec<Queued> {
        let all = std::mem::take(&mut self.0[index as usize]);
        let is_ready = |queued: &Queued| geometry.block_of(queued.op.first()) == block;
        let (ready, rest) = all.into_iter().partition(is_ready);
        self.0[index as usize] = rest;
        ready
    }
}
