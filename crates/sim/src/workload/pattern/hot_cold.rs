//! Hot and cold: a share of the requests goes to a fraction of the range, uniformly inside each
//! class.
//!
//! The model of the hot/cold closed forms (Desnoyers, ACM TOS 2014): with `fraction` 0.2 and
//! `share` 0.8 the first 20 % of the starts get exactly 80 % of the requests in expectation. The
//! hot class is at the low addresses, or is spread over the range; its size is `fraction` of the
//! starts, rounded to the nearest, at least one on each side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::permutation::{Permutation, ShuffleKeys};
use super::Parameters;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::workload::addresses::{Addresses, Extent};
use crate::workload::check::refuse;

/// Parameters of `hot_cold`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HotColdConfig {
    /// Part of the active range that is hot; above 0, below 1; default 0.2.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: f64,
    /// Part of the requests that go there; 0 to 1; default 0.8.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
    /// Whether hot starts are spread over the range; if false they are the first. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shuffle: bool,
}

impl Default for HotColdConfig {
    fn default() -> Self {
        Self { fraction: 0.2, share: 0.8, shuffle: false }
    }
}

impl Parameters for HotColdConfig {
    type Addresses = HotCold;

    fn check(&self, extent: Extent, request_sectors: &[u32]) -> Result<(), ConfigError> {
        if !(self.fraction > 0.0 && self.fraction < 1.0) {
            return Err(refuse("fraction", self.fraction, "above 0, below 1"));
        }
        if !(0.0..=1.0).contains(&self.share) {
            return Err(refuse("share", self.share, "0 to 1"));
        }
        if request_sectors.iter().any(|&sectors| extent.starts(sectors) < 2) {
            return Err(ConfigError::new(
                "fraction",
                "the active range holds a single request; accepted: room for a hot and a cold one",
            ));
        }
        Ok(())
    }

    fn compile(&self, seed: u64) -> HotCold {
        let mut rng = Rng::stream(seed, "workload.shuffle");
        let keys = self.shuffle.then(|| ShuffleKeys::draw(&mut rng));
        HotCold { fraction: self.fraction, share: self.share, keys }
    }
}

/// Draws the class, then the place.
#[derive(Clone, Debug)]
pub struct HotCold {
    fraction: f64,
    share: f64,
    keys: Option<ShuffleKeys>,
}

/// The starts of one request size: `[0, hot)` and `[hot, hot + cold)`.
#[derive(Clone, Copy, Debug)]
pub struct Classes {
    hot_count: u64,
    cold_count: u64,
    places: Option<Permutation>,
    align_sectors: u64,
}

impl Addresses for HotCold {
    type Span = Classes;

    fn span(&self, extent: Extent, request_sectors: u32) -> Classes {
        let count = extent.starts(request_sectors);
        let hot_count = ((count as f64 * self.fraction).round() as u64).clamp(1, count - 1);
        let cold_count = count - hot_count;
        let places = self.keys.map(|keys| Permutation::over(count, keys));
        Classes { hot_count, cold_count, places, align_sectors: extent.align_sectors }
    }

    #[inline]
    fn next(&mut self, span: &Classes, rng: &mut Rng) -> u64 {
        self.other(span, 0, rng)
    }

    #[inline]
    fn other(&self, span: &Classes, _: u64, rng: &mut Rng) -> u64 {
        // Selected, not branched on: the class is unpredictable.
        let is_hot = rng.unit() < self.share;
        let count = if is_hot { span.hot_count } else { span.cold_count };
        let first = if is_hot { 0 } else { span.hot_count };
        let place = first + rng.below(count);
        span.places.map_or(place, |places| places.apply(place)) * span.align_sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_places_follow_the_definition() {
        let config = HotColdConfig { fraction: 0.1, share: 0.9, shuffle: false };
        let mut addresses = config.compile(0);
        let span = addresses.span(Extent { sector_count: 800, align_sectors: 8 }, 8);
        let mut rng = Rng::stream(1, "test");
        let draws = 400_000_u32;
        let mut counts = [0_u32; 100];
        for _ in 0..draws {
            counts[addresses.next(&span, &mut rng) as usize / 8] += 1;
        }
        // Chi-square with 99 degrees of freedom: mean 99, deviation 14.
        let chi_square: f64 = (0..100)
            .map(|place| {
                let share = if place < 10 { 0.9 / 10.0 } else { 0.1 / 90.0 };
                let expected = share * f64::from(draws);
                (f64::from(counts[place]) - expected).powi(2) / expected
            })
            .sum();
        assert!((99.0 - 63.0..99.0 + 63.0).contains(&chi_square), "{chi_square}");
    }

    #[test]
    fn hot_places_that_are_spread_are_as_many() {
        let config = HotColdConfig { fraction: 0.25, share: 1.0, shuffle: true };
        let mut addresses = config.compile(3);
        let span = addresses.span(Extent { sector_count: 8000, align_sectors: 8 }, 8);
        let mut rng = Rng::stream(1, "test");
        let drawn = (0..10_000).map(|_| addresses.next(&span, &mut rng));
        let places: std::collections::BTreeSet<u64> = drawn.collect();
        assert_eq!(places.len(), 250);
        let low = places.iter().filter(|&&sector| sector < 4000).count();
        assert!((95..=155).contains(&low), "{low} of 250 in the lower half");
    }

    #[test]
    fn both_classes_keep_a_place() {
        for fraction in [1e-9, 1.0 - 1e-9] {
            let addresses = HotColdConfig { fraction, share: 0.5, shuffle: false }.compile(0);
            let span = addresses.span(Extent { sector_count: 16, align_sectors: 8 }, 8);
            assert_eq!((span.hot_count, span.cold_count), (1, 1));
        }
    }
}
