//! Rebuilds the contents of pages from their out-of-band areas, for a drive that was used without
//! bytes.
//!
//! ```text
//! out-of-band area   7  3  7  -  3      the map has 7 at its second place, 3 at its last
//! unit               7₁ 3₁ 7₂ -  3₂     the copy that the map names is newer than all others
//! ```
//! Copies of logical pages that were trimmed, according to the records of the firmware, are left
//! out. The bytes of all units are zeros. The caller passes the blocks in the order in which they
//! were opened.

use super::unit::{Unit, Version};
use super::{CellMode, Media};
use crate::geometry::UNMAPPED;
use crate::units::BlockId;

/// Versions of the copy that the map names, and of all others.
const NEWEST: u32 = 2;
const OLDER: u32 = 1;

impl Media {
    /// Pages that a block has which is written to its end.
    pub(crate) fn slots_of(&self, block: BlockId, bits_per_cell: u32) -> u32 {
        let is_slc = self.mode(block) == CellMode::Slc;
        match self.superblocks() {
            Some(members) => members.shape().slots(is_slc),
            None if is_slc => self.geometry().slc_pages_per_block(bits_per_cell),
            None => self.geometry().pages_per_block,
        }
    }

    /// Gives each page of these blocks a unit according to its out-of-band area. Each block comes
    /// with the number of its written pages; the blocks are in the order in which they were opened.
    /// `places` holds the place of each logical page in the map. Afterwards power cuts can be
    /// simulated.
    pub(crate) fn adopt(&mut self, blocks: &[(BlockId, u32)], places: &[u32]) {
        let Some(mut contents) = self.contents.take() else { return };
        contents.expect_cuts(&self.geometry);
        for &(block, written) in blocks {
            let first = self.geometry.first_page(block).0;
            let mut units = vec![None; self.geometry.pages_per_block as usize];
            let written = &self.oob_of_block(block)[..written as usize];
            for ((place, &lpn), unit) in (first..).zip(written).zip(&mut units) {
                let named = places.get(lpn as usize).filter(|&&named| named != UNMAPPED);
                *unit = named.map(|&named| {
                    let version = if named == place { NEWEST } else { OLDER };
                    Unit::new(Version { lpn, version }, None)
                });
            }
            if let Some(history) = &mut contents.history {
                history.note_opened(block);
            }
            contents.blocks[block.0 as usize] = Some(units.into());
        }
        self.contents = Some(contents);
    }

    /// Sets the out-of-band areas of all pages from their units: a page that cannot be read, or was
    /// never programmed, belongs to no logical page.
    pub(crate) fn disown(&mut self) {
        let Some(contents) = self.contents.take() else { return };
        for (block, units) in (0..).map(BlockId).zip(&contents.blocks) {
            let slot = self.slot(self.geometry.first_page(block));
            for (oob, unit) in self.oob[slot..].iter_mut().zip(units.iter().flatten()) {
                let sound = unit.as_ref().filter(|unit| !unit.is_lost());
                *oob = sound.map_or(UNMAPPED, |unit| unit.lpn);
            }
        }
    }
}
