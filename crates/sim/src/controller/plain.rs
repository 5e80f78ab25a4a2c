//! The plain back end: dies and channels as servers with queues.
//!
//! ```text
//! read     die: sense tR ──► channel: transfer x ──► done    held until its transfer ends
//! program  channel: transfer x ──► die: tPROG ──► done       held while it waits for the channel
//! erase    die: tBERS ──► done
//! ```
//! Each die serves its operations in order, one at a time; a channel serves waiting dies in order.
//! A die that has its channel to itself never waits for it, so a whole run of operations is one
//! event. Pages that wait for their program, or are in it, are in the controller's memory, from
//! where reads are served ([`Plain::serves`]).
//!
//! The mechanisms that are left out here are in `full`.

use std::collections::VecDeque;

use super::cut::Cut;
use super::{FlashOp, OpKind};
use crate::engine::Engine;
use crate::geometry::Geometry;
use crate::nand::Timing;
use crate::op::{Source, SOURCE_COUNT};
use crate::units::{BlockId, DieId, Ns, Ppn};

/// Bits of an event code that name the die.
const DIE_BITS: u32 = 21;
/// Event: a page is in the register and wants the channel.
const SENSED: u32 = 0;
/// Event: the transfer has ended.
const TRANSFERRED: u32 = 1;
/// Event: the operation has ended.
const DONE: u32 = 2;
/// Event codes from here on belong to the host.
pub const HOST_EVENT: u32 = 3 << DIE_BITS;

#[derive(Default)]
struct Die {
    queue: VecDeque<FlashOp>,
    current: Option<FlashOp>,
    /// When that began.
    since: Ns,
    /// Pages and blocks of both: what allocation by load asks for each page.
    load: u32,
    channel: u32,
    /// Whether its channel has no other die.
    has_own_channel: bool,
}

impl Die {
    /// The running operation with its current page: the entry of a run that shares its channel
    /// holds the page with which it began. The run ends where the next operation of its block
    /// begins, or after the pages that were written to the block.
    fn in_place(
        &self,
        geometry: &Geometry,
        op: FlashOp,
        written: impl Fn(BlockId) -> u32,
    ) -> FlashOp {
        let is_program = matches!(op.kind(), OpKind::Program | OpKind::Copyback);
        if self.has_own_channel || !is_program {
            return op;
        }
        let block = geometry.block_of(op.first());
        let is_of_block =
            |it: &&FlashOp| it.kind() != OpKind::Read && geometry.block_of(it.first()) == block;
        let end = match self.queue.iter().find(is_of_block) {
            Some(next) if next.kind() == OpKind::Erase => geometry.pages_per_block,
            Some(next) => geometry.page_index(next.first()),
            None => written(block),
        };
        op.run_of(Ppn(geometry.first_page(block).0 + end - op.count()), op.count())
    }
}

#[derive(Default)]
struct Channel {
    is_busy: bool,
    waiting: VecDeque<u32>,
}

/// Pages of a block that wait for their program, or are in it: the last ones that were queued,
/// since pages of a block are queued and programmed in order.
#[derive(Clone, Copy, Default)]
struct Unprogrammed {
    count: u32,
    end: Ppn,
}

impl Unprogrammed {
    #[inline]
    fn holds(self, page: Ppn) -> bool {
        page.0 < self.end.0 && self.end.0 - page.0 <= self.count
    }
}

/// Dies and channels of a drive.
pub struct Plain {
    timing: Timing,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    queued: u64,
    geometry: Geometry,
    /// Of each block.
    unprogrammed: Vec<Unprogrammed>,
    /// Reads that the controller's memory served, by source.
    memory_reads: [u64; SOURCE_COUNT],
}

impl Plain {
    /// All dies and channels idle.
    pub fn new(geometry: Geometry, timing: Timing) -> Self {
        let has_own_channel = geometry.die_count <= geometry.channel_count;
        let die = |index| Die {
            channel: index % geometry.channel_count,
            has_own_channel,
            ..Die::default()
        };
        Self {
            timing,
            dies: (0..geometry.die_count).map(die).collect(),
            channels: (0..geometry.channel_count).map(|_| Channel::default()).collect(),
            queued: 0,
            geometry,
            unprogrammed: vec![Unprogrammed::default(); geometry.block_count() as usize],
            memory_reads: [0; SOURCE_COUNT],
        }
    }

    /// Number of program times.
    pub fn page_types(&self) -> u32 {
        self.timing.program.len() as u32
    }

    /// Number of operations that are queued or running.
    pub fn pending(&self) -> u64 {
        self.queued
    }

    /// Operations that wait on a die.
    pub fn load(&self, die: DieId) -> u32 {
        self.dies[die.0 as usize].load
    }

