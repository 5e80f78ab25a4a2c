//! Collections in steps: who asks the [`Collector`](super::collector::Collector), and when.
//!
//! After a command that used a die, after an operation that a die finished, and when a die has
//! rested for a while. The FTL is notified when the erase of a victim has ended; writes that waited
//! for the block then continue, in order.
//!
//! Most operations that end change nothing for the collector. Two notes spare asking it again. Both
//! hold for one die that has nothing to collect, or a step that is still queued.
//!
//! - [`Background::calm`] has the conditions under which this holds. It is dropped when the FTL
//!   works, except for as many pages of the host as it allows.
//! - [`Background::quiet_die`] is set when `calm` was found to hold. It is checked first, and
//!   dropped by every event but the end of an operation.

use super::balance::{Free, Running};
use super::collector::{Calm, Gain, Room};
use super::Background;
use crate::controller::full::Urgency;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::drive::Drive;
use crate::ftl::{End, NoRoom, Purpose, StepOutcome};
use crate::op::{HostCommand, HostOp};
use crate::superblock::HOLE;
use crate::timed::backend::Backend;
use crate::timed::clockwork::{Clockwork, Event};
use crate::timed::host_side::HostSide;
use crate::units::{BlockId, DieId, Lpn, Ns, SECTOR_BYTES};

impl Background {
    /// Lets the dies that a command has used collect, if they have little room left.
    #[inline]
    pub(super) fn note_touched(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        let Some(collector) = &mut self.collector else { return };
        match collector.touched[..] {
            [] => {}
            [die] => {
                collector.touched.clear();
                self.note_used(clockwork, host, drive, die);
            }
            _ => self.note_touched_dies(clockwork, host, drive),
        }
    }

    /// The same of several dies, or of one that was touched more than once.
    #[cold]
    fn note_touched_dies(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        let Some(collector) = &mut self.collector else { return };
        let mut touched = std::mem::take(&mut collector.touched);
        touched.sort_unstable();
        touched.dedup();
        for &die in &touched {
            self.note_used(clockwork, host, drive, die);
        }
        touched.clear();
        if let Some(collector) = &mut self.collector {
            collector.touched = touched;
        }
    }

    /// Lets a die that a command has used collect.
    #[inline]
    fn note_used(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        die: DieId,
    ) {
        if let Some(collector) = &mut self.collector {
            collector.note_host(die);
        }
        if !self.is_calm(clockwork, drive, die) {
            self.collect(clockwork, host, drive, die);
            self.forget_touched();
        }
    }

    /// Forgets the touched dies: no command of the host has touched them.
    pub(in crate::timed) fn forget_touched(&mut self) {
        if let Some(collector) = &mut self.collector {
            collector.touched.clear();
        }
    }

    /// An operation of a die has ended, with collections in steps.
    #[cold]
    pub(super) fn collect_after(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        done: FlashOp,
    ) {
        if let Some(collector) = &mut self.collector {
            collector.last_done = clockwork.now();
        }
        let die = die_of(drive, done);
        if done.kind() == OpKind::Erase {
            self.erased(clockwork, host, drive, block_of(drive, done));
        }
        if self.quiet_die != Some(die) && !self.is_calm(clockwork, drive, die) {
            self.collect(clockwork, host, drive, die);
        }
        if let Some(collector) = &mut self.collector {
            collector.note_idle(clockwork, die);
        }
    }

    /// The erase of a block, or of a member of it, has ended: if it is the victim of its die,
    /// writes that waited for it continue.
    #[cold]
    fn erased(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        block: BlockId,
    ) {
        let die = drive.geometry.die_of_block(block);
        if is_erased(&clockwork.backend, drive, block)
            && drive.ftl.room(die).victim() == Some(block)
        {
            drive.ftl.finish(End::Erase(die, block));
            (self.quiet_die, self.calm) = (None, None);
            self.admit_stalled(clockwork, host, drive, die);
        }
    }

