//! Suspending programs and erases for host reads.
//!
//! ```text
//! program ▓▓▓▓▓▓│ suspend ░░│▒ read ▒│▒ read ▒│ resume ░░│▓▓▓▓▓▓▓▓▓ the rest
//! ```
//! It is done only if more time is left than suspending and resuming take. The number of times that
//! one operation is suspended, and of reads served in each, is limited, so that every operation
//! ends.

use super::design::Suspending;
use super::die::{Array, Class, Die, Suspended};
use super::flash::Flash;
use super::{watch, Event};
use crate::controller::timeline::Lane;
use crate::controller::OpKind;
use crate::engine::Engine;
use crate::units::Ns;

impl Suspending {
    /// Whether the operation in the array of a die may be suspended and has enough time left.
    fn permits(&self, die: &Die, now: Ns) -> bool {
        let Array::Busy(transaction) = &die.array else { return false };
        let is_allowed = match transaction.kind {
            OpKind::Program => self.config.program,
            OpKind::Erase => self.config.erase,
            OpKind::Read | OpKind::Copyback => false,
        };
        let is_started = die.array_until != Ns(u64::MAX); // else its command is on the bus
        is_allowed
            && is_started
            && die.array_until.0.saturating_sub(now.0) > self.worth.0
            && transaction.suspend_count < self.config.suspend_count_max
            && die.input.is_none()
            && die.output.is_none()
            && die.suspended.is_none()
    }
}

impl Flash {
    /// Suspends a program or an erase that begins, if a host read came while its data or its
    /// command crossed the bus, after `started`. Reads that waited already do not suspend it: it
    /// was chosen ahead of them.
    #[inline]
    pub(super) fn suspend_for_waiting(&mut self, engine: &mut Engine, index: u32, started: Ns) {
        if self.design.suspend.is_none() {
            return;
        }
        let waiting = self.dies[index].queues[Class::HostRead as usize].front();
        let is_new = waiting.is_some_and(|read| {
            read.since.0 >= started.0 && self.is_programmed(read.op, read.detail)
        });
        if is_new {
            self.suspend_if_permitted(engine, index);
        }
    }

    /// Suspends the program or the erase of a die for a host read, if its rule permits it.
    pub(super) fn suspend_if_permitted(&mut self, engine: &mut Engine, index: u32) {
        let now = engine.now();
        let Some(rule) = &self.design.suspend else { return };
        let die = &mut self.dies[index];
        if !rule.permits(die, now) {
            return;
        }
        if self.watch.is_observed {
            die.settle(now);
        }
        let Array::Busy(mut transaction) = std::mem::take(&mut die.array) else { return };
        if let Some(timeline) = &mut self.watch.timeline {
            let (geometry, lane) = (&self.design.geometry, (Lane::Die(index), index));
            let times = [transaction.spent.array_from, now];
            watch::record(timeline, geometry, lane, &transaction, times);
        }
        // Time for choosing a victim precedes the array's work and is not part of it.
        let left = die.array_until - now;
        let work = die.array_until - transaction.spent.array_from - transaction.choice;
        let undone = left.min(work);
        die.working = die.working - undone;
        transaction.choice = left - undone;
        transaction.suspend_count += 1;
        self.watch.tally.suspensions += 1;
        die.suspended = Some(Suspended { transaction, left, reads: 0 });
        die.array = Array::Suspending;
        die.array_until = now + rule.suspend;
        engine.schedule(rule.suspend, Event::Array.code(index));
    }

    /// Resumes a suspended operation when nothing else can start; false if there is none.
    pub(super) fn resume(&mut self, engine: &mut Engine, index: u32) -> bool {
        let Some(rule) = &self.design.suspend else { return false };
        let die = &mut self.dies[index];
        if die.is_array_busy() || die.output.is_some() || die.planes_busy > 0 {
            return false;
        }
        let Some(suspended) = die.suspended.take() else { return false };
        let time = rule.resume + suspended.left;
        self.run_array(engine, index, suspended.transaction, time);
        true
    }
}
