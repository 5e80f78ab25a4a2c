//! Read retry: reading a page again with shifted voltages, until the code corrects it.
//!
//! Each step lowers the raw bit error rate by a factor. How many steps a page takes follows from
//! the code: a page whose first read fails has a rank below the failure probability of that read, and
//! step `k` corrects it as soon as the failure probability at the lower rate falls under the rank.
//! So a step never makes a page worse, and the share of pages that needs more than `k` steps is
//! exactly the failure probability at step `k`.

use opennandlab_ecc::PageCode;

use super::config::RetryConfig;

/// The steps of a device; none by default.
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// Factor on the error rate of the first read, by step.
    factors: Vec<f64>,
}

impl Retry {
    /// The steps of a device file.
    pub fn new(config: &RetryConfig) -> Self {
        let steps = 1..=i32::from(config.step_count_max);
        Self { factors: steps.map(|step| libm::pow(config.rber_factor, f64::from(step))).collect() }
    }

    /// Steps after the first read, at most.
    pub fn step_count(&self) -> usize {
        self.factors.len()
    }

    /// Factor on the error rate at the last step; 1 without steps.
    pub fn last_factor(&self) -> f64 {
        self.factors.last().copied().unwrap_or(1.0)
    }

    /// Steps that a page of this rank takes, at most [`Retry::step_count`].
    pub fn steps(&self, rber: f64, rank: f64, code: &PageCode) -> u32 {
        let corrects = |factor: &f64| code.page_failure_probability(rber * factor) <= rank;
        let step = self.factors.iter().position(corrects);
        step.map_or(self.factors.len(), |step| step + 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::ecc::{EccConfig, ReadErrors, ReadTally};
    use crate::op::Source;
    use crate::reliability::{WearKeys, Weibull};

    #[test]
    fn shares_of_steps_are_the_failure_probabilities() {
        let config = RetryConfig { step_count_max: 3, rber_factor: 0.8, setup_us: 0.0 };
        let keys = WearKeys { rber_floor: None, rber_ceil: None, max_pe_cycles: 3000.0 };
        let code = || EccConfig { bch_t: 1, ..EccConfig::default() }.page_code(4096, 1 << 20);
        let code = || code().expect("a code");
        let model = Box::new(Weibull::for_device(&keys));
        let mut errors = ReadErrors::new(model, code(), 3).with(Retry::new(&config), 0);
        let reads = 20_000;
        (0..reads).for_each(|_| {
            errors.record(1500, 1, Source::Host);
        });
        let rber = errors.rber(1500.0);
        let failure =
            |step: i32| code().page_failure_probability(rber * libm::pow(0.8, f64::from(step)));
        let tally: &ReadTally = errors.tally();
        for step in 1..=3_u8 {
            let expected = failure(i32::from(step) - 1) - failure(i32::from(step));
            let share = tally.retried[usize::from(step)] as f64 / f64::from(reads);
            let deviation = (expected * (1.0 - expected) / f64::from(reads)).sqrt();
            assert!((share - expected).abs() < 4.5 * deviation, "step {step}: {share} {expected}");
        }
        let lost = tally.uncorrectable[0] as f64 / f64::from(reads);
        assert!((lost / failure(3) - 1.0).abs() < 0.1, "{lost} {}", failure(3));
    }
}
