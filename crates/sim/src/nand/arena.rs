//! Memory for the bytes of units: slots of one size in chunks, named by numbers of four bytes.
//!
//! ```text
//! chunk   │ slot │ slot │ free ─┐│ slot │ fresh …          about 4 MiB
//!                         └► the next free slot, in its own first bytes
//! holders │  1   │  2   │   0   │  1   │                   of each slot
//!         │ seal │ seal │       │ seal │                   if the protection has seals
//! ```
//! A slot has one holder for each place that has its bytes: a unit that a collection moved stays at
//! its old place until that block is erased, and both places share the slot. Above 254 holders the
//! count is lost, and the slot is kept until the next [`Arena::recount`]. Memory that was never
//! used is not touched. An unused chunk is returned to the system, unless no other has room.

/// Bytes of a chunk, about.
const CHUNK_BYTES: usize = 4 << 20;
/// Most slots that numbers can name.
const SLOTS_MAX: u64 = (1 << 30) - 2;
/// Holders that are not counted any more.
const MANY: u8 = u8::MAX;
/// No slot of a chunk.
const NONE: u32 = u32::MAX;

/// The number of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub(super) u32);

#[derive(Clone, Debug)]
struct Chunk {
    bytes: Box<[u8]>,
    holders: Box<[u8]>,
    seals: Box<[u32]>,
    first_free: u32,
    /// Slots from here on were never taken.
    fresh: u32,
    taken: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    slot_bytes: usize,
    has_seals: bool,
    /// Slots of a chunk, as a power of two.
    chunk_bits: u32,
    chunks: Vec<Chunk>,
    /// Chunks with room; the last is used first.
    open: Vec<u32>,
    /// Chunks without memory.
    empty: Vec<u32>,
    taken: u64,
}

impl Chunk {
    fn new(slot_bytes: usize, slots: usize, has_seals: bool) -> Self {
        Self {
            // Zeros that the system has at hand: no page is touched before it is used.
            bytes: vec![0; slots * slot_bytes].into(),
            holders: vec![0; slots].into(),
            seals: vec![0; if has_seals { slots } else { 0 }].into(),
            first_free: NONE,
            fresh: 0,
            taken: 0,
        }
    }

    fn take(&mut self, slot_bytes: usize) -> u32 {
        let place = if self.first_free == NONE {
            self.fresh += 1;
            self.fresh - 1
        } else {
            let free = self.first_free;
            let word = &self.bytes[free as usize * slot_bytes..][..4];
            self.first_free = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            free
        };
        self.holders[place as usize] = 1;
        self.taken += 1;
        place
    }

    fn free(&mut self, place: u32, slot_bytes: usize) {
        let word = self.first_free.to_le_bytes();
        self.bytes[place as usize * slot_bytes..][..4].copy_from_slice(&word);
        self.first_free = place;
    }

    fn is_full(&self) -> bool {
        self.taken as usize == self.holders.len()
    }
}

impl Arena {
    /// Slots of `slot_bytes` bytes, at least 4, each with or without a separate seal of four bytes.
    pub(super) fn new(slot_bytes: usize, has_seals: bool) -> Self {
        let slots = (CHUNK_BYTES / slot_bytes).next_power_of_two();
        Self {
            slot_bytes,
            has_seals,
            chunk_bits: slots.trailing_zeros(),
            chunks: Vec::new(),
            open: Vec::new(),
            empty: Vec::new(),
            taken: 0,
        }
    }

    /// Slots that hold something.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// A slot with one holder, whose bytes are any.
    ///
    /// # Panics
    /// After 2^30 slots, which are 4 TiB of units of 4 KiB.
    pub(super) fn take(&mut self) -> Slot {
        let chunk = match self.open.last() {
            Some(&chunk) => chunk,
            None => self.open_chunk(),
        };
        let it = &mut self.chunks[chunk as usize];
        let place = it.take(self.slot_bytes);
        if it.is_full() {
            self.open.pop();
        }
        self.taken += 1;
        Slot(chunk << self.chunk_bits | place)
    }

    fn open_chunk(&mut self) -> u32 {
        let fresh = Chunk::new(self.slot_bytes, 1 << self.chunk_bits, self.has_seals);
        let chunk = if let Some(chunk) = self.empty.pop() {
            self.chunks[chunk as usize] = fresh;
            chunk
        } else {
            let slots = (self.chunks.len() as u64 + 1) << self.chunk_bits;
            assert!(slots <= SLOTS_MAX, "the bytes of a drive take more than 2^30 units");
            self.chunks.push(fresh);
            self.chunks.len() as u32 - 1
        };
        self.open.push(chunk);
        chunk
    }

    fn locate(&self, slot: Slot) -> (usize, usize) {
        let mask = (1 << self.chunk_bits) - 1;
        ((slot.0 >> self.chunk_bits) as usize, (slot.0 & mask) as usize)
    }

    /// The bytes of a slot.
    pub(super) fn bytes(&self, slot: Slot) -> &[u8] {
        let (chunk, place) = self.locate(slot);
        &self.chunks[chunk].bytes[place * self.slot_bytes..][..self.slot_bytes]
    }

    /// The same, to write.
    pub(super) fn bytes_mut(&mut self, slot: Slot) -> &mut [u8] {
        let (chunk, place) = self.locate(slot);
        &mut self.chunks[chunk].bytes[place * self.slot_bytes..][..self.slot_bytes]
    }

