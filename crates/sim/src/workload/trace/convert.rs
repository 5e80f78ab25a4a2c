//! Traces joined, cut, repeated and renumbered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::Names;
use super::{Trace, TraceRecord};
use crate::op::HostOp;
use crate::units::{Ns, SECTOR_BYTES};

/// The common zero of the times of traces that are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Each begins at 0.
    #[default]
    Start,
    /// By the clocks of the traces.
    Clock,
}

/// Addresses of the requests in the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// As in the trace.
    #[default]
    Keep,
    /// Modulo the size of the target, volume by volume.
    Wrap,
    /// Page numbers shrink by one factor, so that the longest volume fits the target.
    Scale,
    /// The pages that are touched are numbered from 0, through all volumes.
    Dense,
}

/// Changes to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Edit {
    /// Requests from this time on, in nanoseconds after the first; default 0.
    pub from_ns: u64,
    /// Requests before this time.
    pub to_ns: Option<u64>,
    /// Factor on times; default 1.
    pub time_scale: f64,
    /// The whole, one time after the other; default 1.
    pub repeat: u64,
    /// From the start of one to that of the next; default the span and the mean gap.
    pub period_ns: Option<u64>,
    /// Addresses of the requests; default `keep`.
    pub addresses: Addresses,
    /// Bytes of the target, for `wrap` and `scale`.
    pub size_bytes: Option<u64>,
    /// Bytes of a page, for `scale`, `dense` and the counts; default 4096.
    pub page_bytes: u64,
}

impl Default for Edit {
    fn default() -> Self {
        Self {
            from_ns: 0,
            to_ns: None,
            time_scale: 1.0,
            repeat: 1,
            period_ns: None,
            addresses: Addresses::Keep,
            size_bytes: None,
            page_bytes: 4096,
        }
    }
}

/// Pages that requests touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PageCounts {
    /// In the trace.
    pub before: u64,
    /// In the result.
    pub after: u64,
    /// The difference.
    pub merged: u64,
}

impl Trace {
    /// One trace of several, by time, and in the order of the files if times are equal. Volumes of
    /// one name are one. Also the requests that a file has within a microsecond of the same one of
    /// another: they are dropped if `drops_duplicates`.
    pub fn join(traces: &[Self], align: Align, drops_duplicates: bool) -> (Self, u64) {
        let first = traces.iter().map(|trace| trace.start).min().unwrap_or_default();
        let mut records = Vec::new();
        let mut volumes: Vec<String> = Vec::new();
        let mut warnings = Vec::new();
        let (mut skipped_lines, mut format) = (0, "");
        let names: Vec<_> = traces.iter().map(|trace| trace.source_name.clone()).collect();
        for (file, trace) in traces.iter().enumerate() {
            let shift = if align == Align::Clock { trace.start - first } else { Ns(0) };
            let mut index_of = |name: &String| {
                volumes.iter().position(|known| known == name).unwrap_or_else(|| {
                    volumes.push(name.clone());
                    volumes.len() - 1
                })
            };
            let indices: Vec<_> = trace.volumes.iter().map(&mut index_of).collect();
            for (index, record) in trace.records.iter().enumerate() {
                let mut record = *record;
                record.renumber(indices[record.volume_index()] as u32);
                record.arrival = Ns(record.arrival.0 + shift.0);
                records.push((record, file, index));
            }
            warnings.extend(trace.warnings.iter().cloned());
            skipped_lines += trace.skipped_lines;
            format = if file == 0 || format == trace.format { trace.format } else { "several" };
        }
        records.sort_by_key(|(record, ..)| record.arrival);
        let process = |file: usize, index: usize| {
            traces[file].processes.as_ref().map_or("", |names| names.get(index))
        };
        let mut is_twice = vec![false; records.len()];
        let mut window = 0;
        for at in 0..records.len() {
            let (record, file, index) = records[at];
            while records[window].0.arrival.0 + 1_000 < record.arrival.0 {
                window += 1;
            }
            is_twice[at] = (window..at).any(|before| {
                let (mut other, other_file, other_index) = records[before];
                other.arrival = record.arrival;
                other_file != file
                    && !is_twice[before]
                    && other == record
                    && process(other_file, other_index) == process(file, index)
            });
        }
        let duplicates = is_twice.iter().filter(|is| **is).count() as u64;
        let mut processes = Names::default();
        let mut kept = Vec::with_capacity(records.len());
        for ((record, file, index), is_twice) in records.into_iter().zip(is_twice) {
            if !(is_twice && drops_duplicates) {
                processes.push(process(file, index));
                kept.push(record);
            }
        }
        let joined = Self {
            source_name: names.join(" + "),
            format,
            records: kept,
            volumes,
            skipped_lines,
            warnings,
            processes: Some(processes),
            start: first,
        };
        (joined, duplicates)
    }

