//! Suspending programs and erases for host reads.
//!
//! ```text
//! program ▓▓▓▓▓▓│ suspend ░░│▒ read ▒│▒ read ▒│ resume ░░│▓▓▓▓▓▓▓▓▓ the rest
//! ```
//! Worth it only while more is left than suspending and resuming take. How often one operation may
//! be suspended, and how many reads go by meanwhile, is bounded, so every operation ends.

use super::design::Suspending;
use super::die::{Array, Class, Suspended};
use super::flash::Flash;
use super::Event;
use crate::controller::timeline::Lane;
use crate::controller::OpKind;
use crate::engine::Engine;
use crate::units::Ns;

impl Flash {
    /// Interrupts a program or an erase that begins, for a host read that came while its data or
    /// its command crossed the bus. Reads that it went before are left to wait.
    pub(super) fn suspend_for_waiting(&mut self, engine: &mut Engine, index: u32, started: Ns) {
        if self.design.suspend.is_none() {
            return;
        }
        let waiting = self.dies[index].queues[Class::HostRead as usize].front();
        let is_new = waiting.is_some_and(|read| {
            read.since.0 >= started.0 && self.is_programmed(read.op, read.detail)
        });
        if is_new {
            self.consider_suspending(engine, index);
        }
    }

    /// Interrupts a program or an erase for the host read that came.
    pub(super) fn consider_suspending(&mut self, engine: &mut Engine, index: u32) {
        let now = engine.now();
        let Some(Suspending { config, suspend, worth, .. }) = &self.design.suspend else {
            return;
        };
        let die = &mut self.dies[index];
        let Array::Busy(transaction) = &die.array else { return };
        let is_allowed = match transaction.kind {
            OpKind::Program => config.program,
            OpKind::Erase => config.erase,
            OpKind::Read | OpKind::Copyback => false,
        };
        let is_worth =
            die.array_until.0.saturating_sub(now.0) > worth.0 && die.array_until.0 != u64::MAX;
        if !is_allowed
            || !is_worth
            || transaction.suspend_count >= config.suspend_count_max
            || die.input.is_some()
            || die.output.is_some()
            || die.suspended.is_some()
        {
            return;
        }
        // The rest of the victim choice does not count as work of the die.
        let left = die.array_until - now;
        let work = die.array_until - transaction.spent.array_from - transaction.choice;
        let undone = left.min(work);
        die.working = die.working - undone;
        let suspend = *suspend;
        if self.watch.is_observed {
            die.settle(now);
        }
        let Array::Busy(mut transaction) = std::mem::take(&mut die.array) else { return };
        if let Some(timeline) = &mut self.watch.timeline {
            timeline.span(Lane::Die(index), transaction.name(), transaction.spent.array_from, now);
        }
        transaction.suspend_count += 1;
        transaction.choice = left - undone;
        self.watch.tally.suspensions += 1;
        die.suspended = Some(Suspended { transaction, left, reads: 0 });
        die.array = Array::Suspending;
        die.array_until = now + suspend;
        engine.schedule(suspend, Event::Array.code(index));
    }

    /// Resumes a suspended operation when nothing else can start; false if there is none.
    pub(super) fn resume(&mut self, engine: &mut Engine, index: u32) -> bool {
        let Some(Suspending { resume, .. }) = &self.design.suspend else { return false };
        let die = &mut self.dies[index];
        if die.is_array_busy() || die.output.is_some() || die.planes_busy > 0 {
            return false;
        }
        let Some(suspended) = die.suspended.take() else { return false };
        let time = *resume + suspended.left;
        self.run_array(engine, index, suspended.transaction, time);
        true
    }
}
