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
//!    by commands when they come (`Flash::holds`), by others when it is their turn;
//! 3. a block is not erased while a read of it waits, nor before its programs are done;
//! 4. while a program or an erase is suspended, only host reads run;
//! 5. in a drive that may lose power, a block is erased after everything that was to be programmed
//!    before, on whatever die: copies of its live data, and newer versions of its dead data.
//!
//! A die that is lost finishes its running operations. Operations that wait or arrive later end at
//! once, in order, and leave the blocks as if they had been carried out.
//!
//! | part | holds |
//! |---|---|
//! | `Flash` | the dies and channels at work, and how far their blocks are |
//! | `Design` | what all is built of |
//! | `Done` | operations that are done |
//! | `Watch` | counts and records of its work |

mod blocks;
mod buffered;
mod bus;
mod choose;
mod cut;
mod design;
mod die;
mod dies;
mod done;
mod erases;
mod flash;
mod planes;
mod progress;
mod staged;
mod start;
mod suspend;
mod times;
mod watch;

pub use blocks::Written;
pub use design::Setup;
pub use die::Urgency;
pub(crate) use times::PhaseTimes;

use die::{Class, Queued, Transaction};
use done::Done;
use erases::Who;
use flash::{After, Flash};
use staged::Staged;

use super::breakdown::Parts;
use super::{Detail, FlashOp, OpKind, NO_COMMAND};
use crate::engine::Engine;
use crate::op::Source;
use crate::units::{BlockId, DieId, Ns};

/// What an event of the back end is for; its index names a die or a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The array of a die is done.
    Array = 0,
    /// A channel is done with a transfer.
    Bus = 1,
    /// A plane of a die is done.
    Plane = 2,
}

impl Event {
    /// Bits of a code that are the index.
    const INDEX_BITS: u32 = 21;

    #[inline]
    fn code(self, index: u32) -> u32 {
        (self as u32) << Self::INDEX_BITS | index
    }

    #[inline]
    fn of(code: u32) -> (Self, u32) {
        let index = code & ((1 << Self::INDEX_BITS) - 1);
        match code >> Self::INDEX_BITS {
            0 => (Self::Array, index),
            1 => (Self::Bus, index),
            _ => (Self::Plane, index),
        }
    }
}

/// See the module.
#[allow(clippy::vec_box)] // Transactions move as pointers between dies and the spare ones.
pub struct Full {
    /// The flash at work.
    pub flash: Flash,
    /// Operations that are done.
    pub done: Done,
    /// Dies with operations of a command that is still being taken apart, where planes join.
    held: Vec<u32>,
    /// The only operation of such a command up to now, if it is a page of an incomplete program
    /// unit for a die that does nothing: with its die, in no queue.
    alone: Option<(u32, FlashOp, Detail)>,
    /// Writes that wait for the rest of their program unit, if writes do so.
    staged: Option<Staged>,
    /// Room for transactions to come: they are allocated once and move as pointers.
    spare: Vec<Box<Transaction>>,
}

impl Full {
    /// All dies and channels idle; `written` gives the content of blocks at the beginning.
    pub fn new(setup: &Setup, written: impl Fn(BlockId) -> Written) -> Self {
        Self {
            flash: Flash::new(setup, written),
            done: Done::default(),
            held: Vec::new(),
            alone: None,
            staged: setup.stages_writes.then(|| Staged::new(setup.geometry.die_count)),
            spare: Vec::new(),
        }
    }

    /// Whether a pool has nothing to do.
    pub fn is_idle(&self, pool: DieId) -> bool {
        let (pending, dies) = (self.done.pending, &self.flash.dies);
        debug_assert!(
            pending > 0 || dies.is_idle(pool),
            "nothing is pending, and a die is at work"
        );
        pending == 0 || dies.is_idle(pool)
    }

    /// A victim of a pool was chosen among this number of blocks: the next operation of a
    /// collection waits for that, on each of its dies.
    #[inline]
    pub fn note_choice(&mut self, pool: DieId, blocks: impl FnOnce() -> u32) {
        let Flash { design, dies, .. } = &mut self.flash;
        if design.victim_us > 0.0 {
            dies.wait_for_choice(pool, Ns::from_us(design.victim_us * f64::from(blocks())));
        }
    }

