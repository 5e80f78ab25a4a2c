//! The NAND: all that survives a power cut, and nothing else.
//!
//! [`Media`] holds for each page the logical page number that was written into its out-of-band area
//! (the only reverse map of the drive), and for each block its erase count, whether it is bad, how
//! many bits its cells hold, and how often its data was copied without passing the decoder. A page
//! is programmed once between two erases, in order; `testing::checked` holds the FTL to that rule.
//! Cell contents are not kept: the simulator knows which data a page holds, not the bytes.
//!
//! Left out here: the moment at which an operation becomes durable. Both executors commit when the
//! FTL decides.

mod config;
mod mechanisms;

pub use config::{CellType, NandConfig, PageTimes, Timing, TimingConfig, WearOut};
pub use mechanisms::{CacheCommands, ProgramMode, Variation, WearTiming};

use serde::{Deserialize, Serialize};

use crate::geometry::{Geometry, UNMAPPED};
use crate::memory::huge_vec;
use crate::rng::Rng;
use crate::units::{BlockId, Lpn, Ppn};

/// How densely a block is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum CellMode {
    /// As many bits per cell as the flash is made for.
    #[default]
    Native,
    /// One bit per cell: faster, and fewer pages.
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
    pub(crate) modes: Vec<CellMode>,
    /// Copies in a row, at most 255, that the most travelled page of the block has made inside its
    /// die.
    pub(crate) copyback_depths: Vec<u8>,
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
            modes: vec![CellMode::Native; geometry.block_count() as usize],
            copyback_depths: vec![0; geometry.block_count() as usize],
        }
    }

    /// The shape of the drive.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
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

    /// The logical page number in the out-of-band area of a page.
    #[inline]
    pub fn lpn_at(&self, ppn: Ppn) -> u32 {
        self.oob[self.geometry.page_slot(ppn)]
    }

    /// Stores a page of `lpn`.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, lpn: Lpn) {
        let slot = self.geometry.page_slot(ppn);
        self.oob[slot] = lpn.0;
    }

    /// Stores consecutive pages of one block: every `step`-th logical page from `lpn` on.
    #[inline]
    pub fn program_every(&mut self, first: Ppn, lpn: Lpn, step: u32, count: u32) {
        let slot = self.geometry.page_slot(first);
        for (owner, index) in self.oob[slot..slot + count as usize].iter_mut().zip(0..) {
            *owner = lpn.0 + index * step;
        }
    }

    /// Stores consecutive pages of one block.
    #[inline]
    pub fn program_run(&mut self, first: Ppn, lpns: &[u32]) {
        let slot = self.geometry.page_slot(first);
        self.oob[slot..slot + lpns.len()].copy_from_slice(lpns);
    }

    /// Erases a block and returns its erase count, this one included.
    pub fn erase(&mut self, block: BlockId) -> u32 {
        self.copyback_depths[block.0 as usize] = 0;
        let count = &mut self.erase_counts[block.0 as usize];
        *count += 1;
        *count
    }

    /// How often the block was erased.
    #[inline]
    pub fn erase_count(&self, block: BlockId) -> u32 {
        self.erase_counts[block.0 as usize]
    }

    /// How densely the block is written.
    #[inline]
    pub fn mode(&self, block: BlockId) -> CellMode {
        self.modes[block.0 as usize]
    }

    /// Decides how densely an erased block will be written.
    pub fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        self.modes[block.0 as usize] = mode;
    }

    /// Copies in a row that data of the block has made inside its die, errors and all.
    #[inline]
    pub fn copyback_depth(&self, block: BlockId) -> u8 {
        self.copyback_depths[block.0 as usize]
    }

    /// Notes that data of `source` was copied to `target` inside the die.
    pub fn note_copyback(&mut self, source: BlockId, target: BlockId) {
        let depth = self.copyback_depths[source.0 as usize].saturating_add(1);
        let known = &mut self.copyback_depths[target.0 as usize];
        *known = depth.max(*known);
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
