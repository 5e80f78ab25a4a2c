//! Calls of the drive into firmware that does not map pages in RAM: see `mapping`.

use super::{Request, Translation, Use};
use crate::ftl::books::Books;
use crate::ftl::pool::Pool;
use crate::ftl::sink::{FlashSink, NoRoom};
use crate::ftl::{Ftl, FtlConfig, PoolSetup};
use crate::nand::CellMode;
use crate::units::{BlockId, Lpn};

impl Ftl {
    /// The map in the blocks that its pools have set apart.
    pub(in crate::ftl) fn translation(
        config: &FtlConfig,
        setup: &PoolSetup,
        pools: &[Pool],
    ) -> Option<Box<Translation>> {
        let blocks = || pools.iter().map(|pool| pool.map_blocks.clone()).collect();
        config.mapping.dftl()?;
        Translation::new(config, setup, blocks()).map(Box::new)
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
        if sink.holds_back(die) {
            Err(NoRoom::Stalled(die))
        } else if self.books.translation.as_ref().is_some_and(|it| it.is_worn()) {
            Err(NoRoom::WornOut)
        } else {
            let Self { pools, books, request, .. } = self;
            let pool = &mut pools[die.0 as usize];
            if let Some(scheme) = &mut pool.scheme {
                scheme.write(&mut pool.log, books, sink, lpn, *request)
            } else {
                self.translate(sink, lpn, Use::Change);
                self.pools[die.0 as usize].write(&mut self.books, sink, lpn)?;
                let Books { translation, counters, now, .. } = &mut self.books;
                if let Some(translation) = translation {
                    translation.host_wrote(counters, sink, *now);
                }
                Ok(())
            }
        }
    }

    /// The following pages belong to a request of `page_count` pages.
    #[inline]
    pub fn begin_request(&mut self, page_count: u32) {
        self.request = Request { number: self.request.number + 1, page_count };
    }

    /// Completes the work that waits for the next write of the host, since none comes soon.
    pub(in crate::ftl) fn merge_all<S: FlashSink>(&mut self, sink: &mut S) {
        for pool in &mut self.pools {
            if let Some(scheme) = &mut pool.scheme {
                scheme.settle(&mut pool.log, &mut self.books, sink);
            }
        }
    }
}
