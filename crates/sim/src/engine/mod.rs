//! The event queue: what happens next in simulated time.
//!
//! Events at equal time come out in the order in which they were scheduled, so that a run is the
//! same on every machine. In addition to its time, an event has a tag: its number in the order of
//! scheduling (40 bits), then a code (24 bits) by which the caller knows what happens. When the
//! numbers are used up, after hours of running, the waiting events are renumbered in their present
//! order.
//!
//! A drive has at most one pending event per die and a few more, most of them close to now. The
//! nearest ones are kept in a short sorted array: a new event passes few entries, and the next one
//! is taken without a search. The rest waits in a [`Calendar`].
//!
//! ```text
//! near: latest … earliest ◄ pop here        every near event < every far event
//! far:  calendar
//! ```

mod calendar;

use crate::units::Ns;
use calendar::{Calendar, Event};

/// Bits of the event code in a tag.
const CODE_BITS: u32 = 24;

/// Largest event code.
pub const CODE_MAX: u32 = (1 << CODE_BITS) - 1;

/// Sequence number at which the waiting events are renumbered.
const SEQUENCE_LIMIT: u64 = 1 << (u64::BITS - CODE_BITS);

/// Entries of the sorted array.
const NEAR_MAX: usize = 48;

/// Entries behind all of which an event does not join the array: to pass them would cost more than
/// the calendar.
const NEAR_ENOUGH: usize = 12;

/// Entries that an event passes one by one; if there are more, its place is found by halving.
const STEPS_MAX: usize = 16;

/// A place in the order of events at one time. It is valid until events are renumbered: then
/// waiting events come before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved(u64);

