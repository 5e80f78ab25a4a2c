//! The timed executor: commands, dies and channels in simulated time.
//!
//! ```text
//! submit ► queue slot ► controller ► throttle ► link in ► FTL decides ► operations queue
//!    ▲                                                                        │
//!    └─ completion: latency, next command ◄─ link out ◄─ decode ◄─ last operation done
//! ```
//! Each stage that the device does not have is skipped at once. The FTL decides when a command
//! reaches it; a collection that it needs is queued on the same die before the command's own
//! operations, and so delays them. State lives in [`TimedStage`], so a run can be cut into slices
//! anywhere.

use super::backend::{Backend, Observation};
use super::collector::{Collector, Stalled};
use super::drive::{Drive, Front};
use super::sink::{CacheSlots, TimedSink};
use super::window::Completion;
use crate::controller::breakdown::{Breakdown, Part, Parts};
use crate::controller::plain::HOST_EVENT;
use crate::controller::{FlashOp, NO_COMMAND};
use crate::engine::Engine;
use crate::host::latency::LatencyBook;
use crate::host::link::{Direction, Link};
use crate::host::processor::Processor;
use crate::host::tenants::{Outside, TenantBook};
use crate::host::throttle::Throttle;
use crate::op::{HostCommand, HostOp, HOST_OP_KINDS};
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::Host;

/// Host events from here on: the arrival of the next command of tenant `code - ARRIVAL`, or the end
/// of its pause.
const ARRIVAL: u32 = HOST_EVENT;
/// Host events from here on: die `code - IDLE` has been idle for a while.
pub(super) const IDLE: u32 = HOST_EVENT + 1024;
/// Host events from here on: the command of slot `code - SLOT` goes on.
const SLOT: u32 = HOST_EVENT + (1 << 21);

/// What a command does when its event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The controller is done with it.
    Processed,
    /// The throttle lets it go.
    Released,
    /// Its data is in the drive.
    Arrived,
    /// It waited for no flash operation, or all are done.
    Served,
    /// Its data is decoded.
    Decoded,
    /// Its data has left the drive.
    Sent,
}

/// A command under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) command: HostCommand,
    submitted: Ns,
    /// Until when its parts are accounted for.
    pub(super) accounted: Ns,
    /// Operations and cache slots that it still waits for.
    pub(super) waits: u32,
    phase: Phase,
    /// Whether it read flash pages.
    has_read: bool,
    /// Sectors of a write that found no room.
    pub(super) refused_sectors: u32,
}

/// What the device puts between host and flash.
pub(super) struct HostPath {
    pub(super) link: Option<Link>,
    processor: Option<Processor>,
    pub(super) throttle: Option<Throttle>,
    overhead: Ns,
    decode: Ns,
}

/// The clock, the servers and the commands of a timed stage.
pub(crate) struct TimedStage {
    pub(crate) engine: Engine,
    pub(super) backend: Backend,
    pub(super) path: HostPath,
    pub(super) slots: Vec<Slot>,
    free_slots: Vec<u32>,
    depth_max: u32,
    pub(super) cache: CacheSlots,
    /// Commands beyond the drive's queue depth.
    pub(crate) outside: Outside<HostCommand>,
    pub(super) outstanding: u64,
    /// Integral of outstanding commands over time, in command nanoseconds.
    pub(super) area: u128,
    area_until: Ns,
    pub(crate) latencies: LatencyBook,
    /// Whether latencies are recorded here; a cell keeps its own.
    keeps_latencies: bool,
    /// The command that completed last.
    pub(crate) last: Completion,
    pub(crate) tally: TimedTally,
    /// What each host got, when they have names.
    pub(crate) tenants: Option<Box<TenantBook>>,
    /// A write found no room: its command completes as failed, and no further one should come.
    pub(crate) is_worn_out: bool,
    pub(super) collector: Option<Box<Collector>>,
    /// When a flash operation was over last; with collections in steps only.
    pub(super) last_done: Ns,
    /// Room for what a sink reports, kept between commands.
    pub(super) stalled: Vec<Stalled>,
    pub(super) touched: Vec<u32>,
    /// Arrivals of open loops that are scheduled.
    pub(super) arrivals: u32,
    pub(super) breakdown: Option<Box<Breakdown>>,
    /// Parts of the commands under way, by slot, when they are observed.
    pub(super) parts: Vec<Parts>,
}

