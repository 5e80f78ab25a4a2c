//! Lines as texts, and the kind of a file by its first bytes: no trace at all, or which format.

use memchr::memchr;

use super::fields::quote;
use super::{FormatConfig, NamedReader, TraceError};

/// Longest line: no format comes near.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes that `auto` examines.
pub(super) const HEAD_BYTES: usize = LINE_BYTES_MAX + 1;
/// Lines of them, at most.
const HEAD_LINES: usize = 64;

/// The line without the byte-order mark that the first one may have.
pub(super) fn without_mark(number: u64, line: &[u8]) -> &[u8] {
    match number {
        1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
        _ => line,
    }
}

/// Whether a line is blank or a comment.
pub(super) fn is_blank(line: &[u8]) -> bool {
    match line.first() {
        Some(byte) if byte.is_ascii_digit() => false,
        _ => matches!(line.trim_ascii_start().first(), None | Some(b'#')),
    }
}

/// A line as text, or why it is none.
pub(super) fn text_of(mut line: &[u8]) -> Result<&str, String> {
    while let [shorter @ .., b'\r'] = line {
        line = shorter;
    }
    let text = std::str::from_utf8(line).map_err(|error| format!("not text: {error}"))?;
    if memchr(0, line).is_some() {
        return Err("not text: it holds zero bytes".to_owned());
    }
    Ok(text)
}

pub(super) fn too_long() -> String {
    format!("longer than {LINE_BYTES_MAX} bytes: not a trace in text form")
}

/// The kind of a file that does not begin like a trace, and how to make a trace of it.
pub(super) fn foreign(head: &[u8], name: &str) -> Option<String> {
    // Magic numbers: RFC 1952 (gzip), RFC 8878 (Zstandard), bzip2, the .xz file format 1.1; ZIP
    // 4.3.7, LZ4 frame format 1.6, 7zFormat.txt, compress(1); `ustar` of POSIX is at byte 257.
    let packed: [&[u8]; 4] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd], b"BZh", b"\xfd7zXZ\0"];
    if packed.iter().any(|magic| head.starts_with(magic)) {
        let found = "still compressed: gzip, bzip2, xz or Zstandard data instead of text";
        return Some(found.to_owned());
    }
    if is_tar(head) {
        return Some(format!("a tar archive; accepted: one file of it, after `tar -xf {name}`"));
    }
    let archives: [(&[u8], &str, &str); 11] = [
        (b"PK\x03\x04", "a zip archive", "unzip"),
        (b"PK\x05\x06", "an empty zip archive", "unzip"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x"),
        (&[0x04, 0x22, 0x4d, 0x18], "compressed by lz4", "lz4 -d"),
        (&[0x02, 0x21, 0x4c, 0x18], "compressed by lz4, in its old form", "lz4 -d"),
        (&[0x1f, 0x9d], "compressed by compress", "uncompress"),
        (b"Rar!\x1a\x07", "a rar archive", "unrar x"),
        (b"LZIP\x01", "compressed by lzip", "lzip -d"),
        (b"\x89LZO\0\r\n\x1a\n", "compressed by lzop", "lzop -d"),
        (&[0x5d, 0x00, 0x00], "compressed by lzma", "xz --format=lzma -d"),
        (b"\xff\x06\0\0sNaPpY", "compressed by snappy, in frames", "snzip -d"),
    ];
    let archive = archives.iter().find(|(magic, ..)| head.starts_with(magic));
    if let Some((_, found, command)) = archive {
        return Some(format!("{found}; accepted: what `{command} {name}` unpacks"));
    }
    if head.starts_with(&[0x65, 0x61, 0x74]) && head.get(3).is_some_and(|&byte| byte < b' ') {
        let found = "records of blktrace from a big-endian machine";
        return Some(format!("{found}; accepted: what `blkparse -i {name}` prints"));
    }
    utf16(head).map(|(code, how)| {
        format!(
            "not text: UTF-16, by its {how}; accepted: UTF-8, as of `iconv -f {code} -t UTF-8 \
             {name}`"
        )
    })
}

