//! How many commands were slow, and when the slowest were: four buckets of latency for each kind.
//!
//! ```text
//!        A      B      C      D          thresholds
//! quick ─┼─ 0 ──┼─ 1 ──┼─ 2 ──┼─ 3 ─►    latency of a command
//!                                        active ── a window of time has passed ─► kept, and none
//! ```
//! A command below the first threshold is not counted. Of each bucket and kind the largest latency
//! is kept, and when it ended. After a window the figures are kept as they are until the next one
//! has passed, and others begin. All times are those that the drive has had power, by the model.
//!
//! Thresholds, window and their first values: OCP Datacenter NVMe SSD Specification 2.0, latency
//! monitor: a threshold x means (x + 1) x 5 ms, and a bucket has its lower limit.

use serde::{Deserialize, Serialize};

use crate::units::Ns;

/// Buckets of latency.
pub const BUCKETS: usize = 4;
/// Kinds of commands.
pub const KINDS: usize = 3;
/// The first threshold and the step to the next one.
const THRESHOLD_STEP: Ns = Ns(5_000_000);
/// Step of the length of a window: five minutes.
const WINDOW_STEP: Ns = Ns(300_000_000_000);

/// What a command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes are of no value any more.
    Trim = 0,
    /// Data was written.
    Write = 1,
    /// Data was read.
    Read = 2,
}

/// Thresholds and window, in their steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// A to D, in ascending order.
    pub thresholds: [u8; BUCKETS],
    /// Length of a window.
    pub window: u16,
}

impl Setup {
    /// The bucket of a latency; `None` below the first.
    fn bucket(&self, latency: Ns) -> Option<usize> {
        let limit = |threshold: u8| (u64::from(threshold) + 1) * THRESHOLD_STEP.0;
        let count = self.thresholds.iter().filter(|&&it| latency.0 >= limit(it)).count();
        count.checked_sub(1)
    }
}

impl Default for Setup {
    /// 30, 100, 155 and 235 ms; seven days.
    fn default() -> Self {
        Self { thresholds: [0x05, 0x13, 0x1e, 0x2e], window: 0x7e0 }
    }
}

/// A slow command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// When it ended.
    pub at: Ns,
    /// How long it took.
    pub latency: Ns,
}

/// Counts of a window, by bucket and [`Kind`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Commands.
    pub counts: [[u32; KINDS]; BUCKETS],
    /// The slowest of them, the first of several.
    pub slowest: [[Option<Slow>; KINDS]; BUCKETS],
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyMonitor {
    setup: Setup,
    /// Start of the window.
    since: Ns,
    active: Figures,
    kept: Figures,
}

impl Default for LatencyMonitor {
    fn default() -> Self {
        Self::new(Setup::default())
    }
}

impl LatencyMonitor {
    /// A monitor whose first window begins at 0.
    pub fn new(setup: Setup) -> Self {
        Self { setup, since: Ns(0), active: Figures::default(), kept: Figures::default() }
    }

    /// Thresholds and window.
    pub fn setup(&self) -> Setup {
        self.setup
    }

    /// A command has ended, not before the last one.
    #[inline]
    pub fn note(&mut self, kind: Kind, latency: Ns, at: Ns) {
        if let Some(bucket) = self.setup.bucket(latency) {
            self.note_slow((bucket, kind), Slow { at, latency });
        }
    }

    fn note_slow(&mut self, (bucket, kind): (usize, Kind), slow: Slow) {
        self.advance(slow.at);
        let (count, slowest) = (&mut self.active.counts, &mut self.active.slowest);
        let count = &mut count[bucket][kind as usize];
        *count = count.saturating_add(1);
        let slowest = &mut slowest[bucket][kind as usize];
        if slowest.is_none_or(|before| slow.latency > before.latency) {
            *slowest = Some(slow);
        }
    }

    /// Ends the windows that have passed.
    pub fn advance(&mut self, now: Ns) {
        let window = u64::from(self.setup.window.max(1)) * WINDOW_STEP.0;
        let passed = now.0.saturating_sub(self.since.0) / window;
        if passed == 0 {
            return;
        }
        self.since = Ns(self.since.0 + passed * window);
        let last = std::mem::take(&mut self.active);
        // A window without a slow command may have passed since.
        self.kept = if passed == 1 { last } else { Figures::default() };
    }

    /// What the present window has, since [`LatencyMonitor::advance`], and its age in steps.
    pub fn active(&self, now: Ns) -> (&Figures, u16) {
        let age = now.0.saturating_sub(self.since.0) / WINDOW_STEP.0;
        (&self.active, age.min(u64::from(u16::MAX)) as u16)
    }

    /// What the window before it had.
    pub fn kept(&self) -> &Figures {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: f64) -> Ns {
        Ns((ms * 1e6) as u64)
    }

    /// Latencies whose buckets are known from outside.
    #[test]
    fn buckets_have_their_lower_limits() {
        let mut monitor = LatencyMonitor::default();
        let latencies = [29.999, 30.0, 99.9, 100.0, 154.0, 155.0, 235.0, 900.0];
        for (at, latency) in (1..).zip(latencies) {
            monitor.note(Kind::Read, ms(latency), Ns(at));
        }
        let (figures, age) = monitor.active(Ns(9));
        assert_eq!(figures.counts.map(|of| of[Kind::Read as usize]), [2, 2, 1, 2]);
        assert_eq!(figures.counts.map(|of| of[Kind::Write as usize]), [0; 4]);
        let slowest = figures.slowest.map(|of| of[Kind::Read as usize].map(|it| it.latency));
        assert_eq!(slowest, [99.9, 154.0, 155.0, 900.0].map(|it| Some(ms(it))));
        assert_eq!(figures.slowest[3][Kind::Read as usize].map(|it| it.at), Some(Ns(8)));
        assert_eq!((age, monitor.kept()), (0, &Figures::default()));
    }

    #[test]
    fn kinds_are_apart_and_the_first_of_equals_stays() {
        let mut monitor = LatencyMonitor::default();
        for (at, kind) in [(5, Kind::Trim), (6, Kind::Write), (7, Kind::Trim)] {
            monitor.note(kind, ms(40.0), Ns(at));
        }
        let (figures, _) = monitor.active(Ns(7));
        assert_eq!(figures.counts[0], [2, 1, 0]);
        assert_eq!(figures.slowest[0].map(|it| it.map(|it| it.at.0)), [Some(5), Some(6), None]);
    }

    /// Seven days later the figures are kept, and seven days after that they are gone.
    #[test]
    fn windows_end_at_their_time() {
        let week = 7 * 24 * 3_600_000_000_000;
        let mut monitor = LatencyMonitor::default();
        monitor.note(Kind::Write, ms(300.0), Ns(week - 1));
        monitor.advance(Ns(week - 1));
        assert_eq!(monitor.active(Ns(week - 1)).0.counts[3], [0, 1, 0]);
        assert_eq!(monitor.active(Ns(week - 1)).1, 0x7df);
        monitor.note(Kind::Read, ms(300.0), Ns(week));
        assert_eq!(monitor.active(Ns(week)).0.counts[3], [0, 0, 1]);
        assert_eq!((monitor.kept().counts[3], monitor.active(Ns(week)).1), ([0, 1, 0], 0));
        monitor.advance(Ns(2 * week));
        assert_eq!(monitor.kept().counts[3], [0, 0, 1]);
        monitor.advance(Ns(4 * week + 5));
        assert_eq!(monitor.kept(), &Figures::default());
        assert_eq!(monitor.active(Ns(4 * week + WINDOW_STEP.0)).1, 1);
    }
}
