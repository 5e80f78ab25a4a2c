//! How far an open block is written.

use crate::geometry::{Geometry, UNMAPPED};
use crate::units::{BlockId, Ppn};

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
pub(in crate::ftl) struct PartialPage {
    /// Behind the last unit on the flash.
    pub(super) until: u32,
    pub(super) programs: u32,
    /// Of its block: a page that was erased since is none of these.
    pub(super) erase_count: u32,
}

impl PartialPage {
    pub(super) const NONE: Self = Self { until: UNMAPPED, programs: 0, erase_count: 0 };

    /// As plain numbers.
    pub(in crate::ftl) fn save(self) -> [u32; 3] {
        [self.until, self.programs, self.erase_count]
    }

    /// From what [`PartialPage::save`] gave.
    pub(in crate::ftl) fn restore([until, programs, erase_count]: [u32; 3]) -> Self {
        Self { until, programs, erase_count }
    }
}
