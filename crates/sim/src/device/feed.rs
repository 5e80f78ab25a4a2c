//! One host of a stage under way: its commands drawn ahead, its next arrival, its bursts.

use super::drive::Drive;
use super::sink::expect_read;
use super::timed::TimedStage;
use crate::op::{HostCommand, HostOp};
use crate::workload::{Admission, Load};

/// Commands that an untimed stage takes at once, and that are drawn ahead.
pub(crate) const CHUNK: usize = 1024;

/// Commands of a timed stage between two looks at those behind them.
const AHEAD: usize = 16;
/// Pages of a read that are asked for: more may push each other out of the cache.
const READ_PAGES: usize = 2;

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

    /// Asks for what the next commands of a timed stage will touch, once for many of them: what
    /// they wait for in the tables of pages is addresses to be translated, and those of many are
    /// translated side by side.
    #[inline]
    pub(crate) fn prefetch_ahead(&self, drive: &Drive, stage: &TimedStage) {
        if self.batch_next % AHEAD == 1 {
            self.look_ahead(drive, stage);
        }
    }

    /// Asks for what the L2P entries of the next commands point at, and for the entries of those
    /// behind them; not of writes that wait in a buffer for long, which looks ahead itself.
    #[inline(never)]
    fn look_ahead(&self, drive: &Drive, stage: &TimedStage) {
        let writes = drive.buffer_capacity() == 0;
        let coming = &self.batch[self.batch_next.min(self.batch.len())..];
        let (next, behind) = coming.split_at(coming.len().min(AHEAD));
        for command in behind.iter().take(AHEAD) {
            if writes || command.op == HostOp::Read {
                drive.prefetch_entry(command);
            }
        }
        for command in next {
            if let Some(buffer) = &drive.buffer {
                buffer.prefetch(drive.first_page(command));
            }
            if command.op == HostOp::Read {
                let pages = drive.pages_of(command).take(READ_PAGES);
                for ppn in pages.filter_map(|lpn| drive.ftl.find(lpn)) {
                    expect_read(&drive.media, &drive.errors, &stage.backend, ppn);
                }
            } else if writes {
                drive.prefetch_page(command);
            }
        }
    }
}
