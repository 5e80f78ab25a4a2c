//! Any table of text: the user names its columns, with units.
//!
//! ```text
//!  columns: time:ms,op:0=read:1=write,offset:sectors,size:bytes,volume,_
//! ```
//!
//! | column | parts after colons | without them |
//! |---|---|---|
//! | `time` | `s`, `ms`, `us`, `ns`, `100ns`; decimals are accepted | `s` |
//! | `op` | `CODE=` one of [`OPS`](super::OPS), `fua` or `skip` | the words below |
//! | `offset`, `size` | `bytes`, `kib`, `sectors` (512 B), `4k` | `bytes` |
//! | `volume`, `process` | | one volume, none |
//! | `_` | a column that is not used | |
//!
//! Of codes 0 and 1, one may be left out: it is the other of read and write. Words that need no
//! code, in either case: R, RS, Read, W, WS, Write, D, T, Trim, Discard, Unmap, F, Flush. `fua` is
//! a write with force unit access. Offset and size of a flush are not read. `time` may be missing:
//! then everything arrives at once, for closed loops.
//!
//! The separator is found in the first line: a comma, else a semicolon, else a tab, else blanks.
//! Offsets and sizes may be hexadecimal, with `0x`; a colon behind a time is skipped.
//!
//! A line has exactly the named number of columns, but `...` at the end allows any number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{digits, quote, time};
use super::ops::op_of_word;
use super::{Flags, Format, Line, LineReader, Request};
use crate::op::HostOp;
use crate::units::Ns;

/// Columns that a table may have.
const COLUMNS_MAX: usize = 64;

/// Parameters of `columns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Columns {
    /// Names of the columns in order, such as `time:ms,op,offset:sectors,size:bytes,volume,_`;
    /// `offset`, `size` and `op` are needed.
    pub columns: String,
    /// The separator between columns; default `auto`, from the first line.
    pub separator: Separator,
    /// Lines at the start of the file that are skipped, blank ones and comments (`#`) among
    /// them; default 0.
    pub header_lines: u32,
}

/// The separator between the columns of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Separator {
    /// From the first line: a comma, else a semicolon, else a tab, else blanks.
    #[default]
    Auto,
    /// Commas.
    Comma,
    /// Semicolons.
    Semicolon,
    /// Tabs.
    Tab,
    /// Any number of blanks.
    Blank,
}

impl Separator {
    /// The separator of a table with this line.
    fn of(text: &str) -> Self {
        match text {
            _ if text.contains(',') => Self::Comma,
            _ if text.contains(';') => Self::Semicolon,
            _ if text.contains('\t') => Self::Tab,
            _ => Self::Blank,
        }
    }
}

impl Format for Columns {
    const LINE: &'static str =
        "the columns that were named, after `header_lines` (--header-lines N) first lines";
    const IS_RECOGNISED: bool = false;

    fn reader(&self) -> Box<dyn LineReader> {
        Box::new(Reader {
            spec: Spec::of(&self.columns),
            separator: self.separator,
            header_lines: self.header_lines,
        })
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        Spec::of(&self.columns).map(drop).map_err(|message| ("columns", message))
    }
}

/// Meaning of a word or a number in the column of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Op(HostOp),
    /// A write with force unit access.
    Fua,
    /// The line is no request.
    Skip,
}

/// Contents of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Time { unit_ns: u64, unit: String },
    Op { codes: Vec<(String, Code)> },
    Offset { unit_bytes: u64, unit: String },
    Size { unit_bytes: u64, unit: String },
    Volume,
    Process,
    Unused,
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Time { .. } => "time",
            Self::Op { .. } => "op",
            Self::Offset { .. } => "offset",
            Self::Size { .. } => "size",
            Self::Volume => "volume",
            Self::Process => "process",
            Self::Unused => "_",
        }
    }
}

/// The columns as the user named them.
struct Spec {
    kinds: Vec<Kind>,
    is_open: bool,
}

impl Spec {
    fn of(text: &str) -> Result<Self, String> {
        let mut parts: Vec<_> = text.split(',').map(str::trim).collect();
        let is_open = parts.last() == Some(&"...");
        if is_open {
            parts.pop();
        }
        if parts.len() > COLUMNS_MAX {
            return Err(format!("{} columns; accepted: at most {COLUMNS_MAX}", parts.len()));
        }
        let mut kinds = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let kind = kind(part)
                .map_err(|message| format!("column {} of {} {message}", index + 1, quote(text)))?;
            if kind != Kind::Unused && kinds.iter().any(|other: &Kind| other.name() == kind.name())
            {
                return Err(format!("`{}` is named twice in {}", kind.name(), quote(text)));
            }
            kinds.push(kind);
        }
        for needed in ["op", "offset", "size"] {
            if !kinds.iter().any(|kind| kind.name() == needed) {
                return Err(format!(
                    "{} has no column `{needed}`; accepted: columns such as \
                     time:ms,op,offset:sectors,size:bytes,volume,_",
                    quote(text)
                ));
            }
        }
        Ok(Self { kinds, is_open })
    }
}

