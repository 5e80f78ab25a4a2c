//! A stage of work in simulated time: what its runner calls.
//!
//! ```text
//! submit ► host path in ► FTL decides ► operations queue
//!    ▲                                        │
//!    └─ Step::Completed ◄─ host path out ◄─ last operation done
//! ```
//! [`TimedStage`] wires its parts, each with a state: each event goes to whom it concerns, and what
//! that answers is scheduled. Nothing calls back: its runner takes [`Step`]s out of it and submits
//! the next commands. A run can be sliced anywhere. The way of a command through the stage is in
//! `commands`.

use serde_json::{json, Value};

use super::background::Background;
use super::clockwork::{Clockwork, Event};
use super::host_side::HostSide;
use super::observation::Observation;
use crate::controller::plain::HOST_EVENT;
use crate::controller::Work;
use crate::drive::Drive;
use crate::host::latency::LatencyBook;
use crate::host::throttle::Throttle;
use crate::units::Ns;
use crate::workload::{Host, Limit};

/// The longest rest of a drive that is to do all its work.
pub(crate) const REST_MAX: Ns = Ns(3600 * 1_000_000_000);

/// The clock, the commands and the drive's own work of a timed stage.
pub(crate) struct TimedStage {
    pub(crate) clockwork: Clockwork,
    pub(crate) host: HostSide,
    pub(super) background: Background,
}

/// Who keeps the latencies of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latencies {
    /// The stage, by kind of command.
    Kept,
    /// The caller that runs the stage.
    Left,
}

/// What happened in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A command of this tenant completed: its closed loop may submit the next.
    Completed(u8),
    /// The next command of this tenant's open loop has arrived, or its pause has ended.
    Arrived(u8),
    /// Something inside the drive.
    Internal,
    /// Nothing is left to happen.
    Idle,
}

impl TimedStage {
    /// An idle drive at time zero, shared by `hosts`.
    pub(crate) fn new(
        drive: &mut Drive,
        observation: &Observation,
        hosts: &[&Host],
        latencies: Latencies,
    ) -> Self {
        drive.catch_up();
        let background = Background::new(drive);
        let book = (latencies == Latencies::Kept).then(Box::<LatencyBook>::default);
        let mut clockwork = Clockwork::new(drive, observation);
        background.start(&mut clockwork, drive);
        Self { clockwork, host: HostSide::new(drive, hosts, book, observation), background }
    }

    /// A stage that continues with the state that the drive keeps from one cell to the next.
    pub(crate) fn of_cell(drive: &mut Drive, hosts: &[&Host]) -> Self {
        let mut stage = Self::new(drive, &Observation::default(), hosts, Latencies::Left);
        if let Some(throttle) = drive.throttle.take() {
            *stage.host.path.throttle() = Some(throttle);
        }
        stage
    }

    /// Returns to the drive the state that it keeps for the next cell, which begins at `now`.
    pub(crate) fn give_back(&mut self, drive: &mut Drive, now: Ns) {
        drive.clock = drive.clock + now;
        drive.throttle =
            self.host.path.throttle().take().map(|throttle| Throttle::at_start(throttle, now));
    }

    /// Lets the stage leave out events: commands follow from its steps, and no code examines it
    /// between them. `comes_alone`: at most one command at a time.
    pub(crate) fn run_by_itself(&mut self, drive: &Drive, comes_alone: bool) {
        let clockwork = &mut self.clockwork;
        clockwork.skips_events =
            !self.host.ledger.is_watched() && clockwork.backend.recorder().is_none();
        clockwork.comes_alone =
            clockwork.skips_events && comes_alone && !self.host.path.has_pauses();
        let passes =
            drive.lets_data_pass() && self.background.lets_data_pass(clockwork, &mut self.host);
        self.host.front = passes.then(|| drive.front_shape());
    }

    /// The power may fail: erases wait for the programs that were ordered before them, and flushes
    /// for whole program units.
    pub(crate) fn expect_cuts(&mut self, drive: &Drive) {
        if let Some(full) = self.clockwork.backend.full_mut() {
            full.keep_order_of_erases();
        }
        if drive.config.pool_setup(drive.seed).units.stages(false) {
            self.host.settle_flushes();
        }
    }

    /// The simulated time.
    #[inline]
    pub(crate) fn now(&self) -> Ns {
        self.clockwork.now()
    }

    /// When the last command or flash operation was over; timers of idle dies may come later. To
    /// be asked when nothing is left to happen.
    pub(crate) fn at_rest_since(&self) -> Ns {
        let last_completion = self.host.ledger.tally.last_completion;
        self.background.last_done().map_or(self.now(), |done| last_completion.max(done))
    }

    /// Schedules the arrival of a tenant's next command, or the end of its pause.
    pub(crate) fn await_arrival(&mut self, tenant: u8, at: Ns) {
        self.host.await_arrival(&mut self.clockwork, tenant, at);
    }

