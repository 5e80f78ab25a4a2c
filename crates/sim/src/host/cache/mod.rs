//! Caches in the memory of the drive: which pages they keep is a policy, one file each.
//!
//! A policy hears when a page is used ([`Replacement::touch`]), comes ([`Replacement::insert`]) or
//! is no longer wanted ([`Replacement::remove`]), and names the page that leaves. Every call takes
//! constant time (CLOCK: on average) and no memory. Callers: [`WriteCache`], whose pages are
//! programmed when they leave, and [`ReadCache`], whose pages are just dropped. A new policy starts
//! from `queue` and needs a row in [`Policy`].

pub mod clean;
mod clock;
pub mod fence;
mod index;
mod list;
mod partial;
mod queue;
mod two_q;
pub mod write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use clean::{CleanCaches, Copied};
pub use fence::Fence;
pub use partial::Part;
pub use write::{Found, Leaving, Offer, WriteCache};

use crate::config::ConfigError;
use crate::units::Lpn;

/// Pages of the largest cache.
const PAGES_MAX: u32 = 1 << 24;

/// Which page leaves a full cache.
pub trait Replacement: Send {
    /// Pages in the cache.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a page is here.
    fn contains(&self, lpn: Lpn) -> bool;

    /// A page that is here was used.
    fn touch(&mut self, lpn: Lpn);

    /// A page that is not here comes; returns the one that leaves if the cache was full.
    fn insert(&mut self, lpn: Lpn) -> Option<Lpn>;

    /// A page is used if it is here, and comes if it is not.
    fn offer(&mut self, lpn: Lpn) -> Offered {
        if self.contains(lpn) {
            self.touch(lpn);
            Offered::Here
        } else {
            Offered::Came { leaves: self.insert(lpn) }
        }
    }

    /// Drops a page; false if it was not here.
    fn remove(&mut self, lpn: Lpn) -> bool;

    /// Drops the page that would leave next.
    fn take_victim(&mut self) -> Option<Lpn>;

    /// Puts the pages that would leave next into `pages`, in that order, and returns their number;
    /// 0 if the policy cannot name them at once.
    fn coming(&self, _pages: &mut [Lpn]) -> usize {
        0
    }

    /// A page may come, be used or leave soon: prefetches the memory that this will touch.
    fn prefetch(&self, _lpn: Lpn) {}

    /// All pages in the order in which they leave when others come; `None` if the policy cannot
    /// name them at once.
    fn in_order(&self) -> Option<Vec<Lpn>> {
        None
    }

    /// Holds these pages and no others, the first of them leaves first: of policies that know
    /// their [`Replacement::in_order`].
    fn refill(&mut self, _pages: &[Lpn]) {}

    /// The pages here and their order, as numbers whose low 32 bits are the page.
    fn save(&self) -> Vec<u64>;

    /// Restores the state from [`Replacement::save`], into an empty cache. False: the numbers are
    /// no state of this policy.
    fn restore(&mut self, numbers: &[u64]) -> bool;
}

/// What became of a page that was [offered](Replacement::offer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It was here already.
    Here,
    /// It came, and for it another one left if the cache was full.
    Came {
        /// The one that left.
        leaves: Option<Lpn>,
    },
}

/// The replacement policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// First in, first out.
    Fifo,
    /// Least recently used.
    #[default]
    Lru,
    /// A hand that spares pages that were used since it last came by.
    Clock,
    /// Only pages that are asked for again after a while reach the main queue.
    #[serde(rename = "two_q")]
    TwoQ,
}

impl Policy {
    /// An empty cache of `capacity` pages, at least 1.
    pub fn build(self, capacity: usize) -> Box<dyn Replacement> {
        match self {
            Self::Fifo => Box::new(queue::Queue::fifo(capacity)),
            Self::Lru => Box::new(queue::Queue::lru(capacity)),
            Self::Clock => Box::new(clock::Clock::new(capacity)),
            Self::TwoQ => Box::new(two_q::TwoQ::new(capacity)),
        }
    }
}

/// A cache of pages that were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadCacheConfig {
    /// Pages, 1 to 16777216; no default.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub pages: u32,
    /// `lru`, `clock`, `two_q` or `fifo`; default `lru`.
    #[serde(default)]
    pub policy: Policy,
}

/// When a write is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// When the cache has the data.
    #[default]
    WriteBack,
    /// When the flash has the data; the cache then serves reads of written pages.
    WriteThrough,
}

