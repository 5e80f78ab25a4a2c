//! The entries of the map that are in RAM.
//!
//! ```text
//! lru    newest ─────────────────────────► oldest, which leaves
//! slru   protected: newest ─────► oldest ──► probation: newest ─────► oldest, which leaves
//!                      ▲ used a second time ─────────┘
//! ```
//! Entries are in slots; a table names the slot of each logical page, and lists run through the
//! slots: the order of use, and the changed entries of each map page. Every step takes constant
//! time. Segmented LRU: Karedla, Love, Wherry, "Caching strategies to improve disk system
//! performance", IEEE Computer 27(3), 1994; its protected segment has four fifths of the slots
//! (assumed).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory::{prefetch_at, Array};
use crate::units::Lpn;

/// Which entry leaves a full cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The one that was used longest ago.
    #[default]
    Lru,
    /// Of those that were used once, the one that was used longest ago; they are at least a fifth.
    Slru,
}

const NONE: u32 = u32::MAX;

/// Neighbours in a list.
#[derive(Clone, Copy)]
struct Links {
    newer: u32,
    older: u32,
}

const FREE: Links = Links { newer: NONE, older: NONE };

/// A list through the slots.
#[derive(Clone, Copy)]
struct Order {
    newest: u32,
    oldest: u32,
    len: u32,
}

impl Order {
    const EMPTY: Self = Self { newest: NONE, oldest: NONE, len: 0 };

    fn push(&mut self, links: &mut [Links], slot: u32) {
        links[slot as usize] = Links { newer: NONE, older: self.newest };
        match self.newest {
            NONE => self.oldest = slot,
            newest => links[newest as usize].newer = slot,
        }
        self.newest = slot;
        self.len += 1;
    }

    fn remove(&mut self, links: &mut [Links], slot: u32) {
        let Links { newer, older } = links[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => links[older as usize].newer = newer,
        }
        self.len -= 1;
    }
}

/// State of an entry.
#[derive(Clone, Copy)]
struct Entry {
    lpn: u32,
    /// It differs from the map page.
    is_dirty: bool,
    /// It was used a second time.
    is_protected: bool,
}

/// See the module.
pub struct MapCache {
    replacement: Replacement,
    capacity: u32,
    /// Entries of a map page, as a power of two.
    page_bits: u32,
    /// By logical page.
    slots: Array<u32>,
    entries: Vec<Entry>,
    used: Vec<Links>,
    /// Those used once, or all of them.
    probation: Order,
    protected: Order,
    changed: Vec<Links>,
    /// By map page: its newest changed entry.
    changed_newest: Vec<u32>,
}

impl MapCache {
    /// An empty cache of `capacity` entries of a map whose pages hold `1 << page_bits` each.
    pub fn new(
        replacement: Replacement,
        capacity: u32,
        logical_pages: u32,
        page_bits: u32,
    ) -> Self {
        let map_pages = (logical_pages as usize).div_ceil(1 << page_bits);
        let reserve = capacity.min(logical_pages) as usize;
        Self {
            replacement,
            capacity,
            page_bits,
            slots: Array::new(logical_pages as usize, NONE),
            entries: Vec::with_capacity(reserve),
            used: Vec::with_capacity(reserve),
            probation: Order::EMPTY,
            protected: Order::EMPTY,
            changed: Vec::with_capacity(reserve),
            changed_newest: vec![NONE; map_pages],
        }
    }

