//! `controller.read_retry` and `controller.soft_read` of a device file: what the drive tries when
//! a page cannot be decoded at once.
//!
//! The rungs that follow from these keys are made in `recovery`; their time is spent by the back
//! ends of `controller`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cells::valley::Calibrate;
use crate::config::{check_time_us, ConfigError};

/// Reading again with shifted voltages when the code cannot correct a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetryConfig {
    /// Steps after the first read, at most, 1 to 64; then the page is uncorrectable. Default 5
    /// (assumed).
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
    /// Whether reads of a block begin with the step on which its last retried read was corrected,
    /// until it is erased; then they take `setup_us` from the first sense on. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remember: bool,
    /// A search of the levels with the fewest cells around them, after the last step; only where
    /// steps follow from states. Left out: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrate: Option<Calibrate>,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            step_count_max: 5,
            rber_factor: None,
            horizon_h: None,
            setup_us: 2.0,
            remember: false,
            calibrate: None,
        }
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
    ///
    /// # Errors
    /// [`ConfigError`] for keys that such a model has no use for.
    pub(crate) fn fill_defaults(&mut self, has_levels: bool) -> Result<(), ConfigError> {
        if self.horizon_h.is_some() && (self.rber_factor.is_some() || !has_levels) {
            let accepted = "accepted: with reliability states, and without rber_factor";
            let message = format!("has no effect; {accepted}");
            return Err(ConfigError::new("read_retry.horizon_h", message));
        }
        if self.calibrate.is_some() && (self.rber_factor.is_some() || !has_levels) {
            let message = "has no levels; accepted: with reliability states, without rber_factor";
            return Err(ConfigError::new("read_retry.calibrate", message));
        }
        if !has_levels {
            self.rber_factor.get_or_insert(Self::FACTOR);
        } else if self.rber_factor.is_none() {
            self.horizon_h.get_or_insert(Self::HORIZON_H);
        }
        Ok(())
    }

    /// Ranges of the keys.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_time_us("setup_us", self.setup_us)?;
        if !(1..=64).contains(&self.step_count_max) {
            let message = format!("{} is out of range; accepted: 1 to 64", self.step_count_max);
            return Err(ConfigError::new("step_count_max", message));
        }
        if !(self.factor() > 0.0 && self.factor() < 1.0) {
            let message = format!("{} is out of range; accepted: between 0 and 1", self.factor());
            return Err(ConfigError::new("rber_factor", message));
        }
        if !(self.horizon() > 0.0 && self.horizon() <= 1e6) {
            let message =
                format!("{} h is out of range; accepted: above 0, to 1e6", self.horizon());
            return Err(ConfigError::new("horizon_h", message));
        }
        let search = self.calibrate.as_ref().map_or(Ok(()), Calibrate::check);
        search.map_err(|error| error.under("calibrate"))
    }
}

/// Reading a page several times at neighbouring levels, for soft decisions of an LDPC code.
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

impl SoftReadConfig {
    /// Ranges of the keys.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_time_us("setup_us", self.setup_us)?;
        if ![&[3][..], &[7], &[3, 7]].contains(&&self.reads[..]) {
            let message = format!("{:?} is not usable; accepted: [3], [7], [3, 7]", self.reads);
            return Err(ConfigError::new("reads", message));
        }
        Ok(())
    }
}
