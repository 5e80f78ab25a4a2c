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
//!
//! Code outside this folder uses the public methods of [`Ftl`] only. Their arguments are in
//! `orders`, their answers in `views`, `refresh` and `zones`.

mod books;
mod config;
pub mod gc;
mod life;
mod map;
pub mod mapping;
mod orders;
mod parted;
mod pool;
mod reclaim_units;
mod refresh;
mod route;
mod sink;
mod views;
pub mod zones;

use config::MapCheckpoint;
pub use config::{
    share_out, Allocation, AllocationOrder, BadBlock, CollectionConfig, Compression, Copyback,
    DataKind, DieParity, DynamicConfig, DynamicSlcCache, FoldWhen, FtlConfig, GroupDies, Grouping,
    HybridSlcCache, IdleCollection, Layout, Parity, Partition, Partitions, PoolSetup, Refresh,
    SlcBlocks, SlcCacheConfig, StaticSlcCache, SteppedCollection, StripeParity, SuperblockConfig,
    WearConfig, WhenFull, WriteFrontiers, WritesComplete,
};
pub use life::{Dealt, DieFtl, DieList, FtlSnapshot, PurgeScope, Volatile};
pub use mapping::{MappingConfig, MappingCounters};
pub use orders::{End, Pending, Purpose, Setting, Touched, Traits};
pub(crate) use pool::Reclaimed;
pub use pool::{
    BlockState, FdpConfig, HandleCounts, Ids, Isolation, NoPlacement, PlacementConfig, StepOutcome,
    StreamsConfig, ENTRY_AHEAD, PAGE_AHEAD,
};
pub use refresh::Refreshing;
pub use sink::{FlashSink, FtlCounters, MoveRun, MoveWay, NoRoom};
pub use views::{BlockView, Figures, Room};

use books::Books;
use map::Map;
use mapping::{Request, Use};
use parted::Parted;
use pool::{Beginning, Pool};
use route::Place;
use zones::PlacedZones;

use crate::geometry::Geometry;
use crate::nand::Media;
use crate::op::Source;
use crate::rng::Rng;
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
    /// A pool of the partition that has the page.
    Parted,
}

impl Route {
    fn new(config: &FtlConfig, setup: &PoolSetup) -> Self {
        let geometry = &setup.geometry;
        match geometry.striping.turns() {
            _ if setup.partitions.is_some() => Self::Parted,
            _ if !config.mapping.is_page() => Self::Mapped,
            Some(turns) => Self::InTurns(turns),
            None if config.allocation.is_dynamic() => Self::Dynamic(Place::new(config, geometry)),
            None => Self::Ordered,
        }
    }
}

impl Traits {
    fn of(route: Route, books: &Books, pools: &[Pool]) -> Self {
        let turns = match route {
            Route::InTurns(turns) => Some(turns),
            _ => None,
        };
        Self {
            turns,
            has_one_log: turns.is_some() && pools.len() == 1,
            is_separable: books.map.is_separable(),
            looks_up: books.translation.is_some(),
            merges: pools.first().is_some_and(|pool| pool.scheme.is_some()),
            ends_with_program: matches!(route, Route::InTurns(_) | Route::Ordered),
        }
    }
}

/// The volatile state of the drive's firmware.
pub struct Ftl {
    geometry: Geometry,
    books: Books,
    pools: Vec<Pool>,
    route: Route,
    parted: Option<Box<Parted>>,
    traits: Traits,
    request: Request,
    /// Whether the map entries of the next pages are in the cache of the map already.
    is_translated: bool,
    zones: Option<Box<PlacedZones>>,
    /// Of a map in RAM; that of a map in the flash is the translation's.
    checkpoint: Option<MapCheckpoint>,
}

impl Ftl {
    /// The firmware of a drive on fresh media.
    pub fn new(config: &FtlConfig, setup: &PoolSetup, media: &Media) -> Self {
        let geometry = setup.geometry;
        let pool = |die| Pool::new(DieId(die), config, setup, media, None);
        let pools: Vec<Pool> = (0..setup.pool_count()).map(pool).collect();
        let books = Books {
            map: Map::new(geometry, setup.logical_pages),
            counters: FtlCounters::default(),
            now: 0,
            translation: Self::translation(config, setup, &pools),
            handle: 0,
        };
        let route = Route::new(config, setup);
        Self {
            geometry,
            traits: Traits::of(route, &books, &pools),
            books,
            pools,
            route,
            parted: setup.partitions.clone().map(|it| Box::new(Parted::new(it))),
            request: Request::default(),
            is_translated: false,
            zones: PlacedZones::of_drive(config, setup),
            checkpoint: config.map_checkpoint.filter(|_| config.mapping.is_page()),
        }
    }

    /// Changes how it works from then on.
    pub fn set(&mut self, setting: Setting<'_>) {
        for (pool, die) in self.pools.iter_mut().zip(0..) {
            match setting {
                Setting::Cuts(may_come) => pool.log.may_be_cut = may_come,
                Setting::Seed(seed) => pool.log.reseed(Rng::stream(seed, &format!("gc.{die}"))),
                Setting::WearLimits(setup) => {
                    pool.wear.limit = setup.worn_limit;
                    if let Some(cache) = &mut pool.log.slc {
                        cache.worn_limit = setup.slc_worn_limit;
                    }
                }
                Setting::Choosers(choosers) => pool.log.connect_choosers(choosers),
            }
        }
    }

