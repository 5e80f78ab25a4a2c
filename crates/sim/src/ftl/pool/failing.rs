//! Blocks that fail: where one is opened, closed early, emptied and taken out of use.
//!
//! ```text
//! open    its data ends before the program unit that will fail; the rest counts as dead
//! close   the failing program is emitted, with padding, since its data goes elsewhere; the block
//!         is `Failed`: no candidate, still read
//! then    its live pages move when a block is to spare, as those of a worn block: it is retired
//! ```
//! In a superblock a member fails: it ends at the program of the member that fails first. While the
//! die of that member has a spare block, this takes its place before the next erase, and the
//! superblock stays in use; else it is retired, and the other members are spare blocks from then
//! on.
//!
//! A collection counts on a whole block, so the reserve is a block larger where programs may fail.
//! One that has to open the last erased block takes it as sound for this use, and one that gives no
//! block back leaves the last one to the next.

use std::ops::Range;

use super::block_state::BlockState;
use super::collection::Collection;
use super::frontier::Frontier;
use super::log::Log;
use super::wear::Wear;
use crate::ftl::books::Books;
use crate::ftl::config::Part;
use crate::ftl::map::Map;
use crate::ftl::sink::FlashSink;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::superblock::{Members, HOLE};
use crate::units::{BlockId, Ppn};

/// Blocks of the flash that a block is made of, each with its place: members of a superblock, or
/// the block itself.
fn blocks_of(media: &Media, block: BlockId) -> impl Iterator<Item = (u32, BlockId)> + '_ {
    let itself = media.superblocks().is_none().then_some(block.0);
    let all = (0..).zip(media.members_of(block).iter().copied().chain(itself));
    all.filter(|&(_, own)| own != HOLE).map(|(member, own)| (member, BlockId(own)))
}

impl Log {
    /// The page of a block, in its native mode, from which on its next use fails, and the member of
    /// a superblock that this is due to.
    fn failing_program(&self, media: &Media, block: BlockId) -> Option<(u32, u32)> {
        let failures = self.failures?;
        let programs = self.units.programs_per_block();
        let erase_count = media.erase_count(block);
        let shape = media.superblocks().map(Members::shape);
        let pages = shape.map_or(self.geometry.pages_per_block, |it| it.member_slots(false));
        let failing = blocks_of(media, block).filter_map(|(member, own)| {
            let index = failures.failing_program(own, erase_count, programs)?;
            // A block holds at least one unit: a frontier is never empty.
            let page = index.max(1) * (pages / programs);
            let slot = shape.map_or(page, |it| it.slot(member, page, false));
            let first = self.units.span(slot, false).0;
            (first > 0).then_some((first, member))
        });
        failing.min()
    }

    /// The page of a block, in its native mode, from which on its next use fails.
    fn failing_page(&self, media: &Media, block: BlockId) -> Option<u32> {
        self.failing_program(media, block).map(|(page, _)| page)
    }

    /// Cuts the first stretch of data of an opened block at the page that will fail, unless moved
    /// pages need the whole block, because too few others are erased.
    #[cold]
    pub(super) fn cut(
        &self,
        map: &mut Map,
        media: &Media,
        block: BlockId,
        stretch: Frontier,
        source: Source,
    ) -> Frontier {
        let needed = 1 + u32::from(self.placement.splits(source)) + u32::from(self.gives_nothing);
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
        let (_, limit) = self.units.span(next.0 - first, false);
        for ppn in next.0..first + limit {
            sink.program_filler(Ppn(ppn), Source::Pad);
            books.counters.programs[Source::Pad as usize] += 1;
        }
        books.counters.failed_programs += 1;
        if let Some(handles) = &mut self.placement.handles {
            handles.note_not_full(block);
        }
        sink.fail_program(block);
        self.set_state(block, BlockState::Failed);
        self.failed.push(block.0);
    }

    /// A block that holds data has failed since it was closed: it is no candidate any more.
    pub(in crate::ftl) fn fail_closed(&mut self, books: &Books, block: BlockId) {
        self.take(books, block);
        self.set_state(block, BlockState::Failed);
        self.failed.push(block.0);
    }

    /// Whether blocks that fail are used again, with another member in place of the failed one.
    pub(in crate::ftl) fn replaces_members(&self) -> bool {
        self.failures.is_some() && self.layout.superblocks().is_some()
    }

    /// Members of a superblock of full density whose next erase fails; 0 of a block that is none.
    fn failing_erases(&self, media: &Media, block: BlockId) -> Vec<u32> {
        let Some(failures) = self.failures else { return Vec::new() };
        let erase_count = media.erase_count(block);
        let failing = blocks_of(media, block)
            .filter(|&(_, own)| failures.fails_erase(own, erase_count))
            .map(|(member, _)| member);
        failing.collect()
    }

