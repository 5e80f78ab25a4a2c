//! Requests moved by a table of ranges: where the bytes of each volume are now.
//!
//! ```text
//!  volume,offset_bytes,size_bytes,to_volume,to_offset_bytes
//!  vg-home,0,1073741824,sda,1048576
//! ```
//!
//! The table is text with this header; ranges are whole sectors and do not overlap. A request that
//! spans ranges which do not follow each other at their new places becomes several, at the same
//! time. One of which a byte is in no range is left out. A flush goes to each volume that the
//! ranges of its volume lead to.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use serde::Serialize;

use super::convert::{Intervals, PageCounts};
use super::fields::{comma_fields, number, quote};
use super::names::Names;
use super::{Trace, TraceError, TraceRecord};
use crate::units::SECTOR_BYTES;

/// Columns of the table.
const HEADER: &str = "volume,offset_bytes,size_bytes,to_volume,to_offset_bytes";
/// Ranges that a table may have: some 64 bytes each.
const RANGES_MAX: usize = 1 << 22;
/// Most bytes of a table; a device or a line without an end has more.
const BYTES_MAX: u64 = 1 << 28;

/// A range of sectors, and its new place.
#[derive(Clone, Copy, Debug)]
struct Range {
    sector: u64,
    limit: u64,
    to_volume: u32,
    to_sector: u64,
}

/// A table of ranges.
#[derive(Debug, Default)]
pub struct Map {
    /// By volume, in the order of their sectors.
    ranges: BTreeMap<String, Vec<Range>>,
    to_volumes: Vec<String>,
}

/// What a table does to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Requests that are left out, since a byte of them is in no range.
    pub unmapped: u64,
    /// Requests that became several.
    pub split: u64,
    /// Pages that the requests touch which are left.
    pub pages: PageCounts,
}

impl Map {
    /// Reads a table, called `source_name` in messages.
    ///
    /// # Errors
    /// The line, and the error in it.
    pub fn read(reader: &mut dyn BufRead, source_name: &str) -> Result<Self, TraceError> {
        let mut map = Self::default();
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        // Of each range: its line.
        let mut lines: BTreeMap<String, BTreeMap<u64, (u64, u64)>> = BTreeMap::new();
        let mut count = 0;
        for (line, text) in (1..).zip(reader.take(BYTES_MAX).lines()) {
            let fail = |message: String| TraceError::Line {
                source_name: source_name.to_owned(),
                line,
                message: format!("{message}; accepted: {HEADER}"),
            };
            let text = text.map_err(|error| fail(format!("cannot be read: {error}")))?;
            let text = text.trim_start_matches('\u{feff}').trim();
            if text.is_empty() || text.starts_with('#') || text == HEADER {
                continue;
            }
            count += 1;
            if count > RANGES_MAX {
                return Err(fail(format!("more than {RANGES_MAX} ranges")));
            }
            let (volume, to_volume, mut range) = parsed(text).map_err(&fail)?;
            let others = lines.entry(volume.to_owned()).or_default();
            let before = others.range(..range.limit).next_back();
            if let Some((_, (_, other))) = before.filter(|(_, (limit, _))| *limit > range.sector) {
                let message = format!("the range overlaps that of line {other}");
                return Err(fail(message));
            }
            others.insert(range.sector, (range.limit, line));
            range.to_volume = *numbers.entry(to_volume.to_owned()).or_insert_with(|| {
                map.to_volumes.push(to_volume.to_owned());
                map.to_volumes.len() as u32 - 1
            });
            map.ranges.entry(volume.to_owned()).or_default().push(range);
        }
        if count == 0 {
            let message = format!("no range; accepted: lines of {HEADER}");
            return Err(TraceError::File { source_name: source_name.to_owned(), message });
        }
        map.ranges.values_mut().for_each(|ranges| ranges.sort_by_key(|range| range.sector));
        Ok(map)
    }
}

