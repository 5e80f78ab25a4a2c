//! The timed executor with refresh: who calls the `Refresher`, and when.
//!
//! After a command that was started, after an operation that a die finished, and when a block
//! becomes due by its age.

use super::collector::Pressing;
use super::drive::Drive;
use super::refresher::PATIENCE;
use super::timed::{TimedStage, REFRESH};
use crate::controller::{FlashOp, NO_COMMAND};
use crate::units::{DieId, Ns};

impl TimedStage {
    /// Schedules when the first block may become due.
    pub(super) fn start_refresh(&mut self, drive: &Drive) {
        let Some(refresher) = &self.refresher else { return };
        let (now, clock) = (self.now(), refresher.clock(self.now()));
        let dies = (0..drive.geometry.die_count).map(DieId);
        let next = dies.filter_map(|die| drive.ftl.next_refresh(die, clock)).min();
        if let Some(next) = next {
            self.engine.schedule(Ns(next.0 - refresher.clock(now).0), REFRESH);
        }
    }

    /// A block may be due.
    pub(super) fn refresh_timer(&mut self, drive: &mut Drive) {
        if self.is_over() {
            return;
        }
        (0..drive.geometry.die_count).for_each(|die| self.refresh(drive, DieId(die)));
        self.start_refresh(drive);
    }

    /// How much a refresh of a die presses, if there is one that may begin or go on.
    pub(super) fn refresh_pressing(&mut self, drive: &mut Drive, die: DieId) -> Option<Pressing> {
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
    pub(super) fn refresh_what_errs(&mut self, drive: &mut Drive) {
        let now = self.engine.now();
        let Some(refresher) = &mut self.refresher else { return };
        for die in refresher.take_found(drive, now) {
            self.refresh(drive, die);
        }
    }

    /// An operation is over: its die may be idle.
    #[cold]
    pub(super) fn refresh_after(&mut self, drive: &mut Drive, done: FlashOp) {
        if let Some(refresher) = &mut self.refresher {
            refresher.last_done = self.engine.now();
        }
        if self.collector.is_none() {
            let block = Self::block_of(drive, done);
            self.refresh(drive, drive.geometry.die_of_block(block));
        }
    }
}
