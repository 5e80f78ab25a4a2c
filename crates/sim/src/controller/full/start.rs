//! Taking operations from a queue: joining planes, completing program units.
//!
//! A transaction is one command of the flash. Reads of a row of planes join when they wait side by
//! side; programs join as far as pages of the row, or of the program unit, are at hand.

use super::bus::Use;
use super::die::{Class, Queued, Rereads, Transaction, Turn};
use super::working::pages_of_sense;
use super::{is_host, Full, Order};
use crate::controller::{Detail, FlashOp, OpKind};
use crate::engine::Engine;
use crate::memory::prefetch_at;
use crate::op::Source;
use crate::units::{DieId, Ns, Ppn};

/// The operation whose turn it is: the head of a queue, but for reads of planes.
#[derive(Clone, Copy)]
struct Head {
    class: Class,
    /// How many entries of its queue wait longer.
    place: u32,
    op: FlashOp,
    detail: Detail,
    plane: Option<u8>,
}

/// Pages of operations.
fn pages_in(ops: &[Queued]) -> u32 {
    ops.iter().map(|queued| queued.op.count()).sum()
}

impl Full {
    /// Asks for what a read of a page will touch.
    #[inline]
    pub fn expect_read(&self, page: Ppn) {
        let block = self.geometry.block_of(page);
        prefetch_at(&self.blocks, block.0 as usize);
        self.times.prefetch(block);
    }

    /// Takes operations from a queue and sets them going.
    pub(super) fn start(&mut self, engine: &mut Engine, index: u32, turn: Turn) {
        let Turn { class, place } = turn;
        let die = &mut self.dies[index as usize];
        die.last_turn = class;
        let queued = &die.queues[class as usize][place as usize];
        let &Queued { op, detail, plane, .. } = queued;
        let head = Head { class, place, op, detail, plane };
        if self.is_lost(DieId(index), engine.now()) {
            return self.pass_over(engine, index, head);
        }
        match head.op.kind() {
            OpKind::Read => self.start_read(engine, index, head),
            OpKind::Program if head.op.programs_part() => self.program_part(engine, index, head),
            OpKind::Program => self.start_program(engine, index, head),
            OpKind::Erase | OpKind::Copyback => self.start_inside(engine, index, head),
        }
    }

    /// An operation of a die that is lost is over at once.
    fn pass_over(&mut self, engine: &Engine, index: u32, head: Head) {
        let Head { class, place, op, .. } = head;
        let queued = self.take(index, class, place);
        let (block, first) = (self.geometry.block_of(op.first()), op.first());
        let progress = &mut self.blocks[block.0 as usize];
        match op.kind() {
            OpKind::Read => {}
            OpKind::Program | OpKind::Copyback => {
                let own = if op.programs_part() { 0 } else { op.count() };
                progress.programmed = self.geometry.page_index(first) + own;
                progress.sent = progress.programmed;
                progress.pending -= op.count();
                let is_inside = op.kind() == OpKind::Copyback;
                progress.inside -= if is_inside { op.count() } else { 0 };
            }
            OpKind::Erase => {
                progress.erases += 1;
                progress.programmed = 0;
                progress.sent = 0;
            }
        }
        self.note_progress();
        for staged in self.take_staged(index, block.0) {
            self.tell_unserved(index, &staged, engine.now());
        }
        self.tell_unserved(index, &queued, engine.now());
    }

    /// Removes the head of a queue.
    fn pop(&mut self, index: u32, class: Class) -> Queued {
        self.take(index, class, 0)
    }

    /// Removes an entry of a queue.
    #[inline]
    fn take(&mut self, index: u32, class: Class, place: u32) -> Queued {
        if matches!(self.mechanisms.order, Order::WholeDrive) {
            self.arrivals.pop_front();
        }
        let die = &mut self.dies[index as usize];
        let queue = &mut die.queues[class as usize];
        let queued = if place == 0 { queue.pop_front() } else { queue.remove(place as usize) };
        let queued = queued.expect("the queue has this entry");
        die.waiting -= queued.op.count();
        if let Some(plane) = queued.plane {
            die.planes[usize::from(plane)].waiting[class as usize] -= 1;
        }
        let (pool, is_move) = (die.pool, self.is_move(class, queued.op));
        self.pools[pool as usize].moves_waiting -= u32::from(is_move);
        queued
    }

