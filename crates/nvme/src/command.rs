//! Submission queue entries.

use crate::bytes::get;

/// Commands of fabrics, whose type is in byte 4.
pub(crate) const FABRICS: u8 = 0x7f;
/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 64;

/// Most data of a command: 4 KiB times two to this.
pub(crate) const TRANSFER_SHIFT: u8 = 5;
/// The same in bytes.
pub(crate) const TRANSFER_BYTES_MAX: u32 = 4096 << TRANSFER_SHIFT;
/// Bytes of a page of identify.
pub(crate) const IDENTIFY_BYTES: usize = 4096;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry(pub(crate) [u8; ENTRY_BYTES]);

/// Where the data of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the capsule, behind the entry.
    Capsule,
    /// The transport carries it.
    Transport,
    /// A descriptor that controllers over TCP do not take.
    Other,
}

impl Entry {
    pub(crate) fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Fused with another command.
    pub(crate) fn is_fused(&self) -> bool {
        self.0[1] & 3 != 0
    }

    pub(crate) fn id(&self) -> u16 {
        get(&self.0, 2, 2) as u16
    }

    pub(crate) fn namespace(&self) -> u32 {
        get(&self.0, 4, 4) as u32
    }

    /// A dword, from 10 on those of the command.
    pub(crate) fn dword(&self, number: usize) -> u32 {
        get(&self.0, 4 * number, 4) as u32
    }

    /// First block of the range.
    pub(crate) fn first_block(&self) -> u64 {
        get(&self.0, 40, 8)
    }

    /// Blocks of the range.
    pub(crate) fn blocks(&self) -> u64 {
        u64::from(self.dword(12) & 0xffff) + 1
    }

    /// Address, or offset in the capsule, of the data.
    pub(crate) fn data_offset(&self) -> u64 {
        get(&self.0, 24, 8)
    }

    /// Bytes of data.
    pub(crate) fn data_bytes(&self) -> u32 {
        get(&self.0, 32, 4) as u32
    }

    pub(crate) fn data_place(&self) -> Place {
        match self.0[39] {
            0x01 => Place::Capsule,
            0x5a => Place::Transport,
            _ => Place::Other,
        }
    }

    /// Whether the host sends data: bits 1:0 of the opcode, of fabrics commands those of their
    /// type.
    pub(crate) fn is_from_host(&self) -> bool {
        let direction = if self.opcode() == FABRICS { self.0[4] } else { self.0[0] };
        direction & 3 == 1
    }
}