/// See the module.
pub struct Engine {
    /// The near events, behind a place that no event has: its time is one before which no far event
    /// comes, `u64::MAX` if there is none. An event on its way to its place stops there at last.
    near: [Event; NEAR_MAX],
    near_count: usize,
    far: Calendar,
    sequence: u64,
    now: Ns,
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            near: [Event { at: u64::MAX, tag: 0 }; NEAR_MAX],
            near_count: 0,
            far: Calendar::default(),
            sequence: 0,
            now: Ns(0),
        }
    }
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
        let at = self.now.0 + after.0;
        if code > CODE_MAX || self.sequence == SEQUENCE_LIMIT {
            return self.schedule_renumbered(at, code);
        }
        let event = Event { at, tag: self.sequence << CODE_BITS | u64::from(code) };
        self.sequence += 1;
        let count = self.near_count;
        // In a drive that does little, an event is the next one most often. Each other case ends
        // with a call, so that no registers are saved for it.
        if count < NEAR_MAX - 2 && at < self.near[count].at {
            self.near[count + 1] = event;
            self.near_count = count + 1;
        } else if at >= self.near[0].at || count >= NEAR_ENOUGH && at >= self.near[1].at {
            // Of equal times the new event is the last.
            self.put_far(event);
        } else {
            self.put_near(event);
        }
    }

    /// The same when sequence numbers are used up, or the code is wrong.
    #[cold]
    fn schedule_renumbered(&mut self, at: u64, code: u32) {
        assert!(code <= CODE_MAX, "event code {code} is larger than {CODE_MAX}");
        self.renumber();
        self.schedule(Ns(at - self.now.0), code);
    }

    #[inline(never)]
    fn put_far(&mut self, event: Event) {
        self.near[0].at = self.near[0].at.min(event.at);
        self.far.push(event);
    }

    #[inline(never)]
    fn put_near(&mut self, event: Event) {
        self.bring_near(event, |it| it.at > event.at);
    }

    /// Puts an event into the sorted array, behind those that are later.
    ///
    /// The first steps move one entry each: a copy of several entries at once reads data that was
    /// just written in smaller pieces, and stalls on it. That took a third of a run on drives of
    /// few dies.
    #[inline]
    fn bring_near(&mut self, event: Event, is_later: impl Fn(&Event) -> bool) {
        self.near_count += 1;
        let last = self.near_count;
        if last > STEPS_MAX && !is_later(&self.near[last - STEPS_MAX]) {
            self.insert_by_halving(event, is_later);
        } else if let Some((mut place, others)) = self.near[..=last].split_last_mut() {
            for other in others.iter_mut().rev() {
                if is_later(other) {
                    break;
                }
                *place = *other;
                place = other;
            }
            *place = event;
        }
        if last == NEAR_MAX - 1 {
            self.spill();
        }
    }

    /// Puts an event that was counted already into the sorted array, past many others.
    #[inline(never)]
    fn insert_by_halving(&mut self, event: Event, is_later: impl Fn(&Event) -> bool) {
        let last = self.near_count;
        let found = self.near[..last].partition_point(is_later);
        self.near.copy_within(found..last, found + 1);
        self.near[found] = event;
    }

    /// Takes a place among the events that are scheduled now, for [`Engine::schedule_at`].
    ///
    /// # Panics
    /// If the code is larger than [`CODE_MAX`].
    #[inline]
    pub fn reserve(&mut self, code: u32) -> Reserved {
        assert!(code <= CODE_MAX, "event code {code} is larger than {CODE_MAX}");
        if self.sequence == SEQUENCE_LIMIT {
            self.renumber();
        }
        self.sequence += 1;
        Reserved((self.sequence - 1) << CODE_BITS | u64::from(code))
    }

    /// Schedules the event of a place, not before now: among events at that time it comes as if it
    /// had been scheduled when the place was taken.
    pub fn schedule_at(&mut self, at: Ns, place: Reserved) {
        let event = Event { at: at.0.max(self.now.0), tag: place.0 };
        // Of the events at the time of the first far one some may be near, and the latest of these
        // is the first in the array.
        if event.at >= self.near[0].at && (self.near_count == 0 || self.near[1] < event) {
            self.far.push(event);
            return;
        }
        self.bring_near(event, |&it| it > event);
    }

    /// The later half of the sorted array goes to the calendar.
    #[cold]
    fn spill(&mut self) {
        let (later, sooner) = self.near[1..=self.near_count].split_at(NEAR_MAX / 2);
        self.far.push_all(later);
        (self.near[0].at, self.near_count) = (later[later.len() - 1].at, sooner.len());
        self.near.copy_within(1 + NEAR_MAX / 2.., 1);
    }

    /// Whether certainly no event comes up to and including `at`.
    #[inline]
    pub fn is_quiet_until(&self, at: Ns) -> bool {
        self.near[self.near_count].at > at.0
    }

    /// Moves the clock to a time up to which [no event comes](Engine::is_quiet_until).
    #[inline]
    pub fn pass_to(&mut self, at: Ns) {
        debug_assert!(at == self.now || self.is_quiet_until(at), "an event comes before");
        self.now = at;
    }

    /// When the next event comes.
    pub fn next_at(&mut self) -> Option<Ns> {
        (self.near_count > 0 || self.refill()).then(|| Ns(self.near[self.near_count].at))
    }

    /// The next event: moves the clock and returns the code.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.near_count == 0 && !self.refill() {
            return None;
        }
        let Event { at, tag } = self.near[self.near_count];
        self.near_count -= 1;
        self.now = Ns(at);
        Some(tag as u32 & CODE_MAX)
    }

    /// Gives the events that wait the lowest sequence numbers, in their order.
    #[cold]
    fn renumber(&mut self) {
        let mut events = self.near[1..=self.near_count].to_vec();
        events.extend(self.far.take_all());
        events.sort_unstable();
        self.near_count = 0;
        self.sequence = events.len() as u64;
        assert!(self.sequence < SEQUENCE_LIMIT, "{} events wait", self.sequence);
        for (sequence, event) in (0..).zip(&mut events) {
            event.tag = sequence << CODE_BITS | event.tag & u64::from(CODE_MAX);
        }
        self.far.push_all(&events);
        self.near[0].at = events.first().map_or(u64::MAX, |event| event.at);
    }

    /// Brings the first far events near; false if there are none.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        let (near, mut count) = (&mut self.near, 0);
        let far_at = std::mem::replace(&mut near[0].at, u64::MAX);
        let far_at = self.far.take_first(NEAR_MAX / 2, far_at, |event| {
            count += 1;
            let Some((mut place, others)) = near[..=count].split_last_mut() else { return };
            for other in others.iter_mut().rev() {
                if other.key() > event.key() {
                    break;
                }
                *place = *other;
                place = other;
            }
            *place = event;
        });
        self.near[0].at = far_at;
        self.near_count = count;
        count > 0
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
    /// overflowed into the time, and later events were delivered before earlier ones.
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
    fn a_place_that_was_taken_earlier_comes_first_of_its_time() {
        // Places are taken and used later, for times at which other events come too.
        let mut rng = crate::rng::Rng::stream(2, "places");
        let mut engine = Engine::default();
        let (mut places, mut oracle) = (Vec::new(), std::collections::BTreeMap::new());
        for round in 0..20_000_u32 {
            match rng.below(9) {
                0 => places.push((round, engine.reserve(round))),
                1 => {
                    if let Some((taken, place)) = places.pop() {
                        let at = engine.now() + Ns(1 + rng.below(40));
                        engine.schedule_at(at, place);
                        oracle.insert((at, taken), taken);
                    }
                }
                2..=5 => {
                    let after = Ns(rng.below(40));
                    engine.schedule(after, round);
                    oracle.insert((engine.now() + after, round), round);
                }
                _ => {
                    let first = oracle.pop_first();
                    assert_eq!(engine.take(), first.map(|(_, code)| code));
                    assert!(first.is_none_or(|((at, _), _)| at == engine.now()));
                }
            }
        }
        assert!(oracle.len() > NEAR_MAX);
    }

    /// When a caller looks ahead ([`Engine::next_at`]), the clock stays behind the near events. If
    /// the caller then schedules many events before those, they go through the heap. The calendar's
    /// slots reach further than a window that starts at these events, and were once taken for slots
    /// of an earlier window.
    #[test]
    fn events_scheduled_before_those_that_were_looked_at_come_first() {
        let mut rng = crate::rng::Rng::stream(3, "ahead");
        for _ in 0..200 {
            let mut engine = Engine::default();
            let mut oracle = std::collections::BTreeMap::new();
            let mut next = 0_u32;
            let mut schedule =
                |engine: &mut Engine, oracle: &mut std::collections::BTreeMap<_, _>, after| {
                    engine.schedule(Ns(after), next);
                    oracle.insert((engine.now() + Ns(after), next), next);
                    next += 1;
                };
            for _ in 0..6 {
                // Some far away, over the whole calendar, and a look at them.
                for _ in 0..2 {
                    let start = rng.below(2_000_000);
                    for _ in 0..=rng.below(80) {
                        schedule(&mut engine, &mut oracle, start + rng.below(1 << 20));
                    }
                    assert_eq!(engine.next_at(), oracle.first_key_value().map(|((at, _), _)| *at));
                }
                for _ in 0..rng.below(120) {
                    schedule(&mut engine, &mut oracle, rng.below(3000));
                }
                for _ in 0..rng.below(200) {
                    let first = oracle.pop_first();
                    assert_eq!(engine.take(), first.map(|(_, code)| code));
                    assert!(first.is_none_or(|((at, _), _)| at == engine.now()));
                }
            }
        }
    }

    #[test]
    fn many_events_come_out_as_from_a_sorted_list() {
        // More events than the sorted array holds, in bursts, close to each other and far apart,
        // against a plain ordered map.
        let mut rng = crate::rng::Rng::stream(1, "engine");
        let mut engine = Engine::default();
        let mut oracle = std::collections::BTreeMap::new();
        for round in 0..20_000_u64 {
            if rng.below(100) < 51 {
                let after = Ns(rng.below(50) << (round / 2000 * 3 % 24));
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
