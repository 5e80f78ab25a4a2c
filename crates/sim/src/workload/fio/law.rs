//! Places by popularity, as the generators of fio draw them.
//!
//! fio spreads ranks by a hash that maps several ranks to one place unless their number is a power
//! of two; here the spread is one-to-one. The places of a job are the same in all its processes.
//!
//! Source: `lib/zipf.c`, `lib/gauss.c` of fio; zipf is exact here.

use super::Law;
use crate::rng::Rng;
use crate::workload::pattern::permutation::{Permutation, ShuffleKeys};
use crate::workload::pattern::zipf::RankSampler;

/// Uniform draws of which fio takes the mean.
const DRAWS: u64 = 12;

/// Ranks of one direction, and their places.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    ranks: Ranks,
    places: Permutation,
    first: u64,
    count: u64,
}

#[derive(Clone, Debug)]
enum Ranks {
    Zipf(RankSampler),
    Pareto { power: f64 },
    Normal { spread: u64 },
}

impl Ranked {
    /// The places `0..count` by a law; `None` for one without ranks.
    pub fn new(law: &Law, count: u64) -> Option<Self> {
        let (ranks, center) = match *law {
            Law::Uniform | Law::Zones { .. } => return None,
            Law::Zipf { value, center } => (Ranks::Zipf(RankSampler::new(count, value)), center),
            Law::Pareto { value, center } => {
                let power = libm::log(value) / libm::log1p(-value);
                (Ranks::Pareto { power }, center)
            }
            Law::Normal { value, center } => {
                let spread = (count as f64 * value / 100.0).ceil() as u64;
                let center = center.map(|center| center - 0.5 + 1.0);
                (Ranks::Normal { spread: spread.min(count / 2) }, center)
            }
        };
        let keys = ShuffleKeys::draw(&mut Rng::stream(count, "fio.places"));
        let first = (count as f64 * center.unwrap_or(0.0)) as u64 % count;
        Some(Self { ranks, places: Permutation::over(count, keys), first, count })
    }

    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let count = self.count;
        let rank = match &self.ranks {
            Ranks::Zipf(sampler) => sampler.draw(rng),
            Ranks::Pareto { power } => ((count - 1) as f64 * libm::pow(rng.unit(), *power)) as u64,
            Ranks::Normal { spread } => {
                let sum: u64 = (0..DRAWS).map(|_| rng.below(count + 1)).sum();
                let mean = sum.div_ceil(DRAWS);
                let moved = if *spread == 0 { 0 } else { rng.below(*spread) };
                (mean + moved).saturating_sub(*spread / 2).min(count - 1)
            }
        };
        (self.places.apply(rank) + self.first) % count
    }
}