    /// The trace after the changes, and its pages before and after.
    ///
    /// # Errors
    /// A value that is not possible, or no request that is left.
    pub fn edit(&self, edit: &Edit) -> Result<(Self, PageCounts), String> {
        let Edit { time_scale, repeat, page_bytes, .. } = *edit;
        if !page_bytes.is_power_of_two() || page_bytes < SECTOR_BYTES {
            return Err(format!("pages of {page_bytes} B; accepted: a power of two from 512"));
        }
        if !(1e-6..=1e6).contains(&time_scale) {
            return Err(format!("times by {time_scale}; accepted: 1e-6 to 1e6"));
        }
        if repeat == 0 {
            return Err("0 times; accepted: at least 1".to_owned());
        }
        // Whole numbers stay exact.
        let is_scaled = (time_scale - 1.0).abs() > 0.0;
        let page_sectors = page_bytes / SECTOR_BYTES;
        let places = Places::new(self, edit, page_sectors)?;
        let is_in = |record: &TraceRecord| {
            record.arrival.0 >= edit.from_ns && edit.to_ns.is_none_or(|to| record.arrival.0 < to)
        };
        let mut processes = self.processes.as_ref().map(|_| Names::default());
        let mut records = Vec::new();
        let (mut before, mut after) = (Intervals::default(), Intervals::default());
        for (index, record) in self.records.iter().enumerate().filter(|(_, it)| is_in(it)) {
            let mut record = *record;
            if record.sector_count > 0 {
                before.add(&record, page_sectors);
                (record.sector, record.sector_count) = places.of(&record);
                after.add(&record, page_sectors);
            }
            let ns = record.arrival.0 - edit.from_ns;
            record.arrival = Ns(if is_scaled { (ns as f64 * time_scale) as u64 } else { ns });
            records.push(record);
            if let (Some(kept), Some(names)) = (&mut processes, &self.processes) {
                kept.push(names.get(index));
            }
        }
        let Some(last) = records.iter().map(|record| record.arrival).max() else {
            return Err("no request is left".to_owned());
        };
        let first = records.iter().map(|record| record.arrival).min().unwrap_or_default();
        let gaps = records.len() as u64 - 1;
        let span = last.0 - first.0;
        let period = edit.period_ns.unwrap_or(span + span.checked_div(gaps).unwrap_or_default());
        let count = records.len();
        for round in 1..repeat {
            for index in 0..count {
                let mut record = records[index];
                let shift = period.checked_mul(round);
                let arrival = shift.and_then(|shift| record.arrival.0.checked_add(shift));
                record.arrival = arrival.map(Ns).ok_or("the last time is beyond 2^64 ns")?;
                records.push(record);
                if let Some(kept) = &mut processes {
                    let process = kept.indices[index];
                    kept.indices.push(process);
                }
            }
        }
        let after = after.pages();
        let before = before.pages();
        let pages = PageCounts { before, after, merged: before.saturating_sub(after) };
        Ok((Self { records, processes, ..self.clone_head() }, pages))
    }

    pub(super) fn clone_head(&self) -> Self {
        Self {
            source_name: self.source_name.clone(),
            format: self.format,
            records: Vec::new(),
            volumes: self.volumes.clone(),
            skipped_lines: self.skipped_lines,
            warnings: self.warnings.clone(),
            processes: None,
            start: self.start,
        }
    }

    /// Names of the processes, in the order of the trace.
    pub fn processes(&self) -> &[String] {
        self.processes.as_ref().map_or(&[], |names| &names.list)
    }
}

/// Ranges of pages by volume.
#[derive(Default)]
pub(super) struct Intervals(Vec<(usize, u64, u64)>);