fn kind(part: &str) -> Result<Kind, String> {
    let (name, rest) = part.split_once(':').unwrap_or((part, ""));
    let bytes = |default: &str| {
        let unit = if rest.is_empty() { default } else { rest };
        let unit_bytes = match unit.to_ascii_lowercase().as_str() {
            "bytes" => 1,
            "kib" => 1 << 10,
            "sectors" => 512,
            "4k" => 4 << 10,
            _ => {
                let accepted = "bytes, kib, sectors, 4k";
                return Err(format!("has the unit {}; accepted: {accepted}", quote(unit)));
            }
        };
        Ok((unit_bytes, unit.to_owned()))
    };
    match name {
        "time" => {
            let unit = if rest.is_empty() { "s" } else { rest };
            let unit_ns = match unit {
                "s" => 1_000_000_000,
                "ms" => 1_000_000,
                "us" => 1_000,
                "100ns" => 100,
                "ns" => 1,
                _ => {
                    let accepted = "s, ms, us, ns, 100ns";
                    return Err(format!("has the unit {}; accepted: {accepted}", quote(unit)));
                }
            };
            Ok(Kind::Time { unit_ns, unit: unit.to_owned() })
        }
        "op" => codes(rest).map(|codes| Kind::Op { codes }),
        "offset" => bytes("bytes").map(|(unit_bytes, unit)| Kind::Offset { unit_bytes, unit }),
        "size" => bytes("bytes").map(|(unit_bytes, unit)| Kind::Size { unit_bytes, unit }),
        "volume" | "process" | "_" if !rest.is_empty() => {
            Err(format!("is {}; accepted: `{name}` without a unit", quote(part)))
        }
        "volume" => Ok(Kind::Volume),
        "process" => Ok(Kind::Process),
        "_" => Ok(Kind::Unused),
        _ => Err(format!(
            "is {}; accepted: time, op, offset, size, volume, process, _, and ... at the end",
            quote(part)
        )),
    }
}

/// Codes such as `0=read:1=write`.
fn codes(text: &str) -> Result<Vec<(String, Code)>, String> {
    let mut codes = Vec::new();
    for part in text.split(':').filter(|part| !part.is_empty()) {
        let op = match part.split_once('=') {
            Some((code, word)) if !code.is_empty() => match word {
                "fua" => Some((code, Code::Fua)),
                "skip" => Some((code, Code::Skip)),
                _ => op_of_word(word).map(|op| (code, Code::Op(op))),
            },
            _ => None,
        };
        let (code, op) = op.ok_or_else(|| {
            let accepted = "CODE=read, =write, =fua, =trim, =flush, =reset, =append or =skip";
            format!("has the code {}; accepted: {accepted}", quote(part))
        })?;
        if codes.iter().any(|(known, _)| known == code) {
            return Err(format!("has the code {} twice; accepted: each code once", quote(code)));
        }
        codes.push((code.to_owned(), op));
    }
    // One of 0 and 1 determines the other.
    if let [(code, Code::Op(op @ (HostOp::Read | HostOp::Write)))] = codes.as_slice() {
        let other = match code.as_str() {
            "0" => Some("1"),
            "1" => Some("0"),
            _ => None,
        };
        let other_op = if *op == HostOp::Read { HostOp::Write } else { HostOp::Read };
        codes.extend(other.map(|code| (code.to_owned(), Code::Op(other_op))));
    }
    Ok(codes)
}

struct Reader {
    spec: Result<Spec, String>,
    separator: Separator,
    header_lines: u32,
}

impl LineReader for Reader {
    fn header_lines(&self) -> u64 {
        u64::from(self.header_lines)
    }

    fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, String> {
        if self.separator == Separator::Auto {
            self.separator = Separator::of(text);
        }
        let spec = self.spec.as_ref().map_err(Clone::clone)?;
        match self.separator {
            Separator::Comma => spec.line(text.split(',').map(bare)),
            Separator::Semicolon => spec.line(text.split(';').map(bare)),
            Separator::Tab => spec.line(text.split('\t').map(bare)),
            Separator::Auto | Separator::Blank => {
                spec.line(text.split_ascii_whitespace().map(bare))
            }
        }
    }
}

/// A field without blanks and quotation marks around it.
fn bare(field: &str) -> &str {
    let field = field.trim();
    let quoted = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
    quoted.unwrap_or(field)
}

