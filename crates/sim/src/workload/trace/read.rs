//! From text to records: what all formats share.
//!
//! 1. The first lines are kept; with `auto` each format reads them, and the one that understands
//!    most wins.
//! 2. Each line becomes a record, nothing, or a fault with its number.
//! 3. Records out of order are sorted (stably, with a warning), and time is counted from the first.
//!
//! Bytes become sectors by rounding outwards. A line longer than 64 KiB ends the reading, whatever
//! is done with bad lines, so that an endless one is refused instead of being read for ever; a
//! trace with more requests than fit the memory is refused too.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use super::fields::quote;
use super::record::VOLUME_COUNT_MAX;
use super::{
    BadLines, FormatConfig, Line, NamedReader, Request, Trace, TraceError, TraceOptions,
    TraceRecord,
};
use crate::units::{Ns, SECTOR_BYTES};

/// Lines that `auto` looks at.
const LOOK_AHEAD_LINES: usize = 64;
/// Longest line: no format comes near.
const LINE_BYTES_MAX: usize = 64 << 10;
/// What a volume takes beside the letters of its name: two texts, an index, its part of a node of
/// the tree.
const VOLUME_BYTES: u64 = 128;
/// Room for records at the start; it doubles.
const RECORDS_FIRST: usize = 1024;

impl Trace {
    /// Reads a whole trace from `reader`, called `source_name` in messages.
    ///
    /// # Errors
    /// [`TraceError`] for the first bad line unless they are skipped, for a format that is not
    /// recognised, a file without a single request, and failures of `reader` itself.
    pub fn read(
        reader: &mut dyn BufRead,
        source_name: &str,
        options: &TraceOptions,
    ) -> Result<Self, TraceError> {
        let mut lines = Lines { reader, source_name, number: 0 };
        let mut head = Vec::new();
        while head.len() < LOOK_AHEAD_LINES {
            match lines.next()? {
                Some(line) => head.push(line),
                None => break,
            }
        }
        let format = match options.format.reader() {
            Some(format) => format,
            None => recognise(&head).ok_or_else(|| unknown_format(source_name, &head))?,
        };
        let mut collector = Collector::new(source_name, format, options);
        for line in head {
            collector.take(&line)?;
        }
        while let Some(line) = lines.next()? {
            collector.take(&line)?;
        }
        collector.finish()
    }
}

/// A line as it was read.
struct RawLine {
    number: u64,
    /// The text without its end, or why it is none.
    text: Result<String, String>,
}

impl RawLine {
    fn is_blank(&self) -> bool {
        self.text.as_ref().is_ok_and(|text| {
            let text = text.trim_start();
            text.is_empty() || text.starts_with('#')
        })
    }
}

struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    source_name: &'a str,
    number: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<RawLine>, TraceError> {
        let mut bytes = Vec::new();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = (&mut *self.reader).take(limit).read_until(b'\n', &mut bytes);
        let count = read.map_err(|error| TraceError::File {
            source_name: self.source_name.to_owned(),
            message: format!("cannot be read: {error}"),
        })?;
        if count == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.len() > LINE_BYTES_MAX && bytes.last() != Some(&b'\n') {
            return Err(TraceError::Line {
                source_name: self.source_name.to_owned(),
                line: self.number,
                message: format!("longer than {LINE_BYTES_MAX} bytes: not a trace in text form"),
            });
        }
        Ok(Some(RawLine { number: self.number, text: text_of(bytes, self.number) }))
    }
}

fn text_of(mut bytes: Vec<u8>, number: u64) -> Result<String, String> {
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    // Magic numbers of RFC 1952 (gzip) and RFC 8878 (Zstandard).
    let is_compressed =
        bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    if number == 1 && is_compressed {
        return Err("still compressed: gzip or Zstandard data instead of text".to_owned());
    }
    if number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err("not text: it holds zero bytes".to_owned()),
        Ok(text) => Ok(text),
        Err(error) => Err(format!("not text: {}", error.utf8_error())),
    }
}

