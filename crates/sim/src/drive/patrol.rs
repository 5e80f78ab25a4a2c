//! Patrol reads: every page that holds data is read once in a while, evenly in time.
//!
//! ```text
//! blocks that are closed   [0 1 2 3] [4 5 6 7] …  one page after the other, and from the beginning
//! time                      ├──┤ period / pages
//! ```
//! The drive keeps its place from stage to stage. The pages are counted when a clock begins to run
//! and when all have been read; the time left to the next read is then rescaled to the new
//! interval.

use crate::units::{BlockId, Ns};

/// See the module.
pub(crate) struct Patrol {
    period: f64,
    /// Pages of closed blocks when they were counted last.
    pages: u64,
    /// The drive's clock at the next read.
    next: u64,
    /// Its position: block and page index.
    pub(crate) place: (BlockId, u32),
}

impl Patrol {
    /// A patrol that reads all pages once in `period_days` days.
    pub(crate) fn new(period_days: f64) -> Self {
        let period = Ns::from_days(period_days).0 as f64;
        Self { period, pages: 0, next: 0, place: (BlockId(0), 0) }
    }

    /// Nanoseconds from one read to the next.
    fn interval(&self) -> f64 {
        self.period / self.pages.max(1) as f64
    }

    /// Sets the number of pages, and rescales the time to the next read.
    pub(crate) fn count(&mut self, pages: u64, now: Ns) {
        // The first read is half of an interval away.
        let left = if self.pages == 0 {
            0.5
        } else {
            self.next.saturating_sub(now.0) as f64 / self.interval()
        };
        self.pages = pages;
        self.next = now.0 + (left * self.interval()) as u64;
    }

    /// When it reads next, or counts the pages of a drive that had none.
    pub(crate) fn next(&self) -> Ns {
        Ns(self.next)
    }

    /// Whether there is something to read.
    pub(crate) fn has_pages(&self) -> bool {
        self.pages > 0
    }

    /// A page was read: the next is read an interval later.
    pub(crate) fn advance(&mut self) {
        self.next += self.interval() as u64;
    }

    /// Numbers for a checkpoint.
    pub(super) fn save(&self) -> [u64; 4] {
        [self.pages, self.next, self.place.0 .0.into(), self.place.1.into()]
    }

    /// Restores what [`Patrol::save`] gave.
    pub(super) fn restore(&mut self, numbers: [u64; 4]) {
        let [pages, next, block, page] = numbers;
        (self.pages, self.next) = (pages, next);
        self.place = (BlockId(block as u32), page as u32);
    }
}
