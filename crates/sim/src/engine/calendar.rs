//! Events that come later: a calendar of the next millisecond, and a heap for events after that.
//!
//! ```text
//! today    │ slot │ slot │ slot │ … 1024 slots of about 1 us │     heap: later, or a crowded slot
//! (near)   │  ·   │ · · ·│      │ lists in no order          │
//! ```
//! A slot of the calendar is sorted when its time comes, so an event costs the same however many
//! wait: with hundreds of commands outstanding, a heap alone took a tenth of a run. A drive that
//! does less has few events in a slot, or in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event; events are ordered by time, then by tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) at: u64,
    pub(super) tag: u64,
}

impl Event {
    /// Of two events the earlier has the smaller one: a comparison without branches.
    #[inline]
    pub(super) fn key(self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.tag)
    }
}

/// Nanoseconds of a slot, as a power of two.
const SLOT_BITS: u32 = 10;

/// Slots of the calendar.
const SLOT_COUNT: usize = 1 << 10;

/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// A list of events.
#[derive(Clone, Copy)]
struct Slot {
    /// The entry of the first event, or [`NONE`].
    head: u32,
    count: u32,
}

/// An event of a list, or a vacant entry.
#[derive(Clone, Copy)]
struct Entry {
    event: Event,
    /// The next entry of the list, or [`NONE`].
    next: u32,
}

const EMPTY: Slot = Slot { head: NONE, count: 0 };

/// See the module.
pub(super) struct Calendar {
    slots: Box<[Slot; SLOT_COUNT]>,
    /// A bit for each slot that has events.
    occupied: [u64; SLOT_COUNT / 64],
    entries: Vec<Entry>,
    /// The first entry without an event.
    vacant: u32,
    /// Events in all slots.
    count: u32,
    /// No event is in a slot before this one; slots are counted from time zero.
    base: u64,
    heap: BinaryHeap<Reverse<Event>>,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            slots: Box::new([EMPTY; SLOT_COUNT]),
            occupied: [0; SLOT_COUNT / 64],
            entries: Vec::new(),
            vacant: NONE,
            count: 0,
            base: 0,
            heap: BinaryHeap::new(),
        }
    }
}

impl Calendar {
    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        let slot = event.at >> SLOT_BITS;
        if slot.wrapping_sub(self.base) >= SLOT_COUNT as u64 {
            return self.put_later(event);
        }
        let place = slot as usize % SLOT_COUNT;
        self.count += 1;
        self.occupied[place / 64] |= 1 << (place % 64);
        let Slot { head, count } = &mut self.slots[place];
        *count += 1;
        let entry = Entry { event, next: *head };
        if let Some(vacant) = self.entries.get_mut(self.vacant as usize) {
            *head = std::mem::replace(&mut self.vacant, vacant.next);
            *vacant = entry;
        } else {
            *head = self.entries.len() as u32;
            self.add_entry(entry);
        }
    }

    #[cold]
    fn add_entry(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    #[inline(never)]
    fn put_later(&mut self, event: Event) {
        self.heap.push(Reverse(event));
    }

    /// Adds events that need not be in the calendar.
    pub(super) fn push_all(&mut self, events: &[Event]) {
        self.heap.extend(events.iter().copied().map(Reverse));
    }

    /// Takes all events, in no order.
    pub(super) fn take_all(&mut self) -> Vec<Event> {
        while let Some(slot) = self.first_slot(0) {
            self.put_on_heap(slot);
        }
        std::mem::take(&mut self.heap).into_iter().map(|Reverse(event)| event).collect()
    }

    /// Takes the first events, at least one if there are any and as many as `room` at most, and
    /// hands them over in no order. None may come before `from`. Returns a time that none of those
    /// left comes before.
    #[inline]
    pub(super) fn take_first(
        &mut self,
        room: usize,
        from: u64,
        mut give: impl FnMut(Event),
    ) -> u64 {
        let slot = self.first_slot(from >> SLOT_BITS);
        let next = self.heap.peek().map_or(u64::MAX, |Reverse(event)| event.at);
        let Some(slot) = slot.filter(|&slot| slot << SLOT_BITS <= next) else {
            let limit = slot.map_or(u64::MAX, |slot| slot << SLOT_BITS);
            return self.take_from_heap(room, limit, give);
        };
        let end = (slot + 1) << SLOT_BITS;
        let is_crowded = self.slots[slot as usize % SLOT_COUNT].count as usize > room;
        if next < end || is_crowded {
            self.put_on_heap(slot);
            return self.take_from_heap(room, end, give);
        }
        self.base = slot;
        self.drain(slot, |_, event| give(event));
        self.first_slot(slot).map_or(u64::MAX, |slot| slot << SLOT_BITS).min(next)
    }

    /// The same from the heap, of events before `limit`; all in the calendar come later.
    fn take_from_heap(&mut self, room: usize, limit: u64, mut give: impl FnMut(Event)) -> u64 {
        if let Some(Reverse(event)) = self.heap.peek() {
            let slot = event.at >> SLOT_BITS;
            // Never moved back while slots are in use: the last of them would be outside the
            // calendar.
            if slot > self.base || self.count == 0 {
                self.base = slot;
            }
        }
        for _ in 0..room {
            match self.heap.peek() {
                Some(&Reverse(event)) if event.at < limit => give(event),
                _ => break,
            }
            self.heap.pop();
        }
        self.heap.peek().map_or(limit, |Reverse(event)| event.at.min(limit))
    }

    /// The first slot that has events; none before `from` has any.
    #[inline]
    fn first_slot(&self, from: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let place = from as usize % SLOT_COUNT;
        let is_there = from.wrapping_sub(self.base) < SLOT_COUNT as u64;
        if is_there && self.occupied[place / 64] >> (place % 64) & 1 == 1 {
            return Some(from);
        }
        let start = self.base as usize % SLOT_COUNT;
        let words = SLOT_COUNT / 64;
        // The word of the base is examined twice: its later slots first, its earlier ones last.
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            }
            if bits != 0 {
                let place = 64 * word + bits.trailing_zeros() as usize;
                let ahead = (place + SLOT_COUNT - start) % SLOT_COUNT;
                return Some(self.base + ahead as u64);
            }
        }
        None
    }

    /// Takes the events of a slot.
    #[inline]
    fn drain(&mut self, slot: u64, mut give: impl FnMut(&mut BinaryHeap<Reverse<Event>>, Event)) {
        let place = slot as usize % SLOT_COUNT;
        self.occupied[place / 64] &= !(1 << (place % 64));
        let Slot { head: mut at, count } = std::mem::replace(&mut self.slots[place], EMPTY);
        self.count -= count;
        while let Some(Entry { event, next }) = self.entries.get_mut(at as usize) {
            give(&mut self.heap, *event);
            let following = std::mem::replace(next, self.vacant);
            self.vacant = std::mem::replace(&mut at, following);
        }
    }

    fn put_on_heap(&mut self, slot: u64) {
        self.drain(slot, |heap, event| heap.push(Reverse(event)));
    }
}
