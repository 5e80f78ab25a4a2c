//! From logical page to slot: a hash table of fixed size with open addressing.
//!
//! Neighbours are tried in order, and a removal moves later entries back, so there are no marks of
//! deleted entries and a look-up stays short for ever. Nothing ever walks through the table: its
//! order cannot reach a result.

use crate::memory::prefetch_at;
use crate::units::Lpn;

/// Entry of a logical page, or zero: an untouched table takes no memory.
#[derive(Clone, Copy, Default)]
struct Entry {
    lpn: u32,
    /// Slot plus one; 0: empty.
    slot_after: u32,
}

/// See the module.
pub(super) struct Index {
    entries: Vec<Entry>,
    mask: usize,
    shift: u32,
}

impl Index {
    /// A table for so many pages, at most half full.
    pub fn new(page_count: usize) -> Self {
        let size = (2 * page_count.max(1)).next_power_of_two();
        Self {
            entries: vec![Entry::default(); size],
            mask: size - 1,
            shift: 32 - size.trailing_zeros(),
        }
    }

    /// Where the search for a page starts: the high bits of a product with 2^32 over the golden
    /// ratio (Knuth, The Art of Computer Programming 3, 6.4).
    fn home(&self, lpn: u32) -> usize {
        (lpn.wrapping_mul(0x9e37_79b9) >> self.shift) as usize
    }

    /// Position of the page's entry, or of the empty one where it would be.
    fn find(&self, lpn: u32) -> usize {
        let mut place = self.home(lpn);
        while self.entries[place].slot_after != 0 && self.entries[place].lpn != lpn {
            place = (place + 1) & self.mask;
        }
        place
    }

    /// Asks for where the search for a page starts.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch_at(&self.entries, self.home(lpn.0));
    }

    /// Slot of a page.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<u32> {
        self.entries[self.find(lpn.0)].slot_after.checked_sub(1)
    }

    /// Notes the slot of a page that has none.
    pub fn insert(&mut self, lpn: Lpn, slot: u32) {
        let place = self.find(lpn.0);
        debug_assert_eq!(self.entries[place].slot_after, 0, "the page has a slot");
        self.entries[place] = Entry { lpn: lpn.0, slot_after: slot + 1 };
    }

    /// Forgets all pages.
    pub fn clear(&mut self) {
        self.entries.fill(Entry::default());
    }

    /// Forgets a page, and returns its slot, if it has one.
    pub fn take(&mut self, lpn: Lpn) -> Option<u32> {
        let mut gap = self.find(lpn.0);
        let slot = self.entries[gap].slot_after.checked_sub(1)?;
        let mut place = gap;
        loop {
            place = (place + 1) & self.mask;
            let entry = self.entries[place];
            if entry.slot_after == 0 {
                break;
            }
            // An entry may move to the gap unless its search starts behind the gap.
            let distance = place.wrapping_sub(self.home(entry.lpn)) & self.mask;
            if distance >= place.wrapping_sub(gap) & self.mask {
                self.entries[gap] = entry;
                gap = place;
            }
        }
        self.entries[gap] = Entry::default();
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_a_plain_map() {
        let mut rng = crate::rng::Rng::stream(1, "index");
        let (mut index, mut oracle) = (Index::new(300), std::collections::BTreeMap::new());
        for round in 0..200_000_u32 {
            let lpn = Lpn(rng.below(600) as u32 * 4096);
            assert_eq!(index.get(lpn), oracle.get(&lpn).copied());
            let taken = oracle.remove(&lpn);
            assert_eq!(index.take(lpn), taken);
            if taken.is_none() && oracle.len() < 300 {
                index.insert(lpn, round);
                oracle.insert(lpn, round);
            }
        }
        assert!(oracle.len() > 200);
        assert_eq!(Index::new(0).get(Lpn(5)), None);
    }
}
