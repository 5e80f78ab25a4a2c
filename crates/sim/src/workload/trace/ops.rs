//! Operations of requests, and their flags.

use super::fields::quote;
use crate::op::{HostOp, ZoneAction, ZoneOp};

/// A reset of the zone at its address.
pub const RESET: HostOp = HostOp::Zone(ZoneOp::One(ZoneAction::Reset));
/// A write at the write pointer of the zone at its address.
pub const APPEND: HostOp = HostOp::Zone(ZoneOp::Append);

/// Operations of requests, and their words in `csv`.
pub const OPS: [(HostOp, &str); 6] = [
    (HostOp::Read, "read"),
    (HostOp::Write, "write"),
    (HostOp::Trim, "trim"),
    (HostOp::Flush, "flush"),
    (RESET, "reset"),
    (APPEND, "append"),
];

/// The index in [`OPS`] of one of them.
pub(crate) fn op_index(op: HostOp) -> usize {
    match op {
        HostOp::Zone(ZoneOp::Append) => 5,
        HostOp::Zone(_) => 4,
        other => other.index(),
    }
}

/// The operation of a word.
pub(crate) fn op_of_word(word: &str) -> Option<HostOp> {
    OPS.iter().find(|(_, name)| *name == word).map(|(op, _)| *op)
}

/// Flags of a request, in addition to its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Force unit access; of what stores data only.
    pub const FUA: Self = Self(0x80);
    /// A program waits for it.
    pub const SYNC: Self = Self(0x40);
    /// Of a file system, not of its files.
    pub const META: Self = Self(0x20);
    /// A read ahead of need.
    pub const AHEAD: Self = Self(0x10);
    /// A flush comes before it, and becomes a separate request.
    pub const FLUSH_FIRST: Self = Self(0x08);
    /// Those that a request of a trace keeps: their words in `csv`, and the letters of the kernel.
    pub const KEPT: [(Self, &'static str, char); 4] = [
        (Self::FUA, "fua", 'F'),
        (Self::AHEAD, "ahead", 'A'),
        (Self::SYNC, "sync", 'S'),
        (Self::META, "meta", 'M'),
    ];

    /// Whether it has all of these.
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With these too.
    #[must_use]
    pub fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// Without those that are not kept, and without force unit access unless `op` stores data.
    pub(crate) fn kept(self, op: HostOp) -> Self {
        Self(self.0 & if op.writes() { 0xf0 } else { 0x70 })
    }

    /// Those that are kept, in the upper bits.
    pub(crate) fn bits(self) -> u8 {
        self.0 & 0xf0
    }

    /// The same from such bits.
    pub(crate) fn of_bits(bits: u8) -> Self {
        Self(bits & 0xf0)
    }

    /// Of words between blanks.
    pub(crate) fn of_words(text: &str) -> Result<Self, String> {
        let mut flags = Self::default();
        for word in text.split_ascii_whitespace() {
            let known = Self::KEPT.iter().find(|(_, name, _)| *name == word);
            let (flag, ..) = known.ok_or_else(|| {
                let names: Vec<_> = Self::KEPT.iter().map(|(_, name, _)| *name).collect();
                format!("flag {}; accepted: {}, blanks between", quote(word), names.join(", "))
            })?;
            flags = flags.with(*flag);
        }
        Ok(flags)
    }
}
