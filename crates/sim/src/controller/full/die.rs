//! One die: what its array does, what its register holds, who waits.
//!
//! ```text
//!  queues by class ──► array (sense, program, erase) ──► output register ──► bus
//!                 └──► bus ──► input register ──► array
//! ```
//! Without cache commands only one of array, input and output is in use at a time; with them the
//! next operation may use the array while data crosses the bus. Planes that read by themselves have
//! an array and an output register each; see `planes`.

use std::collections::VecDeque;

use crate::controller::breakdown::{Part, Parts};
use crate::controller::{Detail, FlashOp, OpKind};
use crate::op::Source;
use crate::units::Ns;

/// Queues of a die, in falling priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    #[default]
    HostRead = 0,
    HostWrite = 1,
    Collect = 2,
}

pub(super) const CLASS_COUNT: usize = 3;

/// Whom a die works for, as those who wait see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cause {
    Idle = 0,
    Host = 1,
    Moves = 2,
    Erase = 3,
}

/// Busy time by [`Cause`].
pub(super) type BusyTimes = [u64; 4];

/// An operation that waits.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) op: FlashOp,
    pub(super) detail: Detail,
    pub(super) since: Ns,
    /// The plane that carries it out independently, if one does.
    pub(super) plane: Option<u8>,
    /// The die's busy times when it came, when observed.
    pub(super) busy: Option<Box<BusyTimes>>,
}

/// An operation on the array of a die: one command of the flash, over one or more planes.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) kind: OpKind,
    pub(super) source: Source,
    pub(super) block: u32,
    pub(super) is_slc: bool,
    pub(super) page_type: u8,
    pub(super) cycles: u32,
    pub(super) rereads: Rereads,
    /// Slots that cross the bus.
    pub(super) slots: u32,
    /// Page index after the last one programmed.
    pub(super) programmed_limit: u32,
    /// Programs of the block that this one settles.
    pub(super) settled: u32,
    /// Pages of runs that continue after it: of operations that it does not complete.
    pub(super) of_runs: u32,
    /// Operations that are done with it.
    pub(super) ops: Vec<Queued>,
    pub(super) is_sensed: bool,
    pub(super) suspend_count: u32,
    /// Time for choosing a victim before the array begins.
    pub(super) choice: Ns,
    pub(super) spent: Spent,
}

/// What a read needs beyond its first sense.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rereads {
    pub(super) begins_at_step: bool,
    pub(super) retries: u32,
    pub(super) soft_reads: u32,
    /// Time of decodings that failed, in nanoseconds; of pages sensed together, the longest.
    pub(super) failed_ns: u32,
    /// Transfers after the first of each page.
    pub(super) crossings: u32,
}

impl Rereads {
    #[inline]
    pub(super) fn of(detail: Detail) -> Self {
        let Detail { begins_at_step, failed_ns, .. } = detail;
        let (retries, soft_reads) = (u32::from(detail.retries), u32::from(detail.soft_reads));
        Self { begins_at_step, retries, soft_reads, failed_ns, crossings: retries + soft_reads }
    }

    /// A read that needs `detail` joins. Planes are sensed together, but each transfers separately.
    #[inline]
    pub(super) fn join(&mut self, detail: Detail) {
        let other = Self::of(detail);
        self.begins_at_step |= other.begins_at_step;
        self.retries = self.retries.max(other.retries);
        self.soft_reads = self.soft_reads.max(other.soft_reads);
        self.failed_ns = self.failed_ns.max(other.failed_ns);
        self.crossings += other.crossings;
    }
}

/// What a transaction spends its time on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) started: Ns,
    /// The die's busy times then, when observed.
    pub(super) busy_at_start: BusyTimes,
    pub(super) array_from: Ns,
    pub(super) array_time: Ns,
    pub(super) retry_time: Ns,
    pub(super) bus_wait: Ns,
    pub(super) bus_time: Ns,
}

impl Default for Transaction {
    fn default() -> Self {
        Self {
            kind: OpKind::Read,
            source: Source::Host,
            block: 0,
            is_slc: false,
            page_type: 0,
            cycles: 0,
            rereads: Rereads::default(),
            slots: 0,
            programmed_limit: 0,
            settled: 0,
            of_runs: 0,
            ops: Vec::new(),
            is_sensed: false,
            suspend_count: 0,
            choice: Ns(0),
            spent: Spent::default(),
        }
    }
}

