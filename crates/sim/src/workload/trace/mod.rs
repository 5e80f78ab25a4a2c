//! Recorded requests: one file and one row per format.
//!
//! A format turns lines into [`Request`]s; everything common happens once, here and in `read`:
//! numbering lines, bytes to sectors, volumes to indices, skipping, sorting, and time relative to
//! the first request. Bad input of any kind is a [`TraceError`] with file and line, never a panic.
//! This room opens no files and knows no compression: it reads bytes from a `BufRead`. Formats are
//! lines of text; `vscsi` and `blkparse` may be binary records instead.
//!
//! Codes differ between formats (1 reads in `mqsim`, 0 reads in `tencent`): each reader states its
//! own. Flushes and commands of zones are requests too, and flags are kept. To add a format whose
//! columns are fixed, add a row to `tables`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::op::HostOp;
use crate::units::Ns;

pub mod biosnoop;
pub mod blkparse;
mod blktrace;
pub mod columns;
pub mod convert;
mod counts;
mod fields;
pub mod fio_iolog;
mod head;
mod names;
mod ops;
mod pages;
mod read;
mod record;
pub mod remap;
mod rwbs;
mod sink;
pub mod statistics;
mod table;
pub mod tables;
pub mod tracepoint;
pub mod vscsi;
pub mod write;
pub mod xperf;

pub use ops::{Flags, APPEND, OPS, RESET};
pub use record::{Trace, TraceRecord, TraceSummary};

/// A trace that cannot be read: the user's to mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line that is wrong.
    #[error("{source_name}:{line}: {message}")]
    Line {
        /// The file, as the user named it.
        source_name: String,
        /// Counted from 1.
        line: u64,
        /// The error, and the accepted input.
        message: String,
    },
    /// A binary record that is wrong.
    #[error("{source_name}: byte {offset}: {message}")]
    Record {
        /// The file, as the user named it.
        source_name: String,
        /// The start of the record, in bytes of the uncompressed file.
        offset: u64,
        /// The error, and the accepted input.
        message: String,
    },
    /// The file as a whole is wrong.
    #[error("{source_name}: {message}")]
    File {
        /// The file, as the user named it.
        source_name: String,
        /// The error, and the accepted input.
        message: String,
    },
}

/// What to do with a line that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadLines {
    /// Stop with an error.
    #[default]
    Refuse,
    /// Count them and continue; the count becomes a warning.
    Skip,
}

/// How to read a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// The format, or `auto`.
    pub format: FormatConfig,
    /// What to do with lines that cannot be read.
    pub bad_lines: BadLines,
    /// Most memory that the records may take; `None` for as much as the system grants.
    pub memory_bytes_max: Option<u64>,
    /// The order of the requests.
    pub order: Order,
    /// Whether the process of each request is kept.
    pub has_processes: bool,
}

/// The order of the requests of a trace that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By time, those of the same time as in the file.
    #[default]
    Time,
    /// As in the file.
    File,
}

/// One request as its line states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// When it was made, by any clock.
    pub time: Ns,
    /// The volume, as in the text.
    pub volume: &'a str,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 0 is refused by the common part, except of a flush and of a reset.
    pub size_bytes: u64,
    /// One of [`OPS`].
    pub op: HostOp,
    /// In addition to that.
    pub flags: Flags,
    /// The process that asked, as in the text; empty if the text has none.
    pub process: &'a str,
}

impl<'a> Request<'a> {
    /// A flush, which has no address.
    pub(crate) fn flush(time: Ns, volume: &'a str) -> Self {
        let (offset_bytes, size_bytes, op) = (0, 0, HostOp::Flush);
        Self { time, volume, offset_bytes, size_bytes, op, flags: Flags::default(), process: "" }
    }

    /// The same of a process.
    pub(crate) fn by(self, process: &'a str) -> Self {
        Self { process, ..self }
    }
}

