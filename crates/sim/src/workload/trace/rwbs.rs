//! Operations of trace lines: the kernel's letters, other letters and words, and the requests that
//! are skipped.

use super::fields::{quote, sectors};
use super::ops::{op_of_word, Flags, APPEND, OPS, RESET};
use super::{Line, Request};
use crate::op::HostOp;
use crate::units::{Ns, SECTOR_BYTES};

/// RWBS, the letters of the kernel for a request: `[F] op flags`. F in front of an operation is a
/// flush before it. Operations are R, W, D (discard), N (none), F (flush), ZA (append to a zone)
/// and ZR (reset of a zone); among the flags, F is force unit access. So `FWFS` is a flush and then
/// a write with force unit access, `WFS` that write alone; `FN`, `FF` and `F` flush; so does `FWS`
/// if it has no data. ZRA (reset of all zones), ZO, ZC and ZF (open, close, finish) are no requests
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rwbs {
    /// `None`: no operation, only the flush before it if [`Flags::FLUSH_FIRST`].
    pub op: Option<HostOp>,
    pub flags: Flags,
}

impl Rwbs {
    #[inline]
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let letters = text.as_bytes();
        let is_letters = letters.iter().all(u8::is_ascii_uppercase);
        let found = if is_letters { Self::of_letters(letters) } else { None };
        found.ok_or_else(|| {
            format!(
                "rwbs {} is not `[F]` and an operation (R, W, D, N, F, ZA, ZR) with flags in \
                 capitals",
                quote(text)
            )
        })
    }

    fn of_letters(letters: &[u8]) -> Option<Self> {
        let (flushes_first, letters) = match letters {
            [b'F', rest @ ..] if rest.first().is_some_and(|op| b"RWDNFZ".contains(op)) => {
                (true, rest)
            }
            _ => (false, letters),
        };
        let (op, rest) = match letters {
            [b'R', rest @ ..] => (Some(HostOp::Read), rest),
            [b'W', rest @ ..] => (Some(HostOp::Write), rest),
            [b'D', rest @ ..] => (Some(HostOp::Trim), rest),
            [b'F', rest @ ..] if rest.iter().all(|flag| b"FAMS".contains(flag)) => {
                (Some(HostOp::Flush), rest)
            }
            [b'Z', b'A', rest @ ..] => (Some(APPEND), rest),
            [b'N', rest @ ..]
            | [b'Z', b'R', b'A', rest @ ..]
            | [b'Z', b'O' | b'C' | b'F', rest @ ..] => (None, rest),
            [b'Z', b'R', rest @ ..] => (Some(RESET), rest),
            _ => return None,
        };
        let named = Flags::KEPT.iter().filter(|(.., letter)| rest.contains(&(*letter as u8)));
        let flags = named.fold(Flags::default(), |flags, (flag, ..)| flags.with(*flag));
        let is_flush = op == Some(HostOp::Flush);
        let first = if flushes_first && !is_flush { Flags::FLUSH_FIRST } else { Flags::default() };
        Some(Self { op, flags: flags.with(first) })
    }

    /// An operation without flags.
    pub(crate) fn plain(op: HostOp) -> Self {
        Self { op: Some(op), flags: Flags::default() }
    }

    /// A word and the flags of a record of `serve --record`: 1 is force unit access, and 2 that
    /// zeros are to be allocated, so that they are written; else they are a trim.
    pub(crate) fn served(text: &str, flags: u64) -> Result<Self, String> {
        let op = match text {
            "read" | "cache" => Some(HostOp::Read),
            "write" => Some(HostOp::Write),
            "write_zeroes" if flags & 2 != 0 => Some(HostOp::Write),
            "trim" | "write_zeroes" => Some(HostOp::Trim),
            "flush" => Some(HostOp::Flush),
            "block_status" => None,
            other => return Err(format!("{} is not a request of a served drive", quote(other))),
        };
        let is_fua = op == Some(HostOp::Write) && flags & 1 != 0;
        let flags = if is_fua { Flags::FUA } else { Flags::default() };
        Ok(Self { op, flags })
    }

    /// An operation of `csv`.
    pub(crate) fn own(text: &str, flags: Flags) -> Result<Self, String> {
        let words = || OPS.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ");
        let op =
            op_of_word(text).ok_or_else(|| format!("op {}; accepted: {}", quote(text), words()))?;
        Ok(Self { op: Some(op), flags })
    }

    /// The flush that a request without data asks for; `None` if it asks for none.
    pub(crate) fn flush(self, time: Ns, volume: &str) -> Option<Request<'_>> {
        let is_flush = self.op == Some(HostOp::Flush) || self.flags.has(Flags::FLUSH_FIRST);
        let flags = self.flags.kept(HostOp::Flush);
        is_flush.then(|| Request { flags, ..Request::flush(time, volume) })
    }

    /// The request of a line with these letters, at `place`: a sector, and bytes. `None` without
    /// data and without a flush.
    pub(crate) fn request<'a>(
        self,
        time: Ns,
        volume: &'a str,
        process: &'a str,
        (sector, size_bytes): (&str, u64),
    ) -> Result<Option<Request<'a>>, String> {
        let Some(op) = self.op.filter(|op| size_bytes > 0 || *op == RESET) else {
            return Ok(self.flush(time, volume).map(|flush| flush.by(process)));
        };
        let offset_bytes = sectors("sector", sector)?;
        let flags = self.flags;
        Ok(Some(Request { time, volume, offset_bytes, size_bytes, op, flags, process }))
    }
}

