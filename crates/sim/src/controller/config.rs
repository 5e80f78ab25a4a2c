//! The `controller` section of a device file: scheduling, suspension, reading again.
//!
//! Every key is off by default; a device without any of them runs on the plain back end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::energy::PowerConfig;
use crate::config::{check_time_us, name_or_mapping, ConfigError};
use crate::reads::config::{RetryConfig, SoftReadConfig};
use crate::reads::decoding::EccDecodeConfig;
use crate::reads::EccConfig;

/// Which operation a die does next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SchedulerConfig {
    /// One queue for the whole drive: an operation starts only when all earlier ones have started.
    InOrder(InOrder),
    /// A queue per die, each in order: a busy die does not hold up the others.
    OutOfOrder(OutOfOrder),
    /// Per die, host reads go before host writes, and those before collection.
    Priority(Priority),
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self::OutOfOrder(OutOfOrder {})
    }
}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InOrder {}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutOfOrder {}

/// Parameters of the priority scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Priority {
    /// A host write that waits longer takes turns with host reads, in microseconds. Default 10 ms
    /// (assumed).
    pub write_starvation_us: f64,
    /// Collection that waits longer takes turns with host reads, before host writes, in
    /// microseconds. Default 100 ms (assumed).
    pub gc_starvation_us: f64,
}

impl Default for Priority {
    fn default() -> Self {
        Self { write_starvation_us: 10_000.0, gc_starvation_us: 100_000.0 }
    }
}

/// Interrupting programs and erases for host reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SuspendConfig {
    /// Whether programs can be suspended.
    pub program: bool,
    /// Whether erases can be suspended.
    pub erase: bool,
    /// Time until the array is free for the read, in microseconds. Default 20 (assumed).
    pub suspend_us: f64,
    /// Time lost when the operation resumes, in microseconds. Default 20 (assumed).
    pub resume_us: f64,
    /// How often one operation may be suspended. Default 8 (assumed).
    pub suspend_count_max: u32,
    /// Host reads served in one suspension. Default 16 (assumed).
    pub reads_per_suspend_max: u32,
}

impl Default for SuspendConfig {
    fn default() -> Self {
        Self {
            program: true,
            erase: true,
            suspend_us: 20.0,
            resume_us: 20.0,
            suspend_count_max: 8,
            reads_per_suspend_max: 16,
        }
    }
}

/// Background reads that look for blocks with too many bit errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatrolConfig {
    /// Days of simulated time in which every page of closed blocks is read once, evenly; 1e-6 to
    /// 36500, fractions of a day too.
    pub period_days: f64,
}

/// The flash controller of a drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControllerConfig {
    /// `in_order`, `out_of_order` (the default) or `priority`.
    #[serde(deserialize_with = "name_or_mapping")]
    pub scheduler: SchedulerConfig,
    /// Suspending programs and erases for host reads; left out: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<SuspendConfig>,
    /// Reads of the host that may wait for a die that programs or erases before the controller
    /// starts no further command, 1 to 65536. 1 is firmware that waits for each such read. Left
    /// out: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_reads_max: Option<u32>,
    /// Read retry; left out: a page that the code cannot correct at once is uncorrectable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_retry: Option<RetryConfig>,
    /// Soft decisions after the retries, with `ecc.algorithm: ldpc`; left out: hard decisions only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_read: Option<SoftReadConfig>,
    /// Time to decode a page after its transfer, in microseconds, 0 to 1e6; adds to latency,
    /// occupies no die.
    pub ecc_decode_us: f64,
    /// The same by what there is to correct: errors of a BCH code, iterations of an LDPC code.
    /// Instead of `ecc_decode_us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc_decode: Option<EccDecodeConfig>,
    /// Time for each block that the controller looks at when it chooses a victim, in microseconds,
    /// 0 to 1e6: all full blocks of a die with `greedy` and `cost_benefit`, `d` with `d_choices`,
    /// `window_blocks` with `windowed_greedy`, one with `fifo` and `random`. The first operation of
    /// the collection starts that much later. Left out: no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victim_us_per_block: Option<f64>,
    /// Patrol reads: every page of closed blocks once in `period_days`, in timed stages, cells and
    /// idle times. They wait like moved pages, and count as `reads.refresh` and for
    /// `ftl.refresh.at_rber`. Left out: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patrol: Option<PatrolConfig>,
    /// Power of everything but the flash, for `metrics.power`; left out: not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
}

impl ControllerConfig {
    /// Fills what depends on the error model: whether it has read levels to move.
    ///
    /// # Errors
    /// [`ConfigError`] for keys that such a model has no use for.
    pub(crate) fn fill_defaults(&mut self, has_levels: bool) -> Result<(), ConfigError> {
        self.read_retry.as_mut().map_or(Ok(()), |retry| retry.fill_defaults(has_levels))
    }

    /// Fills what depends on the code: how decoding takes its time.
    ///
    /// # Errors
    /// [`ConfigError`] for keys that such a code has no use for.
    pub(crate) fn fill_decode(&mut self, ecc: &EccConfig) -> Result<(), ConfigError> {
        let Some(decode) = &mut self.ecc_decode else { return Ok(()) };
        let soft = self.soft_read.as_ref().map_or(&[][..], |soft| &soft.reads);
        decode.fill_defaults(ecc, soft).map_err(|error| error.under("ecc_decode"))
    }

