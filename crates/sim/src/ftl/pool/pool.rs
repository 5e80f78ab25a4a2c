//! One die's pool: it writes, makes room, collects, folds and levels by itself.
//!
//! A logical page belongs to one pool for life (static striping), so each pool is the single log
//! that the closed forms describe, with its own spare factor. What pools share (map, counters,
//! clock) is lent to each call as [`Books`], like the sink.
//!
//! ```text
//! write ── room in the open block? ── no ──► make_room: erased blocks above the reserve? open one
//!                                                       else begin, step, … finish a collection
//! ```
//! Collection is as late as possible. A sink that schedules collections is told to wait while one
//! is under way; for all others it is carried out at once.
//!
//! Invariants: a collection starts with the reserve erased and opens at most one block, so it
//! always gets through; one that gives nothing back (a worn block is retired) starts with a block
//! more, which the host may not take ([`Pool::held_blocks`]). Where one collection can fill two
//! open blocks (`hot_cold`, with victims that static wear leveling has mixed), making room ends
//! with the whole reserve erased: then erased and open blocks hold two blocks of free pages at all
//! times, and of a victim's pages at most one kind can lack a block when one block is left.

use super::collection::{Collection, Reclaimed};
use super::log::Log;
use super::placement::{HOST_FRONTIER, MOVED_FRONTIER};
use super::wear::WearGauge;
use crate::ftl::books::Books;
use crate::ftl::config::{FtlConfig, PoolSetup, WearConfig};
use crate::ftl::map::{DeadRun, Moving};
use crate::ftl::mapping::BlockScheme;
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::nand::{CellMode, Media};
use crate::op::{Source, RUN_MAX};
use crate::striping::DieRun;
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// What a pool whose pages are not its own for life keeps account of.
pub(crate) struct Share {
    /// Live pages of the die.
    pub(crate) live_pages: u32,
    /// Blocks that hold no live pages when the die is as full as it may be.
    pub(crate) idle_blocks: u32,
}

/// Pages or commands ahead at which an untimed run asks for the L2P entry.
pub const ENTRY_AHEAD: usize = 48;
/// Pages or commands ahead at which it asks for what the entry names.
pub const PAGE_AHEAD: usize = 24;

/// See the module.
pub(crate) struct Pool {
    pub(crate) log: Log,
    /// Where pages go, if it is not the log that decides.
    pub(crate) scheme: Option<Box<BlockScheme>>,
    /// Blocks that are set apart for map pages.
    pub(crate) map_blocks: Vec<u32>,
    /// Whether they change places with other blocks.
    pub(in crate::ftl) shares_wear: bool,
    /// Erased blocks that GC keeps.
    pub(in crate::ftl) reserve: u32,
    /// Present with static wear leveling only.
    pub(crate) gauge: Option<WearGauge>,
    /// Victims of collections that were erased since the drive was made or loaded.
    pub(crate) reclaimed: Reclaimed,
    /// Good blocks beside those that are cache for good.
    pub(in crate::ftl) good_blocks: u32,
    /// Erase count at which a block is not erased again but taken out of use.
    pub(in crate::ftl) worn_limit: u32,
    /// Good blocks below which the pool cannot hold its logical pages and collect.
    pub(in crate::ftl) good_blocks_min: u32,
    /// Copies in a row that data may make inside its die.
    pub(super) copyback_limit: Option<u8>,
    /// The collection under way.
    pub(crate) collection: Option<Collection>,
    /// Collections in steps since the host opened a block last.
    pub(crate) begun_in_vain: u32,
    /// Wear leveling is to be asked before the next collection in steps.
    pub(crate) level_due: bool,
    /// A worn block waits for a spare block to move to.
    pub(crate) retire_due: bool,
    /// Present when the die of a write is chosen by load.
    pub(crate) share: Option<Share>,
    /// Pages on their way out of a victim; kept for its memory.
    pub(super) moving: Moving,
    /// Pages that one run of the host lets die; kept for its memory.
    dead: Vec<DeadRun>,
}

