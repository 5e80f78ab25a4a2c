//! The workload file: declared here once, with defaults and ranges, and compiled to a [`Job`].
//!
//! `resolve` fills the defaults in and checks everything against the device it is meant for;
//! resolving its own output again changes nothing, which is what makes a result file replayable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{
    name_or_mapping_schema, optional_bytes, refuse, size_schema, whole, whole_sectors,
};
use super::load::{Arrivals, LoadConfig};
use super::pattern::random::RandomConfig;
use super::pattern::{Extent, PatternConfig};
use super::precondition::{PreconditionStep, StepContext};
use super::size::{BlockSizes, SizeMix};
use super::synthetic::{OpMix, SyntheticParts};
use super::total::TotalConfig;
use super::{Admission, Generator, Job, Space, Stage};
use crate::config::{name_or_mapping, parse, ConfigError};
use crate::op::HostOp;
use crate::rng::Rng;
use crate::units::SECTOR_BYTES;

/// Queue depth of timed preconditioning when the workload itself is an open loop.
const PRECONDITION_QUEUE_DEPTH: u32 = 32;

/// What a trim aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrimTarget {
    /// Any address that the pattern draws.
    Any,
    /// An address that holds data: it is drawn again until it does.
    Mapped,
}

/// A synthetic workload, as a file declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["total"]))]
pub struct WorkloadConfig {
    /// Shown in tables and result files; default `workload`.
    pub name: String,
    /// Where requests go: a name, or a mapping with parameters such as
    /// `{kind: hot_cold, fraction: 0.2, share: 0.8}`; default `random`.
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
    /// Request size in bytes, as text such as 4KiB, or a map of size to weight; multiples of 512 B
    /// up to 1 GiB; default 4096.
    pub block_size_bytes: BlockSizes,
    /// Requests start at multiples of this many bytes, a multiple of 512; default the smallest
    /// block size. `sequential` ignores it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub align_bytes: Option<u64>,
    /// Requests outstanding, 1 to 65536, or how they arrive: `{arrival: poisson, iops: 50000}`;
    /// default 1.
    pub queue_depth: LoadConfig,
    /// Whether the run has a clock; without one latency and throughput are not measured. Default
    /// true.
    pub timed: bool,
    /// How much is asked; no default.
    pub total: TotalConfig,
    /// The part of the logical space in use, from its start, in percent; above 0, at most 100;
    /// default 100.
    #[schemars(range(min = 0, max = 100))]
    pub active_range_pct: f64,
    /// Steps to run before measuring; nothing of them enters the metrics. Default none.
    pub precondition: Vec<PreconditionStep>,
    /// Points of each series of the result; 1 to 100000; default 100.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 100_000))]
    pub samples: u32,
}

impl Default for WorkloadConfig {
    fn default() -> Self {
        Self {
            name: "workload".to_owned(),
            pattern: PatternConfig::Random(RandomConfig {}),
            read_pct: 0.0,
            trim_pct: 0.0,
            trim_target: TrimTarget::Any,
            block_size_bytes: BlockSizes::one(4096),
            align_bytes: None,
            queue_depth: LoadConfig::Closed(1),
            timed: true,
            total: TotalConfig::default(),
            active_range_pct: 100.0,
            precondition: Vec::new(),
            samples: 100,
        }
    }
}

impl WorkloadConfig {
    /// Reads a workload for a device of this `space`: defaults filled in, everything checked.
    ///
    /// # Errors
    /// The dotted path of the first key that cannot be, its value, and what is accepted.
    pub fn resolve(json: &str, space: Space) -> Result<Self, ConfigError> {
        let mut config: Self = parse(json)?;
        config.check_values()?;
        let align_bytes = *config.align_bytes.get_or_insert(config.block_size_bytes.bytes_min());
        whole_sectors("align_bytes", align_bytes)?;
        config.check_space(space)?;
        config.check_total()?;
        for (index, step) in config.precondition.iter_mut().enumerate() {
            step.resolve(&format!("precondition[{index}]"))?;
        }
        Ok(config)
    }