    /// Puts an operation at the end of a die's queue.
    #[inline(always)]
    #[allow(clippy::inline_always)] // the sink of a timed run queues a page in registers
    pub fn enqueue(&mut self, engine: &mut Engine, die: DieId, op: FlashOp) {
        self.queued += u64::from(op.count());
        let state = &mut self.dies[die.0 as usize];
        state.load += op.count();
        if op.kind() == OpKind::Program {
            let pages = &mut self.unprogrammed[self.geometry.block_of(op.first()).0 as usize];
            pages.count += op.count();
            pages.end = Ppn(op.first().0 + op.count());
        }
        if state.current.is_none() {
            self.start(engine, die.0, op);
        } else {
            state.queue.push_back(op);
        }
    }

    /// Whether a page that is read is in the controller's memory: its program is not over.
    #[inline]
    pub fn serves(&mut self, page: Ppn, source: Source, now: Ns) -> bool {
        let block = self.geometry.block_of(page);
        let serves =
            self.unprogrammed[block.0 as usize].holds(page) && !self.is_behind(block, page, now);
        self.memory_reads[source as usize] += u64::from(serves);
        serves
    }

    /// Reads that the controller's memory served, by source.
    pub fn memory_reads(&self) -> [u64; SOURCE_COUNT] {
        self.memory_reads
    }

    /// Whether a run that has its channel to itself, and ends as one, has got beyond a page of it.
    fn is_behind(&self, block: BlockId, page: Ppn, now: Ns) -> bool {
        let die = &self.dies[self.geometry.die_of_block(block).0 as usize];
        let is_run = |op: &FlashOp| die.has_own_channel && op.kind() == OpKind::Program;
        let Some(run) = die.current.filter(is_run) else { return false };
        let place = page.0.wrapping_sub(run.first().0);
        // The last page is when the event of the run comes.
        place < run.count() - 1
            && die.since + self.run_time(run.run_of(run.first(), place + 1)) <= now
    }

    /// Handles one event of the back end; returns the operation that it completed, if it did.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as `TimedStage::step`
    pub fn handle(&mut self, engine: &mut Engine, code: u32) -> Option<FlashOp> {
        let die = code & ((1 << DIE_BITS) - 1);
        match code >> DIE_BITS {
            SENSED => {
                self.request_channel(engine, die);
                None
            }
            TRANSFERRED => {
                self.release_channel(engine, die);
                let op =
                    self.dies[die as usize].current.expect("a transfer belongs to an operation");
                if op.kind() == OpKind::Read {
                    self.finish(engine, die)
                } else {
                    let program = self.timing.program[usize::from(op.page_type())];
                    engine.schedule(program, event(DONE, die));
                    None
                }
            }
            _ => self.finish(engine, die),
        }
    }

