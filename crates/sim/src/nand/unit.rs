//! The contents of one page of the flash, as written.

use std::num::NonZeroU32;

use super::arena::Slot;

/// A fault has changed the bytes.
const IS_DAMAGED: u32 = 1;
/// No decoder gives it back.
const IS_LOST: u32 = 2;
/// Position of the number above the flags: `ZEROS`, or above that the slot of the bytes.
const SLOT_SHIFT: u32 = 2;
const ZEROS: u32 = 1;

/// Which data of a logical page: that of its write number `version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) lpn: u32,
    pub(super) version: u32,
}

/// The contents of one page of the flash: 12 bytes, also in an `Option`.
///
/// Each place that keeps a unit with a slot is a holder of this slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Whose data it is.
    pub lpn: u32,
    /// Writes of this logical page up to this one.
    pub version: u32,
    state: NonZeroU32,
}

impl Unit {
    /// Data of a page, `None` for zeros.
    pub(super) fn new(of: Version, slot: Option<Slot>) -> Self {
        Self { lpn: of.lpn, version: of.version, state: state(slot, 0) }
    }

    /// Which data it was written as.
    pub(super) fn of(&self) -> Version {
        Version { lpn: self.lpn, version: self.version }
    }

    /// The slot of its bytes, with their protection information; `None` for zeros.
    pub(super) fn slot(&self) -> Option<Slot> {
        (self.state.get() >> SLOT_SHIFT).checked_sub(ZEROS + 1).map(Slot)
    }

    pub(super) fn set_slot(&mut self, slot: Option<Slot>) {
        self.state = state(slot, self.state.get() & (IS_DAMAGED | IS_LOST));
    }

    /// Whether it has bytes, and is not of zeros.
    pub fn has_bytes(&self) -> bool {
        self.slot().is_some()
    }

    /// A fault has changed it. The drive does not know; its protection has to find out.
    pub fn is_damaged(&self) -> bool {
        self.state.get() & IS_DAMAGED != 0
    }

    /// No decoder can recover it: a power cut interrupted its program, or a later pass of its
    /// wordline.
    pub fn is_lost(&self) -> bool {
        self.state.get() & IS_LOST != 0
    }

    pub(super) fn set_damaged(&mut self) {
        self.state |= IS_DAMAGED;
    }

    pub(super) fn set_lost(&mut self) {
        self.state |= IS_LOST;
    }
}

fn state(slot: Option<Slot>, flags: u32) -> NonZeroU32 {
    let number = slot.map_or(ZEROS, |slot| slot.0 + ZEROS + 1);
    NonZeroU32::new(number << SLOT_SHIFT | flags).expect("no number is 0")
}
