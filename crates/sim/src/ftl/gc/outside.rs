//! Asks code outside the simulator for the victim: a policy written in Python, or a native
//! function.
//!
//! The candidates are kept here, in the stacks of the built-in `greedy`, and a choice is checked
//! before anything is done with it:
//!
//! ```text
//! choose ──► Chooser::choose(PoolView) ──► a candidate? ──► the victim
//!                     │ none                    │ no: Chooser::refused gets the reason
//!                     └────────────┬────────────┘
//!                                  ▼
//!                  the emptiest block, so that the drive stays consistent;
//!                  the owner of the drive stops the run at the end of the slice
//! ```
//! Dying pages cost the same as with `greedy`. The policy's internal state is not part of the
//! drive: an image holds the candidates, their order and when they were closed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::greedy::{Greedy, Notes};
use super::{BlockView, BuildContext, GcPolicy};
use crate::config::ConfigError;
use crate::ftl::pool::BlockState;

/// A policy written by the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PythonConfig {
    /// `module:name`, or `path/file.py:name`, as the user wrote it.
    pub name: String,
    /// SHA-256 of its source file, in hex; null if it has no source file.
    #[serde(default)]
    pub source_sha256: Option<String>,
    /// Keyword arguments of the class.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// It was handed over as an object, which `name` alone does not bring back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub object: bool,
}

impl PythonConfig {
    /// Refuses an invalid name or hash.
    pub(in crate::ftl) fn check(&self) -> Result<(), ConfigError> {
        let parts = self.name.rsplit_once(':');
        if parts.is_none_or(|(module, name)| module.is_empty() || name.is_empty()) {
            let message = format!(
                "`{}` names no policy; accepted: module:name, or path/file.py:name",
                self.name
            );
            return Err(ConfigError::new("name", message));
        }
        let is_hash = |text: &String| {
            text.len() == 64 && text.bytes().all(|byte| b"0123456789abcdef".contains(&byte))
        };
        match &self.source_sha256 {
            Some(text) if !is_hash(text) => {
                let message = format!("`{text}` is not a SHA-256; accepted: 64 hexadecimal digits");
                Err(ConfigError::new("source_sha256", message))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        Box::new(Outside::new(&context))
    }
}

/// Chooses victims of one pool.
///
/// Who calls: the pool's policy, from the thread that works on the pool, once for each victim.
pub trait Chooser: Send {
    /// The number of a candidate; `None` when it has failed, which it must report to the owner of
    /// the drive in another way.
    fn choose(&mut self, view: &PoolView<'_>) -> Option<i64>;

    /// Receives the reason why the chosen block is no candidate.
    fn refused(&mut self, reason: String);
}

/// The pool that a chooser is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolShape {
    /// The die, or the group of dies that a superblock spans.
    pub die: u32,
    /// Blocks of the pool, bad ones included.
    pub block_count: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
}

/// Makes the chooser of each pool.
pub trait Choosers: Send + Sync {
    /// A chooser for this pool.
    fn chooser(&self, shape: PoolShape) -> Box<dyn Chooser>;
}

/// The state of a pool, for a chooser. Slices have one entry for each block of the pool.
pub struct PoolView<'a> {
    /// The pool.
    pub shape: PoolShape,
    /// Number of host page writes of the drive: the clock of `closed_at`.
    pub now: u64,
    /// Live pages.
    pub live_counts: &'a [u32],
    /// How often each block was erased.
    pub erase_counts: &'a [u32],
    /// The clock when each block was written to its end last; 0 before the first time.
    pub closed_at: &'a [u64],
    /// Of candidates with equal live counts, the built-in `greedy` takes the one with the lowest
    /// rank; [`NO_RANK`] for blocks that are no candidates.
    pub ranks: &'a [i64],
    /// The use of each block.
    pub states: &'a [BlockState],
    stacks: &'a Greedy<Ranks>,
}

/// The rank of a block that is no candidate.
pub const NO_RANK: i64 = i64::MAX;

/// Candidates that an error names.
const NAMED_MAX: usize = 8;

impl PoolView<'_> {
    /// The candidates; among equal live counts, the one that `greedy` takes comes first.
    pub fn order(&self, into: &mut Vec<u32>) {
        self.stacks.order(into);
    }

