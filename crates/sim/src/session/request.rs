//! Requests of clients to a served drive, and the replies.

use std::ops::Range;

use crate::ftl::zones::{ZoneAction, ZoneStatus};
use crate::nand::MediaError;
use crate::op::Purpose;
use crate::units::Ns;

/// The owner of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// No clock: commands end when they begin.
    Untimed,
    /// The model: commands take the time of the drive.
    Timed,
}

/// A request of a client, in bytes of the drive.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Data was read by [`super::Session::read`]; the drive is busy with it.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// The same, for data that is not sent.
    Check {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
        /// What the data is for: `Verify` or `Compare`.
        purpose: Purpose,
    },
    /// New data.
    Write {
        /// First byte.
        offset: u64,
        /// The data to write.
        bytes: &'a [u8],
        /// Done only when the flash holds it.
        is_fua: bool,
        /// Placement id; without effect in drives that do not place data.
        placement: u8,
    },
    /// Zeros, for which pages may be trimmed unless they are to be allocated.
    Zero {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Done only when the flash holds it.
        is_fua: bool,
        /// Whether pages are programmed for them.
        is_allocated: bool,
    },
    /// The bytes are of no value any more; whole units read as zeros afterwards.
    Trim {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// Earlier writes must be on the flash.
    Flush,
    /// New data that is in other places of the drive, which are read first.
    Copy {
        /// These places, in the order of their bytes.
        sources: &'a [Range<u64>],
        /// First byte.
        offset: u64,
        /// The data, as [`super::Session::read`] gave it.
        bytes: &'a [u8],
        /// Done only when the flash holds it.
        is_fua: bool,
    },
    /// New data at the write pointer of a zone.
    Append {
        /// First byte of the zone.
        offset: u64,
        /// The data to write.
        bytes: &'a [u8],
        /// Done only when the flash holds it.
        is_fua: bool,
    },
    /// Another state of the zone that begins at this byte, or with `None` of all zones that the
    /// action applies to. A flush of an area takes the page of this byte along.
    Zone(ZoneAction, Option<u64>),
}

impl Request<'_> {
    /// Whether a worn-out drive refuses it.
    pub(super) fn writes(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Zero { .. } | Self::Copy { .. })
    }

    /// What the first of its commands are for.
    pub(super) fn purpose(&self) -> Purpose {
        match self {
            Self::Check { purpose, .. } => *purpose,
            Self::Zero { .. } => Purpose::Zeroes,
            Self::Copy { .. } => Purpose::CopySource,
            _ => Purpose::Data,
        }
    }
}

/// Whether a request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is done.
    Done,
    /// It is done, and the zone has put its data at this byte.
    Placed(u64),
    /// [`super::Session::advance`] will report its end.
    Running,
}

impl Begun {
    /// Where the data of an append is.
    pub(super) fn place(self) -> Option<u64> {
        if let Self::Placed(place) = self {
            Some(place)
        } else {
            None
        }
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The contents of the flash are not the data last written.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The drive is worn out and takes no more writes.
    #[error("the drive is worn out and takes no more writes")]
    WornOut,
    /// The drive forgets its data: see [`super::Session::purge`].
    #[error("the drive is being purged")]
    Purging {
        /// Of its order.
        mark: u32,
    },
    /// The zone does not take it.
    #[error(transparent)]
    Zone(#[from] ZoneStatus),
    /// No read could correct the errors that the model has for this data.
    #[error("uncorrectable read")]
    Uncorrectable,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The caller's name of the request.
    pub token: u64,
    /// When, by the clock of the model.
    pub at: Ns,
    /// Why it failed; `None` if it did not.
    pub refusal: Option<Refusal>,
    /// Where the data of an append is.
    pub place: Option<u64>,
}
