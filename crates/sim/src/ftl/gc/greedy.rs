//! Collects the block with the fewest live pages: optimal for uniform writes (Hu & Haas 2010; Yang
//! & Zhu 2014).
//!
//! Only the emptiest blocks are kept in order. Those with at most `listed_limit` live pages are in
//! one stack per live count; a block whose page dies is put on the stack below, in constant time,
//! and among equals the block that reached its count last goes first (the published hot/cold
//! figures assume so). All others are merely marked as candidates, so that most dying pages cost
//! one comparison. When the stacks run empty the limit is raised until an eighth of the blocks is
//! listed; when more than half are, the fullest stacks are dropped as long as an eighth stays. So a
//! pass over all blocks is paid for by as many choices or deaths.
//!
//! ```text
//! stack[222]  17  4̶  9  4        ← lowest: choose takes block 4
//! stack[223]  4̶  31             listed_limit = 223; 4 has left its entry here
//! blocks 3, 8, 11, …: candidates with more live pages
//! ```
//! A block that leaves a stack leaves its entry there: it is known by not being the place that is
//! noted for the block, and dropped when the stack is full. So a death touches the memory of its
//! block alone. Taken out of a linked ring, it would touch that of two neighbours too, and on a
//! drive of 64 M pages none of it is in the caches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockView, BuildContext, GcPolicy};
use crate::config::ConfigError;
use crate::memory::prefetch_at;

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GreedyConfig {}

impl GreedyConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        Box::new(Greedy::new(context.block_count, context.pages_per_block, ()))
    }
}

/// Where a block is: the stack, `ABSENT` for blocks that are no candidates and `UNLISTED` for
/// candidates in no stack; and which entry of it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    stack: u32,
    entry: u32,
}

const ABSENT: u32 = u32::MAX;
const UNLISTED: u32 = u32::MAX - 1;

/// The blocks of one live count, the last that reached it last.
#[derive(Default)]
struct Stack {
    entries: Vec<u32>,
    /// Entries of blocks that are here; the others have left.
    held: u32,
    /// Entries in front that are known to have left.
    passed: u32,
}

/// Notes about the position of candidates, in addition to the stacks; the built-in policy keeps
/// none.
pub trait Notes: Send {
    /// It is last in the stack of `live_count`.
    #[inline]
    fn listed(&mut self, _block: u32, _live_count: u32) {}

    /// It is a candidate in no stack.
    #[inline]
    fn unlisted(&mut self, _block: u32) {}

    /// It is no candidate any more.
    #[inline]
    fn gone(&mut self, _block: u32) {}
}

impl Notes for () {}

/// See the module.
pub struct Greedy<N = ()> {
    pub(super) notes: N,
    places: Vec<Place>,
    stacks: Vec<Stack>,
    pages_per_block: u32,
    /// Largest number of live pages of the candidates in stacks.
    listed_limit: u32,
    /// No stack below this count has members.
    lowest: u32,
    /// Blocks in stacks.
    listed_count: u32,
}

impl<N: Notes> Greedy<N> {
    pub(super) fn new(block_count: u32, pages_per_block: u32, notes: N) -> Self {
        Self {
            notes,
            places: vec![Place { stack: ABSENT, entry: 0 }; block_count as usize],
            stacks: (0..=pages_per_block).map(|_| Stack::default()).collect(),
            pages_per_block,
            listed_limit: 0,
            lowest: 0,
            listed_count: 0,
        }
    }

    fn block_count(&self) -> u32 {
        self.places.len() as u32
    }

    fn is_unlisted(&self, block: u32) -> bool {
        self.places[block as usize].stack == UNLISTED
    }

    fn set_unlisted(&mut self, block: u32) {
        self.places[block as usize].stack = UNLISTED;
        self.notes.unlisted(block);
    }

