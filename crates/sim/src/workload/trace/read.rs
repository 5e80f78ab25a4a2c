//! From bytes to records: the common part of all formats.
//!
//! 1. The first bytes are kept; archives and the like are refused by them. With `auto` each format
//!    reads them, and the one that understands most of their lines is chosen. Binary records of a
//!    format are recognised before lines.
//! 2. Each line or record becomes a request (two if a flush comes first), nothing, or a fault with
//!    its place.
//! 3. Requests that the file has twice are dropped, those out of order are sorted (stably, with a
//!    warning) if the order of time was asked for, and time is counted from the earliest.
//!
//! Lines are slices of the reader's buffer; only one that crosses its end is copied. Bytes become
//! sectors by rounding outwards. A line longer than 64 KiB ends the reading, whatever is done with
//! bad lines, so that an endless one is refused instead of being read for ever; a trace with more
//! requests than fit the memory is refused too.

use std::cell::Cell;
use std::io::{BufRead, Cursor, ErrorKind, Read};

use memchr::memchr;

use super::head::{
    foreign, is_blank, recognise, text_of, too_long, unknown_format, without_mark, HEAD_BYTES,
    LINE_BYTES_MAX,
};
use super::names::{Index, Names};
use super::ops::{Flags, RESET};
use super::record::{Records, VOLUME_COUNT_MAX};
use super::sink::{Event, Scanned, Sink};
use super::{
    BadLines, Line, NamedReader, Order, RecordSize, Request, Trace, TraceError, TraceOptions,
    TraceRecord,
};
use crate::op::HostOp;
use crate::units::{Ns, SECTOR_BYTES};

/// Memory of a volume in addition to the letters of its name: two texts, an index, its part of a
/// node of the tree.
const VOLUME_BYTES: u64 = 128;

/// Takes the files of a trace one after the other, each with its name for messages.
pub type Reading<'a> = dyn FnMut(&mut dyn BufRead, &str) -> Result<(), TraceError> + 'a;

/// Reads a trace into `sink`: the files that `open` opens are one, called `source_name`.
pub(crate) fn scan<S: Sink, E: From<TraceError>>(
    open: impl FnOnce(&mut Reading<'_>) -> Result<(), E>,
    source_name: &str,
    options: &TraceOptions,
    sink: &mut S,
) -> Result<Scanned, E> {
    let mut sink = Some(sink);
    let mut collector = None;
    open(&mut |reader, file_name| {
        let of_file = |message| TraceError::File { source_name: file_name.to_owned(), message };
        let mut head = Vec::new();
        let taken = reader.take(HEAD_BYTES as u64).read_to_end(&mut head);
        taken.map_err(|error| of_file(unreadable(&error)))?;
        if let Some(message) = foreign(&head, file_name) {
            let source_name = file_name.to_owned();
            return Err(TraceError::Line { source_name, line: 1, message });
        }
        if let Some(sink) = sink.take() {
            let format = match options.format.reader() {
                Some(format) => format,
                None => recognise(&head).ok_or_else(|| unknown_format(file_name, &head))?,
            };
            collector = Some(Collector::new(format, options, sink));
        }
        collector.as_mut().map_or(Ok(()), |collector| collector.file(reader, head, file_name))
    })?;
    let nothing = || TraceError::File {
        source_name: source_name.to_owned(),
        message: "nothing was read".to_owned(),
    };
    Ok(collector.ok_or_else(nothing)?.finish(source_name))
}

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
        Self::read_files(|read| read(reader, source_name), source_name, options)
    }

    /// The same of all files that `open` opens, which are one trace.
    ///
    /// # Errors
    /// The same, and those of `open`.
    pub fn read_files<E: From<TraceError>>(
        open: impl FnOnce(&mut Reading<'_>) -> Result<(), E>,
        source_name: &str,
        options: &TraceOptions,
    ) -> Result<Self, E> {
        let mut records = Records {
            list: Vec::new(),
            memory_bytes_max: options.memory_bytes_max.unwrap_or(u64::MAX),
            processes: options.has_processes.then(Names::default),
        };
        let mut scanned = scan(open, source_name, options, &mut records)?;
        if !scanned.repeated.is_empty() {
            records.drop_volumes(&mut scanned);
        }
        if let Some(fault) = scanned.fault {
            return Err(fault.into());
        }
        if scanned.late_count > 0 && options.order == Order::Time && !records.sort() {
            let (requests, bytes) = (scanned.request_count, scanned.name_bytes);
            return Err(out_of_memory(source_name, requests, bytes).into());
        }
        let done = match options.order {
            Order::Time => ", so they were sorted",
            Order::File => "; the order is that of the file",
        };
        let warnings = scanned.warnings(source_name, done);
        Ok(records.trace(source_name, scanned, warnings))
    }
}

