//! How worn the blocks of a pool are, and how many it has; which of them wear leveling must bring
//! back into circulation.
//!
//! Data that is never rewritten pins its block at a low erase count, and opening the least worn
//! erased block cannot help: the pinned block is never erased. Static leveling moves the data of
//! such a block. The test is `mean - count > threshold`; `max - min` instead keeps firing for ever
//! on one hot block and can wear it out (trade-off: Li, Lee and Lui, "Stochastic modeling of
//! large-scale solid-state storage systems", 2013).

use super::log::Log;
use crate::ftl::config::{FtlConfig, PoolSetup, WearConfig};
use crate::nand::Media;
use crate::units::{BlockId, DieId};

/// See the module.
pub(crate) struct Wear {
    /// Present with static wear leveling only.
    pub(crate) gauge: Option<WearGauge>,
    /// Whether blocks that are set apart for map pages change places with others.
    pub(in crate::ftl) shares: bool,
    /// Erase count at which a block is not erased again but taken out of use.
    pub(in crate::ftl) limit: u32,
    /// Wear leveling is to be asked before the next collection in steps.
    pub(crate) level_due: bool,
    /// A worn block waits for a spare block to move to.
    pub(crate) retire_due: bool,
    /// Good blocks without those that are cache permanently.
    pub(in crate::ftl) good_blocks: u32,
    /// Good blocks below which the pool cannot hold its logical pages and collect.
    pub(in crate::ftl) good_blocks_min: u32,
}

impl Wear {
    /// The wear of a pool whose good blocks are all erased.
    pub(super) fn new(
        die: DieId,
        config: &FtlConfig,
        setup: &PoolSetup,
        log: &Log,
        media: &Media,
    ) -> Self {
        let erased = log.erased.list_with(None);
        let counts = erased.iter().map(|&block| media.erase_count(BlockId(block)));
        Self {
            gauge: match &config.wear_leveling {
                WearConfig::Static(wear) => Some(WearGauge::new(wear.threshold, counts)),
                _ => None,
            },
            shares: !matches!(config.wear_leveling, WearConfig::None(_)),
            limit: setup.worn_limit,
            level_due: false,
            retire_due: false,
            good_blocks: log.erased.count(),
            good_blocks_min: match log.erased.sizes() {
                None => setup.good_blocks_min(die, config),
                Some(sizes) => setup.uneven_blocks_min(die, config, sizes),
            },
        }
    }

    /// Whether a block is at its rated endurance.
    pub(in crate::ftl) fn is_worn(&self, media: &Media, block: BlockId) -> bool {
        media.erase_count(block) >= self.limit
    }

    /// A block with this erase count is taken out of use.
    pub(super) fn retired(&mut self, erase_count: u32) {
        self.good_blocks -= 1;
        if let Some(gauge) = &mut self.gauge {
            gauge.retired(erase_count);
        }
    }
}

/// Erase counts of a pool as a histogram, so that the lowest count is known at once.
pub(crate) struct WearGauge {
    threshold: f64,
    /// Blocks in use, by erase count.
    blocks_at: Vec<u32>,
    lowest: usize,
    erases: u64,
    blocks: u64,
}

impl WearGauge {
    pub(crate) fn new(threshold: u32, erase_counts: impl Iterator<Item = u32>) -> Self {
        Self::counting(f64::from(threshold), erase_counts)
    }

    /// A gauge with the same threshold.
    pub(crate) fn renewed(&self, erase_counts: impl Iterator<Item = u32>) -> Self {
        Self::counting(self.threshold, erase_counts)
    }

    fn counting(threshold: f64, erase_counts: impl Iterator<Item = u32>) -> Self {
        let mut gauge = Self { threshold, blocks_at: vec![0], lowest: 0, erases: 0, blocks: 0 };
        for count in erase_counts {
            gauge.cell(count as usize);
            gauge.erases += u64::from(count);
            gauge.blocks += 1;
        }
        gauge
    }

    /// A block was erased for the `count`-th time.
    pub(crate) fn erased(&mut self, count: u32) {
        self.cell(count as usize);
        self.blocks_at[count as usize - 1] -= 1;
        self.erases += 1;
    }

    /// A block with this count was taken out of use.
    pub(crate) fn retired(&mut self, count: u32) {
        self.blocks_at[count as usize] -= 1;
        self.erases -= u64::from(count);
        self.blocks -= 1;
    }

    /// A block with one count was replaced by one with another.
    pub(crate) fn exchanged(&mut self, old: u32, new: u32) {
        self.retired(old);
        self.cell(new as usize);
        self.erases += u64::from(new);
        self.blocks += 1;
        self.lowest = self.lowest.min(new as usize);
    }

    /// The erase count below which a block lags too far behind, if any block does.
    pub(crate) fn lagging_below(&mut self) -> Option<f64> {
        while self.lowest + 1 < self.blocks_at.len() && self.blocks_at[self.lowest] == 0 {
            self.lowest += 1;
        }
        let limit = self.erases as f64 / self.blocks.max(1) as f64 - self.threshold;
        (limit > self.lowest as f64).then_some(limit)
    }

    fn cell(&mut self, count: usize) {
        if self.blocks_at.len() <= count {
            self.blocks_at.resize(count + 1, 0);
        }
        self.blocks_at[count] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_lags_when_the_mean_is_a_threshold_ahead() {
        let mut gauge = WearGauge::new(4, [0, 9, 9, 9].into_iter());
        // Mean 6.75: the limit is 2.75, and one block is at 0.
        assert_eq!(gauge.lagging_below(), Some(2.75));
        gauge.erased(1);
        gauge.erased(2);
        gauge.erased(3);
        assert_eq!(gauge.lagging_below(), Some(3.5));
        gauge.erased(4);
        assert_eq!(gauge.lagging_below(), None);
        gauge.retired(4);
        assert_eq!(gauge.lagging_below(), None);
    }
}
