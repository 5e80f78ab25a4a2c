//! Collections in steps: for sinks that decide themselves when flash is busy with what.
//!
//! ```text
//! begin_collection ──► step_collection, a few pages each ──► Emptied: its erase was emitted
//!  (a victim is chosen)   (Moved; Stuck: no erased block)         │  … the erase is over
//!                                                                 ▼
//!                                      finish_collection: the block joins the erased ones
//! ```
//! A pool has one collection at a time. Its victim is no candidate any more, but its pages still
//! die by overwrites, and those that died before their turn are not moved. Between two steps the
//! host goes on writing. A write that needs a block when only the reserve is erased is
//! [`NoRoom::Stalled`]; nothing is lost, it is tried again when a collection is finished.
//!
//! Invariant: a collection starts with the reserve erased and opens at most one block, so it always
//! gets through. One that gives nothing back (a worn block is retired) starts with a block more,
//! which the host may not take (`Pool::held_blocks`).

use super::pool::{BlockState, Pool};
use super::{FlashSink, Ftl, NoRoom};
use crate::nand::Media;
use crate::op::Source;
use crate::units::{BlockId, DieId, Ppn};

/// A victim on its way to being erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) victim: u32,
    pub(crate) source: Source,
    /// No page before this index is live.
    pub(crate) next_page: u32,
    /// Whether the block is worn and will be taken out of use instead of erased.
    pub(crate) retires: bool,
    /// Present when its erase was emitted: the erase count, this erase included.
    pub(crate) erase_count: Option<u32>,
}

/// What a step of a collection has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// So many pages were moved; more are left.
    Moved(u32),
    /// No live page is left, and the erase of the block was emitted:
    /// [`Ftl::finish_collection`] is due when it is over.
    Emptied(BlockId),
    /// No live page is left, and the worn block was taken out of use: the collection is over.
    Retired(BlockId),
    /// Nothing can be moved now: no collection is under way, or its erase is.
    Stuck,
}

impl Ftl {
    /// Erased blocks of a die, the reserve included.
    pub fn erased_blocks_of(&self, die: DieId) -> u32 {
        self.pools[die.0 as usize].erased.len()
    }

    /// Erased blocks that the host may still open in a die.
    pub fn spare_blocks_of(&self, die: DieId) -> u32 {
        let pool = &self.pools[die.0 as usize];
        pool.erased.len().saturating_sub(pool.reserve + pool.held_blocks())
    }

    /// The block that is being collected in a die, until its erase is over.
    pub fn collection_of(&self, die: DieId) -> Option<BlockId> {
        self.pools[die.0 as usize].collection.map(|collection| BlockId(collection.victim))
    }

    /// Live pages that the collection of a die has still to move; 0 without one.
    pub fn pages_to_collect(&self, die: DieId) -> u32 {
        let victim = self.collection_of(die);
        victim.map_or(0, |victim| u32::from(self.map.live_counts[victim.0 as usize]))
    }

    /// Chooses a victim in a die; false when one is under collection already, or no block is worth
    /// it.
    pub fn begin_collection(&mut self, media: &Media, die: DieId) -> bool {
        let die = die.0 as usize;
        let pool = &mut self.pools[die];
        if pool.collection.is_some() {
            return false;
        }
        if std::mem::take(&mut pool.level_due) {
            if let Some(block) = self.lagging_block(media, die) {
                self.start_collection(die, block, Source::Wear, false);
                return true;
            }
        }
        let mut set_aside = Vec::new();
        let found = self.find_victim(media, die, &mut set_aside);
        for block in set_aside {
            let pool = &mut self.pools[die];
            let live_count = self.map.live_counts[block as usize];
            pool.policy.closed(block - pool.first_block, live_count, self.host_clock);
        }
        if let Some((victim, retires)) = found {
            self.start_collection(die, victim, Source::Gc, retires);
        }
        found.is_some()
    }

