//! A queue of pages whose oldest leaves: first in, first out, or, if use makes a page the youngest
//! again, least recently used. The smallest policy.

use super::list::Lists;
use super::Replacement;
use crate::units::Lpn;

/// See the module.
pub(super) struct Queue {
    pages: Lists<1>,
    capacity: usize,
    /// Whether use counts.
    renews: bool,
}

impl Queue {
    /// First in, first out; room for `capacity` pages, at least 1.
    pub fn fifo(capacity: usize) -> Self {
        Self { pages: Lists::new(capacity), capacity, renews: false }
    }

    /// Least recently used; room for `capacity` pages, at least 1.
    pub fn lru(capacity: usize) -> Self {
        Self { renews: true, ..Self::fifo(capacity) }
    }
}

impl Replacement for Queue {
    fn len(&self) -> usize {
        self.pages.len(0)
    }

    fn contains(&self, lpn: Lpn) -> bool {
        self.pages.holds(lpn)
    }

    fn touch(&mut self, lpn: Lpn) {
        if self.renews {
            self.pages.renew(0, lpn);
        }
    }

    fn insert(&mut self, lpn: Lpn) -> Option<Lpn> {
        if self.len() == self.capacity {
            return self.pages.exchange(0, lpn);
        }
        self.pages.add(0, lpn);
        None
    }

    fn remove(&mut self, lpn: Lpn) -> bool {
        self.pages.remove(lpn)
    }

    fn take_victim(&mut self) -> Option<Lpn> {
        self.pages.take_oldest(0)
    }

    fn coming(&self, pages: &mut [Lpn]) -> usize {
        self.pages.coming(0, pages)
    }

    fn prefetch(&self, lpn: Lpn) {
        self.pages.prefetch(lpn);
    }

    fn in_order(&self) -> Option<Vec<Lpn>> {
        Some(self.pages.in_order(0).collect())
    }

    fn refill(&mut self, pages: &[Lpn]) {
        self.pages.clear();
        for &lpn in pages {
            self.pages.add(0, lpn);
        }
    }

    fn save(&self) -> Vec<u64> {
        self.pages.save()
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        self.pages.restore(numbers) && self.len() <= self.capacity
    }
}
