//! Marks that cuts of the power leave on the flash, until their block is erased.
//!
//! ```text
//! suspect page        its program, or a later pass of its wordline, was interrupted
//! half-erased block   its erase was interrupted, and it was written without another one
//! ```
//! Both hold only at the erase count that the block had when it was marked: an erase ends them, and
//! they are back if a later cut undoes that erase. Few pages are marked, so they are listed.

use std::collections::{BTreeMap, BTreeSet};

use crate::units::BlockId;

/// Marks of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Scar {
    /// Erases of the block when it was marked.
    erases: u32,
    is_half_erased: bool,
    /// Suspect pages, by their index in the block.
    pages: BTreeSet<u32>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scars {
    blocks: BTreeMap<u32, Scar>,
}

impl Scars {
    /// The marks of a block at this erase count.
    fn of_block(&mut self, block: BlockId, erases: u32) -> &mut Scar {
        let scar = self.blocks.entry(block.0).or_default();
        if scar.erases != erases {
            *scar = Scar { erases, ..Scar::default() };
        }
        scar
    }

    /// Marks a page of a block at this erase count.
    pub(super) fn mark_page(&mut self, block: BlockId, index: u32, erases: u32) {
        self.of_block(block, erases).pages.insert(index);
    }

    /// Marks a block at this erase count, which includes the interrupted erase.
    pub(super) fn mark_block(&mut self, block: BlockId, erases: u32) {
        self.of_block(block, erases).is_half_erased = true;
    }

    fn in_force(&self, block: BlockId, erases: u32) -> Option<&Scar> {
        self.blocks.get(&block.0).filter(|scar| scar.erases == erases)
    }

    /// Whether a page of a block is suspect at this erase count.
    #[inline]
    pub fn is_suspect(&self, block: BlockId, index: u32, erases: u32) -> bool {
        self.in_force(block, erases).is_some_and(|scar| scar.pages.contains(&index))
    }

    /// Whether a block was half erased at this erase count.
    #[inline]
    pub fn is_half_erased(&self, block: BlockId, erases: u32) -> bool {
        self.in_force(block, erases).is_some_and(|scar| scar.is_half_erased)
    }

    /// Marked blocks, and the erase count up to which that holds.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (BlockId, u32)> + '_ {
        self.blocks.iter().map(|(&block, scar)| (BlockId(block), scar.erases))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erase_ends_a_mark_and_its_undoing_brings_it_back() {
        let (mut scars, block) = (Scars::default(), BlockId(3));
        scars.mark_page(block, 7, 20);
        assert!(scars.is_suspect(block, 7, 20) && !scars.is_suspect(block, 8, 20));
        assert!(!scars.is_suspect(block, 7, 21) && !scars.is_suspect(BlockId(2), 7, 20));
        scars.mark_block(block, 20);
        assert!(scars.is_half_erased(block, 20) && scars.is_suspect(block, 7, 20));
        assert!(!scars.is_half_erased(block, 21));
        // A mark of a later life of the block takes the place of those before.
        scars.mark_page(block, 1, 21);
        assert!(scars.is_suspect(block, 1, 21) && !scars.is_suspect(block, 7, 20));
        assert!(!scars.is_half_erased(block, 21));
    }
}
