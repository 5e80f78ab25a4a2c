//! The full back end: dies with registers and planes, channels, classes of operations.
//!
//! ```text
//! enqueue ─► queue of the class ─► choose (scheduler, urgency, starvation)
//!                                     │ start: join planes, complete program units
//!    read     [command] ─► sense + retries ─► output register ─► bus ─► done
//!    program  bus ─► input register ─► program ─► done
//!    erase    [command] ─► erase ─► done
//!    copyback [command] ─► sense + program ─► done
//!    suspend  program or erase ─► (suspending) ─► reads ─► (resuming) ─► the rest of it
//! ```
//! Rules that hold whatever the order (each violation is counted, and fails the run's checks):
//!
//! 1. pages of a block are programmed in order, after the erase that the FTL counted on;
//! 2. a page that is not programmed yet is read from the controller's memory, at no flash time;
//! 3. a block is not erased while a read of it waits, nor before its programs are done;
//! 4. while a program or an erase is suspended, only host reads run.

mod bus;
mod die;
mod times;
mod units;

use std::collections::VecDeque;

pub use die::Urgency;

use bus::{Channel, Request, Use};
use die::{Array, Class, Die, Queued, Suspended, Transaction};
use times::PhaseTimes;
use units::Units;

use super::breakdown::Parts;
use super::config::{SchedulerConfig, SuspendConfig};
use super::timeline::{Lane, Timeline};
use super::{FlashOp, OpKind};
use crate::device::DeviceConfig;
use crate::engine::Engine;
use crate::geometry::Geometry;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::units::{BlockId, DieId, Ns};

/// Bits of an event code that name the die or the channel.
const INDEX_BITS: u32 = 21;
/// Event: the array of a die is done.
const ARRAY: u32 = 0;
/// Event: a channel is done with a transfer.
const BUS: u32 = 1;

/// An operation that is done, and what it spent its time on (when observed).
struct Completed {
    op: FlashOp,
    parts: Parts,
}

/// What happened in a stage, for the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FullTally {
    /// Array operations that used more than one plane.
    pub multi_plane_ops: u64,
    /// Programs and erases that were interrupted.
    pub suspensions: u64,
    /// Reads served from the controller's memory.
    pub memory_reads: u64,
    /// Moves inside a die.
    pub copybacks: u64,
    /// Retry steps.
    pub retry_steps: u64,
    /// Operations against the rules of the flash: zero, or the simulator is wrong.
    pub violations: u64,
}

/// How far a block is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    erases: u32,
    programmed: u32,
    /// Programs queued or under way.
    pending: u32,
}

/// Who goes first.
#[derive(Clone, Copy, Debug)]
enum Order {
    InOrder,
    PerDie,
    Priority { write_starvation: Ns, gc_starvation: Ns },
}

/// See the module.
pub struct Full {
    geometry: Geometry,
    times: PhaseTimes,
    units: Units,
    order: Order,
    suspend: Option<SuspendConfig>,
    suspend_min: Ns,
    reads_in_cache: bool,
    programs_in_cache: bool,
    /// Whether collection has a queue of its own: only when it works in steps.
    splits_collection: bool,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    blocks: Vec<Progress>,
    /// Dies in the order of arrival of their operations, under [`Order::InOrder`].
    arrivals: VecDeque<u32>,
    pending: u64,
    /// Operations that are done and wait to be told.
    completed: VecDeque<Completed>,
    parts: Parts,
    /// Room for transactions to come: they are allocated once and move as pointers.
    spare: Vec<Box<Transaction>>,
    is_observed: bool,
    /// Spans of activity, when asked for.
    pub timeline: Option<Box<Timeline>>,
    tally: FullTally,
}

