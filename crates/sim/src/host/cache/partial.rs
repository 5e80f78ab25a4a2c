//! The pages of the write cache of which only some sectors are here, and which.
//!
//! They are found by a table of fixed size, like all pages of a cache: writes of a sector each, to
//! pages at random, come and leave one for every command.

use super::index::Index;
use crate::units::Lpn;

/// Sectors of a word.
const WORD: u32 = u64::BITS;

/// Consecutive sectors of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first of them, counted in the page.
    pub first: u32,
    /// The sector after the last.
    pub limit: u32,
    /// Sectors of a page.
    pub page_sectors: u32,
}

impl Part {
    /// All sectors of a page.
    pub fn whole(page_sectors: u32) -> Self {
        Self { first: 0, limit: page_sectors, page_sectors }
    }

    /// Whether these are all sectors of the page.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.limit - self.first == self.page_sectors
    }
}

/// Which sectors of a page are here, a bit each; never none, and never all.
#[derive(Clone, Debug)]
pub(super) struct Sectors {
    /// The first 64: all that most pages have.
    first: u64,
    /// Those behind them.
    more: Box<[u64]>,
}

impl Sectors {
    pub(super) fn of(part: Part) -> Self {
        let more = vec![0; words_of(part.page_sectors) - 1].into();
        let mut sectors = Self { first: 0, more };
        sectors.add(part);
        sectors
    }

    fn word(&mut self, place: u32) -> &mut u64 {
        match place.checked_sub(1) {
            None => &mut self.first,
            Some(place) => &mut self.more[place as usize],
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }

    pub(super) fn add(&mut self, part: Part) {
        for (place, bits) in bits_of(part) {
            *self.word(place) |= bits;
        }
    }

    pub(super) fn hold(&self, part: Part) -> bool {
        let mut wanted = bits_of(part).zip(self.words());
        wanted.all(|((_, bits), word)| word & bits == bits)
    }

    pub(super) fn are_whole(&self, page_sectors: u32) -> bool {
        self.hold(Part::whole(page_sectors))
    }

    /// Adds sectors; whether all are here then.
    pub(super) fn complete(&mut self, part: Part) -> bool {
        self.add(part);
        self.are_whole(part.page_sectors)
    }

    /// The pages that [`Partial::save`] gave, those that cannot be as `None`.
    pub(super) fn restore(
        numbers: &[u64],
        page_sectors: u32,
    ) -> impl Iterator<Item = Option<(Lpn, Self)>> + '_ {
        let words = words_of(page_sectors);
        numbers.chunks(1 + words).map(move |page| {
            let [lpn, first, more @ ..] = page else { return None };
            let sectors = Self { first: *first, more: more.into() };
            let fits = 1 + more.len() == words
                && sectors.words().any(|word| word != 0)
                && !sectors.are_whole(page_sectors);
            fits.then_some((Lpn(*lpn as u32), sectors))
        })
    }
}

fn words_of(page_sectors: u32) -> usize {
    page_sectors.div_ceil(WORD).max(1) as usize
}

/// The words of a page from its start to the last sector of a part, and the bits of the part in
/// them.
fn bits_of(part: Part) -> impl Iterator<Item = (u32, u64)> {
    (0..part.limit.div_ceil(WORD)).map(move |place| {
        let below = |sector: u32| match sector.saturating_sub(place * WORD) {
            sectors @ 0..WORD => (1 << sectors) - 1,
            _ => u64::MAX,
        };
        (place, below(part.limit) & !below(part.first))
    })
}

/// See the module.
pub(super) struct Partial {
    index: Index,
    pages: Vec<(Lpn, Sectors)>,
}

impl Partial {
    /// Empty, with room for `page_count` pages.
    pub(super) fn new(page_count: usize) -> Self {
        Self { index: Index::new(page_count), pages: Vec::new() }
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    #[inline]
    fn place(&self, lpn: Lpn) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        self.index.get(lpn).map(|place| place as usize)
    }

