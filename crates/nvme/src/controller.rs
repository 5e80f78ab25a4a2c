//! One association of a host: its properties, features, events and queues.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opennandlab_serve::pipe::Pipe;

use crate::features::Features;
use crate::news::News;
use crate::reply::Ticket;

/// Enabled, as a host writes it to the configuration and reads it in the status.
pub(crate) const ENABLED: u32 = 1;
/// In the configuration: the host shuts down.
const SHUTDOWN: u32 = 3 << 14;
/// And the status that this is done.
const SHUT_DOWN: u32 = 2 << 2;
/// Questions for events that wait at once.
pub(crate) const EVENTS_MAX: usize = 4;
/// An event of the health of the drive, whose log is 02h.
const HEALTH_EVENT: u64 = 1 | 0x02 << 16;
/// Of these the spare blocks; all others are its reliability.
const SPARE_EVENT: u64 = 2 << 8;

/// Who connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) id: [u8; 16],
    pub(crate) nqn: Vec<u8>,
}

/// Warnings that were reported to the host.
#[derive(Default)]
struct Told {
    warnings: u8,
    /// It has not read the log since.
    is_masked: bool,
}

/// What a host knows of zones that changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// Changes that it has read.
    pub(crate) seen: usize,
    /// Changes that were reported to it.
    pub(crate) told: usize,
    /// It has not read the log since.
    pub(crate) is_masked: bool,
}

/// What changes of a controller.
pub(crate) struct State {
    pub(crate) configuration: u32,
    pub(crate) status: u32,
    pub(crate) features: Features,
    /// Questions for events, oldest first.
    pub(crate) asked: Vec<Ticket>,
    told: Told,
    pub(crate) news: News,
    pub(crate) zones: Known,
    queues: BTreeMap<u16, Arc<Pipe>>,
}

/// See the module.
pub(crate) struct Controller {
    pub(crate) id: u16,
    pub(crate) host: Host,
    pub(crate) is_discovery: bool,
    state: Mutex<State>,
}

impl Controller {
    pub(crate) fn new(id: u16, host: Host, is_discovery: bool) -> Self {
        let state = State {
            configuration: 0,
            status: 0,
            features: Features::default(),
            asked: Vec::new(),
            told: Told::default(),
            news: News::default(),
            zones: Known::default(),
            queues: BTreeMap::new(),
        };
        Self { id, host, is_discovery, state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every queue.
    pub(crate) fn close(&self) {
        self.state().queues.values().for_each(|pipe| pipe.close());
    }
}

impl State {
    /// Gives a queue its connection; false when it has one.
    pub(crate) fn take(&mut self, queue: u16, pipe: Arc<Pipe>) -> bool {
        self.queues.insert(queue, pipe).map(|before| self.queues.insert(queue, before)).is_none()
    }

    /// The connection of a queue has ended; after a reset another one may have the queue.
    pub(crate) fn give_back(&mut self, queue: u16, pipe: &Arc<Pipe>) {
        if self.queues.get(&queue).is_some_and(|it| Arc::ptr_eq(it, pipe)) {
            self.queues.remove(&queue);
        }
    }

    /// The host writes the configuration; whether it shuts down.
    pub(crate) fn configure(&mut self, configuration: u32) -> bool {
        let before = std::mem::replace(&mut self.configuration, configuration);
        let (was_enabled, is_enabled) = (before & ENABLED != 0, configuration & ENABLED != 0);
        if was_enabled && !is_enabled {
            // A reset ends all I/O queues, and leaves the time of keeping alive.
            // The host may connect them again before their connections have ended.
            for (_, pipe) in self.queues.split_off(&1) {
                pipe.close();
            }
            let keep_alive_ms = self.features.keep_alive_ms;
            self.features = Features::default();
            self.features.keep_alive_ms = keep_alive_ms;
            self.asked.clear();
            self.told = Told::default();
            self.news = News::default();
            self.zones = Known { seen: self.zones.seen, ..Known::default() };
            self.status = 0;
        }
        if is_enabled {
            self.status |= ENABLED;
        }
        let shuts_down = configuration & SHUTDOWN != 0 && self.status & SHUT_DOWN == 0;
        if shuts_down {
            self.status |= SHUT_DOWN;
        }
        shuts_down
    }

    /// Whether it takes commands.
    pub(crate) fn is_enabled(&self) -> bool {
        self.status & ENABLED != 0
    }

    /// Whether queues may be connected.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_enabled() && self.status & SHUT_DOWN == 0
    }

    /// The drive warns of its health: the question that gets this, and its answer.
    pub(crate) fn warn(&mut self, warnings: u8) -> Option<(Ticket, u64)> {
        self.told.warnings &= warnings;
        let news = warnings & !self.told.warnings & self.features.events() as u8;
        if news == 0 || self.told.is_masked || self.asked.is_empty() {
            return None;
        }
        self.told = Told { warnings: self.told.warnings | news, is_masked: true };
        let kind = if news & 1 != 0 { SPARE_EVENT } else { 0 };
        Some((self.asked.remove(0), HEALTH_EVENT | kind))
    }

    /// Something else is new, when `sanitizes` have ended: the question that gets it, its answer.
    pub(crate) fn next_news(&mut self, sanitizes: u64) -> Option<(Ticket, u64)> {
        if self.asked.is_empty() {
            return None;
        }
        let event = self.news.next(self.features.events(), sanitizes)?;
        Some((self.asked.remove(0), event))
    }

    /// A sanitize that this controller began has ended: the same.
    pub(crate) fn note_sanitized(&mut self) -> Option<(Ticket, u64)> {
        if self.asked.is_empty() {
            return None;
        }
        let event = self.news.sanitized()?;
        Some((self.asked.remove(0), event))
    }

    /// The host has read the log of health, and new warnings are reported.
    pub(crate) fn unmask(&mut self) {
        self.told.is_masked = false;
    }
}
