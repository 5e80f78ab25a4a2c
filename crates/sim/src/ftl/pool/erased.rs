//! The erased blocks of a pool, in the order in which they will be opened.
//!
//! Without wear leveling that is the order of erasing; with it, the least worn goes first, and of
//! equals the one that was erased first. A pool at work has few erased blocks and erases them at
//! similar counts, so a queue kept in order beats a tree.
//!
//! Where superblocks differ in size, they are counted in whole ones: as many as could be made of
//! the pages of all that are erased. So a reserve of one has room for any victim.

use std::collections::VecDeque;

/// In which order erased blocks are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenOrder {
    FirstErased,
    LeastWorn,
}

#[derive(Clone, Copy)]
struct Entry {
    block: u32,
    erase_count: u32,
}

/// See the module.
pub(crate) struct ErasedBlocks {
    order: OpenOrder,
    /// The next to open first.
    blocks: VecDeque<Entry>,
    /// Where blocks differ in size.
    weights: Option<Box<Weights>>,
}

/// Blocks that differ in size.
struct Weights {
    first_block: u32,
    /// Pages that each takes.
    pages: Vec<u32>,
    /// Those of a whole block.
    whole: u32,
    /// Those of all that are erased.
    total: u64,
}

impl ErasedBlocks {
    pub(crate) fn new(order: OpenOrder) -> Self {
        Self { order, blocks: VecDeque::new(), weights: None }
    }

    /// Counts blocks by the pages that they take, in whole ones; none is erased yet.
    pub(crate) fn weigh(&mut self, first_block: u32, pages: Vec<u32>, whole: u32) {
        self.weights = Some(Box::new(Weights { first_block, pages, whole, total: 0 }));
    }

    /// Number of erased blocks, counted in whole blocks if they differ in size.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        match &self.weights {
            None => self.blocks.len() as u32,
            Some(weights) => (weights.total / u64::from(weights.whole)) as u32,
        }
    }

    /// Erased blocks of any size.
    pub(crate) fn count(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Pages that each erased block takes, if they differ in size.
    pub(crate) fn sizes(&self) -> Option<Vec<u32>> {
        let weights = self.weights.as_ref()?;
        let of = |entry: &Entry| weights.pages[(entry.block - weights.first_block) as usize];
        Some(self.blocks.iter().map(of).collect())
    }

    /// Pages that all erased blocks take, if they differ in size; else 0.
    pub(crate) fn pages(&self) -> u64 {
        self.weights.as_ref().map_or(0, |weights| weights.total)
    }

    /// A block has left.
    #[inline]
    fn taken(&mut self, entry: Option<Entry>) -> Option<u32> {
        let block = entry?.block;
        if let Some(weights) = &mut self.weights {
            weights.total -= u64::from(weights.pages[(block - weights.first_block) as usize]);
        }
        Some(block)
    }

    pub(crate) fn push(&mut self, block: u32, erase_count: u32) {
        let place = self.place_of(erase_count);
        self.blocks.insert(place, Entry { block, erase_count });
        if let Some(weights) = &mut self.weights {
            weights.total += u64::from(weights.pages[(block - weights.first_block) as usize]);
        }
    }

    /// The next block to open.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let entry = self.blocks.pop_front();
        self.taken(entry)
    }

    /// The block that [`ErasedBlocks::pop`] gives next.
    pub(crate) fn next(&self) -> Option<u32> {
        self.blocks.front().map(|entry| entry.block)
    }

    /// The next block to open of those that are wanted, or of all if none is.
    pub(crate) fn pop_preferring(&mut self, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let wanted = self.blocks.iter().position(|entry| is_wanted(entry.block));
        let entry = self.blocks.remove(wanted.unwrap_or(0));
        self.taken(entry)
    }

    /// The most worn block: for data that will rest. Of equals the last, so that the others keep
    /// their turn.
    pub(crate) fn pop_most_worn(&mut self) -> Option<u32> {
        let counts = self.blocks.iter().map(|entry| entry.erase_count).enumerate();
        let (place, _) = counts.max_by_key(|&(_, count)| count)?;
        let entry = self.blocks.remove(place);
        self.taken(entry)
    }

    /// The blocks in their order, with one more (and its erase count) at the place at which it
    /// would join.
    pub(crate) fn list_with(&self, joining: Option<(u32, u32)>) -> Vec<u32> {
        let mut list: Vec<u32> = self.blocks.iter().map(|entry| entry.block).collect();
        if let Some((block, erase_count)) = joining {
            list.insert(self.place_of(erase_count), block);
        }
        list
    }

    /// Where a block of this erase count joins the queue: behind all that are opened before it.
    fn place_of(&self, erase_count: u32) -> usize {
        match (self.order, self.blocks.back()) {
            (OpenOrder::LeastWorn, Some(last)) if last.erase_count > erase_count => {
                self.blocks.partition_point(|entry| entry.erase_count <= erase_count)
            }
            _ => self.blocks.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_decides_who_is_opened_next() {
        let pushed = [(10, 5), (11, 3), (12, 9), (13, 3)];
        let order_of = |order| {
            let mut erased = ErasedBlocks::new(order);
            for (block, count) in pushed {
                erased.push(block, count);
            }
            assert_eq!(erased.len(), 4);
            let listed = erased.list_with(Some((14, 5)));
            erased.push(14, 5);
            let popped = std::iter::from_fn(|| erased.pop()).collect::<Vec<_>>();
            assert_eq!(listed, popped);
            popped
        };
        assert_eq!(order_of(OpenOrder::FirstErased), [10, 11, 12, 13, 14]);
        assert_eq!(order_of(OpenOrder::LeastWorn), [11, 13, 10, 14, 12]);
    }

    #[test]
    fn the_most_worn_block_can_be_singled_out() {
        let mut erased = ErasedBlocks::new(OpenOrder::FirstErased);
        for (block, count) in [(10, 5), (12, 9), (13, 3)] {
            erased.push(block, count);
        }
        assert_eq!(erased.pop_most_worn(), Some(12));
        assert_eq!(erased.list_with(None), [10, 13]);
    }
}
