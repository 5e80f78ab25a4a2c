//! The event queue: what happens next in simulated time.
//!
//! Events at equal time come out in the order in which they were scheduled, so that a run is the same on every
//! machine. An entry is one 128-bit number, `time << 64 | sequence << 24 | code`: comparing it is comparing
//! two machine words. A simulator here has at most one pending event per die and a few more, so the binary
//! heap stays in the first cache level.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::Ns;

/// Largest event code.
pub const CODE_MAX: u32 = (1 << 24) - 1;

/// See the module.
#[derive(Default)]
pub struct Engine {
    heap: BinaryHeap<Reverse<u128>>,
    sequence: u64,
    now: Ns,
}

impl Engine {
    /// The time of the last event taken.
    #[inline]
    pub fn now(&self) -> Ns {
        self.now
    }

    /// Schedules an event `after` from now.
    #[inline]
    pub fn schedule(&mut self, after: Ns, code: u32) {
        debug_assert!(code <= CODE_MAX);
        let key = u128::from(self.now.0 + after.0) << 64
            | u128::from(self.sequence << 24)
            | u128::from(code);
        // 2^40 events are a million times the longest run.
        self.sequence += 1;
        self.heap.push(Reverse(key));
    }

    /// The next event: moves the clock and returns the code.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        let Reverse(key) = self.heap.pop()?;
        self.now = Ns((key >> 64) as u64);
        Some(key as u32 & CODE_MAX)
    }

    /// When the next event happens.
    pub fn peek(&self) -> Option<Ns> {
        self.heap.peek().map(|Reverse(key)| Ns((key >> 64) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_equals_in_turn() {
        let mut engine = Engine::default();
        for (after, code) in [(5, 1), (3, 2), (5, 3), (0, 4)] {
            engine.schedule(Ns(after), code);
        }
        assert_eq!(engine.peek(), Some(Ns(0)));
        assert_eq!((engine.next(), engine.next()), (Some(4), Some(2)));
        engine.schedule(Ns(2), 5);
        let rest: Vec<u32> = std::iter::from_fn(|| engine.next()).collect();
        assert_eq!(rest, [1, 3, 5]);
        assert_eq!(engine.now(), Ns(5));
    }
}