/// The volumes and the range of a line.
fn parsed(text: &str) -> Result<(&str, &str, Range), String> {
    let [volume, offset, size, to_volume, to_offset] = comma_fields(text)?;
    let sectors = |name: &str, text: &str| {
        let bytes = number(name, text)?;
        let is_whole = bytes.is_multiple_of(SECTOR_BYTES);
        is_whole
            .then_some(bytes / SECTOR_BYTES)
            .ok_or_else(|| format!("{name} {} is not a multiple of {SECTOR_BYTES}", quote(text)))
    };
    let sector = sectors("offset_bytes", offset)?;
    let count = sectors("size_bytes", size)?;
    let to_sector = sectors("to_offset_bytes", to_offset)?;
    if count == 0 {
        return Err("the range has no size".to_owned());
    }
    // Sectors have 55 bits.
    if (sector.max(to_sector) + count).checked_mul(SECTOR_BYTES).is_none() {
        return Err("the range ends beyond 2^64 bytes".to_owned());
    }
    Ok((volume, to_volume, Range { sector, limit: sector + count, to_volume: 0, to_sector }))
}

impl Trace {
    /// The trace with its requests where `map` leads them.
    ///
    /// # Errors
    /// No request that is left.
    pub fn moved(&self, map: &Map, page_bytes: u64) -> Result<(Self, Moved), String> {
        let page_sectors = (page_bytes / SECTOR_BYTES).max(1);
        let (mut before, mut after) = (Intervals::default(), Intervals::default());
        let none = Vec::new();
        // A table has no commas in names, as `csv` has not.
        let of_volume = |name: &String| {
            let ranges = map.ranges.get(&name.replace(',', ":"));
            ranges.unwrap_or(&none).as_slice()
        };
        let ranges: Vec<_> = self.volumes.iter().map(of_volume).collect();
        let mut records = Vec::with_capacity(self.records.len());
        let mut processes = self.processes.as_ref().map(|_| Names::default());
        let mut counts = Moved::default();
        let mut parts = Vec::new();
        for (index, record) in self.records.iter().enumerate() {
            places(record, ranges[record.volume_index()], &mut parts);
            counts.unmapped += u64::from(parts.is_empty());
            // A flush of several volumes is one for each.
            counts.split += u64::from(parts.len() > 1 && record.sector_count > 0);
            if !parts.is_empty() {
                before.add(record, page_sectors);
            }
            for &part in &parts {
                after.add(&part, page_sectors);
                records.push(part);
                if let (Some(kept), Some(names)) = (&mut processes, &self.processes) {
                    kept.push(names.get(index));
                }
            }
        }
        if records.is_empty() {
            let known: Vec<_> = map.ranges.keys().take(8).map(String::as_str).collect();
            let volumes: Vec<_> = self.volumes.iter().take(8).map(String::as_str).collect();
            return Err(format!(
                "no request is in a range: the trace has the volumes {}, the ranges are of {}",
                volumes.join(" "),
                known.join(" ")
            ));
        }
        let (before, after) = (before.pages(), after.pages());
        counts.pages = PageCounts { before, after, merged: before.saturating_sub(after) };
        let mut head = self.clone_head();
        let told = [
            (counts.unmapped, "requests were left out: a byte of each is in no range of the table"),
            (counts.split, "requests became several, since they span ranges of the table"),
            (counts.pages.merged, "pages were merged with others by the table"),
        ];
        let told = told.iter().filter(|(count, _)| *count > 0);
        head.warnings
            .extend(told.map(|(count, said)| format!("{}: {count} {said}", self.source_name)));
        Ok((Self { records, processes, volumes: map.to_volumes.clone(), ..head }, counts))
    }
}

