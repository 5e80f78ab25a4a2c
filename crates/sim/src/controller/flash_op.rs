//! Flash operations as they are kept in the queues of the dies.
//!
//! ```text
//! place   first page 32 | command 32
//! what    count 16 | sense count 16 | page type 8 | kind 8 | source 8 | flags 8
//! ```
//! An operation is two machine words, so that it travels in registers: written field by field and
//! read back as a whole, it cost a tenth of a timed run in stalled loads. The values that only the
//! full back end asks for ([`Detail`]) are passed separately.

use std::num::NonZeroU64;

use crate::op::Source;
use crate::units::Ppn;

/// What a die is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Sense a page and transfer it out.
    Read = 0,
    /// Transfer a page in and program it.
    Program = 1,
    /// Erase a block.
    Erase = 2,
    /// Sense a page and program it elsewhere in the same plane, without a transfer.
    Copyback = 3,
}

/// Marks operations that no command waits for.
pub const NO_COMMAND: u32 = u32::MAX;

const SENSES: u32 = 16;
const PAGE_TYPE: u32 = 32;
const KIND: u32 = 40;
const SOURCE: u32 = 48;
const IS_SLC: u64 = 1 << 56;
const FREES_BUFFER: u64 = 1 << 57;
const PROGRAMS_PART: u64 = 1 << 58;
const COMPLETES_IN_MEMORY: u64 = 1 << 59;

/// One entry of a die's queue: an operation, or a run of them that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashOp {
    place: u64,
    /// Never zero, since the count is not: so `Option<FlashOp>` is two words too.
    what: NonZeroU64,
}

/// Values of an operation that only the full back end asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Erases of the block that were ordered before the operation; the back end sets it.
    pub erase_count: u32,
    /// Read-retry steps that this read needs.
    pub retries: u16,
    /// Further reads for soft decisions that it needs: a sense and a transfer each.
    pub soft_reads: u16,
    /// Number of flash pages that hold a run of collected reads, if work is counted.
    pub pages: u16,
    /// Whether the levels of a remembered step are set before the first sense.
    pub begins_at_step: bool,
    /// Time of the decodings that failed before the last: one for each retry step and each soft
    /// decision, in nanoseconds.
    pub failed_ns: u32,
    /// Time for choosing the victim of the collection that it begins, which the die waits for, in
    /// nanoseconds.
    pub choice_ns: u32,
}

impl Detail {
    /// Splits the values between the first of `senses` senses and the others.
    pub fn of_first_sense(self, senses: u32) -> (Self, Self) {
        let share = |count: u32| count.div_ceil(senses);
        let first = Self {
            retries: share(self.retries.into()) as u16,
            soft_reads: share(self.soft_reads.into()) as u16,
            failed_ns: share(self.failed_ns),
            ..self
        };
        let rest = Self {
            retries: self.retries - first.retries,
            soft_reads: self.soft_reads - first.soft_reads,
            failed_ns: self.failed_ns - first.failed_ns,
            begins_at_step: false,
            choice_ns: 0,
            ..self
        };
        (first, rest)
    }

    /// Times that a read of one page senses it.
    #[inline]
    pub fn senses(&self) -> u64 {
        1 + u64::from(self.retries) + u64::from(self.soft_reads)
    }
}

impl FlashOp {
    /// A run of `count` operations from the page `first`, 1 to 65535 of them, that no command waits
    /// for.
    ///
    /// # Panics
    /// If the count is out of range.
    #[inline]
    pub fn new(kind: OpKind, source: Source, first: Ppn, count: u32) -> Self {
        debug_assert!(count < 1 << 16, "{count} operations in a run");
        let counts = u64::from(count) * (1 | 1 << SENSES);
        let what = counts | ((kind as u64) << KIND) | ((source as u64) << SOURCE);
        let what = NonZeroU64::new(what).expect("a run has at least one operation");
        Self { place: u64::from(first.0), what }.of_command(NO_COMMAND)
    }

    /// The same for the command of a slot; of a program that frees a slot of the write buffer, its
    /// epoch there.
    #[inline]
    #[must_use]
    pub fn of_command(self, slot: u32) -> Self {
        let place = self.place & u64::from(u32::MAX) | u64::from(slot) << 32;
        Self { place, ..self }
    }

    /// The same with `sense_count` array operations: fewer than the count if planes are read
    /// together.
    #[inline]
    #[must_use]
    pub fn sensed_in(self, sense_count: u32) -> Self {
        self.with(0xFFFF << SENSES, u64::from(sense_count) << SENSES)
    }

    /// The same with this (first) page type; those of a run follow in turn.
    #[inline]
    #[must_use]
    pub fn of_type(self, page_type: u8) -> Self {
        self.with(0xFF << PAGE_TYPE, u64::from(page_type) << PAGE_TYPE)
    }

    /// The same in a block with one bit per cell for the time being, or not.
    #[inline]
    #[must_use]
    pub fn in_slc(self, is_slc: bool) -> Self {
        self.with(IS_SLC, if is_slc { IS_SLC } else { 0 })
    }

    /// The same for a page that leaves the write buffer: a slot there is free when it is done.
    #[inline]
    #[must_use]
    pub fn freeing_buffer(self) -> Self {
        self.with(FREES_BUFFER, FREES_BUFFER)
    }

