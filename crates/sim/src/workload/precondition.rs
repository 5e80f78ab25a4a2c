//! Writes before measuring, which bring the drive into the state that is to be measured.
//!
//! `sequential_fill` maps every page; `workload` then repeats the writes and trims of the workload
//! itself, or of its tenants, for a stated amount or until write amplification is steady. Reads are
//! left out: they change no mapping. Both run untimed by default: the state of the mapping does not
//! depend on the clock, except for the shares of tenants. `rest` gives the drive time for its
//! background work, `age` the wear of writes that are not carried out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{optional_whole, refuse, whole};
use super::sequential_fill::SequentialFill;
use super::total::{bytes_of, check_drive_writes};
use super::{Admission, Limit, Load, Space, Stage, SteadyRule, Wear};
use crate::config::ConfigError;
use crate::units::Ns;

/// Erases of a block that can be set, far above what any cell takes.
pub(crate) const CYCLES_MAX: f64 = 1e6;

/// One step of preconditioning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PreconditionStep {
    /// The whole logical space in ascending order, in requests of 128 KiB.
    SequentialFill(SequentialFillStep),
    /// The writes and trims of the workload, in its pattern and sizes; reads are left out.
    Workload(WorkloadStep),
    /// Simulated time without commands: dies collect and fold as they do in pauses
    /// (`ftl.idle_collection`), and blocks age.
    Rest(RestStep),
    /// Wear of a used drive, set at once: erase counts, and blocks that failed on the way. Data
    /// stays, no write of the host or of the drive is counted.
    Age(AgeStep),
}

/// Parameters of `sequential_fill`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SequentialFillStep {
    /// How often the space is written; 1 to 1000; default 1.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 1000))]
    pub fills: u32,
    /// Whether the step runs in simulated time; default false.
    pub timed: bool,
}

impl Default for SequentialFillStep {
    fn default() -> Self {
        Self { fills: 1, timed: false }
    }
}

/// When a `workload` step without a stated amount ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Write amplification of successive windows no longer moves.
    Steady,
}

/// Whose requests a `workload` step of a workload with tenants repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Requests {
    /// Those of the tenants, mixed.
    Tenants,
    /// Requests that the keys of the workload itself describe.
    Workload,
}

/// Parameters of `workload`: either `drive_writes`, or `until: steady` with its criteria.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadStep {
    /// Amount in logical capacities; above 0, at most 1e6. Excludes `until`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_writes: Option<f64>,
    /// `steady`. Excludes `drive_writes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Ends here even if not steady, in logical capacities; default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_drive_writes: Option<f64>,
    /// Length of a window in logical capacities; default 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_drive_writes: Option<f64>,
    /// Windows that must agree; 2 to 1000; default 5.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    pub windows: Option<u32>,
    /// Allowed (max - min) / mean of their WAF; above 0, at most 1; default 0.02.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance_ratio: Option<f64>,
    /// Requests that the step repeats in a workload with `tenants`: `tenants`, or `workload` for
    /// those that the workload's own keys describe. Default `tenants`; `workload` if those keys are
    /// not the defaults, or no tenant writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Whether the step runs in simulated time; default false. That of tenants is then the measured
    /// load, with its reads, arrivals and pauses.
    pub timed: bool,
}

/// When a `rest` without a stated length ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestUntil {
    /// The drive has no work left: no operation is running, and no pause of `ftl.idle_collection`
    /// can begin one.
    Idle,
}

/// Parameters of `rest`: either `seconds`, or `until: idle`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RestStep {
    /// Simulated seconds; at least 1e-6, at most 1e9. Excludes `until`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// `idle`: until the drive has done its background work, an hour at most. Excludes `seconds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<RestUntil>,
}

/// Parameters of `age`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgeStep {
    /// Erases of each block by the end of the step, on average; 0 to 1e6. Blocks that have more
    /// keep them.
    #[schemars(range(min = 0, max = 1e6))]
    pub pe_cycles: f64,
    /// By how much of `pe_cycles` a block may be off, either way, each value as likely; 0 to 1;
    /// default 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub spread_ratio: f64,
}