    #[inline]
    fn transaction(&mut self, index: u32, head: Head, now: Ns) -> Box<Transaction> {
        let Head { op, detail, .. } = head;
        let mut transaction = self.spare.pop().unwrap_or_default();
        transaction.kind = op.kind();
        transaction.source = op.source();
        transaction.block = self.geometry.block_of(op.first()).0;
        transaction.is_slc = op.is_slc();
        transaction.page_type = op.page_type();
        transaction.cycles = detail.erase_count;
        transaction.rereads = Rereads::of(detail);
        transaction.slots = 1;
        transaction.settled = 0;
        transaction.of_runs = 0;
        transaction.is_sensed = false;
        transaction.suspend_count = 0;
        transaction.choice = Ns(detail.choice_ns.into());
        transaction.spent.started = now;
        transaction.spent.retry_time = Ns(0);
        transaction.spent.bus_wait = Ns(0);
        transaction.spent.bus_time = Ns(0);
        self.note_begun(index, op.source(), now);
        if self.is_observed {
            transaction.spent.busy_at_start = self.dies[index as usize].busy;
        }
        transaction
    }

    /// An operation is begun, for this reason.
    #[inline]
    fn note_begun(&mut self, index: u32, source: Source, now: Ns) {
        if let Some(timeline) = &mut self.timeline {
            timeline.collects(index, source, now);
        }
    }

    /// Whether a page is on the flash in the state that the reader counted on.
    pub(super) fn is_programmed(&self, op: FlashOp, detail: Detail) -> bool {
        let progress = &self.blocks[self.geometry.block_of(op.first()).0 as usize];
        // Whatever the place of a stripe holds, it is on the flash. Members of a row of dies may
        // still be in memory, where the parity of an open row is too.
        op.source() == Source::Rebuild && self.dies_per_pool == 1
            || progress.erases == detail.erase_count
                && self.geometry.page_index(op.first()) < progress.programmed
    }

    fn start_read(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let (class, place) = (head.class, head.place);
        if head.op.count() == 1 && !self.is_programmed(head.op, head.detail) {
            let queued = self.take(index, class, place);
            let die = &mut self.dies[index as usize];
            die.choice = die.choice + Ns(head.detail.choice_ns.into());
            self.tally.memory_reads += 1;
            self.tell_unserved(index, &queued, now);
            return;
        }
        if let Some(suspended) = &mut self.dies[index as usize].suspended {
            suspended.reads += 1;
        }
        let mut transaction = self.transaction(index, head, now);
        let plane = head.plane;
        if head.op.count() > 1 {
            self.take_collected(index, head, &mut transaction);
        } else {
            let queued = self.take(index, class, place);
            transaction.ops.push(queued);
            let geometry = self.geometry;
            let is_whole = plane.is_none();
            let slots_max =
                if is_whole { geometry.units_per_row() } else { geometry.units_per_page };
            while transaction.slots < slots_max {
                let queue = &self.dies[index as usize].queues[class as usize];
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
                    && self.geometry.block_of(next.first()).0 == transaction.block
                    && row(next) == row(head.op)
                    && self.is_programmed(next, detail)
                    && matches!(self.mechanisms.order, Order::PerDie | Order::Priority { .. });
                if !joins {
                    break;
                }
                let queued = self.take(index, class, place);
                transaction.slots += 1;
                transaction.rereads.begins_at_step |= detail.begins_at_step;
                transaction.rereads.retries =
                    transaction.rereads.retries.max(u32::from(detail.retries));
                transaction.rereads.soft_reads =
                    transaction.rereads.soft_reads.max(u32::from(detail.soft_reads));
                transaction.rereads.failed_ns = transaction.rereads.failed_ns.max(detail.failed_ns);
                // Planes are sensed together, but each transfers what it needs.
                transaction.rereads.crossings +=
                    u32::from(detail.retries) + u32::from(detail.soft_reads);
                transaction.ops.push(queued);
            }
        }
        self.tally.multi_plane_ops += u64::from(self.is_multi_plane(&transaction));
        self.tally.retry_steps += u64::from(transaction.rereads.retries);
        if self.work.is_some() {
            self.note_read(&transaction, head.op, head.detail);
        }
        match plane {
            None => self.start_array_command(engine, index, transaction),
            Some(plane) => self.start_plane_command(engine, [index, plane.into()], transaction),
        }
    }

