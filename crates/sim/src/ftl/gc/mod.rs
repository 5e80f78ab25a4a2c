//! How garbage collection picks its victim.
//!
//! One pool of blocks (a die) owns one policy. The pool reports to it when a block is closed and
//! when a page of a block dies; the policy answers [`GcPolicy::choose`]. A policy *chooses*; it
//! never moves data. Blocks are numbered inside the pool. To add a policy, copy `fifo`, add its
//! `mod` line and its row in `gc_registry!` below, and run `make generate`. `candidates` has
//! containers for the blocks that may be chosen; add to them what a policy lacks. A policy has to
//! find a block with dead pages within 256 + 8 x blocks choices: else the drive is worn out.

// Every row answers `check` and `build` alike, whether or not it has parameters.
#![allow(clippy::unused_self, clippy::unnecessary_wraps, clippy::needless_pass_by_value)]

mod candidates;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod outside;
mod random;
mod windowed_greedy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use candidates::{CandidateSet, ClosingOrder};
pub use cost_benefit::{Age, CostBenefit};
pub use d_choices::DChoices;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use outside::{Chooser, Choosers, PoolShape, PoolView, PythonConfig, NO_RANK};
pub use windowed_greedy::WindowedGreedy;

use super::pool::BlockState;
use crate::config::ConfigError;
use crate::rng::Rng;

/// The state of a pool, for the choice of a policy.
pub struct BlockView<'a> {
    /// Live pages by block of the pool.
    pub live_counts: &'a [u32],
    /// How often each block of the pool was erased.
    pub erase_counts: &'a [u32],
    /// The use of each block of the pool.
    pub states: &'a [BlockState],
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Number of host page writes: the clock of ages.
    pub now: u64,
}

#[cfg(test)]
impl<'a> BlockView<'a> {
    /// A view of closed blocks, at most 64, of which nothing else matters.
    fn of(live_counts: &'a [u32], pages_per_block: u32, now: u64) -> Self {
        let count = live_counts.len();
        let (erase_counts, states) = (&[7; 64][..count], &[BlockState::Closed; 64][..count]);
        Self { live_counts, erase_counts, states, pages_per_block, now }
    }
}

/// The pool for which a policy is built, and its randomness.
pub struct BuildContext {
    /// The die of the pool.
    pub die: u32,
    /// Blocks of the pool, bad ones included.
    pub block_count: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// The policy's own stream of randomness.
    pub rng: Rng,
}

/// Picks victims among the closed blocks of one pool.
///
/// Who calls: `ftl::Pool`, from one thread. Candidates are exactly the blocks reported by `closed`
/// and not yet returned by `choose` or taken back by `remove`.
pub trait GcPolicy: Send {
    /// A block was written to its end and may now be collected.
    fn closed(&mut self, block: u32, live_count: u32, now: u64);

    /// `died` pages of a block died; `live_count` are left. The block may be open: then it is no
    /// candidate yet.
    fn invalidated(&mut self, block: u32, live_count: u32, died: u32, now: u64);

    /// Live pages up to which deaths must be reported; deaths that leave more are not. The pool
    /// asks for it after each [`GcPolicy::choose`] and [`GcPolicy::restore`], and it must hold
    /// until the next one.
    fn report_limit(&self) -> u32 {
        u32::MAX
    }

    /// The next victim, which is not a candidate any more; `None` without candidates.
    fn choose(&mut self, view: &BlockView) -> Option<u32>;

    /// Prefetches the memory that a death in this block will touch.
    fn prefetch(&self, _block: u32) {}

    /// The block that would be chosen now, if that is known without looking: memory that its
    /// collection will touch is prefetched, and nothing else depends on it.
    fn likely_next(&self) -> Option<u32> {
        None
    }

    /// Number of candidates that a controller with this policy examines for a choice: all, if it
    /// keeps them in no order. The sink decides the cost.
    fn candidates_examined(&self, candidates: u32) -> u32 {
        candidates
    }

    /// Takes a candidate out, because wear leveling collects it. `live_count` is its number of live
    /// pages, by which a policy may have filed it.
    fn remove(&mut self, block: u32, live_count: u32);

    /// Connects a policy that asks code outside the simulator to its choosers; other policies
    /// ignore it.
    fn connect_choosers(&mut self, _choosers: &dyn Choosers) {}

    /// Sets the stream of random choices; policies without random choices ignore it.
    fn reseed(&mut self, _rng: Rng) {}

    /// The candidates and the policy's notes about them, as numbers for a device image.
    fn save(&self) -> Vec<u64>;

    /// Restores what [`GcPolicy::save`] gave, into a policy without candidates. Returns false if
    /// the numbers are no state of this policy.
    fn restore(&mut self, numbers: &[u64]) -> bool;
}

