//! What the timed executor does on its own: collections in steps and in pauses, refreshes, patrols,
//! and the padding of program units that wait.
//!
//! `collector`, `refresher` and `fill` decide when, die by die; `collection` and `refresh` carry it
//! out. `balance` is the pace of collections against that of the host. [`Background`] holds their
//! state, and lets the FTL work: for itself, and for the commands of the host.

mod balance;
mod collection;
mod collector;
mod fill;
mod refresh;
mod refresher;

pub(super) use collector::{Collector, Stalled};
pub(super) use fill::FillTimer;

use super::clockwork::Clockwork;
use super::host_side::HostSide;
use super::sink::TimedSink;
use crate::controller::{FlashOp, NO_COMMAND};
use crate::drive::{Drive, Front, FrontShape};
use crate::ftl::Pending;
use crate::units::{DieId, Ns};
use collector::{Calm, Pressing};
use refresher::Refresher;

/// See the module.
pub(super) struct Background {
    collector: Option<Box<Collector>>,
    refresher: Option<Box<Refresher>>,
    fill: Option<Box<FillTimer>>,
    /// A die that need not be asked for what to collect until an event other than the end of an
    /// operation: see `collection`.
    pub(super) quiet_die: Option<DieId>,
    /// The same under conditions.
    pub(super) calm: Option<Calm>,
}

impl Background {
    /// The work of a drive, none of it begun.
    pub(super) fn new(drive: &mut Drive) -> Self {
        let refresher = Refresher::new(drive);
        let superblocks = drive.media.superblocks();
        let row_slots = superblocks.map_or(0, |members| members.shape().row_slots());
        let collector = Collector::new(&drive.config.ftl, drive.geometry.die_count, row_slots);
        Self {
            collector: collector.map(Box::new),
            refresher,
            fill: FillTimer::new(drive),
            quiet_die: None,
            calm: None,
        }
    }

    /// Starts the timers of refreshes and patrols.
    pub(super) fn start(&self, clockwork: &mut Clockwork, drive: &mut Drive) {
        if let Some(refresher) = &self.refresher {
            refresher.start_timer(clockwork, drive);
            refresher.start_patrol(clockwork, drive);
        }
    }

    /// When a flash operation last ended, if that is noted.
    pub(super) fn last_done(&self) -> Option<Ns> {
        let refreshed = || self.refresher.as_ref().map(|refresher| refresher.last_done);
        self.collector.as_ref().map(|collector| collector.last_done).or_else(refreshed)
    }

    /// Whether the host is done and nothing waits: then nothing is begun any more.
    fn is_over(&self, host: &HostSide) -> bool {
        host.is_over() && self.collector.as_ref().is_none_or(|it| !it.has_waiting())
    }

    /// Lets the FTL work for a command (or for none) and keeps account of it.
    #[inline]
    pub(super) fn with_sink<T>(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        slot: u32,
        work: impl FnOnce(&mut Front, &mut TimedSink) -> T,
    ) -> T {
        let whose = (slot, drive.front_shape());
        let (outcome, programmed) =
            self.with_bare_sink(clockwork, host, drive, whose, |front, sink| {
                let outcome = work(front, sink);
                (outcome, sink.programmed_pages)
            });
        let now = clockwork.now();
        host.path.note_programmed(now, programmed * drive.geometry.page_bytes);
        if let Some(timeline) = clockwork.backend.recorder() {
            timeline.level("erased_blocks", now, drive.ftl.figures().erased_blocks());
        }
        if let Some(fill) = &mut self.fill {
            fill.start(clockwork, drive);
        }
        outcome
    }

