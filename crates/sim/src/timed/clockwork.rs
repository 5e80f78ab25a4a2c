//! The clockwork of a timed stage: the event queue and the back end.
//!
//! If it is certain to happen next, it happens without an event:
//!
//! ```text
//! a command alone   submitted ─► controller ─► link ─► FTL       no event for legs on which
//!                                                                nothing else can happen
//! served at once    FTL ─► back to the host                      no event
//! a die             has nothing to collect ─► an operation ends  not asked a second time
//! pages             programmed, or in memory for that            their ends are one step
//! timers of a die   the host comes and goes                      one event, see `collector`
//! ```
//! The order of all steps is the same as with events, and so are the results. If operations are
//! watched, or if code other than a runner examines the stage between two steps, no event is left
//! out.

use super::backend::Backend;
use super::observation::Observation;
use crate::controller::plain::HOST_EVENT;
use crate::controller::Cut;
use crate::drive::Drive;
use crate::engine::Engine;
use crate::nand::BlockRest;
use crate::units::{DieId, Ns};

/// What an event is for, if not for the back end, which has codes for its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next command of a tenant arrives, or its pause has ended.
    Arrival(u8),
    /// A block may be due for refresh.
    Refresh,
    /// A patrol read is due.
    Patrol,
    /// The cores may have done the moves of collections.
    Moved,
    /// A die has been idle for a while.
    Idle(DieId),
    /// A program unit of a pool has waited for a while.
    Fill(DieId),
    /// The command of a slot has gone a leg of its way.
    Leg(u32),
}

impl Event {
    const ARRIVAL: u32 = HOST_EVENT;
    /// Tenants are fewer than the codes before it.
    const REFRESH: u32 = Self::ARRIVAL + 512;
    const PATROL: u32 = Self::REFRESH + 1;
    const MOVED: u32 = Self::PATROL + 1;
    const IDLE: u32 = HOST_EVENT + 1024;
    const FILL: u32 = Self::IDLE + (1 << 20);
    const LEG: u32 = HOST_EVENT + (1 << 21);

    /// The code of an event in the queue.
    #[inline]
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Arrival(tenant) => Self::ARRIVAL + u32::from(tenant),
            Self::Refresh => Self::REFRESH,
            Self::Patrol => Self::PATROL,
            Self::Moved => Self::MOVED,
            Self::Idle(die) => Self::IDLE + die.0,
            Self::Fill(die) => Self::FILL + die.0,
            Self::Leg(index) => Self::LEG + index,
        }
    }

    /// The event of a code that is none of the back end's.
    pub(super) fn of(code: u32) -> Self {
        match code {
            Self::LEG.. => Self::Leg(code - Self::LEG),
            Self::FILL.. => Self::Fill(DieId(code - Self::FILL)),
            Self::IDLE.. => Self::Idle(DieId(code - Self::IDLE)),
            Self::PATROL => Self::Patrol,
            Self::MOVED => Self::Moved,
            Self::REFRESH => Self::Refresh,
            _ => Self::Arrival((code - Self::ARRIVAL) as u8),
        }
    }

    /// The slot of the command that has gone a leg of its way, if this is the code of a leg: most
    /// often.
    #[inline]
    pub(super) fn leg_of(code: u32) -> Option<u32> {
        code.checked_sub(Self::LEG)
    }
}

/// See the module.
pub(crate) struct Clockwork {
    pub(super) engine: Engine,
    pub(crate) backend: Backend,
    /// A command that continues before the next event, and when.
    goes_next: Option<(u32, Ns)>,
    /// If it is certain to happen next, it happens without an event.
    pub(super) skips_events: bool,
    /// Whether commands come one at a time, each when the one before is complete.
    pub(super) comes_alone: bool,
}

impl Clockwork {
    /// Time zero, on the back end that the device needs.
    pub(super) fn new(drive: &Drive, observation: &Observation) -> Self {
        Self {
            engine: Engine::default(),
            backend: Backend::new(drive, observation),
            goes_next: None,
            skips_events: false,
            comes_alone: false,
        }
    }

    /// The simulated time.
    #[inline]
    pub(crate) fn now(&self) -> Ns {
        self.engine.now()
    }

    /// Schedules an event `after` from now.
    #[inline]
    pub(super) fn schedule(&mut self, after: Ns, event: Event) {
        self.engine.schedule(after, event.code());
    }

    /// The command that continues before the next event, if one does.
    #[inline]
    pub(super) fn take_next(&mut self) -> Option<u32> {
        let (index, at) = self.goes_next.take()?;
        self.engine.pass_to(at);
        Some(index)
    }

    /// Takes the command of this slot if it is the one that continues before the next event, at
    /// this instant, and no operation ends before it: then it is carried out in the same step.
    #[inline]
    pub(super) fn takes_at_once(&mut self, index: u32) -> bool {
        let is_next = self.goes_next == Some((index, self.now())) && !self.backend.has_completed();
        if is_next {
            self.goes_next = None;
        }
        is_next
    }

    /// Whether surely nothing happens until `at` but the next leg of a command that came alone.
    #[inline]
    pub(super) fn is_alone_until(&self, at: Ns) -> bool {
        self.comes_alone && !self.backend.has_completed() && self.engine.is_quiet_until(at)
    }

    /// A command continues after a while, in which [nothing else](Clockwork::is_alone_until)
    /// happens.
    #[inline]
    pub(super) fn go_on_next(&mut self, index: u32, span: Ns) {
        self.goes_next = Some((index, self.now() + span));
    }

    /// A command continues by an event at this instant, so that completions never nest.
    #[inline]
    pub(super) fn go_on_soon(&mut self, index: u32) {
        let now = self.now();
        let is_next =
            self.skips_events && self.goes_next.is_none() && self.engine.is_quiet_until(now);
        if is_next {
            self.goes_next = Some((index, now));
        } else {
            self.schedule(Ns(0), Event::Leg(index));
        }
    }

    /// When something happens next.
    pub(crate) fn next_at(&mut self) -> Option<Ns> {
        if self.backend.has_completed() {
            return Some(self.now());
        }
        self.engine.next_at()
    }

    /// Whether something happens up to and with `until`; so it is if an operation is done already.
    pub(crate) fn is_due(&mut self, until: Ns) -> bool {
        self.backend.has_completed() || self.engine.next_at().is_some_and(|at| at <= until)
    }

    /// How far the flash is with each of its blocks.
    pub(crate) fn rests(&self, drive: &Drive) -> Vec<BlockRest> {
        self.backend.cut(drive, &[], self.now()).rests
    }

    /// The power fails at a time before the next event: where the flash has got to.
    pub(crate) fn cut(&mut self, drive: &Drive, at: Ns) -> Cut {
        let now = at.max(self.now());
        let mut events = Vec::new();
        while let Some(code) = self.engine.take() {
            events.push((self.now(), code));
        }
        self.backend.cut(drive, &events, now)
    }
}
