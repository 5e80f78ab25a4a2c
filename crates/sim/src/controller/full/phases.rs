//! The phases of a transaction: command cycles, array, transfers, the end.

use super::bus::{Request, Use};
use super::die::{self, Array, Class, Queued, Transaction};
use super::{event, is_host, Full, ARRAY, BUS};
use crate::controller::breakdown::Parts;
use crate::controller::timeline::Lane;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::engine::Engine;
use crate::op::Source;
use crate::units::{BlockId, Ns, Ppn};

impl Full {
    /// Command cycles, if they are modelled, then the array.
    pub(super) fn start_array_command(
        &mut self,
        engine: &mut Engine,
        index: u32,
        transaction: Box<Transaction>,
    ) {
        if self.times.command == Ns(0) {
            self.start_array(engine, index, transaction);
        } else {
            // Until the command is over the transaction holds the array.
            let source = transaction.source;
            let die = &mut self.dies[index as usize];
            die.array = Array::Busy(transaction);
            die.array_until = Ns(u64::MAX);
            self.ask_channel(engine, index, (Use::Command, source), self.times.command);
        }
    }

    pub(super) fn start_array(
        &mut self,
        engine: &mut Engine,
        index: u32,
        mut transaction: Box<Transaction>,
    ) {
        let block = BlockId(transaction.block);
        let (is_slc, page_type) = (transaction.is_slc, transaction.page_type);
        let time = match transaction.kind {
            OpKind::Read => self.read_time(&mut transaction),
            OpKind::Program => self.times.program(block, is_slc, page_type, transaction.cycles),
            OpKind::Erase => self.times.erase(block, is_slc, transaction.cycles),
            OpKind::Copyback => {
                self.times.sense(block, is_slc, page_type)
                    + self.times.program(block, is_slc, page_type, transaction.cycles)
            }
        };
        let time = time + transaction.choice;
        transaction.spent.array_time = time;
        let started = transaction.spent.started;
        self.run_array(engine, index, transaction, time);
        self.suspend_for_waiting(engine, index, started);
    }

    /// How long a read takes in the array, with what it needs beside the first sense.
    #[inline]
    pub(super) fn read_time(&self, read: &mut Transaction) -> Ns {
        let sense = self.times.sense(BlockId(read.block), read.is_slc, read.page_type);
        let soft = (sense + self.times.soft_setup).0 * u64::from(read.rereads.soft_reads);
        // The die keeps its levels until the decoder has answered.
        let decode = u64::from(read.rereads.failed_ns);
        let retries = self.times.retry(sense).0 * u64::from(read.rereads.retries);
        let begin = if read.rereads.begins_at_step { self.times.retry(Ns(0)).0 } else { 0 };
        read.spent.retry_time = Ns(begin + retries + soft + decode);
        sense + read.spent.retry_time
    }

    pub(super) fn run_array(
        &mut self,
        engine: &mut Engine,
        index: u32,
        mut transaction: Box<Transaction>,
        time: Ns,
    ) {
        transaction.spent.array_from = engine.now();
        let die = &mut self.dies[index as usize];
        die.working = die.working + (time - transaction.choice);
        die.array_until = engine.now() + time;
        die.array = Array::Busy(transaction);
        engine.schedule(time, event(ARRAY, index));
    }

    pub(super) fn ask_channel(
        &mut self,
        engine: &mut Engine,
        index: u32,
        (to, source): (Use, Source),
        time: Ns,
    ) {
        let now = engine.now();
        let die = &self.dies[index as usize];
        let channel = die.channel;
        let is_of_read = to != Use::In && is_host(source);
        let is_waited_for = is_of_read || !die.queues[Class::HostRead as usize].is_empty();
        let is_first = is_waited_for && self.puts_reads_first();
        let request = Request { die: index, to, is_first, time, asked: now, started: now };
        if self.channels[channel as usize].ask(request) {
            engine.schedule(time, event(BUS, channel));
        }
    }

    pub(super) fn bus_done(&mut self, engine: &mut Engine, channel: u32) {
        let now = engine.now();
        let done = self.channels[channel as usize].release();
        let is_out_of_plane = matches!(done.to, Use::PlaneOut(_));
        if !is_out_of_plane {
            self.start_on_channel(engine, channel);
        }
        let index = done.die;
        if self.is_observed {
            self.dies[index as usize].settle(now);
        }
        let die = &mut self.dies[index as usize];
        let transaction = match done.to {
            Use::Command => match &mut die.array {
                Array::Busy(transaction) => transaction,
                _ => unreachable!("a command was sent for a transaction"),
            },
            Use::In => die.input.as_mut().expect("data went in for a program"),
            Use::Out => die.output.as_mut().expect("data came out of a read"),
            Use::PlaneCommand(_) | Use::PlaneOut(_) => {
                die.plane_read(done.to).expect("a plane used the channel for a read")
            }
        };
        transaction.spent.bus_wait = transaction.spent.bus_wait + (done.started - done.asked);
        transaction.spent.bus_time = transaction.spent.bus_time + done.time;
        if let Some(timeline) = &mut self.timeline {
            timeline.span(Lane::Channel(channel), transaction.name(), done.started, now);
        }
        match done.to {
            Use::Command => {
                if let Array::Busy(transaction) = std::mem::take(&mut die.array) {
                    self.start_array(engine, index, transaction);
                }
            }
            Use::In => die.is_loaded = true,
            Use::Out => {
                if let Some(transaction) = die.output.take() {
                    self.finish(transaction, now);
                }
                self.move_sensed(engine, index);
            }
            Use::PlaneCommand(plane) => self.sense_plane(engine, index, u32::from(plane)),
            Use::PlaneOut(plane) => self.plane_is_out(engine, index, u32::from(plane)),
        }
        self.pump(engine, index);
        if is_out_of_plane {
            self.start_on_channel(engine, channel);
        }
    }