    /// Whether a read senses pages of several planes: reads that joined name theirs.
    fn is_multi_plane(&self, read: &Transaction) -> bool {
        let page = |queued: &Queued| {
            self.geometry.physical_index(self.geometry.page_index(queued.op.first()))
        };
        let joined = read.ops.windows(2).any(|pair| page(&pair[0]) != page(&pair[1]));
        joined || read.slots > self.geometry.units_per_page
    }

    /// One array read of a run of collected pages.
    fn take_collected(&mut self, index: u32, head: Head, transaction: &mut Transaction) {
        let Head { class, place, op, .. } = head;
        // Pages of a run are spread evenly over its array reads.
        transaction.slots = op.count().div_ceil(op.sense_count().max(1));
        if transaction.slots >= op.count() {
            let queued = self.take(index, class, place);
            transaction.ops.push(queued);
            return;
        }
        let die = &mut self.dies[index as usize];
        let rest = &mut die.queues[class as usize][place as usize];
        rest.op = op
            .run_of(op.first(), op.count() - transaction.slots)
            .sensed_in(op.sense_count() - 1)
            .of_type(op.page_type().wrapping_add(1));
        // Retries too, so that what the host asks meanwhile waits for those of one read at most.
        let (first, left) = head.detail.of_first_sense(op.sense_count());
        transaction.rereads = Rereads::of(first);
        rest.detail = Detail { pages: left.pages - pages_of_sense(op, head.detail), ..left };
        die.waiting -= transaction.slots;
        self.pending -= u64::from(transaction.slots);
    }

    fn start_program(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let (class, is_slc) = (head.class, head.op.is_slc());
        let block = self.geometry.block_of(head.op.first()).0;
        let first = self.geometry.page_index(head.op.first());
        let limit = self.geometry.pages_per_block;
        let (unit_first, unit_limit) = if self.units.stages(is_slc) {
            self.units.span(first, is_slc)
        } else {
            // A row of planes, as far as pages are at hand.
            let planes = self.geometry.plane_count;
            (first, ((first / planes + 1) * planes).min(limit))
        };
        let mut ops = std::mem::take(&mut self.taken);
        let mut at = first;
        loop {
            at += self.take_pages(index, class, unit_limit - at, &mut ops);
            if at == unit_limit || !self.goes_on(index, class, block, at, is_slc) {
                break;
            }
        }
        if self.units.stages(is_slc) && at < unit_limit {
            // The unit is not complete: its slots wait in the controller's memory.
            self.note_begun(index, head.op.source(), now);
            self.blocks[block as usize].pending -= at - first;
            ops.drain(..).for_each(|queued| self.stage(index, queued, now));
            self.taken = ops;
            return;
        }
        let mut transaction = self.transaction(index, head, now);
        transaction.settled = at - first;
        if self.units.stages(is_slc) {
            self.tell_in_memory(index, &mut ops, now);
        }
        transaction.of_runs = transaction.settled - pages_in(&ops);
        self.taken = std::mem::replace(&mut transaction.ops, ops);
        // What earlier programs have put on the page stays there.
        let unit_first = if self.units.programs_parts() {
            std::mem::replace(&mut self.blocks[block as usize].sent, at).max(unit_first)
        } else {
            unit_first
        };
        self.send_program(engine, index, transaction, unit_first, at);
    }

    /// Programs what waits in memory for the rest of its page, and leaves room for that.
    #[cold]
    fn program_part(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let at = self.geometry.page_index(head.op.first());
        let mut transaction = self.transaction(index, head, now);
        let queued = self.pop(index, head.class);
        let progress = &mut self.blocks[transaction.block as usize];
        let first = std::mem::replace(&mut progress.sent, at);
        transaction.settled = queued.op.count();
        transaction.ops.push(queued);
        self.send_program(engine, index, transaction, first, at);
    }