/// The format that understands most of these lines, the first in the registry among equals.
fn recognise(head: &[RawLine]) -> Option<NamedReader> {
    let mut best: Option<(usize, FormatConfig)> = None;
    for format in FormatConfig::all() {
        let mut candidate = format.reader()?;
        let lines = head.iter().filter(|line| !line.is_blank());
        let understood = lines
            .filter_map(|line| line.text.as_ref().ok())
            .filter(|text| candidate.reader.line(text).is_ok())
            .count();
        if understood > best.as_ref().map_or(0, |(count, _)| *count) {
            best = Some((understood, format));
        }
    }
    best.and_then(|(_, format)| format.reader())
}

fn unknown_format(source_name: &str, head: &[RawLine]) -> TraceError {
    let names = FormatConfig::names().join(", ");
    let Some(line) = head.iter().find(|line| !line.is_blank()) else {
        return TraceError::File {
            source_name: source_name.to_owned(),
            message: format!("no line with a request; accepted formats: {names}"),
        };
    };
    let found = match &line.text {
        Ok(text) => format!("no known trace format reads {}", quote(text)),
        Err(fault) => fault.clone(),
    };
    TraceError::Line {
        source_name: source_name.to_owned(),
        line: line.number,
        message: format!("{found}; accepted formats: {names}"),
    }
}

/// Gathers records and everything worth a warning.
struct Collector {
    source_name: String,
    format: NamedReader,
    bad_lines: BadLines,
    memory_bytes_max: u64,
    /// Of the names of the volumes.
    name_bytes: u64,
    records: Vec<TraceRecord>,
    volumes: Vec<String>,
    volume_indices: BTreeMap<String, usize>,
    first_fault: Option<TraceError>,
    skipped_lines: u64,
    time_max: Ns,
    late_count: u64,
    rounded_count: u64,
}

impl Collector {
    fn new(source_name: &str, format: NamedReader, options: &TraceOptions) -> Self {
        Self {
            source_name: source_name.to_owned(),
            format,
            bad_lines: options.bad_lines,
            memory_bytes_max: options.memory_bytes_max.unwrap_or(u64::MAX),
            name_bytes: 0,
            records: Vec::new(),
            volumes: Vec::new(),
            volume_indices: BTreeMap::new(),
            first_fault: None,
            skipped_lines: 0,
            time_max: Ns(0),
            late_count: 0,
            rounded_count: 0,
        }
    }

    fn take(&mut self, line: &RawLine) -> Result<(), TraceError> {
        if line.is_blank() {
            return Ok(());
        }
        self.make_room()?;
        let parsed = match &line.text {
            Ok(text) => self.format.reader.line(text),
            Err(fault) => Err(fault.clone()),
        };
        let result = parsed.and_then(|parsed| match parsed {
            Line::Request(request) => self.push(&request),
            Line::Other => Ok(()),
        });
        let Err(fault) = result else { return Ok(()) };
        let error = TraceError::Line {
            source_name: self.source_name.clone(),
            line: line.number,
            message: format!(
                "{fault}; accepted ({}): {}",
                self.format.name, self.format.line_shape
            ),
        };
        if self.bad_lines == BadLines::Refuse {
            return Err(error);
        }
        self.skipped_lines += 1;
        self.first_fault.get_or_insert(error);
        Ok(())
    }

    /// Room for one record more, doubled when it is used up.
    fn make_room(&mut self) -> Result<(), TraceError> {
        let (count, record_bytes) = (self.records.len(), size_of::<TraceRecord>() as u64);
        let count_max = self.memory_bytes_max.saturating_sub(self.name_bytes) / record_bytes;
        let wanted = if count < self.records.capacity() {
            count
        } else {
            (2 * count).max(RECORDS_FIRST).min(count_max as usize)
        };
        if count as u64 >= count_max || self.records.try_reserve_exact(wanted - count).is_err() {
            return Err(self.out_of_memory());
        }
        Ok(())
    }

