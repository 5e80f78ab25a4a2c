//! The sink of the timed executor: the FTL's operations, queued on the back end.
//!
//! An operation of a command makes the command wait for it; one that moves data does not. The
//! program of a page that leaves the write cache frees its slot there instead.

use std::collections::VecDeque;

use super::backend::Backend;
use super::collector::Stalled;
use super::drive::CommandSink;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::engine::Engine;
use crate::ftl::{FlashSink, MoveRun, MoveWay};
use crate::geometry::Geometry;
use crate::host::cache::Fence;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::reads::{Extra, ReadErrors};
use crate::units::{BlockId, DieId, Lpn, Ppn};

/// Pages of the write cache on their way to the flash, and who waits for a slot there.
#[derive(Default)]
pub(super) struct CacheSlots {
    pub(super) capacity: usize,
    pub(super) in_flight: usize,
    /// Commands that wait for a slot, once per page.
    pub(super) waiters: VecDeque<u32>,
    pub(super) fence: Fence,
}

/// See the module.
pub(super) struct TimedSink<'a> {
    pub(super) media: &'a mut Media,
    pub(super) errors: &'a mut ReadErrors,
    pub(super) engine: &'a mut Engine,
    pub(super) backend: &'a mut Backend,
    pub(super) cache: &'a mut CacheSlots,
    pub(super) geometry: Geometry,
    /// The command that asks, or [`NO_COMMAND`].
    pub(super) slot: u32,
    /// Operations and cache slots that the command waits for.
    pub(super) waits: u32,
    pub(super) is_flush: bool,
    /// Whether collections are scheduled in steps.
    pub(super) in_steps: bool,
    /// The epoch of a page that leaves the cache after it stalled.
    pub(super) epoch: Option<u32>,
    /// Page writes without room, and the dies that host operations went to; with steps only.
    pub(super) stalled: &'a mut Vec<Stalled>,
    pub(super) touched: &'a mut Vec<u32>,
    pub(super) flash_ops: u64,
    pub(super) programmed_pages: u64,
}

impl TimedSink<'_> {
    #[inline]
    fn push(&mut self, first: Ppn, count: u32, kind: OpKind, source: Source, extra: Extra) {
        self.push_run(first, count, count, kind, source, extra);
    }

    #[inline]
    fn push_run(
        &mut self,
        first: Ppn,
        count: u32,
        sense_count: u32,
        kind: OpKind,
        source: Source,
        extra: Extra,
    ) {
        let is_host = matches!(source, Source::Host | Source::Merge | Source::Rebuild);
        let waits = is_host && !self.is_flush && self.slot != NO_COMMAND;
        self.waits += u32::from(waits);
        self.flash_ops += u64::from(count);
        let frees_buffer = self.is_flush && source == Source::Host;
        let command = match (waits, frees_buffer) {
            (true, _) => self.slot,
            // Of a program of the write cache: its epoch.
            (_, true) => self.epoch.take().unwrap_or_else(|| self.cache.fence.begin()),
            _ => NO_COMMAND,
        };
        if frees_buffer {
            self.is_flush = false;
            self.cache.in_flight += 1;
        }
        let block = self.geometry.block_of(first);
        let page_types = self.backend.page_types();
        let page_type = if page_types == 1 {
            0
        } else {
            self.geometry.row_of(self.geometry.page_index(first)) % page_types
        };
        // Only the full back end asks what the block has been through.
        let (erase_count, is_slc) = if self.backend.is_full() {
            (self.media.erase_count(block), self.media.mode(block) == CellMode::Slc)
        } else {
            (0, false)
        };
        let op = FlashOp {
            first,
            count,
            sense_count,
            command,
            erase_count,
            kind,
            source,
            page_type: page_type as u8,
            retries: extra.retries.min(u32::from(u16::MAX)) as u16,
            soft_reads: extra.soft_reads.min(u32::from(u16::MAX)) as u16,
            attempts: extra.attempts.min(u32::from(u16::MAX)) as u16,
            is_slc,
            frees_buffer,
        };
        let die = self.geometry.die_of_block(block);
        if self.in_steps && is_host {
            self.touched.push(die.0);
        }
        self.backend.enqueue(self.engine, die, op);
    }
}

