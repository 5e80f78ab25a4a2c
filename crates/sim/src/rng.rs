//! Random numbers: one seed per run, named streams, the same bytes on every machine.
//!
//! A stream is picked by name, so that a new user of randomness does not change the numbers of any
//! other. Logarithms come from `libm` (software), not from the machine's own library, because
//! results must not depend on the machine.

use opennandlab_ecc::xoshiro::{split_mix, Xoshiro256PlusPlus};

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream called `name` of the run with this `seed`.
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a spreads the name over 64 bits; SplitMix64 then decorrelates neighbouring seeds.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::from_seed(split_mix(&mut { seed }) ^ hash)
    }

    /// The generator of this seed, without a name.
    pub fn from_seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::from_seed(seed))
    }

    /// What follows depends on this alone.
    pub fn state(&self) -> [u64; 4] {
        self.0.state()
    }

    /// The stream that had this state.
    pub fn from_state(state: [u64; 4]) -> Self {
        Self(Xoshiro256PlusPlus::from_state(state))
    }

    /// 64 uniform random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `0..limit`, `limit > 0`.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    /// A uniform float in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// An exponential float with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.unit())
    }

    /// A standard normal float: Box and Muller, Annals of Mathematical Statistics 29, 1958.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        let first = |seed, name| Rng::stream(seed, name).next_u64();
        assert_ne!(first(42, "gc"), first(42, "workload"));
        assert_ne!(first(42, "gc"), first(43, "gc"));
        assert_eq!(first(42, "gc"), first(42, "gc"));
    }
}