    /// See [`Traits`].
    #[inline]
    pub fn traits(&self) -> Traits {
        self.traits
    }

    /// The page that holds `lpn`.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<Ppn> {
        self.books.map.find(lpn)
    }

    /// Prefetches memory that a command for a coming address will touch. Many prefetches at once
    /// overlap their waits for memory.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn, touched: Touched) {
        match touched {
            Touched::Entry => {
                self.books.map.prefetch_entry(lpn);
                if let Some(translation) = &self.books.translation {
                    translation.prefetch(lpn);
                }
            }
            Touched::Page => _ = self.books.map.prefetch_page(lpn),
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
            Route::Parted => return self.write_in_part(sink, lpn),
        };
        if sink.holds_back(DieId(die)) {
            Err(NoRoom::Stalled(DieId(die)))
        } else {
            self.pools[die as usize].write(&mut self.books, sink, lpn)
        }
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
        assert!(self.traits().turns.is_some(), "the dies of the pages are not known");
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

    /// Sets which handle each write of the host goes to, if the drive has handles; returns which it
    /// was before.
    pub fn place(&mut self, ids: &Ids) -> Ids {
        let handles = self.pools[0].log.placement.handles.as_ref();
        let before = handles.map_or_else(Ids::default, |handles| handles.ids.clone());
        self.pools.iter_mut().for_each(|pool| pool.log.placement.set_ids(ids));
        self.books.handle = 0;
        before
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

    /// Completes work that waits.
    pub fn complete<S: FlashSink>(&mut self, sink: &mut S, pending: Pending) {
        if self.parted.is_some() {
            return self.complete_in_parts(sink, pending);
        }
        let books = &mut self.books;
        match pending {
            Pending::Units => self.pools.iter_mut().for_each(|pool| pool.log.pad(books, sink)),
            Pending::UnitsOf(die) => self.pools[die.0 as usize].log.pad(books, sink),
            Pending::UnitsBehind(lpn) => {
                if let Some(ppn) = self.find(lpn) {
                    let die = self.die_of_page(ppn).0 as usize;
                    self.pools[die].log.pad(&mut self.books, sink);
                }
            }
            Pending::AllUnits => {
                self.pools.iter_mut().for_each(|pool| pool.log.complete_units(books, sink));
            }
            Pending::Merges => self.merge_all(sink),
            Pending::Room => self.pools.iter_mut().for_each(|pool| pool.catch_up(books, sink)),
        }
    }

    /// The page of `lpn` holds nothing of value any more; false if it held nothing.
    pub fn trim<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn) -> bool {
        self.translate(sink, lpn, Use::Change);
        let Some(old) = self.books.map.unbind(lpn) else { return false };
        self.kill(old);
        true
    }

    fn die_of_page(&self, ppn: Ppn) -> DieId {
        self.pool_number(self.geometry.block_of(ppn))
    }

    fn kill(&mut self, ppn: Ppn) {
        let die = self.die_of_page(ppn).0 as usize;
        self.pools[die].kill(&mut self.books, ppn);
    }

    /// The number of the pool that has a block.
    #[inline]
    fn pool_number(&self, block: BlockId) -> DieId {
        match &self.parted {
            None => self.geometry.die_of_block(block),
            Some(parted) => parted.partitions.pool_of(block),
        }
    }

    fn pool_of(&self, block: BlockId) -> &Pool {
        self.pool(self.pool_number(block))
    }

    fn pool(&self, die: DieId) -> &Pool {
        &self.pools[die.0 as usize]
    }

    /// Begins to make room in a die, step by step; false when a collection is running already, or
    /// no block is to be taken for this purpose.
    pub fn begin(&mut self, media: &Media, die: DieId, purpose: Purpose) -> bool {
        let (pool, books) = (&mut self.pools[die.0 as usize], &mut self.books);
        match purpose {
            Purpose::Collect => pool.begin_collection(books, media),
            Purpose::Fold => pool.begin_fold(books, media),
            Purpose::FoldGuest => pool.begin_fold_of_guest(books, media),
            Purpose::Refresh(now) => pool.begin_refresh(books, media, now, Beginning::InSteps),
        }
    }

    /// Moves up to `page_limit` live pages of the victim of a die, and emits its erase when none is
    /// left.
    pub fn step<S: FlashSink>(&mut self, sink: &mut S, die: DieId, page_limit: u32) -> StepOutcome {
        match self.route {
            Route::Dynamic(_) => self.complete_newer(sink, die, page_limit),
            Route::Parted => {
                return self.in_pool(die, |pool, books| pool.step(books, sink, page_limit));
            }
            _ => {}
        }
        self.pools[die.0 as usize].step(&mut self.books, sink, page_limit)
    }

    /// Takes note that work of dies has ended.
    ///
    /// # Panics
    /// When no erase of this block is running.
    pub fn finish(&mut self, end: End) {
        match end {
            End::Erase(die, block) => {
                let finished = self.pools[die.0 as usize].finish().map(|it| it.victim);
                assert!(finished == Some(block), "no erase of block {} is running", block.0);
            }
            End::Burst(die) => self.pools[die.0 as usize].end_draining(),
            End::Stage => self.pools.iter_mut().for_each(|pool| _ = pool.finish()),
        }
    }
}
