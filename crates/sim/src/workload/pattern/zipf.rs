//! Zipf: the k-th most popular of n starts gets requests in proportion to k^-theta, exactly, for
//! any n.
//!
//! Rejection-inversion (Hörmann & Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 1996): invert the integral of the continuous hat
//! `x^-theta`, round, and accept nearly always without evaluating anything else. No table, and no
//! approximation of the harmonic sum. With `q = 1 - theta` the integral is `H(x) = (x^q - 1)/q`,
//! its limit `ln x` at `q = 0`;
//! `expm1` and `log1p` keep it accurate near there.
//!
//! Ranks are shuffled over the range by default: real hot spots are not next to each other.

use std::f64::consts::LOG2_E;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::permutation::{Permutation, ShuffleKeys};
use super::Parameters;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::workload::addresses::{Addresses, Extent};
use crate::workload::check::refuse;

/// Parameters of `zipf`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ZipfConfig {
    /// Skew; above 0, at most 10; default 0.99 (as in YCSB): on 1e6 places the hottest then gets
    /// 6.5 %.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub theta: f64,
    /// Whether ranks are spread over the range; if false the hottest place is the first. Default
    /// true.
    pub shuffle: bool,
    /// Neighbouring ranks that share a place, 1 to 65536: the law is that of a range this many
    /// times as large, which a smaller range has no other way to keep. Default 1.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 65536))]
    pub ranks_per_place: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(count: &u32) -> bool {
    *count == 1
}

impl Default for ZipfConfig {
    fn default() -> Self {
        Self { theta: 0.99, shuffle: true, ranks_per_place: 1 }
    }
}

impl Parameters for ZipfConfig {
    type Addresses = Zipf;

    fn check(&self, _: Extent, _: &[u32]) -> Result<(), ConfigError> {
        if !(1..=1 << 16).contains(&self.ranks_per_place) {
            return Err(refuse("ranks_per_place", self.ranks_per_place, "1 to 65536"));
        }
        if self.theta > 0.0 && self.theta <= 10.0 {
            return Ok(());
        }
        Err(refuse("theta", self.theta, "above 0, at most 10"))
    }

    fn compile(&self, seed: u64) -> Zipf {
        // The stream has no stage in its name: preconditioning and measuring share their hot
        // places.
        let mut rng = Rng::stream(seed, "workload.shuffle");
        Zipf {
            theta: self.theta,
            keys: self.shuffle.then(|| ShuffleKeys::draw(&mut rng)),
            ranks_per_place: u64::from(self.ranks_per_place),
        }
    }
}

/// Draws a rank, then looks up its place.
#[derive(Clone, Debug)]
pub struct Zipf {
    theta: f64,
    keys: Option<ShuffleKeys>,
    ranks_per_place: u64,
}

/// The ranks of one request size.
#[derive(Clone, Copy, Debug)]
pub struct Ranks {
    sampler: RankSampler,
    places: Option<Permutation>,
    align_sectors: u64,
}

impl Addresses for Zipf {
    type Span = Ranks;

    fn span(&self, extent: Extent, request_sectors: u32) -> Ranks {
        let count = extent.starts(request_sectors);
        // All sizes share the domain of the smallest, and so their hot places; but not when
        // requests are so large that the walk would be long.
        let widest = extent.starts(1);
        let domain = if widest / 4 <= count { widest } else { count };
        let shuffle = |keys| Permutation::over(count, keys).widened(domain);
        Ranks {
            sampler: RankSampler::new(count * self.ranks_per_place, self.theta),
            places: self.keys.map(shuffle),
            align_sectors: extent.align_sectors,
        }
    }

    #[inline]
    fn next(&mut self, span: &Ranks, rng: &mut Rng) -> u64 {
        self.other(span, 0, rng)
    }

