//! Replaying a trace on a device: addresses, clock, and the treatment of addresses that do not fit.
//!
//! A trace comes from other hardware: it has several volumes, larger addresses and its own timing.
//! Each of these is a declared choice here, none is silent. The core reads no files: `trace` only
//! records which file it was, so that a result can be made again.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{refuse, whole};
use super::precondition::{PreconditionStep, StepContext, WorkloadStep};
use super::total::TotalConfig;
use super::trace::{BadLines, FormatConfig, Order, Trace, TraceOptions};
use super::{Admission, Host, Job, Limit, Load, Space, Stage, TENANTS_MAX};
use crate::config::{
    name_or_mapping, name_or_mapping_schema, optional_bytes, parse, size_schema, ConfigError,
};

mod laid_out;
mod layout;
mod merged;
mod source;

pub(super) use laid_out::LaidOut;
use layout::Layout;
pub(super) use layout::Part;
pub use merged::MergedPages;
pub(super) use source::Joined;
use source::Replay;

/// Which file was replayed. Nothing is read from it here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSource {
    /// Name of the file, as the user gave it.
    pub file: String,
    /// SHA-256 of its uncompressed text, in hexadecimal; empty if not known.
    pub digest: String,
    /// The reader of the user's own that gave its requests, as `module:name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader: Option<String>,
    /// SHA-256 of the source of that reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader_sha256: Option<String>,
}

/// When requests of the trace are issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoopConfig {
    /// At the time at which they arrived, whatever the drive does.
    Open(OpenLoop),
    /// One after the other in the order of the file at a constant queue depth; arrival times are
    /// ignored.
    Closed(ClosedLoop),
}

/// Parameters of the open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenLoop {
    /// Factor on arrival times: 2 replays twice as slowly, 0.5 twice as fast; 1e-6 to 1e6; default
    /// 1.
    #[schemars(range(min = 1e-6, max = 1e6))]
    pub time_scale: f64,
}

impl Default for OpenLoop {
    fn default() -> Self {
        Self { time_scale: 1.0 }
    }
}

/// Parameters of the closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClosedLoop {
    /// Requests outstanding; 1 to 65536; default 32.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 65_536))]
    pub queue_depth: u32,
}

impl Default for ClosedLoop {
    fn default() -> Self {
        Self { queue_depth: 32 }
    }
}

/// The treatment of addresses beyond the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The trace is refused.
    Error,
    /// Modulo the size of the device. A request that would then cross the end is moved back to end
    /// there.
    Wrap,
    /// If the trace exceeds the device, all page numbers shrink by the same factor; offsets in a
    /// page stay. A request that would cross the end is moved back to end there.
    Scale,
    /// As `scale`, and page numbers of a smaller trace grow until it spans the device.
    Fit,
}

/// The hosts that the requests of a trace are shared out to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TenantsBy {
    /// One for each volume.
    Volume,
}