    /// A victim, and whether it will be retired; `set_aside` takes candidates that are not due.
    fn find_victim(
        &mut self,
        media: &Media,
        die: usize,
        set_aside: &mut Vec<u32>,
    ) -> Option<(u32, bool)> {
        if self.pools[die].begun_in_vain > 1000 + 64 * self.pools[die].block_count {
            return None;
        }
        loop {
            let victim = self.choose(die)?;
            let pool = &mut self.pools[die];
            let has_spare = pool.erased.len() > pool.reserve;
            if media.erase_count(BlockId(victim)) < pool.worn_limit {
                let is_full = self.map.live_counts[victim as usize] == self.data_pages_of(victim);
                if is_full && has_spare {
                    // Nothing to win, and no need to.
                    set_aside.push(victim);
                    return None;
                }
                return Some((victim, false));
            }
            let is_dispensable = pool.good_blocks > pool.good_blocks_min + set_aside.len() as u32;
            pool.retire_due = is_dispensable && !has_spare;
            if is_dispensable && has_spare {
                return Some((victim, true));
            }
            set_aside.push(victim);
            if !is_dispensable {
                return None;
            }
        }
    }

    fn start_collection(&mut self, die: usize, victim: u32, source: Source, retires: bool) {
        self.states[victim as usize] = BlockState::Victim;
        let pool = &mut self.pools[die];
        pool.begun_in_vain += 1;
        pool.collection =
            Some(Collection { victim, source, next_page: 0, retires, erase_count: None });
    }

