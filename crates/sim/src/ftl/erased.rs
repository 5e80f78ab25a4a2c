//! The erased blocks of a pool, in the order in which they will be opened.
//!
//! Without wear leveling that is the order of erasing; with it, the least worn goes first.

use std::collections::BTreeSet;

/// In which order erased blocks are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenOrder {
    FirstErased,
    LeastWorn,
}

/// See the module.
pub(crate) struct ErasedBlocks {
    order: OpenOrder,
    /// (sort key, order of arrival, block, erase count)
    blocks: BTreeSet<(u32, u64, u32, u32)>,
    arrivals: u64,
}

impl ErasedBlocks {
    pub(crate) fn new(order: OpenOrder) -> Self {
        Self { order, blocks: BTreeSet::new(), arrivals: 0 }
    }

    pub(crate) fn len(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub(crate) fn push(&mut self, block: u32, erase_count: u32) {
        self.blocks.insert((self.key_of(erase_count), self.arrivals, block, erase_count));
        self.arrivals += 1;
    }

    /// The next block to open.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        self.blocks.pop_first().map(|entry| entry.2)
    }

    /// The next block to open of those that are wanted, or of all if none is.
    pub(crate) fn pop_preferring(&mut self, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let wanted = self.blocks.iter().find(|entry| is_wanted(entry.2)).copied();
        match wanted {
            Some(entry) => {
                self.blocks.remove(&entry);
                Some(entry.2)
            }
            None => self.pop(),
        }
    }

    /// The most worn block: for data that will rest.
    pub(crate) fn pop_most_worn(&mut self) -> Option<u32> {
        // Among equals the latest, so that the order of opening is kept for the others.
        let entry = *self
            .blocks
            .iter()
            .max_by_key(|(_, arrival, _, erase_count)| (*erase_count, *arrival))?;
        self.blocks.remove(&entry);
        Some(entry.2)
    }

    /// The blocks in their order, with one more (and its erase count) where it would join them.
    pub(crate) fn list_with(&self, joining: Option<(u32, u32)>) -> Vec<u32> {
        let mut list: Vec<u32> = self.blocks.iter().map(|entry| entry.2).collect();
        if let Some((block, erase_count)) = joining {
            let key = self.key_of(erase_count);
            list.insert(self.blocks.iter().filter(|entry| entry.0 <= key).count(), block);
        }
        list
    }

    fn key_of(&self, erase_count: u32) -> u32 {
        if self.order == OpenOrder::LeastWorn {
            erase_count
        } else {
            0
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
