//! Collects the block with the fewest live pages: optimal for uniform writes (Hu & Haas 2010; Yang
//! & Zhu 2014).
//!
//! Only the emptiest blocks are kept in order. Those with at most `listed_limit` live pages hang in
//! one ring per live count; a dying page moves its block one ring down, in constant time, and among
//! equals the block that reached its count last goes first (the published hot/cold figures assume
//! so). All others are merely marked as candidates, so that most dying pages cost one comparison.
//! When the rings run empty the limit is raised until an eighth of the blocks is listed; when more
//! than half are, the fullest rings are dropped as long as an eighth stays. So a pass over all
//! blocks is paid for by as many choices or deaths. Rings run through one array: a node per block,
//! then an anchor per count.
//!
//! ```text
//! anchor[222] ⇄ block 17 ⇄ block 4 ⇄ anchor[222]     ← lowest: choose takes block 4
//! anchor[223] ⇄ block 9 ⇄ anchor[223]                   listed_limit = 223
//! blocks 3, 8, 11, …: candidates with more live pages
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockView, BuildContext, GcPolicy};
use crate::config::ConfigError;

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

/// A block's place in its ring; `next` is `ABSENT` for blocks that are no candidates and `UNLISTED`
/// for candidates in no ring.
#[derive(Clone, Copy)]
struct Node {
    next: u32,
    previous: u32,
}

const ABSENT: u32 = u32::MAX;
const UNLISTED: u32 = u32::MAX - 1;

/// Notes about the position of candidates, in addition to the rings; the built-in policy keeps
/// none.
pub trait Notes: Send {
    /// It hangs last in the ring of `live_count`.
    #[inline]
    fn listed(&mut self, _block: u32, _live_count: u32) {}

    /// It is a candidate in no ring.
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
    nodes: Vec<Node>,
    block_count: u32,
    pages_per_block: u32,
    /// Largest number of live pages of the candidates in rings.
    listed_limit: u32,
    /// No ring below this count has members.
    lowest: u32,
    /// Blocks in rings, in all and by live count.
    listed_count: u32,
    ring_counts: Vec<u32>,
}

impl<N: Notes> Greedy<N> {
    pub(super) fn new(block_count: u32, pages_per_block: u32, notes: N) -> Self {
        let mut nodes = vec![Node { next: ABSENT, previous: ABSENT }; block_count as usize];
        let anchors = block_count..=block_count + pages_per_block;
        nodes.extend(anchors.map(|anchor| Node { next: anchor, previous: anchor }));
        Self {
            notes,
            nodes,
            block_count,
            pages_per_block,
            listed_limit: 0,
            lowest: 0,
            listed_count: 0,
            ring_counts: vec![0; pages_per_block as usize + 1],
        }
    }

    fn is_listed(&self, block: u32) -> bool {
        self.nodes[block as usize].next < UNLISTED
    }

    /// Takes a block out of the ring of `live_count`.
    #[inline]
    fn unlink(&mut self, block: u32, live_count: u32) {
        let Node { next, previous } = self.nodes[block as usize];
        self.nodes[previous as usize].next = next;
        self.nodes[next as usize].previous = previous;
        self.listed_count -= 1;
        self.ring_counts[live_count as usize] -= 1;
    }

    #[inline]
    fn push_back(&mut self, block: u32, live_count: u32) {
        let anchor = self.block_count + live_count;
        let last = self.nodes[anchor as usize].previous;
        self.nodes[block as usize] = Node { next: anchor, previous: last };
        self.nodes[last as usize].next = block;
        self.nodes[anchor as usize].previous = block;
        self.lowest = self.lowest.min(live_count);
        self.listed_count += 1;
        self.ring_counts[live_count as usize] += 1;
        self.notes.listed(block, live_count);
    }

    fn insert(&mut self, block: u32, live_count: u32) {
        if live_count <= self.listed_limit {
            self.push_back(block, live_count);
        } else {
            self.nodes[block as usize].next = UNLISTED;
            self.notes.unlisted(block);
        }
    }

    /// The block that joined the lowest ring last; of empty blocks the first.
    fn emptiest_listed(&mut self) -> Option<u32> {
        if self.listed_count == 0 {
            return None;
        }
        loop {
            let anchor = self.nodes[(self.block_count + self.lowest) as usize];
            // Empty blocks cost nothing to collect: taken in turn, they wear evenly.
            let chosen = if self.lowest == 0 { anchor.next } else { anchor.previous };
            if chosen < self.block_count {
                return Some(chosen);
            }
            self.lowest += 1;
        }
    }

    /// Lists the emptiest unlisted candidates; none is listed before.
    #[cold]
    fn raise_limit(&mut self, view: &BlockView) {
        let mut blocks_with = vec![0_u32; self.pages_per_block as usize + 1];
        for (node, &live_count) in self.nodes.iter().zip(view.live_counts) {
            blocks_with[live_count as usize] += u32::from(node.next == UNLISTED);
        }
        let enough = (self.block_count / 8).max(1);
        let mut listed = 0;
        let limit = blocks_with.iter().position(|&blocks| {
            listed += blocks;
            listed >= enough
        });
        self.listed_limit = limit.map_or(self.pages_per_block, |limit| limit as u32);
        self.lowest = self.pages_per_block;
        for block in 0..self.block_count {
            let live_count = view.live_counts[block as usize];
            if self.nodes[block as usize].next == UNLISTED && live_count <= self.listed_limit {
                self.push_back(block, live_count);
            }
        }
    }