impl Full {
    /// All dies and channels idle, blocks as the media are; `written` tells how many pages of a
    /// block hold data.
    pub fn new(
        config: &DeviceConfig,
        seed: u64,
        media: &Media,
        written: impl Fn(BlockId) -> u32,
    ) -> Self {
        let geometry = config.geometry();
        let controller = &config.controller;
        let order = match &controller.scheduler {
            SchedulerConfig::InOrder(_) => Order::InOrder,
            SchedulerConfig::OutOfOrder(_) => Order::PerDie,
            SchedulerConfig::Priority(priority) => Order::Priority {
                write_starvation: Ns::from_us(priority.write_starvation_us),
                gc_starvation: Ns::from_us(priority.gc_starvation_us),
            },
        };
        let units = Units::new(geometry, PhaseTimes::wordline_pages(&config.nand));
        let progress = |block| {
            let block = BlockId(block);
            let is_slc = media.mode(block) == CellMode::Slc;
            let programmed = units.programmed(written(block), is_slc);
            Progress { erases: media.erase_count(block), programmed, pending: 0 }
        };
        let retry_setup =
            controller.read_retry.as_ref().map_or(Ns(0), |retry| Ns::from_us(retry.setup_us));
        let mut times = PhaseTimes::new(&config.nand, &geometry, retry_setup, seed);
        if let Some(soft) = &controller.soft_read {
            times.soft_setup = Ns::from_us(soft.setup_us);
        }
        let suspend_min = controller
            .suspend
            .as_ref()
            .map_or(Ns(0), |suspend| Ns::from_us(suspend.suspend_us + suspend.resume_us));
        let cache = config.nand.cache_commands.clone().unwrap_or_default();
        Self {
            geometry,
            times,
            units,
            order,
            suspend: controller.suspend.clone(),
            suspend_min,
            reads_in_cache: cache.read,
            programs_in_cache: cache.program,
            splits_collection: config.ftl.collects_in_steps(),
            dies: (0..geometry.die_count).map(|_| Die::default()).collect(),
            channels: (0..geometry.channel_count).map(|_| Channel::default()).collect(),
            blocks: (0..geometry.block_count()).map(progress).collect(),
            arrivals: VecDeque::new(),
            pending: 0,
            completed: VecDeque::new(),
            parts: Parts::default(),
            spare: Vec::new(),
            is_observed: false,
            timeline: None,
            tally: FullTally::default(),
        }
    }

    /// Whether a device needs this back end.
    pub fn is_needed(config: &DeviceConfig) -> bool {
        config.controller.needs_full() || config.nand.needs_full() || config.ftl.needs_full()
    }

    /// Keeps account of what every operation waits for.
    pub fn observe(&mut self) {
        self.is_observed = true;
    }

    /// What happened so far.
    pub fn tally(&self) -> FullTally {
        self.tally
    }

    /// Number of page types.
    pub fn page_types(&self) -> u32 {
        self.times.page_types()
    }

    /// Operations that are queued or under way.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// Operations that wait on a die, for those that choose among dies.
    pub fn load(&self, die: DieId) -> u32 {
        let die = &self.dies[die.0 as usize];
        let waiting: u32 = die.queues.iter().flatten().map(|queued| queued.op.count).sum();
        let is_busy = !matches!(die.array, Array::Free) || die.input.is_some();
        waiting + u32::from(is_busy || die.output.is_some() || die.suspended.is_some())
    }

    /// Whether a die has nothing to do.
    pub fn is_idle(&self, die: DieId) -> bool {
        self.dies[die.0 as usize].is_idle()
    }

    /// Whether operations of a collection wait on a die.
    pub fn collection_waits(&self, die: DieId) -> bool {
        !self.dies[die.0 as usize].queues[Class::Collect as usize].is_empty()
    }

    /// How much a die's collection presses from now on.
    pub fn set_urgency(&mut self, die: DieId, urgency: Urgency) {
        self.dies[die.0 as usize].urgency = urgency;
    }