/// A cache of pages that are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteCacheConfig {
    /// Pages, 1 to 16777216; no default. At most half of them wait, the others are on their way to
    /// the flash.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub pages: u32,
    /// Which page is flushed: `lru`, `clock`, `two_q` or `fifo`; default `lru`.
    #[serde(default)]
    pub policy: Policy,
    /// `write_back`: writes complete in the cache; `write_through`: in the flash. Default
    /// `write_back`.
    #[serde(default)]
    pub mode: WriteMode,
    /// Whether the cache is on (WCE); off (WCD), every write goes to the flash. Default true.
    #[serde(default = "on")]
    pub enabled: bool,
}

fn on() -> bool {
    true
}

pub(super) fn check_pages(path: &str, pages: u32) -> Result<(), ConfigError> {
    if (1..=PAGES_MAX).contains(&pages) {
        return Ok(());
    }
    let message = format!("{pages} is out of range; accepted: 1 to {PAGES_MAX}");
    Err(ConfigError::new(format!("{path}.pages"), message))
}

/// Clean copies of pages; a page that leaves is dropped.
pub struct ReadCache {
    pages: Box<dyn Replacement>,
}

impl ReadCache {
    /// An empty cache of `page_count` pages, at least 1.
    pub fn new(page_count: u32, policy: Policy) -> Self {
        Self { pages: policy.build(page_count as usize) }
    }

    /// Whether a page is here, which counts as a use of it.
    #[inline]
    pub fn read(&mut self, lpn: Lpn) -> bool {
        let is_hit = self.pages.contains(lpn);
        if is_hit {
            self.pages.touch(lpn);
        }
        is_hit
    }

