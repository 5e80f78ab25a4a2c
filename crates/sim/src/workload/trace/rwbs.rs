//! Operations of trace lines: the kernel's letters, other letters and words, and the requests that
//! are passed over.

use super::fields::{quote, sectors};
use super::{Durability, Line, Request};
use crate::op::HostOp;
use crate::units::Ns;

/// RWBS, the letters of the kernel for a request: `[F] op flags`. F in front of an operation is a
/// flush before it. Operations are R, W, D (discard), N (none) and F (flush); among the flags, F is
/// force unit access. So `FWFS` is a flush and then a write with force unit access, `WFS` that
/// write alone; `FN`, `FF` and `F` flush; so does `FWS` if it has no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rwbs {
    /// `None`: no operation, only the flush before it if `flushes_first`.
    pub op: Option<HostOp>,
    pub durability: Durability,
}

impl Rwbs {
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "rwbs {} is not `[F]` and an operation (R, W, D, N, F) with flags in capitals",
                quote(text)
            )
        };
        let letters = text.as_bytes();
        if !letters.iter().all(u8::is_ascii_uppercase) {
            return Err(unknown());
        }
        let (flushes_first, letters) = match letters {
            [b'F', rest @ ..] if rest.first().is_some_and(|op| b"RWDNF".contains(op)) => {
                (true, rest)
            }
            _ => (false, letters),
        };
        let (op, flags) = letters.split_first().ok_or_else(unknown)?;
        let op = match op {
            b'R' => Some(HostOp::Read),
            b'W' => Some(HostOp::Write),
            b'D' => Some(HostOp::Trim),
            b'N' => None,
            b'F' if flags.iter().all(|flag| b"FAMS".contains(flag)) => Some(HostOp::Flush),
            _ => return Err(unknown()),
        };
        let is_fua = op == Some(HostOp::Write) && flags.contains(&b'F');
        let flushes_first = flushes_first && op != Some(HostOp::Flush);
        Ok(Self { op, durability: Durability { flushes_first, is_fua } })
    }

    /// An operation without an effect on the cache.
    pub(crate) fn plain(op: HostOp) -> Self {
        Self { op: Some(op), durability: Durability::default() }
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
            other => return Err(format!("{} is no request of a served drive", quote(other))),
        };
        let is_fua = op == Some(HostOp::Write) && flags & 1 != 0;
        Ok(Self { op, durability: Durability { flushes_first: false, is_fua } })
    }

    /// An operation of `csv`, and flag 1 for force unit access.
    pub(crate) fn own(text: &str, flags: u64) -> Result<Self, String> {
        let op = match text {
            "read" => HostOp::Read,
            "write" => HostOp::Write,
            "trim" => HostOp::Trim,
            "flush" => HostOp::Flush,
            "reset" | "append" => {
                let accepted = "read, write, trim, flush";
                return Err(format!("op `{text}` is for zones; accepted: {accepted}"));
            }
            _ => {
                let accepted = "read, write, trim, flush, reset, append";
                return Err(format!("op {}; accepted: {accepted}", quote(text)));
            }
        };
        let is_fua = op == HostOp::Write && flags & 1 != 0;
        Ok(Self { op: Some(op), durability: Durability { flushes_first: false, is_fua } })
    }

    /// The flush that a request without data asks for; `None` if it asks for none.
    pub(crate) fn flush(self, time: Ns, volume: &str) -> Option<Request<'_>> {
        let is_flush = self.op == Some(HostOp::Flush) || self.durability.flushes_first;
        is_flush.then(|| Request::flush(time, volume))
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
        let Some(op) = self.op.filter(|_| size_bytes > 0) else {
            return Ok(self.flush(time, volume).map(|flush| flush.by(process)));
        };
        let offset_bytes = sectors("sector", sector)?;
        let durability = self.durability;
        Ok(Some(Request { time, volume, offset_bytes, size_bytes, op, durability, process }))
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
            1 => Some(format!("1 request {} was passed over", self.why)),
            count => Some(format!("{count} requests {} were passed over", self.why)),
        }
    }
}

/// The operation of a SCSI command: READ and WRITE of 6, 10, 12 and 16 bytes, SYNCHRONIZE CACHE of
/// 10 and 16 (SBC-4).
pub(crate) fn scsi_op(command: u16) -> Option<HostOp> {
    match command {
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
    fn letters_of_the_kernel_tell_flushes_and_force_unit_access() {
        use HostOp::{Flush, Read, Trim, Write};
        for (text, op, flushes_first, is_fua) in [
            ("W", Some(Write), false, false),
            ("WS", Some(Write), false, false),
            ("WFS", Some(Write), false, true),
            ("FWS", Some(Write), true, false),
            ("FWFSM", Some(Write), true, true),
            ("RA", Some(Read), false, false),
            ("DS", Some(Trim), false, false),
            ("FN", None, true, false),
            ("N", None, false, false),
            ("F", Some(Flush), false, false),
            ("FF", Some(Flush), false, false),
            ("FS", Some(Flush), false, false),
        ] {
            let durability = Durability { flushes_first, is_fua };
            let rwbs = Rwbs::of(text).unwrap();
            assert_eq!(rwbs, Rwbs { op, durability }, "{text}");
            let is_flush = flushes_first || op == Some(Flush);
            assert_eq!(rwbs.flush(Ns(3), "a").is_some(), is_flush, "{text}");
        }
        for bad in ["", "X", "w", "FX", "W S", "S"] {
            assert!(Rwbs::of(bad).is_err(), "{bad}");
        }
    }
}