    /// Busy share of all dies and of all channels of the time until `now`.
    pub fn utilization(&self, now: Ns) -> (f64, f64) {
        let span = (now.0 as f64).max(1.0);
        let dies: u64 = self.dies.iter().map(|die| die.working.0).sum();
        let channels: u64 = self.channels.iter().map(|channel| channel.busy.0).sum();
        let share = |busy: u64, count: usize| busy as f64 / span / count as f64;
        (share(dies, self.dies.len()), share(channels, self.channels.len()))
    }

    /// The next operation that is done; [`Full::parts`] are its parts then.
    #[inline]
    pub fn take_completed(&mut self) -> Option<FlashOp> {
        let completed = self.completed.pop_front()?;
        if self.is_observed {
            self.parts = completed.parts;
        }
        Some(completed.op)
    }

    /// What the operation taken last spent its time on; zero unless observed.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Puts an operation at the end of its queue.
    #[inline]
    pub fn enqueue(&mut self, engine: &mut Engine, die: DieId, op: FlashOp) {
        self.pending += u64::from(op.count);
        let now = engine.now();
        if matches!(op.kind, OpKind::Program | OpKind::Copyback) {
            self.blocks[self.geometry.block_of(op.first).0 as usize].pending += op.count;
        }
        let class = self.class_of(&op);
        let state = &mut self.dies[die.0 as usize];
        if self.is_observed {
            state.settle(now);
        }
        state.queues[class as usize].push_back(Queued { op, since: now, busy: state.busy });
        if matches!(self.order, Order::InOrder) {
            self.arrivals.push_back(die.0);
        }
        if class == Class::HostRead && self.suspend.is_some() && self.is_programmed(&op) {
            self.consider_suspending(engine, die.0);
        }
        self.pump(engine, die.0);
    }

    /// Handles one event of the back end.
    pub fn handle(&mut self, engine: &mut Engine, code: u32) {
        let index = code & ((1 << INDEX_BITS) - 1);
        match code >> INDEX_BITS {
            ARRAY => self.array_done(engine, index),
            _ => self.bus_done(engine, index),
        }
    }

    #[inline]
    fn class_of(&self, op: &FlashOp) -> Class {
        if !matches!(self.order, Order::Priority { .. }) {
            return Class::HostWrite;
        }
        match op.kind {
            OpKind::Read if is_host(op.source) => Class::HostRead,
            _ if is_host(op.source) || !self.splits_collection => Class::HostWrite,
            _ => Class::Collect,
        }
    }

    /// Starts whatever can start on a die, and on those that its operations held up.
    fn pump(&mut self, engine: &mut Engine, index: u32) {
        let mut index = index;
        loop {
            if self.is_observed {
                self.dies[index as usize].settle(engine.now());
            }
            while self.start_next(engine, index) {}
            self.dies[index as usize].note_occupant();
            match self.arrivals.front() {
                Some(&head) if head != index && self.can_start(head) => index = head,
                _ => return,
            }
        }
    }

    /// Whether the head of a die's queue could start, under [`Order::InOrder`].
    fn can_start(&self, index: u32) -> bool {
        self.choose(index, Ns(0)).is_some()
    }

    /// Starts one thing on a die; false if nothing can start.
    fn start_next(&mut self, engine: &mut Engine, index: u32) -> bool {
        let now = engine.now();
        let die = &mut self.dies[index as usize];
        if die.is_loaded && matches!(die.array, Array::Free) && die.suspended.is_none() {
            let transaction = die.input.take().expect("the register is loaded");
            die.is_loaded = false;
            self.start_array(engine, index, transaction);
            return true;
        }
        let Some(class) = self.choose(index, now) else { return self.resume(engine, index) };
        self.start(engine, index, class);
        true
    }

