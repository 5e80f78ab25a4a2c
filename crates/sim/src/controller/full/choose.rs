//! Which operation of a die is next.
//!
//! | order | next |
//! |---|---|
//! | in order | the drive's oldest operation, whatever its die; others wait for it to start |
//! | per die | the die's oldest operation |
//! | priority | a starving operation; else host reads, host writes, collection by its urgency |
//!
//! Whether it can start is another question: a read needs array and register, a program the
//! register, and an erase a die with nothing running. If planes read independently, a read needs
//! its plane and everything else all of them.

use std::collections::VecDeque;

use super::design::Order;
use super::die::{Array, Class, Die, Queued, Turn, Urgency};
use super::Full;
use crate::controller::OpKind;
use crate::op::Source;
use crate::units::{DieId, Ns};

impl Full {
    /// Whether a read that comes to a die of the flash now waits for a program or an erase.
    pub fn writes_first(&self, die: DieId) -> bool {
        let is_alone = self.alone.is_some_and(|(index, ..)| index == die.0);
        let die = &self.flash.dies[die.0];
        let is_writing = matches!(&die.array, Array::Busy(work) if work.kind != OpKind::Read)
            || die.input.is_some();
        let waits = || {
            let mut waiting = die.queues.iter().flatten();
            is_alone || waiting.any(|it| it.op.kind() != OpKind::Read)
        };
        is_writing || (!self.flash.design.puts_reads_first() && waits())
    }

    /// Whether something may start on a die, or on those that it holds up.
    #[inline]
    pub(super) fn may_start(&self, index: u32) -> bool {
        !self.flash.is_engaged(index) || !self.flash.dies.arrivals.is_empty()
    }

    /// Whether the head of a die's queue could start, under [`Order::WholeDrive`].
    pub(super) fn can_start(&self, index: u32) -> bool {
        self.choose(index, Ns(0)).is_some()
    }

    /// The operation that can start now.
    pub(super) fn choose(&self, index: u32, now: Ns) -> Option<Turn> {
        let die = &self.flash.dies[index];
        if die.waiting == 0 {
            return None;
        }
        let array_is_free = matches!(die.array, Array::Free);
        let output_is_free = die.output.is_none();
        let is_at_work = !array_is_free || !output_is_free || die.input.is_some();
        if is_at_work && self.flash.design.is_lost(DieId(index), now) {
            return None;
        }
        let reads_ok = array_is_free
            && die.input.is_none()
            && (output_is_free || self.flash.design.reads_in_cache);
        if let Some(suspended) = &die.suspended {
            let limit =
                self.flash.design.suspend.as_ref().map_or(0, |it| it.config.reads_per_suspend_max);
            let is_waiting = !die.queues[Class::HostRead as usize].is_empty();
            let class = Class::HostRead;
            return if !reads_ok || !is_waiting || suspended.reads >= limit {
                None
            } else if die.planes.is_empty() {
                Some(Turn { class, place: 0 })
            } else {
                self.flash.plane_turn(index, class)
            };
        }
        let is_programming = matches!(&die.array, Array::Busy(transaction)
            if transaction.kind == OpKind::Program);
        let loads_ok = die.input.is_none()
            && output_is_free
            && (array_is_free || self.flash.design.programs_in_cache && is_programming);
        if !(reads_ok || loads_ok) {
            return None;
        }
        let class = self.next_class(index, now)?;
        let head = die.queues[class as usize].front()?;
        let &Queued { op, plane, .. } = head;
        if plane.is_some() {
            return if reads_ok { self.flash.plane_turn(index, class) } else { None };
        }
        let startable = match op.kind() {
            OpKind::Program => loads_ok,
            OpKind::Read => reads_ok,
            OpKind::Erase => {
                reads_ok && output_is_free && !self.flash.blocks.is_held(&self.flash.design, head)
            }
            OpKind::Copyback => reads_ok && output_is_free,
        };
        (startable && die.planes_busy == 0).then_some(Turn { class, place: 0 })
    }

