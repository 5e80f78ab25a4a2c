//! What a served drive notes of the time of its requests: how long it was busy, and how many were
//! slow. Times are those that the drive has had power, by the clock of the model; a drive without a
//! clock notes nothing. Losses of power do not end the notes, and images keep them.

use serde::{Deserialize, Serialize};

use super::latency_monitor::{Kind, LatencyMonitor};
use crate::op::HostOp;
use crate::units::Ns;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Activity {
    /// Slow requests.
    pub slow: LatencyMonitor,
    busy: Ns,
    /// Since when, and how many. None is outstanding without power.
    #[serde(skip)]
    outstanding: Option<(Ns, u64)>,
}

impl Activity {
    /// A request has arrived.
    pub(crate) fn begin(&mut self, at: Ns) {
        let (since, count) = self.outstanding.unwrap_or((at, 0));
        self.outstanding = Some((since, count + 1));
    }

    /// A request has ended, after this latency; without an operation it is of no kind.
    pub(crate) fn end(&mut self, (op, latency): (Option<HostOp>, Ns), at: Ns) {
        if let Some((since, count)) = self.outstanding.take() {
            if count > 1 {
                self.outstanding = Some((since, count - 1));
            } else {
                self.busy.0 += at.0.saturating_sub(since.0);
            }
        }
        if let Some(kind) = op.and_then(Kind::of) {
            self.slow.note(kind, latency, at);
        }
    }

    /// Time with at least one request, up to now.
    pub fn busy(&self, now: Ns) -> Ns {
        let since = self.outstanding.map_or(now, |(since, _)| since);
        Ns(self.busy.0 + now.0.saturating_sub(since.0))
    }

    /// The power fails: no request is outstanding any more.
    #[must_use]
    pub(crate) fn cut(mut self, at: Ns) -> Self {
        self.busy = self.busy(at);
        self.outstanding = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_busy_while_any_request_is_outstanding() {
        let mut activity = Activity::default();
        activity.begin(Ns(10));
        activity.begin(Ns(15));
        assert_eq!(activity.busy(Ns(18)), Ns(8));
        activity.end((Some(HostOp::Read), Ns(10)), Ns(20));
        activity.end((None, Ns(15)), Ns(30));
        assert_eq!(activity.busy(Ns(100)), Ns(20));
        activity.begin(Ns(50));
        let activity = activity.cut(Ns(55));
        assert_eq!(activity.busy(Ns(200)), Ns(25));
    }
}