    /// Lets the next event happen, as a call: for all loops but that of the runner.
    #[inline(never)]
    pub(crate) fn step_once(&mut self, drive: &mut Drive) -> Step {
        self.step(drive)
    }

    /// Lets the next event happen.
    #[inline(always)]
    #[allow(clippy::inline_always)] // apart from the runner's loop it costs 4 % more instructions
    pub(crate) fn step(&mut self, drive: &mut Drive) -> Step {
        if let Some(done) = self.clockwork.backend.take_completed() {
            return self.operations_done(drive, done);
        }
        self.background.quiet_die = None;
        if let Some(index) = self.clockwork.take_next() {
            return self.leg_over(drive, index);
        }
        let Some(code) = self.clockwork.engine.take() else { return Step::Idle };
        if let Some(index) = Event::leg_of(code) {
            return self.leg_over(drive, index);
        }
        if code >= HOST_EVENT {
            return self.event(drive, code);
        }
        match self.clockwork.backend.handle(&mut self.clockwork.engine, code) {
            Some(done) => self.operations_done(drive, done),
            None => Step::Internal,
        }
    }

    /// An arrival has come, or a timer has expired.
    fn event(&mut self, drive: &mut Drive, code: u32) -> Step {
        let (clockwork, host) = (&mut self.clockwork, &mut self.host);
        match Event::of(code) {
            Event::Leg(index) => return self.leg_over(drive, index),
            Event::Fill(die) => self.background.fill_timer(clockwork, host, drive, die),
            Event::Idle(die) => self.background.idle_timer_expired(clockwork, host, drive, die),
            Event::Refresh => self.background.refresh_timer(clockwork, host, drive),
            Event::Moved => self.background.cores_are_free(clockwork, host, drive),
            Event::Patrol => self.background.patrol_timer(clockwork, host, drive),
            Event::Arrival(tenant) => {
                host.arrivals -= 1;
                return Step::Arrived(tenant);
            }
        }
        Step::Internal
    }

    /// Asks every die once, when the first commands have come, where writes choose their die: one
    /// that has no room gets none, and so it would never be asked to win some.
    pub(crate) fn ask_all(&mut self, drive: &mut Drive) {
        if drive.config.ftl.allocation.is_dynamic() {
            self.background.ask_all(&mut self.clockwork, &mut self.host, drive);
        }
    }

    /// The host is away for the length of a stage.
    pub(crate) fn begin_rest(&mut self, drive: &mut Drive, limit: Limit) {
        match limit {
            Limit::Time(span) => self.await_arrival(0, span),
            _ => self.await_idle(drive),
        }
        self.background.rest(&mut self.clockwork, &mut self.host, drive);
    }

    /// The drive rests until it has no work left: asks again after a while, unless nothing was
    /// running for longer than any die waits before it begins something; an hour at most.
    pub(crate) fn await_idle(&mut self, drive: &Drive) {
        let now = self.now();
        let after = drive.config.ftl.idle_collection.as_ref().map_or(0.0, |idle| idle.after_us);
        let is_idle = now > Ns(0)
            && self.pending_ops() == 0
            && now - self.at_rest_since() >= Ns::from_us(after);
        if !is_idle && now < REST_MAX {
            self.await_arrival(0, now + Ns::from_us(after + 1000.0));
        }
    }

    /// Operations that are still queued: collections that no command waits for.
    pub(crate) fn pending_ops(&self) -> u64 {
        self.clockwork.backend.pending()
    }

    /// What the dies have done, where the back end counts that.
    pub(crate) fn work(&self) -> Option<&Work> {
        self.clockwork.backend.full()?.flash.watch.work.as_deref()
    }

    /// Operations against the rules of the flash, and commands whose parts do not sum to their
    /// latency: zero, or the simulator is wrong.
    pub(crate) fn violations(&self) -> (u64, u64) {
        let full = self.clockwork.backend.full();
        (full.map_or(0, |full| full.flash.watch.tally.violations), self.host.ledger.mismatches())
    }

    /// Whether there are submission queues between which nothing ever had to be chosen.
    pub(crate) fn never_arbitrated(&self) -> bool {
        self.host.path.never_arbitrated()
    }

    /// Spans of activity, when recorded.
    pub(crate) fn timeline(&self) -> Option<Value> {
        let timeline = &self.clockwork.backend.full()?.flash.watch.timeline;
        Some(timeline.as_ref()?.to_json())
    }

    /// What the full back end did and how busy dies, channels and link were; `None` on the plain
    /// one.
    pub(crate) fn activity(&self) -> Option<Value> {
        let until = self.host.ledger.tally.last_completion;
        let mut activity = self.clockwork.backend.full()?.flash.activity(until);
        let span = (until.0 as f64).max(1.0);
        if let Some([to_drive, to_host]) = self.host.path.link_busy() {
            activity["link_busy_ratio"] =
                json!({"to_drive": to_drive.0 as f64 / span, "to_host": to_host.0 as f64 / span});
        }
        Some(activity)
    }
}
