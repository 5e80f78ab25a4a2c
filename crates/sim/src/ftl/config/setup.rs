//! Parameters that all pools of a drive are built with, and the arithmetic of their blocks.

use std::ops::Range;
use std::sync::Arc;

use super::layout::Layout;
use super::partitions::Partitions;
use super::FtlConfig;
use crate::ftl::mapping;
use crate::ftl::zones::ZoneLayout;
use crate::geometry::Geometry;
use crate::nand::{CellMode, Failures, ProgramUnits};
use crate::superblock::Superblocks;
use crate::units::DieId;

/// How many blocks of a die hold one bit per cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcBlocks {
    /// Blocks that are cache permanently.
    pub fixed: u32,
    /// Erased blocks that serve as cache, at most.
    pub dynamic_max: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PoolSetup {
    /// The shape of the drive.
    pub geometry: Geometry,
    /// Logical pages of the drive.
    pub logical_pages: u32,
    /// Parts of them that have pools to themselves; then the pools below are theirs, not dies.
    pub partitions: Option<Arc<Partitions>>,
    /// Over-provisioning of the drive, as a ratio.
    pub over_provisioning: f64,
    /// Erased blocks that GC keeps, in the whole drive.
    pub reserve_blocks: u32,
    /// Erase count at which a block is taken out of use; `u32::MAX` for never.
    pub worn_limit: u32,
    /// The same for blocks that are cache permanently.
    pub slc_worn_limit: u32,
    /// Blocks of the cache of a die.
    pub slc_blocks: SlcBlocks,
    /// Which pages of a block take data.
    pub layout: Layout,
    /// Which pages are programmed together.
    pub units: ProgramUnits,
    /// Which programs and erases fail.
    pub failures: Option<Failures>,
    /// The run's seed.
    pub seed: u64,
}

impl PoolSetup {
    /// How many pools there are.
    pub fn pool_count(&self) -> u32 {
        self.partitions.as_ref().map_or(self.geometry.die_count, |it| it.blocks.len() as u32)
    }

    /// The blocks of a pool.
    pub fn blocks_of(&self, die: DieId) -> Range<u32> {
        let blocks = self.geometry.blocks_per_die;
        match &self.partitions {
            Some(partitions) => partitions.blocks[die.0 as usize].clone(),
            None => die.0 * blocks..(die.0 + 1) * blocks,
        }
    }

    /// Logical pages of a pool, unless it is chosen by load.
    pub fn logical_pages_of(&self, die: DieId) -> u32 {
        match &self.partitions {
            Some(partitions) => partitions.logical_pages_of(die),
            None => self.geometry.logical_pages_of(die, self.logical_pages),
        }
    }

    /// The share of the reserve that a die keeps.
    pub fn reserve_of(&self, die: DieId) -> u32 {
        if let Some(partitions) = &self.partitions {
            return partitions.reserve_of(die);
        }
        let dies = self.geometry.die_count;
        self.reserve_blocks / dies + u32::from(die.0 < self.reserve_blocks % dies)
    }

    /// Blocks of a die that hold no live pages when it is as full as it may be: reserve, its other
    /// open blocks, and one block of slack that collection needs.
    pub(crate) fn idle_blocks_of(&self, die: DieId, config: &FtlConfig) -> u32 {
        self.reserve_of(die) + config.extra_frontiers() + 1
    }

    /// Blocks of a die that hold map pages.
    pub fn map_blocks_of(&self, die: DieId, config: &FtlConfig) -> u32 {
        if config.mapping.dftl().is_none() {
            return 0;
        }
        let Geometry { page_bytes, die_count, pages_per_block, .. } = self.geometry;
        let map_pages = mapping::map_pages_of(self.logical_pages, page_bytes, die.0, die_count);
        mapping::map_blocks(map_pages, pages_per_block, self.over_provisioning)
    }

    /// Where the pages of zones are, if the drive has zones.
    pub fn zone_layout(&self, config: &FtlConfig) -> Option<ZoneLayout> {
        let dies = self.layout.superblocks().map_or(1, Superblocks::dies);
        config.mapping.zoned().map(|zoned| zoned.layout(&self.geometry, dies))
    }

    /// Good blocks without which a die cannot work: those for its logical pages, and those that
    /// hold none.
    pub fn good_blocks_min(&self, die: DieId, config: &FtlConfig) -> u32 {
        let logical = self.logical_pages_of(die);
        let data_blocks = logical.div_ceil(self.layout.data_pages(die, CellMode::Native));
        if let (Some(zoned), Some(layout)) = (config.mapping.zoned(), self.zone_layout(config)) {
            let zones = layout.zones_on(die, self.logical_pages / layout.zone_pages);
            let capacity = (zoned.capacity_bytes() / self.geometry.page_bytes) as u32;
            return zones * layout.rows_of(capacity);
        }
        if config.mapping.merges() {
            return data_blocks + config.mapping.merge_blocks(self.geometry.die_count);
        }
        self.idle_blocks_of(die, config) + data_blocks
    }

    /// The same for superblocks whose page counts are `sizes`: any choice of the returned number of
    /// them has room for the die's logical pages, in addition to whole idle ones.
    pub(crate) fn uneven_blocks_min(
        &self,
        die: DieId,
        config: &FtlConfig,
        mut sizes: Vec<u32>,
    ) -> u32 {
        let logical = u64::from(self.logical_pages_of(die));
        let whole = u64::from(self.layout.data_pages(die, CellMode::Native));
        let needed = logical + u64::from(self.idle_blocks_of(die, config)) * whole;
        sizes.sort_unstable();
        let mut room = 0;
        let before = sizes.iter().take_while(|&&size| {
            let is_short = room < needed;
            room += u64::from(size);
            is_short
        });
        before.count() as u32
    }
}
