//! Observations in addition to the metrics: requested by the code that begins a job.

use crate::units::Ns;

/// Observations in addition to the metrics. Watching changes no result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Accounts for the time of every command.
    pub breakdown: bool,
    /// Records spans of activity from a point of the measured stage's time to another.
    pub timeline: Option<(Ns, Ns)>,
}