    /// The class whose next operation can start now.
    fn choose(&self, index: u32, now: Ns) -> Option<Class> {
        let die = &self.dies[index as usize];
        let array_is_free = matches!(die.array, Array::Free);
        let output_is_free = die.output.is_none();
        let reads_ok =
            array_is_free && die.input.is_none() && (output_is_free || self.reads_in_cache);
        if let Some(suspended) = &die.suspended {
            let limit = self.suspend.as_ref().map_or(0, |suspend| suspend.reads_per_suspend_max);
            let is_waiting = !die.queues[Class::HostRead as usize].is_empty();
            return (reads_ok && is_waiting && suspended.reads < limit).then_some(Class::HostRead);
        }
        let is_programming = matches!(&die.array, Array::Busy(transaction)
            if transaction.kind == OpKind::Program);
        let loads_ok = die.input.is_none()
            && output_is_free
            && (array_is_free || self.programs_in_cache && is_programming);
        if !(reads_ok || loads_ok) {
            return None;
        }
        let class = self.next_class(index, now)?;
        let startable = match die.queues[class as usize].front()?.op.kind {
            OpKind::Program => loads_ok,
            OpKind::Read => reads_ok,
            OpKind::Erase | OpKind::Copyback => reads_ok && output_is_free,
        };
        startable.then_some(class)
    }

    /// The class whose turn it is.
    fn next_class(&self, index: u32, now: Ns) -> Option<Class> {
        let die = &self.dies[index as usize];
        let waiting = |class: Class| die.queues[class as usize].front();
        let (write_starvation, gc_starvation) = match self.order {
            Order::PerDie => return waiting(Class::HostWrite).map(|_| Class::HostWrite),
            Order::InOrder => {
                let is_first = self.arrivals.front() == Some(&index);
                return waiting(Class::HostWrite).filter(|_| is_first).map(|_| Class::HostWrite);
            }
            Order::Priority { write_starvation, gc_starvation } => {
                (write_starvation, gc_starvation)
            }
        };
        let collect = waiting(Class::Collect).filter(|queued| self.may_go(index, &queued.op));
        let starves = |queued: Option<&Queued>, bound: Ns| {
            queued.is_some_and(|queued| now.0.saturating_sub(queued.since.0) > bound.0)
        };
        if starves(collect, gc_starvation) {
            return Some(Class::Collect);
        }
        let write = waiting(Class::HostWrite).filter(|queued| self.may_go(index, &queued.op));
        if starves(write, write_starvation) {
            return Some(Class::HostWrite);
        }
        if waiting(Class::HostRead).is_some() {
            return Some(Class::HostRead);
        }
        match (write, collect, die.urgency) {
            (Some(_), Some(_), Urgency::Shared) if die.host_had_turn => Some(Class::Collect),
            (_, Some(_), Urgency::Urgent) => Some(Class::Collect),
            (Some(_), ..) => Some(Class::HostWrite),
            (None, Some(_), _) => Some(Class::Collect),
            (None, None, _) => None,
        }
    }

    /// Rule 3.
    fn may_go(&self, index: u32, op: &FlashOp) -> bool {
        if op.kind != OpKind::Erase {
            return true;
        }
        let block = self.geometry.block_of(op.first);
        let reads = &self.dies[index as usize].queues[Class::HostRead as usize];
        let is_read = reads.iter().any(|read| self.geometry.block_of(read.op.first) == block);
        // In one queue, programs that come after the erase count as pending too.
        let is_written = self.splits_collection && self.blocks[block.0 as usize].pending > 0;
        !is_read && !is_written
    }

    /// Takes operations from a queue and sets them going.
    fn start(&mut self, engine: &mut Engine, index: u32, class: Class) {
        let die = &mut self.dies[index as usize];
        die.host_had_turn = class != Class::Collect;
        let queued = *die.queues[class as usize].front().expect("the class was chosen");
        match queued.op.kind {
            OpKind::Read => self.start_read(engine, index, class, &queued),
            OpKind::Program => self.start_program(engine, index, class, &queued),
            OpKind::Erase | OpKind::Copyback => self.start_inside(engine, index, class, &queued),
        }
    }

