//! The full back end: dies with registers and planes, channels, classes of operations.
//!
//! ```text
//! enqueue ─► queue of the class ─► choose (scheduler, urgency, starvation)
//!                                     │ start: join planes, complete program units
//!    read     [command] ─► sense + retries ─► output register ─► bus ─► done
//!    program  bus ─► input register ─► program ─► done
//!    erase    [command] ─► erase ─► done
//!    copyback [command] ─► sense + program ─► done
//!    plane    [command] ─► sense in one plane ─► register of the plane ─► bus ─► done
//!    suspend  program or erase ─► (suspending) ─► reads ─► (resuming) ─► the rest of it
//! ```
//! Rules that hold whatever the order (each violation is counted, and fails the run's checks):
//!
//! 1. pages of a block are programmed in order, after the erase that the FTL counted on;
//! 2. a page that is not programmed yet is read from the controller's memory, at no flash time:
//!    by commands when they come ([`Full::holds`]), by others when it is their turn;
//! 3. a block is not erased while a read of it waits, nor before its programs are done;
//! 4. while a program or an erase is suspended, only host reads run;
//! 5. in a drive that may lose power, a block is erased after everything that was to be programmed
//!    before, on whatever die: copies of its live data, and newer versions of its dead data.
//!
//! A die that is lost finishes what is under way. What waits and what comes is over at once, in
//! order, and leaves the blocks as if it had been carried out.

mod bus;
mod choose;
mod cut;
mod die;
mod erases;
mod phases;
mod planes;
mod staged;
mod start;
mod suspend;
mod times;
mod working;

use std::collections::VecDeque;

pub use die::Urgency;

use bus::Channel;
use die::{Array, Class, Die, Queued, Transaction};
use erases::ErasesInOrder;
use staged::Staged;
use times::PhaseTimes;

use super::breakdown::Parts;
use super::config::{ControllerConfig, SchedulerConfig, SuspendConfig};
use super::timeline::Timeline;
use super::{Detail, FlashOp, OpKind, Work};
use crate::engine::Engine;
use crate::geometry::Geometry;
use crate::nand::{Fault, NandConfig, ProgramUnits};
use crate::op::Source;
use crate::units::{BlockId, DieId, Ns};

/// Bits of an event code that name the die or the channel.
const INDEX_BITS: u32 = 21;
/// Event: the array of a die is done.
const ARRAY: u32 = 0;
/// Event: a channel is done with a transfer.
const BUS: u32 = 1;
/// Event: a plane of a die is done.
const PLANE: u32 = 2;

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
    /// Those and the erases that wait or are under way.
    erases_ordered: u32,
    programmed: u32,
    /// Pages whose program has begun; kept where pages are programmed in parts.
    sent: u32,
    /// Programs queued or under way.
    pending: u32,
    /// Those among them that move data inside the die, past the controller's memory.
    inside: u32,
    /// The class of its programs: parity and padding follow the pages that they complete.
    class: Class,
    /// Pages that will be programmed when everything is done that was ordered; kept where the power
    /// may fail.
    promised: u32,
}

impl Progress {
    /// Whether so many erases, and programs of so many pages after them, are still to come.
    fn is_behind(&self, erases: u32, programmed: u32) -> bool {
        self.erases < erases || self.erases == erases && self.programmed < programmed
    }
}

/// Who goes first.
#[derive(Clone, Copy, Debug)]
enum Order {
    WholeDrive,
    PerDie,
    Priority { write_starvation: Ns, gc_starvation: Ns },
}

/// How programs and erases are suspended.
struct Suspending {
    config: SuspendConfig,
    /// Time that it takes, and that going on takes.
    suspend: Ns,
    resume: Ns,
    /// What must be left of an operation that is worth it.
    worth: Ns,
}

impl Suspending {
    fn new(config: &SuspendConfig) -> Self {
        let us = Ns::from_us;
        let (suspend, resume) = (us(config.suspend_us), us(config.resume_us));
        let worth = us(config.suspend_us + config.resume_us);
        Self { config: config.clone(), suspend, resume, worth }
    }
}