    /// Whether a die need not be asked for what to collect, since nothing has changed since it was
    /// asked last.
    #[inline]
    fn is_calm(&mut self, clockwork: &Clockwork, drive: &mut Drive, die: DieId) -> bool {
        let Some(calm) = self.calm.filter(|calm| calm.die == die) else { return false };
        let Some(collector) = &self.collector else { return false };
        let is_calm = collector.is_as(&calm)
            && (!calm.waits || clockwork.backend.collection_waits(die))
            && (clockwork.now() < calm.until
                || self.refresh_pressing(clockwork, drive, die).is_none());
        if is_calm {
            self.quiet_die = Some(die);
        }
        is_calm
    }

    /// Notes a die with this room that has nothing to collect or, if `waits`, a step that is still
    /// queued; and for how many pages of the host, and until when, the note holds.
    #[inline]
    fn note_quiet(&mut self, drive: &mut Drive, die: DieId, room: Room, waits: bool) {
        let Some(collector) = &self.collector else { return };
        let pages = collector.pages_alike(die, room).min(drive.ftl.room(die).pages_in_open_block());
        let stalls = collector.front(die).is_some();
        let refresher = self.refresher.as_ref();
        let until = refresher.map_or(Ns(u64::MAX), |refresher| refresher.calm_until(drive, die));
        self.quiet_die = Some(die);
        self.calm = Some(Calm { die, waits, stalls, pages, until });
    }

