//! The `ftl` section of a device file, and the arithmetic of its spare area.
//!
//! ```text
//! good blocks of a pool
//! ├── reserve       kept erased, always            (never holds data: no part of T in S_eff)
//! ├── open blocks   beyond the first
//! └── the rest      logical pages + what GC lives on; at least one block must be left over
//! ```
//! This folder holds the settings that are decided before the drive runs: `options` and
//! `allocation` are parts of the section, `rules` refuses settings that cannot work, `layout`
//! defines which pages of a block take data, and `setup` describes the drive to the pools.

mod allocation;
mod layout;
mod options;
mod partitions;
mod rules;
mod setup;
mod shape;

pub use allocation::{
    Allocation, AllocationOrder, BadBlock, DynamicConfig, GroupDies, Grouping, SuperblockConfig,
};
pub use layout::Layout;
pub(in crate::ftl) use layout::Part;
pub use options::{
    CollectionConfig, Compression, Copyback, DataKind, DieParity, DynamicSlcCache, FoldWhen,
    HybridSlcCache, IdleCollection, MapCheckpoint, Parity, Refresh, SlcCacheConfig, StaticSlcCache,
    SteppedCollection, StripeParity, WhenFull, WritesComplete,
};
pub use partitions::{share_out, Partition, Partitions};
pub use setup::{PoolSetup, SlcBlocks};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use options::none_or::{self, NoneOr};

use super::gc::GcConfig;
use super::mapping::MappingConfig;
use super::pool::{Isolation, PlacementConfig};
use crate::config::{is_default, name_or_mapping, optional_bytes, size_schema};

/// Which writes share an open block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WriteFrontiers {
    /// Host and collected pages share the open block.
    Single(SingleFrontier),
    /// Host and collected pages have an open block each.
    HostGc(HostGcFrontiers),
    /// An oracle for studies: the first `fraction` of the logical pages has a separate open block.
    HotCold(HotColdFrontiers),
}

impl Default for WriteFrontiers {
    fn default() -> Self {
        Self::Single(SingleFrontier {})
    }
}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingleFrontier {}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostGcFrontiers {}

/// Parameters of the oracle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotColdFrontiers {
    /// Share of the logical pages that counts as hot, between 0 and 1.
    pub fraction: f64,
}

/// How erase counts are kept even.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WearConfig {
    /// Not at all: erased blocks are opened in the order in which they were erased.
    None(NoWear),
    /// The least worn of the erased blocks is opened first.
    Dynamic(DynamicWear),
    /// As dynamic; in addition, the data of a block whose count lags behind the mean is moved.
    Static(StaticWear),
}

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoWear {}

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicWear {}

/// Parameters of static wear leveling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticWear {
    /// Erases by which a block may lag behind the mean of its pool before its data is moved; at
    /// least 1.
    #[serde(default = "default_threshold")]
    pub threshold: u32,
}

fn default_threshold() -> u32 {
    20
}

impl Default for WearConfig {
    fn default() -> Self {
        Self::Dynamic(DynamicWear {})
    }
}

