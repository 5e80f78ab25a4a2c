//! Sequential: each request starts where the last one ended.
//!
//! Reads, writes and trims share one cursor. A request that would cross the end of the active
//! range starts at sector 0 instead, so with sizes that do not divide the range its last sectors
//! stay untouched.
//! `align_bytes` does not apply: there are no gaps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::workload::addresses::{Addresses, Extent};

/// `sequential` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequentialConfig {}

impl Parameters for SequentialConfig {
    type Addresses = Sequential;

    fn check(&self, _: Extent, _: &[u32]) -> Result<(), ConfigError> {
        Ok(())
    }

    fn compile(&self, _: u64) -> Sequential {
        Sequential { cursor: 0 }
    }
}

/// Remembers where the last request ended.
#[derive(Clone, Debug)]
pub struct Sequential {
    cursor: u64,
}

/// One request size: its length, and the last sector at which it may start.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    sector_count: u64,
    start_last: u64,
}

impl Addresses for Sequential {
    type Span = Step;

    fn span(&self, extent: Extent, request_sectors: u32) -> Step {
        let sector_count = u64::from(request_sectors);
        Step { sector_count, start_last: extent.sector_count - sector_count }
    }

    #[inline]
    fn next(&mut self, span: &Step, _: &mut Rng) -> u64 {
        let start = if self.cursor > span.start_last { 0 } else { self.cursor };
        self.cursor = start + span.sector_count;
        start
    }

    fn other(&self, span: &Step, sector: u64, _: &mut Rng) -> u64 {
        let start = sector + span.sector_count;
        if start > span.start_last {
            0
        } else {
            start
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_each_other_and_wrap_before_the_end() {
        let extent = Extent { sector_count: 20, align_sectors: 1 };
        let mut addresses = SequentialConfig {}.compile(0);
        let mut rng = Rng::from_seed(0);
        let (short, long) = (addresses.span(extent, 3), addresses.span(extent, 8));
        let mut next = |span| addresses.next(span, &mut rng);
        assert_eq!(next(&long), 0);
        assert_eq!(next(&short), 8);
        assert_eq!(next(&long), 11);
        assert_eq!(next(&short), 0, "19 + 3 would cross sector 20");
    }
}
