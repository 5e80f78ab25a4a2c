//! The pages that the map and the live bits name, in a form that is compared at once.

use super::Map;
use crate::geometry::UNMAPPED;
use crate::memory::WORD;
use crate::units::{BlockId, Lpn, Ppn};

/// A set of pairs of a logical page and its place: how many there are, and the sum of a number
/// that is mixed from each. Two sets that differ pass for equal once in 2^64 times; and unlike
/// looking up one in the other, comparing them reads memory in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs {
    pub(crate) count: u64,
    sum: u64,
}

/// Entries that are examined together.
const STRETCH: usize = 16;

impl Pairs {
    /// Adds a pair; logical pages go by the place of their entries.
    #[inline]
    fn add(&mut self, place: usize, ppn: Ppn) {
        // The finalizer of MurmurHash3 (Appleby, 2011), which maps 64 bits one to one.
        let mut mixed = (place as u64) << 32 | u64::from(ppn.0);
        mixed = (mixed ^ mixed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        self.sum = self.sum.wrapping_add(mixed ^ mixed >> 33);
        self.count += 1;
    }
}

impl Map {
    /// The logical pages that hold data, with their places.
    pub(crate) fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        for (part, entries) in self.l2p.chunks(STRETCH).enumerate() {
            // Drives with few data have many stretches without any.
            if entries.iter().fold(UNMAPPED, |all, &ppn| all & ppn) == UNMAPPED {
                continue;
            }
            for (place, &ppn) in (part * STRETCH..).zip(entries) {
                if ppn != UNMAPPED {
                    pairs.add(place, Ppn(ppn));
                }
            }
        }
        pairs
    }

    /// Adds the live pages of a block below a limit, with the owners that `oob` names; returns how
    /// many live bits the block has.
    pub(crate) fn add_live_pairs(
        &self,
        block: BlockId,
        limit: u32,
        oob: &[u32],
        pairs: &mut Pairs,
    ) -> u32 {
        let (first, mut bits) = (self.geometry.first_page(block).0, 0);
        for word in 0..self.words_per_block() {
            let mut live = self.live_word(block, word);
            bits += live.count_ones();
            while live != 0 {
                let page = (WORD * word) as u32 + live.trailing_zeros();
                live &= live - 1;
                let lpn = oob[page as usize];
                if page < limit && lpn < self.logical_pages {
                    pairs.add(self.place(Lpn(lpn)), Ppn(first + page));
                }
            }
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_tell_sets_apart_and_not_orders() {
        let sum = |pairs: &[(usize, u32)]| {
            let mut sum = Pairs::default();
            for &(place, ppn) in pairs {
                sum.add(place, Ppn(ppn));
            }
            sum
        };
        let all: Vec<(usize, u32)> = (0..1000).map(|page| (page, 7 * page as u32 % 1000)).collect();
        let reversed: Vec<(usize, u32)> = all.iter().copied().rev().collect();
        assert_eq!(sum(&all), sum(&reversed));
        for first in 0..999 {
            // Two pages that hold each other's data: the same pages, the same places.
            let mut swapped = all.clone();
            (swapped[first].1, swapped[first + 1].1) = (all[first + 1].1, all[first].1);
            assert_ne!(sum(&all), sum(&swapped), "{first}");
        }
    }
}
