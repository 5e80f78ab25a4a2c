//! A channel: one transfer at a time, dies served in order of asking.

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
        if self.current.is_some() {
            self.waiting.push_back(request);
            return false;
        }
        request.started = request.asked;
        self.current = Some(request);
        true
    }

    /// The use under way is over; the next one starts, if any waits.
    #[inline]
    pub(super) fn release(&mut self, now: Ns) -> (Request, Option<Request>) {
        let done = self.current.take().expect("a use was under way");
        self.busy = self.busy + done.time;
        self.current = self.waiting.pop_front().map(|next| Request { started: now, ..next });
        (done, self.current)
    }
}