impl Spec {
    fn line<'a>(&self, mut fields: impl Iterator<Item = &'a str>) -> Result<Line<'a>, String> {
        let mut request = Request {
            time: Ns(0),
            volume: "0",
            offset_bytes: 0,
            size_bytes: 0,
            op: HostOp::Read,
            flags: Flags::default(),
            process: "",
        };
        let mut is_skipped = false;
        // If a line asks nothing, its time and address may be empty, -1 or anything; of a flush,
        // the address may.
        let (mut bad_time, mut bad_place) = (None, None);
        for (index, kind) in self.kinds.iter().enumerate() {
            let fault = |what: String| format!("column {} (`{}`) {what}", index + 1, kind.name());
            let Some(field) = fields.next() else {
                return Err(fault(format!("is missing: the line has {index} columns")));
            };
            let refuse = |shape: String| fault(format!("is {}, not {shape}", quote(field)));
            match kind {
                Kind::Unused => {}
                Kind::Volume => request.volume = field,
                Kind::Process => request.process = field,
                Kind::Time { unit_ns, unit } => {
                    if let Some(time) = time(field.strip_suffix(':').unwrap_or(field), *unit_ns) {
                        request.time = time;
                    } else {
                        let shape = format!("a time in {unit} below 2^64 ns");
                        bad_time.get_or_insert_with(|| refuse(shape));
                    }
                }
                Kind::Offset { unit_bytes, unit } | Kind::Size { unit_bytes, unit } => {
                    let count = digits(field.as_bytes()).or_else(|| hexadecimal(field));
                    match (count.and_then(|count| count.checked_mul(*unit_bytes)), kind) {
                        (Some(bytes), Kind::Offset { .. }) => request.offset_bytes = bytes,
                        (Some(bytes), _) => request.size_bytes = bytes,
                        (None, _) => {
                            let shape = format!("a whole number ({unit}) below 2^64 bytes");
                            bad_place.get_or_insert_with(|| refuse(shape));
                        }
                    }
                }
                Kind::Op { codes } => match op(codes, field) {
                    Some(Code::Op(op)) => request.op = op,
                    Some(Code::Fua) => {
                        (request.op, request.flags) = (HostOp::Write, Flags::FUA);
                    }
                    Some(Code::Skip) => is_skipped = true,
                    None => {
                        let known = codes.iter().map(|(code, _)| code.as_str());
                        let known: Vec<_> = known.chain(["R, W, D, F or their words"]).collect();
                        let shape = format!("an operation; accepted: {}", known.join(", "));
                        return Err(bad_time.or(bad_place).unwrap_or_else(|| refuse(shape)));
                    }
                },
            }
        }
        if let (Some(extra), false) = (fields.next(), self.is_open) {
            let index = self.kinds.len();
            return Err(format!(
                "column {} is {}, but {index} were named; name it `_`, or end with `...`",
                index + 1,
                quote(extra)
            ));
        }
        let is_flush = request.op == HostOp::Flush;
        match (bad_time, bad_place) {
            _ if is_skipped => Ok(Line::Other),
            (Some(fault), _) => Err(fault),
            _ if is_flush => {
                let flush = Request::flush(request.time, request.volume);
                Ok(Line::Request(flush.by(request.process)))
            }
            (None, Some(fault)) => Err(fault),
            (None, None) => Ok(Line::Request(request)),
        }
    }
}

