//! Which open block a page goes to.
//!
//! ```text
//! frontier (stream)      single     host_gc         hot_cold
//! 0                      all        host            hot
//! 1                      -          moved           cold
//! 2                      data moved by static wear leveling
//! ```

use super::config::WriteFrontiers;
use crate::geometry::{Geometry, UNMAPPED};
use crate::op::Source;
use crate::units::{BlockId, Lpn, Ppn};

/// An open block and the next page to program; `next == limit` when there is no room before the
/// next parity page or the end of the block, or when there is no open block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    pub(crate) next: u32,
    pub(crate) limit: u32,
}

impl Frontier {
    pub(crate) const NONE: Self = Self { next: UNMAPPED, limit: UNMAPPED };

    #[inline]
    pub(crate) fn is_full(self) -> bool {
        self.next == self.limit
    }

    /// Pages that it takes before its parity page or end.
    #[inline]
    pub(crate) fn free_pages(self) -> u32 {
        self.limit - self.next
    }

    pub(crate) fn exists(self) -> bool {
        self.limit != UNMAPPED
    }

    /// The open block, if there is one.
    pub(crate) fn block(self, geometry: &Geometry) -> Option<BlockId> {
        // Data never ends at the first page of a block, so the page before the limit is in it.
        self.exists().then(|| geometry.block_of(Ppn(self.limit - 1)))
    }
}

/// How far an open page is that was programmed in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartialPage {
    /// Behind the last unit on the flash.
    pub(super) until: u32,
    pub(super) programs: u32,
    /// Of its block: a page that was erased since is none of these.
    pub(super) erase_count: u32,
}

impl PartialPage {
    pub(super) const NONE: Self = Self { until: UNMAPPED, programs: 0, erase_count: 0 };

    /// As plain numbers.
    pub(super) fn save(self) -> [u32; 3] {
        [self.until, self.programs, self.erase_count]
    }

    /// From what [`PartialPage::save`] gave.
    pub(super) fn restore([until, programs, erase_count]: [u32; 3]) -> Self {
        Self { until, programs, erase_count }
    }
}

/// Index of an open block of a pool: up to two by stream, and the one of wear leveling.
pub(crate) const FRONTIER_COUNT: usize = 3;
/// The open block of host writes.
pub(crate) const HOST_FRONTIER: usize = 0;
/// The open block of moved pages, where they do not share that of the host.
pub(crate) const MOVED_FRONTIER: usize = 1;
const WEAR_FRONTIER: usize = 2;

/// Which open block a page goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    host_gc: bool,
    /// Logical pages below this one are hot, for the oracle; 0 without it.
    hot_limit: u32,
}

impl Placement {
    pub(crate) fn new(frontiers: &WriteFrontiers, logical_pages: u32) -> Self {
        let hot_limit = match frontiers {
            WriteFrontiers::HotCold(oracle) => {
                (f64::from(logical_pages) * oracle.fraction).round() as u32
            }
            _ => 0,
        };
        Self { host_gc: matches!(frontiers, WriteFrontiers::HostGc(_)), hot_limit }
    }

    /// The last of the streams that the host writes to; the first is [`HOST_FRONTIER`].
    pub(crate) fn last_host_stream(self) -> usize {
        HOST_FRONTIER + usize::from(self.hot_limit != 0)
    }

    /// The open block of a page that the host writes.
    #[inline]
    pub(crate) fn host_stream(self, lpn: Lpn) -> usize {
        // Without the oracle the limit is 0, and no page lies below it.
        usize::from(self.hot_limit != 0 && lpn.0 >= self.hot_limit)
    }

    #[inline]
    pub(crate) fn stream(self, lpn: Lpn, source: Source) -> usize {
        if source == Source::Wear {
            WEAR_FRONTIER
        } else if self.hot_limit != 0 {
            usize::from(lpn.0 >= self.hot_limit)
        } else {
            usize::from(self.host_gc && source != Source::Host)
        }
    }

    /// Whether pages of one collection can go to different open blocks.
    pub(crate) fn splits(self, source: Source) -> bool {
        self.hot_limit != 0 && source != Source::Wear
    }
}
