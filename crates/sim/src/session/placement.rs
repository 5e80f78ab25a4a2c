//! Placement of a served drive: what its logs have of handles, and reclaim units that a host ends.

use serde_json::Value;

use super::session::{Carrying, Session};
use crate::ftl::{Isolation, PlacementConfig};
use crate::run::reclaim_units;
use crate::untimed::Instant;

/// Facts of a drive that places data (FDP). Counts are those of [`Session::status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementFacts {
    /// Placement handles.
    pub handles: u8,
    /// Whether moved data stays with its handle.
    pub is_persistent: bool,
    /// Bytes that a handle takes before it opens other blocks: one in each pool of the drive.
    pub unit_bytes: u64,
    /// Bytes that hosts wrote.
    pub host_bytes: u64,
    /// Bytes that were programmed.
    pub media_bytes: u64,
    /// Bytes of the blocks that were erased.
    pub erased_bytes: u64,
}

impl Session {
    /// Facts of a drive that has placement handles, and is one part.
    pub fn placement(&self) -> Option<PlacementFacts> {
        let PlacementConfig::Fdp(config) = &self.drive.config.ftl.placement else { return None };
        if !self.drive.ftl.figures().partition_programs().is_empty() {
            return None;
        }
        let (counts, geometry) = (self.counts(), &self.drive.geometry);
        let bytes = |pages| geometry.physical_pages_of(pages) * geometry.page_bytes;
        let block_bytes = bytes(geometry.pages_per_block.into());
        Some(PlacementFacts {
            handles: config.handles as u8,
            is_persistent: config.isolation == Isolation::Persistently,
            unit_bytes: self.drive.ftl.unit_pages() * geometry.page_bytes,
            host_bytes: counts.written_bytes,
            media_bytes: bytes(counts.programs),
            erased_bytes: counts.erases * block_bytes,
        })
    }

    /// Bytes that the reclaim units of a handle still take before others are opened.
    pub fn unit_room(&self, handle: u8) -> u64 {
        let pages = self.drive.ftl.unit_room(&self.drive.media, handle);
        pages * self.drive.geometry.page_bytes
    }

    /// The next writes of a handle go to other reclaim units: the rest of the open ones is filled.
    /// Whether there was some.
    pub fn end_units(&mut self, handle: u8) -> bool {
        let filled = if let Some(executor) = &mut self.executor {
            executor.fill_units(&mut self.drive, handle)
        } else {
            let (front, media, errors) = self.drive.split();
            front.ftl.fill_units(&mut Instant { media, reader: Carrying(errors) }, handle)
        };
        filled > 0
    }

    /// Statistics by handle, as `metrics.fdp` has them.
    pub(super) fn placement_section(&self) -> Option<(String, Value)> {
        let facts = self.placement()?;
        let counts = self.drive.ftl.figures().handle_counts();
        let bytes = [facts.host_bytes, facts.media_bytes];
        reclaim_units::section(&self.drive, counts, bytes, self.counts().erases)
    }
}