/// What a timed stage has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimedTally {
    pub(crate) issued: u64,
    pub(crate) served: u64,
    pub(crate) served_bytes: [u64; HOST_OP_KINDS],
    pub(crate) served_commands: [u64; HOST_OP_KINDS],
    pub(crate) flash_ops: u64,
    /// Sum of the latencies of all commands.
    pub(crate) latency_ns: u128,
    /// When the last command completed.
    pub(crate) last_completion: Ns,
}

/// Whose commands a stage carries out.
pub(crate) trait Client {
    /// A command of this tenant completed: its closed loop may submit the next.
    fn completed(&mut self, drive: &mut Drive, stage: &mut TimedStage, tenant: usize);

    /// The next command of this tenant's open loop has arrived, or its pause is over.
    fn arrived(&mut self, drive: &mut Drive, stage: &mut TimedStage, tenant: usize);
}

/// What happened in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A command of this tenant completed: its closed loop may issue the next.
    Completed(u8),
    /// The next command of this tenant's open loop has arrived.
    Arrived(u8),
    /// Something inside the drive.
    Internal,
    /// Nothing is left to happen.
    Idle,
}

impl TimedStage {
    /// An idle drive at time zero, shared by `hosts`.
    pub(crate) fn new(drive: &Drive, observation: &Observation, hosts: &[&Host]) -> Self {
        Self::with_book(drive, observation, hosts, Some(LatencyBook::default()))
    }

    /// As [`TimedStage::new`]; without a book, no latencies are recorded.
    pub(super) fn with_book(
        drive: &Drive,
        observation: &Observation,
        hosts: &[&Host],
        book: Option<LatencyBook>,
    ) -> Self {
        let config = &drive.config;
        Self {
            engine: Engine::default(),
            backend: Backend::new(drive, observation),
            path: HostPath {
                link: config.host.build_link(),
                processor: config.host.build_processor(),
                throttle: config.host.build_throttle(),
                overhead: Ns::from_us(config.host.command_overhead_us),
                decode: Ns::from_us(config.controller.ecc_decode_us),
            },
            slots: Vec::new(),
            free_slots: Vec::new(),
            depth_max: config.host.depth_max(),
            cache: CacheSlots { capacity: drive.buffer_capacity(), ..CacheSlots::default() },
            outside: Outside::new(&config.host, hosts),
            outstanding: 0,
            area: 0,
            area_until: Ns(0),
            keeps_latencies: book.is_some(),
            latencies: book.unwrap_or_else(LatencyBook::unused),
            last: Completion::default(),
            tally: TimedTally::default(),
            tenants: TenantBook::of(hosts),
            is_worn_out: false,
            collector: Collector::new(&config.ftl, drive.geometry.die_count).map(Box::new),
            last_done: Ns(0),
            stalled: Vec::new(),
            touched: Vec::new(),
            arrivals: 0,
            breakdown: observation.breakdown.then(Box::default),
            parts: Vec::new(),
        }
    }

    /// The simulated time.
    pub(crate) fn now(&self) -> Ns {
        self.engine.now()
    }

    /// Schedules the arrival of a tenant's next command, or the end of its pause.
    pub(crate) fn await_arrival(&mut self, tenant: u8, at: Ns) {
        // A generator's arrivals never decrease; a late one arrives now.
        let after = Ns(at.0.saturating_sub(self.now().0));
        self.arrivals += 1;
        self.engine.schedule(after, ARRIVAL + u32::from(tenant));
    }

    /// A command reaches the drive now, or waits outside while the drive is full.
    #[inline]
    pub(crate) fn submit(&mut self, drive: &mut Drive, command: HostCommand) {
        self.note_area();
        self.outstanding += 1;
        self.note_depth();
        self.tally.issued += 1;
        if self.slots.len() - self.free_slots.len() >= self.depth_max as usize {
            let queue = usize::from(command.tenant);
            self.outside.push(queue, HostCommand { arrival: self.now(), ..command });
        } else {
            self.admit(drive, command, self.now());
        }
    }

