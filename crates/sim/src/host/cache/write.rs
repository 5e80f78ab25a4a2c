//! The volatile write cache: absorbs rewrites, and lets writes complete before the flash has them.
//!
//! When more than half of the cache is waiting, one page is flushed, chosen by the replacement
//! policy (`fifo`: the page that waits longest); its slot is free again when its program is done,
//! so the other half covers programs in flight. A rewrite of a waiting page costs no program,
//! except [in order](WriteCache::in_order). Which page is flushed when depends only on the
//! commands, never on time: the untimed and the timed executor leave the same mapping.
//!
//! A page may wait of which only some sectors are here ([`Part`]): no read completes it unless it
//! leaves before the host has written the rest.
//!
//! A flush command empties it: [`WriteCache::take_oldest`] until nothing is left. Left out:
//! flushing when the host is idle.

use super::partial::{Part, Partial, Sectors};
use super::{Offered, Policy, Replacement};
use crate::units::Lpn;

/// Pages that leave between two looks at those behind them.
pub const LOOK_AHEAD: usize = 16;

/// The outcome of an offer of a page to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The page was waiting already, and takes the new data: no program.
    Absorbed,
    /// The page waits.
    Kept,
    /// The page waits, and this one must be programmed now (it may be the page itself).
    Flush(Leaving),
}

/// A page on its way to the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// The page.
    pub lpn: Lpn,
    /// Whether the cache had only some of its sectors.
    pub is_partial: bool,
}

/// Whether the cache has the sectors that a read asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of them.
    All,
    /// The page waits without some of them.
    Some,
    /// The page does not wait.
    None,
}

/// See the module.
pub struct WriteCache {
    page_count: u32,
    /// Whether a rewrite replaces the waiting data; otherwise both are programmed.
    absorbs: bool,
    /// `None`: a cache of one page keeps none waiting.
    waiting: Option<Box<dyn Replacement>>,
    /// The pages among them of which only some sectors are here.
    partial: Partial,
    /// Pages that will leave before the next look at those behind them.
    unseen: usize,
}

impl WriteCache {
    /// A cache of `page_count` pages, at least 1.
    pub fn new(page_count: u32, policy: Policy) -> Self {
        let waiting_limit = page_count as usize / 2;
        Self {
            page_count,
            absorbs: true,
            waiting: (waiting_limit > 0).then(|| policy.build(waiting_limit)),
            partial: Partial::new(waiting_limit),
            unseen: 0,
        }
    }

