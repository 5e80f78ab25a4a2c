//! One die's log: its open blocks, its erased blocks, its victim policy.
//!
//! Pools share nothing. A logical page belongs to one pool for life (static striping), so each pool
//! is the single log that the closed forms describe, with its own spare factor.

use super::config::{FtlConfig, WearConfig, WriteFrontiers};
use super::erased::{ErasedBlocks, OpenOrder};
use super::gc::{BuildContext, GcPolicy};
use super::layout::Layout;
use super::slc::SlcCache;
use super::steps::Collection;
use super::wear::WearGauge;
use crate::geometry::{Geometry, UNMAPPED};
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::rng::Rng;
use crate::units::{BlockId, DieId, Lpn};

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BlockState {
    Erased = 0,
    Open = 1,
    Closed = 2,
    Bad = 3,
    /// Under collection in steps: no candidate any more.
    Victim = 4,
    /// Its erase was emitted and is not over.
    Erasing = 5,
    /// Written to its end at one bit per cell, and waiting to be folded.
    Cached = 6,
}

/// An open block and the next page to program; `next == limit` when there is no room before the
/// next parity page or the end of the block, or when there is no open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    pub(crate) next: u32,
    pub(crate) limit: u32,
}

impl Frontier {
    pub(crate) const NONE: Self = Self { next: UNMAPPED, limit: UNMAPPED };

    #[inline]
    pub(crate) fn is_full(self) -> bool {
        self.next == self.limit
    }

    pub(crate) fn exists(self) -> bool {
        self.limit != UNMAPPED
    }

    /// The open block, if there is one.
    pub(crate) fn block(self, geometry: &Geometry) -> Option<BlockId> {
        // Data never ends at the first page of a block, so the page before the limit is in it.
        self.exists().then(|| geometry.block_of(crate::units::Ppn(self.limit - 1)))
    }
}

/// Index of an open block of a pool: up to two by stream, and the one of wear leveling.
pub(crate) const FRONTIER_COUNT: usize = 3;
/// The open block of host writes.
pub(crate) const HOST_FRONTIER: usize = 0;
const WEAR_FRONTIER: usize = 2;

/// Which open block a page goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    host_gc: bool,
    /// Logical pages below this one are hot, for the oracle; 0 without it.
    hot_limit: u32,
}

impl Placement {
    pub(crate) fn new(frontiers: &WriteFrontiers, logical_pages: u32) -> Self {
        let hot_limit = match frontiers {
            WriteFrontiers::HotCold(oracle) => {
                (f64::from(logical_pages) * oracle.fraction).round() as u32
            }
            _ => 0,
        };
        Self { host_gc: matches!(frontiers, WriteFrontiers::HostGc(_)), hot_limit }
    }

    #[inline]
    pub(crate) fn stream(self, lpn: Lpn, source: Source) -> usize {
        if source == Source::Wear {
            WEAR_FRONTIER
        } else if self.hot_limit != 0 {
            usize::from(lpn.0 >= self.hot_limit)
        } else {
            usize::from(self.host_gc && source != Source::Host)
        }
    }

    /// Whether pages of one collection can go to different open blocks.
    pub(crate) fn splits(self, source: Source) -> bool {
        self.hot_limit != 0 && source != Source::Wear
    }
}

/// See the module.
pub(crate) struct Pool {
    pub(crate) first_block: u32,
    pub(crate) block_count: u32,
    pub(crate) frontiers: [Frontier; FRONTIER_COUNT],
    pub(crate) erased: ErasedBlocks,
    /// Erased blocks that GC keeps.
    pub(crate) reserve: u32,
    pub(crate) policy: Box<dyn GcPolicy>,
    /// Present with static wear leveling only.
    pub(crate) gauge: Option<WearGauge>,
    /// Good blocks beside those that are cache for good.
    pub(crate) good_blocks: u32,
    /// Erase count at which a block is not erased again but taken out of use.
    pub(crate) worn_limit: u32,
    /// Good blocks below which the pool cannot hold its logical pages and collect.
    pub(crate) good_blocks_min: u32,
    /// A collection in steps.
    pub(crate) collection: Option<Collection>,
    /// Collections in steps since the host opened a block last.
    pub(crate) begun_in_vain: u32,
    /// Wear leveling is to be asked before the next collection in steps.
    pub(crate) level_due: bool,
    /// A worn block waits for a spare block to move to.
    pub(crate) retire_due: bool,
    /// Blocks of one bit per cell.
    pub(crate) slc: Option<SlcCache>,
}

