//! Reads of a block: the number of pages of each type, under the stress of the block.
//!
//! A [`BlockRead`] can be counted later than it was made and elsewhere: it holds all that the
//! outcome depends on, except the random streams of its die.

use std::sync::Arc;

use crate::geometry::Geometry;
use crate::memory::prefetch_at;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::superblock::Superblocks;
use crate::units::{BlockId, DieId, Ppn};

/// Types of pages, at most: one for each bit of a cell, and one for blocks of one bit per cell.
const TYPES_MAX: usize = 5;

/// Groups of layers, at most.
pub(super) const LAYER_GROUPS_MAX: usize = 8;

/// Sorts of pages, at most: types in each group of layers, and those by their further programs.
pub(super) const SORTS_MAX: usize = TYPES_MAX * LAYER_GROUPS_MAX;

/// A block and what wears on reads of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stressed {
    pub(super) block: BlockId,
    pub(super) die: DieId,
    pub(super) erases: u32,
    pub(super) copies: u8,
    /// Whether its last erase was interrupted.
    pub(super) is_half_erased: bool,
}

impl Stressed {
    #[inline]
    pub(super) fn of(media: &Media, block: BlockId) -> Self {
        let erases = media.erase_count(block);
        Self {
            block,
            die: media.geometry().die_of_block(block),
            erases,
            copies: media.copyback_depth(block),
            is_half_erased: media.scars().is_some_and(|it| it.is_half_erased(block, erases)),
        }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct BlockRead {
    pub(super) stressed: Stressed,
    /// Pages by sort.
    pub(super) counts: [u32; SORTS_MAX],
    /// The same of suspect pages, of which there are few.
    pub(super) suspects: [u8; SORTS_MAX],
    pub(super) source: Source,
}

/// A sort by its parts.
pub(super) struct Undisturbed {
    /// The sort of such pages if nothing has disturbed them.
    pub(super) sort: usize,
    /// Programs that have disturbed them.
    pub(super) disturbs: usize,
    pub(super) is_suspect: bool,
}

/// Maps the pages of a block to sorts. The first sorts are the page types; those of further groups
/// of layers follow, and then the same again for each program that disturbed the pages. After all
/// of these come the sorts of pages that a cut has made suspect.
#[derive(Clone, Debug)]
pub struct PageTypes {
    /// Page types that are distinguished; 1 if they are not.
    types: usize,
    /// Types times groups of layers.
    places: usize,
    /// Programs of a page that are distinguished; 1 if pages are programmed once.
    programs: usize,
    /// Whether suspect pages are distinguished.
    tells_suspects: bool,
    /// Bits of a cell, or 1 if types are not distinguished.
    bits: usize,
    /// The type and the group of layers of each sort that nothing disturbed.
    parts: [(u8, u8); SORTS_MAX],
    /// By place in the block: rows go through the types in turn, lower page first, as the lists of
    /// `nand.timing` do.
    at: Arc<[u8]>,
    /// The same in a block of one bit per cell.
    at_slc: Arc<[u8]>,
}

impl PageTypes {
    /// `count` types, `slc` of which is that of one bit per cell; without it, pages of one bit per
    /// cell are lower pages.
    pub(super) fn new(count: usize, slc: Option<u8>, geometry: &Geometry) -> Self {
        let bits = count - usize::from(slc.is_some());
        let type_of = |page| (geometry.row_of(page) as usize % bits) as u8;
        let at = (0..geometry.pages_per_block).map(type_of).collect();
        let at_slc = (0..geometry.pages_per_block).map(|_| slc.unwrap_or(0)).collect();
        let parts = std::array::from_fn(|sort| ((sort % count) as u8, (sort / count) as u8));
        Self {
            types: count,
            places: count,
            programs: 1,
            tells_suspects: false,
            bits,
            parts,
            at,
            at_slc,
        }
    }

    /// Distinguishes pages by the number of later programs of their page.
    pub(super) fn tell_disturbs(&mut self, programs_per_page: u32) {
        self.programs = (programs_per_page as usize).min(SORTS_MAX / self.types);
    }

    /// Distinguishes suspect pages.
    pub(super) fn tell_suspects(&mut self) {
        self.tells_suspects = true;
    }

    /// The most groups of layers that can be distinguished.
    pub(super) fn layer_groups_max(&self) -> usize {
        (SORTS_MAX / (self.types * self.programs)).min(LAYER_GROUPS_MAX)
    }

    /// Distinguishes the pages of groups of layers, wordlines being shared evenly by the layers
    /// from the first page on; returns how many pages of full density each group has.
    pub(super) fn lay_in_layers(&mut self, group_of: &[u8], group_count: usize) -> Vec<f64> {
        let mut weights = vec![0.0; group_count];
        let (pages, types) = (self.at.len(), self.types);
        let sort = |page: usize, bits: usize, page_type: u8| {
            let layer = (page * bits * group_of.len() / pages).min(group_of.len() - 1);
            group_of[layer] * types as u8 + page_type
        };
        let places = self.at.iter().enumerate();
        self.at = places.map(|(page, &page_type)| sort(page, 1, page_type)).collect();
        let places = self.at_slc.iter().enumerate();
        self.at_slc = places.map(|(page, &page_type)| sort(page, self.bits, page_type)).collect();
        self.places = types * group_count;
        self.at.iter().for_each(|&sort| weights[usize::from(sort) / types] += 1.0);
        weights
    }

    /// The group of layers of a page of full density.
    #[cfg(test)]
    pub(super) fn group_at(&self, page: usize) -> usize {
        usize::from(self.at[page]) / self.types
    }

    /// Sorts that are distinguished; 1 if pages are alike.
    #[inline]
    pub(super) fn sorts(&self) -> usize {
        self.places * self.programs
    }

    /// Whether suspect pages are distinguished.
    #[inline]
    pub(super) fn tells_suspects(&self) -> bool {
        self.tells_suspects
    }

    /// Takes a sort apart.
    #[inline]
    pub(super) fn undisturbed(&self, sort: usize) -> Undisturbed {
        if sort < self.places {
            return Undisturbed { sort, disturbs: 0, is_suspect: false };
        }
        let rest = sort / self.places;
        Undisturbed {
            sort: sort % self.places,
            disturbs: rest % self.programs,
            is_suspect: rest >= self.programs,
        }
    }

    /// The type and the group of layers of a sort that nothing disturbed.
    #[inline]
    pub(super) fn parts(&self, sort: usize) -> (usize, usize) {
        let (page_type, group) = self.parts[sort];
        (page_type.into(), group.into())
    }

    /// The types of the pages of superblocks: those of the blocks of the flash that contain them.
    pub(super) fn lay_over_dies(&mut self, superblocks: &Superblocks) {
        let of_member = Arc::clone(&self.at);
        // Types repeat by rows, so that those of a wide block begin as those of one member.
        let index_of = |slot| superblocks.locate(slot, false).index as usize;
        let slots = 0..superblocks.slots(false);
        self.at = slots.map(|slot| of_member[index_of(slot)]).collect();
        self.at_slc = self.at.iter().map(|_| self.at_slc[0]).collect();
    }

    /// Whether it matters which pages of a block are read.
    #[inline]
    pub fn tells_pages(&self) -> bool {
        self.sorts() > 1 || self.tells_suspects
    }

    /// Asks for the sort of a page of full density, by its index in its block.
    #[inline]
    pub fn prefetch(&self, page_index: u32) {
        prefetch_at(&self.at, page_index as usize);
    }

    /// The sort of a page.
    #[inline(always)]
    #[allow(clippy::inline_always)] // the page was asked the same before
    pub(super) fn of(&self, media: &Media, ppn: Ppn) -> usize {
        let geometry = media.geometry();
        if !self.tells_pages() {
            return 0;
        }
        let index = geometry.page_index(ppn) as usize;
        let block = geometry.block_of(ppn);
        let suspects = if self.is_suspect(media, block, index as u32) { self.sorts() } else { 0 };
        if media.mode(block) == CellMode::Slc {
            return usize::from(self.at_slc[index]) + suspects;
        }
        usize::from(self.at[index]) + self.beyond(media, ppn) + suspects
    }

    /// Whether a cut has made a page suspect.
    #[inline]
    fn is_suspect(&self, media: &Media, block: BlockId, index: u32) -> bool {
        let erases = || media.erase_count(block);
        let scars = media.scars().filter(|_| self.tells_suspects);
        scars.is_some_and(|it| it.is_suspect(block, index, erases()))
    }

    /// The part of a sort that counts the programs after a page.
    #[inline]
    fn beyond(&self, media: &Media, ppn: Ppn) -> usize {
        if self.programs == 1 {
            return 0;
        }
        self.places * usize::from(media.disturbs(ppn)).min(self.programs - 1)
    }

    /// A read of `page_count` pages of a block, whichever they are. Not for drives that distinguish
    /// pages.
    #[inline]
    pub fn live(
        &self,
        media: &Media,
        block: BlockId,
        page_count: u32,
        source: Source,
    ) -> BlockRead {
        debug_assert!(!self.tells_pages(), "which pages of {block:?}?");
        let mut counts = [0; SORTS_MAX];
        counts[0] = page_count;
        let (stressed, suspects) = (Stressed::of(media, block), [0; SORTS_MAX]);
        BlockRead { stressed, counts, suspects, source }
    }

    /// A read of pages of a block, by their index in it.
    pub fn pages(
        &self,
        media: &Media,
        block: BlockId,
        page_indices: &[u32],
        source: Source,
    ) -> BlockRead {
        let (mut counts, mut suspects) = ([0; SORTS_MAX], [0_u8; SORTS_MAX]);
        if self.tells_pages() {
            let is_slc = media.mode(block) == CellMode::Slc;
            let at = if is_slc { &self.at_slc } else { &self.at };
            let first = media.geometry().first_page(block).0;
            for &page in page_indices {
                let sort = usize::from(at[page as usize]) + self.beyond(media, Ppn(first + page));
                if self.is_suspect(media, block, page) && suspects[sort] < u8::MAX {
                    suspects[sort] += 1;
                } else {
                    counts[sort] += 1;
                }
            }
        } else {
            counts[0] = page_indices.len() as u32;
        }
        BlockRead { stressed: Stressed::of(media, block), counts, suspects, source }
    }
}
