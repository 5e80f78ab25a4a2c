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
//! A collection is one piece where time does not count; a sink that has a clock may ask for it in
//! steps (`steps`), and then decides when they are taken.
//!
//! Left out: map pages in flash (the whole map is in RAM, as in drives with 1 GB of DRAM per TB).

mod audit;
mod bulk;
mod collect;
mod config;
mod copyback;
mod dynamic;
mod erased;
pub mod gc;
mod layout;
mod map;
mod options;
mod pool;
mod renew;
mod room;
mod slc;
mod snapshot;
mod steps;
mod wear;

pub use config::{FtlConfig, WearConfig, WriteFrontiers};
pub use layout::Layout;
pub use options::{
    Allocation, CollectionConfig, Compression, Copyback, DataKind, DynamicSlcCache, IdleCollection,
    Parity, SlcCacheConfig, StaticSlcCache, SteppedCollection, WhenFull,
};
pub use pool::PoolSetup;
pub use snapshot::FtlSnapshot;
pub use steps::StepOutcome;

use dynamic::Balance;
use map::Map;
use pool::{BlockState, Placement, Pool};

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::prefetch;
use crate::nand::{CellMode, Media};
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
    /// An erased block will be written so densely from now on.
    fn set_mode(&mut self, block: BlockId, mode: CellMode);

    /// Whether the owner of the sink schedules collections itself, in steps: then a write without
    /// room is refused as [`NoRoom::Stalled`] instead of collecting on the spot.
    #[inline]
    fn collects_in_steps(&self) -> bool {
        false
    }

    /// Work that waits for a die, in any unit; the allocation that is `dynamic` prefers the least.
    #[inline]
    fn load(&self, _die: DieId) -> u32 {
        0
    }

    /// As `read_live`, for some of the live pages, by their index in the block.
    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source) {
        self.read_live(block, page_indices.len() as u32, source);
    }

    /// Pages of `victim` are copied to consecutive pages of another block inside the die, without
    /// passing bus and decoder.
    fn copy_run(&mut self, victim: BlockId, first: Ppn, lpns: &[u32], source: Source) {
        self.read_live(victim, lpns.len() as u32, source);
        self.program_run(first, lpns, source);
    }

    /// A page that holds no logical page is programmed: parity or filling.
    fn program_filler(&mut self, ppn: Ppn, source: Source) {
        self.program(ppn, Lpn(UNMAPPED), source);
    }
}

/// Why a write found no room. A modelled condition, not a bug; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// A collection that is under way will make room: the write is to be tried again when a block
    /// of its die was erased. Only with sinks that collect in steps.
    Stalled,
    /// The pool has no block left to write to: the drive takes no more writes.
    WornOut,
}

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
    /// Pages moved inside their die; they are counted among reads and programs too.
    pub copyback_pages: u64,
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
    /// The die of the last write that stalled.
    stalled_die: DieId,
    /// Live pages of the victim being moved.
    moving: Vec<u32>,
    /// Where they are in their block; filled by collections in steps only.
    moving_from: Vec<u32>,
    layout: Layout,
    /// Whether some pages of a block take no data, or not in every mode.
    is_shaped: bool,
    /// Copies in a row that data may make inside its die.
    copyback_limit: Option<u8>,
    /// Plane in which the next block of moved pages is best opened.
    wanted_plane: Option<u32>,
    /// Present when the die of a write is chosen by load.
    balance: Option<Balance>,
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
                .map(|die| Pool::new(DieId(die), config, setup, media, None))
                .collect(),
            placement: Placement::new(&config.write_frontiers, setup.logical_pages),
            host_clock: 0,
            counters: FtlCounters::default(),
            stalled_die: DieId(0),
            moving: Vec::with_capacity(geometry.pages_per_block as usize + 1),
            moving_from: Vec::new(),
            layout: setup.layout,
            is_shaped: setup.layout != Layout::plain(&geometry),
            copyback_limit: config.copyback.as_ref().map(|copyback| copyback.limit),
            wanted_plane: None,
            balance: Balance::new(config, setup),
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

    /// Good blocks of the drive, those of a cache included.
    pub fn good_blocks(&self) -> u64 {
        let blocks = |pool: &Pool| {
            pool.good_blocks + pool.slc.as_ref().map_or(0, |cache| cache.members.len() as u32)
        };
        self.pools.iter().map(|pool| u64::from(blocks(pool))).sum()
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
    /// [`NoRoom`] when the pool has no room left; nothing was written then.
    #[inline]
    pub fn write<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn) -> Result<(), NoRoom> {
        let die = if self.geometry.die_count == 1 {
            0
        } else if self.geometry.striping.is_plain() {
            lpn.0 % self.geometry.die_count
        } else {
            return self.write_in_order(sink, lpn);
        };
        self.write_to(sink, die as usize, lpn)
    }

    /// Writes a page of the host to its die.
    #[inline(always)]
    #[allow(clippy::inline_always)] // it is the whole of `write`: a call costs a tenth of it
    fn write_to<S: FlashSink>(&mut self, sink: &mut S, die: usize, lpn: Lpn) -> Result<(), NoRoom> {
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

    /// The die of the last write that [`NoRoom::Stalled`].
    pub fn stalled_die(&self) -> DieId {
        self.stalled_die
    }

    /// The page of `lpn` holds nothing of value any more; false if it held nothing.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        let Some(old) = self.map.unbind(lpn) else { return false };
        let die = self.die_holding(lpn, old);
        self.kill(die, old);
        true
    }

    /// Pages of a native block that take data.
    fn data_pages_of(&self, block: u32) -> u16 {
        let die = self.geometry.die_of_block(BlockId(block));
        self.layout.data_pages(die, CellMode::Native) as u16
    }

    /// The pages that a page can be rebuilt from, their parity last, as numbers of which one is its
    /// own; `None` without parity.
    pub fn stripe_of(&self, media: &Media, ppn: Ppn) -> Option<std::ops::Range<u32>> {
        let block = self.geometry.block_of(ppn);
        let (die, mode) = (self.geometry.die_of_block(block), media.mode(block));
        let stripe = self.layout.stripe_of(die, mode, self.geometry.page_index(ppn))?;
        let first = self.geometry.first_page(block).0;
        Some(first + stripe.start..first + stripe.end)
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
}
