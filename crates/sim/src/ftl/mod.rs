//! The flash translation layer: decides *where* every page goes, and what must move to make room.
//!
//! Its text exists once. It is generic over the [`FlashSink`] that its operations go to: the
//! untimed executor inlines the sink to bookkeeping, the timed one queues the same operations on
//! dies.
//!
//! ```text
//! write(lpn) ── room in the open block? ── no ──► make_room: erased blocks above the reserve?
//!     │                                                     open one; else choose a victim, move
//!     │                                                     its live pages, erase it
//!     ▼
//! bind L2P ► kill the old page ► tell the policy ► sink.program
//! ```
//! Collection is as late as possible: a victim is taken when the open block is full and only the
//! reserve is erased. A new copy is placed before the old one is given up, so that a power cut
//! between the two loses nothing.
//!
//! Left out: map pages in flash (the whole map is in RAM, as in drives with 1 GB of DRAM per TB),
//! and partial collection.

mod bulk;
mod config;
mod erased;
pub mod gc;
mod map;
mod pool;
mod snapshot;
mod wear;

pub use config::{FtlConfig, WearConfig, WriteFrontiers};
pub use pool::PoolSetup;
pub use snapshot::FtlSnapshot;

use gc::BlockView;
use map::Map;
use pool::{BlockState, Frontier, Placement, Pool};

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::prefetch;
use crate::nand::Media;
use crate::op::{Source, SOURCE_COUNT};
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Moved pages ahead at which their L2P entry is prefetched.
const MOVES_AHEAD: usize = 24;

/// Where the FTL's flash operations go.
///
/// Who calls: the FTL, in the order in which the operations must happen on each die. The media must
/// hold what was programmed as soon as `program` returns.
pub trait FlashSink {
    /// The flash as it is after all operations so far.
    fn media(&self) -> &Media;
    /// A page is read.
    fn read(&mut self, ppn: Ppn, source: Source);
    /// The `page_count` live pages of a block are read, one after the other.
    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source);
    /// A page is programmed.
    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source);
    /// Consecutive pages of a block are programmed.
    fn program_run(&mut self, first: Ppn, lpns: &[u32], source: Source);
    /// A block is erased; returns its erase count.
    fn erase(&mut self, block: BlockId, source: Source) -> u32;
    /// A worn block is taken out of use.
    fn retire(&mut self, block: BlockId);
}

/// A pool has no block left to write to: the drive takes no more writes. A modelled failure, not a
/// bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WornOut;

/// Flash operations by [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlCounters {
    /// Pages programmed.
    pub programs: [u64; SOURCE_COUNT],
    /// Pages read.
    pub reads: [u64; SOURCE_COUNT],
    /// Blocks erased.
    pub erases: [u64; SOURCE_COUNT],
    /// Blocks taken out of use at their rated endurance.
    pub retired_blocks: u64,
}

/// The volatile state of the drive's firmware.
pub struct Ftl {
    geometry: Geometry,
    map: Map,
    states: Vec<BlockState>,
    pools: Vec<Pool>,
    placement: Placement,
    /// Host page writes so far: the clock of block ages.
    host_clock: u64,
    counters: FtlCounters,
    /// Live pages of the victim being moved.
    moving: Vec<u32>,
}

impl Ftl {
    /// The firmware of a drive on fresh media.
    pub fn new(config: &FtlConfig, setup: &PoolSetup, media: &Media) -> Self {
        let geometry = setup.geometry;
        let states =
            (0..geometry.block_count())
                .map(|block| {
                    if media.is_bad(BlockId(block)) {
                        BlockState::Bad
                    } else {
                        BlockState::Erased
                    }
                })
                .collect();
        Self {
            geometry,
            map: Map::new(geometry, setup.logical_pages),
            states,
            pools: (0..geometry.die_count)
                .map(|die| Pool::new(DieId(die), config, setup, media))
                .collect(),
            placement: Placement::new(&config.write_frontiers, setup.logical_pages),
            host_clock: 0,
            counters: FtlCounters::default(),
            moving: Vec::with_capacity(geometry.pages_per_block as usize),
        }
    }

    /// Logical pages of the drive.
    pub fn logical_pages(&self) -> u32 {
        self.map.l2p.len() as u32
    }

    /// Logical pages that hold data.
    pub fn mapped_pages(&self) -> u32 {
        self.map.mapped_count
    }

    /// Operations so far.
    pub fn counters(&self) -> &FtlCounters {
        &self.counters
    }

    /// Erased blocks of the drive.
    pub fn erased_blocks(&self) -> u64 {
        self.pools.iter().map(|pool| u64::from(pool.erased.len())).sum()
    }

    /// Good blocks of the drive.
    pub fn good_blocks(&self) -> u64 {
        self.pools.iter().map(|pool| u64::from(pool.good_blocks)).sum()
    }

