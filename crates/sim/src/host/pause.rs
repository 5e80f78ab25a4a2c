//! Firmware that waits for a read.
//!
//! A read whose die programs or erases comes late. Firmware that polls for it starts no further
//! command meanwhile: its processor is halted, and its running commands end later by this time.
//!
//! ```text
//! processor  |r1 r2 r3|- - - - - - - - -|r4 r5 r6      r3 finds its die programming
//! die of r3  |...program..............|read|
//! ```
//! Times of the processor are kept on a clock that stops with it, so that a pause moves all of
//! them.

use std::collections::VecDeque;

use crate::units::Ns;

/// The pauses of a processor.
#[derive(Clone, Debug)]
pub(super) struct Pauses {
    blocked_max: usize,
    /// Slots of reads that wait for a die that programs or erases.
    blocked: Vec<u32>,
    /// The time since which it is halted.
    since: Option<Ns>,
    /// Total time of the pauses that have ended.
    total: Ns,
    /// Commands whose processor time ended while it was halted.
    held: VecDeque<u32>,
}

impl Pauses {
    /// A processor that halts when `blocked_max` reads, at least 1, are blocked.
    pub(super) fn new(blocked_max: u32) -> Self {
        Self {
            blocked_max: blocked_max.max(1) as usize,
            blocked: Vec::new(),
            since: None,
            total: Ns(0),
            held: VecDeque::new(),
        }
    }

    /// The time for which it has worked until now.
    #[inline]
    pub(super) fn clock(&self, now: Ns) -> Ns {
        self.since.unwrap_or(now) - self.total
    }

    /// Keeps a command that has come to the end while the processor is halted; whether it is.
    pub(super) fn hold(&mut self, index: u32) -> bool {
        let is_still = self.since.is_some();
        if is_still {
            self.held.push_back(index);
        }
        is_still
    }

    /// The read of a slot has to wait.
    pub(super) fn block(&mut self, index: u32, now: Ns) {
        self.blocked.push(index);
        if self.blocked.len() >= self.blocked_max {
            self.since.get_or_insert(now);
        }
    }

    /// The command of a slot waits no more. Returns the held commands, if the processor continues
    /// with this.
    pub(super) fn end(&mut self, index: u32, now: Ns) -> VecDeque<u32> {
        let Some(place) = self.blocked.iter().position(|&it| it == index) else {
            return VecDeque::new();
        };
        self.blocked.swap_remove(place);
        match self.since {
            Some(since) if self.blocked.len() < self.blocked_max => {
                self.since = None;
                self.total = self.total + (now - since);
                std::mem::take(&mut self.held)
            }
            _ => VecDeque::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_clock_stops_while_too_many_reads_wait() {
        let mut pauses = Pauses::new(2);
        pauses.block(7, Ns(10));
        assert!(!pauses.hold(1) && pauses.clock(Ns(20)) == Ns(20));
        pauses.block(8, Ns(30));
        assert!(pauses.hold(1) && pauses.hold(2));
        assert_eq!(pauses.clock(Ns(50)), Ns(30));
        assert!(pauses.end(3, Ns(50)).is_empty(), "another read blocks nothing");
        assert_eq!(pauses.end(7, Ns(60)), [1, 2]);
        assert!(!pauses.hold(1) && pauses.clock(Ns(65)) == Ns(35));
        assert!(pauses.end(8, Ns(70)).is_empty(), "nothing stood still");
    }
}