    /// Sends the data of the pages of a block from one index to another to its die.
    fn send_program(
        &mut self,
        engine: &mut Engine,
        index: u32,
        mut transaction: Box<Transaction>,
        unit_first: u32,
        at: u32,
    ) {
        self.unstage(index, &mut transaction);
        transaction.slots = at - unit_first;
        transaction.programmed_limit = at;
        let crossings = self.times.transfer_count(transaction.is_slc);
        let time =
            Ns(self.times.slot.0 * u64::from(transaction.slots) * crossings + self.times.command.0);
        let physical =
            self.geometry.physical_index(at - 1) - self.geometry.physical_index(unit_first);
        self.tally.multi_plane_ops += u64::from(physical > 0 && self.geometry.plane_count > 1);
        if let Some(work) = &mut self.work {
            work.crossings += u64::from(transaction.slots) * crossings;
        }
        let source = transaction.source;
        self.dies[index as usize].input = Some(transaction);
        self.ask_channel(engine, index, (Use::In, source), time);
    }

    /// Takes up to `most` pages from the program at the head of a queue; an operation all of which
    /// is taken is put into `ops`.
    fn take_pages(&mut self, index: u32, class: Class, most: u32, ops: &mut Vec<Queued>) -> u32 {
        let die = &mut self.dies[index as usize];
        let head = die.queues[class as usize].front_mut().expect("the queue has a head");
        let op = head.op;
        let taken = op.count().min(most);
        if let Some(work) = &mut self.work {
            let slot = &mut work.programmed[usize::from(op.is_slc())][op.source() as usize];
            *slot += u64::from(taken);
        }
        if taken == op.count() {
            let queued = self.pop(index, class);
            ops.push(queued);
            return taken;
        }
        let first = Ppn(op.first().0 + taken);
        let row = |page| self.geometry.row_of(self.geometry.page_index(page));
        let rows = row(first) - row(op.first());
        let page_type = op.page_type().wrapping_add(rows as u8);
        head.op = op.run_of(first, op.count() - taken).of_type(page_type);
        die.waiting -= taken;
        taken
    }

    /// Whether the next program of a queue goes on where the last page ended.
    fn goes_on(&self, index: u32, class: Class, block: u32, at: u32, is_slc: bool) -> bool {
        let queue = &self.dies[index as usize].queues[class as usize];
        let in_turn = match self.mechanisms.order {
            Order::WholeDrive => self.arrivals.front() == Some(&index),
            Order::PerDie | Order::Priority { .. } => true,
        };
        in_turn
            && queue.front().is_some_and(|queued| {
                queued.op.kind() == OpKind::Program
                    && !queued.op.programs_part()
                    && queued.op.is_slc() == is_slc
                    && self.geometry.block_of(queued.op.first()).0 == block
                    && self.geometry.page_index(queued.op.first()) == at
            })
    }

    /// Erases and copybacks: no data crosses the bus.
    fn start_inside(&mut self, engine: &mut Engine, index: u32, head: Head) {
        let now = engine.now();
        let class = head.class;
        let mut transaction = self.transaction(index, head, now);
        if head.op.kind() == OpKind::Erase {
            self.blocks[transaction.block as usize].sent = 0;
            let queued = self.pop(index, class);
            transaction.ops.push(queued);
        } else {
            let first = self.geometry.page_index(head.op.first());
            let planes = self.geometry.plane_count;
            let row_limit = (first / planes + 1) * planes;
            let taken = self.take_pages(index, class, row_limit - first, &mut transaction.ops);
            transaction.settled = taken;
            transaction.of_runs = taken - pages_in(&transaction.ops);
            transaction.programmed_limit = first + taken;
            self.tally.copybacks += u64::from(taken);
            self.tally.multi_plane_ops += u64::from(taken > 1);
        }
        if self.work.is_some() {
            self.note_inside(&transaction);
        }
        self.start_array_command(engine, index, transaction);
    }
}
