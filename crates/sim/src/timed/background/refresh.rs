//! Refresh and patrols: who asks the [`Refresher`](super::refresher::Refresher), and when.
//!
//! After a command that was started, after an operation that a die finished, and when a block
//! becomes due by its age. Patrol reads, which find blocks with too many bit errors, are handled
//! here too.

use super::collection::block_of;
use super::Background;
use crate::controller::{FlashOp, NO_COMMAND};
use crate::drive::Drive;
use crate::timed::clockwork::Clockwork;
use crate::timed::host_side::HostSide;
use crate::units::{BlockId, DieId};

impl Background {
    /// A block may be due.
    pub(in crate::timed) fn refresh_timer(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        if self.is_over(host) {
            return;
        }
        for die in 0..drive.geometry.die_count {
            self.refresh(clockwork, host, drive, DieId(die));
        }
        if let Some(refresher) = &self.refresher {
            refresher.start_timer(clockwork, drive);
        }
    }

    /// A patrol read is due.
    pub(in crate::timed) fn patrol_timer(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        if self.is_over(host) {
            return;
        }
        let (now, pending) = (clockwork.now(), clockwork.backend.pending());
        let Some(refresher) = &self.refresher else { return };
        let (clock, is_busy) = (refresher.clock(now), refresher.is_patrolling);
        let Some(mut patrol) = drive.patrol.take() else { return };
        let mut read = |drive: &mut Drive, place| {
            self.with_sink(clockwork, host, drive, NO_COMMAND, |front, sink| {
                front.ftl.refresh().patrol(sink, place)
            })
        };
        let mut behind = None;
        if is_busy {
            // Reads never pile up: this one is left for the next turn.
            patrol.advance();
            behind = Some(patrol.place);
        } else if patrol.has_pages() {
            behind = read(drive, patrol.place);
            patrol.advance();
            if behind.is_none() {
                behind = read(drive, (BlockId(0), 0));
                patrol.count(drive.ftl.refresh().pages_to_patrol(&drive.media), clock);
            }
        } else {
            patrol.count(drive.ftl.refresh().pages_to_patrol(&drive.media), clock);
        }
        patrol.place = behind.unwrap_or((BlockId(0), 0));
        drive.patrol = Some(patrol);
        if let Some(refresher) = &mut self.refresher {
            refresher.is_patrolling |= clockwork.backend.pending() > pending;
            refresher.start_patrol(clockwork, drive);
        }
        self.refresh_what_errs(clockwork, host, drive);
    }

    /// Refreshes a block of a die, if one is due and it is time.
    fn refresh(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        die: DieId,
    ) {
        if self.collector.is_some() {
            return self.collect(clockwork, host, drive, die);
        }
        if self.is_over(host) {
            return;
        }
        let Some(refresher) = &mut self.refresher else { return };
        let Some(pressing) = refresher.pressing(clockwork, drive, die) else { return };
        let clock = refresher.clock(clockwork.now());
        refresher.note_whole(die, pressing, clock);
        self.with_sink(clockwork, host, drive, NO_COMMAND, |front, sink| {
            front.ftl.refresh().at_once(sink, die, clock);
        });
    }

    /// A command was started: the blocks that it read may have too many bit errors.
    #[cold]
    pub(super) fn refresh_what_errs(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        let Some(refresher) = &mut self.refresher else { return };
        for die in refresher.take_found(drive, clockwork.now()) {
            self.refresh(clockwork, host, drive, die);
        }
    }

    /// An operation has ended: its die may be idle.
    #[cold]
    pub(super) fn refresh_after(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        done: FlashOp,
    ) {
        if let Some(refresher) = &mut self.refresher {
            refresher.note_done(done, clockwork.now());
        }
        if self.collector.is_none() {
            let die = drive.geometry.die_of_block(block_of(drive, done));
            self.refresh(clockwork, host, drive, die);
        }
    }
}
