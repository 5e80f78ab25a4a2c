//! Blocks that fail: where one is opened, closed early, emptied and taken out of use.
//!
//! ```text
//! open    its data ends before the program unit that will fail; the rest counts as dead
//! close   the failing program is emitted, with padding, since its data goes elsewhere; the block
//!         is `Failed`: no candidate, still read
//! then    its live pages move when a block is to spare, as those of a worn block: it is retired
//! ```
//! A collection counts on a whole block, so the reserve is a block larger where programs may fail.
//! One that has to open the last erased block takes it as sound for this use.

use std::ops::Range;

use super::books::Books;
use super::collection::Collection;
use super::frontier::{BlockState, Frontier};
use super::layout::Part;
use super::log::Log;
use super::map::Map;
use super::pool::Pool;
use super::sink::FlashSink;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::{BlockId, Ppn};

impl Log {
    /// The page of a block, in its native mode, from which on its next use fails.
    fn failing_page(&self, media: &Media, block: BlockId) -> Option<u32> {
        let programs = self.units.programs_per_block();
        let erase_count = media.erase_count(block);
        let index = self.failures?.failing_program(block, erase_count, programs)?;
        // A block holds at least one unit: a frontier is never empty.
        let page = index.max(1) * (self.geometry.pages_per_block / programs);
        let first = self.units.span(page, false, self.geometry.pages_per_block).0;
        (first > 0).then_some(first)
    }

    /// Cuts the first stretch of data of an opened block where it will fail; `erased` blocks are
    /// left beside it.
    #[cold]
    pub(super) fn cut(
        &self,
        map: &mut Map,
        media: &Media,
        block: BlockId,
        stretch: Frontier,
        source: Source,
    ) -> Frontier {
        let needed = 1 + u32::from(self.placement.splits(source));
        let is_last = source != Source::Host && self.erased.len() < needed;
        let Some(page) = self.failing_page(media, block).filter(|_| !is_last) else {
            return stretch;
        };
        let first = self.geometry.first_page(block).0;
        for data in self.data_from(media, block, page) {
            map.kill_run(Ppn(first + data.start), data.end - data.start);
        }
        Frontier { next: stretch.next, limit: stretch.limit.min(first + page) }
    }

    /// The stretches of data of a block, in its native mode, from a page on.
    fn data_from<'a>(
        &'a self,
        media: &'a Media,
        block: BlockId,
        mut page: u32,
    ) -> impl Iterator<Item = Range<u32>> + 'a {
        let stretch = move || {
            while page < self.geometry.pages_per_block {
                let (first, members) = (page, media.members_of(block));
                let (part, limit) = self.layout.part(self.die, CellMode::Native, members, first);
                page = limit;
                if part == Part::Data {
                    return Some(first..limit);
                }
            }
            None
        };
        std::iter::from_fn(stretch)
    }

    /// The page from which on an open block fails, if it does in this use: its last page of data
    /// was not written, and counts as dead.
    pub(super) fn cut_page(&self, map: &Map, media: &Media, block: BlockId) -> Option<u32> {
        self.failures?;
        if media.mode(block) == CellMode::Slc {
            return None;
        }
        let page = self.failing_page(media, block)?;
        let last = self.data_from(media, block, page).last()?.end - 1;
        (!map.is_live(Ppn(self.geometry.first_page(block).0 + last))).then_some(page)
    }

    /// Emits the program that fails, and closes the block there.
    #[cold]
    pub(super) fn close_failed<S: FlashSink>(
        &mut self,
        books: &mut Books,
        sink: &mut S,
        block: BlockId,
        next: Ppn,
    ) {
        let first = self.geometry.first_page(block).0;
        let (_, limit) = self.units.span(next.0 - first, false, self.geometry.pages_per_block);
        for ppn in next.0..first + limit {
            sink.program_filler(Ppn(ppn), Source::Pad);
            books.counters.programs[Source::Pad as usize] += 1;
        }
        books.counters.failed_programs += 1;
        self.set_state(block, BlockState::Failed);
        self.failed.push(block.0);
    }

    /// Whether the next erase of a block of full density fails.
    pub(super) fn fails_erase(&self, media: &Media, block: BlockId) -> bool {
        let fails = |it: crate::nand::Failures| it.fails_erase(block, media.erase_count(block));
        self.failures.is_some_and(fails)
    }
}

impl Pool {
    /// Whether a block of full density is not to be erased again.
    pub(super) fn is_last_use(&self, media: &Media, block: BlockId) -> bool {
        media.erase_count(block) >= self.worn_limit || self.log.fails_erase(media, block)
    }

    /// A block that failed and that the pool can do without, beside so many others.
    pub(super) fn failed_to_retire(&mut self, needed: u32) -> Option<u32> {
        if self.good_blocks > needed {
            self.log.failed.pop()
        } else {
            None
        }
    }

    /// Emits the erase that fails, for a block that is neither worn nor failed before.
    pub(super) fn note_retired<S: FlashSink>(
        &self,
        books: &mut Books,
        sink: &mut S,
        collection: Collection,
    ) {
        let Collection { victim, has_failed, .. } = collection;
        let is_worn = sink.media().erase_count(victim) >= self.worn_limit;
        if matches!(collection.source, Source::Gc | Source::Refresh) && !has_failed && !is_worn {
            books.counters.failed_erases += 1;
            sink.fail_erase(victim);
        }
    }
}