fn unreadable(error: &std::io::Error) -> String {
    let way_out = match error.kind() {
        ErrorKind::UnexpectedEof => {
            "; the compressed file is cut off; accepted: what a program such as `gzip -dc` or `xz \
             -dc` still unpacks of it"
        }
        _ => "",
    };
    format!("cannot be read: {error}{way_out}")
}

/// The kind of pieces that a stream of bytes is cut into.
#[derive(Clone, Copy)]
enum Cut {
    /// After line feeds; pieces lack them.
    Lines,
    /// Into records.
    Records(RecordSize),
}

/// Cuts a stream into pieces and passes them to `take`, with true for complete ones. The last piece
/// may end with the stream, and one that grows beyond the longest line is passed unfinished: both
/// with false.
fn pieces(
    reader: &mut impl BufRead,
    cut: Cut,
    failure: impl FnOnce(std::io::Error) -> TraceError,
    mut take: impl FnMut(&[u8], bool) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    // The start of a piece that did not end with the buffer.
    let mut start: Vec<u8> = Vec::new();
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(failure(error)),
        };
        let mut rest = buffer;
        loop {
            let (end, next) = match cut {
                Cut::Lines => match memchr(b'\n', rest) {
                    Some(end) => (end, end + 1),
                    None => break,
                },
                Cut::Records(size) => match size.of(&start, rest) {
                    Some(size) if start.len() + rest.len() >= size => {
                        (size - start.len(), size - start.len())
                    }
                    _ => break,
                },
            };
            if start.is_empty() {
                take(&rest[..end], true)?;
            } else {
                start.extend_from_slice(&rest[..end]);
                take(&start, true)?;
                start.clear();
            }
            rest = &rest[next..];
        }
        let is_end = buffer.is_empty();
        start.extend_from_slice(rest);
        let count = buffer.len();
        reader.consume(count);
        if !start.is_empty() && (is_end || start.len() > LINE_BYTES_MAX) {
            take(&start, false)?;
            start.clear();
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Passes requests on and gathers everything worth a warning.
struct Collector<'a, S> {
    /// The file that is read.
    file_name: String,
    /// Lines at the start that are skipped.
    header_lines: u64,
    format: NamedReader,
    bad_lines: BadLines,
    sink: &'a mut S,
    /// The line that a record becomes.
    record_line: String,
    /// Total length of the volume names, in bytes.
    name_bytes: u64,
    volumes: Vec<String>,
    volume_indices: Index,
    first_fault: Option<TraceError>,
    skipped_lines: u64,
    time_max: Ns,
    request_count: u64,
    late_count: u64,
    first_late: Option<u64>,
    /// The line, or the first byte of the record.
    place: u64,
    rounded_count: u64,
}

impl<'a, S: Sink> Collector<'a, S> {
    fn new(format: NamedReader, options: &TraceOptions, sink: &'a mut S) -> Self {
        Self {
            file_name: String::new(),
            header_lines: format.reader.header_lines(),
            format,
            bad_lines: options.bad_lines,
            sink,
            record_line: String::new(),
            name_bytes: 0,
            volumes: Vec::new(),
            volume_indices: Index::default(),
            first_fault: None,
            skipped_lines: 0,
            time_max: Ns(0),
            request_count: 0,
            late_count: 0,
            first_late: None,
            place: 0,
            rounded_count: 0,
        }
    }

