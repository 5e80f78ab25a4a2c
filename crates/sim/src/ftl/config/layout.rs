//! Which pages of a block take data, and which hold parity, records of the drive or nothing.
//!
//! ```text
//! stripe 4, die 0    d d d P d d d P d d d P …         the last page is parity in any case; a last
//! stripe 4, die 1    d d P d d d P d d d P d … P       stripe without data joins the one before
//! superblock         d d d P|d d m P|d d h P|d h d P   the last member of a row is parity; members
//!                                                      whose block is bad are holes, and some hold
//!                                                      the drive's own records
//! ```
//! Parity follows the pages that it protects, since a block is programmed in order. Its place is
//! shifted from die to die, so that dies that are written alike do not all program parity at once.
//! A block of one bit per cell ends earlier.

use std::ops::Range;

use crate::config::ConfigError;
use crate::geometry::Geometry;
use crate::nand::CellMode;
use crate::superblock::{Superblocks, HOLE};
use crate::units::DieId;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Pages of a block at full density, and at one bit per cell.
    page_counts: [u32; 2],
    /// Pages of a stripe; 0 without parity.
    stripe: u32,
    superblocks: Option<Superblocks>,
    /// Pages of a superblock without holes that take data, as `page_counts`; 0 without superblocks.
    /// Counting them walks the rows, and each command asks.
    data_slots: [u32; 2],
}

/// The use of a page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Data,
    Parity,
    /// The drive's own records.
    Metadata,
    /// Pages of a bad block.
    Hole,
}

impl Layout {
    /// Blocks without parity, of which all pages take data in either mode.
    pub fn plain(geometry: &Geometry) -> Self {
        Self {
            page_counts: [geometry.pages_per_block; 2],
            stripe: 0,
            superblocks: None,
            data_slots: [0; 2],
        }
    }

    /// The layout of superblocks over the dies; `None` without superblocks.
    pub fn superblocks(&self) -> Option<&Superblocks> {
        self.superblocks.as_ref()
    }

    /// Whether all pages of a block take data in either mode, if no block is bad.
    pub(crate) fn is_plain(&self, geometry: &Geometry) -> bool {
        let is_shaped = self.superblocks.is_some_and(|it| it.has_parity() || it.has_metadata());
        !is_shaped
            && Self { superblocks: None, data_slots: [0; 2], ..*self } == Self::plain(geometry)
    }

    /// Pages of a block in this mode, parity included.
    #[inline]
    pub fn pages(&self, mode: CellMode) -> u32 {
        self.page_counts[mode as usize]
    }

    /// Pages of a block that take data; of a superblock without holes.
    #[inline]
    pub fn data_pages(&self, die: DieId, mode: CellMode) -> u32 {
        if self.superblocks.is_some() {
            return self.data_slots[mode as usize];
        }
        let pages = self.pages(mode);
        if self.stripe == 0 {
            return pages;
        }
        let after_first = pages.saturating_sub(2 + self.first_parity(die));
        pages - 1 - after_first.div_ceil(self.stripe)
    }

    /// The use of a page of a block, and the end of the following pages of the same use. `members`
    /// are those of a superblock.
    pub(crate) fn part(
        &self,
        die: DieId,
        mode: CellMode,
        members: &[u32],
        page_index: u32,
    ) -> (Part, u32) {
        let pages = self.pages(mode);
        if let Some(superblocks) = &self.superblocks {
            return part_of(superblocks, mode, members, page_index, pages);
        }
        match self.stripe_of(die, mode, page_index) {
            None => (Part::Data, pages),
            Some(stripe) if page_index + 1 == stripe.end => (Part::Parity, stripe.end),
            Some(stripe) => (Part::Data, stripe.end - 1),
        }
    }

    /// The end of the program unit of a page of a superblock that is in a bad block of the flash;
    /// `None` if the page is not in a bad block.
    pub(crate) fn hole_limit(
        &self,
        mode: CellMode,
        members: &[u32],
        page_index: u32,
    ) -> Option<u32> {
        let superblocks = self.superblocks.as_ref()?;
        let is_slc = mode == CellMode::Slc;
        let member = superblocks.locate(page_index, is_slc).member;
        (members[member as usize] == HOLE).then(|| superblocks.unit(page_index, is_slc).1)
    }

    /// Where data that begins at a page has to stop: at the parity page of its stripe, or at the
    /// end of the block.
    fn data_limit(&self, die: DieId, mode: CellMode, start: u32) -> u32 {
        let pages = self.pages(mode);
        if self.stripe == 0 {
            return pages;
        }
        let parity =
            if start == 0 { self.first_parity(die) } else { start.saturating_add(self.stripe - 1) };
        if parity.saturating_add(2) >= pages {
            pages - 1
        } else {
            parity
        }
    }

    /// The stripe that a page belongs to, its parity page last; `None` without parity.
    pub fn stripe_of(&self, die: DieId, mode: CellMode, page_index: u32) -> Option<Range<u32>> {
        if self.stripe == 0 {
            return None;
        }
        let first = self.first_parity(die);
        let mut start = match page_index.checked_sub(first + 1) {
            None => 0,
            Some(behind) => first + 1 + behind / self.stripe * self.stripe,
        };
        if start > 0 && start == self.pages(mode) - 1 {
            // The stripe would have no data: its page closes the stripe before.
            start = if start == first + 1 { 0 } else { start - self.stripe };
        }
        Some(start..self.data_limit(die, mode, start) + 1)
    }

