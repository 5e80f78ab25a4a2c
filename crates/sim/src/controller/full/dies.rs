//! The dies of the flash, in pools: the FTL takes those of a pool for one.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use super::design::{Design, Order};
use super::die::{Array, Class, Die, Queued, Turn, Urgency};
use super::is_host;
use crate::controller::{FlashOp, OpKind, NO_COMMAND};
use crate::op::Source;
use crate::units::{DieId, Ns};

/// The dies that the FTL takes for one.
#[derive(Clone, Default)]
pub(super) struct Pool {
    /// The urgency of its collection.
    pub(super) urgency: Urgency,
    /// Operations of a collection that wait on its dies.
    pub(super) moves_waiting: u32,
}

/// See the module.
pub struct Dies {
    pub(super) all: Vec<Die>,
    pub(super) pools: Vec<Pool>,
    per_pool: u32,
    /// Dies in the order of arrival of their operations, under [`Order::WholeDrive`].
    pub(super) arrivals: VecDeque<u32>,
}

impl Index<u32> for Dies {
    type Output = Die;

    #[inline]
    fn index(&self, index: u32) -> &Die {
        &self.all[index as usize]
    }
}

impl IndexMut<u32> for Dies {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Die {
        &mut self.all[index as usize]
    }
}

impl Dies {
    /// All idle; `planes` of each read by themselves.
    pub(super) fn new(design: &Design, planes: u32) -> Self {
        let (geometry, dies_per_pool) = (design.geometry, design.dies_per_pool);
        let on = |die| Die::on(die % geometry.channel_count, die / dies_per_pool, planes);
        Self {
            all: (0..geometry.die_count).map(on).collect(),
            pools: vec![Pool::default(); (geometry.die_count / dies_per_pool) as usize],
            per_pool: dies_per_pool,
            arrivals: VecDeque::new(),
        }
    }

    /// The dies of a pool.
    fn of(&self, pool: DieId) -> &[Die] {
        let first = (pool.0 * self.per_pool) as usize;
        &self.all[first..first + self.per_pool as usize]
    }

    /// Operations that wait on a pool of the FTL, for those that choose among them.
    pub fn load(&self, pool: DieId) -> u32 {
        self.of(pool).iter().map(Die::load).sum()
    }

    /// Whether a pool has nothing to do.
    pub(super) fn is_idle(&self, pool: DieId) -> bool {
        self.of(pool).iter().all(Die::is_idle)
    }

    /// Whether operations of a collection wait on a pool.
    #[inline]
    pub fn collection_waits(&self, pool: DieId) -> bool {
        self.pools[pool.0 as usize].moves_waiting > 0
    }

    /// Sets the urgency of a pool's collection.
    #[inline]
    pub fn set_urgency(&mut self, pool: DieId, urgency: Urgency) {
        self.pools[pool.0 as usize].urgency = urgency;
    }

    /// The next operation of a collection waits for the choice of its victim, on each die of a
    /// pool.
    pub(super) fn wait_for_choice(&mut self, pool: DieId, time: Ns) {
        let first = (pool.0 * self.per_pool) as usize;
        for die in &mut self.all[first..first + self.per_pool as usize] {
            die.choice = die.choice + time;
        }
    }

    /// Time for which the dies worked, added up. A plane that works alone counts as its share of
    /// the die.
    pub(super) fn busy(&self, planes_per_die: u32) -> u64 {
        let planes = u64::from(planes_per_die);
        self.all.iter().map(|die| die.working.0 + die.plane_working.0 / planes).sum()
    }

