//! The one generator of random bits: xoshiro256++, of which everything random here is a stream.
//!
//! Source: Blackman & Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 2021; its
//! state is filled by `SplitMix64`, as its authors advise. Who uses it decides what a stream is
//! called and how 64 bits become a number.

/// A generator of random bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xoshiro256PlusPlus {
    state: [u64; 4],
}

impl Xoshiro256PlusPlus {
    /// The generator whose state the next four values of `SplitMix64` fill.
    pub fn from_seed(seed: u64) -> Self {
        let mut chain = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut chain)) }
    }

    /// The state, on which alone all later numbers depend.
    pub fn state(&self) -> [u64; 4] {
        self.state
    }

    /// The generator that had this state.
    pub fn from_state(state: [u64; 4]) -> Self {
        Self { state }
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
}

/// `SplitMix64`: the next value of a chain of seeds; every bit of one moves every bit of the other.
#[inline]
pub fn split_mix(chain: &mut u64) -> u64 {
    *chain = chain.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *chain;
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
        let mut rng = Xoshiro256PlusPlus { state: [1, 2, 3, 4] };
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
    fn below_is_uniform() {
        let mut rng = Xoshiro256PlusPlus::from_seed(1);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        // Standard deviation of a cell is 93: five of them.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 465), "{counts:?}");
    }
}
