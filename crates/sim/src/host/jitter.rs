//! Firmware that does not take the same time for every command.
//!
//! A drive whose times are all constants has a latency of a few discrete values, which no measured
//! drive shows. Here the firmware time of a command, its share of a core and its overhead, is
//! multiplied by a lognormal factor of mean 1, drawn for each command:
//!
//! ```text
//! factor = exp(sigma Z - sigma^2 / 2)      Z standard normal
//! ```
//! The mean of a lognormal number is `exp(mu + sigma^2 / 2)` (Aitchison and Brown, The Lognormal
//! Distribution, 1957, section 2.3), so means and the utilisation of the cores stay; the median is
//! `exp(-sigma^2 / 2)`, and the standard deviation `sqrt(exp(sigma^2) - 1)`. The draws have a
//! separate random stream, so no other draw changes. Left out: times that depend on each other from
//! one command to the next, as when firmware pauses for its own work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::rng::Rng;
use crate::units::Ns;

/// How the firmware time of commands varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JitterConfig {
    /// A lognormal factor of mean 1 for each command.
    Lognormal {
        /// Standard deviation of the factor's logarithm; above 0, at most 2.
        sigma: f64,
    },
}

impl JitterConfig {
    pub(super) fn check(&self, has_command_time: bool) -> Result<(), ConfigError> {
        let Self::Lognormal { sigma } = self;
        if !(*sigma > 0.0 && *sigma <= 2.0) {
            let message = format!("{sigma} is out of range; accepted: above 0, at most 2");
            return Err(ConfigError::new("jitter.sigma", message));
        }
        if !has_command_time {
            let message = "has no effect without a time of commands; accepted: beside \
                           command_overhead_us or command_cost_us";
            return Err(ConfigError::new("jitter", message));
        }
        Ok(())
    }
}

/// The factors of a run, one command after the other.
#[derive(Clone, Debug)]
pub struct Jitter {
    rng: Rng,
    sigma: f64,
}

impl Jitter {
    /// The factors that follow from this seed.
    pub fn new(config: &JitterConfig, seed: u64) -> Self {
        let JitterConfig::Lognormal { sigma } = *config;
        Self { rng: Rng::stream(seed, "host.jitter"), sigma }
    }

    /// The factor of the next command.
    pub fn factor(&mut self) -> f64 {
        libm::exp(self.sigma * (self.rng.normal() - self.sigma / 2.0))
    }
}

/// A time multiplied by a factor, if there is one, to the nearest nanosecond.
#[inline]
pub fn scaled(time: Ns, factor: Option<f64>) -> Ns {
    factor.map_or(time, |factor| Ns::rounded(time.0 as f64 * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed forms of Aitchison and Brown, within 4.5 standard errors.
    #[test]
    fn factors_are_lognormal_with_mean_1() {
        const COUNT: usize = 200_000;
        for sigma in [0.2_f64, 1.0] {
            let mut jitter = Jitter::new(&JitterConfig::Lognormal { sigma }, 42);
            let factors: Vec<f64> = (0..COUNT).map(|_| jitter.factor()).collect();
            let mean = factors.iter().sum::<f64>() / COUNT as f64;
            let error = ((sigma * sigma).exp_m1() / COUNT as f64).sqrt();
            assert!((mean - 1.0).abs() < 4.5 * error, "sigma {sigma}: mean {mean}");
            // Standard normal quantiles of 0.1, 0.5, 0.9, 0.99.
            for (share, z) in [(0.1, -1.281_552), (0.5, 0.0), (0.9, 1.281_552), (0.99, 2.326_348)] {
                let limit = (sigma * z - sigma * sigma / 2.0).exp();
                let below = factors.iter().filter(|&&factor| factor < limit).count() as f64;
                let expected = COUNT as f64 * share;
                let error = (expected * (1.0 - share)).sqrt();
                assert!((below - expected).abs() < 4.5 * error, "sigma {sigma}: {below}");
            }
        }
    }

    #[test]
    fn times_round_to_the_nearest() {
        assert_eq!((scaled(Ns(1001), Some(0.5)), scaled(Ns(7), None)), (Ns(501), Ns(7)));
    }
}
