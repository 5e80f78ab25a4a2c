//! The firmware taken apart into its dies, for threads that work on one each.
//!
//! If logical pages take turns on the dies, a die shares nothing with the others but counters that
//! add up and the clock of host writes, which each write brings along. So the dies may work in any
//! order, and at the same time, with the same result.

use std::ops::Range;

use crate::ftl::books::Books;
use crate::ftl::map::Map;
use crate::ftl::pool::Pool;
use crate::ftl::sink::{FlashSink, FtlCounters, NoRoom};
use crate::ftl::Ftl;
use crate::nand::Media;
use crate::op::Source;
use crate::striping::{DieRun, Turns};
use crate::units::Lpn;

/// Erases of one block that a run of consecutive pages may cost: it passes each block once.
const ERASES_OF_RUN: u64 = 64;
/// A write amplification that a drive under writes of any kind may have.
const WAF_MAX: u64 = 16;

/// Writes of the host that are dealt to neighbouring dies.
#[derive(Debug)]
pub struct Dealt {
    lpns: Vec<u32>,
    turns: Vec<u32>,
    /// Index of the first write of each die, followed by the end of the last die's writes.
    starts: Vec<usize>,
}

/// Those of one die: pages, and how many host writes of the drive come before each.
#[derive(Clone, Copy, Debug)]
pub struct DieList<'a> {
    lpns: &'a [u32],
    turns: &'a [u32],
}

impl Dealt {
    /// Deals pages that are written in order to these dies, and leaves out those of other dies.
    pub fn new(dies: Range<u32>, lpns: &[u32], turns: Turns) -> Self {
        let counts = counts_of_dies(lpns, turns);
        let here = dies.len();
        let mut starts = vec![0; here + 1];
        for (index, die) in dies.clone().enumerate() {
            starts[index + 1] = starts[index] + counts[die as usize];
        }
        // Without a branch: pages of other dies go to one place behind all others and overwrite
        // each other there.
        let mut next = starts.clone();
        let mut dealt =
            Self { lpns: vec![0; next[here] + 1], turns: vec![0; next[here] + 1], starts };
        for (&lpn, turn) in lpns.iter().zip(0..) {
            let index = (turns.die(lpn).wrapping_sub(dies.start) as usize).min(here);
            let place = next[index];
            dealt.lpns[place] = lpn;
            dealt.turns[place] = turn;
            next[index] += usize::from(index < here);
        }
        dealt
    }

    /// The writes of each die, in order.
    pub fn lists(&self) -> impl Iterator<Item = DieList<'_>> {
        self.starts.windows(2).map(|ends| {
            let range = ends[0]..ends[1];
            DieList { lpns: &self.lpns[range.clone()], turns: &self.turns[range] }
        })
    }
}

/// Number of the pages that belong to each die.
fn counts_of_dies(lpns: &[u32], turns: Turns) -> Vec<usize> {
    let mut counts = vec![0; turns.dies() as usize];
    for &lpn in lpns {
        counts[turns.die(lpn) as usize] += 1;
    }
    counts
}

/// One die of the firmware.
pub struct DieFtl {
    pool: Pool,
    books: Books,
    /// Host writes of the drive before the ones to come.
    start: u64,
    turns: Turns,
    die: u32,
}

impl DieFtl {
    /// Writes the pages of a list, for sinks without time.
    ///
    /// # Errors
    /// [`NoRoom`] when the die has no room left.
    pub fn write_list<S: FlashSink>(
        &mut self,
        sink: &mut S,
        list: DieList<'_>,
    ) -> Result<(), NoRoom> {
        let clock = |place: usize| self.start + u64::from(list.turns[place]);
        self.pool.write_list(&mut self.books, sink, list.lpns, clock).1
    }

    /// Writes those of `count` consecutive pages from `first` on that belong to this die.
    ///
    /// # Errors
    /// [`NoRoom`] when the die has no room left.
    pub fn write_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        first: Lpn,
        count: u32,
    ) -> Result<(), NoRoom> {
        let run = DieRun::new(self.turns, self.die, first, count);
        let start = self.start;
        let clock = |lpn: Lpn| start + u64::from(lpn.0 - first.0);
        if self.pool.log.placement.splits(Source::Host) {
            let mut lpns = vec![0; run.count as usize];
            run.fill(&mut lpns);
            let clock = |place: usize| clock(Lpn(lpns[place]));
            return self.pool.write_list(&mut self.books, sink, &lpns, clock).1;
        }
        self.pool.write_die_run(&mut self.books, sink, run, clock)
    }
}

impl Ftl {
    /// Whether the dies may work apart for a list of pages, or for a run of consecutive ones: they
    /// share nothing, and none comes near the end of its life, which would end the work in the
    /// middle.
    pub fn may_split(&self, media: &Media, list: Option<&[u32]>) -> bool {
        let pool = &self.pools[0]; // all have the same limits
        let slc_limit = pool.log.slc.as_ref().map_or(u32::MAX, |cache| cache.worn_limit);
        let limit = pool.wear.limit.min(slc_limit);
        let erases = || list.map_or(ERASES_OF_RUN, |lpns| self.erases_of_list(lpns));
        let is_far = || u64::from(media.erase_count_max()) + erases() < u64::from(limit);
        self.traits.is_separable && pool.log.failures.is_none() && (limit == u32::MAX || is_far())
    }

    /// Erases of a block that a list of pages may cost: as if all collections of the busiest die
    /// took the same one.
    fn erases_of_list(&self, lpns: &[u32]) -> u64 {
        let counts = counts_of_dies(lpns, self.turns());
        let most = counts.into_iter().max().unwrap_or(0) as u64;
        ERASES_OF_RUN + WAF_MAX * most / u64::from(self.geometry.pages_per_block)
    }

    fn turns(&self) -> Turns {
        self.geometry.striping.turns().expect("dies take turns")
    }

    /// Takes the firmware apart; [`Ftl::join`] is to follow.
    ///
    /// # Panics
    /// When it may not be taken apart.
    pub fn split(&mut self) -> Vec<DieFtl> {
        assert!(self.traits.is_separable, "the dies share a table");
        let (start, turns) = (self.books.now, self.turns());
        let handle = self.books.handle;
        let maps = self.books.map.take().split();
        let pools = std::mem::take(&mut self.pools);
        let parts = (0..turns.dies()).zip(pools).zip(maps);
        parts
            .map(|((die, pool), map)| {
                let counters = FtlCounters::default();
                let books = Books { map, counters, now: start, handle, translation: None };
                DieFtl { pool, books, start, turns, die }
            })
            .collect()
    }

    /// Puts the firmware together again after `writes` host writes.
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
