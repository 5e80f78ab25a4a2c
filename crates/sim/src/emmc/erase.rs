//! The erase that CMD38 requests: its argument, and the selection by CMD35 and CMD36.
//!
//! Source of the arguments: JESD84-B51, 6.10 Commands, table of CMD38, and 6.6 Erase, TRIM,
//! Discard, Secure Erase, Secure Trim.

/// The operations of CMD38.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Whole erase groups.
    Erase,
    /// Blocks; they read as erased.
    Trim,
    /// Blocks; they may read as anything.
    Discard,
    /// Whole groups, and no copy is left.
    SecureErase,
    /// Blocks are marked.
    SecureTrimMark,
    /// Marked blocks are erased, and no copy is left.
    SecureTrim,
}

impl Way {
    /// The operation that an argument requests.
    pub(super) fn of_argument(argument: u32) -> Option<Self> {
        Some(match argument {
            0x0000_0000 => Self::Erase,
            0x0000_0001 => Self::Trim,
            0x0000_0003 => Self::Discard,
            0x8000_0000 => Self::SecureErase,
            0x8000_0001 => Self::SecureTrimMark,
            0x8000_8000 => Self::SecureTrim,
            _ => return None,
        })
    }

    /// Whether the selection is widened to whole groups.
    pub(super) fn is_by_group(self) -> bool {
        matches!(self, Self::Erase | Self::SecureErase)
    }

    pub(super) fn is_secure(self) -> bool {
        matches!(self, Self::SecureErase | Self::SecureTrim)
    }
}

/// How far a host is with a selection; sectors of the partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Selection {
    #[default]
    None,
    /// CMD35 came.
    From(u64),
    /// CMD36 came too; the last is included.
    Range(u64, u64),
}
