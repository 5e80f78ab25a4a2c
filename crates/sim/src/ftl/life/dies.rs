//! The firmware taken apart into its dies, for threads that work on one each.
//!
//! If logical pages take turns on the dies, a die shares nothing with the others but counters that
//! add up and the clock of host writes, which each write brings along. So the dies may work in any
//! order, and at the same time, with the same result.

use crate::ftl::books::Books;
use crate::ftl::map::Map;
use crate::ftl::pool::Pool;
use crate::ftl::sink::{FlashSink, FtlCounters, NoRoom};
use crate::ftl::Ftl;
use crate::nand::Media;
use crate::op::Source;
use crate::striping::{DieRun, Turns};
use crate::units::Lpn;

/// Erases of one block that runs of consecutive pages may cost: they pass each block three times at
/// most.
const ERASES_OF_RUN: u64 = 64;
/// A write amplification that a drive under writes of any kind may have.
const WAF_MAX: u64 = 16;

/// Writes of the host that are dealt to the dies.
#[derive(Debug, Default)]
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
    /// Deals pages that are written in order, in place of those dealt before.
    pub fn deal(&mut self, lpns: &[u32], turns: Turns) {
        let Self { lpns: own, turns: own_turns, starts } = self;
        starts.clear();
        starts.resize(turns.dies() as usize + 1, 0);
        for &lpn in lpns {
            starts[turns.die(lpn) as usize + 1] += 1;
        }
        for die in 1..starts.len() {
            starts[die] += starts[die - 1];
        }
        own.resize(lpns.len(), 0);
        own_turns.resize(lpns.len(), 0);
        let mut next = starts.clone();
        for (&lpn, turn) in lpns.iter().zip(0..) {
            let place = &mut next[turns.die(lpn) as usize];
            own[*place] = lpn;
            own_turns[*place] = turn;
            *place += 1;
        }
    }

    /// Takes all writes out.
    pub fn clear(&mut self) {
        self.lpns.clear();
    }

    /// The writes of a die, in order.
    pub fn list(&self, die: u32) -> DieList<'_> {
        let range = self.starts[die as usize]..self.starts[die as usize + 1];
        DieList { lpns: &self.lpns[range.clone()], turns: &self.turns[range] }
    }

    /// Writes in all.
    pub fn count(&self) -> usize {
        self.lpns.len()
    }

    /// Writes of the busiest die.
    fn most(&self) -> usize {
        self.starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
    }
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
    /// Which of the dies it is.
    pub fn die(&self) -> u32 {
        self.die
    }

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

    /// Writes those of `count` consecutive pages from `first` on that belong to this die, behind
    /// `before` other host writes of the drive.
    ///
    /// # Errors
    /// [`NoRoom`] when the die has no room left.
    pub fn write_run<S: FlashSink>(
        &mut self,
        sink: &mut S,
        before: u64,
        first: Lpn,
        count: u32,
    ) -> Result<(), NoRoom> {
        let run = DieRun::new(self.turns, self.die, first, count);
        let start = self.start + before;
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
    /// Whether the dies may work apart for pages that were dealt, or for a run of consecutive ones:
    /// they share nothing, and none comes near the end of its life, which would end the work in the
    /// middle.
    pub fn may_split(&self, media: &Media, dealt: Option<&Dealt>) -> bool {
        let pool = &self.pools[0]; // all have the same limits
        let slc_limit = pool.log.slc.as_ref().map_or(u32::MAX, |cache| cache.worn_limit);
        let limit = pool.wear.limit.min(slc_limit);
        let erases = || dealt.map_or(ERASES_OF_RUN, |dealt| self.erases_of(dealt));
        let is_far = || u64::from(media.erase_count_max()) + erases() < u64::from(limit);
        self.traits.is_separable && pool.log.failures.is_none() && (limit == u32::MAX || is_far())
    }

    /// Erases of a block that these writes may cost: as if all collections of the busiest die took
    /// the same one.
    fn erases_of(&self, dealt: &Dealt) -> u64 {
        ERASES_OF_RUN + WAF_MAX * dealt.most() as u64 / u64::from(self.geometry.pages_per_block)
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
