//! What the timed executor does without an event: whatever is certain to happen next.
//!
//! ```text
//! a command alone   submitted ─► controller ─► link ─► FTL       one event for all legs on which
//!                                                                nothing else can happen
//! served at once    FTL ─► back to the host                      no event
//! a die             has nothing to collect ─► an operation ends  not asked a second time
//! ```
//! The order of everything stays what it is by way of events, so results do too. Where operations
//! are watched, or others than a runner look at the stage between two steps, nothing is left out.

use super::drive::Drive;
use super::timed::{TimedStage, SLOT};
use crate::host::path::Way;
use crate::units::Ns;

impl TimedStage {
    /// Commands come from what the steps of this stage tell from now on, and nobody looks at it
    /// between them: it may leave out events. `comes_alone`: at most one command is under way.
    pub(super) fn run_by_itself(&mut self, comes_alone: bool) {
        self.skips_events = !self.ledger.is_watched() && self.backend.recorder().is_none();
        self.comes_alone = self.skips_events && comes_alone && !self.path.has_pauses();
    }

    /// A command goes on towards the FTL.
    #[inline]
    pub(super) fn go_in(&mut self, drive: &mut Drive, index: u32) {
        let now = self.engine.now();
        let mut span = match self.path.go_in(index, now) {
            Way::After(span) => span,
            Way::Held => return,
            Way::Arrived => return self.start(drive, index),
        };
        // While nothing else can happen, the next leg begins as if its time had come.
        while self.is_next(now + span) {
            match self.path.go_in(index, now + span) {
                Way::After(next) => span = span + next,
                Way::Held | Way::Arrived => break,
            }
        }
        self.engine.schedule(span, SLOT + index);
    }

    /// Whether an event of a command that came alone, scheduled for this time, would be the next
    /// thing to happen.
    #[inline]
    fn is_next(&self, at: Ns) -> bool {
        self.comes_alone && self.engine.is_quiet_until(at) && !self.backend.has_completed()
    }

    /// A command waits for nothing in the drive any more. It goes on by an event at this instant,
    /// so that completions never nest.
    pub(super) fn serve_soon(&mut self, index: u32) {
        self.path.serve(index);
        let is_next = self.skips_events
            && self.served_next.is_none()
            && self.engine.is_quiet_until(self.engine.now());
        if is_next {
            self.served_next = Some(index);
        } else {
            self.engine.schedule(Ns(0), SLOT + index);
        }
    }
}
