//! Commands of a timed stage that wait for others: for pages that are fetched ahead, for reads that
//! hold up the processor, and for the rest of a program unit.

use super::stage::{Step, TimedStage, FILL};
use crate::controller::breakdown::Part;
use crate::controller::NO_COMMAND;
use crate::drive::Drive;
use crate::units::{DieId, Lpn};

impl TimedStage {
    /// Fetches what lies ahead of the read that was just served.
    pub(super) fn read_ahead(&mut self, drive: &mut Drive) {
        let tells_losses = drive.tells_losses();
        self.with_sink(drive, NO_COMMAND, |front, sink| {
            let Some(ahead) = sink.ahead.take() else { return };
            for page in ahead.wanted() {
                sink.slot = ahead.fetch();
                (sink.waits, sink.decode_ns) = (0, 0);
                let lost_before = sink.errors.lost_of_host();
                front.read_page_ahead(sink, Lpn(page));
                ahead.fetched(sink.slot, sink.waits, sink.decode_ns);
                if tells_losses && sink.errors.lost_of_host() > lost_before {
                    ahead.lost();
                }
            }
        });
    }

    /// A flash read ahead of the host is over: commands that came for its page go on.
    pub(super) fn fetched(&mut self, mark: u32) -> Step {
        let mut waiters = Vec::new();
        if let Some(ahead) = &mut self.ahead {
            ahead.done(mark, &mut waiters);
        }
        for index in waiters {
            self.satisfy_soon(index);
        }
        Step::Internal
    }

    /// The command of a slot blocks nothing any more: those that the processor held go on.
    pub(super) fn go_on(&mut self, drive: &mut Drive, index: u32) {
        let now = self.engine.now();
        for held in self.path.unblock(index, now) {
            self.ledger.credit(held, Part::Controller, now);
            self.go_in(drive, held);
        }
    }

    /// Starts the timers of program units that the host has begun.
    #[cold]
    pub(super) fn start_fill_timers(&mut self, drive: &Drive) {
        let now = self.engine.now();
        let Some(fill) = &mut self.fill else { return };
        let (begun, timeout) = fill.begun(|die| drive.ftl.unit_under_way(&drive.media, die), now);
        for die in begun {
            self.engine.schedule(timeout, FILL + die.0);
        }
    }

    /// The timer of a program unit of a pool is over.
    pub(super) fn fill_timer(&mut self, drive: &mut Drive, die: DieId) {
        let (now, unit) = (self.engine.now(), drive.ftl.unit_under_way(&drive.media, die));
        if self.fill.as_ref().is_some_and(|fill| fill.is_due(die, unit, now)) {
            self.with_sink(drive, NO_COMMAND, |front, sink| front.ftl.pad_die(sink, die));
        }
    }
}
