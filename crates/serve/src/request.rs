//! What clients ask of a drive, in any protocol, and why it was not done.

use opennandlab_sim::op::ZoneAction;
use opennandlab_sim::session::PurgeOrder;

/// Flag of a command: done only when the flash holds it.
pub const FUA: u16 = 1;
/// Flag of a command: zeros are to be allocated.
pub const NO_HOLE: u16 = 1 << 1;
/// Flag of a command: the reply is to come in one piece, which it always does here.
pub const DF: u16 = 1 << 2;
/// Flag of a command: one extent is enough.
pub const REQ_ONE: u16 = 1 << 3;

/// Flags of a read: its data is examined, or compared, and not sent.
pub const VERIFY: u16 = 1 << 4;
/// See [`VERIFY`].
pub const COMPARE: u16 = 1 << 5;

/// In the flags of a write, from this bit on: its placement id.
pub const PLACEMENT_SHIFT: u32 = 8;

/// The error numbers of NBD, which are those of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// Nothing.
    Ok = 0,
    /// The export is read-only.
    Perm = 1,
    /// An error of the medium.
    Io = 5,
    /// The request makes no sense.
    Inval = 22,
    /// There is no such byte, or no room.
    NoSpace = 28,
    /// The command is not known, or not on this connection.
    NotSupported = 95,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Data.
    Read,
    /// New data, which follows the request.
    Write,
    /// The end of the connection.
    Disconnect,
    /// Writes that have ended are to be durable.
    Flush,
    /// Bytes of no value.
    Trim,
    /// The drive may fetch them.
    Cache,
    /// Zeros.
    WriteZeroes,
    /// New data at the write pointer of the zone that begins at the offset.
    Append,
    /// Another state of this zone.
    Zone(ZoneAction),
    /// The same of all zones that the action applies to.
    AllZones(ZoneAction),
    /// Which bytes are data and which are holes.
    BlockStatus,
    /// The drive forgets its data.
    Purge(PurgeOrder),
    /// A number that is no command.
    Unknown(u16),
}

impl Command {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Disconnect => "disconnect",
            Self::Flush => "flush",
            Self::Trim => "trim",
            Self::Cache => "cache",
            Self::WriteZeroes => "write_zeroes",
            Self::Append => "append",
            Self::Zone(ZoneAction::Reset) => "zone_reset",
            Self::Zone(_) | Self::AllZones(_) => "zone",
            Self::BlockStatus => "block_status",
            Self::Purge(_) => "purge",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// A request without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub command: Command,
    /// See [`FUA`] and the following.
    pub flags: u16,
    /// What the client calls it.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}
