//! 2Q: only a page that is asked for again after a while is worth keeping.
//!
//! T. Johnson and D. Shasha, "2Q: A low overhead high performance buffer management replacement
//! algorithm", VLDB 1994, full version. New pages pass through a first-in first-out queue; those
//! that leave it are remembered by number; one that is asked for while remembered joins the main
//! queue, which is least recently used. A scan passes through without touching the main queue.
//!
//! ```text
//! miss ──► A1in (FIFO, 1/4 of the pages) ──► A1out (numbers only, as many as 1/2 of the pages)
//!                                               │ asked for again
//!                                               ▼
//!                                            Am (LRU)
//! ```
//! The shares are the paper's.

use super::list::Lists;
use super::Replacement;
use crate::units::Lpn;

/// Lists: pages of the first queue, numbers that are remembered, pages of the main queue.
const A1_IN: usize = 0;
const A1_OUT: usize = 1;
const A_MAIN: usize = 2;

/// See the module.
pub(super) struct TwoQ {
    pages: Lists<3>,
    capacity: usize,
    in_max: usize,
    out_max: usize,
}

impl TwoQ {
    /// Room for `capacity` pages, at least 1.
    pub fn new(capacity: usize) -> Self {
        let out_max = (capacity / 2).max(1);
        Self {
            // One number may be remembered too many for a moment.
            pages: Lists::new(capacity + out_max + 1),
            capacity,
            in_max: (capacity / 4).max(1),
            out_max,
        }
    }
}

impl Replacement for TwoQ {
    fn len(&self) -> usize {
        self.pages.len(A1_IN) + self.pages.len(A_MAIN)
    }

    fn contains(&self, lpn: Lpn) -> bool {
        self.pages.list_of(lpn).is_some_and(|list| list != A1_OUT)
    }

    fn touch(&mut self, lpn: Lpn) {
        if self.pages.list_of(lpn) == Some(A_MAIN) {
            self.pages.renew(A_MAIN, lpn);
        }
    }

    fn insert(&mut self, lpn: Lpn) -> Option<Lpn> {
        // Asked before room is made, since that may forget the page.
        let is_remembered = self.pages.list_of(lpn) == Some(A1_OUT);
        if is_remembered {
            self.pages.remove(lpn);
        }
        let victim = if self.len() == self.capacity { self.take_victim() } else { None };
        self.pages.add(if is_remembered { A_MAIN } else { A1_IN }, lpn);
        victim
    }

    fn remove(&mut self, lpn: Lpn) -> bool {
        let is_here = self.contains(lpn);
        self.pages.remove(lpn);
        is_here
    }

    fn take_victim(&mut self) -> Option<Lpn> {
        let in_is_full = self.pages.len(A1_IN) > self.in_max || self.pages.len(A_MAIN) == 0;
        if !in_is_full {
            let victim = self.pages.oldest(A_MAIN)?;
            self.pages.remove(victim);
            return Some(victim);
        }
        let victim = self.pages.oldest(A1_IN)?;
        self.pages.renew(A1_OUT, victim);
        if self.pages.len(A1_OUT) > self.out_max {
            let forgotten = self.pages.oldest(A1_OUT).expect("the list is not empty");
            self.pages.remove(forgotten);
        }
        Some(victim)
    }

    fn save(&self) -> Vec<u64> {
        self.pages.save()
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        self.pages.restore(numbers) && self.len() <= self.capacity
    }
}