impl Pool {
    /// The pool of a die; see [`Log::new`].
    pub(crate) fn new(
        die: DieId,
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        cache: Option<&[u32]>,
    ) -> Self {
        let mut log = Log::new(die, config, setup, media, cache);
        let map_blocks = log.set_apart(setup.map_blocks_of(die, config));
        let erased = log.erased.list_with(None);
        let counts = erased.iter().map(|&block| media.erase_count(BlockId(block)));
        let is_shared = config.allocation.is_dynamic() && setup.geometry.die_count > 1;
        Self {
            reserve: setup.reserve_of(die),
            gauge: match &config.wear_leveling {
                WearConfig::Static(wear) => Some(WearGauge::new(wear.threshold, counts)),
                _ => None,
            },
            reclaimed: Reclaimed::default(),
            good_blocks: log.erased.count(),
            worn_limit: setup.worn_limit,
            good_blocks_min: match log.erased.sizes() {
                None => setup.good_blocks_min(die, config),
                Some(sizes) => setup.uneven_blocks_min(die, config, sizes),
            },
            copyback_limit: config.copyback.as_ref().map(|copyback| copyback.limit),
            collection: None,
            begun_in_vain: 0,
            level_due: false,
            retire_due: false,
            share: is_shared
                .then(|| Share { live_pages: 0, idle_blocks: setup.idle_blocks_of(die, config) }),
            moving: Moving::default(),
            dead: Vec::new(),
            scheme: BlockScheme::new(config, setup, &log),
            map_blocks,
            shares_wear: !matches!(config.wear_leveling, WearConfig::None(_)),
            log,
        }
    }