    /// The same as the program of what waits in front of its page, which is not written itself: a
    /// part of a page that is not full.
    #[inline]
    #[must_use]
    pub fn programming_part(self) -> Self {
        self.with(PROGRAMS_PART, PROGRAMS_PART)
    }

    /// The same as the program of a page that its command need not see on the flash: where pages
    /// are programmed in units, it is done when the die takes its unit.
    #[inline]
    #[must_use]
    pub fn completing_in_memory(self) -> Self {
        self.with(COMPLETES_IN_MEMORY, COMPLETES_IN_MEMORY)
    }

    /// The same from another page, for `count` pages.
    #[inline]
    #[must_use]
    pub fn run_of(self, first: Ppn, count: u32) -> Self {
        let place = self.place >> 32 << 32 | u64::from(first.0);
        Self { place, ..self.with(0xFFFF, u64::from(count)) }
    }

    /// Whether the program of a page is the same as this run of programs, but for its place behind
    /// it.
    #[inline]
    pub fn goes_on_with(self, next: Self) -> bool {
        let alike = |op: Self| op.what.get() & !(0xFFFF | 0xFFFF << SENSES | 0xFF << PAGE_TYPE);
        alike(self) == alike(next) && self.place + u64::from(self.count()) == next.place
    }

    #[inline]
    fn with(self, mask: u64, bits: u64) -> Self {
        let what = self.what.get() & !mask | bits;
        Self { what: NonZeroU64::new(what).expect("a run has at least one operation"), ..self }
    }

    /// The first page of the run; any page of the block for erases and for collected reads.
    #[inline]
    pub fn first(self) -> Ppn {
        Ppn(self.place as u32)
    }

    /// Operations of the run, at least 1.
    #[inline]
    pub fn count(self) -> u32 {
        u32::from(self.what.get() as u16)
    }

    /// Array operations that a run of collected reads takes.
    #[inline]
    pub fn sense_count(self) -> u32 {
        u32::from((self.what.get() >> SENSES) as u16)
    }

    /// The command slot that waits for it, or [`NO_COMMAND`].
    #[inline]
    pub fn command(self) -> u32 {
        (self.place >> 32) as u32
    }

    /// Index of the (first) page type.
    #[inline]
    pub fn page_type(self) -> u8 {
        (self.what.get() >> PAGE_TYPE) as u8
    }

    /// What to do.
    #[inline]
    pub fn kind(self) -> OpKind {
        match self.what.get() >> KIND & 3 {
            0 => OpKind::Read,
            1 => OpKind::Program,
            2 => OpKind::Erase,
            _ => OpKind::Copyback,
        }
    }

    /// Why.
    #[inline]
    pub fn source(self) -> Source {
        match self.what.get() >> SOURCE & 15 {
            0 => Source::Host,
            1 => Source::Gc,
            2 => Source::Wear,
            3 => Source::Merge,
            4 => Source::Fold,
            5 => Source::Parity,
            6 => Source::Pad,
            7 => Source::Rebuild,
            8 => Source::Map,
            _ => Source::Refresh,
        }
    }

    /// Whether the block holds one bit per cell for the time being.
    #[inline]
    pub fn is_slc(self) -> bool {
        self.what.get() & IS_SLC != 0
    }

    /// Whether a slot of the write buffer is free when it is done.
    #[inline]
    pub fn frees_buffer(self) -> bool {
        self.what.get() & FREES_BUFFER != 0
    }

    /// Whether its command need not see it on the flash.
    #[inline]
    pub fn completes_in_memory(self) -> bool {
        self.what.get() & COMPLETES_IN_MEMORY != 0
    }

    /// Whether it programs what waits in front of its page, and writes no page itself.
    #[inline]
    pub fn programs_part(self) -> bool {
        self.what.get() & PROGRAMS_PART != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_comes_back_and_none_touches_another() {
        let sources = [
            Source::Host,
            Source::Gc,
            Source::Wear,
            Source::Merge,
            Source::Fold,
            Source::Parity,
            Source::Pad,
            Source::Rebuild,
            Source::Map,
            Source::Refresh,
        ];
        for source in sources {
            for kind in [OpKind::Read, OpKind::Program, OpKind::Erase, OpKind::Copyback] {
                let op = FlashOp::new(kind, source, Ppn(u32::MAX - 1), 65_535);
                assert_eq!((op.kind(), op.source(), op.first()), (kind, source, Ppn(u32::MAX - 1)));
                assert_eq!(
                    (op.count(), op.sense_count(), op.command()),
                    (65_535, 65_535, NO_COMMAND)
                );
                let op = op.of_command(7).of_type(255).sensed_in(3).in_slc(true).freeing_buffer();
                let op = op.run_of(Ppn(5), 1);
                assert_eq!((op.kind(), op.source(), op.first()), (kind, source, Ppn(5)));
                assert_eq!((op.count(), op.sense_count(), op.command()), (1, 3, 7));
                assert!(op.page_type() == 255 && op.is_slc() && op.frees_buffer());
                assert!(!op.in_slc(false).is_slc() && !op.programs_part());
                assert!(op.completing_in_memory().completes_in_memory());
                assert!(!op.completes_in_memory());
                let part = op.programming_part();
                assert!(part.programs_part() && (part.kind(), part.count()) == (kind, 1));
            }
        }
        assert_eq!(std::mem::size_of::<Option<FlashOp>>(), 16);
    }
}
