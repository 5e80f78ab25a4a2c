//! The workload file: declared here once, with defaults and ranges, and compiled to a [`Job`].
//!
//! `resolve` fills the defaults in and checks everything against the device it is meant for;
//! resolving its own output again changes nothing, so a result file can be replayed.

use std::sync::Arc;

use serde_json::Value;

use super::alignment::Alignment;
use super::check::{refuse, whole};
use super::mixed::{knows_shares, Mixed};
use super::pattern::host_log::SharedLog;
use super::pattern::PatternConfig;
use super::placement::{Phases, PlacementIds, StageIds};
use super::precondition::{resolve_steps, PreconditionStep, Requests, StepContext, WorkloadStep};
use super::synthetic::SyntheticParts;
use super::tenant::{check_names, without_traffic, TenantConfig};
use super::tenant_loads;
use super::total::TotalConfig;
use super::trace::Trace;
use super::traffic::{with_traffic, Part, Traffic};
use super::zones::Asked;
use super::{Admission, Generator, Job, Limit, Load, Namespace, Space, Stage, TENANTS_MAX};
use crate::config::{parse, ConfigError};

with_traffic! {
    /// A synthetic workload, as a file declares it.
    #[schemars(extend("required" = ["total"]))]
    pub struct WorkloadConfig {
        /// Shown in tables and result files; default `workload`.
        pub name: String = "workload".to_owned(),
        ..
        /// Whether the run has a clock; without one latency and throughput are not measured.
        /// Default true.
        pub timed: bool = true,
        /// How much is asked; no default. Left out where every tenant replays a trace, the run
        /// ends with the last of these.
        pub total: TotalConfig = TotalConfig::default(),
        /// The part of the logical space in use, from its start, in percent; above 0, at most 100;
        /// default 100.
        #[schemars(range(min = 0, max = 100))]
        pub active_range_pct: f64 = 100.0,
        /// Hosts that share the drive, at most 64, each with separate requests; the keys that
        /// describe requests then only apply to preconditioning with `requests: workload`.
        /// Default none: one host.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub tenants: Vec<TenantConfig> = Vec::new(),
        /// Which placement id writes carry, for drives with `ftl.placement`: `by: range`, `phase`,
        /// `tenant` or `hot_cold`. Default none: all carry id 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub placement: Option<PlacementIds> = None,
        /// Steps to run before measuring; nothing of them enters the metrics. Default none.
        pub precondition: Vec<PreconditionStep> = Vec::new(),
        /// Points of each series of the result; 1 to 100000; default 100.
        #[serde(deserialize_with = "whole")]
        #[schemars(range(min = 1, max = 100_000))]
        pub samples: u32 = 100,
    }
}

impl WorkloadConfig {
    /// Reads a workload for a device of this `space`: defaults filled in, everything checked.
    ///
    /// # Errors
    /// The dotted path of the first invalid key, its value, and the accepted values.
    pub fn resolve(json: &str, space: Space) -> Result<Self, ConfigError> {
        Self::resolve_in(json, space, &[])
    }

    /// The same, for a device with namespaces.
    ///
    /// # Errors
    /// As [`WorkloadConfig::resolve`].
    pub fn resolve_in(
        json: &str,
        space: Space,
        namespaces: &[Namespace],
    ) -> Result<Self, ConfigError> {
        let mut config: Self = parse(json)?;
        config.check_values()?;
        config.resolve_sizes()?;
        config.traffic().check_space(space)?;
        config.resolve_tenants(space, namespaces)?;
        if config.tenants.is_empty() {
            space.check_zones(&config.asked())?;
        }
        config.check_total()?;
        config.resolve_preconditioning()?;
        space.check_tenants(&config.tenants, &config.precondition)?;
        let phases = Phases {
            step_count: config.precondition.len(),
            tenant_count: config.tenants.len(),
            pattern: &config.pattern,
            space,
        };
        if let Some(ids) = &mut config.placement {
            ids.resolve(&phases).map_err(|error| error.under("placement"))?;
        }
        Ok(config)
    }

    /// The resolved workload, for result files.
    ///
    /// # Panics
    /// Never: every key is text and every checked number finite.
    pub fn to_json(&self) -> Value {
        let value = serde_json::to_value(self).expect("every key is text and every number finite");
        without_traffic(value)
    }

