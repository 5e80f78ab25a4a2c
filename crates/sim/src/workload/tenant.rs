//! Tenants: several hosts share the drive, each with requests, a part of the space and a submission
//! queue of its own.
//!
//! Every tenant draws from streams of randomness that carry its name, so another tenant moves none
//! of its requests. How the drive shares itself out between the queues is `host.protocol`'s
//! decision.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{
    name_or_mapping_schema, optional_bytes, optional_whole, refuse, size_schema, whole,
    whole_sectors,
};
use super::config::{is_zero, TrimTarget};
use super::idle::IdleConfig;
use super::load::LoadConfig;
use super::pattern::random::RandomConfig;
use super::pattern::PatternConfig;
use super::size::BlockSizes;
use super::traffic::Traffic;
use super::{Generator, Host, Load, Space};
use crate::config::{name_or_mapping, ConfigError};
use crate::op::{HostCommand, Priority};
use crate::rng::Rng;

/// Most tenants of a workload.
pub(super) const TENANTS_MAX: usize = 64;

/// Largest weight of a tenant.
const WEIGHT_MAX: u32 = 1000;

/// One of the hosts that share the drive. Keys that describe its requests mean what they mean for a
/// workload, and have the same defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TenantConfig {
    /// Shown in tables and result files, different for every tenant; default `tenant-` and its
    /// number.
    pub name: String,
    /// Its share beside the others, 1 to 1000: what `weighted_queues` arbitration gives it, and
    /// what fairness is measured against; default 1.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: u32,
    /// `urgent`, `high`, `medium` or `low`, for `weighted_round_robin` arbitration; default
    /// `medium`.
    pub priority: Priority,
    /// Where requests go, within its range: a name, or a mapping with parameters; default `random`.
    #[serde(deserialize_with = "name_or_mapping")]
    #[schemars(schema_with = "name_or_mapping_schema::<PatternConfig>")]
    pub pattern: PatternConfig,
    /// Share of requests that read, in percent by count; 0 to 100; default 0.
    #[schemars(range(min = 0, max = 100))]
    pub read_pct: f64,
    /// Share of requests that trim, in percent by count; 0 to 100, at most 100 with `read_pct`;
    /// default 0.
    #[schemars(range(min = 0, max = 100))]
    pub trim_pct: f64,
    /// What trims aim at: `any` address of the pattern, or `mapped` data only; default `any`.
    pub trim_target: TrimTarget,
    /// Request size in bytes, as text such as 4KiB, or a map of size to weight; default 4096.
    pub block_size_bytes: BlockSizes,
    /// Requests start at multiples of this many bytes, a multiple of 512; default the smallest
    /// block size.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub align_bytes: Option<u64>,
    /// Requests outstanding, 1 to 65536, or how they arrive: `{arrival: poisson, iops: 50000}`;
    /// default 1.
    pub queue_depth: LoadConfig,
    /// A flush command after so many requests; at least 1; default none.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    #[schemars(range(min = 1))]
    pub flush_every: Option<u64>,
    /// Share of the writes with force unit access, in percent; 0 to 100; default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 100))]
    pub fua_pct: f64,
    /// Bursts with pauses between them, `{busy: {seconds: 5}, idle_ms: 5000}`; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConfig>,
    /// The part of the logical space that it uses, `[from, to]` in percent, 0 to 100; rounded down
    /// to pages. Parts may overlap. Default all of it.
    pub range_pct: [f64; 2],
}

impl Default for TenantConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            weight: 1,
            priority: Priority::default(),
            pattern: PatternConfig::Random(RandomConfig {}),
            read_pct: 0.0,
            trim_pct: 0.0,
            trim_target: TrimTarget::Any,
            block_size_bytes: BlockSizes::one(4096),
            align_bytes: None,
            queue_depth: LoadConfig::Closed(1),
            flush_every: None,
            fua_pct: 0.0,
            idle: None,
            range_pct: [0.0, 100.0],
        }
    }
}

impl TenantConfig {
    /// Fills the defaults in and refuses what cannot be, seen from the tenant.
    pub(super) fn resolve(&mut self, index: usize, space: Space) -> Result<(), ConfigError> {
        if self.name.is_empty() {
            self.name = format!("tenant-{index}");
        }
        if self.name.trim().is_empty() {
            return Err(refuse("name", &self.name, "text that is not blank"));
        }
        if !(1..=WEIGHT_MAX).contains(&self.weight) {
            return Err(refuse("weight", self.weight, "1 to 1000"));
        }
        let [from, to] = self.range_pct;
        if !(from >= 0.0 && from < to && to <= 100.0) {
            let accepted = "[from, to] with 0 <= from < to <= 100";
            return Err(refuse("range_pct", format!("[{from}, {to}]"), accepted));
        }
        self.traffic().check_values()?;
        let align_bytes = *self.align_bytes.get_or_insert(self.block_size_bytes.bytes_min());
        whole_sectors("align_bytes", align_bytes)?;
        self.traffic().check_space(space)
    }

    pub(super) fn traffic(&self) -> Traffic<'_> {
        Traffic {
            pattern: &self.pattern,
            read_pct: self.read_pct,
            trim_pct: self.trim_pct,
            trim_target: self.trim_target,
            block_size_bytes: &self.block_size_bytes,
            align_bytes: self.align_bytes,
            queue_depth: &self.queue_depth,
            flush_every: self.flush_every,
            fua_pct: self.fua_pct,
            idle: self.idle.as_ref(),
            range_pct: self.range_pct,
            has_whole_pages: true,
        }
    }

    /// The load of tenant `index`.
    pub(super) fn load(&self, index: usize, space: Space, seed: u64) -> Load {
        let streams = format!("tenant.{}", self.name);
        // Tenants with the same pattern on the same range have hot places of their own.
        let shuffle_seed = Rng::stream(seed, &format!("{streams}.shuffle")).next_u64();
        let traffic = self.traffic();
        let generator = Tenanted {
            inner: traffic.generator(space, seed, &streams, shuffle_seed),
            tenant: index as u8,
            first_sector: traffic.first_sector(space),
        };
        let host = Host { name: self.name.clone(), weight: self.weight, priority: self.priority };
        Load { host, ..traffic.load(Box::new(generator)) }
    }
}

/// Names that occur twice.
pub(super) fn check_names(tenants: &[TenantConfig]) -> Result<(), ConfigError> {
    for (index, tenant) in tenants.iter().enumerate() {
        if tenants[..index].iter().any(|other| other.name == tenant.name) {
            let message = format!(
                "`{}` is the name of another tenant too; accepted: names that differ, since each \
                 names its randomness",
                tenant.name
            );
            return Err(ConfigError::new(format!("tenants[{index}].name"), message));
        }
    }
    Ok(())
}

/// The commands of a tenant: moved to its range, with its number.
struct Tenanted {
    inner: Box<dyn Generator>,
    tenant: u8,
    first_sector: u64,
}

impl Generator for Tenanted {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        let first = batch.len();
        self.inner.fill(batch, count);
        for command in &mut batch[first..] {
            command.tenant = self.tenant;
            command.sector += if command.sector_count > 0 { self.first_sector } else { 0 };
        }
    }

    fn retarget(&mut self, command: &mut HostCommand) {
        command.sector -= self.first_sector;
        self.inner.retarget(command);
        command.sector += self.first_sector;
    }
}