    /// Drops the fullest rings as long as an eighth of the blocks stays listed.
    #[cold]
    fn lower_limit(&mut self) {
        while self.listed_count - self.ring_counts[self.listed_limit as usize]
            >= self.block_count / 8
        {
            let anchor = self.block_count + self.listed_limit;
            let mut block = self.nodes[anchor as usize].next;
            while block != anchor {
                self.notes.unlisted(block);
                block = std::mem::replace(&mut self.nodes[block as usize].next, UNLISTED);
            }
            self.nodes[anchor as usize] = Node { next: anchor, previous: anchor };
            self.listed_count -= std::mem::take(&mut self.ring_counts[self.listed_limit as usize]);
            self.listed_limit -= 1;
        }
    }

    /// Lists enough candidates and not too many, as is due before each choice.
    #[inline]
    pub(super) fn prepare(&mut self, view: &BlockView) {
        if self.listed_count == 0 {
            self.raise_limit(view);
        } else if self.listed_count > self.block_count / 2 {
            self.lower_limit();
        }
    }

    /// Whether no candidate is listed, and none could be.
    pub(super) fn is_empty(&self) -> bool {
        self.listed_count == 0
    }

    pub(super) fn is_candidate(&self, block: u32) -> bool {
        self.nodes[block as usize].next != ABSENT
    }

    /// The candidates, ring by ring in the order in which they would be taken; those in no ring
    /// follow in the order in which they would be taken among equals.
    pub(super) fn order(&self, into: &mut Vec<u32>) {
        into.clear();
        for live_count in self.lowest..=self.listed_limit {
            let anchor = self.block_count + live_count;
            let onward = |node: u32| {
                let node = self.nodes[node as usize];
                if live_count == 0 {
                    node.next
                } else {
                    node.previous
                }
            };
            let mut block = onward(anchor);
            while block != anchor {
                into.push(block);
                block = onward(block);
            }
        }
        let unlisted = |block: &u32| self.nodes[*block as usize].next == UNLISTED;
        into.extend((0..self.block_count).rev().filter(unlisted));
    }
}

impl<N: Notes> GcPolicy for Greedy<N> {
    fn closed(&mut self, block: u32, live_count: u32, _now: u64) {
        self.insert(block, live_count);
    }

    #[inline]
    fn invalidated(&mut self, block: u32, live_count: u32, died: u32, _now: u64) {
        if live_count > self.listed_limit {
            return;
        }
        match self.nodes[block as usize].next {
            ABSENT => {}
            UNLISTED => self.push_back(block, live_count),
            _ => {
                self.unlink(block, live_count + died);
                self.push_back(block, live_count);
            }
        }
    }

    fn report_limit(&self) -> u32 {
        self.listed_limit
    }

    fn choose(&mut self, view: &BlockView) -> Option<u32> {
        self.prepare(view);
        let victim = self.emptiest_listed()?;
        self.remove(victim, self.lowest);
        Some(victim)
    }

    fn remove(&mut self, block: u32, live_count: u32) {
        assert!(self.nodes[block as usize].next != ABSENT, "block {block} is not a candidate");
        if self.is_listed(block) {
            self.unlink(block, live_count);
        }
        self.nodes[block as usize].next = ABSENT;
        self.notes.gone(block);
    }

    /// The limit, the unlisted candidates and `u64::MAX`; then pairs of live count and block, ring
    /// by ring.
    fn save(&self) -> Vec<u64> {
        let mut numbers = vec![u64::from(self.listed_limit)];
        let blocks = 0..self.block_count;
        numbers.extend(
            blocks.filter(|&block| self.nodes[block as usize].next == UNLISTED).map(u64::from),
        );
        numbers.push(u64::MAX);
        for live_count in 0..=self.listed_limit {
            let anchor = self.block_count + live_count;
            let mut block = self.nodes[anchor as usize].next;
            while block != anchor {
                numbers.extend([u64::from(live_count), u64::from(block)]);
                block = self.nodes[block as usize].next;
            }
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
        let is_new = |nodes: &[Node], count: u32, block: u64| {
            block < u64::from(count) && nodes[block as usize].next == ABSENT
        };
        for &block in &rest[..end] {
            if !is_new(&self.nodes, self.block_count, block) {
                return false;
            }
            self.nodes[block as usize].next = UNLISTED;
            self.notes.unlisted(block as u32);
        }
        let pairs = rest[end + 1..].chunks_exact(2);
        pairs.remainder().is_empty()
            && pairs.into_iter().all(|pair| {
                let fits = pair[0] <= limit && is_new(&self.nodes, self.block_count, pair[1]);
                if fits {
                    self.push_back(pair[1] as u32, pair[0] as u32);
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
