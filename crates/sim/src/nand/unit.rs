//! What one page of the flash holds, as it was written.

use std::sync::Arc;

/// What one page of the flash holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Whose data it is.
    pub lpn: u32,
    /// Writes of this logical page up to this one.
    pub version: u32,
    /// With `crc`, the CRC-32 of logical page, version and bytes; with `dif`, the reference tag of
    /// the first sector; with `none`, 0.
    pub seal: u32,
    /// `None` for zeros; with `dif`, the data and behind it the information of its sectors.
    pub bytes: Option<Arc<[u8]>>,
    /// A fault has changed it. The drive does not know; its protection has to find out.
    pub is_damaged: bool,
    /// No decoder gives it back: a cut of the power interrupted its program, or one beside it.
    pub is_lost: bool,
}
