//! Planes that sense independently: each has an array and a register for reads.
//!
//! ```text
//!  reads of the die's queue ─┬─► plane 0: sense ─► its register ─┐
//!                            └─► plane 1: sense ─► its register ─┴─► the die's channel
//!  programs, erases, copybacks, reads over several planes: the whole die, when no plane is at work
//! ```
//! A plane that is free takes the first read of it among the reads at the head of a queue, so reads
//! overtake reads of other planes, and nothing else is overtaken. Units of one page join in one
//! sense; pages of several planes do not, since each plane senses its own.
//!
//! Source of the mechanism: independent multi-plane reads, as 3-D NAND has had them since about
//! 2017. Left out: the power budget of a die, which some parts observe by starting senses one by
//! one.

use super::bus::{Request, Use};
use super::design::Order;
use super::die::{Array, Class, Transaction, Turn};
use super::flash::{After, Flash};
use super::{watch, Event};
use crate::controller::timeline::Lane;
use crate::engine::Engine;
use crate::op::Source;
use crate::units::{BlockId, Ns};

impl Flash {
    /// Whether nothing can start on a die, and the time at which this is noticed has no effect.
    /// Most events
    /// leave a die like that, so it is asked before anything is called.
    #[inline]
    pub(super) fn has_no_turn(&self, index: u32) -> bool {
        let die = &self.dies[index];
        // While data is on its way out, only a sense may begin, with cache reads.
        let waits_in_vain = die.waiting == 0 || die.output.is_some() && !self.design.reads_in_cache;
        (waits_in_vain && die.input.is_none() && die.suspended.is_none()
            || self.is_engaged(index)
            || die.planes_are_taken())
            && !self.watch.is_observed
            && self.dies.arrivals.is_empty()
    }

    /// Whether nothing can start on a die, whatever waits there: its array works, or data is on its
    /// way into it.
    #[inline]
    pub(super) fn is_engaged(&self, index: u32) -> bool {
        let die = &self.dies[index];
        let is_loading = die.input.is_some() && !die.is_loaded;
        (die.is_array_busy() || is_loading) && !self.design.programs_in_cache
    }

    /// Whether only reads of single planes can start on a die, and only their planes decide which:
    /// the die does nothing as a whole, and nothing that waits starves.
    #[inline]
    pub(super) fn reads_planes(&self, index: u32, now: Ns) -> bool {
        let Order::Priority { write_starvation, gc_starvation } = self.design.order else {
            return false;
        };
        let die = &self.dies[index];
        if die.planes_wanted[Class::HostRead as usize] == 0 {
            return false;
        }
        let front = |class: Class| die.queues[class as usize].front();
        let starves = |class: Class, bound: Ns| {
            front(class).is_some_and(|it| now.0.saturating_sub(it.since.0) > bound.0)
        };
        front(Class::HostRead).is_some_and(|read| read.plane.is_some())
            && matches!(die.array, Array::Free)
            && die.input.is_none()
            && die.output.is_none()
            && die.suspended.is_none()
            && !self.watch.is_observed
            && !self.design.may_lose_dies()
            && !starves(Class::HostWrite, write_starvation)
            && !starves(Class::Collect, gc_starvation)
    }

    /// The read of a queue that can start on its plane now, the oldest first.
    pub(super) fn plane_turn(&self, index: u32, class: Class) -> Option<Turn> {
        let die = &self.dies[index];
        let wanted = die.planes_wanted[class as usize] & die.planes_free;
        if wanted == 0 {
            return None;
        }
        let queue = &die.queues[class as usize];
        let reach = match self.design.order {
            Order::WholeDrive => 1,
            Order::PerDie | Order::Priority { .. } => queue.len(),
        };
        for (place, queued) in (0..).zip(queue.iter().take(reach)) {
            if wanted >> queued.plane? & 1 == 1 {
                return Some(Turn { class, place });
            }
        }
        None
    }

