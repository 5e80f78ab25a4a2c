//! What dies have done, in pages of the flash and by reason: what their energy is computed from.
//!
//! Counted by the full back end where the device has `nand.energy`, when an operation starts: only
//! there is it known which map units are sensed together, and which come from memory. The plain
//! back end joins nothing, so there the counters of the FTL are equal to these.

use crate::op::SOURCE_COUNT;

/// See the module. The first index of pairs is 1 for blocks of one bit per cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pages of a plane that were sensed, each time counted: retries and soft reads too.
    pub sensed: [[u64; SOURCE_COUNT]; 2],
    /// Pages of the FTL that were programmed.
    pub programmed: [[u64; SOURCE_COUNT]; 2],
    /// Blocks of a plane that were erased.
    pub erased: [u64; SOURCE_COUNT],
    /// Pages of the FTL that crossed a channel, each time counted.
    pub crossings: u64,
}

impl Work {
    /// The work since an earlier look at the same dies.
    #[must_use]
    pub fn since(&self, then: &Self) -> Self {
        let less = |now: [u64; SOURCE_COUNT], then: [u64; SOURCE_COUNT]| {
            std::array::from_fn(|source| now[source] - then[source])
        };
        let both = |now: [[u64; SOURCE_COUNT]; 2], then: [[u64; SOURCE_COUNT]; 2]| {
            [less(now[0], then[0]), less(now[1], then[1])]
        };
        Self {
            sensed: both(self.sensed, then.sensed),
            programmed: both(self.programmed, then.programmed),
            erased: less(self.erased, then.erased),
            crossings: self.crossings - then.crossings,
        }
    }
}
