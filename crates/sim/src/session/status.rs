//! Status of a session's drive: its activity since it was taken over, and its contents.

use serde_json::{json, Value};

use super::session::Session;
use crate::drive::Counts;
use crate::nand::Contents;

impl Session {
    /// Activity of the drive since the session took it over.
    pub(super) fn counts(&self) -> Counts {
        Counts::of(&self.drive).since(self.origin)
    }

    /// Continues the counts of a session that was cut from power. Programs and erases of the mount
    /// are added; none of them is of a write of the host.
    pub(super) fn count_on(&mut self, done: Counts) {
        let host_programs = Counts::of(&self.drive).host_programs;
        self.origin = Counts { host_programs, ..Counts::default() }.since(done);
    }

    /// Whether the counts of host writes and of their outcomes agree.
    ///
    /// # Errors
    /// The counts, when they do not.
    pub(super) fn account(&self) -> Result<(), String> {
        self.counts().agree()
    }

    /// Activity of the drive since the session took it over, and its contents: `{written_bytes,
    /// programmed_bytes, free_blocks, media_errors, …}`; `unaccounted` reports counters that do not
    /// agree.
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
            "free_blocks": self.drive.ftl.figures().erased_blocks(),
            "mapped_pages": self.drive.ftl.figures().mapped_pages(),
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
