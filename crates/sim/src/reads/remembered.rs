//! The retry step that a block was last read with: where its next read begins.
//!
//! ```text
//!   block   [ erase count 24 | step 8 ]     of another erase count: step 0, the default levels
//! ```
//! Pages of a block lose charge together, so levels that suited one page suit the others. A block
//! of which a retried read was corrected on step k is read with the levels of step k first, and
//! when these fail with the other steps in their order. Erasing a block makes it forget, which its
//! erase count shows. A superblock has one step for all its members.
//!
//! Source of the mechanism: Cai et al., "Error characterization, mitigation, and recovery in
//! flash-memory-based solid-state drives", Proc. IEEE 105, 2017 (read-retry: the voltages that read
//! a block last are kept and tried first); blocks and layers alike enough to share such voltages:
//! Shim et al., "Exploiting process similarity of 3D flash memory for high performance SSDs",
//! MICRO 2019.
//!
//! Steps belong to the run, like counted reads: a checkpoint has them, an image does not.

use crate::units::BlockId;

const STEP_BITS: u32 = 8;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    blocks: Vec<u32>,
}

impl Remembered {
    /// Of blocks whose step is not known.
    pub(super) fn new(block_count: u32) -> Self {
        Self { blocks: vec![0; block_count as usize] }
    }

    /// All entries, for a checkpoint.
    pub(super) fn save(&self) -> Vec<u32> {
        self.blocks.clone()
    }

    /// Takes the result of [`Remembered::save`]; false if it is not of this drive, whose ladder has
    /// `steps` steps.
    pub(super) fn restore(&mut self, blocks: &[u32], steps: usize) -> bool {
        let is_step = |entry: &u32| ((entry & ((1 << STEP_BITS) - 1)) as usize) < steps;
        let fits = blocks.len() == self.blocks.len() && blocks.iter().all(is_step);
        if fits {
            self.blocks.copy_from_slice(blocks);
        }
        fits
    }

    /// The step that reads of a block begin with.
    #[inline]
    pub(super) fn step(&self, block: BlockId, erases: u32) -> usize {
        let entry = self.blocks[block.0 as usize];
        if entry >> STEP_BITS == erases << STEP_BITS >> STEP_BITS {
            (entry & ((1 << STEP_BITS) - 1)) as usize
        } else {
            0
        }
    }

    /// A read of a block was corrected on a step.
    pub(super) fn note(&mut self, block: BlockId, erases: u32, step: usize) {
        self.blocks[block.0 as usize] = erases << STEP_BITS | step as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_remembers_its_step_until_it_is_erased() {
        let mut remembered = Remembered::new(3);
        assert_eq!(remembered.step(BlockId(1), 0), 0);
        remembered.note(BlockId(1), 7, 64);
        let steps = |remembered: &Remembered, block| {
            [6, 7, 8].map(|erases| remembered.step(BlockId(block), erases))
        };
        assert_eq!(steps(&remembered, 1), [0, 64, 0]);
        assert_eq!(steps(&remembered, 0), [0, 0, 0]);
        remembered.note(BlockId(1), 8, 2);
        assert_eq!(steps(&remembered, 1), [0, 0, 2]);
        remembered.note(BlockId(1), 8, 0);
        assert_eq!(steps(&remembered, 1), [0, 0, 0]);
    }
}