    /// Removes the head of a queue.
    fn pop(&mut self, index: u32, class: Class) -> Queued {
        if matches!(self.order, Order::InOrder) {
            self.arrivals.pop_front();
        }
        let queue = &mut self.dies[index as usize].queues[class as usize];
        queue.pop_front().expect("the queue has a head")
    }

    #[inline]
    fn transaction(&mut self, index: u32, queued: &Queued, now: Ns) -> Box<Transaction> {
        let op = &queued.op;
        let mut transaction = self.spare.pop().unwrap_or_default();
        transaction.kind = op.kind;
        transaction.source = op.source;
        transaction.block = self.geometry.block_of(op.first).0;
        transaction.is_slc = op.is_slc;
        transaction.page_type = op.page_type;
        transaction.cycles = op.erase_count;
        transaction.retries = u32::from(op.retries);
        transaction.soft_reads = u32::from(op.soft_reads);
        transaction.slots = 1;
        transaction.settled = 0;
        transaction.is_sensed = false;
        transaction.suspend_count = 0;
        transaction.started = now;
        transaction.retry_time = Ns(0);
        transaction.bus_wait = Ns(0);
        transaction.bus_time = Ns(0);
        if self.is_observed {
            transaction.busy_at_start = self.dies[index as usize].busy;
        }
        transaction
    }

    /// Whether a page is on the flash in the state that the reader counted on.
    fn is_programmed(&self, op: &FlashOp) -> bool {
        let progress = &self.blocks[self.geometry.block_of(op.first).0 as usize];
        // Whatever a stripe's place holds, it is on the flash.
        op.source == Source::Rebuild
            || progress.erases == op.erase_count
                && self.geometry.page_index(op.first) < progress.programmed
    }

    fn start_read(&mut self, engine: &mut Engine, index: u32, class: Class, head: &Queued) {
        let now = engine.now();
        if head.op.count == 1 && !self.is_programmed(&head.op) {
            let queued = self.pop(index, class);
            self.tally.memory_reads += 1;
            self.tell_unserved(index, queued, now);
            return;
        }
        if let Some(suspended) = &mut self.dies[index as usize].suspended {
            suspended.reads += 1;
        }
        let mut transaction = self.transaction(index, head, now);
        if head.op.count > 1 {
            self.take_collected(index, class, &mut transaction);
        } else {
            let row = self.geometry.row_of(self.geometry.page_index(head.op.first));
            let queued = self.pop(index, class);
            transaction.ops.push(queued);
            while transaction.slots < self.geometry.plane_count {
                let queue = &self.dies[index as usize].queues[class as usize];
                let Some(next) = queue.front().map(|queued| queued.op) else { break };
                let joins = next.kind == OpKind::Read
                    && next.count == 1
                    && is_host(next.source)
                    && is_host(transaction.source)
                    && self.geometry.block_of(next.first).0 == transaction.block
                    && self.geometry.row_of(self.geometry.page_index(next.first)) == row
                    && self.is_programmed(&next)
                    && matches!(self.order, Order::PerDie | Order::Priority { .. });
                if !joins {
                    break;
                }
                let queued = self.pop(index, class);
                transaction.slots += 1;
                transaction.retries = transaction.retries.max(u32::from(next.retries));
                transaction.soft_reads = transaction.soft_reads.max(u32::from(next.soft_reads));
                transaction.ops.push(queued);
            }
        }
        self.tally.multi_plane_ops += u64::from(transaction.slots > 1);
        self.tally.retry_steps += u64::from(transaction.retries);
        self.start_array_command(engine, index, transaction);
    }

    /// One array read of a run of collected pages.
    fn take_collected(&mut self, index: u32, class: Class, transaction: &mut Transaction) {
        let head = self.dies[index as usize].queues[class as usize].front_mut();
        let op = &mut head.expect("the queue has a head").op;
        // Pages of a run are spread evenly over its array reads.
        transaction.slots = op.count.div_ceil(op.sense_count.max(1));
        op.count -= transaction.slots.min(op.count);
        op.sense_count = op.sense_count.saturating_sub(1);
        op.page_type = op.page_type.wrapping_add(1);
        op.retries = 0;
        op.soft_reads = 0;
        if op.count == 0 {
            op.count = transaction.slots;
            let queued = self.pop(index, class);
            transaction.ops.push(queued);
        } else {
            self.pending -= u64::from(transaction.slots);
        }
    }