impl Transaction {
    pub(super) fn cause(&self) -> Cause {
        match (self.kind, self.source) {
            (OpKind::Erase, _) => Cause::Erase,
            (_, Source::Host | Source::Merge | Source::Rebuild) => Cause::Host,
            _ => Cause::Moves,
        }
    }

    /// Shown in timelines.
    pub(super) fn name(&self) -> &'static str {
        let moved = self.cause() == Cause::Moves;
        match self.kind {
            OpKind::Read if moved => "read (moved)",
            OpKind::Read => "read",
            OpKind::Program if moved => "program (moved)",
            OpKind::Program => "program",
            OpKind::Erase => "erase",
            OpKind::Copyback => "copyback",
        }
    }

    /// What one of its operations spent its time on, until now.
    pub(super) fn parts(&self, queued: &Queued, now: Ns) -> Parts {
        let mut parts = waiting_parts(queued, &self.spent.busy_at_start, self.spent.started);
        parts.add(Part::BusWait, self.spent.bus_wait);
        parts.add(Part::Bus, self.spent.bus_time);
        parts.add(Part::Retry, self.spent.retry_time);
        let array = match self.kind {
            OpKind::Read => Part::Sense,
            OpKind::Erase => Part::Erase,
            OpKind::Program | OpKind::Copyback => Part::Program,
        };
        parts.add(array, self.spent.array_time - self.spent.retry_time);
        // The rest of the span was spent suspended, or waiting for the register or the array.
        let left = Ns((now - queued.since).0.saturating_sub(parts.total().0));
        let rest = match self.kind {
            OpKind::Read => Part::BusWait,
            _ if self.suspend_count > 0 => Part::Suspended,
            _ => Part::Queue,
        };
        parts.add(rest, left);
        parts
    }
}

/// What an operation waited for until `until`, when its die's busy times were `busy`.
pub(super) fn waiting_parts(queued: &Queued, busy: &BusyTimes, until: Ns) -> Parts {
    let mut parts = Parts::default();
    let Some(before) = &queued.busy else { return parts };
    let behind = |cause: Cause| Ns(busy[cause as usize] - before[cause as usize]);
    let (moves, erase) = (behind(Cause::Moves), behind(Cause::Erase));
    parts.add(Part::Gc, moves);
    parts.add(Part::Erase, erase);
    // Behind the host, and for a turn while the die was idle.
    let waited = until - queued.since;
    parts.add(Part::Queue, Ns(waited.0.saturating_sub(moves.0 + erase.0)));
    parts
}

/// A program or an erase that was interrupted.
#[derive(Debug)]
pub(super) struct Suspended {
    pub(super) transaction: Box<Transaction>,
    pub(super) left: Ns,
    pub(super) reads: u32,
}

/// What the array is busy with.
#[derive(Debug, Default)]
pub(super) enum Array {
    #[default]
    Free,
    Busy(Box<Transaction>),
    /// On the way to being free for reads.
    Suspending,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) class: Class,
    /// How many entries of its queue wait longer: reads of other planes.
    pub(super) place: u32,
}

/// The work of a plane that reads independently.
#[derive(Debug, Default)]
pub(super) struct Plane {
    /// A read on its way into the array, in it, or sensed and waiting for the register.
    pub(super) array: Option<Box<Transaction>>,
    pub(super) until: Ns,
    /// A read whose data is on its way out.
    pub(super) output: Option<Box<Transaction>>,
    /// Entries of the queues that need it.
    pub(super) waiting: [u32; CLASS_COUNT],
}

impl Plane {
    /// Whether a sense can begin; with cache reads while the register is in use.
    pub(super) fn can_sense(&self, in_cache: bool) -> bool {
        self.array.is_none() && (self.output.is_none() || in_cache)
    }

    /// Whom it works for.
    fn cause(&self) -> Cause {
        let read = self.array.as_ref().or(self.output.as_ref());
        read.map_or(Cause::Idle, |read| read.cause())
    }
}