/// The replay of a trace, as a file or the command line declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// Shown in tables and result files; default `replay`.
    pub name: String,
    /// The trace, for the record.
    pub trace: TraceSource,
    /// Format of the trace: `auto`, a name, or a mapping such as `{kind: blkparse, event: D}`;
    /// default `auto`.
    #[serde(deserialize_with = "name_or_mapping")]
    #[schemars(schema_with = "name_or_mapping_schema::<FormatConfig>")]
    pub format: FormatConfig,
    /// When requests are issued: `open`, `closed`, or a mapping such as
    /// `{kind: closed, queue_depth: 8}`; default `open`.
    #[serde(rename = "loop", deserialize_with = "name_or_mapping")]
    #[schemars(schema_with = "name_or_mapping_schema::<LoopConfig>")]
    pub load: LoopConfig,
    /// Volumes of the trace on the device: `concat` one after the other, `overlay` on the same
    /// addresses, or the name of the only one to replay; default `concat`.
    #[serde(deserialize_with = "volume_name")]
    pub volumes: String,
    /// The treatment of addresses beyond the device: `error`, `wrap`, `scale` or `fit`; default
    /// `error`.
    pub beyond: Beyond,
    /// Whether lines that cannot be read are counted and skipped; default false.
    pub skip_bad_lines: bool,
    /// Most bytes that a compressed trace may unpack to, such as `64GiB`, which stops files that
    /// unpack without end; by default 16 GiB, or 100 times the compressed bytes if that is more.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub unpacked_bytes_max: Option<u64>,
    /// A table of ranges by which the requests were moved first, for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remap: Option<TraceSource>,
    /// Whether the run has a clock; default true.
    pub timed: bool,
    /// Steps to run before; `sequential_fill` and `rest` only. Default one sequential fill.
    pub precondition: Vec<PreconditionStep>,
    /// Times that the trace is replayed, one after the other; default 1.
    #[serde(skip_serializing_if = "is_once", deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repeat: u32,
    /// The order of the requests: `file` or `time`; by default `time` in open loops, which have no
    /// other, and `file` in closed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// `volume`: each volume is a tenant, with separate figures, a submission queue, and a queue
    /// depth in closed loops; at most 64. Default none: one host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenants: Option<TenantsBy>,
    /// Ends the replay early; by default it ends with the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<TotalConfig>,
    /// Points of each series of the result; 1 to 100000; default 100.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 100_000))]
    pub samples: u32,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        Self {
            name: "replay".to_owned(),
            trace: TraceSource::default(),
            format: FormatConfig::default(),
            load: LoopConfig::Open(OpenLoop::default()),
            volumes: "concat".to_owned(),
            beyond: Beyond::Error,
            skip_bad_lines: false,
            unpacked_bytes_max: None,
            remap: None,
            timed: true,
            precondition: vec![PreconditionStep::one_fill()],
            repeat: 1,
            order: None,
            tenants: None,
            total: None,
            samples: 100,
        }
    }
}

/// Serde helper: the key is absent unless a trace is repeated.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(super) fn is_once(repeat: &u32) -> bool {
    *repeat == 1
}

/// Serde helper: volume names are often numbers, and YAML hands those over as numbers.
pub(super) fn volume_name<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(name) => Ok(name),
        Value::Number(number) if number.is_u64() => Ok(number.to_string()),
        other => Err(serde::de::Error::custom(format!(
            "`{other}` is not a valid volume; accepted: concat, overlay, or a volume of the \
             trace by name"
        ))),
    }
}

impl ReplayConfig {
    /// Reads a replay: defaults filled in, everything checked that does not need the trace.
    ///
    /// # Errors
    /// The dotted path of the first invalid key, its value, and the accepted values.
    pub fn resolve(json: &str, space: Space) -> Result<Self, ConfigError> {
        let mut config: Self = parse(json)?;
        config.resolve_zones(json, space)?;
        config.check(space)?;
        for (index, step) in config.precondition.iter_mut().enumerate() {
            let path = format!("precondition[{index}]");
            if matches!(step, PreconditionStep::Workload(_)) {
                let message = "a trace has no pattern to repeat; accepted: sequential_fill, rest, \
                               age";
                return Err(ConfigError::new(path, message));
            }
            step.resolve(&path, None)?;
        }
        Ok(config)
    }