    /// Reads a file that begins with `head`.
    fn file(
        &mut self,
        reader: &mut dyn BufRead,
        head: Vec<u8>,
        file_name: &str,
    ) -> Result<(), TraceError> {
        file_name.clone_into(&mut self.file_name);
        let records = self.format.reader.records(&head);
        let mut bytes = Cursor::new(head).chain(reader);
        // How far reading has come, for the message of a file that breaks off.
        let done = Cell::new(0);
        let source_name = file_name.to_owned();
        if let Some(records) = records {
            let failure = |error| {
                let (offset, message) = (done.get(), unreadable(&error));
                TraceError::Record { source_name, offset, message }
            };
            pieces(&mut bytes, Cut::Records(records), failure, |piece, is_whole| {
                let offset = done.replace(done.get() + piece.len() as u64);
                self.take_record(offset, piece, is_whole)
            })
        } else {
            let failure = |error| {
                let (line, message) = (done.get() + 1, unreadable(&error));
                TraceError::Line { source_name, line, message }
            };
            pieces(&mut bytes, Cut::Lines, failure, |piece, is_ended| {
                done.set(done.get() + 1);
                self.take_line(done.get(), piece, is_ended)
            })
        }
    }

    fn take_line(&mut self, number: u64, line: &[u8], is_ended: bool) -> Result<(), TraceError> {
        if line.len() > LINE_BYTES_MAX {
            return Err(TraceError::Line {
                source_name: self.file_name.clone(),
                line: number,
                message: too_long(),
            });
        }
        self.place = number;
        let line = without_mark(number, line);
        if is_blank(line) || number <= self.header_lines {
            return Ok(());
        }
        let parsed = text_of(line).and_then(|text| self.format.reader.line(text));
        let fault = match parsed.and_then(|parsed| self.push(&parsed)) {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(self.out_of_memory()),
            Err(fault) => fault,
        };
        let cut = if is_ended { String::new() } else { self.cut("line") };
        self.fault(TraceError::Line {
            source_name: self.file_name.clone(),
            line: number,
            message: self.with_shape(&fault) + &cut,
        })
    }

    fn take_record(&mut self, offset: u64, bytes: &[u8], is_whole: bool) -> Result<(), TraceError> {
        self.place = offset;
        let mut text = std::mem::take(&mut self.record_line);
        let parsed = if is_whole {
            self.format.reader.record(bytes, &mut text)
        } else {
            Err(format!("the file ends after {} bytes of a record", bytes.len()))
        };
        let pushed = parsed.and_then(|parsed| self.push(&parsed));
        self.record_line = text;
        let fault = match pushed {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(self.out_of_memory()),
            Err(fault) => fault,
        };
        let cut = if is_whole { String::new() } else { self.cut("record") };
        self.fault(TraceError::Record {
            source_name: self.file_name.clone(),
            offset,
            message: self.with_shape(&fault) + &cut,
        })
    }

    /// Advice for a file that ends within one of its lines or records.
    #[cold]
    fn cut(&self, piece: &str) -> String {
        let way_out = match self.bad_lines {
            BadLines::Refuse => ": --skip-bad-lines (skip_bad_lines) replays what is before it",
            BadLines::Skip => "",
        };
        format!(". The file ends within this {piece}, so it seems to be cut off{way_out}")
    }

    #[cold]
    fn with_shape(&self, fault: &str) -> String {
        format!("{fault}; accepted ({}): {}", self.format.name, self.format.line_shape)
    }

    #[cold]
    fn fault(&mut self, error: TraceError) -> Result<(), TraceError> {
        if self.bad_lines == BadLines::Refuse {
            return Err(error);
        }
        self.skipped_lines += 1;
        self.first_fault.get_or_insert(error);
        Ok(())
    }

    fn out_of_memory(&self) -> TraceError {
        out_of_memory(&self.file_name, self.request_count, self.name_bytes)
    }