/// The meaning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A request.
    Request(Request<'a>),
    /// A request of a better kind than all before it, which are dropped: see `blkparse`.
    Restart(Request<'a>),
    /// Belongs to the format, but asks nothing of the drive: a header, another event.
    Other,
}

/// Reads the lines of one file, in order.
pub trait LineReader {
    /// Parses `text`, a line without its end, neither blank nor a `#` comment.
    ///
    /// # Errors
    /// A sentence that describes the error; the caller adds file, line and [`Format::LINE`].
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String>;

    /// Lines at the start of the file, of any kind, that are skipped.
    fn header_lines(&self) -> u64 {
        0
    }

    /// The size of records if the file, which starts with `head`, holds binary records of this
    /// format. Then `record` reads them, and `line` is not called.
    fn records(&mut self, head: &[u8]) -> Option<RecordSize> {
        let _ = head;
        None
    }

    /// Parses a binary record of that size; `text` is room for a line that it becomes.
    ///
    /// # Errors
    /// As for `line`.
    fn record<'a>(&mut self, bytes: &'a [u8], text: &'a mut String) -> Result<Line<'a>, String> {
        let _ = (bytes, text);
        Err("the format has no binary records".to_owned())
    }

    /// The name of a volume that [`Request::volume`] called `volume`.
    fn volume_name(&self, volume: &str) -> String {
        volume.to_owned()
    }

    /// Volumes, as [`Request::volume`] called them, whose requests the file has a second time under
    /// another; asked after the last line.
    fn repeated_volumes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Remarks for the user after the last line, such as requests that were skipped or a
    /// choice.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The size of binary records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordSize {
    /// All have it.
    Fixed(usize),
    /// At least that; the last two bytes of it, little-endian, are the number of further ones.
    AtLeast(usize),
}

impl RecordSize {
    /// The size of the record that starts with these bytes; `None` if they are too few.
    fn of(self, start: &[u8], rest: &[u8]) -> Option<usize> {
        let byte =
            |index: usize| start.get(index).or_else(|| rest.get(index - start.len())).copied();
        match self {
            Self::Fixed(size) => Some(size),
            Self::AtLeast(size) => {
                let more = u16::from_le_bytes([byte(size - 2)?, byte(size - 1)?]);
                Some(size + usize::from(more))
            }
        }
    }
}

/// A format of traces: its parameters are the fields of the struct.
pub trait Format {
    /// One line of it, for messages.
    const LINE: &'static str;
    /// Whether `auto` considers it.
    const IS_RECOGNISED: bool = true;

    /// The reader of one file.
    fn reader(&self) -> Box<dyn LineReader>;

    /// Checks the parameters.
    ///
    /// # Errors
    /// The key and the error in it.
    fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

/// A reader, and names for messages.
pub(crate) struct NamedReader {
    pub name: &'static str,
    pub line_shape: &'static str,
    pub reader: Box<dyn LineReader>,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $row:ident $name:literal = $format:ty,)+) => {
        /// Format of a trace file.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum FormatConfig {
            /// Recognised from the first lines.
            #[serde(rename = "auto")]
            Auto(AutoFormat),
            $($(#[$doc])* #[serde(rename = $name)] $row($format),)+
        }

        impl FormatConfig {
            /// The chosen reader; `None` for `auto`.
            pub(crate) fn reader(&self) -> Option<NamedReader> {
                match self {
                    Self::Auto(_) => None,
                    $(Self::$row(format) => Some(NamedReader {
                        name: $name,
                        line_shape: <$format as Format>::LINE,
                        reader: format.reader(),
                    }),)+
                }
            }

            /// The candidates of `auto`, with default parameters.
            pub(crate) fn candidates() -> Vec<Self> {
                let mut candidates = Vec::new();
                $(if <$format as Format>::IS_RECOGNISED {
                    candidates.push(Self::$row(<$format>::default()));
                })+
                candidates
            }

            /// Checks the parameters.
            ///
            /// # Errors
            /// The key and the error in it.
            pub fn check(&self) -> Result<(), (&'static str, String)> {
                match self {
                    Self::Auto(_) => Ok(()),
                    $(Self::$row(format) => format.check(),)+
                }
            }

            /// Names of all formats.
            pub fn names() -> &'static [&'static str] {
                &[$($name,)+]
            }
        }
    };
}

formats! {
    /// `SSDsim` and `MQSim` ASCII: `time_ns device sector sectors type`, 1 reads.
    Mqsim "mqsim" = tables::Mqsim,
    /// MSR Cambridge CSV: `filetime,host,disk,Read|Write,offset,size,response`.
    Msr "msr" = tables::Msr,
    /// `VMware` virtual SCSI (`CloudPhysics`): binary records, or the CSV of `vscsiStats`.
    Vscsi "vscsi" = vscsi::Vscsi,
    /// SPC text as of the `UMass` repository: `asu,lba,bytes,r|w,seconds`.
    Spc "spc" = tables::Spc,
    /// Tencent CBS CSV: `time_s,sector,sectors,type,volume`, 0 reads.
    Tencent "tencent" = tables::Tencent,
    /// Alibaba block traces CSV: `device,R|W,offset,length,time_us`.
    Alibaba "alibaba" = tables::Alibaba,
    /// Systor '17 CSV: `time_s,response_s,R|W,lun,offset,size`.
    Systor17 "systor17" = tables::Systor17,
    /// FIU traces: `time_ns pid process lba sectors R|W major minor md5`.
    Fiu "fiu" = tables::Fiu,
    /// Mobile traces CSV: `process,device,R|W,sector,sectors,time_s`.
    Mobile "mobile" = tables::Mobile,
    /// fio iolog, versions 2 and 3.
    FioIolog "fio_iolog" = fio_iolog::FioIolog,
    /// Default text output of blkparse, or the records of blktrace.
    Blkparse "blkparse" = blkparse::Blkparse,
    /// Text output of biosnoop.
    Biosnoop "biosnoop" = biosnoop::Biosnoop,
    /// Events of ftrace, trace-cmd and `perf script`: `block_rq_issue`.
    Tracepoint "tracepoint" = tracepoint::Tracepoint,
    /// Disk events of Windows, as `xperf -a dumper` prints them.
    Xperf "xperf" = xperf::Xperf,
    /// Records of `serve --record`: `seq,conn,op,flags,off,len,t_arrive,t_target,t_reply`.
    Served "served" = tables::Served,
    /// CSV of libCacheSim: `version,time,op,size,lbn`.
    LibCacheSim "libcachesim" = tables::LibCacheSim,
    /// The table that `trace convert` writes:
    /// `time_ns,op,offset_bytes,size_bytes,volume,process,flags`.
    Csv "csv" = tables::Csv,
    /// Any table, by the names of its columns.
    Columns "columns" = columns::Columns,
}

/// `auto` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AutoFormat {}

impl Default for FormatConfig {
    fn default() -> Self {
        Self::Auto(AutoFormat {})
    }
}
