//! How a superblock drive shares its dies between the host and a collection.
//!
//! ```text
//! level = free pages beyond the reserve + b * (share of the victim's live pages that have moved)
//! ```
//! With b pages in a block and v live in the victim, a write of the host takes one from the level,
//! a move gives (b - v) / v, and neither the erase nor the next victim changes it. The host waits
//! while the level is below b: a host without room, its block full and no other erased, would be
//! at a lower one, so it never stops for the whole of a victim, which takes seconds where a
//! superblock has gigabytes. The dies take up a row of the host while a step of a collection reads,
//! so a step moves as many rows as must move for each of the host.

use crate::units::BlockId;

/// A collection that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) victim: BlockId,
    /// Pages that it has still to move.
    pub(super) live_pages: u32,
}

/// The free pages of a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    /// In open and in erased blocks, less those of the reserve.
    pub(super) pages: i64,
    /// Pages that a block takes.
    pub(super) block_pages: u32,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Balance {
    /// The victim, with the pages that it had live when it was first seen.
    begun: Option<Running>,
    level: i64,
    block_pages: u32,
    is_bursting: bool,
}

impl Balance {
    /// Longer steps would only delay the host.
    const ROWS_MAX: u32 = 8;

    /// Takes stock.
    pub(super) fn note(&mut self, free: Free, running: Option<Running>) {
        let moved = running.map_or(0, |it| self.moved(it, free.block_pages));
        self.level = free.pages + i64::from(moved);
        self.block_pages = free.block_pages;
    }

    /// The share of the victim's live pages that has moved, scaled to the pages that a block takes.
    fn moved(&mut self, it: Running, block_pages: u32) -> u32 {
        let begun = match self.begun {
            Some(begun) if begun.victim == it.victim && begun.live_pages >= it.live_pages => begun,
            _ => *self.begun.insert(it),
        };
        if begun.live_pages == 0 {
            return block_pages;
        }
        let moved = u64::from(begun.live_pages - it.live_pages) * u64::from(block_pages);
        (moved / u64::from(begun.live_pages)) as u32
    }

    /// Whether the host is to wait for the collection.
    pub(super) fn host_waits(&self) -> bool {
        self.level < i64::from(self.block_pages)
    }

    /// Whether a burst is on: it begins when less than a block is free, and ends when `blocks` more
    /// are.
    pub(super) fn bursts(&mut self, blocks: f64) -> bool {
        let limit = if self.is_bursting { 1.0 + blocks } else { 1.0 };
        self.is_bursting = (self.level as f64) < limit * f64::from(self.block_pages);
        self.is_bursting
    }

    /// Ends a burst; whether one was on.
    pub(super) fn end_burst(&mut self) -> bool {
        std::mem::take(&mut self.is_bursting)
    }

    /// Whether the collection is to go before the host.
    pub(super) fn is_low(&self) -> bool {
        self.level < self.low()
    }

    fn low(&self) -> i64 {
        i64::from(self.block_pages) * 9 / 8
    }

    /// Pages that the host may write in its open block before one of the two answers changes: each
    /// takes one from the level at most, or lets a page of the victim die, as good as moved.
    pub(super) fn pages_alike(&self) -> u32 {
        let (least, low) = (i64::from(self.block_pages), self.low());
        let (floor, ceiling) = match self.level {
            level if level >= low => (low, i64::MAX),
            level if level >= least => (least, low),
            _ => (i64::MIN, least),
        };
        let live = self.begun.map_or(0, |begun| i64::from(begun.live_pages));
        // The share of the pages that have moved is rounded down before and after.
        let rise = ceiling.saturating_sub(self.level) - 1;
        let until_rise = if live == 0 || ceiling == i64::MAX {
            i64::MAX
        } else {
            (rise * live - 1).max(0) / least.max(1)
        };
        until_rise.min(self.level.saturating_sub(floor)).clamp(0, u32::MAX.into()) as u32
    }

    /// Rows to move for each of the host, rounded up.
    pub(super) fn rows(&self) -> u32 {
        let live = self.begun.map_or(0, |begun| begun.live_pages);
        live.div_ceil(self.block_pages.saturating_sub(live).max(1)).clamp(1, Self::ROWS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stay_for_as_many_pages_as_is_told() {
        let mut rng = crate::rng::Rng::stream(1, "balance");
        for _ in 0..2000 {
            let block_pages = 1 + rng.below(200) as u32;
            let start = rng.below(u64::from(block_pages) + 1) as u32;
            let (victim, mut live_pages) = (BlockId(1), start);
            let least = -i64::from(block_pages);
            let mut pages = least + rng.below(3 * u64::from(block_pages)).cast_signed();
            let mut balance = Balance::default();
            let mut answers = |pages, live_pages| {
                let free = Free { pages, block_pages };
                balance.note(free, Some(Running { victim, live_pages }));
                (balance.host_waits(), balance.is_low(), balance.pages_alike())
            };
            answers(0, start);
            live_pages -= rng.below(u64::from(start) + 1) as u32;
            let (waits, is_low, alike) = answers(pages, live_pages);
            for _ in 0..alike.min(300) {
                pages -= rng.below(2).cast_signed();
                live_pages -= u32::from(live_pages > 0 && rng.below(3) > 0);
                let (still_waits, still_low, _) = answers(pages, live_pages);
                assert_eq!((still_waits, still_low), (waits, is_low), "{alike}");
            }
        }
    }

    #[test]
    fn moves_and_writes_balance() {
        // 100 pages to a block, 75 live: three moves win a page.
        let mut balance = Balance::default();
        let level = |balance: &mut Balance, pages, live_pages| {
            let victim = Running { victim: BlockId(3), live_pages };
            balance.note(Free { pages, block_pages: 100 }, Some(victim));
            balance.level
        };
        assert_eq!((level(&mut balance, 120, 75), balance.rows()), (120, 3));
        // 30 moves, 10 writes; then the rest, and the erase.
        assert_eq!(level(&mut balance, 120 - 30 - 10, 45), 120);
        assert_eq!(level(&mut balance, 120 - 75 - 25, 0), 120);
        balance.note(Free { pages: 120, block_pages: 100 }, None);
        assert!(!balance.host_waits() && !balance.is_low());
        // The next one has nothing to move.
        let empty = Running { victim: BlockId(4), live_pages: 0 };
        balance.note(Free { pages: -20, block_pages: 100 }, Some(empty));
        assert!(balance.host_waits() && balance.is_low() && balance.rows() == 1);
    }
}
