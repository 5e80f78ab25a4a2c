//! The sink of the timed executor: the FTL's operations, queued on the back end.
//!
//! An operation of a command makes the command wait for it; one that moves data does not. The
//! program of a page that leaves the write cache frees its slot there instead. An operation on a
//! superblock becomes one on each member that it concerns, and those work at the same time.

use std::collections::VecDeque;

use super::backend::Backend;
use super::collector::{Collector, Stalled};
use super::drive::CommandSink;
use crate::controller::{Detail, FlashOp, OpKind, NO_COMMAND};
use crate::engine::Engine;
use crate::ftl::{FlashSink, MoveRun, MoveWay};
use crate::geometry::Geometry;
use crate::host::cache::Fence;
use crate::host::read_ahead::{Found, ReadAhead};
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::reads::{Extra, Lost, ReadErrors};
use crate::striping::DieRun;
use crate::superblock::{Members, HOLE};
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
    /// The command that asks, or [`NO_COMMAND`].
    pub(super) slot: u32,
    /// Operations and cache slots that the command waits for.
    pub(super) waits: u32,
    pub(super) is_flush: bool,
    /// Told of what the host asks of the dies, where collections are scheduled in steps.
    pub(super) collector: Option<&'a mut Collector>,
    /// What was read ahead, where drives do that.
    pub(super) ahead: Option<&'a mut ReadAhead>,
    /// The epoch of a page that leaves the cache after it stalled.
    pub(super) epoch: Option<u32>,
    pub(super) programmed_pages: u64,
}

impl TimedSink<'_> {
    /// Queues an operation, and lets the command wait for it if it is one of its own.
    #[inline(always)]
    #[allow(clippy::inline_always)] // an operation stays in registers until it is in its queue
    fn push(&mut self, op: FlashOp, extra: Extra) {
        if self.media.superblocks().is_some() {
            return self.push_to_members(op, extra);
        }
        let geometry = *self.media.geometry();
        self.send(op, extra, geometry.block_of(op.first()), &geometry);
    }

    /// Queues an operation on a die of the flash; `block` is the block of the FTL that it belongs
    /// to.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as `push`
    fn send(&mut self, op: FlashOp, extra: Extra, block: BlockId, geometry: &Geometry) {
        let source = op.source();
        let is_host = matches!(source, Source::Host | Source::Merge | Source::Rebuild);
        let is_own = is_host || source == Source::Pad;
        let waits = is_own && !self.is_flush && self.slot != NO_COMMAND;
        self.waits += u32::from(waits);
        let mut op = if waits { op.of_command(self.slot) } else { op };
        if self.is_flush && source == Source::Host {
            self.is_flush = false;
            self.cache.in_flight += 1;
            let epoch = self.epoch.take().unwrap_or_else(|| self.cache.fence.begin());
            op = op.of_command(epoch).freeing_buffer();
        }
        let page_types = self.backend.page_types();
        if page_types > 1 {
            let row = geometry.row_of(geometry.page_index(op.first()));
            op = op.of_type((row % page_types) as u8);
        }
        let die = geometry.die_of_block(geometry.block_of(op.first()));
        if is_host {
            if let Some(collector) = &mut self.collector {
                let pool = self.media.geometry().die_of_block(block);
                collector.touched.push(pool.0);
                if op.kind() == OpKind::Program {
                    collector.note_written(pool, op.count());
                }
            }
        }
        match self.backend {
            Backend::Plain(plain) => plain.enqueue(self.engine, die, op),
            Backend::Full(full) => {
                let detail = Detail {
                    erase_count: self.media.erase_count(block),
                    retries: extra.retries.min(u32::from(u16::MAX)) as u16,
                    soft_reads: extra.soft_reads.min(u32::from(u16::MAX)) as u16,
                    attempts: extra.attempts.min(u32::from(u16::MAX)) as u16,
                };
                let is_slc = self.media.mode(block) == CellMode::Slc;
                full.enqueue(self.engine, die, op.in_slc(is_slc), detail);
            }
        }
    }
}

