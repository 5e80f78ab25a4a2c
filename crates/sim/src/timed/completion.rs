//! The record of a command that is done: the ledger notes it, meters measure it.

use crate::units::Ns;

/// A command that completed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Completion {
    /// 0 for reads, 1 for writes, as `HostOp::index`; others are not counted.
    pub(crate) kind: usize,
    pub(crate) bytes: u64,
    pub(crate) latency: Ns,
    /// The host that asked.
    pub(crate) tenant: u8,
    /// Its slot in the drive, free by now.
    pub(crate) slot: u32,
    /// Its first sector.
    pub(crate) sector: u64,
}
