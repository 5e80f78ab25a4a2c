//! Ranks of cells: the place of each in the distribution of its state.
//!
//! A cell stores no voltage. Its rank is a hash of a key and of the number of the cell, uniform in
//! 32 bits, so that a cell of rank `u` is `u / 2^32` of the way up its state, whatever the
//! distribution is. The key is of a block, an erase count and a wordline: a cell keeps its rank in
//! all reads and under all later stress, and gets another one with each erase.
//!
//! Events less likely than 2^-32 in a state do not occur: thresholds saturate there.
//!
//! The hash multiplies a counter that runs in odd steps with itself under a mask, to 128 bits, and
//! folds the halves: the mixing step of `wyrand` (Wang Yi, public domain), with the mask as a
//! second half of the key.

use crate::xoshiro::split_mix;

/// Distance of the counters of neighbouring cells: the golden ratio, 64 bits, odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The key of the ranks of a wordline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankKey {
    start: u64,
    mask: u64,
}

impl RankKey {
    /// The key that follows from these numbers: a seed, a block, and so on.
    pub fn of(parts: &[u64]) -> Self {
        let mut chain = 0;
        for part in parts {
            let mixed = split_mix(&mut chain);
            chain = mixed ^ part;
        }
        Self { start: split_mix(&mut chain), mask: split_mix(&mut chain) }
    }

    /// A key for another draw of the same cells, independent of this one.
    #[must_use]
    pub fn draw(self, number: u64) -> Self {
        Self::of(&[self.start, self.mask, number])
    }

    /// The rank of a cell.
    #[inline]
    pub fn rank(self, cell: u32) -> u32 {
        let counter = self.start.wrapping_add(u64::from(cell).wrapping_mul(STEP));
        let product = u128::from(counter) * u128::from(counter ^ self.mask);
        (((product >> 64) as u64 ^ product as u64) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Chi-square of `count` ranks in 256 equal classes, as a distance from its mean in standard
    /// deviations.
    fn z(ranks: impl Iterator<Item = u32>) -> f64 {
        let mut seen = [0_u32; 256];
        ranks.for_each(|rank| seen[(rank >> 24) as usize] += 1);
        let expected = f64::from(seen.iter().sum::<u32>()) / 256.0;
        let square = |&n: &u32| (f64::from(n) - expected) * (f64::from(n) - expected) / expected;
        (seen.iter().map(square).sum::<f64>() - 255.0) / libm::sqrt(2.0 * 255.0)
    }

    proptest! {
        #[test]
        fn ranks_are_uniform_along_and_across_wordlines(seed: u64, block in 0_u64..4096) {
            let key = RankKey::of(&[seed, block, 0, 0]);
            prop_assert!(z((0..65_536).map(|cell| key.rank(cell))).abs() < 6.0);
            // The low bits, and one cell of many wordlines.
            prop_assert!(z((0..65_536).map(|cell| key.rank(cell).reverse_bits())).abs() < 6.0);
            let of = |wordline| RankKey::of(&[seed, block, 0, wordline]);
            let across = (0..65_536).map(|wordline| of(wordline).rank(7));
            prop_assert!(z(across).abs() < 6.0);
            // The same cell before and after an erase.
            let erased = RankKey::of(&[seed, block, 1, 0]);
            let step = |cell| key.rank(cell).wrapping_sub(erased.rank(cell));
            prop_assert!(z((0..65_536).map(step)).abs() < 6.0);
            // Neighbours.
            let steps = (0..65_536).map(|cell| key.rank(cell + 1).wrapping_sub(key.rank(cell)));
            prop_assert!(z(steps).abs() < 6.0);
        }

        #[test]
        fn draws_of_the_same_cells_are_independent(seed: u64) {
            let key = RankKey::of(&[seed, 1, 2, 3]);
            prop_assert_eq!(key, RankKey::of(&[seed, 1, 2, 3]));
            let (one, two) = (key.draw(0), key.draw(1));
            let step = |cell| one.rank(cell).wrapping_sub(two.rank(cell));
            prop_assert!(z((0..65_536).map(step)).abs() < 6.0);
            prop_assert!(z((0..65_536).map(|cell| one.rank(cell) ^ key.rank(cell))).abs() < 6.0);
        }
    }
}
