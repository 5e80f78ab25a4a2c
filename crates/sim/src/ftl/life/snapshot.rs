//! The FTL's state: saved as plain numbers, restored, and reset by a purge.
//!
//! L2P is not stored: it is rebuilt from the media's out-of-band areas and the live bits. In
//! addition to these bits, the orders are stored: open blocks with their next page, erased blocks,
//! and each policy's candidates.
//!
//! A purge leaves what a drive of this wear has when it has never been written: no page mapped,
//! every good block erased, all orders as they are at first. What an erase does not undo stays:
//! erase counts (one more for each block that held something), bad blocks, and which blocks are a
//! cache permanently.

use serde::{Deserialize, Serialize};

use crate::ftl::mapping::{SchemeSnapshot, TranslationSnapshot};
use crate::ftl::pool::{BlockState, Collection, Frontier, Log, PartialPage, Pool, SlcCache};
use crate::ftl::zones::{PlacedZones, Zones, ZonesSnapshot};
use crate::ftl::{Ftl, FtlConfig, PoolSetup, Route};
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Which good blocks a purge erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeScope {
    /// Those that hold something.
    Written,
    /// All of them, once more.
    All,
}

/// See the module.
#[derive(Serialize, Deserialize)]
pub struct FtlSnapshot {
    host_clock: u64,
    /// The die at which the search for the least loaded one continues.
    turn: u32,
    live: Vec<u64>,
    /// `BlockState` as a number.
    states: Vec<u8>,
    pools: Vec<PoolSnapshot>,
    zones: ZonesSnapshot,
    translation: Option<TranslationSnapshot>,
}

/// The state that a snapshot lacks and a checkpoint needs, by pool.
#[derive(Default)]
pub struct Volatile {
    /// Collections since the host opened a block last.
    pub begun_in_vain: Vec<u32>,
    /// By open block, the page that was programmed in part last.
    pub partial_pages: Vec<Vec<[u32; 3]>>,
    /// The refresh times of blocks.
    pub refresh: Vec<Vec<u64>>,
}

#[derive(Serialize, Deserialize)]
struct PoolSnapshot {
    /// By stream.
    frontiers: Vec<(u32, u32)>,
    /// By block, where the host places data: the handle of its data.
    handles: Vec<u8>,
    erased: Vec<u32>,
    candidates: Vec<u64>,
    /// A running collection: victim, source, next page, whether it retires the block, whether the
    /// block has failed.
    collection: Option<(u32, Source, u32, [bool; 2])>,
    level_due: bool,
    retire_due: bool,
    slc: Option<CacheSnapshot>,
    scheme: Option<SchemeSnapshot>,
}

#[derive(Serialize, Deserialize)]
struct CacheSnapshot {
    /// Blocks that are cache permanently.
    members: Vec<u32>,
    /// Those of them that are erased.
    erased: Vec<u32>,
    /// Cached blocks, oldest first.
    cached: Vec<u32>,
    /// Pages of the full cache that are due for folding, if it is folded in parallel with host
    /// writes.
    owed: Option<f64>,
}

impl PoolSnapshot {
    fn of(pool: &Pool) -> Self {
        // A running erase counts as ended: no executor will report its end later.
        let erasing = pool.moves.collection.and_then(|collection| {
            collection.erase_count.map(|count| (collection.victim.0, count, collection.source))
        });
        let to_cache = erasing.is_some_and(|(victim, _, source)| {
            source == Source::Fold && pool.log.is_member(BlockId(victim))
        });
        let moving = pool.moves.collection.filter(|collection| collection.erase_count.is_none());
        Self {
            frontiers: pool.log.frontiers.iter().map(|it| (it.next, it.limit)).collect(),
            handles: pool.log.placement.handles.as_ref().map_or(Vec::new(), |it| it.save()),
            erased: pool
                .log
                .erased
                .list_with(erasing.filter(|_| !to_cache).map(|(victim, count, _)| (victim, count))),
            candidates: pool.log.save_candidates(),
            collection: moving
                .map(|it| (it.victim.0, it.source, it.next_page, [it.retires, it.has_failed])),
            level_due: pool.wear.level_due
                || (pool.wear.gauge.is_some()
                    && erasing.is_some_and(|(_, _, source)| source == Source::Gc)),
            retire_due: pool.wear.retire_due,
            scheme: pool.scheme.as_ref().map(|scheme| scheme.snapshot()),
            slc: pool.log.slc.as_ref().map(|cache| {
                let erasing = erasing.filter(|_| to_cache).map(|(victim, ..)| victim);
                CacheSnapshot {
                    members: cache.members.clone(),
                    erased: cache.erased.iter().copied().chain(erasing).collect(),
                    cached: cache.cached.iter().copied().collect(),
                    owed: cache.draining.is_on.then_some(cache.draining.owed),
                }
            }),
        }
    }
}