    /// The JSON schema of the workload file.
    pub fn schema() -> Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Compiles the workload for the device it was resolved for.
    ///
    /// # Panics
    /// If a tenant replays a trace: see [`WorkloadConfig::job_of`].
    pub fn job(&self, space: Space, seed: u64) -> Job {
        self.job_of(&[], space, seed).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same, with the traces that were read, by the numbers of their tenants.
    ///
    /// # Errors
    /// When one is missing, or does not fit the range of its tenant.
    pub fn job_of(
        &self,
        traces: &[Option<Arc<Trace>>],
        space: Space,
        seed: u64,
    ) -> Result<Job, ConfigError> {
        let log = self.host_log(space, seed);
        let mut warnings: Vec<String> =
            self.placement_warning(space).into_iter().chain(self.mix_warning()).collect();
        let loads = match self.tenants[..] {
            [] => self.loads(space, seed, log.as_ref()),
            ref tenants => tenant_loads::loads(tenants, traces, (space, seed), &mut warnings)?,
        };
        let mut ids = self.stage_ids(self.precondition.len(), space);
        if let Some(StageIds::Tenants(ids)) = &mut ids {
            let volumes = loads.iter().filter_map(|load| load.host.volume_of);
            let more: Vec<u8> = volumes.map(|tenant| ids[usize::from(tenant)]).collect();
            ids.extend(more);
        }
        let measured = Stage {
            label: self.name.clone(),
            loads,
            timed: self.timed,
            limit: if self.ends_with_traces() { Limit::Exhausted } else { self.total.limit(space) },
            until: None,
            ids,
            wear: None,
        };
        Ok(Job {
            precondition: self.preconditioning(space, seed, log.as_ref()),
            measured: Some(measured),
            sample_count: self.samples,
            resolved: self.to_json(),
            warnings,
        })
    }

    /// Whether no total is given, and the run ends with the traces of its tenants.
    fn ends_with_traces(&self) -> bool {
        self.total == TotalConfig::default()
            && !self.tenants.is_empty()
            && self.tenants.iter().all(|tenant| tenant.trace.is_some())
    }

    /// The same workload with the files and digests of traces that were read, by tenant.
    #[must_use]
    pub fn of(&self, sources: Vec<Option<(String, String)>>) -> Self {
        let mut config = self.clone();
        for (tenant, source) in config.tenants.iter_mut().zip(sources) {
            if let (Some(trace), Some((file, digest))) = (&mut tenant.trace, source) {
                (trace.file, trace.digest) = (file, digest);
            }
        }
        config
    }

    /// Compiles the stages before the measured part.
    pub(super) fn preconditioning(
        &self,
        space: Space,
        seed: u64,
        log: Option<&SharedLog>,
    ) -> Vec<Stage> {
        let admission = self.queue_depth.admission().without_arrivals();
        let hosts = |index, step: &WorkloadStep| -> Vec<Load> {
            let streams = format!("precondition.{index}");
            let generator: Box<dyn Generator> = match (log, step.requests) {
                (Some(log), _) => Box::new(log.clone()),
                (None, Some(Requests::Tenants)) if step.timed => {
                    return self.tenant_loads(space, seed, &format!("{streams}.tenant"));
                }
                (None, Some(Requests::Tenants)) => {
                    Box::new(Mixed::new(&self.tenants, space, seed, &streams))
                }
                (None, _) => {
                    let parts = self.traffic().parts(space, seed, &streams);
                    let operations = parts.operations.with_writes();
                    let changes = SyntheticParts { operations, arrivals: None, ..parts };
                    self.pattern.generator(changes, seed)
                }
            };
            vec![Load::new(generator, admission)]
        };
        let context = StepContext { space, admission, hosts: &hosts };
        let steps = self.precondition.iter().enumerate();
        let stage = |(index, step): (usize, &PreconditionStep)| Stage {
            ids: self.stage_ids(index, space),
            ..step.stage(index, &context)
        };
        steps.map(stage).collect()
    }

    /// The commands of the measured part alone, of a workload without tenants.
    pub fn generator(&self, space: Space, seed: u64) -> Box<dyn Generator> {
        self.traffic().generator(space, seed, "workload", seed)
    }

    /// The host that continues to write from stage to stage, if there is one.
    fn host_log(&self, space: Space, seed: u64) -> Option<SharedLog> {
        let PatternConfig::HostLog(log) = &self.pattern else { return None };
        Some(log.start(self.traffic().parts(space, seed, "workload"), seed))
    }

    /// What matters for the zones of a drive.
    fn asked(&self) -> Asked<'_> {
        Asked {
            pattern: &self.pattern,
            request_bytes: self.block_size_bytes.bytes_max(),
            reads_or_trims: self.read_pct + self.trim_pct > 0.0,
            active_range_pct: self.active_range_pct,
            steps: &self.precondition,
            is_closed_loop: self.queue_depth.admission() != Admission::Open,
            counts_requests: self.total.ios.is_some(),
            ignored: self.ignored_by_zones(),
        }
    }

