//! Collects the block with the fewest live pages: optimal for uniform writes (Hu & Haas 2010; Yang & Zhu 2014).
//!
//! Closed blocks hang in one ring per live count. A dying page moves its block one ring down, in constant
//! time, and the lowest occupied ring is remembered; among equals the block that reached its count first goes
//! first. Rings run through one array: a node per block, then an anchor per count.
//!
//! ```text
//! anchor[222] ⇄ block 17 ⇄ block 4 ⇄ anchor[222]     ← lowest: choose takes block 17
//! anchor[223] ⇄ block 9 ⇄ anchor[223]
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
        Box::new(Greedy::new(context.block_count, context.pages_per_block))
    }
}

/// A block's place in its ring; `next == ABSENT` for blocks that are no candidates.
#[derive(Clone, Copy)]
struct Node {
    next: u32,
    previous: u32,
}

const ABSENT: u32 = u32::MAX;

/// See the module.
pub struct Greedy {
    nodes: Vec<Node>,
    block_count: u32,
    pages_per_block: u16,
    /// No ring below this count has members.
    lowest: u32,
}

impl Greedy {
    fn new(block_count: u32, pages_per_block: u16) -> Self {
        let absent = Node { next: ABSENT, previous: ABSENT };
        let mut nodes = vec![absent; block_count as usize];
        nodes.extend((block_count..=block_count + u32::from(pages_per_block)).map(|anchor| Node {
            next: anchor,
            previous: anchor,
        }));
        Self { nodes, block_count, pages_per_block, lowest: u32::from(pages_per_block) }
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let Node { next, previous } = self.nodes[block as usize];
        self.nodes[previous as usize].next = next;
        self.nodes[next as usize].previous = previous;
    }

    #[inline]
    fn push_back(&mut self, block: u32, live_count: u32) {
        let anchor = self.block_count + live_count;
        let last = self.nodes[anchor as usize].previous;
        self.nodes[block as usize] = Node { next: anchor, previous: last };
        self.nodes[last as usize].next = block;
        self.nodes[anchor as usize].previous = block;
        self.lowest = self.lowest.min(live_count);
    }
}

impl GcPolicy for Greedy {
    fn closed(&mut self, block: u32, live_count: u16, _now: u64) {
        self.push_back(block, u32::from(live_count));
    }

    #[inline]
    fn invalidated(&mut self, block: u32, live_count: u16, _now: u64) {
        if self.nodes[block as usize].next != ABSENT {
            self.unlink(block);
            self.push_back(block, u32::from(live_count));
        }
    }

    fn choose(&mut self, _view: &BlockView) -> Option<u32> {
        for live_count in self.lowest..=u32::from(self.pages_per_block) {
            let first = self.nodes[(self.block_count + live_count) as usize].next;
            if first < self.block_count {
                self.lowest = live_count;
                self.remove(first);
                return Some(first);
            }
        }
        None
    }

    fn remove(&mut self, block: u32) {
        assert!(self.nodes[block as usize].next != ABSENT, "block {block} is no candidate");
        self.unlink(block);
        self.nodes[block as usize].next = ABSENT;
    }

    /// Pairs of live count and block, ring by ring.
    fn save(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for live_count in 0..=u32::from(self.pages_per_block) {
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
        let pairs = numbers.chunks_exact(2);
        pairs.remainder().is_empty()
            && pairs.into_iter().all(|pair| {
                let known = pair[0] <= u64::from(self.pages_per_block)
                    && pair[1] < u64::from(self.block_count)
                    && self.nodes[pair[1] as usize].next == ABSENT;
                if known {
                    self.push_back(pair[1] as u32, pair[0] as u32);
                }
                known
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_block_goes_first_and_equals_go_in_turn() {
        let mut policy = Greedy::new(4, 8);
        for (block, live_count) in [(0, 5), (1, 7), (2, 6), (3, 5)] {
            policy.closed(block, live_count, 0);
        }
        policy.invalidated(1, 6, 0);
        policy.invalidated(1, 5, 0);
        policy.invalidated(1, 4, 0);
        let view = BlockView { live_counts: &[5, 4, 6, 5], pages_per_block: 8, now: 0 };
        let order: Vec<u32> = std::iter::from_fn(|| policy.choose(&view)).collect();
        assert_eq!(order, [1, 0, 3, 2]);
    }
}