    /// Puts an operation at the end of its queue, or, if it `may_join` there, into the last one.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as a call it costs 43 instructions more
    pub(super) fn push(
        &mut self,
        design: &Design,
        (index, class): (u32, Class),
        queued: Queued,
        may_join: bool,
    ) {
        let Queued { op, detail, plane, .. } = queued;
        let die = &mut self.all[index as usize];
        die.waiting += op.count();
        if let Some(plane) = plane {
            die.planes[usize::from(plane)].waiting[class as usize] += 1;
            die.planes_wanted[class as usize] |= 1 << plane;
        }
        let queue = &mut die.queues[class as usize];
        // Pages of a program unit that leave the write buffer are programmed and end together.
        let page = design.index_of(op);
        let is_before = |last: &&mut Queued| {
            last.op.goes_on_with(op)
                && last.detail.erase_count == detail.erase_count
                && design.units.stages(op.is_slc())
                && design.units.span(page, op.is_slc()).0 < page
        };
        if let Some(last) = queue.back_mut().filter(|_| may_join).filter(is_before) {
            last.op = last.op.run_of(last.op.first(), last.op.count() + 1);
        } else {
            let is_move = design.is_move(class, op);
            self.pools[die.pool as usize].moves_waiting += u32::from(is_move);
            queue.push_back(queued);
        }
        if matches!(design.order, Order::WholeDrive) {
            self.arrivals.push_back(index);
        }
    }

    /// Removes an entry of a queue.
    #[inline(always)]
    #[allow(clippy::inline_always)] // so that it is copied once
    pub(super) fn take(&mut self, design: &Design, index: u32, turn: Turn) -> Queued {
        let Turn { class, place } = turn;
        if matches!(design.order, Order::WholeDrive) {
            self.arrivals.pop_front();
        }
        let die = &mut self.all[index as usize];
        let queue = &mut die.queues[class as usize];
        let queued = if place == 0 { queue.pop_front() } else { queue.remove(place as usize) };
        let queued = queued.expect("the queue has this entry");
        die.waiting -= queued.op.count();
        if let Some(plane) = queued.plane {
            let waiting = &mut die.planes[usize::from(plane)].waiting[class as usize];
            *waiting -= 1;
            die.planes_wanted[class as usize] &= !(u64::from(*waiting == 0) << plane);
        }
        let is_move = design.is_move(class, queued.op);
        self.pools[die.pool as usize].moves_waiting -= u32::from(is_move);
        queued
    }

    /// Moves an entry of a queue to those that a transaction carries out.
    #[inline(never)]
    pub(super) fn take_into(
        &mut self,
        design: &Design,
        (index, turn): (u32, Turn),
        ops: &mut Vec<Queued>,
    ) {
        ops.push(self.take(design, index, turn));
    }

    /// Removes the only operation that waits on a die.
    #[inline]
    pub(super) fn take_alone(&mut self, design: &Design, index: u32, class: Class) {
        let die = &mut self.all[index as usize];
        let only = die.queues[class as usize].pop_front();
        die.waiting = 0;
        let is_move = only.is_some_and(|it| design.is_move(class, it.op));
        self.pools[die.pool as usize].moves_waiting -= u32::from(is_move);
    }

    /// The plane that carries out an operation independently, if one does.
    #[inline]
    pub(super) fn plane_for(&self, design: &Design, index: u32, op: FlashOp) -> Option<u8> {
        let is_apart = !self[index].planes.is_empty()
            && op.kind() == OpKind::Read
            // Collected pages of blocks that span the planes are read over all of them.
            && (design.geometry.plane_count == 1 || is_host(op.source()));
        is_apart.then(|| design.geometry.plane_of(op.first()) as u8)
    }

    /// Running programs whose commands have completed already: a command waits for them from now
    /// on. Their number.
    pub(super) fn follow_programs(&mut self, command: u32, now: Ns) -> u32 {
        let mut count = 0;
        for die in &mut self.all {
            let array = match &mut die.array {
                Array::Busy(transaction) => Some(transaction),
                Array::Free | Array::Suspending => None,
            };
            let suspended = die.suspended.as_mut().map(|suspended| &mut suspended.transaction);
            for transaction in array.into_iter().chain(suspended).chain(&mut die.input) {
                let is_told = |op: FlashOp| op.completes_in_memory() && op.command() == NO_COMMAND;
                let told = transaction.ops.iter().find(|it| is_told(it.op));
                let Some(&Queued { op, detail, .. }) = told else { continue };
                let op = FlashOp::new(op.kind(), Source::Pad, op.first(), 1).of_command(command);
                transaction.ops.push(Queued { op, detail, since: now, plane: None, busy: None });
                count += 1;
            }
        }
        count
    }
}
