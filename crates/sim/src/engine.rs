//! The event queue: what happens next in simulated time.
//!
//! Events at equal time come out in the order in which they were scheduled, so that a run is the
//! same on every machine. An entry is one 128-bit number, `time << 64 | sequence << 24 | code`:
//! comparing it is comparing two machine words. When the 40 bits of the sequence are used up, after
//! hours of running, the events that wait get new numbers in the order that they have.
//!
//! A drive has at most one pending event per die and a few more, most of them close to now. The
//! nearest ones are kept in a short sorted array, which beats a heap while moving its entries is
//! cheap; the rest waits in a heap.
//!
//! ```text
//! near: latest … earliest ◄ pop here        every near key < every far key
//! far:  binary heap
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::Ns;

/// Largest event code.
pub const CODE_MAX: u32 = (1 << 24) - 1;

/// Sequence numbers from which on events that wait are numbered anew.
const SEQUENCE_LIMIT: u64 = 1 << 40;

/// Entries of the sorted array.
const NEAR_MAX: usize = 64;

/// See the module.
#[derive(Default)]
pub struct Engine {
    near: Vec<u128>,
    far: BinaryHeap<Reverse<u128>>,
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
    ///
    /// # Panics
    /// If the code is larger than [`CODE_MAX`].
    #[inline]
    pub fn schedule(&mut self, after: Ns, code: u32) {
        assert!(code <= CODE_MAX, "event code {code} is larger than {CODE_MAX}");
        if self.sequence == SEQUENCE_LIMIT {
            self.renumber();
        }
        let key = u128::from(self.now.0 + after.0) << 64
            | u128::from(self.sequence << 24)
            | u128::from(code);
        self.sequence += 1;
        if self.far.peek().is_some_and(|Reverse(first)| key > *first) {
            self.far.push(Reverse(key));
            return;
        }
        let place = self.near.partition_point(|&other| other > key);
        self.near.insert(place, key);
        if self.near.len() > NEAR_MAX {
            self.spill();
        }
    }

    /// The later half of the sorted array goes to the heap.
    #[cold]
    fn spill(&mut self) {
        self.far.extend(self.near.drain(..NEAR_MAX / 2).map(Reverse));
    }

    /// The next event: moves the clock and returns the code.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.near.is_empty() {
            self.refill();
        }
        let key = self.near.pop()?;
        self.now = Ns((key >> 64) as u64);
        Some(key as u32 & CODE_MAX)
    }

    /// Gives the events that wait the lowest sequence numbers, in their order.
    #[cold]
    fn renumber(&mut self) {
        let mut keys: Vec<u128> = self.near.drain(..).collect();
        keys.extend(std::mem::take(&mut self.far).into_iter().map(|Reverse(key)| key));
        keys.sort_unstable();
        self.sequence = keys.len() as u64;
        assert!(self.sequence < SEQUENCE_LIMIT, "{} events wait", self.sequence);
        let anew = (0_u128..)
            .zip(keys)
            .map(|(sequence, key)| key >> 64 << 64 | sequence << 24 | key & u128::from(CODE_MAX));
        self.far = anew.map(Reverse).collect();
    }

    #[cold]
    fn refill(&mut self) {
        for _ in 0..NEAR_MAX / 2 {
            let Some(Reverse(key)) = self.far.pop() else { break };
            self.near.push(key);
        }
        self.near.reverse();
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
        assert_eq!((engine.take(), engine.take()), (Some(4), Some(2)));
        engine.schedule(Ns(2), 5);
        let rest: Vec<u32> = std::iter::from_fn(|| engine.take()).collect();
        assert_eq!(rest, [1, 3, 5]);
        assert_eq!(engine.now(), Ns(5));
    }

    /// The sequence has 40 bits, and a run of half a day schedules more events than that: they
    /// overflowed into the time, and later events were told to come before earlier ones.
    #[test]
    fn the_order_holds_when_the_sequence_is_used_up() {
        let mut engine = Engine { sequence: SEQUENCE_LIMIT - 30, ..Engine::default() };
        // More than the sorted array holds, all but the first at the same time.
        for code in 0..200 {
            engine.schedule(Ns(u64::from(code > 0) * 7), code);
        }
        assert_eq!(engine.take(), Some(0));
        let rest: Vec<u32> = std::iter::from_fn(|| engine.take()).collect();
        assert_eq!(rest, (1..200).collect::<Vec<_>>());
        assert_eq!((engine.now(), engine.sequence), (Ns(7), 200));
    }

    #[test]
    #[should_panic(expected = "event code 16777216")]
    fn a_code_that_would_change_the_order_is_refused() {
        Engine::default().schedule(Ns(0), CODE_MAX + 1);
    }

    #[test]
    fn many_events_come_out_as_from_a_sorted_list() {
        // More events than the sorted array holds, in bursts, against a plain ordered map.
        let mut rng = crate::rng::Rng::stream(1, "engine");
        let mut engine = Engine::default();
        let mut oracle = std::collections::BTreeMap::new();
        for round in 0..20_000_u64 {
            if rng.below(100) < 51 {
                let after = Ns(rng.below(50));
                engine.schedule(after, (round % 1000) as u32);
                oracle.insert((engine.now() + after, round), (round % 1000) as u32);
            } else {
                assert_eq!(
                    engine.take(),
                    oracle.pop_first().map(|((at, _), code)| {
                        assert_eq!(engine.now(), at);
                        code
                    })
                );
            }
        }
        assert!(oracle.len() > NEAR_MAX);
    }
}
