//! States of a card and the bits of its status register, which R1 responses carry.
//!
//! Source: JESD84-B51, 6.13 Device status, and 6.11 Device state transition table.

/// Address beyond the end of the partition.
pub(super) const ADDRESS_OUT_OF_RANGE: u32 = 1 << 31;
/// Address that is no multiple of the block length.
pub(super) const ADDRESS_MISALIGN: u32 = 1 << 30;
/// Block length that is not allowed.
pub(super) const BLOCK_LEN_ERROR: u32 = 1 << 29;
/// Erase commands out of order.
pub(super) const ERASE_SEQ_ERROR: u32 = 1 << 28;
/// Invalid selection of the range to erase.
pub(super) const ERASE_PARAM: u32 = 1 << 27;
/// Write to a protected place.
pub(super) const WP_VIOLATION: u32 = 1 << 26;
/// Command that the state does not allow, or that does not exist.
pub(super) const ILLEGAL_COMMAND: u32 = 1 << 22;
/// Data that no code could correct.
pub(super) const DEVICE_ECC_FAILED: u32 = 1 << 21;
/// Anything else.
pub(super) const ERROR: u32 = 1 << 19;
/// Only a part was erased, since the rest is protected.
pub(super) const WP_ERASE_SKIP: u32 = 1 << 15;
/// A sequence of erase commands was left before its end.
pub(super) const ERASE_RESET: u32 = 1 << 13;
/// The card takes data.
pub(super) const READY_FOR_DATA: u32 = 1 << 8;
/// CMD6 did not carry out the request.
pub(super) const SWITCH_ERROR: u32 = 1 << 7;
/// A bit of `EXCEPTION_EVENTS_STATUS` that the host wants to know of.
pub(super) const EXCEPTION_EVENT: u32 = 1 << 6;

/// The state of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Powered, and a boot may be asked for.
    PreIdle,
    /// It sends boot data.
    Boot,
    /// Waits for CMD1.
    Idle,
    /// Knows its voltage.
    Ready,
    /// Has sent its CID.
    Ident,
    /// Has an address, and is not selected.
    Stby,
    /// Selected, and idle.
    Tran,
    /// Sends data.
    Data,
    /// Takes data.
    Rcv,
    /// Busy.
    Prg,
    /// Busy, and not selected.
    Dis,
    /// Between the two commands of a bus test.
    Btst,
    /// Asleep.
    Slp,
    /// Off until the power comes back.
    Ina,
}

impl State {
    /// `CURRENT_STATE`, where R1 has a number for it.
    pub fn code(self) -> u32 {
        match self {
            Self::PreIdle | Self::Boot | Self::Idle | Self::Ina => 0,
            Self::Ready => 1,
            Self::Ident => 2,
            Self::Stby => 3,
            Self::Tran => 4,
            Self::Data => 5,
            Self::Rcv => 6,
            Self::Prg => 7,
            Self::Dis => 8,
            Self::Btst => 9,
            Self::Slp => 10,
        }
    }

    /// As the standard calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreIdle => "pre-idle",
            Self::Boot => "boot",
            Self::Idle => "idle",
            Self::Ready => "ready",
            Self::Ident => "ident",
            Self::Stby => "stby",
            Self::Tran => "tran",
            Self::Data => "data",
            Self::Rcv => "rcv",
            Self::Prg => "prg",
            Self::Dis => "dis",
            Self::Btst => "btst",
            Self::Slp => "slp",
            Self::Ina => "ina",
        }
    }

    /// Whether a command may come in this state (JESD84-B51, 6.11). Further conditions are checked
    /// by the command itself; commands that do not exist may come in no state.
    pub(super) fn allows(self, index: u8) -> bool {
        use State::{Boot, Btst, Data, Dis, Ident, Idle, Ina, PreIdle, Prg, Rcv, Ready, Slp, Stby};
        let is_any = |states: &[State]| states.contains(&self);
        match index {
            0 => self != Ina,
            1 => is_any(&[PreIdle, Boot, Idle]),
            2 => self == Ready,
            3 => self == Ident,
            4 | 9 | 10 => self == Stby,
            5 => is_any(&[Stby, Slp]),
            7 => is_any(&[Stby, Self::Tran, Data, Prg, Dis]),
            12 => is_any(&[Data, Rcv, Prg]),
            13 | 15 => is_any(&[Stby, Self::Tran, Data, Rcv, Prg, Dis, Btst]),
            14 => self == Btst,
            44 | 45 => is_any(&[Self::Tran, Data, Rcv, Prg]),
            6 | 8 | 16..=19 | 23..=25 | 28..=31 | 35 | 36 | 38 | 46..=48 => self == Self::Tran,
            _ => false,
        }
    }
}