/// The context of a step.
pub(crate) struct StepContext<'a> {
    pub space: Space,
    pub admission: Admission,
    /// Makes the hosts of a `workload` step; the argument is the index of the step.
    pub hosts: &'a dyn Fn(usize, &WorkloadStep) -> Vec<Load>,
}

impl PreconditionStep {
    /// One untimed fill: the default preconditioning of a replay.
    pub fn one_fill() -> Self {
        Self::SequentialFill(SequentialFillStep::default())
    }

    /// Fills in the defaults and refuses invalid values.
    pub(crate) fn resolve(
        &mut self,
        path: &str,
        requests: Option<Requests>,
    ) -> Result<(), ConfigError> {
        match self {
            Self::SequentialFill(step) if !(1..=1000).contains(&step.fills) => {
                Err(refuse(&format!("{path}.fills"), step.fills, "1 to 1000"))
            }
            Self::SequentialFill(_) => Ok(()),
            Self::Workload(step) => step.resolve(path, requests),
            Self::Rest(step) => step.check(path),
            Self::Age(step) => step.check(path),
        }
    }

    /// Whether it repeats the requests of the tenants.
    pub(super) fn is_of_tenants(&self) -> bool {
        matches!(self, Self::Workload(WorkloadStep { requests: Some(Requests::Tenants), .. }))
    }

    /// Whether it runs in simulated time.
    pub(super) fn is_timed(&self) -> bool {
        match self {
            Self::SequentialFill(step) => step.timed,
            Self::Workload(step) => step.timed,
            Self::Rest(_) => true,
            Self::Age(_) => false,
        }
    }

    pub(crate) fn stage(&self, index: usize, context: &StepContext<'_>) -> Stage {
        match self {
            Self::SequentialFill(step) => Stage {
                label: "sequential fill".to_owned(),
                loads: vec![Load::new(
                    Box::new(SequentialFill::new(context.space)),
                    context.admission,
                )],
                timed: step.timed,
                limit: Limit::WrittenBytes(
                    context.space.logical_bytes.saturating_mul(u64::from(step.fills)),
                ),
                until: None,
                ids: None,
                wear: None,
            },
            Self::Rest(step) => step.stage(),
            Self::Age(step) => step.stage(),
            Self::Workload(step) => {
                let (label, limit, until) = step.end(context.space);
                Stage {
                    label,
                    loads: (context.hosts)(index, step),
                    timed: step.timed,
                    limit: Limit::WrittenBytes(limit),
                    until,
                    ids: None,
                    wear: None,
                }
            }
        }
    }
}

/// Fills in the defaults of all steps and refuses invalid ones; `requests` is the default with
/// tenants, `None` without tenants.
pub(super) fn resolve_steps(
    steps: &mut [PreconditionStep],
    requests: Option<Requests>,
) -> Result<(), ConfigError> {
    let mut numbered = steps.iter_mut().enumerate();
    numbered.try_for_each(|(index, step)| step.resolve(&format!("precondition[{index}]"), requests))
}

impl RestStep {
    fn check(&self, path: &str) -> Result<(), ConfigError> {
        match (self.seconds, self.until) {
            (Some(seconds), None) if !(1e-6..=1e9).contains(&seconds) => {
                Err(refuse(&format!("{path}.seconds"), seconds, "1e-6 to 1e9"))
            }
            (Some(_), None) | (None, Some(RestUntil::Idle)) => Ok(()),
            _ => {
                let message = "accepted: exactly one of `seconds: N` and `until: idle`";
                Err(ConfigError::new(path, message))
            }
        }
    }

    fn stage(&self) -> Stage {
        let (label, limit) = match self.seconds {
            Some(seconds) => {
                (format!("rest of {seconds} s"), Limit::Time(Ns::from_us(seconds * 1e6)))
            }
            None => ("rest until idle".to_owned(), Limit::Idle),
        };
        Stage { label, loads: Vec::new(), timed: true, limit, until: None, ids: None, wear: None }
    }
}

