//! The published model of 72-layer TLC: wear, retention and reads as three power laws.
//!
//! `RBER = e + a PE^k + b PE^m t^n + g PE^p r^q`, `t` in hours, `r` reads per page of the block
//!
//! Source: B. Kim, J. Choi and S. Min, "Design Tradeoffs for SSD Reliability", FAST 2019. The form
//! is recalled, unverified; the values are those quoted in a public simulator that uses the model.
//! It holds up to about 1000 reads per page: 10 000 would give an error rate of 0.37. At 0 cycles
//! neither time nor reads add anything, which is an artefact of the form.
//!
//! Temperature is ours: hours are taken as hours at `reference_c` and accelerated by Arrhenius.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrhenius::{acceleration, JESD218_EA_EV};
use super::{require, RberModel, Stress, RBER_MAX, REFERENCE_C};
use crate::config::ConfigError;

/// Wear, retention and reads as three power laws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Kim {
    /// `e`: raw bit error rate of fresh flash, 0 to 0.5.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub floor: f64,
    /// `a`: added by the first cycle, 0 or more.
    pub wear_factor: f64,
    /// `k`: power of the P/E cycles, above 0.
    pub wear_exponent: f64,
    /// `b`: added by the first hour after one cycle, 0 or more.
    pub retention_factor: f64,
    /// `m`: power of the P/E cycles in the retention term, 0 or more.
    pub retention_wear_exponent: f64,
    /// `n`: power of the hours, above 0.
    pub retention_exponent: f64,
    /// `g`: added by the first read per page after one cycle, 0 or more.
    pub read_factor: f64,
    /// `p`: power of the P/E cycles in the read term, 0 or more.
    pub read_wear_exponent: f64,
    /// `q`: power of the reads per page, above 0.
    pub read_exponent: f64,
    /// Activation energy of retention, eV, 0 to 3.
    pub activation_energy_ev: f64,
    /// Temperature of the published hours, degrees Celsius, -55 to 200.
    pub reference_c: f64,
}

impl Default for Kim {
    fn default() -> Self {
        Self {
            // Kim, Choi, Min, FAST 2019, 72-layer TLC; quoted, see above.
            floor: 1.48e-3,
            wear_factor: 3.90e-10,
            wear_exponent: 2.05,
            retention_factor: 6.28e-5,
            retention_wear_exponent: 0.14,
            retention_exponent: 0.54,
            read_factor: 3.73e-9,
            read_wear_exponent: 0.33,
            read_exponent: 1.71,
            // JESD218, recalled, unverified; no part of the paper's model.
            activation_energy_ev: JESD218_EA_EV,
            // Assumed: the paper's temperature is not known to us.
            reference_c: REFERENCE_C,
        }
    }
}

impl Kim {
    /// Whether the parameters make a model.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        require((0.0..=RBER_MAX).contains(&self.floor), "floor", self.floor, "0 to 0.5")?;
        for (path, value) in [
            ("wear_factor", self.wear_factor),
            ("retention_factor", self.retention_factor),
            ("retention_wear_exponent", self.retention_wear_exponent),
            ("read_factor", self.read_factor),
            ("read_wear_exponent", self.read_wear_exponent),
        ] {
            require(value >= 0.0 && value.is_finite(), path, value, "0 or more")?;
        }
        for (path, value) in [
            ("wear_exponent", self.wear_exponent),
            ("retention_exponent", self.retention_exponent),
            ("read_exponent", self.read_exponent),
        ] {
            require(value > 0.0 && value.is_finite(), path, value, "a number above 0")?;
        }
        let energy = self.activation_energy_ev;
        require((0.0..=3.0).contains(&energy), "activation_energy_ev", energy, "0 to 3")?;
        let reference = self.reference_c;
        require((-55.0..=200.0).contains(&reference), "reference_c", reference, "-55 to 200")
    }
}

impl RberModel for Kim {
    fn rber(&self, stress: &Stress) -> f64 {
        let cycles = stress.pe_cycles;
        let hours = stress.retention_h
            * acceleration(self.activation_energy_ev, self.reference_c, stress.temperature_c);
        let term = |factor: f64, power: f64, amount: f64, exponent: f64| {
            // 0^0 is 1: no time and no reads add nothing, whatever the powers are.
            if amount > 0.0 {
                factor * libm::pow(cycles, power) * libm::pow(amount, exponent)
            } else {
                0.0
            }
        };
        let wear = self.wear_factor * libm::pow(cycles, self.wear_exponent);
        let aged = term(
            self.retention_factor,
            self.retention_wear_exponent,
            hours,
            self.retention_exponent,
        );
        let disturbed =
            term(self.read_factor, self.read_wear_exponent, stress.reads, self.read_exponent);
        (self.floor + wear + aged + disturbed).min(RBER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_values_are_met() {
        // P/E cycles, hours, reads: computed by hand from the quoted constants, four digits.
        for (pe_cycles, retention_h, reads, expected) in [
            (0.0, 0.0, 0.0, 1.480e-3),
            (500.0, 0.0, 0.0, 1.613e-3),
            (1000.0, 0.0, 0.0, 2.031e-3),
            (1500.0, 0.0, 0.0, 2.745e-3),
            (3000.0, 0.0, 0.0, 6.718e-3),
            (5000.0, 0.0, 0.0, 1.641e-2),
            (3000.0, 720.0, 0.0, 1.344e-2),
            (3000.0, 8760.0, 0.0, 3.264e-2),
            (3000.0, 0.0, 1000.0, 1.378e-2),
        ] {
            let stress = Stress { pe_cycles, retention_h, reads, ..Stress::default() };
            let ours = Kim::default().rber(&stress);
            assert!((ours / expected - 1.0).abs() < 5e-4, "{stress:?}: {ours:e}");
        }
    }

    #[test]
    fn a_hot_hour_is_as_many_cool_ones() {
        let model = Kim::default();
        let hot = Stress {
            pe_cycles: 3000.0,
            retention_h: 10.0,
            temperature_c: 85.0,
            ..Stress::default()
        };
        let cool = Stress {
            retention_h: 10.0 * acceleration(JESD218_EA_EV, 40.0, 85.0),
            temperature_c: 40.0,
            ..hot
        };
        assert!((model.rber(&hot) / model.rber(&cool) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let good = Kim::default();
        for (bad, path) in [
            (Kim { floor: 0.6, ..good.clone() }, "floor"),
            (Kim { read_factor: -1.0, ..good.clone() }, "read_factor"),
            (Kim { retention_exponent: f64::NAN, ..good.clone() }, "retention_exponent"),
            (Kim { activation_energy_ev: 9.0, ..good.clone() }, "activation_energy_ev"),
            (Kim { reference_c: -300.0, ..good.clone() }, "reference_c"),
        ] {
            assert_eq!(bad.check().unwrap_err().path, path);
        }
    }
}