impl TimedSink<'_> {
    /// Queues an operation on the members of a superblock that it concerns, the first of them
    /// first.
    fn push_to_members(&mut self, op: FlashOp, mut extra: Extra) {
        let Some(members) = self.media.shared_superblocks() else { return };
        let (shape, wide) = (members.shape(), *self.media.geometry());
        let (block, slot) = (wide.block_of(op.first()), wide.page_index(op.first()));
        let is_slc = self.media.mode(block) == CellMode::Slc;
        if op.kind() == OpKind::Read || op.count() == 1 && op.kind() != OpKind::Erase {
            let page = members.page(block, slot, is_slc);
            return self.send(op.run_of(page, 1), extra, block, shape.flash());
        }
        let (flash, dies) = (shape.flash(), shape.dies());
        let first_member =
            if op.kind() == OpKind::Erase { 0 } else { shape.locate(slot, is_slc).member };
        for member in (first_member..dies).chain(0..first_member) {
            let own = members.of(block)[member as usize];
            let (from, to) = match op.kind() {
                _ if own == HOLE => continue,
                OpKind::Erase => (0, 1),
                _ => {
                    let written = |slot| shape.written_of(member, slot, is_slc);
                    (written(slot), written(slot + op.count()))
                }
            };
            if from < to {
                let page = Ppn(flash.first_page(BlockId(own)).0 + from);
                self.send(op.run_of(page, to - from), std::mem::take(&mut extra), block, flash);
            }
        }
    }

    /// Queues reads of pages of a superblock, one run for each member.
    fn read_members(&mut self, block: BlockId, slots: &[u32], source: Source, mut extra: Extra) {
        let Some(members) = self.media.shared_superblocks() else { return };
        let (shape, flash) = (members.shape(), members.shape().flash());
        let is_slc = self.media.mode(block) == CellMode::Slc;
        // By member: the first page, how many, rows that are sensed, the last of them.
        let mut runs = vec![(0, 0, 0, u32::MAX); shape.dies() as usize];
        for &slot in slots {
            let at = shape.locate(slot, is_slc);
            let (first, count, senses, last) = &mut runs[at.member as usize];
            if *count == 0 {
                *first = at.index;
            }
            *count += 1;
            let row = flash.row_of(at.index);
            *senses += u32::from(row != *last);
            *last = row;
        }
        for (&own, &(first, count, senses, _)) in members.of(block).iter().zip(&runs) {
            if count > 0 && self.is_lost(flash.die_of_block(BlockId(own))) {
                let run = FlashOp::new(OpKind::Read, source, Ppn(first), count);
                self.read_row(&members, block, own, run.sensed_in(senses));
            } else if count > 0 {
                let page = Ppn(flash.first_page(BlockId(own)).0 + first);
                let op = FlashOp::new(OpKind::Read, source, page, count).sensed_in(senses);
                self.send(op, std::mem::take(&mut extra), block, flash);
            }
        }
    }

    /// Whether a die of the flash is lost now.
    fn is_lost(&self, die: DieId) -> bool {
        self.backend.may_lose_dies() && self.backend.is_lost(die, self.engine.now())
    }

    /// Whether a block of a drive without superblocks lies on a die that is lost.
    fn lies_on_lost(&self, block: BlockId) -> bool {
        self.is_lost(self.media.geometry().die_of_block(block))
    }

    /// Whether a page lies on a die that is lost; then it is read from the other members of its
    /// row, or from nowhere.
    #[cold]
    fn read_around(&mut self, ppn: Ppn, source: Source) -> bool {
        let Some(members) = self.media.shared_superblocks() else {
            let is_lost = self.lies_on_lost(self.media.block_of(ppn));
            if is_lost {
                self.errors.record_lost(self.media, ppn, source, false);
            }
            return is_lost;
        };
        let wide = *self.media.geometry();
        let (block, slot) = (wide.block_of(ppn), wide.page_index(ppn));
        let page = members.page(block, slot, self.media.mode(block) == CellMode::Slc);
        let own = members.shape().flash().block_of(page);
        if !self.is_lost(members.shape().flash().die_of_block(own)) {
            return false;
        }
        let has_row = self.has_row(&members, block, own.0);
        if let Some(lost) = self.errors.record_lost(self.media, ppn, source, has_row) {
            self.rebuild_from_row(&members, ppn, lost);
        }
        true
    }

    /// Whether the rows of a superblock give back what one of its members has lost: they hold
    /// parity, and the dies of the others answer.
    fn has_row(&self, members: &Members, block: BlockId, lost: u32) -> bool {
        let flash = members.shape().flash();
        let mut others = members.of(block).iter().filter(|&&own| own != lost && own != HOLE);
        members.shape().has_parity()
            && others.all(|&own| !self.is_lost(flash.die_of_block(BlockId(own))))
    }

    /// Reads pages of a member that is lost from all others; `run` names their indices in it.
    fn read_row(&mut self, members: &Members, block: BlockId, lost: u32, run: FlashOp) {
        let has_row = self.has_row(members, block, lost);
        self.errors.note_lost(run.count(), run.source(), has_row);
        let flash = members.shape().flash();
        let others = members.of(block).iter().filter(|&&own| own != lost && own != HOLE);
        for &own in others.filter(|_| has_row) {
            let page = Ppn(flash.first_page(BlockId(own)).0 + run.first().0);
            self.send(run.run_of(page, run.count()), Extra::default(), block, flash);
        }
    }

    /// Reads the other members of the row of a page that the code could not correct: the page at
    /// the same place of each.
    fn rebuild_from_row(&mut self, members: &Members, ppn: Ppn, lost: Lost) {
        let wide = *self.media.geometry();
        let (block, slot) = (wide.block_of(ppn), wide.page_index(ppn));
        let (shape, flash) = (members.shape(), members.shape().flash());
        let at = shape.locate(slot, self.media.mode(block) == CellMode::Slc);
        let mut costs = self.errors.rebuild_costs(wide.die_of_block(block), lost).into_iter();
        for (member, &own) in (0..).zip(members.of(block)) {
            if member != at.member && own != HOLE {
                let page = Ppn(flash.first_page(BlockId(own)).0 + at.index);
                let op = FlashOp::new(OpKind::Read, Source::Rebuild, page, 1);
                self.send(op, costs.next().unwrap_or_default(), block, flash);
            }
        }
    }

    /// Reads the rest of the stripe of a page that the code could not correct: the pages at the
    /// same place of the dies that follow.
    #[cold]
    fn rebuild(&mut self, ppn: Ppn, lost: Lost) {
        if let Some(members) = self.media.shared_superblocks() {
            return self.rebuild_from_row(&members, ppn, lost);
        }
        let geometry = *self.media.geometry();
        let block = geometry.block_of(ppn);
        let (die, place) = (geometry.die_of_block(block), block.0 % geometry.blocks_per_die);
        for (step, extra) in (1..).zip(self.errors.rebuild_costs(die, lost)) {
            let other = (die.0 + step) % geometry.die_count;
            let first = geometry.first_page(BlockId(other * geometry.blocks_per_die + place));
            let page = Ppn(first.0 + geometry.page_index(ppn));
            self.push(FlashOp::new(OpKind::Read, Source::Rebuild, page, 1), extra);
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
        if self.backend.may_lose_dies() && self.read_around(ppn, source) {
            return;
        }
        let read = self.errors.record_page(self.media, ppn, source);
        self.push(FlashOp::new(OpKind::Read, source, ppn, 1), read.extra);
        if let Some(lost) = read.lost {
            self.rebuild(ppn, lost);
        }
    }

    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source) {
        if self.backend.may_lose_dies() && self.lies_on_lost(block) {
            return self.errors.note_lost(page_count, source, false);
        }
        let read = self.errors.page_types().live(self.media, block, page_count, source);
        let extra = self.errors.record_block(&read);
        if page_count > 0 {
            let first = self.media.geometry().first_page(block);
            self.push(FlashOp::new(OpKind::Read, source, first, page_count), extra);
        }
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source) {
        self.programmed_pages += 1;
        self.media.program(ppn, lpn);
        self.push(FlashOp::new(OpKind::Program, source, ppn, 1), Extra::default());
    }

    fn program_die_run(&mut self, first: Ppn, run: DieRun) {
        self.programmed_pages += u64::from(run.count);
        self.media.program_die_run(first, run);
        let op = FlashOp::new(OpKind::Program, Source::Host, first, run.count);
        self.push(op, Extra::default());
    }

    fn erase(&mut self, block: BlockId, source: Source) -> u32 {
        // The operation counts on the block as it is before this erase.
        let first = self.media.geometry().first_page(block);
        self.push(FlashOp::new(OpKind::Erase, source, first, 1), Extra::default());
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
        self.collector.is_some()
    }

    #[inline]
    fn load(&self, die: DieId) -> u32 {
        self.backend.load(die)
    }

    fn tells_pages(&self) -> bool {
        // Where pages of a superblock lie decides which dies read them.
        self.media.superblocks().is_some() || self.errors.page_types().tells_pages()
    }

    fn read_pages(&mut self, block: BlockId, page_indices: &[u32], source: Source) {
        let count = page_indices.len() as u32;
        let read = self.errors.page_types().pages(self.media, block, page_indices, source);
        let extra = self.errors.record_block(&read);
        if self.media.superblocks().is_some() {
            return self.read_members(block, page_indices, source, extra);
        }
        if self.backend.may_lose_dies() && self.lies_on_lost(block) {
            return self.errors.note_lost(count, source, false);
        }
        let geometry = *self.media.geometry();
        let rows =
            page_indices.chunk_by(|&one, &next| geometry.row_of(one) == geometry.row_of(next));
        let sense_count = rows.count() as u32;
        if let Some(&first) = page_indices.first() {
            let first = Ppn(geometry.first_page(block).0 + first);
            let op = FlashOp::new(OpKind::Read, source, first, count);
            self.push(op.sensed_in(sense_count), extra);
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
                self.media.note_copyback(run.victim, self.media.block_of(run.first));
                OpKind::Copyback
            }
        };
        let op = FlashOp::new(kind, run.source, run.first, run.lpns.len() as u32);
        self.push(op, Extra::default());
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
        if let Some(collector) = &mut self.collector {
            collector.stall(Stalled { die: die.0, lpn, slot: self.slot, epoch });
            collector.touched.push(die.0);
        }
    }

    #[inline]
    fn takes_ahead(&mut self, lpn: Lpn) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        let found = ahead.find(lpn, self.slot);
        self.waits += u32::from(found == Found::OnTheWay);
        found != Found::Nothing
    }

    fn fence(&mut self) {
        self.waits += u32::from(self.cache.fence.close(self.slot));
    }
}
