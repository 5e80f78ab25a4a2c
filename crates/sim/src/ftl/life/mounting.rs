//! The firmware of a drive that has lost power: its tables are rebuilt.
//!
//! The flash gives the newest copy of each logical page, and the blocks that were written since
//! their erase. Map and live pages follow from it. All orders start from new: the erased blocks are
//! ordered by number, and every written block is closed, an open one too, since the state of the
//! pages after an interrupted program is unknown. Blocks of one bit per cell are cached in the
//! order in which they were opened, which the flash gives.

use crate::ftl::books::Books;
use crate::ftl::pool::{BlockState, Log, HOST_FRONTIER};
use crate::ftl::sink::FlashSink;
use crate::ftl::{Ftl, FtlConfig, PoolSetup, Setting};
use crate::geometry::UNMAPPED;
use crate::nand::{CellMode, Media};
use crate::units::{BlockId, DieId, Ppn};

impl Ftl {
    /// The firmware that finds these pages on the media: by logical page 1 + the number of its
    /// page, or 0 if it has none, and by block the number of its opening, if anything was written
    /// in it since its erase.
    pub fn mount(
        config: &FtlConfig,
        setup: &PoolSetup,
        media: &Media,
        places: impl Iterator<Item = u32>,
        opening: impl Fn(BlockId) -> Option<u64>,
    ) -> Self {
        let mut ftl = Self::new(config, setup, media);
        ftl.set(Setting::Cuts(true));
        ftl.books.map.mount(places);
        if ftl.pools.iter().any(|pool| pool.share.is_some()) {
            ftl.count_shares();
        }
        for pool in &mut ftl.pools {
            pool.log.mount(&ftl.books, media, &opening);
        }
        ftl
    }

    /// Counts the live pages of each pool.
    fn count_shares(&mut self) {
        for ppn in self.books.map.places().filter(|&ppn| ppn != UNMAPPED).map(Ppn) {
            let die = self.geometry.die_of_block(self.geometry.block_of(ppn)).0 as usize;
            if let Some(share) = &mut self.pools[die].share {
                share.live_pages += 1;
            }
        }
    }

    /// If dies are chosen by load, newer data of a victim may wait in memory for the program unit
    /// of another die. Before a die whose open block is full collects at once, the units of all
    /// others are completed.
    #[cold]
    pub(in crate::ftl) fn complete_elsewhere<S: FlashSink>(&mut self, sink: &mut S, die: DieId) {
        let own = &self.pools[die.0 as usize].log;
        let host = HOST_FRONTIER..=own.placement.last_host_stream();
        if own.frontiers[host].iter().any(|frontier| frontier.is_full()) {
            let others = self.pools.iter_mut().filter(|pool| pool.log.die != die);
            others.for_each(|pool| pool.log.complete_units(&mut self.books, sink));
        }
    }

    /// The same before the last step of a collection: of units that hold something newer than its
    /// victim.
    #[cold]
    pub(in crate::ftl) fn complete_newer<S: FlashSink>(
        &mut self,
        sink: &mut S,
        die: DieId,
        limit: u32,
    ) {
        let pool = &self.pools[die.0 as usize];
        let Some(victim) = pool.moves.victim() else { return };
        if pool.log.may_be_cut && pool.log.live_pages(&self.books, victim) <= limit {
            for pool in &mut self.pools {
                pool.log.complete_copies(&mut self.books, sink, victim);
            }
        }
    }
}

impl Log {
    /// Sorts the blocks of a die: written blocks are closed, or cached, and the others are erased.
    fn mount(&mut self, books: &Books, media: &Media, opening: impl Fn(BlockId) -> Option<u64>) {
        while self.erased.pop().is_some() {}
        if let Some(cache) = &mut self.slc {
            cache.erased.clear();
        }
        let mut cached = Vec::new();
        for block in self.blocks().map(BlockId).filter(|&block| !media.is_bad(block)) {
            let opened = opening(block);
            let cache = self.slc.as_mut().filter(|cache| cache.has_member(block));
            match (opened, cache) {
                (None, Some(cache)) => cache.erased.push_back(block.0),
                (None, None) => self.erased.push(block.0, media.erase_count(block)),
                (Some(opened), _) if media.mode(block) == CellMode::Slc => {
                    self.set_state(block, BlockState::Cached);
                    cached.push((opened, block));
                }
                (Some(_), _) => {
                    self.set_state(block, BlockState::Closed);
                    self.note_closed(block, None);
                    self.offer(books, block.0);
                }
            }
        }
        // The oldest is folded first.
        cached.sort_unstable();
        for (_, block) in cached {
            self.note_closed(block, None);
            if let Some(cache) = &mut self.slc {
                cache.guest_count += u32::from(!cache.has_member(block));
                cache.cached.push_back(block.0);
            }
        }
    }
}
