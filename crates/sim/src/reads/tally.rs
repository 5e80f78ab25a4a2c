//! Counts of reads and of their outcomes; those of a phase are a difference of two tallies.

use crate::op::SOURCE_COUNT;

/// Counts of the reads of a drive since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadTally {
    /// Page reads by kind of stress (see `kinds`).
    pub reads_at: Vec<u64>,
    /// Page reads that a rung of the ladder has corrected after the first read failed, by rung.
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
    /// The counts since `earlier`, a tally of the same drive.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        // Kinds and rungs that were not counted at all then are missing there.
        let difference = |now: &[u64], before: &[u64]| {
            let before = before.iter().copied().chain(std::iter::repeat(0));
            now.iter().zip(before).map(|(now, before)| now - before).collect()
        };
        Self {
            reads_at: difference(&self.reads_at, &earlier.reads_at),
            recovered: difference(&self.recovered, &earlier.recovered),
            remembered: self.remembered - earlier.remembered,
            rebuilt: self.rebuilt - earlier.rebuilt,
            uncorrectable: std::array::from_fn(|source| {
                self.uncorrectable[source] - earlier.uncorrectable[source]
            }),
            decoded_pages: self.decoded_pages - earlier.decoded_pages,
            lost_codewords: self.lost_codewords - earlier.lost_codewords,
        }
    }
}
