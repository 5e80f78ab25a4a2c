//! The host's side of a timed stage: commands on their way, the memory that they wait for, and the
//! account of them.

use std::collections::VecDeque;

use super::clockwork::{Clockwork, Event};
use super::ledger::Ledger;
use super::observation::Observation;
use crate::controller::timeline::{Command, Lane};
use crate::drive::{moves_data, Drive, FrontShape};
use crate::ftl::WritesComplete;
use crate::host::cache::Fence;
use crate::host::latency::LatencyBook;
use crate::host::path::HostPath;
use crate::host::read_ahead::ReadAhead;
use crate::host::tenants::TenantBook;
use crate::op::HostOp;
use crate::reads::Lost;
use crate::units::{Ns, Ppn};
use crate::workload::Host;

/// Pages of the write cache on their way to the flash, and who waits for a slot there.
#[derive(Default)]
pub(super) struct CacheSlots {
    pub(super) capacity: usize,
    pub(super) in_flight: usize,
    /// Commands that wait for a slot, once per page.
    pub(super) waiters: VecDeque<u32>,
    pub(super) fence: Fence,
    /// A timeline names the commands that wrote the pages.
    pub(super) is_recorded: bool,
}

impl CacheSlots {
    /// Whether a command waits for a slot, or for programs that came before it.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiters.is_empty() || self.fence.is_awaited()
    }

    /// The slots of `pages` of this epoch are free.
    #[inline]
    pub(super) fn release(&mut self, epoch: u32, pages: u32) {
        self.in_flight -= pages as usize;
        self.fence.end(epoch, pages);
    }
}

/// A read of a command that will not be corrected: its row is read when the read has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailingRead {
    /// The page of the flash that is read.
    pub(super) page: Ppn,
    pub(super) command: u32,
    /// The page of the FTL.
    pub(super) ppn: Ppn,
    pub(super) lost: Lost,
}

/// What flushes wait for apart from operations.
#[derive(Default)]
struct Settling {
    /// Flushes that wait until the pages that they cover are on the flash; only if the power may
    /// fail and program units wait in memory. See `session/power_cut.rs`.
    units: Option<Vec<u32>>,
    /// A write that was not complete when a flush came, and that flush; of drives without a write
    /// buffer.
    writes: Vec<(u32, u32)>,
}

/// See the module.
pub(crate) struct HostSide {
    pub(crate) path: HostPath,
    pub(super) cache: CacheSlots,
    pub(crate) ledger: Ledger,
    pub(super) ahead: Option<Box<ReadAhead>>,
    /// What flushes wait for apart from operations, from the first flush on that may.
    settling: Option<Box<Settling>>,
    /// Arrivals of open loops that are scheduled.
    pub(crate) arrivals: u32,
    /// A write found no room: its command completes as failed, and no further one should come.
    pub(crate) is_worn_out: bool,
    /// Reads of superblocks that will not be corrected.
    pub(super) failing: Vec<FailingRead>,
    /// What the front of the drive is like, if commands that move data take the shorter way;
    /// only in a stage that [runs alone](super::stage::TimedStage::run_by_itself).
    pub(super) front: Option<FrontShape>,
}

impl HostSide {
    /// The side of a drive that `hosts` share, with no command in it.
    pub(super) fn new(
        drive: &Drive,
        hosts: &[&Host],
        latencies: Option<Box<LatencyBook>>,
        observation: &Observation,
    ) -> Self {
        let config = &drive.config;
        let blocked_max = config.controller.blocked_reads_max;
        let mut path = HostPath::new(&config.host, hosts, drive.draw_seed, blocked_max);
        path.writes_in_memory = config.ftl.writes_complete == WritesComplete::InMemory;
        Self {
            path,
            cache: CacheSlots {
                capacity: drive.buffer_capacity(),
                is_recorded: observation.timeline.is_some(),
                ..CacheSlots::default()
            },
            ledger: Ledger::new(latencies, TenantBook::of(hosts), observation),
            ahead: drive.read_ahead().map(Box::new),
            settling: None,
            arrivals: 0,
            is_worn_out: false,
            failing: Vec::new(),
            front: None,
        }
    }

    /// What the front of the drive is like, if the command of a slot takes the way of those that
    /// move data.
    #[inline]
    pub(super) fn passes(&mut self, index: u32) -> Option<FrontShape> {
        self.front.filter(|_| moves_data(&self.path.slot(index).command))
    }

    /// Schedules the arrival of a tenant's next command, or the end of its pause.
    pub(super) fn await_arrival(&mut self, clockwork: &mut Clockwork, tenant: u8, at: Ns) {
        // A generator's arrivals never decrease; a late one arrives now.
        let after = Ns(at.0.saturating_sub(clockwork.now().0));
        self.arrivals += 1;
        clockwork.schedule(after, Event::Arrival(tenant));
    }

    /// Whether no command is in the drive and none is to come.
    pub(super) fn is_over(&self) -> bool {
        self.ledger.outstanding == 0 && self.arrivals == 0
    }

    /// Whether the writes of a command complete when a die takes their program units.
    #[inline]
    pub(super) fn completes_in_memory(&self, slot: u32) -> bool {
        self.path.may_complete_in_memory(slot)
    }