    /// The resolved replay, for result files.
    ///
    /// # Panics
    /// Never: every key is text and every checked number finite.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("every key is text and every number finite")
    }

    /// The JSON schema of a replay.
    pub fn schema() -> Value {
        schemars::schema_for!(Self).to_value()
    }

    /// The same replay, of a trace that was read: its file and its digest.
    #[must_use]
    pub fn of(&self, file: String, digest: String) -> Self {
        let trace = TraceSource { file, digest, ..self.trace.clone() };
        Self { trace, ..self.clone() }
    }

    /// How the trace is to be read.
    pub fn trace_options(&self) -> TraceOptions {
        let bad_lines = if self.skip_bad_lines { BadLines::Skip } else { BadLines::Refuse };
        let order = match self.load {
            LoopConfig::Open(_) => Order::Time,
            LoopConfig::Closed(_) => self.order.unwrap_or(Order::File),
        };
        let format = self.format.clone();
        TraceOptions { format, bad_lines, order, ..TraceOptions::default() }
    }

    /// Compiles the replay of `trace` on a device of this `space`. A replay uses no randomness.
    ///
    /// # Errors
    /// When the trace has no such volume, or does not fit the device and `beyond` is `error`.
    pub fn job(&self, trace: Arc<Trace>, space: Space) -> Result<Job, ConfigError> {
        let laid_out = self.lay_out(trace, Part::whole(space))?;
        let no_hosts =
            |_, _: &WorkloadStep| -> Vec<Load> { unreachable!("`resolve` refuses such steps") };
        let admission = laid_out.admission.without_arrivals();
        let context = StepContext { space, admission, hosts: &no_hosts };
        let steps = self.precondition.iter().enumerate();
        Ok(Job {
            precondition: steps.map(|(index, step)| step.stage(index, &context)).collect(),
            measured: Some(Stage {
                label: self.name.clone(),
                loads: self.loads(&laid_out)?,
                timed: self.timed,
                limit: self.total.map_or(Limit::Exhausted, |total| total.limit(space)),
                until: None,
                ids: None,
                wear: None,
            }),
            sample_count: self.samples,
            resolved: self.to_json(),
            warnings: laid_out.warnings,
        })
    }

    /// Lays `trace` out on a part of a drive.
    ///
    /// # Errors
    /// As for `job`.
    pub(super) fn lay_out(&self, trace: Arc<Trace>, part: Part) -> Result<LaidOut, ConfigError> {
        let layout = Layout::new(&trace, self, part)?;
        let mut warnings = trace.warnings().to_vec();
        warnings.extend(layout.warning(&trace));
        let merged = MergedPages::of(&trace, &layout, part.space);
        warnings.extend(merged.and_then(|merged| merged.warning()));
        let (admission, time_scale) = match self.load {
            LoopConfig::Open(open) => (Admission::Open, Some(open.time_scale)),
            LoopConfig::Closed(ClosedLoop { queue_depth }) => {
                (Admission::Closed { queue_depth }, None)
            }
        };
        check_span(&trace, time_scale, self.repeat)?;
        check_zones(&trace, part.space)?;
        let repeat = u64::from(self.repeat);
        Ok(LaidOut { trace, layout, admission, time_scale, repeat, merged, warnings })
    }

    /// The loads of a trace: of one host, or of one for each volume.
    fn loads(&self, laid_out: &LaidOut) -> Result<Vec<Load>, ConfigError> {
        let admission = laid_out.admission;
        let volumes: Vec<_> = laid_out.layout.volumes().collect();
        let load = |generator: Replay, host: Host| Load {
            host,
            ..Load::new(Box::new(generator), admission)
        };
        if self.tenants.is_none() {
            let volume = laid_out.name_of_only_volume();
            let host = Host { volume, ..Host::default() };
            let counted = laid_out.generator(&[0]).counted(laid_out.merged);
            return Ok(vec![load(counted, host)]);
        }
        if volumes.len() > TENANTS_MAX {
            let message = format!(
                "`volume` of a trace with {} volumes; accepted: at most {TENANTS_MAX}, such as \
                 those of a file of `trace convert --split-by volume`",
                volumes.len()
            );
            return Err(ConfigError::new("tenants", message));
        }
        let tenants: Vec<u8> = (0..volumes.len() as u8).collect();
        let loads = volumes.iter().zip(&tenants).map(|(&volume, &tenant)| {
            let name = match laid_out.trace.volumes()[volume].as_str() {
                "" => Host::name_of(tenant.into()),
                name => name.to_owned(),
            };
            let host = Host { volume: name.clone(), name, weight: 1, ..Host::default() };
            let counted =
                |generator: Replay| generator.counted(laid_out.merged.filter(|_| tenant == 0));
            match admission {
                Admission::Closed { .. } => load(counted(laid_out.of_volume(volume, tenant)), host),
                _ if tenant == 0 => load(counted(laid_out.generator(&tenants)), host),
                _ => Load::drawn_elsewhere(host),
            }
        });
        Ok(loads.collect())
    }

    /// A drive with zones is not filled before a trace, and takes no addresses other than its own.
    fn resolve_zones(&mut self, json: &str, space: Space) -> Result<(), ConfigError> {
        if space.zones.is_none() {
            return Ok(());
        }
        let given: serde_json::Map<String, Value> = parse(json)?;
        if !given.contains_key("precondition") {
            self.precondition.clear();
        }
        let is_fill = |step: &PreconditionStep| matches!(step, PreconditionStep::SequentialFill(_));
        if let Some(index) = self.precondition.iter().position(is_fill) {
            let message = "sequential_fill on a drive with ftl.mapping zoned, of which it resets \
                           no zone; accepted: none, rest or age";
            return Err(ConfigError::new(format!("precondition[{index}]"), message));
        }
        if self.beyond == Beyond::Error {
            return Ok(());
        }
        let message = "other addresses than those of the trace on a drive with ftl.mapping zoned, \
                       whose zones are written in order: Zone Invalid Write; accepted: error";
        Err(ConfigError::new("beyond", message))
    }

    fn check(&self, space: Space) -> Result<(), ConfigError> {
        if self.name.trim().is_empty() {
            return Err(refuse("name", &self.name, "text that is not blank"));
        }
        if !(1..=100_000).contains(&self.samples) {
            return Err(refuse("samples", self.samples, "1 to 100000"));
        }
        if self.tenants.is_some() && !self.timed {
            let message = "how hosts share a drive is a matter of time; accepted: `timed: true`";
            return Err(ConfigError::new("timed", message));
        }
        self.check_trace(space)?;
        let Some(total) = self.total else { return Ok(()) };
        total.check("total")?;
        if total.seconds.is_some() && !self.timed {
            let message =
                "an untimed run has no seconds; accepted: `timed: true`, or drive_writes, \
                           bytes or ios";
            return Err(ConfigError::new("total.seconds", message));
        }
        Ok(())
    }

    /// Checks how the trace is read and issued.
    pub(super) fn check_trace(&self, space: Space) -> Result<(), ConfigError> {
        if let Err((key, message)) = self.format.check() {
            return Err(ConfigError::new(format!("format.{key}"), message));
        }
        if self.unpacked_bytes_max == Some(0) {
            return Err(refuse("unpacked_bytes_max", 0, "at least 1"));
        }
        if !(1..=1_000_000).contains(&self.repeat) {
            return Err(refuse("repeat", self.repeat, "1 to 1000000"));
        }
        match self.load {
            LoopConfig::Open(_) if self.order == Some(Order::File) => {
                let message = "`file` is the order of closed loops; accepted: time";
                return Err(ConfigError::new("order", message));
            }
            LoopConfig::Open(OpenLoop { time_scale }) if !(1e-6..=1e6).contains(&time_scale) => {
                return Err(refuse("loop.time_scale", time_scale, "1e-6 to 1e6"));
            }
            LoopConfig::Closed(ClosedLoop { queue_depth })
                if !(1..=65_536).contains(&queue_depth) =>
            {
                return Err(refuse("loop.queue_depth", queue_depth, "1 to 65536"));
            }
            _ => {}
        }
        if space.logical_bytes < space.page_bytes.max(512) {
            return Err(ConfigError::new(".", "the device has no logical page"));
        }
        Ok(())
    }
}

