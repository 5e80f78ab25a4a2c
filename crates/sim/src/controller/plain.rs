//! The plain back end: dies and channels as servers with queues.
//!
//! ```text
//! read     die: sense tR ──► channel: transfer x ──► done    held until its transfer ends
//! program  channel: transfer x ──► die: tPROG ──► done       held while it waits for the channel
//! erase    die: tBERS ──► done
//! ```
//! Each die serves its operations in order, one at a time; a channel serves waiting dies in order.
//! A die that has its channel to itself never waits for it, so a whole run of operations is one
//! event.
//!
//! What it leaves out, `full` has.

use std::collections::VecDeque;

use super::{FlashOp, OpKind};
use crate::engine::Engine;
use crate::geometry::Geometry;
use crate::nand::Timing;
use crate::units::{DieId, Ns};

/// Bits of an event code that name the die.
const DIE_BITS: u32 = 21;
/// Event: a page is in the register and wants the channel.
const SENSED: u32 = 0;
/// Event: the transfer is over.
const TRANSFERRED: u32 = 1;
/// Event: the operation is over.
const DONE: u32 = 2;
/// Event codes from here on belong to the host.
pub const HOST_EVENT: u32 = 3 << DIE_BITS;

#[derive(Default)]
struct Die {
    queue: VecDeque<FlashOp>,
    current: Option<FlashOp>,
}

struct Channel {
    is_busy: bool,
    waiting: VecDeque<u32>,
    /// Whether it has one die only.
    is_private: bool,
}

/// Dies and channels of a drive.
pub struct Plain {
    geometry: Geometry,
    timing: Timing,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    queued: u64,
}

impl Plain {
    /// All dies and channels idle.
    pub fn new(geometry: Geometry, timing: Timing) -> Self {
        let is_private = geometry.die_count <= geometry.channel_count;
        let channel = |_| Channel { is_busy: false, waiting: VecDeque::new(), is_private };
        Self {
            geometry,
            timing,
            dies: (0..geometry.die_count).map(|_| Die::default()).collect(),
            channels: (0..geometry.channel_count).map(channel).collect(),
            queued: 0,
        }
    }

    /// Number of program times.
    pub fn page_types(&self) -> u32 {
        self.timing.program.len() as u32
    }

    /// Operations that are queued or under way.
    pub fn pending(&self) -> u64 {
        self.queued
    }

    /// Operations that wait on a die.
    pub fn load(&self, die: DieId) -> u32 {
        let die = &self.dies[die.0 as usize];
        let current = die.current.iter().map(|op| op.count).sum::<u32>();
        current + die.queue.iter().map(|op| op.count).sum::<u32>()
    }

    /// Puts an operation at the end of a die's queue.
    #[inline]
    pub fn enqueue(&mut self, engine: &mut Engine, die: DieId, op: FlashOp) {
        self.queued += u64::from(op.count);
        if self.dies[die.0 as usize].current.is_none() {
            self.start(engine, die.0, op);
        } else {
            self.dies[die.0 as usize].queue.push_back(op);
        }
    }

    /// Handles one event of the back end; returns the operation that it completed, if it did.
    #[inline]
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
                if op.kind == OpKind::Read {
                    self.finish(engine, die)
                } else {
                    let program = self.timing.program[usize::from(op.page_type)];
                    engine.schedule(program, event(DONE, die));
                    None
                }
            }
            _ => self.finish(engine, die),
        }
    }

    #[inline]
    fn start(&mut self, engine: &mut Engine, die: u32, op: FlashOp) {
        self.dies[die as usize].current = Some(op);
        if self.channels[(die % self.geometry.channel_count) as usize].is_private {
            engine.schedule(self.run_time(&op), event(DONE, die));
        } else {
            self.start_one(engine, die, &op);
        }
    }

    /// Time of a run that never waits for its channel.
    #[inline]
    fn run_time(&self, op: &FlashOp) -> Ns {
        let timing = &self.timing;
        let count = u64::from(op.count);
        match op.kind {
            OpKind::Erase => Ns(count * timing.erase.0),
            OpKind::Read => in_turn(&timing.read, op) + Ns(count * timing.transfer.0),
            OpKind::Program | OpKind::Copyback => {
                in_turn(&timing.program, op) + Ns(count * timing.transfer.0)
            }
        }
    }

    #[inline]
    fn start_one(&mut self, engine: &mut Engine, die: u32, op: &FlashOp) {
        match op.kind {
            OpKind::Read => {
                let sense = self.timing.read[usize::from(op.page_type)];
                engine.schedule(sense, event(SENSED, die));
            }
            OpKind::Program | OpKind::Copyback => self.request_channel(engine, die),
            OpKind::Erase => engine.schedule(self.timing.erase, event(DONE, die)),
        }
    }

    /// One operation is over, or a whole run on a private channel; returns the entry that was
    /// completed.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a call for each operation costs 2 % of a timed run
    fn finish(&mut self, engine: &mut Engine, die: u32) -> Option<FlashOp> {
        let is_private = self.channels[(die % self.geometry.channel_count) as usize].is_private;
        let page_types = self.page_types();
        let state = &mut self.dies[die as usize];
        let current = state.current.as_mut().expect("an event belongs to an operation");
        if !is_private && current.count > 1 {
            current.count -= 1;
            current.page_type = ((u32::from(current.page_type) + 1) % page_types) as u8;
            self.queued -= 1;
            let op = *current;
            self.start_one(engine, die, &op);
            return None;
        }
        let done = *current;
        self.queued -= u64::from(done.count);
        state.current = None;
        if let Some(next) = state.queue.pop_front() {
            self.start(engine, die, next);
        }
        Some(done)
    }

    #[inline]
    fn request_channel(&mut self, engine: &mut Engine, die: u32) {
        let channel = &mut self.channels[(die % self.geometry.channel_count) as usize];
        if channel.is_busy {
            channel.waiting.push_back(die);
        } else {
            channel.is_busy = true;
            engine.schedule(self.timing.transfer, event(TRANSFERRED, die));
        }
    }

    #[inline]
    fn release_channel(&mut self, engine: &mut Engine, die: u32) {
        let channel = &mut self.channels[(die % self.geometry.channel_count) as usize];
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
fn in_turn(times: &[Ns], op: &FlashOp) -> Ns {
    if let [time] = times {
        return Ns(u64::from(op.count) * time.0);
    }
    let turn: u64 = times.iter().map(|time| time.0).sum();
    let rest = (0..op.count as usize % times.len())
        .map(|step| times[(usize::from(op.page_type) + step) % times.len()].0);
    Ns(u64::from(op.count) / times.len() as u64 * turn + rest.sum::<u64>())
}
