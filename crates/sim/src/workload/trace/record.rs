//! A trace in memory: 24 bytes a request, time counted from the first.
//!
//! Addresses stay those of the volume; mapping volumes to one device is the replay's decision.

use super::names::Names;
use super::ops::{op_index, Flags, OPS};
use super::sink::{Event, Scanned, Sink};
use crate::op::HostOp;
use crate::units::Ns;

/// Most volumes a trace may have: their index shares a word of a record with the operation.
pub(crate) const VOLUME_COUNT_MAX: usize = 1 << 24;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Arrival after the first request of the trace.
    pub arrival: Ns,
    /// First sector, on its volume.
    pub sector: u64,
    /// Sectors, at least 1; 0 for a flush, and where the size of a zone that is reset is not known.
    pub sector_count: u32,
    /// Volume index in the upper 24 bits, then flags, the index in [`OPS`] in the lower 3.
    tag: u32,
}

impl TraceRecord {
    pub(crate) fn new(event: &Event<'_>) -> Self {
        let &Event { time, op, flags, span, volume_index, .. } = event;
        debug_assert!(volume_index < VOLUME_COUNT_MAX, "{volume_index} volumes");
        let tag = (volume_index as u32) << 8 | u32::from(flags.bits()) | op_index(op) as u32;
        Self { arrival: time, sector: span.0, sector_count: span.1, tag }
    }

    /// The index in [`OPS`] of its operation.
    pub(crate) fn op_index(&self) -> usize {
        (self.tag & 0x7) as usize
    }

    /// One of [`OPS`].
    pub fn op(&self) -> HostOp {
        OPS[self.op_index()].0
    }

    /// In addition to that.
    pub fn flags(&self) -> Flags {
        Flags::of_bits(self.tag as u8)
    }

    /// Whether it stores data with force unit access.
    pub fn is_fua(&self) -> bool {
        self.flags().has(Flags::FUA)
    }

    /// Index into [`Trace::volumes`].
    pub fn volume_index(&self) -> usize {
        (self.tag >> 8) as usize
    }

    /// Gives the volume another index.
    pub(super) fn renumber(&mut self, volume_index: u32) {
        self.tag = volume_index << 8 | self.tag & 0xff;
    }

    /// First sector after the request.
    pub fn sector_end(&self) -> u64 {
        self.sector + u64::from(self.sector_count)
    }
}

/// A trace that was read completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub(crate) source_name: String,
    pub(crate) format: &'static str,
    pub(crate) records: Vec<TraceRecord>,
    pub(crate) volumes: Vec<String>,
    pub(crate) skipped_lines: u64,
    pub(crate) warnings: Vec<String>,
    /// Of each record, if they were asked for.
    pub(crate) processes: Option<Names>,
    /// The clock of the trace at the first record.
    pub(crate) start: Ns,
}

/// Records while a trace is read.
pub(super) struct Records {
    pub list: Vec<TraceRecord>,
    pub memory_bytes_max: u64,
    pub processes: Option<Names>,
}

/// Room for records at the start; it doubles.
const RECORDS_FIRST: usize = 1024;

impl Sink for Records {
    #[inline]
    fn take(&mut self, event: &Event<'_>, name_bytes: u64) -> bool {
        let count = self.list.len();
        let count_max =
            self.memory_bytes_max.saturating_sub(name_bytes) / size_of::<TraceRecord>() as u64;
        if count as u64 >= count_max {
            return false;
        }
        if count == self.list.capacity() {
            let wanted = (2 * count).max(RECORDS_FIRST).min(count_max as usize);
            if self.list.try_reserve_exact(wanted - count).is_err() {
                return false;
            }
        }
        self.list.push(TraceRecord::new(event));
        if let Some(processes) = &mut self.processes {
            processes.push(event.process);
        }
        true
    }

    fn restart(&mut self) {
        self.list.clear();
        self.processes = self.processes.take().map(|_| Names::default());
    }
}

impl Records {
    /// Drops the requests of the volumes that the trace has twice, and the volumes.
    pub fn drop_volumes(&mut self, scanned: &mut Scanned) {
        let is_kept: Vec<_> =
            scanned.volumes.iter().map(|name| !scanned.repeated.contains(name)).collect();
        let mut indices = Vec::with_capacity(is_kept.len());
        let mut next = 0;
        for &is_kept in &is_kept {
            indices.push(next);
            next += u32::from(is_kept);
        }
        if let Some(processes) = &mut self.processes {
            let mut records = self.list.iter();
            let is_of = |record: &TraceRecord| is_kept[record.volume_index()];
            processes.indices.retain(|_| records.next().is_some_and(is_of));
        }
        self.list.retain_mut(|record| {
            let index = record.volume_index();
            record.renumber(indices[index]);
            is_kept[index]
        });
        let mut kept = is_kept.iter();
        scanned.volumes.retain(|_| kept.next() == Some(&true));
        (scanned.late_count, scanned.request_count) = (0, self.list.len() as u64);
        let mut time_max = Ns(0);
        for record in &self.list {
            scanned.late_count += u64::from(record.arrival < time_max);
            time_max = time_max.max(record.arrival);
        }
    }