    /// The operation that starts on a die which does nothing, if those of one class alone wait
    /// there and their head takes the whole die and is no erase: no rule holds it up.
    #[inline]
    pub(super) fn only_turn(&self, index: u32) -> Option<Turn> {
        let die = &self.flash.dies[index];
        if !die.does_nothing() {
            return None;
        }
        let class = self.only_class(die)?;
        let head = die.queues[class as usize].front()?;
        let is_plain = head.plane.is_none() && head.op.kind() != OpKind::Erase;
        is_plain.then_some(Turn { class, place: 0 })
    }

    /// The only class that has operations waiting on a die, if host reads go first.
    #[inline]
    fn only_class(&self, die: &Die) -> Option<Class> {
        if !self.flash.design.puts_reads_first() {
            return None;
        }
        match die.queues.each_ref().map(VecDeque::is_empty) {
            [false, true, true] => Some(Class::HostRead),
            [true, false, true] => Some(Class::HostWrite),
            _ => None,
        }
    }

    /// The class whose turn it is.
    fn next_class(&self, index: u32, now: Ns) -> Option<Class> {
        let die = &self.flash.dies[index];
        let urgency = self.flash.dies.pools[die.pool as usize].urgency;
        let waiting = |class: Class| die.queues[class as usize].front();
        if let Some(class) = self.only_class(die) {
            let goes = |queued: &&Queued| self.may_go(index, queued);
            return waiting(class).filter(goes).map(|_| class);
        }
        let (write_starvation, gc_starvation) = match self.flash.design.order {
            Order::PerDie => return waiting(Class::HostWrite).map(|_| Class::HostWrite),
            Order::WholeDrive => {
                let is_first = self.flash.dies.arrivals.front() == Some(&index);
                return waiting(Class::HostWrite).filter(|_| is_first).map(|_| Class::HostWrite);
            }
            Order::Priority { write_starvation, gc_starvation } => {
                (write_starvation, gc_starvation)
            }
        };
        let collect = waiting(Class::Collect).filter(|queued| self.may_go(index, queued));
        let starves = |queued: Option<&Queued>, bound: Ns| {
            queued.is_some_and(|queued| now.0.saturating_sub(queued.since.0) > bound.0)
        };
        let write = waiting(Class::HostWrite).filter(|queued| self.may_go(index, queued));
        // Writes that wait for room are helped by the collection that makes it.
        let is_urgent = collect.is_some() && urgency == Urgency::Urgent;
        let starving = if starves(collect, gc_starvation) {
            Some(Class::Collect)
        } else {
            let next = if is_urgent { Class::Collect } else { Class::HostWrite };
            starves(write, write_starvation).then_some(next)
        };
        let reads_wait = waiting(Class::HostRead).is_some();
        // What starves has every other turn: a backlog behind it must not hold up reads for long.
        if starving.is_some() && !(reads_wait && die.last_turn != Class::HostRead) {
            return starving;
        }
        if reads_wait {
            return Some(Class::HostRead);
        }
        match (write, collect, urgency) {
            (_, Some(_), Urgency::Urgent) | (None, Some(_), _) => Some(Class::Collect),
            (Some(_), ..) => Some(Class::HostWrite),
            (None, None, _) => None,
        }
    }

    /// Rules 3 and 5.
    fn may_go(&self, index: u32, queued: &Queued) -> bool {
        let op = queued.op;
        if op.kind() != OpKind::Erase {
            return true;
        }
        if self.flash.blocks.is_held(&self.flash.design, queued) {
            return false;
        }
        let block = self.flash.design.block_of(op);
        let reads = &self.flash.dies[index].queues[Class::HostRead as usize];
        let is_read = reads.iter().any(|read| self.flash.design.block_of(read.op) == block);
        // In one queue, programs that come after the erase count as pending too.
        let is_apart = self.flash.design.splits_collection && op.source() != Source::Map;
        let is_written = is_apart && self.flash.blocks.all[block.0 as usize].pending > 0;
        !is_read && !is_written
    }
}
