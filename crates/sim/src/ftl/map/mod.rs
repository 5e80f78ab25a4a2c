//! Where every logical page lives, and which physical pages are live.
//!
//! L2P is one `u32` per logical page. Liveness is one bit per physical page, small enough for the
//! cache, so that an overwrite touches the L2P entry and one bit, and never the reverse map (which
//! is the media's out-of-band area, read only when a block is collected).
//!
//! Invariant: a bit is set when its block is opened and cleared when the page dies or is taken by a
//! collection. So pages of an open block that are not written yet count as live; nothing examines
//! them before the block is closed.

mod mounted;
mod pairs;

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::{gather, prefetch_at, Array, WORD};
use crate::striping::{Places, Turns};
use crate::units::{BlockId, Lpn, Ppn};
pub(crate) use pairs::Pairs;

/// See the module.
pub(crate) struct Map {
    geometry: Geometry,
    order: Order,
    logical_pages: u32,
    l2p: Array<u32>,
    live: Array<u64>,
    live_counts: Array<u32>,
    mapped_count: u32,
    /// What the arrays begin with: 0 in the map of the whole drive.
    base: Base,
}

/// Where the arrays of a part begin.
#[derive(Clone, Copy, Default)]
struct Base {
    entry: u32,
    word: u32,
    block: u32,
}

/// The order of the L2P entries: if dies take turns, those of a die are contiguous, so that each
/// die has a separate part of the table.
#[derive(Clone, Copy)]
struct Order {
    turns: Turns,
    /// Entries of a die.
    entries: u32,
}

impl Order {
    fn new(geometry: &Geometry, logical_pages: u32) -> Self {
        let turns = geometry.striping.turns().unwrap_or(Turns::One);
        let dies = 0..turns.dies();
        let entries = dies.map(|die| turns.count_below(die, logical_pages)).max().unwrap_or(0);
        Self { turns, entries }
    }

    /// Where the entries of the logical pages from 0 on are.
    fn places(self) -> Places {
        self.turns.places(self.entries)
    }

    /// Where the entry of a logical page is.
    #[inline]
    fn place(self, lpn: u32) -> u32 {
        // The case of the largest pools, without a way through all kinds of turns.
        if matches!(self.turns, Turns::One) {
            return lpn;
        }
        let (die, index) = self.turns.place(lpn);
        die * self.entries + index
    }
}

/// Live pages on their way out of a block: their indices in it, and their logical pages.
#[derive(Default)]
pub(crate) struct Moving {
    page_indices: Vec<u32>,
    lpns: Vec<u32>,
    /// Number of valid entries; later ones are left from other blocks.
    count: usize,
}

impl Moving {
    pub(crate) fn len(&self) -> u32 {
        self.count as u32
    }

    /// Their page indices in the block.
    pub(crate) fn page_indices(&self) -> &[u32] {
        &self.page_indices[..self.count]
    }

    /// Whose data they hold.
    pub(crate) fn lpns(&self) -> &[u32] {
        &self.lpns[..self.count]
    }
}

/// Entries of a run that are examined together.
const STRETCH: usize = 64;

/// Whether values count up from `first`, in a form that is compiled to whole vectors.
#[inline]
fn is_count(values: &[u32], first: u32) -> bool {
    let differences = values.iter().zip(first..).map(|(&value, expected)| value ^ expected);
    differences.fold(0, |sum, difference| sum | difference) == 0
}

/// Adjacent pages that died: the first, their number, and the number of pages of the overwriting
/// run that were written when the last of them died.
#[derive(Clone, Copy)]
pub(crate) struct DeadRun {
    pub(crate) first: Ppn,
    pub(crate) page_count: u32,
    pub(crate) written: u64,
}

impl Map {
    /// The map of a drive without data.
    pub(crate) fn new(geometry: Geometry, logical_pages: u32) -> Self {
        let order = Order::new(&geometry, logical_pages);
        let bits = (geometry.block_count() as usize) << geometry.page_bits;
        let entries = order.entries as usize * order.turns.dies() as usize;
        Self {
            geometry,
            order,
            logical_pages,
            l2p: Array::new(entries, UNMAPPED),
            live: Array::new(bits.div_ceil(64), 0),
            live_counts: Array::new(geometry.block_count() as usize, 0),
            mapped_count: 0,
            base: Base::default(),
        }
    }

    /// Logical pages of the drive.
    pub(crate) fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Logical pages that hold data.
    pub(crate) fn mapped_count(&self) -> u32 {
        self.mapped_count
    }

