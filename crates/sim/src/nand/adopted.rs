//! What pages hold, made up from their out-of-band areas: of a drive that was used without bytes.
//!
//! ```text
//! out-of-band area   7  3  7  -  3      the map has 7 at its second place, 3 at its last
//! unit               7₁ 3₁ 7₂ -  3₂     the copy that the map names is newer than all others
//! ```
//! Copies of pages that hold nothing any more are left out: the records of the firmware say that
//! they were trimmed. Bytes are zeros. The order in which blocks were opened is theirs as given.

use super::unit::Unit;
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

    /// Gives the pages of these blocks what their out-of-band areas say, up to so many of each;
    /// blocks come in the order in which they were opened. `places` is where the map has each
    /// logical page. From now on a cut may come.
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
                    Unit::new((lpn, if named == place { NEWEST } else { OLDER }), None)
                });
            }
            if let Some(history) = &mut contents.history {
                history.note_opened(block);
            }
            contents.blocks[block.0 as usize] = Some(units.into());
        }
        self.contents = Some(contents);
    }

    /// Pages that hold no bytes are as those say that they hold: what cannot be read, or was never
    /// programmed, is of no logical page.
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
