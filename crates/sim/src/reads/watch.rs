//! Blocks whose reads have too high an error rate: found once each until they are erased.

use crate::units::BlockId;

/// See the module.
pub(super) struct Watch {
    /// Raw bit error rate of a first read.
    rate_max: f64,
    /// By block: its erase count and one when it was found last; 0 for never.
    pub(super) found_at: Vec<u32>,
    pub(super) found: Vec<BlockId>,
}

impl Watch {
    pub(super) fn new(rate_max: f64, block_count: u32) -> Self {
        Self { rate_max, found_at: vec![0; block_count as usize], found: Vec::new() }
    }

    /// Looks at the first read of a page of a block that was erased `erases` times.
    pub(super) fn look(&mut self, block: BlockId, erases: u32, rate: impl FnOnce() -> f64) {
        let found_at = &mut self.found_at[block.0 as usize];
        if *found_at != erases + 1 && rate() > self.rate_max {
            *found_at = erases + 1;
            self.found.push(block);
        }
    }
}