    fn first_parity(&self, die: DieId) -> u32 {
        self.stripe - 1 - die.0 % (self.stripe - 1)
    }
}

/// The use of a page of a superblock of `pages` pages, and the end of the following pages of the
/// same use.
fn part_of(
    superblocks: &Superblocks,
    mode: CellMode,
    members: &[u32],
    page_index: u32,
    pages: u32,
) -> (Part, u32) {
    let is_slc = mode == CellMode::Slc;
    let part_at = |page_index| {
        let at = superblocks.locate(page_index, is_slc);
        if members[at.member as usize] == HOLE {
            Part::Hole
        } else if superblocks.parity_place(members, at.row) == Some(at.place) {
            Part::Parity
        } else if superblocks.is_metadata(at.row, at.place) {
            Part::Metadata
        } else {
            Part::Data
        }
    };
    let part = part_at(page_index);
    let mut limit = superblocks.unit(page_index, is_slc).1;
    while limit < pages && part_at(limit) == part {
        limit = superblocks.unit(limit, is_slc).1;
    }
    (part, limit)
}

impl super::FtlConfig {
    /// The pages of a block that take data, on flash of `bits_per_cell`.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ftl`, when a block is too small for the options.
    pub fn layout(
        &self,
        geometry: &Geometry,
        bits_per_cell: u32,
        superblocks: Option<Superblocks>,
    ) -> Result<Layout, ConfigError> {
        let Some(superblocks) = superblocks else {
            return self.layout_of(geometry, bits_per_cell);
        };
        let member = self.layout_of(superblocks.flash(), bits_per_cell)?;
        let page_counts = member.page_counts.map(|pages| pages * superblocks.dies());
        let data_slots = [false, true].map(|is_slc| superblocks.data_slots_of(is_slc));
        Ok(Layout { page_counts, superblocks: Some(superblocks), data_slots, ..member })
    }

    /// The layout of blocks of one die.
    fn layout_of(&self, geometry: &Geometry, bits_per_cell: u32) -> Result<Layout, ConfigError> {
        let slc = geometry.slc_pages_per_block(bits_per_cell);
        let stripe = self.stripe();
        let uses_slc = !matches!(self.slc_cache, super::SlcCacheConfig::None(_));
        if stripe == 0 && !uses_slc {
            return Ok(Layout::plain(geometry));
        }
        if uses_slc && bits_per_cell == 1 {
            return Err(ConfigError::new(
                "slc_cache",
                "nand.cell_type SLC has one bit per cell everywhere; accepted: none",
            ));
        }
        let smallest = if uses_slc { slc } else { geometry.pages_per_block };
        if uses_slc && slc == 0 {
            let rows = geometry.flash_pages_per_block() / geometry.plane_count;
            let message = format!(
                "{rows} rows at {bits_per_cell} bits per cell leave no page at one bit; accepted: \
                 none, or larger nand.pages_per_block"
            );
            return Err(ConfigError::new("slc_cache", message));
        }
        if stripe > smallest {
            let message = format!(
                "a stripe of {stripe} pages in a block of {smallest}; accepted: 2 to {smallest}"
            );
            return Err(ConfigError::new("parity.stripe", message));
        }
        let page_counts = [geometry.pages_per_block, slc];
        Ok(Layout { page_counts, stripe, ..Layout::plain(geometry) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(page_counts: [u32; 2], stripe: u32) -> Layout {
        Layout { page_counts, stripe, superblocks: None, data_slots: [0; 2] }
    }

    /// Data limits walked one by one, against the closed forms.
    #[test]
    fn every_page_is_data_or_parity_and_lies_in_one_stripe() {
        for stripe in 2..9 {
            for pages in stripe..40 {
                for die in (0..5).map(DieId) {
                    let layout = layout([pages, 2], stripe);
                    let (mut start, mut data) = (0, 0);
                    while start < pages {
                        let parity = layout.data_limit(die, CellMode::Native, start);
                        assert!(parity > start && parity < pages, "a stripe without data");
                        assert!(parity - start <= stripe, "{stripe} {pages}: {start}..{parity}");
                        data += parity - start;
                        for page in start..=parity {
                            let found = layout.stripe_of(die, CellMode::Native, page);
                            assert_eq!(found, Some(start..parity + 1), "{stripe} {pages} {page}");
                        }
                        start = parity + 1;
                    }
                    assert_eq!(start, pages, "the last page is parity");
                    assert_eq!(data, layout.data_pages(die, CellMode::Native));
                }
            }
        }
    }

    #[test]
    fn dies_shift_their_parity() {
        let layout = layout([12, 4], 4);
        let parities = |die| {
            let stripes = (0..12).filter_map(|page| {
                layout.stripe_of(DieId(die), CellMode::Native, page).map(|stripe| stripe.end - 1)
            });
            let mut parities: Vec<u32> = stripes.collect();
            parities.dedup();
            parities
        };
        assert_eq!(parities(0), [3, 7, 11]);
        // Page 11 would be alone: it closes the stripe that page 7 begins.
        assert_eq!(parities(1), [2, 6, 11]);
        assert_eq!(parities(2), [1, 5, 9, 11]);
    }
}
