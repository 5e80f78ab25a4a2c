//! Raw bit errors that grow as a power of the P/E cycles.
//!
//! `rber = floor + factor * pe^exponent`, cut at 0.5
//!
//! This is the wear term of the published model of 72-layer TLC by Kim, Choi and Min, "Design
//! Tradeoffs for SSD Reliability", FAST 2019: `RBER = e + a PE^k + ...`, with e = 1.48e-3, a =
//! 3.90e-10, k = 2.05. The values are quoted from a public simulator that uses the model, not read
//! in the paper. The model's terms for retention and read disturb are left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{require_power_law, RberModel, Stress, RBER_MAX};
use crate::config::ConfigError;

/// A floor plus a power of the P/E cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerLaw {
    /// Raw bit error rate of fresh flash, 0 to 0.5.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub floor: f64,
    /// Raw bit error rate added by the first cycle, 0 or more.
    #[schemars(range(min = 0.0))]
    pub factor: f64,
    /// Power of the P/E cycles, above 0.
    pub exponent: f64,
}

impl Default for PowerLaw {
    fn default() -> Self {
        // Kim, Choi, Min, FAST 2019, wear term for 72-layer TLC: e, a, k (quoted, see above).
        Self { floor: 1.48e-3, factor: 3.90e-10, exponent: 2.05 }
    }
}

impl PowerLaw {
    /// Whether the parameters make a curve.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_power_law(self.floor, self.factor, self.exponent)
    }
}

impl RberModel for PowerLaw {
    fn rber(&self, stress: &Stress) -> f64 {
        let wear = self.factor * libm::pow(stress.pe_cycles, self.exponent);
        (self.floor + wear).min(RBER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_wear_term_is_met() {
        // Computed from the quoted parameters, without ageing and reads.
        let model = PowerLaw::default();
        for (pe_cycles, expected) in [
            (0.0, 1.480e-3),
            (500.0, 1.613e-3),
            (1000.0, 2.031e-3),
            (1500.0, 2.745e-3),
            (3000.0, 6.718e-3),
            (5000.0, 1.641e-2),
        ] {
            let ours = model.rber(&Stress { pe_cycles, ..Stress::default() });
            // Half a unit of the last of four digits.
            assert!((ours / expected - 1.0).abs() < 5e-4, "{pe_cycles} cycles: {ours:e}");
        }
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let good = PowerLaw::default();
        for (bad, path) in [
            (PowerLaw { floor: 0.6, ..good.clone() }, "floor"),
            (PowerLaw { factor: -1.0, ..good.clone() }, "factor"),
            (PowerLaw { exponent: 0.0, ..good.clone() }, "exponent"),
        ] {
            assert_eq!(bad.check().unwrap_err().path, path);
        }
    }
}
