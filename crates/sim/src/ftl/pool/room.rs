//! How a pool makes room for the host: opening a block, or seeing to it that one is won.
//!
//! ```text
//! open block full ─► cache, while it takes writes ─► spare block ─► collection, fold ─► none left
//! ```
//! For sinks that schedule collections a write waits while one runs; for all others they
//! are carried out here, at once.

use super::placement::{HOST_FRONTIER, MOVED_FRONTIER};
use super::pool::Pool;
use super::slc::SlcCache;
use crate::ftl::books::Books;
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::nand::Media;
use crate::op::Source;
use crate::units::BlockId;

impl Pool {
    /// Whether a block more than the reserve is erased.
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
        open + moved + self.spare_blocks() * self.log.block_pages()
    }

    /// Pages that the open block of the host takes; with handles, the one with the least room of
    /// those that were written to.
    fn open_host_pages(&self) -> u32 {
        let host = &self.log.frontiers[..=self.log.placement.last_host_stream()];
        host.iter().filter(|it| it.exists()).map(|it| it.free_pages()).min().unwrap_or(0)
    }

    /// Pages free in open and erased blocks, less those of the reserve and of blocks that are
    /// held.
    pub(crate) fn pages_beyond_reserve(&self) -> i64 {
        let held = self.reserve + self.held_blocks();
        let blocks = i64::from(self.log.erased.len()) - i64::from(held);
        i64::from(self.log.open_pages()) + blocks * i64::from(self.log.block_pages())
    }

    /// Whether the host may continue in the open block of moved pages: the reserve is whole, so
    /// that the collection finds another.
    fn lends(&self) -> bool {
        !self.log.placement.splits(Source::Host)
            && !self.log.frontiers[MOVED_FRONTIER].is_full()
            && self.log.erased.len() >= self.reserve + self.held_blocks()
    }

    /// Erased blocks beyond the reserve that the host may not take: a worn block is, or waits, to
    /// be retired, or a block that is cache for good is folded.
    pub(super) fn held_blocks(&self) -> u32 {
        let gives_nothing = self.moves.collection.is_some_and(|collection| {
            collection.retires
                || (collection.source == Source::Fold && self.log.is_member(collection.victim))
        });
        u32::from(self.wear.retire_due || gives_nothing)
    }

    /// Whether a page of the host would have to wait, with collections in steps.
    pub(crate) fn would_stall(&self) -> bool {
        self.open_host_pages() == 0 && self.spare_blocks() == 0 && !self.lends()
    }

    /// As [`Pool::make_room`], for a page that counts as written by its handle.
    #[inline(never)]
    pub(super) fn make_room_counted<S: FlashSink>(
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
    pub(super) fn make_room<S: FlashSink>(
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
        if self.moves.collection.is_some() {
            self.finish_at_once(books, sink);
        }
        if is_cached {
            self.make_cached_room(books, sink)
        } else {
            self.make_spare(books, sink, Some(stream))
        }
    }

    /// Opens a block for the host if one may be taken, and otherwise sees to it that a collection
    /// that makes room runs; for sinks that schedule collections.
    fn open_or_wait<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        stream: usize,
        is_cached: bool,
    ) -> Result<(), NoRoom> {
        if is_cached && self.open_cache_block(books, sink) {
            self.moves.begun_in_vain = 0;
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
            self.moves.begun_in_vain = 0;
            self.log.open(books, sink, stream, Source::Host);
            if is_cached {
                self.note_past_cache();
            }
            Ok(())
        } else if !waits_for_fold && stream == HOST_FRONTIER && self.lends() {
            // A victim gives back a part of a block, and the host need not wait for a whole one.
            self.moves.begun_in_vain = 0;
            self.log.frontiers.swap(HOST_FRONTIER, MOVED_FRONTIER);
            self.log.parts.swap(HOST_FRONTIER, MOVED_FRONTIER);
            Ok(())
        } else if self.moves.collection.is_some() {
            Err(NoRoom::Stalled(self.log.die))
        } else {
            Err(NoRoom::WornOut)
        }
    }

    /// Whether the host has to wait until a block of the cache is folded. Begins to erase one that
    /// is empty: that costs an erase, and the write need not wait for it.
    fn waits_for_fold(&mut self, books: &Books, media: &Media) -> bool {
        let Some(cache) = &self.log.slc else { return false };
        let (has_guests, folds) = (cache.guest_count > 0, cache.folds_when_full);
        // While a collection runs, no other begins: stalled writes ask again and again.
        if self.moves.collection.is_none() && self.next_is_empty(books) {
            self.begin_fold(books, media);
        }
        let is_folding = self.moves.collection.is_some_and(|it| it.source == Source::Fold);
        let has_cached =
            is_folding || self.log.slc.as_ref().is_some_and(|cache| !cache.cached.is_empty());
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
        self.wear.retire_due = false;
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

    /// See [`crate::ftl::Pending::Room`].
    pub(crate) fn catch_up<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        let free = self.log.frontiers[HOST_FRONTIER].free_pages();
        if let Some(cache) = &mut self.log.slc {
            cache.forgive_fold(free);
        }
        if self.moves.collection.is_some() {
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
        let needed = self.good_blocks_needed();
        while let Some(failed) =
            self.wear.failed_to_retire(&mut self.log, sink.media(), needed + worn.len() as u32)
        {
            worn.push(failed);
        }
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
                let failed = self.wear.failed_to_erase(&mut self.log, sink.media());
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
                if self.wear.is_last_use(&self.log, sink.media(), BlockId(victim)) {
                    worn.push(victim);
                    if self.wear.good_blocks < self.good_blocks_needed() + worn.len() as u32 {
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

    /// Pages that the host may write, and nothing happens to the blocks but that these take them.
    pub(crate) fn pages_in_open_block(&self) -> u32 {
        let is_alone = self.scheme.is_none() && !self.log.placement.splits(Source::Host);
        let is_steady = is_alone && !self.log.slc.as_ref().is_some_and(SlcCache::folds_beside);
        if is_steady {
            self.log.frontiers[HOST_FRONTIER].free_pages()
        } else {
            0
        }
    }

    /// The host writes past its cache, in a block that was just opened for it.
    fn note_past_cache(&mut self) {
        let pages = self.log.block_pages();
        if let Some(cache) = &mut self.log.slc {
            cache.note_past(pages);
        }
    }

    /// The host pauses: a cache of which all is folded takes writes again.
    pub(crate) fn end_draining(&mut self) {
        if let Some(cache) = &mut self.log.slc {
            cache.end_draining();
        }
    }

    /// Pages that are to be folded by now.
    fn owed(&self) -> f64 {
        let free = self.log.frontiers[HOST_FRONTIER].free_pages();
        self.log.slc.as_ref().map_or(0.0, |cache| cache.owed(free))
    }

    /// Whether folding is behind what the host has written past the cache.
    pub(crate) fn owes_fold(&self) -> bool {
        self.owed() > 0.0
    }

    /// Folds the pages that are owed at once, in whole blocks.
    fn fold_what_is_owed<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        loop {
            let cache = self.log.slc.as_ref().filter(|cache| cache.draining.is_on);
            let next = cache.and_then(|cache| cache.next_to_fold(&books.map, true));
            let Some((_, next)) = next else { return };
            let is_due = self.owed() >= f64::from(self.log.live_pages(books, next));
            if !is_due {
                return;
            }
            // The static part of the cache gives no block back, and needs a spare one.
            let folds = self.fold_at_once(books, sink)
                || self.make_spare(books, sink, None).is_ok() && self.fold_at_once(books, sink);
            if !folds {
                return;
            }
        }
    }
}
