//! How logical pages are mapped: the key `ftl.mapping`.
//!
//! ```text
//! page    a table of all pages in RAM                                   the log alone
//! dftl    the same table in map pages on the flash, a part of it in RAM  translation, cache, store
//! block   a table of blocks; an overwrite rewrites its block            block
//! bast    a table of blocks, and a log block for each of a few          bast
//! fast    a table of blocks, and log blocks that all share              fast
//! zoned   a table of blocks; zones are written in order, and reset      zoned
//! ```
//! The simulator's own table (`map`) holds the place of each page under every scheme; it is the
//! actual state, not the table that the firmware keeps. A scheme decides where pages go and which
//! moves, reads and erases they need. `dftl` places pages as `page` does and adds what the table
//! costs; the others place pages at fixed offsets of blocks (`blocks`) and never collect garbage:
//! they merge.
//!
//! A scheme is one file and a row below. `asked` is where the drive asks them, page by page.

mod asked;
mod bast;
mod block;
pub(crate) mod blocks;
mod cache;
mod fast;
mod scheme;
mod store;
pub(crate) mod translation;
mod zoned;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::zones::ZoneLayout;
use crate::config::{bytes_or_text, optional_bytes, size_schema};
use crate::geometry::Geometry;
pub use cache::{MapCache, Replacement};
pub(crate) use scheme::{BlockScheme, SchemeSnapshot};
pub(crate) use store::map_blocks;
pub use translation::Use;
pub(crate) use translation::{map_pages_of, Translation, TranslationSnapshot};

/// Bytes of an entry of the map, in its cache and in map pages.
pub const ENTRY_BYTES: u64 = 4;

/// How logical pages are mapped: a name, or a mapping with `kind` and parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MappingConfig {
    /// Page by page, with the whole map in RAM.
    Page(PageMapping),
    /// Page by page, with the map in the flash and a part of it in RAM (Gupta, Kim, Urgaonkar,
    /// ASPLOS 2009).
    Dftl(DftlMapping),
    /// Whole blocks: an overwrite reads, erases and rewrites its block.
    Block(BlockMapping),
    /// Whole blocks, and log blocks that each serve one of them (BAST; Kim et al., 2002).
    Bast(BastMapping),
    /// Whole blocks, and log blocks that serve all of them (FAST; Lee et al., 2007).
    Fast(FastMapping),
    /// Zones: the host writes each from its start on, and resets it as a whole (ZNS).
    Zoned(ZonedMapping),
}

impl Default for MappingConfig {
    fn default() -> Self {
        Self::Page(PageMapping {})
    }
}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageMapping {}

/// A map in the flash, cached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DftlMapping {
    /// Bytes of RAM for entries of the map, 4 bytes each; at least the entries of one map page.
    #[serde(deserialize_with = "bytes_or_text")]
    #[schemars(schema_with = "size_schema")]
    pub cache_bytes: u64,
    /// Which entry leaves a full cache: `lru`, the one that was used longest ago, or `slru`, the
    /// oldest of those that were used only once, while there are any. Default `lru`.
    #[serde(default)]
    pub replacement: Replacement,
    /// Whether a map page that is written takes all its changed entries with it, which stay in the
    /// cache; false: only the one that leaves. Default true.
    #[serde(default = "yes")]
    pub batch_evict: bool,
}

fn yes() -> bool {
    true
}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockMapping {}

/// Which log block is merged when another block needs one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogReplacement {
    /// The one that was opened first.
    #[default]
    Fifo,
    /// The one that was written longest ago.
    Lru,
}

/// Log blocks that each serve one block of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BastMapping {
    /// Log blocks of the drive, evenly over its dies (superblocks, over their groups); they come
    /// out of the spare area.
    pub log_blocks: u32,
    /// Which log block is merged when another block needs one: `fifo` or `lru`. Default `fifo`.
    #[serde(default)]
    pub replacement: LogReplacement,
}

/// Log blocks that serve all blocks of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FastMapping {
    /// Log blocks of the drive for random writes, evenly over its dies (superblocks, over their
    /// groups); they come out of the spare area, as does one more of each die for sequential
    /// writes.
    pub log_blocks: u32,
}

/// Zones of the logical space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZonedMapping {
    /// Bytes of the logical space that a zone takes: a multiple of a block of each of its dies
    /// (superblocks: of each of their groups).
    #[serde(deserialize_with = "bytes_or_text")]
    #[schemars(schema_with = "size_schema")]
    pub zone_bytes: u64,
    /// Bytes of a zone that can be written, whole map units; default all.
    #[serde(default, deserialize_with = "optional_bytes", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "size_schema")]
    pub zone_capacity_bytes: Option<u64>,
    /// Zones that may be open; at least 1. Default 14.
    #[serde(default = "fourteen")]
    pub open_zones_max: u32,
    /// Zones that may be open or closed, with data and room for more; at least `open_zones_max`.
    /// Default 14.
    #[serde(default = "fourteen")]
    pub active_zones_max: u32,
    /// Dies that a zone occupies, which divide those of the drive (superblocks: whole groups); zone
    /// z begins at die z times as many, and so on round the drive. Default all dies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub zone_dies: Option<u32>,
    /// Whether zone z begins at die z (superblocks: at group z), and so on round the drive. Without
    /// it, zones that are written side by side wait for the same die, page by page. Default false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stagger: bool,
    /// Random write areas of zones, in the memory of the drive, `{areas: 2, size_bytes: 64KiB,
    /// flush_granularity_bytes: 16KiB}`: zones that may have one, bytes of one, and bytes by which
    /// a write pointer moves; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zrwa: Option<ZrwaConfig>,
}

