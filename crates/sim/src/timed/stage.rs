//! The timed executor: commands, dies and channels in simulated time.
//!
//! ```text
//! submit ► host path in ► FTL decides ► operations queue
//!    ▲                                        │
//!    └─ Step::Completed ◄─ host path out ◄─ last operation done
//! ```
//! [`TimedStage`] wires the rooms: each event goes to whom it concerns, and what that answers is
//! scheduled. Nothing calls back: whoever runs the stage takes [`Step`]s out of it and submits the
//! next commands. The FTL decides when a command reaches it; a collection that it needs is queued
//! on the die before the command's operations. State lives here: a run can be sliced anywhere.

use serde_json::{json, Value};

use super::backend::Backend;
use super::background::{Calm, Collector, Refresher};
use super::fill::FillTimer;
use super::ledger::Ledger;
use super::observation::Observation;
use super::sink::{CacheSlots, FailingRead, TimedSink};
use crate::controller::breakdown::{Breakdown, Part};
use crate::controller::plain::HOST_EVENT;
use crate::controller::timeline::Lane;
use crate::controller::{FlashOp, OpKind, Work, NO_COMMAND};
use crate::drive::{Drive, Front};
use crate::engine::Engine;
use crate::ftl::WritesComplete;
use crate::host::latency::LatencyBook;
use crate::host::path::{HostPath, Leg};
use crate::host::read_ahead::{ReadAhead, FETCH};
use crate::host::tenants::TenantBook;
use crate::host::throttle::Throttle;
use crate::op::{HostCommand, HostOp, Source};
use crate::units::{DieId, Ns};
use crate::workload::Host;

/// Host events from here on: the arrival of the next command of tenant `code - ARRIVAL`, or the end
/// of its pause.
const ARRIVAL: u32 = HOST_EVENT;
/// Host event: a block may be due for refresh. Tenants are fewer.
pub(super) const REFRESH: u32 = ARRIVAL + 512;
/// Host event: a patrol read is due.
pub(super) const PATROL: u32 = REFRESH + 1;
/// Host events from here on: die `code - IDLE` has been idle for a while.
pub(super) const IDLE: u32 = HOST_EVENT + 1024;
/// Host events from here on: a program unit of pool `code - FILL` has waited for a while.
pub(super) const FILL: u32 = IDLE + (1 << 20);
/// Host events from here on: the command of slot `code - SLOT` goes on.
pub(super) const SLOT: u32 = HOST_EVENT + (1 << 21);

/// The clock, the servers and the commands of a timed stage.
pub(crate) struct TimedStage {
    pub(crate) engine: Engine,
    pub(crate) backend: Backend,
    pub(crate) path: HostPath,
    pub(super) cache: CacheSlots,
    pub(super) collector: Option<Box<Collector>>,
    pub(super) ahead: Option<Box<ReadAhead>>,
    pub(super) fill: Option<Box<FillTimer>>,
    pub(super) refresher: Option<Box<Refresher>>,
    /// Reads of superblocks that will not be corrected.
    failing: Vec<FailingRead>,
    pub(crate) ledger: Ledger,
    /// Arrivals of open loops that are scheduled.
    pub(crate) arrivals: u32,
    /// A write found no room: its command completes as failed, and no further one should come.
    pub(crate) is_worn_out: bool,
    /// Where the power may fail and program units wait in memory: flushes that wait until what they
    /// cover is on the flash. See `session/power_cut.rs`.
    pub(super) settling: Option<Vec<u32>>,
    /// What is certain to happen next happens without an event, see `shortcuts`.
    pub(super) skips_events: bool,
    /// Whether commands come one at a time, each when the one before is complete.
    pub(super) comes_alone: bool,
    /// A command that goes on before the next event, and when.
    pub(super) goes_next: Option<(u32, Ns)>,
    /// The die that was found to have nothing to collect, or to wait for a step of it: until
    /// something else happens it need not be asked again.
    pub(super) quiet_die: Option<u32>,
    /// The same for longer, see `shortcuts`.
    pub(super) calm: Option<Calm>,
}

/// Who keeps the latencies of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latencies {
    /// The stage, by kind of command.
    Kept,
    /// Whoever runs the stage.
    Left,
}

