//! Options of an FTL beyond the plain log; each is off unless a device file asks for it.
//!
//! | key | off | effect |
//! |---|---|---|
//! | `allocation` | `CDP` | which die a logical page goes to |
//! | `collection` | `whole` | whole collections, steps that the host can pass, or bursts |
//! | `idle_collection` | `none` | collecting ahead of need while no command comes |
//! | `refresh` | `none` | moving data that is old, or has too many bit errors |
//! | `copyback` | `none` | moving pages inside the die |
//! | `slc_cache` | `none` | host writes to blocks of one bit per cell first |
//! | `map_checkpoint` | `none` | writing parts of the map out, all at once |
//! | `parity` | `none` | pages that protect their block, or the same rows of other dies |
//! | `compression` | `none` | logical pages smaller than physical ones |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{bytes_or_text, is_default, size_schema};

/// When writes that wait for the rest of their program unit complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WritesComplete {
    /// When the memory of the controller has the data.
    #[default]
    InMemory,
    /// When the flash has the data.
    Programmed,
}

/// Whether a collection is one piece.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CollectionConfig {
    /// A write that needs room waits for a whole collection; nothing is collected before.
    Whole(WholeCollection),
    /// A collection goes in steps of a few pages, and starts before room runs out.
    Steps(SteppedCollection),
    /// Collections begin when the last erased superblock is opened, and writes of the host wait
    /// until it has raised the free space.
    Bursts(BurstCollection),
}

impl Default for CollectionConfig {
    fn default() -> Self {
        Self::Whole(WholeCollection {})
    }
}

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WholeCollection {}

/// When steps of collections run, by the number of spare blocks of a die: erased blocks beyond the
/// reserve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SteppedCollection {
    /// Pages that a step moves; 1 to 65535. With superblocks, a row of program units at least.
    pub step_pages: u32,
    /// Number of spare blocks of a die at which, and above, blocks are collected in idle time only;
    /// below it, steps run while nothing else waits for the die.
    pub soft_spare_blocks: u32,
    /// Spare blocks of a die below which steps keep pace with the writes of the host: a victim is
    /// emptied while the host writes as many pages as the victim frees. At most
    /// `soft_spare_blocks`. Without a spare block, writes wait; with superblocks, they also wait to
    /// keep this pace.
    pub hard_spare_blocks: u32,
}

impl Default for SteppedCollection {
    fn default() -> Self {
        Self { step_pages: 8, soft_spare_blocks: 3, hard_spare_blocks: 1 }
    }
}

/// When a burst of collections ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BurstCollection {
    /// Superblocks, without them blocks of a die, by which a burst raises the free space; above 0.
    /// A part of a victim's pages that has moved counts as the same part of a superblock, so parts
    /// of 1 make short bursts.
    pub superblocks: f64,
}

impl Default for BurstCollection {
    fn default() -> Self {
        Self { superblocks: 1.0 }
    }
}

/// Collecting ahead of need while no command comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleCollection {
    /// Time without a command after which a die counts as idle, in microseconds.
    pub after_us: f64,
    /// Spare blocks of a die at which idle collection stops.
    pub spare_blocks_goal: u32,
}

/// Moving data that is old, or that has too many bit errors, and erasing its block. At least one
/// key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    /// Days of simulated time after which the data of a block is moved, from when the last page of
    /// the block was written; 1e-6 to 36500, fractions of a day too. The clock runs in timed
    /// stages, cells and idle times and continues from each to the next. Untimed stages have no
    /// clock, and nothing becomes due there; blocks that they closed count as closed evenly over
    /// this time before the clock runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_days: Option<f64>,
    /// Raw bit error rate above which a block is refreshed, once until it is erased: the rate that
    /// the error model gives, for the stress of the block, to the first read (before any retry) of
    /// one of its pages by the host or a patrol; above 0, below 0.5. It acts in timed stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_rber: Option<f64>,
}

/// Writing parts of the map out, all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapCheckpoint {
    /// Number of map units that the host writes from one checkpoint to the next; at least 1.
    #[schemars(range(min = 1))]
    pub every_writes: u64,
    /// Map pages of a checkpoint, 1 to 65536: each takes the next ones in turn, and those of them
    /// that have entries are read and programmed with all changes. Writes of the host wait behind
    /// them on their dies. With a map in RAM, pages of the flash, in turn on all dies, programmed
    /// alone and dead at once.
    #[schemars(range(min = 1, max = 65_536))]
    pub pages: u32,
}

/// Moving pages inside the die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copyback {
    /// Number of consecutive copies of the same data without correction; 1 to 255. The next move
    /// goes over the bus, through the decoder.
    #[serde(default = "default_copyback_limit")]
    pub limit: u8,
}

fn default_copyback_limit() -> u8 {
    3
}

/// What a host write does when no block of the cache is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It goes to a block of full density.
    #[default]
    Direct,
    /// The oldest block of the cache is folded into blocks of full density first.
    Fold,
}

/// Host writes to blocks of one bit per cell first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SlcCacheConfig {
    /// None: all blocks are written at full density.
    None(NoSlcCache),
    /// Some blocks of each die are the cache for good. They come out of the spare area.
    Static(StaticSlcCache),
    /// Erased blocks serve as cache while there are enough of them.
    Dynamic(DynamicSlcCache),
    /// Some blocks are the cache for good, and erased blocks add to it up to a limit.
    Hybrid(HybridSlcCache),
}