    fn start_program(&mut self, engine: &mut Engine, index: u32, class: Class, head: &Queued) {
        let now = engine.now();
        let mut transaction = self.transaction(index, head, now);
        let first = self.geometry.page_index(head.op.first);
        let limit = self.geometry.pages_per_block;
        let (unit_first, unit_limit) = if self.units.stages(head.op.is_slc) {
            self.units.span(first, head.op.is_slc, limit)
        } else {
            // A row of planes, as far as pages are at hand.
            let planes = self.geometry.plane_count;
            (first, ((first / planes + 1) * planes).min(limit))
        };
        let mut at = first;
        loop {
            let taken = self.take_pages(index, class, unit_limit - at, &mut transaction);
            at += taken;
            if at == unit_limit
                || !self.goes_on(index, class, transaction.block, at, head.op.is_slc)
            {
                break;
            }
        }
        transaction.settled = at - first;
        if self.units.stages(head.op.is_slc) && at < unit_limit {
            // The unit is not complete: its slots wait in the controller's memory.
            self.blocks[transaction.block as usize].pending -= transaction.settled;
            let mut ops = std::mem::take(&mut transaction.ops);
            ops.drain(..).for_each(|queued| self.tell_unserved(index, queued, now));
            transaction.ops = ops;
            self.spare.push(transaction);
            return;
        }
        transaction.slots = at - unit_first;
        transaction.programmed_limit = at;
        let crossings = self.times.transfer_count(head.op.is_slc);
        let time =
            Ns(self.times.slot.0 * u64::from(transaction.slots) * crossings + self.times.command.0);
        let physical =
            self.geometry.physical_index(at - 1) - self.geometry.physical_index(unit_first);
        self.tally.multi_plane_ops += u64::from(physical > 0 && self.geometry.plane_count > 1);
        self.dies[index as usize].input = Some(transaction);
        self.ask_channel(engine, index, Use::In, time);
    }

    /// Takes up to `most` pages from the program at the head of a queue.
    fn take_pages(
        &mut self,
        index: u32,
        class: Class,
        most: u32,
        transaction: &mut Transaction,
    ) -> u32 {
        let head = self.dies[index as usize].queues[class as usize].front_mut();
        let op = &mut head.expect("the queue has a head").op;
        let taken = op.count.min(most);
        let before = self.geometry.row_of(self.geometry.page_index(op.first));
        op.first.0 += taken;
        if op.count == taken {
            op.first.0 -= taken;
            let queued = self.pop(index, class);
            transaction.ops.push(queued);
        } else {
            op.count -= taken;
            let after = self.geometry.row_of(self.geometry.page_index(op.first));
            op.page_type = op.page_type.wrapping_add((after - before) as u8);
            self.pending -= u64::from(taken);
        }
        taken
    }

    /// Whether the next program of a queue goes on where the last page ended.
    fn goes_on(&self, index: u32, class: Class, block: u32, at: u32, is_slc: bool) -> bool {
        let queue = &self.dies[index as usize].queues[class as usize];
        let in_turn = match self.order {
            Order::InOrder => self.arrivals.front() == Some(&index),
            Order::PerDie | Order::Priority { .. } => true,
        };
        in_turn
            && queue.front().is_some_and(|queued| {
                queued.op.kind == OpKind::Program
                    && queued.op.is_slc == is_slc
                    && self.geometry.block_of(queued.op.first).0 == block
                    && self.geometry.page_index(queued.op.first) == at
            })
    }

