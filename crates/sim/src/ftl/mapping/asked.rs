//! Calls of the drive into firmware that does not map pages in RAM: see `mapping`.

use super::{Request, Translation, Use};
use crate::ftl::books::Books;
use crate::ftl::pool::{BlockState, Pool};
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::ftl::{Ftl, FtlConfig, PoolSetup};
use crate::nand::{CellMode, Media};
use crate::units::{BlockId, Lpn};

impl Ftl {
    /// The map in the blocks that its pools have set apart.
    pub(in crate::ftl) fn translation(
        config: &FtlConfig,
        setup: &PoolSetup,
        pools: &[Pool],
    ) -> Option<Box<Translation>> {
        let blocks = || pools.iter().map(|pool| pool.map_blocks.clone()).collect();
        config.mapping.dftl().map(|dftl| Box::new(Translation::new(dftl, setup, blocks())))
    }

    /// Brings the entry of a page into the cache of the map, if the drive has one and this was not
    /// done before.
    #[inline]
    pub(in crate::ftl) fn translate<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn, how: Use) {
        let Books { translation, counters, .. } = &mut self.books;
        if let Some(translation) = translation {
            if !self.is_translated {
                translation.look_up(counters, sink, lpn, how);
            }
        }
    }

    /// The same, before the command that needs the entry continues.
    pub fn look_up<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn, how: Use) {
        let Books { translation, counters, .. } = &mut self.books;
        if let Some(translation) = translation {
            translation.look_up(counters, sink, lpn, how);
        }
    }

    /// Whether the entries of the pages that come next were looked up before.
    pub fn set_translated(&mut self, is_translated: bool) {
        self.is_translated = is_translated;
    }

    /// Whether commands have to wait for entries of the map.
    #[inline]
    pub fn looks_up(&self) -> bool {
        self.books.translation.is_some()
    }

    /// Blocks of the drive that hold map pages, or may.
    pub fn map_block_count(&self) -> usize {
        self.books.translation.as_ref().map_or(0, |translation| translation.block_count())
    }

    /// Map blocks that were erased change places with less worn erased blocks of their pools. Where
    /// erases are scheduled, this waits for a stage in which they are not.
    fn share_wear<S: FlashSink>(&mut self, sink: &mut S) {
        let Some(translation) = &mut self.books.translation else { return };
        if sink.collects_in_steps() {
            return;
        }
        let store = translation.store_mut();
        while let Some(die) = store.take_due() {
            let pool = &mut self.pools[die as usize];
            if let Some((old, new)) = store
                .most_worn(die, sink.media())
                .and_then(|old| Some((old, pool.exchange_for(sink.media(), old)?)))
            {
                // It may have been a block of one bit per cell.
                sink.set_mode(BlockId(new), CellMode::Native);
                store.exchange(die, old, new);
            }
        }
    }

    /// Writes a page of the host where the map is not one of pages in RAM.
    #[inline(never)]
    pub(in crate::ftl) fn write_mapped<S: FlashSink>(
        &mut self,
        sink: &mut S,
        lpn: Lpn,
    ) -> Result<(), NoRoom> {
        self.share_wear(sink);
        let die = self.geometry.die_of(lpn);
        let written = if sink.holds_back(die) {
            Err(NoRoom::Stalled)
        } else if self.books.translation.as_ref().is_some_and(|it| it.is_worn()) {
            Err(NoRoom::WornOut)
        } else {
            let Self { pools, books, request, .. } = self;
            let pool = &mut pools[die.0 as usize];
            if let Some(scheme) = &mut pool.scheme {
                scheme.write(&mut pool.log, books, sink, lpn, *request)
            } else {
                self.translate(sink, lpn, Use::Change);
                self.pools[die.0 as usize].write(&mut self.books, sink, lpn)
            }
        };
        if written.is_err() {
            self.stalled_die = die;
        }
        written
    }

    /// The following pages belong to a request of `page_count` pages.
    #[inline]
    pub fn begin_request(&mut self, page_count: u32) {
        self.request = Request { number: self.request.number + 1, page_count };
    }

    /// Whether it matters which pages belong to one request.
    pub fn tells_requests(&self) -> bool {
        self.merges() || self.looks_up()
    }

    /// Whether blocks of data and log blocks are merged.
    pub fn merges(&self) -> bool {
        self.pools[0].scheme.is_some()
    }

    /// Completes the work that waits for the next write of the host, since none comes soon.
    pub fn rest<S: FlashSink>(&mut self, sink: &mut S) {
        for pool in &mut self.pools {
            if let Some(scheme) = &mut pool.scheme {
                scheme.settle(&mut pool.log, &mut self.books, sink);
            }
        }
    }

    /// As [`Ftl::trim`], after a look-up in the map if that is not in RAM.
    pub fn trim_mapped<S: FlashSink>(&mut self, sink: &mut S, lpn: Lpn) -> bool {
        self.translate(sink, lpn, Use::Change);
        self.trim(lpn)
    }
}

impl Pool {
    /// Exchanges an erased map block for a less worn erased block of the pool, if wear is leveled;
    /// returns the latter.
    fn exchange_for(&mut self, media: &Media, map_block: u32) -> Option<u32> {
        let (worn, new) = (media.erase_count(BlockId(map_block)), self.log.erased.next()?);
        let count = media.erase_count(BlockId(new));
        if !self.shares_wear || count >= worn {
            return None;
        }
        self.log.erased.pop();
        self.log.erased.push(map_block, worn);
        self.log.set_state(BlockId(map_block), BlockState::Erased);
        self.log.set_state(BlockId(new), BlockState::Map);
        self.map_blocks.iter_mut().filter(|it| **it == map_block).for_each(|it| *it = new);
        if let Some(gauge) = &mut self.gauge {
            gauge.exchanged(count, worn);
        }
        Some(new)
    }

    /// Good blocks, those of a cache included.
    pub(crate) fn good_blocks(&self) -> u32 {
        let retired = self.scheme.as_ref().map_or(0, |scheme| scheme.retired());
        let cached = self.log.slc.as_ref().map_or(0, |cache| cache.members.len() as u32);
        self.good_blocks + self.map_blocks.len() as u32 + cached - retired
    }

    /// Good blocks beyond those that the pool cannot do without.
    pub(crate) fn dispensable_blocks(&self) -> u32 {
        let retired = self.scheme.as_ref().map_or(0, |scheme| scheme.retired());
        self.good_blocks.saturating_sub(self.good_blocks_min + retired)
    }

    /// Pages of a block that hold something.
    pub(crate) fn written_pages(&self, block: BlockId) -> u32 {
        match &self.scheme {
            Some(scheme) => scheme.written(block),
            None => self.log.written_limit(block) - self.log.geometry.first_page(block).0,
        }
    }

    /// Other blocks hold map pages than those that a new pool sets apart: the wear of the rest is
    /// counted again.
    pub(crate) fn gauge_anew(&mut self, media: &Media) {
        let Some(gauge) = &self.gauge else { return };
        let is_native = |block: &u32| {
            !media.is_bad(BlockId(*block))
                && !self.map_blocks.contains(block)
                && !self.is_member(BlockId(*block))
        };
        let counts = self.log.blocks().filter(is_native).map(|it| media.erase_count(BlockId(it)));
        self.gauge = Some(gauge.renewed(counts));
    }
}
