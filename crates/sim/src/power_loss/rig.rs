//! A host and a drive until the power fails.
//!
//! The host keeps a number of requests in progress; the drive is a timed session, in front of which
//! the firmware of this room decides the meaning of a flush and a trim. The next event of the
//! drive, its records or a timer is handled first; the cut comes between two such events.

use super::guard::Guard;
use super::host_log::{HostLog, KnownPage, LoggedWrite, PageVersion};
use super::physics::brown_out;
use super::records::{Records, Trim, Writing};
use super::tally::Latency;
use super::wordlines::passes_of_block;
use super::workload::{Ask, Asking, Pattern};
use crate::drive::{FlushBehaviour, Plp, PowerLossConfig, Remains, SeqReorder, TrimLog};
use crate::nand::{Running, Unit};
use crate::rng::Rng;
use crate::session::{Done, Request, Session};
use crate::units::{Lpn, Ns};

/// From a request that the drive answers without doing anything to the answer.
const ANSWER: Ns = Ns(5_000);

/// Moments at which a cut is aimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Any time.
    Any,
    Moves,
    Erase,
    LaterPass,
    Journal,
    Checkpoint,
    /// The memory of the drive is full of data that is not on the flash.
    FullMemory,
}

/// An event with its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Ack(u64),
    Flush,
}

/// A drive with power, and what the host knows of it.
pub(super) struct Subject {
    pub(super) session: Session,
    pub(super) records: Records,
    pub(super) base: Vec<KnownPage>,
}

/// The remains of a cut, for the recovery and the judge.
pub(super) struct Aftermath {
    pub(super) remains: Remains,
    pub(super) running: Vec<Running>,
    /// Units in memory, which capacitors may save.
    pub(super) in_memory: Vec<Unit>,
    pub(super) records: Records,
    pub(super) torn_record: Option<Writing>,
    /// How long the drive had power.
    pub(super) powered: Ns,
}

/// A write or a trim in progress.
struct Changing {
    token: u64,
    pages: std::ops::Range<u32>,
}

/// A request in progress after which data must be kept.
struct Keeping {
    token: u64,
    is_flush: bool,
    issued: Ns,
}

/// See the module.
pub(super) struct Rig {
    session: Session,
    records: Records,
    config: PowerLossConfig,
    log: HostLog,
    asking: Asking,
    depth: usize,
    under_way: usize,
    /// Writes and trims in progress.
    changing: Vec<Changing>,
    /// A flush of a host that waits for it.
    is_barred: bool,
    waits_for_flush: bool,
    next_token: u64,
    timers: Vec<(Ns, Timer)>,
    now: Ns,
    capacity: usize,
    /// Order is kept by writes that complete when they are on the flash.
    is_write_through: bool,
    /// By row of a block, whether its program damages an earlier page; none without such passes.
    later_rows: Vec<bool>,
    /// Keeps earlier pages of wordlines safe.
    guard: Option<Guard>,
    /// Flushes and writes with force unit access in progress.
    keeping: Vec<Keeping>,
    /// Times of flushes.
    flushes: Latency,
}

impl Rig {
    /// Of a host that asks for the first `pages` of a drive.
    pub(super) fn new(
        subject: Subject,
        config: &PowerLossConfig,
        pattern: Pattern,
        pages: u32,
        rng: Rng,
    ) -> Self {
        let Subject { session, records, base } = subject;
        let asking = Asking::new(pattern, pages, rng);
        let passes = config.paired_scheme.passes();
        let later_rows = if passes > 1 {
            let rows = passes_of_block(session.rows_per_block(), passes);
            rows.into_iter().map(|it| it.pass > 0).collect()
        } else {
            Vec::new()
        };
        Self {
            later_rows,
            guard: Guard::new(&session, config, records.program_time()),
            keeping: Vec::new(),
            flushes: Latency::default(),
            capacity: session.memory_pages(),
            is_write_through: config.seq_reorder == SeqReorder::InOrder && !config.has_capacitors(),
            session,
            records,
            config: config.clone(),
            log: HostLog::new(base),
            asking,
            depth: pattern.depth(),
            under_way: 0,
            changing: Vec::new(),
            is_barred: false,
            waits_for_flush: pattern == Pattern::Sync,
            next_token: 0,
            timers: Vec::new(),
            now: Ns(0),
        }
    }

