//! The cache of blocks with one bit per cell, and folding its data into blocks of full density.
//!
//! ```text
//! host ──► open block, one bit per cell ──► cached, oldest first ──fold──► open native block
//!    └── when full, and `direct`: open native block                  (of collected pages)
//! ```
//! `static`: some blocks of a pool are the cache for good and lie outside its arithmetic; folding
//! one takes room in native blocks and gives none back, so it starts with a block to spare.
//! `dynamic`: erased blocks serve as cache while enough are left; folding one is a collection that
//! always wins room, so when room runs out it comes before any other. Blocks without live pages are
//! erased first in either kind: they cost nothing.

use std::collections::VecDeque;

use super::options::{SlcCacheConfig, WhenFull};
use super::pool::{BlockState, Pool, HOST_FRONTIER};
use super::steps::Collection;
use super::{FlashSink, Ftl, NoRoom, PoolSetup};
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::{BlockId, DieId};

/// The cache of one pool.
pub(crate) struct SlcCache {
    /// Spare blocks that the cache leaves alone, when it takes them from the erased ones.
    dynamic_min: Option<u32>,
    when_full: WhenFull,
    /// Erased blocks that are cache for good.
    pub(crate) erased: VecDeque<u32>,
    /// Blocks that were written to their end, oldest first.
    pub(crate) cached: VecDeque<u32>,
    /// Erase count at which a block leaves the static cache.
    worn_limit: u32,
    /// Blocks that are cache for good.
    pub(crate) members: Vec<u32>,
}

impl SlcCache {
    /// The cache of a pool: of the first of its good blocks, or of those that are known.
    pub(crate) fn new(
        config: &SlcCacheConfig,
        setup: &PoolSetup,
        good: impl Iterator<Item = u32>,
        known: Option<&[u32]>,
    ) -> Option<Self> {
        let (dynamic_min, when_full, count) = match config {
            SlcCacheConfig::None(_) => return None,
            SlcCacheConfig::Static(cache) => (None, cache.when_full, cache.blocks_per_die),
            SlcCacheConfig::Dynamic(cache) => (Some(cache.min_erased_blocks), cache.when_full, 0),
        };
        let members = match known {
            Some(members) => members.to_vec(),
            None => good.take(count as usize).collect(),
        };
        Some(Self {
            dynamic_min,
            when_full,
            erased: members.iter().copied().collect(),
            members,
            cached: VecDeque::new(),
            worn_limit: setup.slc_worn_limit,
        })
    }

    pub(crate) fn is_static(&self) -> bool {
        self.dynamic_min.is_none()
    }
}

impl Pool {
    /// Whether folding a block gives nothing back to the native blocks.
    pub(crate) fn folds_outward(&self) -> bool {
        self.slc.as_ref().is_some_and(SlcCache::is_static)
    }
}

impl Ftl {
    /// Blocks of the cache of a die that wait to be folded.
    pub fn cached_blocks_of(&self, die: DieId) -> u32 {
        self.pools[die.0 as usize].slc.as_ref().map_or(0, |cache| cache.cached.len() as u32)
    }

    /// Chooses the oldest block of a die's cache for folding, which then goes like a collection;
    /// false when one is under way, none is cached, or its pages have nowhere to go before a native
    /// block is collected.
    pub fn begin_fold(&mut self, media: &Media, die: DieId) -> bool {
        let index = die.0 as usize;
        if self.pools[index].collection.is_some() {
            return false;
        }
        let Some((position, victim)) = self.fold_candidate(index) else { return false };
        if !self.fold_has_room(index, victim) {
            return false;
        }
        let pool = &mut self.pools[index];
        let is_static = pool.folds_outward();
        let cache = pool.slc.as_mut().expect("it has a candidate");
        cache.cached.remove(position);
        let retires = is_static && media.erase_count(BlockId(victim)) >= cache.worn_limit;
        self.states[victim as usize] = BlockState::Victim;
        pool.collection = Some(Collection {
            victim,
            source: Source::Fold,
            next_page: 0,
            retires,
            erase_count: None,
        });
        true
    }

    /// The block to fold next and its place in the queue: an empty one, or the oldest.
    fn fold_candidate(&self, die: usize) -> Option<(usize, u32)> {
        let cached = &self.pools[die].slc.as_ref()?.cached;
        let empty = cached.iter().position(|&block| self.map.live_counts[block as usize] == 0);
        let position = empty.unwrap_or(0);
        cached.get(position).map(|&block| (position, block))
    }