    #[inline]
    fn other(&self, span: &Ranks, _: u64, rng: &mut Rng) -> u64 {
        let mut rank = span.sampler.draw(rng);
        if self.ranks_per_place > 1 {
            rank /= self.ranks_per_place;
        }
        let place = span.places.map_or(rank, |places| places.apply(rank));
        place * span.align_sectors
    }
}

/// Draws ranks `0..count` with `P(rank)` proportional to `(rank + 1)^-theta`.
#[derive(Clone, Copy, Debug)]
pub struct RankSampler {
    count: f64,
    theta: f64,
    /// `1 - theta`.
    q: f64,
    /// `log2(e) / q`, or `log2(e)` at `q = 0`: from the logarithm of an area to that of `x`.
    log2_scale: f64,
    /// `H(3/2) - 1`: the hat begins here, so that k = 1 has exactly its own mass.
    area_first: f64,
    /// `H(n + 1/2)`.
    area_last: f64,
    /// `k - x` up to this much is accepted at once.
    shortcut: f64,
}

impl RankSampler {
    /// A sampler of `count > 0` ranks with `theta > 0`.
    pub fn new(count: u64, theta: f64) -> Self {
        let q = 1.0 - theta;
        let mut sampler = Self {
            count: count as f64,
            theta,
            q,
            log2_scale: if q == 0.0 { LOG2_E } else { LOG2_E / q },
            area_first: hat_integral(1.5, q) - 1.0,
            area_last: hat_integral(count as f64 + 0.5, q),
            shortcut: 0.0,
        };
        sampler.shortcut =
            2.0 - sampler.hat_integral_inverse(hat_integral(2.5, q) - hat(2.0, theta));
        sampler
    }

    /// Draws a rank.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.area_last + rng.unit() * (self.area_first - self.area_last);
            let x = self.hat_integral_inverse(area);
            // Truncation is `floor` here, since x > 0, and takes a tenth of its time.
            let k = ((x + 0.5) as u64 as f64).clamp(1.0, self.count);
            if k - x <= self.shortcut || area >= hat_integral(k + 0.5, self.q) - hat(k, self.theta)
            {
                return k as u64 - 1;
            }
        }
    }

    /// The `x` with `H(x) = area`, by powers of two: `exp2` takes half the time of `exp`, and the
    /// rounding of its argument moves `x` by less than 1e-14 of itself.
    #[inline]
    fn hat_integral_inverse(&self, area: f64) -> f64 {
        let log = if self.q == 0.0 { area } else { libm::log1p(area * self.q) };
        libm::exp2(log * self.log2_scale)
    }
}