    /// Puts an operation at the end of its queue; it may start with [`Full::release`] only.
    #[inline]
    pub fn enqueue(&mut self, engine: &mut Engine, die: DieId, op: FlashOp, mut detail: Detail) {
        if self.alone.is_some() {
            self.queue_alone(engine.now());
        }
        self.done.pending += u64::from(op.count());
        let now = engine.now();
        let class = self.class_of(op);
        let flash = &mut self.flash;
        detail.erase_count = flash.blocks.order(&flash.design, op, class);
        let plane = flash.dies.plane_for(&flash.design, die.0, op);
        let may_join = op.frees_buffer() && self.staged.is_none() && !flash.is_watched();
        let state = &mut flash.dies[die.0];
        if state.choice > Ns(0) && op.source() == Source::Gc && op.kind() != OpKind::Program {
            detail.choice_ns = u32::try_from(state.choice.0).unwrap_or(u32::MAX);
            state.choice = Ns(0);
        }
        let busy = flash.watch.is_observed.then(|| {
            state.settle(now);
            Box::new(state.busy)
        });
        if op.completes_in_memory() && self.has_room_for(die, class, op, now) {
            let queued = Queued { op, detail, since: now, plane, busy };
            return self.stage_at_once(die.0, &queued);
        }
        if class == Class::HostWrite && self.comes_alone(die.0, op) {
            self.flash.dies[die.0].waiting = 1;
            self.alone = Some((die.0, op, detail));
            return;
        }
        let queued = Queued { op, detail, since: now, plane, busy };
        let flash = &mut self.flash;
        flash.dies.push(&flash.design, (die.0, class), queued, may_join);
        if class == Class::HostRead {
            flash.note_read_waits(engine, die.0, (op, detail));
        }
        if flash.design.geometry.units_per_row() == 1 {
            self.pump(engine, die.0);
        } else if self.held.last() != Some(&die.0) && self.may_start(die.0) {
            self.held.push(die.0);
        }
    }

    /// Starts what a command queued: planes join only operations that are there together.
    pub fn release(&mut self, engine: &mut Engine) {
        if let Some((index, op, _)) = self.alone.take() {
            self.flash.dies[index].waiting = 0;
            return self.tell_alone(index, op);
        }
        for place in 0..self.held.len() {
            self.pump(engine, self.held[place]);
        }
        self.held.clear();
    }

    /// Handles one event of the back end.
    pub fn handle(&mut self, engine: &mut Engine, code: u32) {
        match Event::of(code) {
            (Event::Array, index) => {
                let after = self.flash.array_done(engine, index);
                self.go_on(engine, index, after);
            }
            (Event::Plane, index) => {
                let after = self.flash.plane_done(engine, index);
                self.go_on(engine, index, after);
            }
            (Event::Bus, channel) => self.bus_done(engine, channel),
        }
        if self.flash.blocks.order_of_erases.is_some() {
            self.start_erases(engine);
        }
    }

    /// A die continues after an event.
    #[inline]
    fn go_on(&mut self, engine: &mut Engine, index: u32, after: After) {
        match after {
            After::Nothing => return,
            After::Room => {}
            After::Over(transaction) => self.finish(transaction, engine.now()),
        }
        self.pump(engine, index);
    }

    /// A channel is done with a transfer.
    fn bus_done(&mut self, engine: &mut Engine, channel: u32) {
        let done = self.flash.channels[channel as usize].release();
        // What its plane senses next goes first.
        let is_out_of_plane = done.is_out_of_plane();
        if !is_out_of_plane {
            self.flash.start_on_channel(engine, channel);
        }
        if let Some(over) = self.flash.transferred(engine, channel, done) {
            self.finish(over, engine.now());
        }
        self.pump(engine, done.die);
        if is_out_of_plane {
            self.flash.start_on_channel(engine, channel);
        }
    }

    #[inline]
    fn class_of(&self, op: FlashOp) -> Class {
        let Flash { design, blocks, .. } = &self.flash;
        if !design.puts_reads_first() {
            return Class::HostWrite;
        }
        let progress = || &blocks.all[design.block_of(op).0 as usize];
        // Pages of a block are programmed in order, so they wait in one queue.
        let follows = || {
            matches!(op.source(), Source::Parity | Source::Pad | Source::Map)
                || progress().pending > 0
        };
        match op.kind() {
            // Commands wait for the entries of map pages.
            OpKind::Read if is_host(op.source()) || op.source() == Source::Map => Class::HostRead,
            // A map block is written again while its erase waits: both are in one queue.
            OpKind::Erase if op.source() == Source::Map => progress().class,
            OpKind::Program | OpKind::Copyback if follows() => progress().class,
            _ if is_host(op.source()) || !design.splits_collection => Class::HostWrite,
            _ => Class::Collect,
        }
    }

