//! What comes of a request, and of a connection.

use std::io;
use std::ops::Range;

use opennandlab_sim::session::{Extent, Refusal};

use crate::request::Errno;

/// What ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Bytes that make no sense, or none.
    Garbage,
    /// The server does not use it any more.
    Closed,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Garbage
    }
}

/// Why a request was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It makes no sense, as its protocol found.
    Checked(Errno),
    /// The drive could not do it.
    Drive(Refusal),
}

impl Fault {
    /// The error number that records have.
    pub fn errno(self) -> Errno {
        match self {
            Self::Checked(errno) => errno,
            Self::Drive(Refusal::Media(_) | Refusal::Uncorrectable | Refusal::Purging { .. }) => {
                Errno::Io
            }
            Self::Drive(Refusal::WornOut) => Errno::NoSpace,
            Self::Drive(Refusal::Zone(_)) => Errno::Inval,
        }
    }
}

/// The reply to one request.
pub trait Answer: Send + 'static {
    /// Adds what precedes the data of a read.
    fn head(&mut self, reply: &mut Vec<u8>);

    /// Adds data and holes; asked for by [`BlockStatus`](crate::request::Command::BlockStatus).
    fn extents(&mut self, _extents: &[Extent], _reply: &mut Vec<u8>) {}

    /// The bytes of the drive that a write is a copy of: they are read before it.
    fn sources(&self) -> &[Range<u64>] {
        &[]
    }

    /// The zone has put the data of an append at this byte; comes before its end.
    fn placed(&mut self, _byte: u64) {}

    /// The request has ended. The bytes that it has added begin at `start`: head and data of a read
    /// that went well, or nothing.
    fn end(&mut self, outcome: Result<(), Fault>, reply: &mut Vec<u8>, start: usize);
}
