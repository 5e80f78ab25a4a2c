//! Address arithmetic: channels, dies, blocks and pages, and the numbers that name them.
//!
//! ```text
//! Ppn (32 bits) = block << page_bits | page       page_bits = log2 of pages per block, rounded up
//! block         = die * blocks_per_die + block of the die
//! die           = channel + channels * die of the channel
//! ```
//! Consecutive die numbers sit on different channels, so that striping over dies stripes over
//! channels first. The packed page number makes block and page a shift and a mask; arrays that are
//! indexed by page use [`Geometry::page_slot`], which has no holes when pages per block is no power
//! of two.

use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Marks a logical page that maps to nothing, and an out-of-band area that holds no logical page.
pub const UNMAPPED: u32 = u32::MAX;

/// The shape of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Channels of the drive.
    pub channel_count: u32,
    /// Dies of the drive.
    pub die_count: u32,
    /// Blocks of one die, all planes together.
    pub blocks_per_die: u32,
    /// Pages of one block.
    pub pages_per_block: u32,
    /// Bits of a page index inside a [`Ppn`].
    pub page_bits: u32,
    /// Data bytes of a page.
    pub page_bytes: u64,
    /// Pages of a row.
    pub plane_count: u32,
    /// Flash pages of a block.
    pub physical_pages_per_block: u32,
}

impl Geometry {
    /// Blocks of the drive.
    pub fn block_count(&self) -> u32 {
        self.die_count * self.blocks_per_die
    }

    /// Pages of the drive.
    pub fn page_count(&self) -> usize {
        self.block_count() as usize * self.pages_per_block as usize
    }

    /// The block of a page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        BlockId(ppn.0 >> self.page_bits)
    }

    /// The index of a page inside its block.
    #[inline]
    pub fn page_index(&self, ppn: Ppn) -> u32 {
        ppn.0 & ((1 << self.page_bits) - 1)
    }

    /// The first page of a block.
    #[inline]
    pub fn first_page(&self, block: BlockId) -> Ppn {
        Ppn(block.0 << self.page_bits)
    }

    /// Flash page.
    #[inline]
    pub fn physical_index(&self, page_index: u32) -> u32 {
        (u64::from(page_index) * u64::from(self.physical_pages_per_block)
            / u64::from(self.pages_per_block)) as u32
    }

    /// Row.
    #[inline]
    pub fn row_of(&self, page_index: u32) -> u32 {
        self.physical_index(page_index) / self.plane_count
    }

    /// Position of a page in arrays without holes.
    #[inline]
    pub fn page_slot(&self, ppn: Ppn) -> usize {
        self.block_slot(self.block_of(ppn)) + self.page_index(ppn) as usize
    }

    /// Position of a block's first page in arrays without holes.
    #[inline]
    pub fn block_slot(&self, block: BlockId) -> usize {
        block.0 as usize * self.pages_per_block as usize
    }

    /// The die of a block.
    #[inline]
    pub fn die_of_block(&self, block: BlockId) -> DieId {
        DieId(block.0 / self.blocks_per_die)
    }

    /// The die that holds a logical page: static striping.
    #[inline]
    pub fn die_of(&self, lpn: Lpn) -> DieId {
        DieId(if self.die_count == 1 { 0 } else { lpn.0 % self.die_count })
    }

    /// The channel of a die.
    pub fn channel_of(&self, die: DieId) -> u32 {
        die.0 % self.channel_count
    }

    /// Logical pages of a die when `logical_pages` are striped over all dies.
    pub fn logical_pages_of(&self, die: DieId, logical_pages: u32) -> u32 {
        logical_pages / self.die_count + u32::from(die.0 < logical_pages % self.die_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_pack_and_unpack() {
        let geometry = Geometry {
            channel_count: 2,
            die_count: 4,
            blocks_per_die: 10,
            pages_per_block: 48,
            page_bits: 6,
            page_bytes: 4096,
            plane_count: 1,
            physical_pages_per_block: 48,
        };
        let ppn = Ppn(geometry.first_page(BlockId(13)).0 + 47);
        assert_eq!(geometry.block_of(ppn), BlockId(13));
        assert_eq!(geometry.page_index(ppn), 47);
        assert_eq!(geometry.page_slot(ppn), 13 * 48 + 47);
        assert_eq!(geometry.die_of_block(BlockId(13)), DieId(1));
        let striped: u32 = (0..4).map(|die| geometry.logical_pages_of(DieId(die), 1003)).sum();
        assert_eq!(striped, 1003);
        for lpn in 0..1003 {
            assert_eq!(geometry.channel_of(geometry.die_of(Lpn(lpn))), lpn % 2);
        }
    }
}