impl Ftl {
    /// Takes the state down: what a snapshot holds, and the rest.
    pub fn save(&self) -> (FtlSnapshot, Volatile) {
        (self.snapshot(), self.volatile())
    }

    fn snapshot(&self) -> FtlSnapshot {
        let states = self.pools.iter().flat_map(|pool| pool.log.states());
        let number = |&state: &BlockState| match state {
            BlockState::Erasing => BlockState::Erased as u8,
            other => other as u8,
        };
        FtlSnapshot {
            host_clock: self.books.now,
            turn: match self.route {
                Route::Dynamic(place) => place.save(self.geometry.die_count),
                _ => 0,
            },
            live: self.books.map.save_live(),
            states: states.map(number).collect(),
            pools: self.pools.iter().map(PoolSnapshot::of).collect(),
            zones: self.zones().map_or(ZonesSnapshot::None, Zones::save),
            translation: self.books.translation.as_ref().map(|it| it.snapshot()),
        }
    }

    fn volatile(&self) -> Volatile {
        let parts = |pool: &Pool| pool.log.parts.iter().map(|part| part.save()).collect();
        let times = |pool: &Pool| pool.log.refresh.as_ref().map(|queue| queue.save());
        Volatile {
            begun_in_vain: self.pools.iter().map(|pool| pool.moves.begun_in_vain).collect(),
            partial_pages: self.pools.iter().map(parts).collect(),
            refresh: self.pools.iter().map(|pool| times(pool).unwrap_or_default()).collect(),
        }
    }

    fn restore_volatile(&mut self, saved: &Volatile) -> Result<(), String> {
        for (pool, &count) in self.pools.iter_mut().zip(&saved.begun_in_vain) {
            pool.moves.begun_in_vain = count;
        }
        for (pool, pages) in self.pools.iter_mut().zip(&saved.partial_pages) {
            let parts = pool.log.parts.iter_mut().zip(pages);
            parts.for_each(|(part, &saved)| *part = PartialPage::restore(saved));
        }
        let fits = |(pool, times): (&mut Pool, &Vec<u64>)| match &mut pool.log.refresh {
            Some(queue) => queue.restore(times),
            None => times.is_empty(),
        };
        if self.pools.iter_mut().zip(&saved.refresh).all(fits) {
            Ok(())
        } else {
            Err("the list of pages to refresh belongs to another drive".into())
        }
    }