    /// Works until `end`, or from `end` on until the moment has come and then a share of `stay`
    /// longer; gives up waiting for it after ten times as long.
    pub(super) fn run(&mut self, end: Ns, moment: Moment, stay: Ns, share: f64) -> Ns {
        let mut end = end;
        let mut moment = if self.can_come(moment) { moment } else { Moment::Any };
        let mut is_asked = false;
        let patience = Ns(end.0.saturating_mul(10).max(10_000_000));
        let mut done = Vec::new();
        loop {
            self.fill(&mut done);
            self.take_done(&mut done);
            let timer = self.timers.iter().map(|&(at, _)| at).min();
            let events = [self.session.next_at(), self.records.next_at(), timer];
            let Some(next) = events.into_iter().flatten().min() else { return end };
            if moment == Moment::Any && next > end {
                self.now = end;
                return end;
            }
            self.now = self.now.max(next);
            self.session.advance(next, &mut done);
            if self.records.next_at().is_some_and(|at| at <= next) {
                for trim in self.records.advance(next) {
                    self.begin_trim(&trim, &mut done);
                }
            }
            self.take_done(&mut done);
            self.run_timers(&mut done);
            if moment != Moment::Any && self.now >= end {
                if moment == Moment::Checkpoint && !is_asked {
                    // The firmware may write one at any time; it does so when one is waited for.
                    self.records.write_checkpoint(&self.session, self.now);
                    is_asked = true;
                }
                if self.is_at(moment) {
                    moment = Moment::Any;
                    end = self.now + Ns((stay.0 as f64 * share) as u64);
                } else if self.now > patience {
                    (moment, end) = (Moment::Any, self.now);
                }
            }
        }
    }

    /// How long a checkpoint and its root take.
    pub(super) fn checkpoint_and_root_time(&self) -> Ns {
        self.records.checkpoint_and_root_time()
    }

    /// Requests that were acknowledged.
    pub(super) fn acked(&self) -> u64 {
        self.log.acked_requests
    }

    /// Operations against the rules of the flash: none, or the simulator is wrong.
    pub(super) fn broken_rules(&self) -> u64 {
        self.session.broken_rules()
    }

    /// Whether no event will come although requests are in progress: the drive hangs.
    pub(super) fn hangs(&mut self) -> bool {
        self.under_way > 0
            && self.session.next_at().is_none()
            && self.timers.is_empty()
            && self.records.next_at().is_none()
    }

    /// Pages that were programmed or left empty to keep others safe.
    pub(super) fn guard_pages(&self) -> u64 {
        self.guard.as_ref().map_or(0, |guard| guard.pages)
    }

    /// Times from request to acknowledgement of flushes.
    pub(super) fn flushes(&self) -> Latency {
        self.flushes
    }

