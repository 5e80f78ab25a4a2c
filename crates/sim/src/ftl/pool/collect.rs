//! How a pool collects: choosing a victim, moving its pages out in steps, and erasing it.
//!
//! ```text
//! begin_collection ──► step, a few pages each ──► Emptied: its erase was emitted
//!  (a victim is chosen)  (Moved; Stuck: no erased block)   │  … the erase has ended
//!                                                          ▼
//!                                   finish: the block joins the erased ones
//! ```
//! There is one form of collection. A sink that schedules collections takes the steps itself; for
//! all others they are taken at once, without a limit. Folding a block of the cache, refreshing one
//! and leveling wear are collections of a block that was chosen otherwise. A pool has one
//! collection at a time. Its victim is not a candidate any more, but between steps its pages still
//! die by overwrites, and those are not moved. A copy is placed before the old one is given up, so
//! that a power cut between the two loses nothing.

use super::block_state::BlockState;
use super::collection::{Collection, StepOutcome};
use super::copyback::place_inside;
use super::placement::HOST_FRONTIER;
use super::pool::Pool;
use super::refresh_queue::Due;
use super::wear::WearGauge;
use crate::ftl::books::Books;
use crate::ftl::sink::FlashSink;
use crate::nand::{CellMode, Media};
use crate::op::{Source, RUN_MAX};
use crate::units::{BlockId, Lpn, Ns};

/// How a collection is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ftl) enum Beginning {
    /// At once: all pages are read before the first is placed.
    Whole,
    /// In steps.
    InSteps,
}

impl Pool {
    /// Collections after which a pool has no room: to win a block takes as many as its write
    /// amplification, which is at most one over the share of its blocks that are spare, so less
    /// than there are blocks; policies that look at few of them may pick full ones for a while.
    pub(super) fn collections_max(&self) -> u32 {
        256 + 8 * self.log.states().len() as u32
    }

    /// Whether a collection, of this victim or of another block, frees any page.
    pub(super) fn wins(&self, books: &Books, victim: BlockId) -> bool {
        let pages = self.log.block_pages();
        let is_full = |block: BlockId| books.map.live_count(block) >= pages;
        let is_closed = |&block: &BlockId| self.log.state(block) == BlockState::Closed;
        !is_full(victim)
            || self.log.blocks().map(BlockId).filter(is_closed).any(|block| !is_full(block))
    }

    /// Whether the live pages of a victim are sure to find room; if not, it is a candidate again.
    /// Only a pool at its end of life lacks it.
    pub(super) fn has_room_for(&mut self, books: &Books, media: &Media, victim: u32) -> bool {
        let has_room = self.finds_room(books, media, BlockId(victim));
        if !has_room {
            self.log.put_back(books, victim);
        }
        has_room
    }

    /// The same of any block.
    pub(in crate::ftl) fn finds_room(&self, books: &Books, media: &Media, victim: BlockId) -> bool {
        if self.log.is_uneven {
            let live = u64::from(self.log.live_pages(books, victim));
            let stream = self.log.moved_stream(Lpn(0), Source::Gc, victim);
            return self.log.erased.pages() + self.log.pages_left(media, stream) >= live;
        }
        let (live, erased) = (books.map.live_count(victim), self.log.erased.len());
        if !self.log.placement.splits(Source::Gc) {
            // One that was cut from power may have closed the blocks of its reserve half written.
            let stream = self.log.moved_stream(Lpn(0), Source::Gc, victim);
            return erased > 0 || self.log.frontiers[stream].free_pages() >= live;
        }
        let free_pages: u32 = self.log.frontiers[..2].iter().map(|it| it.free_pages()).sum();
        let opens_two = live >= free_pages + 2;
        erased > u32::from(opens_two)
    }

    /// Live pages that the running collection has still to move; 0 without one.
    pub(crate) fn pages_to_collect(&self, books: &Books) -> u32 {
        self.moves.collection.map_or(0, |it| self.log.live_pages(books, it.victim))
    }

