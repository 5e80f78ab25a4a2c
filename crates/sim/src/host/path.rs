//! The way of a command between host and firmware: slots of the drive, and the legs of the way.
//!
//! ```text
//! offer ► slot ► processor ► throttle ► link in ► (firmware and flash) ► decoder ► link out
//!   └► outside, while no slot is free                                           release ► slot
//! ```
//! Like the other components of this room it has no access to the event queue: it is called with
//! the time and returns how long the next leg takes, and the caller calls again after that time.
//! Components that the device does not have take no time.

use std::collections::VecDeque;

use super::jitter::{scaled, Jitter};
use super::link::{Direction, Link};
use super::overhead::Overhead;
use super::pause::Pauses;
use super::processor::Processor;
use super::tenants::Outside;
use super::throttle::Throttle;
use super::HostConfig;
use crate::op::{HostCommand, HostOp};
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::Host;

/// The part of its way that a command is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// It has a slot.
    Submitted,
    /// The controller works on it.
    Processor,
    /// The throttle holds it back.
    Throttle,
    /// Its data, or the command alone, is on the way into the drive.
    LinkIn,
    /// Entries of the map are read from the flash.
    Mapping,
    /// They are there.
    Mapped,
    /// Nothing in the flash has to be waited for any more.
    Served,
    /// Its data is being decoded.
    Decoder,
    /// Its data is on the way to the host.
    LinkOut,
}

/// The outcome of sending a command on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is on a leg that takes this time.
    After(Ns),
    /// The same, and no other event comes before.
    Next(Ns),
    /// The processor is halted: the command continues when [`HostPath::unblock`] returns it.
    Held,
    /// It is at the firmware.
    Arrived,
}

/// A running command.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The command of the host.
    pub command: HostCommand,
    /// When the host asked for it.
    pub submitted: Ns,
    /// Flash operations and slots of the write cache that it still waits for.
    pub waits: u32,
    /// Sectors of a write that found no room.
    pub refused_sectors: u32,
    /// Time to decode the flash pages that it read, the longest of them.
    pub decode: Ns,
    /// A page that it reads cannot be corrected.
    pub is_lost: bool,
    /// When the processor is done with it, on the processor's own clock.
    ready: Ns,
    leg: Leg,
}

/// See the module.
pub struct HostPath {
    link: Option<Link>,
    processor: Option<Processor>,
    pauses: Option<Pauses>,
    throttle: Option<Throttle>,
    overhead: Overhead,
    jitter: Option<Jitter>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    depth_max: u32,
    outside: Outside<HostCommand>,
    /// Writes without force unit access complete when a die takes their program units, if pages are
    /// programmed in units.
    pub writes_in_memory: bool,
}

impl HostPath {
    /// The path of a device that `hosts` share, with no running command; times that vary are drawn
    /// from `seed`. The processor halts when `blocked_max` reads are blocked; `None`: never.
    pub fn new(config: &HostConfig, hosts: &[&Host], seed: u64, blocked_max: Option<u32>) -> Self {
        Self {
            link: config.build_link(),
            processor: config.build_processor(),
            pauses: blocked_max.map(Pauses::new),
            throttle: config.build_throttle(),
            overhead: config.command_overhead_us.build(),
            jitter: config.build_jitter(seed),
            slots: Vec::new(),
            free_slots: Vec::new(),
            depth_max: config.depth_max(),
            outside: Outside::new(config, hosts),
            writes_in_memory: false,
        }
    }

    /// A command comes at `now`: the slot that it gets, or `None` while the drive is full and it
    /// waits outside.
    #[inline]
    pub fn offer(&mut self, command: &HostCommand, now: Ns) -> Option<u32> {
        if self.slots.len() - self.free_slots.len() >= self.depth_max as usize {
            let queue = usize::from(command.tenant);
            self.outside.push(queue, HostCommand { arrival: now, ..*command });
            return None;
        }
        Some(self.admit(command, now))
    }

    /// The slot of a command that waited outside, if there is one; a slot must be free.
    #[inline]
    pub fn admit_waiting(&mut self) -> Option<u32> {
        let command = self.outside.pop()?;
        Some(self.admit(&command, command.arrival))
    }

    #[inline]
    fn admit(&mut self, command: &HostCommand, submitted: Ns) -> u32 {
        let slot = Slot {
            command: *command,
            submitted,
            waits: 0,
            refused_sectors: 0,
            decode: Ns(0),
            is_lost: false,
            ready: Ns(0),
            leg: Leg::Submitted,
        };
        if let Some(index) = self.free_slots.pop() {
            self.slots[index as usize] = slot;
            return index;
        }
        self.slots.push(slot);
        self.slots.len() as u32 - 1
    }

