//! Where every logical page lives, and which physical pages are live.
//!
//! L2P is one `u32` per logical page. Liveness is one bit per physical page, small enough for the
//! cache, so that an overwrite touches the L2P entry and one bit, and never the reverse map (which
//! is the media's out-of-band area, read only when a block is collected).
//!
//! Invariant: a bit is set when its block is opened and cleared when the page dies or is taken by a
//! collection. So pages of an open block that are not written yet count as live; nothing looks at
//! them before the block is closed.

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::{compress, huge_vec, prefetch};
use crate::units::{BlockId, Lpn, Ppn};

/// See the module.
pub(crate) struct Map {
    geometry: Geometry,
    l2p: Vec<u32>,
    live: Vec<u64>,
    live_counts: Vec<u16>,
    mapped_count: u32,
}

/// Live pages on their way out of a block: their indices in it, and their logical pages.
#[derive(Default)]
pub(crate) struct Moving {
    page_indices: Vec<u32>,
    lpns: Vec<u32>,
    /// How many there are; what lies behind is left from other blocks.
    count: usize,
}

impl Moving {
    pub(crate) fn len(&self) -> u32 {
        self.count as u32
    }

    /// Where they were in their block.
    pub(crate) fn page_indices(&self) -> &[u32] {
        &self.page_indices[..self.count]
    }

    /// Whose data they hold.
    pub(crate) fn lpns(&self) -> &[u32] {
        &self.lpns[..self.count]
    }
}

/// Pages that died side by side: the first, how many, and how far the run that let them die was
/// when the last of them did.
#[derive(Clone, Copy)]
pub(crate) struct DeadRun {
    pub(crate) first: Ppn,
    pub(crate) page_count: u32,
    pub(crate) written: u64,
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

    /// Logical pages of the drive.
    pub(crate) fn logical_pages(&self) -> u32 {
        self.l2p.len() as u32
    }

    /// Logical pages that hold data.
    pub(crate) fn mapped_count(&self) -> u32 {
        self.mapped_count
    }

    /// Logical pages that hold data, counted one by one.
    pub(crate) fn count_mapped(&self) -> u64 {
        self.l2p.iter().filter(|&&ppn| ppn != UNMAPPED).count() as u64
    }

    /// Asks for the L2P entry of a coming address.
    #[inline]
    pub(crate) fn prefetch_entry(&self, lpn: Lpn) {
        prefetch(&self.l2p, lpn.0 as usize);
    }

    /// Asks for what an overwrite of a coming address will touch; its L2P entry should be at hand.
    #[inline]
    pub(crate) fn prefetch_page(&self, lpn: Lpn) {
        let ppn = self.l2p[lpn.0 as usize];
        prefetch(&self.live, (ppn >> 6) as usize);
        prefetch(&self.live_counts, (ppn >> self.geometry.page_bits) as usize);
    }

    /// Live pages of a block.
    #[inline]
    pub(crate) fn live_count(&self, block: BlockId) -> u16 {
        self.live_counts[block.0 as usize]
    }