impl TimedSink<'_> {
    /// Reads the rest of the stripe of a page that the code could not correct: the pages at the
    /// same place of the dies that follow.
    #[cold]
    fn rebuild(&mut self, lost: Ppn) {
        let geometry = self.geometry;
        let block = geometry.block_of(lost);
        let (die, place) = (geometry.die_of_block(block).0, block.0 % geometry.blocks_per_die);
        for (step, extra) in (1..).zip(self.errors.rebuild_costs()) {
            let other = (die + step) % geometry.die_count;
            let first = geometry.first_page(BlockId(other * geometry.blocks_per_die + place));
            let page = Ppn(first.0 + geometry.page_index(lost));
            self.push(page, 1, OpKind::Read, Source::Rebuild, extra);
        }
    }
}

impl FlashSink for TimedSink<'_> {
    #[inline]
    fn media(&self) -> &Media {
        self.media
    }

    #[inline]
    fn read(&mut self, ppn: Ppn, source: Source) {
        let extra = self.errors.record_page(self.media, ppn, source);
        self.push(ppn, 1, OpKind::Read, source, extra);
        if self.errors.has_lost() {
            self.rebuild(ppn);
        }
    }

    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source) {
        let extra = self.errors.record_in(self.media, block, page_count, source);
        if page_count > 0 {
            self.push(self.geometry.first_page(block), page_count, OpKind::Read, source, extra);
        }
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source) {
        self.programmed_pages += 1;
        self.media.program(ppn, lpn);
        self.push(ppn, 1, OpKind::Program, source, Extra::default());
    }

    fn program_run(&mut self, first: Ppn, lpns: &[u32], source: Source) {
        self.programmed_pages += lpns.len() as u64;
        self.media.program_run(first, lpns);
        self.push(first, lpns.len() as u32, OpKind::Program, source, Extra::default());
    }

    fn erase(&mut self, block: BlockId, source: Source) -> u32 {
        // The operation counts on the block as it is before this erase.
        self.push(self.geometry.first_page(block), 1, OpKind::Erase, source, Extra::default());
        self.media.erase(block)
    }

    fn retire(&mut self, block: BlockId) {
        self.media.retire(block);
    }

    fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        self.media.set_mode(block, mode);
    }

    #[inline]
    fn collects_in_steps(&self) -> bool {
        self.in_steps
    }

    #[inline]
    fn load(&self, die: DieId) -> u32 {
        self.backend.load(die)
    }

    fn tells_pages(&self) -> bool {
        self.errors.tells_pages()
    }

    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source) {
        let count = page_indices.len() as u32;
        let extra = self.errors.record_pages(self.media, block, page_indices, source);
        let rows = page_indices
            .chunk_by(|&one, &next| self.geometry.row_of(one) == self.geometry.row_of(next));
        let sense_count = rows.count() as u32;
        if let Some(&first) = page_indices.first() {
            let first = Ppn(self.geometry.first_page(block).0 + first);
            self.push_run(first, count, sense_count, OpKind::Read, source, extra);
        }
    }

    fn move_run(&mut self, run: &MoveRun<'_>) {
        self.programmed_pages += run.lpns.len() as u64;
        self.media.program_run(run.first, run.lpns);
        let kind = match run.way {
            MoveWay::Bus => OpKind::Program,
            MoveWay::Inside => {
                // The pages pass no decoder: their errors go with them, and are met when they are
                // read.
                self.media.note_copyback(run.victim, self.geometry.block_of(run.first));
                OpKind::Copyback
            }
        };
        self.push(run.first, run.lpns.len() as u32, kind, run.source, Extra::default());
    }
}

impl CommandSink for TimedSink<'_> {
    #[inline]
    fn flush_next(&mut self) {
        self.is_flush = true;
    }

    fn buffered(&mut self, waiting: usize) {
        let cache = &mut *self.cache;
        if waiting + cache.in_flight > cache.capacity + cache.waiters.len() {
            self.waits += 1;
            cache.waiters.push_back(self.slot);
        }
    }

    fn stalled(&mut self, die: DieId, lpn: Lpn) {
        let mut epoch = None;
        if self.is_flush {
            self.is_flush = false;
            self.cache.in_flight += 1;
            epoch = Some(self.epoch.take().unwrap_or_else(|| self.cache.fence.begin()));
        } else {
            self.waits += 1;
        }
        self.stalled.push(Stalled { die: die.0, lpn, slot: self.slot, epoch });
    }

    fn fence(&mut self) {
        self.waits += u32::from(self.cache.fence.close(self.slot));
    }
}