    /// A block of a die was erased: writes that waited for it continue.
    fn admit_stalled(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        die: DieId,
    ) {
        while let Some(stalled) = self.collector.as_ref().and_then(|it| it.front(die)) {
            let is_enough = host.completes_in_memory(stalled.slot);
            let (written, waits) =
                self.with_sink(clockwork, host, drive, NO_COMMAND, |front, sink| {
                    (sink.slot, sink.completes_in_memory) = (stalled.slot, is_enough);
                    // With an epoch it is a page of the write cache, which was counted as in
                    // flight when it stalled; to write it counts it again.
                    if stalled.epoch.is_some() {
                        sink.is_flush = true;
                        sink.epoch = stalled.epoch;
                        if let Some(timeline) = sink.backend.recorder() {
                            timeline.retried = stalled.writer;
                        }
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
                // The command has waited for this page; a block that fails meanwhile is padded too.
                let slot = host.path.slot(stalled.slot);
                slot.waits = slot.waits + waits - u32::from(written.is_ok());
            }
            self.forget_touched();
            match written {
                Ok(()) => {}
                Err(NoRoom::Stalled(_)) => return,
                Err(NoRoom::WornOut) => return self.reject_stalled(clockwork, host, drive, die),
            }
            if let Some(collector) = &mut self.collector {
                collector.pop(die);
            }
        }
    }

    /// Queues the next step of a die's collection, if one is due and none is queued.
    pub(super) fn collect(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        die: DieId,
    ) {
        self.calm = None;
        if self.is_over(host) {
            return;
        }
        if self.collector.as_ref().is_some_and(|it| it.is_resting(die)) {
            drive.ftl.finish(End::Burst(die));
        }
        loop {
            let due = match self.decide(clockwork, drive, die) {
                Decision::Nothing => return,
                Decision::Admit => {
                    self.admit_stalled(clockwork, host, drive, die);
                    continue;
                }
                Decision::Step(due) => due,
            };
            if self.waits_for_cores(clockwork, host) {
                return;
            }
            if !due.is_running && !self.begin(drive, die, clockwork.now(), due) {
                let spare_blocks = drive.ftl.room(die).spare_blocks();
                if self.collector.as_mut().is_some_and(|it| it.cuts_burst(die, spare_blocks)) {
                    continue;
                }
                if due.urgency == Urgency::Urgent && clockwork.backend.is_idle(die) {
                    self.reject_stalled(clockwork, host, drive, die);
                }
                return;
            }
            let moves = host.path.moves_take_cores();
            let before = if moves { drive.ftl.room(die).pages_to_collect() } else { 0 };
            let outcome = self.with_sink(clockwork, host, drive, NO_COMMAND, |front, sink| {
                front.ftl.step(sink, die, due.pages)
            });
            if moves {
                let moved = before.saturating_sub(drive.ftl.room(die).pages_to_collect());
                host.path.order_moves(clockwork.now(), moved);
            }
            match outcome {
                StepOutcome::Retired(_) => self.admit_stalled(clockwork, host, drive, die),
                StepOutcome::Moved(_) | StepOutcome::Emptied(_) | StepOutcome::Stuck => return,
            }
        }
    }

    /// Whether a step has to wait until the cores have moved the pages of earlier ones: then all
    /// dies are asked again.
    #[inline]
    fn waits_for_cores(&mut self, clockwork: &mut Clockwork, host: &mut HostSide) -> bool {
        let Some(left) = host.path.moves_left(clockwork.now()) else { return false };
        if let Some(collector) = &mut self.collector {
            if !std::mem::replace(&mut collector.waits_for_cores, true) {
                clockwork.schedule(left, Event::Moved);
            }
        }
        true
    }

    /// The cores have done what steps waited for, unless commands came.
    pub(in crate::timed) fn cores_are_free(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        self.collector.iter_mut().for_each(|collector| collector.waits_for_cores = false);
        self.ask_all(clockwork, host, drive);
    }

    /// What a die has to do for its collection now. Its urgency is passed on to the back end.
    #[inline]
    fn decide(&mut self, clockwork: &mut Clockwork, drive: &mut Drive, die: DieId) -> Decision {
        let refresh = self.refresh_pressing(clockwork, drive, die);
        // The urgency of a refresh depends on the time at which it is asked for.
        let is_quiet = clockwork.skips_events && refresh.is_none();
        let Some(collector) = &mut self.collector else { return Decision::Nothing };
        let room = Room { refresh, ..room_of(drive, die) };
        let gain = |victim| Gain {
            block_pages: drive.pages_to_win(victim),
            pages_until_stall: drive.ftl.room(die).pages_until_stall(),
        };
        let free = || free_of(drive, die);
        let urgency = collector.urgency(die, room, gain, free);
        if collector.take_released(die) {
            return Decision::Admit;
        }
        if let (Some(urgency), Some(full)) = (urgency, clockwork.backend.full_mut()) {
            full.flash.dies.set_urgency(die, urgency);
        }
        let waits = urgency.is_some() && clockwork.backend.collection_waits(die);
        let Some(urgency) = urgency.filter(|_| !waits) else {
            self.quiet_die = None;
            if is_quiet {
                self.note_quiet(drive, die, room, waits);
            }
            return Decision::Nothing;
        };
        Decision::Step(Due {
            urgency,
            pages: collector.step_pages(die),
            is_running: room.running.is_some(),
            may_refresh: collector.lets_refresh(die, room),
            must_fold: room.owes_fold || collector.is_resting(die) && room.blocks_to_fold > 0,
        })
    }

    /// Begins to refresh, to fold or to collect a block of a die: the first that is possible. Folds
    /// that are owed, or made in a pause, come first. A guest of the cache always frees space when
    /// it is folded, so it precedes a victim; any other fold is the last resort.
    fn begin(&mut self, drive: &mut Drive, die: DieId, now: Ns, due: Due) -> bool {
        let refresher = self.refresher.as_mut().filter(|_| due.may_refresh);
        if refresher.is_some_and(|it| it.begin(drive, die, now)) {
            return true;
        }
        let mut begin = |purpose| drive.ftl.begin(&drive.media, die, purpose);
        due.must_fold && begin(Purpose::Fold)
            || begin(Purpose::FoldGuest)
            || begin(Purpose::Collect)
            || begin(Purpose::Fold)
    }

    /// Refuses the stalled writes of a die that has no room and will have none: the drive is worn
    /// out.
    fn reject_stalled(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        die: DieId,
    ) {
        host.is_worn_out = true;
        while let Some(stalled) = self.collector.as_mut().and_then(|it| it.pop(die)) {
            drive.host.rejected_pages += 1;
            if let Some(epoch) = stalled.epoch {
                host.refuse_cached(clockwork, epoch);
                continue;
            }
            let sectors_per_page = drive.geometry.page_bytes / SECTOR_BYTES;
            let slot = host.path.slot(stalled.slot);
            let sectors = slot.command.sectors_in(stalled.lpn.0, sectors_per_page);
            slot.refused_sectors += sectors as u32;
            drive.host.sectors[HostOp::Write.index()] -= sectors;
            drive.host.refused_page_writes += 1;
            host.satisfy_soon(clockwork, stalled.slot);
        }
    }

    /// Drops stalled pages of the write cache that a trim covers.
    pub(in crate::timed) fn forget_stalled(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        command: &HostCommand,
    ) {
        let Some(collector) = &mut self.collector else { return };
        let sectors = drive.geometry.page_bytes / SECTOR_BYTES;
        let pages = command.sector.div_ceil(sectors)
            ..(command.sector + u64::from(command.sector_count)) / sectors;
        for page in pages {
            let lpn = Lpn(page as u32);
            if let Some(epoch) = collector.forget(lpn) {
                drive.host.buffer_trimmed_pages += 1;
                host.forget_cached(clockwork, epoch);
            }
        }
    }

    /// Lets all dies continue as at the end of a burst, since the host is away.
    pub(in crate::timed) fn rest(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        for die in (0..drive.geometry.die_count).map(DieId) {
            self.collect(clockwork, host, drive, die);
            // A die that is still collecting becomes idle when its collection has ended.
            if let Some(collector) = &mut self.collector {
                collector.note_idle(clockwork, die);
            }
        }
    }

    /// Asks every die for what to collect.
    pub(in crate::timed) fn ask_all(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
    ) {
        if self.collector.is_some() {
            for die in (0..drive.geometry.die_count).map(DieId) {
                self.collect(clockwork, host, drive, die);
            }
        }
    }

    /// Lets a die collect ahead whose timer has expired, if the host was away all the time.
    pub(in crate::timed) fn idle_timer_expired(
        &mut self,
        clockwork: &mut Clockwork,
        host: &mut HostSide,
        drive: &mut Drive,
        die: DieId,
    ) {
        if self.collector.as_mut().is_some_and(|it| it.is_rested(die, clockwork)) {
            self.collect(clockwork, host, drive, die);
        }
    }
}

/// The answer of [`Background::decide`].
enum Decision {
    /// Nothing is to be collected, or a step is queued already.
    Nothing,
    /// Writes that were held back continue.
    Admit,
    /// A step is due.
    Step(Due),
}

/// A step of a collection that is due.
#[derive(Clone, Copy)]
struct Due {
    urgency: Urgency,
    /// Pages that it moves.
    pages: u32,
    /// Whether a collection has begun; else one begins.
    is_running: bool,
    /// Whether a block that is due for refresh may be the one.
    may_refresh: bool,
    /// Whether a fold comes before a collection.
    must_fold: bool,
}

/// How much room a die has, before a refresh is asked for.
fn room_of(drive: &Drive, die: DieId) -> Room {
    let room = drive.ftl.room(die);
    let running = |victim| Running { victim, live_pages: room.pages_to_collect() };
    Room {
        spare_blocks: room.spare_blocks(),
        blocks_to_fold: room.blocks_to_fold(),
        owes_fold: room.owes_fold(),
        running: room.victim().map(running),
        refresh: None,
    }
}

/// The free pages of a die.
fn free_of(drive: &Drive, die: DieId) -> Free {
    let room = drive.ftl.room(die);
    Free { pages: room.pages_beyond_reserve(), block_pages: room.block_pages() }
}

/// Whether a block is erased when an erase has ended: a superblock is when all its members are.
fn is_erased(backend: &Backend, drive: &Drive, block: BlockId) -> bool {
    let Some(members) = drive.media.superblocks() else { return true };
    let all = members.of(block).iter().filter(|&&own| own != HOLE).map(|&own| BlockId(own));
    backend.full().is_none_or(|full| full.flash.blocks.are_erased(all))
}

/// The die of the FTL that an operation goes to.
#[inline]
fn die_of(drive: &Drive, done: FlashOp) -> DieId {
    if drive.geometry.die_count == 1 {
        return DieId(0);
    }
    drive.geometry.die_of_block(block_of(drive, done))
}

/// The block of the FTL that an operation goes to.
pub(super) fn block_of(drive: &Drive, done: FlashOp) -> BlockId {
    let Some(members) = drive.media.superblocks() else {
        return drive.geometry.block_of(done.first());
    };
    let own = members.shape().flash().block_of(done.first());
    members.last_superblock_of(own).expect("operations go to superblocks")
}