    /// Whether the native blocks can take what lives in a block of the cache.
    fn fold_has_room(&self, die: usize, victim: u32) -> bool {
        let pool = &self.pools[die];
        let live_count = u32::from(self.map.live_counts[victim as usize]);
        live_count == 0
            || !pool.folds_outward()
            || pool.erased.len() > pool.reserve + u32::from(pool.retire_due)
    }

    /// Folds one block at once; false when there is none, or no room for its pages.
    fn fold_at_once<S: FlashSink>(&mut self, sink: &mut S, die: usize) -> bool {
        let begun = self.begin_fold(sink.media(), DieId(die as u32));
        if begun {
            self.finish_at_once(sink, die);
        }
        begun
    }

    /// Opens a block of the cache for the host, if one may be taken.
    fn open_cache_block<S: FlashSink>(&mut self, sink: &mut S, die: usize) -> bool {
        let pool = &mut self.pools[die];
        let Some(cache) = &mut pool.slc else { return false };
        let block = match cache.dynamic_min {
            None => cache.erased.pop_front(),
            Some(min) => {
                if pool.erased.len() <= pool.reserve + pool.held_blocks() + min {
                    return false;
                }
                pool.erased.pop()
            }
        };
        let Some(block) = block else { return false };
        // Its last use before it is retired: that is decided when it is a native victim.
        let is_last =
            !pool.folds_outward() && sink.media().erase_count(BlockId(block)) >= pool.worn_limit;
        let mode = if is_last { CellMode::Native } else { CellMode::Slc };
        self.open_block(sink, die, HOST_FRONTIER, BlockId(block), mode);
        true
    }

    /// As `make_room` for the host, in a pool with a cache.
    #[cold]
    pub(super) fn make_room_cached<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
    ) -> Result<(), NoRoom> {
        let cache = self.pools[die].slc.as_ref().expect("the caller has looked");
        let (is_static, folds) = (cache.is_static(), cache.when_full == WhenFull::Fold);
        // Collections at once keep their own account of worn blocks.
        self.pools[die].retire_due = false;
        loop {
            while self.fold_candidate(die).is_some_and(|(_, block)| self.is_empty(block)) {
                self.fold_at_once(sink, die);
            }
            if self.open_cache_block(sink, die) {
                return Ok(());
            }
            let has_cached = self.cached_blocks_of(DieId(die as u32)) > 0;
            if has_cached && folds {
                if !self.fold_at_once(sink, die) {
                    self.make_spare(sink, die, None)?;
                }
            } else if has_cached && !is_static && !self.has_spare(die) {
                self.fold_at_once(sink, die);
            } else {
                return self.make_spare(sink, die, Some(HOST_FRONTIER));
            }
        }
    }

    /// As `make_room_cached`, for sinks that collect in steps.
    pub(super) fn make_room_cached_in_steps<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: usize,
    ) -> Result<(), NoRoom> {
        if self.open_cache_block(sink, die) {
            self.pools[die].begun_in_vain = 0;
            return Ok(());
        }
        let cache = self.pools[die].slc.as_ref().expect("the caller has looked");
        let (is_static, folds) = (cache.is_static(), cache.when_full == WhenFull::Fold);
        let place = DieId(die as u32);
        if self.fold_candidate(die).is_some_and(|(_, block)| self.is_empty(block)) {
            // It costs an erase, and the write need not wait for it.
            self.begin_fold(sink.media(), place);
        }
        let folding =
            self.pools[die].collection.is_some_and(|collection| collection.source == Source::Fold);
        let has_cached = self.cached_blocks_of(place) > 0 || folding;
        let waits_for_fold =
            has_cached && (folds || (!is_static && self.spare_blocks_of(place) == 0));
        if !waits_for_fold {
            return self.open_in_steps(sink, die, HOST_FRONTIER);
        }
        let is_under_way = self.pools[die].collection.is_some()
            || self.begin_fold(sink.media(), place)
            || self.begin_collection(sink.media(), place);
        self.stalled_die = DieId(die as u32);
        Err(if is_under_way { NoRoom::Stalled } else { NoRoom::WornOut })
    }

    fn is_empty(&self, block: u32) -> bool {
        self.map.live_counts[block as usize] == 0
    }

    fn has_spare(&self, die: usize) -> bool {
        self.pools[die].erased.len() > self.pools[die].reserve
    }

    /// A block of the cache was written to its end.
    pub(super) fn close_cached(&mut self, die: usize, block: u32) {
        self.states[block as usize] = BlockState::Cached;
        let cache = self.pools[die].slc.as_mut().expect("only a cache opens such blocks");
        cache.cached.push_back(block);
    }
}
