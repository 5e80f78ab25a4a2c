//! From logical page to slot: a hash table of fixed size, whose chains go through the slots.
//!
//! ```text
//! heads    home of a page ─► slot ─► slot of another page with this home ─► none
//! ```
//! Pages come and leave at the price of a look-up. Nothing ever walks through the table: its order
//! cannot reach a result.

use crate::memory::prefetch_at;
use crate::units::Lpn;

/// The page of a slot, and the slot behind it in its chain, plus one; 0: none.
#[derive(Clone, Copy, Default)]
struct Entry {
    lpn: u32,
    next_after: u32,
}

/// See the module.
pub(super) struct Index {
    /// The first slot of each chain, plus one; 0: an untouched table takes no memory.
    heads: Vec<u32>,
    /// By slot.
    entries: Vec<Entry>,
    shift: u32,
}

impl Index {
    /// A table for `page_count` pages, with twice as many chains.
    pub fn new(page_count: usize) -> Self {
        let size = (2 * page_count.max(1)).next_power_of_two();
        Self { heads: vec![0; size], entries: Vec::new(), shift: 32 - size.trailing_zeros() }
    }

    /// The chain of a page: the high bits of a product with 2^32 over the golden ratio (Knuth, The
    /// Art of Computer Programming 3, 6.4).
    #[inline]
    fn home(&self, lpn: u32) -> usize {
        (lpn.wrapping_mul(0x9e37_79b9) >> self.shift) as usize
    }

    /// Prefetches the start of the search for a page.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch_at(&self.heads, self.home(lpn.0));
    }

    /// Slot of a page.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<u32> {
        let mut at = self.heads[self.home(lpn.0)];
        while let Some(slot) = at.checked_sub(1) {
            let entry = self.entries[slot as usize];
            if entry.lpn == lpn.0 {
                return Some(slot);
            }
            at = entry.next_after;
        }
        None
    }

    /// Notes the slot of a page that has none; no other page has it.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, slot: u32) {
        debug_assert_eq!(self.get(lpn), None, "the page has a slot");
        let (home, place) = (self.home(lpn.0), slot as usize);
        if place >= self.entries.len() {
            self.entries.resize(place + 1, Entry::default());
        }
        let next_after = std::mem::replace(&mut self.heads[home], slot + 1);
        self.entries[place] = Entry { lpn: lpn.0, next_after };
    }

    /// Forgets all pages.
    pub fn clear(&mut self) {
        self.heads.fill(0);
    }

    /// Forgets a page, and returns its slot, if it has one.
    #[inline]
    pub fn take(&mut self, lpn: Lpn) -> Option<u32> {
        let home = self.home(lpn.0);
        let (mut before, mut at) = (None, self.heads[home]);
        while let Some(slot) = at.checked_sub(1) {
            let Entry { lpn: here, next_after } = self.entries[slot as usize];
            if here == lpn.0 {
                match before {
                    None => self.heads[home] = next_after,
                    Some(before) => self.entries[before as usize].next_after = next_after,
                }
                return Some(slot);
            }
            (before, at) = (Some(slot), next_after);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_a_plain_map() {
        let mut rng = crate::rng::Rng::stream(1, "index");
        let (mut index, mut oracle) = (Index::new(300), std::collections::BTreeMap::new());
        let mut free: Vec<u32> = (0..300).collect();
        for _ in 0..200_000 {
            let lpn = Lpn(rng.below(600) as u32 * 4096);
            assert_eq!(index.get(lpn), oracle.get(&lpn).copied());
            let taken = oracle.remove(&lpn);
            assert_eq!(index.take(lpn), taken);
            if taken.is_some() {
                free.extend(taken);
            } else if let Some(slot) = free.pop() {
                index.insert(lpn, slot);
                oracle.insert(lpn, slot);
            }
        }
        assert!(oracle.len() > 200);
        assert_eq!(Index::new(0).get(Lpn(5)), None);
    }
}
