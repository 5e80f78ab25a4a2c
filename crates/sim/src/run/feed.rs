//! One host of a running stage: its commands drawn ahead, its next arrival, its bursts.

use crate::drive::Drive;
use crate::op::{HostCommand, HostOp};
use crate::timed::{expect_read, TimedStage};
use crate::units::Ns;
use crate::untimed::PageList;
use crate::workload::{Admission, Load};

/// Commands that an untimed stage takes at once, and that are drawn ahead.
pub(crate) const CHUNK: usize = 1024;

/// Commands of a timed stage between two prefetches for the following ones.
const AHEAD: usize = 16;
/// Pages of a read that are prefetched: more may push each other out of the cache.
const READ_PAGES: usize = 2;

/// The arrivals of an open loop up to now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    pub(crate) count: u64,
    /// When the last one came, and how many commands were not complete then.
    pub(crate) last: (Ns, u32),
    /// When a command completed last.
    pub(crate) last_done: Ns,
}

impl Arrivals {
    /// Requests below which a backlog is no sign of overload: it may be one burst.
    const COUNT_MIN: u64 = 100;
    /// Share of the requests that may wait when the last one comes.
    const BACKLOG_SHARE: f64 = 0.1;

    /// Commands per second that came and that were served, and the share that waited at the end;
    /// `None` if the drive kept up, or the backlog may come from one burst.
    pub(crate) fn overload(&self, outstanding: u32) -> Option<(f64, f64, f64)> {
        let rate = |count: u64, time: Ns| count as f64 / time.as_seconds();
        let (last, backlog) = self.last;
        let share = f64::from(backlog) / self.count.max(1) as f64;
        let offered = rate(self.count, last);
        let served = rate(self.count - u64::from(outstanding), self.last_done);
        let is_overload = self.count >= Self::COUNT_MIN
            && share > Self::BACKLOG_SHARE
            && served < (1.0 - Self::BACKLOG_SHARE / 2.0) * offered;
        is_overload.then_some((offered, served, share))
    }
}

/// See the module.
pub(crate) struct Feed {
    pub(crate) load: Load,
    /// Commands drawn ahead, and the first that was not used yet.
    pub(crate) batch: Vec<HostCommand>,
    pub(crate) batch_next: usize,
    /// Pages of writes that were drawn without their commands: those to write, and those behind
    /// them, if they were drawn ahead.
    pub(crate) lists: [PageList; 2],
    /// The command of an open loop whose arrival is scheduled.
    pub(crate) arriving: Option<HostCommand>,
    /// Nothing further comes.
    pub(crate) is_exhausted: bool,
    /// Commands of a closed loop with bursts, or of an open or paced one, that are not complete.
    pub(crate) outstanding: u32,
    /// How the arrivals of an open loop went.
    pub(crate) arrivals: Arrivals,
    /// A command of a paced loop has arrived and waits until another completes.
    pub(crate) is_late: bool,
}

impl Feed {
    pub(crate) fn new(load: Load) -> Self {
        Self {
            load,
            batch: Vec::with_capacity(CHUNK),
            batch_next: 0,
            lists: Default::default(),
            arriving: None,
            is_exhausted: false,
            outstanding: 0,
            arrivals: Arrivals::default(),
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

    /// Whether its source has given all that it had, and nothing else ended it.
    pub(crate) fn is_at_its_end(&self) -> bool {
        self.is_exhausted && self.batch.is_empty()
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

    /// Prefetches the memory that the next commands of a timed stage will touch, for many of them
    /// at once: look-ups in the page tables mostly wait for address translation, and those of many
    /// commands overlap.
    #[inline]
    pub(crate) fn prefetch_ahead(&self, drive: &Drive, stage: &TimedStage) {
        if self.batch_next % AHEAD == 1 {
            self.look_ahead(drive, stage);
        }
    }

    /// Prefetches the memory that the L2P entries of the next commands point to, and the entries of
    /// the commands after these; writes that wait in a buffer for long are left out, since the
    /// buffer looks ahead itself.
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
                    expect_read(&drive.media, &drive.errors, &stage.clockwork.backend, ppn);
                }
            } else if writes {
                drive.prefetch_page(command);
            }
        }
    }
}