    /// Whether a page is here, without using it.
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.pages.contains(lpn)
    }

    /// Keeps a copy of a page that was read from the flash, or was written through.
    pub fn keep(&mut self, lpn: Lpn) {
        if self.pages.contains(lpn) {
            self.pages.touch(lpn);
        } else {
            self.pages.insert(lpn);
        }
    }

    /// The pages here, see [`Replacement::save`].
    pub fn save(&self) -> Vec<u64> {
        self.pages.save()
    }

    /// Restores the state from [`ReadCache::save`], into an empty cache; false if it is invalid.
    pub fn restore(&mut self, numbers: &[u64]) -> bool {
        self.pages.restore(numbers)
    }

    /// Drops the copy of a page whose data have changed.
    #[inline]
    pub fn forget(&mut self, lpn: Lpn) {
        self.pages.remove(lpn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A policy as its paper describes it, with plain vectors.
    enum Oracle {
        /// Oldest first; whether use counts.
        Queue(Vec<u32>, bool),
        /// Ring of page and mark, and the hand.
        Ring(Vec<(u32, bool)>, usize),
        /// A1in, A1out, Am; oldest first.
        TwoQ([Vec<u32>; 3]),
    }

    impl Oracle {
        fn of(policy: Policy) -> Self {
            match policy {
                Policy::Fifo => Self::Queue(Vec::new(), false),
                Policy::Lru => Self::Queue(Vec::new(), true),
                Policy::Clock => Self::Ring(Vec::new(), 0),
                Policy::TwoQ => Self::TwoQ(Default::default()),
            }
        }

        /// A page is asked for: whether it was here, and which page left.
        fn access(&mut self, page: u32, capacity: usize) -> (bool, Option<u32>) {
            match self {
                Self::Queue(pages, by_use) => {
                    if let Some(place) = pages.iter().position(|&here| here == page) {
                        if *by_use {
                            pages.remove(place);
                            pages.push(page);
                        }
                        return (true, None);
                    }
                    let victim = (pages.len() == capacity).then(|| pages.remove(0));
                    pages.push(page);
                    (false, victim)
                }
                Self::Ring(ring, hand) => {
                    if let Some(place) = ring.iter().position(|&(here, _)| here == page) {
                        ring[place].1 = true;
                        return (true, None);
                    }
                    if ring.len() < capacity {
                        ring.push((page, false));
                        return (false, None);
                    }
                    while std::mem::take(&mut ring[*hand].1) {
                        *hand = (*hand + 1) % capacity;
                    }
                    let victim = std::mem::replace(&mut ring[*hand], (page, false)).0;
                    *hand = (*hand + 1) % capacity;
                    (false, Some(victim))
                }
                Self::TwoQ([first, remembered, main]) => {
                    if let Some(place) = main.iter().position(|&here| here == page) {
                        main.remove(place);
                        main.push(page);
                        return (true, None);
                    }
                    if first.contains(&page) {
                        return (true, None);
                    }
                    let known = remembered.iter().position(|&here| here == page);
                    known.map(|place| remembered.remove(place));
                    let mut victim = None;
                    if first.len() + main.len() == capacity {
                        if first.len() > (capacity / 4).max(1) || main.is_empty() {
                            let leaves = first.remove(0);
                            remembered.push(leaves);
                            if remembered.len() > (capacity / 2).max(1) {
                                remembered.remove(0);
                            }
                            victim = Some(leaves);
                        } else {
                            victim = Some(main.remove(0));
                        }
                    }
                    if known.is_some() { main } else { first }.push(page);
                    (false, victim)
                }
            }
        }
    }

    const POLICIES: [Policy; 4] = [Policy::Fifo, Policy::Lru, Policy::Clock, Policy::TwoQ];

    #[test]
    fn policies_do_what_their_papers_say() {
        for policy in POLICIES {
            for capacity in [1, 2, 3, 8, 37] {
                let mut rng = Rng::stream(capacity as u64, "cache");
                let (mut cache, mut oracle) = (policy.build(capacity), Oracle::of(policy));
                for round in 0..20_000 {
                    // Squared, so that some pages are much more popular than others.
                    let page = (rng.unit() * rng.unit() * 100.0) as u32;
                    let (is_hit, victim) = oracle.access(page, capacity);
                    let told = format!("{policy:?} of {capacity}, round {round}, page {page}");
                    assert_eq!(cache.contains(Lpn(page)), is_hit, "{told}");
                    if is_hit {
                        cache.touch(Lpn(page));
                    } else {
                        assert_eq!(cache.insert(Lpn(page)), victim.map(Lpn), "{told}");
                    }
                }
                assert_eq!(cache.len(), capacity);
            }
        }
    }

    #[test]
    fn pages_that_are_removed_are_gone_and_all_come_out_once() {
        for policy in POLICIES {
            let mut rng = Rng::stream(7, "cache");
            let (mut cache, mut oracle) = (policy.build(20), std::collections::BTreeSet::new());
            for _ in 0..20_000 {
                let lpn = Lpn(rng.below(60) as u32);
                if rng.below(4) == 0 {
                    assert_eq!(cache.remove(lpn), oracle.remove(&lpn), "{policy:?}");
                } else if cache.contains(lpn) {
                    cache.touch(lpn);
                } else {
                    oracle.insert(lpn);
                    if let Some(victim) = cache.insert(lpn) {
                        assert!(victim != lpn && oracle.remove(&victim), "{policy:?}");
                    }
                }
                assert_eq!(cache.len(), oracle.len());
            }
            while let Some(victim) = cache.take_victim() {
                assert!(oracle.remove(&victim), "{policy:?}");
            }
            assert!(oracle.is_empty() && cache.is_empty(), "{policy:?}");
        }
    }

    /// Share of hits over a sequence of pages, after the first half.
    fn hit_ratio(policy: Policy, capacity: u32, pages: impl Iterator<Item = u32>) -> f64 {
        let pages: Vec<u32> = pages.collect();
        let mut cache = ReadCache::new(capacity, policy);
        let mut hits = 0_u32;
        for (index, &page) in pages.iter().enumerate() {
            let is_hit = cache.read(Lpn(page));
            hits += u32::from(is_hit && index >= pages.len() / 2);
            if !is_hit {
                cache.keep(Lpn(page));
            }
        }
        f64::from(hits) / (pages.len() / 2) as f64
    }

    #[test]
    fn uniform_reads_hit_as_often_as_pages_fit() {
        for policy in POLICIES {
            let mut rng = Rng::stream(3, "cache");
            let pages = (0..200_000).map(|_| rng.below(1000) as u32);
            let ratio = hit_ratio(policy, 250, pages);
            // Any policy without foresight: capacity over pages; deviation 0.0014 of 100 000.
            assert!((ratio - 0.25).abs() < 0.007, "{policy:?} {ratio}");
        }
    }

    #[test]
    fn a_scan_defeats_use_and_not_2q() {
        // Half of the reads go round 1000 pages, the others to 50 popular ones: 100 pages of cache.
        let mixed = || {
            let mut rng = Rng::stream(4, "cache");
            (0..100_000_u32).map(move |index| {
                if index % 2 == 0 {
                    1000 + index / 2 % 1000
                } else {
                    rng.below(50) as u32
                }
            })
        };
        let [fifo, lru, clock, two_q] = POLICIES.map(|policy| hit_ratio(policy, 100, mixed()));
        // A popular page is asked for every 100 reads: LRU loses it when 100 others came between.
        assert!(fifo < lru && lru < two_q && clock < two_q, "{fifo} {lru} {clock} {two_q}");
        assert!((0.49..=0.5).contains(&two_q), "all popular pages stay: {two_q}");
        // A pure scan of more pages than fit never hits.
        for policy in [Policy::Fifo, Policy::Lru, Policy::Clock] {
            assert!(hit_ratio(policy, 100, (0..20_000).map(|index| index % 101)) < 1e-9);
        }
    }
}
