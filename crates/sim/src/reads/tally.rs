//! Counts of reads and of what became of them, which can be subtracted from later ones.

use crate::op::SOURCE_COUNT;

/// Counts of the reads of a drive since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadTally {
    /// Page reads by kind of stress.
    pub reads_at: Vec<u64>,
    /// Page reads that were corrected on each rung of the ladder, if not by the first read.
    pub recovered: Vec<u64>,
    /// Page reads that began with a remembered step.
    pub remembered: u64,
    /// Pages that were rebuilt from their stripe.
    pub rebuilt: u64,
    /// Uncorrectable page reads by source.
    pub uncorrectable: [u64; SOURCE_COUNT],
    /// Pages that were decoded bit by bit.
    pub decoded_pages: u64,
    /// Codewords among them that were lost for good.
    pub lost_codewords: u64,
}

impl ReadTally {
    /// Page reads by kind of stress since `earlier`, those that there were.
    pub fn reads_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = (usize, u64)> + 'a {
        let before = |kind: usize| earlier.reads_at.get(kind).copied().unwrap_or(0);
        let reads = self.reads_at.iter().enumerate();
        reads.map(move |(kind, now)| (kind, now - before(kind))).filter(|&(_, reads)| reads > 0)
    }

    /// Page reads that were corrected on each rung since `earlier`.
    pub fn recovered_since(&self, earlier: &Self) -> Vec<u64> {
        let before = |rung: usize| earlier.recovered.get(rung).copied().unwrap_or(0);
        self.recovered.iter().enumerate().map(|(rung, now)| now - before(rung)).collect()
    }

    /// Uncorrectable page reads of any source since `earlier`.
    pub fn uncorrectable_since(&self, earlier: &Self) -> u64 {
        let pairs = self.uncorrectable.iter().zip(&earlier.uncorrectable);
        pairs.map(|(now, before)| now - before).sum()
    }
}
