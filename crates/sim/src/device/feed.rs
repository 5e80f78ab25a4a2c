//! One host of a stage under way: its commands drawn ahead, its next arrival, its bursts.

use super::drive::Drive;
use crate::op::{HostCommand, HostOp};
use crate::workload::{Admission, Load};

/// Commands that an untimed stage takes at once, and that are drawn ahead.
pub(crate) const CHUNK: usize = 1024;

/// See the module.
pub(crate) struct Feed {
    pub(crate) load: Load,
    /// Commands drawn ahead, and the first that was not used yet.
    pub(crate) batch: Vec<HostCommand>,
    pub(crate) batch_next: usize,
    /// Pages of writes that were drawn without their commands; kept for its memory.
    pub(crate) lpns: Vec<u32>,
    /// The command of an open loop whose arrival is scheduled.
    pub(crate) arriving: Option<HostCommand>,
    /// Nothing further comes.
    pub(crate) is_exhausted: bool,
    /// Commands of a closed loop with bursts, or of a paced one, that are not complete.
    pub(crate) outstanding: u32,
    /// A command of a paced loop has arrived and waits until another completes.
    pub(crate) is_late: bool,
}

impl Feed {
    pub(crate) fn new(load: Load) -> Self {
        Self {
            load,
            batch: Vec::with_capacity(CHUNK),
            batch_next: 0,
            lpns: Vec::new(),
            arriving: None,
            is_exhausted: false,
            outstanding: 0,
            is_late: false,
        }
    }

    /// Whether a completion issues the next command.
    #[inline]
    pub(crate) fn is_closed_loop(&self) -> bool {
        matches!(self.load.admission, Admission::Closed { .. })
    }

    /// Whether a command that has arrived must wait: as many as may be outstanding are.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        match self.load.admission {
            Admission::Paced { queue_depth } => self.outstanding >= queue_depth,
            Admission::Closed { .. } | Admission::Open => false,
        }
    }

    /// Whether so many are outstanding at most, and arrive at times of their own.
    #[inline]
    pub(crate) fn is_paced(&self) -> bool {
        matches!(self.load.admission, Admission::Paced { .. })
    }

    /// Draws commands ahead when none is left; false when the generator is exhausted.
    #[inline]
    pub(crate) fn refill(&mut self) -> bool {
        if self.batch_next == self.batch.len() {
            self.batch.clear();
            self.batch_next = 0;
            self.load.generator.fill(&mut self.batch, CHUNK);
            self.is_exhausted |= self.batch.is_empty();
        }
        !self.is_exhausted
    }

    /// Asks for what the next commands of a timed stage will touch: not for writes that wait in a
    /// buffer for long, which asks itself.
    #[inline]
    pub(crate) fn prefetch_ahead(&self, drive: &Drive) {
        let writes = drive.buffer_capacity() == 0;
        if let Some(coming) = self.batch.get(self.batch_next + 8) {
            if writes || coming.op == HostOp::Read {
                drive.prefetch_entry(coming);
            }
        }
        if let Some(coming) = self.batch.get(self.batch_next + 4) {
            if writes && coming.op != HostOp::Read {
                drive.prefetch_page(coming);
            }
        }
    }
}
