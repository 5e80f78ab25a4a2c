//! The firmware taken apart into its dies, for threads that work on one each.
//!
//! Where logical pages take turns on the dies, a die shares nothing with the others but counters
//! that add up and the clock of host writes, which each write brings along. So the dies may work in
//! any order, and at the same time: what they leave is the same.

use super::books::Books;
use super::map::Map;
use super::pool::Pool;
use super::sink::{FlashSink, FtlCounters, NoRoom};
use super::Ftl;
use crate::geometry::Geometry;
use crate::nand::Media;
use crate::op::Source;
use crate::units::Lpn;

/// Erases of one block that a run of consecutive pages may cost: it passes each block once.
pub const ERASES_OF_RUN: u64 = 64;
/// A write amplification that a drive under writes of any kind may have.
const WAF_MAX: u64 = 16;

/// Writes of the host that one die takes: pages, and how many host writes of the drive come before
/// each.
#[derive(Debug, Default)]
pub struct DieList {
    lpns: Vec<u32>,
    turns: Vec<u32>,
}

impl DieList {
    /// Hands pages that are written in order to neighbouring dies, from `first` on, and leaves out
    /// those of other dies.
    pub fn deal(lists: &mut [Self], first: u32, lpns: &[u32], geometry: &Geometry) {
        for list in &mut *lists {
            list.lpns.clear();
            list.turns.clear();
        }
        for (&lpn, turn) in lpns.iter().zip(0..) {
            let die = geometry.die_of(Lpn(lpn)).0.wrapping_sub(first);
            if let Some(list) = lists.get_mut(die as usize) {
                list.lpns.push(lpn);
                list.turns.push(turn);
            }
        }
    }
}

/// One die of the firmware.
pub struct DieFtl {
    pool: Pool,
    books: Books,
    /// Host writes of the drive before all of those that come.
    start: u64,
    die: u32,
    dies: u32,
}

impl DieFtl {
    /// Writes the pages of a list, for sinks without time.
    ///
    /// # Errors
    /// [`NoRoom`] when the die has no room left.
    pub fn write_list<S: FlashSink>(&mut self, sink: &mut S, list: &DieList) -> Result<(), NoRoom> {
        let clock = |place: usize| self.start + u64::from(list.turns[place]);
        self.pool.write_list(&mut self.books, sink, &list.lpns, clock).1
    }

    /// Writes those of `count` consecutive pages from `first` on that lie in this die.
    ///
    /// # Errors
    /// [`NoRoom`] when the die has no room left.
    pub fn write_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: Lpn,
        count: u32,
    ) -> Result<(), NoRoom> {
        // Dies take turns: the first page of this die comes within the first turn.
        let turn = (self.die + self.dies - first.0 % self.dies) % self.dies;
        if turn >= count {
            return Ok(());
        }
        let (first, here) = (first.0 + turn, (count - turn).div_ceil(self.dies));
        if self.pool.log.placement.splits(Source::Host) {
            let lpns: Vec<u32> = (0..here).map(|index| first + index * self.dies).collect();
            let start = self.start + u64::from(turn);
            let clock = |place: usize| start + place as u64 * u64::from(self.dies);
            return self.pool.write_list(&mut self.books, sink, &lpns, clock).1;
        }
        self.books.now = self.start + u64::from(turn);
        self.pool.write_every(&mut self.books, sink, Lpn(first), [self.dies, here])
    }
}

impl Ftl {
    /// Whether the dies share nothing and so may work apart.
    pub fn is_separable(&self) -> bool {
        self.books.map.is_separable()
    }

    /// Whether the dies may work apart while no block is erased more often than this: they share
    /// nothing, and none comes near the end of its life, which would end the run in the middle.
    pub fn may_split(&self, media: &Media, erases: u64) -> bool {
        let pool = &self.pools[0]; // all have the same limits
        let slc_limit = pool.log.slc.as_ref().map_or(u32::MAX, |cache| cache.worn_limit);
        let limit = pool.worn_limit.min(slc_limit);
        let most = || media.erase_counts.iter().copied().max().unwrap_or(0);
        let is_far = || u64::from(most()) + erases < u64::from(limit);
        self.is_separable() && (limit == u32::MAX || is_far())
    }

    /// Erases of a block that a list of pages may cost: as if all collections of the busiest die
    /// took the same one.
    pub fn erases_of_list(&self, lpns: &[u32]) -> u64 {
        let pages = WAF_MAX * self.most_in_a_die(lpns);
        ERASES_OF_RUN + pages / u64::from(self.geometry.pages_per_block)
    }

    /// How many of these pages lie in the die that has the most.
    fn most_in_a_die(&self, lpns: &[u32]) -> u64 {
        let mut counts = vec![0_u64; self.geometry.die_count as usize];
        for &lpn in lpns {
            counts[self.geometry.die_of(Lpn(lpn)).0 as usize] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    /// Takes the firmware apart; [`Ftl::join`] is to follow.
    ///
    /// # Panics
    /// When it may not be taken apart.
    pub fn split(&mut self) -> Vec<DieFtl> {
        assert!(self.books.map.is_separable(), "the dies share a table");
        let (start, dies) = (self.books.now, self.geometry.die_count);
        let maps = self.books.map.take().split();
        let pools = std::mem::take(&mut self.pools);
        let parts = (0..dies).zip(pools).zip(maps);
        parts
            .map(|((die, pool), map)| {
                let books = Books { map, counters: FtlCounters::default(), now: start };
                DieFtl { pool, books, start, die, dies }
            })
            .collect()
    }

    /// Puts the firmware together again after so many host writes.
    pub fn join(&mut self, parts: Vec<DieFtl>, writes: u64) {
        let mut maps = Vec::with_capacity(parts.len());
        for part in parts {
            self.books.counters += part.books.counters;
            self.pools.push(part.pool);
            maps.push(part.books.map);
        }
        self.books.map = Map::join(maps, self.books.map.mapped_count());
        self.books.now += writes;
    }
}
