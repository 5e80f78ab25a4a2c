//! Collects any closed block: the yardstick that a policy must beat.
//!
//! The write amplification for uniform writes is `1 / spare factor` (Van Houdt, SIGMETRICS 2013, d
//! = 1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockView, BuildContext, CandidateSet, GcPolicy};
use crate::config::ConfigError;
use crate::rng::Rng;

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomConfig {}

impl RandomConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        Box::new(Random { candidates: CandidateSet::new(context.block_count), rng: context.rng })
    }
}

/// See the module.
pub struct Random {
    candidates: CandidateSet,
    rng: Rng,
}

impl GcPolicy for Random {
    fn closed(&mut self, block: u32, _live_count: u16, _now: u64) {
        self.candidates.insert(block);
    }

    fn invalidated(&mut self, _block: u32, _live_count: u16, _died: u16, _now: u64) {}

    fn choose(&mut self, _view: &BlockView) -> Option<u32> {
        let members = self.candidates.members();
        if members.is_empty() {
            return None;
        }
        let victim = members[self.rng.below(members.len() as u64) as usize];
        self.candidates.remove(victim);
        Some(victim)
    }

    fn remove(&mut self, block: u32, _live_count: u16) {
        self.candidates.remove(block);
    }

    fn reseed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    fn save(&self) -> Vec<u64> {
        self.candidates.save()
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        self.candidates.restore(numbers)
    }
}
