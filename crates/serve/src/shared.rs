//! The state that the threads of a server share: the drive, the books, the clock, the connections.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opennandlab_sim::units::Ns;

use crate::capture::{Capture, Kind};
use crate::clock::Clock;
use crate::core::{Books, Core, Entry, Pending};
use crate::keeper::{sleep_exactly, Keeper, NEVER, TIMER};
use crate::pipe::Pipe;

/// See the module.
pub(crate) struct Shared {
    pub(crate) core: Mutex<Core>,
    pub(crate) books: Mutex<Books>,
    pub(crate) capture: Option<Mutex<Capture>>,
    pub(crate) clock: Clock,
    pub(crate) is_off: AtomicBool,
    pub(crate) keeper: Keeper,
    pub(crate) is_stopping: AtomicBool,
    pub(crate) connections: Mutex<Vec<(u64, Arc<Pipe>)>>,
    pub(crate) connection_count: AtomicUsize,
    pub(crate) accepted: AtomicU64,
    pub(crate) rejected: AtomicU64,
}

impl Shared {
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().expect("the drive was left half-changed by an internal error")
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what became of a request that changes the drive.
    pub(crate) fn capture(&self, kind: Kind, entry: &Entry, at: u64, data: &[u8]) {
        if let Some(capture) = &self.capture {
            let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
            let place = (entry.sequence, entry.connection);
            let at = self.clock.on_machine(at);
            capture.note(kind, place, (&entry.request, entry.errno), at, data);
        }
    }

    pub(crate) fn note_power(&self, kind: Kind, at: u64) {
        if let Some(capture) = &self.capture {
            let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
            capture.note_power(kind, self.clock.on_machine(at));
        }
    }

    pub(crate) fn pipes(&self) -> MutexGuard<'_, Vec<(u64, Arc<Pipe>)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the replies of completed requests.
    pub(crate) fn answer(&self, ready: &mut Vec<(Ns, Pending)>) {
        for (at, Pending { pipe, reply, held, mut entry, .. }) in ready.drain(..) {
            entry.times.target = self.clock.to_wall(at);
            self.capture(Kind::Answered, &entry, self.clock.now(), &[]);
            pipe.send(reply, held);
            entry.times.reply = self.clock.now();
            self.books().note(&entry);
        }
    }

    /// Notes when the drive has something to do next.
    pub(crate) fn plan(&self, who: u64, core: &mut Core) {
        self.keeper.plan(who, self.next_at(core));
    }

    /// Wall time at which the drive has something to do next.
    pub(crate) fn next_at(&self, core: &mut Core) -> u64 {
        core.session().next_at().map_or(NEVER, |at| self.clock.to_wall(at))
    }

    /// Advances the drive to the present time.
    pub(crate) fn go_on(&self, who: u64, ready: &mut Vec<(Ns, Pending)>) {
        let mut core = self.core();
        core.advance(self.clock.to_model(self.clock.now()), ready);
        self.plan(who, &mut core);
        drop(core);
        self.answer(ready);
    }

    /// The timer.
    pub(crate) fn keep_time(&self) {
        sleep_exactly();
        let mut ready = Vec::new();
        self.go_on(TIMER, &mut ready);
        while self.keeper.wait(&self.clock) {
            self.go_on(TIMER, &mut ready);
        }
    }
}