    /// Live pages of consecutive blocks.
    pub(crate) fn live_counts(&self, first: u32, block_count: u32) -> &[u16] {
        &self.live_counts[first as usize..(first + block_count) as usize]
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

    /// Points `count` logical pages, from `first` on in steps of `step`, at consecutive pages of a
    /// block; what died by it is added to `dead`, and is to be killed.
    pub(crate) fn bind_run(
        &mut self,
        first: Lpn,
        [step, count]: [u32; 2],
        target: Ppn,
        dead: &mut Vec<DeadRun>,
    ) {
        let in_block = (1 << self.geometry.page_bits) - 1;
        let limit = first.0 as usize + (count as usize - 1) * step as usize + 1;
        let (mut run_first, mut run_count) = (UNMAPPED, 0);
        let mut end_run = |run_first: u32, page_count: u32, written: u64| {
            if page_count > 0 {
                dead.push(DeadRun { first: Ppn(run_first), page_count, written });
            }
        };
        let entries = self.l2p[first.0 as usize..limit].iter_mut().step_by(step as usize);
        for ((entry, ppn), written) in entries.zip(target.0..).zip(0..) {
            let old = std::mem::replace(entry, ppn);
            if run_count > 0 && old == run_first + run_count && old & in_block != 0 {
                run_count += 1;
                continue;
            }
            end_run(run_first, run_count, written);
            (run_first, run_count) = (old, u32::from(old != UNMAPPED));
            self.mapped_count += u32::from(old == UNMAPPED);
        }
        end_run(run_first, run_count, u64::from(count));
    }

    /// Points logical pages that were taken by a collection at consecutive pages of a block.
    #[inline]
    pub(crate) fn rebind_run(&mut self, lpns: &[u32], target: Ppn) {
        for (&lpn, ppn) in lpns.iter().zip(target.0..) {
            self.l2p[lpn as usize] = ppn;
        }
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

    /// Takes up to `count` live pages out of a block, from a page index on: they are dead there,
    /// and listed in `moving` with the owners that `oob` names. Returns the index to go on at.
    ///
    /// The L2P entries are asked for at once: when the pages are placed, they have arrived.
    pub(crate) fn take_live(
        &mut self,
        block: BlockId,
        first: u32,
        count: u32,
        oob: &[u32],
        moving: &mut Moving,
    ) -> u32 {
        // Whole words are stored and the place moves on by their live pages: room for one more.
        let room = oob.len() + 64;
        if moving.lpns.len() < room {
            moving.lpns.resize(room, 0);
            moving.page_indices.resize(room, 0);
        }
        let mut left = count;
        let mut taken = 0;
        let mut next = 64 * self.words_per_block() as u32;
        for word in first as usize / 64..self.words_per_block() {
            let mut live = self.live_word(block, word);
            let mut rest = 0;
            if live.count_ones() > left {
                rest = live;
                (0..left).for_each(|_| rest &= rest - 1);
                live &= !rest;
            }
            let owners = &oob[64 * word..oob.len().min(64 * word + 64)];
            let (lpns, indices) = (&mut moving.lpns[taken..], &mut moving.page_indices[taken..]);
            let found = compress(live, owners, 64 * word as u32, lpns, indices);
            for &lpn in &lpns[..found] {
                prefetch(&self.l2p, lpn as usize);
            }
            taken += found;
            left -= found as u32;
            let shift = self.shift(block);
            *self.word_mut(block, word).0 &= !(live << shift);
            if rest != 0 {
                next = 64 * word as u32 + rest.trailing_zeros();
                break;
            }
        }
        moving.count = taken;
        self.live_counts[block.0 as usize] -= taken as u16;
        next
    }

    /// Indices of the live pages of a block below a limit, and how many live bits it has.
    pub(crate) fn live_pages(&self, block: BlockId, limit: u32) -> (Vec<u32>, u32) {
        let (mut pages, mut bits) = (Vec::new(), 0);
        for word in 0..self.words_per_block() {
            let mut live = self.live_word(block, word);
            bits += live.count_ones();
            while live != 0 {
                pages.push(64 * word as u32 + live.trailing_zeros());
                live &= live - 1;
            }
        }
        pages.retain(|&page| page < limit);
        (pages, bits)
    }

    /// Nothing is mapped, and nothing lives.
    pub(crate) fn reset(&mut self) {
        self.l2p.fill(UNMAPPED);
        self.live.fill(0);
        self.live_counts.fill(0);
        self.mapped_count = 0;
    }

    /// The live bits, for a device image.
    pub(crate) fn save_live(&self) -> Vec<u64> {
        self.live.clone()
    }

    /// Restores what [`Map::save_live`] gave into a map without pages; false: it is of another
    /// geometry.
    pub(crate) fn restore_live(&mut self, live: &[u64]) -> bool {
        let fits = live.len() == self.live.len();
        if fits {
            self.live.copy_from_slice(live);
            for block in (0..self.geometry.block_count()).map(BlockId) {
                let words = 0..self.words_per_block();
                let bits = words.map(|word| self.live_word(block, word).count_ones());
                self.live_counts[block.0 as usize] = bits.sum::<u32>() as u16;
            }
        }
        fits
    }

    /// Words of 64 pages that cover a block.
    fn words_per_block(&self) -> usize {
        (self.geometry.pages_per_block as usize).div_ceil(64)
    }

    /// Live bits of pages `64 * word ..` of a block, lowest page in the lowest bit.
    #[inline]
    fn live_word(&self, block: BlockId, word: usize) -> u64 {
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
            let live = |map: &Map, block| map.live_pages(BlockId(block), u32::MAX).1;
            (0..9).for_each(|block| map.fill(BlockId(block)));
            let owners = vec![0; pages_per_block as usize];
            let mut moving = Moving::default();
            let half = map.take_live(BlockId(4), 0, pages_per_block / 2, &owners, &mut moving);
            assert_eq!(moving.len(), pages_per_block / 2);
            assert_eq!(half, pages_per_block / 2, "{pages_per_block} pages");
            map.take_live(BlockId(4), half, u32::MAX, &owners, &mut moving);
            assert!(moving.page_indices().iter().copied().eq(half..pages_per_block));
            let last = Ppn(geometry.first_page(BlockId(5)).0 + pages_per_block - 1);
            assert_eq!(map.kill(last), (BlockId(5), pages_per_block as u16 - 1));
            for block in 0..9 {
                let expected = match block {
                    4 => 0,
                    5 => pages_per_block - 1,
                    _ => pages_per_block,
                };
                assert_eq!(live(&map, block), expected, "{pages_per_block} pages, block {block}");
                assert_eq!(u32::from(map.live_count(BlockId(block))), expected);
            }
        }
    }
}
