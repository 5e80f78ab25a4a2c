//! Commands and pages of the host, and the share of them that the drive's memory handled.

use serde::{Deserialize, Serialize};

use crate::op::HOST_OP_KINDS;

/// Counters of the commands of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounters {
    /// Commands started, by [`HostOp::index`]: read, write, trim, flush.
    pub commands: [u64; HOST_OP_KINDS],
    /// Sectors read, written and trimmed; those of refused page writes are not among them.
    pub sectors: [u64; HOST_OP_KINDS],
    /// Pages that writes touched.
    pub page_writes: u64,
    /// Page writes that the write buffer absorbed.
    pub absorbed_pages: u64,
    /// Pages that were trimmed while they waited in the write buffer.
    pub buffer_trimmed_pages: u64,
    /// Page reads served by the write buffer.
    pub buffer_read_pages: u64,
    /// Page reads served by the read cache.
    pub read_cache_hits: u64,
    /// Page reads of the flash ahead of a sequential reader.
    pub ahead_pages: u64,
    /// Page reads served by pages that were read ahead.
    pub ahead_hits: u64,
    /// Pages that flush commands took out of the write buffer.
    pub flushed_pages: u64,
    /// Writes that asked for force unit access.
    pub fua_writes: u64,
    /// Page reads of logical pages that hold nothing.
    pub unmapped_read_pages: u64,
    /// Trims that never found a mapped page.
    pub missed_trims: u64,
    /// Pages that found no room because the drive is worn out, also on their way out of the write
    /// buffer.
    pub rejected_pages: u64,
    /// Page writes that the host was refused.
    pub refused_page_writes: u64,
}
