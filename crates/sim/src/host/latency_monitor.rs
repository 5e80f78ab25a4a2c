//! How many commands were slow, and when the slowest were: four buckets of latency for each kind.
//!
//! ```text
//!        A      B      C      D          thresholds
//! quick ─┼─ 0 ──┼─ 1 ──┼─ 2 ──┼─ 3 ─►    latency of a command
//!                                        active ── a window of time has passed ─► kept, and none
//! ```
//! A command below the first threshold is not counted. For each bucket and kind a latency is kept,
//! and when it ended: the first one, or the largest, which is taken at most once in a pause. After
//! a window the figures are kept as they are until the next one has passed, and others begin. All
//! times are those that the drive has had power, by the model.
//!
//! Settings and their first values: OCP Datacenter NVMe SSD Specification 2.0, 4.8.9 and appendix
//! C: a threshold x means (x + 1) x 5 ms, and a bucket has its lower limit.

use serde::{Deserialize, Serialize};

use crate::op::HostOp;
use crate::units::Ns;

/// Buckets of latency.
pub const BUCKETS: usize = 4;
/// Kinds of commands.
pub const KINDS: usize = 3;
/// The first threshold and the step to the next one.
const THRESHOLD_STEP: Ns = Ns(5_000_000);
/// Step of the length of a window: five minutes.
const WINDOW_STEP: Ns = Ns(300_000_000_000);
/// Step of the pause between two latencies that are kept.
const PAUSE_STEP: Ns = Ns(100_000_000);
const NS_PER_MS: u64 = 1_000_000;

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

impl Kind {
    /// As counters name it; a flush is of no kind.
    pub fn of(op: HostOp) -> Option<Self> {
        [Some(Self::Read), Some(Self::Write), Some(Self::Trim), None][op.index()]
    }
}

/// Settings of the monitor; numbers are in their steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Commands are counted.
    pub is_on: bool,
    /// A to D, in ascending order.
    pub thresholds: [u8; BUCKETS],
    /// Length of a window; 0: it has no end.
    pub window: u16,
    /// Of which bucket and kind the largest latency is kept, by [`bit_of`]; of others the first.
    pub keeps_largest: u16,
    /// Least time between two latencies that are kept of a bucket and kind.
    pub pause: u8,
}

/// The bit of a bucket and a [`Kind`] in masks: three bits a bucket; read, write, trim.
pub fn bit_of(bucket: usize, kind: usize) -> u16 {
    1 << (bucket * KINDS + KINDS - 1 - kind)
}

impl Setup {
    /// The bucket of a latency; `None` if it is not counted.
    fn bucket(&self, latency: Ns) -> Option<usize> {
        if !self.is_on {
            return None;
        }
        let limit = |threshold: u8| (u64::from(threshold) + 1) * THRESHOLD_STEP.0;
        let count = self.thresholds.iter().filter(|&&it| latency.0 >= limit(it)).count();
        count.checked_sub(1)
    }
}

impl Default for Setup {
    /// 30, 100, 155 and 235 ms; seven days; the largest of all; one second.
    fn default() -> Self {
        let thresholds = [0x05, 0x13, 0x1e, 0x2e];
        Self { is_on: true, thresholds, window: 0x7e0, keeps_largest: 0x0fff, pause: 0x0a }
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
    /// When it ended, in milliseconds of the host's clock, if the host had set one.
    pub clock_ms: Option<u64>,
}

/// A clock that the host has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostClock {
    ms: u64,
    at: Ns,
}

/// Counts of a window, by bucket and [`Kind`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Commands.
    pub counts: [[u32; KINDS]; BUCKETS],
    /// The one of them that is kept.
    pub noted: [[Option<Slow>; KINDS]; BUCKETS],
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyMonitor {
    setup: Setup,
    /// Start of the window.
    since: Ns,
    clock: Option<HostClock>,
    active: Figures,
    kept: Figures,
}

impl Default for LatencyMonitor {
    fn default() -> Self {
        Self::new(Setup::default(), Ns(0))
    }
}

impl LatencyMonitor {
    /// A monitor whose first window begins now.
    pub fn new(setup: Setup, now: Ns) -> Self {
        let (active, kept) = (Figures::default(), Figures::default());
        Self { setup, since: now, clock: None, active, kept }
    }

    /// The settings in force.
    pub fn setup(&self) -> Setup {
        self.setup
    }

    /// Begins again with other settings; the clock of the host stays.
    pub fn configure(&mut self, setup: Setup, now: Ns) {
        *self = Self { clock: self.clock, ..Self::new(setup, now) };
    }

    /// The host sets its clock.
    pub fn set_clock(&mut self, ms: u64, now: Ns) {
        self.clock = Some(HostClock { ms, at: now });
    }

