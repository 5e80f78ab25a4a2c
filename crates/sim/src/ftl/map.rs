//! Where every logical page lives, and which physical pages are live.
//!
//! L2P is one `u32` per logical page. Liveness is one bit per physical page, small enough for the
//! cache, so that an overwrite touches the L2P entry and one bit, and never the reverse map (which
//! is the media's out-of-band area, read only when a block is collected).
//!
//! Invariant: a bit is set when its block is opened and cleared when the page dies or the block is
//! collected. So pages of an open block that are not written yet count as live; nothing looks at
//! them before the block is closed.

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::huge_vec;
use crate::units::{BlockId, Lpn, Ppn};

/// See the module.
pub(crate) struct Map {
    geometry: Geometry,
    pub(crate) l2p: Vec<u32>,
    pub(crate) live: Vec<u64>,
    pub(crate) live_counts: Vec<u16>,
    pub(crate) mapped_count: u32,
}

impl Map {
    pub(crate) fn new(geometry: Geometry, logical_pages: u32) -> Self {
        let bits = (geometry.block_count() as usize) << geometry.page_bits;
        Self {
            geometry,
            l2p: huge_vec(logical_pages as usize, UNMAPPED),
            live: huge_vec(bits.div_ceil(64), 0),
            live_counts: vec![0; geometry.block_count() as usize],
            mapped_count: 0,
        }
    }

    /// The page that holds `lpn`.
    #[inline]
    pub(crate) fn find(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.l2p[lpn.0 as usize];
        (ppn != UNMAPPED).then_some(Ppn(ppn))
    }

    /// Points `lpn` at `ppn` and returns where it was.
    #[inline]
    pub(crate) fn bind(&mut self, lpn: Lpn, ppn: Ppn) -> Option<Ppn> {
        let old = std::mem::replace(&mut self.l2p[lpn.0 as usize], ppn.0);
        self.mapped_count += u32::from(old == UNMAPPED);
        (old != UNMAPPED).then_some(Ppn(old))
    }

    /// Forgets `lpn` and returns where it was.
    pub(crate) fn unbind(&mut self, lpn: Lpn) -> Option<Ppn> {
        let old = std::mem::replace(&mut self.l2p[lpn.0 as usize], UNMAPPED);
        self.mapped_count -= u32::from(old != UNMAPPED);
        (old != UNMAPPED).then_some(Ppn(old))
    }

    /// Marks a page dead; returns its block and the live pages left there.
    #[inline]
    pub(crate) fn kill(&mut self, ppn: Ppn) -> (BlockId, u16) {
        let block = self.geometry.block_of(ppn);
        self.live[(ppn.0 >> 6) as usize] &= !(1 << (ppn.0 & 63));
        let count = &mut self.live_counts[block.0 as usize];
        *count -= 1;
        (block, *count)
    }

    /// Marks consecutive pages of one block dead; returns the block and the live pages left there.
    pub(crate) fn kill_run(&mut self, first: Ppn, page_count: u32) -> (BlockId, u16) {
        let block = self.geometry.block_of(first);
        let mut bit = first.0;
        let limit = first.0 + page_count;
        while bit < limit {
            let in_word = (64 - bit % 64).min(limit - bit);
            let mask = (u64::MAX >> (64 - in_word)) << (bit % 64);
            self.live[(bit / 64) as usize] &= !mask;
            bit += in_word;
        }
        let count = &mut self.live_counts[block.0 as usize];
        *count -= page_count as u16;
        (block, *count)
    }

    /// Marks all pages of a block live: it was opened.
    pub(crate) fn fill(&mut self, block: BlockId) {
        let pages = self.geometry.pages_per_block;
        self.live_counts[block.0 as usize] = pages as u16;
        for word in 0..self.words_per_block() {
            let count = (pages - 64 * word as u32).min(64);
            *self.word_mut(block, word).0 |= (u64::MAX >> (64 - count)) << self.shift(block);
        }
    }

    /// Marks all pages of a block dead: it is being collected.
    pub(crate) fn clear(&mut self, block: BlockId) {
        self.live_counts[block.0 as usize] = 0;
        for word in 0..self.words_per_block() {
            let (place, mask) = self.word_mut(block, word);
            *place &= !mask;
        }
    }

    /// The first page of a block.
    pub(crate) fn first_page(&self, block: BlockId) -> Ppn {
        self.geometry.first_page(block)
    }

    /// Words of 64 pages that cover a block.
    pub(crate) fn words_per_block(&self) -> usize {
        (self.geometry.pages_per_block as usize).div_ceil(64)
    }

    /// Live bits of pages `64 * word ..` of a block, lowest page in the lowest bit.
    #[inline]
    pub(crate) fn live_word(&self, block: BlockId, word: usize) -> u64 {
        let first_bit = (block.0 as usize) << self.geometry.page_bits;
        let value = self.live[first_bit / 64 + word];
        if self.geometry.page_bits >= 6 {
            value
        } else {
            (value >> (first_bit % 64)) & self.block_mask()
        }
    }

    fn word_mut(&mut self, block: BlockId, word: usize) -> (&mut u64, u64) {
        let first_bit = (block.0 as usize) << self.geometry.page_bits;
        let mask = self.block_mask() << self.shift(block);
        (&mut self.live[first_bit / 64 + word], mask)
    }

    /// Bit of a word at which a block of fewer than 64 pages starts.
    fn shift(&self, block: BlockId) -> u32 {
        if self.geometry.page_bits >= 6 {
            0
        } else {
            (block.0 << self.geometry.page_bits) % 64
        }
    }

    /// The bits that a block has in one word.
    fn block_mask(&self) -> u64 {
        if self.geometry.page_bits >= 6 {
            u64::MAX
        } else {
            (1 << (1 << self.geometry.page_bits)) - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_size_keep_their_bits_apart() {
        for pages_per_block in [1, 2, 12, 16, 48, 64, 65, 200, 256] {
            let geometry = Geometry::new([1, 1], [9, pages_per_block], 4096);
            let mut map = Map::new(geometry, 1);
            let live = |map: &Map, block| -> u32 {
                (0..map.words_per_block())
                    .map(|word| map.live_word(BlockId(block), word).count_ones())
                    .sum()
            };
            (0..9).for_each(|block| map.fill(BlockId(block)));
            map.clear(BlockId(4));
            let last = Ppn(geometry.first_page(BlockId(5)).0 + pages_per_block - 1);
            assert_eq!(map.kill(last), (BlockId(5), pages_per_block as u16 - 1));
            for block in 0..9 {
                let expected = match block {
                    4 => 0,
                    5 => pages_per_block - 1,
                    _ => pages_per_block,
                };
                assert_eq!(live(&map, block), expected, "{pages_per_block} pages, block {block}");
                assert_eq!(u32::from(map.live_counts[block as usize]), expected);
            }
        }
    }
}
