//! What clients ask of a drive that is served, and what they are told.

use crate::nand::MediaError;
use crate::units::Ns;

/// Who has the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Nobody: commands are done when they are begun.
    Untimed,
    /// The model: commands take what the drive takes.
    Timed,
}

/// What a client asks for, in bytes of the drive.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Data was read by [`super::Session::read`]; the drive is busy with it.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// New data.
    Write {
        /// First byte.
        offset: u64,
        /// What is written.
        bytes: &'a [u8],
        /// Done only when the flash holds it.
        is_fua: bool,
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
    /// The bytes are of no value any more; whole units read as zeros from now on.
    Trim {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// What was done before is to be on the flash.
    Flush,
}

/// Whether a request is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is done.
    Done,
    /// [`super::Session::advance`] will tell.
    UnderWay,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What the flash holds is not what was written.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The drive is worn out and takes no more writes.
    #[error("the drive is worn out and takes no more writes")]
    WornOut,
    /// No read could correct what the model says the flash holds.
    #[error("uncorrectable read")]
    Uncorrectable,
}

/// A request that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// What the caller calls it.
    pub token: u64,
    /// When, by the clock of the model.
    pub at: Ns,
    /// Why it failed; `None` where it did not.
    pub refusal: Option<Refusal>,
}
