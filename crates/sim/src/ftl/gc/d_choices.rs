//! Collects the best of `d` closed blocks drawn at random, with replacement.
//!
//! Between `random` (d = 1) and `greedy` (d to infinity), at constant cost and without ordered
//! structures. Van Houdt, "A mean field model for a class of garbage collection algorithms in
//! flash-based solid state drives", SIGMETRICS 2013.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockView, BuildContext, CandidateSet, GcPolicy};
use crate::config::ConfigError;
use crate::rng::Rng;

/// Parameters of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DChoicesConfig {
    /// Blocks drawn, 1 to 10000.
    #[serde(default = "default_d")]
    pub d: u32,
}

fn default_d() -> u32 {
    10
}

impl DChoicesConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if (1..=10_000).contains(&self.d) {
            Ok(())
        } else {
            Err(ConfigError::new("d", format!("{} is out of range; accepted: 1 to 10000", self.d)))
        }
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        Box::new(DChoices::new(self.d, context))
    }
}

/// See the module.
pub struct DChoices {
    draws: u32,
    candidates: CandidateSet,
    rng: Rng,
}

impl DChoices {
    /// A policy that takes the best of `draws` random candidates.
    pub(super) fn new(draws: u32, context: BuildContext) -> Self {
        Self { draws, candidates: CandidateSet::new(context.block_count), rng: context.rng }
    }
}

impl GcPolicy for DChoices {
    fn closed(&mut self, block: u32, _live_count: u32, _now: u64) {
        self.candidates.insert(block);
    }

    fn invalidated(&mut self, _block: u32, _live_count: u32, _died: u32, _now: u64) {}

    fn report_limit(&self) -> u32 {
        0
    }

    fn choose(&mut self, view: &BlockView) -> Option<u32> {
        let members = self.candidates.members();
        if members.is_empty() {
            return None;
        }
        let rng = &mut self.rng;
        // `min_by_key` keeps the first of equals: the order of drawing decides.
        let victim = (0..self.draws)
            .map(|_| members[rng.below(members.len() as u64) as usize])
            .min_by_key(|&block| view.live_counts[block as usize])?;
        self.candidates.remove(victim);
        Some(victim)
    }

    fn candidates_examined(&self, candidates: u32) -> u32 {
        candidates.min(self.draws)
    }

    fn remove(&mut self, block: u32, _live_count: u32) {
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
