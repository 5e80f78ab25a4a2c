//! Dies in another order than `lpn mod dies`, and dies chosen by load.
//!
//! Under dynamic allocation a page may live in any die. A die takes a page only while its live
//! pages leave it the blocks that it needs to collect: reserve, open blocks and one of slack. So a
//! pool can always collect, and since each takes at least its share of the logical pages, one of
//! them has room whenever the host may write.

use super::{FlashSink, Ftl, FtlConfig, NoRoom, PoolSetup};
use crate::nand::CellMode;
use crate::op::Source;
use crate::units::{DieId, Lpn, Ppn};

/// What choosing dies needs to know.
pub(crate) struct Balance {
    /// Live pages by die.
    pub(crate) live_pages: Vec<u32>,
    /// Blocks of each die that hold no live pages when it is as full as it may be.
    idle_blocks: Vec<u32>,
    /// Where the search for the least load begins.
    pub(crate) turn: u32,
}

impl Balance {
    /// `None` when logical pages belong to dies for life.
    pub(crate) fn new(config: &FtlConfig, setup: &PoolSetup) -> Option<Self> {
        let is_dynamic = config.allocation == super::Allocation::Dynamic;
        (is_dynamic && setup.geometry.die_count > 1).then(|| Self {
            live_pages: vec![0; setup.geometry.die_count as usize],
            idle_blocks: (0..setup.geometry.die_count)
                .map(|die| setup.reserve_of(DieId(die)) + config.extra_frontiers() + 1)
                .collect(),
            turn: 0,
        })
    }
}

impl Ftl {
    /// Writes a page of the host where dies do not simply take turns.
    #[inline(never)]
    pub(super) fn write_in_order<S: FlashSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        if self.balance.is_none() {
            return self.write_to(sink, self.geometry.die_of(lpn).0 as usize, lpn);
        }
        let old = self.map.find(lpn);
        let die = self.least_loaded(sink, old);
        let stream = self.placement.stream(lpn, Source::Host);
        if self.pools[die].frontiers[stream].is_full() {
            self.make_room(sink, die, stream)?;
        }
        self.host_clock += 1;
        // Making room may have moved the old copy, inside its die.
        let ppn = self.next_page(die, stream);
        if let Some(old) = self.map.bind(lpn, ppn) {
            let old_die = self.die_holding(lpn, old);
            self.kill(old_die, old);
        }
        let balance = self.balance.as_mut().expect("it was there");
        balance.live_pages[die] += 1;
        balance.turn = (die as u32 + 1) % self.geometry.die_count;
        self.counters.programs[Source::Host as usize] += 1;
        sink.program(ppn, lpn, Source::Host);
        Ok(())
    }

    /// The die with the least load among those with room; those that take turns go on behind the
    /// last.
    fn least_loaded<S: FlashSink>(&self, sink: &S, old: Option<Ppn>) -> usize {
        let balance = self.balance.as_ref().expect("the caller has looked");
        let old_die = old.map(|ppn| self.geometry.die_of_block(self.geometry.block_of(ppn)));
        let dies = self.geometry.die_count;
        let steps = sink.collects_in_steps();
        let mut best = None;
        for die in (balance.turn..dies).chain(0..balance.turn).map(DieId) {
            let freed = u32::from(old_die == Some(die));
            if balance.live_pages[die.0 as usize] - freed >= self.live_limit(die) {
                continue;
            }
            let load = (steps && self.would_stall(die), sink.load(die));
            if best.is_none_or(|(least, _)| load < least) {
                best = Some((load, die));
            }
            // None has less, and without a clock all have none.
            if load == (false, 0) {
                break;
            }
        }
        let (_, die) = best.expect("live pages never exceed the logical pages, which fit the dies");
        die.0 as usize
    }

    /// Live pages that a die may hold.
    fn live_limit(&self, die: DieId) -> u32 {
        let balance = self.balance.as_ref().expect("the caller has looked");
        let blocks = self.pools[die.0 as usize].good_blocks - balance.idle_blocks[die.0 as usize];
        blocks * self.layout.data_pages(die, CellMode::Native)
    }

    /// Good blocks that a pool cannot do without.
    pub(super) fn good_blocks_needed(&self, die: usize) -> u32 {
        let pool = &self.pools[die];
        let Some(balance) = &self.balance else { return pool.good_blocks_min };
        let per_block = self.layout.data_pages(DieId(die as u32), CellMode::Native);
        let held = balance.live_pages[die].div_ceil(per_block) + balance.idle_blocks[die];
        held.max(pool.good_blocks_min)
    }

    fn would_stall(&self, die: DieId) -> bool {
        let pool = &self.pools[die.0 as usize];
        pool.frontiers[super::pool::HOST_FRONTIER].is_full() && self.spare_blocks_of(die) == 0
    }

    /// The die of a logical page that was just unbound from `old`, which is accounted for.
    pub(super) fn die_holding(&mut self, lpn: Lpn, old: Ppn) -> usize {
        let Some(balance) = &mut self.balance else {
            return self.geometry.die_of(lpn).0 as usize;
        };
        let die = self.geometry.die_of_block(self.geometry.block_of(old)).0 as usize;
        balance.live_pages[die] -= 1;
        die
    }
}
