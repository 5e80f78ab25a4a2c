//! CLOCK: a hand goes round; a page that was used since it last came by is spared once.
//!
//! F. J. Corbató, "A paging experiment with the Multics system", 1969. The ring is kept as a queue
//! that starts at the hand: to pass a page is to put it at the end. A new page comes to the place
//! just behind the hand, unmarked.

use super::list::Lists;
use super::Replacement;
use crate::units::Lpn;

/// See the module.
pub(super) struct Clock {
    pages: Lists<1>,
    capacity: usize,
}

impl Clock {
    /// Room for `capacity` pages, at least 1.
    pub fn new(capacity: usize) -> Self {
        Self { pages: Lists::new(capacity), capacity }
    }
}

impl Replacement for Clock {
    fn len(&self) -> usize {
        self.pages.len(0)
    }

    fn contains(&self, lpn: Lpn) -> bool {
        self.pages.list_of(lpn).is_some()
    }

    fn touch(&mut self, lpn: Lpn) {
        self.pages.mark(lpn);
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
        // Each step but the last takes a mark off, and each mark cost a use: constant on average.
        while self.pages.spare_oldest(0) {}
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
