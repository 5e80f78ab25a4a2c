//! What a trace holds, without a drive: counts, footprint, locality, in one pass.
//!
//! Pages are of any size from a sector to 64 KiB. A page is a number on a volume. The *reuse
//! distance* of a page access is the number of other pages that were accessed since the last access
//! to it: an LRU cache of more pages than that has it. The *overwrite distance* is the number of
//! page writes since the last write to the page; a trim of the whole page ends it.

use serde::Serialize;

use super::counts::{Bins, Log2, OpCounts, NO_BINS};
use super::names::Index;
use super::ops::{op_index, Flags};
use super::pages::{hash, Page, Pages};
use super::read::{scan, Reading};
use super::sink::{Event, Scanned, Sink};
use super::{Trace, TraceError, TraceOptions};
use crate::op::HostOp;
use crate::units::{Ns, SECTOR_BYTES};

/// Largest page: its sectors are bits of a word.
const PAGE_BYTES_MAX: u64 = 64 << 10;
/// Processes and volumes that are counted by name; the others are counted together.
const NAMES_MAX: usize = 1 << 16;

/// What a trace holds.
#[derive(Clone, Debug, Serialize)]
pub struct Statistics {
    /// By operation.
    pub ops: OpCounts,
    /// By volume, in the order of the trace.
    pub volumes: Vec<(String, OpCounts)>,
    /// By process, in the order of the trace; without names, none.
    pub processes: Vec<(String, OpCounts)>,
    /// Requests with each flag.
    pub flags: Vec<(&'static str, u64)>,
    /// Sizes of reads and of writes, in sectors.
    pub sizes: [Log2; 2],
    /// From the first to the last request.
    pub span_ns: u64,
    /// Mean time between requests, and its standard deviation divided by it.
    pub gap_ns_mean: Option<f64>,
    /// The deviation.
    pub gap_cv: Option<f64>,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// One of this number of pages was kept; 1 if the counts of pages are exact.
    pub sampled_one_in: u64,
    /// Sectors that were read or written.
    pub footprint_sectors: u64,
    /// Pages that were read or written, read, written, and both.
    pub footprint_pages: u64,
    /// Pages that were read.
    pub read_pages: u64,
    /// Pages that were written.
    pub written_pages: u64,
    /// Pages that were both.
    pub both_pages: u64,
    /// Page writes, each time that a page is written.
    pub page_writes: u64,
    /// Reads and writes that begin where the one before ended, of the same operation and volume.
    pub sequential: u64,
    /// Accesses to pages that were not accessed before.
    pub reuse_cold: u64,
    /// Reuse distances of the others, in pages.
    pub reuse: Log2,
    /// Overwrite distances, in page writes.
    pub overwrite_pages: Log2,
    /// The same in microseconds.
    pub overwrite_us: Log2,
    /// Requests out of the order of time.
    pub late_count: u64,
    /// Line, or byte of a record, of the first of them.
    pub first_late: Option<u64>,
    /// Requests at the same time and place as one of another file; see [`Trace::join`].
    pub duplicates: u64,
    /// The format, given or recognised.
    pub format: String,
    /// Lines that were skipped.
    pub skipped_lines: u64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// How pages are counted.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that are kept at most; beyond, some of them are counted for all.
    pub pages_max: usize,
}

/// Gathers statistics.
pub(super) struct Gathering {
    page_sectors: u64,
    pages: Pages,
    volumes: Vec<OpCounts>,
    processes: Vec<(String, OpCounts)>,
    process_indices: Index,
    flags: [u64; Flags::KEPT.len()],
    sizes: [Bins; 2],
    first: Option<Ns>,
    time_max: Ns,
    gap_square_sum: f64,
    request_count: u64,
    page_writes: u64,
    sequential: u64,
    /// By volume: where the last read and write ended.
    ends: Vec<[u64; 2]>,
    reuse_cold: u64,
    reuse: Bins,
    overwrite_pages: Bins,
    overwrite_us: Bins,
    /// Volumes that do not count.
    left_out: Vec<bool>,
    /// Page accesses that are counted together, which saves waiting for the memory.
    pending: Vec<Access>,
}

/// An access to a page.
struct Access {
    key: u64,
    hash: u64,
    time: Ns,
    /// Page writes before it; `u64::MAX` of a read.
    write: u64,
    /// The first of its sectors in the page, and the one behind the last.
    sectors: (u8, u8),
}

/// Accesses that are counted together.
const PENDING_MAX: usize = 64;
/// Pages of which the caches of a processor hold all.
const CACHED_PAGES: usize = 1 << 12;

impl Gathering {
    pub fn new(page_bytes: u64, pages_max: usize) -> Self {
        Self {
            page_sectors: page_bytes / SECTOR_BYTES,
            pages: Pages::new(pages_max),
            volumes: Vec::new(),
            processes: Vec::new(),
            process_indices: Index::default(),
            flags: [0; Flags::KEPT.len()],
            sizes: [NO_BINS, NO_BINS],
            first: None,
            time_max: Ns(0),
            gap_square_sum: 0.0,
            request_count: 0,
            page_writes: 0,
            sequential: 0,
            ends: Vec::new(),
            reuse_cold: 0,
            reuse: NO_BINS,
            overwrite_pages: NO_BINS,
            overwrite_us: NO_BINS,
            left_out: Vec::new(),
            pending: Vec::with_capacity(PENDING_MAX),
        }
    }