impl Pool {
    /// The pool of a die, with every good block of the media erased and none open.
    /// `cache` names the blocks that are cache for good, where that was decided before.
    pub(crate) fn new(
        die: DieId,
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        cache: Option<&[u32]>,
    ) -> Self {
        let geometry = setup.geometry;
        let first_block = die.0 * geometry.blocks_per_die;
        let blocks = first_block..first_block + geometry.blocks_per_die;
        let all_good = || blocks.clone().filter(|&block| !media.is_bad(BlockId(block)));
        let slc = SlcCache::new(&config.slc_cache, setup, all_good(), cache);
        let is_cache =
            |block: u32| slc.as_ref().is_some_and(|cache| cache.members.contains(&block));
        let good = || all_good().filter(|&block| !is_cache(block));
        let order = match config.wear_leveling {
            WearConfig::None(_) => OpenOrder::FirstErased,
            WearConfig::Dynamic(_) | WearConfig::Static(_) => OpenOrder::LeastWorn,
        };
        let mut erased = ErasedBlocks::new(order);
        good().for_each(|block| erased.push(block, media.erase_count(BlockId(block))));
        let counts = good().map(|block| media.erase_count(BlockId(block)));
        let gauge = match &config.wear_leveling {
            WearConfig::Static(wear) => Some(WearGauge::new(wear.threshold, counts)),
            _ => None,
        };
        let policy = config.gc_policy.build(BuildContext {
            block_count: geometry.blocks_per_die,
            pages_per_block: setup.layout.data_pages(die, CellMode::Native) as u16,
            rng: Rng::stream(setup.seed, &format!("gc.{}", die.0)),
        });
        let reserve = setup.reserve_of(die);
        Self {
            first_block,
            block_count: geometry.blocks_per_die,
            frontiers: [Frontier::NONE; FRONTIER_COUNT],
            good_blocks: erased.len(),
            worn_limit: setup.worn_limit,
            good_blocks_min: setup.good_blocks_min(die, config),
            erased,
            reserve,
            policy,
            gauge,
            collection: None,
            begun_in_vain: 0,
            level_due: false,
            retire_due: false,
            slc,
        }
    }
}

/// What all pools of a drive are built with.
#[derive(Clone, Copy, Debug)]
pub struct PoolSetup {
    /// The shape of the drive.
    pub geometry: Geometry,
    /// Logical pages of the drive.
    pub logical_pages: u32,
    /// Erased blocks that GC keeps, in the whole drive.
    pub reserve_blocks: u32,
    /// Erase count at which a block is taken out of use; `u32::MAX` for never.
    pub worn_limit: u32,
    /// The same for blocks that are cache for good.
    pub slc_worn_limit: u32,
    /// Which pages of a block take data.
    pub layout: Layout,
    /// The run's seed.
    pub seed: u64,
}

impl PoolSetup {
    /// The share of the reserve that a die keeps.
    pub fn reserve_of(&self, die: DieId) -> u32 {
        let dies = self.geometry.die_count;
        self.reserve_blocks / dies + u32::from(die.0 < self.reserve_blocks % dies)
    }

    /// Good blocks without which a die cannot work: reserve, its logical pages, its other open
    /// blocks, and one block of slack for collection to win.
    pub fn good_blocks_min(&self, die: DieId, config: &FtlConfig) -> u32 {
        let logical = self.geometry.logical_pages_of(die, self.logical_pages);
        let data_blocks = logical.div_ceil(self.layout.data_pages(die, CellMode::Native));
        self.reserve_of(die) + config.extra_frontiers() + data_blocks + 1
    }
}
