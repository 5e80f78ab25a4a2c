//! What a session counts: what its drive did since the session took it over, all from one origin.
//!
//! The counters of the host are of a drive's health and go on from image to image; those of the
//! flash begin anew with every image and every mount. A quotient of the two means something only
//! where both are differences between the same moments.

use serde_json::{json, Value};

use super::drive::{total, Drive};
use super::session::Session;
use crate::nand::Contents;
use crate::op::{HostOp, Source};
use crate::units::SECTOR_BYTES;

/// Counters of a drive at a moment, or between two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    read_bytes: u64,
    written_bytes: u64,
    trimmed_bytes: u64,
    flushes: u64,
    fua_writes: u64,
    /// Units that writes of the host touched, and what became of them.
    page_writes: u64,
    host_programs: u64,
    absorbed: u64,
    buffer_trimmed: u64,
    rejected: u64,
    buffered: u64,
    programs: u64,
    collections: u64,
    moved: u64,
    erases: u64,
}

impl Counts {
    /// What a drive has counted until now.
    pub(super) fn of(drive: &Drive) -> Self {
        let (host, ftl) = (&drive.host, drive.ftl.counters());
        let bytes = |kind: HostOp| host.sectors[kind.index()] * SECTOR_BYTES;
        Self {
            read_bytes: bytes(HostOp::Read),
            written_bytes: bytes(HostOp::Write),
            trimmed_bytes: bytes(HostOp::Trim),
            flushes: host.commands[HostOp::Flush.index()],
            fua_writes: host.fua_writes,
            page_writes: host.page_writes,
            host_programs: ftl.programs[Source::Host as usize],
            absorbed: host.absorbed_pages,
            buffer_trimmed: host.buffer_trimmed_pages,
            rejected: host.rejected_pages,
            buffered: drive.buffered_pages() as u64,
            programs: total(&ftl.programs),
            collections: ftl.erases[Source::Gc as usize],
            moved: ftl.programs[Source::Gc as usize],
            erases: total(&ftl.erases),
        }
    }

    /// The difference; modulo 2^64, so that one may be taken from less and added up again.
    fn since(self, then: Self) -> Self {
        let less = u64::wrapping_sub;
        Self {
            read_bytes: less(self.read_bytes, then.read_bytes),
            written_bytes: less(self.written_bytes, then.written_bytes),
            trimmed_bytes: less(self.trimmed_bytes, then.trimmed_bytes),
            flushes: less(self.flushes, then.flushes),
            fua_writes: less(self.fua_writes, then.fua_writes),
            page_writes: less(self.page_writes, then.page_writes),
            host_programs: less(self.host_programs, then.host_programs),
            absorbed: less(self.absorbed, then.absorbed),
            buffer_trimmed: less(self.buffer_trimmed, then.buffer_trimmed),
            rejected: less(self.rejected, then.rejected),
            buffered: less(self.buffered, then.buffered),
            programs: less(self.programs, then.programs),
            collections: less(self.collections, then.collections),
            moved: less(self.moved, then.moved),
            erases: less(self.erases, then.erases),
        }
    }

    /// Whether every unit that the host wrote is accounted for: programmed, overwritten or trimmed
    /// while it waited in the write buffer, refused for want of room, or waiting still. What waited
    /// before counts against what waits now.
    fn agree(&self) -> Result<(), String> {
        let parts =
            [self.host_programs, self.absorbed, self.buffer_trimmed, self.rejected, self.buffered];
        let found = parts.iter().fold(0, |sum: u64, part| sum.wrapping_add(*part));
        if found == self.page_writes {
            return Ok(());
        }
        Err(format!(
            "{} units written by the host, {} accounted for: {} programmed, {} overwritten and {} \
             trimmed in the write buffer, {} without room, {} waiting",
            self.page_writes, found as i64, parts[0], parts[1], parts[2], parts[3], parts[4] as i64,
        ))
    }
}

impl Session {
    /// What the drive did since the session took it over.
    pub(super) fn counts(&self) -> Counts {
        Counts::of(&self.drive).since(self.origin)
    }

    /// Goes on counting where a session ended that was cut from power. What the mount programmed
    /// and erased is added; none of it is of a write of the host.
    pub(super) fn count_on(&mut self, done: Counts) {
        let host_programs = Counts::of(&self.drive).host_programs;
        self.origin = Counts { host_programs, ..Counts::default() }.since(done);
    }

    /// Whether what the host wrote and what became of it agree.
    ///
    /// # Errors
    /// The counts, when they do not.
    pub(super) fn account(&self) -> Result<(), String> {
        self.counts().agree()
    }

    /// What the drive did since the session took it over, and what it holds: `{written_bytes,
    /// programmed_bytes, free_blocks, media_errors, …}`; `unaccounted` tells of counters that do
    /// not agree.
    pub fn status(&self) -> Value {
        let counts = self.counts();
        let contents = self.drive.media.contents.as_deref();
        let geometry = &self.drive.geometry;
        let programmed = geometry.physical_pages_of(counts.programs) * geometry.page_bytes;
        let written = counts.written_bytes;
        let wear = self.drive.media.wear();
        let blocks = wear.blocks();
        json!({
            "read_bytes": counts.read_bytes,
            "written_bytes": written,
            "trimmed_bytes": counts.trimmed_bytes,
            "flushes": counts.flushes,
            "fua_writes": counts.fua_writes,
            "programmed_bytes": programmed,
            "waf": (written > 0).then(|| programmed as f64 / written as f64),
            "collections": counts.collections,
            "moved_pages": counts.moved,
            "erases": counts.erases,
            "free_blocks": self.drive.ftl.erased_blocks(),
            "mapped_pages": self.drive.ftl.mapped_pages(),
            "buffered_pages": self.drive.buffered_pages(),
            "media_errors": contents.map_or(0, |it| it.media_errors),
            "media_errors_by_cause": contents.map_or(json!({}), |it| json!(it.errors_by_cause)),
            "silent_errors": contents.map_or(0, |it| it.silent_errors),
            "faults_struck": self.faults.struck.len(),
            "stored_bytes": contents.map_or(0, Contents::stored_bytes),
            "uncorrectable_reads": self.lost_reads(),
            "erase_count_mean": (blocks > 0).then(|| wear.erases() as f64 / f64::from(blocks)),
            "erase_count_max": wear.highest(),
            "is_worn_out": self.drive.is_worn_out,
            "unaccounted": counts.agree().err(),
        })
    }
}
