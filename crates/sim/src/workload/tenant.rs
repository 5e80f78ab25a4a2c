//! Tenants: several hosts share the drive, each with its own requests, part of the space and
//! submission queue.
//!
//! Every tenant draws from random streams that carry its name, so another tenant does not change
//! its requests. `host.protocol` decides how the drive is shared between the queues.

use std::ops::Range;

use serde_json::Value;

use super::check::{refuse, whole};
use super::replay::{LoopConfig, OpenLoop};
use super::synthetic::SyntheticParts;
use super::tenant_trace::{optional_loop, optional_trace, trace_schema, TenantTrace};
use super::trace::TraceOptions;
use super::traffic::{with_traffic, Part, Traffic};
use super::{replay, Generator, Host, Load, Namespace, Space};
use crate::config::ConfigError;
use crate::op::{HostCommand, Priority};
use crate::rng::Rng;
use crate::units::SECTOR_BYTES;

/// Largest weight of a tenant.
const WEIGHT_MAX: u32 = 1000;

with_traffic! {
    /// One of the hosts that share the drive. Keys that describe its requests have the same meaning
    /// and the same defaults as for a workload.
    pub struct TenantConfig {
        /// Shown in tables and result files, different for every tenant; default `tenant-` and its
        /// number.
        pub name: String = String::new(),
        /// Its weight relative to the others, 1 to 1000: its share in `weighted_queues`
        /// arbitration, and the reference for fairness; default 1.
        #[serde(deserialize_with = "whole")]
        #[schemars(range(min = 1, max = 1000))]
        pub weight: u32 = 1,
        /// `urgent`, `high`, `medium` or `low`, for `weighted_round_robin` arbitration; default
        /// `medium`.
        pub priority: Priority = Priority::default(),
        ..
        /// The part of the logical space that it uses, `[from, to]` in percent, 0 to 100; rounded
        /// down to pages. Parts may overlap. Default all of it.
        pub range_pct: [f64; 2] = [0.0, 100.0],
        /// The namespace of the drive that it uses, a name of `host.namespaces`; `range_pct` is
        /// then a part of that. Default none: the whole drive.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub namespace: Option<String> = None,
        /// The pages of this namespace, once they are known.
        #[serde(skip)]
        pub namespace_pages: Option<[u32; 2]> = None,
        /// A recorded trace that it replays, in place of the keys that describe requests: the name
        /// of its file, seen from the workload file, or a mapping such as `{file: web.csv, format:
        /// msr, beyond: wrap}`. Default none.
        #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_trace")]
        #[schemars(schema_with = "trace_schema")]
        pub trace: Option<TenantTrace> = None,
        /// With `trace`, when its requests are issued: `open`, `closed`, or a mapping such as
        /// `{kind: closed, queue_depth: 8}`; default `open`.
        #[serde(
            rename = "loop",
            skip_serializing_if = "Option::is_none",
            deserialize_with = "optional_loop"
        )]
        #[schemars(schema_with = "crate::config::name_or_mapping_schema::<LoopConfig>")]
        pub load: Option<LoopConfig> = None,
    }
}

impl TenantConfig {
    /// Fills in the defaults and refuses invalid values; paths are relative to the tenant.
    pub(super) fn resolve(
        &mut self,
        index: usize,
        space: Space,
        namespaces: &[Namespace],
    ) -> Result<(), ConfigError> {
        if self.name.is_empty() {
            self.name = Host::name_of(index);
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
        if let Some(name) = &self.namespace {
            self.namespace_pages = Some(Namespace::find(namespaces, name)?);
        }
        let Some(trace) = &self.trace else {
            if self.load.is_some() {
                let message = "without `trace`; accepted: `queue_depth`";
                return Err(ConfigError::new("loop", message));
            }
            self.traffic().check_values()?;
            self.resolve_sizes()?;
            return self.traffic().check_space(space);
        };
        let load = self.load.unwrap_or(LoopConfig::Open(OpenLoop::default()));
        check_keys(self)?;
        trace.check(load, self.replayed_part(space))?;
        self.load = Some(load);
        Ok(())
    }

    /// How its trace is to be read, and the most bytes that it may unpack to.
    pub fn trace_options(&self) -> Option<(TraceOptions, Option<u64>)> {
        let trace = self.trace.as_ref()?;
        Some((trace.replay(self.load?).trace_options(), trace.unpacked_bytes_max))
    }

    /// Whether some of its requests may write.
    pub(super) fn writes(&self) -> bool {
        self.trace.is_some() || self.traffic().writes()
    }

    /// The part of the drive that a trace goes to.
    pub(super) fn replayed_part(&self, space: Space) -> replay::Part {
        let [first, limit] = self.part().bytes(space);
        replay::Part {
            space: Space { logical_bytes: limit - first, ..space },
            first_sector: first / SECTOR_BYTES,
            name: "its range",
            remedy: "a larger `range_pct` or device",
        }
    }

    /// It among others.
    pub(super) fn host(&self) -> Host {
        let name = self.name.clone();
        Host { name, weight: self.weight, priority: self.priority, ..Host::default() }
    }

    pub(super) fn traffic(&self) -> Traffic<'_> {
        self.traffic_in(self.part())
    }

