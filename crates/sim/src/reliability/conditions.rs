//! The stress under which a drive's pages are read: the `nand.stress` section of a device file.
//!
//! Wear follows from what the drive does. The rest of what a page has been through would need
//! months of simulated time, so it is stated: how old the data is, how warm it was, how often its
//! block was read. Every read of the run is a read under this stress; what depends on it (error
//! rates, retries, uncorrectable pages) is counted in the measured part only, so a drive can be
//! worn by the preconditioning and read back as after a year on the shelf.
//!
//! Reads of a block can be counted instead, see `reads::disturb`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrhenius::TEMPERATURE_C_RANGE;
use super::{require, RberModel, Stress, REFERENCE_C};
use crate::config::ConfigError;

/// Hours of retention at most: more than a century.
const RETENTION_H_MAX: f64 = 1e6;

/// Reads per page of the block: far beyond what any model was fitted to.
const READS_MAX: f64 = 1e6;

/// The stress of pages when they are read, in addition to wear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StressConfig {
    /// Age of the data, hours, 0 to 1e6. Default 0: just programmed.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub retention_h: f64,
    /// Temperature during these hours, degrees Celsius, -55 to 200. Default 40: storage of
    /// enterprise drives in JESD218, at which models state their hours.
    #[schemars(range(min = -55.0, max = 200.0))]
    pub temperature_c: f64,
    /// Reads of the block since it was programmed, per page of it, 0 to 1e6. Default 0.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub reads: f64,
    /// Whether reads of each block are counted from its erase on and add to `reads`. Default
    /// false.
    pub count_reads: bool,
}

impl Default for StressConfig {
    fn default() -> Self {
        Self { retention_h: 0.0, temperature_c: REFERENCE_C, reads: 0.0, count_reads: false }
    }
}

impl StressConfig {
    /// Ranges of the keys.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let hours = self.retention_h;
        require((0.0..=RETENTION_H_MAX).contains(&hours), "retention_h", hours, "0 to 1e6")?;
        let celsius = self.temperature_c;
        let is_good = TEMPERATURE_C_RANGE.contains(&celsius);
        require(is_good, "temperature_c", celsius, "-55 to 200 degrees Celsius")?;
        require((0.0..=READS_MAX).contains(&self.reads), "reads", self.reads, "0 to 1e6")
    }

    /// The stress of a page type or of none, without wear.
    pub fn stress(&self) -> Stress {
        Stress {
            retention_h: self.retention_h,
            temperature_c: self.temperature_c,
            reads: self.reads,
            ..Stress::default()
        }
    }

    /// Keys that were given and that a model does not know, at this many cycles.
    pub fn ignored_by(&self, model: &dyn RberModel, pe_cycles: f64) -> Vec<&'static str> {
        let rber = |stress: Stress| model.rber(&Stress { pe_cycles, ..stress });
        let rest = rber(Stress::default());
        let is_blind = |stress: Stress| rber(stress).to_bits() == rest.to_bits();
        let mut ignored = Vec::new();
        if self.retention_h > 0.0 && is_blind(Stress { reads: 0.0, ..self.stress() }) {
            ignored.push("retention_h");
        }
        let reads = if self.count_reads { self.reads + 1e3 } else { self.reads };
        if reads > 0.0 && is_blind(Stress { reads, ..Stress::default() }) {
            ignored.push(if self.count_reads { "count_reads" } else { "reads" });
        }
        ignored
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reliability::{Kim, StateModel, Weibull};

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let good = StressConfig::default;
        for (bad, path) in [
            (StressConfig { retention_h: -1.0, ..good() }, "retention_h"),
            (StressConfig { retention_h: f64::NAN, ..good() }, "retention_h"),
            (StressConfig { temperature_c: 300.0, ..good() }, "temperature_c"),
            (StressConfig { reads: 1e7, ..good() }, "reads"),
        ] {
            assert_eq!(bad.check().unwrap_err().path, path);
        }
        assert!(good().check().is_ok());
    }

    #[test]
    fn what_a_model_does_not_know_is_named() {
        let all = StressConfig { retention_h: 100.0, reads: 10.0, ..StressConfig::default() };
        assert_eq!(all.ignored_by(&Weibull::default(), 3e3), ["retention_h", "reads"]);
        assert!(all.ignored_by(&Kim::default(), 3e3).is_empty());
        let counted = StressConfig { count_reads: true, ..StressConfig::default() };
        assert_eq!(counted.ignored_by(&Weibull::default(), 3e3), ["count_reads"]);
        assert!(counted.ignored_by(&StateModel::default(), 3e3).is_empty());
    }
}
