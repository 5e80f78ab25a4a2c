//! Counts and records of the full back end's work, which they do not change.
//!
//! Where energy is asked for, operations of the dies are counted: reads when they are started, with
//! their retries; programs when they are taken from their queue, page by page, since a program
//! unit may have pages of several reasons.

use std::ops::Range;

use super::bus::Request;
use super::design::Design;
use super::die::Transaction;
use crate::controller::timeline::{Lane, Operation, Timeline};
use crate::controller::{Detail, FlashOp, OpKind, Work};
use crate::geometry::Geometry;
use crate::op::Source;
use crate::units::{BlockId, Ns, Ppn};

/// Planes of a die, at most.
const PLANES_MAX: usize = 64;

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

/// See the module.
#[derive(Default)]
pub struct Watch {
    /// Keeps account of what every operation waits for.
    pub is_observed: bool,
    /// Spans of activity, when asked for.
    pub timeline: Option<Box<Timeline>>,
    /// Counts of the run up to now.
    pub tally: FullTally,
    /// What the dies have done, where energy is asked for.
    pub work: Option<Box<Work>>,
}

/// Pages of the flash in the next sense of a run of collected reads, which are spread evenly over
/// its senses.
pub(super) fn pages_of_sense(op: FlashOp, detail: Detail) -> u16 {
    detail.pages.div_ceil(op.sense_count().max(1) as u16)
}

impl Watch {
    /// An operation is begun, for this reason.
    #[inline]
    pub(super) fn note_begun(&mut self, die: u32, source: Source, now: Ns) {
        if let Some(timeline) = &mut self.timeline {
            timeline.collects(die, source, now);
        }
    }

    /// Data of a transaction, or its command, has crossed a channel.
    #[inline]
    pub(super) fn note_transfer(
        &mut self,
        geometry: &Geometry,
        (channel, done): (u32, Request),
        transaction: &mut Transaction,
        now: Ns,
    ) {
        let spent = &mut transaction.spent;
        spent.bus_wait = spent.bus_wait + (done.started - done.asked);
        spent.bus_time = spent.bus_time + done.time;
        if let Some(timeline) = &mut self.timeline {
            let place = (Lane::Channel(channel), done.die);
            record(timeline, geometry, place, transaction, [done.started, now]);
        }
    }

    /// Pages of a program are taken from its queue.
    #[inline]
    pub(super) fn note_programmed(&mut self, op: FlashOp, pages: u32) {
        if let Some(work) = &mut self.work {
            let slot = &mut work.programmed[usize::from(op.is_slc())][op.source() as usize];
            *slot += u64::from(pages);
        }
    }

    /// A read starts, as (part of) an operation as it stood in its queue.
    #[inline]
    pub(super) fn note_read(
        &mut self,
        design: &Design,
        read: &Transaction,
        (op, detail): (FlashOp, Detail),
    ) {
        self.tally.multi_plane_ops += u64::from(design.is_multi_plane(read));
        self.tally.retry_steps += u64::from(read.rereads.retries);
        let Some(work) = &mut self.work else { return };
        let pages = if op.count() > 1 {
            let rereads = read.rereads.retries + read.rereads.soft_reads;
            u64::from(pages_of_sense(op, detail)) + u64::from(rereads)
        } else {
            pages_of_joined(design, read)
        };
        work.sensed[usize::from(read.is_slc)][read.source as usize] += pages;
        work.crossings += u64::from(read.slots + read.rereads.crossings);
    }

    /// An erase or a copyback starts.
    pub(super) fn note_inside(&mut self, design: &Design, transaction: &Transaction) {
        let Some(work) = &mut self.work else { return };
        let source = transaction.source as usize;
        if transaction.kind == OpKind::Erase {
            work.erased[source] += u64::from(design.geometry.plane_count);
        } else {
            let pages = u64::from(transaction.settled);
            work.sensed[usize::from(transaction.is_slc)][source] += pages;
        }
    }
}

/// Map units of the flash that a transaction programs.
fn programmed_pages(geometry: &Geometry, transaction: &Transaction) -> Range<Ppn> {
    let limit = geometry.first_page(BlockId(transaction.block)).0 + transaction.programmed_limit;
    Ppn(limit - transaction.slots)..Ppn(limit)
}

/// The data of a program is on the flash.
#[cold]
pub(super) fn record_programmed(
    timeline: &mut Timeline,
    geometry: &Geometry,
    transaction: &Transaction,
) {
    timeline.programmed(programmed_pages(geometry, transaction));
}

/// A transaction of a die used a lane from a time to another.
#[cold]
pub(super) fn record(
    timeline: &mut Timeline,
    geometry: &Geometry,
    (lane, die): (Lane, u32),
    transaction: &Transaction,
    times: [Ns; 2],
) {
    // Operations that wait for room in the buffer have an epoch in the place of a command.
    let waiting = transaction.ops.iter().filter(|it| !it.op.frees_buffer());
    let mut commands: Vec<u64> =
        waiting.filter_map(|it| timeline.number_in(it.op.command())).collect();
    let first = match (transaction.kind, transaction.ops.first()) {
        (OpKind::Program, _) => {
            let pages = programmed_pages(geometry, transaction);
            commands.extend(timeline.writers_of(pages.clone()));
            Some(geometry.page_index(pages.start))
        }
        // Of a run of collected pages any page is named.
        (OpKind::Read, Some(read)) if read.op.count() == 1 => {
            Some(geometry.page_index(read.op.first()))
        }
        _ => None,
    };
    commands.sort_unstable();
    commands.dedup();
    let operation = Operation {
        id: (die, transaction.spent.started, transaction.block, first),
        page: first.map(|index| geometry.physical_index(index)),
        commands,
    };
    timeline.operation(lane, transaction.name(), times, operation);
}

/// Pages that reads sense together, once and again as often as one of their units needs.
fn pages_of_joined(design: &Design, read: &Transaction) -> u64 {
    if let [only] = read.ops.as_slice() {
        return only.detail.senses();
    }
    let mut senses = [0; PLANES_MAX];
    for queued in &read.ops {
        let page = design.geometry.physical_index(design.index_of(queued.op));
        let plane = &mut senses[(page % design.geometry.plane_count) as usize];
        *plane = queued.detail.senses().max(*plane);
    }
    senses.iter().sum()
}