    /// The blocks of a stack, the first that joined it first.
    fn members(&self, stack: u32) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let entries = self.stacks[stack as usize].entries.iter().enumerate();
        entries
            .filter(move |&(entry, &block)| {
                self.places[block as usize] == Place { stack, entry: entry as u32 }
            })
            .map(|(_, &block)| block)
    }

    /// Puts a block on the stack of `live_count`; the entry that it has elsewhere is one no more.
    #[inline]
    fn push(&mut self, block: u32, live_count: u32) {
        let stack = &self.stacks[live_count as usize];
        if stack.entries.len() == stack.entries.capacity() {
            self.make_room(live_count);
        }
        let stack = &mut self.stacks[live_count as usize];
        let entry = stack.entries.len() as u32;
        self.places[block as usize] = Place { stack: live_count, entry };
        stack.entries.push(block);
        stack.held += 1;
        self.lowest = self.lowest.min(live_count);
        self.notes.listed(block, live_count);
    }

    /// Drops the entries of blocks that have left a full stack. If they were few it grows, so that
    /// looking through a stack is paid for by as many blocks that joined it.
    #[cold]
    fn make_room(&mut self, live_count: u32) {
        const AHEAD: usize = 16;
        let Stack { entries, passed, .. } = &mut self.stacks[live_count as usize];
        let mut next = 0;
        // Without a branch on `is_here`, which no processor could predict.
        for entry in 0..entries.len() {
            if let Some(&coming) = entries.get(entry + AHEAD) {
                prefetch_at(&self.places, coming as usize);
            }
            let block = entries[entry];
            let place = &mut self.places[block as usize];
            let is_here = *place == Place { stack: live_count, entry: entry as u32 };
            place.entry = if is_here { next } else { place.entry };
            entries[next as usize] = block;
            next += u32::from(is_here);
        }
        entries.truncate(next as usize);
        *passed = 0;
        if entries.len() > entries.capacity() / 2 || entries.capacity() == 0 {
            entries.reserve_exact(entries.capacity().max(8));
        }
    }

    fn insert(&mut self, block: u32, live_count: u32) {
        if live_count <= self.listed_limit {
            self.listed_count += 1;
            self.push(block, live_count);
        } else {
            self.set_unlisted(block);
        }
    }

    /// The block that joined the lowest stack last; of empty blocks the first.
    fn emptiest_listed(&mut self) -> Option<u32> {
        if self.listed_count == 0 {
            return None;
        }
        while self.stacks[self.lowest as usize].held == 0 {
            self.lowest += 1;
        }
        let stack = self.lowest;
        let Stack { entries, passed, .. } = &mut self.stacks[stack as usize];
        loop {
            // Empty blocks cost nothing to collect: taken in turn, they wear evenly.
            let entry = if stack == 0 { *passed } else { entries.len() as u32 - 1 };
            let block = entries[entry as usize];
            if self.places[block as usize] == (Place { stack, entry }) {
                return Some(block);
            }
            if stack == 0 {
                *passed += 1;
            } else {
                entries.pop();
            }
        }
    }

    /// Blocks that are listed at least: an eighth of them.
    fn enough(&self) -> u32 {
        (self.block_count() / 8).max(1)
    }

    /// Lists the emptiest unlisted candidates; none is listed before.
    #[cold]
    fn raise_limit(&mut self, view: &BlockView) {
        let mut blocks_with = vec![0_u32; self.pages_per_block as usize + 1];
        for (place, &live_count) in self.places.iter().zip(view.live_counts) {
            blocks_with[live_count as usize] += u32::from(place.stack == UNLISTED);
        }
        let mut listed = 0;
        let limit = blocks_with.iter().position(|&blocks| {
            listed += blocks;
            listed >= self.enough()
        });
        self.listed_limit = limit.map_or(self.pages_per_block, |limit| limit as u32);
        self.lowest = self.pages_per_block;
        for block in 0..self.block_count() {
            let live_count = view.live_counts[block as usize];
            if self.is_unlisted(block) && live_count <= self.listed_limit {
                self.insert(block, live_count);
            }
        }
    }

    /// Drops the fullest stacks as long as an eighth of the blocks stays listed.
    #[cold]
    fn lower_limit(&mut self) {
        while self.listed_count - self.stacks[self.listed_limit as usize].held >= self.enough() {
            let members: Vec<u32> = self.members(self.listed_limit).collect();
            for block in members {
                self.set_unlisted(block);
            }
            let dropped = std::mem::take(&mut self.stacks[self.listed_limit as usize]);
            self.listed_count -= dropped.held;
            self.listed_limit -= 1;
        }
    }

    /// Lists enough candidates and not too many, as is due before each choice.
    #[inline]
    pub(super) fn prepare(&mut self, view: &BlockView) {
        if self.listed_count == 0 {
            self.raise_limit(view);
        } else if self.listed_count > self.block_count() / 2 {
            self.lower_limit();
        }
    }

    /// Whether no candidate is listed, and none could be.
    pub(super) fn is_empty(&self) -> bool {
        self.listed_count == 0
    }

    pub(super) fn is_candidate(&self, block: u32) -> bool {
        self.places[block as usize].stack != ABSENT
    }

    /// The candidates, stack by stack in the order in which they would be taken; those in no stack
    /// follow in the order in which they would be taken among equals.
    pub(super) fn order(&self, into: &mut Vec<u32>) {
        into.clear();
        for live_count in self.lowest..=self.listed_limit {
            if live_count == 0 {
                into.extend(self.members(live_count));
            } else {
                into.extend(self.members(live_count).rev());
            }
        }
        into.extend((0..self.block_count()).rev().filter(|&block| self.is_unlisted(block)));
    }
}

impl<N: Notes> GcPolicy for Greedy<N> {
    fn closed(&mut self, block: u32, live_count: u32, _now: u64) {
        self.insert(block, live_count);
    }

    #[inline]
    fn invalidated(&mut self, block: u32, live_count: u32, _died: u32, _now: u64) {
        if live_count > self.listed_limit {
            return;
        }
        match self.places[block as usize].stack {
            ABSENT => return,
            UNLISTED => self.listed_count += 1,
            stack => self.stacks[stack as usize].held -= 1,
        }
        self.push(block, live_count);
    }

    fn report_limit(&self) -> u32 {
        self.listed_limit
    }