/// `h(x) = x^-theta`.
fn hat(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// `H(x)`, the integral of `h` from 1 to `x`.
fn hat_integral(x: f64, q: f64) -> f64 {
    let log = libm::log(x);
    if q == 0.0 {
        log
    } else {
        libm::expm1(q * log) / q
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of drawn ranks against k^-theta / sum, in deviations from its mean.
    fn misfit(count: u64, theta: f64, draws: u32) -> f64 {
        let sampler = RankSampler::new(count, theta);
        let mut rng = Rng::stream(count, "test");
        let mut counts = vec![0_u32; count as usize];
        for _ in 0..draws {
            counts[sampler.draw(&mut rng) as usize] += 1;
        }
        let mass: Vec<f64> = (1..=count).map(|k| (k as f64).powf(-theta)).collect();
        let total: f64 = mass.iter().sum();
        // Rare ranks are pooled until 10 are expected: the statistic is then close to chi-square.
        let (mut chi_square, mut cells) = (0.0, 0.0);
        let (mut expected, mut seen) = (0.0, 0.0);
        for (rank, mass) in mass.iter().enumerate() {
            expected += mass / total * f64::from(draws);
            seen += f64::from(counts[rank]);
            if expected >= 10.0 {
                chi_square += (seen - expected) * (seen - expected) / expected;
                cells += 1.0;
                (expected, seen) = (0.0, 0.0);
            }
        }
        let freedom: f64 = cells - 1.0;
        if freedom < 1.0 {
            return 0.0;
        }
        (chi_square - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn ranks_follow_the_exact_mass() {
        for theta in [0.1, 0.5, 0.9, 0.99, 1.0, 1.000_001, 1.1, 2.0, 4.0] {
            for count in [1, 2, 3, 5, 10, 100, 1000] {
                let misfit = misfit(count, theta, 300_000);
                assert!(misfit < 5.0, "theta {theta}, {count} ranks: {misfit} deviations");
            }
        }
    }

    #[test]
    fn head_and_tail_of_a_large_range_have_their_mass() {
        // n = 2^23 pages, theta 0.99: masses by direct summation.
        let (count, theta) = (1_u64 << 23, 0.99);
        let mass = |last: u64| (1..=last).map(|k| (k as f64).powf(-theta)).sum::<f64>();
        let total = mass(count);
        let sampler = RankSampler::new(count, theta);
        let mut rng = Rng::stream(5, "test");
        let draws = 2_000_000_u32;
        let limits = [1_u64, 10, 1_000, 100_000, count / 2];
        let mut counts = [0_u32; 5];
        for _ in 0..draws {
            let rank = sampler.draw(&mut rng);
            for (index, &limit) in limits.iter().enumerate() {
                counts[index] += u32::from(rank < limit);
            }
        }
        for (&limit, &count) in limits.iter().zip(&counts) {
            let share = mass(limit) / total;
            let deviation = (f64::from(draws) * share * (1.0 - share)).sqrt();
            let error = (f64::from(count) - f64::from(draws) * share) / deviation;
            assert!(error.abs() < 4.5, "first {limit}: {error} deviations");
        }
    }

    #[test]
    fn places_have_the_mass_of_the_ranks_that_share_them() {
        // 1000 places of 64 ranks each, theta 1: masses by direct summation.
        let config = ZipfConfig { theta: 1.0, shuffle: false, ranks_per_place: 64 };
        let mass = |last: u64| (1..=last).map(|k| 1.0 / k as f64).sum::<f64>();
        let extent = Extent { sector_count: 8_000, align_sectors: 8 };
        let mut zipf = config.compile(1);
        let span = zipf.span(extent, 8);
        let mut rng = Rng::stream(6, "test");
        let draws = 1_000_000_u32;
        let mut counts = [0_u32; 3];
        let limits = [1_u64, 10, 500];
        for _ in 0..draws {
            let place = zipf.next(&span, &mut rng) / 8;
            assert!(place < 1000);
            for (count, &limit) in counts.iter_mut().zip(&limits) {
                *count += u32::from(place < limit);
            }
        }
        for (&count, &limit) in counts.iter().zip(&limits) {
            let share = mass(64 * limit) / mass(64_000);
            let deviation = (f64::from(draws) * share * (1.0 - share)).sqrt();
            let error = (f64::from(count) - f64::from(draws) * share) / deviation;
            assert!(error.abs() < 4.5, "first {limit}: {error} deviations");
        }
    }

    #[test]
    fn theta_near_one_is_continuous() {
        let near = RankSampler::new(1000, 1.0 + 1e-12);
        let at = RankSampler::new(1000, 1.0);
        let (mut first, mut second) = (Rng::from_seed(1), Rng::from_seed(1));
        let equal = (0..10_000).filter(|_| near.draw(&mut first) == at.draw(&mut second)).count();
        assert!(equal >= 9_999, "{equal}");
    }

    #[test]
    fn extreme_ranges_stay_inside() {
        let mut rng = Rng::from_seed(1);
        for theta in [1e-9, 0.5, 1.0, 3.0, 10.0] {
            for count in [1, 2, 1 << 20, 1 << 40] {
                let sampler = RankSampler::new(count, theta);
                assert!((0..2_000).all(|_| sampler.draw(&mut rng) < count), "{theta} {count}");
            }
        }
    }
}
