//! The commands that failed, as the error log has them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bytes::put_number;
use crate::command::Entry;
use crate::status::Status;

/// Failed commands that are kept.
pub(crate) const FAILURES_MAX: usize = 64;
/// Bytes of an entry of the error log.
pub(crate) const FAILURE_BYTES: usize = 64;

#[derive(Default)]
struct Kept {
    count: u64,
    /// Newest first.
    entries: VecDeque<[u8; FAILURE_BYTES]>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Kept>);

impl Failures {
    /// None yet, of a drive that has had some.
    pub(crate) fn after(count: u64) -> Self {
        Self(Mutex::new(Kept { count, ..Kept::default() }))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command of a queue has failed.
    pub(crate) fn note(&self, queue: u16, entry: &Entry, status: Status) {
        let mut kept = self.kept();
        kept.count += 1;
        let mut bytes = [0; FAILURE_BYTES];
        put_number(&mut bytes, 0, 8, kept.count);
        put_number(&mut bytes, 8, 2, u64::from(queue));
        put_number(&mut bytes, 10, 2, u64::from(entry.id()));
        put_number(&mut bytes, 12, 2, u64::from(status.field()));
        // No field of the command is named.
        put_number(&mut bytes, 14, 2, 0xffff);
        // Flushes, ranges and management of placement name no block.
        if queue > 0 && !matches!(entry.opcode(), 0x00 | 0x09 | 0x12 | 0x1d) {
            put_number(&mut bytes, 16, 8, entry.first_block());
        }
        put_number(&mut bytes, 24, 4, u64::from(entry.namespace()));
        // It came over TCP.
        bytes[29] = 3;
        kept.entries.push_front(bytes);
        kept.entries.truncate(FAILURES_MAX);
    }

    /// How many commands have failed, and the last of them, newest first.
    pub(crate) fn all(&self) -> (u64, Vec<u8>) {
        let kept = self.kept();
        (kept.count, kept.entries.iter().flatten().copied().collect())
    }
}