impl Intervals {
    pub(super) fn add(&mut self, record: &TraceRecord, page_sectors: u64) {
        if record.sector_count == 0 {
            return;
        }
        let (first, last) =
            (record.sector / page_sectors, (record.sector_end() - 1) / page_sectors);
        self.0.push((record.volume_index(), first, last));
        // Overlapping ones are joined now and then, so that few are kept.
        if self.0.len().is_power_of_two() && self.0.len() > 1 << 16 {
            self.join();
        }
    }

    fn join(&mut self) {
        self.0.sort_unstable();
        self.0.dedup_by(|next, kept| {
            let meets = next.0 == kept.0 && next.1 <= kept.2.saturating_add(1);
            kept.2 = if meets { kept.2.max(next.2) } else { kept.2 };
            meets
        });
    }

    pub(super) fn pages(mut self) -> u64 {
        self.join();
        self.0.iter().map(|(_, first, last)| last - first + 1).sum()
    }
}

/// Where requests go.
enum Places {
    Keep,
    Wrap {
        sectors: u64,
    },
    Scale {
        sectors: u64,
        pages: u64,
        trace_pages: u64,
        page_sectors: u64,
    },
    /// Ranges that are touched, and the rank of their first page.
    Dense {
        ranges: Vec<(usize, u64, u64)>,
        ranks: Vec<u64>,
        page_sectors: u64,
    },
}

impl Places {
    fn new(trace: &Trace, edit: &Edit, page_sectors: u64) -> Result<Self, String> {
        let sectors = || match edit.size_bytes {
            Some(bytes) if bytes >= edit.page_bytes => Ok(bytes / edit.page_bytes * page_sectors),
            Some(bytes) => Err(format!("a target of {bytes} B; accepted: at least a page")),
            None => Err("no size of the target, which `wrap` and `scale` need".to_owned()),
        };
        let has_zones = |record: &TraceRecord| matches!(record.op(), HostOp::Zone(_));
        if edit.addresses != Addresses::Keep && trace.records.iter().any(has_zones) {
            return Err(
                "the trace has resets of zones or appends to them, whose places are those \
                        of zones; accepted: keep, or a table of ranges (remap)"
                    .to_owned(),
            );
        }
        Ok(match edit.addresses {
            Addresses::Keep => Self::Keep,
            Addresses::Wrap => Self::Wrap { sectors: sectors()? },
            Addresses::Scale => {
                let sectors = sectors()?;
                let end = trace.volume_ends().into_iter().max().unwrap_or_default();
                let (pages, trace_pages) = (sectors / page_sectors, end.div_ceil(page_sectors));
                Self::Scale { sectors, pages, trace_pages, page_sectors }
            }
            Addresses::Dense => {
                let mut touched = Intervals::default();
                for record in &trace.records {
                    touched.add(record, page_sectors);
                }
                touched.join();
                let mut next = 0;
                let rank = |(_, first, last): &(usize, u64, u64)| {
                    let rank = next;
                    next += last - first + 1;
                    rank
                };
                let ranks = touched.0.iter().map(rank).collect();
                Self::Dense { ranges: touched.0, ranks, page_sectors }
            }
        })
    }

