//! A keyed shuffle of `0..count` that needs no memory: hot places of a skewed pattern must not be
//! next to each other, and a table of them would be as large as the map of the drive.
//!
//! Rounds of "multiply by an odd number, add a key, fold the upper half onto the lower", all
//! modulo the smallest power of two that holds `count`, are bijections of that domain (the
//! finaliser of an integer hash, with drawn constants). Values that fall outside `0..count` are
//! sent through again until they fall inside: cycle walking, Black & Rogaway, "Ciphers with
//! arbitrary finite domains", CT-RSA 2002. The domain is less than twice `count`, so fewer than
//! two passes are needed on average. It is a shuffle, not a cipher.

use crate::rng::Rng;

const ROUND_COUNT: usize = 3;

/// The keys of a shuffle; [`Permutation::over`] fits them to a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleKeys([(u64, u64); ROUND_COUNT]);

impl ShuffleKeys {
    /// Draws keys: an odd factor and a term for each round.
    pub fn draw(rng: &mut Rng) -> Self {
        Self(std::array::from_fn(|_| (rng.next_u64() | 1, rng.next_u64())))
    }
}

/// A bijection of `0..count` to itself.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    keys: ShuffleKeys,
    count: u64,
    mask: u64,
    fold_bits: u32,
}

impl Permutation {
    /// The shuffle of `0..count` with these keys.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn over(count: u64, keys: ShuffleKeys) -> Self {
        assert!(count > 0, "an empty range has no order");
        Self { keys, count, mask: 0, fold_bits: 1 }.widened(count)
    }

    /// The same shuffle on the domain of a wider range: shuffles of almost equal ranges then agree
    /// on almost every place, also if there is a power of two between them. Walks lengthen by the
    /// ratio.
    ///
    /// # Panics
    /// When `domain` is smaller than the range.
    #[must_use]
    pub fn widened(self, domain: u64) -> Self {
        assert!(domain >= self.count, "{domain} places cannot hold {}", self.count);
        let bits = u64::BITS - (domain - 1).leading_zeros();
        // A domain of one or two values still folds by one bit, which shifts everything out.
        Self { mask: (1_u64 << bits) - 1, fold_bits: bits.div_ceil(2).max(1), ..self }
    }

    /// The place of `index`, which is below `count`.
    #[inline]
    pub fn apply(&self, index: u64) -> u64 {
        debug_assert!(index < self.count, "{index} is outside 0..{}", self.count);
        let mut value = index;
        loop {
            value = self.pass(value);
            if value < self.count {
                return value;
            }
        }
    }

    #[inline]
    fn pass(&self, value: u64) -> u64 {
        self.keys.0.iter().fold(value, |value, &(factor, term)| {
            let product = value.wrapping_mul(factor).wrapping_add(term) & self.mask;
            product ^ (product >> self.fold_bits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_gets_its_own_place() {
        let mut rng = Rng::stream(1, "test");
        for count in (1..300).chain([1023, 1024, 1025, 65_537]) {
            let permutation = Permutation::over(count, ShuffleKeys::draw(&mut rng));
            let mut is_taken = vec![false; count as usize];
            for index in 0..count {
                let place = permutation.apply(index) as usize;
                assert!(!is_taken[place], "{count}: {place} twice");
                is_taken[place] = true;
            }
        }
    }

    #[test]
    fn almost_equal_ranges_share_their_places() {
        let keys = ShuffleKeys::draw(&mut Rng::from_seed(4));
        let whole = Permutation::over(1030, keys);
        let part = Permutation::over(1020, keys).widened(1030);
        let shared = (0..1020).filter(|&index| whole.apply(index) == part.apply(index)).count();
        assert!(shared >= 1010, "{shared}");
    }

    #[test]
    fn the_hottest_rank_may_land_anywhere() {
        let mut rng = Rng::stream(2, "test");
        let mut counts = [0_u32; 50];
        for _ in 0..50_000 {
            let permutation = Permutation::over(50, ShuffleKeys::draw(&mut rng));
            counts[permutation.apply(0) as usize] += 1;
        }
        // Chi-square with 49 degrees of freedom: mean 49, deviation 9.9.
        let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - 1e3).powi(2) / 1e3).sum();
        assert!(chi_square < 49.0 + 4.5 * 9.9, "{chi_square}");
    }

    #[test]
    fn neighbours_are_torn_apart() {
        // Mean distance of two random places in 0..n is n/3; a shuffle that keeps runs stays far
        // below.
        let count = 1_000_003;
        let permutation = Permutation::over(count, ShuffleKeys::draw(&mut Rng::from_seed(3)));
        let distance: u64 = (0..100_000)
            .map(|index| permutation.apply(index).abs_diff(permutation.apply(index + 1)))
            .sum();
        let mean = distance as f64 / 100_000.0 / count as f64;
        // The deviation of one distance is n/sqrt(18), and neighbouring pairs share a place.
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }
}
