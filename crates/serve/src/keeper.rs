//! Keeps time: advances the drive when its next event is due.
//!
//! ```text
//! reader of a connection   request ─► drive ─► waits for its client, and meanwhile keeps time
//! other readers            wait for their clients; ring when an event is due earlier
//! timer                    keeps time when no reader does
//! ```
//! One thread at a time is the holder. A reader that waits for its client has nothing else to do,
//! so with one connection a request, the drive and the reply need one thread: no other thread is
//! woken for a request, and on two cores the client has the other. A sleep ends late, so the holder
//! sleeps until shortly before the event, and examines its socket and the clock in turns for the
//! rest. A reader whose request plans the next event becomes the holder, so that an idle connection
//! that was it costs the others no wake-up.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::clock::Clock;

/// No event is planned.
pub const NEVER: u64 = u64::MAX;
/// The thread that keeps time when no reader does.
pub const TIMER: u64 = 0;
/// How late a sleep may end: measured 16 to 46 us on an idle virtual machine, 99 of 100 times.
const SPIN_NS: u64 = 50_000;
/// Longest sleep; a thread that plans an earlier event rings.
const SLEEP_NS_MAX: u64 = 1_000_000_000;

/// See the module.
pub struct Keeper {
    holder: AtomicU64,
    /// Wall time of the next event; changes under the lock of the drive alone.
    planned: AtomicU64,
    is_stopping: AtomicBool,
    /// Whether another thread rang for the timer.
    alarm: (Mutex<bool>, Condvar),
    /// Rings for a reader: a byte written to the first wakes the thread that polls the second.
    bell: (UnixStream, UnixStream),
}

impl Keeper {
    /// No event is planned.
    ///
    /// # Errors
    /// When no pair of sockets can be made.
    pub fn new() -> io::Result<Self> {
        let bell = UnixStream::pair()?;
        bell.0.set_nonblocking(true)?;
        bell.1.set_nonblocking(true)?;
        Ok(Self {
            holder: AtomicU64::new(TIMER),
            planned: AtomicU64::new(NEVER),
            is_stopping: AtomicBool::new(false),
            alarm: (Mutex::new(false), Condvar::new()),
            bell,
        })
    }

    /// The next event is at this wall time, as `who` knows, which has locked the drive.
    pub fn plan(&self, who: u64, next: u64) {
        let before = self.planned.swap(next, Ordering::SeqCst);
        if next < before && self.holder.load(Ordering::SeqCst) != who {
            self.ring();
        }
    }

    /// Plans as [`Keeper::plan`] does. If the event is earlier, the reader is the holder now: it
    /// continues with [`Keeper::take`] or [`Keeper::leave`] in a moment.
    pub fn plan_and_take(&self, reader: u64, next: u64) {
        if next < self.planned.swap(next, Ordering::SeqCst) {
            // The one before is replaced, which it finds when it wakes.
            self.holder.store(reader, Ordering::SeqCst);
        }
    }

    /// Whether the next event is due.
    pub fn is_due(&self, clock: &Clock) -> bool {
        let planned = self.planned.load(Ordering::SeqCst);
        planned != NEVER && planned <= clock.now()
    }

    /// Makes a reader the holder, unless another one is; whether it is the holder now.
    pub fn take(&self, reader: u64) -> bool {
        let taken = self.holder.compare_exchange(TIMER, reader, Ordering::SeqCst, Ordering::SeqCst);
        taken.is_ok() || taken == Err(reader)
    }

    /// A reader does not keep time any more, if it did.
    pub fn leave(&self, reader: u64) {
        let left = self.holder.compare_exchange(reader, TIMER, Ordering::SeqCst, Ordering::SeqCst);
        if left.is_ok() {
            self.ring();
        }
    }

    /// Lets the holder look again when the next event is.
    fn ring(&self) {
        if self.holder.load(Ordering::SeqCst) == TIMER {
            let mut is_rung = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
            *is_rung = true;
            self.alarm.1.notify_one();
        } else {
            // A bell that is full wakes the holder without another byte.
            let _ = (&self.bell.0).write(&[1]);
        }
    }

    /// Ends all waiting.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        *self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.alarm.1.notify_one();
    }

    /// The holder waits a moment, until its client has sent something, an event is due, or another
    /// thread rings.
    pub fn pause(&self, clock: &Clock, client: BorrowedFd) {
        let left = self.planned.load(Ordering::SeqCst).saturating_sub(clock.now());
        if left <= SPIN_NS {
            std::hint::spin_loop();
            return;
        }
        let span = Duration::from_nanos((left - SPIN_NS).min(SLEEP_NS_MAX));
        let span = Timespec::try_from(span).ok();
        let mut both = [
            PollFd::from_borrowed_fd(client, PollFlags::IN),
            PollFd::from_borrowed_fd(self.bell.1.as_fd(), PollFlags::IN),
        ];
        let _ = poll(&mut both, span.as_ref());
        if !both[1].revents().is_empty() {
            let _ = (&self.bell.1).read(&mut [0; 64]);
        }
    }

    /// The timer waits until an event is due and no reader keeps time; false when the server stops.
    pub fn wait(&self, clock: &Clock) -> bool {
        while !self.is_stopping.load(Ordering::SeqCst) {
            let left = if self.holder.load(Ordering::SeqCst) == TIMER {
                self.planned.load(Ordering::SeqCst).saturating_sub(clock.now())
            } else {
                NEVER
            };
            if left == 0 {
                return true;
            }
            if left <= SPIN_NS {
                std::hint::spin_loop();
                continue;
            }
            let mut is_rung = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !*is_rung {
                let span = Duration::from_nanos((left - SPIN_NS).min(SLEEP_NS_MAX));
                let waited = self.alarm.1.wait_timeout(is_rung, span);
                is_rung = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            *is_rung = false;
        }
        false
    }
}

/// Lets the sleeps of this thread end as exactly as the machine can; the default of Linux adds up
/// to 50 us.
pub fn sleep_exactly() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_that_plans_the_next_event_keeps_time() {
        let keeper = Keeper::new().expect("sockets");
        keeper.plan_and_take(1, 500);
        assert!(keeper.take(1) && !keeper.take(2));
        keeper.plan_and_take(2, 900);
        assert!(keeper.take(1), "a later event changes nothing");
        keeper.plan_and_take(2, 400);
        assert!(keeper.take(2) && !keeper.take(1));
        keeper.plan(TIMER, 100);
        assert!(keeper.take(2), "others ring for the holder");
        keeper.leave(1);
        assert!(!keeper.take(1), "only the holder can leave");
        keeper.leave(2);
        assert!(keeper.take(1));
    }
}
