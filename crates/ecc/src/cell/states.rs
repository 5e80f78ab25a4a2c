//! Threshold-voltage states of a cell and the levels between them.
//!
//! ```text
//!   density     S0      S1    S2    S3
//!               __      _     _     _           each state is normal: a mean and a width
//!              /  \    / \   / \   / \
//!             /    \__/   \_/   \_/   \
//!                   |     |     |               a read level between each two neighbours
//! ```
//!
//! A cell of `b` bits has `2^b` states. Voltages have whatever unit the caller likes: the error
//! models count in gaps between programmed states, the channel in half the distance of its two.

use super::gaussian::{between, log_between};

/// States that a cell has at most: four bits.
pub const STATE_COUNT_MAX: usize = 16;

/// Normal threshold-voltage states, lowest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct States {
    count: usize,
    mean: [f64; STATE_COUNT_MAX],
    sigma: [f64; STATE_COUNT_MAX],
}

impl States {
    /// States of given means, in rising order, and widths above 0.
    ///
    /// # Panics
    /// When there are fewer than 2 or more than 16, or as many widths as means are not given.
    pub fn new(mean: &[f64], sigma: &[f64]) -> Self {
        let count = mean.len();
        assert!((2..=STATE_COUNT_MAX).contains(&count), "a cell has 2 to 16 states, not {count}");
        let mut states =
            Self { count, mean: [0.0; STATE_COUNT_MAX], sigma: [1.0; STATE_COUNT_MAX] };
        states.mean[..count].copy_from_slice(mean);
        states.sigma[..count].copy_from_slice(sigma);
        states
    }

    /// The same states, each with its mean moved.
    #[must_use]
    pub fn shifted(mut self, shift: impl Fn(usize) -> f64) -> Self {
        let means = self.mean[..self.count].iter_mut().enumerate();
        means.for_each(|(state, mean)| *mean += shift(state));
        self
    }

    /// Means, lowest state first.
    pub fn mean(&self) -> &[f64] {
        &self.mean[..self.count]
    }

    /// Standard deviations, lowest state first.
    pub fn sigma(&self) -> &[f64] {
        &self.sigma[..self.count]
    }

    /// `P(low < V < high)` of the voltage of a cell in this state.
    pub fn probability(&self, state: usize, low: f64, high: f64) -> f64 {
        let (mean, sigma) = (self.mean[state], self.sigma[state]);
        between((low - mean) / sigma, (high - mean) / sigma)
    }

    /// `ln P(low < V < high)` of the voltage of a cell in this state, exact far out in a tail.
    pub fn log_probability(&self, state: usize, low: f64, high: f64) -> f64 {
        let (mean, sigma) = (self.mean[state], self.sigma[state]);
        log_between((low - mean) / sigma, (high - mean) / sigma)
    }

    /// Level `j` is at the equal densities of states `j` and `j + 1`: fewest errors between them.
    pub fn best_levels(&self) -> ReadLevels {
        let levels: Vec<f64> = (1..self.count)
            .map(|j| {
                level_between((self.mean[j - 1], self.sigma[j - 1]), (self.mean[j], self.sigma[j]))
            })
            .collect();
        ReadLevels::new(&levels)
    }
}

/// Voltages, one between each two neighbouring states, lowest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadLevels {
    count: usize,
    at: [f64; STATE_COUNT_MAX],
}

impl ReadLevels {
    /// Levels at given voltages.
    ///
    /// # Panics
    /// When there are more than 15.
    pub fn new(at: &[f64]) -> Self {
        let mut levels = Self { count: at.len(), at: [0.0; STATE_COUNT_MAX] };
        levels.at[..at.len()].copy_from_slice(at);
        levels
    }

    /// The voltages.
    pub fn at(&self) -> &[f64] {
        &self.at[..self.count]
    }

    /// Each level moved by its offset.
    ///
    /// # Panics
    /// When there are not as many offsets as levels.
    #[must_use]
    pub fn moved(&self, offsets: &[f64]) -> Self {
        assert_eq!(offsets.len(), self.count, "one offset for each level");
        let mut levels = *self;
        levels.at.iter_mut().zip(offsets).for_each(|(at, offset)| *at += offset);
        levels
    }
}

/// Where two normal states, given as (mean, width), are equally dense between their means; where
/// they are nowhere, the point that is as many widths from one as from the other.
///
/// `(x - m0)^2 / 2 s0^2 + ln s0 = (x - m1)^2 / 2 s1^2 + ln s1`, a quadratic in `x - m0`.
pub fn level_between(low: (f64, f64), high: (f64, f64)) -> f64 {
    let ((m0, s0), (m1, s1)) = (low, high);
    let distance = m1 - m0;
    let balanced = m0 + distance * (s0 / (s0 + s1));
    // a x^2 + 2 b x + c = 0
    let a = s1 * s1 - s0 * s0;
    let b = s0 * s0 * distance;
    let c = -s0 * s0 * (distance * distance + 2.0 * s1 * s1 * libm::log(s1 / s0));
    let root = b * b - a * c;
    if root < 0.0 {
        return balanced;
    }
    // The root that does not cancel; the other one is outside.
    let x = -c / (b + libm::sqrt(root));
    if (0.0..=distance).contains(&x) {
        m0 + x
    } else {
        balanced
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{CellPage, PageBits};
    use super::*;
    use proptest::prelude::*;

    fn density(x: f64) -> f64 {
        libm::exp(-0.5 * x * x) / libm::sqrt(core::f64::consts::TAU)
    }

    #[test]
    fn moved_levels_are_the_sum_of_level_and_offset() {
        let levels = ReadLevels::new(&[0.5, 1.5]).moved(&[-0.1, 0.2]);
        assert!((levels.at()[0] - 0.4).abs() < 1e-15 && (levels.at()[1] - 1.7).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn the_best_level_is_where_densities_meet_and_no_neighbour_is_better(
            distance in 0.1_f64..5.0,
            s0 in 0.1_f64..1.0,
            s1 in 0.1_f64..1.0,
        ) {
            let level = level_between((1.0, s0), (1.0 + distance, s1));
            prop_assert!((1.0..=1.0 + distance).contains(&level));
            let (x0, x1) = ((level - 1.0) / s0, (level - 1.0 - distance) / s1);
            let meets = (density(x0) / s0 / (density(x1) / s1) - 1.0).abs() < 1e-6;
            let balanced = (x0 + x1).abs() < 1e-9;
            prop_assert!(meets || balanced, "{x0} {x1}");
            if meets {
                let states = States::new(&[1.0, 1.0 + distance], &[s0, s1]);
                let rber = |at: f64| {
                    let levels = ReadLevels::new(&[at]);
                    CellPage { states: &states, bits: PageBits::TWO_STATES, levels: &levels }.rber()
                };
                prop_assert!(rber(level) <= rber(level + 1e-3) * (1.0 + 1e-9));
                prop_assert!(rber(level) <= rber(level - 1e-3) * (1.0 + 1e-9));
            }
        }
    }
}
