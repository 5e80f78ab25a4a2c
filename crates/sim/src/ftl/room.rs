//! Making room: opening blocks, and choosing which one to collect for that.
//!
//! Collection is as late as possible: a victim is taken when the open block is full and only the
//! reserve is erased. A sink that collects in steps is told to wait instead; see `steps`.
//!
//! Invariant: where one collection can fill two open blocks (`hot_cold`, with victims that static
//! wear leveling has mixed), making room ends with the whole reserve erased, not merely with room
//! in the block that was full. Then the erased blocks and the two open ones hold at least two
//! blocks of free pages all the time, so of a victim's pages at most one kind can lack a block when
//! one block is left.

use super::gc::BlockView;
use super::pool::{BlockState, Frontier, HOST_FRONTIER};
use super::{FlashSink, Ftl, NoRoom};
use crate::nand::CellMode;
use crate::op::Source;
use crate::units::{BlockId, DieId, Ppn};

impl Ftl {
    /// Makes the stream's open block able to take a page.
    ///
    /// A victim at its rated endurance is not erased again: its pages move once the pool has a
    /// block to spare for that, and then it is taken out of use.
    #[inline(never)]
    pub(super) fn make_room<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: usize,
    ) -> Result<(), NoRoom> {
        if self.is_shaped || sink.collects_in_steps() {
            self.close_full(sink, die, stream);
            if !self.pools[die].frontiers[stream].is_full() {
                return Ok(());
            }
        }
        let is_cached = stream == HOST_FRONTIER && self.pools[die].slc.is_some();
        if sink.collects_in_steps() {
            return if is_cached {
                self.make_room_cached_in_steps(sink, die)
            } else {
                self.open_in_steps(sink, die, stream)
            };
        }
        if self.pools[die].collection.is_some() {
            self.finish_at_once(sink, die);
        }
        if is_cached {
            self.make_room_cached(sink, die)
        } else {
            self.make_spare(sink, die, Some(stream))
        }
    }

    /// Makes sure that a block more than the reserve is erased, and opens it for a stream if one is
    /// given.
    pub(super) fn make_spare<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: Option<usize>,
    ) -> Result<(), NoRoom> {
        let mut worn = Vec::new();
        let outcome = self.make_spare_beside(sink, die, stream, &mut worn);
        for block in worn {
            // The pool could not do without them: they stay as they are.
            let pool = &mut self.pools[die];
            let live_count = self.map.live_counts[block as usize];
            pool.policy.closed(block - pool.first_block, live_count, self.host_clock);
        }
        outcome
    }

    /// As [`Ftl::make_spare`]; `worn` holds the victims that wait to be taken out of use.
    fn make_spare_beside<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: Option<usize>,
        worn: &mut Vec<u32>,
    ) -> Result<(), NoRoom> {
        // Policies that look at few blocks may pick full ones for a while; for ever means there is
        // no room.
        let mut tries_left = 1000 + 64 * u64::from(self.pools[die].block_count);
        loop {
            // Collected pages may have filled a shared open block to its end.
            if let Some(stream) = stream {
                self.close_full(sink, die, stream);
            }
            let pool = &self.pools[die];
            let spare = pool.erased.len() > pool.reserve;
            // Collecting a block with pages of both kinds opens two blocks and gives back one.
            let is_short = pool.erased.len() < pool.reserve && self.placement.splits(Source::Gc);
            let is_full = stream.is_none_or(|stream| pool.frontiers[stream].is_full());
            if spare && !worn.is_empty() {
                self.retire(sink, die, worn.pop().expect("it is not empty"));
            } else if is_full && spare {
                let Some(stream) = stream else { return Ok(()) };
                self.open(sink, die, stream, Source::Host);
            } else if is_full || is_short || !worn.is_empty() {
                let victim = if tries_left > 0 { self.choose(die) } else { None };
                let victim = victim.filter(|&victim| self.has_room_for(die, victim));
                let Some(victim) = victim else {
                    return if is_full { Err(NoRoom::WornOut) } else { Ok(()) };
                };
                tries_left -= 1;
                let pool = &self.pools[die];
                if sink.media().erase_count(BlockId(victim)) < pool.worn_limit {
                    self.collect(sink, die, victim, Source::Gc);
                    if self.pools[die].gauge.is_some() {
                        self.level_wear(sink, die);
                    }
                } else {
                    worn.push(victim);
                    let needed = self.good_blocks_needed(die) + worn.len() as u32;
                    if self.pools[die].good_blocks < needed {
                        return if is_full { Err(NoRoom::WornOut) } else { Ok(()) };
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Whether the live pages of a victim are sure to find room; if not, it is a candidate again.
    /// Only a pool at its end of life lacks it.
    fn has_room_for(&mut self, die: usize, victim: u32) -> bool {
        let live_count = self.map.live_counts[victim as usize];
        let pool = &mut self.pools[die];
        let free_pages = |stream: usize| pool.frontiers[stream].limit - pool.frontiers[stream].next;
        let opens_two = u32::from(live_count) >= free_pages(0) + free_pages(1) + 2;
        let has_room =
            !self.placement.splits(Source::Gc) || pool.erased.len() >= 1 + u32::from(opens_two);
        if !has_room {
            pool.policy.closed(victim - pool.first_block, live_count, self.host_clock);
        }
        has_room
    }

    /// Goes on behind a full stretch of a stream's open block: programs its parity page, or closes
    /// the block at its end.
    pub(super) fn close_full<S: FlashSink>(&mut self, sink: &mut S, die: usize, stream: usize) {
        let frontier = self.pools[die].frontiers[stream];
        if !frontier.exists() || !frontier.is_full() {
            return;
        }
        if self.is_shaped {
            return self.close_shaped(sink, die, stream);
        }
        self.pools[die].frontiers[stream] = Frontier::NONE;
        self.close(die, (frontier.limit - 1) >> self.geometry.page_bits);
    }

    /// A block was written to its end: it is a candidate from now on.
    #[inline]
    fn close(&mut self, die: usize, block: u32) {
        self.states[block as usize] = BlockState::Closed;
        let live_count = self.map.live_counts[block as usize];
        let pool = &mut self.pools[die];
        pool.policy.closed(block - pool.first_block, live_count, self.host_clock);
    }

    /// As `close_full`, where not all pages take data.
    #[inline(never)]
    fn close_shaped<S: FlashSink>(&mut self, sink: &mut S, die: usize, stream: usize) {
        let frontier = self.pools[die].frontiers[stream];
        let block = frontier.block(&self.geometry).expect("the caller has found it");
        let first = self.geometry.first_page(block).0;
        let (place, mode) = (DieId(die as u32), sink.media().mode(block));
        let end = first + self.layout.pages(mode);
        let mut next = frontier.limit;
        if self.layout.is_striped() {
            self.counters.programs[Source::Parity as usize] += 1;
            sink.program_filler(Ppn(next), Source::Parity);
            next += 1;
        }
        if next < end {
            let limit = first + self.layout.data_limit(place, mode, next - first);
            self.pools[die].frontiers[stream] = Frontier { next, limit };
            return;
        }
        self.pools[die].frontiers[stream] = Frontier::NONE;
        if mode == CellMode::Slc {
            self.close_cached(die, block.0);
        } else {
            self.close(die, block.0);
        }
    }

    /// Opens the next erased block.
    pub(super) fn open<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: usize,
        source: Source,
    ) {
        let pool = &mut self.pools[die];
        let popped = match (source, self.wanted_plane) {
            (Source::Wear, _) => pool.erased.pop_most_worn(),
            (_, Some(plane)) => {
                let geometry = self.geometry;
                let plane_of = |block| geometry.plane_of(geometry.first_page(BlockId(block)));
                pool.erased.pop_preferring(|block| plane_of(block) == plane)
            }
            _ => pool.erased.pop(),
        };
        let block = BlockId(
            popped.expect("the reserve holds a block for every open block of a collection"),
        );
        self.open_block(sink, die, stream, block, CellMode::Native);
    }

    /// Opens an erased block that was taken out of its list.
    #[inline]
    pub(super) fn open_block<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: usize,
        block: BlockId,
        mode: CellMode,
    ) {
        self.states[block.0 as usize] = BlockState::Open;
        self.map.fill(block);
        let next = self.geometry.first_page(block).0;
        let mut limit = next + self.geometry.pages_per_block;
        if self.is_shaped {
            sink.set_mode(block, mode);
            limit = next + self.shape(block, mode);
        }
        self.pools[die].frontiers[stream] = Frontier { next, limit };
    }

    /// Marks the pages of an opened block that take no data as dead; returns where its first
    /// stretch of data ends.
    #[inline(never)]
    fn shape(&mut self, block: BlockId, mode: CellMode) -> u32 {
        let first = self.geometry.first_page(block).0;
        let die = self.geometry.die_of_block(block);
        let pages = self.layout.pages(mode);
        if pages < self.geometry.pages_per_block {
            self.map.kill_run(Ppn(first + pages), self.geometry.pages_per_block - pages);
        }
        let first_limit = self.layout.data_limit(die, mode, 0);
        let mut parity = first_limit;
        while parity < pages {
            self.map.kill(Ppn(first + parity));
            if parity + 1 == pages {
                break;
            }
            parity = self.layout.data_limit(die, mode, parity + 1);
        }
        first_limit
    }

    pub(super) fn choose(&mut self, die: usize) -> Option<u32> {
        let pool = &mut self.pools[die];
        let first = pool.first_block as usize;
        let view = BlockView {
            live_counts: &self.map.live_counts[first..first + pool.block_count as usize],
            pages_per_block: self.layout.pages(CellMode::Native) as u16,
            now: self.host_clock,
        };
        pool.policy.choose(&view).map(|block| block + pool.first_block)
    }
}