/// The requests that one becomes; none if a part of it is in no range.
fn places(record: &TraceRecord, ranges: &[Range], parts: &mut Vec<TraceRecord>) {
    parts.clear();
    let moved = |volume: u32, sector: u64, count: u64| {
        let mut record = *record;
        record.renumber(volume);
        (record.sector, record.sector_count) = (sector, count as u32);
        record
    };
    if record.op() == crate::op::HostOp::Flush {
        let mut volumes: Vec<_> = ranges.iter().map(|range| range.to_volume).collect();
        volumes.sort_unstable();
        volumes.dedup();
        parts.extend(volumes.iter().map(|&volume| moved(volume, 0, 0)));
        return;
    }
    let mut at = record.sector;
    // A reset may have no size; its place counts.
    let limit = record.sector_end().max(at + 1);
    let mut next = ranges.partition_point(|range| range.limit <= at);
    while at < limit {
        let Some(range) = ranges.get(next).filter(|range| range.sector <= at) else {
            parts.clear();
            return;
        };
        let count = range.limit.min(record.sector_end()).saturating_sub(at);
        let to = range.to_sector + (at - range.sector);
        match parts.last_mut() {
            Some(last)
                if (last.volume_index(), last.sector_end()) == (range.to_volume as usize, to) =>
            {
                last.sector_count += count as u32;
            }
            _ => parts.push(moved(range.to_volume, to, count)),
        }
        at = range.limit;
        next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::TraceOptions;
    use super::*;

    fn map(text: &str) -> Result<Map, String> {
        Map::read(&mut text.as_bytes(), "m.csv").map_err(|error| error.to_string())
    }

    /// Two pieces of a volume on one disk, not in their order, and one on another.
    #[test]
    fn requests_go_where_the_ranges_lead() {
        let map = map(&format!(
            "{HEADER}\nv,4096,4096,sda,0\nv,0,4096,sda,8192\nv,8192,4096,sda,4096\nw,0,512,sdb,0\n"
        ))
        .unwrap();
        let text = "time_ns,op,offset_bytes,size_bytes,volume,process,flags\n\
            0,write,512,1024,v,1,fua\n1,write,0,8192,v,1,\n2,read,4096,8192,v,2,\n\
            3,trim,8192,4608,v,2,\n4,flush,,,v,2,\n5,read,0,512,x,2,\n6,reset,0,0,w,3,\n";
        let options = TraceOptions { has_processes: true, ..TraceOptions::default() };
        let trace = Trace::read(&mut text.as_bytes(), "t", &options).unwrap();
        let (moved, counts) = trace.moved(&map, 4096).unwrap();
        let found: Vec<_> = moved
            .records()
            .iter()
            .map(|it| (it.arrival.0, it.volume_index(), it.sector, it.sector_count))
            .collect();
        // The second is at two places; the third at one, as its ranges follow each other there.
        let expected =
            [(0, 0, 17, 2), (1, 0, 16, 8), (1, 0, 0, 8), (2, 0, 0, 16), (4, 0, 0, 0), (6, 1, 0, 0)];
        assert_eq!(found, expected);
        let pages = PageCounts { before: 3, after: 3, merged: 0 };
        assert_eq!(counts, Moved { unmapped: 2, split: 1, pages });
        assert_eq!(moved.volumes(), ["sda", "sdb"]);
        assert!(moved.records()[0].is_fua());
        assert_eq!(moved.processes(), ["1", "2", "3"]);
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        for (text, words) in [
            ("v,0,512,sda", "m.csv:1: 4 comma-separated fields instead of 5"),
            ("v,0,512,sda,x", "m.csv:1: to_offset_bytes `x` is not a whole number"),
            ("v,0,512,sda,100", "is not a multiple of 512"),
            ("v,0,0,sda,0", "no size"),
            ("v,18446744073709551104,1024,sda,0", "beyond 2^64 bytes"),
            ("v,0,1024,a,0\n# one\nv,512,512,b,0", "m.csv:3: the range overlaps that of line 1"),
            ("v,512,512,a,0\nv,0,1024,b,0", "m.csv:2: the range overlaps that of line 1"),
            (HEADER, "m.csv: no range"),
        ] {
            let error = map(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
