//! Making room: opening blocks, and choosing which one to collect for that.
//!
//! Collection is as late as possible: a victim is taken when the open block is full and only the
//! reserve is erased. A sink that collects in steps is told to wait instead; see `steps`.

use super::gc::BlockView;
use super::pool::{BlockState, Frontier};
use super::{FlashSink, Ftl, NoRoom};
use crate::op::Source;
use crate::units::BlockId;

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
        if sink.collects_in_steps() {
            return self.make_room_in_steps(sink, die, stream);
        }
        if self.pools[die].collection.is_some() {
            self.finish_at_once(sink, die);
        }
        let mut worn = Vec::new();
        let outcome = self.make_room_beside(sink, die, stream, &mut worn);
        for block in worn {
            // The pool could not do without them: they stay as they are.
            let pool = &mut self.pools[die];
            let live_count = self.map.live_counts[block as usize];
            pool.policy.closed(block - pool.first_block, live_count, self.host_clock);
        }
        outcome
    }

    /// As [`Ftl::make_room`]; `worn` holds the victims that wait to be taken out of use.
    fn make_room_beside<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: usize,
        worn: &mut Vec<u32>,
    ) -> Result<(), NoRoom> {
        // Policies that look at few blocks may pick full ones for a while; for ever means there is
        // no room.
        let mut tries_left = 1000 + 64 * u64::from(self.pools[die].block_count);
        loop {
            // Collected pages may have filled a shared open block to its end.
            self.close_full(die, stream);
            let pool = &self.pools[die];
            let spare = pool.erased.len() > pool.reserve;
            let is_full = pool.frontiers[stream].is_full();
            if spare && !worn.is_empty() {
                self.retire(sink, die, worn.pop().expect("it is not empty"));
            } else if is_full && spare {
                self.open(sink, die, stream, Source::Host);
            } else if is_full || !worn.is_empty() {
                let victim = if tries_left > 0 { self.choose(die) } else { None };
                let Some(victim) = victim else {
                    return if is_full { Err(NoRoom::WornOut) } else { Ok(()) };
                };
                tries_left -= 1;
                let pool = &self.pools[die];
                if sink.media().erase_count(BlockId(victim)) < pool.worn_limit {
                    self.collect(sink, die, victim, Source::Gc);
                    self.level_wear(sink, die);
                } else {
                    worn.push(victim);
                    if pool.good_blocks < pool.good_blocks_min + worn.len() as u32 {
                        return if is_full { Err(NoRoom::WornOut) } else { Ok(()) };
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn close_full(&mut self, die: usize, stream: usize) {
        let pool = &mut self.pools[die];
        let frontier = pool.frontiers[stream];
        if frontier.exists() && frontier.is_full() {
            pool.frontiers[stream] = Frontier::NONE;
            let block = (frontier.limit - 1) >> self.geometry.page_bits;
            self.states[block as usize] = BlockState::Closed;
            let live_count = self.map.live_counts[block as usize];
            pool.policy.closed(block - pool.first_block, live_count, self.host_clock);
        }
    }

    pub(super) fn open<S: FlashSink>(
        &mut self,
        _sink: &mut S,
        die: usize,
        stream: usize,
        source: Source,
    ) {
        let pool = &mut self.pools[die];
        let popped =
            if source == Source::Wear { pool.erased.pop_most_worn() } else { pool.erased.pop() };
        let block = BlockId(
            popped.expect("the reserve holds a block for every open block of a collection"),
        );
        self.states[block.0 as usize] = BlockState::Open;
        self.map.fill(block);
        let next = self.geometry.first_page(block).0;
        pool.frontiers[stream] = Frontier { next, limit: next + self.geometry.pages_per_block };
    }

    pub(super) fn choose(&mut self, die: usize) -> Option<u32> {
        let pool = &mut self.pools[die];
        let first = pool.first_block as usize;
        let view = BlockView {
            live_counts: &self.map.live_counts[first..first + pool.block_count as usize],
            pages_per_block: self.geometry.pages_per_block as u16,
            now: self.host_clock,
        };
        pool.policy.choose(&view).map(|block| block + pool.first_block)
    }
}
