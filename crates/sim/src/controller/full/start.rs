//! Taking operations from a queue: joining planes, completing program units.
//!
//! A transaction is one command of the flash. Reads of a row of planes join when they wait side by
//! side; programs join as far as pages of the row, or of the program unit, are at hand. What a unit
//! lacks is waited for in memory, see `staged`.

use super::bus::Use;
use super::design::Order;
use super::die::{Class, Queued, Rereads, Transaction, Turn};
use super::watch::pages_of_sense;
use super::{is_host, Full};
use crate::controller::{Detail, FlashOp, OpKind, NO_COMMAND};
use crate::engine::Engine;
use crate::op::Source;
use crate::units::{BlockId, DieId, Ns, Ppn};

/// The operation whose turn it is: the head of a queue, but for reads of planes.
#[derive(Clone, Copy)]
struct Head {
    turn: Turn,
    op: FlashOp,
    detail: Detail,
    plane: Option<u8>,
}

impl Full {
    /// Takes operations from a queue and sets them going.
    pub(super) fn start(&mut self, engine: &mut Engine, index: u32, turn: Turn) {
        let die = &mut self.flash.dies[index];
        die.last_turn = turn.class;
        let queued = &die.queues[turn.class as usize][turn.place as usize];
        let &Queued { op, detail, plane, .. } = queued;
        let head = Head { turn, op, detail, plane };
        if self.flash.is_lost(DieId(index), engine.now()) {
            return self.pass_over(engine, index, head);
        }
        match head.op.kind() {
            OpKind::Read => self.start_read(engine, index, head),
            OpKind::Program if head.op.programs_part() => self.program_part(engine, index, head),
            OpKind::Program => self.start_program(engine, index, head),
            OpKind::Erase | OpKind::Copyback => self.start_inside(engine, index, head),
        }
    }

    /// An operation of a die that is lost ends at once.
    fn pass_over(&mut self, engine: &Engine, index: u32, head: Head) {
        let queued = self.take(index, head.turn);
        let block = self.flash.design.block_of(head.op);
        self.flash.blocks.pass_over(&self.flash.design, head.op);
        for staged in self.take_staged(index, block) {
            self.tell_unserved(index, &staged, engine.now());
        }
        self.tell_unserved(index, &queued, engine.now());
    }

    /// Removes an entry of a queue.
    fn take(&mut self, index: u32, turn: Turn) -> Queued {
        self.flash.dies.take(&self.flash.design, index, turn)
    }

    /// Moves an entry of a queue to the operations of a transaction.
    #[inline]
    fn take_into(&mut self, index: u32, turn: Turn, ops: &mut Vec<Queued>) {
        self.flash.dies.take_into(&self.flash.design, (index, turn), ops);
    }

    /// A transaction of no operations.
    #[inline]
    fn spare(&mut self) -> Box<Transaction> {
        let mut transaction = self.spare.pop().unwrap_or_default();
        transaction.of_runs = 0;
        transaction
    }

    /// Sets all of a transaction but its operations.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a call would carry the operation through memory
    fn begin(&mut self, index: u32, head: Head, transaction: &mut Transaction, now: Ns) {
        let Head { op, detail, .. } = head;
        transaction.kind = op.kind();
        transaction.source = op.source();
        transaction.block = self.flash.design.block_of(op).0;
        transaction.is_slc = op.is_slc();
        transaction.page_type = op.page_type();
        transaction.cycles = detail.erase_count;
        transaction.rereads = Rereads::of(detail);
        transaction.slots = 1;
        transaction.settled = 0;
        transaction.is_sensed = false;
        transaction.suspend_count = 0;
        transaction.choice = Ns(detail.choice_ns.into());
        transaction.spent.started = now;
        transaction.spent.retry_time = Ns(0);
        transaction.spent.bus_wait = Ns(0);
        transaction.spent.bus_time = Ns(0);
        self.flash.watch.note_begun(index, op.source(), now);
        if self.flash.watch.is_observed {
            transaction.spent.busy_at_start = self.flash.dies[index].busy;
        }
    }

    #[inline]
    fn start_read(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let Head { turn, op, detail, plane } = head;
        if op.count() == 1 && !self.flash.is_programmed(op, detail) {
            let queued = self.take(index, turn);
            let die = &mut self.flash.dies[index];
            die.choice = die.choice + Ns(detail.choice_ns.into());
            self.flash.watch.tally.memory_reads += 1;
            self.tell_unserved(index, &queued, now);
            return;
        }
        if let Some(suspended) = &mut self.flash.dies[index].suspended {
            suspended.reads += 1;
        }
        let mut transaction = self.spare();
        self.begin(index, head, &mut transaction, now);
        if op.count() > 1 {
            self.take_collected(index, head, &mut transaction);
        } else {
            self.take_into(index, turn, &mut transaction.ops);
            self.join_reads(index, head, &mut transaction);
        }
        self.flash.watch.note_read(&self.flash.design, &transaction, (op, detail));
        match plane {
            None => self.flash.start_array_command(engine, index, transaction),
            Some(plane) => {
                self.flash.start_plane_command(engine, [index, plane.into()], transaction);
            }
        }
    }

