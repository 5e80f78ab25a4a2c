//! The way of a command through a timed stage.
//!
//! ```text
//! submit ─► go_in ─► start: the FTL decides ─► operations done ─► served ─► go_out ─► completed
//!            legs     ▲ or first: entries of its map are read
//! ```
//! Its slot counts the events that it waits for: operations, slots of the write cache, entries of
//! the map, pages that are fetched ahead, and program units. A collection that the FTL needs is
//! queued on the die before the command's operations.
//!
//! A flush of a drive without a write buffer waits for the writes that had come before it and were
//! not complete, on either back end, and for running programs of writes that completed in memory.
//!
//! Flushes of drives that may lose power, and whose pages wait in memory for the rest of a program
//! unit: a page that leaves the write buffer is done for it when it waits in its unit. A flush pads
//! the units when it begins; but a page that stalled comes to its unit later, and a unit that
//! another command completes is that command's to wait for. So when all pages that a flush covers
//! have come to their units, it pads these, and waits for all programs that are ordered by then.

use super::backend::Backend;
use super::clockwork::Event;
use super::sink::TimedSink;
use super::stage::{Step, TimedStage};
use crate::controller::breakdown::{Part, Parts};
use crate::controller::timeline::Lane;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::drive::{Drive, Front, FrontShape};
use crate::ftl::Pending;
use crate::host::path::{Leg, Slot, Way};
use crate::host::read_ahead::FETCH;
use crate::op::{HostCommand, HostOp, Source};
use crate::units::{Lpn, Ns};

/// What a command waits for when the FTL has decided.
struct Begun {
    /// Operations, and slots of the write cache.
    waits: u32,
    /// See [`TimedSink::decode_ns`].
    decode_ns: u32,
    /// A read of it has to wait for a program or an erase, if that is asked for.
    is_blocked: bool,
    /// Pages that were programmed when it began.
    programmed_pages: u64,
    /// Sectors of a write that found no room.
    refused_sectors: Option<u32>,
}

impl Begun {
    #[inline]
    fn of(sink: &TimedSink<'_>, refused_sectors: Option<u32>) -> Self {
        Self {
            waits: sink.waits,
            decode_ns: sink.decode_ns,
            is_blocked: sink.meets_write == Some(true),
            programmed_pages: sink.programmed_pages,
            refused_sectors,
        }
    }
}

impl TimedStage {
    /// A command reaches the drive now: its slot, or `None` while the drive is full and it waits
    /// outside.
    #[inline]
    pub(crate) fn submit(&mut self, drive: &mut Drive, command: &HostCommand) -> Option<u32> {
        let now = self.now();
        self.host.ledger.note_issued(now);
        self.host.note_depth(&mut self.clockwork);
        let Some(index) = self.host.path.offer(command, now) else {
            self.host.ledger.note_outside(command.tenant);
            return None;
        };
        let number = self.host.ledger.tally.issued - 1;
        self.host.note_inside(&mut self.clockwork, index, Some(number));
        self.host.ledger.note_slot(index, now);
        self.go_in(drive, index);
        Some(index)
    }

    /// A command continues towards the FTL. Of one that came alone, the next leg begins as if its
    /// time had come.
    #[inline]
    fn go_in(&mut self, drive: &mut Drive, index: u32) {
        let (clockwork, now) = (&self.clockwork, self.clockwork.now());
        match self.host.path.go_in(index, now, |at| clockwork.is_alone_until(at)) {
            Way::After(span) => self.clockwork.schedule(span, Event::Leg(index)),
            Way::Next(span) => self.clockwork.go_on_next(index, span),
            Way::Held => {}
            Way::Arrived => self.start(drive, index),
        }
    }

    /// A command has gone a leg of its way.
    #[inline]
    pub(super) fn leg_over(&mut self, drive: &mut Drive, index: u32) -> Step {
        let leg = self.host.path.leg(index);
        if leg == Leg::Served {
            return self.served(drive, index, None);
        }
        let part = match leg {
            Leg::Submitted | Leg::Processor => Part::Controller,
            Leg::Throttle => Part::Throttle,
            Leg::LinkIn | Leg::LinkOut => Part::Link,
            Leg::Mapping | Leg::Mapped => Part::Mapping,
            Leg::Served | Leg::Decoder => Part::Ecc,
        };
        self.host.ledger.credit(index, part, self.clockwork.now());
        match leg {
            Leg::LinkIn => {
                self.start(drive, index);
                if self.clockwork.takes_at_once(index) {
                    self.background.quiet_die = None;
                    return self.served(drive, index, None);
                }
            }
            _ if leg < Leg::Served => self.go_in(drive, index),
            _ => return self.go_out(drive, index),
        }
        Step::Internal
    }

