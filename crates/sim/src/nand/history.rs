//! What erases take from the flash, kept for as long as a cut of the power may undo them.

use super::unit::Unit;
use super::CellMode;
use crate::units::BlockId;

/// Units of a block, by page index; empty where none was written.
pub(super) type Units = Box<[Option<Unit>]>;

/// Erases of a block that may wait at the same time.
const ERASES_WAITING_MAX: usize = 16;

/// What an erase took.
#[derive(Clone, Debug, Default)]
pub(super) struct Erased {
    pub(super) units: Units,
    /// The number of the opening of the block.
    pub(super) opening: u64,
    pub(super) mode: CellMode,
}

/// What erases took.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// By block, newest first.
    pub(super) erased: Vec<Vec<Erased>>,
    /// By block, the number of its last opening.
    pub(super) openings: Vec<u64>,
    pub(super) opened: u64,
    pub(super) page_bits: u32,
}

impl History {
    /// A block is written for the first time since its erase.
    pub(super) fn note_opened(&mut self, block: BlockId) {
        self.opened += 1;
        self.openings[block.0 as usize] = self.opened;
    }

    /// An erase of a block was ordered.
    pub(super) fn note_erased(&mut self, block: BlockId, units: Units, mode: CellMode) {
        let opening = self.openings[block.0 as usize];
        let erased = &mut self.erased[block.0 as usize];
        erased.truncate(ERASES_WAITING_MAX - 1);
        erased.insert(0, Erased { units, opening, mode });
    }
}
