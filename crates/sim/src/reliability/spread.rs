//! How much blocks and layers differ in error rate: the `nand.error_spread` section of a device
//! file.
//!
//! ```text
//!   rate of a page = rate of its stress x factor of its block x factor of its layer
//!
//!   block factors    gamma distribution of mean 1 and the standard deviation `block_cv`
//!   layer factors    the bowl of `layers`, of mean 1
//! ```
//!
//! The beta distribution of error rates becomes a gamma distribution while they are small, so a
//! drive read over all its blocks loses codewords at the rate of beta-binomial errors. Factors
//! follow from the seed of the run. They are divided by their mean over the drive, so the mean
//! error rate is unchanged. That blocks and layers differ is measured (Y. Luo et al., SIGMETRICS
//! 2018; V. Taranalli et al., 2016); the sizes are up to the user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::layers::LayerProfile;
use super::require;
use crate::config::ConfigError;
use crate::rng::Rng;

/// How much blocks and layers differ in error rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpreadConfig {
    /// Relative standard deviation of the error rates of blocks, 0 to 1. Default 0: all alike.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub block_cv: f64,
    /// Layers of the 3D stack, 1 to 10000. Default 1: pages are alike.
    #[schemars(range(min = 1, max = 10000))]
    pub layers: u32,
    /// Relative excess of the error rate of the outermost layers over the mean, 0 to 2. Default 0.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub layer_swing: f64,
}

impl Default for SpreadConfig {
    fn default() -> Self {
        Self { block_cv: 0.0, layers: 1, layer_swing: 0.0 }
    }
}

impl SpreadConfig {
    /// Ranges and relations of the keys.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        require((0.0..=1.0).contains(&self.block_cv), "block_cv", self.block_cv, "0 to 1")?;
        LayerProfile::new(self.layers, self.layer_swing)?;
        if self.layer_swing > 0.0 && self.layers == 1 {
            let message = "has no effect on one layer; accepted: 0, or layers from 2 on";
            return Err(ConfigError::new("layer_swing", message));
        }
        Ok(())
    }

    /// Whether anything differs.
    pub fn is_on(&self) -> bool {
        self.block_cv > 0.0 || self.layer_swing > 0.0
    }

    /// The factors of the layers, bottom first.
    pub fn layer_factors(&self) -> Vec<f64> {
        LayerProfile::new(self.layers, self.layer_swing).map_or(vec![1.0], |one| one.factors())
    }

    /// The factors of `block_count` blocks, before they are divided by their mean.
    pub fn block_factors(&self, block_count: u32, seed: u64) -> Vec<f64> {
        let mut rng = Rng::stream(seed, "reads.error_spread");
        let shape = 1.0 / (self.block_cv * self.block_cv);
        let draw = |_| if self.block_cv > 0.0 { gamma(shape, &mut rng) / shape } else { 1.0 };
        (0..block_count).map(draw).collect()
    }
}

/// A number of the gamma distribution of this shape, 1 or more, and scale 1.
///
/// Source: G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", ACM
/// Transactions on Mathematical Software 26, 2000; normal numbers after Box and Muller.
fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let radius = libm::sqrt(2.0 * rng.exponential());
        let x = radius * libm::cos(core::f64::consts::TAU * rng.unit());
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if rng.exponential() > -(0.5 * x * x + d - d * v + d * libm::log(v)) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_factors_have_the_moments_of_a_gamma_distribution() {
        for block_cv in [0.1, 0.3, 1.0] {
            let config = SpreadConfig { block_cv, ..SpreadConfig::default() };
            let factors = config.block_factors(200_000, 7);
            let count = factors.len() as f64;
            let mean = factors.iter().sum::<f64>() / count;
            let moment = |power: i32| {
                factors.iter().map(|one| (one - mean).powi(power)).sum::<f64>() / count
            };
            assert!((mean - 1.0).abs() < 5.0 * block_cv / count.sqrt(), "{block_cv}: {mean}");
            assert!((moment(2).sqrt() / block_cv - 1.0).abs() < 0.01, "{block_cv}");
            // Skewness of a gamma distribution: twice its relative standard deviation.
            let skewness = moment(3) / moment(2).powf(1.5);
            assert!((skewness / (2.0 * block_cv) - 1.0).abs() < 0.1, "{block_cv}: {skewness}");
            assert!(factors.iter().all(|&one| one > 0.0));
        }
    }

    #[test]
    fn impossible_spreads_are_refused_by_name() {
        let good = SpreadConfig::default;
        for (bad, path) in [
            (SpreadConfig { block_cv: -0.1, ..good() }, "block_cv"),
            (SpreadConfig { block_cv: 1.1, ..good() }, "block_cv"),
            (SpreadConfig { layers: 0, ..good() }, "layers"),
            (SpreadConfig { layers: 64, layer_swing: 2.5, ..good() }, "swing"),
            (SpreadConfig { layer_swing: 0.5, ..good() }, "layer_swing"),
        ] {
            assert_eq!(bad.check().unwrap_err().path, path);
        }
        assert!(good().check().is_ok() && !good().is_on());
    }
}
