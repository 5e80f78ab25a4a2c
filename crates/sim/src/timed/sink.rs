//! The sink of the timed executor: the FTL's operations, queued on the back end.
//!
//! An operation of a command makes the command wait for it; one that moves data does not. The
//! program of a page that leaves the write cache frees its slot there instead. An operation on a
//! superblock becomes one on each member that it concerns, and those work at the same time.

use super::backend::Backend;
use super::background::{Collector, FillTimer, Stalled};
use super::host_side::{CacheSlots, FailingRead};
use crate::controller::full::Full;
use crate::controller::{Detail, FlashOp, OpKind, NO_COMMAND};
use crate::drive::CommandSink;
use crate::engine::Engine;
use crate::ftl::{FlashSink, MoveRun, MoveWay};
use crate::geometry::Geometry;
use crate::host::read_ahead::{Found, ReadAhead};
use crate::nand::{CellMode, Media};
use crate::op::{Source, RUN_MAX};
use crate::reads::{Extra, Lost, ReadErrors, RestOfRow};
use crate::striping::DieRun;
use crate::units::{BlockId, DieId, Lpn, Ns, Ppn};

/// See the module.
#[allow(clippy::struct_excessive_bools)] // each is independent of the others
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
    /// Time of the longest decoding that follows what the command waits for, in nanoseconds.
    pub(super) decode_ns: u32,
    pub(super) is_flush: bool,
    /// The command waits for operations of the map.
    pub(super) awaits_map: bool,
    /// Writes of the command complete when their program units are taken by a die.
    pub(super) completes_in_memory: bool,
    /// Receives the requests of the host to the dies, if collections are scheduled in steps.
    pub(super) collector: Option<&'a mut Collector>,
    /// Pages that were read ahead, if the drive does that.
    pub(super) ahead: Option<&'a mut ReadAhead>,
    /// Receives the program units that the host begins, if they are padded after a while.
    pub(super) fill: Option<&'a mut FillTimer>,
    /// The epoch of a page that leaves the cache after it stalled.
    pub(super) epoch: Option<u32>,
    pub(super) programmed_pages: u64,
    /// Reads of commands that will not be corrected, of superblocks.
    pub(super) failing: &'a mut Vec<FailingRead>,
    /// Whether a read of the command has to wait for a program or an erase; `None` if that is not
    /// asked for.
    pub(super) meets_write: Option<bool>,
    /// The drive's clock when the stage began, where something hangs on it.
    pub(super) clock_start: Option<Ns>,
    /// Number of flash pages that hold the next run of collected reads, if work is counted.
    pub(super) pages: u16,
    /// The program of a page that leaves the write buffer is the last operation of the command.
    pub(super) ends_with_program: bool,
}

/// Asks for what a read of a page will touch: tables of pages and of blocks that are too large for
/// the nearest caches.
pub(crate) fn expect_read(media: &Media, errors: &ReadErrors, backend: &Backend, ppn: Ppn) {
    errors.page_types().prefetch(media.geometry().page_index(ppn));
    if let Some(full) = backend.full() {
        full.flash.expect_read(flash_page(media, ppn));
    }
}

/// The page of the flash that is a page of the FTL.
#[inline]
fn flash_page(media: &Media, ppn: Ppn) -> Ppn {
    let Some(members) = media.superblocks() else { return ppn };
    let geometry = media.geometry();
    let (block, index) = (geometry.block_of(ppn), geometry.page_index(ppn));
    members.page(block, index, media.mode(block) == CellMode::Slc)
}

/// Where an operation goes.
#[derive(Clone, Copy)]
struct Target {
    /// The die of the flash.
    die: DieId,
    /// The type of its first page.
    page_type: u8,
    /// The block of the FTL, and whether it is written with one bit per cell.
    block: BlockId,
    is_slc: bool,
}