    /// How many candidates there are, and the first of them.
    pub fn candidates_text(&self) -> String {
        let mut candidates = Vec::new();
        self.order(&mut candidates);
        candidates.sort_unstable();
        let first: Vec<String> = candidates.iter().take(NAMED_MAX).map(u32::to_string).collect();
        let dots = if candidates.len() > NAMED_MAX { ", …" } else { "" };
        format!("{} candidates: {}{dots}", candidates.len(), first.join(", "))
    }

    /// Why a choice is refused; `None` when it is a candidate.
    pub fn objection(&self, chosen: i64) -> Option<String> {
        let die = self.shape.die;
        let last = self.shape.block_count - 1;
        let state = match u32::try_from(chosen).ok().filter(|&block| block <= last) {
            None => format!("out of range: die {die} has blocks 0 to {last}"),
            Some(block) if self.stacks.is_candidate(block) => return None,
            Some(block) => match self.states[block as usize] {
                BlockState::Erased => "erased",
                BlockState::Open => "open",
                BlockState::Closed => "closed, but was looked at and set aside for this collection",
                BlockState::Bad => "bad",
                BlockState::Victim => "under collection",
                BlockState::Erasing => "being erased",
                BlockState::Cached => "a block of the pSLC cache",
                BlockState::Map => "set apart for map pages",
                BlockState::Failed => "waiting to be retired, since a program failed",
            }
            .into(),
        };
        let candidates = self.candidates_text();
        Some(format!("block {chosen} of die {die} is {state}; {candidates}"))
    }
}

/// The ranks of candidates: a block that joins a ring is counted, down where the last one goes
/// first.
pub(super) struct Ranks {
    ranks: Vec<i64>,
    joined: i64,
}

impl Notes for Ranks {
    #[inline]
    fn listed(&mut self, block: u32, live_count: u32) {
        self.joined += 1;
        self.ranks[block as usize] = if live_count == 0 { self.joined } else { -self.joined };
    }

    #[inline]
    fn unlisted(&mut self, block: u32) {
        self.ranks[block as usize] = -i64::from(block);
    }

    #[inline]
    fn gone(&mut self, block: u32) {
        self.ranks[block as usize] = NO_RANK;
    }
}

/// See the module.
struct Outside {
    stacks: Greedy<Ranks>,
    shape: PoolShape,
    closed_at: Vec<u64>,
    chooser: Option<Box<dyn Chooser>>,
}

impl Outside {
    fn new(context: &BuildContext) -> Self {
        let (blocks, pages) = (context.block_count, context.pages_per_block);
        let ranks = Ranks { ranks: vec![NO_RANK; blocks as usize], joined: 0 };
        Self {
            stacks: Greedy::new(blocks, pages, ranks),
            shape: PoolShape { die: context.die, block_count: blocks, pages_per_block: pages },
            closed_at: vec![0; blocks as usize],
            chooser: None,
        }
    }

    /// The block that the chooser picks, if it is a candidate.
    fn ask(&mut self, view: &BlockView) -> Option<u32> {
        let chooser = self.chooser.as_mut()?;
        let view = PoolView {
            shape: self.shape,
            now: view.now,
            live_counts: view.live_counts,
            erase_counts: view.erase_counts,
            closed_at: &self.closed_at,
            ranks: &self.stacks.notes.ranks,
            states: view.states,
            stacks: &self.stacks,
        };
        let chosen = chooser.choose(&view)?;
        if let Some(objection) = view.objection(chosen) {
            chooser.refused(objection);
            return None;
        }
        Some(chosen as u32)
    }
}

