//! Errors added by reads of the same block, in proportion to their number.
//!
//! `rber = floor + s(PE) reads`, `s = factor PE^exponent`
//!
//! Source: Y. Cai et al., "Read Disturb Errors in MLC NAND Flash Memory", DSN 2015, 2Y nm MLC; the
//! slopes are recalled, unverified. The power of the cycles is our fit through them, within 10 %.
//! Reads are reads of the block here, not per page as in [`super::kim`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{require_power_law, RberModel, Stress, RBER_MAX};
use crate::config::ConfigError;

/// A line in the reads whose slope is a power of the P/E cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadDisturb {
    /// Raw bit error rate without reads, 0 to 0.5. Zero leaves what reads add.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub floor: f64,
    /// Raw bit error rate added by one read after one cycle, 0 or more.
    pub factor: f64,
    /// Power of the P/E cycles in the slope, above 0.
    pub exponent: f64,
}

impl Default for ReadDisturb {
    fn default() -> Self {
        // Our fit through the slopes of Cai et al., DSN 2015, at 2000 to 15 000 cycles.
        Self { floor: 0.0, factor: 1.335e-14, exponent: 1.468 }
    }
}

impl ReadDisturb {
    /// Whether the parameters make a model.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and what is accepted.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_power_law(self.floor, self.factor, self.exponent)
    }
}

impl RberModel for ReadDisturb {
    fn rber(&self, stress: &Stress) -> f64 {
        let slope = self.factor * libm::pow(stress.pe_cycles, self.exponent);
        (self.floor + slope * stress.reads).min(RBER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_slopes_are_met_within_ten_percent() {
        let model = ReadDisturb::default();
        for (pe_cycles, slope) in [
            (2e3, 1.00e-9),
            (3e3, 1.63e-9),
            (4e3, 2.37e-9),
            (5e3, 3.74e-9),
            (8e3, 7.50e-9),
            (10e3, 9.10e-9),
            (15e3, 1.90e-8),
        ] {
            let ours = model.rber(&Stress { pe_cycles, reads: 1e5, ..Stress::default() }) / 1e5;
            assert!((ours / slope - 1.0).abs() < 0.10, "{pe_cycles}: {ours:e}");
        }
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let good = ReadDisturb::default();
        for (bad, path) in [
            (ReadDisturb { floor: -0.1, ..good.clone() }, "floor"),
            (ReadDisturb { factor: f64::NAN, ..good.clone() }, "factor"),
            (ReadDisturb { exponent: 0.0, ..good.clone() }, "exponent"),
        ] {
            assert_eq!(bad.check().unwrap_err().path, path);
        }
    }
}