    /// A key that is given, and that a host of zones does not use.
    fn ignored_by_zones(&self) -> Option<&'static str> {
        let given = [
            ("flush_every", self.flush_every.is_some()),
            ("fua_pct", self.fua_pct > 0.0),
            ("placement", self.placement.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key)
    }

    /// The placement ids of a step of preconditioning, or of the measured part behind the last.
    fn stage_ids(&self, index: usize, space: Space) -> Option<StageIds> {
        let by_tenants = self.precondition.get(index).is_none_or(PreconditionStep::is_of_tenants);
        let parts: Vec<_> = self.tenants.iter().map(|tenant| tenant.pages(space)).collect();
        self.placement.as_ref().map(|ids| ids.of_stage(index, by_tenants, space, &parts))
    }

    fn placement_warning(&self, space: Space) -> Option<String> {
        let is_ignored = self.placement.is_some() && space.placement_ids == 0;
        is_ignored.then(|| {
            "placement had no effect: the drive takes no placement ids (ftl.placement none)".into()
        })
    }

    /// Untimed writes of tenants whose shares are a guess.
    fn mix_warning(&self) -> Option<String> {
        let is_untimed = |step: &PreconditionStep| step.is_of_tenants() && !step.is_timed();
        let index = self.precondition.iter().position(is_untimed)?;
        (!knows_shares(&self.tenants)).then(|| {
            format!(
                "precondition[{index}]: without time, only open loops, or closed loops of one \
                 request size and weight, have known shares of the writes; these tenants' were \
                 taken by queue depth (an open loop as 32), or by weight where weights differ: \
                 `timed: true` gives those of the measured part"
            )
        })
    }

    fn traffic(&self) -> Traffic<'_> {
        self.traffic_in(Part::Sectors(self.active_range_pct))
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
        if self.ends_with_traces() {
            return Ok(());
        }
        self.total.check("total")
    }

    /// Resolves the tenants, and refuses keys that belong to them.
    fn resolve_tenants(
        &mut self,
        space: Space,
        namespaces: &[Namespace],
    ) -> Result<(), ConfigError> {
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
                           preconditioning with `requests: workload` writes (pattern, \
                           block_size_bytes, align_bytes, active_range_pct)";
            return Err(ConfigError::new(*key, message));
        }
        if !self.timed {
            let message = "how hosts share a drive is a matter of time; accepted: `timed: true`";
            return Err(ConfigError::new("timed", message));
        }
        for (index, tenant) in self.tenants.iter_mut().enumerate() {
            let under = |error: ConfigError| error.under(&format!("tenants[{index}]"));
            tenant.resolve(index, space, namespaces).map_err(under)?;
        }
        check_names(&self.tenants)
    }

    /// Whether some requests of the measured part write.
    fn writes(&self) -> bool {
        if self.tenants.is_empty() {
            self.traffic().writes()
        } else {
            self.tenants.iter().any(TenantConfig::writes)
        }
    }

    fn loads(&self, space: Space, seed: u64, log: Option<&SharedLog>) -> Vec<Load> {
        if let Some(log) = log {
            return vec![self.traffic().load(Box::new(log.clone()))];
        }
        vec![self.traffic().load(self.generator(space, seed))]
    }

    fn tenant_loads(&self, space: Space, seed: u64, streams: &str) -> Vec<Load> {
        let tenants = self.tenants.iter().enumerate();
        tenants.map(|(index, tenant)| tenant.load(index, space, seed, streams)).collect()
    }

    fn resolve_preconditioning(&mut self) -> Result<(), ConfigError> {
        let plain = Self::default();
        let is_plain = self.pattern == plain.pattern
            && self.block_size_bytes == plain.block_size_bytes
            && self.align_bytes == Some(Alignment::Bytes(self.block_size_bytes.bytes_min()))
            && self.active_range_pct >= plain.active_range_pct;
        let requests = match self.tenants[..] {
            [] => None,
            _ if is_plain && self.writes() => Some(Requests::Tenants),
            _ => Some(Requests::Workload),
        };
        resolve_steps(&mut self.precondition, requests)?;
        match self.precondition.iter().position(PreconditionStep::is_of_tenants) {
            Some(index) if !self.writes() => {
                let path = format!("precondition[{index}].requests");
                Err(ConfigError::new(path, "no tenant writes; accepted: `workload`"))
            }
            Some(index) if self.tenants.iter().any(|tenant| tenant.trace.is_some()) => {
                let message = "a trace has no pattern to repeat; accepted: `workload`, or the \
                               steps sequential_fill, rest and age";
                Err(ConfigError::new(format!("precondition[{index}].requests"), message))
            }
            _ => Ok(()),
        }
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
