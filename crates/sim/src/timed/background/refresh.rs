//! The timed executor with refresh: who calls the `Refresher`, and when.
//!
//! After a command that was started, after an operation that a die finished, and when a block
//! becomes due by its age. Patrol reads, which find what errs too much, are taken here too.

use super::collector::Pressing;
use super::refresher::PATIENCE;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::drive::Drive;
use crate::op::Source;
use crate::timed::stage::{TimedStage, PATROL, REFRESH};
use crate::units::{BlockId, DieId, Ns};

impl TimedStage {
    /// Schedules when the first block may become due.
    pub(in crate::timed) fn start_refresh(&mut self, drive: &Drive) {
        let Some(refresher) = &self.refresher else { return };
        let (now, clock) = (self.now(), refresher.clock(self.now()));
        let dies = (0..drive.geometry.die_count).map(DieId);
        let next = dies.filter_map(|die| drive.ftl.next_refresh(die, clock)).min();
        if let Some(next) = next {
            self.engine.schedule(Ns(next.0 - refresher.clock(now).0), REFRESH);
        }
    }

    /// A block may be due.
    pub(in crate::timed) fn refresh_timer(&mut self, drive: &mut Drive) {
        if self.is_over() {
            return;
        }
        (0..drive.geometry.die_count).for_each(|die| self.refresh(drive, DieId(die)));
        self.start_refresh(drive);
    }

    /// Schedules the next patrol read.
    pub(in crate::timed) fn start_patrol(&mut self, drive: &Drive) {
        let (Some(refresher), Some(patrol)) = (&self.refresher, &drive.patrol) else { return };
        let clock = refresher.clock(self.now());
        self.engine.schedule(Ns(patrol.next().0.saturating_sub(clock.0)), PATROL);
    }

    /// A patrol read is due.
    pub(in crate::timed) fn patrol_timer(&mut self, drive: &mut Drive) {
        if self.is_over() {
            return;
        }
        let (now, pending) = (self.now(), self.pending_ops());
        let Some(refresher) = &self.refresher else { return };
        let (clock, is_busy) = (refresher.clock(now), refresher.is_patrolling);
        let Some(mut patrol) = drive.patrol.take() else { return };
        let mut read = |stage: &mut Self, place| {
            stage.with_sink(drive, NO_COMMAND, |front, sink| front.ftl.patrol(sink, place))
        };
        let mut behind = None;
        if is_busy {
            // Reads never pile up: this one is left for the next turn.
            patrol.advance();
            behind = Some(patrol.place);
        } else if patrol.has_pages() {
            behind = read(self, patrol.place);
            patrol.advance();
            if behind.is_none() {
                behind = read(self, (BlockId(0), 0));
                patrol.count(drive.ftl.pages_to_patrol(&drive.media), clock);
            }
        } else {
            patrol.count(drive.ftl.pages_to_patrol(&drive.media), clock);
        }
        patrol.place = behind.unwrap_or((BlockId(0), 0));
        drive.patrol = Some(patrol);
        let is_reading = self.pending_ops() > pending;
        if let Some(refresher) = &mut self.refresher {
            refresher.is_patrolling |= is_reading;
        }
        self.start_patrol(drive);
        self.refresh_what_errs(drive);
    }

    /// How much a refresh of a die presses, if there is one that may begin or go on.
    pub(in crate::timed) fn refresh_pressing(
        &mut self,
        drive: &mut Drive,
        die: DieId,
    ) -> Option<Pressing> {
        let now = self.engine.now();
        let pressing = self.refresher.as_mut()?.pressing(drive, die, now)?;
        let may = pressing == Pressing::Hurries
            || drive.ftl.collection_of(die).is_some()
            || self.backend.is_idle(die);
        may.then_some(pressing)
    }

    /// Begins a refresh of a die in steps.
    pub(super) fn begin_refresh(&mut self, drive: &mut Drive, die: DieId) -> bool {
        let now = self.engine.now();
        let Some(refresher) = &mut self.refresher else { return false };
        let clock = refresher.clock(now);
        let since = drive.ftl.refresh_due(&drive.media, die, clock);
        let begun = drive.ftl.begin_refresh(&drive.media, die, clock);
        if begun {
            let has_hurried = refresher.pressing(drive, die, now) == Some(Pressing::Hurries);
            refresher.dies[die.0 as usize].under_way = since.map(|since| (since, has_hurried));
        }
        begun
    }

    /// Refreshes a block of a die, if one is due and it is time.
    fn refresh(&mut self, drive: &mut Drive, die: DieId) {
        if self.collector.is_some() {
            return self.collect(drive, die.0);
        }
        if self.is_over() {
            return;
        }
        let Some(pressing) = self.refresh_pressing(drive, die) else { return };
        let now = self.engine.now();
        let Some(refresher) = &mut self.refresher else { return };
        let clock = refresher.clock(now);
        if pressing == Pressing::Hurries {
            refresher.dies[die.0 as usize].rests_until = clock + PATIENCE;
        }
        self.with_sink(drive, NO_COMMAND, |front, sink| {
            front.ftl.refresh_at_once(sink, die, clock);
        });
    }

    /// A command was started: what it read may err too much.
    #[cold]
    pub(in crate::timed) fn refresh_what_errs(&mut self, drive: &mut Drive) {
        let now = self.engine.now();
        let Some(refresher) = &mut self.refresher else { return };
        for die in refresher.take_found(drive, now) {
            self.refresh(drive, die);
        }
    }

    /// An operation is over: its die may be idle.
    #[cold]
    pub(in crate::timed) fn refresh_after(&mut self, drive: &mut Drive, done: FlashOp) {
        if let Some(refresher) = &mut self.refresher {
            refresher.last_done = self.engine.now();
            let is_read = done.source() == Source::Refresh && done.kind() == OpKind::Read;
            refresher.is_patrolling &= !is_read;
        }
        if self.collector.is_none() {
            let block = Self::block_of(drive, done);
            self.refresh(drive, drive.geometry.die_of_block(block));
        }
    }
}
