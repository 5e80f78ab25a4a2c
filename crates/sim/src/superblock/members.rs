//! The member blocks of a drive's superblocks: a table of blocks, and the blocks to spare.
//!
//! ```text
//! at first      the n-th superblock takes the n-th good block of each die (`remap`), or bad blocks
//!               leave holes (`shrink`)
//! a member fails    a spare block of its die takes its place, if one is left
//! else          the superblock is given up: its sound members become spare blocks
//! ```
//! So the first failure costs a superblock, and those that follow on the other dies cost nothing:
//! superblocks are lost as fast as the worst die loses blocks.

use super::shape::{Superblocks, HOLE};
use crate::units::{BlockId, Ppn};

/// The blocks of the flash that make up the superblocks of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    shape: Superblocks,
    /// By superblock, then by die of its group: a block of the flash, or [`HOLE`].
    blocks: Vec<u32>,
    /// The superblock that each block of the flash belongs to, or the last it belonged to, or
    /// [`HOLE`].
    superblocks: Vec<u32>,
    /// Blocks of the flash that are bad.
    bad: Vec<bool>,
    has_holes: bool,
}

impl Members {
    /// The superblocks of flash on which these blocks are bad.
    ///
    /// # Panics
    /// When the list is of other flash.
    pub fn new(shape: Superblocks, bad: Vec<bool>) -> Self {
        let (flash, dies) = (*shape.flash(), shape.dies());
        assert_eq!(bad.len(), flash.block_count() as usize, "blocks of the flash");
        let groups = flash.die_count / dies;
        let count = (groups * flash.blocks_per_die * dies) as usize;
        let mut members = Self {
            shape,
            blocks: vec![HOLE; count],
            superblocks: vec![HOLE; bad.len()],
            bad,
            has_holes: false,
        };
        for die in 0..flash.die_count {
            let own = die * flash.blocks_per_die..(die + 1) * flash.blocks_per_die;
            let good = own.clone().filter(|&block| !members.bad[block as usize]);
            // With spare blocks the n-th superblock takes the n-th good block of each die.
            let placed: Vec<(u32, u32)> = if shape.remaps() {
                (0..).zip(good).collect()
            } else {
                good.map(|block| (block - own.start, block)).collect()
            };
            for (place, block) in placed {
                let superblock = die / dies * flash.blocks_per_die + place;
                members.blocks[(superblock * dies + die % dies) as usize] = block;
                members.superblocks[block as usize] = superblock;
            }
        }
        for superblock in 0..groups * flash.blocks_per_die {
            let own = (superblock * dies) as usize..((superblock + 1) * dies) as usize;
            let holes = members.blocks[own.clone()].iter().filter(|&&block| block == HOLE).count();
            let least = if shape.remaps() { dies } else { 1 + u32::from(shape.has_parity()) };
            if (dies - holes as u32) < least {
                for block in &mut members.blocks[own] {
                    if *block != HOLE {
                        members.superblocks[*block as usize] = HOLE;
                    }
                    *block = HOLE;
                }
            } else {
                members.has_holes |= holes > 0;
            }
        }
        members
    }

    /// The superblocks of this table, as [`Members::table`] gave it; `None` when it is of other
    /// flash, names a bad block, or one twice.
    pub fn restore(shape: Superblocks, bad: Vec<bool>, blocks: Vec<u32>) -> Option<Self> {
        let (flash, dies) = (*shape.flash(), shape.dies());
        if bad.len() != flash.block_count() as usize || blocks.len() != bad.len() {
            return None;
        }
        let mut superblocks = vec![HOLE; bad.len()];
        for (place, &block) in (0..).zip(&blocks).filter(|(_, &block)| block != HOLE) {
            let (superblock, member) = (place / dies, place % dies);
            let die = superblock / flash.blocks_per_die * dies + member;
            let is_sound = bad.get(block as usize) == Some(&false);
            if !is_sound || flash.die_of_block(BlockId(block)).0 != die {
                return None;
            }
            if std::mem::replace(&mut superblocks[block as usize], superblock) != HOLE {
                return None;
            }
        }
        let is_cut = |own: &[u32]| own.contains(&HOLE) && own.iter().any(|&block| block != HOLE);
        let has_holes = blocks.chunks(dies as usize).any(is_cut);
        Some(Self { shape, blocks, superblocks, bad, has_holes })
    }

    /// By superblock, then by die of its group: a block of the flash, or [`HOLE`].
    pub fn table(&self) -> &[u32] {
        &self.blocks
    }

    /// Whether a block of the flash is part of a superblock.
    fn is_used(&self, block: u32) -> bool {
        self.superblock_of(BlockId(block)).is_some()
    }

