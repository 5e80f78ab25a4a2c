//! The accounts of a timed stage: what its commands spend their time on, while they are watched,
//! and whether all of them add up.

use serde_json::{json, Value};

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

    /// Relative gap between the integral of outstanding commands and the sum of their latencies:
    /// zero unless a command was lost or counted twice (Little's law in its exact, finite form).
    pub(crate) fn littles_law_error(&self) -> f64 {
        let sum = self.tally.latency_ns as f64;
        let area = self.area as f64;
        if area == 0.0 {
            sum
        } else {
            (sum - area).abs() / area
        }
    }

    /// Commands outstanding on average until the last completion.
    pub(crate) fn outstanding_mean(&self) -> Option<f64> {
        let span = self.tally.last_completion.0;
        (span > 0).then(|| self.area as f64 / span as f64)
    }

    /// Whether operations are still queued: collections that no command waits for.
    pub(crate) fn pending_ops(&self) -> u64 {
        self.backend.pending()
    }

    /// Operations against the rules of the flash, and commands whose parts do not sum to their
    /// latency: zero, or the simulator is wrong.
    pub(crate) fn violations(&self) -> (u64, u64) {
        let mismatches = self.breakdown.as_ref().map_or(0, |breakdown| breakdown.mismatches());
        (self.backend.violations(), mismatches)
    }

    /// Where the time went, by class and percentile band, when observed.
    pub(crate) fn breakdown(&self) -> Option<Value> {
        self.breakdown.as_ref().map(|breakdown| breakdown.to_json())
    }

    /// Spans of activity, when recorded.
    pub(crate) fn timeline(&self) -> Option<Value> {
        self.backend.timeline()
    }

    /// What the full back end did and how busy dies, channels and link were; `None` on the plain
    /// one.
    pub(crate) fn activity(&self) -> Option<Value> {
        let mut activity = self.backend.activity(self.tally.last_completion)?;
        let span = (self.tally.last_completion.0 as f64).max(1.0);
        if let Some(link) = &self.path.link {
            let [to_drive, to_host] = link.busy();
            activity["link_busy_ratio"] =
                json!({"to_drive": to_drive.0 as f64 / span, "to_host": to_host.0 as f64 / span});
        }
        Some(activity)
    }
}