/// Whether the device has zones if the trace resets some or appends to them.
fn check_zones(trace: &Trace, space: Space) -> Result<(), ConfigError> {
    let count = trace.summary().zone_count;
    if count == 0 || space.zones.is_some() {
        return Ok(());
    }
    let message = format!(
        "{} has {count} resets of zones and appends to them, and the device has no zones; \
         accepted: a trace without them",
        trace.source_name()
    );
    Err(ConfigError::new("trace", message))
}

/// Longest span of arrivals, in nanoseconds: 146 years, half of the range of the clock.
const SPAN_NS_MAX: f64 = 4.6e18;

/// Whether the last arrival, scaled, is a time that the clock can reach.
fn check_span(trace: &Trace, time_scale: Option<f64>, repeat: u32) -> Result<(), ConfigError> {
    let last = trace.records().iter().map(|record| record.arrival.0).max().unwrap_or(0);
    let rounds = f64::from(repeat - 1) * source::period(trace).0 as f64;
    let span = (last as f64 + rounds) * time_scale.unwrap_or(0.0);
    if span <= SPAN_NS_MAX {
        return Ok(());
    }
    let message = format!(
        "{} puts the last request of {} at {span:.3e} ns; accepted: at most {SPAN_NS_MAX:e} ns",
        time_scale.unwrap_or(1.0),
        trace.source_name(),
    );
    Err(ConfigError::new("loop.time_scale", message))
}