    fn by_process(&mut self, name: &str) -> Option<&mut OpCounts> {
        if name.is_empty() {
            return None;
        }
        let has_room = self.processes.len() < NAMES_MAX;
        let index = self.process_indices.get(name).unwrap_or_else(|| {
            let name = if has_room { name } else { "(others)" };
            self.process_indices.get(name).unwrap_or_else(|| {
                self.process_indices.insert(name, self.processes.len());
                self.processes.push((name.to_owned(), OpCounts::default()));
                self.processes.len() - 1
            })
        });
        Some(&mut self.processes[index].1)
    }

    /// A read or a write.
    fn access(&mut self, event: &Event<'_>) {
        let (sector, count) = (event.span.0, u64::from(event.span.1));
        let is_write = event.op == HostOp::Write;
        self.sizes[usize::from(is_write)].add(count, 1);
        let end = &mut self.ends[event.volume_index][usize::from(is_write)];
        self.sequential += u64::from(*end == sector);
        *end = sector + count;
        let page_sectors = self.page_sectors;
        let (first, last) = (sector / page_sectors, (sector + count - 1) / page_sectors);
        for page in first..=last {
            let key = key(event.volume_index, page);
            let hash = hash(key);
            if self.pages.keeps(hash) {
                let start = page * page_sectors;
                let from = sector.saturating_sub(start) as u8;
                let to = (sector + count - start).min(page_sectors) as u8;
                let write = if is_write { self.page_writes } else { u64::MAX };
                let (time, sectors) = (event.time, (from, to));
                self.pending.push(Access { key, hash, time, write, sectors });
                if self.pending.len() == PENDING_MAX {
                    self.settle();
                }
            }
            self.page_writes += u64::from(is_write);
        }
    }

    /// Counts the accesses that wait.
    fn settle(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        if self.pages.list.len() > CACHED_PAGES {
            let hashes = pending.iter().map(|access| access.hash);
            std::hint::black_box(self.pages.warm::<PENDING_MAX>(hashes));
        }
        for access in &pending {
            self.count(access);
        }
        pending.clear();
        self.pending = pending;
    }

    #[inline]
    fn count(&mut self, access: &Access) {
        let Some((index, distance)) = self.pages.access(access.key, access.hash) else { return };
        let rate = self.pages.rate();
        match distance {
            None => self.reuse_cold += rate,
            Some(distance) => self.reuse.add(distance * rate, rate),
        }
        let found = &mut self.pages.list[index];
        let (from, to) = access.sectors;
        found.sectors |= u128::MAX >> (128 - (to - from)) << from;
        if access.write == u64::MAX {
            found.is_read = true;
        } else {
            found.is_written = true;
            if found.write != u64::MAX {
                self.overwrite_pages.add(access.write - found.write, rate);
                let ns = access.time.0.saturating_sub(found.write_time.0);
                self.overwrite_us.add(ns / 1_000, rate);
            }
            (found.write, found.write_time) = (access.write, access.time);
        }
        if distance.is_none() {
            self.pages.make_room();
        }
    }