/// What the back end is built of.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The shape of the flash.
    pub geometry: Geometry,
    /// Dies that the FTL takes for one.
    pub dies_per_pool: u32,
    /// The flash.
    pub nand: &'a NandConfig,
    /// The controller.
    pub controller: &'a ControllerConfig,
    /// Whether collection goes in steps, and so has a queue of its own.
    pub splits_collection: bool,
    /// Whether writes complete when they are programmed, rather than in memory.
    pub stages_writes: bool,
    /// The run's seed.
    pub seed: u64,
}

/// What a block of the flash holds at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How often it was erased.
    pub erases: u32,
    /// Pages that are written, those of a program unit under way included.
    pub pages: u32,
    /// Of the program unit under way, those that are on the flash: where it is programmed in parts.
    pub part: u32,
    /// Whether it holds one bit per cell.
    pub is_slc: bool,
}

/// Mechanisms that are on or off, each by itself.
struct Mechanisms {
    order: Order,
    suspend: Option<Suspending>,
    reads_in_cache: bool,
    programs_in_cache: bool,
    /// Whether collection has a queue of its own: only when it works in steps.
    splits_collection: bool,
}

/// The dies that the FTL takes for one.
#[derive(Clone, Default)]
struct Pool {
    /// How much its collection presses.
    urgency: Urgency,
    /// Operations of a collection that wait on its dies.
    moves_waiting: u32,
}

/// Operations that are done and wait to be told; when observed, with what they spent their time on.
#[derive(Default)]
struct Done {
    ops: VecDeque<FlashOp>,
    parts: VecDeque<Parts>,
}

/// See the module.
#[allow(clippy::vec_box)] // Transactions move as pointers between dies and the pool.
pub struct Full {
    geometry: Geometry,
    /// Dies that the FTL takes for one.
    dies_per_pool: u32,
    times: PhaseTimes,
    units: ProgramUnits,
    /// Dies that are lost, and when.
    lost: Vec<(u32, Ns)>,
    mechanisms: Mechanisms,
    dies: Vec<Die>,
    pools: Vec<Pool>,
    channels: Vec<Channel>,
    blocks: Vec<Progress>,
    /// Dies with operations of a command that is still being taken apart, where planes join.
    held: Vec<u32>,
    /// Dies in the order of arrival of their operations, under [`Order::WholeDrive`].
    arrivals: VecDeque<u32>,
    /// Writes that wait for the rest of their program unit, where they do.
    staged: Option<Staged>,
    pending: u64,
    done: Done,
    /// What the operation told last spent its time on, when observed.
    parts: Parts,
    /// Room for transactions to come: they are allocated once and move as pointers.
    spare: Vec<Box<Transaction>>,
    /// Room for operations of a program unit that are taken from their queue.
    taken: Vec<Queued>,
    is_observed: bool,
    /// Rule 5, in drives that may lose power.
    order_of_erases: Option<Box<ErasesInOrder>>,
    /// Spans of activity, when asked for.
    pub timeline: Option<Box<Timeline>>,
    tally: FullTally,
    /// Microseconds for each block that is looked at for a victim.
    victim_us: f64,
    /// What the dies have done, where energy is asked for.
    work: Option<Box<Work>>,
}