/// Declares the registry: one row per policy, in the config and in the constructor.
macro_rules! gc_registry {
    ($($(#[$doc:meta])* $row:ident($config:ty),)+) => {
        /// How garbage collection picks its victim: a name, or a mapping with `kind` and
        /// parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum GcConfig {
            $($(#[$doc])* $row($config),)+
        }

        impl GcConfig {
            /// A policy without candidates.
            pub fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
                match self { $(Self::$row(config) => config.build(context),)+ }
            }

            /// Ranges of the parameters.
            ///
            /// # Errors
            /// [`ConfigError`] relative to this mapping.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self { $(Self::$row(config) => config.check(),)+ }
            }
        }
    };
}

gc_registry! {
    /// The block with the fewest live pages.
    Greedy(greedy::GreedyConfig),
    /// Freed space over moved pages, weighted by age.
    CostBenefit(cost_benefit::CostBenefitConfig),
    /// The block that was closed first.
    Fifo(fifo::FifoConfig),
    /// Any closed block.
    Random(random::RandomConfig),
    /// The best of `d` blocks drawn at random.
    DChoices(d_choices::DChoicesConfig),
    /// The best of the `window_blocks` blocks that were closed first.
    WindowedGreedy(windowed_greedy::WindowedGreedyConfig),
    /// A policy written by the user, given as `module:name` or `path/file.py:name`.
    Python(outside::PythonConfig),
}

impl Default for GcConfig {
    fn default() -> Self {
        Self::Greedy(greedy::GreedyConfig {})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every row of the registry, with something for each parameter that it asks for: a policy is
    /// tested when it is declared.
    fn every_policy() -> Vec<GcConfig> {
        let schema = schemars::schema_for!(GcConfig).to_value();
        let rows = schema["oneOf"].as_array().expect("a row for each policy");
        let filled = rows.iter().map(|row| {
            let mut value = json!({});
            for (key, property) in row["properties"].as_object().expect("its keys") {
                let is_required =
                    row["required"].as_array().is_some_and(|it| it.contains(&json!(key)));
                match property["type"].as_str() {
                    _ if key == "kind" => value[key] = property["const"].clone(),
                    Some("integer") => value[key] = json!(3),
                    Some("string") if is_required => value[key] = json!("module:Name"),
                    _ => assert!(!is_required, "nothing is known for `{key}` of {row}"),
                }
            }
            value
        });
        filled
            .chain([json!({"kind": "cost_benefit", "age": "since_invalidation"})])
            .map(|value| serde_json::from_value(value).expect("a row of the registry"))
            .collect()
    }

    /// A view of closed blocks with these live pages.
    fn view(live_counts: &[u32]) -> BlockView<'_> {
        BlockView::of(live_counts, 8, 100)
    }

    #[test]
    fn the_registry_is_walked_and_a_view_has_an_entry_for_each_block() {
        // A user's policy was tested only if its name was typed here, and one that looked at the
        // wear or the state of a block, as the interface offers, ran off the end of an empty slice.
        assert!(every_policy().len() > 7, "the registry has more rows than were found");
        let live_counts = [8, 0, 3];
        let seen = view(&live_counts);
        assert_eq!((seen.erase_counts.len(), seen.states.len()), (3, 3));
        assert!(seen.states.iter().all(|&state| state == BlockState::Closed));
    }

    fn build(config: &GcConfig) -> Box<dyn GcPolicy> {
        config.build(BuildContext {
            die: 0,
            block_count: 16,
            pages_per_block: 8,
            rng: Rng::stream(1, "gc"),
        })
    }

    #[test]
    fn every_policy_returns_each_candidate_once() {
        for config in every_policy() {
            let mut policy = build(&config);
            let live_counts: Vec<u32> = (0..16).map(|block| block % 8).collect();
            for block in 0..16 {
                policy.closed(block, 8, u64::from(block));
                for live in (live_counts[block as usize]..8).rev() {
                    policy.invalidated(block, live, 1, 20);
                }
            }
            policy.remove(5, live_counts[5]);
            let view = view(&live_counts);
            let mut victims: Vec<u32> = std::iter::from_fn(|| policy.choose(&view)).collect();
            victims.sort_unstable();
            assert_eq!(
                victims,
                (0..16).filter(|&block| block != 5).collect::<Vec<_>>(),
                "{config:?}"
            );
        }
    }

    #[test]
    fn every_policy_restores_what_it_saved() {
        for config in every_policy() {
            let mut policy = build(&config);
            let live_counts: Vec<u32> = (0..16).map(|block| (block * 5) % 8).collect();
            for block in 0..16 {
                policy.closed(block, 8, u64::from(block) + 3);
                for live in (live_counts[block as usize]..8).rev() {
                    policy.invalidated(block, live, 1, 20 + u64::from(block));
                }
            }
            let mut restored = build(&config);
            assert!(restored.restore(&policy.save()), "{config:?}");
            let view = view(&live_counts);
            for _ in 0..17 {
                assert_eq!(policy.choose(&view), restored.choose(&view), "{config:?}");
            }
            assert!(!build(&config).restore(&[999]), "{config:?}");
        }
    }
}