/// Areas behind write pointers that are written in any order (ZRWA).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZrwaConfig {
    /// Zones that may have an area: 1 to `active_zones_max`.
    #[schemars(range(min = 1))]
    pub areas: u32,
    /// Bytes of an area: a multiple of the granularity, at most the capacity of a zone.
    #[serde(deserialize_with = "bytes_or_text")]
    #[schemars(schema_with = "size_schema")]
    pub size_bytes: u64,
    /// Bytes by which the write pointer of a zone with an area moves: whole map units, of which the
    /// capacity of a zone is a multiple.
    #[serde(deserialize_with = "bytes_or_text")]
    #[schemars(schema_with = "size_schema")]
    pub flush_granularity_bytes: u64,
}

fn fourteen() -> u32 {
    14
}

impl ZonedMapping {
    /// Bytes of a zone that can be written.
    pub fn capacity_bytes(&self) -> u64 {
        self.zone_capacity_bytes.unwrap_or(self.zone_bytes)
    }

    /// Where the pages of zones are on a drive, given the dies of each of its pools.
    pub fn layout(&self, geometry: &Geometry, dies_per_pool: u32) -> ZoneLayout {
        let dies = geometry.die_count;
        ZoneLayout {
            zone_pages: (self.zone_bytes / geometry.page_bytes) as u32,
            pages_per_block: geometry.pages_per_block,
            dies,
            zone_dies: self.zone_dies.map_or(dies, |zone_dies| zone_dies / dies_per_pool),
            is_staggered: self.stagger,
        }
    }
}

impl MappingConfig {
    /// The parameters of zones.
    pub fn zoned(&self) -> Option<&ZonedMapping> {
        match self {
            Self::Zoned(config) => Some(config),
            _ => None,
        }
    }

    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Page(_) => "page",
            Self::Dftl(_) => "dftl",
            Self::Block(_) => "block",
            Self::Bast(_) => "bast",
            Self::Fast(_) => "fast",
            Self::Zoned(_) => "zoned",
        }
    }

    /// Whether the map of pages is in RAM as a whole, as drives have it by default.
    pub fn is_page(&self) -> bool {
        matches!(self, Self::Page(_))
    }

    /// Whether pages are at fixed offsets of blocks, which are merged, or reset with their zone.
    pub fn merges(&self) -> bool {
        matches!(self, Self::Block(_) | Self::Bast(_) | Self::Fast(_) | Self::Zoned(_))
    }

    /// The parameters of a cached map.
    pub fn dftl(&self) -> Option<&DftlMapping> {
        match self {
            Self::Dftl(config) => Some(config),
            _ => None,
        }
    }

    /// Log blocks of the drive for which there is a key.
    pub fn log_blocks(&self) -> Option<u32> {
        match self {
            Self::Bast(config) => Some(config.log_blocks),
            Self::Fast(config) => Some(config.log_blocks),
            _ => None,
        }
    }

    /// Good blocks of each of `pools` pools that hold no data permanently: log blocks, and one to
    /// merge into.
    pub(crate) fn merge_blocks(&self, pools: u32) -> u32 {
        match self {
            Self::Page(_) | Self::Dftl(_) | Self::Zoned(_) => 0,
            Self::Block(_) => 1,
            Self::Bast(config) => config.log_blocks / pools + 1,
            Self::Fast(config) => config.log_blocks / pools + 2,
        }
    }
}

/// The request of the host that a page belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Request {
    pub(crate) number: u64,
    pub(crate) page_count: u32,
}

/// What a scheme did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingCounters {
    /// Entries of the map that commands asked for.
    pub lookups: u64,
    /// Those that were not in the cache.
    pub misses: u64,
    /// Those of them whose map page was never written, so that nothing was read.
    pub unwritten: u64,
    /// Changed entries that left the cache.
    pub dirty_evictions: u64,
    /// Other changed entries that were written with them.
    pub batched_entries: u64,
    /// Map pages that were read to be changed.
    pub update_reads: u64,
    /// Map pages that were changed.
    pub update_programs: u64,
    /// Map pages that were moved.
    pub moved: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Map pages that they have read and changed.
    pub checkpoint_pages: u64,
    /// Merges that took a log block as it was.
    pub switch_merges: u64,
    /// Merges that completed a log block.
    pub partial_merges: u64,
    /// Merges into another block.
    pub full_merges: u64,
}

impl MappingCounters {
    const COUNT: usize = 13;

    fn fields(&mut self) -> [&mut u64; Self::COUNT] {
        [
            &mut self.lookups,
            &mut self.misses,
            &mut self.unwritten,
            &mut self.dirty_evictions,
            &mut self.batched_entries,
            &mut self.update_reads,
            &mut self.update_programs,
            &mut self.moved,
            &mut self.checkpoints,
            &mut self.checkpoint_pages,
            &mut self.switch_merges,
            &mut self.partial_merges,
            &mut self.full_merges,
        ]
    }

    /// The counts since `then`.
    #[must_use]
    pub fn since(mut self, mut then: Self) -> Self {
        let earlier = then.fields();
        self.fields().into_iter().zip(earlier).for_each(|(now, before)| *now -= *before);
        self
    }
}

impl std::ops::AddAssign for MappingCounters {
    fn add_assign(&mut self, mut other: Self) {
        let counts = other.fields();
        self.fields().into_iter().zip(counts).for_each(|(sum, count)| *sum += *count);
    }
}
