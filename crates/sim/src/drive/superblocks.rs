//! The contents of the members of a superblock.

use super::drive::Drive;
use crate::controller::full::Written;
use crate::nand::CellMode;
use crate::units::BlockId;

impl Drive {
    /// The written state of a block of the flash.
    pub(crate) fn written_state(&self, block: BlockId) -> Written {
        let of = |block, pages| {
            let part = self.ftl.block(block).programmed_part(&self.media);
            let is_slc = self.media.mode(block) == CellMode::Slc;
            Written { erases: self.media.erase_count(block), pages, part, is_slc }
        };
        let Some(members) = self.media.superblocks() else {
            return of(block, self.ftl.block(block).written_pages());
        };
        let Some((superblock, member)) = members.superblock_of(block) else {
            return Written::default();
        };
        let is_slc = self.media.mode(superblock) == CellMode::Slc;
        let written = self.ftl.block(superblock).written_pages();
        of(superblock, members.shape().written_of(member, written, is_slc))
    }

    /// Pages that a block takes; of a superblock, for data.
    pub(crate) fn pages_to_win(&self, block: BlockId) -> u32 {
        let pages = self.geometry.pages_per_block;
        self.media.superblocks().map_or(pages, |members| {
            let shape = members.shape();
            shape.data_slots_of(false).saturating_sub(members.hole_slots(block, false))
        })
    }
}
