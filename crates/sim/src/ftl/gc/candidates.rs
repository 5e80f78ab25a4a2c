//! Containers for the candidates of a policy: blocks in no order, and blocks in the order in which
//! they were closed.

/// Candidates in no order, with constant-time insert, remove and random pick.
#[derive(Default)]
pub(crate) struct CandidateSet {
    members: Vec<u32>,
    /// Position of each block in `members`, `ABSENT` for blocks that are no candidates.
    position: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl CandidateSet {
    pub(crate) fn new(block_count: u32) -> Self {
        Self {
            members: Vec::with_capacity(block_count as usize),
            position: vec![ABSENT; block_count as usize],
        }
    }

    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }

    pub(crate) fn insert(&mut self, block: u32) {
        self.position[block as usize] = self.members.len() as u32;
        self.members.push(block);
    }

    pub(crate) fn remove(&mut self, block: u32) {
        let position = std::mem::replace(&mut self.position[block as usize], ABSENT);
        assert!(position != ABSENT, "block {block} is not a candidate and cannot be removed");
        self.members.swap_remove(position as usize);
        if let Some(&moved) = self.members.get(position as usize) {
            self.position[moved as usize] = position;
        }
    }

    pub(crate) fn save(&self) -> Vec<u64> {
        self.members.iter().map(|&block| u64::from(block)).collect()
    }

    /// Restores the members; false if a number is not a block, or comes twice.
    pub(crate) fn restore(&mut self, numbers: &[u64]) -> bool {
        numbers.iter().all(|&number| {
            let is_new =
                self.position.get(number as usize).is_some_and(|&position| position == ABSENT);
            if is_new {
                self.insert(number as u32);
            }
            is_new
        })
    }
}

/// Candidates in the order in which they were closed: a doubly linked ring through the block
/// numbers.
///
/// The node after the last block is the ring's anchor.
pub(crate) struct ClosingOrder {
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl ClosingOrder {
    pub(crate) fn new(block_count: u32) -> Self {
        let mut next = vec![ABSENT; block_count as usize + 1];
        next[block_count as usize] = block_count;
        Self { previous: next.clone(), next }
    }

    fn anchor(&self) -> u32 {
        self.next.len() as u32 - 1
    }

    pub(crate) fn push_back(&mut self, block: u32) {
        let anchor = self.anchor();
        let last = self.previous[anchor as usize];
        self.next[last as usize] = block;
        self.previous[block as usize] = last;
        self.next[block as usize] = anchor;
        self.previous[anchor as usize] = block;
    }

    pub(crate) fn contains(&self, block: u32) -> bool {
        self.next[block as usize] != ABSENT
    }

    pub(crate) fn pop_front(&mut self) -> Option<u32> {
        let first = self.next[self.anchor() as usize];
        if first == self.anchor() {
            return None;
        }
        self.remove(first);
        Some(first)
    }

    pub(crate) fn remove(&mut self, block: u32) {
        assert!(self.contains(block), "block {block} is not a candidate and cannot be removed");
        let (next, previous) = (self.next[block as usize], self.previous[block as usize]);
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
        self.next[block as usize] = ABSENT;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let anchor = self.anchor();
        std::iter::successors(Some(self.next[anchor as usize]), |&block| {
            Some(self.next[block as usize])
        })
        .take_while(move |&block| block != anchor)
    }

    pub(crate) fn save(&self) -> Vec<u64> {
        self.iter().map(u64::from).collect()
    }

    /// Restores the order; false if a number is not a block, or comes twice.
    pub(crate) fn restore(&mut self, numbers: &[u64]) -> bool {
        let limit = u64::from(self.anchor());
        numbers.iter().all(|&number| {
            let is_new = number < limit && !self.contains(number as u32);
            if is_new {
                self.push_back(number as u32);
            }
            is_new
        })
    }
}
