//! The controller: decides *when* flash operations happen.
//!
//! Two back ends take the same [`FlashOp`]s. [`plain`] serves every die in order with one register
//! and no mechanism that could be switched: closed forms describe it to the nanosecond, and a run
//! of operations is one event. [`full`] has all mechanisms. A device that uses none of them gets
//! the plain one, so what is off costs nothing; where both apply they agree (tested), so each
//! checks the other.
//!
//! | file | holds |
//! |---|---|
//! | `config` | the `controller` section of a device file |
//! | `plain` | dies in order |
//! | `full/` | planes, cache commands, suspension, priorities, program units, variation |
//! | `breakdown` | what a command's time was spent on |
//! | `timeline` | spans of activity for trace viewers |

pub mod breakdown;
pub mod config;
pub mod full;
pub mod plain;
pub mod timeline;

pub use config::ControllerConfig;

use crate::op::Source;
use crate::units::Ppn;

/// What a die is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// Sense a page and transfer it out.
    Read,
    /// Transfer a page in and program it.
    Program,
    /// Erase a block.
    Erase,
    /// Sense a page and program it elsewhere in the same plane, without a transfer.
    Copyback,
}

/// Marks operations that no command waits for.
pub const NO_COMMAND: u32 = u32::MAX;

/// One entry of a die's queue: an operation, or a run of them that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct FlashOp {
    /// The first page of the run; any page of the block for erases and for collected reads.
    pub first: Ppn,
    /// Operations of the run, at least 1. Only runs of one have a command that waits, or a buffer
    /// slot.
    pub count: u32,
    /// Array operations that a run of collected reads takes: fewer than `count` where planes are
    /// read together.
    pub sense_count: u32,
    /// The command slot that waits for it, or [`NO_COMMAND`].
    pub command: u32,
    /// Erase count of the block when the operation was decided.
    pub erase_count: u32,
    /// What to do.
    pub kind: OpKind,
    /// Why.
    pub source: Source,
    /// Index of the (first) page type; those of a run follow in turn.
    pub page_type: u8,
    /// Read-retry steps that this read needs.
    pub retries: u16,
    /// Further reads for soft decisions that it needs: a sense and a transfer each.
    pub soft_reads: u16,
    /// Decodings that failed before: one for each retry step and each soft decision.
    pub attempts: u16,
    /// Whether the block holds one bit per cell for the time being.
    pub is_slc: bool,
    /// Whether a slot of the write buffer is free when it is done.
    pub frees_buffer: bool,
}