    /// Takes the reads behind one of the host that its sense takes too.
    #[inline]
    fn join_reads(&mut self, index: u32, head: Head, transaction: &mut Transaction) {
        let Turn { class, place } = head.turn;
        let is_whole = head.plane.is_none();
        let geometry = &self.flash.design.geometry;
        let slots_max = if is_whole { geometry.units_per_row() } else { geometry.units_per_page };
        while transaction.slots < slots_max {
            let geometry = &self.flash.design.geometry;
            let queue = &self.flash.dies[index].queues[class as usize];
            let Some(&Queued { op: next, detail, .. }) = queue.get(place as usize) else {
                break;
            };
            // What one sense takes: a row of the planes, or a page of one of them.
            let row = |op: FlashOp| {
                let page = geometry.page_index(op.first());
                if is_whole {
                    geometry.row_of(page)
                } else {
                    geometry.physical_index(page)
                }
            };
            let joins = next.kind() == OpKind::Read
                && next.count() == 1
                && is_host(next.source())
                && is_host(transaction.source)
                && geometry.block_of(next.first()).0 == transaction.block
                && row(next) == row(head.op)
                && self.flash.is_programmed(next, detail)
                && !matches!(self.flash.design.order, Order::WholeDrive);
            if !joins {
                break;
            }
            self.take_into(index, head.turn, &mut transaction.ops);
            transaction.slots += 1;
            transaction.rereads.join(detail);
        }
    }

    /// One array read of a run of collected pages.
    fn take_collected(&mut self, index: u32, head: Head, transaction: &mut Transaction) {
        let Head { turn, op, detail, .. } = head;
        // Pages of a run are spread evenly over its array reads.
        transaction.slots = op.count().div_ceil(op.sense_count().max(1));
        if transaction.slots >= op.count() {
            self.take_into(index, turn, &mut transaction.ops);
            return;
        }
        let die = &mut self.flash.dies[index];
        let rest = &mut die.queues[turn.class as usize][turn.place as usize];
        rest.op = op
            .run_of(op.first(), op.count() - transaction.slots)
            .sensed_in(op.sense_count() - 1)
            .of_type(op.page_type().wrapping_add(1));
        // Retries too, so that what the host asks meanwhile waits for those of one read at most.
        let (first, left) = detail.of_first_sense(op.sense_count());
        transaction.rereads = Rereads::of(first);
        rest.detail = Detail { pages: left.pages - pages_of_sense(op, detail), ..left };
        die.waiting -= transaction.slots;
        self.done.pending -= u64::from(transaction.slots);
    }

    #[inline]
    fn start_program(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let design = &self.flash.design;
        let (class, is_slc) = (head.turn.class, head.op.is_slc());
        let (block, first) = (design.block_of(head.op), design.index_of(head.op));
        let stages = design.units.stages(is_slc);
        let (unit_first, unit_limit) = if stages {
            design.units.span(first, is_slc)
        } else {
            // A row of planes, as far as pages are at hand.
            let (planes, limit) = (design.geometry.plane_count, design.geometry.pages_per_block);
            (first, ((first / planes + 1) * planes).min(limit))
        };
        let mut transaction = self.spare();
        let mut at = first;
        loop {
            at += self.take_pages(index, class, unit_limit - at, &mut transaction);
            if at == unit_limit || !self.goes_on(index, class, (block, at), is_slc) {
                break;
            }
        }
        if stages && at < unit_limit {
            // The unit is not complete: its slots wait in the controller's memory.
            self.flash.watch.note_begun(index, head.op.source(), now);
            self.flash.blocks.of(block).pending -= at - first;
            transaction.ops.drain(..).for_each(|queued| self.stage(index, queued, now));
            self.spare.push(transaction);
            return;
        }
        self.begin(index, head, &mut transaction, now);
        transaction.settled = at - first;
        if stages {
            self.tell_in_memory(index, &mut transaction.ops, now);
        }
        // What earlier programs have put on the page stays there.
        let unit_first = if self.flash.design.units.programs_parts() {
            std::mem::replace(&mut self.flash.blocks.of(block).sent, at).max(unit_first)
        } else {
            unit_first
        };
        self.send_program(engine, index, transaction, (unit_first, at));
    }

