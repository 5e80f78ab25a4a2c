//! Least recently used: the page that was not used for longest leaves.

use super::list::Lists;
use super::Replacement;
use crate::units::Lpn;

/// See the module.
pub(super) struct Lru {
    pages: Lists<1>,
    capacity: usize,
}

impl Lru {
    /// Room for `capacity` pages, at least 1.
    pub fn new(capacity: usize) -> Self {
        Self { pages: Lists::new(capacity), capacity }
    }
}

impl Replacement for Lru {
    fn len(&self) -> usize {
        self.pages.len(0)
    }

    fn contains(&self, lpn: Lpn) -> bool {
        self.pages.list_of(lpn).is_some()
    }

    fn touch(&mut self, lpn: Lpn) {
        self.pages.renew(0, lpn);
    }

    fn insert(&mut self, lpn: Lpn) -> Option<Lpn> {
        let victim = if self.len() == self.capacity { self.take_victim() } else { None };
        self.pages.add(0, lpn);
        victim
    }

    fn remove(&mut self, lpn: Lpn) -> bool {
        self.pages.remove(lpn)
    }

    fn take_victim(&mut self) -> Option<Lpn> {
        let victim = self.pages.oldest(0)?;
        self.pages.remove(victim);
        Some(victim)
    }

    fn save(&self) -> Vec<u64> {
        self.pages.save()
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        self.pages.restore(numbers) && self.len() <= self.capacity
    }
}
