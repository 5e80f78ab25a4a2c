//! Moving live pages out of a block, and what becomes of the block then.
//!
//! The mechanism of garbage collection and wear leveling, written once. A new copy is placed before
//! the old one is given up, so that a power cut between the two loses nothing.

use super::pool::BlockState;
use super::{wear, FlashSink, Ftl, MOVES_AHEAD};
use crate::memory::prefetch;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::{BlockId, Lpn, Ppn};

impl Ftl {
    /// Moves the live pages of a block that is no candidate any more, and erases it.
    pub(super) fn collect<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        victim: u32,
        source: Source,
    ) {
        let victim = BlockId(victim);
        self.evacuate(sink, die, victim, source);
        let erase_count = self.emit_erase(sink, die, victim, source);
        self.states[victim.0 as usize] = BlockState::Erased;
        self.pools[die].erased.push(victim.0, erase_count);
    }

    /// Erases a block without live pages, and returns its erase count.
    pub(super) fn emit_erase<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        block: BlockId,
        source: Source,
    ) -> u32 {
        let erase_count = sink.erase(block, source);
        self.counters.erases[source as usize] += 1;
        let pool = &mut self.pools[die];
        let is_outside = source == Source::Fold && pool.folds_outward();
        if let Some(gauge) = pool.gauge.as_mut().filter(|_| !is_outside) {
            gauge.erased(erase_count);
        }
        erase_count
    }

    /// Moves the live pages of a worn block, and takes it out of use.
    pub(super) fn retire<S: FlashSink>(&mut self, sink: &mut S, die: usize, worn: u32) {
        self.evacuate(sink, die, BlockId(worn), Source::Gc);
        self.take_out_of_use(sink, die, BlockId(worn));
    }

    /// A worn block without live pages is not used any more.
    pub(super) fn take_out_of_use<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        worn: BlockId,
    ) {
        let pool = &mut self.pools[die];
        match &mut pool.slc {
            // It was cache for good: the native blocks lose nothing.
            Some(cache) if cache.is_static() && sink.media().mode(worn) == CellMode::Slc => {
                cache.members.retain(|&member| member != worn.0);
            }
            _ => {
                pool.good_blocks -= 1;
                if let Some(gauge) = &mut pool.gauge {
                    gauge.retired(sink.media().erase_count(worn));
                }
            }
        }
        self.states[worn.0 as usize] = BlockState::Bad;
        self.counters.retired_blocks += 1;
        sink.retire(worn);
    }

    /// Moves the live pages of a block to open blocks.
    fn evacuate<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        victim: BlockId,
        source: Source,
    ) {
        if self.copyback_limit.is_some() {
            return self.evacuate_inside(sink, die, victim, source);
        }
        self.gather(sink.media(), victim);
        let moved = self.moving.len() as u32;
        self.counters.reads[source as usize] += u64::from(moved);
        self.counters.programs[source as usize] += u64::from(moved);
        if self.geometry.plane_count > 1 || sink.tells_pages() {
            // Planes that are read together are one operation, and page types err at their own
            // rates: it matters where pages lie.
            let mut pages = std::mem::take(&mut self.moving_from);
            pages.clear();
            for word in 0..self.map.words_per_block() {
                let mut live = self.map.live_word(victim, word);
                while live != 0 {
                    pages.push(64 * word as u32 + live.trailing_zeros());
                    live &= live - 1;
                }
            }
            sink.read_pages(victim, &pages, source);
            self.moving_from = pages;
        } else {
            sink.read_live(victim, moved, source);
        }
        self.map.clear(victim);
        let lpns = std::mem::take(&mut self.moving);
        if self.placement.splits(source) {
            for lpn in &lpns {
                self.place_run(sink, die, std::slice::from_ref(lpn), source);
            }
        } else {
            self.place_run(sink, die, &lpns, source);
        }
        self.moving = lpns;
    }

    /// Lists the logical pages that live in the victim, in page order.
    fn gather(&mut self, media: &Media, victim: BlockId) {
        let oob = media.oob_of_block(victim);
        // Every page is stored and the place moves on only if it lives: no branch to mispredict.
        self.moving.resize(oob.len() + 1, 0);
        let mut count = 0;
        for (word, pages) in oob.chunks(64).enumerate() {
            let live = self.map.live_word(victim, word);
            for (bit, &lpn) in pages.iter().enumerate() {
                self.moving[count] = lpn;
                count += (live >> bit & 1) as usize;
            }
        }
        self.moving.truncate(count);
    }

    /// Makes a full open block of moved pages able to take one.
    pub(super) fn open_for_moves<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: usize,
        source: Source,
    ) {
        self.close_full(sink, die, stream);
        if self.pools[die].frontiers[stream].is_full() {
            self.open(sink, die, stream, source);
        }
    }

    /// Programs moved pages, all of one stream, into its open block, opening others as needed.
    pub(super) fn place_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        lpns: &[u32],
        source: Source,
    ) {
        let mut left = lpns;
        while let Some(&first) = left.first() {
            let stream = self.placement.stream(Lpn(first), source);
            if self.pools[die].frontiers[stream].is_full() {
                self.open_for_moves(sink, die, stream, source);
            }
            let frontier = &mut self.pools[die].frontiers[stream];
            let start = frontier.next;
            let count = left.len().min((frontier.limit - start) as usize);
            frontier.next += count as u32;
            let (now, later) = left.split_at(count);
            for (index, (ppn, &lpn)) in (start..).zip(now).enumerate() {
                if let Some(&coming) = now.get(index + MOVES_AHEAD) {
                    prefetch(&self.map.l2p, coming as usize);
                }
                self.map.l2p[lpn as usize] = ppn;
            }
            sink.program_run(Ppn(start), now, source);
            left = later;
        }
    }

    /// Static wear leveling: moves the data of one closed block that lags too far behind.
    pub(super) fn level_wear<S: FlashSink>(&mut self, sink: &mut S, die: usize) {
        if let Some(block) = self.lagging_block(sink.media(), die) {
            self.collect(sink, die, block, Source::Wear);
        }
    }

    /// A closed block that lags too far behind in wear, taken out of the candidates.
    pub(super) fn lagging_block(&mut self, media: &Media, die: usize) -> Option<u32> {
        let pool = &mut self.pools[die];
        let limit = pool.gauge.as_mut().and_then(wear::WearGauge::lagging_below)?;
        let blocks = pool.first_block..pool.first_block + pool.block_count;
        let block = blocks
            .filter(|&block| self.states[block as usize] == BlockState::Closed)
            .min_by_key(|&block| media.erase_count(BlockId(block)))?;
        if f64::from(media.erase_count(BlockId(block))) < limit {
            pool.policy.remove(block - pool.first_block, self.map.live_counts[block as usize]);
            Some(block)
        } else {
            None
        }
    }
}
