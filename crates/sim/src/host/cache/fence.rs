//! Which programs of the cache a flush command waits for: all that were queued before it, and none
//! that came later.
//!
//! Programs carry the number of their epoch; a flush closes the epoch and waits until all epochs up
//! to it have nothing left in flight. Programs of different dies may end in any order.
//!
//! ```text
//! programs   0 0 0 │ 1 1 │ 2        epoch
//!            flush A     flush B    A waits for the 0s; B for the 0s and 1s
//! ```

use std::collections::VecDeque;

/// Programs in flight by epoch, and the commands that wait for them.
#[derive(Default)]
pub struct Fence {
    /// Number of the first epoch in `counts`.
    first: u32,
    /// Programs in flight by epoch; the last is open.
    counts: VecDeque<u32>,
    /// Waiting flush commands with the epoch that they closed, in order.
    waiting: VecDeque<(u32, u32)>,
}

impl Fence {
    /// A program of the cache is queued; its epoch must be given back to [`Fence::end`].
    #[inline]
    pub fn begin(&mut self) -> u32 {
        if self.counts.is_empty() {
            self.counts.push_back(0);
        }
        let last = self.counts.len() - 1;
        self.counts[last] += 1;
        self.first.wrapping_add(last as u32)
    }

    /// `programs` programs of this epoch have ended.
    #[inline]
    pub fn end(&mut self, epoch: u32, programs: u32) {
        let place = epoch.wrapping_sub(self.first) as usize;
        self.counts[place] -= programs;
        while self.counts.len() > 1 && self.counts[0] == 0 {
            self.counts.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// A flush command comes; true if it must wait: [`Fence::released`] will name it.
    pub fn close(&mut self, waiter: u32) -> bool {
        if self.counts.iter().all(|&count| count == 0) {
            return false;
        }
        let last = self.first.wrapping_add(self.counts.len() as u32 - 1);
        self.counts.push_back(0);
        self.waiting.push_back((last, waiter));
        true
    }

    /// Whether a flush command waits.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A command that waits no more; ask after each [`Fence::end`] until there is none.
    #[inline]
    pub fn released(&mut self) -> Option<u32> {
        let &(epoch, waiter) = self.waiting.front()?;
        // Epochs before `first` have ended; 2^31 of them are never open at once.
        if epoch.wrapping_sub(self.first) < 1 << 31 {
            return None;
        }
        self.waiting.pop_front();
        Some(waiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_waits_for_what_came_before_it_only() {
        let mut fence = Fence::default();
        assert!(!fence.close(9), "nothing is in flight");
        let (a, b) = (fence.begin(), fence.begin());
        assert!(fence.close(1));
        let c = fence.begin();
        assert!(fence.close(2));
        let d = fence.begin();
        fence.end(c, 1);
        fence.end(b, 1);
        assert_eq!(fence.released(), None);
        fence.end(a, 1);
        assert_eq!((fence.released(), fence.released()), (Some(1), Some(2)));
        assert_eq!(fence.released(), None);
        assert!(fence.close(3));
        fence.end(d, 1);
        assert_eq!(fence.released(), Some(3));
        assert!(!fence.close(4));
    }
}
