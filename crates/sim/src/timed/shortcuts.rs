//! What the timed executor does without an event: whatever is certain to happen next.
//!
//! ```text
//! a command alone   submitted ─► controller ─► link ─► FTL       no event for legs on which
//!                                                                nothing else can happen
//! served at once    FTL ─► back to the host                      no event
//! a die             has nothing to collect ─► an operation ends  not asked a second time
//! pages             programmed, or in memory for that            their ends are one step
//! timers of a die   the host comes and goes                      one event, see `collector`
//! ```
//! The order of everything stays what it is by way of events, so results do too. Where operations
//! are watched, or others than a runner look at the stage between two steps, nothing is left out.

use super::background::Calm;
use super::stage::{Step, TimedStage, SLOT};
use crate::controller::FlashOp;
use crate::drive::Drive;
use crate::host::path::Way;
use crate::units::{DieId, Ns};

impl TimedStage {
    /// Commands come from what the steps of this stage tell from now on, and nobody looks at it
    /// between them: it may leave out events. `comes_alone`: at most one command is under way.
    pub(crate) fn run_by_itself(&mut self, comes_alone: bool) {
        self.skips_events = !self.ledger.is_watched() && self.backend.recorder().is_none();
        self.comes_alone = self.skips_events && comes_alone && !self.path.has_pauses();
    }

    /// A command goes on towards the FTL.
    #[inline]
    pub(super) fn go_in(&mut self, drive: &mut Drive, index: u32) {
        let (engine, now) = (&self.engine, self.engine.now());
        // Of a command that came alone, the next leg begins as if its time had come.
        let is_alone = self.comes_alone && !self.backend.has_completed();
        let is_next = |at| is_alone && engine.is_quiet_until(at);
        match self.path.go_in(index, now, is_next) {
            Way::After(span) if is_next(now + span) => self.goes_next = Some((index, now + span)),
            Way::After(span) => self.engine.schedule(span, SLOT + index),
            Way::Held => {}
            Way::Arrived => self.start(drive, index),
        }
    }

    /// A command waits for nothing in the drive any more. It goes on by an event at this instant,
    /// so that completions never nest.
    pub(super) fn serve_soon(&mut self, index: u32) {
        self.path.serve(index);
        let now = self.engine.now();
        let is_next =
            self.skips_events && self.goes_next.is_none() && self.engine.is_quiet_until(now);
        if is_next {
            self.goes_next = Some((index, now));
        } else {
            self.engine.schedule(Ns(0), SLOT + index);
        }
    }

    /// A die was found to have nothing to collect, or (`waits`) a step waiting, and stays so for as
    /// many pages of the host, if it is told.
    #[inline]
    pub(super) fn note_quiet(&mut self, die: Option<u32>, waits: bool, pages: u32) {
        self.quiet_die = die;
        let stalls = |die| self.collector.as_ref().is_some_and(|it| it.front(die).is_some());
        self.calm = die.map(|die| Calm { die, waits, stalls: stalls(die), pages });
    }

    /// Whether a die need not be asked for what to collect: it is as when it was asked last.
    #[inline]
    pub(super) fn is_calm(&mut self, drive: &mut Drive, die: u32) -> bool {
        let Some(calm) = self.calm.filter(|calm| calm.die == die) else { return false };
        let Some(collector) = &self.collector else { return false };
        // A write that finds others waiting for room, or is held back, changes nothing.
        let stalls = collector.front(die).is_some();
        let is_calm = !collector.is_resting(die)
            && (stalls == calm.stalls || collector.holds_back(DieId(die)))
            && (!calm.waits || self.backend.collection_waits(DieId(die)))
            && self.refresh_pressing(drive, DieId(die)).is_none();
        if is_calm {
            self.quiet_die = Some(die);
        }
        is_calm
    }

    /// An operation is over, and with it, where commands come alone, those behind it whose end is
    /// nothing but a count.
    #[inline]
    pub(super) fn operations_done(&mut self, drive: &mut Drive, done: FlashOp) -> Step {
        let step = self.operation_done(drive, done);
        if self.comes_alone && step == Step::Internal {
            self.end_programs(drive);
        }
        step
    }

    /// Ends programs of pages of the write buffer that are done: while nobody waits for their slots
    /// and the only die has nothing to collect, there is nothing else to it.
    #[inline]
    pub(super) fn end_programs(&mut self, drive: &Drive) {
        let is_alone = drive.geometry.die_count == 1 && self.quiet_die == Some(0);
        if !is_alone || self.cache.is_awaited() {
            return;
        }
        while let Some(op) = self.backend.take_freed() {
            let now = self.engine.now();
            if let Some(collector) = &mut self.collector {
                collector.last_done = now;
            }
            self.note_idle(DieId(0));
            if let Some(refresher) = &mut self.refresher {
                refresher.last_done = now;
            }
            self.cache.release(op.command(), op.count());
        }
    }
}
