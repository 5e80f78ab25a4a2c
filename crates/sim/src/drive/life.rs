//! The life of a drive, apart from its flash: counts, an unfinished purge, the notes of front ends.
//! Losses of power do not end it, and images keep it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::host_counters::Asides;
use crate::host::activity::Activity;
use crate::op::Purpose;
use crate::units::{BlockId, SECTOR_BYTES};

/// How a drive forgets its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PurgeKind {
    /// Every good block is erased once more.
    Erase,
    /// The key is replaced: the map is empty, and blocks are erased when they are needed.
    Crypto,
}

/// A purge, as who asks for it names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PurgeOrder {
    /// How.
    pub kind: PurgeKind,
    /// Kept with the purge, and after its end; 0: nothing is kept.
    pub mark: u32,
}

/// A purge that waits for power, or for its image to be served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unfinished {
    pub(crate) order: PurgeOrder,
    /// Blocks that it erases, once it has begun.
    pub(crate) all: u32,
    /// Those that are left; `None`: it has not begun.
    pub(crate) left: Option<Vec<BlockId>>,
}

/// The last purge with a mark that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purged {
    /// Of its order.
    pub mark: u32,
    /// Bytes that hosts had written by then.
    pub written_bytes: u64,
    /// Such purges by then.
    pub count: u64,
}

/// Counts that belong to the whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Totals {
    /// Bytes of sectors that hosts read and wrote.
    pub host_bytes: [u64; 2],
    /// Commands of hosts that read and wrote.
    pub host_commands: [u64; 2],
    /// Those among them that the logs count apart.
    pub asides: Asides,
    /// Bytes that were read from the flash and programmed.
    pub flash_bytes: [u64; 2],
    /// Reads that ended without the data: uncorrectable, or other than the data written.
    pub media_errors: u64,
    /// Page reads that a retry has corrected.
    pub recovered_reads: u64,
    /// Blocks that were refreshed.
    pub refreshed_blocks: u64,
}

impl Totals {
    /// Commands and bytes of a purpose.
    pub fn of(&self, purpose: Purpose) -> [u64; 2] {
        let [commands, sectors] = self.asides.0[purpose as usize];
        [commands, sectors * SECTOR_BYTES]
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for way in 0..2 {
            self.host_bytes[way] += other.host_bytes[way];
            self.host_commands[way] += other.host_commands[way];
            self.flash_bytes[way] += other.flash_bytes[way];
        }
        self.asides = self.asides.zip(&other.asides, |one, other| one + other);
        self.media_errors += other.media_errors;
        self.recovered_reads += other.recovered_reads;
        self.refreshed_blocks += other.refreshed_blocks;
        self
    }
}

/// Times with power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// Times that the power came.
    pub power_cycles: u64,
    /// Times that it went without notice.
    pub unsafe_shutdowns: u64,
    /// Nanoseconds of the model.
    pub age_ns: u64,
}

impl Service {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            power_cycles: self.power_cycles + other.power_cycles,
            unsafe_shutdowns: self.unsafe_shutdowns + other.unsafe_shutdowns,
            age_ns: self.age_ns + other.age_ns,
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Life {
    /// Before the counters of the present session began.
    pub(crate) past: Totals,
    /// Before it was served this time.
    pub(crate) service: Service,
    pub(crate) unfinished: Option<Unfinished>,
    pub(crate) purged: Option<Purged>,
    /// Times of its requests.
    pub(crate) activity: Activity,
    /// Notes of front ends, by their name.
    pub(crate) notes: BTreeMap<String, Value>,
}
