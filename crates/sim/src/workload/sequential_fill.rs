//! The classic preconditioning step: the whole logical space is written in ascending order, again
//! and again.
//!
//! Requests are 128 KiB, as in the workload-independent preconditioning of the SNIA Performance
//! Test Specification, or one page if pages are larger. The last request of a pass is cut at the
//! end of the space, so that every page is written exactly once per pass.

use super::{Generator, Space};
use crate::op::{HostCommand, HostOp};
use crate::units::SECTOR_BYTES;

/// SNIA PTS 2.0, workload-independent preconditioning: sequential writes of 128 KiB.
const REQUEST_BYTES: u64 = 128 << 10;

/// Writes the space from its first to its last sector, for ever.
#[derive(Clone, Debug)]
pub(crate) struct SequentialFill {
    space_sectors: u64,
    request_sectors: u64,
    cursor: u64,
}

impl SequentialFill {
    /// A fill of the whole `space`, starting at its first sector.
    pub fn new(space: Space) -> Self {
        let page_bytes = space.page_bytes.max(SECTOR_BYTES);
        let request_bytes = (REQUEST_BYTES / page_bytes).max(1) * page_bytes;
        Self {
            space_sectors: (space.logical_bytes / SECTOR_BYTES).max(1),
            request_sectors: request_bytes / SECTOR_BYTES,
            cursor: 0,
        }
    }
}

impl Generator for SequentialFill {
    fn fill(&mut self, batch: &mut Vec<HostCommand>, count: usize) {
        batch.extend((0..count).map(|_| {
            let sector_count = self.request_sectors.min(self.space_sectors - self.cursor);
            let sector = self.cursor;
            self.cursor += sector_count;
            if self.cursor == self.space_sectors {
                self.cursor = 0;
            }
            let sector_count = sector_count as u32;
            HostCommand::new(HostOp::Write, sector, sector_count)
        }));
    }

    fn retarget(&mut self, _: &mut HostCommand) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_writes_each_sector_once() {
        // 100 pages of 4 KiB are 3 requests of 32 pages and one of 4.
        let space =
            Space { logical_bytes: 100 * 4096, page_bytes: 4096, placement_ids: 0, zones: None };
        let mut fill = SequentialFill::new(space);
        let mut batch = Vec::new();
        fill.fill(&mut batch, 5);
        let spans: Vec<_> = batch.iter().map(|c| (c.sector, c.sector_count)).collect();
        assert_eq!(spans, [(0, 256), (256, 256), (512, 256), (768, 32), (0, 256)]);
    }

    #[test]
    fn requests_are_whole_pages() {
        let space =
            Space { logical_bytes: 1 << 30, page_bytes: 256 << 10, placement_ids: 0, zones: None };
        assert_eq!(SequentialFill::new(space).request_sectors, 512);
        let space =
            Space { logical_bytes: 96 << 10, page_bytes: 48 << 10, placement_ids: 0, zones: None };
        assert_eq!(SequentialFill::new(space).request_sectors, 192);
    }
}
