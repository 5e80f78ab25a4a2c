//! A channel: one transfer at a time, dies served in order of asking.
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

/// A use that waits or is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) die: u32,
    pub(super) to: Use,
    pub(super) time: Ns,
    pub(super) asked: Ns,
    pub(super) started: Ns,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Channel {
    pub(super) current: Option<Request>,
    waiting: VecDeque<Request>,
    pub(super) busy: Ns,
}

impl Channel {
    /// Asks for the channel; true if the use starts now.
    #[inline]
    pub(super) fn ask(&mut self, mut request: Request) -> bool {
        let is_plane_command = |of: &Request| matches!(of.to, Use::PlaneCommand(_));
        if self.current.is_some() || !self.waiting.is_empty() && !is_plane_command(&request) {
            if is_plane_command(&request) {
                let before = self.waiting.iter().take_while(|other| is_plane_command(other));
                let place = before.count();
                self.waiting.insert(place, request);
            } else {
                self.waiting.push_back(request);
            }
            return false;
        }
        request.started = request.asked;
        self.current = Some(request);
        true
    }

    /// The use under way is over; the next one is still to start.
    #[inline]
    pub(super) fn release(&mut self) -> Request {
        let done = self.current.take().expect("a use was under way");
        self.busy = self.busy + done.time;
        done
    }

    /// The next use starts, if any waits and none is under way.
    #[inline]
    pub(super) fn start_next(&mut self, now: Ns) -> Option<Request> {
        if self.current.is_some() {
            return None;
        }
        self.current = self.waiting.pop_front().map(|next| Request { started: now, ..next });
        self.current
    }
}
