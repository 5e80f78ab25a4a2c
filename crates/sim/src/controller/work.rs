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