    /// A block of the die of a member that is sound and belongs to no superblock.
    pub fn spare_for(&self, superblock: BlockId, member: u32) -> Option<BlockId> {
        let (flash, dies) = (self.shape.flash(), self.shape.dies());
        let die = superblock.0 / flash.blocks_per_die * dies + member;
        let mut own = die * flash.blocks_per_die..(die + 1) * flash.blocks_per_die;
        own.find(|&block| !self.bad[block as usize] && !self.is_used(block)).map(BlockId)
    }

    /// A member has failed: a spare block of its die takes its place. Returns the two, or `None`
    /// when there is no spare block, and then nothing has changed.
    pub fn replace(&mut self, superblock: BlockId, member: u32) -> Option<(BlockId, BlockId)> {
        let spare = self.spare_for(superblock, member)?;
        let place = (superblock.0 * self.shape.dies() + member) as usize;
        let failed = std::mem::replace(&mut self.blocks[place], spare.0);
        self.bad[failed as usize] = true;
        self.superblocks[spare.0 as usize] = superblock.0;
        Some((BlockId(failed), spare))
    }

    /// Gives up a superblock: the `failed` members are bad, the others become spare blocks.
    pub fn dissolve(&mut self, superblock: BlockId, failed: &[u32]) {
        let dies = self.shape.dies();
        for member in 0..dies {
            let place = (superblock.0 * dies + member) as usize;
            let block = std::mem::replace(&mut self.blocks[place], HOLE);
            if block != HOLE && failed.contains(&member) {
                self.bad[block as usize] = true;
            }
        }
    }

    /// How they are laid over the dies.
    #[inline]
    pub fn shape(&self) -> &Superblocks {
        &self.shape
    }

    /// The bad blocks of the flash.
    pub fn bad(&self) -> &[bool] {
        &self.bad
    }

    /// Whether superblocks differ in size.
    #[inline]
    pub fn has_holes(&self) -> bool {
        self.has_holes
    }

    /// The blocks of a superblock, by die of its group.
    #[inline]
    pub fn of(&self, superblock: BlockId) -> &[u32] {
        let first = (superblock.0 * self.shape.dies()) as usize;
        &self.blocks[first..first + self.shape.dies() as usize]
    }

    /// Whether a superblock has too few good blocks to be one.
    pub fn is_bad(&self, superblock: BlockId) -> bool {
        self.of(superblock).iter().all(|&block| block == HOLE)
    }

    /// Slots of the holes of a superblock.
    pub fn hole_slots(&self, superblock: BlockId, is_slc: bool) -> u32 {
        let holes = self.of(superblock).iter().filter(|&&block| block == HOLE).count() as u32;
        holes * self.shape.member_slots(is_slc)
    }

    /// The page of the flash at a slot of a superblock.
    ///
    /// # Panics
    /// When it is a hole.
    #[inline]
    pub fn page(&self, superblock: BlockId, slot: u32, is_slc: bool) -> Ppn {
        let (block, index) = self.place(superblock, slot, is_slc);
        Ppn(self.shape.flash().first_page(block).0 + index)
    }

    /// The same as the block of the flash and the index in it.
    ///
    /// # Panics
    /// When it is a hole.
    #[inline(always)]
    #[allow(clippy::inline_always)] // for each page of the host, a call costs a third of it
    pub fn place(&self, superblock: BlockId, slot: u32, is_slc: bool) -> (BlockId, u32) {
        let at = self.shape.locate(slot, is_slc);
        let block = self.of(superblock)[at.member as usize];
        assert!(block != HOLE, "slot {slot} of superblock {} is a hole", superblock.0);
        (BlockId(block), at.index)
    }

    /// The superblock of a block of the flash, and the die of the group that it is on; `None` for a
    /// block that no superblock uses now.
    pub fn superblock_of(&self, block: BlockId) -> Option<(BlockId, u32)> {
        let superblock = self.last_superblock_of(block)?;
        let member = self.shape.flash().die_of_block(block).0 % self.shape.dies();
        (self.of(superblock)[member as usize] == block.0).then_some((superblock, member))
    }