    pub(in crate::ftl) fn start(
        &mut self,
        victim: BlockId,
        source: Source,
        retires: bool,
        how: Beginning,
    ) {
        let has_failed = self.log.state(victim) == BlockState::Failed;
        self.log.set_state(victim, BlockState::Victim);
        self.log.gives_nothing = retires;
        self.moves.collection = Some(Collection {
            victim,
            source,
            next_page: 0,
            retires,
            has_failed,
            is_whole: how == Beginning::Whole,
            erase_count: None,
        });
    }

    /// Chooses a victim; false when one is under collection already, or no block is worth it.
    pub(crate) fn begin_collection(&mut self, books: &Books, media: &Media) -> bool {
        if self.moves.collection.is_some() {
            return false;
        }
        self.log.choices = 0;
        let lagging = if std::mem::take(&mut self.wear.level_due) {
            self.lagging(books, media)
        } else {
            None
        };
        if let Some(block) = lagging {
            self.moves.begun_in_vain += 1;
            self.start(block, Source::Wear, false, Beginning::InSteps);
            return true;
        }
        let mut set_aside = Vec::new();
        let found = self.find_victim(books, media, &mut set_aside);
        for block in set_aside {
            self.log.offer(books, block);
        }
        if let Some((victim, retires)) = found {
            self.moves.begun_in_vain += 1;
            self.start(BlockId(victim), Source::Gc, retires, Beginning::InSteps);
        }
        found.is_some()
    }

    /// A victim, and whether it will be retired; `set_aside` takes candidates that are not due.
    fn find_victim(
        &mut self,
        books: &Books,
        media: &Media,
        set_aside: &mut Vec<u32>,
    ) -> Option<(u32, bool)> {
        if self.moves.begun_in_vain > self.collections_max() {
            return None;
        }
        if let Some(failed) = self.wear.failed_to_erase(&mut self.log, media) {
            return Some((failed, false));
        }
        let needed = self.good_blocks_needed();
        if let Some(failed) = self.wear.failed_to_retire(&mut self.log, media, needed) {
            let is_free = self.has_spare() || books.map.live_count(BlockId(failed)) == 0;
            self.wear.retire_due = !is_free;
            if is_free {
                return Some((failed, true));
            }
            self.log.failed.push(failed);
        }
        loop {
            let victim = self.log.choose(books, media)?;
            let has_spare = self.has_spare();
            if !self.wear.is_last_use(&self.log, media, BlockId(victim)) {
                let data_pages = self.log.layout.data_pages(self.log.die, CellMode::Native);
                let is_full = books.map.live_count(BlockId(victim)) == data_pages;
                if is_full && has_spare {
                    // Nothing to win, and no need to.
                    set_aside.push(victim);
                    return None;
                }
                return Some((victim, false));
            }
            let is_dispensable =
                self.wear.good_blocks > self.wear.good_blocks_min + set_aside.len() as u32;
            self.wear.retire_due = is_dispensable && !has_spare;
            if is_dispensable && has_spare {
                return Some((victim, true));
            }
            set_aside.push(victim);
            if !is_dispensable {
                return None;
            }
        }
    }