    /// Gives a command a slot; it was submitted at `submitted`.
    fn admit(&mut self, drive: &mut Drive, command: HostCommand, submitted: Ns) {
        let slot = Slot {
            command,
            submitted,
            accounted: submitted,
            waits: 0,
            phase: Phase::Processed,
            has_read: false,
            refused_sectors: 0,
        };
        let index = if let Some(index) = self.free_slots.pop() {
            self.slots[index as usize] = slot;
            index
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        if self.breakdown.is_some() {
            self.parts.resize(self.slots.len(), Parts::default());
            self.parts[index as usize] = Parts::default();
            self.account(index, Part::Submission);
        }
        let now = self.now();
        let done = match &mut self.path.processor {
            Some(processor) => processor.reserve(now, command.op, bytes_of(&command)),
            None => now,
        };
        self.go_on(drive, index, done - now + self.path.overhead, Phase::Processed);
    }

    /// Lets a command go on after some time, at once if that is none.
    #[inline]
    fn go_on(&mut self, drive: &mut Drive, index: u32, after: Ns, phase: Phase) {
        if after > Ns(0) {
            self.slots[index as usize].phase = phase;
            self.engine.schedule(after, SLOT + index);
            return;
        }
        match phase {
            Phase::Processed => self.processed(drive, index),
            Phase::Released => self.released(drive, index),
            Phase::Arrived => self.start(drive, index),
            Phase::Served | Phase::Decoded | Phase::Sent => {
                unreachable!("completions come by events")
            }
        }
    }

    #[inline]
    fn processed(&mut self, drive: &mut Drive, index: u32) {
        self.account(index, Part::Controller);
        let (now, command) = (self.now(), self.slots[index as usize].command);
        let wait = match &mut self.path.throttle {
            Some(throttle) => throttle.delay(now, command.op, bytes_of(&command)),
            None => Ns(0),
        };
        self.go_on(drive, index, wait, Phase::Released);
    }

    #[inline]
    fn released(&mut self, drive: &mut Drive, index: u32) {
        self.account(index, Part::Throttle);
        let (now, command) = (self.now(), self.slots[index as usize].command);
        let arrived = match &mut self.path.link {
            // The command of a read travels with its data.
            Some(link) if command.op != HostOp::Read => {
                let bytes = if command.op == HostOp::Write { bytes_of(&command) } else { 0 };
                link.reserve(now, Direction::ToDrive, bytes)
            }
            _ => now,
        };
        self.go_on(drive, index, arrived - now, Phase::Arrived);
    }

    /// The FTL decides; operations are queued. A command that waits for nothing completes by an
    /// event at this instant, so that completions never nest.
    fn start(&mut self, drive: &mut Drive, index: u32) {
        self.account(index, Part::Link);
        let command = self.slots[index as usize].command;
        if self.collector.is_some() && command.op == HostOp::Trim {
            self.forget_stalled(drive, &command);
        }
        let (refused_sectors, waits) = self.with_sink(drive, index, |front, sink| {
            let before = front.host.sectors[HostOp::Write.index()];
            let refused = front.apply(sink, &command).err().map(|_| {
                let written = front.host.sectors[HostOp::Write.index()] - before;
                if command.op == HostOp::Write {
                    command.sector_count - written as u32
                } else {
                    0
                }
            });
            (refused, sink.waits)
        });
        let slot = &mut self.slots[index as usize];
        if let Some(sectors) = refused_sectors {
            self.is_worn_out = true;
            slot.refused_sectors = sectors;
        }
        slot.waits = waits;
        slot.has_read = command.op == HostOp::Read && waits > 0;
        if self.collector.is_some() {
            // A write that found no room may be refused at once.
            self.note_touched(drive);
        }
        if waits == 0 {
            self.serve_soon(index);
        }
    }

    /// Lets the FTL work for a command (or for none) and keeps account of it.
    #[inline]
    pub(super) fn with_sink<T>(
        &mut self,
        drive: &mut Drive,
        slot: u32,
        work: impl FnOnce(&mut Front, &mut TimedSink) -> T,
    ) -> T {
        let geometry = drive.geometry;
        let (mut front, media, errors) = drive.split();
        let mut sink = TimedSink {
            media,
            errors,
            geometry,
            engine: &mut self.engine,
            backend: &mut self.backend,
            cache: &mut self.cache,
            slot,
            waits: 0,
            is_flush: false,
            in_steps: self.collector.is_some(),
            epoch: None,
            stalled: &mut self.stalled,
            touched: &mut self.touched,
            flash_ops: 0,
            programmed_pages: 0,
        };
        let outcome = work(&mut front, &mut sink);
        let (flash_ops, programmed) = (sink.flash_ops, sink.programmed_pages);
        self.tally.flash_ops += flash_ops;
        self.backend.release(&mut self.engine);
        if let Some(throttle) = &mut self.path.throttle {
            throttle.note_programmed(self.engine.now(), programmed * geometry.page_bytes);
        }
        outcome
    }

    /// Lets some events happen; true when nothing is left to happen.
    ///
    /// The one loop of all clients: a second one would make calls of what is inlined here.
    pub(crate) fn pump(&mut self, drive: &mut Drive, client: &mut dyn Client, events: u32) -> bool {
        for _ in 0..events {
            match self.step(drive) {
                Step::Internal => {}
                Step::Completed(tenant) => client.completed(drive, self, usize::from(tenant)),
                Step::Arrived(tenant) => client.arrived(drive, self, usize::from(tenant)),
                Step::Idle => return true,
            }
        }
        false
    }

    /// Lets the next event happen.
    #[inline]
    fn step(&mut self, drive: &mut Drive) -> Step {
        if let Some(done) = self.backend.take_completed() {
            return self.operation_done(drive, done);
        }
        let Some(code) = self.engine.take() else { return Step::Idle };
        if code >= SLOT {
            return self.slot_event(drive, code - SLOT);
        }
        if code >= IDLE {
            self.idle_timer(drive, code - IDLE);
            return Step::Internal;
        }
        if code >= ARRIVAL {
            self.arrivals -= 1;
            return Step::Arrived((code - ARRIVAL) as u8);
        }
        match self.backend.handle(&mut self.engine, code) {
            Some(done) => self.operation_done(drive, done),
            None => Step::Internal,
        }
    }

    fn slot_event(&mut self, drive: &mut Drive, index: u32) -> Step {
        match self.slots[index as usize].phase {
            Phase::Processed => self.processed(drive, index),
            Phase::Released => self.released(drive, index),
            Phase::Arrived => self.start(drive, index),
            Phase::Served => return self.served(drive, index, None),
            Phase::Decoded => return self.decoded(drive, index),
            Phase::Sent => {
                self.account(index, Part::Link);
                return self.complete(drive, index);
            }
        }
        Step::Internal
    }

    /// An operation is over: whoever waited for it goes on.
    #[inline]
    fn operation_done(&mut self, drive: &mut Drive, done: FlashOp) -> Step {
        if self.collector.is_some() {
            self.note_done(drive, &done);
        }
        if done.frees_buffer {
            return self.cache_slot_free(drive, done.command);
        }
        if done.command == NO_COMMAND {
            return Step::Internal;
        }
        self.satisfy(drive, done.command, Some(&done))
    }

    /// A program of the write cache is done, of this epoch.
    fn cache_slot_free(&mut self, drive: &mut Drive, epoch: u32) -> Step {
        match self.release_cache_slot(epoch) {
            Some(index) => self.satisfy(drive, index, None),
            None => Step::Internal,
        }
    }

    /// Frees the cache slot of a page of this epoch: flushes that waited for it go on, and the
    /// command that is returned has one slot less to wait for.
    fn release_cache_slot(&mut self, epoch: u32) -> Option<u32> {
        self.cache.in_flight -= 1;
        self.cache.fence.end(epoch);
        while let Some(index) = self.cache.fence.released() {
            self.slots[index as usize].waits = 0;
            self.serve_soon(index);
        }
        self.cache.waiters.pop_front()
    }

    /// There is no room for a page of the write cache.
    pub(super) fn refuse_cached(&mut self, epoch: u32) {
        if let Some(index) = self.release_cache_slot(epoch) {
            self.satisfy_soon(index);
        }
    }

    /// A page of the write cache was trimmed while it waited for room. Who waits for its slot goes
    /// on when the next program ends, as after trims of pages that stay in the cache; at once where
    /// no program is left to end.
    pub(super) fn forget_cached(&mut self, epoch: u32) {
        if self.cache.in_flight > 1 && self.cache.waiters.len() < self.cache.in_flight {
            self.cache.in_flight -= 1;
            self.cache.fence.end(epoch);
        } else {
            self.refuse_cached(epoch);
        }
    }

    /// As [`TimedStage::satisfy`], where a completion would nest in another.
    pub(super) fn satisfy_soon(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.waits -= 1;
        if slot.waits == 0 {
            self.serve_soon(index);
        }
    }

    /// A command waits for nothing in the drive any more. It goes on by an event at this instant,
    /// so that completions never nest.
    fn serve_soon(&mut self, index: u32) {
        self.slots[index as usize].phase = Phase::Served;
        self.engine.schedule(Ns(0), SLOT + index);
    }

    #[inline]
    fn satisfy(&mut self, drive: &mut Drive, index: u32, last: Option<&FlashOp>) -> Step {
        let slot = &mut self.slots[index as usize];
        slot.waits -= 1;
        if slot.waits == 0 {
            self.served(drive, index, last)
        } else {
            Step::Internal
        }
    }

    /// Nothing is left to wait for in the drive; `last` was the last operation, if it was one.
    #[inline]
    fn served(&mut self, drive: &mut Drive, index: u32, last: Option<&FlashOp>) -> Step {
        if self.breakdown.is_some() {
            self.account_flash(index, last);
        }
        let slot = &mut self.slots[index as usize];
        if slot.has_read && self.path.decode > Ns(0) {
            slot.phase = Phase::Decoded;
            self.engine.schedule(self.path.decode, SLOT + index);
            return Step::Internal;
        }
        self.decoded(drive, index)
    }

    #[inline]
    fn decoded(&mut self, drive: &mut Drive, index: u32) -> Step {
        self.account(index, Part::Ecc);
        let now = self.engine.now();
        let slot = &mut self.slots[index as usize];
        let command = slot.command;
        match &mut self.path.link {
            Some(link) if command.op == HostOp::Read => {
                slot.phase = Phase::Sent;
                let sent = link.reserve(now, Direction::ToHost, bytes_of(&command));
                self.engine.schedule(sent - now, SLOT + index);
                Step::Internal
            }
            _ => self.complete(drive, index),
        }
    }

    fn complete(&mut self, drive: &mut Drive, index: u32) -> Step {
        self.note_area();
        self.outstanding -= 1;
        self.note_depth();
        let now = self.now();
        let Slot { mut command, submitted, refused_sectors, .. } = self.slots[index as usize];
        // What was refused was not written.
        command.sector_count -= refused_sectors;
        self.free_slots.push(index);
        let latency = now - submitted;
        if self.keeps_latencies {
            self.latencies.record(command.op, latency);
        }
        if let Some(breakdown) = &mut self.breakdown {
            breakdown.record(command.op, latency, &self.parts[index as usize]);
        }
        let (kind, bytes) = (command.op.index(), bytes_of(&command));
        self.last = Completion { kind, bytes, latency };
        self.tally.served += 1;
        self.tally.served_commands[kind] += 1;
        self.tally.served_bytes[kind] += bytes;
        self.tally.latency_ns += u128::from(latency.0);
        self.tally.last_completion = now;
        if let Some(tenants) = &mut self.tenants {
            tenants.record(&command, latency);
        }
        if let Some(next) = self.outside.pop() {
            self.admit(drive, next, next.arrival);
        }
        Step::Completed(command.tenant)
    }

    /// The number of outstanding commands changed.
    #[inline]
    fn note_depth(&mut self) {
        let now = self.now();
        self.backend.level("queue_depth", now, self.outstanding);
    }

    #[inline]
    fn note_area(&mut self) {
        let now = self.now();
        self.area += u128::from(self.outstanding) * u128::from((now - self.area_until).0);
        self.area_until = now;
    }

    /// Aims a trim at mapped data.
    pub(crate) fn aim(
        drive: &mut Drive,
        command: &mut HostCommand,
        retarget: &mut dyn FnMut(&mut HostCommand),
    ) {
        if command.op == HostOp::TrimMapped {
            let (front, ..) = drive.split();
            if !super::aim_trim(&front, command, retarget) {
                front.host.missed_trims += 1;
            }
        }
    }
}

#[inline]
fn bytes_of(command: &HostCommand) -> u64 {
    u64::from(command.sector_count) * SECTOR_BYTES
}
