//! Histogram of the erase counts of a die's blocks: the mean, the highest and sums of quantities
//! that depend on wear are known without a look at every block.

use std::collections::VecDeque;

/// Good blocks by how often they were erased.
#[derive(Clone, Debug, Default)]
pub struct EraseHistogram {
    /// The lowest count that a block has.
    lowest: u32,
    /// Blocks with this count and the ones above it; neither end is 0.
    blocks_at: VecDeque<u32>,
}

impl EraseHistogram {
    /// A histogram of these erase counts.
    pub fn of(counts: impl Iterator<Item = u32>) -> Self {
        let mut histogram = Self::default();
        for count in counts {
            histogram.add(count, 1);
        }
        histogram
    }

    /// Counts this number of blocks, each with `count` erases.
    pub fn add(&mut self, count: u32, blocks: u32) {
        if blocks == 0 {
            return;
        }
        if self.blocks_at.is_empty() {
            self.lowest = count;
        }
        while count < self.lowest {
            self.blocks_at.push_front(0);
            self.lowest -= 1;
        }
        let place = (count - self.lowest) as usize;
        if place >= self.blocks_at.len() {
            self.blocks_at.resize(place + 1, 0);
        }
        self.blocks_at[place] += blocks;
    }

    /// Counts the blocks of another histogram too.
    pub fn merge(&mut self, other: &Self) {
        let (Some(&first), Some(&last)) = (other.blocks_at.front(), other.blocks_at.back()) else {
            return;
        };
        // The ends make place for the counts between them.
        let from = other.lowest;
        self.add(from, first);
        if other.blocks_at.len() > 1 {
            self.add(other.highest(), last);
        }
        let start = (from - self.lowest) as usize;
        let between = 1..other.blocks_at.len().max(2) - 1;
        let own = self.blocks_at.range_mut(start + 1..start + between.end);
        own.zip(other.blocks_at.range(between)).for_each(|(own, blocks)| *own += blocks);
    }

    /// A block that had this count has one more.
    pub fn erased(&mut self, count: u32) {
        self.add(count + 1, 1);
        self.remove(count);
    }

    /// A block with this count is not used any more.
    pub fn remove(&mut self, count: u32) {
        self.blocks_at[(count - self.lowest) as usize] -= 1;
        while self.blocks_at.front() == Some(&0) {
            self.blocks_at.pop_front();
            self.lowest += 1;
        }
        while self.blocks_at.back() == Some(&0) {
            self.blocks_at.pop_back();
        }
    }

    /// Counts from the lowest to the highest, and how many blocks have each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (self.lowest..).zip(self.blocks_at.iter().copied())
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u32 {
        self.blocks_at.iter().sum()
    }

    /// How often the blocks were erased together.
    pub fn erases(&self) -> u64 {
        self.iter().map(|(count, blocks)| u64::from(count) * u64::from(blocks)).sum()
    }

    /// The highest count; 0 if there are no blocks.
    pub fn highest(&self) -> u32 {
        // The last place holds a block, if there is one at all.
        self.blocks_at.len().checked_sub(1).map_or(0, |last| self.lowest + last as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn merged_histograms_are_that_of_all_counts() {
        let mut rng = Rng::stream(2, "histogram");
        for _ in 0..200 {
            let (mut merged, mut all) = (EraseHistogram::default(), Vec::new());
            for _ in 0..rng.below(5) {
                let base = rng.below(20) as u32;
                let counts: Vec<u32> =
                    (0..rng.below(6)).map(|_| base + rng.below(9) as u32).collect();
                merged.merge(&EraseHistogram::of(counts.iter().copied()));
                all.extend(counts);
            }
            let expected = EraseHistogram::of(all.into_iter());
            assert!(merged.iter().eq(expected.iter()), "{merged:?}, expected {expected:?}");
        }
    }

    #[test]
    fn the_histogram_is_that_of_the_counts() {
        let mut rng = Rng::stream(1, "histogram");
        let mut counts: Vec<u32> = (0..40).map(|_| rng.below(9) as u32).collect();
        let mut histogram = EraseHistogram::of(counts.iter().copied());
        while !counts.is_empty() {
            let place = rng.below(counts.len() as u64) as usize;
            if rng.below(20) == 0 {
                histogram.remove(counts.swap_remove(place));
            } else {
                histogram.erased(counts[place]);
                counts[place] += 1;
            }
            let blocks_at = |count| counts.iter().filter(|&&other| other == count).count() as u32;
            assert!(histogram.iter().all(|(count, blocks)| blocks == blocks_at(count)));
            assert_eq!(histogram.blocks() as usize, counts.len());
            let erases: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            assert_eq!(histogram.erases(), erases);
            assert_eq!(histogram.highest(), counts.iter().copied().max().unwrap_or(0));
        }
    }
}