    /// Moves up to `page_limit` live pages of the victim, and emits its erase when none is left.
    pub(crate) fn step<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        page_limit: u32,
    ) -> StepOutcome {
        let Some(collection) = self.moves.collection else { return StepOutcome::Stuck };
        if collection.erase_count.is_some() {
            return StepOutcome::Stuck;
        }
        let choices = std::mem::take(&mut self.log.choices);
        if choices > 0 {
            sink.chose(self.log.die, || choices * self.log.looked_at());
        }
        let victim = collection.victim;
        let mut moved = 0;
        while moved < page_limit && self.log.live_pages(books, victim) > 0 {
            moved += self.move_pages(books, sink, page_limit - moved);
        }
        if self.log.live_pages(books, victim) > 0 {
            return StepOutcome::Moved(moved);
        }
        if collection.source == Source::Refresh {
            // Blocks that it filled age from this time, not from when the next is needed.
            let streams = 0..self.log.placement.wear_stream();
            streams.for_each(|stream| self.log.close_full(books, sink, stream));
        }
        self.log.forget_holes(&mut books.map, victim);
        if let Some(translation) = &mut books.translation {
            translation.update_moved(&mut books.counters, sink, self.log.die);
        }
        if collection.retires {
            self.moves.collection = None;
            self.wear.note_retired(books, sink, collection);
            self.take_out_of_use(books, sink, collection);
            return StepOutcome::Retired(victim);
        }
        self.log.replace_failed(books, sink, collection);
        if self.log.may_be_cut {
            self.log.complete_copies(books, sink, victim);
        }
        let erase_count = sink.erase(victim, collection.source);
        books.counters.erases[collection.source as usize] += 1;
        if let Some(handles) = &mut self.log.placement.handles {
            handles.note_erased(victim);
        }
        if collection.source == Source::Gc {
            self.moves.reclaimed.all += 1;
            self.moves.reclaimed.live += u64::from(moved > 0 || collection.next_page > 0);
        }
        let is_outside = collection.source == Source::Fold && self.log.is_member(victim);
        if let Some(gauge) = self.wear.gauge.as_mut().filter(|_| !is_outside) {
            gauge.erased(erase_count);
        }
        self.log.set_state(victim, BlockState::Erasing);
        self.moves.collection = Some(Collection { erase_count: Some(erase_count), ..collection });
        StepOutcome::Emptied(victim)
    }

    /// Moves up to `limit` live pages of the victim: all of them, or what the open block takes.
    fn move_pages<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S, limit: u32) -> u32 {
        let collection = self.moves.collection.as_mut().expect("the caller has found it");
        let Collection { victim, source, is_whole, .. } = *collection;
        let mut batch = limit.min(RUN_MAX);
        if !is_whole {
            let stream = self.log.moved_stream(Lpn(0), source, victim);
            self.log.make_ready(books, sink, stream, source);
            batch = batch.min(self.log.frontiers[stream].free_pages());
        }
        let is_first = collection.next_page == 0;
        let oob = sink.media().oob_of_block(victim);
        let mut moving = std::mem::take(&mut self.moves.moving);
        collection.next_page =
            books.map.take_live(victim, collection.next_page, batch, oob, &mut moving);
        let moved = moving.len();
        books.count_moves(source, u64::from(moved));
        if let Some(handles) = &mut self.log.placement.handles {
            handles.note_moved(victim, moved.into(), is_first);
        }
        if let Some(cache) = self.log.slc.as_mut().filter(|_| source == Source::Fold) {
            cache.draining.note_folded(moved);
        }
        // Refreshed data is to be corrected on its way.
        if let Some(limit) = self.copyback_limit.filter(|_| source != Source::Refresh) {
            place_inside(&mut self.log, books, sink, (victim, &moving), (source, limit));
        } else {
            // Planes that are read together are one operation, and page types have different error
            // rates: then the places of the pages matter.
            if is_whole && self.log.geometry.units_per_row() == 1 && !sink.tells_pages() {
                sink.read_live(victim, moved, source);
            } else {
                sink.read_pages(victim, moving.page_indices(), source);
            }
            self.log.place(books, sink, victim, &moving, source);
        }
        if let Some(translation) = &mut books.translation {
            translation.note_moved(self.log.die, moving.lpns());
        }
        self.moves.moving = moving;
        moved
    }

    /// A block without live pages is not used any more.
    fn take_out_of_use<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        collection: Collection,
    ) {
        let worn = collection.victim;
        match &mut self.log.slc {
            // It was cache permanently: the native blocks lose nothing.
            Some(cache) if cache.has_member(worn) => {
                cache.members.retain(|&member| member != worn.0);
            }
            _ => {
                self.wear.retired(sink.media().erase_count(worn));
            }
        }
        self.log.set_state(worn, BlockState::Bad);
        books.counters.retired_blocks += 1;
        let failed =
            self.wear.members_to_retire(&self.log, sink.media(), worn, collection.has_failed);
        sink.retire(worn, &failed);
    }

    /// The erase of the victim has ended: it joins the erased blocks. `None` when no erase is
    /// running.
    pub(crate) fn finish(&mut self) -> Option<Collection> {
        let collection = self.moves.finish()?;
        let (victim, source) = (collection.victim, collection.source);
        self.log.set_state(victim, BlockState::Erased);
        match &mut self.log.slc {
            Some(cache) if source == Source::Fold && cache.has_member(victim) => {
                cache.erased.push_back(victim.0);
            }
            cache => {
                if let Some(cache) = cache.as_mut().filter(|_| source == Source::Fold) {
                    cache.guest_count -= 1;
                }
                self.log.erased.push(victim.0, collection.erase_count.unwrap_or(0));
            }
        }
        if !collection.is_whole && source != Source::Refresh {
            self.wear.level_due = self.wear.gauge.is_some() && source == Source::Gc;
        }
        Some(collection)
    }

    /// Collects a block from beginning to end: it is erased, or `retires`.
    pub(super) fn collect_at_once<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        victim: BlockId,
        source: Source,
        retires: bool,
    ) {
        sink.expect_block(victim);
        self.start(victim, source, retires, Beginning::Whole);
        self.step(books, sink, u32::MAX);
        self.finish();
    }

    /// Brings a collection that was begun in steps to its end.
    #[cold]
    pub(in crate::ftl) fn finish_at_once<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        self.step(books, sink, u32::MAX);
        self.finish();
        if std::mem::take(&mut self.wear.level_due) {
            self.level_wear(books, sink);
        }
    }

    /// Static wear leveling: moves the data of one closed block that lags too far behind.
    pub(super) fn level_wear<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        if let Some(block) = self.lagging(books, sink.media()) {
            self.collect_at_once(books, sink, block, Source::Wear, false);
        }
    }

    /// A closed block that lags too far behind in wear, taken out of the candidates.
    fn lagging(&mut self, books: &Books, media: &Media) -> Option<BlockId> {
        let limit = self.wear.gauge.as_mut().and_then(WearGauge::lagging_below)?;
        self.log.take_least_worn(&books.map, media, limit).map(BlockId)
    }

    /// Blocks of the cache that wait to be folded in pauses.
    pub(crate) fn blocks_to_fold(&self) -> u32 {
        let cache = self.log.slc.as_ref().filter(|cache| cache.folds_in_pauses);
        cache.map_or(0, |cache| cache.cached.len() as u32)
    }

    /// Whether the block to fold next holds nothing.
    pub(super) fn next_is_empty(&self, books: &Books) -> bool {
        let next = self.log.slc.as_ref().and_then(|cache| cache.next_to_fold(&books.map, true));
        next.is_some_and(|(_, block)| books.map.live_count(block) == 0)
    }

    /// Chooses the oldest block of the cache for folding, which then goes like a collection; false
    /// when one is running, none is cached, or its pages have nowhere to go before a native block
    /// is collected.
    pub(crate) fn begin_fold(&mut self, books: &Books, media: &Media) -> bool {
        let has_room = self.log.erased.len() > self.reserve + u32::from(self.wear.retire_due);
        self.begin_fold_with(books, media, has_room)
    }

    /// The same of guests only, which always frees room.
    pub(crate) fn begin_fold_of_guest(&mut self, books: &Books, media: &Media) -> bool {
        let has_guests = self.log.slc.as_ref().is_some_and(|cache| cache.guest_count > 0);
        has_guests && self.begin_fold_with(books, media, false)
    }

    fn begin_fold_with(&mut self, books: &Books, media: &Media, has_room: bool) -> bool {
        if self.moves.collection.is_some() {
            return false;
        }
        let Some(cache) = &self.log.slc else { return false };
        let next = cache.next_to_fold(&books.map, has_room);
        next.is_some_and(|(_, victim)| self.begin_fold_of(media, victim))
    }

    /// Begins to fold a block of the cache; false if it does not wait for that.
    pub(in crate::ftl) fn begin_fold_of(&mut self, media: &Media, victim: BlockId) -> bool {
        let Some(cache) = &mut self.log.slc else { return false };
        let place = cache.cached.iter().position(|&block| block == victim.0);
        let Some(place) = place else { return false };
        cache.cached.remove(place);
        let retires = cache.has_member(victim) && media.erase_count(victim) >= cache.worn_limit;
        self.start(victim, Source::Fold, retires, Beginning::InSteps);
        true
    }

    /// Folds one block at once; false when there is none, or no room for its pages.
    pub(super) fn fold_at_once<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) -> bool {
        let begun = self.begin_fold(books, sink.media());
        if begun {
            self.finish_at_once(books, sink);
        }
        begun
    }

    /// Opens a block of the cache for the host, if one may be taken.
    pub(super) fn open_cache_block<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
    ) -> bool {
        let held = self.reserve + self.held_blocks();
        let Some(cache) = &mut self.log.slc else { return false };
        if cache.draining.is_on {
            return false;
        }
        let (block, mode) = if let Some(member) = cache.erased.pop_front() {
            (BlockId(member), CellMode::Slc)
        } else if cache.takes_guest() && self.log.erased.len() > held + cache.erased_min {
            let Some(guest) = self.log.erased.pop().map(BlockId) else { return false };
            // Its last use before it is retired: that is decided when it is a native victim.
            let is_last = self.wear.is_last_use(&self.log, sink.media(), guest);
            self.log.slc.iter_mut().for_each(|it| it.guest_count += u32::from(!is_last));
            (guest, if is_last { CellMode::Native } else { CellMode::Slc })
        } else {
            return false;
        };
        self.log.open_block(books, sink, HOST_FRONTIER, block, mode);
        true
    }

    /// Whether a block that is due will be refreshed.
    fn is_worth_it(&self, books: &Books, media: &Media, block: BlockId) -> bool {
        let is_full = self.log.state(block) == BlockState::Closed;
        let may_retire = self.wear.good_blocks > self.good_blocks_needed();
        self.log.live_pages(books, block) > 0
            && (!is_full || may_retire || !self.wear.is_last_use(&self.log, media, block))
    }

    /// The block that has been due for longest.
    pub(in crate::ftl) fn due(&mut self, books: &Books, media: &Media, now: Ns) -> Option<Due> {
        let mut queue = self.log.refresh.take()?;
        let is_open = |block| self.log.state(block) == BlockState::Open;
        let is_ready = |block| self.log.holds(block) && self.is_worth_it(books, media, block);
        let due = queue.oldest(media, now, is_open, is_ready);
        self.log.refresh = Some(queue);
        due
    }

    /// Takes the block that is due out of the candidates and begins to collect it; false when a
    /// collection is running, none is due, or its pages have nowhere to go.
    pub(in crate::ftl) fn begin_refresh(
        &mut self,
        books: &mut Books,
        media: &Media,
        now: Ns,
        how: Beginning,
    ) -> bool {
        if self.moves.collection.is_some() {
            return false;
        }
        let Some(Due { block, is_by_rate, .. }) = self.due(books, media, now) else {
            return false;
        };
        if self.log.state(block) == BlockState::Cached {
            let has_room = self.log.erased.len() > self.reserve + u32::from(self.wear.retire_due);
            if (self.log.is_member(block) && !has_room) || !self.begin_fold_of(media, block) {
                return false;
            }
        } else {
            let retires = self.wear.is_last_use(&self.log, media, block);
            // Superblocks of several sizes may take one block more than they give back.
            let least = self.reserve + u32::from(retires || self.log.is_uneven);
            if self.log.erased.len() < least || !self.finds_room(books, media, block) {
                return false;
            }
            self.log.take(books, block);
            self.start(block, Source::Refresh, retires, how);
        }
        let counters = &mut books.counters;
        *(if is_by_rate {
            &mut counters.refreshed_by_rate
        } else {
            &mut counters.refreshed_by_age
        }) += 1;
        true
    }

    /// Refreshes the block that is due, at once; false as [`Pool::begin_refresh`].
    pub(in crate::ftl) fn refresh_at_once<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        now: Ns,
    ) -> bool {
        if self.moves.collection.is_some() {
            self.finish_at_once(books, sink);
        }
        if self.due(books, sink.media(), now).is_none() {
            return false;
        }
        // Where a victim may fill two blocks, one more than the reserve is erased before.
        let may_take_two = self.log.placement.splits(Source::Refresh) || self.log.is_uneven;
        if may_take_two && !self.has_spare() && self.make_spare(books, sink, None).is_err() {
            return false;
        }
        let begun = self.begin_refresh(books, sink.media(), now, Beginning::Whole);
        if begun {
            self.finish_at_once(books, sink);
        }
        begun
    }
}