impl TimedSink<'_> {
    /// Queues an operation, and lets the command wait for it if the operation belongs to it.
    fn push(&mut self, op: FlashOp, extra: Extra) {
        if op.count() == 1 && op.kind() != OpKind::Erase {
            let (page, target) = self.locate(op.first());
            self.send_to(op.run_of(page, 1), extra, target);
        } else if self.media.superblocks().is_some() {
            self.push_to_members(op, extra);
        } else {
            let geometry = *self.media.geometry();
            self.send(op, extra, geometry.block_of(op.first()), &geometry);
        }
    }

    /// Where a page of the FTL is: the page of the flash, and where operations on it go.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as `send_to`
    fn locate(&self, ppn: Ppn) -> (Ppn, Target) {
        let geometry = self.media.geometry();
        let (block, slot) = (geometry.block_of(ppn), geometry.page_index(ppn));
        let is_slc = self.media.mode(block) == CellMode::Slc;
        let Some(members) = self.media.superblocks() else {
            return (ppn, self.target((block, is_slc), (block, slot), geometry));
        };
        let (own, index) = members.place(block, slot, is_slc);
        let flash = members.shape().flash();
        let page = Ppn(flash.first_page(own).0 + index);
        (page, self.target((block, is_slc), (own, index), flash))
    }

    /// The target of operations on an index in a block of the flash, which is of this shape;
    /// `block` is the block of the FTL.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as `send_to`
    fn target(
        &self,
        (block, is_slc): (BlockId, bool),
        (own, index): (BlockId, u32),
        flash: &Geometry,
    ) -> Target {
        let page_types = self.backend.page_types();
        let page_type = if page_types > 1 { flash.row_of(index) % page_types } else { 0 };
        Target { die: flash.die_of_block(own), page_type: page_type as u8, block, is_slc }
    }

    /// Queues an operation on a die of the flash; `block` is the block of the FTL that it belongs
    /// to.
    pub(super) fn send(&mut self, op: FlashOp, extra: Extra, block: BlockId, flash: &Geometry) {
        let of_ftl = (block, self.media.mode(block) == CellMode::Slc);
        let own = (flash.block_of(op.first()), flash.page_index(op.first()));
        let target = self.target(of_ftl, own, flash);
        self.send_to(op, extra, target);
    }

    /// The same, with its target.
    #[inline(always)]
    #[allow(clippy::inline_always)] // an operation stays in registers until it is in its queue
    fn send_to(&mut self, op: FlashOp, extra: Extra, target: Target) {
        let source = op.source();
        let is_host = matches!(source, Source::Host | Source::Merge | Source::Rebuild);
        let is_own = is_host || source == Source::Pad || (self.awaits_map && source == Source::Map);
        let waits = is_own && !self.is_flush && self.slot != NO_COMMAND;
        self.waits += u32::from(waits);
        if waits {
            self.decode_ns = self.decode_ns.max(extra.decode_ns);
        }
        let mut op = if waits { op.of_command(self.slot) } else { op };
        let is_write = source == Source::Host && op.kind() == OpKind::Program;
        if waits && self.completes_in_memory && is_write {
            op = op.completing_in_memory();
        }
        if self.is_flush && source == Source::Host {
            self.is_flush = false;
            self.cache.in_flight += 1;
            let epoch = self.epoch.take().unwrap_or_else(|| self.cache.fence.begin());
            op = op.of_command(epoch).freeing_buffer();
        }
        if is_host {
            self.note_touched(op, target.block);
        }
        let op = op.of_type(target.page_type);
        match self.backend {
            Backend::Plain(plain) => plain.enqueue(self.engine, target.die, op),
            Backend::Full(full) => {
                let op = op.in_slc(target.is_slc);
                let is_last = self.ends_with_program && op.frees_buffer();
                if is_last && full.stage_past_queue(target.die, op) {
                    return;
                }
                let detail = Detail {
                    retries: extra.retries.min(u32::from(u16::MAX)) as u16,
                    soft_reads: extra.soft_reads.min(u32::from(u16::MAX)) as u16,
                    pages: std::mem::take(&mut self.pages),
                    begins_at_step: extra.begins_at_step,
                    failed_ns: extra.failed_ns,
                    ..Detail::default()
                };
                if let (Some(meets), true) = (&mut self.meets_write, waits) {
                    *meets |= op.kind() == OpKind::Read && full.writes_first(target.die);
                }
                full.enqueue(self.engine, target.die, op, detail);
            }
        }
    }

    /// The write buffer has taken pages of the command, for the timeline.
    #[cold]
    fn note_taken(&mut self, first: Lpn, page_count: u32) {
        if let Some(timeline) = self.backend.recorder() {
            timeline.takes(self.slot, first, page_count);
        }
    }

    /// Whose data the program of a page carries, for the timeline.
    #[cold]
    fn note_ordered(&mut self, ppn: Ppn, lpn: Lpn) {
        let page = flash_page(self.media, ppn);
        let Some(timeline) = self.backend.recorder() else { return };
        let number = if !self.is_flush {
            timeline.number_in(self.slot)
        } else if self.epoch.is_some() {
            // It stalled when it left.
            timeline.retried
        } else {
            timeline.leaves(lpn)
        };
        timeline.orders(page, number);
    }

    /// The host uses a block of the FTL.
    #[inline]
    fn note_touched(&mut self, op: FlashOp, block: BlockId) {
        if let Some(fill) = &mut self.fill {
            fill.touched.push(self.media.geometry().die_of_block(block));
        }
        if let Some(collector) = &mut self.collector {
            let pool = self.media.geometry().die_of_block(block);
            collector.touched.push(pool);
            if op.kind() == OpKind::Program {
                collector.note_written(pool, op.count());
            }
        }
    }
}

