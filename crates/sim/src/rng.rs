//! Random numbers: one seed per run, named streams, the same bytes on every machine.
//!
//! The generator is xoshiro256++ (Blackman & Vigna, "Scrambled linear pseudorandom number
//! generators", ACM TOMS 2021), seeded by `SplitMix64` as its authors advise. A stream is picked by
//! name, so that a new user of randomness disturbs nobody. Logarithms come from `libm` (software),
//! not from the machine's own library, because results must not depend on the machine.

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream called `name` of the run with this `seed`.
    pub fn stream(seed: u64, name: &str) -> Self {
        // FNV-1a spreads the name over 64 bits; SplitMix64 then decorrelates neighbouring seeds.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::from_seed(split_mix(&mut { seed }) ^ hash)
    }

    /// The generator its authors call `xoshiro256++`, with `SplitMix64` filling the state.
    pub fn from_seed(seed: u64) -> Self {
        let mut chain = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut chain)) }
    }

    /// 64 uniform random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform integer in `0..limit`, `limit > 0`.
    ///
    /// Multiply-shift with Lemire's rejection ("Fast random integer generation in an interval",
    /// 2019): exactly uniform.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        debug_assert!(limit > 0, "an empty range has no members");
        let mut product = u128::from(self.next_u64()) * u128::from(limit);
        if (product as u64) < limit {
            let threshold = limit.wrapping_neg() % limit;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(limit);
            }
        }
        (product >> 64) as u64
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
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_outputs_are_those_of_the_published_generator() {
        // rand_xoshiro's Xoshiro256PlusPlus, state 1 2 3 4 (its own test vector).
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
        ];
        for value in expected {
            assert_eq!(rng.next_u64(), value);
        }
    }

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        let first = |seed, name| Rng::stream(seed, name).next_u64();
        assert_ne!(first(42, "gc"), first(42, "workload"));
        assert_ne!(first(42, "gc"), first(43, "gc"));
        assert_eq!(first(42, "gc"), first(42, "gc"));
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::stream(1, "test");
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        // Standard deviation of a cell is 93: five of them.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 465), "{counts:?}");
    }
}