    /// The seal of a slot; 0 if it has none.
    pub(super) fn seal(&self, slot: Slot) -> u32 {
        let (chunk, place) = self.locate(slot);
        self.chunks[chunk].seals.get(place).copied().unwrap_or(0)
    }

    /// Seals a slot, if this arena has seals.
    pub(super) fn set_seal(&mut self, slot: Slot, seal: u32) {
        let (chunk, place) = self.locate(slot);
        if let Some(at) = self.chunks[chunk].seals.get_mut(place) {
            *at = seal;
        }
    }

    /// Whether others hold a slot too.
    pub(super) fn is_shared(&self, slot: Slot) -> bool {
        let (chunk, place) = self.locate(slot);
        self.chunks[chunk].holders[place] > 1
    }

    /// One holder more.
    pub(super) fn hold(&mut self, slot: Slot) {
        let (chunk, place) = self.locate(slot);
        let holders = &mut self.chunks[chunk].holders[place];
        *holders = holders.saturating_add(1);
    }

    /// One holder less; of none the slot is free.
    pub(super) fn release(&mut self, slot: Slot) {
        let (chunk, place) = self.locate(slot);
        let it = &mut self.chunks[chunk];
        match it.holders[place] {
            MANY => return,
            0 => unreachable!("nobody holds slot {}", slot.0),
            _ => it.holders[place] -= 1,
        }
        if it.holders[place] == 0 {
            let was_full = it.is_full();
            it.free(place as u32, self.slot_bytes);
            it.taken -= 1;
            self.taken -= 1;
            let is_empty = it.taken == 0;
            if was_full {
                self.open.push(chunk as u32);
            }
            if is_empty {
                self.give_back(chunk);
            }
        }
    }

    /// Memory of an empty chunk goes back to the system, unless it is the only one with room.
    fn give_back(&mut self, chunk: usize) {
        if self.open.len() > 1 {
            self.open.retain(|&open| open as usize != chunk);
            self.empty.push(chunk as u32);
            self.chunks[chunk] = Chunk::new(self.slot_bytes, 0, false);
        }
    }

    /// Replaces all holder counts: a slot gets one holder for each time it occurs in `held`; others
    /// are free.
    pub(super) fn recount(&mut self, held: impl Iterator<Item = Slot>) {
        if self.taken == 0 {
            return;
        }
        for chunk in &mut self.chunks {
            chunk.holders.fill(0);
        }
        held.for_each(|slot| self.hold(slot));
        (self.open, self.taken) = (Vec::new(), 0);
        let slot_bytes = self.slot_bytes;
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            (chunk.first_free, chunk.taken) = (NONE, 0);
            for place in 0..chunk.fresh {
                match chunk.holders[place as usize] {
                    0 => chunk.free(place, slot_bytes),
                    _ => chunk.taken += 1,
                }
            }
            self.taken += u64::from(chunk.taken);
            if !chunk.is_full() {
                self.open.push(number as u32);
            }
        }
        for chunk in 0..self.chunks.len() {
            if self.chunks[chunk].taken == 0 && !self.chunks[chunk].bytes.is_empty() {
                self.give_back(chunk);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Compares with a plain list: written bytes stay while other slots are taken and released.
    #[test]
    fn slots_keep_their_bytes() {
        let mut arena = Arena::new(2 << 20, true);
        let mut rng = Rng::stream(3, "arena");
        let mut held: Vec<(Slot, u32)> = Vec::new();
        let mut most = 0;
        for number in 0..400 {
            match rng.below(5) {
                0 | 1 => {
                    let slot = arena.take();
                    arena.bytes_mut(slot)[..4].copy_from_slice(&[number as u8; 4]);
                    arena.set_seal(slot, number);
                    held.push((slot, number));
                }
                2 if !held.is_empty() => {
                    let of = held[rng.below(held.len() as u64) as usize];
                    arena.hold(of.0);
                    held.push(of);
                }
                3 if number % 50 == 0 => arena.recount(held.iter().map(|&(slot, _)| slot)),
                _ if !held.is_empty() => {
                    let (slot, _) = held.swap_remove(rng.below(held.len() as u64) as usize);
                    arena.release(slot);
                }
                _ => {}
            }
            let mut slots: Vec<u32> = held.iter().map(|&(slot, _)| slot.0).collect();
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(arena.taken(), slots.len() as u64, "after {number}");
            most = most.max(slots.len());
            for &(slot, written) in &held {
                assert_eq!(arena.bytes(slot)[..4], [written as u8; 4]);
                assert_eq!(arena.seal(slot), written);
            }
        }
        // Two slots a chunk: memory follows the number of held slots.
        assert!(most > 8 && arena.chunks.len() <= most);
        held.drain(..).for_each(|(slot, _)| arena.release(slot));
        let with_memory = arena.chunks.iter().filter(|chunk| !chunk.bytes.is_empty());
        assert_eq!((arena.taken(), with_memory.count()), (0, 1));
    }

    #[test]
    fn what_many_hold_is_counted_again() {
        let mut arena = Arena::new(4096, false);
        let slot = arena.take();
        (0..300).for_each(|_| arena.hold(slot));
        (0..301).for_each(|_| arena.release(slot));
        assert_eq!((arena.taken(), arena.is_shared(slot), arena.seal(slot)), (1, true, 0));
        arena.recount([slot].into_iter());
        assert_eq!((arena.taken(), arena.is_shared(slot)), (1, false));
        arena.release(slot);
        assert_eq!(arena.taken(), 0);
    }
}
