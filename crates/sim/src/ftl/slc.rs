//! The cache of blocks with one bit per cell: which blocks are in it, and which is folded next.
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

use super::map::Map;
use super::options::{SlcCacheConfig, WhenFull};
use super::setup::PoolSetup;
use crate::units::BlockId;

/// The cache of one pool.
pub(crate) struct SlcCache {
    /// Spare blocks that the cache leaves alone, when it takes them from the erased ones.
    pub(crate) dynamic_min: Option<u32>,
    pub(crate) when_full: WhenFull,
    /// Erased blocks that are cache for good.
    pub(crate) erased: VecDeque<u32>,
    /// Blocks that were written to their end, oldest first.
    pub(crate) cached: VecDeque<u32>,
    /// Erase count at which a block leaves the static cache.
    pub(crate) worn_limit: u32,
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

    /// Whether some blocks are cache for good.
    pub(crate) fn is_static(&self) -> bool {
        self.dynamic_min.is_none()
    }

    /// Whether a write that finds no cached block free waits for a fold.
    pub(crate) fn folds(&self) -> bool {
        self.when_full == WhenFull::Fold
    }

    /// The block to fold next and its place in the queue: an empty one, or the oldest.
    pub(crate) fn next_to_fold(&self, map: &Map) -> Option<(usize, BlockId)> {
        let is_empty = |&block: &u32| map.live_count(BlockId(block)) == 0;
        let place = self.cached.iter().position(is_empty).unwrap_or(0);
        self.cached.get(place).map(|&block| (place, BlockId(block)))
    }
}
