//! Observations of a working drive for a campaign of power cuts: work of the dies, and open blocks.

use super::session::Session;
use crate::ftl::BlockState;
use crate::units::BlockId;

impl Session {
    /// Rows of a block of the flash.
    pub(crate) fn rows_per_block(&self) -> u32 {
        let (media, pages) = (&self.drive.media, self.drive.geometry.pages_per_block);
        let rows = (0..pages).map(|index| media.flash_page(BlockId(0), index).2);
        1 + rows.max().unwrap_or(0)
    }

    /// Whether pages of a block have different page types, so that some are of a later pass.
    pub(crate) fn has_page_types(&self) -> bool {
        self.drive.config.needs_full() || self.drive.config.flash().timing().program.len() > 1
    }

    /// Whether a page is programmed now in a row of its block that is one of these.
    pub(crate) fn programs_row(&self, is_wanted: impl Fn(u32) -> bool) -> bool {
        let Some(executor) = &self.executor else { return false };
        let (media, mut found) = (&self.drive.media, false);
        executor.clockwork.backend.programs_under_way(&self.drive, &mut |index| {
            found |= is_wanted(media.flash_row(index));
        });
        found
    }

    /// Blocks that are being written: the number of their opening, and pages that were ordered.
    pub(crate) fn open_blocks(&self) -> impl Iterator<Item = (BlockId, u64, u32)> + '_ {
        let (ftl, contents) = (&self.drive.ftl, self.drive.media.contents.as_ref());
        let blocks = (0..self.drive.geometry.block_count()).map(BlockId);
        let open = blocks.filter(|&block| ftl.block(block).state() == BlockState::Open);
        open.map(move |block| {
            let opening = contents.map_or(0, |contents| contents.opening(block));
            (block, opening, ftl.block(block).written_pages())
        })
    }

    /// The die of a block, the first one of a group.
    pub(crate) fn die_of(&self, block: BlockId) -> u32 {
        self.drive.geometry.die_of_block(block).0
    }

    /// Pages of a block of the FTL.
    pub(crate) fn pages_per_block(&self) -> u32 {
        self.drive.geometry.pages_per_block
    }

    /// The page of the flash that holds a page of a block: die of the group, page, row.
    pub(crate) fn flash_page(&self, block: BlockId, index: u32) -> (u32, u32, u32) {
        self.drive.media.flash_page(block, index)
    }
}
