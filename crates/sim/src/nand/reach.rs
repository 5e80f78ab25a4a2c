//! State of the flash for each block of the FTL, when the queues of its dies are behind.
//!
//! ```text
//! block        2 erases wait     its contents two erases ago
//! superblock   member 0: none waits, 4 pages programmed   its contents now: the 4 pages of member
//!              member 1: 1 erase waits                    0; those of member 1 are useless
//! ```
//! An erase is carried out only when copies of all live data of the block are on the flash, so a
//! superblock of which one member is erased has lost no data of the others.

use super::{CellMode, Media};
use crate::superblock::{Members, HOLE};
use crate::units::{BlockId, Ns};

/// An operation that a cut interrupts.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// Its block.
    pub block: BlockId,
    /// Pages that are programmed, by index: first and limit. An erase has none.
    pub pages: Option<(u32, u32)>,
    /// Type of the page, from 0 for the first pass of its wordline.
    pub page_type: u8,
    /// Whether the page is moved by a collection.
    pub is_moved: bool,
    /// How much of it is done, from 0 to 1.
    pub fraction: f64,
    /// Time that it still takes.
    pub left: Ns,
}

/// How far the flash is with a block of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRest {
    /// Erases that were ordered and have not ended.
    pub erases_waiting: u32,
    /// Programmed pages of the contents that the block has before those erases.
    pub programmed: u32,
}

/// How far it is with all of them.
pub(crate) struct Reach<'a> {
    rests: &'a [BlockRest],
    members: Option<&'a Members>,
}

/// How far it is with a block of the FTL.
#[derive(Clone, Copy)]
pub(crate) struct BlockReach<'a> {
    /// Erases that wait for all of it.
    pub(crate) erases_waiting: u32,
    /// Members wait for different numbers of erases.
    pub(crate) is_mixed: bool,
    parts: Parts<'a>,
}

#[derive(Clone, Copy)]
enum Parts<'a> {
    Block { programmed: u32 },
    Members { own: &'a [u32], members: &'a Members, rests: &'a [BlockRest] },
}

impl<'a> Reach<'a> {
    /// By block of the flash.
    pub(crate) fn new(rests: &'a [BlockRest], members: Option<&'a Members>) -> Self {
        Self { rests, members }
    }

    /// Of a block of the FTL.
    pub(crate) fn of(&self, block: BlockId) -> BlockReach<'a> {
        let Some(members) = self.members else {
            let BlockRest { erases_waiting, programmed } = self.rests[block.0 as usize];
            let parts = Parts::Block { programmed };
            return BlockReach { erases_waiting, is_mixed: false, parts };
        };
        let own = members.of(block);
        let good = own.iter().filter(|&&it| it != HOLE);
        let waiting = good.map(|&it| self.rests[it as usize].erases_waiting);
        let (least, most) =
            waiting.fold((u32::MAX, 0), |(least, most), it| (least.min(it), most.max(it)));
        let parts = Parts::Members { own, members, rests: self.rests };
        BlockReach { erases_waiting: least.min(most), is_mixed: least < most, parts }
    }
}

impl BlockReach<'_> {
    /// Whether a page of the block is programmed, in its contents before the waiting erases.
    pub(crate) fn has(&self, index: u32, mode: CellMode) -> bool {
        match self.parts {
            Parts::Block { programmed } => index < programmed,
            Parts::Members { own, members, rests } => {
                let at = members.shape().locate(index, mode == CellMode::Slc);
                // A block of one bit per cell ends before a native one.
                let block = own.get(at.member as usize).filter(|&&block| block != HOLE);
                block.is_some_and(|&block| {
                    let rest = rests[block as usize];
                    rest.erases_waiting == self.erases_waiting && at.index < rest.programmed
                })
            }
        }
    }

    /// Whether the first `page_count` pages of it are programmed.
    pub(crate) fn has_all(&self, page_count: u32, mode: CellMode) -> bool {
        match self.parts {
            Parts::Block { programmed } => page_count <= programmed,
            Parts::Members { own, members, rests } => {
                let is_slc = mode == CellMode::Slc;
                !self.is_mixed
                    && (0..).zip(own).all(|(member, &block)| {
                        let needed = members.shape().written_of(member, page_count, is_slc);
                        block == HOLE || rests[block as usize].programmed >= needed
                    })
            }
        }
    }

    /// Whether any page of it is programmed.
    pub(crate) fn is_touched(&self) -> bool {
        match self.parts {
            Parts::Block { programmed } => programmed > 0,
            Parts::Members { own, rests, .. } => {
                own.iter().filter(|&&block| block != HOLE).any(|&block| {
                    let rest = rests[block as usize];
                    rest.erases_waiting == self.erases_waiting && rest.programmed > 0
                })
            }
        }
    }
}

impl Media {
    /// The same operation on blocks of the FTL; `None` if no block of the FTL uses this one.
    pub(crate) fn of_ftl(&self, running: &Running) -> Option<Running> {
        let Some(members) = self.superblocks() else { return Some(running.clone()) };
        let (block, member) = members.superblock_of(running.block)?;
        let is_slc = self.mode(block) == CellMode::Slc;
        // Pages that are programmed together are of one unit, whose slots are next to each other.
        let pages = running.pages.map(|(first, limit)| {
            let slot = members.shape().slot(member, first, is_slc);
            (slot, slot + limit - first)
        });
        Some(Running { block, pages, ..running.clone() })
    }

    /// The row of a page of a block of the flash.
    pub(crate) fn flash_row(&self, index: u32) -> u32 {
        match self.superblocks() {
            None => self.geometry.row_of(index),
            Some(members) => members.shape().flash().row_of(index),
        }
    }

    /// The page of the flash that holds a page of the FTL, and its row in the block, by numbers
    /// that are unique in the block: die of the group, page, row.
    pub(crate) fn flash_page(&self, block: BlockId, index: u32) -> (u32, u32, u32) {
        match self.superblocks() {
            None => (0, self.geometry.physical_index(index), self.geometry.row_of(index)),
            Some(members) => {
                let at = members.shape().locate(index, self.mode(block) == CellMode::Slc);
                let flash = members.shape().flash();
                (at.member, flash.physical_index(at.index), flash.row_of(at.index))
            }
        }
    }
}