    /// Sends a command on its next leg towards the firmware at `now`, and on each further leg while
    /// `is_next` reports that no other event comes before the leg begins.
    #[inline]
    pub fn go_in(&mut self, index: u32, now: Ns, is_next: impl Fn(Ns) -> bool) -> Way {
        let slot = &mut self.slots[index as usize];
        let (op, bytes) = (slot.command.op.plain(), bytes_of(&slot.command));
        let mut at = now;
        if slot.leg == Leg::Submitted {
            let factor = self.jitter.as_mut().map(Jitter::factor);
            let from = self.pauses.as_ref().map_or(at, |pauses| pauses.clock(at));
            let done = match &mut self.processor {
                Some(processor) => processor.reserve(from, op, bytes, factor),
                None => from,
            };
            slot.ready = done + scaled(self.overhead.of(op, bytes), factor);
            slot.leg = Leg::Processor;
            at = at + (slot.ready - from);
            if at > now && !is_next(at) {
                return Way::After(at - now);
            }
        }
        if slot.leg == Leg::Processor {
            if let Some(pauses) = &mut self.pauses {
                if pauses.hold(index) {
                    return Way::Held;
                }
                let left = slot.ready.0.saturating_sub(pauses.clock(at).0);
                if left > 0 {
                    return Way::After(Ns(left));
                }
            }
            slot.leg = Leg::Throttle;
            if let Some(throttle) = &mut self.throttle {
                let wait = throttle.delay(at, op, bytes);
                at = at + wait;
                if wait > Ns(0) && !is_next(at) {
                    return Way::After(at - now);
                }
            }
        }
        if slot.leg == Leg::Throttle {
            slot.leg = Leg::LinkIn;
            // The command of a read travels with its data.
            if let Some(link) = self.link.as_mut().filter(|_| op != HostOp::Read) {
                let bytes = if op == HostOp::Write { bytes } else { 0 };
                let arrived = link.reserve(at, Direction::ToDrive, bytes);
                if arrived > at && !is_next(arrived) {
                    return Way::After(arrived - now);
                }
                at = arrived;
            }
        }
        if at > now {
            Way::Next(at - now)
        } else {
            Way::Arrived
        }
    }

    /// Whether pages that the drive moves take the cores of its controller.
    #[inline]
    pub fn moves_take_cores(&self) -> bool {
        self.processor.as_ref().is_some_and(Processor::moves)
    }

    /// The cores are to move this number of map units.
    pub fn order_moves(&mut self, now: Ns, count: u32) {
        let from = self.pauses.as_ref().map_or(now, |pauses| pauses.clock(now));
        self.processor.iter_mut().for_each(|processor| processor.order_moves(from, count));
    }

    /// Time until the cores have done the moves that were ordered, if no command comes meanwhile;
    /// `None` if they have.
    #[inline]
    pub fn moves_left(&mut self, now: Ns) -> Option<Ns> {
        let processor = self.processor.as_mut().filter(|processor| processor.moves())?;
        let from = self.pauses.as_ref().map_or(now, |pauses| pauses.clock(now));
        processor.moves_end(from).map(|end| end - from)
    }

    /// Whether blocked reads can halt the processor.
    #[inline]
    pub fn has_pauses(&self) -> bool {
        self.pauses.is_some()
    }

    /// The read of a slot waits for a die that programs or erases.
    pub fn block(&mut self, index: u32, now: Ns) {
        if let Some(pauses) = &mut self.pauses {
            pauses.block(index, now);
        }
    }

    /// The command of a slot does not wait for the flash any more. Returns the commands with which
    /// the processor now continues, in order.
    #[inline]
    pub fn unblock(&mut self, index: u32, now: Ns) -> VecDeque<u32> {
        self.pauses.as_mut().map_or_else(VecDeque::new, |pauses| pauses.end(index, now))
    }

    /// Sends a command that is served on its next leg towards the host at `now`: how long it takes,
    /// or `None` when the command is complete.
    #[inline]
    pub fn go_out(&mut self, index: u32, now: Ns) -> Option<Ns> {
        let slot = &mut self.slots[index as usize];
        if slot.leg < Leg::Decoder && slot.decode > Ns(0) {
            slot.leg = Leg::Decoder;
            return Some(slot.decode);
        }
        let link = self.link.as_mut()?;
        if slot.leg == Leg::LinkOut || slot.command.op != HostOp::Read {
            return None;
        }
        slot.leg = Leg::LinkOut;
        Some(link.reserve(now, Direction::ToHost, bytes_of(&slot.command)) - now)
    }

    /// The command of a slot waits for entries of the map.
    pub fn await_map(&mut self, index: u32, operations: u32) {
        let slot = &mut self.slots[index as usize];
        (slot.leg, slot.waits) = (Leg::Mapping, operations);
    }

    /// The entries of the map that the command of a slot waited for are there.
    pub fn end_mapping(&mut self, index: u32) {
        self.slots[index as usize].leg = Leg::Mapped;
    }

    /// The command of a slot waits for nothing in the flash any more.
    #[inline]
    pub fn serve(&mut self, index: u32) {
        self.slots[index as usize].leg = Leg::Served;
    }