    /// Programs what waits in memory for the rest of its page, and leaves room for that.
    #[cold]
    fn program_part(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let at = self.flash.design.index_of(head.op);
        let mut transaction = self.spare();
        self.begin(index, head, &mut transaction, now);
        self.take_into(index, head.turn, &mut transaction.ops);
        let progress = self.flash.blocks.of(BlockId(transaction.block));
        let first = std::mem::replace(&mut progress.sent, at);
        transaction.settled = head.op.count();
        self.send_program(engine, index, transaction, (first, at));
    }

    /// Sends the data of the pages of a block from one index to another to its die.
    fn send_program(
        &mut self,
        engine: &mut Engine,
        index: u32,
        mut transaction: Box<Transaction>,
        (unit_first, at): (u32, u32),
    ) {
        self.unstage(index, &mut transaction);
        transaction.slots = at - unit_first;
        transaction.programmed_limit = at;
        let (times, geometry) = (&self.flash.design.times, &self.flash.design.geometry);
        let crossings = times.transfer_count(transaction.is_slc);
        let time = Ns(times.slot.0 * u64::from(transaction.slots) * crossings + times.command.0);
        let page = |index| geometry.physical_index(index);
        let is_multi_plane = geometry.plane_count > 1 && page(at - 1) > page(unit_first);
        self.flash.watch.tally.multi_plane_ops += u64::from(is_multi_plane);
        if let Some(work) = &mut self.flash.watch.work {
            work.crossings += u64::from(transaction.slots) * crossings;
        }
        let source = transaction.source;
        self.flash.dies[index].input = Some(transaction);
        self.flash.ask_channel(engine, index, (Use::In, source), time);
    }

    /// Takes up to `most` pages from the program at the head of a queue; an operation all of which
    /// is taken is done with the transaction.
    fn take_pages(
        &mut self,
        index: u32,
        class: Class,
        most: u32,
        transaction: &mut Transaction,
    ) -> u32 {
        let die = &mut self.flash.dies[index];
        let head = die.queues[class as usize].front_mut().expect("the queue has a head");
        let op = head.op;
        let taken = op.count().min(most);
        self.flash.watch.note_programmed(op, taken);
        if taken == op.count() {
            self.take_into(index, Turn { class, place: 0 }, &mut transaction.ops);
            return taken;
        }
        transaction.of_runs += taken;
        let geometry = &self.flash.design.geometry;
        let first = Ppn(op.first().0 + taken);
        let row = |page| geometry.row_of(geometry.page_index(page));
        let rows = row(first) - row(op.first());
        let page_type = op.page_type().wrapping_add(rows as u8);
        head.op = op.run_of(first, op.count() - taken).of_type(page_type);
        die.waiting -= taken;
        taken
    }

    /// Whether the next program of a queue begins where the last page of a block ended.
    fn goes_on(&self, index: u32, class: Class, (block, at): (BlockId, u32), is_slc: bool) -> bool {
        let design = &self.flash.design;
        let in_turn = match design.order {
            Order::WholeDrive => self.flash.dies.arrivals.front() == Some(&index),
            Order::PerDie | Order::Priority { .. } => true,
        };
        let next = self.flash.dies[index].queues[class as usize].front();
        in_turn
            && next.is_some_and(|&Queued { op, .. }| {
                op.kind() == OpKind::Program
                    && !op.programs_part()
                    && op.is_slc() == is_slc
                    && design.block_of(op) == block
                    && design.index_of(op) == at
            })
    }

    /// Erases and copybacks: no data crosses the bus.
    fn start_inside(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let mut transaction = self.spare();
        self.begin(index, head, &mut transaction, now);
        if head.op.kind() == OpKind::Erase {
            self.flash.blocks.of(BlockId(transaction.block)).sent = 0;
            self.take_into(index, head.turn, &mut transaction.ops);
        } else {
            let first = self.flash.design.index_of(head.op);
            let planes = self.flash.design.geometry.plane_count;
            let most = (first / planes + 1) * planes - first;
            let taken = self.take_pages(index, head.turn.class, most, &mut transaction);
            transaction.settled = taken;
            transaction.programmed_limit = first + taken;
            self.flash.watch.tally.copybacks += u64::from(taken);
            self.flash.watch.tally.multi_plane_ops += u64::from(taken > 1);
        }
        self.flash.watch.note_inside(&self.flash.design, &transaction);
        self.flash.start_array_command(engine, index, transaction);
    }

    /// Takes the only operation that waits on a die which does nothing, if that is a page of an
    /// incomplete program unit: a write that came alone. Nothing else can start there then.
    #[inline]
    pub(super) fn stage_alone(&mut self, index: u32) -> bool {
        let die = &self.flash.dies[index];
        if die.waiting != 1 || !die.does_nothing() {
            return false;
        }
        let class = Class::HostWrite;
        let Some(&Queued { op, .. }) = die.queues[class as usize].front() else { return false };
        if !self.needs_no_die(op) {
            return false;
        }
        self.flash.dies.take_alone(&self.flash.design, index, class);
        self.tell_alone(index, op);
        true
    }

