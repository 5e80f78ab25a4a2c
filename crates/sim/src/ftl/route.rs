//! Dies that are chosen by their load: `ftl.allocation: dynamic`.
//!
//! ```text
//! units    0 1 2 3 4 5 6 7
//! dynamic  a b c d e f g h      each to the least loaded die
//! 1 page   a a b b c c d d      of two units: a page is filled before the next die is chosen
//! 2 pages  a a a a b b b b      as many as the planes, which then work one after the other
//! ```
//! A die takes a page only while its live pages leave it the blocks that it needs to collect:
//! reserve, open blocks and one of slack. So a pool can always collect, and since each takes at
//! least its share of the logical pages, one of them has room whenever the host may write.

use super::sink::{FlashSink, NoRoom};
use super::{Ftl, FtlConfig, MapCheckpoint, Route};
use crate::geometry::Geometry;
use crate::op::Source;
use crate::units::{DieId, Lpn};

/// Where the next page of the host goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Where the search begins, behind the die that was chosen last.
    turn: u32,
    /// Map units that the die chosen last takes before another is.
    left: u32,
    /// Map units that a die takes, at least 1.
    together: u32,
}

impl Place {
    pub(super) fn new(config: &FtlConfig, geometry: &Geometry) -> Self {
        let together = config.allocation.units_together(geometry.units_per_page).max(1);
        Self { turn: 0, left: 0, together }
    }

    /// The state as one number, for a drive of `dies` dies.
    pub(super) fn save(self, dies: u32) -> u32 {
        self.turn + self.left * dies
    }

    /// What [`Place::save`] gave; anything else is brought into range.
    pub(super) fn restore(&mut self, saved: u32, dies: u32) {
        (self.turn, self.left) = (saved % dies, (saved / dies).min(self.together - 1));
    }
}

impl Ftl {
    /// Writes a page of the host to the least loaded die, or to the one before it while that is to
    /// take more.
    #[inline(never)]
    pub(super) fn write_balanced<S: FlashSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
        place: Place,
    ) -> Result<(), NoRoom> {
        let old_die = self.books.map.find(lpn).map(|ppn| self.die_of_page(ppn));
        let dies = self.geometry.die_count;
        let last = DieId((place.turn + dies - 1) % dies);
        let stays = place.left > 0 && self.has_room(last, old_die) && !self.would_stall(sink, last);
        let die = if stays { last } else { self.least_loaded(sink, old_die, place.turn) };
        let left = if stays { place.left } else { place.together };
        if self.pools[die.0 as usize].log.may_be_cut && !sink.collects_in_steps() {
            self.complete_elsewhere(sink, die);
        }
        let pool = &mut self.pools[die.0 as usize];
        let (ppn, old) = pool.write_shared(&mut self.books, sink, lpn)?;
        if let Some(old) = old {
            self.kill(old);
        }
        if let Some(share) = &mut self.pools[die.0 as usize].share {
            share.live_pages += 1;
        }
        self.route = Route::Dynamic(Place { turn: (die.0 + 1) % dies, left: left - 1, ..place });
        self.books.counters.programs[Source::Host as usize] += 1;
        sink.program(ppn, lpn, Source::Host);
        if let Some(checkpoint) = self.checkpoint {
            self.write_checkpoint(sink, checkpoint);
        }
        Ok(())
    }

    /// Writes the next part of a map in RAM out, if it is due, in turn to all dies. Its pages are
    /// dead from the start: the map itself is the newer copy. Dies without room are skipped.
    fn write_checkpoint<S: FlashSink>(&mut self, sink: &mut S, checkpoint: MapCheckpoint) {
        if !self.books.now.is_multiple_of(checkpoint.every_writes) {
            return;
        }
        for page in 0..checkpoint.pages {
            let pool = &mut self.pools[(page % self.geometry.die_count) as usize];
            for _ in 0..self.geometry.units_per_page {
                pool.write_record(&mut self.books, sink);
            }
        }
    }

    /// Whether a die may hold a page more; `old_die` is rid of one.
    fn has_room(&self, die: DieId, old_die: Option<DieId>) -> bool {
        let pool = &self.pools[die.0 as usize];
        let freed = u32::from(old_die == Some(die));
        let held = pool.share.as_ref().map_or(0, |share| share.live_pages);
        held - freed < pool.live_limit()
    }

    fn would_stall<S: FlashSink>(&self, sink: &S, die: DieId) -> bool {
        sink.collects_in_steps() && self.pools[die.0 as usize].would_stall()
    }

    /// The die with the least load among those with room; among equal loads, the dies take turns.
    fn least_loaded<S: FlashSink>(&self, sink: &S, old_die: Option<DieId>, turn: u32) -> DieId {
        let dies = self.geometry.die_count;
        let mut best = None;
        for die in (turn..dies).chain(0..turn).map(DieId) {
            if !self.has_room(die, old_die) {
                continue;
            }
            let load = (self.would_stall(sink, die), sink.load(die));
            if best.is_none_or(|(least, _)| load < least) {
                best = Some((load, die));
            }
            // None has less, and without a clock all have none.
            if load == (false, 0) {
                break;
            }
        }
        best.expect("live pages never exceed the logical pages, which fit the dies").1
    }
}