    /// First sector and count; a request that would cross the end of the target is moved back.
    fn of(&self, record: &TraceRecord) -> (u64, u32) {
        let inside = |sector: u64, sectors: u64| {
            let count = u64::from(record.sector_count).min(sectors);
            (sector.min(sectors - count), count as u32)
        };
        match self {
            Self::Keep => (record.sector, record.sector_count),
            Self::Wrap { sectors } => inside(record.sector % sectors, *sectors),
            Self::Scale { pages, trace_pages, .. } if trace_pages <= pages => {
                (record.sector, record.sector_count)
            }
            Self::Scale { sectors, pages, trace_pages, page_sectors } => {
                let page = u128::from(record.sector / page_sectors) * u128::from(*pages)
                    / u128::from(*trace_pages);
                inside(page as u64 * page_sectors + record.sector % page_sectors, *sectors)
            }
            Self::Dense { ranges, ranks, page_sectors } => {
                let page = record.sector / page_sectors;
                let wanted = (record.volume_index(), page, u64::MAX);
                let at = ranges.partition_point(|range| *range <= wanted) - 1;
                let rank = ranks[at] + page - ranges[at].1;
                (rank * page_sectors + record.sector % page_sectors, record.sector_count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TraceOptions;
    use super::*;
    use crate::op::HostOp::{Read, Trim, Write};

    fn read(text: &str) -> Trace {
        let options = TraceOptions { has_processes: true, ..TraceOptions::default() };
        Trace::read(&mut text.as_bytes(), "t", &options).unwrap()
    }

    /// Pages 0, 1, 5, 100, 101 and 4096 on a target of 64: modulo 64, times 64/4097, ranks.
    #[test]
    fn merged_pages_are_counted() {
        let lines = [0, 1, 5, 100, 101, 4096].map(|page| format!("0 0 {} 8 0\n", page * 8));
        let trace = read(&lines.concat());
        let size_bytes = Some(64 * 4096);
        for (addresses, after) in [
            (Addresses::Wrap, 5),
            (Addresses::Scale, 3),
            (Addresses::Dense, 6),
            (Addresses::Keep, 6),
        ] {
            let edit = Edit { addresses, size_bytes, ..Edit::default() };
            let (edited, pages) = trace.edit(&edit).unwrap();
            assert_eq!(pages, PageCounts { before: 6, after, merged: 6 - after }, "{addresses:?}");
            let end = edited.records().iter().map(TraceRecord::sector_end).max();
            assert_eq!(end <= Some(64 * 8), addresses != Addresses::Keep);
            if addresses == Addresses::Dense {
                let pages: Vec<_> = edited.records().iter().map(|it| it.sector / 8).collect();
                assert_eq!(pages, [0, 1, 2, 3, 4, 5]);
            }
        }
        let edit = Edit { addresses: Addresses::Wrap, ..Edit::default() };
        assert!(trace.edit(&edit).unwrap_err().contains("no size"));
    }

    #[test]
    fn a_repeated_trace_keeps_its_gaps() {
        let trace = read("10 0 0 1 1\n20 0 8 1 1\n40 0 16 1 1\n");
        let times = |edit: Edit| -> Vec<u64> {
            trace.edit(&edit).unwrap().0.records().iter().map(|record| record.arrival.0).collect()
        };
        let edit = Edit { repeat: 2, ..Edit::default() };
        assert_eq!(times(edit), [0, 10, 30, 45, 55, 75]);
        assert_eq!(times(Edit { period_ns: Some(100), ..edit }), [0, 10, 30, 100, 110, 130]);
        assert_eq!(times(Edit { repeat: 1, time_scale: 0.5, ..edit }), [0, 5, 15]);
        assert_eq!(times(Edit { repeat: 1, from_ns: 10, to_ns: Some(30), ..edit }), [0]);
        assert!(trace.edit(&Edit { from_ns: 31, ..edit }).is_err());
    }

    #[test]
    fn joined_files_are_in_the_order_of_time_and_then_of_files() {
        let head = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n";
        let one = format!("{head}1000,write,0,512,a,1,\n9000,read,0,512,a,1,\n");
        let two =
            format!("{head}1500,write,0,512,a,1,\n5000,read,0,512,b,2,\n9000,trim,0,512,a,1,\n");
        let join = |align, drops| Trace::join(&[read(&one), read(&two)], align, drops);
        let times = |trace: &Trace| -> Vec<_> {
            trace.records().iter().map(|it| (it.arrival.0, it.op(), it.volume_index())).collect()
        };
        let (trace, duplicates) = join(Align::Clock, false);
        let expected =
            [(0, Write, 0), (500, Write, 0), (4000, Read, 1), (8000, Read, 0), (8000, Trim, 0)];
        assert_eq!((times(&trace), duplicates), (expected.to_vec(), 1));
        assert_eq!(
            (trace.volumes(), trace.processes()),
            (&["a".into(), "b".into()][..], &["1".into(), "2".into()][..])
        );
        let (trace, duplicates) = join(Align::Clock, true);
        assert_eq!((trace.records().len(), duplicates), (4, 1));
        let (trace, _) = join(Align::Start, false);
        assert_eq!(times(&trace)[..3], [(0, Write, 0), (0, Write, 0), (3500, Read, 1)]);
    }
}
