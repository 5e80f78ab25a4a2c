//! Pages in lists: every page in at most one of `N` lists, each ordered from oldest to newest.
//!
//! Slots are allocated once; finding, adding, moving and removing take constant time and no memory.

use super::index::Index;
use crate::units::Lpn;

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    lpn: Lpn,
    older: u32,
    newer: u32,
    list: u8,
    is_marked: bool,
}

/// See the module.
pub(super) struct Lists<const N: usize> {
    nodes: Vec<Node>,
    free: Vec<u32>,
    index: Index,
    oldest: [u32; N],
    newest: [u32; N],
    lengths: [usize; N],
    /// Pages in all lists together, at most.
    room: usize,
}

impl<const N: usize> Lists<N> {
    /// Empty lists with room for `page_count` pages in all.
    pub fn new(page_count: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(page_count),
            free: Vec::new(),
            index: Index::new(page_count),
            oldest: [NONE; N],
            newest: [NONE; N],
            lengths: [0; N],
            room: page_count,
        }
    }

    /// Pages in a list.
    #[inline]
    pub fn len(&self, list: usize) -> usize {
        self.lengths[list]
    }

    /// The list of a page.
    #[inline]
    pub fn list_of(&self, lpn: Lpn) -> Option<usize> {
        self.index.get(lpn).map(|slot| usize::from(self.nodes[slot as usize].list))
    }

    /// Whether a page is in a list.
    #[inline]
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.index.get(lpn).is_some()
    }

    /// The oldest page of a list.
    pub fn oldest(&self, list: usize) -> Option<Lpn> {
        self.nodes.get(self.oldest[list] as usize).map(|node| node.lpn)
    }

    /// Puts the oldest pages of a list into `pages`, in their order; returns how many.
    pub fn coming(&self, list: usize, pages: &mut [Lpn]) -> usize {
        let places = pages.iter_mut().zip(self.in_order(list));
        places.map(|(place, lpn)| *place = lpn).count()
    }

    /// Prefetches the memory that a look-up of a page will touch.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.index.prefetch(lpn);
    }

    /// The pages of a list, the oldest first.
    pub fn in_order(&self, list: usize) -> impl Iterator<Item = Lpn> + '_ {
        let node = |slot: u32| self.nodes.get(slot as usize);
        let oldest = node(self.oldest[list]);
        std::iter::successors(oldest, move |it| node(it.newer)).map(|node| node.lpn)
    }

    /// Adds a page that is in no list, as the newest.
    pub fn add(&mut self, list: usize, lpn: Lpn) {
        let node = Node { lpn, older: NONE, newer: NONE, list: list as u8, is_marked: false };
        let slot = if let Some(slot) = self.free.pop() {
            self.nodes[slot as usize] = node;
            slot
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        self.index.insert(lpn, slot);
        self.attach(slot, list);
    }

    /// Takes out the oldest page of a list, and adds one that is in no list as the newest, in its
    /// slot; returns the page that was taken out. An empty list stays as it is.
    pub fn exchange(&mut self, list: usize, lpn: Lpn) -> Option<Lpn> {
        let (slot, newest) = (self.oldest[list], self.newest[list]);
        let node = self.nodes.get_mut(slot as usize)?;
        let (oldest, second) = (node.lpn, node.newer);
        (node.lpn, node.is_marked) = (lpn, false);
        self.index.take(oldest);
        self.index.insert(lpn, slot);
        if second != NONE {
            let node = &mut self.nodes[slot as usize];
            (node.older, node.newer) = (newest, NONE);
            self.nodes[second as usize].older = NONE;
            self.nodes[newest as usize].newer = slot;
            (self.oldest[list], self.newest[list]) = (second, slot);
        }
        Some(oldest)
    }

    /// Takes out all pages.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free.clear();
        self.index.clear();
        (self.oldest, self.newest, self.lengths) = ([NONE; N], [NONE; N], [0; N]);
    }

    /// Makes a page the newest of a list, which may be another than its own.
    pub fn renew(&mut self, list: usize, lpn: Lpn) {
        if let Some(slot) = self.index.get(lpn) {
            self.detach(slot);
            self.attach(slot, list);
        }
    }

    /// Takes a page out; false if it is in no list.
    pub fn remove(&mut self, lpn: Lpn) -> bool {
        let Some(slot) = self.index.take(lpn) else { return false };
        self.detach(slot);
        self.free.push(slot);
        true
    }

    /// Takes out the oldest page of a list.
    pub fn take_oldest(&mut self, list: usize) -> Option<Lpn> {
        let lpn = self.oldest(list)?;
        self.remove(lpn);
        Some(lpn)
    }

    /// Marks a page.
    pub fn mark(&mut self, lpn: Lpn) {
        if let Some(slot) = self.index.get(lpn) {
            self.nodes[slot as usize].is_marked = true;
        }
    }

    /// Takes the mark off the oldest page of a list and makes it the newest; false without a mark.
    pub fn spare_oldest(&mut self, list: usize) -> bool {
        let slot = self.oldest[list];
        let Some(node) = self.nodes.get_mut(slot as usize) else { return false };
        if !std::mem::take(&mut node.is_marked) {
            return false;
        }
        self.detach(slot);
        self.attach(slot, list);
        true
    }

    /// All pages, list by list from oldest to newest: list, mark and page in one number.
    pub fn save(&self) -> Vec<u64> {
        let mut numbers = Vec::with_capacity(self.lengths.iter().sum());
        for list in 0..N {
            let mut slot = self.oldest[list];
            while let Some(node) = self.nodes.get(slot as usize) {
                let mark = u64::from(node.is_marked) << 32;
                numbers.push((list as u64) << 33 | mark | u64::from(node.lpn.0));
                slot = node.newer;
            }
        }
        numbers
    }

    /// Restores the state from [`Lists::save`], into empty lists; false if it is invalid.
    pub fn restore(&mut self, numbers: &[u64]) -> bool {
        numbers.len() <= self.room
            && numbers.iter().all(|&number| {
                let (list, lpn) = ((number >> 33) as usize, Lpn(number as u32));
                let fits = list < N && self.list_of(lpn).is_none();
                if fits {
                    self.add(list, lpn);
                    if number >> 32 & 1 == 1 {
                        self.mark(lpn);
                    }
                }
                fits
            })
    }

    fn attach(&mut self, slot: u32, list: usize) {
        let older = self.newest[list];
        let node = &mut self.nodes[slot as usize];
        (node.older, node.newer, node.list) = (older, NONE, list as u8);
        match self.nodes.get_mut(older as usize) {
            Some(neighbour) => neighbour.newer = slot,
            None => self.oldest[list] = slot,
        }
        self.newest[list] = slot;
        self.lengths[list] += 1;
    }

    fn detach(&mut self, slot: u32) {
        let Node { older, newer, list, .. } = self.nodes[slot as usize];
        let list = usize::from(list);
        match self.nodes.get_mut(older as usize) {
            Some(neighbour) => neighbour.newer = newer,
            None => self.oldest[list] = newer,
        }
        match self.nodes.get_mut(newer as usize) {
            Some(neighbour) => neighbour.older = older,
            None => self.newest[list] = older,
        }
        self.lengths[list] -= 1;
    }
}