    /// Lets the FTL work for a command, or for none.
    #[inline]
    fn with_sink<T>(
        &mut self,
        drive: &mut Drive,
        slot: u32,
        work: impl FnOnce(&mut Front, &mut TimedSink) -> T,
    ) -> T {
        self.background.with_sink(&mut self.clockwork, &mut self.host, drive, slot, work)
    }

    /// The FTL decides; operations are queued. A command that waits for nothing completes by an
    /// event at this instant, so that completions never nest.
    fn start(&mut self, drive: &mut Drive, index: u32) {
        let passes = self.host.passes(index);
        if passes.is_none() && drive.ftl.traits().looks_up && self.awaits_map(drive, index) {
            return;
        }
        let begun = match passes {
            Some(front) => self.begin_data(drive, index, front),
            None => self.begin(drive, index),
        };
        let slot = self.host.path.slot(index);
        slot.waits = begun.waits;
        if let Some(sectors) = begun.refused_sectors {
            self.host.is_worn_out = true;
            slot.refused_sectors = sectors;
        }
        if slot.command.op == HostOp::Read {
            slot.decode = Ns(begun.decode_ns.into());
            if begun.is_blocked {
                self.host.path.block(index, self.clockwork.now());
            }
            if self.host.ahead.is_some() {
                self.read_ahead(drive);
            }
        }
        self.background.command_started(&mut self.clockwork, &mut self.host, drive);
        if begun.waits == 0 {
            self.host.serve_soon(&mut self.clockwork, index);
        }
        if self.clockwork.comes_alone {
            self.background.end_programs(&mut self.clockwork, &mut self.host, drive);
        }
    }

    /// The FTL decides for the command of a slot.
    #[inline(never)] // most commands only move data
    fn begin(&mut self, drive: &mut Drive, index: u32) -> Begun {
        let command = self.host.path.slot(index).command;
        let is_data = matches!(command.op, HostOp::Read | HostOp::Write);
        let followed = if is_data { 0 } else { self.before_others(drive, index, &command) };
        if let Some(ahead) = &mut self.host.ahead {
            ahead.begin(&command);
        }
        let calm = self.background.calm.filter(|_| is_data && !drive.ftl.traits().looks_up);
        let mut begun = self.with_sink(drive, index, |front, sink| {
            let before = front.host.sectors[HostOp::Write.index()];
            let refused_sectors = front.apply(sink, &command).err().map(|_| {
                let written = front.host.sectors[HostOp::Write.index()] - before;
                if command.op.writes() {
                    command.sector_count - written as u32
                } else {
                    0
                }
            });
            Begun::of(sink, refused_sectors)
        });
        begun.waits += followed;
        self.background.calm = calm.and_then(|calm| calm.behind(begun.programmed_pages));
        begun
    }

    /// The same for a command that only moves data.
    #[inline]
    fn begin_data(&mut self, drive: &mut Drive, index: u32, shape: FrontShape) -> Begun {
        let Self { clockwork, host, background } = self;
        debug_assert!(shape == drive.front_shape() && drive.lets_data_pass(), "another drive");
        let calm = background.calm;
        let command = &host.path.slot(index).command;
        let page = shape.single_page(command).map(|lpn| (command.op, lpn));
        let asked = page.ok_or(*command);
        let begun =
            background.with_bare_sink(clockwork, host, drive, (index, shape), |front, sink| {
                let before = front.host.sectors[HostOp::Write.index()];
                let (moved, sectors) = match &asked {
                    Ok((op, lpn)) => {
                        sink.ends_with_program = shape.ends_with_program;
                        (front.move_page(sink, *op, *lpn), 1 << front.page_shift)
                    }
                    Err(command) => (front.move_data(sink, command), command.sector_count),
                };
                let kept = || (front.host.sectors[HostOp::Write.index()] - before) as u32;
                Begun::of(sink, moved.err().map(|_| sectors - kept()))
            });
        background.calm = calm.and_then(|calm| calm.behind(begun.programmed_pages));
        begun
    }

