//! The timed executor with collections in steps: who calls the [`Collector`], and when.
//!
//! After a command that went to a die, after an operation that a die finished, and when a die has
//! rested for a while. The FTL is told when the erase of a victim is over; writes that waited for
//! the block go on then, in order.

use super::balance::{Free, UnderWay};
use super::collector::Room;
use crate::controller::full::Urgency;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::drive::Drive;
use crate::ftl::{NoRoom, StepOutcome};
use crate::op::{HostCommand, HostOp};
use crate::superblock::HOLE;
use crate::timed::stage::{TimedStage, IDLE};
use crate::units::{BlockId, DieId, Lpn, Ns, SECTOR_BYTES};
use crate::workload::Limit;

/// The longest rest of a drive that is to do all its work.
pub(crate) const REST_MAX: Ns = Ns(3600 * 1_000_000_000);

impl TimedStage {
    /// What a command asked of the dies: writes without room stall there, and those that have
    /// little room left collect.
    #[cold]
    pub(in crate::timed) fn note_touched(&mut self, drive: &mut Drive) {
        let Some(collector) = &mut self.collector else { return };
        let mut touched = std::mem::take(&mut collector.touched);
        if touched.len() > 1 {
            touched.sort_unstable();
            touched.dedup();
        }
        for &die in &touched {
            if let Some(collector) = &mut self.collector {
                collector.host_came(die);
            }
            if !self.is_calm(drive, die) {
                self.collect(drive, die);
            }
        }
        touched.clear();
        if let Some(collector) = &mut self.collector {
            collector.touched = touched;
        }
    }

    /// An operation of a die is over, with collections in steps.
    #[cold]
    pub(in crate::timed) fn note_done(&mut self, drive: &mut Drive, done: FlashOp) {
        if let Some(collector) = &mut self.collector {
            collector.last_done = self.engine.now();
        }
        let (block, is_erased) = self.block_done(drive, done);
        let die = drive.geometry.die_of_block(block);
        if is_erased && drive.ftl.collection_of(die) == Some(block) {
            drive.ftl.finish_collection(die, block);
            (self.quiet_die, self.calm) = (None, None);
            self.admit_stalled(drive, die.0);
        }
        if self.quiet_die != Some(die.0) && !self.is_calm(drive, die.0) {
            self.collect(drive, die.0);
        }
        self.note_idle(die);
    }

    /// A die may have fallen idle.
    pub(in crate::timed) fn note_idle(&mut self, die: DieId) {
        let counts_idle = self.collector.as_ref().is_some_and(|it| it.counts_idle(die.0));
        if counts_idle && self.backend.is_idle(die) {
            let now = self.engine.now();
            let after = self.collector.as_mut().and_then(|it| it.became_idle(die.0, now));
            if let Some(after) = after {
                self.start_timer(die.0, after);
            }
        }
    }

    /// The block of an operation that is over, and whether that has erased it: a superblock is
    /// when all its members are.
    fn block_done(&self, drive: &Drive, done: FlashOp) -> (BlockId, bool) {
        let (block, is_erase) = (Self::block_of(drive, done), done.kind() == OpKind::Erase);
        let Some(members) = drive.media.superblocks() else { return (block, is_erase) };
        let all = members.of(block).iter().filter(|&&own| own != HOLE).map(|&own| BlockId(own));
        let is_erased = is_erase && self.backend.are_erased(all);
        (block, is_erased)
    }

    /// The block of the FTL that an operation goes to.
    pub(super) fn block_of(drive: &Drive, done: FlashOp) -> BlockId {
        let Some(members) = drive.media.superblocks() else {
            return drive.geometry.block_of(done.first());
        };
        let own = members.shape().flash().block_of(done.first());
        members.last_superblock_of(own).expect("operations go to superblocks")
    }

