//! The flash at work: the phases of a transaction on its die and its channel.
//!
//! ```text
//! command cycles ─► array ─► register ─► transfer out ─► over       reads
//! transfer in ─► register ─► array ─► over                          programs
//! ```
//! It takes transactions and returns them when they have ended. [`Full`](super::Full) knows which
//! operations wait for them, and chooses the next on the die.

use serde_json::{json, Value};

use super::blocks::{Blocks, Written};
use super::bus::{Channel, Request, Use};
use super::design::{Design, Order, Setup};
use super::die::{Array, Class, Transaction};
use super::dies::Dies;
use super::watch::{self, Watch};
use super::{is_host, Event};
use crate::controller::timeline::Lane;
use crate::controller::{Cut, Detail, FlashOp, OpKind};
use crate::engine::Engine;
use crate::op::Source;
use crate::units::{BlockId, DieId, Ns, Ppn};

/// See the module.
pub struct Flash {
    pub(super) design: Design,
    /// The dies.
    pub dies: Dies,
    pub(super) channels: Vec<Channel>,
    /// How far its blocks are.
    pub blocks: Blocks,
    /// Counts and records.
    pub watch: Watch,
}

/// What an event leaves to a die.
pub(super) enum After {
    /// Nothing: the state that the event was for has changed meanwhile.
    Nothing,
    /// Something may start.
    Room,
    /// The same, and this transaction has ended.
    Over(Box<Transaction>),
}

impl Flash {
    /// All dies and channels idle; `written` gives the content of blocks at the beginning.
    pub(super) fn new(setup: &Setup, written: impl Fn(BlockId) -> Written) -> Self {
        let design = Design::new(setup);
        let (geometry, nand) = (design.geometry, setup.nand);
        let planes = if nand.independent_planes { geometry.planes_per_die } else { 0 };
        let work = nand.energy.as_ref().map(|_| Box::default());
        Self {
            dies: Dies::new(&design, planes),
            channels: (0..geometry.channel_count).map(|_| Channel::default()).collect(),
            blocks: Blocks::new(&design, written),
            watch: Watch { work, ..Watch::default() },
            design,
        }
    }

    /// Number of page types.
    pub fn page_types(&self) -> u32 {
        self.design.times.page_types()
    }

    /// Whether dies may be lost.
    #[inline]
    pub fn may_lose_dies(&self) -> bool {
        self.design.may_lose_dies()
    }

    /// Whether a die is lost at a time.
    #[inline]
    pub fn is_lost(&self, die: DieId, now: Ns) -> bool {
        self.design.is_lost(die, now)
    }

    /// Asks for what a read of a page will touch.
    #[inline]
    pub fn expect_read(&self, page: Ppn) {
        let block = self.design.geometry.block_of(page);
        self.blocks.prefetch(block);
        self.design.times.prefetch(block);
    }

    /// Whether a page is on the flash in the state that the reader counted on.
    pub(super) fn is_programmed(&self, op: FlashOp, detail: Detail) -> bool {
        self.blocks.is_programmed(&self.design, op, detail)
    }

    /// Whether a page is in the controller's memory: it is not programmed yet. Asked for a read of
    /// a command, which then takes no flash time and counts as served from there.
    #[inline]
    pub fn holds(&mut self, page: Ppn) -> bool {
        let is_held = self.blocks.holds(&self.design, page);
        self.watch.tally.memory_reads += u64::from(is_held);
        is_held
    }

    /// How busy dies and channels were until `until`, on average, and what the dies did.
    pub fn activity(&self, until: Ns) -> Value {
        let span = (until.0 as f64).max(1.0);
        let dies = self.dies.busy(self.design.geometry.planes_per_die);
        let channels: u64 = self.channels.iter().map(|channel| channel.busy.0).sum();
        let share = |busy: u64, count: usize| busy as f64 / span / count as f64;
        let tally = self.watch.tally;
        json!({
            "die_busy_ratio": share(dies, self.dies.all.len()),
            "channel_busy_ratio": share(channels, self.channels.len()),
            "multi_plane_ops": tally.multi_plane_ops,
            "suspensions": tally.suspensions,
            "memory_reads": tally.memory_reads,
            "copybacks": tally.copybacks,
            "retry_steps": tally.retry_steps,
        })
    }

