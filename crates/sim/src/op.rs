//! The words spoken between the rooms: what the host asks, what the flash does, and for whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Ns, SECTOR_BYTES};

/// What a host command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostOp {
    /// Return the data of the sectors.
    Read,
    /// Store new data in the sectors.
    Write,
    /// The sectors hold nothing of value any more.
    Trim,
    /// As `Trim`, but aimed at mapped data: the device redraws the address until a mapped page is
    /// hit.
    TrimMapped,
    /// Everything that was written before must be on the flash when this completes. It has no
    /// sectors.
    Flush,
    /// A command for drives with zones only; the first sector is that of the zone.
    Zone(ZoneOp),
}

/// Commands for zones alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneOp {
    /// Stores data of the host's user at the write pointer, wherever that is.
    Append,
    /// The same of data that the host has written before, and moves.
    Relocate,
    /// Changes the state of the zone.
    One(ZoneAction),
    /// Changes the state of all zones that it applies to.
    All(ZoneAction),
}

/// An action on one zone, or on all zones that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZoneAction {
    /// Explicitly.
    Open,
    /// An open one.
    Close,
    /// It takes no more.
    Finish,
    /// It is empty again.
    Reset,
    /// A read-only one.
    Offline,
    /// Explicitly, with a random write area; of one zone alone.
    OpenZrwa,
    /// Its random write area goes to the flash, up to the page of the command's sector.
    FlushZrwa,
}

/// Kinds of commands that are counted apart: read, write, trim, flush.
pub const HOST_OP_KINDS: usize = 4;

impl HostOp {
    /// Index of the kind in counters; both trims are one kind. Appends are writes, and what manages
    /// zones is counted with the trims.
    #[inline]
    pub fn index(self) -> usize {
        if self == Self::Read {
            return 0;
        }
        match self.plain() {
            Self::Write => 1,
            Self::Flush => 3,
            _ => 2,
        }
    }

    /// Whether it stores data.
    #[inline]
    pub fn writes(self) -> bool {
        self.index() == 1
    }

    /// The command of a drive without zones that takes the same way: what queues, links and
    /// processors see.
    #[inline]
    #[must_use]
    pub fn plain(self) -> Self {
        match self {
            Self::Zone(action) => action.plain(),
            other => other,
        }
    }
}

impl ZoneOp {
    #[cold]
    fn plain(self) -> HostOp {
        match self {
            Self::Append | Self::Relocate => HostOp::Write,
            _ => HostOp::Trim,
        }
    }
}

/// How urgent a host's commands are, for arbitration between submission queues.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all others, always.
    Urgent,
    /// The largest share of a round.
    High,
    /// A middle share.
    #[default]
    Medium,
    /// The smallest share.
    Low,
}

/// Why a host asks, where the logs of a drive count it apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Data goes from the host to the drive, or back.
    #[default]
    Data = 0,
    /// Zeros that the host does not send.
    Zeroes = 1,
    /// The source of a copy.
    CopySource = 2,
    /// What a copy writes.
    CopyTarget = 3,
    /// Data is read and not sent.
    Verify = 4,
    /// Data is read and compared with that of the host.
    Compare = 5,
}

/// Number of purposes.
pub const PURPOSES: usize = 6;

/// One command of the host, in 512-byte sectors of the logical address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCommand {
    /// When it arrives; `Ns(0)` in closed loops, where completion decides.
    pub arrival: Ns,
    /// First sector.
    pub sector: u64,
    /// Sectors, at least 1; 0 for a flush.
    pub sector_count: u32,
    /// What to do with them.
    pub op: HostOp,
    /// Which of the hosts that share the drive asks, from 0.
    pub tenant: u8,
    /// Force unit access: a write that completes only when the flash holds it.
    pub is_fua: bool,
    /// Placement id of a write, where each command has its own.
    pub placement: u8,
    /// What a served drive with zones calls it, to give it its bytes and to learn its status; 0
    /// for all others.
    pub tag: u32,
    /// Why the host asks.
    pub purpose: Purpose,
}

impl HostCommand {
    /// A command of a single host in a closed loop.
    pub fn new(op: HostOp, sector: u64, sector_count: u32) -> Self {
        let (arrival, tenant, placement, tag) = (Ns(0), 0, 0, 0);
        let (is_fua, purpose) = (false, Purpose::Data);
        Self { arrival, sector, sector_count, op, tenant, is_fua, placement, tag, purpose }
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.sector_count) * SECTOR_BYTES
    }

    /// Number of its sectors that are in `page`, a page of `sectors_per_page` sectors.
    pub fn sectors_in(&self, page: u32, sectors_per_page: u64) -> u64 {
        let first = u64::from(page) * sectors_per_page;
        let limit = self.sector + u64::from(self.sector_count);
        limit.min(first + sectors_per_page).saturating_sub(first.max(self.sector))
    }
}

/// Pages of one run of flash operations, at most.
pub(crate) const RUN_MAX: u32 = 65_535;

/// Why the flash does something. The columns of every counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Source {
    /// Data of a host command.
    Host = 0,
    /// Moved by garbage collection.
    Gc = 1,
    /// Moved by wear leveling.
    Wear = 2,
    /// Read to complete a host write smaller than a page.
    Merge = 3,
    /// Moved from single-bit blocks to blocks of full density.
    Fold = 4,
    /// Parity over the pages of a stripe.
    Parity = 5,
    /// Filling, so that a program unit is complete.
    Pad = 6,
    /// Read to rebuild an uncorrectable page from its stripe.
    Rebuild = 7,
    /// The drive's own records: journal of the map, addresses of a block.
    Map = 8,
    /// Data moved before it has too many bit errors, or read to check for them.
    Refresh = 9,
}

/// Number of [`Source`] values.
pub const SOURCE_COUNT: usize = 10;

/// The names of the sources, in the order of [`Source`].
pub const SOURCE_NAMES: [&str; SOURCE_COUNT] =
    ["host", "gc", "wear", "merge", "fold", "parity", "pad", "rebuild", "map", "refresh"];