    fn part(&self) -> Part {
        match self.namespace_pages {
            Some(pages) => Part::Within(self.range_pct, pages),
            None => Part::Pages(self.range_pct),
        }
    }

    /// The pages that it uses.
    pub(super) fn pages(&self, space: Space) -> Range<u32> {
        let [from, to] = self.part().bytes(space).map(|it| it / space.page_bytes);
        from as u32..to as u32
    }

    /// The load of tenant `index`, whose streams of randomness begin with `streams`.
    pub(super) fn load(&self, index: usize, space: Space, seed: u64, streams: &str) -> Load {
        let streams = format!("{streams}.{}", self.name);
        let traffic = self.traffic();
        let inner = traffic.generator(space, seed, &streams, self.shuffle_seed(seed));
        let generator = self.moved(inner, index, space);
        Load { host: self.host(), ..traffic.load(generator) }
    }

    /// Its writes and trims, as tenant `index`, without a clock.
    pub(super) fn changes(
        &self,
        index: usize,
        space: Space,
        seed: u64,
        streams: &str,
    ) -> Box<dyn Generator> {
        let parts = self.traffic().parts(space, seed, &format!("{streams}.{}", self.name));
        let operations = parts.operations.without_reads();
        let changes = SyntheticParts { operations, arrivals: None, ..parts };
        self.moved(self.pattern.generator(changes, self.shuffle_seed(seed)), index, space)
    }

    /// Seed of the hot places: tenants with the same pattern on the same range have different ones,
    /// and a tenant has the same ones in every stage.
    fn shuffle_seed(&self, seed: u64) -> u64 {
        Rng::stream(seed, &format!("tenant.{}.shuffle", self.name)).next_u64()
    }

    fn moved(&self, inner: Box<dyn Generator>, index: usize, space: Space) -> Box<dyn Generator> {
        let first_sector = self.traffic().first_sector(space);
        Box::new(Tenanted { inner, tenant: index as u8, first_sector })
    }
}

/// Keys that a tenant with a trace has.
const KEYS: [&str; 7] = ["name", "weight", "priority", "range_pct", "namespace", "trace", "loop"];

/// Refuses keys that describe requests, which are those of the trace.
fn check_keys(tenant: &TenantConfig) -> Result<(), ConfigError> {
    let value = |tenant: &TenantConfig| serde_json::to_value(tenant).unwrap_or_default();
    let (given, plain) = (value(tenant), value(&TenantConfig::default()));
    let others = given.as_object().into_iter().flatten();
    let mut others = others.filter(|(key, _)| !KEYS.contains(&key.as_str()));
    match others.find(|(key, value)| plain.get(key) != Some(value)) {
        None => Ok(()),
        Some((key, value)) => {
            let message = format!(
                "`{value}` next to `trace`, which has the requests; accepted: {}",
                KEYS.join(", ")
            );
            Err(ConfigError::new(key, message))
        }
    }
}

/// Leaves out of a resolved workload what tenants with traces do not have.
pub(super) fn without_traffic(mut workload: Value) -> Value {
    let tenants = workload.get_mut("tenants").and_then(Value::as_array_mut);
    for tenant in tenants.into_iter().flatten().filter_map(Value::as_object_mut) {
        if tenant.contains_key("trace") {
            tenant.retain(|key, _| KEYS.contains(&key.as_str()));
        }
    }
    workload
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
