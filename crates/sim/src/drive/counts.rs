//! The activity of a drive between two moments, all of it from one origin.
//!
//! The counters of the host belong to a drive's health and continue from image to image; those of
//! the flash start at zero with every image and every mount. A quotient of the two is meaningful
//! only if both are differences between the same moments.

use super::drive::{total, Drive};
use super::host_counters::Asides;
use crate::op::{HostOp, Source};
use crate::units::SECTOR_BYTES;

/// Counters of a drive at a moment, or between two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) trimmed_bytes: u64,
    pub(crate) read_commands: u64,
    pub(crate) write_commands: u64,
    pub(crate) flushes: u64,
    pub(crate) fua_writes: u64,
    /// Units that writes of the host touched, and what became of them.
    pub(crate) page_writes: u64,
    pub(crate) host_programs: u64,
    pub(crate) absorbed: u64,
    pub(crate) buffer_trimmed: u64,
    pub(crate) rejected: u64,
    pub(crate) buffered: u64,
    pub(crate) reads: u64,
    pub(crate) programs: u64,
    pub(crate) collections: u64,
    pub(crate) moved: u64,
    pub(crate) erases: u64,
    pub(crate) asides: Asides,
}

impl Counts {
    /// The counts of a drive until now.
    pub(crate) fn of(drive: &Drive) -> Self {
        let (host, ftl) = (&drive.host, drive.ftl.figures().counters());
        let bytes = |kind: HostOp| host.sectors[kind.index()] * SECTOR_BYTES;
        Self {
            read_bytes: bytes(HostOp::Read),
            written_bytes: bytes(HostOp::Write),
            trimmed_bytes: bytes(HostOp::Trim),
            read_commands: host.commands[HostOp::Read.index()],
            write_commands: host.commands[HostOp::Write.index()],
            flushes: host.commands[HostOp::Flush.index()],
            fua_writes: host.fua_writes,
            page_writes: host.page_writes,
            host_programs: ftl.programs[Source::Host as usize],
            absorbed: host.absorbed_pages,
            buffer_trimmed: host.buffer_trimmed_pages,
            rejected: host.rejected_pages,
            buffered: drive.buffered_pages() as u64,
            reads: total(&ftl.reads),
            programs: total(&ftl.programs),
            collections: ftl.erases[Source::Gc as usize],
            moved: ftl.programs[Source::Gc as usize],
            erases: total(&ftl.erases),
            asides: host.asides,
        }
    }

    /// The difference; modulo 2^64, so that one may be taken from less and added up again.
    pub(crate) fn since(self, then: Self) -> Self {
        let less = u64::wrapping_sub;
        Self {
            read_bytes: less(self.read_bytes, then.read_bytes),
            written_bytes: less(self.written_bytes, then.written_bytes),
            trimmed_bytes: less(self.trimmed_bytes, then.trimmed_bytes),
            read_commands: less(self.read_commands, then.read_commands),
            write_commands: less(self.write_commands, then.write_commands),
            flushes: less(self.flushes, then.flushes),
            fua_writes: less(self.fua_writes, then.fua_writes),
            page_writes: less(self.page_writes, then.page_writes),
            host_programs: less(self.host_programs, then.host_programs),
            absorbed: less(self.absorbed, then.absorbed),
            buffer_trimmed: less(self.buffer_trimmed, then.buffer_trimmed),
            rejected: less(self.rejected, then.rejected),
            buffered: less(self.buffered, then.buffered),
            reads: less(self.reads, then.reads),
            programs: less(self.programs, then.programs),
            collections: less(self.collections, then.collections),
            moved: less(self.moved, then.moved),
            erases: less(self.erases, then.erases),
            asides: self.asides.zip(&then.asides, less),
        }
    }

    /// Whether every unit that the host wrote is accounted for: programmed, overwritten or trimmed
    /// while it waited in the write buffer, refused for want of room, or waiting still. What waited
    /// before counts against what waits now.
    pub(crate) fn agree(&self) -> Result<(), String> {
        let parts =
            [self.host_programs, self.absorbed, self.buffer_trimmed, self.rejected, self.buffered];
        let found = parts.iter().fold(0, |sum: u64, part| sum.wrapping_add(*part));
        if found == self.page_writes {
            return Ok(());
        }
        // Differences below zero are so modulo 2^64.
        let signed = |count: u64| i64::from_ne_bytes(count.to_ne_bytes());
        Err(format!(
            "{} units written by the host, {} accounted for: {} programmed, {} overwritten and {} \
             trimmed in the write buffer, {} without room, {} waiting",
            self.page_writes,
            signed(found),
            parts[0],
            parts[1],
            parts[2],
            parts[3],
            signed(parts[4]),
        ))
    }
}