impl GcPolicy for Outside {
    fn closed(&mut self, block: u32, live_count: u32, now: u64) {
        self.closed_at[block as usize] = now;
        self.stacks.closed(block, live_count, now);
    }

    #[inline]
    fn invalidated(&mut self, block: u32, live_count: u32, died: u32, now: u64) {
        self.stacks.invalidated(block, live_count, died, now);
    }

    fn report_limit(&self) -> u32 {
        self.stacks.report_limit()
    }

    fn prefetch(&self, block: u32) {
        self.stacks.prefetch(block);
    }

    fn choose(&mut self, view: &BlockView) -> Option<u32> {
        self.stacks.prepare(view);
        if self.stacks.is_empty() {
            return None;
        }
        let Some(victim) = self.ask(view) else { return self.stacks.choose(view) };
        self.stacks.remove(victim, view.live_counts[victim as usize]);
        Some(victim)
    }

    fn remove(&mut self, block: u32, live_count: u32) {
        self.stacks.remove(block, live_count);
    }

    fn connect_choosers(&mut self, choosers: &dyn Choosers) {
        self.chooser = Some(choosers.chooser(self.shape));
    }

    /// When each block was closed; then the stacks.
    fn save(&self) -> Vec<u64> {
        let mut numbers = self.closed_at.clone();
        numbers.extend(self.stacks.save());
        numbers
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        let Some((closed_at, stacks)) = numbers.split_at_checked(self.closed_at.len()) else {
            return false;
        };
        self.closed_at.copy_from_slice(closed_at);
        self.stacks.restore(stacks)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::rng::Rng;

    /// Answers with the result of a function of the view, and records refusals.
    struct Told<F> {
        answer: F,
        refused: Arc<Mutex<Vec<String>>>,
    }

    impl<F: FnMut(&PoolView<'_>) -> Option<i64> + Send> Chooser for Told<F> {
        fn choose(&mut self, view: &PoolView<'_>) -> Option<i64> {
            (self.answer)(view)
        }

        fn refused(&mut self, reason: String) {
            self.refused.lock().expect("no test panics with it").push(reason);
        }
    }

    fn outside(blocks: u32, pages: u32) -> Outside {
        let rng = Rng::stream(1, "gc");
        Outside::new(&BuildContext { die: 3, block_count: blocks, pages_per_block: pages, rng })
    }

    fn told(
        policy: &mut Outside,
        answer: impl FnMut(&PoolView<'_>) -> Option<i64> + Send + 'static,
    ) -> Arc<Mutex<Vec<String>>> {
        let refused = Arc::new(Mutex::new(Vec::new()));
        policy.chooser = Some(Box::new(Told { answer, refused: Arc::clone(&refused) }));
        refused
    }

    /// The first candidate in the tie order with the fewest live pages.
    fn by_order(view: &PoolView<'_>) -> Option<i64> {
        let mut order = Vec::new();
        view.order(&mut order);
        order.iter().min_by_key(|&&block| view.live_counts[block as usize]).map(|&it| i64::from(it))
    }

    /// The candidate with the fewest live pages and, of those, the lowest rank.
    fn by_rank(view: &PoolView<'_>) -> Option<i64> {
        let blocks = (0_i64..).zip(view.live_counts).zip(view.ranks);
        blocks
            .filter(|(_, &rank)| rank != NO_RANK)
            .min_by_key(|&((_, live_count), rank)| (live_count, rank))
            .map(|((block, _), _)| block)
    }

    /// Random lives and deaths, compared with the built-in policy.
    fn runs_as_greedy(answer: fn(&PoolView<'_>) -> Option<i64>, seed: u64) {
        let mut rng = Rng::stream(seed, "outside");
        let mut greedy = Greedy::new(64, 256, ());
        let mut policy = outside(64, 256);
        let refused = told(&mut policy, answer);
        let mut live_counts = [256_u32; 64];
        let mut is_closed = [false; 64];
        for round in 0..100_000_u64 {
            let deaths = if round / 10_000 % 2 == 0 { 90 } else { 10 };
            let block = rng.below(64) as u32;
            let live_count = &mut live_counts[block as usize];
            if !is_closed[block as usize] {
                is_closed[block as usize] = true;
                greedy.closed(block, *live_count, round);
                policy.closed(block, *live_count, round);
            } else if rng.below(100) < deaths && *live_count > 0 {
                let died = 1 + rng.below(u64::from(*live_count).min(40)) as u32;
                *live_count -= died;
                greedy.invalidated(block, *live_count, died, round);
                policy.invalidated(block, *live_count, died, round);
            } else {
                let view = BlockView::of(&live_counts, 256, round);
                let victim = greedy.choose(&view);
                assert_eq!(policy.choose(&view), victim, "seed {seed}, round {round}");
                assert_eq!(policy.report_limit(), greedy.report_limit());
                let victim = victim.expect("there are candidates") as usize;
                is_closed[victim] = false;
                live_counts[victim] = 200 + rng.below(57) as u32;
            }
            if round % 9_999 == 0 {
                // An image in between changes nothing.
                let mut again = outside(64, 256);
                assert!(again.restore(&policy.save()));
                again.chooser = policy.chooser.take();
                policy = again;
            }
        }
        assert!(refused.lock().expect("no panic").is_empty());
    }

    #[test]
    fn the_emptiest_by_tie_order_or_by_rank_is_the_choice_of_greedy() {
        for seed in 1..4 {
            runs_as_greedy(by_order, seed);
            runs_as_greedy(by_rank, seed);
        }
    }

    #[test]
    fn what_is_no_candidate_is_refused_with_its_state_and_greedy_steps_in() {
        let mut policy = outside(16, 8);
        for block in 2..14 {
            policy.closed(block, 8 - block % 4, 5);
        }
        let mut states = [BlockState::Closed; 16];
        (states[0], states[1], states[15]) =
            (BlockState::Erased, BlockState::Open, BlockState::Bad);
        let live_counts: Vec<u32> = (0..16).map(|block| 8 - block % 4).collect();
        let view = BlockView { states: &states, ..BlockView::of(&live_counts, 8, 9) };
        let cases = [
            (0, "block 0 of die 3 is erased; 12 candidates: 2, 3, 4, 5, 6, 7, 8, 9, …"),
            (1, "block 1 of die 3 is open; "),
            (14, "block 14 of die 3 is closed, but was looked at and set aside"),
            (15, "block 15 of die 3 is bad; "),
            (16, "block 16 of die 3 is out of range: die 3 has blocks 0 to 15; "),
            (-1, "block -1 of die 3 is out of range: die 3 has blocks 0 to 15; "),
        ];
        for (chosen, reason) in cases {
            let refused = told(&mut policy, move |_| Some(chosen));
            let victim = policy.choose(&view).expect("greedy steps in");
            assert_eq!(live_counts[victim as usize], 5);
            let said = refused.lock().expect("no panic").join("|");
            assert!(said.starts_with(reason), "{said}");
            policy.closed(victim, 5, 5);
        }
    }

    #[test]
    fn names_and_hashes_are_checked() {
        let check = |json: &str| {
            let config: PythonConfig = serde_json::from_str(json).expect("a mapping");
            config.check().map_err(|error| error.to_string())
        };
        assert_eq!(check(r#"{"name": "module:Name"}"#), Ok(()));
        assert_eq!(check(r#"{"name": "a/b.py:Name", "parameters": {"d": 3}}"#), Ok(()));
        for name in ["Name", ":Name", "module:"] {
            let refused = check(&format!(r#"{{"name": "{name}"}}"#)).expect_err(name);
            assert!(refused.contains(name) && refused.contains("module:name"), "{refused}");
        }
        let short = check(r#"{"name": "a:b", "source_sha256": "12"}"#).expect_err("too short");
        assert!(short.contains("`12` is not a SHA-256"), "{short}");
    }
}