    /// Ranges and relations of the keys.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if !(0.0..=1e6).contains(&self.ecc_decode_us) {
            let message = format!("{} us is out of range; accepted: 0 to 1e6", self.ecc_decode_us);
            return Err(ConfigError::new("ecc_decode_us", message));
        }
        if let Some(decode) = &self.ecc_decode {
            if self.ecc_decode_us > 0.0 {
                let message = format!(
                    "is given in addition to ecc_decode_us = {}; accepted: one of them",
                    self.ecc_decode_us
                );
                return Err(ConfigError::new("ecc_decode", message));
            }
            decode.check().map_err(|error| error.under("ecc_decode"))?;
        }
        if let Some(count) = self.blocked_reads_max.filter(|it| !(1..=65_536).contains(it)) {
            let message = format!("{count} is out of range; accepted: 1 to 65536");
            return Err(ConfigError::new("blocked_reads_max", message));
        }
        if let Some(us) = self.victim_us_per_block.filter(|us| !(0.0..=1e6).contains(us)) {
            let message = format!("{us} is out of range; accepted: 0 to 1e6");
            return Err(ConfigError::new("victim_us_per_block", message));
        }
        if let Some(patrol) = &self.patrol {
            let days = patrol.period_days;
            if !(1e-6..=36_500.0).contains(&days) {
                let message = format!("{days} is out of range; accepted: 1e-6 to 36500");
                return Err(ConfigError::new("patrol.period_days", message));
            }
        }
        if let SchedulerConfig::Priority(priority) = &self.scheduler {
            check_time_us("scheduler.write_starvation_us", priority.write_starvation_us)?;
            check_time_us("scheduler.gc_starvation_us", priority.gc_starvation_us)?;
        }
        if let Some(suspend) = &self.suspend {
            check_time_us("suspend.suspend_us", suspend.suspend_us)?;
            check_time_us("suspend.resume_us", suspend.resume_us)?;
            if !matches!(self.scheduler, SchedulerConfig::Priority(_)) {
                return Err(ConfigError::new(
                    "suspend",
                    "a read cannot interrupt what it may not overtake; accepted: scheduler = \
                     priority, or no suspension",
                ));
            }
            if !suspend.program && !suspend.erase {
                return Err(ConfigError::new(
                    "suspend",
                    "neither programs nor erases are to be suspended; accepted: program or erase \
                     = true, or no `suspend`",
                ));
            }
            for (key, count) in [
                ("suspend.suspend_count_max", suspend.suspend_count_max),
                ("suspend.reads_per_suspend_max", suspend.reads_per_suspend_max),
            ] {
                if !(1..=1_000_000).contains(&count) {
                    let message = format!("{count} is out of range; accepted: 1 to 1000000");
                    return Err(ConfigError::new(key, message));
                }
            }
        }
        if let Some(retry) = &self.read_retry {
            retry.check().map_err(|error| error.under("read_retry"))?;
        }
        if let Some(soft) = &self.soft_read {
            soft.check().map_err(|error| error.under("soft_read"))?;
        }
        if let Some(power) = &self.power {
            power.check().map_err(|error| error.under("power"))?;
        }
        Ok(())
    }

    /// Dotted path and source of each default that a resolved device can hold.
    pub(crate) fn sources(&self) -> Vec<(&'static str, &'static str)> {
        let mut rows = Vec::new();
        if matches!(self.scheduler, SchedulerConfig::Priority(_)) {
            rows.push(("controller.scheduler.write_starvation_us", "assumed: 10 ms"));
            rows.push(("controller.scheduler.gc_starvation_us", "assumed: 100 ms"));
        }
        if self.suspend.is_some() {
            let assumed = "assumed: order of program and erase suspension of 3D NAND";
            rows.push(("controller.suspend.suspend_us", assumed));
            rows.push(("controller.suspend.resume_us", assumed));
            rows.push(("controller.suspend.suspend_count_max", "assumed"));
            rows.push(("controller.suspend.reads_per_suspend_max", "assumed"));
        }
        if self.read_retry.is_some() {
            let rows_of_retry = [
                ("controller.read_retry.step_count_max", "assumed"),
                (
                    "controller.read_retry.rber_factor",
                    "assumed; with reliability states, steps follow from the states",
                ),
                (
                    "controller.read_retry.horizon_h",
                    "assumed: the retention of client drives in JESD218, one year",
                ),
                ("controller.read_retry.setup_us", "assumed: a set-feature command"),
            ];
            rows.extend(rows_of_retry);
        }
        if self.soft_read.is_some() {
            let reads = "one and three comparisons on each side of the hard read, as is usual";
            rows.push(("controller.soft_read.reads", reads));
            rows.push(("controller.soft_read.setup_us", "assumed: a set-feature command"));
        }
        if self.ecc_decode.is_some() {
            rows.extend(EccDecodeConfig::sources());
        }
        rows.push(("controller.ecc_decode_us", "none: decoding takes no time unless it is given"));
        rows
    }

    /// Whether the plain back end cannot carry this out.
    pub(crate) fn needs_full(&self) -> bool {
        self.scheduler != SchedulerConfig::default()
            || self.suspend.is_some()
            || self.blocked_reads_max.is_some()
            || self.read_retry.is_some()
            || self.soft_read.is_some()
            || self.victim_us_per_block.is_some_and(|us| us > 0.0)
    }
}
