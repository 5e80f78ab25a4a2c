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

/// How far a collection is.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
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
    begun: Option<UnderWay>,
    level: i64,
    block_pages: u32,
}

impl Balance {
    /// Longer steps would only delay the host.
    const ROWS_MAX: u32 = 8;

    /// Takes stock.
    pub(super) fn note(&mut self, free: Free, under_way: Option<UnderWay>) {
        let moved = under_way.map_or(0, |it| self.moved(it, free.block_pages));
        self.level = free.pages + i64::from(moved);
        self.block_pages = free.block_pages;
    }

    /// Pages that the victim has given so far, of those that a block takes.
    fn moved(&mut self, it: UnderWay, block_pages: u32) -> u32 {
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

    /// Whether the collection is to go before the host.
    pub(super) fn is_low(&self) -> bool {
        self.level < i64::from(self.block_pages) * 9 / 8
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
    fn moves_and_writes_balance() {
        // 100 pages to a block, 75 live: three moves win a page.
        let mut balance = Balance::default();
        let level = |balance: &mut Balance, pages, live_pages| {
            let victim = UnderWay { victim: BlockId(3), live_pages };
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
        let empty = UnderWay { victim: BlockId(4), live_pages: 0 };
        balance.note(Free { pages: -20, block_pages: 100 }, Some(empty));
        assert!(balance.host_waits() && balance.is_low() && balance.rows() == 1);
    }
}