    /// The firmware of a drive on used media.
    ///
    /// # Errors
    /// What in the state contradicts the media or the configuration.
    pub fn restore(
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        (snapshot, volatile): (&FtlSnapshot, &Volatile),
    ) -> Result<Self, String> {
        let mut ftl = Self::new(config, setup, media);
        if snapshot.states.len() != ftl.geometry.block_count() as usize
            || snapshot.pools.len() != ftl.pools.len()
            || !ftl.books.map.restore_live(&snapshot.live)
        {
            return Err("the FTL tables belong to another geometry".into());
        }
        ftl.books.now = snapshot.host_clock;
        for (die, pool) in snapshot.pools.iter().enumerate() {
            if let Some(cache) = &pool.slc {
                let (place, members) = (DieId(die as u32), Some(&cache.members[..]));
                ftl.pools[die] = Pool::new(place, config, setup, media, members);
            }
        }
        ftl.restore_blocks(&snapshot.states, media)?;
        ftl.restore_holes(media);
        for (pool, stored) in ftl.pools.iter_mut().zip(&snapshot.pools) {
            restore_pool(pool, stored, media)?;
        }
        ftl.restore_translation(snapshot, media)?;
        if let Route::Dynamic(place) = &mut ftl.route {
            place.restore(snapshot.turn, ftl.geometry.die_count);
        }
        let zones_fit = match &mut ftl.zones {
            Some(placed) => placed.zones.restore(&snapshot.zones),
            None => matches!(snapshot.zones, ZonesSnapshot::None),
        };
        if !zones_fit {
            return Err("the zones are those of another drive".into());
        }
        ftl.rebuild_map(media)?;
        ftl.audit(media)?;
        ftl.restore_volatile(volatile)?;
        Ok(ftl)
    }

    fn restore_blocks(&mut self, states: &[u8], media: &Media) -> Result<(), String> {
        for (block, &number) in states.iter().enumerate() {
            let state = match number {
                0 => BlockState::Erased,
                1 => BlockState::Open,
                2 => BlockState::Closed,
                3 => BlockState::Bad,
                4 => BlockState::Victim,
                6 => BlockState::Cached,
                7 => BlockState::Failed,
                8 => BlockState::Map,
                _ => return Err(format!("block {block} has the unknown state {number}")),
            };
            if (state == BlockState::Bad) != media.is_bad(BlockId(block as u32)) {
                return Err(format!("block {block} is bad in one table and good in another"));
            }
            let block = BlockId(block as u32);
            let die = self.pool_number(block).0 as usize;
            self.pools[die].log.set_state(block, state);
        }
        Ok(())
    }

    /// The map in the flash, and the blocks that are set apart for it.
    fn restore_translation(&mut self, snapshot: &FtlSnapshot, media: &Media) -> Result<(), String> {
        let pages = self.books.map.logical_pages();
        let (pools, books) = (&mut self.pools, &mut self.books);
        let is_sound = match (&mut books.translation, &snapshot.translation) {
            (None, None) => true,
            (Some(translation), Some(stored)) => translation.restore(stored, pages),
            _ => false,
        };
        if !is_sound {
            return Err("the map in the flash is that of another drive".into());
        }
        for (die, pool) in pools.iter_mut().enumerate() {
            let is_map = |&block: &u32| pool.log.state(BlockId(block)) == BlockState::Map;
            let set_apart: Vec<u32> = pool.log.blocks().filter(is_map).collect();
            let blocks = books.translation.as_ref().map(|it| it.blocks_of(die).to_vec());
            pool.map_blocks = blocks.unwrap_or_default();
            if !pool.map_blocks.is_empty() {
                pool.gauge_anew(media);
            }
            let mut listed = pool.map_blocks.clone();
            listed.sort_unstable();
            if listed != set_apart {
                return Err(format!(
                    "die {die}: blocks {listed:?} hold map pages, {set_apart:?} are set apart"
                ));
            }
        }
        Ok(())
    }

    /// Counts the holes of superblocks that hold data, which have no live bits.
    fn restore_holes(&mut self, media: &Media) {
        let Self { pools, books, .. } = self;
        for log in pools.iter_mut().map(|pool| &mut pool.log).filter(|log| log.is_uneven) {
            for block in log.blocks().map(BlockId) {
                let state = log.state(block);
                let is_used =
                    matches!(state, BlockState::Open | BlockState::Closed | BlockState::Victim);
                if is_used && media.mode(block) == CellMode::Native {
                    log.note_holes(block, media);
                    books.map.add_live(block, log.hole_pages(block));
                }
            }
        }
    }