impl Default for SlcCacheConfig {
    fn default() -> Self {
        Self::None(NoSlcCache {})
    }
}

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSlcCache {}

/// A cache of fixed size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticSlcCache {
    /// Blocks of each die that are the cache; at least 2.
    pub blocks_per_die: u32,
    /// What a write does when none is free: `direct` or `fold`.
    #[serde(default)]
    pub when_full: WhenFull,
    /// Rated program/erase cycles of these blocks. Default: ten times those of the flash (assumed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pe_cycles: Option<u32>,
}

/// A cache as large as the erased blocks allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicSlcCache {
    /// Spare blocks of a die, erased beyond the reserve, that the cache leaves alone.
    #[serde(default = "default_min_erased")]
    pub min_erased_blocks: u32,
    /// What a write does when no more may be taken: `direct` or `fold`.
    #[serde(default)]
    pub when_full: WhenFull,
}

fn default_min_erased() -> u32 {
    2
}

/// A cache of a fixed part and of erased blocks, as client drives have it. Sizes are those of the
/// whole drive at one bit per cell, rounded to whole blocks of each die; at least one is above 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HybridSlcCache {
    /// Bytes of the part that is cache for good, out of the spare area; rounded up to two blocks of
    /// each die. Default 0.
    #[serde(default, deserialize_with = "bytes_or_text", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "size_schema")]
    pub static_bytes: u64,
    /// Bytes that erased blocks add at most. Default 0.
    #[serde(default, deserialize_with = "bytes_or_text", skip_serializing_if = "is_default")]
    #[schemars(schema_with = "size_schema")]
    pub dynamic_bytes_max: u64,
    /// When blocks of the cache are folded: in pauses of the host (`idle`, with
    /// `ftl.idle_collection`), when a write finds none free (`full`; else it goes to a block of
    /// full density), or `both`. Default `full`.
    #[serde(default)]
    pub fold: FoldWhen,
    /// Pages folded for each page that the host writes past the full cache, 0 to 8; the cache then
    /// takes no writes until all of it is folded and the host pauses; in untimed stages, until it
    /// is folded. Needs `fold: idle`. Default 0: none.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0.0, max = 8.0))]
    pub fold_beside: f64,
    /// Spare blocks of a die, erased beyond the reserve, that the cache leaves alone.
    #[serde(default = "default_min_erased")]
    pub min_erased_blocks: u32,
    /// Rated program/erase cycles of the static part. Default: ten times those of the flash
    /// (assumed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pe_cycles: Option<u32>,
}

/// When a cache is folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoldWhen {
    /// In pauses of the host.
    Idle,
    /// When a write finds no block of the cache free.
    #[default]
    Full,
    /// Both.
    Both,
}

/// Pages that protect others.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Parity {
    /// Of the same block.
    Stripe(StripeParity),
    /// Of other dies.
    Dies(DieParity),
}

/// Pages that protect their block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StripeParity {
    /// Pages of a stripe, the last of which is parity over the others; 2 to 65535.
    pub stripe: u32,
}

/// Pages that protect the pages of other dies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DieParity {
    /// The last member of each row of a superblock, in turn, holds the parity of the others; needs
    /// `allocation: superblock`.
    DieStripe(DieStripe),
}

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DieStripe {}

impl<'de> Deserialize<'de> for Parity {
    fn deserialize<D: serde::Deserializer<'de>>(de: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = serde_json::Value::deserialize(de)?;
        let parity = if value.get("kind").is_some() {
            serde_json::from_value(value).map(Self::Dies)
        } else {
            serde_json::from_value(value).map(Self::Stripe)
        };
        parity.map_err(D::Error::custom)
    }
}

/// Compressibility of the data of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DataKind {
    /// It does not compress.
    Random,
    /// It compresses to `ratio`.
    File,
}

/// Logical pages smaller than physical ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compression {
    /// What the host writes: `random` (incompressible) or `file`.
    pub data: DataKind,
    /// Size of compressed `file` data divided by its uncompressed size; above 0, at most 1.
    /// `random` data is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

impl Compression {
    /// Compressed size over size.
    pub fn ratio(&self) -> f64 {
        match self.data {
            DataKind::Random => 1.0,
            DataKind::File => self.ratio.unwrap_or(1.0),
        }
    }
}

/// A section that the word `none` switches off.
pub(super) mod none_or {
    use schemars::JsonSchema;
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    /// Documentation only: what such a key accepts.
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code)]
    pub enum NoneOr<T> {
        /// Off.
        Off(NoneWord),
        /// On.
        On(T),
    }

    /// The word.
    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[allow(dead_code)]
    pub enum NoneWord {
        /// Off.
        None,
    }

    // Serde hands over the field itself.
    #[allow(clippy::ref_option)]
    pub fn serialize<S: Serializer, T: Serialize>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            None => serializer.serialize_str("none"),
            Some(value) => value.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: DeserializeOwned>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::String(word) if word == "none" => Ok(None),
            Value::String(word) => Err(D::Error::custom(format!(
                "`{word}` is not a valid setting; accepted: none, or a mapping with its parameters"
            ))),
            other => serde_json::from_value(other).map(Some).map_err(D::Error::custom),
        }
    }
}