    /// What comes before the FTL's work for a command that moves no data; how many writes it waits
    /// for.
    #[cold]
    fn before_others(&mut self, drive: &mut Drive, index: u32, command: &HostCommand) -> u32 {
        if command.op == HostOp::Flush {
            return self.host.follow_writes(index);
        }
        if command.op == HostOp::Trim {
            self.background.forget_stalled(&mut self.clockwork, &mut self.host, drive, command);
        }
        0
    }

    /// Fills the open reclaim units of a placement handle; the number of pages that held nothing.
    #[cold]
    pub(crate) fn fill_units(&mut self, drive: &mut Drive, handle: u8) -> u64 {
        let fill = |front: &mut Front, sink: &mut TimedSink| front.ftl.fill_units(sink, handle);
        self.with_sink(drive, NO_COMMAND, fill)
    }

    /// Looks the entries of a command up; whether it has to wait for some.
    fn awaits_map(&mut self, drive: &mut Drive, index: u32) -> bool {
        if self.host.path.leg(index) == Leg::Mapped {
            return false;
        }
        let command = self.host.path.slot(index).command;
        let waits = self.with_sink(drive, index, |front, sink| {
            sink.awaits_map = true;
            front.look_up(sink, &command);
            sink.waits
        });
        if waits > 0 {
            self.host.path.await_map(index, waits);
        }
        waits > 0
    }

    /// The entries of a command are there.
    fn mapped(&mut self, drive: &mut Drive, index: u32) -> Step {
        self.host.ledger.credit(index, Part::Mapping, self.clockwork.now());
        self.host.path.end_mapping(index);
        self.start(drive, index);
        Step::Internal
    }

    /// Fetches the pages that follow the read that was just served.
    fn read_ahead(&mut self, drive: &mut Drive) {
        let tells_losses = drive.tells_losses();
        self.with_sink(drive, NO_COMMAND, |front, sink| {
            let Some(ahead) = sink.ahead.take() else { return };
            for page in ahead.wanted() {
                sink.slot = ahead.fetch();
                (sink.waits, sink.decode_ns) = (0, 0);
                let lost_before = sink.errors.lost_of_host();
                front.read_page_ahead(sink, Lpn(page));
                ahead.fetched(sink.slot, sink.waits, sink.decode_ns);
                if tells_losses && sink.errors.lost_of_host() > lost_before {
                    ahead.lost();
                }
            }
        });
    }

    /// An operation has ended, and with it, if commands come alone, those behind it whose end only
    /// changes a count.
    #[inline]
    pub(super) fn operations_done(&mut self, drive: &mut Drive, done: FlashOp) -> Step {
        let step = self.operation_done(drive, done);
        if self.clockwork.comes_alone && step == Step::Internal {
            self.background.end_programs(&mut self.clockwork, &mut self.host, drive);
        }
        step
    }

    /// An operation has ended: commands that waited for it continue.
    #[inline]
    fn operation_done(&mut self, drive: &mut Drive, done: FlashOp) -> Step {
        self.background.operation_done(&mut self.clockwork, &mut self.host, drive, done);
        if done.frees_buffer() {
            let waiter = self.host.release_cache_slot(&mut self.clockwork, done.command());
            return waiter.map_or(Step::Internal, |index| self.satisfy(drive, index, None));
        }
        if done.command() >= FETCH {
            if done.command() != NO_COMMAND {
                self.host.fetched(&mut self.clockwork, done.command());
            }
            return Step::Internal;
        }
        let may_fail = done.kind() == OpKind::Read && done.source() != Source::Rebuild;
        if may_fail && !self.host.failing.is_empty() {
            self.follow_failed(drive, done);
        }
        self.satisfy(drive, done.command(), Some(done))
    }

