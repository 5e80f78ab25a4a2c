//! Observations in addition to the metrics: requested by the code that begins a job.

use std::num::NonZero;

use crate::units::Ns;

/// Observations in addition to the metrics. Watching changes no result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Accounts for the time of every command.
    pub breakdown: bool,
    /// Records spans of activity from a point of the measured stage's time to another.
    pub timeline: Option<(Ns, Ns)>,
    /// Records each request of this many: see [`RequestRow`](super::RequestRow).
    pub requests_every: Option<NonZero<u64>>,
}

impl Observation {
    /// Whether the parts of each command's time are wanted.
    pub(crate) fn wants_parts(&self) -> bool {
        self.breakdown || self.requests_every.is_some()
    }

    /// Whether the numbers of commands are wanted.
    pub(crate) fn wants_numbers(&self) -> bool {
        self.timeline.is_some() || self.requests_every.is_some()
    }
}
