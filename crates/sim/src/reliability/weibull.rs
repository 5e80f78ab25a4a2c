//! Raw bit errors that rise from a floor to a ceiling along a Weibull distribution function.
//!
//! `rber = floor + (ceiling - floor) (1 - exp(-(pe / scale)^shape))`
//!
//! The OpenNANDLab 2.0 benchmark page tabulates this curve for TLC; its four rows are met exactly
//! with the defaults below. As physics the shape is doubtful: it saturates at the rated life and
//! starts at 1e-8, where measured TLC starts near 1e-4 to 1e-3 and grows as a power of the cycles
//! without saturating ([`super::power_law`]). It is the default because the page defines it so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{require, RberModel, Stress, RBER_MAX};
use crate::config::ConfigError;

/// From a floor to a ceiling along a Weibull distribution function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weibull {
    /// Raw bit error rate of fresh flash, 0 to 0.5.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub floor: f64,
    /// Raw bit error rate that worn flash approaches, `floor` to 0.5.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub ceiling: f64,
    /// P/E cycles at which 63 % of the way to the ceiling is done, above 0.
    pub scale_cycles: f64,
    /// How sudden the rise is, above 0; 1 is a plain exponential approach.
    pub shape: f64,
}

/// P/E limit of the flash that the page's table describes: its TLC-standard device.
const TABLE_PE_CYCLES: f64 = 3000.0;

impl Default for Weibull {
    fn default() -> Self {
        Self {
            // OpenNANDLab 2.0 benchmark page, table "RBER vs. P/E cycles", row 0.
            floor: 1e-8,
            // Fitted to the same table's rows 500, 1500 and 3000: three parameters, three points.
            ceiling: 9.8786e-4,
            scale_cycles: 1873.64,
            shape: 4.14829,
        }
    }
}

/// The keys of a device file that describe how its flash wears.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WearKeys {
    /// `nand.rber_floor`, when given.
    pub rber_floor: Option<f64>,
    /// `nand.rber_ceil`, when given.
    pub rber_ceil: Option<f64>,
    /// `nand.max_pe_cycles`.
    pub max_pe_cycles: f64,
}

impl Weibull {
    /// The curve of a device: its own floor and ceiling if given, stretched to its rated life.
    ///
    /// Our assumption, not on the page: flash of another endurance wears along the same curve when
    /// cycles are counted in rated lives, so `scale = 1873.64 * max_pe_cycles / 3000` and the shape
    /// stays. At 3000 cycles and without own keys this is [`Weibull::default`].
    pub fn for_device(keys: &WearKeys) -> Self {
        let table = Self::default();
        Self {
            floor: keys.rber_floor.unwrap_or(table.floor),
            ceiling: keys.rber_ceil.unwrap_or(table.ceiling),
            // Divided first: exactly 1 for the table's own device.
            scale_cycles: table.scale_cycles * (keys.max_pe_cycles / TABLE_PE_CYCLES),
            shape: table.shape,
        }
    }

    /// Whether the parameters make a curve.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Self { floor, ceiling, scale_cycles, shape } = *self;
        require((0.0..=RBER_MAX).contains(&floor), "floor", floor, "0 to 0.5")?;
        require(
            (floor..=RBER_MAX).contains(&ceiling),
            "ceiling",
            ceiling,
            &format!("the floor, {floor:e}, to 0.5"),
        )?;
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        require(is_positive(scale_cycles), "scale_cycles", scale_cycles, "a number above 0")?;
        require(is_positive(shape), "shape", shape, "a number above 0")
    }
}

impl RberModel for Weibull {
    fn rber(&self, stress: &Stress) -> f64 {
        let worn_share = -libm::expm1(-libm::pow(stress.pe_cycles / self.scale_cycles, self.shape));
        // Rounding may step over the ceiling by one unit in the last place.
        (self.floor + (self.ceiling - self.floor) * worn_share).min(self.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(model: &Weibull, pe_cycles: f64) -> f64 {
        model.rber(&Stress { pe_cycles, ..Stress::default() })
    }

    #[test]
    fn the_table_of_the_benchmark_page_is_met() {
        // Three digits are printed there; the formatted text must agree.
        let model = Weibull::default();
        for (pe_cycles, printed) in
            [(0.0, "1.00e-8"), (500.0, "4.12e-6"), (1500.0, "3.24e-4"), (3000.0, "9.87e-4")]
        {
            assert_eq!(format!("{:.2e}", at(&model, pe_cycles)), printed, "{pe_cycles} cycles");
        }
    }

    #[test]
    fn devices_stretch_the_curve_to_their_rated_life() {
        let keys = WearKeys { rber_floor: None, rber_ceil: None, max_pe_cycles: 3000.0 };
        assert_eq!(Weibull::for_device(&keys), Weibull::default());
        // The page's MLC-enterprise device.
        let keys =
            WearKeys { rber_floor: Some(1e-9), rber_ceil: Some(5e-4), max_pe_cycles: 10_000.0 };
        let model = Weibull::for_device(&keys);
        assert_eq!(model.check(), Ok(()));
        assert!((at(&model, 0.0) - 1e-9).abs() < 1e-24);
        // Half a rated life is as far along the curve as 1500 of 3000 cycles.
        let share = (at(&model, 5000.0) - 1e-9) / (5e-4 - 1e-9);
        let table = (at(&Weibull::default(), 1500.0) - 1e-8) / (9.8786e-4 - 1e-8);
        assert!((share / table - 1.0).abs() < 1e-12);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let good = Weibull::default();
        for (bad, path) in [
            (Weibull { floor: -1e-9, ..good.clone() }, "floor"),
            (Weibull { floor: f64::NAN, ..good.clone() }, "floor"),
            (Weibull { ceiling: 1e-9, ..good.clone() }, "ceiling"),
            (Weibull { ceiling: 0.6, ..good.clone() }, "ceiling"),
            (Weibull { scale_cycles: 0.0, ..good.clone() }, "scale_cycles"),
            (Weibull { shape: f64::INFINITY, ..good.clone() }, "shape"),
        ] {
            assert_eq!(bad.check().unwrap_err().path, path);
        }
    }
}