    /// Whether an operation, if it comes alone to a die that does nothing, only waits in memory: a
    /// page of an incomplete program unit.
    #[inline]
    fn needs_no_die(&self, op: FlashOp) -> bool {
        op.kind() == OpKind::Program
            && !op.programs_part()
            && self.flash.design.leaves_unit_open(op)
            && !self.flash.is_watched()
            && self.staged.is_none()
    }

    /// Whether a write is such an operation as long as no other one follows in its command. It then
    /// needs no queue.
    #[inline]
    pub(super) fn comes_alone(&self, index: u32, op: FlashOp) -> bool {
        let die = &self.flash.dies[index];
        die.waiting == 0
            && op.count() == 1
            && self.held.is_empty()
            && self.flash.design.geometry.units_per_row() > 1
            && die.does_nothing()
            && self.needs_no_die(op)
    }

    /// Another operation follows the one that came alone: this one joins its queue after all.
    #[inline(never)]
    pub(super) fn queue_alone(&mut self, now: Ns) {
        let Some((index, op, detail)) = self.alone.take() else { return };
        let queued = Queued { op, detail, since: now, plane: None, busy: None };
        self.flash.dies[index].waiting = 0;
        self.flash.dies.push(&self.flash.design, (index, Class::HostWrite), queued, false);
        self.held.push(index);
    }

    /// A write that came alone waits in memory for the rest of its program unit.
    #[inline]
    pub(super) fn tell_alone(&mut self, index: u32, op: FlashOp) {
        let flash = &mut self.flash;
        flash.dies[index].last_turn = Class::HostWrite;
        flash.watch.note_programmed(op, 1);
        flash.blocks.of(flash.design.block_of(op)).pending -= 1;
        self.done.pending -= 1;
        self.done.push(op, None);
    }

    /// Whether memory has room for a write that leaves its program unit incomplete: nothing of its
    /// block waits for the die before it, so that memory holds one unit in addition to that of the
    /// die.
    #[inline]
    pub(super) fn has_room_for(&self, die: DieId, class: Class, op: FlashOp, now: Ns) -> bool {
        let design = &self.flash.design;
        design.leaves_unit_open(op)
            && !design.is_lost(die, now)
            && !self.writes_block(die, class, design.block_of(op))
    }

    /// Whether something other than a read of a block waits in a queue of a die.
    fn writes_block(&self, die: DieId, class: Class, block: BlockId) -> bool {
        let design = &self.flash.design;
        let is_of_block =
            |it: &Queued| it.op.kind() != OpKind::Read && design.block_of(it.op) == block;
        self.flash.dies[die.0].queues[class as usize].iter().rev().any(is_of_block)
    }

    /// A write is in memory, whatever its die does.
    pub(super) fn stage_at_once(&mut self, index: u32, queued: &Queued) {
        let flash = &mut self.flash;
        flash.watch.note_begun(index, queued.op.source(), queued.since);
        flash.watch.note_programmed(queued.op, 1);
        flash.blocks.of(flash.design.block_of(queued.op)).pending -= 1;
        self.tell_unserved(index, queued, queued.since);
    }

    /// The data of a program is in memory and waits there for the rest of its program unit.
    pub(super) fn stage(&mut self, index: u32, queued: Queued, now: Ns) {
        match &mut self.staged {
            Some(staged)
                if queued.op.command() != NO_COMMAND && queued.op.source() != Source::Map =>
            {
                staged.push(index, queued);
            }
            _ => self.tell_unserved(index, &queued, now),
        }
    }

    /// The die takes a program unit: reports the commands that complete when memory has their data,
    /// and the die still owes the program.
    pub(super) fn tell_in_memory(&mut self, index: u32, ops: &mut [Queued], now: Ns) {
        for queued in ops.iter_mut().filter(|queued| queued.op.completes_in_memory()) {
            self.tell_unserved(index, queued, now);
            self.done.pending += u64::from(queued.op.count());
            queued.op = queued.op.of_command(NO_COMMAND);
        }
    }

    /// What waits in memory for the program unit of a block goes to the die with it.
    #[inline]
    pub(super) fn unstage(&mut self, index: u32, transaction: &mut Transaction) {
        if self.staged.is_some() {
            let ready = self.take_staged(index, BlockId(transaction.block));
            transaction.ops.splice(0..0, ready);
        }
    }

    /// Takes out what waits for the program unit of a block.
    pub(super) fn take_staged(&mut self, index: u32, block: BlockId) -> Vec<Queued> {
        let geometry = &self.flash.design.geometry;
        let staged = self.staged.as_mut();
        staged.map_or_else(Vec::new, |staged| staged.take(geometry, index, block))
    }
}
