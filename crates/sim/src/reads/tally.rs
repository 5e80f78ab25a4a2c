//! Counts of reads and of their outcomes; those of a phase are a difference of two tallies.

use opennandlab_ecc::cell::Counted;

use crate::op::SOURCE_COUNT;

/// Pages that were read cell by cell, each counted once between two erases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellCounts {
    /// Pages.
    pub pages: u64,
    /// Errors of their first reads, and the number that their states predict.
    pub errors: Counted,
    /// Pages that no rung corrected.
    pub lost: u64,
    /// The same as the tables of the drive expect it.
    pub lost_expected: f64,
}

impl CellCounts {
    /// Adds other pages.
    pub fn add(&mut self, other: &Self) {
        self.pages += other.pages;
        self.errors.add(&other.errors);
        self.lost += other.lost;
        self.lost_expected += other.lost_expected;
    }

    fn since(&self, earlier: &Self) -> Self {
        let (now, then) = (&self.errors, &earlier.errors);
        Self {
            pages: self.pages - earlier.pages,
            errors: Counted {
                bits: now.bits - then.bits,
                errors: now.errors - then.errors,
                expected: now.expected - then.expected,
                variance: now.variance - then.variance,
            },
            lost: self.lost - earlier.lost,
            lost_expected: self.lost_expected - earlier.lost_expected,
        }
    }
}

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
    /// Codewords among them that were lost permanently.
    pub lost_codewords: u64,
    /// Pages that were read cell by cell, by page type; empty in drives without cells.
    pub cells: Vec<CellCounts>,
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
            cells: {
                let none = CellCounts::default();
                let before = earlier.cells.iter().chain(std::iter::repeat(&none));
                self.cells.iter().zip(before).map(|(now, then)| now.since(then)).collect()
            },
        }
    }
}
