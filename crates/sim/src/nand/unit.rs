//! What one page of the flash holds, as it was written.

use std::sync::Arc;

/// What one page of the flash holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Whose data it is.
    pub lpn: u32,
    /// Writes of this logical page up to this one.
    pub version: u32,
    /// CRC-32 of logical page, version and bytes.
    pub crc: u32,
    /// `None` for zeros.
    pub bytes: Option<Arc<[u8]>>,
    /// No decoder gives it back: a cut of the power interrupted its program, or one beside it.
    pub is_lost: bool,
}

impl Unit {
    pub(super) fn new(lpn: u32, version: u32, bytes: Option<Arc<[u8]>>) -> Self {
        let crc = checksum(lpn, version, bytes.as_deref());
        Self { lpn, version, crc, bytes, is_lost: false }
    }
}

/// CRC-32 of logical page, version and bytes.
pub(super) fn checksum(lpn: u32, version: u32, bytes: Option<&[u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&lpn.to_le_bytes());
    hasher.update(&version.to_le_bytes());
    hasher.update(bytes.unwrap_or(&[]));
    hasher.finalize()
}
