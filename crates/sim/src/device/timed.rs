//! The timed executor: commands, dies and channels in simulated time.
//!
//! ```text
//! admit (closed loop: at once; open: at arrival) ► overhead ► FTL decides ► operations queue
//!      ▲                                                                            │
//!      └──────────────── completion: latency, next command ◄── last operation done ─┘
//! ```
//! The FTL decides when a command is admitted; a collection that it needs is queued on the same die
//! before the command's own operations, and so delays them. State lives in [`TimedStage`], so a run
//! can be cut into slices anywhere.

use std::collections::VecDeque;

use super::backend::{Backend, Observation};
use super::drive::{CommandSink, Drive};
use crate::controller::ecc::ReadErrors;
use crate::controller::plain::HOST_EVENT;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::engine::Engine;
use crate::ftl::FlashSink;
use crate::geometry::Geometry;
use crate::host::cache::Fence;
use crate::host::latency::LatencyBook;
use crate::host::tenants::{Outside, TenantBook};
use crate::nand::{CellMode, Media};
use crate::op::{HostCommand, HostOp, Source, HOST_OP_KINDS};
use crate::units::{BlockId, Lpn, Ns, Ppn};
use crate::workload::Host;

/// Host events from here on: the arrival of the next command of tenant `code - ARRIVAL`, or the end
/// of its pause.
const ARRIVAL: u32 = HOST_EVENT;
/// Host events from here on: the controller is done with the command of slot `code - STARTED`.
const STARTED: u32 = ARRIVAL + u8::MAX as u32 + 1;

/// A command under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    command: HostCommand,
    submitted: Ns,
    /// Operations and buffer slots that it still waits for.
    waits: u32,
}

/// The clock, the servers and the commands of a timed stage.
pub(crate) struct TimedStage {
    pub(crate) engine: Engine,
    backend: Backend,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    overhead: Ns,
    depth_max: u32,
    buffer_pages: usize,
    flushes_in_flight: usize,
    /// Commands that wait for a slot of the write buffer, once per page.
    buffer_waiters: VecDeque<u32>,
    /// Programs of the write buffer in flight, and the flush commands that wait for them.
    fence: Fence,
    /// Arrived commands beyond the drive's queue depth.
    outside: Outside<HostCommand>,
    outstanding: u64,
    /// Integral of outstanding commands over time, in command nanoseconds.
    area: u128,
    area_until: Ns,
    pub(crate) latencies: LatencyBook,
    pub(crate) tally: TimedTally,
    /// What each host got, when they have names.
    pub(crate) tenants: Option<Box<TenantBook>>,
    /// A write found no room: its command completes as failed, and no further one should come.
    pub(crate) is_worn_out: bool,
}

/// What a timed stage has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimedTally {
    pub(crate) issued: u64,
    pub(crate) served: u64,
    pub(crate) served_bytes: [u64; HOST_OP_KINDS],
    pub(crate) served_commands: [u64; HOST_OP_KINDS],
    pub(crate) flash_ops: u64,
    /// When the last command completed.
    pub(crate) last_completion: Ns,
}

/// What happened in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A command of this tenant completed: its closed loop may issue the next.
    Completed(u8),
    /// The next command of this tenant's open loop has arrived.
    Arrived(u8),
    /// Something inside the drive.
    Internal,
    /// Nothing is left to happen.
    Idle,
}

struct TimedSink<'a> {
    media: &'a mut Media,
    errors: &'a mut ReadErrors,
    engine: &'a mut Engine,
    backend: &'a mut Backend,
    geometry: Geometry,
    page_types: u32,
    slot: u32,
    waits: u32,
    is_flush: bool,
    buffer_pages: usize,
    flushes_in_flight: &'a mut usize,
    buffer_waiters: &'a mut VecDeque<u32>,
    fence: &'a mut Fence,
    flash_ops: u64,
}

impl TimedSink<'_> {
    #[inline]
    fn push(&mut self, first: Ppn, count: u32, kind: OpKind, source: Source, retries: u32) {
        let waits = matches!(source, Source::Host | Source::Merge) && !self.is_flush;
        self.waits += u32::from(waits);
        self.flash_ops += u64::from(count);
        let row = self.geometry.row_of(self.geometry.page_index(first));
        let block = self.geometry.block_of(first);
        let frees_buffer = self.is_flush && source == Source::Host;
        let command = match (waits, frees_buffer) {
            (true, _) => self.slot,
            (_, true) => self.fence.begin(),
            _ => NO_COMMAND,
        };
        let op = FlashOp {
            first,
            count,
            sense_count: count,
            // Of a program of the write buffer: its epoch.
            command,
            erase_count: self.media.erase_count(block),
            kind,
            source,
            page_type: if self.page_types == 1 { 0 } else { (row % self.page_types) as u8 },
            retries: retries.min(255) as u8,
            is_slc: self.media.mode(block) == CellMode::Slc,
            frees_buffer,
        };
        if op.frees_buffer {
            self.is_flush = false;
            *self.flushes_in_flight += 1;
        }
        let die = self.geometry.die_of_block(block);
        self.backend.enqueue(self.engine, die, op);
    }
}