    /// Moves up to `page_limit` live pages of the victim of a die, and emits its erase when none is
    /// left.
    pub fn step_collection<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: DieId,
        page_limit: u32,
    ) -> StepOutcome {
        let die = die.0 as usize;
        let Some(collection) = self.pools[die].collection else { return StepOutcome::Stuck };
        if collection.erase_count.is_some() {
            return StepOutcome::Stuck;
        }
        let victim = BlockId(collection.victim);
        let mut moved = 0;
        while moved < page_limit && self.map.live_counts[victim.0 as usize] > 0 {
            let count = self.room_for_moves(sink, die, collection.source).min(page_limit - moved);
            moved += self.move_pages(sink, die, count);
        }
        if self.map.live_counts[victim.0 as usize] > 0 {
            return StepOutcome::Moved(moved);
        }
        if collection.retires {
            self.pools[die].collection = None;
            self.take_out_of_use(sink, die, victim);
            return StepOutcome::Retired(victim);
        }
        let erase_count = self.emit_erase(sink, die, victim, collection.source);
        self.states[victim.0 as usize] = BlockState::Erasing;
        self.pools[die].collection =
            Some(Collection { erase_count: Some(erase_count), ..collection });
        StepOutcome::Emptied(victim)
    }

    /// Pages that the open block of moved pages takes; opens one if there is none.
    fn room_for_moves<S: FlashSink>(&mut self, sink: &mut S, die: usize, source: Source) -> u32 {
        let stream = self.placement.stream(crate::units::Lpn(0), source);
        if self.pools[die].frontiers[stream].is_full() {
            self.open_for_moves(sink, die, stream, source);
        }
        let frontier = self.pools[die].frontiers[stream];
        frontier.limit - frontier.next
    }

    /// Moves up to `count` live pages of the collection of a die.
    fn move_pages<S: FlashSink>(&mut self, sink: &mut S, die: usize, count: u32) -> u32 {
        let collection = self.pools[die].collection.as_mut().expect("the caller has found it");
        let (victim, source) = (BlockId(collection.victim), collection.source);
        let mut pages = std::mem::take(&mut self.moving_from);
        pages.clear();
        collection.next_page = self.map.take_live(victim, collection.next_page, count, &mut pages);
        let mut lpns = std::mem::take(&mut self.moving);
        lpns.clear();
        let oob = sink.media().oob_of_block(victim);
        lpns.extend(pages.iter().map(|&page| oob[page as usize]));
        let moved = lpns.len() as u32;
        self.counters.reads[source as usize] += u64::from(moved);
        self.counters.programs[source as usize] += u64::from(moved);
        if self.copyback_limit.is_some() {
            self.place_inside(sink, die, victim, &pages, &lpns, source);
        } else {
            sink.read_pages(victim, &pages, source);
            self.place_run(sink, die, &lpns, source);
        }
        (self.moving, self.moving_from) = (lpns, pages);
        moved
    }

    /// The erase of a collected block is over: it joins the erased ones.
    ///
    /// # Panics
    /// When no erase of this block is under way.
    pub fn finish_collection(&mut self, die: DieId, block: BlockId) {
        let pool = &mut self.pools[die.0 as usize];
        let collection = pool.collection.take();
        let erase_count = collection
            .filter(|collection| collection.victim == block.0)
            .and_then(|collection| collection.erase_count)
            .unwrap_or_else(|| panic!("no erase of block {} is under way", block.0));
        self.states[block.0 as usize] = BlockState::Erased;
        let is_fold = collection.is_some_and(|collection| collection.source == Source::Fold);
        match &mut pool.slc {
            Some(cache) if is_fold && cache.is_static() => cache.erased.push_back(block.0),
            _ => pool.erased.push(block.0, erase_count),
        }
        pool.level_due = pool.gauge.is_some()
            && collection.is_some_and(|collection| collection.source == Source::Gc);
    }

    /// Finishes collections whose erase was emitted and whose end nobody will report: due when a
    /// stage in which collections went in steps is over, and its flash idle.
    pub fn settle(&mut self) {
        for die in 0..self.pools.len() {
            if let Some(Collection { victim, erase_count: Some(_), .. }) =
                self.pools[die].collection
            {
                self.finish_collection(DieId(die as u32), BlockId(victim));
            }
        }
    }

    /// Brings a collection of the past to its end, for a sink that knows no steps.
    #[cold]
    pub(super) fn finish_at_once<S: FlashSink>(&mut self, sink: &mut S, die: usize) {
        self.step_collection(sink, DieId(die as u32), u32::MAX);
        if let Some(collection) = self.pools[die].collection {
            self.finish_collection(DieId(die as u32), BlockId(collection.victim));
        }
        if std::mem::take(&mut self.pools[die].level_due) {
            self.level_wear(sink, die);
        }
    }

    /// Opens a native block for a stream of the host, for sinks that collect in steps.
    pub(super) fn open_in_steps<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
        stream: usize,
    ) -> Result<(), NoRoom> {
        let place = DieId(die as u32);
        if self.spare_blocks_of(place) == 0 && self.pools[die].collection.is_none() {
            self.begin_collection(sink.media(), place);
        }
        if self.spare_blocks_of(place) > 0 {
            self.pools[die].begun_in_vain = 0;
            self.open(sink, die, stream, Source::Host);
            Ok(())
        } else if self.pools[die].collection.is_some() {
            self.stalled_die = place;
            Err(NoRoom::Stalled)
        } else {
            Err(NoRoom::WornOut)
        }
    }
}

impl Pool {
    /// Erased blocks beyond the reserve that the host may not take: a worn block is, or waits, to
    /// be retired, or a block that is cache for good is folded.
    pub(crate) fn held_blocks(&self) -> u32 {
        let gives_nothing = self.collection.is_some_and(|collection| {
            collection.retires || (collection.source == Source::Fold && self.folds_outward())
        });
        u32::from(self.retire_due || gives_nothing)
    }
}

impl super::map::Map {
    /// Marks up to `count` live pages of a block dead, from an index on, and lists their indices;
    /// returns where to go on.
    pub(super) fn take_live(
        &mut self,
        block: BlockId,
        first: u32,
        count: u32,
        pages: &mut Vec<u32>,
    ) -> u32 {
        for word in first as usize / 64..self.words_per_block() {
            let mut live = self.live_word(block, word);
            while live != 0 {
                let page = 64 * word as u32 + live.trailing_zeros();
                if pages.len() as u32 == count {
                    return page;
                }
                live &= live - 1;
                pages.push(page);
                self.kill(Ppn(self.first_page(block).0 + page));
            }
        }
        64 * self.words_per_block() as u32
    }
}