    /// Sorts by time, stably; false if there is no memory for it, as much again.
    pub fn sort(&mut self) -> bool {
        let bytes = size_of_val(self.list.as_slice()) as u64;
        let mut spare = Vec::<TraceRecord>::new();
        if bytes > self.memory_bytes_max / 2 || spare.try_reserve_exact(self.list.len()).is_err() {
            return false;
        }
        drop(spare);
        if let Some(processes) = &mut self.processes {
            let mut order: Vec<_> = (0..self.list.len()).collect();
            order.sort_by_key(|&index| self.list[index].arrival);
            processes.indices = order.iter().map(|&index| processes.indices[index]).collect();
        }
        self.list.sort_by_key(|record| record.arrival);
        true
    }

    /// The trace, its times from the earliest on.
    pub fn trace(mut self, source_name: &str, scanned: Scanned, warnings: Vec<String>) -> Trace {
        let start = self.list.iter().map(|record| record.arrival).min().unwrap_or_default();
        for record in &mut self.list {
            record.arrival = record.arrival - start;
        }
        self.list.shrink_to_fit();
        Trace {
            source_name: source_name.to_owned(),
            format: scanned.format,
            records: self.list,
            volumes: scanned.volumes,
            skipped_lines: scanned.skipped_lines,
            warnings,
            processes: self.processes,
            start,
        }
    }
}

/// Counts of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// Requests that read.
    pub read_count: u64,
    /// Requests that write.
    pub write_count: u64,
    /// Requests that trim.
    pub trim_count: u64,
    /// Flushes.
    pub flush_count: u64,
    /// Resets of zones, and appends to them.
    pub zone_count: u64,
    /// Writes with force unit access.
    pub fua_count: u64,
    /// Bytes of all requests.
    pub bytes: u64,
    /// Arrival of the last request after the first.
    pub span: Ns,
    /// Largest sector used, plus one, on any volume.
    pub sector_end_max: u64,
}

impl Trace {
    /// The file, as the user named it.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Name of the format, given or recognised.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// The requests in the order that was asked for; never empty.
    pub fn records(&self) -> &[TraceRecord] {
        &self.records
    }

    /// Names of the volumes, in the order in which the file mentions them.
    pub fn volumes(&self) -> &[String] {
        &self.volumes
    }

    /// Lines that were skipped because they could not be read.
    pub fn skipped_lines(&self) -> u64 {
        self.skipped_lines
    }

    /// Warnings for the user: lines skipped, sorted, rounded.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Counts the whole trace.
    pub fn summary(&self) -> TraceSummary {
        let mut summary = TraceSummary::default();
        for record in &self.records {
            match record.op() {
                HostOp::Read => summary.read_count += 1,
                HostOp::Write => summary.write_count += 1,
                HostOp::Trim | HostOp::TrimMapped => summary.trim_count += 1,
                HostOp::Flush => summary.flush_count += 1,
                HostOp::Zone(_) => summary.zone_count += 1,
            }
            summary.fua_count += u64::from(record.is_fua());
            summary.bytes = summary.bytes.saturating_add(u64::from(record.sector_count) * 512);
            summary.span = summary.span.max(record.arrival);
            summary.sector_end_max = summary.sector_end_max.max(record.sector_end());
        }
        summary
    }

    /// For each volume, the largest sector used, plus one.
    pub(crate) fn volume_ends(&self) -> Vec<u64> {
        let mut ends = vec![0; self.volumes.len()];
        for record in &self.records {
            let end = &mut ends[record.volume_index()];
            *end = record.sector_end().max(*end);
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_small_and_keeps_its_parts() {
        assert!(std::mem::size_of::<TraceRecord>() <= 24);
        for (op, _) in OPS {
            let flags = Flags::FUA.with(Flags::META);
            let (time, span, volume_index) = (Ns(7), (1 << 54, 9), 5);
            let event = Event { time, op, flags, span, volume_index, process: "" };
            let mut record = TraceRecord::new(&event);
            record.renumber(VOLUME_COUNT_MAX as u32 - 1);
            assert_eq!((record.op(), record.flags()), (op, flags));
            assert_eq!(record.volume_index(), VOLUME_COUNT_MAX - 1);
            assert_eq!(record.sector_end(), (1 << 54) + 9);
        }
    }
}