/// What happened in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A command of this tenant completed: its closed loop may submit the next.
    Completed(u8),
    /// The next command of this tenant's open loop has arrived, or its pause is over.
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
        let refresher = Refresher::new(drive);
        let drive = &*drive;
        let config = &drive.config;
        let book = (latencies == Latencies::Kept).then(Box::<LatencyBook>::default);
        let superblocks = drive.media.superblocks();
        let row_slots = superblocks.map_or(0, |members| members.shape().row_slots());
        let mut stage = Self {
            engine: Engine::default(),
            backend: Backend::new(drive, observation),
            path: HostPath::new(
                &config.host,
                hosts,
                drive.draw_seed,
                config.controller.blocked_reads_max,
            ),
            cache: CacheSlots { capacity: drive.buffer_capacity(), ..CacheSlots::default() },
            collector: Collector::new(&config.ftl, drive.geometry.die_count, row_slots)
                .map(Box::new),
            ahead: drive.read_ahead().map(Box::new),
            fill: FillTimer::new(drive),
            refresher,
            failing: Vec::new(),
            ledger: Ledger::new(book, TenantBook::of(hosts), observation.breakdown),
            arrivals: 0,
            is_worn_out: false,
            settling: None,
            skips_events: false,
            comes_alone: false,
            goes_next: None,
            quiet_die: None,
            calm: None,
        };
        stage.path.writes_in_memory = config.ftl.writes_complete == WritesComplete::InMemory;
        stage.start_refresh(drive);
        stage.start_patrol(drive);
        stage
    }

    /// A stage that goes on with what the drive keeps from one cell to the next.
    pub(crate) fn of_cell(drive: &mut Drive, hosts: &[&Host]) -> Self {
        let mut stage = Self::new(drive, &Observation::default(), hosts, Latencies::Left);
        if let Some(throttle) = drive.throttle.take() {
            *stage.path.throttle() = Some(throttle);
        }
        stage
    }

    /// Leaves to the drive what it keeps from one cell to the next, which begins at `now`.
    pub(crate) fn give_back(&mut self, drive: &mut Drive, now: Ns) {
        drive.clock = drive.clock + now;
        drive.throttle =
            self.path.throttle().take().map(|throttle| Throttle::at_start(throttle, now));
    }

    /// The simulated time.
    #[inline]
    pub(crate) fn now(&self) -> Ns {
        self.engine.now()
    }

    /// When the last command or flash operation was over; timers of idle dies may come later. To
    /// be asked when nothing is left to happen.
    pub(crate) fn at_rest_since(&self) -> Ns {
        let last_completion = self.ledger.tally.last_completion;
        match (&self.collector, &self.refresher) {
            (Some(collector), _) => last_completion.max(collector.last_done),
            (None, Some(refresher)) => last_completion.max(refresher.last_done),
            (None, None) => self.engine.now(),
        }
    }

    /// Schedules the arrival of a tenant's next command, or the end of its pause.
    pub(crate) fn await_arrival(&mut self, tenant: u8, at: Ns) {
        // A generator's arrivals never decrease; a late one arrives now.
        let after = Ns(at.0.saturating_sub(self.now().0));
        self.arrivals += 1;
        self.engine.schedule(after, ARRIVAL + u32::from(tenant));
    }

    /// A command reaches the drive now: its slot, or `None` while the drive is full and it waits
    /// outside.
    #[inline]
    pub(crate) fn submit(&mut self, drive: &mut Drive, command: &HostCommand) -> Option<u32> {
        let now = self.now();
        self.ledger.note_issued(now);
        self.note_depth();
        let index = self.path.offer(command, now)?;
        self.note_inside(index);
        self.ledger.note_slot(index, now, now);
        self.go_in(drive, index);
        Some(index)
    }

    /// Lets the next event happen.
    #[inline]
    pub(crate) fn step(&mut self, drive: &mut Drive) -> Step {
        if let Some(done) = self.backend.take_completed() {
            return self.operations_done(drive, done);
        }
        self.quiet_die = None;
        if let Some((index, at)) = self.goes_next.take() {
            self.engine.pass_to(at);
            return self.leg_over(drive, index);
        }
        let Some(code) = self.engine.take() else { return Step::Idle };
        if code >= SLOT {
            return self.leg_over(drive, code - SLOT);
        }
        if code >= FILL {
            self.fill_timer(drive, DieId(code - FILL));
            return Step::Internal;
        }
        if code >= IDLE {
            self.idle_timer(drive, code - IDLE);
            return Step::Internal;
        }
        if code == REFRESH {
            self.refresh_timer(drive);
            return Step::Internal;
        }
        if code == PATROL {
            self.patrol_timer(drive);
            return Step::Internal;
        }
        if code >= ARRIVAL {
            self.arrivals -= 1;
            return Step::Arrived((code - ARRIVAL) as u8);
        }
        match self.backend.handle(&mut self.engine, code) {
            Some(done) => self.operations_done(drive, done),
            None => Step::Internal,
        }
    }

    /// A command has gone a leg of its way.
    #[inline]
    fn leg_over(&mut self, drive: &mut Drive, index: u32) -> Step {
        let leg = self.path.leg(index);
        if leg == Leg::Served {
            return self.served(drive, index, None);
        }
        let part = match leg {
            Leg::Submitted | Leg::Processor => Part::Controller,
            Leg::Throttle => Part::Throttle,
            Leg::LinkIn | Leg::LinkOut => Part::Link,
            Leg::Mapping | Leg::Mapped => Part::Mapping,
            Leg::Served | Leg::Decoder => Part::Ecc,
        };
        self.ledger.credit(index, part, self.engine.now());
        match leg {
            Leg::LinkIn => self.start(drive, index),
            _ if leg < Leg::Served => self.go_in(drive, index),
            _ => return self.go_out(drive, index),
        }
        Step::Internal
    }

    /// The FTL decides; operations are queued. A command that waits for nothing completes by an
    /// event at this instant, so that completions never nest.
    pub(super) fn start(&mut self, drive: &mut Drive, index: u32) {
        if drive.ftl.looks_up() && self.awaits_map(drive, index) {
            return;
        }
        let command = self.path.slot(index).command;
        if self.collector.is_some() && command.op == HostOp::Trim {
            self.forget_stalled(drive, &command);
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.begin(&command);
        }
        let is_data = matches!(command.op, HostOp::Read | HostOp::Write);
        let calm = self.calm.filter(|_| is_data && !drive.ftl.looks_up());
        let (refused_sectors, waits, decode_ns, is_blocked, written) =
            self.with_sink(drive, index, |front, sink| {
                let before = front.host.sectors[HostOp::Write.index()];
                let refused = front.apply(sink, &command).err().map(|_| {
                    let written = front.host.sectors[HostOp::Write.index()] - before;
                    if command.op.writes() {
                        command.sector_count - written as u32
                    } else {
                        0
                    }
                });
                let is_blocked = sink.meets_write == Some(true);
                (refused, sink.waits, sink.decode_ns, is_blocked, sink.programmed_pages)
            });
        self.calm = calm.and_then(|calm| calm.behind(written));
        let slot = self.path.slot(index);
        if let Some(sectors) = refused_sectors {
            self.is_worn_out = true;
            slot.refused_sectors = sectors;
        }
        slot.waits = waits;
        if command.op == HostOp::Read {
            slot.decode = Ns(decode_ns.into());
            if is_blocked {
                self.path.block(index, self.engine.now());
            }
        }
        if self.ahead.is_some() && command.op == HostOp::Read {
            self.read_ahead(drive);
        }
        if self.collector.is_some() {
            // A write that found no room may be refused at once.
            self.note_touched(drive);
        }
        if drive.errors.has_found() {
            self.refresh_what_errs(drive);
        }
        if waits == 0 {
            self.serve_soon(index);
        }
        if self.comes_alone {
            self.end_programs(drive);
        }
    }

    /// Lets the FTL work for a command (or for none) and keeps account of it.
    #[inline]
    pub(super) fn with_sink<T>(
        &mut self,
        drive: &mut Drive,
        slot: u32,
        work: impl FnOnce(&mut Front, &mut TimedSink) -> T,
    ) -> T {
        (self.quiet_die, self.calm) = (None, None);
        let is_enough = self.completes_in_memory(slot);
        let (mut front, media, errors) = drive.split();
        let lost_before = errors.lost_of_host();
        let mut sink = TimedSink {
            media,
            errors,
            engine: &mut self.engine,
            backend: &mut self.backend,
            cache: &mut self.cache,
            collector: self.collector.as_deref_mut(),
            ahead: self.ahead.as_deref_mut(),
            fill: self.fill.as_deref_mut(),
            slot,
            waits: 0,
            decode_ns: 0,
            is_flush: false,
            awaits_map: false,
            completes_in_memory: is_enough,
            epoch: None,
            programmed_pages: 0,
            failing: &mut self.failing,
            meets_write: self.path.has_pauses().then_some(false),
            clock_start: self.refresher.as_ref().map(|refresher| refresher.clock(Ns(0))),
            pages: 0,
        };
        let outcome = work(&mut front, &mut sink);
        self.path.note_lost(slot, sink.errors.lost_of_host() > lost_before);
        let programmed = sink.programmed_pages;
        self.backend.release(&mut self.engine);
        self.path.note_programmed(self.engine.now(), programmed * drive.geometry.page_bytes);
        if let Some(timeline) = self.backend.recorder() {
            timeline.level("erased_blocks", self.engine.now(), drive.ftl.erased_blocks());
        }
        if self.fill.is_some() {
            self.start_fill_timers(drive);
        }
        outcome
    }

    /// Whether the writes of a command complete when a die takes their program units.
    #[inline]
    pub(super) fn completes_in_memory(&self, slot: u32) -> bool {
        self.path.may_complete_in_memory(slot)
    }

    /// An operation is over: whoever waited for it goes on.
    #[inline]
    pub(crate) fn operation_done(&mut self, drive: &mut Drive, done: FlashOp) -> Step {
        if self.collector.is_some() {
            self.note_done(drive, done);
        }
        if self.refresher.is_some() {
            self.refresh_after(drive, done);
        }
        if done.frees_buffer() {
            return self.cache_slot_free(drive, done.command());
        }
        if done.command() >= FETCH {
            return if done.command() == NO_COMMAND {
                Step::Internal
            } else {
                self.fetched(done.command())
            };
        }
        let may_fail = done.kind() == OpKind::Read && done.source() != Source::Rebuild;
        if may_fail && !self.failing.is_empty() {
            self.follow_failed(drive, done);
        }
        self.satisfy(drive, done.command(), Some(done))
    }

    /// If a read of a command has failed, the command waits for the others of its row too.
    #[cold]
    fn follow_failed(&mut self, drive: &mut Drive, done: FlashOp) {
        let index = done.command();
        let (waits, decode_ns) = self.with_sink(drive, index, |_, sink| {
            sink.follow_failed(done);
            (sink.waits, sink.decode_ns)
        });
        let slot = self.path.slot(index);
        slot.waits += waits;
        if slot.command.op == HostOp::Read {
            slot.decode = slot.decode.max(Ns(decode_ns.into()));
        }
        if let Some(collector) = &mut self.collector {
            collector.touched.clear();
        }
    }

    /// A program of the write cache is done, of this epoch.
    fn cache_slot_free(&mut self, drive: &mut Drive, epoch: u32) -> Step {
        match self.release_cache_slot(epoch) {
            Some(index) => self.satisfy(drive, index, None),
            None => Step::Internal,
        }
    }

    /// Frees the cache slot of a page of this epoch: flushes that waited for it go on, and the
    /// command that is returned has one slot less to wait for.
    fn release_cache_slot(&mut self, epoch: u32) -> Option<u32> {
        self.cache.release(epoch, 1);
        while let Some(index) = self.cache.fence.released() {
            // It may still wait for padding.
            self.satisfy_soon(index);
        }
        self.cache.waiters.pop_front()
    }

    /// There is no room for a page of the write cache.
    pub(super) fn refuse_cached(&mut self, epoch: u32) {
        if let Some(index) = self.release_cache_slot(epoch) {
            self.satisfy_soon(index);
        }
    }

    /// A page of the write cache was trimmed while it waited for room. Who waits for its slot goes
    /// on when the next program ends, as after trims of pages that stay in the cache; at once where
    /// no program is left to end.
    pub(super) fn forget_cached(&mut self, epoch: u32) {
        if self.cache.in_flight > 1 && self.cache.waiters.len() < self.cache.in_flight {
            self.cache.release(epoch, 1);
        } else {
            self.refuse_cached(epoch);
        }
    }

    #[inline]
    fn satisfy(&mut self, drive: &mut Drive, index: u32, last: Option<FlashOp>) -> Step {
        let slot = self.path.slot(index);
        slot.waits -= 1;
        if slot.waits > 0 {
            Step::Internal
        } else if self.path.leg(index) == Leg::Mapping {
            self.mapped(drive, index)
        } else {
            self.served(drive, index, last)
        }
    }

    /// As [`TimedStage::satisfy`], where a completion would nest in another.
    pub(super) fn satisfy_soon(&mut self, index: u32) {
        let slot = self.path.slot(index);
        slot.waits -= 1;
        if slot.waits == 0 {
            self.serve_soon(index);
        }
    }

    /// Nothing is left to wait for in the drive; `last` was the last operation, if it was one.
    #[inline]
    fn served(&mut self, drive: &mut Drive, index: u32, last: Option<FlashOp>) -> Step {
        if self.settling.is_some() && self.settles(drive, index) {
            return Step::Internal;
        }
        if self.ledger.is_watched() {
            let now = self.engine.now();
            match last {
                None => self.ledger.credit(index, Part::Cache, now),
                Some(op) if op.source() == Source::Rebuild => {
                    self.ledger.credit(index, Part::Rebuild, now);
                }
                Some(_) => self.ledger.credit_operation(index, &self.backend.parts(), now),
            }
        }
        if self.path.has_pauses() {
            self.go_on(drive, index);
        }
        self.go_out(drive, index)
    }

    /// A command that is served goes on towards its host.
    #[inline]
    fn go_out(&mut self, drive: &mut Drive, index: u32) -> Step {
        if let Some(span) = self.path.go_out(index, self.engine.now()) {
            self.engine.schedule(span, SLOT + index);
            return Step::Internal;
        }
        let now = self.engine.now();
        let (command, submitted, is_lost) = self.path.release(index);
        if let Some(timeline) = self.backend.recorder() {
            timeline.end(Lane::Command(index), now);
        }
        self.ledger.note_complete(index, &command, now - submitted, now, is_lost);
        self.note_depth();
        if let Some(next) = self.path.admit_waiting() {
            self.note_inside(next);
            let submitted = self.path.slot(next).submitted;
            self.ledger.note_slot(next, submitted, now);
            self.go_in(drive, next);
        }
        Step::Completed(command.tenant)
    }

    /// The number of outstanding commands changed.
    #[inline]
    fn note_depth(&mut self) {
        if let Some(timeline) = self.backend.recorder() {
            timeline.level("queue_depth", self.engine.now(), self.ledger.outstanding);
        }
    }

    /// A command was let into the drive.
    #[inline]
    fn note_inside(&mut self, index: u32) {
        if let Some(timeline) = self.backend.recorder() {
            let name = ["read", "write", "trim", "flush"][self.path.slot(index).command.op.index()];
            timeline.begin(Lane::Command(index), name, self.engine.now());
        }
    }

    /// Whether operations are still queued: collections that no command waits for.
    pub(crate) fn pending_ops(&self) -> u64 {
        self.backend.pending()
    }

    /// What the dies have done, where the back end counts that.
    pub(crate) fn work(&self) -> Option<&Work> {
        self.backend.work()
    }

    /// Operations against the rules of the flash, and commands whose parts do not sum to their
    /// latency: zero, or the simulator is wrong.
    pub(crate) fn violations(&self) -> (u64, u64) {
        let mismatches = self.ledger.breakdown().map_or(0, Breakdown::mismatches);
        (self.backend.violations(), mismatches)
    }

    /// Whether there are submission queues between which nothing ever had to be chosen.
    pub(crate) fn never_arbitrated(&self) -> bool {
        self.path.never_arbitrated()
    }

    /// Spans of activity, when recorded.
    pub(crate) fn timeline(&self) -> Option<Value> {
        self.backend.timeline()
    }

    /// What the full back end did and how busy dies, channels and link were; `None` on the plain
    /// one.
    pub(crate) fn activity(&self) -> Option<Value> {
        let until = self.ledger.tally.last_completion;
        let mut activity = self.backend.activity(until)?;
        let span = (until.0 as f64).max(1.0);
        if let Some([to_drive, to_host]) = self.path.link_busy() {
            activity["link_busy_ratio"] =
                json!({"to_drive": to_drive.0 as f64 / span, "to_host": to_host.0 as f64 / span});
        }
        Some(activity)
    }
}
