//! Time without commands: what the drive does on its own, and nothing else.
//!
//! Dies collect and fold as between two bursts of a host (`idle_collection`, and steps below the
//! soft limit); a drive that does neither just lets its throttles recover. It costs what is done,
//! however long the time is.

use super::backend::Observation;
use super::drive::Drive;
use super::run::{flash_ops, work_done, Progress};
use super::timed::{Client, TimedStage};
use crate::host::throttle::Throttle;
use crate::units::Ns;
use crate::workload::Host;

/// See the module.
pub(crate) struct IdleRun {
    stage: Box<TimedStage>,
    span: Ns,
    is_done: bool,
    start_ops: u64,
}

impl IdleRun {
    /// Prepares an idle time of the drive.
    pub(crate) fn new(drive: &mut Drive, span: Ns) -> Self {
        let host = Host { weight: 1, ..Host::default() };
        let mut stage = Box::new(TimedStage::new(drive, &Observation::default(), &[&host]));
        stage.take_over(drive);
        // The next command of the host, which never comes to the drive, ends the time.
        stage.await_arrival(0, span);
        let start_ops = flash_ops(drive);
        stage.rest(drive);
        Self { stage, span, is_done: false, start_ops }
    }

    /// Runs about `max_ops` flash operations further.
    pub(crate) fn advance(&mut self, drive: &mut Drive, max_ops: u64) -> Progress {
        let goal = work_done(drive).saturating_add(max_ops.max(1));
        let mut events_left = max_ops.max(64);
        while !self.is_done && work_done(drive) < goal && events_left > 0 {
            events_left = events_left.saturating_sub(64);
            if self.stage.pump(drive, &mut Nobody, 64) {
                self.stage.give_back(drive, self.span);
                drive.ftl.settle();
                self.is_done = true;
            }
        }
        let now = self.stage.now().0.min(self.span.0);
        Progress {
            stage: "idle".to_owned(),
            stage_count: 1,
            measured: true,
            done: if self.is_done { self.span.0 } else { now },
            total: self.span.0,
            simulated_ns: if self.is_done { self.span.0 } else { now },
            flash_ops: flash_ops(drive) - self.start_ops,
            finished: self.is_done,
            ..Progress::default()
        }
    }
}

/// A host that is away.
struct Nobody;

impl Client for Nobody {
    fn completed(&mut self, _: &mut Drive, _: &mut TimedStage, _: usize) {}

    fn arrived(&mut self, _: &mut Drive, _: &mut TimedStage, _: usize) {}
}

impl TimedStage {
    /// Goes on with what the drive keeps from one cell to the next.
    pub(super) fn take_over(&mut self, drive: &mut Drive) {
        if let Some(throttle) = drive.throttle.take() {
            self.path.throttle = Some(throttle);
        }
    }

    /// Leaves to the drive what it keeps from one cell to the next, which begins at `now`.
    pub(super) fn give_back(&mut self, drive: &mut Drive, now: Ns) {
        drive.throttle =
            self.path.throttle.take().map(|throttle| Throttle::at_start(throttle, now));
    }

    /// When the last command or flash operation was over; timers of idle dies may come later. To
    /// be asked when nothing is left to happen.
    pub(super) fn at_rest_since(&self) -> Ns {
        if self.collector.is_none() {
            return self.engine.now();
        }
        self.tally.last_completion.max(self.last_done)
    }
}
