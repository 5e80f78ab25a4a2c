//! Collects the best of the `window_blocks` blocks that were closed first.
//!
//! Between `fifo` (window of one) and `greedy` (window of all): Hu, Eleftheriou, Haas, Iliadis and
//! Pletka, "Write amplification analysis in flash-based solid state drives", SYSTOR 2009.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockView, BuildContext, ClosingOrder, GcPolicy};
use crate::config::ConfigError;

/// Parameters of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowedGreedyConfig {
    /// Blocks of the window, in each pool; at least 1. Larger than the pool means greedy.
    pub window_blocks: u32,
}

impl WindowedGreedyConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.window_blocks >= 1 {
            Ok(())
        } else {
            Err(ConfigError::new("window_blocks", "0 is out of range; accepted: 1 or more"))
        }
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        Box::new(WindowedGreedy {
            window_limit: self.window_blocks.min(context.block_count) as usize,
            window: Vec::new(),
            order: ClosingOrder::new(context.block_count),
        })
    }
}

/// See the module. The window holds the oldest blocks; younger ones wait in `order`.
pub struct WindowedGreedy {
    window_limit: usize,
    window: Vec<u32>,
    order: ClosingOrder,
}

impl WindowedGreedy {
    fn refill(&mut self) {
        while self.window.len() < self.window_limit {
            let Some(block) = self.order.pop_front() else { return };
            self.window.push(block);
        }
    }
}

impl GcPolicy for WindowedGreedy {
    fn closed(&mut self, block: u32, _live_count: u32, _now: u64) {
        self.order.push_back(block);
        self.refill();
    }

    fn invalidated(&mut self, _block: u32, _live_count: u32, _died: u32, _now: u64) {}

    fn report_limit(&self) -> u32 {
        0
    }

    fn choose(&mut self, view: &BlockView) -> Option<u32> {
        let position = (0..self.window.len())
            .min_by_key(|&position| view.live_counts[self.window[position] as usize])?;
        let victim = self.window.swap_remove(position);
        self.refill();
        Some(victim)
    }

    fn candidates_examined(&self, candidates: u32) -> u32 {
        candidates.min(self.window_limit as u32)
    }

    fn remove(&mut self, block: u32, _live_count: u32) {
        match self.window.iter().position(|&member| member == block) {
            Some(position) => {
                self.window.swap_remove(position);
                self.refill();
            }
            None => self.order.remove(block),
        }
    }

    fn save(&self) -> Vec<u64> {
        self.window.iter().copied().chain(self.order.iter()).map(u64::from).collect()
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        if !self.order.restore(numbers) {
            return false;
        }
        self.refill();
        true
    }
}
