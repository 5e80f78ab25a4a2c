//! When a block that is due for refresh is moved.
//!
//! ```text
//! due, die idle                     at once
//! due, die busy                     when it falls idle; then in steps, where nothing else waits
//! due for PATIENCE, die never idle  along with the host, before its writes; then none for PATIENCE
//! ```
//! So refresh takes idle time first, and a die without any gives it one block in a second or so.
//! Collections in steps are the [`Collector`](super::collector::Collector)'s, a refresh among them:
//! it receives the urgency from here. Whole collections are carried out here.
//!
//! One timer wakes the dies when the next block becomes due by its age. It runs while the host is
//! there, and does not keep a stage from ending.

use super::collector::Pressing;
use crate::controller::{FlashOp, OpKind};
use crate::drive::Drive;
use crate::ftl::Purpose;
use crate::op::Source;
use crate::timed::clockwork::{Clockwork, Event};
use crate::units::{DieId, Ns};

/// How long a block that is due waits for idle time of its die (assumed): a second.
const PATIENCE: Ns = Ns(1_000_000_000);

/// The refresh state of a die.
#[derive(Clone, Copy, Debug, Default)]
struct DieState {
    /// Of the running refresh: since when it was due, and whether it was in a hurry.
    under_way: Option<(Ns, bool)>,
    /// No refresh is in a hurry before this time.
    rests_until: Ns,
}

/// See the module.
pub(super) struct Refresher {
    /// The drive's clock when the stage began.
    start: Ns,
    /// When a flash operation was over last, in the time of the stage.
    pub(super) last_done: Ns,
    dies: Vec<DieState>,
    /// A patrol read is not over.
    pub(super) is_patrolling: bool,
}

impl Refresher {
    /// Lets the clock of a drive run, if something hangs on it.
    pub(super) fn new(drive: &mut Drive) -> Option<Box<Self>> {
        if drive.config.ftl.refresh.is_none() && drive.patrol.is_none() {
            return None;
        }
        drive.ftl.refresh().start_clock(drive.clock);
        if let Some(patrol) = &mut drive.patrol {
            patrol.count(drive.ftl.refresh().pages_to_patrol(&drive.media), drive.clock);
        }
        let dies = vec![DieState::default(); drive.geometry.die_count as usize];
        let mut refresher =
            Self { start: drive.clock, last_done: Ns(0), dies, is_patrolling: false };
        refresher.take_found(drive, Ns(0));
        Some(Box::new(refresher))
    }

    /// The drive's clock at a time of the stage.
    #[inline]
    pub(super) fn clock(&self, now: Ns) -> Ns {
        self.start + now
    }

    /// Makes the blocks due whose reads have too many bit errors; returns their dies.
    pub(super) fn take_found(&mut self, drive: &mut Drive, now: Ns) -> Vec<DieId> {
        let found = drive.errors.take_found();
        let mut dies = Vec::new();
        for block in found {
            drive.ftl.refresh().ask(&drive.media, block, self.clock(now));
            dies.push(drive.geometry.die_of_block(block));
        }
        dies
    }

    /// Schedules when the first block may become due.
    pub(super) fn start_timer(&self, clockwork: &mut Clockwork, drive: &mut Drive) {
        let clock = self.clock(clockwork.now());
        let dies = (0..drive.geometry.die_count).map(DieId);
        if let Some(next) = dies.filter_map(|die| drive.ftl.refresh().next(die, clock)).min() {
            clockwork.schedule(Ns(next.0 - clock.0), Event::Refresh);
        }
    }

    /// Schedules the next patrol read.
    pub(super) fn start_patrol(&self, clockwork: &mut Clockwork, drive: &Drive) {
        let Some(patrol) = &drive.patrol else { return };
        let clock = self.clock(clockwork.now());
        clockwork.schedule(Ns(patrol.next().0.saturating_sub(clock.0)), Event::Patrol);
    }

    /// An operation has ended.
    pub(super) fn note_done(&mut self, done: FlashOp, now: Ns) {
        self.last_done = now;
        let is_read = done.source() == Source::Refresh && done.kind() == OpKind::Read;
        self.is_patrolling &= !is_read;
    }

    /// The urgency of a refresh of a die, if one may begin or continue.
    #[inline]
    pub(super) fn pressing(
        &mut self,
        clockwork: &Clockwork,
        drive: &mut Drive,
        die: DieId,
    ) -> Option<Pressing> {
        let pressing = self.due(drive, die, clockwork.now())?;
        let may = pressing == Pressing::Hurries
            || drive.ftl.room(die).victim().is_some()
            || clockwork.backend.is_idle(die);
        may.then_some(pressing)
    }

    /// The time of the stage before which no refresh of a die is due or running, if its FTL asks
    /// for none: a block that is closed meanwhile becomes due later.
    pub(super) fn calm_until(&self, drive: &mut Drive, die: DieId) -> Ns {
        if self.dies[die.0 as usize].under_way.is_some() {
            return Ns(0);
        }
        Ns(drive.ftl.refresh().due_from(die).0.saturating_sub(self.start.0))
    }

    /// Begins a refresh of a die in steps; false if none is due.
    pub(super) fn begin(&mut self, drive: &mut Drive, die: DieId, now: Ns) -> bool {
        let clock = self.clock(now);
        let since = drive.ftl.refresh().due(&drive.media, die, clock);
        let begun = drive.ftl.begin(&drive.media, die, Purpose::Refresh(clock));
        if begun {
            let has_hurried = self.due(drive, die, now) == Some(Pressing::Hurries);
            self.dies[die.0 as usize].under_way = since.map(|since| (since, has_hurried));
        }
        begun
    }

    /// A refresh of a whole block begins: one in a hurry gives its die peace for a while.
    pub(super) fn note_whole(&mut self, die: DieId, pressing: Pressing, clock: Ns) {
        if pressing == Pressing::Hurries {
            self.dies[die.0 as usize].rests_until = clock + PATIENCE;
        }
    }

    /// The urgency of the refresh of a die that is due or running, if there is one.
    #[inline]
    fn due(&mut self, drive: &mut Drive, die: DieId, now: Ns) -> Option<Pressing> {
        let clock = self.clock(now);
        if self.dies[die.0 as usize].under_way.is_none()
            && !drive.ftl.refresh().may_be_due(die, clock)
        {
            return None;
        }
        self.look_at(drive, die, clock)
    }

    /// The same of a die that has something to look at.
    #[cold]
    fn look_at(&mut self, drive: &mut Drive, die: DieId, clock: Ns) -> Option<Pressing> {
        let is_over = drive.ftl.room(die).victim().is_none();
        let state = &mut self.dies[die.0 as usize];
        if is_over && state.under_way.take().is_some_and(|(_, has_hurried)| has_hurried) {
            state.rests_until = clock + PATIENCE;
        }
        let next = drive.ftl.refresh().due(&drive.media, die, clock);
        let since = state.under_way.map(|(since, _)| since).into_iter().chain(next).min()?;
        if clock < since + PATIENCE || clock < state.rests_until {
            return Some(Pressing::Waits);
        }
        if let Some((_, has_hurried)) = &mut state.under_way {
            *has_hurried = true;
        }
        Some(Pressing::Hurries)
    }
}
