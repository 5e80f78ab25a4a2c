//! Weighs the freed space against the pages to move, by age: `(1 - u) / (2 u) * age`, largest score
//! first.
//!
//! The score of log-structured file systems (Rosenblum & Ousterhout 1992), in the form of
//! Kawaguchi, Nishioka and Motoda, "A flash-memory based file system", USENIX 1995. Age counts host
//! page writes since the block was closed, or since its last page died (Kawaguchi's choice). It is
//! better than greedy only with skewed writes *and* separate open blocks for host and collected
//! pages; for uniform writes greedy is better.
//!
//! A block without live pages is free: it goes before all others, oldest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockView, BuildContext, GcPolicy};
use crate::config::ConfigError;

/// Where a block's age starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Age {
    /// When its last page was programmed.
    #[default]
    SinceClose,
    /// When one of its pages died last.
    SinceInvalidation,
}

/// Parameters of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostBenefitConfig {
    /// Where a block's age starts: `since_close` or `since_invalidation`.
    #[serde(default)]
    pub age: Age,
}

impl CostBenefitConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        let pages = f64::from(context.pages_per_block);
        let weights = (0..=context.pages_per_block)
            .map(|live| {
                let u = f64::from(live) / pages;
                // Larger than any other weight times any age: free blocks go first.
                if live == 0 {
                    1e30
                } else {
                    (1.0 - u) / (2.0 * u)
                }
            })
            .collect();
        Box::new(CostBenefit {
            age: self.age,
            weights,
            since: vec![NEVER; context.block_count as usize],
        })
    }
}

/// Marks blocks that are no candidates.
const NEVER: u64 = u64::MAX;

/// See the module.
pub struct CostBenefit {
    age: Age,
    /// `(1 - u) / (2 u)` by live count.
    weights: Vec<f64>,
    /// Start of each candidate's age.
    since: Vec<u64>,
}

impl GcPolicy for CostBenefit {
    fn closed(&mut self, block: u32, _live_count: u32, now: u64) {
        self.since[block as usize] = now;
    }

    fn invalidated(&mut self, block: u32, _live_count: u32, _died: u32, now: u64) {
        let since = &mut self.since[block as usize];
        if self.age == Age::SinceInvalidation && *since != NEVER {
            *since = now;
        }
    }

    fn report_limit(&self) -> u32 {
        match self.age {
            Age::SinceClose => 0,
            Age::SinceInvalidation => u32::MAX,
        }
    }

    fn choose(&mut self, view: &BlockView) -> Option<u32> {
        let mut best = None;
        let mut best_score = -1.0;
        for (block, (&since, &live_count)) in self.since.iter().zip(view.live_counts).enumerate() {
            if since == NEVER {
                continue;
            }
            // An age of 0 would hide the difference between full and empty blocks.
            let age = (view.now.saturating_sub(since) + 1) as f64;
            let score = self.weights[live_count as usize] * age;
            if score > best_score {
                best_score = score;
                best = Some(block as u32);
            }
        }
        if let Some(block) = best {
            self.since[block as usize] = NEVER;
        }
        best
    }

    fn remove(&mut self, block: u32, _live_count: u32) {
        let since = std::mem::replace(&mut self.since[block as usize], NEVER);
        assert!(since != NEVER, "block {block} is not a candidate and cannot be removed");
    }

    /// Pairs of block and start of its age.
    fn save(&self) -> Vec<u64> {
        let candidates = self.since.iter().enumerate().filter(|(_, &since)| since != NEVER);
        candidates.flat_map(|(block, &since)| [block as u64, since]).collect()
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        let pairs = numbers.chunks_exact(2);
        pairs.remainder().is_empty()
            && pairs.into_iter().all(|pair| match self.since.get_mut(pair[0] as usize) {
                Some(since) if *since == NEVER && pair[1] != NEVER => {
                    *since = pair[1];
                    true
                }
                _ => false,
            })
    }
}