    /// Starts the next use of a channel.
    #[inline]
    fn start_on_channel(&mut self, engine: &mut Engine, channel: u32) {
        if let Some(next) = self.channels[channel as usize].start_next(engine.now()) {
            engine.schedule(next.time, event(BUS, channel));
        }
    }

    pub(super) fn array_done(&mut self, engine: &mut Engine, index: u32) {
        let now = engine.now();
        let die = &mut self.dies[index as usize];
        if die.array_until != now {
            // The operation was suspended meanwhile.
            return;
        }
        if self.is_observed {
            die.settle(now);
        }
        match std::mem::take(&mut die.array) {
            Array::Free => return,
            Array::Suspending => {}
            Array::Busy(mut transaction) => {
                if transaction.is_sensed {
                    die.array = Array::Busy(transaction);
                    return;
                }
                if let Some(timeline) = &mut self.timeline {
                    let (name, from) = (transaction.name(), transaction.spent.array_from);
                    timeline.span(Lane::Die(index), name, from, now);
                    if transaction.kind == OpKind::Erase {
                        timeline.end(Lane::Collection(index), now);
                    }
                }
                if transaction.kind == OpKind::Read {
                    transaction.is_sensed = true;
                    die.array = Array::Busy(transaction);
                    self.move_sensed(engine, index);
                } else {
                    self.finish(transaction, now);
                }
            }
        }
        self.pump(engine, index);
    }

    /// Moves a sensed page to the output register when that is free.
    pub(super) fn move_sensed(&mut self, engine: &mut Engine, index: u32) {
        let die = &mut self.dies[index as usize];
        if die.output.is_some() {
            return;
        }
        match std::mem::take(&mut die.array) {
            Array::Busy(transaction) if transaction.is_sensed => {
                let (time, source) = (self.times.out(&transaction), transaction.source);
                die.output = Some(transaction);
                self.ask_channel(engine, index, (Use::Out, source), time);
            }
            other => die.array = other,
        }
    }

    /// The next operation that is done; [`Full::parts`] are its parts then.
    #[inline]
    pub fn take_completed(&mut self) -> Option<FlashOp> {
        let next = self.done.ops.front_mut()?;
        let op = *next;
        if op.frees_buffer() && op.count() > 1 {
            *next = op.run_of(Ppn(op.first().0 + 1), op.count() - 1);
            return Some(op.run_of(op.first(), 1));
        }
        self.done.ops.pop_front();
        if self.is_observed {
            self.parts = self.done.parts.pop_front().unwrap_or_default();
        }
        Some(op)
    }

    /// The next operation that is done, if it is a run of pages that leave the write buffer.
    #[inline]
    pub fn take_freed(&mut self) -> Option<FlashOp> {
        let is_freed = self.done.ops.front().is_some_and(|op| op.frees_buffer());
        if is_freed && !self.is_observed {
            self.done.ops.pop_front()
        } else {
            None
        }
    }

    /// Whether operations are done that nobody has taken yet.
    pub fn has_completed(&self) -> bool {
        !self.done.ops.is_empty()
    }

    /// What the operation taken last spent its time on; zero unless observed.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// A transaction is over: its operations are done.
    pub(super) fn finish(&mut self, mut transaction: Box<Transaction>, now: Ns) {
        let progress = &mut self.blocks[transaction.block as usize];
        match transaction.kind {
            OpKind::Read => {}
            OpKind::Erase => {
                progress.erases += 1;
                progress.programmed = 0;
            }
            OpKind::Program | OpKind::Copyback => {
                let in_order = progress.programmed + transaction.slots
                    == transaction.programmed_limit
                    || transaction.kind == OpKind::Copyback;
                let in_time = progress.erases == transaction.cycles;
                self.tally.violations += u64::from(!(in_order && in_time));
                progress.programmed = transaction.programmed_limit;
                progress.pending -= transaction.settled;
                let is_inside = transaction.kind == OpKind::Copyback;
                progress.inside -= if is_inside { transaction.settled } else { 0 };
            }
        }
        self.note_progress();
        self.pending -= u64::from(transaction.of_runs);
        let mut ops = std::mem::take(&mut transaction.ops);
        for queued in ops.drain(..) {
            self.pending -= u64::from(queued.op.count());
            if self.is_observed {
                let is_awaited = queued.op.command() != NO_COMMAND && queued.busy.is_some();
                let parts =
                    if is_awaited { transaction.parts(&queued, now) } else { Parts::default() };
                self.done.parts.push_back(parts);
            }
            self.done.ops.push_back(queued.op);
        }
        transaction.ops = ops;
        self.spare.push(transaction);
    }

    /// An operation is done without the flash.
    pub(super) fn tell_unserved(&mut self, index: u32, queued: &Queued, now: Ns) {
        self.pending -= u64::from(queued.op.count());
        if self.is_observed {
            let die = &mut self.dies[index as usize];
            die.settle(now);
            self.done.parts.push_back(die::waiting_parts(queued, &die.busy, now));
        }
        self.done.ops.push_back(queued.op);
    }
}