    /// The same for the command of a slot where the shape of the front is known, without what
    /// commands that only [move data](Background::lets_data_pass) do not need.
    #[inline]
    pub(super) fn with_bare_sink<T>(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        (slot, shape): (u32, FrontShape),
        work: impl FnOnce(&mut Front, &mut TimedSink) -> T,
    ) -> T {
        (self.quiet_die, self.calm) = (None, None);
        let is_enough = host.completes_in_memory(slot);
        let (mut front, media, errors) = drive.split_as(shape);
        let lost_before = errors.lost_of_host();
        let mut sink = TimedSink {
            media,
            errors,
            engine: &mut clockwork.engine,
            backend: &mut clockwork.backend,
            cache: &mut host.cache,
            collector: self.collector.as_deref_mut(),
            ahead: host.ahead.as_deref_mut(),
            fill: self.fill.as_deref_mut(),
            slot,
            waits: 0,
            decode_ns: 0,
            is_flush: false,
            awaits_map: false,
            completes_in_memory: is_enough,
            epoch: None,
            programmed_pages: 0,
            failing: &mut host.failing,
            meets_write: host.path.has_pauses().then_some(false),
            clock_start: self.refresher.as_ref().map(|refresher| refresher.clock(Ns(0))),
            pages: 0,
            ends_with_program: false,
        };
        let outcome = work(&mut front, &mut sink);
        host.path.note_lost(slot, sink.errors.lost_of_host() > lost_before);
        if let Some(full) = clockwork.backend.full_mut() {
            full.release(&mut clockwork.engine);
        }
        outcome
    }

    /// Whether no command that moves data needs more than its operations: nothing is recorded,
    /// throttled, read ahead, or padded after a while.
    pub(super) fn lets_data_pass(&self, clockwork: &mut Clockwork, host: &mut HostSide) -> bool {
        self.fill.is_none()
            && host.ahead.is_none()
            && host.path.throttle().is_none()
            && clockwork.backend.recorder().is_none()
    }

    /// The FTL has worked for a command: dies that it touched may have to collect, and the blocks
    /// that it read may have too many bit errors.
    #[inline]
    pub(super) fn command_started(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        if self.collector.is_some() {
            // A write that found no room may be refused at once.
            self.note_touched(clockwork, host, drive);
        }
        if drive.errors.has_found() {
            self.refresh_what_errs(clockwork, host, drive);
        }
    }

    /// An operation of a die has ended.
    #[inline]
    pub(super) fn operation_done(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        done: FlashOp,
    ) {
        if self.collector.is_some() {
            self.collect_after(clockwork, host, drive, done);
        }
        if self.refresher.is_some() {
            self.refresh_after(clockwork, host, drive, done);
        }
    }

    /// Ends programs of pages of the write buffer that are done, if nothing else depends on them:
    /// no command waits for their slots, and the only die has nothing to collect.
    #[inline(always)]
    #[allow(clippy::inline_always)] // most often nothing is done
    pub(super) fn end_programs(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &Drive,
    ) {
        if clockwork.backend.has_completed() {
            self.end_freed(clockwork, host, drive);
        }
    }

    fn end_freed(&mut self, clockwork: &mut Clockwork, host: &mut HostSide, drive: &Drive) {
        let is_alone = drive.geometry.die_count == 1 && self.quiet_die == Some(DieId(0));
        if !is_alone || host.cache.is_awaited() {
            return;
        }
        let Some(full) = clockwork.backend.full_mut() else { return };
        let mut has_ended = false;
        while let Some(op) = full.done.take_freed() {
            host.cache.release(op.command(), op.count());
            has_ended = true;
        }
        if !has_ended {
            return;
        }
        let now = clockwork.now();
        if let Some(collector) = &mut self.collector {
            collector.last_done = now;
            collector.note_idle(clockwork, DieId(0));
        }
        if let Some(refresher) = &mut self.refresher {
            refresher.last_done = now;
        }
    }

    /// The timer of a program unit of a pool has expired.
    pub(super) fn fill_timer(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        die: DieId,
    ) {
        if self.fill.as_ref().is_some_and(|fill| fill.is_due(clockwork, drive, die)) {
            let pad = |front: &mut Front, sink: &mut TimedSink| {
                front.ftl.complete(sink, Pending::UnitsOf(die));
            };
            self.with_sink(clockwork, host, drive, NO_COMMAND, pad);
        }
    }

    /// The urgency of a refresh of a die, if one may begin or continue.
    #[inline]
    fn refresh_pressing(
        &mut self,
        clockwork: &Clockwork,
        drive: &mut Drive,
        die: DieId,
    ) -> Option<Pressing> {
        self.refresher.as_mut()?.pressing(clockwork, drive, die)
    }
}
