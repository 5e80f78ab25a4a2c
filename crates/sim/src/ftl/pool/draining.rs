//! Folding during host writes: the pages that a full cache owes while the host writes past it.
//!
//! ```text
//! cache     fills │ full: takes no writes ── folded ──────── a pause │ fills
//! host      fast  │ past it, slower while blocks fold │ past it      │ fast
//! owed            +ratio for each page past it, -1 for each page that was folded
//! ```
//! The debt for a whole host block is added when the block is opened, and the debt for its pages
//! that are still free is subtracted when the debt is read, so that no page costs anything.

use super::slc::{Draining, SlcCache};

impl SlcCache {
    /// The host writes past the cache, in a block of `pages` that was just opened for it.
    pub(super) fn note_past(&mut self, pages: u32) {
        let draining = &mut self.draining;
        if draining.ratio > 0.0 && !self.cached.is_empty() {
            draining.is_on = true;
            draining.owed += draining.ratio * f64::from(pages);
        }
    }

    /// The host pauses: a cache of which all is folded takes writes again.
    pub(in crate::ftl) fn end_draining(&mut self) {
        if self.cached.is_empty() {
            self.draining = Draining::new(self.draining.ratio);
        }
    }

    /// Leaves the pages that are owed now to pauses, with `free` pages in the open block of the
    /// host: untimed stages fold in whole blocks.
    pub(super) fn forgive_fold(&mut self, free: u32) {
        if self.draining.is_on {
            self.draining.owed = self.draining.ratio * f64::from(free);
        }
    }

    /// Whether the pages that are owed grow with the writes of the host.
    pub(super) fn folds_beside(&self) -> bool {
        self.draining.is_on && !self.cached.is_empty()
    }

    /// Pages that are to be folded by now.
    pub(super) fn owed(&self, free: u32) -> f64 {
        if self.folds_beside() {
            self.draining.owed - self.draining.ratio * f64::from(free)
        } else {
            0.0
        }
    }
}