    /// Prefetches the memory that a look-up of a page will touch.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        if !self.is_empty() {
            self.index.prefetch(lpn);
        }
    }

    /// Whether a page is here in part.
    #[inline]
    pub(super) fn holds(&self, lpn: Lpn) -> bool {
        self.place(lpn).is_some()
    }

    /// The sectors here of a page that is here in part.
    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<&Sectors> {
        self.place(lpn).map(|place| &self.pages[place].1)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, lpn: Lpn) -> Option<&mut Sectors> {
        self.place(lpn).map(|place| &mut self.pages[place].1)
    }

    /// Adds a page; false if it is here in part already.
    pub(super) fn insert(&mut self, lpn: Lpn, sectors: Sectors) -> bool {
        let is_new = !self.holds(lpn);
        if is_new {
            self.index.insert(lpn, self.pages.len() as u32);
            self.pages.push((lpn, sectors));
        }
        is_new
    }

    /// Takes a page out; false if it is not here in part.
    #[inline]
    pub(super) fn remove(&mut self, lpn: Lpn) -> bool {
        if self.is_empty() {
            return false;
        }
        let Some(place) = self.index.take(lpn) else { return false };
        self.pages.swap_remove(place as usize);
        // The last one has come to its place.
        if let Some(&(moved, _)) = self.pages.get(place as usize) {
            self.index.take(moved);
            self.index.insert(moved, place);
        }
        true
    }

    /// Each page and its sectors as words of bits, in the order of the pages.
    pub(super) fn save(&self) -> Vec<u64> {
        let mut pages: Vec<_> = self.pages.iter().collect();
        pages.sort_unstable_by_key(|(lpn, _)| lpn.0);
        let numbers = |(lpn, sectors): &(Lpn, Sectors)| {
            std::iter::once(u64::from(lpn.0)).chain(sectors.words()).collect::<Vec<_>>()
        };
        pages.into_iter().flat_map(numbers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of pages of many sizes, against a set of sectors for each page.
    #[test]
    fn parts_add_up_as_sets_of_sectors() {
        let mut rng = crate::rng::Rng::stream(1, "partial");
        for page_sectors in [1, 2, 8, 63, 64, 65, 128, 200] {
            let mut partial = Partial::new(50);
            let mut oracle = std::collections::BTreeMap::new();
            for _ in 0..4000 {
                let lpn = Lpn(rng.below(50) as u32 * 977);
                let first = rng.below(page_sectors.into()) as u32;
                let limit = first + 1 + rng.below(u64::from(page_sectors - first)) as u32;
                let part = Part { first, limit, page_sectors };
                let sectors = part.first..part.limit;
                let known: Option<&std::collections::BTreeSet<u32>> = oracle.get(&lpn);
                let holds = known.map(|known| sectors.clone().all(|it| known.contains(&it)));
                assert_eq!(partial.get(lpn).map(|it| it.hold(part)), holds);
                if rng.below(8) == 0 {
                    assert_eq!(partial.remove(lpn), oracle.remove(&lpn).is_some());
                } else if part.is_whole() || known.is_some() {
                    let is_whole = partial.get_mut(lpn).is_some_and(|it| it.complete(part));
                    let known = oracle.entry(lpn).or_default();
                    let was_here = !known.is_empty();
                    known.extend(sectors);
                    assert_eq!(is_whole, was_here && known.len() == page_sectors as usize);
                    if known.len() == page_sectors as usize {
                        partial.remove(lpn);
                        oracle.remove(&lpn);
                    }
                } else {
                    assert!(partial.insert(lpn, Sectors::of(part)));
                    oracle.insert(lpn, sectors.collect());
                }
            }
            let saved = partial.save();
            let lpns: Vec<u64> = oracle.keys().map(|lpn| u64::from(lpn.0)).collect();
            let words = 1 + page_sectors.div_ceil(64) as usize;
            assert_eq!(saved.iter().step_by(words).copied().collect::<Vec<_>>(), lpns);
            let mut again = Partial::new(50);
            for page in Sectors::restore(&saved, page_sectors) {
                let (lpn, sectors) = page.expect("it was saved");
                assert!(again.insert(lpn, sectors.clone()) && !again.insert(lpn, sectors));
            }
            assert_eq!(again.save(), saved);
        }
    }

    #[test]
    fn what_no_page_can_be_is_not_restored() {
        let all = |numbers: &[u64]| Sectors::restore(numbers, 8).all(|page| page.is_some());
        assert!(all(&[7, 1, 9, 0x7F]) && all(&[]));
        assert!(!all(&[7]) && !all(&[7, 0]) && !all(&[7, 0xFF]) && !all(&[7, 1, 9]));
    }
}
