//! The flash translation layer: decides *where* every page goes, and what must move to make room.
//!
//! Its text exists once. It is generic over the [`FlashSink`] that its operations go to: the
//! untimed executor inlines the sink to bookkeeping, the timed one queues the same operations on
//! dies.
//!
//! ```text
//! Ftl            which die?                                     routes, and lends the books
//!  ├─ Books      the map, the counters, the clock of host writes
//!  └─ Pool       one die: makes room, collects, folds, levels   (pool/: pool, collect, …)
//!      └─ Log    its blocks: erased, open, closed               (pool/: log, frontier, …; gc)
//! ```
//! Files use those below them in this order only. By default every page is mapped for itself and
//! the whole map is in RAM, as in drives with 1 GB of DRAM per TB; [`mapping`] holds the other
//! ways: a map in the flash, which is asked before a page is read or written, and maps of blocks,
//! which decide in the pool's place where pages go (`mapping/asked`).

mod books;
mod config;
pub mod gc;
mod life;
mod map;
pub mod mapping;
mod pool;
mod refresh;
mod route;
mod sink;
mod views;
pub mod zones;

pub use config::{
    Allocation, AllocationOrder, BadBlock, CollectionConfig, Compression, Copyback, DataKind,
    DieParity, DynamicConfig, DynamicSlcCache, FoldWhen, FtlConfig, GroupDies, Grouping,
    HybridSlcCache, IdleCollection, Layout, Parity, PoolSetup, Refresh, SlcBlocks, SlcCacheConfig,
    StaticSlcCache, SteppedCollection, StripeParity, SuperblockConfig, WearConfig, WhenFull,
    WriteFrontiers, WritesComplete,
};
pub use life::{Dealt, DieFtl, DieList, FtlSnapshot, Volatile, ERASES_OF_RUN};
pub use mapping::{MappingConfig, MappingCounters};
pub(crate) use pool::Reclaimed;
pub use pool::{
    BlockState, FdpConfig, HandleCounts, Ids, Isolation, NoPlacement, PlacementConfig, StepOutcome,
    StreamsConfig, ENTRY_AHEAD, PAGE_AHEAD,
};
pub use sink::{FlashSink, FtlCounters, MoveRun, MoveWay, NoRoom};
pub use views::{BlockView, Figures, Room};

use books::Books;
use gc::Choosers;
use map::Map;
use mapping::{Request, Use};
use pool::Pool;
use route::Place;
use zones::Zones;

use crate::geometry::Geometry;
use crate::nand::Media;
use crate::op::Source;
use crate::striping::{DieRun, Turns};
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// How the die of a logical page is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// Dies take turns.
    InTurns(Turns),
    /// By the order of `ftl.allocation`.
    Ordered,
    /// The least loaded die with room; see [`route`].
    Dynamic(Place),
    /// The die is found by the number of the page; `ftl.mapping` is not `page`.
    Mapped,
}

impl Route {
    fn new(config: &FtlConfig, geometry: &Geometry) -> Self {
        match geometry.striping.turns() {
            _ if !config.mapping.is_page() => Self::Mapped,
            Some(turns) => Self::InTurns(turns),
            None if config.allocation.is_dynamic() => Self::Dynamic(Place::new(config, geometry)),
            None => Self::Ordered,
        }
    }
}

/// The volatile state of the drive's firmware.
pub struct Ftl {
    geometry: Geometry,
    books: Books,
    pools: Vec<Pool>,
    route: Route,
    /// The die of the last write that stalled.
    stalled_die: DieId,
    request: Request,
    /// Whether the map entries of the next pages are in the cache of the map already.
    is_translated: bool,
    zones: Option<Box<Zones>>,
}

impl Ftl {
    /// The firmware of a drive on fresh media.
    pub fn new(config: &FtlConfig, setup: &PoolSetup, media: &Media) -> Self {
        let geometry = setup.geometry;
        let pool = |die| Pool::new(DieId(die), config, setup, media, None);
        let route = Route::new(config, &geometry);
        let pools: Vec<Pool> = (0..geometry.die_count).map(pool).collect();
        Self {
            geometry,
            books: Books {
                map: Map::new(geometry, setup.logical_pages),
                counters: FtlCounters::default(),
                now: 0,
                translation: Self::translation(config, setup, &pools),
                handle: 0,
            },
            pools,
            route,
            stalled_die: DieId(0),
            request: Request::default(),
            is_translated: false,
            zones: Zones::of_drive(&config.mapping, setup),
        }
    }

    /// Logical pages of the drive.
    pub fn logical_pages(&self) -> u32 {
        self.books.map.logical_pages()
    }

    /// Connects victim policies that ask code outside the simulator to these choosers.
    pub fn consult(&mut self, choosers: &dyn Choosers) {
        self.pools.iter_mut().for_each(|pool| pool.log.consult(choosers));
    }