impl TimedSink<'_> {
    /// Whether a command reads a page of the flash that is still being written: the controller has
    /// it, so no die is asked, and nothing has to be corrected.
    #[inline]
    fn is_in_memory(&mut self, page: Ppn, source: Source) -> bool {
        matches!(source, Source::Host | Source::Merge | Source::Map)
            && self.backend.serves(page, source, self.engine.now())
    }

    /// Number of flash pages that hold these pages of a block, if work is counted.
    fn flash_pages(&self, geometry: &Geometry, page_indices: &[u32]) -> u16 {
        let counts_work = |full: &Full| full.flash.watch.work.is_some();
        if !self.backend.full().is_some_and(counts_work) {
            return 0;
        }
        let page = |&index: &u32| geometry.physical_index(index);
        page_indices.chunk_by(|one, next| page(one) == page(next)).count() as u16
    }

    /// Reads the rest of the stripe of a page that the code could not correct: the pages at the
    /// same place of the dies that follow.
    #[cold]
    fn rebuild(&mut self, ppn: Ppn, lost: Lost) {
        if self.media.superblocks().is_some() {
            return self.rebuild_member(ppn, lost);
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
        let (page, target) = self.locate(ppn);
        if self.is_in_memory(page, source) {
            return;
        }
        if self.backend.may_lose_dies() && self.read_around(ppn, source) {
            return;
        }
        let read = self.errors.record_page(self.media, ppn, source);
        self.send_to(FlashOp::new(OpKind::Read, source, page, 1), read.extra, target);
        if let Some(lost) = read.lost {
            self.rebuild(ppn, lost);
        }
    }

    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source) {
        if self.backend.may_lose_dies() && self.lies_on_lost(block) {
            return self.errors.note_lost(page_count, source, RestOfRow::Missing);
        }
        let read = self.errors.page_types().live(self.media, block, page_count, source);
        let extra = self.errors.record_block(&read);
        if page_count > 0 {
            let first = self.media.geometry().first_page(block);
            self.pages = page_count.min(RUN_MAX) as u16;
            self.push(FlashOp::new(OpKind::Read, source, first, page_count), extra);
        }
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source) {
        self.programmed_pages += 1;
        if source == Source::Host && self.cache.is_recorded {
            self.note_ordered(ppn, lpn);
        }
        self.media.program(ppn, lpn);
        if self.media.contents.is_some() {
            self.media.carry_program(ppn, lpn);
        }
        let (page, target) = self.locate(ppn);
        self.send_to(FlashOp::new(OpKind::Program, source, page, 1), Extra::default(), target);
    }

    #[cold]
    fn bring(&mut self, tag: u32, first: Lpn, page_count: u32) {
        self.media.bring(tag, first, page_count);
    }

    #[cold]
    fn discard(&mut self, first: Lpn, page_count: u32) {
        self.media.discard(first, page_count);
    }

    #[inline]
    fn takes(&mut self, first: Lpn, page_count: u32) {
        if self.cache.is_recorded {
            self.note_taken(first, page_count);
        }
    }

    #[inline]
    fn flush_next(&mut self) {
        self.is_flush = true;
    }

    #[cold]
    fn program_part(&mut self, first: Ppn, next: Ppn) {
        self.media.note_part(first, next);
        let op = FlashOp::new(OpKind::Program, Source::Pad, next, 1).programming_part();
        self.push(op, Extra::default());
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
        self.media.carry_erase(block);
        self.media.erase(block)
    }

    fn fail_erase(&mut self, block: BlockId) {
        let first = self.media.geometry().first_page(block);
        self.push(FlashOp::new(OpKind::Erase, Source::Gc, first, 1), Extra::default());
    }

    fn retire(&mut self, block: BlockId, failed: &[u32]) {
        self.media.retire(block, failed);
    }

    fn replace_member(&mut self, block: BlockId, member: u32, fails_erase: bool) {
        self.replace_in_row(block, member, fails_erase);
    }

    fn set_mode(&mut self, block: BlockId, mode: CellMode) {
        self.media.set_mode(block, mode);
    }

    #[inline]
    fn collects_in_steps(&self) -> bool {
        self.collector.is_some()
    }

    #[inline]
    fn holds_back(&self, die: DieId) -> bool {
        self.collector.as_ref().is_some_and(|collector| collector.holds_back(die))
    }

    #[inline]
    fn load(&self, die: DieId) -> u32 {
        self.backend.load(die)
    }

    #[inline]
    fn chose(&mut self, die: DieId, blocks: impl FnOnce() -> u32) {
        if let Backend::Full(full) = &mut self.backend {
            full.note_choice(die, blocks);
        }
    }

    #[inline]
    fn clock(&self) -> Option<Ns> {
        self.clock_start.map(|start| start + self.engine.now())
    }

    fn tells_pages(&self) -> bool {
        // The places of the pages of a superblock decide which dies read them.
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
            return self.errors.note_lost(count, source, RestOfRow::Missing);
        }
        let geometry = *self.media.geometry();
        let rows =
            page_indices.chunk_by(|&one, &next| geometry.row_of(one) == geometry.row_of(next));
        let sense_count = rows.count() as u32;
        if let Some(&first) = page_indices.first() {
            let first = Ppn(geometry.first_page(block).0 + first);
            let op = FlashOp::new(OpKind::Read, source, first, count);
            self.pages = self.flash_pages(&geometry, page_indices);
            self.push(op.sensed_in(sense_count), extra);
        }
    }

    fn move_run(&mut self, run: &MoveRun<'_>) {
        self.programmed_pages += run.lpns.len() as u64;
        self.media.program_run(run.first, run.lpns);
        if self.media.contents.is_some() {
            self.media.carry_move(run.victim, run.page_indices, run.first);
        }
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
    fn looks_up_itself(&self) -> bool {
        true
    }

    #[inline]
    fn expect_read(&self, ppn: Ppn) {
        expect_read(self.media, self.errors, self.backend, ppn);
    }

    fn buffered(&mut self, waiting: usize) {
        let cache = &mut *self.cache;
        if waiting + cache.in_flight > cache.capacity + cache.waiters.len() {
            self.waits += 1;
            cache.waiters.push_back(self.slot);
        }
    }

    fn stalled(&mut self, die: DieId, lpn: Lpn) {
        let (mut epoch, mut writer) = (None, None);
        if self.is_flush {
            self.is_flush = false;
            writer = self.backend.recorder().and_then(|timeline| timeline.leaves(lpn));
            self.cache.in_flight += 1;
            epoch = Some(self.epoch.take().unwrap_or_else(|| self.cache.fence.begin()));
        } else {
            self.waits += 1;
        }
        if let Some(collector) = &mut self.collector {
            collector.stall(Stalled { die, lpn, slot: self.slot, epoch, writer });
            collector.touched.push(die);
        }
    }

    #[inline]
    fn takes_ahead(&mut self, lpn: Lpn) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        let found = ahead.find(lpn, self.slot);
        if let Found::OnTheWay { decode_ns } = found {
            self.waits += 1;
            self.decode_ns = self.decode_ns.max(decode_ns);
        }
        found != Found::Nothing
    }

    fn fence(&mut self) {
        self.waits += u32::from(self.cache.fence.close(self.slot));
        if let (Backend::Full(full), true) = (&mut self.backend, self.slot != NO_COMMAND) {
            self.waits += full.follow_programs(self.slot, self.engine.now());
        }
    }
}