/// Counts requests of a trace that a drive cannot replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedOver {
    why: &'static str,
    count: u64,
}

impl PassedOver {
    /// `why` follows the word "request" or "requests".
    pub(crate) fn new(why: &'static str) -> Self {
        Self { why, count: 0 }
    }

    /// Counts one; returns a line that asks nothing of the drive.
    pub(crate) fn pass_over(&mut self) -> Line<'static> {
        self.count += 1;
        Line::Other
    }

    /// A remark for the user.
    pub(crate) fn remark(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(format!("1 request {} was skipped", self.why)),
            count => Some(format!("{count} requests {} were skipped", self.why)),
        }
    }
}

/// Commands of SCSI that are skipped, for a remark.
pub(crate) const OTHER_COMMANDS: &str =
    "other than reads, writes, flushes, and unmaps (42h) with their range";

/// The operation of a SCSI command with this number of bytes: READ and WRITE of 6, 10, 12 and 16
/// bytes, SYNCHRONIZE CACHE of 10 and 16, UNMAP (SBC-4). The ranges of an UNMAP are a list in its
/// data, of 8 + 16 n bytes and not recorded; bytes that are whole sectors, which no such list has,
/// are those of a range.
pub(crate) fn scsi_op(command: u16, bytes: u64) -> Option<HostOp> {
    match command {
        0x42 if bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES) => Some(HostOp::Trim),
        0x08 | 0x28 | 0xa8 | 0x88 => Some(HostOp::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(HostOp::Write),
        0x35 | 0x91 => Some(HostOp::Flush),
        _ => None,
    }
}

/// The operation of a letter or word: `R`, `w`, `Read`, …
pub(crate) fn word_op(text: &str) -> Result<HostOp, String> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    // Single letters are all that most traces have.
    match text.as_bytes() {
        [b'R' | b'r'] => return Ok(HostOp::Read),
        [b'W' | b'w'] => return Ok(HostOp::Write),
        _ => {}
    }
    if is("read") {
        Ok(HostOp::Read)
    } else if is("write") {
        Ok(HostOp::Write)
    } else if is("d") || is("t") || is("trim") || is("discard") || is("unmap") {
        Ok(HostOp::Trim)
    } else {
        Err(format!(
            "{} is not an operation; accepted: R, W, D, T, read, write, trim, discard, unmap",
            quote(text)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters after `blk_fill_rwbs()` of the kernel.
    #[test]
    fn letters_of_the_kernel_tell_flushes_flags_and_zones() {
        use HostOp::{Flush, Read, Trim, Write};
        for (text, op, flags) in [
            ("W", Some(Write), ""),
            ("WS", Some(Write), "sync"),
            ("WFS", Some(Write), "fua sync"),
            ("FWS", Some(Write), "first sync"),
            ("FWFSM", Some(Write), "first fua sync meta"),
            ("RA", Some(Read), "ahead"),
            ("DS", Some(Trim), "sync"),
            ("FN", None, "first"),
            ("N", None, ""),
            ("F", Some(Flush), ""),
            ("FF", Some(Flush), ""),
            ("FS", Some(Flush), "sync"),
            ("ZA", Some(APPEND), ""),
            ("FZAFS", Some(APPEND), "first fua sync"),
            ("ZR", Some(RESET), ""),
            ("ZRS", Some(RESET), "sync"),
            ("ZRA", None, ""),
            ("ZO", None, ""),
        ] {
            let words = flags.trim_start_matches("first");
            let flushes_first = words != flags;
            let flags = Flags::of_words(words).unwrap();
            let first = if flushes_first { Flags::FLUSH_FIRST } else { Flags::default() };
            let rwbs = Rwbs::of(text).unwrap();
            assert_eq!(rwbs, Rwbs { op, flags: flags.with(first) }, "{text}");
            let is_flush = flushes_first || op == Some(Flush);
            assert_eq!(rwbs.flush(Ns(3), "a").is_some(), is_flush, "{text}");
        }
        for bad in ["", "X", "w", "FX", "W S", "S", "Z", "ZX"] {
            assert!(Rwbs::of(bad).is_err(), "{bad}");
        }
    }
}
