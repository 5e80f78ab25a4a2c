//! Commands and pages of the host, and the share of them that the drive's memory handled.

use serde::{Deserialize, Serialize};

use crate::op::{HostCommand, Purpose, HOST_OP_KINDS, PURPOSES};

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
    /// Those that logs count apart, since the drive was assembled.
    #[serde(skip)]
    pub asides: Asides,
}

impl HostCounters {
    /// A command has begun.
    #[inline]
    pub(super) fn count(&mut self, command: &HostCommand) {
        let index = command.op.index();
        self.commands[index] += 1;
        self.sectors[index] += u64::from(command.sector_count);
        self.asides.count(command);
    }
}

/// Commands and sectors by [`Purpose`](crate::op::Purpose), those of plain data left out. They are
/// among those of [`HostCounters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Asides(pub [[u64; 2]; PURPOSES]);

impl Asides {
    /// A command that was counted.
    #[inline]
    fn count(&mut self, command: &HostCommand) {
        if command.purpose != Purpose::Data {
            let [commands, sectors] = &mut self.0[command.purpose as usize];
            *commands += 1;
            *sectors += u64::from(command.sector_count);
        }
    }

    /// Some of its sectors were refused.
    pub(super) fn refuse(&mut self, command: &HostCommand, sectors: u64) {
        if command.purpose != Purpose::Data {
            self.0[command.purpose as usize][1] -= sectors;
        }
    }

    /// Each count of both.
    #[must_use]
    pub(crate) fn zip(mut self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let pairs = self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened());
        pairs.for_each(|(one, &other)| *one = with(*one, other));
        self
    }
}