impl Full {
    /// All dies and channels idle; `written` tells what blocks hold.
    pub fn new(setup: &Setup, written: impl Fn(BlockId) -> Written) -> Self {
        let &Setup { geometry, dies_per_pool, nand, controller, seed, .. } = setup;
        let order = match &controller.scheduler {
            SchedulerConfig::InOrder(_) => Order::WholeDrive,
            SchedulerConfig::OutOfOrder(_) => Order::PerDie,
            SchedulerConfig::Priority(priority) => Order::Priority {
                write_starvation: Ns::from_us(priority.write_starvation_us),
                gc_starvation: Ns::from_us(priority.gc_starvation_us),
            },
        };
        let units = ProgramUnits::new(geometry, nand);
        let progress = |block| {
            let Written { erases, pages, part, is_slc } = written(BlockId(block));
            let programmed = units.programmed(pages, is_slc) + part;
            Progress {
                erases,
                erases_ordered: erases,
                programmed,
                sent: programmed,
                pending: 0,
                inside: 0,
                class: Class::HostWrite,
                promised: programmed,
            }
        };
        let retry_setup =
            controller.read_retry.as_ref().map_or(Ns(0), |retry| Ns::from_us(retry.setup_us));
        let mut times = PhaseTimes::new(nand, &geometry, retry_setup, seed);
        if let Some(soft) = &controller.soft_read {
            times.soft_setup = Ns::from_us(soft.setup_us);
        }
        let cache = nand.cache_commands.clone().unwrap_or_default();
        let planes = if nand.independent_planes { geometry.planes_per_die } else { 0 };
        Self {
            geometry,
            dies_per_pool,
            times,
            units,
            lost: nand.faults.iter().filter_map(Fault::lost_die).collect(),
            mechanisms: Mechanisms {
                order,
                suspend: controller.suspend.as_ref().map(Suspending::new),
                reads_in_cache: cache.read,
                programs_in_cache: cache.program,
                splits_collection: setup.splits_collection,
            },
            dies: (0..geometry.die_count)
                .map(|die| Die::on(die % geometry.channel_count, die / dies_per_pool, planes))
                .collect(),
            pools: vec![Pool::default(); (geometry.die_count / dies_per_pool) as usize],
            channels: (0..geometry.channel_count).map(|_| Channel::default()).collect(),
            blocks: (0..geometry.block_count()).map(progress).collect(),
            held: Vec::new(),
            arrivals: VecDeque::new(),
            staged: setup.stages_writes.then(|| Staged::new(geometry.die_count)),
            pending: 0,
            done: Done::default(),
            parts: Parts::default(),
            spare: Vec::new(),
            taken: Vec::new(),
            is_observed: false,
            order_of_erases: None,
            timeline: None,
            tally: FullTally::default(),
            victim_us: controller.victim_us_per_block.unwrap_or(0.0),
            work: nand.energy.as_ref().map(|_| Box::default()),
        }
    }

    /// Keeps account of what every operation waits for.
    pub fn observe(&mut self) {
        self.is_observed = true;
    }