    /// Whether the next erase of a block of full density fails.
    pub(super) fn fails_erase(&self, media: &Media, block: BlockId) -> bool {
        !self.failing_erases(media, block).is_empty()
    }

    /// Members of a superblock that must not be used again: those whose next erase fails and, with
    /// `has_failed`, the member whose program failed.
    pub(in crate::ftl) fn failed_members(
        &self,
        media: &Media,
        block: BlockId,
        has_failed: bool,
    ) -> Vec<u32> {
        let mut failed = self.failing_erases(media, block);
        if has_failed {
            let at_program = self.failing_program(media, block).map(|(_, member)| member);
            failed.extend(at_program.filter(|it| !failed.contains(it)));
        }
        failed
    }

    /// Whether members have failed, with `has_failed` at a program too, that no spare replaces.
    fn is_short_of_members(&self, media: &Media, block: BlockId, has_failed: bool) -> bool {
        let failed = self.failed_members(media, block, has_failed);
        let is_replaced = |&member: &u32| {
            media.superblocks().is_some_and(|it| it.spare_for(block, member).is_some())
        };
        !failed.iter().all(is_replaced)
    }

    /// Replaces the members of a victim that have failed, before it is erased.
    pub(super) fn replace_failed<S: FlashSink>(
        &self,
        books: &mut Books,
        sink: &mut S,
        collection: Collection,
    ) {
        let Collection { victim, source, has_failed, .. } = collection;
        if self.failures.is_none() || !matches!(source, Source::Gc | Source::Refresh) {
            return;
        }
        let failing = self.failing_erases(sink.media(), victim);
        for member in self.failed_members(sink.media(), victim, has_failed) {
            let fails_erase = failing.contains(&member);
            books.counters.failed_erases += u64::from(fails_erase);
            sink.replace_member(victim, member, fails_erase);
        }
    }
}

impl Wear {
    /// Whether a block of full density is not to be erased again.
    pub(in crate::ftl) fn is_last_use(&self, log: &Log, media: &Media, block: BlockId) -> bool {
        if self.is_worn(media, block) {
            return true;
        }
        if log.failures.is_none() {
            return false;
        }
        let has_failed = log.state(block) == BlockState::Failed;
        log.is_short_of_members(media, block, has_failed)
    }

    /// Whether a block of full density that is written to its end and erased is lost by that: it is
    /// worn, or fails and cannot be repaired.
    pub(in crate::ftl) fn fails_in_use(&self, log: &Log, media: &Media, block: BlockId) -> bool {
        self.is_worn(media, block)
            || log.failures.is_some() && log.is_short_of_members(media, block, true)
    }

    /// A block that failed and is to be retired: the pool keeps `needed` blocks without it.
    pub(super) fn failed_to_retire(
        &self,
        log: &mut Log,
        media: &Media,
        needed: u32,
    ) -> Option<u32> {
        let &block = log.failed.last()?;
        let is_due = self.good_blocks > needed && self.is_last_use(log, media, BlockId(block));
        is_due.then(|| log.failed.pop()).flatten()
    }

    /// A superblock of which a member has failed that will be replaced: a victim like others.
    pub(super) fn failed_to_erase(&self, log: &mut Log, media: &Media) -> Option<u32> {
        let &block = log.failed.last()?;
        (!self.is_last_use(log, media, BlockId(block))).then(|| log.failed.pop()).flatten()
    }

    /// Members of a superblock that is retired that must not be used again: all, when it is worn.
    pub(in crate::ftl) fn members_to_retire(
        &self,
        log: &Log,
        media: &Media,
        block: BlockId,
        has_failed: bool,
    ) -> Vec<u32> {
        if self.is_worn(media, block) || log.is_member(block) {
            return (0..media.members_of(block).len() as u32).collect();
        }
        log.failed_members(media, block, has_failed)
    }

    /// Emits the erase that fails, for a block that is neither worn nor failed before.
    pub(super) fn note_retired<S: FlashSink>(
        &self,
        books: &mut Books,
        sink: &mut S,
        collection: Collection,
    ) {
        let Collection { victim, has_failed, .. } = collection;
        let is_worn = self.is_worn(sink.media(), victim);
        if matches!(collection.source, Source::Gc | Source::Refresh) && !has_failed && !is_worn {
            books.counters.failed_erases += 1;
            sink.fail_erase(victim);
        }
    }
}
