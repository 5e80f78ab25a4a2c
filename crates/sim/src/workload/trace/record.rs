//! A trace in memory: 24 bytes a request, time counted from the first.
//!
//! Addresses stay those of the volume; mapping volumes to one device is the replay's decision.

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
    /// Sectors, at least 1; 0 for a flush.
    pub sector_count: u32,
    /// Volume index in the upper 24 bits, then [`FUA`], operation in the lower 7.
    tag: u32,
}

/// Force unit access in the tag of a record.
const FUA: u32 = 0x80;

impl TraceRecord {
    pub(crate) fn new(arrival: Ns, span: (u64, u32), volume_index: usize, op: HostOp) -> Self {
        debug_assert!(volume_index < VOLUME_COUNT_MAX, "{volume_index} volumes");
        let tag = (volume_index as u32) << 8 | op.index() as u32;
        Self { arrival, sector: span.0, sector_count: span.1, tag }
    }

    /// The same with force unit access, if it writes.
    pub(crate) fn with_fua(self) -> Self {
        let fua = if self.op() == HostOp::Write { FUA } else { 0 };
        Self { tag: self.tag | fua, ..self }
    }

    /// Read, write, trim or flush.
    pub fn op(&self) -> HostOp {
        match self.tag & 0x7f {
            0 => HostOp::Read,
            1 => HostOp::Write,
            2 => HostOp::Trim,
            _ => HostOp::Flush,
        }
    }

    /// Whether it is a write with force unit access.
    pub fn is_fua(&self) -> bool {
        self.tag & FUA != 0
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
                HostOp::Zone(_) => {}
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
        for op in [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush] {
            let mut record = TraceRecord::new(Ns(7), (1 << 54, 9), 5, op).with_fua();
            record.renumber(VOLUME_COUNT_MAX as u32 - 1);
            assert_eq!((record.op(), record.is_fua()), (op, op == HostOp::Write));
            assert_eq!(record.volume_index(), VOLUME_COUNT_MAX - 1);
            assert_eq!(record.sector_end(), (1 << 54) + 9);
        }
    }
}
