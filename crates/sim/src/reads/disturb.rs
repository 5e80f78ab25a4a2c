//! Reads of each block since its erase, in classes: the quantity that read disturb depends on.
//!
//! ```text
//!   reads per page    0 ......... 4 .. 4.8 .. 5.7 .. 6.7 .. 8 .. ...... 4096 ......
//!   class                  0        1     2      3      4      ...        41 (open)
//! ```
//! A class is a fourth of an octave wide and its middle represents it, so that outcomes of reads
//! can be kept per class; class 0 represents no reads. A counter is compared with the end of its
//! class, once per read: no logarithm. An erase in between shows in the erase count of the block.
//!
//! Counters belong to the run: a checkpoint contains them; an image does not, and its drive begins
//! with counters at 0.

use crate::units::BlockId;

/// Classes, the open one included.
pub const CLASS_COUNT: usize = 42;

/// Reads per page at which class 1 begins.
const FIRST: f64 = 4.0;

/// Classes that double the reads together.
const PER_OCTAVE: f64 = 4.0;

/// Reads per page that represent a class.
pub fn reads_of(class: usize) -> f64 {
    if class == 0 {
        return 0.0;
    }
    FIRST * libm::exp2((class as f64 - 0.5) / PER_OCTAVE)
}

/// A block's reads.
#[derive(Clone, Copy, Default)]
struct Count {
    erases: u32,
    reads: u32,
    class: u32,
}

/// See the module.
pub struct BlockReads {
    blocks: Vec<Count>,
    /// Reads of a block at which each class ends; none for the open one.
    ends: Vec<u32>,
    most: u32,
    pages_per_block: u32,
}

impl BlockReads {
    /// Counters of blocks with `pages_per_block` pages.
    pub fn new(block_count: u32, pages_per_block: u32) -> Self {
        let end = |class: usize| {
            let reads = FIRST * libm::exp2(class as f64 / PER_OCTAVE) * f64::from(pages_per_block);
            libm::ceil(reads).min(f64::from(u32::MAX)) as u32
        };
        Self {
            blocks: vec![Count::default(); block_count as usize],
            ends: (0..CLASS_COUNT - 1).map(end).collect(),
            most: 0,
            pages_per_block,
        }
    }

    /// Erase count, reads and class of each block, and the most reads of one, for a checkpoint.
    pub(super) fn save(&self) -> (Vec<[u32; 3]>, u32) {
        (self.blocks.iter().map(|it| [it.erases, it.reads, it.class]).collect(), self.most)
    }

    /// Takes the result of [`BlockReads::save`]; false if it is not of this drive.
    pub(super) fn restore(&mut self, (blocks, most): &(Vec<[u32; 3]>, u32)) -> bool {
        let is_class = |&[_, _, class]: &[u32; 3]| (class as usize) < CLASS_COUNT;
        if blocks.len() != self.blocks.len() || !blocks.iter().all(is_class) {
            return false;
        }
        for (count, &[erases, reads, class]) in self.blocks.iter_mut().zip(blocks) {
            *count = Count { erases, reads, class };
        }
        self.most = *most;
        true
    }

    /// Some pages of a block are read: the class that it was in before.
    #[inline]
    pub fn note(&mut self, block: BlockId, erases: u32, page_count: u32) -> usize {
        let count = &mut self.blocks[block.0 as usize];
        if count.erases != erases {
            *count = Count { erases, ..Count::default() };
        }
        let class = count.class as usize;
        count.reads = count.reads.saturating_add(page_count);
        while self.ends.get(count.class as usize).is_some_and(|&end| count.reads >= end) {
            count.class += 1;
        }
        self.most = self.most.max(count.reads);
        class
    }

    /// The most reads of a block between two erases up to now, per page of it.
    pub fn reads_per_page_max(&self) -> f64 {
        f64::from(self.most) / f64::from(self.pages_per_block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_the_reads_of_the_block_and_end_with_its_erase() {
        let mut reads = BlockReads::new(2, 10);
        let mut so_far = 0_u32;
        while so_far < 100_000 {
            let class = reads.note(BlockId(1), 3, 7);
            let per_page = f64::from(so_far) / 10.0;
            let expected = if per_page < 4.0 {
                0
            } else {
                ((4.0 * (per_page / 4.0).log2() + 1e-9).floor() as usize + 1).min(CLASS_COUNT - 1)
            };
            assert_eq!(class, expected, "{per_page} reads per page");
            so_far += 7;
        }
        assert!((reads.reads_per_page_max() - f64::from(so_far) / 10.0).abs() < 1e-9);
        assert_eq!(reads.note(BlockId(0), 3, 1), 0, "another block");
        assert_eq!(reads.note(BlockId(1), 4, 1), 0, "erased");
        assert_eq!(reads.note(BlockId(1), 4, 1), 0);
    }

    #[test]
    fn a_class_stands_for_its_middle() {
        assert!(reads_of(0).abs() < 1e-15);
        for class in 1..CLASS_COUNT - 1 {
            let (low, high) =
                (4.0 * (class as f64 / 4.0 - 0.25).exp2(), 4.0 * (class as f64 / 4.0).exp2());
            assert!((reads_of(class) / (low * high).sqrt() - 1.0).abs() < 1e-12);
        }
        // A class is 19 % wide, so its middle differs by up to 9 % from the reads.
        assert!((reads_of(2) / reads_of(1) - 1.1892).abs() < 1e-4);
    }
}