/// The flash translation layer of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtlConfig {
    /// Over-provisioning as a ratio: `(T - U) / U`, T good data pages, U logical pages;
    /// `over_provisioning_ratio` is accepted too.
    pub over_provisioning_pct: f64,
    /// How logical pages are mapped: page by page (`page`), with the map in the flash and a part of
    /// it in RAM (`dftl`), or by blocks (`block`, `bast`, `fast`).
    #[serde(deserialize_with = "name_or_mapping", skip_serializing_if = "is_default")]
    pub mapping: MappingConfig,
    /// Writing parts of the map out every `every_writes` map units that the host writes, `pages`
    /// map pages at once; needs `ftl.mapping` dftl, or a map in RAM with `ftl.allocation` dynamic.
    #[serde(with = "none_or", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NoneOr<MapCheckpoint>")]
    pub map_checkpoint: Option<MapCheckpoint>,
    /// How garbage collection picks its victim.
    #[serde(deserialize_with = "name_or_mapping")]
    pub gc_policy: GcConfig,
    /// GC starts when erased blocks fall to this share of the spare blocks `(T - U) / pages per
    /// block`; 0 to 1. `gc_trigger_free_ratio` is accepted too.
    pub gc_trigger_free_pct: f64,
    /// The same threshold in blocks per device; overrides `gc_trigger_free_pct`. At least one block
    /// per die is kept; with superblocks, whole ones.
    pub gc_reserve_blocks: Option<u32>,
    /// Which writes share an open block.
    #[serde(deserialize_with = "name_or_mapping")]
    pub write_frontiers: WriteFrontiers,
    /// Hints of the host as to which data belongs together: `none`, `{kind: fdp, handles: N}` or
    /// `{kind: streams, count: N}`. Ids come from `placement` of a workload.
    #[serde(deserialize_with = "name_or_mapping", skip_serializing_if = "is_default")]
    pub placement: PlacementConfig,
    /// How erase counts are kept even.
    #[serde(deserialize_with = "name_or_mapping")]
    pub wear_leveling: WearConfig,
    /// Pages of the volatile write buffer; 0 writes through.
    pub write_buffer_pages: u32,
    /// Whether a write to a whole page that waits in the write buffer replaces the waiting data;
    /// false: both are programmed, as in drives whose buffer only evens out the rate.
    #[serde(skip_serializing_if = "is_true")]
    pub write_buffer_absorbs: bool,
    /// Size, in bytes, of aligned stretches of addresses whose waiting map units leave the write
    /// buffer (or `host.write_cache`) together and in order of address, so that a page of the flash
    /// holds neighbours; a power of two above the map unit. Null: each leaves alone.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub coalesce_bytes: Option<u64>,
    /// Size of the unit that the map maps, in bytes: a power of two from 512. Units smaller than a
    /// page are programmed when those of a page are together, and a page is sensed once for those
    /// that a command asks for. A unit of several pages takes one page in each of as many planes,
    /// which `nand.multi_plane` must join; the number of planes must be a multiple of its number of
    /// pages. Such a unit is sensed and transferred as a whole. Null: a page.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub map_unit_bytes: Option<u64>,
    /// Time that a program unit waits for the rest of its data in the controller's memory before it
    /// is padded, in microseconds of simulated time; above 0, at most 1e9. A drive with
    /// `host.power_loss_protected` does not pad. Null: it waits for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill_timeout_us: Option<f64>,
    /// When a write that no write buffer takes completes, or a page leaves the write buffer:
    /// `in_memory`, as soon as its data is in the controller's memory; or `programmed`, when it is
    /// programmed with the rest of its program unit or with padding. `programmed` needs
    /// `ftl.fill_timeout_us`, and no `host.power_loss_protected`. Default `in_memory`.
    #[serde(skip_serializing_if = "is_default")]
    pub writes_complete: WritesComplete,
    /// Which die a logical page goes to: an order of the letters C (channel), D (die of the
    /// channel) and P (plane), the first varying fastest, or `dynamic`; or `superblock`, where an
    /// open block spans the dies of a group.
    pub allocation: Allocation,
    /// Whether a collection is one piece (`whole`), goes in `steps` that give way to the host, or
    /// in `bursts` that hold writes of the host back.
    #[serde(deserialize_with = "name_or_mapping")]
    pub collection: CollectionConfig,
    /// Collecting ahead of need while no command comes; needs collections in steps or bursts.
    #[serde(with = "none_or")]
    #[schemars(with = "NoneOr<IdleCollection>")]
    pub idle_collection: Option<IdleCollection>,
    /// Moving data that is old (`after_days`), or that has too many bit errors when it is read
    /// (`at_rber`), and erasing its block: in idle time if possible, and in parallel with host
    /// commands if a die has had no idle time for a second.
    #[serde(with = "none_or", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NoneOr<Refresh>")]
    pub refresh: Option<Refresh>,
    /// Moving collected pages inside the die, if source and target are in one plane.
    #[serde(with = "none_or")]
    #[schemars(with = "NoneOr<Copyback>")]
    pub copyback: Option<Copyback>,
    /// Host writes to blocks of one bit per cell first.
    #[serde(deserialize_with = "name_or_mapping")]
    pub slc_cache: SlcCacheConfig,
    /// Share of the program units of a superblock, parity apart, that hold the drive's own records:
    /// journal of the map, addresses of the block. They are programmed in turn with data, count as
    /// `programs.map` and in the WAF, and need `allocation: superblock`; 0 to 0.5.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub metadata_share: f64,
    /// Parity pages: `stripe` pages of a block protect each other, or with kind `die_stripe` the
    /// members of each row of a superblock.
    #[serde(with = "none_or")]
    #[schemars(with = "NoneOr<Parity>")]
    pub parity: Option<Parity>,
    /// Compression of host data. The host sees the same capacity; the saved bytes become spare
    /// area.
    #[serde(with = "none_or")]
    #[schemars(with = "NoneOr<Compression>")]
    pub compression: Option<Compression>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_true(flag: &bool) -> bool {
    *flag
}

