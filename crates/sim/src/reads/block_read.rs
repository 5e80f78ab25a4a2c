//! What of a block is read: so many pages of each type, under the stress that the block is under.
//!
//! A [`BlockRead`] can be counted later than it was made and elsewhere: it holds all that the
//! outcome depends on, beside the streams of chance of its die.

use std::sync::Arc;

use crate::geometry::Geometry;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::superblock::Superblocks;
use crate::units::{BlockId, DieId, Ppn};

/// Types of pages, at most: one for each bit of a cell, and one for blocks of one bit per cell.
pub(super) const TYPES_MAX: usize = 5;

/// A block and what wears on reads of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stressed {
    pub(super) block: BlockId,
    pub(super) die: DieId,
    pub(super) erases: u32,
    pub(super) copies: u8,
}

impl Stressed {
    #[inline]
    pub(super) fn of(media: &Media, block: BlockId) -> Self {
        Self {
            block,
            die: media.geometry().die_of_block(block),
            erases: media.erase_count(block),
            copies: media.copyback_depth(block),
        }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct BlockRead {
    pub(super) stressed: Stressed,
    /// Pages by type.
    pub(super) counts: [u32; TYPES_MAX],
    pub(super) source: Source,
}

/// Which types the pages of a block are of.
#[derive(Clone, Debug)]
pub struct PageTypes {
    /// Types that are told apart; 1 where they are not.
    count: usize,
    /// By place in the block: rows go through the types in turn, lower page first, as the lists of
    /// `nand.timing` do.
    at: Arc<[u8]>,
    /// The type of pages of one bit per cell.
    slc: usize,
}

impl PageTypes {
    /// `count` types, `slc` of which is that of one bit per cell; without it, pages of one bit per
    /// cell are lower pages.
    pub(super) fn new(count: usize, slc: Option<u8>, geometry: &Geometry) -> Self {
        let bits = count - usize::from(slc.is_some());
        let type_of = |page| (geometry.row_of(page) as usize % bits) as u8;
        let at = (0..geometry.pages_per_block).map(type_of).collect();
        Self { count, at, slc: slc.map_or(0, usize::from) }
    }

    /// The types of the pages of superblocks: those of the blocks of the flash that they lie in.
    pub(super) fn lay_over_dies(&mut self, superblocks: &Superblocks) {
        let of_member = Arc::clone(&self.at);
        // Types repeat by rows, so that those of a wide block begin as those of one member.
        let index_of = |slot| superblocks.locate(slot, false).index as usize;
        let slots = 0..superblocks.slots(false);
        self.at = slots.map(|slot| of_member[index_of(slot)]).collect();
    }

    /// Whether it matters which pages of a block are read.
    #[inline]
    pub fn tells_pages(&self) -> bool {
        self.count > 1
    }

    /// The type of a page.
    #[inline]
    pub(super) fn of(&self, media: &Media, ppn: Ppn) -> usize {
        let geometry = media.geometry();
        if !self.tells_pages() {
            return 0;
        }
        if media.mode(geometry.block_of(ppn)) == CellMode::Slc {
            return self.slc;
        }
        usize::from(self.at[geometry.page_index(ppn) as usize])
    }

    /// A read of so many pages of a block, whichever they are. Not for drives that tell pages
    /// apart.
    #[inline]
    pub fn live(
        &self,
        media: &Media,
        block: BlockId,
        page_count: u32,
        source: Source,
    ) -> BlockRead {
        debug_assert!(!self.tells_pages(), "which pages of {block:?}?");
        let mut counts = [0; TYPES_MAX];
        counts[0] = page_count;
        BlockRead { stressed: Stressed::of(media, block), counts, source }
    }

    /// A read of pages of a block, by their index in it.
    pub fn pages(
        &self,
        media: &Media,
        block: BlockId,
        page_indices: &[u32],
        source: Source,
    ) -> BlockRead {
        let mut counts = [0; TYPES_MAX];
        if !self.tells_pages() {
            counts[0] = page_indices.len() as u32;
        } else if media.mode(block) == CellMode::Slc {
            counts[self.slc] = page_indices.len() as u32;
        } else {
            for &page in page_indices {
                counts[usize::from(self.at[page as usize])] += 1;
            }
        }
        BlockRead { stressed: Stressed::of(media, block), counts, source }
    }
}