    /// If a read of a command has failed, the command waits for the others of its row too.
    #[cold]
    fn follow_failed(&mut self, drive: &mut Drive, done: FlashOp) {
        let index = done.command();
        let (waits, decode_ns) = self.with_sink(drive, index, |_, sink| {
            sink.follow_failed(done);
            (sink.waits, sink.decode_ns)
        });
        let slot = self.host.path.slot(index);
        slot.waits += waits;
        if slot.command.op == HostOp::Read {
            slot.decode = slot.decode.max(Ns(decode_ns.into()));
        }
        self.background.forget_touched();
    }

    /// A command has one thing less to wait for; `last` was the operation, if it was one.
    #[inline]
    fn satisfy(&mut self, drive: &mut Drive, index: u32, last: Option<FlashOp>) -> Step {
        let slot = self.host.path.slot(index);
        slot.waits -= 1;
        if slot.waits > 0 {
            Step::Internal
        } else if self.host.path.leg(index) == Leg::Mapping {
            self.mapped(drive, index)
        } else {
            self.served(drive, index, last)
        }
    }

    /// Nothing is left to wait for in the drive; `last` was the last operation, if it was one.
    #[inline]
    fn served(&mut self, drive: &mut Drive, index: u32, last: Option<FlashOp>) -> Step {
        if self.host.settles() && self.settles_later(drive, index) {
            return Step::Internal;
        }
        if self.host.ledger.is_watched() {
            let (now, ledger) = (self.clockwork.now(), &mut self.host.ledger);
            match last {
                None => ledger.credit(index, Part::Cache, now),
                Some(op) if op.source() == Source::Rebuild => {
                    ledger.credit(index, Part::Rebuild, now);
                }
                Some(_) => {
                    let full = self.clockwork.backend.full();
                    let parts = full.map_or_else(Parts::default, |full| *full.done.parts());
                    ledger.credit_operation(index, &parts, now);
                }
            }
        }
        if self.host.path.has_pauses() {
            self.unblock(drive, index);
        }
        self.go_out(drive, index)
    }

    /// Ends what flushes wait for with a command that is served; whether it has to wait itself.
    #[cold]
    fn settles_later(&mut self, drive: &mut Drive, index: u32) -> bool {
        self.host.end_followed(&mut self.clockwork, index);
        self.host.has_to_settle(index) && self.awaits_programs(drive, index)
    }

    /// Pads program units for a flush that was served; whether it has to wait for some.
    #[cold]
    fn awaits_programs(&mut self, drive: &mut Drive, index: u32) -> bool {
        let waits = self.with_sink(drive, index, |front, sink| {
            if front.pads {
                front.ftl.complete(sink, Pending::Units);
            }
            if let Backend::Full(full) = &mut sink.backend {
                sink.waits += u32::from(full.await_programs(index));
            }
            sink.waits
        });
        if waits > 0 {
            self.host.settle_after(index, waits);
        }
        waits > 0
    }

    /// The command of a slot blocks nothing any more: those that the processor held continue.
    fn unblock(&mut self, drive: &mut Drive, index: u32) {
        let now = self.clockwork.now();
        for held in self.host.path.unblock(index, now) {
            self.host.ledger.credit(held, Part::Controller, now);
            self.go_in(drive, held);
        }
    }

    /// A command that is served continues towards its host.
    #[inline]
    fn go_out(&mut self, drive: &mut Drive, index: u32) -> Step {
        let now = self.clockwork.now();
        if let Some(span) = self.host.path.go_out(index, now) {
            self.clockwork.schedule(span, Event::Leg(index));
            return Step::Internal;
        }
        let (command, submitted, is_lost) = self.host.path.release(index);
        if let Some(timeline) = self.clockwork.backend.recorder() {
            timeline.end(Lane::Command(index), now);
        }
        self.host.ledger.note_complete(index, &command, now - submitted, now, is_lost);
        if drive.slow.is_some() {
            drive.note_slow(command.op, now - submitted, now);
        }
        self.host.note_depth(&mut self.clockwork);
        if let Some(next) = self.host.path.admit_waiting() {
            let &mut Slot { command, submitted, .. } = self.host.path.slot(next);
            let number = self.host.ledger.note_let_in(next, command.tenant, submitted, now);
            self.host.note_inside(&mut self.clockwork, next, number);
            self.go_in(drive, next);
        }
        Step::Completed(command.tenant)
    }
}
