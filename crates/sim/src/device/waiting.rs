//! Commands of a timed stage that wait for others: for pages that are fetched ahead, and for reads
//! that hold up the processor.

use super::drive::Drive;
use super::timed::{Step, TimedStage};
use crate::controller::breakdown::Part;
use crate::controller::NO_COMMAND;
use crate::units::Lpn;

impl TimedStage {
    /// Fetches what lies ahead of the read that was just served.
    pub(super) fn read_ahead(&mut self, drive: &mut Drive) {
        self.with_sink(drive, NO_COMMAND, |front, sink| {
            let Some(ahead) = sink.ahead.take() else { return };
            for page in ahead.wanted() {
                sink.slot = ahead.fetch();
                (sink.waits, sink.decode_ns) = (0, 0);
                front.read_page_ahead(sink, Lpn(page));
                ahead.fetched(sink.slot, sink.waits, sink.decode_ns);
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
}