    /// Erases and copybacks: no data crosses the bus.
    fn start_inside(&mut self, engine: &mut Engine, index: u32, class: Class, head: &Queued) {
        let now = engine.now();
        let mut transaction = self.transaction(index, head, now);
        if head.op.kind == OpKind::Erase {
            let queued = self.pop(index, class);
            transaction.ops.push(queued);
        } else {
            let first = self.geometry.page_index(head.op.first);
            let planes = self.geometry.plane_count;
            let row_limit = (first / planes + 1) * planes;
            let taken = self.take_pages(index, class, row_limit - first, &mut transaction);
            transaction.settled = taken;
            transaction.programmed_limit = first + taken;
            self.tally.copybacks += u64::from(taken);
            self.tally.multi_plane_ops += u64::from(taken > 1);
        }
        self.start_array_command(engine, index, transaction);
    }

    /// Command cycles, if they are modelled, then the array.
    fn start_array_command(
        &mut self,
        engine: &mut Engine,
        index: u32,
        transaction: Box<Transaction>,
    ) {
        if self.times.command == Ns(0) {
            self.start_array(engine, index, transaction);
        } else {
            // Until the command is over the transaction holds the array.
            let die = &mut self.dies[index as usize];
            die.array = Array::Busy(transaction);
            die.array_until = Ns(u64::MAX);
            self.ask_channel(engine, index, Use::Command, self.times.command);
        }
    }

    fn start_array(&mut self, engine: &mut Engine, index: u32, mut transaction: Box<Transaction>) {
        let block = BlockId(transaction.block);
        let (is_slc, page_type) = (transaction.is_slc, transaction.page_type);
        let time = match transaction.kind {
            OpKind::Read => {
                let sense = self.times.sense(block, is_slc, page_type);
                let soft = (sense + self.times.soft_setup).0 * u64::from(transaction.soft_reads);
                transaction.retry_time =
                    Ns(self.times.retry(sense).0 * u64::from(transaction.retries) + soft);
                sense + transaction.retry_time
            }
            OpKind::Program => self.times.program(block, is_slc, page_type, transaction.cycles),
            OpKind::Erase => self.times.erase(block, is_slc, transaction.cycles),
            OpKind::Copyback => {
                self.times.sense(block, is_slc, page_type)
                    + self.times.program(block, is_slc, page_type, transaction.cycles)
            }
        };
        transaction.array_time = time;
        self.run_array(engine, index, transaction, time);
    }

    fn run_array(
        &mut self,
        engine: &mut Engine,
        index: u32,
        mut transaction: Box<Transaction>,
        time: Ns,
    ) {
        transaction.array_from = engine.now();
        let die = &mut self.dies[index as usize];
        die.working = die.working + time;
        die.array_until = engine.now() + time;
        die.array = Array::Busy(transaction);
        engine.schedule(time, event(ARRAY, index));
    }

    fn ask_channel(&mut self, engine: &mut Engine, index: u32, to: Use, time: Ns) {
        let now = engine.now();
        let channel = index % self.geometry.channel_count;
        let request = Request { die: index, to, time, asked: now, started: now };
        if self.channels[channel as usize].ask(request) {
            engine.schedule(time, event(BUS, channel));
        }
    }

