//! Tables of text whose columns are fixed: a [`Row`] states them, and one reader reads all.
//!
//! Cells are checked in the order in which the row has them, so the first that is wrong is named.
//! Addresses behind the operation are not read if it has none, as of a flush.

use super::fields::{between, commas, exactly, number, quote, scaled, seconds};
use super::ops::{Flags, RESET};
use super::rwbs::{scsi_op, word_op, PassedOver, Rwbs};
use super::{Line, LineReader, Request};
use crate::op::HostOp;
use crate::units::Ns;

/// Columns that a row may have.
const COLUMNS_MAX: usize = 9;

/// The layout of a format.
pub(super) struct Row {
    pub line: &'static str,
    pub columns: Columns,
    /// Whether a line is a header.
    pub is_header: fn(&str) -> bool,
    pub cells: &'static [Cell],
    pub volume: Volume,
    /// The column of the process.
    pub process: Option<usize>,
    /// Of requests that ask nothing of the drive, such as "without data".
    pub passed_over: &'static str,
    /// The layout of lines without a comma.
    pub without_commas: Option<&'static Row>,
}

impl Row {
    /// What most rows have.
    pub const DEFAULT: Self = Self {
        line: "",
        columns: Columns::Commas(0),
        is_header: |_| false,
        cells: &[],
        volume: Volume::None,
        process: None,
        passed_over: "without data",
        without_commas: None,
    };
}

/// How a line is divided; one column may hold the separator, and others are counted from its end.
#[derive(Clone, Copy)]
pub(super) enum Columns {
    Commas(usize),
    Blanks(usize),
    /// Any number from the last cell on.
    CommasOrMore,
    CommasAround {
        wide: usize,
        count: usize,
    },
    BlanksAround {
        wide: usize,
        count: usize,
    },
}