    /// Whether every die has separate entries and live bits.
    #[inline]
    pub(crate) fn is_separable(&self) -> bool {
        let bits_per_die = (self.geometry.blocks_per_die as usize) << self.geometry.page_bits;
        self.order.turns != Turns::One && bits_per_die.is_multiple_of(64)
    }

    /// The map, of which only the number of mapped pages stays.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            l2p: std::mem::take(&mut self.l2p),
            live: std::mem::take(&mut self.live),
            live_counts: std::mem::take(&mut self.live_counts),
            ..*self
        }
    }

    /// The maps of the dies of a separable map; the pages that are mapped are counted in none.
    pub(crate) fn split(self) -> Vec<Self> {
        let geometry = self.geometry;
        let dies = geometry.die_count as usize;
        let words = (geometry.blocks_per_die as usize) << geometry.page_bits >> 6;
        let entries = self.l2p.len() / dies;
        let tables = self.l2p.split(&vec![entries; dies]);
        let live = self.live.split(&vec![words; dies]);
        let counts = self.live_counts.split(&vec![geometry.blocks_per_die as usize; dies]);
        let arrays = tables.into_iter().zip(live).zip(counts);
        (0..geometry.die_count)
            .zip(arrays)
            .map(|(die, ((l2p, live), live_counts))| Self {
                geometry,
                order: self.order,
                logical_pages: self.logical_pages,
                l2p,
                live,
                live_counts,
                mapped_count: 0,
                base: Base {
                    entry: die * entries as u32,
                    word: die * words as u32,
                    block: die * geometry.blocks_per_die,
                },
            })
            .collect()
    }

    /// The map of the drive, of which [`Map::split`] made `parts` when `mapped_count` pages were
    /// mapped.
    pub(crate) fn join(parts: Vec<Self>, mut mapped_count: u32) -> Self {
        let Self { geometry, order, logical_pages, .. } = parts[0];
        let (mut tables, mut live, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            // Pages in use may have become fewer in one die: the sum is exact all the same.
            mapped_count = mapped_count.wrapping_add(part.mapped_count);
            tables.push(part.l2p);
            live.push(part.live);
            counts.push(part.live_counts);
        }
        Self {
            geometry,
            order,
            logical_pages,
            l2p: Array::join(tables),
            live: Array::join(live),
            live_counts: Array::join(counts),
            mapped_count,
            base: Base::default(),
        }
    }

    #[inline]
    fn place(&self, lpn: Lpn) -> usize {
        (self.order.place(lpn.0) - self.base.entry) as usize
    }

    #[inline]
    fn word_of(&self, ppn: Ppn) -> usize {
        ((ppn.0 >> 6) - self.base.word) as usize
    }

    #[inline]
    fn block_place(&self, block: BlockId) -> usize {
        (block.0 - self.base.block) as usize
    }

    /// Prefetches the L2P entry of a coming address.
    #[inline]
    pub(crate) fn prefetch_entry(&self, lpn: Lpn) {
        prefetch_at(&self.l2p, self.place(lpn));
    }

    /// Prefetches the memory that an overwrite of a coming address will touch, and returns the
    /// block in which a page will die; its L2P entry should already be in the processor's cache.
    #[inline]
    pub(crate) fn prefetch_page(&self, lpn: Lpn) -> Option<BlockId> {
        let ppn = self.find(lpn)?;
        let block = self.geometry.block_of(ppn);
        prefetch_at(&self.live, self.word_of(ppn));
        prefetch_at(&self.live_counts, self.block_place(block));
        Some(block)
    }

    /// Live pages of a block.
    #[inline]
    pub(crate) fn live_count(&self, block: BlockId) -> u32 {
        self.live_counts[self.block_place(block)]
    }

    /// Live pages of consecutive blocks.
    pub(crate) fn live_counts(&self, first: u32, block_count: u32) -> &[u32] {
        let first = self.block_place(BlockId(first));
        &self.live_counts[first..first + block_count as usize]
    }

    /// The page that holds `lpn`.
    #[inline]
    pub(crate) fn find(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.l2p[self.place(lpn)];
        (ppn != UNMAPPED).then_some(Ppn(ppn))
    }

    /// Points `lpn` at `ppn` and returns its previous page.
    #[inline]
    pub(crate) fn bind(&mut self, lpn: Lpn, ppn: Ppn) -> Option<Ppn> {
        let place = self.place(lpn);
        let old = std::mem::replace(&mut self.l2p[place], ppn.0);
        self.mapped_count = self.mapped_count.wrapping_add(u32::from(old == UNMAPPED));
        (old != UNMAPPED).then_some(Ppn(old))
    }

    /// Points `count` logical pages of one die, each the next that it holds, at consecutive pages
    /// of a block; pages that died by it are added to `dead`, and the caller must kill them.
    pub(crate) fn bind_run(
        &mut self,
        first: Lpn,
        count: u32,
        target: Ppn,
        dead: &mut Vec<DeadRun>,
    ) {
        let in_block = (1 << self.geometry.page_bits) - 1;
        let (mut run_first, mut run_count) = (UNMAPPED, 0);
        let mut end_run = |run_first: u32, page_count: u32, written: u64| {
            if page_count > 0 {
                dead.push(DeadRun { first: Ppn(run_first), page_count, written });
            }
        };
        let place = self.place(first);
        let entries = &mut self.l2p[place..place + count as usize];
        let (mut fresh, mut written) = (0_u32, 0);
        for stretch in entries.chunks_mut(STRETCH) {
            // Mostly a stretch continues at the end of the last one, in the same block: it extends
            // the run.
            let next = run_first.wrapping_add(run_count);
            let goes_on = run_count > 0
                && next & in_block != 0
                && (next & in_block) + stretch.len() as u32 <= in_block + 1
                && is_count(stretch, next);
            if goes_on {
                run_count += stretch.len() as u32;
            } else if run_count == 0 && stretch.iter().all(|&old| old == UNMAPPED) {
                fresh += stretch.len() as u32;
            } else {
                for (&old, written) in stretch.iter().zip(written..) {
                    if run_count > 0 && old == run_first + run_count && old & in_block != 0 {
                        run_count += 1;
                        continue;
                    }
                    end_run(run_first, run_count, written);
                    (run_first, run_count) = (old, u32::from(old != UNMAPPED));
                    fresh += u32::from(old == UNMAPPED);
                }
            }
            for (entry, ppn) in stretch.iter_mut().zip(target.0 + written as u32..) {
                *entry = ppn;
            }
            written += stretch.len() as u64;
        }
        end_run(run_first, run_count, written);
        self.mapped_count = self.mapped_count.wrapping_add(fresh);
    }

    /// Points logical pages that were taken by a collection at consecutive pages of a block.
    #[inline]
    pub(crate) fn rebind_run(&mut self, lpns: &[u32], target: Ppn) {
        // Held here, or the compiler would load each again behind every store.
        let (order, base, l2p) = (self.order, self.base.entry, &mut self.l2p[..]);
        if matches!(order.turns, Turns::One) {
            for (&lpn, ppn) in lpns.iter().zip(target.0..) {
                l2p[lpn as usize] = ppn;
            }
        } else {
            for (&lpn, ppn) in lpns.iter().zip(target.0..) {
                l2p[(order.place(lpn) - base) as usize] = ppn;
            }
        }
    }

    /// Forgets `lpn` and returns its previous page.
    pub(crate) fn unbind(&mut self, lpn: Lpn) -> Option<Ppn> {
        let place = self.place(lpn);
        let old = std::mem::replace(&mut self.l2p[place], UNMAPPED);
        self.mapped_count -= u32::from(old != UNMAPPED);
        (old != UNMAPPED).then_some(Ppn(old))
    }

    /// Whether a page counts as live.
    pub(crate) fn is_live(&self, ppn: Ppn) -> bool {
        self.live[self.word_of(ppn)] >> (ppn.0 & 63) & 1 == 1
    }

    /// Marks a page dead; returns its block and the live pages left there.
    #[inline]
    pub(crate) fn kill(&mut self, ppn: Ppn) -> (BlockId, u32) {
        let block = self.geometry.block_of(ppn);
        let (word, place) = (self.word_of(ppn), self.block_place(block));
        self.live[word] &= !(1 << (ppn.0 & 63));
        let count = &mut self.live_counts[place];
        *count -= 1;
        (block, *count)
    }

    /// Marks consecutive pages of one block dead; returns the block and the live pages left there.
    pub(crate) fn kill_run(&mut self, first: Ppn, page_count: u32) -> (BlockId, u32) {
        let block = self.geometry.block_of(first);
        let mut bit = first.0;
        let limit = first.0 + page_count;
        while bit < limit {
            let in_word = (64 - bit % 64).min(limit - bit);
            let mask = (u64::MAX >> (64 - in_word)) << (bit % 64);
            let word = self.word_of(Ppn(bit));
            self.live[word] &= !mask;
            bit += in_word;
        }
        let place = self.block_place(block);
        let count = &mut self.live_counts[place];
        *count -= page_count;
        (block, *count)
    }

    /// Clears the live bits of consecutive pages of one block, which continue to count as live.
    pub(crate) fn clear_run(&mut self, first: Ppn, page_count: u32) {
        let (block, _) = self.kill_run(first, page_count);
        self.add_live(block, page_count);
    }

    /// Pages of a block without live bits count as live.
    pub(crate) fn add_live(&mut self, block: BlockId, page_count: u32) {
        let place = self.block_place(block);
        self.live_counts[place] += page_count;
    }

    /// No page of a block counts as live.
    pub(crate) fn forget_live(&mut self, block: BlockId) {
        let place = self.block_place(block);
        self.live_counts[place] = 0;
    }

    /// Marks all pages of a block live: it was opened.
    pub(crate) fn fill(&mut self, block: BlockId) {
        let pages = self.geometry.pages_per_block;
        let place = self.block_place(block);
        self.live_counts[place] = pages;
        for word in 0..self.words_per_block() {
            let count = (pages - 64 * word as u32).min(64);
            *self.word_mut(block, word).0 |= (u64::MAX >> (64 - count)) << self.shift(block);
        }
    }

    /// Takes up to `count` live pages out of a block, from a page index on: they are dead there,
    /// and listed in `moving` with the owners that `oob` names. Returns the index at which to
    /// continue.
    ///
    /// The L2P entries are prefetched at once, so that they have arrived when the pages are placed.
    pub(crate) fn take_live(
        &mut self,
        block: BlockId,
        first: u32,
        count: u32,
        oob: &[u32],
        moving: &mut Moving,
    ) -> u32 {
        let room = oob.len() + WORD;
        if moving.lpns.len() < room {
            moving.lpns.resize(room, 0);
            moving.page_indices.resize(room, 0);
        }
        let place = self.block_place(block);
        let words = self.words_per_block();
        if self.geometry.page_bits >= 6 && count >= self.live_counts[place] {
            let first_word = self.word_of(self.geometry.first_page(block));
            let live = &mut self.live[first_word..first_word + words];
            moving.count = gather(live, oob, 0, &mut moving.lpns, &mut moving.page_indices);
            live.fill(0);
            self.live_counts[place] -= moving.count as u32;
            self.prefetch_entries(moving.lpns());
            return WORD as u32 * words as u32;
        }
        let (mut left, mut taken, mut next) = (count, 0, WORD as u32 * words as u32);
        for word in first as usize / WORD..words {
            let mut live = self.live_word(block, word);
            let mut rest = 0;
            if live.count_ones() > left {
                rest = live;
                (0..left).for_each(|_| rest &= rest - 1);
                live &= !rest;
            }
            let owners = &oob[WORD * word..oob.len().min(WORD * (word + 1))];
            let (lpns, indices) = (&mut moving.lpns[taken..], &mut moving.page_indices[taken..]);
            let first = (WORD * word) as u32;
            let found = gather(&[live], owners, first, lpns, indices);
            taken += found;
            left -= found as u32;
            let shift = self.shift(block);
            *self.word_mut(block, word).0 &= !(live << shift);
            if rest != 0 {
                next = first + rest.trailing_zeros();
                break;
            }
        }
        moving.count = taken;
        self.live_counts[place] -= taken as u32;
        self.prefetch_entries(moving.lpns());
        next
    }

    /// Prefetches the L2P entries of pages of one die.
    #[inline]
    fn prefetch_entries(&self, lpns: &[u32]) {
        for &lpn in lpns {
            self.prefetch_entry(Lpn(lpn));
        }
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
        pages.truncate(pages.partition_point(|&page| page < limit));
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
        self.live.to_vec()
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
                let bits = bits.sum::<u32>();
                let place = self.block_place(block);
                self.live_counts[place] = bits;
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
        let value = self.live[self.word_of(self.geometry.first_page(block)) + word];
        if self.geometry.page_bits >= 6 {
            value
        } else {
            (value >> self.shift(block)) & self.block_mask()
        }
    }

    fn word_mut(&mut self, block: BlockId, word: usize) -> (&mut u64, u64) {
        let mask = self.block_mask() << self.shift(block);
        let first_word = self.word_of(self.geometry.first_page(block));
        (&mut self.live[first_word + word], mask)
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
            assert_eq!(map.kill(last), (BlockId(5), pages_per_block - 1));
            for block in 0..9 {
                let expected = match block {
                    4 => 0,
                    5 => pages_per_block - 1,
                    _ => pages_per_block,
                };
                assert_eq!(live(&map, block), expected, "{pages_per_block} pages, block {block}");
                assert_eq!(map.live_count(BlockId(block)), expected);
            }
        }
    }
}
