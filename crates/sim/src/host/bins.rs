//! Counts of values in bins that are as wide as a share of their value, those of `HdrHistogram`
//! (G. Tene).
//!
//! ```text
//! value   0 1 2 … 2^(b+1)   then 2^b bins for each power of two, twice as wide each time
//! ```

/// The largest value that is counted as itself.
const VALUE_MAX: u64 = 10_000_000_000_000;

/// Bits of that.
const VALUE_BITS: u32 = u64::BITS - VALUE_MAX.leading_zeros();

/// See the module.
#[derive(Clone)]
pub struct Bins {
    /// Bins for each power of two, as a power of two.
    bits: u32,
    counts: Vec<u64>,
    count: u64,
}

impl Bins {
    /// No values; a bin is at most `2^-bits` of its values wide.
    pub fn new(bits: u32) -> Self {
        Self { bits, counts: vec![0; ((VALUE_BITS + 1 - bits) as usize) << bits], count: 0 }
    }

    /// How often the width of the bin of a value was doubled.
    #[inline]
    fn doublings(&self, value: u64) -> u32 {
        (value | ((2 << self.bits) - 1)).ilog2() - self.bits
    }

    #[inline]
    fn place(&self, value: u64) -> usize {
        let doublings = self.doublings(value);
        ((doublings as usize) << self.bits) + (value >> doublings) as usize
    }

    /// The largest value of a bin.
    fn last_value(&self, place: usize) -> u64 {
        let doublings = (place >> self.bits).saturating_sub(1);
        (((place - (doublings << self.bits)) as u64 + 1) << doublings) - 1
    }

    /// Counts a value; those that are too large count as the largest.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let place = self.place(value);
        let place = if place < self.counts.len() { place } else { self.place(VALUE_MAX) };
        self.counts[place] += 1;
        self.count += 1;
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bins that hold values, ascending: the largest value of the bin, and how many it holds.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, &count)| count > 0);
        filled.map(|(place, &count)| (self.last_value(place), count))
    }

    /// The largest value of the bin up to which a share of the values is; 0 without values.
    pub fn quantile(&self, share: f64) -> u64 {
        let mut left = ((share.min(1.0) * self.count as f64).ceil() as u64).max(1);
        for (value, count) in self.iter() {
            if count >= left {
                return value;
            }
            left -= count;
        }
        0
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.count = 0;
    }

    /// Adds the values of another with as many bins.
    pub fn add(&mut self, other: &Self) {
        debug_assert_eq!(self.bits, other.bits);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;
    use crate::rng::Rng;

    #[test]
    fn bins_and_quantiles_are_those_of_hdr_histogram() {
        let mut rng = Rng::stream(1, "bins");
        for (digits, bits) in [(2, 7), (3, 10)] {
            let mut reference =
                Histogram::<u64>::new_with_bounds(1, VALUE_MAX, digits).expect("bounds");
            let mut bins = Bins::new(bits);
            for round in 0..50_000_u64 {
                // Of all lengths, beyond the largest too, and next to powers of two.
                let power = 1 << rng.below(63);
                let value = match round % 4 {
                    0 => power,
                    1 => power - 1,
                    2 => rng.below(power) + power,
                    _ => rng.below(3_000_000),
                };
                reference.saturating_record(value);
                bins.record(value);
                if round % 5000 == 1 {
                    for share in [0.0001, 0.3, 0.5, 0.9, 0.99, 0.99999, 1.0] {
                        assert_eq!(bins.quantile(share), reference.value_at_quantile(share));
                    }
                }
            }
            let expected: Vec<_> = reference
                .iter_recorded()
                .map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
                .collect();
            assert_eq!(bins.iter().collect::<Vec<_>>(), expected);
            assert_eq!(bins.count(), reference.len());
            let mut twice = bins.clone();
            twice.add(&bins);
            assert_eq!((twice.count(), twice.quantile(0.7)), (100_000, bins.quantile(0.7)));
            twice.clear();
            assert_eq!((twice.count(), twice.quantile(0.7), twice.iter().next()), (0, 0, None));
        }
    }
}