/// A number such as `0x1f00`.
fn hexadecimal(field: &str) -> Option<u64> {
    let digits = field.strip_prefix("0x").or_else(|| field.strip_prefix("0X"))?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The operation of a word or code; `None` if it is unknown.
fn op(codes: &[(String, Code)], field: &str) -> Option<Code> {
    if let Some((_, op)) = codes.iter().find(|(code, _)| code == field) {
        return Some(*op);
    }
    let is = |words: &[&str]| words.iter().any(|word| field.eq_ignore_ascii_case(word));
    if is(&["r", "read", "rs"]) {
        Some(Code::Op(HostOp::Read))
    } else if is(&["w", "write", "ws"]) {
        Some(Code::Op(HostOp::Write))
    } else if is(&["d", "t", "trim", "discard", "unmap"]) {
        Some(Code::Op(HostOp::Trim))
    } else if is(&["f", "flush"]) {
        Some(Code::Op(HostOp::Flush))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(columns: &str) -> Box<dyn LineReader> {
        let format = Columns { columns: columns.to_owned(), ..Columns::default() };
        assert_eq!(format.check(), Ok(()), "{columns}");
        format.reader()
    }

    #[test]
    fn units_codes_and_separators() {
        for (columns, text) in [
            ("time:ms,op,offset:sectors,size:bytes,volume", "1500.5,W,16,4096,sda"),
            ("_,volume,time:us,size:kib,offset:4k,op:0=read", "x;sda;1500500;4;2;1"),
            ("volume,op:9=write,time,offset,size:4k,...", "sda\t9\t1.5005\t8192\t1\ta b\tc"),
            ("op,size:sectors,time:100ns,offset:kib,volume", "  WS   8 15005000 8  \"sda\" "),
            ("time:ns,op,offset,size,volume", "1500500000 write 8192 4096 sda"),
            ("process,time,op,offset,size,volume", "fio 1.5005: write 0x2000 0X1000 sda"),
        ] {
            let Ok(Line::Request(request)) = reader(columns).line(text) else { panic!("{text}") };
            assert_eq!(request.time, Ns(1_500_500_000), "{text}");
            assert_eq!((request.op, request.volume), (HostOp::Write, "sda"), "{text}");
            assert_eq!((request.offset_bytes, request.size_bytes), (8192, 4096), "{text}");
        }
        let mut flushing = reader("time:us,op:3=flush:4=fua,offset,size,volume");
        let flush = Line::Request(Request::flush(Ns(7000), "sda"));
        for text in ["7,3,0,0,sda", "7,3,,-1,sda", "7,Flush,18446744073709551615,x,sda"] {
            assert_eq!(flushing.line(text), Ok(flush), "{text}");
        }
        assert!(flushing.line("x,3,0,0,sda").unwrap_err().starts_with("column 1 (`time`)"));
        let Ok(Line::Request(fua)) = flushing.line("7,4,512,1024,sda") else { panic!("a write") };
        assert_eq!((fua.op, fua.flags), (HostOp::Write, Flags::FUA));
        let mut skipping = reader("op:5=skip:2=read,offset,size");
        for text in ["5,0,512", "5,,", "5,-1,x"] {
            assert_eq!(skipping.line(text), Ok(Line::Other), "{text}");
        }
        let mut skipping = reader("offset,size,op:F=skip");
        assert_eq!(skipping.line(",-1,F"), Ok(Line::Other));
        assert!(skipping.line(",-1,X").unwrap_err().starts_with("column 1 (`offset`) is ``"));
        let mut skipping = reader("op:5=skip:2=read,offset,size");
        assert!(matches!(skipping.line("2,0,512"), Ok(Line::Request(_))));
        let mut headed = Columns {
            columns: "op,offset,size".to_owned(),
            header_lines: 1,
            separator: Separator::Blank,
        }
        .reader();
        assert_eq!(headed.header_lines(), 1);
        assert!(matches!(headed.line("R 0 1"), Ok(Line::Request(_))));
    }

    #[test]
    fn a_bad_line_names_the_column() {
        let mut reader = reader("time:ms,op:0=read,offset:sectors,size");
        for (text, words) in [
            ("1,0,8", "column 4 (`size`) is missing: the line has 3 columns"),
            ("1,0,x,1", "column 3 (`offset`) is `x`, not a whole number (sectors)"),
            ("1,7,0,1", "column 2 (`op`) is `7`, not an operation; accepted: 0, 1, R, W, D, F"),
            ("-1,0,0,1", "column 1 (`time`) is `-1`, not a time in ms"),
            ("1,0,0,1,9", "column 5 is `9`, but 4 were named"),
            ("1,0,99999999999999999999,1", "column 3 (`offset`)"),
        ] {
            let error = reader.line(text).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn a_bad_spec_names_its_part() {
        for (columns, words) in [
            ("", "column 1 of `` is ``; accepted: time, op"),
            ("op,offset", "has no column `size`"),
            ("op,offset:pages,size", "column 2 of `op,offset:pages,size` has the unit `pages`"),
            ("time:min,op,offset,size", "column 1 of `time:min,op,offset,size` has the unit `min`"),
            ("op:0=read:0=write,offset,size", "has the code `0` twice; accepted: each code once"),
            ("op:0=erase,offset,size", "has the code `0=erase`; accepted: CODE=read"),
            ("op,offset,size,op", "`op` is named twice"),
            ("op,offset,size,lun", "column 4 of `op,offset,size,lun` is `lun`; accepted: time"),
            ("op,offset,size,volume:x", "is `volume:x`; accepted: `volume` without a unit"),
        ] {
            let format = Columns { columns: columns.to_owned(), ..Columns::default() };
            let (key, message) = format.check().unwrap_err();
            assert_eq!(key, "columns");
            assert!(message.contains(words), "{message}");
            assert!(format.reader().line("R,0,512").is_err());
        }
    }
}
