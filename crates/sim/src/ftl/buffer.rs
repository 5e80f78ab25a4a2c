//! The volatile write buffer: absorbs rewrites, and lets writes complete before the flash has them.
//!
//! Pages wait in the order of their first write. When more than half of the buffer is waiting, the
//! oldest is flushed; its slot is free again when its program is done, so the other half covers
//! programs in flight. A rewrite of a waiting page costs no program. Which page is flushed when
//! depends only on the commands, never on time: the untimed and the timed executor leave the same
//! mapping.
//!
//! Left out: flushing when the host is idle, and host flush commands.

use std::collections::{BTreeMap, VecDeque};

use crate::units::Lpn;

/// What became of a page offered to the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The page was waiting already: no new program.
    Absorbed,
    /// The page waits.
    Kept,
    /// The page waits, and this older one must be programmed now.
    Flush(Lpn),
}

/// See the module.
pub struct WriteBuffer {
    waiting_limit: usize,
    /// Waiting pages by age; an entry that `waiting` does not know by its number was trimmed.
    order: VecDeque<(u64, Lpn)>,
    waiting: BTreeMap<Lpn, u64>,
    arrivals: u64,
}

impl WriteBuffer {
    /// A buffer of `page_count` pages, at least 1.
    pub fn new(page_count: u32) -> Self {
        Self {
            waiting_limit: page_count as usize / 2,
            order: VecDeque::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
        }
    }

    /// Whether the newest data of `lpn` is here.
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.waiting.contains_key(&lpn)
    }

    /// Pages that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no page waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a page of the host.
    pub fn offer(&mut self, lpn: Lpn) -> Offer {
        if self.waiting.contains_key(&lpn) {
            return Offer::Absorbed;
        }
        self.waiting.insert(lpn, self.arrivals);
        self.order.push_back((self.arrivals, lpn));
        self.arrivals += 1;
        if self.waiting.len() > self.waiting_limit {
            self.take_oldest().map_or(Offer::Kept, Offer::Flush)
        } else {
            Offer::Kept
        }
    }

    /// Takes out the page that waits longest.
    pub fn take_oldest(&mut self) -> Option<Lpn> {
        loop {
            let (arrival, lpn) = self.order.pop_front()?;
            if self.waiting.get(&lpn) == Some(&arrival) {
                self.waiting.remove(&lpn);
                return Some(lpn);
            }
        }
    }

    /// Forgets a page; false if it did not wait.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        self.waiting.remove(&lpn).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_page_leaves_and_rewrites_are_absorbed() {
        let mut buffer = WriteBuffer::new(4);
        assert_eq!(buffer.offer(Lpn(1)), Offer::Kept);
        assert_eq!(buffer.offer(Lpn(2)), Offer::Kept);
        assert_eq!(buffer.offer(Lpn(1)), Offer::Absorbed);
        assert_eq!(buffer.offer(Lpn(3)), Offer::Flush(Lpn(1)));
        assert!(buffer.trim(Lpn(2)) && !buffer.trim(Lpn(2)));
        assert_eq!(buffer.offer(Lpn(2)), Offer::Kept);
        assert_eq!(buffer.offer(Lpn(4)), Offer::Flush(Lpn(3)));
        assert_eq!((buffer.take_oldest(), buffer.take_oldest()), (Some(Lpn(2)), Some(Lpn(4))));
        assert!(buffer.take_oldest().is_none() && buffer.is_empty());
    }

    #[test]
    fn a_buffer_of_one_page_writes_through() {
        let mut buffer = WriteBuffer::new(1);
        assert_eq!(buffer.offer(Lpn(7)), Offer::Flush(Lpn(7)));
        assert_eq!(buffer.len(), 0);
    }
}
