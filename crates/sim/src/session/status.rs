//! Status of a session's drive: its activity since it was taken over, and its contents.

use std::ops::Range;

use serde_json::{json, Value};

use super::session::Session;
use crate::drive::{
    block_figures, emmc_estimates, wellness, zones, Counts, Service, Totals, Wellness,
};
use crate::ftl::zones::ZoneCounts;
use crate::nand::Contents;
use crate::op::Purpose;
use crate::units::{Lpn, SECTOR_BYTES};
use crate::workload::Namespace;

/// The facts that a drive's own logs are made of. Losses of power do not end its counts, and images
/// continue them: they are those of [`Session::status`], and of every time that the drive was
/// served before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vitals {
    /// Spare blocks, wear and warnings; its media errors are those of the flash alone.
    pub wellness: Wellness,
    /// Counts of its whole life.
    pub totals: Totals,
    /// Times with power before it was served this time.
    pub service: Service,
    /// Blocks out of use.
    pub bad_blocks: u64,
    /// Least, mean and highest erase count of good blocks.
    pub erase_counts: [u64; 3],
    /// Share of all blocks that is erased, in percent.
    pub free_pct: u8,
    /// Bytes of map units that hold data.
    pub mapped_bytes: u64,
    /// Temperature that the model takes the flash to have; without an error model the reference.
    pub temperature_c: f64,
}

impl Session {
    /// The facts for the logs of the drive.
    pub fn vitals(&self) -> Vitals {
        let geometry = &self.drive.geometry;
        let figures = self.drive.ftl.figures();
        let blocks = block_figures(&self.drive);
        Vitals {
            wellness: wellness(&self.drive),
            totals: self.totals(),
            service: self.life.service,
            bad_blocks: blocks.bad,
            erase_counts: blocks.erase_counts,
            free_pct: blocks.free_pct,
            mapped_bytes: u64::from(figures.mapped_pages()) * geometry.page_bytes,
            temperature_c: self.drive.config.nand.stress.clone().unwrap_or_default().temperature_c,
        }
    }

    /// The estimates of life of an eMMC: `DEVICE_LIFE_TIME_EST_TYP_B` and `PRE_EOL_INFO`.
    pub(crate) fn emmc_estimates(&self) -> [u32; 2] {
        emmc_estimates(&self.drive)
    }

    /// Bytes of the map units in a range of the drive that hold data.
    pub fn mapped_bytes(&self, range: Range<u64>) -> u64 {
        let unit = self.unit_bytes();
        let units = range.start / unit..range.end.div_ceil(unit);
        let find = |&page: &u64| self.drive.ftl.find(Lpn(page as u32)).is_some();
        let pages = if range == (0..self.capacity_bytes()) {
            u64::from(self.drive.ftl.figures().mapped_pages())
        } else {
            units.clone().filter(find).count() as u64
        };
        // In memory, and not on the flash yet.
        let contents = self.drive.media.contents.as_ref();
        let staged = contents.map_or(0, |it| {
            it.staged()
                .filter(|(unit, is_trim)| {
                    let page = u64::from(unit.lpn);
                    !is_trim && units.contains(&page) && !find(&page)
                })
                .count() as u64
        });
        (pages + staged) * unit
    }

    /// The namespaces that the configuration divides the drive into, if it does.
    pub fn namespaces(&self) -> Vec<Namespace> {
        self.drive.config.namespaces()
    }

    /// Whether the drive has memory that a loss of power empties.
    pub fn has_volatile_cache(&self) -> bool {
        self.drive.buffer.is_some() && !self.drive.config.host.power_loss_protected
    }

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
        let aside = |purpose: Purpose| counts.asides.0[purpose as usize][1] * SECTOR_BYTES;
        let wear = self.drive.media.wear();
        let blocks = wear.blocks();
        let mut status = json!({
            "read_bytes": counts.read_bytes,
            "written_bytes": written,
            "zeroed_bytes": aside(Purpose::Zeroes),
            "copied_bytes": aside(Purpose::CopyTarget),
            "copy_source_bytes": aside(Purpose::CopySource),
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
        });
        // Counts of zones and of handles begin when the drive is made, or its image loaded.
        let of_zones = zones::metrics(&self.drive, &ZoneCounts::default());
        for (name, section) in of_zones.into_iter().chain(self.placement_section()) {
            status[name] = section;
        }
        status
    }
}