impl FlashSink for TimedSink<'_> {
    #[inline]
    fn media(&self) -> &Media {
        self.media
    }

    #[inline]
    fn read(&mut self, ppn: Ppn, source: Source) {
        let erase_count = self.media.erase_count(self.geometry.block_of(ppn));
        let retries = self.errors.record(erase_count, 1, source);
        self.push(ppn, 1, OpKind::Read, source, retries);
    }

    fn read_live(&mut self, block: BlockId, page_count: u32, source: Source) {
        let retries = self.errors.record(self.media.erase_count(block), page_count, source);
        if page_count > 0 {
            self.push(self.geometry.first_page(block), page_count, OpKind::Read, source, retries);
        }
    }

    #[inline]
    fn program(&mut self, ppn: Ppn, lpn: Lpn, source: Source) {
        self.media.program(ppn, lpn);
        self.push(ppn, 1, OpKind::Program, source, 0);
    }

    fn program_run(&mut self, first: Ppn, lpns: &[u32], source: Source) {
        self.media.program_run(first, lpns);
        self.push(first, lpns.len() as u32, OpKind::Program, source, 0);
    }

    fn erase(&mut self, block: BlockId, source: Source) -> u32 {
        self.push(self.geometry.first_page(block), 1, OpKind::Erase, source, 0);
        self.media.erase(block)
    }

    fn retire(&mut self, block: BlockId) {
        self.media.retire(block);
    }
}

impl CommandSink for TimedSink<'_> {
    #[inline]
    fn flush_next(&mut self) {
        self.is_flush = true;
    }

    fn buffered(&mut self, waiting: usize) {
        if waiting + *self.flushes_in_flight > self.buffer_pages + self.buffer_waiters.len() {
            self.waits += 1;
            self.buffer_waiters.push_back(self.slot);
        }
    }

    fn fence(&mut self) {
        self.waits += u32::from(self.fence.close(self.slot));
    }
}

impl TimedStage {
    /// An idle drive at time zero.
    pub(crate) fn new(drive: &Drive, observation: &Observation) -> Self {
        let config = &drive.config;
        Self {
            engine: Engine::default(),
            backend: Backend::new(drive, observation),
            slots: Vec::new(),
            free_slots: Vec::new(),
            overhead: Ns::from_us(config.host.command_overhead_us),
            depth_max: config.host.depth_max(),
            buffer_pages: drive.buffer_capacity(),
            flushes_in_flight: 0,
            buffer_waiters: VecDeque::new(),
            fence: Fence::default(),
            outside: Outside::default(),
            tenants: None,
            outstanding: 0,
            area: 0,
            area_until: Ns(0),
            latencies: LatencyBook::default(),
            tally: TimedTally::default(),
            is_worn_out: false,
        }
    }