    fn out_of_memory(&self) -> TraceError {
        let message = format!(
            "out of memory after {} requests: {} bytes each, and {} bytes of volume names; \
             accepted: a part of the trace, or a machine with more memory",
            self.records.len(),
            size_of::<TraceRecord>(),
            self.name_bytes
        );
        TraceError::File { source_name: self.source_name.clone(), message }
    }

    fn push(&mut self, request: &Request<'_>) -> Result<(), String> {
        let (sector, sector_count, is_rounded) = sectors_of(request)?;
        let volume_index = self.volume_index(request.volume)?;
        self.rounded_count += u64::from(is_rounded);
        self.late_count += u64::from(request.time < self.time_max);
        self.time_max = self.time_max.max(request.time);
        let span = (sector, sector_count);
        self.records.push(TraceRecord::new(request.time, span, volume_index, request.op));
        Ok(())
    }

    fn volume_index(&mut self, volume: &str) -> Result<usize, String> {
        if let Some(&index) = self.volume_indices.get(volume) {
            return Ok(index);
        }
        let index = self.volumes.len();
        if index == VOLUME_COUNT_MAX {
            return Err(format!("more than {VOLUME_COUNT_MAX} volumes"));
        }
        let name = self.format.reader.volume_name(volume);
        self.name_bytes += VOLUME_BYTES + (name.len() + volume.len()) as u64;
        self.volumes.push(name);
        self.volume_indices.insert(volume.to_owned(), index);
        Ok(index)
    }

    fn finish(mut self) -> Result<Trace, TraceError> {
        if self.records.is_empty() {
            return Err(self.first_fault.unwrap_or_else(|| TraceError::File {
                source_name: self.source_name,
                message: format!(
                    "no request in it; accepted ({}): {}",
                    self.format.name, self.format.line_shape
                ),
            }));
        }
        let warnings = self.warnings();
        if self.late_count > 0 {
            // A stable sort takes as much again, and would not return without it.
            let bytes_left = self.memory_bytes_max / 2;
            let bytes = size_of_val(self.records.as_slice()) as u64;
            let spare = Vec::<TraceRecord>::new().try_reserve_exact(self.records.len());
            if bytes > bytes_left || spare.is_err() {
                return Err(self.out_of_memory());
            }
            self.records.sort_by_key(|record| record.arrival);
        }
        let start = self.records[0].arrival;
        for record in &mut self.records {
            record.arrival = record.arrival - start;
        }
        self.records.shrink_to_fit();
        Ok(Trace {
            source_name: self.source_name,
            format: self.format.name,
            records: self.records,
            volumes: self.volumes,
            skipped_lines: self.skipped_lines,
            warnings,
        })
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(fault) = &self.first_fault {
            warnings.push(format!("{} lines skipped; the first: {fault}", self.skipped_lines));
        }
        if self.late_count > 0 {
            warnings.push(format!(
                "{}: {} of {} requests were out of time order and were sorted",
                self.source_name,
                self.late_count,
                self.records.len()
            ));
        }
        if self.rounded_count > 0 {
            warnings.push(format!(
                "{}: {} requests were not whole sectors and were rounded outwards",
                self.source_name, self.rounded_count
            ));
        }
        warnings
    }
}

/// First sector and count of the sectors that a request touches, and whether it was not made of
/// them.
fn sectors_of(request: &Request<'_>) -> Result<(u64, u32, bool), String> {
    if request.size_bytes == 0 {
        return Err("the request has no size".to_owned());
    }
    let end = request.offset_bytes.checked_add(request.size_bytes).ok_or_else(|| {
        format!("the request ends beyond 2^64 bytes (from byte {})", request.offset_bytes)
    })?;
    let first = request.offset_bytes / SECTOR_BYTES;
    let limit = end.div_ceil(SECTOR_BYTES);
    let count = u32::try_from(limit - first)
        .map_err(|_| format!("the request has {} bytes, more than 2 TiB", request.size_bytes))?;
    let is_rounded = !request.offset_bytes.is_multiple_of(SECTOR_BYTES)
        || !request.size_bytes.is_multiple_of(SECTOR_BYTES);
    Ok((first, count, is_rounded))
}
