//! Collects the block that was closed first, as a log-structured ring does.
//!
//! Wear is perfectly even (erase counts differ by at most one) and the write amplification is `a /
//! (a + W0(-a e^-a))` for uniform writes, whatever the block size (Menon, VLDB 1995; Robinson, HP
//! Labs 1996; Desnoyers, SYSTOR 2012).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockView, BuildContext, ClosingOrder, GcPolicy};
use crate::config::ConfigError;

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FifoConfig {}

impl FifoConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        Box::new(Fifo { order: ClosingOrder::new(context.block_count) })
    }
}

/// See the module.
pub struct Fifo {
    order: ClosingOrder,
}

impl GcPolicy for Fifo {
    fn closed(&mut self, block: u32, _live_count: u32, _now: u64) {
        self.order.push_back(block);
    }

    fn invalidated(&mut self, _block: u32, _live_count: u32, _died: u32, _now: u64) {}

    fn report_limit(&self) -> u32 {
        0
    }

    fn choose(&mut self, _view: &BlockView) -> Option<u32> {
        self.order.pop_front()
    }

    fn candidates_examined(&self, candidates: u32) -> u32 {
        candidates.min(1)
    }

    fn remove(&mut self, block: u32, _live_count: u32) {
        self.order.remove(block);
    }

    fn save(&self) -> Vec<u64> {
        self.order.save()
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        self.order.restore(numbers)
    }
}