    /// Whether dies may be lost.
    #[inline]
    pub fn may_lose_dies(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Whether a die is lost at a time.
    #[inline]
    pub fn is_lost(&self, die: DieId, now: Ns) -> bool {
        self.lost.iter().any(|&(lost, since)| lost == die.0 && now >= since)
    }

    /// What happened so far.
    pub fn tally(&self) -> FullTally {
        self.tally
    }

    /// What the dies have done, where the device has energies.
    pub fn work(&self) -> Option<&Work> {
        self.work.as_deref()
    }

    /// Number of page types.
    pub fn page_types(&self) -> u32 {
        self.times.page_types()
    }

    /// Operations that are queued or under way.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// The dies that the FTL takes for one.
    fn dies_of(&self, pool: DieId) -> &[Die] {
        let first = (pool.0 * self.dies_per_pool) as usize;
        &self.dies[first..first + self.dies_per_pool as usize]
    }

    /// Operations that wait on a pool of the FTL, for those that choose among them.
    pub fn load(&self, pool: DieId) -> u32 {
        self.dies_of(pool).iter().map(load_of).sum()
    }

    /// Whether a pool has nothing to do.
    pub fn is_idle(&self, pool: DieId) -> bool {
        let is_idle = || self.dies_of(pool).iter().all(Die::is_idle);
        debug_assert!(self.pending > 0 || is_idle(), "nothing is pending, and a die is at work");
        self.pending == 0 || is_idle()
    }

    /// Whether operations of a collection wait on a pool.
    #[inline]
    pub fn collection_waits(&self, pool: DieId) -> bool {
        self.pools[pool.0 as usize].moves_waiting > 0
    }

    /// How much a pool's collection presses from now on.
    #[inline]
    pub fn set_urgency(&mut self, pool: DieId, urgency: Urgency) {
        self.pools[pool.0 as usize].urgency = urgency;
    }

    /// A victim of a pool was chosen among so many blocks: the next operation of a collection waits
    /// for that, on each of its dies.
    #[inline]
    pub fn note_choice(&mut self, pool: DieId, blocks: impl FnOnce() -> u32) {
        if self.victim_us > 0.0 {
            let time = Ns::from_us(self.victim_us * f64::from(blocks()));
            let first = (pool.0 * self.dies_per_pool) as usize;
            for die in &mut self.dies[first..first + self.dies_per_pool as usize] {
                die.choice = die.choice + time;
            }
        }
    }

    /// Whether all erases of these blocks are over.
    pub fn are_erased(&self, mut blocks: impl Iterator<Item = BlockId>) -> bool {
        let is_erased = |it: Progress| it.erases == it.erases_ordered;
        blocks.all(|block| is_erased(self.blocks[block.0 as usize]))
    }

    /// Busy share of all dies and of all channels of the time until `now`.
    pub fn utilization(&self, now: Ns) -> (f64, f64) {
        let span = (now.0 as f64).max(1.0);
        // A plane that works by itself is its share of the die.
        let planes = u64::from(self.geometry.planes_per_die);
        let working = |die: &Die| die.working.0 + die.plane_working.0 / planes;
        let dies: u64 = self.dies.iter().map(working).sum();
        let channels: u64 = self.channels.iter().map(|channel| channel.busy.0).sum();
        let share = |busy: u64, count: usize| busy as f64 / span / count as f64;
        (share(dies, self.dies.len()), share(channels, self.channels.len()))
    }

    /// Puts an operation at the end of its queue; it may start with [`Full::release`] only.
    #[inline]
    pub fn enqueue(&mut self, engine: &mut Engine, die: DieId, op: FlashOp, mut detail: Detail) {
        self.pending += u64::from(op.count());
        let now = engine.now();
        let class = self.class_of(op);
        let progress = &mut self.blocks[self.geometry.block_of(op.first()).0 as usize];
        detail.erase_count = progress.erases_ordered;
        match op.kind() {
            OpKind::Program | OpKind::Copyback => {
                progress.pending += op.count();
                let is_inside = op.kind() == OpKind::Copyback;
                progress.inside += if is_inside { op.count() } else { 0 };
                progress.class = class;
            }
            OpKind::Erase => progress.erases_ordered += 1,
            OpKind::Read => {}
        }
        if self.order_of_erases.is_some() {
            self.note_ordered(op, detail.erase_count);
        }
        let plane = self.plane_for(die.0, op);
        let is_move = self.is_move(class, op);
        let may_join = op.frees_buffer() && self.staged.is_none() && !self.is_watched();
        let state = &mut self.dies[die.0 as usize];
        if state.choice > Ns(0) && op.source() == Source::Gc && op.kind() != OpKind::Program {
            detail.choice_ns = u32::try_from(state.choice.0).unwrap_or(u32::MAX);
            state.choice = Ns(0);
        }
        let busy = self.is_observed.then(|| {
            state.settle(now);
            Box::new(state.busy)
        });
        if op.completes_in_memory() && self.has_room_for(die, class, op, now) {
            return self.stage_at_once(die.0, &Queued { op, detail, since: now, plane, busy });
        }
        let state = &mut self.dies[die.0 as usize];
        state.waiting += op.count();
        if let Some(plane) = plane {
            state.planes[usize::from(plane)].waiting[class as usize] += 1;
        }
        let queue = &mut state.queues[class as usize];
        // Pages of a program unit that leave the write buffer are programmed and end together.
        let page = self.geometry.page_index(op.first());
        let is_before = |last: &&mut Queued| {
            last.op.goes_on_with(op)
                && last.detail.erase_count == detail.erase_count
                && self.units.stages(op.is_slc())
                && self.units.span(page, op.is_slc()).0 < page
        };
        if let Some(last) = queue.back_mut().filter(|_| may_join).filter(is_before) {
            last.op = last.op.run_of(last.op.first(), last.op.count() + 1);
        } else {
            self.pools[state.pool as usize].moves_waiting += u32::from(is_move);
            queue.push_back(Queued { op, detail, since: now, plane, busy });
        }
        if matches!(self.mechanisms.order, Order::WholeDrive) {
            self.arrivals.push_back(die.0);
        }
        let state = &self.dies[die.0 as usize];
        let has_data = state.input.is_some() || state.output.is_some();
        if class == Class::HostRead && has_data && self.puts_reads_first() {
            self.channels[state.channel as usize].promote(die.0);
        }
        if class == Class::HostRead
            && self.mechanisms.suspend.is_some()
            && self.is_programmed(op, detail)
        {
            self.consider_suspending(engine, die.0);
        }
        if self.geometry.units_per_row() == 1 {
            self.pump(engine, die.0);
        } else if self.held.last() != Some(&die.0) && self.may_start(die.0) {
            self.held.push(die.0);
        }
    }

    /// Whether host reads go before other work.
    fn puts_reads_first(&self) -> bool {
        matches!(self.mechanisms.order, Order::Priority { .. })
    }

    /// Starts what a command queued: planes join only operations that are there together.
    pub fn release(&mut self, engine: &mut Engine) {
        for place in 0..self.held.len() {
            self.pump(engine, self.held[place]);
        }
        self.held.clear();
    }

    /// Handles one event of the back end.
    pub fn handle(&mut self, engine: &mut Engine, code: u32) {
        let index = code & ((1 << INDEX_BITS) - 1);
        match code >> INDEX_BITS {
            ARRAY => self.array_done(engine, index),
            PLANE => self.plane_done(engine, index),
            _ => self.bus_done(engine, index),
        }
        if self.order_of_erases.is_some() {
            self.start_erases(engine);
        }
    }

    #[inline]
    fn class_of(&self, op: FlashOp) -> Class {
        if !matches!(self.mechanisms.order, Order::Priority { .. }) {
            return Class::HostWrite;
        }
        match op.kind() {
            // Commands wait for the entries of map pages.
            OpKind::Read if is_host(op.source()) || op.source() == Source::Map => Class::HostRead,
            // A map block is written again while its erase waits: both are in one queue.
            OpKind::Erase if op.source() == Source::Map => {
                self.blocks[self.geometry.block_of(op.first()).0 as usize].class
            }
            OpKind::Program | OpKind::Copyback if self.follows(op) => {
                self.blocks[self.geometry.block_of(op.first()).0 as usize].class
            }
            _ if is_host(op.source()) || !self.mechanisms.splits_collection => Class::HostWrite,
            _ => Class::Collect,
        }
    }

    /// Whether a program belongs behind those of its block, whoever asks for it: pages of a block
    /// are programmed in order, so they wait in one queue.
    fn follows(&self, op: FlashOp) -> bool {
        matches!(op.source(), Source::Parity | Source::Pad | Source::Map)
            || self.blocks[self.geometry.block_of(op.first()).0 as usize].pending > 0
    }

    /// Starts whatever can start on a die, and on those that its operations held up.
    fn pump(&mut self, engine: &mut Engine, index: u32) {
        if self.stage_alone(index) {
            return;
        }
        let mut index = index;
        loop {
            if self.is_observed {
                self.dies[index as usize].settle(engine.now());
            }
            while self.start_next(engine, index) {}
            if self.is_observed {
                self.dies[index as usize].note_occupant();
            }
            match self.arrivals.front() {
                Some(&head) if head != index && self.can_start(head) => index = head,
                _ => return,
            }
        }
    }

    /// Starts one thing on a die; false if nothing can start.
    fn start_next(&mut self, engine: &mut Engine, index: u32) -> bool {
        if self.is_engaged(index) {
            return false;
        }
        let now = engine.now();
        let die = &mut self.dies[index as usize];
        if die.is_loaded && matches!(die.array, Array::Free) && die.suspended.is_none() {
            let transaction = die.input.take().expect("the register is loaded");
            die.is_loaded = false;
            self.start_array(engine, index, transaction);
            return true;
        }
        let Some(turn) = self.choose(index, now) else { return self.resume(engine, index) };
        self.start(engine, index, turn);
        true
    }
}

/// Operations that wait on a die, and the one that it works on.
fn load_of(die: &Die) -> u32 {
    let is_busy = !matches!(die.array, Array::Free) || die.input.is_some();
    let is_busy = is_busy || die.planes_busy > 0;
    die.waiting + u32::from(is_busy || die.output.is_some() || die.suspended.is_some())
}

/// Whether the host waits for it.
fn is_host(source: Source) -> bool {
    matches!(source, Source::Host | Source::Merge | Source::Rebuild)
}

#[inline]
fn event(kind: u32, index: u32) -> u32 {
    kind << INDEX_BITS | index
}
