//! Which blocks of a pass are still free: a bit for each, and above it a bit for each full word.
//!
//! ```text
//! level 1   [ 1 0 1 1 ]                     a word below is full
//! level 0   [1111] [1011] [1111] [1111]     a block is taken
//! ```
//! A free block behind a place is found by a word of each level. Bits behind the last block count
//! as taken.

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct FreeMap {
    levels: Vec<Vec<u64>>,
    count: u64,
}

const BITS: u64 = u64::BITS as u64;

impl FreeMap {
    /// All of `count` blocks are free.
    pub fn new(count: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = count;
        loop {
            let mut words = vec![0; bits.div_ceil(BITS).max(1) as usize];
            if let (Some(last), rest @ 1..) = (words.last_mut(), bits % BITS) {
                *last = u64::MAX << rest;
            }
            bits = words.len() as u64;
            levels.push(words);
            if bits == 1 {
                return Self { levels, count };
            }
        }
    }

    /// The same at the begin of a pass.
    pub fn reset(&mut self) {
        *self = Self::new(self.count);
    }

    pub fn is_free(&self, block: u64) -> bool {
        self.levels[0][(block / BITS) as usize] >> (block % BITS) & 1 == 0
    }

    /// The first free block from `from` on, behind the last one from the first on.
    pub fn next_free(&self, from: u64) -> Option<u64> {
        self.search(from).or_else(|| self.search(0))
    }

    fn search(&self, from: u64) -> Option<u64> {
        let mut place = from;
        for (level, words) in self.levels.iter().enumerate() {
            let index = place / BITS;
            let word = *words.get(index as usize)?;
            let free = !word & (u64::MAX << (place % BITS));
            if free != 0 {
                let found = index * BITS + u64::from(free.trailing_zeros());
                let down = self.levels[..level].iter().rev();
                return Some(down.fold(found, |at, words| {
                    at * BITS + u64::from(words[at as usize].trailing_ones())
                }));
            }
            place = index + 1;
        }
        None
    }

    /// Takes up to `count` blocks from `first` on, which is free: as many as are free in one piece.
    pub fn take(&mut self, first: u64, count: u64) -> u64 {
        let mut taken = 0;
        while taken < count && first + taken < self.count && self.is_free(first + taken) {
            self.set(first + taken);
            taken += 1;
        }
        taken
    }

    fn set(&mut self, block: u64) {
        let mut place = block;
        for words in &mut self.levels {
            let word = &mut words[(place / BITS) as usize];
            *word |= 1 << (place % BITS);
            if *word != u64::MAX {
                return;
            }
            place /= BITS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn it_does_what_a_list_of_flags_does() {
        let mut rng = Rng::stream(1, "test");
        for count in [1, 2, 63, 64, 65, 4095, 4096, 4097, 10_000] {
            let mut map = FreeMap::new(count);
            let mut free = vec![true; count as usize];
            loop {
                let from = rng.below(count);
                let places = (from..count).chain(0..from);
                let first = places.into_iter().find(|&at| free[at as usize]);
                assert_eq!(map.next_free(from), first, "{count}: from {from}");
                let Some(first) = first else { break };
                let wanted = 1 + rng.below(9);
                let run = (first..count).take_while(|&at| free[at as usize]).count() as u64;
                assert_eq!(map.take(first, wanted), run.min(wanted));
                (first..first + run.min(wanted)).for_each(|at| free[at as usize] = false);
            }
            map.reset();
            assert_eq!(map.next_free(count - 1), Some(count - 1));
        }
    }
}
