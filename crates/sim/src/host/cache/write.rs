//! The volatile write cache: absorbs rewrites, and lets writes complete before the flash has them.
//!
//! When more than half of the cache is waiting, one page is flushed, chosen by the replacement
//! policy (`fifo`: the page that waits longest); its slot is free again when its program is done,
//! so the other half covers programs in flight. A rewrite of a waiting page costs no program. Which
//! page is flushed when depends only on the commands, never on time: the untimed and the timed
//! executor leave the same mapping.
//!
//! A flush command empties it: [`WriteCache::take_oldest`] until nothing is left. Left out:
//! flushing when the host is idle.

use super::{Policy, Replacement};
use crate::units::Lpn;

/// What became of a page offered to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The page was waiting already: no new program.
    Absorbed,
    /// The page waits.
    Kept,
    /// The page waits, and this one must be programmed now (it may be the page itself).
    Flush(Lpn),
}

/// See the module.
pub struct WriteCache {
    page_count: u32,
    /// `None`: a cache of one page keeps none waiting.
    waiting: Option<Box<dyn Replacement>>,
}

impl WriteCache {
    /// A cache of `page_count` pages, at least 1.
    pub fn new(page_count: u32, policy: Policy) -> Self {
        let waiting_limit = page_count as usize / 2;
        Self { page_count, waiting: (waiting_limit > 0).then(|| policy.build(waiting_limit)) }
    }

    /// Pages that wait or are in flight, at most.
    pub fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Whether the newest data of `lpn` is here.
    #[inline]
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.contains(lpn))
    }

    /// Pages that wait.
    pub fn len(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.len())
    }

    /// Whether no page waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a page of the host.
    pub fn offer(&mut self, lpn: Lpn) -> Offer {
        let Some(waiting) = &mut self.waiting else { return Offer::Flush(lpn) };
        if waiting.contains(lpn) {
            waiting.touch(lpn);
            return Offer::Absorbed;
        }
        waiting.insert(lpn).map_or(Offer::Kept, Offer::Flush)
    }

    /// Takes out the page that the policy would flush next.
    pub fn take_oldest(&mut self) -> Option<Lpn> {
        self.waiting.as_mut()?.take_victim()
    }

    /// The pages that wait, see [`Replacement::save`].
    pub fn save(&self) -> Vec<u64> {
        self.waiting.as_ref().map_or_else(Vec::new, |waiting| waiting.save())
    }

    /// Restores what [`WriteCache::save`] gave, into an empty cache; false if that cannot be.
    pub fn restore(&mut self, numbers: &[u64]) -> bool {
        match &mut self.waiting {
            Some(waiting) => waiting.restore(numbers),
            None => numbers.is_empty(),
        }
    }

    /// Forgets a page; false if it did not wait.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        self.waiting.as_mut().is_some_and(|waiting| waiting.remove(lpn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_page_leaves_and_rewrites_are_absorbed() {
        let mut cache = WriteCache::new(4, Policy::Fifo);
        assert_eq!(cache.offer(Lpn(1)), Offer::Kept);
        assert_eq!(cache.offer(Lpn(2)), Offer::Kept);
        assert_eq!(cache.offer(Lpn(1)), Offer::Absorbed);
        assert_eq!(cache.offer(Lpn(3)), Offer::Flush(Lpn(1)));
        assert!(cache.trim(Lpn(2)) && !cache.trim(Lpn(2)));
        assert_eq!(cache.offer(Lpn(2)), Offer::Kept);
        assert_eq!(cache.offer(Lpn(4)), Offer::Flush(Lpn(3)));
        assert_eq!((cache.take_oldest(), cache.take_oldest()), (Some(Lpn(2)), Some(Lpn(4))));
        assert!(cache.take_oldest().is_none() && cache.is_empty());
    }

    #[test]
    fn a_rewrite_keeps_a_page_where_the_policy_says_so() {
        let mut cache = WriteCache::new(4, Policy::Lru);
        (1..=2).for_each(|page| assert_eq!(cache.offer(Lpn(page)), Offer::Kept));
        assert_eq!(cache.offer(Lpn(1)), Offer::Absorbed);
        assert_eq!(cache.offer(Lpn(3)), Offer::Flush(Lpn(2)));
    }

    #[test]
    fn a_cache_of_one_page_writes_through() {
        let mut cache = WriteCache::new(1, Policy::Fifo);
        assert_eq!(cache.offer(Lpn(7)), Offer::Flush(Lpn(7)));
        assert_eq!(cache.len(), 0);
    }
}