    /// Ends the overwrites of the pages that are trimmed as a whole.
    fn trim(&mut self, event: &Event<'_>) {
        self.settle();
        let first = event.span.0.div_ceil(self.page_sectors);
        let limit = (event.span.0 + u64::from(event.span.1)) / self.page_sectors;
        let keys = key(event.volume_index, first)..key(event.volume_index, limit);
        if limit.saturating_sub(first) < self.pages.list.len() as u64 {
            for key in keys {
                if let Ok(index) = self.pages.find(key, hash(key)) {
                    self.pages.list[index].write = u64::MAX;
                }
            }
        } else {
            for page in &mut self.pages.list {
                if keys.contains(&page.key) {
                    page.write = u64::MAX;
                }
            }
        }
    }

    /// The result; names of volumes are those of the trace.
    fn finish(mut self, scanned: Scanned, source_name: &str) -> Statistics {
        self.settle();
        let done = "; gaps and distances are those of the order of the file";
        let warnings = scanned.warnings(source_name, done);
        let span = self.time_max - self.first.unwrap_or_default();
        let gaps = self.request_count.saturating_sub(1);
        let gap_ns_mean = (gaps > 0).then(|| span.0 as f64 / gaps as f64);
        let gap_cv = gap_ns_mean
            .filter(|mean| *mean > 0.0)
            .map(|mean| (self.gap_square_sum / gaps as f64 - mean * mean).max(0.0).sqrt() / mean);
        let rate = self.pages.rate();
        let pages = &self.pages.list;
        let count =
            |is: fn(&Page) -> bool| pages.iter().filter(|page| is(page)).count() as u64 * rate;
        let mut ops = OpCounts::default();
        for counts in &self.volumes {
            ops = std::array::from_fn(|at| ops[at].plus(&counts[at]));
        }
        let flags = Flags::KEPT.iter().zip(self.flags);
        Statistics {
            ops,
            volumes: scanned
                .volumes
                .into_iter()
                .zip(self.volumes)
                .filter(|(_, counts)| counts.iter().any(|counts| counts.count > 0))
                .collect(),
            processes: self.processes,
            flags: flags.map(|((_, name, _), count)| (*name, count)).collect(),
            sizes: self.sizes.map(|bins| bins.histogram()),
            span_ns: span.0,
            gap_ns_mean,
            gap_cv,
            page_bytes: self.page_sectors * SECTOR_BYTES,
            sampled_one_in: rate,
            footprint_sectors: pages
                .iter()
                .map(|page| u64::from(page.sectors.count_ones()))
                .sum::<u64>()
                * rate,
            footprint_pages: count(|_| true),
            read_pages: count(|page| page.is_read),
            written_pages: count(|page| page.is_written),
            both_pages: count(|page| page.is_read && page.is_written),
            page_writes: self.page_writes,
            sequential: self.sequential,
            reuse_cold: self.reuse_cold,
            reuse: self.reuse.histogram(),
            overwrite_pages: self.overwrite_pages.histogram(),
            overwrite_us: self.overwrite_us.histogram(),
            late_count: scanned.late_count,
            first_late: scanned.first_late,
            duplicates: 0,
            format: scanned.format.to_owned(),
            skipped_lines: scanned.skipped_lines,
            warnings,
        }
    }
}

/// A page of a volume as one number; volumes are at most 2^24, and pages of a sector 2^40 (512 TiB)
/// before they are those of other volumes.
fn key(volume_index: usize, page: u64) -> u64 {
    ((volume_index as u64) << 40).wrapping_add(page)
}

impl Sink for Gathering {
    fn take(&mut self, event: &Event<'_>, _: u64) -> bool {
        if self.left_out.get(event.volume_index) == Some(&true) {
            return true;
        }
        let kind = op_index(event.op);
        let bytes = u64::from(event.span.1) * SECTOR_BYTES;
        let is_fua = event.flags.has(Flags::FUA);
        if event.flags != Flags::default() {
            for (count, (flag, ..)) in self.flags.iter_mut().zip(Flags::KEPT) {
                *count += u64::from(event.flags.has(flag));
            }
        }
        if self.volumes.len() <= event.volume_index {
            self.volumes.resize(event.volume_index + 1, OpCounts::default());
            self.ends.resize(event.volume_index + 1, [u64::MAX; 2]);
        }
        self.volumes[event.volume_index][kind].add(bytes, is_fua);
        if let Some(counts) = self.by_process(event.process) {
            counts[kind].add(bytes, is_fua);
        }
        let first = *self.first.get_or_insert(event.time);
        if self.request_count == 0 {
            self.time_max = event.time;
        }
        // A request that is late comes at once; the first one counts from the earliest.
        self.first = Some(first.min(event.time));
        let gap = event.time.0.saturating_sub(self.time_max.0) as f64;
        self.gap_square_sum += gap * gap;
        self.time_max = self.time_max.max(event.time);
        self.request_count += 1;
        match kind {
            // An append is somewhere in its zone.
            0 | 1 => self.access(event),
            2 => self.trim(event),
            _ => {}
        }
        true
    }

