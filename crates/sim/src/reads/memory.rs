//! The memory of the reads of a drive between two cells, for a checkpoint.
//!
//! Outcomes of stress are computed again, and counts of reads are of interest only as differences,
//! except those of uncorrectable pages, which the health report of a drive shows.

use serde::{Deserialize, Serialize};

use super::chance::Chance;
use super::errors::ReadErrors;
use crate::op::SOURCE_COUNT;

/// See the module. Parts that a drive does not have are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadMemory {
    /// Random streams of each die, and the hazard left.
    chances: Vec<([[u64; 4]; 3], f64)>,
    /// Retry steps that reads of a block begin with.
    remembered: Vec<u32>,
    /// Reads of each block since its erase.
    block_reads: (Vec<[u32; 3]>, u32),
    /// Pages that nothing could correct, by source.
    uncorrectable: [u64; SOURCE_COUNT],
    /// Erase count and one of each block when it was found to have too high an error rate; 0 for
    /// never.
    found_at: Vec<u32>,
    /// Pages whose cells were counted, and the erase count of their block then, plus one.
    #[serde(default)]
    counted: Vec<(u32, u32)>,
}

impl ReadErrors {
    /// The memory of reads.
    pub fn save(&self) -> ReadMemory {
        ReadMemory {
            chances: self.chances.iter().map(Chance::save).collect(),
            remembered: self.remembered.as_ref().map_or_else(Vec::new, |it| it.save()),
            block_reads: self.block_reads.as_ref().map_or_else(Default::default, |it| it.save()),
            uncorrectable: self.tally.uncorrectable,
            found_at: self.watch.as_ref().map_or_else(Vec::new, |it| it.found_at.clone()),
            counted: self.cells.as_ref().map_or_else(Vec::new, |it| it.counted()),
        }
    }

    /// Takes the result of [`ReadErrors::save`]; false if it is not of this drive.
    pub fn restore(&mut self, memory: &ReadMemory) -> bool {
        let ReadMemory { chances, remembered, block_reads, uncorrectable, found_at, counted } =
            memory;
        let are_numbers = chances.iter().all(|(_, hazard)| hazard.is_finite());
        if chances.len() != self.chances.len() || !are_numbers {
            return false;
        }
        self.tally.uncorrectable = *uncorrectable;
        self.chances = chances.iter().copied().map(Chance::restored).collect();
        let steps = self.fates().ladder().rungs().len();
        let is_remembered = match &mut self.remembered {
            Some(own) => own.restore(remembered, steps),
            None => remembered.is_empty(),
        };
        let is_counted = match &mut self.block_reads {
            Some(own) => own.restore(block_reads),
            None => block_reads.0.is_empty(),
        };
        let is_watched = match &mut self.watch {
            Some(own) if own.found_at.len() == found_at.len() => {
                own.found_at.clone_from(found_at);
                true
            }
            Some(_) => false,
            None => found_at.is_empty(),
        };
        self.cells.iter_mut().for_each(|cells| cells.set_counted(counted));
        is_remembered && is_counted && is_watched
    }
}