    /// What the dies are busy with.
    pub fn under_way(&self) -> impl Iterator<Item = FlashOp> + '_ {
        self.dies.iter().filter_map(|die| die.current)
    }

    /// Reports the indices of the pages that are programmed now; `written` as in [`Plain::cut`].
    pub fn programs_under_way(
        &self,
        geometry: &Geometry,
        written: impl Fn(BlockId) -> u32,
        note: &mut impl FnMut(u32),
    ) {
        for die in &self.dies {
            let is_program = |op: &FlashOp| matches!(op.kind(), OpKind::Program | OpKind::Copyback);
            if let Some(op) = die.current.filter(is_program) {
                note(geometry.page_index(die.in_place(geometry, op, &written).first()));
            }
        }
    }

    /// The progress of the flash in each block when the power fails, and the running operations;
    /// `events` are those to come, `written` gives the number of pages of a block that were
    /// ordered.
    #[cold]
    #[inline(never)]
    pub fn cut(
        &self,
        geometry: &Geometry,
        events: &[(Ns, u32)],
        now: Ns,
        written: impl Fn(BlockId) -> u32,
    ) -> Cut {
        let mut cut = Cut::new(geometry);
        for (index, die) in (0..).zip(&self.dies) {
            if let Some(op) = die.current {
                let op = die.in_place(geometry, op, &written);
                let ends = events.iter().find(|&&(_, code)| code == event(DONE, index));
                match ends {
                    Some(&(at, _)) => self.interrupt(&mut cut, geometry, op, at - now),
                    None => cut.wait(geometry, op),
                }
            }
            die.queue.iter().for_each(|&op| cut.wait(geometry, op));
        }
        cut
    }

    /// An operation that would have ended after `left`.
    fn interrupt(&self, cut: &mut Cut, geometry: &Geometry, op: FlashOp, left: Ns) {
        let die = &self.dies[geometry.die_of_block(geometry.block_of(op.first())).0 as usize];
        if op.kind() == OpKind::Erase {
            return cut.interrupt(geometry, op, left, self.timing.erase);
        }
        if op.kind() == OpKind::Read {
            return;
        }
        // A run that has its channel to itself is one event: its pages follow each other.
        let mut rest = op;
        let mut behind = if die.has_own_channel { self.run_time(op).0 } else { u64::MAX };
        loop {
            let time =
                self.timing.program[usize::from(rest.page_type()) % self.timing.program.len()];
            let after = behind.saturating_sub(time.0 + self.timing.transfer.0);
            if !die.has_own_channel || left.0 > after || rest.count() == 1 {
                let behind = if die.has_own_channel { after.min(left.0) } else { 0 };
                return cut.interrupt(geometry, rest, Ns(left.0 - behind), time);
            }
            behind = after;
            let next_type = (u32::from(rest.page_type()) + 1) % self.page_types();
            let first = Ppn(rest.first().0 + 1);
            rest = rest.run_of(first, rest.count() - 1).of_type(next_type as u8);
        }
    }

    #[inline]
    fn start(&mut self, engine: &mut Engine, die: u32, op: FlashOp) {
        let state = &mut self.dies[die as usize];
        state.current = Some(op);
        state.since = engine.now();
        if state.has_own_channel {
            engine.schedule(self.run_time(op), event(DONE, die));
        } else {
            self.start_one(engine, die, op);
        }
    }

    /// Time of a run that never waits for its channel.
    #[inline]
    fn run_time(&self, op: FlashOp) -> Ns {
        let timing = &self.timing;
        let count = u64::from(op.count());
        match op.kind() {
            OpKind::Erase => Ns(count * timing.erase.0),
            OpKind::Read => in_turn(&timing.read, op) + Ns(count * timing.transfer.0),
            OpKind::Program | OpKind::Copyback => {
                in_turn(&timing.program, op) + Ns(count * timing.transfer.0)
            }
        }
    }

    #[inline]
    fn start_one(&mut self, engine: &mut Engine, die: u32, op: FlashOp) {
        match op.kind() {
            OpKind::Read => {
                let sense = self.timing.read[usize::from(op.page_type())];
                engine.schedule(sense, event(SENSED, die));
            }
            OpKind::Program | OpKind::Copyback => self.request_channel(engine, die),
            OpKind::Erase => engine.schedule(self.timing.erase, event(DONE, die)),
        }
    }

    /// One operation has ended, or a whole run on a private channel; returns the entry that was
    /// completed.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a call for each operation costs 2 % of a timed run
    fn finish(&mut self, engine: &mut Engine, die: u32) -> Option<FlashOp> {
        let page_types = self.page_types();
        let state = &mut self.dies[die as usize];
        let done = state.current.expect("an event belongs to an operation");
        if done.kind() == OpKind::Program {
            let count = if state.has_own_channel { done.count() } else { 1 };
            self.unprogrammed[self.geometry.block_of(done.first()).0 as usize].count -= count;
        }
        if !state.has_own_channel && done.count() > 1 {
            let next_type = u32::from(done.page_type()) + 1;
            let next_type = if next_type == page_types { 0 } else { next_type };
            let rest = done.run_of(done.first(), done.count() - 1).of_type(next_type as u8);
            self.queued -= 1;
            state.current = Some(rest);
            state.load -= 1;
            self.start_one(engine, die, rest);
            return None;
        }
        self.queued -= u64::from(done.count());
        state.current = None;
        state.load -= done.count();
        if let Some(next) = state.queue.pop_front() {
            self.start(engine, die, next);
        }
        Some(done)
    }

    #[inline]
    fn request_channel(&mut self, engine: &mut Engine, die: u32) {
        let channel = &mut self.channels[self.dies[die as usize].channel as usize];
        if channel.is_busy {
            channel.waiting.push_back(die);
        } else {
            channel.is_busy = true;
            engine.schedule(self.timing.transfer, event(TRANSFERRED, die));
        }
    }

    #[inline]
    fn release_channel(&mut self, engine: &mut Engine, die: u32) {
        let channel = &mut self.channels[self.dies[die as usize].channel as usize];
        match channel.waiting.pop_front() {
            Some(next) => engine.schedule(self.timing.transfer, event(TRANSFERRED, next)),
            None => channel.is_busy = false,
        }
    }
}

#[inline]
fn event(kind: u32, die: u32) -> u32 {
    kind << DIE_BITS | die
}

/// Time of a run whose pages take the page types in turn: whole turns, then the rest of one.
#[inline]
fn in_turn(times: &[Ns], op: FlashOp) -> Ns {
    let count = op.count() as usize;
    if let [time] = times {
        return Ns(count as u64 * time.0);
    }
    if count == 1 {
        return times[usize::from(op.page_type()) % times.len()];
    }
    let turn: u64 = times.iter().map(|time| time.0).sum();
    let rest = (0..count % times.len())
        .map(|step| times[(usize::from(op.page_type()) + step) % times.len()].0);
    Ns((count / times.len()) as u64 * turn + rest.sum::<u64>())
}