    fn restart(&mut self) {
        let page_bytes = self.page_sectors * SECTOR_BYTES;
        let left_out = std::mem::take(&mut self.left_out);
        *self = Self { left_out, ..Self::new(page_bytes, self.pages.count_max) };
    }
}

impl Statistics {
    /// Reads a trace from what `open` opens, called `source_name` in messages: once, and a second
    /// time if it has requests of stacked devices.
    ///
    /// # Errors
    /// As of [`Trace::read`], for pages that are no power of two from 512 B to 64 KiB, and of
    /// `open`.
    pub fn read<E: From<TraceError>>(
        open: impl Fn(&mut Reading<'_>) -> Result<(), E>,
        source_name: &str,
        options: &TraceOptions,
        shape: Shape,
    ) -> Result<Self, E> {
        let Shape { page_bytes, pages_max } = shape;
        if !page_bytes.is_power_of_two() || !(SECTOR_BYTES..=PAGE_BYTES_MAX).contains(&page_bytes) {
            let message = format!(
                "pages of {page_bytes} B; accepted: a power of two from {SECTOR_BYTES} to \
                 {PAGE_BYTES_MAX}"
            );
            return Err(TraceError::File { source_name: source_name.to_owned(), message }.into());
        }
        let mut gathering = Gathering::new(page_bytes, pages_max);
        let mut found = scan(&open, source_name, options, &mut gathering)?;
        if !found.repeated.is_empty() {
            let repeated = std::mem::take(&mut found.repeated);
            gathering = Gathering::new(page_bytes, pages_max);
            gathering.left_out = found.volumes.iter().map(|name| repeated.contains(name)).collect();
            found = scan(&open, source_name, options, &mut gathering)?;
        }
        if let Some(fault) = found.fault.take() {
            return Err(fault.into());
        }
        Ok(gathering.finish(found, source_name))
    }

    /// Of a trace in memory.
    pub fn of(trace: &Trace, shape: Shape) -> Self {
        let mut gathering = Gathering::new(shape.page_bytes, shape.pages_max);
        for (index, record) in trace.records().iter().enumerate() {
            let process = trace.processes.as_ref().map_or("", |names| names.get(index));
            let event = Event {
                time: record.arrival,
                op: record.op(),
                flags: record.flags(),
                span: (record.sector, record.sector_count),
                volume_index: record.volume_index(),
                process,
            };
            gathering.take(&event, 0);
        }
        let scanned = Scanned {
            format: trace.format,
            volumes: trace.volumes.clone(),
            skipped_lines: trace.skipped_lines,
            request_count: trace.records.len() as u64,
            late_count: 0,
            first_late: None,
            repeated: Vec::new(),
            name_bytes: 0,
            fault: None,
            warnings: trace.warnings.clone(),
            rounded_warning: None,
        };
        gathering.finish(scanned, trace.source_name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const PAGES_MAX: usize = 1 << 22;

    fn statistics(text: &str) -> Statistics {
        let options = TraceOptions::default();
        let open = |read: &mut Reading<'_>| read(&mut text.as_bytes(), "t");
        let shape = Shape { page_bytes: 4096, pages_max: PAGES_MAX };
        Statistics::read::<TraceError>(open, "t", &options, shape).unwrap()
    }

    /// Ten requests, counted by hand.
    #[test]
    fn ten_requests_by_hand() {
        let found = statistics(
            "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n\
             0,write,0,4096,v0,1,\n10000,write,4096,4096,v0,1,\n20000,read,0,8192,v0,2,\n\
             30000,write,0,4096,v0,1,\n45000,trim,32768,8192,v0,1,\n50000,flush,0,0,v0,1,\n\
             70000,write,8192,4096,v1,2,\n70000,read,51200,4096,v0,2,\n\
             100000,write,2048,4096,v0,1,\n130000,read,4096,4096,v0,2,\n",
        );
        let counts = found.ops.map(|counts| (counts.count, counts.bytes));
        assert_eq!(counts, [(3, 16_384), (5, 20_480), (1, 8192), (1, 0), (0, 0), (0, 0)]);
        assert_eq!((found.span_ns, found.footprint_sectors), (130_000, 32));
        let pages = (found.footprint_pages, found.read_pages, found.written_pages);
        assert_eq!((pages, found.both_pages, found.page_writes), ((5, 4, 3), 2, 6));
        assert!((found.gap_ns_mean.unwrap() - 14_444.444).abs() < 0.001);
        assert!((found.gap_cv.unwrap() - 0.6815).abs() < 0.0001);
        // Of 8; distances 1, 1, 1, 3, 4, 0, and overwrites 2, 2, 4 after 30, 70 and 90 us.
        assert_eq!((found.sequential, found.reuse_cold), (1, 5));
        assert_eq!(found.reuse.bins, [1, 3, 1, 1]);
        assert_eq!(found.overwrite_pages.bins, [0, 0, 2, 1]);
        assert_eq!(found.overwrite_us.bins, [0, 0, 0, 0, 0, 1, 0, 2]);
        let names: Vec<_> =
            found.volumes.iter().map(|(name, ops)| (&**name, ops[1].count)).collect();
        assert_eq!(names, [("v0", 4), ("v1", 1)]);
        let of = |name: &str| found.processes.iter().find(|(it, _)| it == name).unwrap().1;
        assert_eq!((of("1")[1].count, of("2")[0].count, of("2")[1].count), (4, 3, 1));
    }

    /// Histograms of the distances of page accesses, counted one by one.
    fn naive(accesses: &[u64]) -> (u64, Log2) {
        let (mut cold, mut reuse) = (0, NO_BINS);
        for (at, page) in accesses.iter().enumerate() {
            match accesses[..at].iter().rposition(|other| other == page) {
                None => cold += 1,
                Some(last) => {
                    let others: BTreeSet<_> = accesses[last + 1..at].iter().collect();
                    reuse.add(others.len() as u64, 1);
                }
            }
        }
        (cold, reuse.histogram())
    }

    fn found(accesses: &[u64], pages_max: usize) -> Gathering {
        let mut gathering = Gathering::new(4096, pages_max);
        for &page in accesses {
            let span = (page * 8, 8);
            let (op, time) = (HostOp::Read, Ns(0));
            let flags = Flags::default();
            let event = Event { time, op, flags, span, volume_index: 0, process: "" };
            assert!(gathering.take(&event, 0));
        }
        gathering.settle();
        gathering
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn reuse_distances_are_those_of_counting(
            accesses in prop::collection::vec(0_u64..300, 0..2500),
        ) {
            let gathering = found(&accesses, PAGES_MAX);
            prop_assert_eq!((gathering.reuse_cold, gathering.reuse.histogram()), naive(&accesses));
        }
    }

    /// Page 0 has the hash that each rate keeps.
    #[test]
    fn room_for_one_page_ends() {
        assert_eq!(hash(0), 0);
        assert_eq!(found(&[0, 1, 0, 2], 1).pages.list.len(), 1);
    }

    /// 60,000 accesses to 20,000 pages, with room for 2,000.
    #[test]
    fn many_pages_are_sampled_and_the_rate_is_known() {
        let accesses: Vec<_> = (0..60_000_u64).map(|at| hash(at) % 20_000).collect();
        let exact = found(&accesses, PAGES_MAX);
        let sampled = found(&accesses, 2_000);
        assert_eq!((exact.pages.rate(), sampled.pages.rate()), (1, 16));
        let pages = sampled.pages.list.len() as f64 * 16.0;
        let expected = exact.pages.list.len() as f64;
        assert!((pages / expected - 1.0).abs() < 0.1, "{pages} of {expected}");
        let large = |gathering: &Gathering| gathering.reuse.0[13..].iter().sum::<u64>() as f64;
        let ratio = large(&sampled) / large(&exact);
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }
}
