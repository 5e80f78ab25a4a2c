//! The workload file: declared here once, with defaults and ranges, and compiled to a [`Job`].
//!
//! `resolve` fills the defaults in and checks everything against the device it is meant for;
//! resolving its own output again changes nothing, which is what makes a result file replayable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{
    name_or_mapping_schema, optional_bytes, optional_whole, refuse, size_schema, whole,
    whole_sectors,
};
use super::idle::IdleConfig;
use super::load::LoadConfig;
use super::pattern::random::RandomConfig;
use super::pattern::PatternConfig;
use super::precondition::{PreconditionStep, StepContext};
use super::size::BlockSizes;
use super::synthetic::SyntheticParts;
use super::tenant::{check_names, TenantConfig, TENANTS_MAX};
use super::total::TotalConfig;
use super::traffic::Traffic;
use super::{Admission, Generator, Job, Load, Space, Stage};
use crate::config::{name_or_mapping, parse, ConfigError};

/// Queue depth of timed preconditioning when the workload itself is an open loop.
const PRECONDITION_QUEUE_DEPTH: u32 = 32;

/// Serde helper: keys that are zero unless asked for.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(super) fn is_zero(value: &f64) -> bool {
    value.to_bits() == 0
}

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
    /// A flush command after so many requests; at least 1; default none. It counts as a request of
    /// `total`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    #[schemars(range(min = 1))]
    pub flush_every: Option<u64>,
    /// Share of the writes with force unit access (complete only in the flash), in percent; 0 to
    /// 100; default 0.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 100))]
    pub fua_pct: f64,
    /// Bursts with pauses between them, `{busy: {seconds: 5}, idle_ms: 5000}`; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConfig>,
    /// Hosts that share the drive, at most 64, each with requests of its own; the keys above then
    /// only describe what preconditioning writes. Default none: one host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantConfig>,
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
            flush_every: None,
            fua_pct: 0.0,
            idle: None,
            tenants: Vec::new(),
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
        config.traffic().check_space(space)?;
        config.resolve_tenants(space)?;
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
            let parts = self.traffic().parts(space, seed, &format!("precondition.{index}"));
            let operations = parts.operations.without_reads();
            let changes = SyntheticParts { operations, arrivals: None, ..parts };
            self.pattern.generator(changes, seed)
        };
        let context = StepContext { space, admission: closed(admission), pattern: &pattern };
        let steps = self.precondition.iter().enumerate();
        let measured = Stage {
            label: self.name.clone(),
            loads: self.loads(space, seed),
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

    /// The commands of the measured part alone, of a workload without tenants.
    pub fn generator(&self, space: Space, seed: u64) -> Box<dyn Generator> {
        self.traffic().generator(space, seed, "workload", seed)
    }

    fn traffic(&self) -> Traffic<'_> {
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
            range_pct: [0.0, self.active_range_pct],
            has_whole_pages: false,
        }
    }

    fn check_values(&self) -> Result<(), ConfigError> {
        if self.name.trim().is_empty() {
            return Err(refuse("name", &self.name, "text that is not blank"));
        }
        self.traffic().check_values()?;
        if !(self.active_range_pct > 0.0 && self.active_range_pct <= 100.0) {
            return Err(refuse("active_range_pct", self.active_range_pct, "above 0, at most 100"));
        }
        if !(1..=100_000).contains(&self.samples) {
            return Err(refuse("samples", self.samples, "1 to 100000"));
        }
        self.total.check("total")
    }

    /// Resolves the tenants, and refuses keys that belong to them.
    fn resolve_tenants(&mut self, space: Space) -> Result<(), ConfigError> {
        if self.tenants.is_empty() {
            return Ok(());
        }
        if self.tenants.len() > TENANTS_MAX {
            return Err(refuse("tenants", self.tenants.len(), "at most 64 tenants"));
        }
        let plain = Self::default();
        let given = [
            ("read_pct", self.read_pct > 0.0),
            ("trim_pct", self.trim_pct > 0.0),
            ("trim_target", self.trim_target != plain.trim_target),
            ("queue_depth", self.queue_depth != plain.queue_depth),
            ("flush_every", self.flush_every.is_some()),
            ("fua_pct", self.fua_pct > 0.0),
            ("idle", self.idle.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
            let message = "each tenant has its own; accepted here beside `tenants`: what \
                           preconditioning writes (pattern, block_size_bytes, align_bytes, \
                           active_range_pct)";
            return Err(ConfigError::new(*key, message));
        }
        if !self.timed {
            let message = "how hosts share a drive is a matter of time; accepted: `timed: true`";
            return Err(ConfigError::new("timed", message));
        }
        for (index, tenant) in self.tenants.iter_mut().enumerate() {
            let under = |error: ConfigError| error.under(&format!("tenants[{index}]"));
            tenant.resolve(index, space).map_err(under)?;
        }
        check_names(&self.tenants)
    }

    /// Whether some requests of the measured part write.
    fn writes(&self) -> bool {
        if self.tenants.is_empty() {
            self.traffic().writes()
        } else {
            self.tenants.iter().any(|tenant| tenant.traffic().writes())
        }
    }

    fn loads(&self, space: Space, seed: u64) -> Vec<Load> {
        if self.tenants.is_empty() {
            return vec![self.traffic().load(self.generator(space, seed))];
        }
        let tenants = self.tenants.iter().enumerate();
        tenants.map(|(index, tenant)| tenant.load(index, space, seed)).collect()
    }

    fn check_total(&self) -> Result<(), ConfigError> {
        if self.total.drive_writes.is_some() && !self.writes() {
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
        if self.idle.is_some() {
            let message = "an untimed run has no pauses; accepted: `timed: true`, or none";
            return Err(ConfigError::new("idle", message));
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