    /// Command cycles, if they are modelled, then the plane.
    pub(super) fn start_plane_command(
        &mut self,
        engine: &mut Engine,
        [index, plane]: [u32; 2],
        transaction: Box<Transaction>,
    ) {
        let source = transaction.source;
        let die = &mut self.dies[index];
        die.planes_busy += 1;
        let state = &mut die.planes[plane as usize];
        state.array = Some(transaction);
        state.until = Ns(u64::MAX);
        die.planes_free &= !(1 << plane);
        if self.design.times.command == Ns(0) {
            self.sense_plane(engine, index, plane);
        } else {
            let to = Use::PlaneCommand(plane as u8);
            self.ask_channel(engine, index, (to, source), self.design.times.command);
        }
    }

    /// The array of a plane begins.
    pub(super) fn sense_plane(&mut self, engine: &mut Engine, index: u32, plane: u32) {
        let (die, now) = (&mut self.dies[index], engine.now());
        let state = &mut die.planes[plane as usize];
        let Some(read) = &mut state.array else { return };
        let work = self.design.read_time(read);
        let time = work + read.choice;
        read.spent.array_time = time;
        read.spent.array_from = now;
        state.until = now + time;
        die.plane_working = die.plane_working + work;
        engine.schedule(time, Event::Plane.code(index));
    }

    /// One of the planes of a die is done: the first whose time it is.
    pub(super) fn plane_done(&mut self, engine: &mut Engine, index: u32) -> After {
        let now = engine.now();
        let die = &mut self.dies[index];
        if self.watch.is_observed {
            die.settle(now);
        }
        let done = (0..).zip(&mut die.planes).find(|(_, plane)| plane.until == now);
        let Some((plane, state)) = done else { return After::Nothing };
        state.until = Ns(u64::MAX);
        if let Some(transaction) = &mut state.array {
            transaction.is_sensed = true;
            if let Some(timeline) = &mut self.watch.timeline {
                let geometry = &self.design.geometry;
                let lane = Lane::Plane { die: index, plane, planes: geometry.planes_per_die };
                let times = [transaction.spent.array_from, now];
                watch::record(timeline, geometry, (lane, index), transaction, times);
            }
        }
        self.move_from_plane(engine, index, plane);
        After::Room
    }

    /// Moves a sensed page to the register of its plane when that is free.
    fn move_from_plane(&mut self, engine: &mut Engine, index: u32, plane: u32) {
        let die = &mut self.dies[index];
        let state = &mut die.planes[plane as usize];
        if state.output.is_some() || !state.array.as_ref().is_some_and(|read| read.is_sensed) {
            return;
        }
        let Some(read) = state.array.take() else { return };
        let (time, source) = (self.design.times.out(&read), read.source);
        state.output = Some(read);
        die.planes_free |= u64::from(self.design.reads_in_cache) << plane;
        self.ask_channel(engine, index, (Use::PlaneOut(plane as u8), source), time);
    }

    /// The data of a plane is out: its read has ended.
    #[inline]
    pub(super) fn plane_is_out(
        &mut self,
        engine: &mut Engine,
        (channel, done): (u32, Request),
        plane: u8,
    ) -> Option<Box<Transaction>> {
        let (index, plane, now) = (done.die, u32::from(plane), engine.now());
        let die = &mut self.dies[index];
        if self.watch.is_observed {
            die.settle(now);
        }
        let state = &mut die.planes[plane as usize];
        let mut read = state.output.take()?;
        self.watch.note_transfer(&self.design.geometry, (channel, done), &mut read, now);
        let waits_for_register = state.array.is_some();
        die.planes_busy -= 1;
        die.note_plane(plane, self.design.reads_in_cache);
        // Nothing else may have used the die or erased the block meanwhile.
        let is_erased = read.source != Source::Rebuild
            && self.blocks.of(BlockId(read.block)).erases != read.cycles;
        self.watch.tally.violations += u64::from(die.is_array_busy() || is_erased);
        if waits_for_register {
            self.move_from_plane(engine, index, plane);
        }
        Some(read)
    }
}