    /// The page that holds `lpn`.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<Ppn> {
        self.map.find(lpn)
    }

    /// Asks for the L2P entry of a coming address.
    #[inline]
    pub fn prefetch_entry(&self, lpn: Lpn) {
        prefetch(&self.map.l2p, lpn.0 as usize);
    }

    /// Asks for what an overwrite of a coming address will touch; its L2P entry should be at hand.
    #[inline]
    pub fn prefetch_page(&self, lpn: Lpn) {
        let ppn = self.map.l2p[lpn.0 as usize];
        prefetch(&self.map.live, (ppn >> 6) as usize);
        prefetch(&self.map.live_counts, (ppn >> self.geometry.page_bits) as usize);
    }

    /// Reads the page of `lpn` for the host (or to complete a partial write); false if it holds
    /// nothing.
    #[inline]
    pub fn read<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn, source: Source) -> bool {
        let Some(ppn) = self.map.find(lpn) else { return false };
        self.counters.reads[source as usize] += 1;
        sink.read(ppn, source);
        true
    }

    /// Writes a page of the host.
    ///
    /// # Errors
    /// [`WornOut`] when the pool has no room left; nothing was written then.
    #[inline]
    pub fn write<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn) -> Result<(), WornOut> {
        let die = self.geometry.die_of(lpn).0 as usize;
        let stream = self.placement.stream(lpn, Source::Host);
        if self.pools[die].frontiers[stream].is_full() {
            self.make_room(sink, die, stream)?;
        }
        self.host_clock += 1;
        let ppn = self.next_page(die, stream);
        if let Some(old) = self.map.bind(lpn, ppn) {
            self.kill(die, old);
        }
        self.counters.programs[Source::Host as usize] += 1;
        sink.program(ppn, lpn, Source::Host);
        Ok(())
    }

    /// The page of `lpn` holds nothing of value any more; false if it held nothing.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        let Some(old) = self.map.unbind(lpn) else { return false };
        self.kill(self.geometry.die_of(lpn).0 as usize, old);
        true
    }

    #[inline]
    fn next_page(&mut self, die: usize, stream: usize) -> Ppn {
        let frontier = &mut self.pools[die].frontiers[stream];
        let ppn = Ppn(frontier.next);
        frontier.next += 1;
        ppn
    }

    #[inline]
    fn kill(&mut self, die: usize, ppn: Ppn) {
        let (block, live_count) = self.map.kill(ppn);
        let pool = &mut self.pools[die];
        pool.policy.invalidated(block.0 - pool.first_block, live_count, 1, self.host_clock);
    }

    /// Makes the stream's open block able to take a page.
    ///
    /// A victim at its rated endurance is not erased again: its pages move once the pool has a
    /// block to spare for that, and then it is taken out of use.
    #[inline(never)]
    fn make_room<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: usize,
    ) -> Result<(), WornOut> {
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
    ) -> Result<(), WornOut> {
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
                self.open(die, stream, Source::Host);
            } else if is_full || !worn.is_empty() {
                let victim = if tries_left > 0 { self.choose(die) } else { None };
                let Some(victim) = victim else {
                    return if is_full { Err(WornOut) } else { Ok(()) };
                };
                tries_left -= 1;
                let pool = &self.pools[die];
                if sink.media().erase_count(BlockId(victim)) < pool.worn_limit {
                    self.collect(sink, die, victim, Source::Gc);
                    self.level_wear(sink, die);
                } else {
                    worn.push(victim);
                    if pool.good_blocks < pool.good_blocks_min + worn.len() as u32 {
                        return if is_full { Err(WornOut) } else { Ok(()) };
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn close_full(&mut self, die: usize, stream: usize) {
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

    fn open(&mut self, die: usize, stream: usize, source: Source) {
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

    fn choose(&mut self, die: usize) -> Option<u32> {
        let pool = &mut self.pools[die];
        let first = pool.first_block as usize;
        let view = BlockView {
            live_counts: &self.map.live_counts[first..first + pool.block_count as usize],
            pages_per_block: self.geometry.pages_per_block as u16,
            now: self.host_clock,
        };
        pool.policy.choose(&view).map(|block| block + pool.first_block)
    }

    /// Moves the live pages of a block that is no candidate any more, and erases it.
    fn collect<S: FlashSink>(&mut self, sink: &mut S, die: usize, victim: u32, source: Source) {
        let victim = BlockId(victim);
        self.evacuate(sink, die, victim, source);
        let erase_count = sink.erase(victim, source);
        self.counters.erases[source as usize] += 1;
        self.states[victim.0 as usize] = BlockState::Erased;
        let pool = &mut self.pools[die];
        pool.erased.push(victim.0, erase_count);
        if let Some(gauge) = &mut pool.gauge {
            gauge.erased(erase_count);
        }
    }

    /// Moves the live pages of a worn block, and takes it out of use.
    fn retire<S: FlashSink>(&mut self, sink: &mut S, die: usize, worn: u32) {
        let worn = BlockId(worn);
        self.evacuate(sink, die, worn, Source::Gc);
        let pool = &mut self.pools[die];
        pool.good_blocks -= 1;
        if let Some(gauge) = &mut pool.gauge {
            gauge.retired(sink.media().erase_count(worn));
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
        self.gather(sink.media(), victim);
        let moved = self.moving.len() as u32;
        self.counters.reads[source as usize] += u64::from(moved);
        self.counters.programs[source as usize] += u64::from(moved);
        sink.read_live(victim, moved, source);
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

    /// Programs moved pages, all of one stream, into its open block, opening others as needed.
    fn place_run<S: FlashSink>(&mut self, sink: &mut S, die: usize, lpns: &[u32], source: Source) {
        let mut left = lpns;
        while let Some(&first) = left.first() {
            let stream = self.placement.stream(Lpn(first), source);
            if self.pools[die].frontiers[stream].is_full() {
                self.close_full(die, stream);
                self.open(die, stream, source);
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
    fn level_wear<S: FlashSink>(&mut self, sink: &mut S, die: usize) {
        let pool = &mut self.pools[die];
        let Some(limit) = pool.gauge.as_mut().and_then(wear::WearGauge::lagging_below) else {
            return;
        };
        let blocks = pool.first_block..pool.first_block + pool.block_count;
        let lagging = blocks
            .filter(|&block| self.states[block as usize] == BlockState::Closed)
            .min_by_key(|&block| sink.media().erase_count(BlockId(block)));
        if let Some(block) = lagging {
            if f64::from(sink.media().erase_count(BlockId(block))) < limit {
                pool.policy.remove(block - pool.first_block, self.map.live_counts[block as usize]);
                self.collect(sink, die, block, Source::Wear);
            }
        }
    }

    /// Checks that L2P, live bits, live counts and the media's reverse map tell one story.
    ///
    /// # Errors
    /// The first contradiction, with its numbers.
    pub fn audit(&self, media: &Media) -> Result<(), String> {
        let mut live_total = 0_u64;
        for block in 0..self.geometry.block_count() {
            live_total += self.audit_block(BlockId(block), media)?;
        }
        let mapped = self.map.l2p.iter().filter(|&&ppn| ppn != UNMAPPED).count() as u64;
        if live_total != mapped || mapped != u64::from(self.map.mapped_count) {
            let counted = self.map.mapped_count;
            return Err(format!(
                "{live_total} live pages, {mapped} mapped logical pages, {counted} counted"
            ));
        }
        let open = self.states.iter().filter(|&&state| state == BlockState::Open).count();
        let frontiers = self.pools.iter().flat_map(|pool| &pool.frontiers);
        let written_to = frontiers.filter(|frontier| frontier.exists()).count();
        if open != written_to {
            return Err(format!("{open} blocks are open, {written_to} are written to"));
        }
        Ok(())
    }

    /// Live, written pages of a block, each checked against the L2P.
    fn audit_block(&self, block: BlockId, media: &Media) -> Result<u64, String> {
        let first = self.geometry.first_page(block).0;
        let written = self.written_limit(block) - first;
        let (mut bits, mut live) = (0, 0);
        for word in 0..self.map.words_per_block() {
            let mut rest = self.map.live_word(block, word);
            bits += rest.count_ones();
            while rest != 0 {
                let page = 64 * word as u32 + rest.trailing_zeros();
                rest &= rest - 1;
                if page < written {
                    let lpn = media.oob_of_block(block)[page as usize];
                    let mapped = self.map.l2p.get(lpn as usize).copied();
                    if mapped != Some(first + page) {
                        return Err(format!(
                            "page {} holds logical page {lpn}, which maps to {mapped:?}",
                            first + page
                        ));
                    }
                    live += 1;
                }
            }
        }
        let counted = u32::from(self.map.live_counts[block.0 as usize]);
        if bits != counted {
            return Err(format!("block {} has {bits} live bits, {counted} counted", block.0));
        }
        Ok(live)
    }

    /// Pages of a block that hold something.
    pub fn written_pages(&self, block: BlockId) -> u32 {
        self.written_limit(block) - self.geometry.first_page(block).0
    }

    /// One past the last written page of a block.
    fn written_limit(&self, block: BlockId) -> u32 {
        let first = self.geometry.first_page(block).0;
        match self.states[block.0 as usize] {
            BlockState::Erased | BlockState::Bad => first,
            BlockState::Closed => first + self.geometry.pages_per_block,
            BlockState::Open => {
                let pool = &self.pools[self.geometry.die_of_block(block).0 as usize];
                let limit = first + self.geometry.pages_per_block;
                let open = pool.frontiers.iter().find(|frontier| frontier.limit == limit);
                open.map_or(limit, |frontier| frontier.next)
            }
        }
    }
}