    /// Prefetches the memory that [`MapCache::find`] will read.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch_at(&self.slots, lpn.0 as usize);
    }

    /// The slot of a logical page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        let slot = self.slots[lpn.0 as usize];
        (slot != NONE).then_some(slot)
    }

    /// Whether an entry has to leave before another comes.
    pub fn is_full(&self) -> bool {
        self.entries.len() as u32 == self.capacity
    }

    /// Entries that it holds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// An entry was used again.
    pub fn touch(&mut self, slot: u32) {
        if self.replacement == Replacement::Lru {
            self.probation.remove(&mut self.used, slot);
            self.probation.push(&mut self.used, slot);
            return;
        }
        let entry = &mut self.entries[slot as usize];
        let was_protected = std::mem::replace(&mut entry.is_protected, true);
        let list = if was_protected { &mut self.protected } else { &mut self.probation };
        list.remove(&mut self.used, slot);
        self.protected.push(&mut self.used, slot);
        if self.protected.len > self.capacity / 5 * 4 {
            let oldest = self.protected.oldest;
            self.protected.remove(&mut self.used, oldest);
            self.probation.push(&mut self.used, oldest);
            self.entries[oldest as usize].is_protected = false;
        }
    }

    /// The slot whose entry leaves next.
    pub fn victim(&self) -> u32 {
        if self.probation.oldest == NONE {
            self.protected.oldest
        } else {
            self.probation.oldest
        }
    }

    /// Whether an entry differs from its map page.
    pub fn is_dirty(&self, slot: u32) -> bool {
        self.entries[slot as usize].is_dirty
    }

    /// The logical page of a slot.
    pub fn lpn(&self, slot: u32) -> Lpn {
        Lpn(self.entries[slot as usize].lpn)
    }

    /// Entries of a map page, as a power of two.
    pub fn page_bits(&self) -> u32 {
        self.page_bits
    }

    /// The map page of a logical page.
    #[inline]
    pub fn map_page(&self, lpn: Lpn) -> u32 {
        lpn.0 >> self.page_bits
    }

    /// Takes an entry in that is not there, in the place of the victim if the cache is full.
    pub fn insert(&mut self, lpn: Lpn) -> u32 {
        let new = Entry { lpn: lpn.0, is_dirty: false, is_protected: false };
        let slot = if self.is_full() {
            let slot = self.victim();
            self.clean(slot);
            let old = std::mem::replace(&mut self.entries[slot as usize], new);
            self.slots[old.lpn as usize] = NONE;
            let list = if old.is_protected { &mut self.protected } else { &mut self.probation };
            list.remove(&mut self.used, slot);
            slot
        } else {
            self.entries.push(new);
            self.used.push(FREE);
            self.changed.push(FREE);
            self.entries.len() as u32 - 1
        };
        self.slots[lpn.0 as usize] = slot;
        self.probation.push(&mut self.used, slot);
        slot
    }

    /// Marks an entry that now differs from its map page.
    pub fn mark_dirty(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        if std::mem::replace(&mut entry.is_dirty, true) {
            return;
        }
        let newest = &mut self.changed_newest[(entry.lpn >> self.page_bits) as usize];
        self.changed[slot as usize] = Links { newer: NONE, older: *newest };
        if *newest != NONE {
            self.changed[*newest as usize].newer = slot;
        }
        *newest = slot;
    }

    /// Marks an entry that now agrees with its map page.
    pub fn clean(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        if !std::mem::replace(&mut entry.is_dirty, false) {
            return;
        }
        let Links { newer, older } = self.changed[slot as usize];
        match newer {
            NONE => self.changed_newest[(entry.lpn >> self.page_bits) as usize] = older,
            newer => self.changed[newer as usize].older = older,
        }
        if older != NONE {
            self.changed[older as usize].newer = newer;
        }
    }

    /// Marks all entries of a map page as agreeing with it; returns the number that did not.
    pub fn clean_page(&mut self, map_page: u32) -> u32 {
        let mut slot = std::mem::replace(&mut self.changed_newest[map_page as usize], NONE);
        let mut count = 0;
        while slot != NONE {
            self.entries[slot as usize].is_dirty = false;
            slot = self.changed[slot as usize].older;
            count += 1;
        }
        count
    }

    /// The entries from the one that leaves first, as numbers: logical page, changed, protected.
    pub fn save(&self) -> Vec<u64> {
        let mut saved = Vec::with_capacity(self.entries.len());
        for list in [&self.probation, &self.protected] {
            let mut slot = list.oldest;
            while slot != NONE {
                let Entry { lpn, is_dirty, is_protected } = self.entries[slot as usize];
                saved
                    .push(u64::from(lpn) << 2 | u64::from(is_dirty) << 1 | u64::from(is_protected));
                slot = self.used[slot as usize].newer;
            }
        }
        saved
    }

    /// Restores what [`MapCache::save`] gave into an empty cache; false: it is of another map.
    pub fn restore(&mut self, saved: &[u64]) -> bool {
        if saved.len() > self.capacity as usize {
            return false;
        }
        for &number in saved {
            let lpn = number >> 2;
            if lpn >= self.slots.len() as u64 || self.find(Lpn(lpn as u32)).is_some() {
                return false;
            }
            let slot = self.insert(Lpn(lpn as u32));
            if number & 1 == 1 {
                if self.replacement == Replacement::Lru {
                    return false;
                }
                self.probation.remove(&mut self.used, slot);
                self.protected.push(&mut self.used, slot);
                self.entries[slot as usize].is_protected = true;
            }
            if number & 2 == 2 {
                self.mark_dirty(slot);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::VecDeque;

    /// The cache compared with a list in order of use.
    #[test]
    fn lru_is_a_list_in_order_of_use() {
        let mut rng = Rng::stream(1, "cache");
        let mut cache = MapCache::new(Replacement::Lru, 10, 64, 3);
        let mut list: VecDeque<(u32, bool)> = VecDeque::new();
        for _ in 0..20_000 {
            let lpn = rng.below(64) as u32;
            let is_write = rng.below(3) == 0;
            if let Some(slot) = cache.find(Lpn(lpn)) {
                cache.touch(slot);
                let place = list.iter().position(|entry| entry.0 == lpn).expect("it is there");
                let entry = list.remove(place).expect("it is there");
                list.push_back(entry);
            } else {
                if cache.is_full() {
                    let victim = cache.victim();
                    let (oldest, is_dirty) = list.pop_front().expect("it is full");
                    assert_eq!((cache.lpn(victim).0, cache.is_dirty(victim)), (oldest, is_dirty));
                    if is_dirty {
                        let page = oldest >> 3;
                        let dirty = list.iter().filter(|it| it.1 && it.0 >> 3 == page).count();
                        assert_eq!(cache.clean_page(page), 1 + dirty as u32);
                        list.iter_mut().filter(|it| it.0 >> 3 == page).for_each(|it| it.1 = false);
                    }
                }
                cache.insert(Lpn(lpn));
                list.push_back((lpn, false));
            }
            if is_write {
                cache.mark_dirty(cache.find(Lpn(lpn)).expect("it is there"));
                list.back_mut().expect("it is there").1 = true;
            }
            assert_eq!(cache.len(), list.len());
        }
        let mut again = MapCache::new(Replacement::Lru, 10, 64, 3);
        assert!(again.restore(&cache.save()));
        assert_eq!(again.save(), cache.save());
        assert!(!again.restore(&[64 << 2]));
    }

    #[test]
    fn what_was_used_twice_outlives_a_scan() {
        let survivors = |replacement| {
            let mut cache = MapCache::new(replacement, 100, 1000, 4);
            for lpn in (0..50).chain(0..50) {
                match cache.find(Lpn(lpn)) {
                    Some(slot) => cache.touch(slot),
                    None => {
                        cache.insert(Lpn(lpn));
                    }
                }
            }
            (500..1000).for_each(|lpn| {
                cache.insert(Lpn(lpn));
            });
            let saved = cache.save();
            let mut again = MapCache::new(replacement, 100, 1000, 4);
            assert!(again.restore(&saved));
            assert_eq!(again.save(), saved);
            (0..50).filter(|&lpn| cache.find(Lpn(lpn)).is_some()).count()
        };
        assert_eq!((survivors(Replacement::Lru), survivors(Replacement::Slru)), (0, 50));
    }
}