    /// The same cache, of which every version of a whole page leaves for the flash: a rewrite sends
    /// the waiting version off.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { absorbs: false, ..self }
    }

    /// Pages that wait or are in flight, at most.
    pub fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Whether the newest data of some sectors of `lpn` is here.
    #[inline]
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.contains(lpn))
    }

    /// Whether all, some or none of the sectors that a read asks for are here.
    #[inline]
    pub fn find(&self, lpn: Lpn, part: Part) -> Found {
        if !self.contains(lpn) {
            Found::None
        } else if self.partial.get(lpn).is_none_or(|sectors| sectors.hold(part)) {
            Found::All
        } else {
            Found::Some
        }
    }

    /// Whether the waiting data of a page has all sectors except those of `part`.
    pub fn completes(&self, lpn: Lpn, part: Part) -> bool {
        self.contains(lpn)
            && self.partial.get(lpn).is_none_or(|sectors| {
                let mut sectors = sectors.clone();
                sectors.add(part);
                sectors.are_whole(part.page_sectors)
            })
    }

    /// Pages that wait.
    pub fn len(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.len())
    }

    /// Whether no page waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes sectors of a page from the host.
    #[inline]
    pub fn offer(&mut self, lpn: Lpn, part: Part) -> Offer {
        let Some(waiting) = &mut self.waiting else {
            return Offer::Flush(Leaving { lpn, is_partial: !part.is_whole() });
        };
        let Offered::Came { leaves } = waiting.offer(lpn) else {
            return self.offer_again(lpn, part);
        };
        // One leaves before the other is noted: no more are here in part than wait.
        let leaves = leaves.map(|lpn| self.leaving(lpn));
        if !part.is_whole() {
            self.partial.insert(lpn, Sectors::of(part));
        }
        leaves.map_or(Offer::Kept, Offer::Flush)
    }

    /// Takes sectors of a page that waits.
    fn offer_again(&mut self, lpn: Lpn, part: Part) -> Offer {
        if !self.absorbs && part.is_whole() && !self.partial.holds(lpn) {
            return Offer::Flush(Leaving { lpn, is_partial: false });
        }
        if self.partial.get_mut(lpn).is_some_and(|sectors| sectors.complete(part)) {
            self.partial.remove(lpn);
        }
        Offer::Absorbed
    }

    /// A page leaves: whether it is time to look at those behind it.
    #[inline]
    pub fn is_time_to_look(&mut self) -> bool {
        let is_time = self.unseen == 0;
        self.unseen = if is_time { LOOK_AHEAD - 1 } else { self.unseen - 1 };
        is_time
    }

    /// Puts the pages that leave next into `pages`, in that order, and returns their number; 0 if
    /// the policy does not know.
    pub fn coming(&self, pages: &mut [Lpn]) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.coming(pages))
    }

    /// A page may come or leave soon: prefetches the memory that this will touch.
    pub fn prefetch(&self, lpn: Lpn) {
        if let Some(waiting) = &self.waiting {
            waiting.prefetch(lpn);
        }
        self.partial.prefetch(lpn);
    }

    /// Pages that wait at most.
    pub fn waiting_limit(&self) -> usize {
        self.page_count as usize / 2
    }

    /// The pages that wait, in the order in which they leave when others come; `None` if some wait
    /// in part, or the policy does not know.
    pub fn pages_in_order(&self) -> Option<Vec<Lpn>> {
        self.waiting.as_ref().filter(|_| self.partial.is_empty())?.in_order()
    }

    /// These pages wait and no others, as after [`WriteCache::pages_in_order`].
    pub fn refill(&mut self, pages: &[Lpn]) {
        if let Some(waiting) = &mut self.waiting {
            waiting.refill(pages);
        }
    }

    /// Takes out the page that the policy would flush next.
    pub fn take_oldest(&mut self) -> Option<Leaving> {
        let lpn = self.waiting.as_mut()?.take_victim()?;
        Some(self.leaving(lpn))
    }

    /// Takes out a page, if it waits.
    pub fn take(&mut self, lpn: Lpn) -> Option<Leaving> {
        let waits = self.waiting.as_mut()?.remove(lpn);
        waits.then(|| self.leaving(lpn))
    }

    #[inline]
    fn leaving(&mut self, lpn: Lpn) -> Leaving {
        let is_partial = !self.partial.is_empty() && self.partial.remove(lpn);
        Leaving { lpn, is_partial }
    }

    /// The pages that wait, see [`Replacement::save`].
    pub fn save(&self) -> Vec<u64> {
        self.waiting.as_ref().map_or_else(Vec::new, |waiting| waiting.save())
    }

    /// The pages of which only some sectors are here: each page and its sectors as words of bits.
    pub fn save_partial(&self) -> Vec<u64> {
        self.partial.save()
    }

    /// Restores the state from [`WriteCache::save`] and [`WriteCache::save_partial`], into an empty
    /// cache; false if it is invalid.
    pub fn restore(&mut self, numbers: &[u64], partial: &[u64], page_sectors: u32) -> bool {
        let fits = match &mut self.waiting {
            Some(waiting) => waiting.restore(numbers),
            None => numbers.is_empty(),
        };
        let mut pages = Sectors::restore(partial, page_sectors);
        fits && pages.all(|page| {
            page.is_some_and(|(lpn, sectors)| {
                self.contains(lpn) && self.partial.insert(lpn, sectors)
            })
        })
    }

    /// Forgets a page; false if it did not wait.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        self.partial.remove(lpn);
        self.waiting.as_mut().is_some_and(|waiting| waiting.remove(lpn))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const WHOLE: Part = Part { first: 0, limit: 8, page_sectors: 8 };

    fn flush(page: u32) -> Offer {
        Offer::Flush(leaving(page))
    }

    fn leaving(page: u32) -> Leaving {
        Leaving { lpn: Lpn(page), is_partial: false }
    }

    #[test]
    fn the_oldest_page_leaves_and_rewrites_are_absorbed() {
        let mut cache = WriteCache::new(4, Policy::Fifo);
        assert_eq!(cache.offer(Lpn(1), WHOLE), Offer::Kept);
        assert_eq!(cache.offer(Lpn(2), WHOLE), Offer::Kept);
        assert_eq!(cache.offer(Lpn(1), WHOLE), Offer::Absorbed);
        assert_eq!(cache.offer(Lpn(3), WHOLE), flush(1));
        assert!(cache.trim(Lpn(2)) && !cache.trim(Lpn(2)));
        assert_eq!(cache.offer(Lpn(2), WHOLE), Offer::Kept);
        assert_eq!(cache.offer(Lpn(4), WHOLE), flush(3));
        assert_eq!(
            (cache.take_oldest(), cache.take_oldest()),
            (Some(leaving(2)), Some(leaving(4)))
        );
        assert!(cache.take_oldest().is_none() && cache.is_empty());
    }

    #[test]
    fn without_absorbing_every_whole_version_leaves() {
        let mut cache = WriteCache::new(4, Policy::Fifo).in_order();
        let half = Part { first: 0, limit: 4, page_sectors: 8 };
        assert_eq!(cache.offer(Lpn(1), WHOLE), Offer::Kept);
        assert_eq!(cache.offer(Lpn(1), WHOLE), flush(1));
        assert_eq!(
            (cache.offer(Lpn(1), half), cache.offer(Lpn(2), half)),
            (Offer::Absorbed, Offer::Kept)
        );
        // A page that waits in part is filled up first.
        assert_eq!((cache.offer(Lpn(2), WHOLE), cache.len()), (Offer::Absorbed, 2));
        assert_eq!(cache.offer(Lpn(2), WHOLE), flush(2));
    }

    #[test]
    fn a_rewrite_keeps_a_page_where_the_policy_says_so() {
        let mut cache = WriteCache::new(4, Policy::Lru);
        (1..=2).for_each(|page| assert_eq!(cache.offer(Lpn(page), WHOLE), Offer::Kept));
        assert_eq!(cache.offer(Lpn(1), WHOLE), Offer::Absorbed);
        assert_eq!(cache.offer(Lpn(3), WHOLE), flush(2));
    }

    #[test]
    fn a_cache_of_one_page_writes_through() {
        let mut cache = WriteCache::new(1, Policy::Fifo);
        assert_eq!(cache.offer(Lpn(7), WHOLE), flush(7));
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn sectors_gather_until_the_page_is_whole() {
        // Against a table of sectors, for pages of 1 to 200 sectors.
        let mut rng = crate::rng::Rng::stream(5, "sectors");
        for page_sectors in [1, 2, 8, 64, 65, 200] {
            let mut cache = WriteCache::new(20, Policy::Fifo);
            let mut here = BTreeMap::<u32, Vec<bool>>::new();
            for _ in 0..3000 {
                let lpn = Lpn(rng.below(15) as u32);
                let first = rng.below(page_sectors.into()) as u32;
                let limit = first + 1 + rng.below(u64::from(page_sectors - first)) as u32;
                let part = Part { first, limit, page_sectors };
                let sectors = first as usize..limit as usize;
                let found = match here.get(&lpn.0) {
                    None => Found::None,
                    Some(table) if table[sectors.clone()].iter().all(|&bit| bit) => Found::All,
                    Some(_) => Found::Some,
                };
                assert_eq!(cache.find(lpn, part), found);
                let empty = || vec![false; page_sectors as usize];
                let mut table = here.get(&lpn.0).cloned().unwrap_or_else(empty);
                table[sectors].fill(true);
                let is_whole = table.iter().all(|&bit| bit);
                assert_eq!(cache.completes(lpn, part), is_whole && here.contains_key(&lpn.0));
                here.insert(lpn.0, table);
                if let Offer::Flush(leaving) = cache.offer(lpn, part) {
                    let table = here.remove(&leaving.lpn.0).expect("it waited");
                    assert_eq!(leaving.is_partial, !table.iter().all(|&bit| bit));
                }
                let (waiting, partial) = (cache.save(), cache.save_partial());
                let mut copy = WriteCache::new(20, Policy::Fifo);
                assert!(copy.restore(&waiting, &partial, page_sectors));
                assert_eq!(copy.save_partial(), partial);
            }
        }
    }
}