    /// Counts of operations.
    pub fn counters(&self) -> &FtlCounters {
        &self.books.counters
    }

    /// The page that holds `lpn`.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<Ppn> {
        self.books.map.find(lpn)
    }

    /// Prefetches the L2P entry of a coming address.
    #[inline]
    pub fn prefetch_entry(&self, lpn: Lpn) {
        self.books.map.prefetch_entry(lpn);
        if let Some(translation) = &self.books.translation {
            translation.prefetch(lpn);
        }
    }

    /// Prefetches the memory that an overwrite of a coming address will touch; its L2P entry should
    /// already be in the processor's cache.
    #[inline]
    pub fn prefetch_page(&self, lpn: Lpn) {
        self.books.map.prefetch_page(lpn);
    }

    /// Prefetches the memory that writes of coming addresses will touch: the memory that the L2P
    /// entries of the `next` ones point to, and the entries of the `later` ones. Many prefetches at
    /// once overlap their waits for memory.
    pub fn prefetch_coming(&self, next: &[Lpn], later: &[Lpn]) {
        for &lpn in later {
            self.prefetch_entry(lpn);
        }
        for &lpn in next {
            self.prefetch_page(lpn);
        }
    }

    /// Reads the page of `lpn` for the host (or to complete a partial write); false if it holds
    /// nothing.
    #[inline]
    pub fn read<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn, source: Source) -> bool {
        self.translate(sink, lpn, Use::Find);
        let Some(ppn) = self.books.map.find(lpn) else { return false };
        self.books.counters.reads[source as usize] += 1;
        sink.read(ppn, source);
        true
    }

    /// Writes a page of the host.
    ///
    /// # Errors
    /// [`NoRoom`] when the pool has no room left; nothing was written then.
    #[inline(always)]
    #[allow(clippy::inline_always)] // the loop of the untimed executor lives from it: see ADR 5
    pub fn write<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn) -> Result<(), NoRoom> {
        let die = match self.route {
            Route::InTurns(turns) => turns.die(lpn.0),
            Route::Ordered => self.geometry.die_of(lpn).0,
            Route::Dynamic(place) => return self.write_balanced(sink, lpn, place),
            Route::Mapped => return self.write_mapped(sink, lpn),
        };
        let written = if sink.holds_back(DieId(die)) {
            Err(NoRoom::Stalled)
        } else {
            self.pools[die as usize].write(&mut self.books, sink, lpn)
        };
        if written.is_err() {
            self.stalled_die = DieId(die);
        }
        written
    }

    /// Whether the die of a logical page is fixed and follows from its number alone.
    pub fn takes_turns(&self) -> bool {
        matches!(self.route, Route::InTurns(_))
    }

    /// Writes pages of the host in order, for sinks without time. Returns how many were written,
    /// and why not all.
    ///
    /// # Panics
    /// When logical pages do not take turns on the dies.
    pub fn write_list<S: FlashSink>(
        &mut self,
        sink: &mut S,
        lpns: &[u32],
    ) -> (usize, Result<(), NoRoom>) {
        assert!(self.takes_turns(), "the dies of the pages are not known");
        let start = self.books.now;
        if let [pool] = &mut self.pools[..] {
            return pool.write_list(&mut self.books, sink, lpns, |place| start + place as u64);
        }
        for (place, &lpn) in lpns.iter().enumerate() {
            Pool::look_ahead(&self.books, lpns, place);
            if let Err(no_room) = self.write(sink, Lpn(lpn)) {
                return (place, Err(no_room));
            }
        }
        (lpns.len(), Ok(()))
    }

    /// Writes `count` whole logical pages from `first` on, for sinks without time: each die takes
    /// its share of the run in one loop. The resulting mapping is that of `count` calls of
    /// [`Ftl::write`], since pools share nothing; a test checks this.
    ///
    /// # Errors
    /// [`NoRoom`] when a pool has no room left; it is then unknown which pages of the run were
    /// written.
    pub fn write_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: Lpn,
        count: u32,
    ) -> Result<(), NoRoom> {
        let turns = match self.route {
            Route::InTurns(turns) if count >= turns.dies() && !self.splits_host() => turns,
            _ => return (first.0..first.0 + count).try_for_each(|lpn| self.write(sink, Lpn(lpn))),
        };
        let start = self.books.now;
        let clock = |lpn: Lpn| start + u64::from(lpn.0 - first.0);
        let outcome = self.pools.iter_mut().zip(0..).try_for_each(|(pool, die)| {
            pool.write_die_run(&mut self.books, sink, DieRun::new(turns, die, first, count), clock)
        });
        self.books.now = start + u64::from(count);
        outcome
    }

    /// Sets which handle each write of the host goes to, if the drive has handles.
    pub fn set_ids(&mut self, ids: &Ids) {
        self.pools.iter_mut().for_each(|pool| pool.log.placement.set_ids(ids));
        self.books.handle = 0;
    }

    /// Which handle a write of the host goes to; `None` without handles.
    pub fn ids(&self) -> Option<&Ids> {
        Some(&self.pools[0].log.placement.handles.as_ref()?.ids)
    }

    /// The next writes of the host are of this handle, where addresses do not decide.
    #[inline]
    pub fn set_handle(&mut self, handle: u8) {
        self.books.handle = handle;
    }

    /// Whether neighbouring pages of the host may go to different open blocks of a die.
    fn splits_host(&self) -> bool {
        self.pools[0].log.placement.splits(Source::Host)
    }

    /// The die of the last write that [`NoRoom::Stalled`].
    pub fn stalled_die(&self) -> DieId {
        self.stalled_die
    }

    /// Completes the open program units of host writes on every die, or programs the pages that
    /// they hold.
    pub fn pad<S: FlashSink>(&mut self, sink: &mut S) {
        self.pools.iter_mut().for_each(|pool| pool.log.pad(&mut self.books, sink));
    }

    /// Completes those of one die.
    pub fn pad_die<S: FlashSink>(&mut self, sink: &mut S, die: DieId) {
        self.pools[die.0 as usize].log.pad(&mut self.books, sink);
    }

    /// Completes those of the die that holds a page.
    pub fn pad_behind<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn) {
        if let Some(ppn) = self.find(lpn) {
            let die = self.die_of_page(ppn).0 as usize;
            self.pools[die].log.pad(&mut self.books, sink);
        }
    }

    /// The page of `lpn` holds nothing of value any more; false if it held nothing.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        let Some(old) = self.books.map.unbind(lpn) else { return false };
        self.kill(old);
        true
    }

    fn die_of_page(&self, ppn: Ppn) -> DieId {
        self.geometry.die_of_block(self.geometry.block_of(ppn))
    }

    fn kill(&mut self, ppn: Ppn) {
        let die = self.die_of_page(ppn).0 as usize;
        self.pools[die].kill(&mut self.books, ppn);
    }

    fn pool_of(&self, block: BlockId) -> &Pool {
        self.pool(self.geometry.die_of_block(block))
    }

    fn pool(&self, die: DieId) -> &Pool {
        &self.pools[die.0 as usize]
    }

    /// The host pauses: the cache of a die of which all is folded takes writes again.
    pub(crate) fn end_draining(&mut self, die: DieId) {
        self.pools[die.0 as usize].end_draining();
    }

    /// Chooses a victim in a die; false when one is under collection already, or no block is worth
    /// it.
    pub fn begin_collection(&mut self, media: &Media, die: DieId) -> bool {
        self.pools[die.0 as usize].begin_collection(&self.books, media)
    }

    /// Chooses the oldest block of a die's cache for folding, which then proceeds like a
    /// collection; false when a collection is running, no block is cached, or no native block has
    /// room for its pages before one is collected.
    pub fn begin_fold(&mut self, media: &Media, die: DieId) -> bool {
        self.pools[die.0 as usize].begin_fold(&self.books, media)
    }

    /// As [`Ftl::begin_fold`], for a block that is in the cache only temporarily: this always frees
    /// space.
    pub fn begin_fold_of_guest(&mut self, media: &Media, die: DieId) -> bool {
        self.pools[die.0 as usize].begin_fold_of_guest(&self.books, media)
    }

    /// Moves up to `page_limit` live pages of the victim of a die, and emits its erase when none is
    /// left.
    pub fn step_collection<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: DieId,
        page_limit: u32,
    ) -> StepOutcome {
        if matches!(self.route, Route::Dynamic(_)) {
            self.complete_newer(sink, die, page_limit);
        }
        self.pools[die.0 as usize].step(&mut self.books, sink, page_limit)
    }

    /// Ends the erase of a collected block: it joins the erased ones.
    ///
    /// # Panics
    /// When no erase of this block is running.
    pub fn finish_collection(&mut self, die: DieId, block: BlockId) {
        let finished = self.pools[die.0 as usize].finish().map(|collection| collection.victim);
        assert!(finished == Some(block), "no erase of block {} is under way", block.0);
    }

    /// Folds and collects at once, in pools that have no erased block beyond the reserve and no
    /// running collection, until they have one.
    pub fn catch_up<S: FlashSink>(&mut self, sink: &mut S) {
        for pool in &mut self.pools {
            pool.catch_up(&mut self.books, sink);
        }
    }

    /// Finishes collections whose erase was emitted and whose end no executor will report: required
    /// when a stage in which collections ran in steps has ended, and its flash is idle.
    pub fn settle(&mut self) {
        for pool in &mut self.pools {
            pool.finish();
        }
    }
}
