//! The pages that a trace touches, and the order of their last accesses.
//!
//! Distances need a count of the pages whose last access came later: each access takes the next of
//! a row of slots, the last slot of each page is marked, and counts of the marks of 64, 4096 and
//! 262,144 slots are kept. When the slots are used up they are packed.
//!
//! Memory is bounded: beyond [`PAGES_MAX`] pages only those are kept whose hash ends with a zero
//! bit, then two, and so on. Distances among these are multiplied, and so are their counts, each
//! with the rate at the time (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST
//! 2015).

use crate::units::Ns;

/// Pages that are kept.
pub const PAGES_MAX: usize = 1 << 22;

/// A page that was accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub key: u64,
    /// Page writes before the last write; `u64::MAX` without one, or after a trim.
    pub write: u64,
    pub write_time: Ns,
    pub sectors: u128,
    slot: u32,
    pub is_read: bool,
    pub is_written: bool,
}

/// The last step of `SplitMix64`.
pub(super) fn hash(key: u64) -> u64 {
    let mixed = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Pages by key, and the order of their last accesses.
pub(super) struct Pages {
    pub list: Vec<Page>,
    /// Open addressing: index of a page plus 1.
    table: Vec<u32>,
    /// Marks of last accesses.
    slots: Vec<u64>,
    /// Of each word, of each 64 words, and of each 4096.
    counts: (Vec<u8>, Vec<u32>, Vec<u32>),
    next_slot: u32,
    /// Pages are kept whose hash has none of these bits.
    mask: u64,
    pub count_max: usize,
}

impl Pages {
    pub fn new(count_max: usize) -> Self {
        let words = 16;
        Self {
            list: Vec::new(),
            table: vec![0; 256],
            slots: vec![0; words],
            counts: (vec![0; words], vec![0], vec![0]),
            next_slot: 0,
            mask: 0,
            count_max,
        }
    }

    pub fn rate(&self) -> u64 {
        self.mask + 1
    }

    pub fn find(&self, key: u64, hash: u64) -> Result<usize, usize> {
        let bits = self.table.len() - 1;
        // The lower bits of kept pages are zero.
        let mut place = (hash >> 24) as usize & bits;
        loop {
            match self.table[place] {
                0 => return Err(place),
                index if self.list[index as usize - 1].key == key => return Ok(index as usize - 1),
                _ => place = (place + 1) & bits,
            }
        }
    }

    /// The page, and its reuse distance among those that are kept; `None` if it is not kept.
    pub fn access(&mut self, key: u64) -> Option<(usize, Option<u64>)> {
        let hash = hash(key);
        if hash & self.mask != 0 {
            return None;
        }
        if self.next_slot as usize == self.slots.len() * 64 {
            self.pack();
        }
        let slot = self.next_slot;
        let (index, distance) = match self.find(key, hash) {
            Ok(index) => {
                let last = self.list[index].slot;
                let later = self.later(last);
                self.mark(last, false);
                self.list[index].slot = slot;
                (index, Some(later))
            }
            Err(place) => {
                let index = self.list.len();
                self.list.push(Page {
                    key,
                    write: u64::MAX,
                    write_time: Ns(0),
                    sectors: 0,
                    slot,
                    is_read: false,
                    is_written: false,
                });
                self.table[place] = index as u32 + 1;
                (index, None)
            }
        };
        self.mark(slot, true);
        self.next_slot += 1;
        Some((index, distance))
    }

    /// After a page was added: room for another.
    pub fn make_room(&mut self) {
        if self.list.len() >= self.count_max {
            while self.list.len() >= self.count_max {
                self.mask = self.mask << 1 | 1;
                let mask = self.mask;
                self.list.retain(|page| hash(page.key) & mask == 0);
            }
            self.pack();
            self.rehash();
        } else if self.list.len() * 2 > self.table.len() {
            self.table = vec![0; self.table.len() * 2];
            self.rehash();
        }
    }

    fn rehash(&mut self) {
        self.table.fill(0);
        for index in 0..self.list.len() {
            let key = self.list[index].key;
            if let Err(place) = self.find(key, hash(key)) {
                self.table[place] = index as u32 + 1;
            }
        }
    }

    /// Gives the pages the first slots, in their order.
    fn pack(&mut self) {
        self.slots.fill(0);
        for page in &self.list {
            self.slots[page.slot as usize / 64] |= 1 << (page.slot % 64);
        }
        let mut before = 0;
        let sum = |word: &u64| {
            before += word.count_ones();
            before - word.count_ones()
        };
        let before: Vec<u32> = self.slots.iter().map(sum).collect();
        for page in &mut self.list {
            let (word, bit) = (page.slot as usize / 64, page.slot % 64);
            let below = self.slots[word] & ((1 << bit) - 1);
            page.slot = before[word] + below.count_ones();
        }
        let count = self.list.len();
        let words = (count / 16).next_power_of_two().max(self.slots.len());
        self.slots = vec![0; words];
        for word in 0..count.div_ceil(64) {
            self.slots[word] = u64::MAX >> (64 - (count - word * 64).min(64));
        }
        let (words_of, blocks_of, all) = &mut self.counts;
        *words_of = self.slots.iter().map(|word| word.count_ones() as u8).collect();
        *blocks_of =
            words_of.chunks(64).map(|it| it.iter().map(|&it| u32::from(it)).sum()).collect();
        *all = blocks_of.chunks(64).map(|it| it.iter().sum()).collect();
        self.next_slot = count as u32;
    }

    fn mark(&mut self, slot: u32, is_last: bool) {
        let word = slot as usize / 64;
        self.slots[word] ^= 1 << (slot % 64);
        let (words, blocks, all) = &mut self.counts;
        let step = if is_last { 1 } else { u32::MAX };
        words[word] = words[word].wrapping_add(step as u8);
        blocks[word / 64] = blocks[word / 64].wrapping_add(step);
        all[word / 4096] = all[word / 4096].wrapping_add(step);
    }

    /// Pages whose last access came after a slot.
    fn later(&self, slot: u32) -> u64 {
        let word = slot as usize / 64;
        let (words, blocks, all) = &self.counts;
        let in_word = (self.slots[word] >> (slot % 64)).count_ones() - 1;
        let in_block: u32 = words[word + 1..words.len().min(word / 64 * 64 + 64)]
            .iter()
            .map(|&it| u32::from(it))
            .sum();
        let block = word / 64;
        let in_blocks: u32 = blocks[block + 1..blocks.len().min(block / 64 * 64 + 64)].iter().sum();
        let others: u32 = all[word / 4096 + 1..].iter().sum();
        u64::from(in_word + in_block + in_blocks + others)
    }

    /// Reads what accesses to these pages will need, so that the memory is asked for all of it at
    /// once; the result has no meaning.
    pub fn warm(&self, keys: impl Iterator<Item = u64> + Clone) -> u64 {
        let bits = self.table.len() - 1;
        let index = |key: u64| self.table[(hash(key) >> 24) as usize & bits];
        let sum = keys.clone().fold(0, |sum: u64, key| sum.wrapping_add(u64::from(index(key))));
        let page = |key: u64| self.list.get((index(key) as usize).wrapping_sub(1));
        let slot = |key: u64| page(key).map_or(0, |page| page.slot);
        let sum = keys.clone().fold(sum, |sum, key| sum.wrapping_add(u64::from(slot(key))));
        keys.fold(sum, |sum, key| {
            let word = slot(key) as usize / 64;
            sum.wrapping_add(self.slots[word]).wrapping_add(u64::from(self.counts.0[word]))
        })
    }
}