impl Default for FtlConfig {
    fn default() -> Self {
        Self {
            over_provisioning_pct: 0.07,
            mapping: MappingConfig::default(),
            map_checkpoint: None,
            gc_policy: GcConfig::default(),
            gc_trigger_free_pct: 0.10,
            gc_reserve_blocks: None,
            write_frontiers: WriteFrontiers::default(),
            placement: PlacementConfig::default(),
            wear_leveling: WearConfig::default(),
            write_buffer_pages: 0,
            write_buffer_absorbs: true,
            coalesce_bytes: None,
            map_unit_bytes: None,
            fill_timeout_us: None,
            writes_complete: WritesComplete::default(),
            metadata_share: 0.0,
            allocation: Allocation::default(),
            collection: CollectionConfig::default(),
            idle_collection: None,
            refresh: None,
            copyback: None,
            slc_cache: SlcCacheConfig::default(),
            parity: None,
            compression: None,
        }
    }
}

impl FtlConfig {
    /// Whether some blocks are used with one bit per cell.
    pub fn has_slc_cache(&self) -> bool {
        !matches!(self.slc_cache, SlcCacheConfig::None(_))
    }

    /// Whether a collection goes in steps, between which a die serves the host.
    pub fn collects_in_steps(&self) -> bool {
        !matches!(self.collection, CollectionConfig::Whole(_))
    }

    /// Blocks that a burst of collections frees, if collections come in bursts.
    pub(crate) fn burst_blocks(&self) -> Option<f64> {
        let CollectionConfig::Bursts(bursts) = &self.collection else { return None };
        Some(bursts.superblocks)
    }

    /// Numbers of spare blocks of a die that keys ask for, by their paths.
    pub(crate) fn spare_goals(&self) -> Vec<(&'static str, u32)> {
        let collection = match &self.collection {
            CollectionConfig::Whole(_) => None,
            CollectionConfig::Steps(steps) => {
                Some(("ftl.collection.soft_spare_blocks", steps.soft_spare_blocks))
            }
            CollectionConfig::Bursts(it) => {
                Some(("ftl.collection.superblocks", it.superblocks.ceil() as u32))
            }
        };
        let idle = self.idle_collection.as_ref();
        let idle = idle.map(|it| ("ftl.idle_collection.spare_blocks_goal", it.spare_blocks_goal));
        collection.into_iter().chain(idle).collect()
    }

    /// Whether the plain back end cannot carry these keys out: it supports neither steps, nor moves
    /// inside a die, nor blocks and pages of another size. Allocation orders make no difference to
    /// it.
    pub fn needs_full(&self) -> bool {
        self.collects_in_steps()
            || self.copyback.is_some()
            || self.has_slc_cache()
            || self.parity.is_some()
            || self.allocation.superblock().is_some()
            || self.compression.is_some()
    }

    /// Pages of a stripe of parity inside a block; 0 without.
    pub fn stripe(&self) -> u32 {
        match &self.parity {
            Some(Parity::Stripe(parity)) => parity.stripe,
            _ => 0,
        }
    }

    /// Whether the rows of superblocks hold parity.
    pub fn has_die_parity(&self) -> bool {
        matches!(self.parity, Some(Parity::Dies(_)))
    }

    /// Open blocks that a pool can hold besides the first.
    pub fn extra_frontiers(&self) -> u32 {
        self.write_frontiers.extra(&self.placement)
            + u32::from(matches!(self.wear_leveling, WearConfig::Static(_)))
    }

    /// Erased blocks that a pool needs in the middle of one collection: one per open block that it
    /// may fill. Handles whose data stays apart keep as many as the oracle, so that both have the
    /// same effective spare area.
    pub fn reserve_min(&self) -> u32 {
        1 + u32::from(
            matches!(self.write_frontiers, WriteFrontiers::HotCold(_)) || self.keeps_apart(),
        )
    }

    /// Whether data of several handles stays apart when it is moved.
    pub(crate) fn keeps_apart(&self) -> bool {
        self.placement.ids() > 1 && self.placement.isolation() == Isolation::Persistently
    }
}