    /// Where the flash has got to when the power fails now.
    pub fn cut(&self, now: Ns) -> Cut {
        Cut { rests: self.blocks.rests().collect(), running: self.dies.running(now).collect() }
    }

    /// Whether operations are reported one by one, for their times or for the state of their pages.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_observed
            || self.watch.timeline.is_some()
            || self.may_lose_dies()
            || self.blocks.order_of_erases.is_some()
            || matches!(self.design.order, Order::WholeDrive)
    }

    /// Command cycles, if they are modelled, then the array.
    pub(super) fn start_array_command(
        &mut self,
        engine: &mut Engine,
        index: u32,
        transaction: Box<Transaction>,
    ) {
        if self.design.times.command == Ns(0) {
            self.start_array(engine, index, transaction);
        } else {
            // Until the command has ended the transaction holds the array.
            let source = transaction.source;
            let die = &mut self.dies[index];
            die.array = Array::Busy(transaction);
            die.array_until = Ns(u64::MAX);
            self.ask_channel(engine, index, (Use::Command, source), self.design.times.command);
        }
    }

    pub(super) fn start_array(
        &mut self,
        engine: &mut Engine,
        index: u32,
        mut transaction: Box<Transaction>,
    ) {
        let time = self.design.array_time(&mut transaction) + transaction.choice;
        transaction.spent.array_time = time;
        let started = transaction.spent.started;
        self.run_array(engine, index, transaction, time);
        self.suspend_for_waiting(engine, index, started);
    }

    #[inline]
    pub(super) fn run_array(
        &mut self,
        engine: &mut Engine,
        index: u32,
        mut transaction: Box<Transaction>,
        time: Ns,
    ) {
        transaction.spent.array_from = engine.now();
        let die = &mut self.dies[index];
        die.working = die.working + (time - transaction.choice);
        die.array_until = engine.now() + time;
        die.array = Array::Busy(transaction);
        engine.schedule(time, Event::Array.code(index));
    }

    pub(super) fn ask_channel(
        &mut self,
        engine: &mut Engine,
        index: u32,
        (to, source): (Use, Source),
        time: Ns,
    ) {
        let now = engine.now();
        let die = &self.dies[index];
        let channel = die.channel;
        let is_of_read = to != Use::In && is_host(source);
        let is_waited_for = is_of_read || !die.queues[Class::HostRead as usize].is_empty();
        let is_first = is_waited_for && self.design.puts_reads_first();
        let request = Request { die: index, to, is_first, time, asked: now, started: now };
        if self.channels[channel as usize].ask(request) {
            engine.schedule(time, Event::Bus.code(channel));
        }
    }

    /// A host read waits on a die: data of it goes first on the channel, and a program or an erase
    /// is interrupted for it if that is worth it.
    #[inline]
    pub(super) fn note_read_waits(
        &mut self,
        engine: &mut Engine,
        index: u32,
        (op, detail): (FlashOp, Detail),
    ) {
        let die = &self.dies[index];
        let has_data = die.input.is_some() || die.output.is_some();
        if has_data && self.design.puts_reads_first() {
            self.channels[die.channel as usize].promote(index);
        }
        let is_suspendable = self.design.suspend.is_some() && self.dies[index].is_array_busy();
        if is_suspendable && self.is_programmed(op, detail) {
            self.suspend_if_permitted(engine, index);
        }
    }

    /// Starts the next use of a channel.
    #[inline]
    pub(super) fn start_on_channel(&mut self, engine: &mut Engine, channel: u32) {
        if let Some(next) = self.channels[channel as usize].start_next(engine.now()) {
            engine.schedule(next.time, Event::Bus.code(channel));
        }
    }

    /// A channel has ended a transfer; returns the transaction if that was its last phase.
    #[inline]
    pub(super) fn transferred(
        &mut self,
        engine: &mut Engine,
        channel: u32,
        done: Request,
    ) -> Option<Box<Transaction>> {
        let (now, index) = (engine.now(), done.die);
        if self.watch.is_observed {
            self.dies[index].settle(now);
        }
        let die = &mut self.dies[index];
        let transaction = match done.to {
            Use::Command => match &mut die.array {
                Array::Busy(transaction) => transaction,
                _ => unreachable!("a command was sent for a transaction"),
            },
            Use::In => die.input.as_mut().expect("data went in for a program"),
            Use::Out => die.output.as_mut().expect("data came out of a read"),
            Use::PlaneCommand(plane) => {
                let read = die.planes[usize::from(plane)].array.as_mut();
                read.expect("a plane used the channel for a read")
            }
            Use::PlaneOut(plane) => return self.plane_is_out(engine, (channel, done), plane),
        };
        self.watch.note_transfer(&self.design.geometry, (channel, done), transaction, now);
        match done.to {
            Use::Command => {
                if let Array::Busy(transaction) = std::mem::take(&mut die.array) {
                    self.start_array(engine, index, transaction);
                }
            }
            Use::In => {
                die.is_loaded = true;
                self.start_loaded(engine, index);
            }
            Use::Out => {
                let over = die.output.take();
                self.move_sensed(engine, index);
                return over;
            }
            Use::PlaneCommand(plane) => self.sense_plane(engine, index, u32::from(plane)),
            Use::PlaneOut(_) => {}
        }
        None
    }

    /// The time of the array of a die has come.
    #[inline]
    pub(super) fn array_done(&mut self, engine: &mut Engine, index: u32) -> After {
        let now = engine.now();
        let die = &mut self.dies[index];
        if die.array_until != now {
            // The operation was suspended meanwhile.
            return After::Nothing;
        }
        if self.watch.is_observed {
            die.settle(now);
        }
        match std::mem::take(&mut die.array) {
            Array::Free => After::Nothing,
            Array::Suspending => After::Room,
            Array::Busy(mut transaction) => {
                if transaction.is_sensed {
                    die.array = Array::Busy(transaction);
                    return After::Nothing;
                }
                if let Some(timeline) = &mut self.watch.timeline {
                    let (geometry, lane) = (&self.design.geometry, (Lane::Die(index), index));
                    let times = [transaction.spent.array_from, now];
                    watch::record(timeline, geometry, lane, &transaction, times);
                    match transaction.kind {
                        OpKind::Erase => timeline.end(Lane::Collection(index), now),
                        OpKind::Program => {
                            watch::record_programmed(timeline, geometry, &transaction);
                        }
                        _ => {}
                    }
                }
                if transaction.kind != OpKind::Read {
                    return After::Over(transaction);
                }
                transaction.is_sensed = true;
                if die.output.is_some() {
                    die.array = Array::Busy(transaction);
                } else {
                    self.send_out(engine, index, transaction);
                }
                After::Room
            }
        }
    }

    /// Moves a sensed page to the output register when that is free.
    fn move_sensed(&mut self, engine: &mut Engine, index: u32) {
        let die = &mut self.dies[index];
        let is_sensed = matches!(&die.array, Array::Busy(read) if read.is_sensed);
        if !is_sensed || die.output.is_some() {
            return;
        }
        if let Array::Busy(read) = std::mem::take(&mut die.array) {
            self.send_out(engine, index, read);
        }
    }

    /// The data of a read is on its way out of the register.
    fn send_out(&mut self, engine: &mut Engine, index: u32, read: Box<Transaction>) {
        let (time, source) = (self.design.times.out(&read), read.source);
        self.dies[index].output = Some(read);
        self.ask_channel(engine, index, (Use::Out, source), time);
    }

    /// Starts the array of a die on the program whose data is in its register, if it is free.
    #[inline]
    pub(super) fn start_loaded(&mut self, engine: &mut Engine, index: u32) -> bool {
        let die = &mut self.dies[index];
        if !die.is_loaded || die.is_array_busy() || die.suspended.is_some() {
            return false;
        }
        let Some(transaction) = die.input.take() else { return false };
        die.is_loaded = false;
        self.start_array(engine, index, transaction);
        true
    }
}