    /// False if there is no memory for it.
    fn push(&mut self, line: &Line<'_>) -> Result<bool, String> {
        let request = match line {
            Line::Request(request) => request,
            Line::Restart(request) => {
                self.drop_requests();
                request
            }
            Line::Other => return Ok(true),
        };
        let (sector, sector_count, is_rounded) = sectors_of(request)?;
        let volume_index = self.volume_index(request.volume)?;
        self.rounded_count += u64::from(is_rounded);
        let &Request { time, op, flags, process, .. } = request;
        if time < self.time_max {
            self.late_count += 1;
            self.first_late.get_or_insert(self.place);
        }
        self.time_max = self.time_max.max(time);
        let span = (sector, sector_count);
        let event = Event { time, op, flags: flags.kept(op), span, volume_index, process };
        if flags.has(Flags::FLUSH_FIRST) {
            let (op, flags) = (HostOp::Flush, Flags::default());
            let flush = Event { op, flags, span: (0, 0), ..event };
            if !self.sink.take(&flush, self.name_bytes) {
                return Ok(false);
            }
            self.request_count += 1;
        }
        let is_taken = self.sink.take(&event, self.name_bytes);
        self.request_count += u64::from(is_taken);
        Ok(is_taken)
    }

    /// Drops all requests, but not the faults.
    fn drop_requests(&mut self) {
        self.sink.restart();
        self.request_count = 0;
        self.volumes.clear();
        self.volume_indices.clear();
        self.name_bytes = 0;
        self.time_max = Ns(0);
        (self.late_count, self.first_late) = (0, None);
        self.rounded_count = 0;
    }

    #[inline]
    fn volume_index(&mut self, volume: &str) -> Result<usize, String> {
        match self.volume_indices.get(volume) {
            Some(index) => Ok(index),
            None => self.new_volume(volume),
        }
    }

    fn new_volume(&mut self, volume: &str) -> Result<usize, String> {
        let index = self.volumes.len();
        if index == VOLUME_COUNT_MAX {
            return Err(format!("more than {VOLUME_COUNT_MAX} volumes"));
        }
        let name = self.format.reader.volume_name(volume);
        self.name_bytes += VOLUME_BYTES + (name.len() + volume.len()) as u64;
        // The same volume may be written in several ways, such as with other blanks.
        let known = self.volume_indices.get(&name);
        let index = known.unwrap_or(index);
        self.volume_indices.insert(volume, index);
        if known.is_none() {
            self.volume_indices.insert(&name, index);
            self.volumes.push(name);
        }
        Ok(index)
    }

    fn finish(self, source_name: &str) -> Scanned {
        let warnings = self.warnings(source_name);
        let fault = (self.request_count == 0).then(|| {
            self.first_fault.unwrap_or_else(|| TraceError::File {
                source_name: source_name.to_owned(),
                message: format!(
                    "no request in it; accepted ({}): {}",
                    self.format.name, self.format.line_shape
                ),
            })
        });
        let rounded_warning = (self.rounded_count > 0).then(|| {
            let requests = match self.rounded_count {
                1 => "1 request was not of whole sectors and was".to_owned(),
                count => format!("{count} requests were not of whole sectors and were"),
            };
            format!("{source_name}: {requests} rounded outwards")
        });
        Scanned {
            format: self.format.name,
            repeated: self.format.reader.repeated_volumes(),
            volumes: self.volumes,
            skipped_lines: self.skipped_lines,
            request_count: self.request_count,
            late_count: self.late_count,
            first_late: self.first_late,
            name_bytes: self.name_bytes,
            fault,
            warnings,
            rounded_warning,
        }
    }

    fn warnings(&self, source_name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(fault) = &self.first_fault {
            let lines = if self.skipped_lines == 1 { "line" } else { "lines" };
            warnings.push(format!("{} {lines} skipped; the first: {fault}", self.skipped_lines));
        }
        let remarks = self.format.reader.remarks();
        warnings.extend(remarks.iter().map(|remark| format!("{source_name}: {remark}")));
        warnings
    }
}

fn out_of_memory(source_name: &str, request_count: u64, name_bytes: u64) -> TraceError {
    let message = format!(
        "out of memory after {request_count} requests: {} bytes each, and {name_bytes} bytes of \
         volume names; accepted: a part of the trace, or a machine with more memory",
        size_of::<TraceRecord>(),
    );
    TraceError::File { source_name: source_name.to_owned(), message }
}

/// First sector and count of the sectors that a request touches, and whether it was not made of
/// them.
fn sectors_of(request: &Request<'_>) -> Result<(u64, u32, bool), String> {
    if request.op == HostOp::Flush {
        return Ok((0, 0, false));
    }
    if request.size_bytes == 0 && request.op != RESET {
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