    /// A block of a die was erased: writes that waited for it go on.
    fn admit_stalled(&mut self, drive: &mut Drive, die: u32) {
        while let Some(stalled) = self.collector.as_ref().and_then(|it| it.front(die)) {
            let is_enough = self.completes_in_memory(stalled.slot);
            let (written, waits) = self.with_sink(drive, NO_COMMAND, |front, sink| {
                (sink.slot, sink.completes_in_memory) = (stalled.slot, is_enough);
                if stalled.epoch.is_some() {
                    sink.is_flush = true;
                    sink.epoch = stalled.epoch;
                    sink.cache.in_flight -= 1;
                }
                front.tell_id(stalled.lpn);
                front.ftl.set_translated(true);
                let written = front.ftl.write(sink, stalled.lpn);
                front.ftl.set_translated(false);
                if written.is_err() && stalled.epoch.is_some() {
                    sink.cache.in_flight += 1;
                }
                (written, sink.waits)
            });
            if stalled.epoch.is_none() {
                // It has waited for its page so far; a block that fails meanwhile is padded too.
                let slot = self.path.slot(stalled.slot);
                slot.waits = slot.waits + waits - u32::from(written.is_ok());
            }
            if let Some(collector) = &mut self.collector {
                collector.touched.clear();
            }
            match written {
                Ok(()) => {}
                Err(NoRoom::Stalled) => return,
                Err(NoRoom::WornOut) => return self.reject_stalled(drive, die),
            }
            if let Some(collector) = &mut self.collector {
                collector.pop(die);
            }
        }
    }

    /// Queues the next step of a die's collection, if one is due and none is queued.
    pub(super) fn collect(&mut self, drive: &mut Drive, die: u32) {
        let id = DieId(die);
        self.calm = None;
        if self.is_over() {
            return;
        }
        if self.collector.as_ref().is_some_and(|it| it.is_resting(die)) {
            drive.ftl.end_draining(id);
        }
        loop {
            let refresh = self.refresh_pressing(drive, id);
            // How much a refresh presses depends on when it is asked.
            let quiet_die = (self.skips_events && refresh.is_none()).then_some(die);
            let Some(collector) = &mut self.collector else { return };
            let room = Room { refresh, ..Self::room(drive, id) };
            let won = |victim| (drive.pages_to_win(victim), drive.ftl.pages_until_stall(id));
            let free = || Free {
                pages: drive.ftl.pages_beyond_reserve(id),
                block_pages: drive.ftl.block_pages(id),
            };
            let urgency = collector.urgency(die, room, won, free);
            if collector.take_released(die) {
                self.admit_stalled(drive, die);
                continue;
            }
            let alike = || collector.pages_alike(die, room).min(drive.ftl.pages_in_open_block(id));
            let Some(urgency) = urgency else {
                let pages = alike();
                self.note_quiet(quiet_die, false, pages);
                return;
            };
            let (step_pages, is_resting) = (collector.step_pages(die), collector.is_resting(die));
            self.backend.set_urgency(id, urgency);
            if self.backend.collection_waits(id) {
                let pages = alike();
                self.note_quiet(quiet_die, true, pages);
                return;
            }
            let refreshes = collector.lets_refresh(die, room);
            let folds = room.owes_fold || is_resting && room.blocks_to_fold > 0;
            let begun = room.under_way.is_some()
                || refreshes && self.begin_refresh(drive, id)
                || folds && drive.ftl.begin_fold(&drive.media, id)
                || drive.ftl.begin_fold_of_guest(&drive.media, id)
                || drive.ftl.begin_collection(&drive.media, id)
                || drive.ftl.begin_fold(&drive.media, id);
            if !begun {
                if urgency == Urgency::Urgent && self.backend.is_idle(id) {
                    self.reject_stalled(drive, die);
                }
                return;
            }
            let outcome = self.with_sink(drive, NO_COMMAND, |front, sink| {
                front.ftl.step_collection(sink, id, step_pages)
            });
            match outcome {
                StepOutcome::Retired(_) => self.admit_stalled(drive, die),
                StepOutcome::Moved(_) | StepOutcome::Emptied(_) | StepOutcome::Stuck => return,
            }
        }
    }

    /// Whether the host is done and nothing waits: then nothing is collected any more.
    pub(super) fn is_over(&self) -> bool {
        self.ledger.outstanding == 0
            && self.arrivals == 0
            && self.collector.as_ref().is_none_or(|collector| !collector.has_waiting())
    }