    /// A command has ended, not before the last one.
    #[inline]
    pub fn note(&mut self, kind: Kind, latency: Ns, at: Ns) {
        if let Some(bucket) = self.setup.bucket(latency) {
            let since = |clock: HostClock| at.0.saturating_sub(clock.at.0) / NS_PER_MS;
            let clock_ms = self.clock.map(|clock| clock.ms + since(clock));
            self.note_slow((bucket, kind as usize), Slow { at, latency, clock_ms });
        }
    }

    fn note_slow(&mut self, (bucket, kind): (usize, usize), slow: Slow) {
        self.advance(slow.at);
        let count = &mut self.active.counts[bucket][kind];
        *count = count.saturating_add(1);
        let keeps_largest = self.setup.keeps_largest & bit_of(bucket, kind) != 0;
        let pause = u64::from(self.setup.pause) * PAUSE_STEP.0;
        let noted = &mut self.active.noted[bucket][kind];
        let replaces = |before: Slow| {
            let has_paused = slow.at.0 >= before.at.0 + pause;
            keeps_largest && has_paused && slow.latency > before.latency
        };
        if noted.is_none_or(replaces) {
            *noted = Some(slow);
        }
    }

    /// Ends the windows that have passed.
    pub fn advance(&mut self, now: Ns) {
        let window = u64::from(self.setup.window) * WINDOW_STEP.0;
        let passed = now.0.saturating_sub(self.since.0).checked_div(window).unwrap_or(0);
        if passed == 0 || !self.setup.is_on {
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
        for (second, latency) in (1..).zip(latencies) {
            monitor.note(Kind::Read, ms(latency), ms(1000.0 * f64::from(second)));
        }
        let (figures, age) = monitor.active(Ns(9));
        assert_eq!(figures.counts.map(|of| of[Kind::Read as usize]), [2, 2, 1, 2]);
        assert_eq!(figures.counts.map(|of| of[Kind::Write as usize]), [0; 4]);
        let noted = figures.noted.map(|of| of[Kind::Read as usize].map(|it| it.latency));
        assert_eq!(noted, [99.9, 154.0, 155.0, 900.0].map(|it| Some(ms(it))));
        assert_eq!(figures.noted[3][Kind::Read as usize].map(|it| it.at), Some(ms(8000.0)));
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
        assert_eq!(figures.noted[0].map(|it| it.map(|it| it.at.0)), [Some(5), Some(6), None]);
    }

    /// The two examples of C.2.3.6 in the document: 40 to 400 ms, a pause of 5 s.
    #[test]
    fn a_latency_is_kept_once_in_a_pause_or_once_at_all() {
        let thresholds = [0, 3, 7, 79];
        let largest = Setup { thresholds, pause: 50, ..Setup::default() };
        let read = Kind::Read as usize;
        for (keeps_largest, events) in [
            (0x0fff, [(500, 50, 50), (5250, 100, 50), (6000, 75, 75)]),
            (0x0fff & !bit_of(2, read), [(500, 150, 150), (10_000, 200, 150), (15_000, 75, 150)]),
        ] {
            let mut monitor = LatencyMonitor::new(Setup { keeps_largest, ..largest }, Ns(0));
            for (count, (at, latency, kept)) in (1..).zip(events) {
                monitor.note(Kind::Read, ms(f64::from(latency)), ms(f64::from(at)));
                let (figures, _) = monitor.active(ms(f64::from(at)));
                assert_eq!(figures.counts[2][read], count);
                let noted = figures.noted[2][read].map(|it| it.latency);
                assert_eq!(noted, Some(ms(f64::from(kept))), "{at}");
            }
        }
        assert_eq!(
            [(0, 2), (0, 0), (1, 2), (3, 0)].map(|(it, of)| bit_of(it, of)),
            [1, 4, 8, 2048]
        );
    }

    /// Without an end windows do not change, and a monitor that is off counts nothing.
    #[test]
    fn settings_begin_again() {
        let mut monitor = LatencyMonitor::default();
        monitor.set_clock(1_000_000, Ns(0));
        monitor.note(Kind::Read, ms(300.0), ms(5000.0));
        assert_eq!(monitor.active(Ns(0)).0.noted[3][2].and_then(|it| it.clock_ms), Some(1_005_000));
        let endless = Setup { window: 0, ..Setup::default() };
        monitor.configure(endless, ms(6000.0));
        assert_eq!(monitor.active(ms(6000.0)), (&Figures::default(), 0));
        monitor.note(Kind::Read, ms(300.0), Ns(u64::MAX / 2));
        assert_eq!(monitor.active(Ns(u64::MAX / 2)).0.counts[3], [0, 0, 1]);
        assert_eq!(
            (monitor.active(Ns(u64::MAX / 2)).1, monitor.kept()),
            (0xffff, &Figures::default())
        );
        monitor.configure(Setup { is_on: false, ..endless }, Ns(7));
        monitor.note(Kind::Read, ms(300.0), Ns(8));
        assert_eq!(monitor.active(Ns(8)).0, &Figures::default());
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