    /// These hosts share the drive: each has a submission queue, and figures of its own if it has a
    /// name.
    pub(crate) fn share<'a>(&mut self, drive: &Drive, hosts: impl Iterator<Item = &'a Host>) {
        let hosts: Vec<_> = hosts.collect();
        self.outside = Outside::new(&drive.config.host, &hosts);
        self.tenants = TenantBook::of(&hosts);
    }

    /// The simulated time.
    pub(crate) fn now(&self) -> Ns {
        self.engine.now()
    }

    /// Schedules the arrival of a tenant's next command, or the end of its pause.
    pub(crate) fn await_arrival(&mut self, tenant: u8, at: Ns) {
        // A generator's arrivals never decrease; a late one arrives now.
        let after = Ns(at.0.saturating_sub(self.now().0));
        self.engine.schedule(after, ARRIVAL + u32::from(tenant));
    }

    /// A command reaches the drive now, or waits outside while the drive is full.
    pub(crate) fn submit(&mut self, drive: &mut Drive, command: HostCommand) {
        self.note_area();
        self.outstanding += 1;
        self.tally.issued += 1;
        if self.slots.len() - self.free_slots.len() >= self.depth_max as usize {
            let queue = usize::from(command.tenant);
            self.outside.push(queue, HostCommand { arrival: self.now(), ..command });
        } else {
            self.admit(drive, command, self.now());
        }
    }

    fn admit(&mut self, drive: &mut Drive, command: HostCommand, submitted: Ns) {
        let slot = Slot { command, submitted, waits: 0 };
        let index = if let Some(index) = self.free_slots.pop() {
            self.slots[index as usize] = slot;
            index
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        if self.overhead > Ns(0) {
            self.engine.schedule(self.overhead, STARTED + index);
        } else {
            self.start(drive, index);
        }
    }

    /// The FTL decides; operations are queued. A command that waits for nothing completes by an
    /// event at this instant, so that completions never nest.
    fn start(&mut self, drive: &mut Drive, index: u32) {
        let geometry = drive.geometry;
        let (mut front, media, errors) = drive.split();
        let mut sink = TimedSink {
            media,
            errors,
            geometry,
            page_types: self.backend.page_types(),
            engine: &mut self.engine,
            backend: &mut self.backend,
            slot: index,
            waits: 0,
            is_flush: false,
            buffer_pages: self.buffer_pages,
            flushes_in_flight: &mut self.flushes_in_flight,
            buffer_waiters: &mut self.buffer_waiters,
            fence: &mut self.fence,
            flash_ops: 0,
        };
        let command = self.slots[index as usize].command;
        self.is_worn_out |= front.apply(&mut sink, &command).is_err();
        let (waits, flash_ops) = (sink.waits, sink.flash_ops);
        self.tally.flash_ops += flash_ops;
        self.slots[index as usize].waits = waits;
        if waits == 0 {
            self.slots[index as usize].waits = u32::MAX;
            self.engine.schedule(Ns(0), STARTED + index);
        }
    }

    /// Lets the next event happen.
    #[inline]
    pub(crate) fn step(&mut self, drive: &mut Drive) -> Step {
        if let Some(done) = self.backend.take_completed() {
            return self.operation_done(drive, done);
        }
        let Some(code) = self.engine.take() else { return Step::Idle };
        if code >= STARTED {
            let index = code - STARTED;
            if self.slots[index as usize].waits == u32::MAX {
                return self.complete(drive, index);
            }
            self.start(drive, index);
            return Step::Internal;
        }
        if code >= ARRIVAL {
            return Step::Arrived((code - ARRIVAL) as u8);
        }
        match self.backend.handle(&mut self.engine, code) {
            Some(done) => self.operation_done(drive, done),
            None => Step::Internal,
        }
    }

    /// An operation is over: whoever waited for it goes on.
    #[inline]
    fn operation_done(&mut self, drive: &mut Drive, done: FlashOp) -> Step {
        if done.frees_buffer {
            self.flushes_in_flight -= 1;
            self.fence.end(done.command);
            while let Some(index) = self.fence.released() {
                // By an event at this instant, so that completions never nest.
                self.slots[index as usize].waits = u32::MAX;
                self.engine.schedule(Ns(0), STARTED + index);
            }
            return match self.buffer_waiters.pop_front() {
                Some(index) => self.satisfy(drive, index),
                None => Step::Internal,
            };
        }
        if done.command == NO_COMMAND {
            return Step::Internal;
        }
        self.satisfy(drive, done.command)
    }

    #[inline]
    fn satisfy(&mut self, drive: &mut Drive, index: u32) -> Step {
        let slot = &mut self.slots[index as usize];
        slot.waits -= 1;
        if slot.waits == 0 {
            self.complete(drive, index)
        } else {
            Step::Internal
        }
    }

    fn complete(&mut self, drive: &mut Drive, index: u32) -> Step {
        self.note_area();
        self.outstanding -= 1;
        let now = self.now();
        let Slot { command, submitted, .. } = self.slots[index as usize];
        self.free_slots.push(index);
        self.latencies.record(command.op, now - submitted);
        let kind = command.op.index();
        self.tally.served += 1;
        self.tally.served_commands[kind] += 1;
        self.tally.served_bytes[kind] +=
            u64::from(command.sector_count) * crate::units::SECTOR_BYTES;
        self.tally.last_completion = now;
        if let Some(tenants) = &mut self.tenants {
            tenants.record(&command, now - submitted);
        }
        if let Some(next) = self.outside.pop() {
            self.admit(drive, next, next.arrival);
        }
        Step::Completed(command.tenant)
    }

    #[inline]
    fn note_area(&mut self) {
        let now = self.now();
        self.area += u128::from(self.outstanding) * u128::from((now - self.area_until).0);
        self.area_until = now;
    }

    /// Relative gap between the integral of outstanding commands and the sum of their latencies:
    /// zero unless a command was lost or counted twice (Little's law in its exact, finite form).
    pub(crate) fn littles_law_error(&self) -> f64 {
        let sum = self.latencies.all().sum_ns() as f64;
        let area = self.area as f64;
        if area == 0.0 {
            sum
        } else {
            (sum - area).abs() / area
        }
    }

    /// Commands outstanding on average until the last completion.
    pub(crate) fn outstanding_mean(&self) -> Option<f64> {
        let span = self.tally.last_completion.0;
        (span > 0).then(|| self.area as f64 / span as f64)
    }

    /// Whether operations are still queued: collections that no command waits for.
    pub(crate) fn pending_ops(&self) -> u64 {
        self.backend.pending()
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
