//! Raw bit errors that grow exponentially with the P/E cycles.
//!
//! `rber = floor exp(pe / scale)`, cut at 0.5
//!
//! The form that planar flash of the 30 to 50 nm generations was found to follow (Sun, Grayson and
//! Wood, Fusion-io). Field data contradict it for later drives: error rates grew more slowly than
//! exponentially over six years (B. Schroeder, R. Lagisetty, A. Merchant, FAST 2016).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{require, RberModel, Stress, RBER_MAX};
use crate::config::ConfigError;

/// Exponential growth with the P/E cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Exponential {
    /// Raw bit error rate of fresh flash, above 0 to 0.5.
    #[schemars(range(max = 0.5))]
    pub floor: f64,
    /// P/E cycles in which the error rate grows by a factor of e, above 0.
    pub scale_cycles: f64,
}

impl Default for Exponential {
    fn default() -> Self {
        // Assumed, for comparison with the other models: through the 0 and 5000 cycle points of
        // Kim, Choi and Min, FAST 2019: 5000 / ln(1.641e-2 / 1.480e-3).
        Self { floor: 1.48e-3, scale_cycles: 2078.0 }
    }
}

impl Exponential {
    /// Whether the parameters make a curve.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Self { floor, scale_cycles } = *self;
        require(floor > 0.0 && floor <= RBER_MAX, "floor", floor, "above 0 to 0.5")?;
        let is_good = scale_cycles > 0.0 && scale_cycles.is_finite();
        require(is_good, "scale_cycles", scale_cycles, "a number above 0")
    }
}

impl RberModel for Exponential {
    fn rber(&self, stress: &Stress) -> f64 {
        (self.floor * libm::exp(stress.pe_cycles / self.scale_cycles)).min(RBER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_through_both_of_its_points() {
        let model = Exponential::default();
        for (pe_cycles, expected) in [(0.0, 1.480e-3), (5000.0, 1.641e-2)] {
            let ours = model.rber(&Stress { pe_cycles, ..Stress::default() });
            assert!((ours / expected - 1.0).abs() < 1e-3, "{pe_cycles}: {ours:e}");
        }
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let error = Exponential { floor: 0.0, ..Exponential::default() }.check().unwrap_err();
        assert_eq!(error.path, "floor");
        let bad = Exponential { scale_cycles: f64::INFINITY, ..Exponential::default() };
        assert_eq!(bad.check().unwrap_err().path, "scale_cycles");
    }
}