    /// L2P from the media's out-of-band areas and the live bits.
    fn rebuild_map(&mut self, media: &Media) -> Result<(), String> {
        for block in (0..self.geometry.block_count()).map(BlockId) {
            let first = self.geometry.first_page(block).0;
            let (pages, _) = self.books.map.live_pages(block, self.block(block).written_pages());
            for &page in &pages {
                let lpn = media.oob_of_block(block)[page as usize];
                if lpn >= self.books.map.logical_pages() {
                    return Err(format!(
                        "page {} holds the logical page {lpn} of another drive",
                        first + page
                    ));
                }
                self.books.map.bind(Lpn(lpn), Ppn(first + page));
            }
            let die = self.pool_number(block).0 as usize;
            if let Some(share) = &mut self.pools[die].share {
                share.live_pages += pages.len() as u32;
            }
        }
        Ok(())
    }

    /// New firmware for media without data, which leaves the blocks that are cache for good as
    /// they are.
    #[must_use]
    pub fn successor(&self, config: &FtlConfig, setup: &PoolSetup, media: &Media) -> Self {
        let mut ftl = Self::new(config, setup, media);
        for (die, pool) in (0..).map(DieId).zip(&self.pools) {
            if let Some(cache) = &pool.log.slc {
                let members = Some(&cache.members[..]);
                ftl.pools[die.0 as usize] = Pool::new(die, config, setup, media, members);
            }
        }
        ftl
    }

    /// Erases good blocks, and forgets all that was written; returns how many blocks were erased.
    /// These erases are not counted among those of any source, and none of them fails.
    ///
    /// `config` and `setup` are those that the firmware was made with.
    pub fn purge(
        &mut self,
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &mut Media,
        scope: PurgeScope,
    ) -> u64 {
        let mut erased = 0;
        for block in (0..self.geometry.block_count()).map(BlockId) {
            if media.is_bad(block) {
                continue;
            }
            let pool = self.pool_of(block);
            if pool.log.state(block) == BlockState::Failed {
                let failed = pool.wear.members_to_retire(&pool.log, media, block, true);
                if pool.wear.is_last_use(&pool.log, media, block) {
                    media.retire(block, &failed);
                    continue;
                }
                for member in failed {
                    media.replace_member(block, member);
                }
            }
            if scope == PurgeScope::All || self.block(block).written_pages() > 0 {
                media.erase(block);
                erased += 1;
            }
            media.set_mode(block, CellMode::Native);
        }
        self.books.map.reset();
        for (die, pool) in self.pools.iter_mut().enumerate() {
            let members = pool.log.slc.as_ref().map(|cache| cache.members.clone());
            *pool = Pool::new(DieId(die as u32), config, setup, media, members.as_deref());
        }
        self.books.now = 0;
        self.zones = PlacedZones::of_drive(config, setup);
        self.books.translation = Self::translation(config, setup, &self.pools);
        self.route = Route::new(config, setup);
        erased
    }
}