    /// The superblock that a block of the flash belongs to, or the last that it belonged to.
    pub fn last_superblock_of(&self, block: BlockId) -> Option<BlockId> {
        let superblock = self.superblocks[block.0 as usize];
        (superblock != HOLE).then_some(BlockId(superblock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::rng::Rng;

    fn flash(dies: u32, slots: u32) -> Geometry {
        Geometry::new([2, dies], [10, slots], 4096)
    }

    #[test]
    fn bad_blocks_leave_holes_or_are_replaced() {
        let mut rng = Rng::stream(3, "bad");
        for has_parity in [false, true] {
            let shape = |remaps| {
                Superblocks::new(flash(6, 4), 3, [1, 1], [4, 4], [has_parity, remaps], 0.0)
            };
            let bad: Vec<bool> = (0..60).map(|_| rng.below(5) == 0).collect();
            let per_die: Vec<u32> =
                bad.chunks(10).map(|die| die.iter().filter(|&&bad| bad).count() as u32).collect();
            for remaps in [false, true] {
                let members = Members::new(shape(remaps), bad.clone());
                let least = shape(remaps).data_slots(&per_die);
                for group in 0..2 {
                    let own = group * 10..(group + 1) * 10;
                    let good = own.clone().filter(|&block| !members.is_bad(BlockId(block)));
                    let data = good.clone().map(|block| {
                        let slots = 4 * members.shape().data_dies();
                        u64::from(slots - members.hole_slots(BlockId(block), false))
                    });
                    let lost = own.filter(|&block| members.is_bad(BlockId(block))).count() as u64;
                    let (data, least) = (data.sum::<u64>(), least[group as usize]);
                    // What the arithmetic leaves out are superblocks without a good block.
                    assert!(data >= least && data <= least + 4 * lost, "{data}, {least}");
                    if remaps {
                        assert_eq!(data, least);
                        assert!(good.clone().all(|it| members.hole_slots(BlockId(it), false) == 0));
                    }
                    for block in good {
                        for (die, &member) in (0..).zip(members.of(BlockId(block))) {
                            if member == HOLE {
                                continue;
                            }
                            assert!(!bad[member as usize]);
                            assert_eq!(member / 10, group * 3 + die);
                            let found = members.superblock_of(BlockId(member));
                            assert_eq!(found, Some((BlockId(block), die)));
                        }
                    }
                }
            }
        }
    }

    /// Blocks fail at random until no superblock is left: every table is sound, nothing is used
    /// twice, and the number of lost superblocks is the number of lost blocks of the worst die.
    #[test]
    fn failing_members_are_replaced_while_their_die_has_spare_blocks() {
        let shape = Superblocks::new(flash(6, 4), 3, [1, 1], [4, 4], [false, true], 0.0);
        let mut rng = Rng::stream(5, "fail");
        let mut members = Members::new(shape, vec![false; 60]);
        let mut failed_of_die = [0_usize; 6];
        loop {
            let left: Vec<u32> = (0..20).filter(|&it| !members.is_bad(BlockId(it))).collect();
            for group in 0..2 {
                let of_group = left.iter().filter(|&&it| it / 10 == group).count();
                let own = &failed_of_die[3 * group as usize..][..3];
                assert_eq!(of_group, 10 - own.iter().max().unwrap());
            }
            let bad = members.bad().iter().filter(|&&bad| bad).count();
            assert_eq!(bad, failed_of_die.iter().sum::<usize>());
            let again = Members::restore(shape, members.bad().to_vec(), members.table().to_vec());
            let again = again.expect("the table is sound");
            assert_eq!(again.table(), members.table());
            assert!(!again.has_holes());
            if left.is_empty() {
                break;
            }
            let superblock = BlockId(left[rng.below(left.len() as u64) as usize]);
            let member = rng.below(3) as u32;
            let old = members.of(superblock)[member as usize];
            failed_of_die[(superblock.0 / 10 * 3 + member) as usize] += 1;
            match members.replace(superblock, member) {
                Some((failed, spare)) => {
                    assert_eq!(failed.0, old);
                    assert_eq!(members.superblock_of(spare), Some((superblock, member)));
                    assert_eq!(members.superblock_of(failed), None);
                    assert_eq!(members.last_superblock_of(failed), Some(superblock));
                }
                None => members.dissolve(superblock, &[member]),
            }
        }
    }

    #[test]
    fn tables_that_contradict_themselves_are_refused() {
        let shape = Superblocks::new(flash(6, 4), 3, [1, 1], [4, 4], [false, true], 0.0);
        let members = Members::new(shape, vec![false; 60]);
        let restored = |change: &dyn Fn(&mut Vec<bool>, &mut Vec<u32>)| {
            let (mut bad, mut table) = (members.bad().to_vec(), members.table().to_vec());
            change(&mut bad, &mut table);
            Members::restore(shape, bad, table)
        };
        assert_eq!(restored(&|_, _| {}).as_ref(), Some(&members));
        assert_eq!(restored(&|_, table| table.truncate(59)), None);
        assert_eq!(restored(&|bad, _| bad[7] = true), None, "a bad block is used");
        assert_eq!(restored(&|_, table| table[0] = table[3]), None, "a block is used twice");
        assert_eq!(restored(&|_, table| table.swap(0, 1)), None, "blocks of other dies");
        assert_eq!(restored(&|_, table| table[5] = 60), None, "a block that does not exist");
    }
}