/// The urgency of a die's collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// When the die has nothing else to do.
    #[default]
    Background,
    /// Before host writes: they wait for it.
    Urgent,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Die {
    pub(super) queues: [VecDeque<Queued>; CLASS_COUNT],
    /// Pages and blocks that wait in them: what allocation by load asks for each page.
    pub(super) waiting: u32,
    pub(super) channel: u32,
    /// The dies that the FTL takes for one with it.
    pub(super) pool: u32,
    pub(super) array: Array,
    pub(super) array_until: Ns,
    /// A program whose data is on its way into the register, or waits there.
    pub(super) input: Option<Box<Transaction>>,
    pub(super) is_loaded: bool,
    /// A read whose data is on its way out.
    pub(super) output: Option<Box<Transaction>>,
    pub(super) suspended: Option<Suspended>,
    /// Planes that read by themselves; none where the die reads as a whole.
    pub(super) planes: Vec<Plane>,
    /// Reads that are running in them.
    pub(super) planes_busy: u32,
    /// A bit for each plane that an entry of a queue needs.
    pub(super) planes_wanted: [u64; CLASS_COUNT],
    /// A bit for each plane in which a sense can begin.
    pub(super) planes_free: u64,
    /// Time for choosing a victim that the next operation of a collection waits for.
    pub(super) choice: Ns,
    /// Whose the last turn was.
    pub(super) last_turn: Class,
    occupant_since: Ns,
    occupant: u8,
    pub(super) busy: BusyTimes,
    /// Time for which the array worked as a whole.
    pub(super) working: Ns,
    /// Time for which single planes worked, added up.
    pub(super) plane_working: Ns,
}

impl Die {
    /// An idle die on a channel and of a pool, with `planes` planes that read independently.
    pub(super) fn on(channel: u32, pool: u32, planes: u32) -> Self {
        let planes_free = (0..planes).fold(0, |bits, plane| bits | 1 << plane);
        let planes = (0..planes).map(|_| Plane::default()).collect();
        Self { channel, pool, planes, planes_free, ..Self::default() }
    }

    /// The state of a plane has changed.
    #[inline]
    pub(super) fn note_plane(&mut self, plane: u32, in_cache: bool) {
        let can_sense = self.planes[plane as usize].can_sense(in_cache);
        self.planes_free = self.planes_free & !(1 << plane) | u64::from(can_sense) << plane;
    }

    /// Whether planes work, and nothing that waits can start in one of them: then nothing can start
    /// at all, since the rest needs all planes.
    #[inline]
    pub(super) fn planes_are_taken(&self) -> bool {
        let [read, write, collect] = self.planes_wanted;
        self.planes_busy > 0
            && (read | write | collect) & self.planes_free == 0
            && self.input.is_none()
    }

    /// Operations that wait, and the one that it works on.
    pub(super) fn load(&self) -> u32 {
        let is_busy = self.is_array_busy() || self.input.is_some();
        let is_busy = is_busy || self.planes_busy > 0;
        self.waiting + u32::from(is_busy || self.output.is_some() || self.suspended.is_some())
    }

    /// Whether the array works as a whole.
    pub(super) fn is_array_busy(&self) -> bool {
        !matches!(self.array, Array::Free)
    }

    /// Whether nothing is running.
    #[inline]
    pub(super) fn does_nothing(&self) -> bool {
        matches!(self.array, Array::Free)
            && self.input.is_none()
            && self.output.is_none()
            && self.suspended.is_none()
            && self.planes_busy == 0
    }

    /// Whether nothing is running or waiting.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0 && self.does_nothing()
    }

    /// Credits the time since the last change to whom the die worked for.
    #[inline]
    pub(super) fn settle(&mut self, now: Ns) {
        self.busy[usize::from(self.occupant)] += (now - self.occupant_since).0;
        self.occupant_since = now;
    }

    /// Whom the planes work for: the host, if one of them does.
    fn planes_cause(&self) -> Cause {
        let is_for_host = self.planes.iter().any(|plane| plane.cause() == Cause::Host);
        if is_for_host {
            Cause::Host
        } else {
            Cause::Moves
        }
    }

    /// Notes for whom the die works now.
    #[inline]
    pub(super) fn note_occupant(&mut self) {
        self.occupant = match (&self.array, &self.output, &self.input) {
            (Array::Busy(transaction), ..)
            | (_, Some(transaction), _)
            | (_, _, Some(transaction)) => transaction.cause(),
            (Array::Suspending, ..) => Cause::Host,
            _ if self.planes_busy > 0 => self.planes_cause(),
            _ => Cause::Idle,
        } as u8;
    }
}
