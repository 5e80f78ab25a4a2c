//! Copies within the drive: reads, and when all of them have gone well, a write.

use std::ops::Range;

use super::request::{Begun, Refusal};
use super::session::{Part, Session};
use crate::op::HostOp;

impl Session {
    /// The commands that read these bytes.
    pub(super) fn reads(&self, sources: &[Range<u64>]) -> Vec<Part> {
        let read =
            |it: &Range<u64>| self.part(HostOp::Read, it.start, it.end - it.start, Vec::new());
        sources.iter().map(read).collect()
    }

    /// Runs commands without a clock, and then another one unless they have failed.
    pub(super) fn run_in_turn(
        &mut self,
        parts: &[Part],
        then: Option<Part>,
    ) -> Result<Begun, Refusal> {
        let begun = self.run_untimed(parts);
        let Some(then) = then else { return begun };
        if begun.is_err() {
            self.release(&then, true);
            return begun;
        }
        self.run_untimed(&[then])
    }
}
