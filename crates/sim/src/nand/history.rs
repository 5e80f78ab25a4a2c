//! Units that erases remove from the flash, kept while a power cut may undo these erases.

use super::unit::Unit;
use super::CellMode;
use crate::units::BlockId;

/// Units of a block, by page index; empty if none was written.
pub(super) type Units = Box<[Option<Unit>]>;

/// Erases of a block that may wait at the same time.
const ERASES_WAITING_MAX: usize = 4096;

/// The contents that one erase removed.
#[derive(Clone, Debug, Default)]
pub(super) struct Erased {
    pub(super) units: Units,
    /// The number of the opening of the block.
    pub(super) opening: u64,
    /// The number of the erase.
    pub(super) order: u64,
    pub(super) mode: CellMode,
}

/// The contents that erases removed.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// By block, newest first.
    pub(super) erased: Vec<Vec<Erased>>,
    /// By block, the number of its last opening.
    pub(super) openings: Vec<u64>,
    pub(super) opened: u64,
    /// Erases that were ordered.
    pub(super) ordered: u64,
    pub(super) page_bits: u32,
    /// Pages of the blocks that were erased, of those that are kept.
    pub(super) kept_pages: usize,
}

impl History {
    /// A block is written for the first time since its erase.
    pub(super) fn note_opened(&mut self, block: BlockId) {
        self.opened += 1;
        self.openings[block.0 as usize] = self.opened;
    }

    /// An erase of a block was ordered. Returns units that no cut can bring back any more.
    pub(super) fn note_erased(&mut self, block: BlockId, units: Units, mode: CellMode) -> Units {
        let opening = self.openings[block.0 as usize];
        let erased = &mut self.erased[block.0 as usize];
        let oldest = if erased.len() == ERASES_WAITING_MAX { erased.pop() } else { None };
        self.kept_pages += units.len();
        self.ordered += 1;
        erased.insert(0, Erased { units, opening, order: self.ordered, mode });
        let oldest = oldest.map_or_else(Units::default, |oldest| oldest.units);
        self.kept_pages -= oldest.len();
        oldest
    }

    /// All but the newest `waiting` erases of a block have ended: returns the units that those
    /// removed.
    pub(super) fn note_ended(&mut self, block: BlockId, waiting: u32) -> Vec<Units> {
        let erased = &mut self.erased[block.0 as usize];
        let over = erased.drain(erased.len().min(waiting as usize)..);
        let over: Vec<Units> = over.map(|erased| erased.units).collect();
        self.kept_pages -= over.iter().map(|units| units.len()).sum::<usize>();
        over
    }

    /// Nothing is kept.
    pub(super) fn clear(&mut self) {
        self.erased.iter_mut().for_each(Vec::clear);
        self.kept_pages = 0;
    }

    /// All that is kept.
    pub(super) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.erased.iter().flatten().flat_map(|erased| erased.units.iter().flatten())
    }
}