    fn bus_done(&mut self, engine: &mut Engine, channel: u32) {
        let now = engine.now();
        let (done, next) = self.channels[channel as usize].release(now);
        if let Some(next) = next {
            engine.schedule(next.time, event(BUS, channel));
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
        };
        transaction.bus_wait = transaction.bus_wait + (done.started - done.asked);
        transaction.bus_time = transaction.bus_time + done.time;
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
        }
        self.pump(engine, index);
    }

    fn array_done(&mut self, engine: &mut Engine, index: u32) {
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
                    let (name, from) = (transaction.name(), transaction.array_from);
                    timeline.span(Lane::Die(index), name, from, now);
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
    fn move_sensed(&mut self, engine: &mut Engine, index: u32) {
        let die = &mut self.dies[index as usize];
        if die.output.is_some() {
            return;
        }
        match std::mem::take(&mut die.array) {
            Array::Busy(transaction) if transaction.is_sensed => {
                let crossings = transaction.slots + transaction.soft_reads;
                let time = Ns(self.times.slot.0 * u64::from(crossings));
                die.output = Some(transaction);
                self.ask_channel(engine, index, Use::Out, time);
            }
            other => die.array = other,
        }
    }

    /// A transaction is over: its operations are done.
    fn finish(&mut self, mut transaction: Box<Transaction>, now: Ns) {
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
            }
        }
        let mut ops = std::mem::take(&mut transaction.ops);
        for queued in ops.drain(..) {
            self.pending -= u64::from(queued.op.count);
            let mut parts = Parts::default();
            if self.is_observed && queued.op.command != super::NO_COMMAND {
                parts = transaction.parts(&queued, now);
            }
            self.completed.push_back(Completed { op: queued.op, parts });
        }
        transaction.ops = ops;
        self.spare.push(transaction);
    }

    /// An operation is done without the flash.
    fn tell_unserved(&mut self, index: u32, queued: Queued, now: Ns) {
        self.pending -= u64::from(queued.op.count);
        let mut parts = Parts::default();
        if self.is_observed {
            let die = &mut self.dies[index as usize];
            die.settle(now);
            parts = die::waiting_parts(&queued, &die.busy, now);
        }
        self.completed.push_back(Completed { op: queued.op, parts });
    }

    /// Interrupts a program or an erase for the host read that came.
    fn consider_suspending(&mut self, engine: &mut Engine, index: u32) {
        let now = engine.now();
        let Some(config) = &self.suspend else { return };
        let die = &mut self.dies[index as usize];
        let Array::Busy(transaction) = &die.array else { return };
        let is_allowed = match transaction.kind {
            OpKind::Program => config.program,
            OpKind::Erase => config.erase,
            OpKind::Read | OpKind::Copyback => false,
        };
        let is_worth = die.array_until.0.saturating_sub(now.0) > self.suspend_min.0
            && die.array_until.0 != u64::MAX;
        if !is_allowed
            || !is_worth
            || transaction.suspend_count >= config.suspend_count_max
            || die.input.is_some()
            || die.output.is_some()
            || die.suspended.is_some()
        {
            return;
        }
        let left = die.array_until - now;
        die.working = Ns(die.working.0 - left.0);
        let suspend = Ns::from_us(config.suspend_us);
        if self.is_observed {
            die.settle(now);
        }
        let Array::Busy(mut transaction) = std::mem::take(&mut die.array) else { return };
        if let Some(timeline) = &mut self.timeline {
            timeline.span(Lane::Die(index), transaction.name(), transaction.array_from, now);
        }
        transaction.suspend_count += 1;
        self.tally.suspensions += 1;
        die.suspended = Some(Suspended { transaction, left, reads: 0 });
        die.array = Array::Suspending;
        die.array_until = now + suspend;
        engine.schedule(suspend, event(ARRAY, index));
    }

    /// Lets a suspended operation go on, when nothing else can start; false if there is none.
    fn resume(&mut self, engine: &mut Engine, index: u32) -> bool {
        let Some(config) = &self.suspend else { return false };
        let resume = Ns::from_us(config.resume_us);
        let die = &mut self.dies[index as usize];
        if !matches!(die.array, Array::Free) || die.output.is_some() {
            return false;
        }
        let Some(suspended) = die.suspended.take() else { return false };
        self.run_array(engine, index, suspended.transaction, resume + suspended.left);
        true
    }
}

/// Whether the host waits for it.
fn is_host(source: Source) -> bool {
    matches!(source, Source::Host | Source::Merge | Source::Rebuild)
}

#[inline]
fn event(kind: u32, index: u32) -> u32 {
    kind << INDEX_BITS | index
}
