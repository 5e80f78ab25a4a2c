//! Tables that every pool writes to while it works: the map, the counters and the clock of host
//! writes.
//!
//! A pool does not own them; they are lent to it for each call. Pools that share no logical page
//! are given separate books to work in parallel (`dies`).

use super::map::Map;
use super::mapping::Translation;
use super::sink::FtlCounters;
use crate::op::Source;

/// See the module.
pub(crate) struct Books {
    pub(crate) map: Map,
    pub(crate) counters: FtlCounters,
    /// Number of host page writes: the clock of block ages.
    pub(crate) now: u64,
    /// The cached map, if the map is not in RAM as a whole.
    pub(crate) translation: Option<Box<Translation>>,
    /// The placement handle of the current host writes, if addresses do not decide.
    pub(crate) handle: u8,
}

impl Books {
    /// Counts pages that a collection reads and programs elsewhere.
    pub(crate) fn count_moves(&mut self, source: Source, page_count: u64) {
        self.counters.reads[source as usize] += page_count;
        self.counters.programs[source as usize] += page_count;
    }
}