/// A column that is read: its index from 0, its name in messages, and its contents.
pub(super) struct Cell(pub usize, pub &'static str, pub Is);

/// Contents of a column.
#[derive(Clone, Copy)]
pub(super) enum Is {
    /// A whole number without a further use.
    Whole,
    /// Digits and points, or nothing.
    SecondsOrNothing,
    /// Seconds with decimals.
    Seconds,
    /// A whole number of this many nanoseconds.
    Time(u64),
    /// Whole numbers of this many bytes.
    Offset(u64),
    Size(u64),
    /// Flags of `served`.
    Flags,
    /// R, W and words.
    Word,
    /// The same; without any the kind of the request is unknown.
    WordOrNothing,
    /// The operations of 0 and of 1.
    Code([HostOp; 2]),
    /// RWBS; without sectors only its flush counts.
    Rwbs,
    /// Words and flags of `served`.
    Served,
    /// Flags of `csv`: words between blanks.
    FlagWords,
    /// Operations of `csv`.
    Own,
    /// Commands of SCSI, two hexadecimal digits.
    Scsi,
}

/// Columns that name the volume.
#[derive(Clone, Copy)]
pub(super) enum Volume {
    /// A file is one volume.
    None,
    Column(usize),
    /// From one column to a later one, and the text between them in the name.
    Columns(usize, usize, &'static str),
}

/// Reads the lines of a file.
pub(super) struct Reader {
    row: &'static Row,
    passed_over: PassedOver,
}

impl Reader {
    pub fn new(row: &'static Row) -> Self {
        Self { row, passed_over: PassedOver::new(row.passed_over) }
    }
}

impl LineReader for Reader {
    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        let row = match self.row.without_commas {
            Some(row) if !text.contains(',') => row,
            _ => self.row,
        };
        if (row.is_header)(text) {
            return Ok(Line::Other);
        }
        let mut fields = [""; COLUMNS_MAX];
        let count = row.columns.split(text, &mut fields)?;
        let volume = match row.volume {
            Volume::None => "0",
            Volume::Column(column) => fields[column],
            Volume::Columns(first, last, _) => between(text, fields[first], fields[last]),
        };
        let mut found = Found::default();
        for Cell(column, name, is) in row.cells {
            if *column >= count {
                return Err(format!("there is no {name} field"));
            }
            found.read(*is, name, fields[*column])?;
        }
        let Found { time, offset_bytes, size_bytes, rwbs, .. } = found;
        let flags = rwbs.flags;
        let process = row.process.map_or("", |column| fields[column]);
        match (rwbs.op, rwbs.flush(time, volume)) {
            (None | Some(HostOp::Flush), Some(flush)) => Ok(Line::Request(flush.by(process))),
            (Some(op), _) => Ok(Line::Request(Request {
                time,
                volume,
                offset_bytes,
                size_bytes,
                op,
                flags,
                process,
            })),
            (None, None) => Ok(self.passed_over.pass_over()),
        }
    }

    fn volume_name(&self, volume: &str) -> String {
        let Volume::Columns(.., joint) = self.row.volume else { return volume.to_owned() };
        let parts: Vec<_> = if volume.contains(',') {
            volume.split(',').map(str::trim).collect()
        } else {
            volume.split_ascii_whitespace().collect()
        };
        parts.join(joint)
    }

    fn remarks(&self) -> Vec<String> {
        self.passed_over.remark().into_iter().collect()
    }
}

/// Contents of the cells of a line.
struct Found {
    time: Ns,
    offset_bytes: u64,
    size_bytes: u64,
    /// Of `served`, and of `csv`.
    flags: u64,
    words: Flags,
    rwbs: Rwbs,
    /// Whether the operation was read, and has no address.
    is_placeless: bool,
}

impl Default for Found {
    fn default() -> Self {
        let rwbs = Rwbs::plain(HostOp::Read);
        Self {
            time: Ns(0),
            offset_bytes: 0,
            size_bytes: 0,
            flags: 0,
            words: Flags::default(),
            rwbs,
            is_placeless: false,
        }
    }
}

impl Found {
    #[inline]
    fn read(&mut self, is: Is, name: &str, text: &str) -> Result<(), String> {
        match is {
            Is::Whole => drop(number(name, text)?),
            Is::SecondsOrNothing => {
                if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
                    return Err(format!("{name} {} is not a time in seconds", quote(text)));
                }
            }
            Is::Seconds => self.time = seconds(name, text)?,
            Is::Time(unit_ns) => self.time = Ns(scaled(name, text, unit_ns)?),
            Is::Offset(_) | Is::Size(_) if self.is_placeless => {}
            Is::Offset(unit) => self.offset_bytes = scaled(name, text, unit)?,
            Is::Size(unit) => self.size_bytes = scaled(name, text, unit)?,
            Is::Flags => self.flags = number(name, text)?,
            Is::WordOrNothing if text.is_empty() => self.rwbs.op = None,
            Is::Word | Is::WordOrNothing => self.rwbs = Rwbs::plain(word_op(text)?),
            Is::Code([zero, one]) => {
                self.rwbs = Rwbs::plain(match text {
                    "0" => zero,
                    "1" => one,
                    _ => return Err(format!("{name} {} is unknown", quote(text))),
                });
            }
            Is::Rwbs => {
                self.rwbs = Rwbs::of(text)?;
                if self.size_bytes == 0 && !matches!(self.rwbs.op, Some(HostOp::Flush | RESET)) {
                    self.rwbs.op = None;
                }
            }
            Is::FlagWords => self.words = Flags::of_words(text)?,
            Is::Scsi => {
                let code = u16::from_str_radix(text, 16).ok().filter(|_| text.len() == 2);
                let code =
                    code.ok_or_else(|| format!("{name} {} is not a command", quote(text)))?;
                self.rwbs.op = scsi_op(code, self.size_bytes);
            }
            Is::Own => self.rwbs = Rwbs::own(text, self.words)?,
            Is::Served => self.rwbs = Rwbs::served(text, self.flags)?,
        }
        if matches!(is, Is::Rwbs | Is::Served | Is::Own | Is::Scsi) {
            self.is_placeless = matches!(self.rwbs.op, None | Some(HostOp::Flush));
        }
        Ok(())
    }
}

impl Columns {
    /// Puts the columns of a line into `fields`, blanks around them removed; returns their number.
    #[inline]
    fn split<'a>(
        self,
        text: &'a str,
        fields: &mut [&'a str; COLUMNS_MAX],
    ) -> Result<usize, String> {
        let blanks = || text.split_ascii_whitespace();
        match self {
            Self::Commas(count) => exactly(commas(text), fields, count, "comma-separated"),
            Self::Blanks(count) => exactly(blanks(), fields, count, "blank-separated"),
            Self::CommasOrMore => {
                Ok(fields.iter_mut().zip(commas(text)).map(|(slot, field)| *slot = field).count())
            }
            Self::CommasAround { wide, count } => {
                let commas = text.split(',').map(str::trim);
                around(text, commas, (wide, count), fields)
                    .ok_or_else(|| format!("fewer than {count} comma-separated fields"))
            }
            Self::BlanksAround { wide, count } => around(text, blanks(), (wide, count), fields)
                .ok_or_else(|| format!("fewer than {count} blank-separated fields")),
        }
    }
}

fn around<'a>(
    text: &'a str,
    mut found: impl DoubleEndedIterator<Item = &'a str>,
    (wide, count): (usize, usize),
    fields: &mut [&'a str; COLUMNS_MAX],
) -> Option<usize> {
    for slot in fields[wide + 1..count].iter_mut().rev() {
        *slot = found.next_back()?;
    }
    for slot in &mut fields[..=wide] {
        *slot = found.next()?;
    }
    if let Some(last) = found.next_back() {
        fields[wide] = between(text, fields[wide], last);
    }
    Some(count)
}
