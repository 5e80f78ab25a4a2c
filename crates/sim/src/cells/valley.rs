//! The search for a valley: where a read level is best, from counts of cells that change.
//!
//! ```text
//!   cells that change between two reads
//!   |#                        #
//!   |# #                    # #     one level is moved in steps, all others stay; the valley is at
//!   |# # #                # # #     the least sum of three bins, in between at the vertex of a
//!   |# # # #    _ _    _ # # # #    parabola through the logarithms of it and its two neighbours
//!   +----------------------------> level
//! ```
//!
//! Single bins would do, with two and a half times the standard deviation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;

/// Share of the span that is below the default level: charge loss moves valleys down.
const BELOW: f64 = 0.8;

/// How a valley is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Calibrate {
    /// Distance of two reads, gaps, 0.01 to 0.5; default 0.05.
    #[schemars(range(min = 0.01, max = 0.5))]
    pub step: f64,
    /// Distance of the first read from the last, gaps, 4 to 63 steps; default 0.75. Four fifths of
    /// it are below the default level.
    pub span: f64,
}

impl Default for Calibrate {
    fn default() -> Self {
        Self { step: 0.05, span: 0.75 }
    }
}

impl Calibrate {
    /// Whether there can be such a search.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |path: &str, value: f64, accepted: &str| {
            Err(ConfigError::new(path, format!("{value} is not usable; accepted: {accepted}")))
        };
        if !(0.01..=0.5).contains(&self.step) {
            return refuse("step", self.step, "0.01 to 0.5");
        }
        // Half a step of room for rounding.
        if !(3.5..=63.5).contains(&(self.span / self.step)) {
            return refuse("span", self.span, "4 to 63 steps");
        }
        Ok(())
    }

    /// Reads of a search.
    pub fn reads(&self) -> usize {
        (self.span / self.step).round() as usize + 1
    }

    /// Offsets of the level, rising.
    pub fn offsets(&self) -> Vec<f64> {
        let below = (BELOW * (self.reads() - 1) as f64).round();
        (0..self.reads()).map(|read| self.step * (read as f64 - below)).collect()
    }

    /// The offset of the valley, from the cells that changed between neighbouring reads.
    ///
    /// # Panics
    /// When there is not one count less than reads.
    pub fn valley(&self, changed: &[u64]) -> f64 {
        assert_eq!(changed.len() + 1, self.reads(), "a count between two reads");
        let sums: Vec<u64> = changed.windows(3).map(|bins| bins.iter().sum()).collect();
        let least = sums.iter().min().copied().unwrap_or(0);
        let of = |bins: Option<usize>| bins.unwrap_or(0);
        let first = of(sums.iter().position(|&sum| sum == least));
        let last = of(sums.iter().rposition(|&sum| sum == least));
        // A sum is of three bins; the middle of a valley that is flat.
        let at = |bin: usize| self.offsets()[bin + 1] + 0.5 * self.step;
        let middle = 0.5 * (at(first) + at(last));
        if first < last {
            return middle;
        }
        let log = |bin: usize| sums.get(bin).map(|&sum| libm::log(sum as f64 + 0.5));
        let Some((left, right)) = log(first.wrapping_sub(1)).zip(log(first + 1)) else {
            return middle;
        };
        let here = libm::log(least as f64 + 0.5);
        // The least sum is in the middle, so the vertex is within half a step.
        middle + self.step * 0.5 * (left - right) / (left + right - 2.0 * here)
    }

    /// The offset of the valley, from a page that was read with the level at each offset.
    pub fn valley_of(&self, pages: &[Vec<u8>]) -> f64 {
        let changes = pages.windows(2).map(|pair| changed(&pair[0], &pair[1]));
        self.valley(&changes.collect::<Vec<u64>>())
    }
}

/// Bits in which two pages differ.
pub fn changed(one: &[u8], other: &[u8]) -> u64 {
    one.iter().zip(other).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
}