fn restore_pool(pool: &mut Pool, snapshot: &PoolSnapshot, media: &Media) -> Result<(), String> {
    let log = &mut pool.log;
    let (geometry, blocks) = (log.geometry, log.blocks());
    let pages = geometry.pages_per_block;
    let is_in = |log: &Log, block: u32, state: BlockState| {
        blocks.contains(&block) && log.state(BlockId(block)) == state
    };
    while log.erased.pop().is_some() {}
    for &block in &snapshot.erased {
        if !is_in(log, block, BlockState::Erased) {
            return Err(format!("block {block} is listed as erased and is not"));
        }
        log.erased.push(block, media.erase_count(BlockId(block)));
    }
    let of_blocks = &snapshot.handles;
    let handles_fit = match &mut log.placement.handles {
        Some(handles) => handles.restore(of_blocks),
        None => of_blocks.is_empty(),
    };
    if !handles_fit || snapshot.frontiers.len() != log.frontiers.len() {
        return Err(format!("die {} has the open blocks of other placement handles", log.die.0));
    }
    let mut open = 0;
    for (stream, &(next, limit)) in snapshot.frontiers.iter().enumerate() {
        let frontier = Frontier { next, limit };
        log.frontiers[stream] = frontier;
        if frontier.exists() {
            let block = limit.wrapping_sub(1) >> geometry.page_bits;
            let first = block << geometry.page_bits;
            let fits = is_in(log, block, BlockState::Open)
                && (limit == first + pages
                    || ((log.is_shaped || log.failures.is_some()) && limit < first + pages))
                && (first..=limit).contains(&next);
            if !fits {
                return Err(format!("an open block ends at page {limit} and continues at {next}"));
            }
            open += 1;
        }
    }
    restore_cache(log, snapshot, media)?;
    match (&mut pool.scheme, &snapshot.scheme) {
        (None, None) => {}
        (Some(scheme), Some(stored)) => scheme.restore(stored, log, media)?,
        _ => return Err(format!("die {} is of another mapping", log.die.0)),
    }
    let in_cache = log.slc.as_ref().map_or(0, |cache| cache.erased.len());
    let erased = snapshot.erased.len() + in_cache;
    let counted = |wanted| log.states().iter().filter(|&&state| state == wanted).count();
    let (table_erased, table_open) = (counted(BlockState::Erased), counted(BlockState::Open));
    if erased != table_erased || open != table_open {
        return Err(format!(
            "die {} lists {erased} erased and {open} open blocks, its table {table_erased} and \
             {table_open}",
            log.die.0
        ));
    }
    if let Some((victim, source, next_page, [retires, has_failed])) = snapshot.collection {
        if !is_in(log, victim, BlockState::Victim) {
            return Err(format!("block {victim} is under collection and is not a victim"));
        }
        log.gives_nothing = retires;
        pool.moves.collection = Some(Collection {
            victim: BlockId(victim),
            source,
            next_page,
            retires,
            has_failed,
            is_whole: false,
            erase_count: None,
        });
    }
    let failed = log.blocks().filter(|&block| log.state(BlockId(block)) == BlockState::Failed);
    log.failed = failed.collect();
    // An image knows no times.
    for block in log.blocks().map(BlockId) {
        if matches!(log.state(block), BlockState::Closed | BlockState::Cached) {
            log.note_closed(block, None);
        }
    }
    // An image knows no programs of parts either.
    log.take_parts_as_programmed(media);
    pool.wear.level_due = snapshot.level_due;
    pool.wear.retire_due = snapshot.retire_due;
    if !log.restore_candidates(&snapshot.candidates) {
        return Err(format!("die {} has a candidate list of another policy", log.die.0));
    }
    Ok(())
}

/// The cache of a pool: the blocks that the snapshot lists, each in the state that it must have.
fn restore_cache(log: &mut Log, snapshot: &PoolSnapshot, media: &Media) -> Result<(), String> {
    let lists = match (&log.slc, &snapshot.slc) {
        (None, None) => return Ok(()),
        (Some(_), Some(lists)) => lists,
        _ => return Err("a cache of single-bit blocks is in one table and not in another".into()),
    };
    for (list, state) in [(&lists.erased, BlockState::Erased), (&lists.cached, BlockState::Cached)]
    {
        for &block in list {
            if !log.blocks().contains(&block) || log.state(BlockId(block)) != state {
                return Err(format!(
                    "block {block} is listed as {state:?} in the cache, and is not"
                ));
            }
        }
    }
    let is_guest = |cache: &SlcCache, block: BlockId| {
        let holds =
            |state| matches!(state, BlockState::Open | BlockState::Cached | BlockState::Victim);
        media.mode(block) == CellMode::Slc && holds(log.state(block)) && !cache.has_member(block)
    };
    let guests = log.slc.as_ref().map_or(0, |cache| {
        log.blocks().map(BlockId).filter(|&block| is_guest(cache, block)).count()
    });
    if let Some(cache) = &mut log.slc {
        cache.erased = lists.erased.iter().copied().collect();
        cache.cached = lists.cached.iter().copied().collect();
        cache.guest_count = guests as u32;
        cache.draining.is_on = lists.owed.is_some();
        cache.draining.owed = lists.owed.unwrap_or(0.0);
    }
    Ok(())
}
