//! What the commands of a timed stage spend their time on, while they are watched.

use super::timed::TimedStage;
use crate::controller::breakdown::Part;
use crate::controller::FlashOp;
use crate::op::Source;
use crate::units::Ns;

impl TimedStage {
    /// Credits the time since the last call to a part of a command.
    #[inline]
    pub(super) fn account(&mut self, index: u32, part: Part) {
        if self.breakdown.is_some() {
            let now = self.engine.now();
            let slot = &mut self.slots[index as usize];
            self.parts[index as usize].add(part, now - slot.accounted);
            slot.accounted = now;
        }
    }

    /// Credits the time since the command reached the FTL to what its last operation met.
    pub(super) fn account_flash(&mut self, index: u32, last: Option<&FlashOp>) {
        let Some(op) = last else { return self.account(index, Part::Cache) };
        if op.source == Source::Rebuild {
            return self.account(index, Part::Rebuild);
        }
        let met = self.backend.parts();
        let slot = &mut self.slots[index as usize];
        let span = self.engine.now() - slot.accounted;
        let parts = &mut self.parts[index as usize];
        for (part, spent) in parts.0.iter_mut().zip(&met.0) {
            *part += spent;
        }
        // An operation that was queued later than its command: there was no erased block.
        parts.add(Part::Room, Ns(span.0.saturating_sub(met.total().0)));
        slot.accounted = self.engine.now();
    }
}