    /// Writes a page of the host.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a call spills what the loop keeps in registers
    pub(crate) fn write<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        let stream = self.log.placement.host_stream(lpn, books.handle);
        if self.log.frontiers[stream].is_full() {
            self.make_room_counted(books, sink, stream)?;
        }
        books.now += 1;
        let ppn = self.log.next_page(stream);
        if let Some(old) = books.map.bind(lpn, ppn) {
            let (block, live_count) = books.map.kill(old);
            self.log.note_dead(block, live_count, 1, books.now);
        }
        books.counters.programs[Source::Host as usize] += 1;
        sink.program(ppn, lpn, Source::Host);
        Ok(())
    }

    /// Writes pages of the host, for sinks without time; `clock` gives the host writes of the drive
    /// before each, by its place in the list. Returns how many were written, and why not all.
    pub(crate) fn write_list<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpns: &[u32],
        clock: impl Fn(usize) -> u64,
    ) -> (usize, Result<(), NoRoom>) {
        if self.log.placement.splits(Source::Host) {
            return self.write_each(books, sink, lpns, clock);
        }
        let mut done = 0;
        while let Some(&lpn) = lpns.get(done) {
            let stream = self.log.placement.host_stream(Lpn(lpn), books.handle);
            if self.log.frontiers[stream].is_full() {
                books.now = clock(done);
                if let Err(no_room) = self.make_room(books, sink, stream) {
                    return (done, Err(no_room));
                }
            }
            let frontier = &mut self.log.frontiers[stream];
            let first = frontier.next;
            let room = frontier.free_pages() as usize;
            let count = (lpns.len() - done).min(room);
            self.log.frontiers[stream].next += count as u32;
            let limit = done + count;
            for (place, ppn) in (done..limit).zip(first..) {
                Self::look_ahead(books, lpns, place);
                if let Some(old) = books.map.bind(Lpn(lpns[place]), Ppn(ppn)) {
                    let (block, live_count) = books.map.kill(old);
                    self.log.note_dead(block, live_count, 1, clock(place) + 1);
                }
            }
            sink.program_pages(Ppn(first), &lpns[done..limit]);
            books.counters.programs[Source::Host as usize] += count as u64;
            books.now = clock(limit - 1) + 1;
            done = limit;
        }
        (done, Ok(()))
    }

    /// As [`Pool::write_list`], where neighbours may go to different open blocks.
    fn write_each<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpns: &[u32],
        clock: impl Fn(usize) -> u64,
    ) -> (usize, Result<(), NoRoom>) {
        for (place, &lpn) in lpns.iter().enumerate() {
            Self::look_ahead(books, lpns, place);
            books.now = clock(place);
            if let Err(no_room) = self.write(books, sink, Lpn(lpn)) {
                return (place, Err(no_room));
            }
        }
        (lpns.len(), Ok(()))
    }

    /// Asks for what the writes behind a place of a list will touch.
    #[inline]
    pub(in crate::ftl) fn look_ahead(books: &Books, lpns: &[u32], place: usize) {
        if let Some(&coming) = lpns.get(place + ENTRY_AHEAD) {
            books.map.prefetch_entry(Lpn(coming));
        }
        if let Some(&coming) = lpns.get(place + PAGE_AHEAD) {
            books.map.prefetch_page(Lpn(coming));
        }
    }

    /// Places a page of the host whose old copy, if there is one, may lie in another pool; returns
    /// that copy, which is still to be killed.
    pub(crate) fn write_shared<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(Ppn, Option<Ppn>), NoRoom> {
        let stream = self.log.placement.host_stream(lpn, books.handle);
        if self.log.frontiers[stream].is_full() {
            self.make_room_counted(books, sink, stream)?;
        }
        books.now += 1;
        // Making room may have moved the old copy, inside its die.
        let ppn = self.log.next_page(stream);
        Ok((ppn, books.map.bind(lpn, ppn)))
    }

    /// Writes a run of the host, all of one stream and at memory speed: entries and out-of-band
    /// areas are filled in one loop each, and old pages that lie side by side die together. `clock`
    /// gives the host writes of the drive before each page.
    pub(crate) fn write_die_run<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        run: DieRun,
        clock: impl Fn(Lpn) -> u64,
    ) -> Result<(), NoRoom> {
        let stream = self.log.placement.host_stream(run.lpn(0), books.handle);
        let mut done = 0;
        while done < run.count {
            books.now = clock(run.lpn(done));
            if self.log.frontiers[stream].is_full() {
                self.make_room(books, sink, stream)?;
            }
            let frontier = &mut self.log.frontiers[stream];
            let target = Ppn(frontier.next);
            let room = frontier.free_pages().min(RUN_MAX);
            let part = run.part(done, (run.count - done).min(room));
            frontier.next += part.count;
            self.dead.clear();
            books.map.bind_run(part.lpn(0), part.count, target, &mut self.dead);
            for &DeadRun { first, page_count, written } in &self.dead {
                // The clock of the host write that let the last of them die.
                books.now = clock(part.lpn(written as u32 - 1)) + 1;
                let (block, live_count) = books.map.kill_run(first, page_count);
                self.log.note_dead(block, live_count, page_count, books.now);
            }
            books.counters.programs[Source::Host as usize] += u64::from(part.count);
            sink.program_die_run(target, part);
            done += part.count;
        }
        Ok(())
    }

    /// Lets a page of this pool die.
    #[inline]
    pub(crate) fn kill(&mut self, books: &mut Books, ppn: Ppn) {
        let (block, live_count) = books.map.kill(ppn);
        self.log.note_dead(block, live_count, 1, books.now);
        if let Some(share) = &mut self.share {
            share.live_pages -= 1;
        }
    }

    /// Live pages that the pool may hold, where it takes any.
    pub(crate) fn live_limit(&self) -> u32 {
        let idle = self.share.as_ref().map_or(0, |share| share.idle_blocks);
        (self.good_blocks - idle) * self.log.layout.data_pages(self.log.die, CellMode::Native)
    }

    /// Good blocks that the pool cannot do without.
    pub(in crate::ftl) fn good_blocks_needed(&self) -> u32 {
        let Some(share) = &self.share else { return self.good_blocks_min };
        let per_block = self.log.layout.data_pages(self.log.die, CellMode::Native);
        (share.live_pages.div_ceil(per_block) + share.idle_blocks).max(self.good_blocks_min)
    }

    pub(in crate::ftl) fn has_spare(&self) -> bool {
        self.log.erased.len() > self.reserve
    }

    /// Erased blocks that the host may still open.
    pub(crate) fn spare_blocks(&self) -> u32 {
        self.log.erased.len().saturating_sub(self.reserve + self.held_blocks())
    }

    /// Pages that the host may write before a write has to wait, with collections in steps.
    pub(crate) fn pages_until_stall(&self) -> u32 {
        let open = self.open_host_pages();
        let moved = if self.lends() { self.log.frontiers[MOVED_FRONTIER].free_pages() } else { 0 };
        open + moved + self.spare_blocks() * self.block_pages()
    }

    /// Pages that the open block of the host takes; with handles, the one with the least room of
    /// those that were written to.
    fn open_host_pages(&self) -> u32 {
        let host = &self.log.frontiers[..=self.log.placement.last_host_stream()];
        host.iter().filter(|it| it.exists()).map(|it| it.free_pages()).min().unwrap_or(0)
    }

    /// Pages that a block takes.
    pub(crate) fn block_pages(&self) -> u32 {
        self.log.layout.data_pages(self.log.die, CellMode::Native)
    }

    /// Pages free in open and erased blocks, less those of the reserve and of blocks that are
    /// held.
    pub(crate) fn pages_beyond_reserve(&self) -> i64 {
        let held = self.reserve + self.held_blocks();
        let blocks = i64::from(self.log.erased.len()) - i64::from(held);
        i64::from(self.log.open_pages()) + blocks * i64::from(self.block_pages())
    }

    /// Whether the host may go on in the open block of moved pages: the reserve is whole, so that
    /// the collection finds another.
    fn lends(&self) -> bool {
        !self.log.placement.splits(Source::Host)
            && !self.log.frontiers[MOVED_FRONTIER].is_full()
            && self.log.erased.len() >= self.reserve + self.held_blocks()
    }

    /// Erased blocks beyond the reserve that the host may not take: a worn block is, or waits, to
    /// be retired, or a block that is cache for good is folded.
    pub(super) fn held_blocks(&self) -> u32 {
        let gives_nothing = self.collection.is_some_and(|collection| {
            collection.retires
                || (collection.source == Source::Fold && self.is_member(collection.victim))
        });
        u32::from(self.retire_due || gives_nothing)
    }

    /// Whether a block is cache for good, so that folding it gives nothing back to the native
    /// blocks.
    pub(crate) fn is_member(&self, block: BlockId) -> bool {
        self.log.slc.as_ref().is_some_and(|cache| cache.has_member(block))
    }

    /// Whether a page of the host would have to wait, with collections in steps.
    pub(crate) fn would_stall(&self) -> bool {
        self.open_host_pages() == 0 && self.spare_blocks() == 0 && !self.lends()
    }

    /// As [`Pool::make_room`], for a page that counts as written by its handle.
    #[inline(never)]
    fn make_room_counted<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
    ) -> Result<(), NoRoom> {
        let made = self.make_room(books, sink, stream);
        made.inspect_err(|_| self.log.placement.refused(stream))
    }

    /// Makes the stream's open block able to take a page of the host.
    ///
    /// A victim at its rated endurance is not erased again: its pages move once the pool has a
    /// block to spare for that, and then it is taken out of use.
    #[inline(never)]
    fn make_room<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
    ) -> Result<(), NoRoom> {
        let is_scheduled = sink.collects_in_steps();
        if self.log.is_shaped || is_scheduled {
            self.log.close_full(books, sink, stream);
            if !self.log.frontiers[stream].is_full() {
                return Ok(());
            }
        }
        let is_cached = stream == HOST_FRONTIER && self.log.slc.is_some();
        if is_scheduled {
            return self.open_or_wait(books, sink, stream, is_cached);
        }
        if self.collection.is_some() {
            self.finish_at_once(books, sink);
        }
        if is_cached {
            self.make_cached_room(books, sink)
        } else {
            self.make_spare(books, sink, Some(stream))
        }
    }

    /// Opens a block for the host if one may be taken, and otherwise sees to it that a collection
    /// that makes room is under way; for sinks that schedule collections.
    fn open_or_wait<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
        is_cached: bool,
    ) -> Result<(), NoRoom> {
        if is_cached && self.open_cache_block(books, sink) {
            self.begun_in_vain = 0;
            return Ok(());
        }
        let media = sink.media();
        let waits_for_fold = is_cached && self.waits_for_fold(books, media);
        if waits_for_fold {
            let _ = self.begin_fold(books, media) || self.begin_collection(books, media);
        } else if self.spare_blocks() == 0 {
            self.begin_collection(books, media);
        }
        if !waits_for_fold && self.spare_blocks() > 0 {
            self.begun_in_vain = 0;
            self.log.open(books, sink, stream, Source::Host);
            if is_cached {
                self.note_past_cache();
            }
            Ok(())
        } else if !waits_for_fold && stream == HOST_FRONTIER && self.lends() {
            // A victim gives back a part of a block, and the host need not wait for a whole one.
            self.begun_in_vain = 0;
            self.log.frontiers.swap(HOST_FRONTIER, MOVED_FRONTIER);
            self.log.parts.swap(HOST_FRONTIER, MOVED_FRONTIER);
            Ok(())
        } else if self.collection.is_some() {
            Err(NoRoom::Stalled)
        } else {
            Err(NoRoom::WornOut)
        }
    }

    /// Whether the host has to wait until a block of the cache is folded. Begins to erase one that
    /// is empty: that costs an erase, and the write need not wait for it.
    fn waits_for_fold(&mut self, books: &Books, media: &Media) -> bool {
        let Some(cache) = &self.log.slc else { return false };
        let (has_guests, folds) = (cache.guest_count > 0, cache.folds_when_full);
        if self.next_is_empty(books) {
            self.begin_fold(books, media);
        }
        let is_folding = self.collection.is_some_and(|it| it.source == Source::Fold);
        let has_cached = is_folding || self.cached_blocks() > 0;
        has_cached && (folds || (has_guests && self.spare_blocks() == 0))
    }

    /// Makes room for the host in a pool with a cache, at once.
    #[cold]
    fn make_cached_room<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
    ) -> Result<(), NoRoom> {
        // Collections at once keep their own account of worn blocks.
        self.retire_due = false;
        loop {
            while self.next_is_empty(books) {
                self.fold_at_once(books, sink);
            }
            self.fold_what_is_owed(books, sink);
            // Without time, a pause may be at any time.
            self.end_draining();
            if self.open_cache_block(books, sink) {
                return Ok(());
            }
            let cache = self.log.slc.as_ref().expect("the caller has looked");
            if cache.folds_when_full && !cache.cached.is_empty() {
                if !self.fold_at_once(books, sink) {
                    self.make_spare(books, sink, None)?;
                }
            } else if cache.guest_count > 0 && !self.has_spare() {
                self.fold_at_once(books, sink);
            } else {
                self.make_spare(books, sink, Some(HOST_FRONTIER))?;
                self.note_past_cache();
                return Ok(());
            }
        }
    }

    /// See [`crate::ftl::Ftl::catch_up`].
    pub(crate) fn catch_up<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        self.forgive_fold();
        if self.collection.is_some() {
            return;
        }
        // Blocks of the cache may hold all the room there is: then collections win none.
        let has_guests =
            |pool: &Self| pool.log.slc.as_ref().is_some_and(|cache| cache.guest_count > 0);
        while !self.has_spare() && has_guests(self) && self.fold_at_once(books, sink) {}
        if !self.has_spare() && !has_guests(self) {
            // One that is worn out stays as it is.
            let _ = self.make_spare(books, sink, None);
        }
    }

    /// Makes sure, at once, that a block more than the reserve is erased, and opens it for a stream
    /// if one is given.
    pub(in crate::ftl) fn make_spare<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: Option<usize>,
    ) -> Result<(), NoRoom> {
        let mut worn = Vec::new();
        let outcome = self.make_spare_beside(books, sink, stream, &mut worn);
        // The pool could not do without these: they stay as they are.
        for block in worn {
            self.log.put_back(books, block);
        }
        outcome
    }

    /// As [`Pool::make_spare`]; `worn` holds the victims that wait to be taken out of use.
    fn make_spare_beside<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: Option<usize>,
        worn: &mut Vec<u32>,
    ) -> Result<(), NoRoom> {
        let mut tries_left = self.collections_max();
        let needed = self.good_blocks_needed();
        while let Some(failed) = self.failed_to_retire(sink.media(), needed + worn.len() as u32) {
            worn.push(failed);
        }
        loop {
            // Collected pages may have filled a shared open block to its end.
            if let Some(stream) = stream {
                self.log.close_full(books, sink, stream);
            }
            let spare = self.has_spare();
            // Collecting a block with pages of both kinds opens two blocks and gives back one.
            // So may one of a superblock with more pages than the next, or one that fails.
            let may_open_two = self.log.placement.splits(Source::Gc)
                || self.log.is_uneven
                || self.log.replaces_members();
            let is_short = may_open_two && self.log.erased.len() < self.reserve;
            let is_full = stream.is_none_or(|stream| self.log.frontiers[stream].is_full());
            if spare && !worn.is_empty() {
                let block = worn.pop().expect("it is not empty");
                self.collect_at_once(books, sink, BlockId(block), Source::Gc, true);
            } else if is_full && spare {
                let Some(stream) = stream else { return Ok(()) };
                self.log.open(books, sink, stream, Source::Host);
            } else if is_full || is_short || !worn.is_empty() {
                let failed = self.failed_to_erase(sink.media());
                let chosen =
                    || (tries_left > 0).then(|| self.log.choose(books, sink.media())).flatten();
                let victim = failed.or_else(chosen);
                let Some(victim) = victim.filter(|&it| self.has_room_for(books, sink.media(), it))
                else {
                    return if is_full { Err(NoRoom::WornOut) } else { Ok(()) };
                };
                if !self.wins(books, BlockId(victim)) && failed.is_none() {
                    self.log.put_back(books, victim);
                    return if is_full { Err(NoRoom::WornOut) } else { Ok(()) };
                }
                tries_left -= 1;
                if self.is_last_use(sink.media(), BlockId(victim)) {
                    worn.push(victim);
                    if self.good_blocks < self.good_blocks_needed() + worn.len() as u32 {
                        return if is_full { Err(NoRoom::WornOut) } else { Ok(()) };
                    }
                } else {
                    self.collect_at_once(books, sink, BlockId(victim), Source::Gc, false);
                    self.level_wear(books, sink);
                }
            } else {
                return Ok(());
            }
        }
    }
}
