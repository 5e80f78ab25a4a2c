//! The NAND: all that survives a power cut, and nothing else.
//!
//! [`Media`] holds for each page the logical page number that was written into its out-of-band area
//! (the only reverse map of the drive), and for each block its erase count and whether it is bad. A
//! page is programmed once between two erases, in order; `testing::checked` holds the FTL to that
//! rule. Cell contents are not kept: the simulator knows which data a page holds, not the bytes.
//!
//! Left out here: the moment at which an operation becomes durable. Both executors commit when the
//! FTL decides.

mod config;

pub use config::{CellType, NandConfig, PageTimes, ProgramMode, Timing, TimingConfig, WearOut};

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::huge_vec;
use crate::rng::Rng;
use crate::units::{BlockId, Lpn, Ppn};

/// Mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellMode {
    /// Native.
    Native,
    /// Slc.
    Slc,
}

/// What the flash remembers without power.
#[derive(Clone, Debug)]
pub struct Media {
    geometry: Geometry,
    /// Out-of-band LPN by page slot.
    pub(crate) oob: Vec<u32>,
    pub(crate) erase_counts: Vec<u32>,
    pub(crate) bad: Vec<bool>,
}

impl Media {
    /// Fresh flash with `bad_per_die` factory bad blocks in each die, at places drawn from `seed`.
    pub fn new(geometry: Geometry, bad_per_die: &[u32], seed: u64) -> Self {
        let mut bad = vec![false; geometry.block_count() as usize];
        let mut rng = Rng::stream(seed, "nand.factory_bad_blocks");
        for (die, &count) in bad.chunks_mut(geometry.blocks_per_die as usize).zip(bad_per_die) {
            let mut left = count;
            while left > 0 {
                let block = rng.below(die.len() as u64) as usize;
                left -= u32::from(!die[block]);
                die[block] = true;
            }
        }
        Self {
            geometry,
            oob: huge_vec(geometry.page_count(), UNMAPPED),
            erase_counts: vec![0; geometry.block_count() as usize],
            bad,
        }
    }

    /// The block of a page.
    #[inline]
    pub fn block_of(&self, ppn: Ppn) -> BlockId {
        self.geometry.block_of(ppn)
    }

    /// The out-of-band areas of a block, by page index.
    #[inline]
    pub fn oob_of_block(&self, block: BlockId) -> &[u32] {
        let slot = self.geometry.block_slot(block);
        &self.oob[slot..slot + self.geometry.pages_per_block as usize]
    }

    /// Stores a page of `lpn`.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, lpn: Lpn) {
        let slot = self.geometry.page_slot(ppn);
        self.oob[slot] = lpn.0;
    }

    /// Stores consecutive pages of one block.
    #[inline]
    pub fn program_run(&mut self, first: Ppn, lpns: &[u32]) {
        let slot = self.geometry.page_slot(first);
        self.oob[slot..slot + lpns.len()].copy_from_slice(lpns);
    }

    /// Erases a block and returns its erase count, this one included.
    pub fn erase(&mut self, block: BlockId) -> u32 {
        let count = &mut self.erase_counts[block.0 as usize];
        *count += 1;
        *count
    }

    /// How often the block was erased.
    #[inline]
    pub fn erase_count(&self, block: BlockId) -> u32 {
        self.erase_counts[block.0 as usize]
    }

    /// Mode.
    pub fn mode(&self, _block: BlockId) -> CellMode {
        CellMode::Native
    }

    /// Whether the block must not be used: bad from the factory, or worn out.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.0 as usize]
    }

    /// Takes a worn block out of use for good.
    pub fn retire(&mut self, block: BlockId) {
        self.bad[block.0 as usize] = true;
    }
}