    /// Makes later flushes wait for whole program units.
    pub(super) fn settle_flushes(&mut self) {
        self.settling.get_or_insert_default().units = Some(Vec::new());
    }

    /// A flush comes to a drive without a write buffer: it waits for the writes that came before
    /// it. Their number.
    #[cold]
    pub(super) fn follow_writes(&mut self, flush: u32) -> u32 {
        if self.cache.capacity > 0 {
            return 0;
        }
        let writes = &mut self.settling.get_or_insert_default().writes;
        let before = writes.len();
        writes.extend(self.path.writes_under_way().map(|write| (write, flush)));
        (writes.len() - before) as u32
    }

    /// Whether any command may settle something.
    #[inline]
    pub(super) fn settles(&self) -> bool {
        self.settling.is_some()
    }

    /// A command is served: flushes that followed it have one thing less to wait for.
    pub(super) fn end_followed(&mut self, clockwork: &mut Clockwork, index: u32) {
        let Some(settling) = &mut self.settling else { return };
        let followers = settling.writes.extract_if(.., |&mut (write, _)| write == index);
        let flushes: Vec<u32> = followers.map(|(_, flush)| flush).collect();
        for flush in flushes {
            self.satisfy_soon(clockwork, flush);
        }
    }

    /// Whether a command that is served is a flush, or a write with force unit access, that may
    /// have to wait for program units; asked a second time, it has waited.
    pub(super) fn has_to_settle(&mut self, index: u32) -> bool {
        let settling = self.settling.as_mut().and_then(|it| it.units.as_mut());
        let Some(settling) = settling else { return false };
        let command = &self.path.slot(index).command;
        if command.op != HostOp::Flush && !(command.is_fua && command.op == HostOp::Write) {
            return false;
        }
        let place = settling.iter().position(|&it| it == index);
        place.map(|place| settling.swap_remove(place)).is_none()
    }

    /// It waits for program units.
    pub(super) fn settle_after(&mut self, index: u32, waits: u32) {
        self.path.slot(index).waits = waits;
        let settling = self.settling.as_mut().and_then(|it| it.units.as_mut());
        if let Some(flushes) = settling {
            flushes.push(index);
        }
    }

    /// A command waits for nothing in the drive any more.
    #[inline]
    pub(super) fn serve_soon(&mut self, clockwork: &mut Clockwork, index: u32) {
        self.path.serve(index);
        clockwork.go_on_soon(index);
    }

    /// A command has one thing less to wait for, where a completion would nest in another.
    pub(super) fn satisfy_soon(&mut self, clockwork: &mut Clockwork, index: u32) {
        let slot = self.path.slot(index);
        slot.waits -= 1;
        if slot.waits == 0 {
            self.serve_soon(clockwork, index);
        }
    }

    /// A flash read ahead of the host has ended: commands that came for its page continue.
    pub(super) fn fetched(&mut self, clockwork: &mut Clockwork, mark: u32) {
        let mut waiters = Vec::new();
        if let Some(ahead) = &mut self.ahead {
            ahead.done(mark, &mut waiters);
        }
        for index in waiters {
            self.satisfy_soon(clockwork, index);
        }
    }

    /// Frees the cache slot of a page of this epoch: flushes that waited for it continue, and the
    /// command that is returned has one slot less to wait for.
    pub(super) fn release_cache_slot(
        &mut self,
        clockwork: &mut Clockwork,
        epoch: u32,
    ) -> Option<u32> {
        self.cache.release(epoch, 1);
        while let Some(index) = self.cache.fence.released() {
            // It may still wait for padding.
            self.satisfy_soon(clockwork, index);
        }
        self.cache.waiters.pop_front()
    }

    /// There is no room for a page of the write cache.
    pub(super) fn refuse_cached(&mut self, clockwork: &mut Clockwork, epoch: u32) {
        if let Some(index) = self.release_cache_slot(clockwork, epoch) {
            self.satisfy_soon(clockwork, index);
        }
    }

    /// A page of the write cache was trimmed while it waited for room. Who waits for its slot goes
    /// on when the next program ends, as after trims of pages that stay in the cache; at once where
    /// no program is left to end.
    pub(super) fn forget_cached(&mut self, clockwork: &mut Clockwork, epoch: u32) {
        if self.cache.in_flight > 1 && self.cache.waiters.len() < self.cache.in_flight {
            self.cache.release(epoch, 1);
        } else {
            self.refuse_cached(clockwork, epoch);
        }
    }

    /// The number of outstanding commands changed.
    #[inline]
    pub(super) fn note_depth(&self, clockwork: &mut Clockwork) {
        let now = clockwork.now();
        if let Some(timeline) = clockwork.backend.recorder() {
            timeline.level("queue_depth", now, self.ledger.outstanding);
        }
    }

    /// A command was let into the drive; `number` is its place in the order of arrival.
    #[inline]
    pub(super) fn note_inside(
        &mut self,
        clockwork: &mut Clockwork,
        index: u32,
        number: Option<u64>,
    ) {
        let now = clockwork.now();
        if let Some(timeline) = clockwork.backend.recorder() {
            let command = &self.path.slot(index).command;
            let name = ["read", "write", "trim", "flush"][command.op.index()];
            let command = number.map(|number| Command::new(number, command));
            timeline.begin(Lane::Command(index), name, now, command);
        }
    }
}