    pub(super) fn now(&self) -> Ns {
        self.now
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// Whether a drive like this knows a moment.
    fn can_come(&self, moment: Moment) -> bool {
        let has_types = self.session.has_page_types();
        moment != Moment::LaterPass || has_types || !self.later_rows.is_empty()
    }

    fn is_at(&self, moment: Moment) -> bool {
        let working = || self.session.working();
        match moment {
            Moment::Any => true,
            Moment::Moves => working().moves,
            Moment::Erase => working().erases,
            Moment::LaterPass if self.later_rows.is_empty() => working().later_pass,
            Moment::LaterPass => self.session.programs_row(|row| self.later_rows[row as usize]),
            Moment::Journal => self.records.writing() == Some(Writing::Journal),
            Moment::Checkpoint => {
                matches!(self.records.writing(), Some(Writing::Checkpoint | Writing::Root))
            }
            Moment::FullMemory => {
                self.session.staged_pages() * 2 >= self.capacity.clamp(1, 2 * self.depth)
            }
        }
    }

    fn fill(&mut self, done: &mut Vec<Done>) {
        // A host has `depth` requests in progress; those that take no time count too, so this ends.
        while self.under_way < self.depth && !self.is_barred {
            let ask = self.asking.next();
            self.ask(ask, done);
        }
    }

    fn ask(&mut self, ask: Ask, done: &mut Vec<Done>) {
        let token = self.next_token;
        self.next_token += 1;
        self.under_way += 1;
        match ask {
            Ask::Write { first, count, is_fua } if self.is_free(first, count) => {
                self.write(token, first, count, is_fua, done);
            }
            Ask::Trim { first, count } if self.is_free(first, count) => {
                self.changing.push(Changing { token, pages: first..first + count });
                let pages: Vec<PageVersion> = (first..first + count)
                    .filter(|&lpn| self.session.holds(Lpn(lpn)))
                    .map(|lpn| PageVersion { lpn, version: self.session.version(Lpn(lpn)) + 1 })
                    .collect();
                let like = LoggedWrite {
                    token,
                    issued: self.now,
                    is_trim: true,
                    ..LoggedWrite::default()
                };
                self.log.note_ask(like, pages.iter().copied());
                let trim = Trim { token, first, count, pages };
                match self.config.trim_log {
                    TrimLog::Persistent => self.records.write_trim(trim, self.now),
                    TrimLog::Volatile => self.begin_trim(&trim, done),
                }
            }
            // A page that is being written or trimmed, the host only reads.
            Ask::Read { first, count }
            | Ask::Write { first, count, .. }
            | Ask::Trim { first, count } => {
                let (offset, length) = self.range(first, count);
                self.begin(token, Request::Read { offset, length }, done);
            }
            Ask::Flush => {
                self.is_barred = self.waits_for_flush;
                self.log.note_flush(token);
                self.keeping.push(Keeping { token, is_flush: true, issued: self.now });
                match self.config.flush {
                    FlushBehaviour::Honest => self.begin(token, Request::Flush, done),
                    FlushBehaviour::Ignored => {
                        self.timers.push((self.now + ANSWER, Timer::Ack(token)));
                    }
                    FlushBehaviour::Delayed { delayed_ms } => {
                        self.timers.push((self.now + ANSWER, Timer::Ack(token)));
                        let later = self.now + Ns((delayed_ms * 1e6) as u64);
                        self.timers.push((later, Timer::Flush));
                    }
                }
                self.records.write_changes(&self.session, self.now);
            }
        }
    }

    fn write(&mut self, token: u64, first: u32, count: u32, is_fua: bool, done: &mut Vec<Done>) {
        self.changing.push(Changing { token, pages: first..first + count });
        let (offset, length) = self.range(first, count);
        let is_through = is_fua || self.is_write_through || self.charges();
        let request = Request::Zero { offset, length, is_fua: is_through, is_allocated: true };
        if is_fua {
            self.keeping.push(Keeping { token, is_flush: false, issued: self.now });
        }
        self.begin(token, request, done);
        let pages = first..first + count;
        let version = |lpn| PageVersion { lpn, version: self.session.version(Lpn(lpn)) };
        let like = LoggedWrite { token, issued: self.now, is_fua, ..LoggedWrite::default() };
        self.log.note_ask(like, pages.clone().map(version));
        for lpn in pages {
            self.records.wrote(&self.session, lpn, self.now);
        }
    }

    /// Offset and length of pages in bytes.
    fn range(&self, first: u32, count: u32) -> (u64, u64) {
        let unit = self.session.unit_bytes();
        (u64::from(first) * unit, u64::from(count) * unit)
    }

    /// Whether the capacitors charge still, and the drive waits for them.
    fn charges(&self) -> bool {
        match self.config.plp {
            Plp::Capacitor { charge_ms, early_ack: false, .. } => {
                (self.now.0 as f64) < charge_ms * 1e6
            }
            _ => false,
        }
    }

    /// Whether no write or trim of these pages is in progress: a host does not let such overlap.
    fn is_free(&self, first: u32, count: u32) -> bool {
        let mut ranges = self.changing.iter().map(|it| &it.pages);
        !ranges.any(|its| its.start < first + count && first < its.end)
    }

    fn begin(&mut self, token: u64, request: Request, done: &mut Vec<Done>) {
        if self.session.begin(self.now, token, request, done).is_err() {
            // Worn out: the request is refused at once, and nothing was acknowledged.
            self.under_way -= 1;
        }
    }

    fn begin_trim(&mut self, trim: &Trim, done: &mut Vec<Done>) {
        let (offset, length) = self.range(trim.first, trim.count);
        let request = Request::Trim { offset, length };
        self.begin(trim.token, request, done);
    }

    fn run_timers(&mut self, done: &mut Vec<Done>) {
        let now = self.now;
        while let Some(place) = self.timers.iter().position(|&(at, _)| at <= now) {
            match self.timers.swap_remove(place).1 {
                Timer::Ack(token) => self.acked_at(token, now),
                Timer::Flush => {
                    // No host request waits for it.
                    self.under_way += 1;
                    self.next_token += 1;
                    self.begin(self.next_token - 1, Request::Flush, done);
                }
            }
        }
    }

    /// The drive has completed a request; it is acknowledged when its data is safe from later
    /// passes too.
    fn done_at(&mut self, token: u64, at: Ns) {
        let keeps = self.keeping.iter().any(|it| it.token == token);
        let later = match &mut self.guard {
            Some(guard) if keeps => guard.keep(&self.session),
            _ => Ns(0),
        };
        if later.0 > 0 {
            self.timers.push((self.now.max(at + later), Timer::Ack(token)));
        } else {
            self.acked_at(token, at);
        }
    }

    fn acked_at(&mut self, token: u64, at: Ns) {
        if let Some(place) = self.keeping.iter().position(|it| it.token == token) {
            let Keeping { is_flush, issued, .. } = self.keeping.swap_remove(place);
            if is_flush {
                self.flushes.note(at - issued);
            }
        }
        self.log.note_ack(token, at);
        self.changing.retain(|its| its.token != token);
        self.under_way -= 1;
        self.is_barred = false;
    }

    fn take_done(&mut self, done: &mut Vec<Done>) {
        for it in done.drain(..) {
            if it.refusal.is_none() {
                self.done_at(it.token, it.at);
            } else {
                // The host sees the refusal and relies on nothing of the request; it continues.
                self.changing.retain(|its| its.token != it.token);
                self.keeping.retain(|its| its.token != it.token);
                self.under_way -= 1;
                self.is_barred = false;
            }
        }
    }

    /// The power fails at a time that [`Rig::run`] has come to; the host keeps its log.
    pub(super) fn cut(mut self, at: Ns) -> (Aftermath, HostLog) {
        let torn_record = self.records.cut();
        let (remains, mut running, in_memory) = self.session.cut(at);
        brown_out(&mut running, Ns::from_us(self.config.ramp_us));
        let records = self.records;
        let left = Aftermath { remains, running, in_memory, records, torn_record, powered: at };
        (left, self.log)
    }
}

/// Pages that capacitors program after `powered` with power, of a drive whose program takes
/// `program` and holds `units` pages; `None` without them.
pub fn pages_saved(plp: Plp, powered: Ns, program: Ns, units: u32) -> Option<usize> {
    let Plp::Capacitor { energy_mj, aged, program_mw, charge_ms, .. } = plp else { return None };
    let charge = if charge_ms > 0.0 { (powered.0 as f64 * 1e-6 / charge_ms).min(1.0) } else { 1.0 };
    let page_mj = program_mw * program.0 as f64 * 1e-9;
    Some((energy_mj * aged * charge / page_mj) as usize * units as usize)
}
