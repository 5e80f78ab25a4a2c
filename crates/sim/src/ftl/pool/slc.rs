//! The cache of blocks with one bit per cell: which blocks are in it, and which is folded next.
//!
//! ```text
//! host ──► open block, one bit per cell ──► cached, oldest first ──fold──► open native block
//!    └── when full, and `direct`: open native block                  (of collected pages)
//! ```
//! *Members* are the cache permanently, and the arithmetic of a pool leaves them out; folding one
//! takes room in native blocks and gives none back, so it starts with a block to spare. *Guests*
//! are erased blocks that serve as cache while enough are left; folding one is a collection that
//! always frees room, so when room runs out it comes before any other. Blocks without live pages
//! are erased first: they cost nothing.
//!
//! | kind | members | guests |
//! |---|---|---|
//! | `static` | some | none |
//! | `dynamic` | none | as many as erased blocks allow |
//! | `hybrid` | some | up to a limit |

use std::collections::VecDeque;

use crate::ftl::config::{FoldWhen, PoolSetup, SlcCacheConfig, WhenFull};
use crate::ftl::map::Map;
use crate::units::BlockId;

/// The pages that a full cache owes, which are folded during host writes, see `draining`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Draining {
    /// Pages folded for each page that the host writes past the cache; 0: none.
    pub(super) ratio: f64,
    /// The cache was full and is being folded.
    pub(in crate::ftl) is_on: bool,
    /// Pages to fold by when the open block of the host is full.
    pub(in crate::ftl) owed: f64,
}

impl Draining {
    pub(super) fn new(ratio: f64) -> Self {
        Self { ratio, ..Self::default() }
    }

    /// A page was folded.
    pub(super) fn note_folded(&mut self, pages: u32) {
        self.owed -= if self.is_on { f64::from(pages) } else { 0.0 };
    }
}

/// The cache of one pool.
pub(crate) struct SlcCache {
    /// Spare blocks that the cache leaves alone when it takes a guest.
    pub(crate) erased_min: u32,
    guests_max: u32,
    /// Guests that are open, cached or being folded.
    pub(crate) guest_count: u32,
    /// Whether a write that finds no block free waits for a fold.
    pub(crate) folds_when_full: bool,
    /// Whether blocks are folded in pauses of the host.
    pub(crate) folds_in_pauses: bool,
    /// Folding during host writes.
    pub(crate) draining: Draining,
    /// Members that are erased.
    pub(crate) erased: VecDeque<u32>,
    /// Blocks that were written to their end, oldest first.
    pub(crate) cached: VecDeque<u32>,
    /// Erase count at which a member leaves the cache.
    pub(crate) worn_limit: u32,
    /// Blocks that are cache permanently, in ascending order.
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
        let (erased_min, folds_when_full, folds_in_pauses) = match config {
            SlcCacheConfig::None(_) => return None,
            SlcCacheConfig::Static(cache) => (0, cache.when_full == WhenFull::Fold, true),
            SlcCacheConfig::Dynamic(cache) => {
                (cache.min_erased_blocks, cache.when_full == WhenFull::Fold, true)
            }
            SlcCacheConfig::Hybrid(cache) => (
                cache.min_erased_blocks,
                cache.fold != FoldWhen::Idle,
                cache.fold != FoldWhen::Full,
            ),
        };
        let ratio = match config {
            SlcCacheConfig::Hybrid(cache) => cache.fold_beside,
            _ => 0.0,
        };
        let mut members: Vec<u32> = match known {
            Some(members) => members.to_vec(),
            None => good.take(setup.slc_blocks.fixed as usize).collect(),
        };
        members.sort_unstable();
        Some(Self {
            erased_min,
            guests_max: setup.slc_blocks.dynamic_max,
            guest_count: 0,
            folds_when_full,
            folds_in_pauses,
            draining: Draining::new(ratio),
            erased: members.iter().copied().collect(),
            members,
            cached: VecDeque::new(),
            worn_limit: setup.slc_worn_limit,
        })
    }

    /// Whether a block is cache permanently.
    pub(crate) fn has_member(&self, block: BlockId) -> bool {
        self.members.binary_search(&block.0).is_ok()
    }

    /// Whether an erased block may join as a guest.
    pub(crate) fn takes_guest(&self) -> bool {
        self.guest_count < self.guests_max
    }

    /// The block to fold next and its place in the queue: an empty one, or the oldest; of guests
    /// only, if there is no room for the pages that a member holds.
    pub(crate) fn next_to_fold(&self, map: &Map, has_room: bool) -> Option<(usize, BlockId)> {
        let is_empty = |&block: &u32| map.live_count(BlockId(block)) == 0;
        let is_next = |&block: &u32| has_room || !self.has_member(BlockId(block));
        let place = self.cached.iter().position(is_empty);
        let place = place.or_else(|| self.cached.iter().position(is_next))?;
        Some((place, BlockId(self.cached[place])))
    }
}