    #[inline]
    fn prefetch(&self, block: u32) {
        prefetch_at(&self.places, block as usize);
    }

    /// The last entry of the lowest stack, whose block has seldom left it.
    fn likely_next(&self) -> Option<u32> {
        let listed = self.stacks.get(self.lowest as usize..=self.listed_limit as usize)?;
        listed.iter().find(|stack| stack.held > 0)?.entries.last().copied()
    }

    fn choose(&mut self, view: &BlockView) -> Option<u32> {
        self.prepare(view);
        let victim = self.emptiest_listed()?;
        self.remove(victim, self.lowest);
        Some(victim)
    }

    fn remove(&mut self, block: u32, _live_count: u32) {
        let place = &mut self.places[block as usize];
        let stack = std::mem::replace(&mut place.stack, ABSENT);
        assert!(stack != ABSENT, "block {block} is not a candidate");
        if stack != UNLISTED {
            self.stacks[stack as usize].held -= 1;
            self.listed_count -= 1;
        }
        self.notes.gone(block);
    }

    /// The limit, the unlisted candidates and `u64::MAX`; then pairs of live count and block, stack
    /// by stack.
    fn save(&self) -> Vec<u64> {
        let mut numbers = vec![u64::from(self.listed_limit)];
        let unlisted = (0..self.block_count()).filter(|&block| self.is_unlisted(block));
        numbers.extend(unlisted.map(u64::from));
        numbers.push(u64::MAX);
        for live_count in 0..=self.listed_limit {
            let members = self.members(live_count);
            numbers.extend(members.flat_map(|it| [u64::from(live_count), u64::from(it)]));
        }
        numbers
    }

    fn restore(&mut self, numbers: &[u64]) -> bool {
        let Some((&limit, rest)) = numbers.split_first() else { return false };
        let Some(end) = rest.iter().position(|&number| number == u64::MAX) else { return false };
        if limit > u64::from(self.pages_per_block) {
            return false;
        }
        self.listed_limit = limit as u32;
        let is_new = |places: &[Place], block: u64| {
            block < places.len() as u64 && places[block as usize].stack == ABSENT
        };
        for &block in &rest[..end] {
            if !is_new(&self.places, block) {
                return false;
            }
            self.set_unlisted(block as u32);
        }
        let pairs = rest[end + 1..].chunks_exact(2);
        pairs.remainder().is_empty()
            && pairs.into_iter().all(|pair| {
                let fits = pair[0] <= limit && is_new(&self.places, pair[1]);
                if fits {
                    self.insert(pair[1] as u32, pair[0] as u32);
                }
                fits
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_block_goes_first_and_of_equals_the_latest() {
        let mut policy = Greedy::new(4, 8, ());
        for (block, live_count) in [(0, 5), (1, 7), (2, 6), (3, 5)] {
            policy.closed(block, live_count, 0);
        }
        policy.invalidated(1, 6, 1, 0);
        policy.invalidated(1, 4, 2, 0);
        let view = BlockView::of(&[5, 4, 6, 5], 8, 0);
        let order: Vec<u32> = std::iter::from_fn(|| policy.choose(&view)).collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }

    #[test]
    fn of_a_few_blocks_one_stays_listed() {
        // An eighth of fewer than 8 blocks is none: the stacks were dropped beyond the last.
        let mut policy = Greedy::new(6, 4, ());
        (0..6).for_each(|block| policy.closed(block, 2, 0));
        let view = BlockView::of(&[2; 6], 4, 0);
        let order: Vec<u32> = std::iter::from_fn(|| policy.choose(&view)).collect();
        assert_eq!(order, [5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn the_choice_is_always_a_block_with_the_fewest_live_pages() {
        // Random lives and deaths against a plain search, with limits going up and down.
        let mut rng = crate::rng::Rng::stream(7, "greedy");
        let mut policy = Greedy::new(64, 256, ());
        let mut live_counts = [256_u32; 64];
        let mut candidates = std::collections::BTreeSet::new();
        for round in 0..200_000_u64 {
            // Phases with many deaths per choice drive the counts down, others let them rise.
            let deaths = if round / 20_000 % 2 == 0 { 90 } else { 10 };
            let block = rng.below(64) as u32;
            if !candidates.contains(&block) {
                policy.closed(block, live_counts[block as usize], round);
                candidates.insert(block);
            } else if rng.below(100) < deaths && live_counts[block as usize] > 0 {
                let died = 1 + rng.below(u64::from(live_counts[block as usize]).min(3)) as u32;
                live_counts[block as usize] -= died;
                policy.invalidated(block, live_counts[block as usize], died, round);
            } else {
                let view = BlockView::of(&live_counts, 256, round);
                let fewest = candidates.iter().map(|&block| live_counts[block as usize]).min();
                let victim = policy.choose(&view).expect("there are candidates");
                assert_eq!(Some(live_counts[victim as usize]), fewest, "round {round}");
                candidates.remove(&victim);
                live_counts[victim as usize] = 200 + rng.below(57) as u32;
            }
        }
    }
}