    /// Starts whatever can start on a die, and on those that its operations held up.
    #[inline]
    fn pump(&mut self, engine: &mut Engine, index: u32) {
        if !self.flash.has_no_turn(index) {
            self.start_all(engine, index);
        }
    }

    /// The same where something can start, by all that is known at a glance.
    #[inline(never)]
    fn start_all(&mut self, engine: &mut Engine, index: u32) {
        while self.flash.reads_planes(index, engine.now()) {
            let Some(turn) = self.flash.plane_turn(index, Class::HostRead) else { return };
            self.start(engine, index, turn);
            if self.flash.has_no_turn(index) {
                return;
            }
        }
        if self.stage_alone(index) {
            return;
        }
        let mut index = index;
        loop {
            if self.flash.watch.is_observed {
                self.flash.dies[index].settle(engine.now());
            }
            while self.start_next(engine, index) {}
            if self.flash.watch.is_observed {
                self.flash.dies[index].note_occupant();
            }
            match self.flash.dies.arrivals.front() {
                Some(&head) if head != index && self.can_start(head) => index = head,
                _ => return,
            }
        }
    }

    /// Starts one thing on a die; false if nothing can start.
    fn start_next(&mut self, engine: &mut Engine, index: u32) -> bool {
        if let Some(turn) = self.only_turn(index) {
            self.start(engine, index, turn);
            return true;
        }
        if self.flash.is_engaged(index) {
            return false;
        }
        if self.flash.start_loaded(engine, index) {
            return true;
        }
        let turn = self.choose(index, engine.now());
        let Some(turn) = turn else { return self.flash.resume(engine, index) };
        self.start(engine, index, turn);
        true
    }

    /// A transaction has ended: its operations are done.
    fn finish(&mut self, mut transaction: Box<Transaction>, now: Ns) {
        let is_right = self.flash.blocks.end(&transaction);
        self.flash.watch.tally.violations += u64::from(!is_right);
        self.done.pending -= u64::from(transaction.of_runs);
        for queued in &transaction.ops {
            self.done.pending -= u64::from(queued.op.count());
            let parts = self.flash.watch.is_observed.then(|| {
                let is_awaited = queued.op.command() != NO_COMMAND && queued.busy.is_some();
                if is_awaited {
                    transaction.parts(queued, now)
                } else {
                    Parts::default()
                }
            });
            self.done.push(queued.op, parts);
        }
        transaction.ops.clear();
        self.spare.push(transaction);
    }

    /// An operation is done without the flash.
    fn tell_unserved(&mut self, index: u32, queued: &Queued, now: Ns) {
        self.done.pending -= u64::from(queued.op.count());
        let parts = self.flash.watch.is_observed.then(|| {
            let die = &mut self.flash.dies[index];
            die.settle(now);
            die::waiting_parts(queued, &die.busy, now)
        });
        self.done.push(queued.op, parts);
    }

    /// Rule 5 applies to the operations that follow.
    pub fn keep_order_of_erases(&mut self) {
        self.flash.blocks.order_of_erases.get_or_insert_default();
    }

    /// A command waits for all programs that were ordered, until an operation of the command is
    /// done. False if there is none.
    pub fn await_programs(&mut self, command: u32) -> bool {
        self.flash.blocks.await_programs(command)
    }

    /// Starts the erases that need not wait any more.
    #[cold]
    fn start_erases(&mut self, engine: &mut Engine) {
        while let Some(free) = self.flash.blocks.take_free() {
            for who in free {
                match who {
                    Who::Erase(block, _) => {
                        let die = self.flash.design.geometry.die_of_block(BlockId(block)).0;
                        self.pump(engine, die);
                    }
                    Who::Command(command, block) => self.tell_settled(command, BlockId(block)),
                }
            }
        }
    }

    /// The programs that a command waited for have ended.
    fn tell_settled(&mut self, command: u32, block: BlockId) {
        let first = self.flash.design.geometry.first_page(block);
        let told = FlashOp::new(OpKind::Program, Source::Pad, first, 1).of_command(command);
        self.done.push(told, self.flash.watch.is_observed.then(Parts::default));
    }

    /// Running programs whose commands have completed already, and for which a command waits.
    pub fn follow_programs(&mut self, command: u32, now: Ns) -> u32 {
        let count = self.flash.dies.follow_programs(command, now);
        self.done.pending += u64::from(count);
        count
    }
}

/// Whether the host waits for it.
fn is_host(source: Source) -> bool {
    matches!(source, Source::Host | Source::Merge | Source::Rebuild)
}
