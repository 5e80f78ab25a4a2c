//! Folding beside the host: what a full cache owes while the host writes past it.
//!
//! ```text
//! cache     fills │ full: takes no writes ── folded ──────── a pause │ fills
//! host      fast  │ past it, slower by what is folded │ past it      │ fast
//! owed            +ratio for each page past it, -1 for each page that was folded
//! ```
//! What a block of the host will owe is owed when it is opened, less what is still free in it, so
//! that no page costs anything.

use super::placement::HOST_FRONTIER;
use super::pool::Pool;
use super::slc::Draining;
use crate::ftl::books::Books;
use crate::ftl::sink::FlashSink;
use crate::op::Source;

impl Pool {
    /// The host goes past its cache, in a block that was just opened for it.
    pub(super) fn note_past_cache(&mut self) {
        let pages = f64::from(self.block_pages());
        let Some(cache) = &mut self.log.slc else { return };
        let draining = &mut cache.draining;
        if draining.ratio > 0.0 && !cache.cached.is_empty() {
            draining.is_on = true;
            draining.owed += draining.ratio * pages;
        }
    }

    /// The host pauses: a cache of which all is folded takes writes again.
    pub(crate) fn end_draining(&mut self) {
        if let Some(cache) = self.log.slc.as_mut().filter(|cache| cache.cached.is_empty()) {
            cache.draining = Draining::new(cache.draining.ratio);
        }
    }

    /// What is owed so far is left to pauses: untimed stages fold in whole blocks.
    pub(super) fn forgive_fold(&mut self) {
        let free = f64::from(self.log.frontiers[HOST_FRONTIER].free_pages());
        if let Some(cache) = self.log.slc.as_mut().filter(|cache| cache.draining.is_on) {
            cache.draining.owed = cache.draining.ratio * free;
        }
    }

    /// Whether what is owed grows with what the host writes.
    pub(super) fn folds_beside(&self) -> bool {
        let cache = self.log.slc.as_ref();
        cache.is_some_and(|cache| cache.draining.is_on && !cache.cached.is_empty())
    }

    /// Pages that the host may write, and nothing happens to the blocks but that these take them.
    pub(crate) fn pages_in_open_block(&self) -> u32 {
        let is_alone = self.scheme.is_none() && !self.log.placement.splits(Source::Host);
        let is_steady = is_alone && !self.folds_beside();
        if is_steady {
            self.log.frontiers[HOST_FRONTIER].free_pages()
        } else {
            0
        }
    }

    /// Pages that are to be folded by now.
    fn owed(&self) -> f64 {
        let Some(cache) = self.log.slc.as_ref().filter(|_| self.folds_beside()) else { return 0.0 };
        let free = f64::from(self.log.frontiers[HOST_FRONTIER].free_pages());
        cache.draining.owed - cache.draining.ratio * free
    }

    /// Whether folding is behind what the host has written past the cache.
    pub(crate) fn owes_fold(&self) -> bool {
        self.owed() > 0.0
    }

    /// Folds at once what is owed, in whole blocks.
    pub(super) fn fold_what_is_owed<S: FlashSink>(&mut self, books: &mut Books, sink: &mut S) {
        loop {
            let cache = self.log.slc.as_ref().filter(|cache| cache.draining.is_on);
            let next = cache.and_then(|cache| cache.next_to_fold(&books.map, true));
            let Some((_, next)) = next else { return };
            let is_due = self.owed() >= f64::from(self.live_pages(books, next));
            if !is_due {
                return;
            }
            // What the cache has for good gives no block back, and needs one to spare.
            let folds = self.fold_at_once(books, sink)
                || self.make_spare(books, sink, None).is_ok() && self.fold_at_once(books, sink);
            if !folds {
                return;
            }
        }
    }
}