impl AgeStep {
    fn check(&self, path: &str) -> Result<(), ConfigError> {
        let Self { pe_cycles, spread_ratio } = *self;
        for (key, value, limit) in
            [("pe_cycles", pe_cycles, CYCLES_MAX), ("spread_ratio", spread_ratio, 1.0)]
        {
            if !(0.0..=limit).contains(&value) {
                return Err(refuse(&format!("{path}.{key}"), value, &format!("0 to {limit}")));
            }
        }
        Ok(())
    }

    fn stage(&self) -> Stage {
        Stage {
            label: format!("age of {} P/E cycles", self.pe_cycles),
            loads: Vec::new(),
            timed: false,
            limit: Limit::Exhausted,
            until: None,
            ids: None,
            wear: Some(Wear { cycles: self.pe_cycles, spread: self.spread_ratio }),
        }
    }
}

impl WorkloadStep {
    fn resolve(&mut self, path: &str, requests: Option<Requests>) -> Result<(), ConfigError> {
        let at = |key: &str| format!("{path}.{key}");
        if self.requests == Some(Requests::Tenants) && requests.is_none() {
            let message = "`tenants` in a workload without tenants; accepted: none";
            return Err(ConfigError::new(at("requests"), message));
        }
        self.requests = self.requests.or(requests);
        match (self.drive_writes, self.until) {
            (Some(writes), None) => {
                check_drive_writes(&at("drive_writes"), writes)?;
                return self.refuse_steady_keys(path);
            }
            (None, Some(Until::Steady)) => {}
            _ => {
                let message = "accepted: exactly one of `drive_writes: N` and `until: steady`";
                return Err(ConfigError::new(path, message));
            }
        }
        let writes_max = *self.max_drive_writes.get_or_insert(10.0);
        let window = *self.window_drive_writes.get_or_insert(0.2);
        let windows = *self.windows.get_or_insert(5);
        let tolerance = *self.tolerance_ratio.get_or_insert(0.02);
        check_drive_writes(&at("max_drive_writes"), writes_max)?;
        check_drive_writes(&at("window_drive_writes"), window)?;
        if !(2..=1000).contains(&windows) {
            return Err(refuse(&at("windows"), windows, "2 to 1000"));
        }
        if !(tolerance > 0.0 && tolerance <= 1.0) {
            return Err(refuse(&at("tolerance_ratio"), tolerance, "above 0, at most 1"));
        }
        // Decimals such as 0.1 are not exact: three windows of 0.1 fit in 0.3.
        if window * f64::from(windows) > writes_max * (1.0 + 1e-9) {
            let message = format!(
                "`{writes_max}` is less than {windows} windows of {window} drive writes; \
                 accepted: at least {}",
                window * f64::from(windows)
            );
            return Err(ConfigError::new(at("max_drive_writes"), message));
        }
        Ok(())
    }

    fn refuse_steady_keys(&self, path: &str) -> Result<(), ConfigError> {
        let keys = [
            ("max_drive_writes", self.max_drive_writes.is_some()),
            ("window_drive_writes", self.window_drive_writes.is_some()),
            ("windows", self.windows.is_some()),
            ("tolerance_ratio", self.tolerance_ratio.is_some()),
        ];
        match keys.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((key, _)) => Err(ConfigError::new(
                format!("{path}.{key}"),
                "belongs to `until: steady`; accepted beside `drive_writes`: timed",
            )),
        }
    }

    /// Label, bytes at most, and the rule that may end the step earlier.
    fn end(&self, space: Space) -> (String, u64, Option<SteadyRule>) {
        if let Some(writes) = self.drive_writes {
            return ("workload writes".to_owned(), bytes_of(writes, space), None);
        }
        // `resolve` has filled these in; the fallbacks are its defaults.
        let rule = SteadyRule {
            window_bytes: bytes_of(self.window_drive_writes.unwrap_or(0.2), space),
            window_count: self.windows.unwrap_or(5),
            tolerance_ratio: self.tolerance_ratio.unwrap_or(0.02),
        };
        let bytes_max = bytes_of(self.max_drive_writes.unwrap_or(10.0), space);
        ("workload writes until steady".to_owned(), bytes_max, Some(rule))
    }
}
