//! Refresh: the data of a block is moved before it has too many bit errors, and the block is
//! erased.
//!
//! ```text
//! closed ── after_days ─────────────► due ┐
//! read ──── error rate > at_rber ───► due ┴─► a collection of this block, source `refresh`
//! ```
//! A block is not refreshed when nothing of it is live, when it holds the page that is written
//! next, or when it is at the end of its life and the pool has none to put in its place. A block of
//! a single-bit cache is folded instead. Data that passes on is corrected: it never goes by
//! copyback.

use super::sink::FlashSink;
use super::Ftl;
use crate::nand::Media;
use crate::op::Source;
use crate::units::{BlockId, DieId, Ns};

/// The refresh of a drive's blocks, and reads that patrol them.
pub struct Refreshing<'a>(&'a mut Ftl);

impl Ftl {
    /// Refresh and patrols.
    #[inline]
    pub fn refresh(&mut self) -> Refreshing<'_> {
        Refreshing(self)
    }
}

impl Refreshing<'_> {
    /// Whether a block of a die may be due for refresh: if not, none is.
    #[inline]
    pub fn may_be_due(&self, die: DieId, now: Ns) -> bool {
        self.0.pool(die).log.refresh.as_ref().is_some_and(|queue| queue.may_be_due(now))
    }

    /// The time before which none [may be due](Refreshing::may_be_due), of the blocks that wait.
    pub fn due_from(&self, die: DieId) -> Ns {
        let queue = self.0.pool(die).log.refresh.as_ref();
        queue.map_or(Ns(u64::MAX), |queue| queue.due_from())
    }

    /// Starts the clock, by which data ages.
    pub fn start_clock(&mut self, now: Ns) {
        for pool in &mut self.0.pools {
            if let Some(mut queue) = pool.log.refresh.take() {
                queue.start_clock(now, |block| pool.log.holds(block));
                pool.log.refresh = Some(queue);
            }
        }
    }

    /// Since when a block of a die has been due for refresh.
    pub fn due(&mut self, media: &Media, die: DieId, now: Ns) -> Option<Ns> {
        Some(self.0.pools[die.0 as usize].due(&self.0.books, media, now)?.since)
    }

    /// When the next block of a die may become due by its age, if there is a limit.
    pub fn next(&self, die: DieId, now: Ns) -> Option<Ns> {
        self.0.pool(die).log.refresh.as_ref()?.next_after(now)
    }

    /// Queues a block for refresh: its reads have too many bit errors.
    pub fn ask(&mut self, media: &Media, block: BlockId, now: Ns) {
        let die = self.0.geometry.die_of_block(block).0 as usize;
        if let Some(queue) = &mut self.0.pools[die].log.refresh {
            queue.ask(block, media.erase_count(block), now);
        }
    }

    /// Refreshes the block of a die that has been due for longest from beginning to end; false when
    /// a collection is running, no block is due, or there is no room for its pages.
    pub fn at_once<S: FlashSink>(&mut self, sink: &mut S, die: DieId, now: Ns) -> bool {
        self.0.in_pool(die, |pool, books| pool.refresh_at_once(books, sink, now))
    }

    /// Pages of the flash in closed blocks, but for holes.
    pub fn pages_to_patrol(&self, media: &Media) -> u64 {
        let pages = |block| {
            let pool = self.0.pool_of(block);
            if !pool.log.holds(block) {
                return 0;
            }
            let written = pool.log.layout.pages(media.mode(block));
            let holes = pool.log.hole_pages(block) / self.0.geometry.units_per_page;
            u64::from(self.0.geometry.physical_index(written - 1) + 1 - holes)
        };
        (0..self.0.geometry.block_count()).map(|block| pages(BlockId(block))).sum()
    }

    /// Reads the first page of the flash of a closed block from a place on, blocks in order;
    /// returns the place behind it. `None`: there is none behind this place.
    pub fn patrol<S: FlashSink>(
        &mut self,
        sink: &mut S,
        (block, mut page): (BlockId, u32),
    ) -> Option<(BlockId, u32)> {
        for block in (block.0..self.0.geometry.block_count()).map(BlockId) {
            let (pool, mode) = (self.0.pool_of(block), sink.media().mode(block));
            let written = if pool.log.holds(block) { pool.log.layout.pages(mode) } else { 0 };
            while page < written {
                let members = sink.media().members_of(block);
                if let Some(limit) = pool.log.layout.hole_limit(mode, members, page) {
                    page = limit;
                    continue;
                }
                let own = self.0.geometry.physical_index(page);
                let is_own = |&index: &u32| self.0.geometry.physical_index(index) == own;
                let indices: Vec<u32> = (page..written).take_while(is_own).collect();
                sink.read_pages(block, &indices, Source::Refresh);
                let count = indices.len() as u64;
                self.0.books.counters.reads[Source::Refresh as usize] += count;
                self.0.books.counters.patrol_reads += count;
                return Some((block, page + indices.len() as u32));
            }
            page = 0;
        }
        None
    }
}
