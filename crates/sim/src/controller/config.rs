//! The `controller` section of a device file: scheduling, suspension, reading again.
//!
//! Every key is off by default; a device without any of them runs on the plain back end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{name_or_mapping, ConfigError};

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
    /// Time lost when the operation goes on, in microseconds. Default 20 (assumed).
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

/// Reading again with shifted voltages when the code cannot correct a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetryConfig {
    /// Steps after the first read, at most; then the page is uncorrectable. Default 5 (assumed).
    pub step_count_max: u8,
    /// Factor by which each step lowers the raw bit error rate. Left out: with `reliability:
    /// states` steps are level offsets that follow from the states; with other models 0.6
    /// (assumed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rber_factor: Option<f64>,
    /// Age of the data that the last step's level offsets are made for, at rated wear and 40
    /// degrees Celsius, hours. Default 8760, a year (assumed); only where steps follow from states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon_h: Option<f64>,
    /// Time to set the voltages of a step, on top of another tR, in microseconds. Default 2
    /// (assumed).
    pub setup_us: f64,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self { step_count_max: 5, rber_factor: None, horizon_h: None, setup_us: 2.0 }
    }
}

impl RetryConfig {
    /// What a step lowers the error rate by, without a table. Assumed.
    const FACTOR: f64 = 0.6;
    /// Age that tables of level offsets are made for, hours: the retention of client drives in
    /// JESD218. Assumed.
    const HORIZON_H: f64 = 8760.0;

    /// The factor of a step.
    pub fn factor(&self) -> f64 {
        self.rber_factor.unwrap_or(Self::FACTOR)
    }

    /// The age that the last step is made for, hours.
    pub fn horizon(&self) -> f64 {
        self.horizon_h.unwrap_or(Self::HORIZON_H)
    }

    /// Fills what the file left out, for a model that has levels to move or not.
    fn fill_defaults(&mut self, has_levels: bool) -> Result<(), ConfigError> {
        if self.horizon_h.is_some() && (self.rber_factor.is_some() || !has_levels) {
            let accepted = "accepted: with reliability states, and without rber_factor";
            let message = format!("has no effect; {accepted}");
            return Err(ConfigError::new("read_retry.horizon_h", message));
        }
        if !has_levels {
            self.rber_factor.get_or_insert(Self::FACTOR);
        } else if self.rber_factor.is_none() {
            self.horizon_h.get_or_insert(Self::HORIZON_H);
        }
        Ok(())
    }
}

/// Reading a page several times at levels beside each other, for soft decisions of an LDPC code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SoftReadConfig {
    /// Reads of each attempt, ascending: 3, 7 or both (the default).
    pub reads: Vec<u8>,
    /// Time to set the voltages of a further read, on top of another tR, in microseconds. Default 2
    /// (assumed).
    pub setup_us: f64,
}

impl Default for SoftReadConfig {
    fn default() -> Self {
        Self { reads: vec![3, 7], setup_us: 2.0 }
    }
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
    /// Read retry; left out: a page that the code cannot correct at once is uncorrectable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_retry: Option<RetryConfig>,
    /// Soft decisions after the retries, with `ecc.algorithm: ldpc`; left out: hard decisions only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_read: Option<SoftReadConfig>,
    /// Time to decode a page after its transfer, in microseconds; adds to latency, occupies no die.
    pub ecc_decode_us: f64,
}

impl ControllerConfig {
    /// Fills what depends on the error model: whether it has read levels to move.
    ///
    /// # Errors
    /// [`ConfigError`] for keys that such a model has no use for.
    pub(crate) fn fill_defaults(&mut self, has_levels: bool) -> Result<(), ConfigError> {
        self.read_retry.as_mut().map_or(Ok(()), |retry| retry.fill_defaults(has_levels))
    }

    /// Ranges and relations of the keys.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let time = |key: &str, us: f64| {
            if (0.0..=1e7).contains(&us) {
                Ok(())
            } else {
                let message = format!("{us} us is out of range; accepted: 0 to 1e7");
                Err(ConfigError::new(key, message))
            }
        };
        time("ecc_decode_us", self.ecc_decode_us)?;
        if let SchedulerConfig::Priority(priority) = &self.scheduler {
            time("scheduler.write_starvation_us", priority.write_starvation_us)?;
            time("scheduler.gc_starvation_us", priority.gc_starvation_us)?;
        }
        if let Some(suspend) = &self.suspend {
            time("suspend.suspend_us", suspend.suspend_us)?;
            time("suspend.resume_us", suspend.resume_us)?;
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
            time("read_retry.setup_us", retry.setup_us)?;
            if !(1..=64).contains(&retry.step_count_max) {
                let message =
                    format!("{} is out of range; accepted: 1 to 64", retry.step_count_max);
                return Err(ConfigError::new("read_retry.step_count_max", message));
            }
            if !(retry.factor() > 0.0 && retry.factor() < 1.0) {
                let message =
                    format!("{} is out of range; accepted: between 0 and 1", retry.factor());
                return Err(ConfigError::new("read_retry.rber_factor", message));
            }
            if !(retry.horizon() > 0.0 && retry.horizon() <= 1e6) {
                let message =
                    format!("{} h is out of range; accepted: above 0, to 1e6", retry.horizon());
                return Err(ConfigError::new("read_retry.horizon_h", message));
            }
        }
        if let Some(soft) = &self.soft_read {
            time("soft_read.setup_us", soft.setup_us)?;
            if ![&[3][..], &[7], &[3, 7]].contains(&&soft.reads[..]) {
                let message = format!("{:?} is not usable; accepted: [3], [7], [3, 7]", soft.reads);
                return Err(ConfigError::new("soft_read.reads", message));
            }
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
        rows.push(("controller.ecc_decode_us", "none: decoding takes no time unless it is given"));
        rows
    }

    /// Whether the plain back end cannot carry this out.
    pub(crate) fn needs_full(&self) -> bool {
        self.scheduler != SchedulerConfig::default()
            || self.suspend.is_some()
            || self.read_retry.is_some()
            || self.soft_read.is_some()
    }
}