/// Whether it is the header of a file in a tar archive: with the magic of POSIX, or before that one
/// that has the sum of its bytes in octal, with blanks for that sum itself.
fn is_tar(head: &[u8]) -> bool {
    if head.get(257..262) == Some(b"ustar") {
        return true;
    }
    let Some(header) = head.get(..512) else { return false };
    let stated = std::str::from_utf8(&header[148..156]).unwrap_or_default();
    let stated = u64::from_str_radix(stated.trim_matches([' ', '\0']), 8);
    let bytes = header[..148].iter().chain(&[b' '; 8]).chain(&header[156..]);
    stated.is_ok_and(|stated| stated == bytes.map(|&byte| u64::from(byte)).sum::<u64>())
}

/// The code of text in UTF-16, and how it is recognised.
fn utf16(head: &[u8]) -> Option<(&'static str, &'static str)> {
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Some(("UTF-16", "byte-order mark"));
    }
    // Without a mark: characters of traces have one byte, and the other is zero.
    let has_zeros = |place: usize| {
        let pairs = head.chunks_exact(2).take(16);
        pairs.len() > 3 && pairs.into_iter().all(|it| it[place] == 0 && it[1 - place] != 0)
    };
    let how = "zero bytes";
    has_zeros(1).then_some(("UTF-16LE", how)).or(has_zeros(0).then_some(("UTF-16BE", how)))
}

/// The lines of the head that are neither blank nor comments, with their numbers: each as text, or
/// the reason why it is none.
fn head_lines(head: &[u8]) -> Vec<(u64, Result<&str, String>)> {
    let mut lines: Vec<_> = (1..).zip(head.split(|&byte| byte == b'\n')).collect();
    if head.len() == HEAD_BYTES && lines.len() > 1 {
        // The last one continues behind the head.
        lines.pop();
    }
    let lines = lines.into_iter().map(|(number, line)| (number, without_mark(number, line)));
    let lines = lines.filter(|(_, line)| !is_blank(line)).take(HEAD_LINES);
    lines.map(|(number, line)| (number, text_of(line))).collect()
}

/// The format that reads these bytes: as binary records, or most of the lines; the first in the
/// registry among equals.
pub(super) fn recognise(head: &[u8]) -> Option<NamedReader> {
    let lines = head_lines(head);
    let mut best: Option<(usize, FormatConfig)> = None;
    for format in FormatConfig::candidates() {
        let mut candidate = format.reader()?;
        if candidate.reader.records(head).is_some() {
            return format.reader();
        }
        let texts = lines.iter().filter_map(|(_, text)| text.as_ref().ok());
        let understood = texts.filter(|text| candidate.reader.line(text).is_ok()).count();
        if understood > best.as_ref().map_or(0, |(count, _)| *count) {
            best = Some((understood, format));
        }
    }
    best.and_then(|(_, format)| format.reader())
}

pub(super) fn unknown_format(source_name: &str, head: &[u8]) -> TraceError {
    let names = FormatConfig::names().join(", ");
    let lines = head_lines(head);
    let Some((number, line)) = lines.first() else {
        return TraceError::File {
            source_name: source_name.to_owned(),
            message: if head.len() == HEAD_BYTES {
                let kib = HEAD_BYTES >> 10;
                format!(
                    "no request in its first {kib} KiB to recognise its format by; accepted: \
                     `--trace-format`, one of {names}"
                )
            } else {
                format!("no line with a request; accepted formats: {names}")
            },
        };
    };
    let source_name = source_name.to_owned();
    let found = match line {
        _ if head.len() > LINE_BYTES_MAX && !head.contains(&b'\n') => too_long(),
        Ok(text) => format!("no known trace format reads {}", quote(text)),
        Err(fault) => fault.clone(),
    };
    let message = format!("{found}; accepted formats: {names}");
    TraceError::Line { source_name, line: *number, message }
}