    /// The leg that the command of a slot is on.
    #[inline]
    pub fn leg(&self, index: u32) -> Leg {
        self.slots[index as usize].leg
    }

    /// The command of a slot.
    #[inline]
    pub fn slot(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    /// Slots of the writes that wait for something in the drive.
    pub fn writes_under_way(&self) -> impl Iterator<Item = u32> + '_ {
        let waits = |slot: &Slot| slot.command.op == HostOp::Write && slot.waits > 0;
        (0..).zip(&self.slots).filter(move |(_, slot)| waits(slot)).map(|(index, _)| index)
    }

    /// Whether the command of a slot, if there is one, may complete before the flash has its data.
    #[inline]
    pub fn may_complete_in_memory(&self, index: u32) -> bool {
        self.writes_in_memory
            && self.slots.get(index as usize).is_some_and(|slot| !slot.command.is_fua)
    }

    /// Notes how the read of a page ended: `is_lost` if it cannot be corrected.
    #[inline]
    pub fn note_lost(&mut self, index: u32, is_lost: bool) {
        if is_lost {
            self.slots.get_mut(index as usize).into_iter().for_each(|slot| slot.is_lost = true);
        }
    }

    /// A command is complete, and its slot is free. Returns the command without its refused
    /// sectors, when it was submitted, and whether a page that it reads was lost.
    #[inline]
    pub fn release(&mut self, index: u32) -> (HostCommand, Ns, bool) {
        self.free_slots.push(index);
        let Slot { mut command, submitted, refused_sectors, is_lost, .. } =
            self.slots[index as usize];
        command.sector_count -= refused_sectors;
        (command, submitted, is_lost)
    }

    /// This number of bytes was programmed.
    #[inline]
    pub fn note_programmed(&mut self, now: Ns, bytes: u64) {
        if let Some(throttle) = &mut self.throttle {
            throttle.note_programmed(now, bytes);
        }
    }

    /// Time for which the link carried something, to the drive and to the host, if there is one.
    pub fn link_busy(&self) -> Option<[Ns; 2]> {
        self.link.as_ref().map(Link::busy)
    }

    /// Whether there are submission queues between which nothing ever had to be chosen.
    pub fn never_arbitrated(&self) -> bool {
        self.outside.is_idle()
    }

    /// The throttles, which outlive a path.
    pub fn throttle(&mut self) -> &mut Option<Throttle> {
        &mut self.throttle
    }
}

/// Data bytes of a command.
#[inline]
pub fn bytes_of(command: &HostCommand) -> u64 {
    u64::from(command.sector_count) * SECTOR_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(json: &str) -> HostPath {
        let config: HostConfig = crate::config::parse(json).expect("a host section");
        HostPath::new(&config, &[&Host { weight: 1, ..Host::default() }], 42, None)
    }

    #[test]
    fn an_ideal_host_takes_no_time_and_decoding_only_reads() {
        let mut path = path("{}");
        for (op, out) in [(HostOp::Read, Some(Ns(5000))), (HostOp::Write, None)] {
            let index = path.offer(&HostCommand::new(op, 0, 8), Ns(7)).expect("a slot is free");
            assert_eq!(path.go_in(index, Ns(7), |_| false), Way::Arrived);
            path.slot(index).decode = if op == HostOp::Read { Ns(5000) } else { Ns(0) };
            path.serve(index);
            assert_eq!(path.go_out(index, Ns(9)), out);
            assert_eq!(path.go_out(index, Ns(9)), None);
            assert_eq!(path.release(index).1, Ns(7));
        }
    }

    #[test]
    fn legs_follow_each_other_and_the_full_drive_lets_wait() {
        let mut path = path(
            r#"{"link": {"kind": "custom", "mb_s": 1000}, "command_overhead_us": 1,
                "queue_depth_max": 1}"#,
        );
        let write = HostCommand::new(HostOp::Write, 0, 8);
        let first = path.offer(&write, Ns(0)).expect("a slot is free");
        assert_eq!(path.offer(&write, Ns(3)), None);
        assert_eq!(
            (path.go_in(first, Ns(0), |_| false), path.leg(first)),
            (Way::After(Ns(1000)), Leg::Processor)
        );
        // 4096 bytes at 1000 MB/s.
        assert_eq!(
            (path.go_in(first, Ns(1000), |_| false), path.leg(first)),
            (Way::After(Ns(4096)), Leg::LinkIn)
        );
        assert_eq!(path.go_in(first, Ns(5096), |_| false), Way::Arrived);
        path.slot(first).refused_sectors = 3;
        path.serve(first);
        assert_eq!(path.go_out(first, Ns(5096)), None);
        let (command, submitted, _) = path.release(first);
        assert_eq!((command.sector_count, submitted), (5, Ns(0)));
        let second = path.admit_waiting().expect("one waits");
        assert_eq!(path.slot(second).submitted, Ns(3));
        assert_eq!(path.admit_waiting(), None);
    }
}
