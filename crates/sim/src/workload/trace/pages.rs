//! The pages that a trace touches, and the order of their last accesses.
//!
//! Distances need a count of the pages whose last access came later: each access takes the next of
//! a row of slots, and the last slot of each page is marked. Marks are counted by a tree of partial
//! sums (Fenwick 1994) over words of 64 slots; slots that are not used yet are marked from the
//! start, so that an access only takes a mark away. When the slots are used up they are packed.
//!
//! Memory is bounded: beyond a number of pages only those are kept whose hash ends with a zero bit,
//! then two, and so on. Distances among these are multiplied, and so are their counts, each with
//! the rate at the time (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015).

use crate::units::Ns;

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
    /// Marks: last accesses, and slots from `next_slot` on.
    slots: Vec<u64>,
    /// Entry `i` has the marks of the words before `i`, as many as the lowest bit of `i`.
    tree: Vec<u32>,
    next_slot: u32,
    /// Pages are kept whose hash has none of these bits.
    mask: u64,
    pub count_max: usize,
}

impl Pages {
    /// Keeps fewer pages than `count_max`, or one if that is less than 2: the last one may have a
    /// hash that each rate keeps.
    pub fn new(count_max: usize) -> Self {
        let mut pages = Self {
            list: Vec::new(),
            table: vec![0; 256],
            slots: vec![0; 16],
            tree: Vec::new(),
            next_slot: 0,
            mask: 0,
            count_max: count_max.max(2),
        };
        pages.pack();
        pages
    }

    pub fn rate(&self) -> u64 {
        self.mask + 1
    }

    /// Whether pages with this hash are kept.
    #[inline]
    pub fn keeps(&self, hash: u64) -> bool {
        hash & self.mask == 0
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        // The lower bits of kept pages are zero.
        (hash >> 24) as usize & (self.table.len() - 1)
    }

    #[inline]
    pub fn find(&self, key: u64, hash: u64) -> Result<usize, usize> {
        let mut place = self.place(hash);
        loop {
            match self.table[place] {
                0 => return Err(place),
                index if self.list[index as usize - 1].key == key => return Ok(index as usize - 1),
                _ => place = (place + 1) & (self.table.len() - 1),
            }
        }
    }

    /// The page, and its reuse distance among those that are kept; `None` if it is not kept.
    #[inline]
    pub fn access(&mut self, key: u64, hash: u64) -> Option<(usize, Option<u64>)> {
        if !self.keeps(hash) {
            return None;
        }
        if self.next_slot as usize == self.slots.len() * 64 {
            self.pack();
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        match self.find(key, hash) {
            Ok(index) => {
                let last = std::mem::replace(&mut self.list[index].slot, slot);
                let before = self.unmark(last);
                // Each page has a mark, this one not yet.
                Some((index, Some(self.list.len() as u64 - 1 - before)))
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
                Some((index, None))
            }
        }
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
        self.slots.clear();
        self.slots.resize(words, u64::MAX);
        self.tree.clear();
        self.tree.extend((0..=words).map(|it| 64 * (it & it.wrapping_neg()) as u32));
        self.next_slot = count as u32;
    }

    /// Takes the mark of a slot away; returns the marks before it.
    #[inline]
    fn unmark(&mut self, slot: u32) -> u64 {
        let (word, bit) = (slot as usize / 64, slot % 64);
        let below = self.slots[word] & ((1 << bit) - 1);
        self.slots[word] &= !(1 << bit);
        let mut before = below.count_ones();
        let mut at = word;
        while at > 0 {
            before += self.tree[at];
            at &= at - 1;
        }
        let mut at = word + 1;
        while let Some(count) = self.tree.get_mut(at) {
            *count -= 1;
            at += at & at.wrapping_neg();
        }
        u64::from(before)
    }

    /// Reads what accesses to these pages will need, so that the memory is asked for all of it at
    /// once; the result has no meaning.
    pub fn warm<const N: usize>(&self, hashes: impl Iterator<Item = u64>) -> u64 {
        let mut indices = [0; N];
        let mut count = 0;
        for (index, hash) in indices.iter_mut().zip(hashes) {
            *index = self.table[self.place(hash)] as usize;
            count += 1;
        }
        let mut words = [0; N];
        for (word, index) in words.iter_mut().zip(&indices[..count]) {
            *word = self.list.get(index.wrapping_sub(1)).map_or(0, |page| page.slot as usize / 64);
        }
        let sum = |sum: u64, word: &usize| {
            sum.wrapping_add(self.slots[*word]).wrapping_add(u64::from(self.tree[*word + 1]))
        };
        words[..count].iter().fold(0, sum)
    }
}