    /// The resolved workload, for result files.
    ///
    /// # Panics
    /// Never: every key is text and every checked number finite.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("every key is text and every number finite")
    }

    /// The JSON schema of the workload file.
    pub fn schema() -> Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Compiles the workload for the device it was resolved for.
    pub fn job(&self, space: Space, seed: u64) -> Job {
        let admission = self.queue_depth.admission();
        let pattern = |index| {
            let parts = self.parts(space, seed, &format!("precondition.{index}"));
            let writes = SyntheticParts { operations: OpMix::writes(), arrivals: None, ..parts };
            self.pattern.generator(writes, seed)
        };
        let context = StepContext { space, admission: closed(admission), pattern: &pattern };
        let steps = self.precondition.iter().enumerate();
        let measured = Stage {
            label: self.name.clone(),
            generator: self.generator(space, seed),
            admission,
            timed: self.timed,
            limit: self.total.limit(space),
            until: None,
        };
        Job {
            precondition: steps.map(|(index, step)| step.stage(index, &context)).collect(),
            measured: Some(measured),
            sample_count: self.samples,
            resolved: self.to_json(),
            warnings: Vec::new(),
        }
    }

    /// The commands of the measured part alone.
    pub fn generator(&self, space: Space, seed: u64) -> Box<dyn Generator> {
        self.pattern.generator(self.parts(space, seed, "workload"), seed)
    }

    fn parts(&self, space: Space, seed: u64, streams: &str) -> SyntheticParts {
        let stream = |name: &str| Rng::stream(seed, &format!("{streams}.{name}"));
        SyntheticParts {
            extent: self.extent(space),
            sizes: SizeMix::new(&self.block_size_bytes, stream("size")),
            operations: OpMix {
                read_share: self.read_pct / 100.0,
                read_trim_share: (self.read_pct + self.trim_pct) / 100.0,
                trim: match self.trim_target {
                    TrimTarget::Any => HostOp::Trim,
                    TrimTarget::Mapped => HostOp::TrimMapped,
                },
                rng: stream("op"),
            },
            arrivals: Arrivals::of(&self.queue_depth, stream("arrival")),
            address_rng: stream("address"),
            retarget_rng: stream("retarget"),
        }
    }

    fn extent(&self, space: Space) -> Extent {
        let align_bytes = self.align_bytes.unwrap_or(self.block_size_bytes.bytes_min());
        // 100 % is exact at any capacity; otherwise rounded down to a sector.
        let active_bytes = if self.active_range_pct >= 100.0 {
            space.logical_bytes
        } else {
            (space.logical_bytes as f64 * self.active_range_pct / 100.0) as u64
        };
        Extent {
            sector_count: active_bytes / SECTOR_BYTES,
            align_sectors: align_bytes / SECTOR_BYTES,
        }
    }

    fn check_values(&self) -> Result<(), ConfigError> {
        if self.name.trim().is_empty() {
            return Err(refuse("name", &self.name, "text that is not blank"));
        }
        for (path, share) in [("read_pct", self.read_pct), ("trim_pct", self.trim_pct)] {
            if !(0.0..=100.0).contains(&share) {
                return Err(refuse(path, share, "0 to 100"));
            }
        }
        if self.read_pct + self.trim_pct > 100.0 {
            let accepted =
                format!("0 to {} beside read_pct {}", 100.0 - self.read_pct, self.read_pct);
            return Err(refuse("trim_pct", self.trim_pct, &accepted));
        }
        if !(self.active_range_pct > 0.0 && self.active_range_pct <= 100.0) {
            return Err(refuse("active_range_pct", self.active_range_pct, "above 0, at most 100"));
        }
        if !(1..=100_000).contains(&self.samples) {
            return Err(refuse("samples", self.samples, "1 to 100000"));
        }
        self.block_size_bytes.check("block_size_bytes")?;
        self.queue_depth.check("queue_depth")?;
        self.total.check("total")
    }

    fn check_space(&self, space: Space) -> Result<(), ConfigError> {
        let extent = self.extent(space);
        let largest = self.block_size_bytes.bytes_max();
        let sectors_max = (largest / SECTOR_BYTES) as u32;
        if extent.starts(sectors_max) == 0 {
            let accepted = format!(
                "at most {} B, the active range ({} % of {} B)",
                extent.sector_count * SECTOR_BYTES,
                self.active_range_pct,
                space.logical_bytes
            );
            return Err(refuse("block_size_bytes", largest, &accepted));
        }
        self.pattern
            .check(extent, &self.block_size_bytes.sector_counts())
            .map_err(|error| error.under("pattern"))
    }

    fn check_total(&self) -> Result<(), ConfigError> {
        if self.total.drive_writes.is_some() && self.read_pct + self.trim_pct >= 100.0 {
            let message =
                "nothing is written with read_pct and trim_pct at 100 together; accepted: \
                           bytes, ios or seconds";
            return Err(ConfigError::new("total.drive_writes", message));
        }
        if self.timed {
            return Ok(());
        }
        if self.total.seconds.is_some() {
            let message =
                "an untimed run has no seconds; accepted: `timed: true`, or drive_writes, \
                           bytes or ios";
            return Err(ConfigError::new("total.seconds", message));
        }
        if self.queue_depth.admission() == Admission::Open {
            let message =
                "an untimed run has no arrival times; accepted: `timed: true`, or a number";
            return Err(ConfigError::new("queue_depth", message));
        }
        Ok(())
    }
}

/// Preconditioning never waits for arrivals.
pub(crate) fn closed(admission: Admission) -> Admission {
    match admission {
        Admission::Closed { .. } => admission,
        Admission::Open => Admission::Closed { queue_depth: PRECONDITION_QUEUE_DEPTH },
    }
}
