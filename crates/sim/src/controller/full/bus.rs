//! A channel: one transfer at a time, dies served in order of asking.
//!
//! Where host reads go before other work on their die they do so here too, every other time, and so
//! does the data of a die that a host read waits for: it waits for one transfer of a collection and
//! not for those of all dies, and none of these waits more than twice as long.
//!
//! Commands to planes that read by themselves go before data that waits, also right behind the data
//! of their plane. Otherwise such planes fall into step: each would wait, before its next sense,
//! until the data of others is out.

use std::collections::VecDeque;

use crate::units::Ns;

/// What a die uses the channel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Command and address cycles before the array starts.
    Command,
    /// Data into the register.
    In,
    /// Data out of the register.
    Out,
    /// Command and address cycles before the array of this plane starts.
    PlaneCommand(u8),
    /// Data out of the register of this plane.
    PlaneOut(u8),
}

/// A use that waits or is in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) die: u32,
    pub(super) to: Use,
    /// Whether it goes before others.
    pub(super) is_first: bool,
    pub(super) time: Ns,
    pub(super) asked: Ns,
    pub(super) started: Ns,
}

impl Request {
    /// Whether it is for data out of the register of a plane.
    #[inline]
    pub(super) fn is_out_of_plane(&self) -> bool {
        matches!(self.to, Use::PlaneOut(_))
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Channel {
    pub(super) current: Option<Request>,
    waiting: VecDeque<Request>,
    /// Those that go before others.
    first: VecDeque<Request>,
    /// The last of them has gone before one that waits.
    has_overtaken: bool,
    pub(super) busy: Ns,
}

impl Channel {
    /// Asks for the channel; true if the use starts now.
    #[inline]
    pub(super) fn ask(&mut self, mut request: Request) -> bool {
        let is_waited_for = !self.waiting.is_empty() || !self.first.is_empty();
        if self.current.is_some() || is_waited_for && !is_plane_command(&request) {
            if is_plane_command(&request) {
                let before = self.waiting.iter().take_while(|&other| is_plane_command(other));
                let place = before.count();
                self.waiting.insert(place, request);
            } else if request.is_first {
                self.first.push_back(request);
            } else {
                self.waiting.push_back(request);
            }
            return false;
        }
        request.started = request.asked;
        self.current = Some(request);
        true
    }

    /// A host read waits for a die: data on its way into it or out of it goes before others.
    pub(super) fn promote(&mut self, die: u32) {
        let is_data = |to| matches!(to, Use::In | Use::Out);
        let is_it = |request: &Request| request.die == die && is_data(request.to);
        let found = self.waiting.iter().position(is_it);
        self.first.extend(found.and_then(|place| self.waiting.remove(place)));
    }

    /// The current use has ended; the next one is still to start.
    #[inline]
    pub(super) fn release(&mut self) -> Request {
        let done = self.current.take().expect("a use was under way");
        self.busy = self.busy + done.time;
        done
    }

    /// The next use starts, if any waits and none is in progress.
    #[inline]
    pub(super) fn start_next(&mut self, now: Ns) -> Option<Request> {
        if self.current.is_some() {
            return None;
        }
        if self.waiting.is_empty() && self.first.is_empty() {
            self.has_overtaken = false;
            return None;
        }
        self.start_waiting(now)
    }

    /// The next of those that wait starts.
    fn start_waiting(&mut self, now: Ns) -> Option<Request> {
        let is_command = self.waiting.front().is_some_and(is_plane_command);
        let others_wait = !self.waiting.is_empty();
        let is_others_turn = is_command || self.has_overtaken && others_wait;
        let first = if is_others_turn { None } else { self.first.pop_front() };
        self.has_overtaken = first.is_some() && others_wait || is_command && self.has_overtaken;
        let next = first.or_else(|| self.waiting.pop_front());
        self.current = next.map(|next| Request { started: now, ..next });
        self.current
    }
}

fn is_plane_command(request: &Request) -> bool {
    matches!(request.to, Use::PlaneCommand(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(die: u32, to: Use, is_first: bool) -> Request {
        Request { die, to, is_first, time: Ns(10), asked: Ns(0), started: Ns(0) }
    }

    /// The dies in the order in which they get the channel.
    fn order(channel: &mut Channel) -> Vec<u32> {
        let mut dies = Vec::new();
        while let Some(current) = channel.current {
            dies.push(current.die);
            channel.release();
            channel.start_next(Ns(0));
        }
        dies
    }

    #[test]
    fn host_reads_go_first_every_other_time() {
        let mut channel = Channel::default();
        for die in 0..4 {
            channel.ask(request(die, Use::In, false));
        }
        for die in 10..13 {
            channel.ask(request(die, Use::Out, true));
        }
        channel.ask(request(20, Use::PlaneCommand(0), false));
        // Die 0 has it; the command goes before all, the reads before every other transfer.
        assert_eq!(order(&mut channel), [0, 20, 10, 1, 11, 2, 12, 3]);
        assert_eq!(channel.busy, Ns(80));
    }

    #[test]
    fn data_of_a_die_that_a_read_waits_for_goes_first() {
        let mut channel = Channel::default();
        for die in 0..4 {
            channel.ask(request(die, Use::In, false));
        }
        channel.promote(3);
        channel.promote(9);
        assert_eq!(order(&mut channel), [0, 3, 1, 2]);
    }

    #[test]
    fn without_reads_that_go_first_dies_are_served_in_order() {
        let mut channel = Channel::default();
        for die in [3, 1, 2, 0] {
            channel.ask(request(die, Use::Out, false));
        }
        assert_eq!(order(&mut channel), [3, 1, 2, 0]);
    }
}
