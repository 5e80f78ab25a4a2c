//! The clock of a server: wall time since it began, and the time of its model.

use std::time::Instant;

use opennandlab_sim::units::Ns;

/// How fast the drive is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// As fast as this machine.
    Off,
    /// This factor slower than the model; 1 is real time.
    Scaled(f64),
}

/// See the module.
pub struct Clock {
    /// How fast the drive is.
    pub timing: Timing,
    start: Instant,
    /// The start on the monotonic clock of the machine, which other programs can read.
    start_ns: u64,
}

impl Clock {
    /// A clock that begins now.
    pub fn new(timing: Timing) -> Self {
        // Read first, so that no reported time is later than the true one.
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let start_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        Self { timing, start: Instant::now(), start_ns }
    }

    /// A time since the start, on the monotonic clock of the machine.
    pub fn on_machine(&self, since_start: u64) -> u64 {
        self.start_ns + since_start
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// A time of the wall as one of the model.
    pub fn to_model(&self, wall: u64) -> Ns {
        match self.timing {
            Timing::Off => Ns(0),
            Timing::Scaled(scale) if (scale - 1.0).abs() < f64::EPSILON => Ns(wall),
            Timing::Scaled(scale) => Ns((wall as f64 / scale) as u64),
        }
    }

    /// And the other way round.
    pub fn to_wall(&self, model: Ns) -> u64 {
        match self.timing {
            Timing::Off => 0,
            Timing::Scaled(scale) if (scale - 1.0).abs() < f64::EPSILON => model.0,
            Timing::Scaled(scale) => (model.0 as f64 * scale) as u64,
        }
    }
}
