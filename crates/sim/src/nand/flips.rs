//! Bits that faults have flipped in blocks whose reads are decoded bit by bit: the bytes stay, the
//! flips are put into each read, and the code decides.

use std::collections::BTreeMap;

use crate::units::BlockId;

/// A page of the flash.
type Place = (BlockId, u32);

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Flips {
    /// By block.
    is_decoded: Vec<bool>,
    /// Flips of a page that the code corrects for certain.
    correctable: u32,
    /// By block and page index.
    by_page: BTreeMap<(u32, u32), u32>,
}

impl Flips {
    /// Flips of these blocks, with a code that corrects this many bits at least.
    pub(super) fn new(is_decoded: Vec<bool>, correctable: u32) -> Self {
        Self { is_decoded, correctable, by_page: BTreeMap::new() }
    }

    /// The flips of a page.
    pub(super) fn at(&self, (block, index): Place) -> u32 {
        self.by_page.get(&(block.0, index)).copied().unwrap_or(0)
    }

    /// Flips another bit of a page; false if its block is not decoded.
    pub(super) fn add(&mut self, (block, index): Place) -> bool {
        let is_decoded = self.is_decoded[block.0 as usize];
        if is_decoded {
            *self.by_page.entry((block.0, index)).or_default() += 1;
        }
        is_decoded
    }

    /// A page was moved, and its flips with it, since what else is wrong in the page is not known.
    /// If the new block is not decoded, few flips end, and with more than the code corrects for
    /// certain the data is lost: then true.
    pub(super) fn lose_by_move(&mut self, from: Place, to: Place) -> bool {
        let flips = self.at(from);
        let is_decoded = self.is_decoded[to.0 .0 as usize];
        if flips > 0 && is_decoded {
            self.by_page.insert((to.0 .0, to.1), flips);
        }
        flips > self.correctable && !is_decoded
    }

    /// A block was erased.
    pub(super) fn forget(&mut self, block: BlockId) {
        self.by_page.retain(|&(of, _), _| of != block.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flips_move_with_their_page_and_many_are_lost_in_other_blocks() {
        let page = |block| (BlockId(block), 0);
        let mut flips = Flips::new(vec![true, true, false], 2);
        assert!(flips.add(page(0)) && flips.add(page(0)) && !flips.add(page(2)));
        assert!(!flips.lose_by_move(page(0), page(1)) && !flips.lose_by_move(page(0), page(2)));
        assert_eq!((flips.at(page(1)), flips.at(page(2))), (2, 0));
        assert!(flips.add(page(0)));
        assert!(!flips.lose_by_move(page(0), page(1)) && flips.lose_by_move(page(0), page(2)));
        assert_eq!(flips.at(page(1)), 3);
        flips.forget(BlockId(1));
        assert_eq!((flips.at(page(0)), flips.at(page(1))), (3, 0));
    }
}