    fn room(drive: &Drive, die: DieId) -> Room {
        let victim = drive.ftl.collection_of(die);
        Room {
            spare_blocks: drive.ftl.spare_blocks_of(die),
            blocks_to_fold: drive.ftl.blocks_to_fold(die),
            owes_fold: drive.ftl.owes_fold(die),
            under_way: victim
                .map(|victim| UnderWay { victim, live_pages: drive.ftl.pages_to_collect(die) }),
            refresh: None,
        }
    }

    /// There is no room and there will be none: the drive is worn out.
    fn reject_stalled(&mut self, drive: &mut Drive, die: u32) {
        self.is_worn_out = true;
        while let Some(stalled) = self.collector.as_mut().and_then(|it| it.pop(die)) {
            drive.host.rejected_pages += 1;
            if let Some(epoch) = stalled.epoch {
                self.refuse_cached(epoch);
                continue;
            }
            let sectors_per_page = drive.geometry.page_bytes / SECTOR_BYTES;
            let slot = self.path.slot(stalled.slot);
            let sectors = slot.command.sectors_in(stalled.lpn.0, sectors_per_page);
            slot.refused_sectors += sectors as u32;
            drive.host.sectors[HostOp::Write.index()] -= sectors;
            drive.host.refused_page_writes += 1;
            self.satisfy_soon(stalled.slot);
        }
    }

    /// Pages of the write cache that wait for room are trimmed.
    pub(in crate::timed) fn forget_stalled(&mut self, drive: &mut Drive, command: &HostCommand) {
        let sectors = drive.geometry.page_bytes / SECTOR_BYTES;
        let pages = command.sector.div_ceil(sectors)
            ..(command.sector + u64::from(command.sector_count)) / sectors;
        for page in pages {
            let lpn = Lpn(page as u32);
            let epoch = self.collector.as_mut().and_then(|it| it.forget(lpn));
            if let Some(epoch) = epoch {
                drive.host.buffer_trimmed_pages += 1;
                self.forget_cached(epoch);
            }
        }
    }

    /// The host is away from now on: dies go on with what they would do at the end of a burst.
    pub(super) fn rest(&mut self, drive: &mut Drive) {
        for die in 0..drive.geometry.die_count {
            self.collect(drive, die);
            // One that goes on with a collection falls idle when that is over.
            self.note_idle(DieId(die));
        }
    }

    /// The host is away for the length of a stage.
    pub(crate) fn begin_rest(&mut self, drive: &mut Drive, limit: Limit) {
        match limit {
            Limit::Time(span) => self.await_arrival(0, span),
            _ => self.await_idle(drive),
        }
        self.rest(drive);
    }

    /// The drive rests until it has no work left: asks again after a while, unless nothing was
    /// under way for longer than any die waits before it begins something; an hour at most.
    pub(crate) fn await_idle(&mut self, drive: &Drive) {
        let now = self.now();
        let after = drive.config.ftl.idle_collection.as_ref().map_or(0.0, |idle| idle.after_us);
        let is_idle = now > Ns(0)
            && self.backend.pending() == 0
            && now - self.at_rest_since() >= Ns::from_us(after);
        if !is_idle && now < REST_MAX {
            self.await_arrival(0, now + Ns::from_us(after + 1000.0));
        }
    }

    /// Tells the collector after a while, if the host stays away from a die.
    fn start_timer(&mut self, die: u32, after: Ns) {
        match &mut self.collector {
            Some(collector) if self.skips_events => {
                collector.start_timer(die, after, &mut self.engine, IDLE + die);
            }
            _ => self.engine.schedule(after, IDLE + die),
        }
    }

    /// Asks every die once, when the first commands have come, where writes choose their die: one
    /// that has no room gets none, and so nobody would ever ask it to win some.
    pub(crate) fn ask_all(&mut self, drive: &mut Drive) {
        if self.collector.is_some() && drive.config.ftl.allocation.is_dynamic() {
            (0..drive.geometry.die_count).for_each(|die| self.collect(drive, die));
        }
    }

    pub(in crate::timed) fn idle_timer(&mut self, drive: &mut Drive, die: u32) {
        let collector = self.collector.as_mut();
        if collector.is_some_and(|it| it.is_rested(die, &mut self.engine)) {
            self.collect(drive, die);
        }
    }
}
