//! Read levels, and the error rate of a page that is read at them.
//!
//! A page type has some of the levels; each flips its bit. A cell is read wrong when an odd number
//! of the page's levels lies between its state and its voltage, so the error rate of a page is a
//! sum of normal tails over states and levels, exact for any position of the levels.

use super::gray::GrayCode;
use super::normal::between;
use super::states::{States, STATE_COUNT_MAX};

/// Voltages, one between each two neighbouring states, lowest first; in gaps.
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
    // The root that does not cancel; the other one lies outside.
    let x = -c / (b + libm::sqrt(root));
    if (0.0..=distance).contains(&x) {
        m0 + x
    } else {
        balanced
    }
}

/// Share of the bits of a page type that is read wrong.
pub fn page_rber(states: &States, code: GrayCode, page_type: usize, levels: &ReadLevels) -> f64 {
    let mut wrong = 0.0;
    for (state, (&mean, &sigma)) in states.mean().iter().zip(states.sigma()).enumerate() {
        let bit = code.bit(state, page_type);
        let (mut from, mut sensed) = (f64::NEG_INFINITY, 1);
        for level in code.levels_of(page_type) {
            let to = (levels.at()[level] - mean) / sigma;
            if sensed != bit {
                wrong += between(from, to);
            }
            (from, sensed) = (to, 1 - sensed);
        }
        if sensed != bit {
            wrong += between(from, f64::INFINITY);
        }
    }
    wrong / states.mean().len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::normal::{density, upper_tail};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_equal_states_give_the_tail_of_half_their_distance() {
        // Two states at -1 and 1 of width 1 / Qinv(5e-3) = 0.38822 give 5e-3.
        let states = States::new(&[-1.0, 1.0], &[0.388_223, 0.388_223]);
        let levels = states.best_levels();
        assert!(levels.at()[0].abs() < 1e-15);
        let rber = page_rber(&states, GrayCode::Slc, 0, &levels);
        assert!((rber / 5e-3 - 1.0).abs() < 1e-4, "{rber}");
    }

    #[test]
    fn reflected_code_makes_errors_in_proportion_to_levels() {
        let mean: Vec<f64> = (0..8).map(f64::from).collect();
        let states = States::new(&mean, &[0.15; 8]);
        let levels = states.best_levels();
        let of = |page| page_rber(&states, GrayCode::Tlc124, page, &levels);
        // Each level is crossed by the tail of two states out of eight.
        assert!((of(0) / (2.0 * upper_tail(0.5 / 0.15) / 8.0) - 1.0).abs() < 1e-9);
        assert!((of(1) / of(0) - 2.0).abs() < 1e-6);
        assert!((of(2) / of(0) - 4.0).abs() < 1e-6);
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
                let rber = |at: f64| page_rber(&states, GrayCode::Slc, 0, &ReadLevels::new(&[at]));
                prop_assert!(rber(level) <= rber(level + 1e-3) * (1.0 + 1e-9));
                prop_assert!(rber(level) <= rber(level - 1e-3) * (1.0 + 1e-9));
            }
        }
    }
}
