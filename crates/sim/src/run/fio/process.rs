//! A process of fio: when it issues which request, and when it ends.
//!
//! ```text
//! before ──► running ──► ending: the queue empties, a flush ──► next pass, or over
//!              │ ▲
//!              └─┘ pause (rate, thinktime): the queue empties, then the time passes
//! ```
//! It knows no drive: its runner asks for the next [`Action`] at its begin, after each completion
//! and when a time that it asked for has come, until there is nothing to do.

use super::record::Record;
use crate::op::{HostCommand, HostOp};
use crate::rng::Rng;
use crate::timed::Completion;
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::fio::{JobSpec, Kinds, Source, READ, WRITE};

const SECOND_NS: u64 = 1_000_000_000;
/// A job ends here at the latest: after 36 years.
const LATEST: u64 = 1 << 60;

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A request.
    Submit(HostCommand),
    /// Nothing until this time, unless a request completes before.
    Wait(Ns),
    /// Nothing until a request completes.
    Nothing,
}

/// Where a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Running,
    Ending,
    Over,
}

/// Why it pauses: until a time, or for a time from when the queue is empty.
#[derive(Clone, Copy, Debug)]
enum Pause {
    Until(u64),
    For(u64),
}

/// See the module.
#[allow(clippy::struct_excessive_bools)] // they are independent
pub(super) struct Process {
    pub(super) spec: JobSpec,
    source: Source,
    tenant: u8,
    phase: Phase,
    /// When it began, and when its counts and its schedule begin: after the ramp.
    begun: Ns,
    epoch: Ns,
    is_ramp: bool,
    ended: Ns,
    pass_begun: Ns,
    passes_left: u32,
    outstanding: u32,
    has_flush: bool,
    /// The pass ended with its flush.
    is_flushed: bool,
    was_write: bool,
    /// Issued since the epoch, by direction.
    issued: [u64; 3],
    /// Bytes issued ever, and in this pass.
    issued_bytes: [u64; 3],
    pass_bytes: u64,
    /// Completed since the epoch, and whether something was in this pass.
    completed: u64,
    is_fruitful: bool,
    /// When the next request of a direction is due, from the epoch on; bytes since then.
    due: [f64; 3],
    rate_bytes: [u64; 3],
    /// Time of pauses that the schedule of the next request leaves out.
    moved: [f64; 3],
    /// The direction of the last request.
    last: usize,
    rate_rng: Rng,
    pause: Option<Pause>,
    /// The direction that waited for its time.
    held: Option<usize>,
    /// Requests and the time at the last pause.
    thought: (u64, Ns),
    pub(super) record: Record,
}

impl Process {
    pub(super) fn new(spec: JobSpec, tenant: u8, seed: u64) -> Self {
        Self {
            source: Source::new(&spec, seed),
            tenant,
            phase: Phase::Before,
            begun: Ns(0),
            epoch: Ns(0),
            is_ramp: spec.ramp_ns > 0,
            ended: Ns(0),
            pass_begun: Ns(0),
            passes_left: spec.loops,
            outstanding: 0,
            has_flush: false,
            is_flushed: false,
            was_write: false,
            issued: [0; 3],
            issued_bytes: [0; 3],
            pass_bytes: 0,
            completed: 0,
            is_fruitful: false,
            due: [0.0; 3],
            rate_bytes: [0; 3],
            moved: [0.0; 3],
            last: READ,
            rate_rng: Rng::stream(seed, &format!("fio.{}.rate", spec.name)),
            pause: None,
            held: None,
            thought: (0, Ns(0)),
            record: Record::new(&spec.windows_ns, spec.keeps_all),
            spec,
        }
    }

    pub(super) fn is_before(&self) -> bool {
        self.phase == Phase::Before
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// When it began, when its counts began, and when it ended.
    pub(super) fn times(&self) -> [Ns; 3] {
        [self.begun, self.epoch, self.ended]
    }

    /// Its share that is done, by the limit that is nearest; 1 at its end.
    pub(super) fn fraction(&self, now: Ns) -> f64 {
        let part = |done: u64, all: u64| if all == 0 { 0.0 } else { done as f64 / all as f64 };
        if self.is_over() {
            return 1.0;
        }
        if self.is_before() {
            return 0.0;
        }
        let spec = &self.spec;
        let time = part((now - self.begun).0, spec.ramp_ns + spec.runtime_ns);
        let by_time = if spec.runtime_ns > 0 { time } else { 0.0 };
        let bytes = part(spec.counted(&self.issued_bytes), spec.bytes_max());
        let by_count = bytes.max(part(self.completed, spec.number_ios * u64::from(spec.loops)));
        by_time.max(if spec.is_time_based { 0.0 } else { by_count }).min(1.0)
    }

    pub(super) fn begin(&mut self, now: Ns) {
        self.phase = Phase::Running;
        (self.begun, self.epoch, self.pass_begun) = (now, now, now);
        self.thought = (0, now);
        self.passes_left = self.passes_left.saturating_sub(1);
    }

    /// No further request is issued.
    pub(super) fn terminate(&mut self) {
        if self.phase == Phase::Running {
            self.phase = Phase::Ending;
        }
        if self.phase == Phase::Before {
            self.phase = Phase::Over;
        }
        (self.passes_left, self.is_fruitful) = (0, false);
        self.spec.is_time_based = false;
    }

    /// The end of the ramp, if it has come: counts and schedules begin again.
    pub(super) fn pass_ramp(&mut self, now: Ns) -> bool {
        if !self.is_ramp || self.is_before() || (now - self.begun).0 < self.spec.ramp_ns {
            return false;
        }
        self.is_ramp = false;
        self.epoch = Ns(self.begun.0 + self.spec.ramp_ns);
        self.pass_begun = self.epoch;
        self.issued = [0; 3];
        self.completed = 0;
        (self.due, self.rate_bytes, self.moved) = ([0.0; 3], [0; 3], [0.0; 3]);
        self.thought = (0, self.epoch);
        true
    }

    /// A request of it is complete.
    pub(super) fn completed(&mut self, now: Ns, done: &Completion) {
        self.outstanding -= 1;
        if done.kind < 3 {
            self.completed += 1;
            self.is_fruitful = true;
        } else {
            self.has_flush = false;
        }
        // The flush at the end of a pass is none of fio's counts.
        let is_last_flush = done.kind == 3 && self.is_flushed;
        if !self.is_ramp && !is_last_flush {
            self.record.completed(now - self.epoch, done);
        }
    }

    /// Its next action at this time.
    pub(super) fn next(&mut self, now: Ns) -> Action {
        if self.is_over() || self.is_before() {
            return Action::Nothing;
        }
        if self.has_flush && !self.spec.flushes_beside {
            return Action::Nothing;
        }
        if self.phase == Phase::Running && self.is_at_limit(now) {
            self.phase = Phase::Ending;
        }
        if self.phase == Phase::Ending {
            return self.end_pass(now);
        }
        if self.pause.is_none() && self.thinks(now) {
            self.pause = Some(Pause::For(self.spec.think.ns));
        }
        if let Some(action) = self.paused(now) {
            return action;
        }
        if self.outstanding >= self.spec.depth {
            return Action::Nothing;
        }
        let in_flight = self.completed + u64::from(self.outstanding);
        let most = self.spec.number_ios.saturating_mul(self.spec.loops.into());
        if most > 0 && in_flight >= most && !self.spec.is_time_based {
            // Completions of a flush are no requests.
            self.phase = Phase::Ending;
            return self.end_pass(now);
        }
        if self.is_flush_due() {
            self.was_write = false;
            return self.submit(HostCommand::new(HostOp::Flush, 0, 0));
        }
        let kind = match self.held.take() {
            Some(kind) => kind,
            None => match self.scheduled(now) {
                Ok(kind) => kind,
                Err(action) => return action,
            },
        };
        self.request(kind, now)
    }

    fn is_at_limit(&self, now: Ns) -> bool {
        let spec = &self.spec;
        let is_late = spec.runtime_ns > 0
            && !self.is_ramp
            && (now.0 - self.epoch.0.min(now.0)) >= spec.runtime_ns;
        let has_bytes = spec.counted(&self.issued_bytes) >= spec.bytes_max();
        let is_full = has_bytes || self.pass_bytes >= self.pass_bytes_max();
        is_late || (!spec.is_time_based && is_full)
    }

    /// Bytes of a pass; a pair of trim and write counts both.
    fn pass_bytes_max(&self) -> u64 {
        let once = self.spec.pass_bytes();
        if self.spec.kinds == Kinds::TrimWrite {
            once.saturating_add(self.spec.size)
        } else {
            once
        }
    }

    fn is_flush_due(&self) -> bool {
        let (every, writes) = (self.spec.flush_every, self.issued[WRITE]);
        every > 0 && self.was_write && writes > 0 && writes.is_multiple_of(every)
    }

    /// Whether a pause of `thinktime` begins.
    fn thinks(&mut self, now: Ns) -> bool {
        let think = self.spec.think;
        if think.ns == 0 {
            return false;
        }
        let count = if think.by_issue { self.issued.iter().sum() } else { self.completed };
        let is_late = think.every_ns > 0 && (now - self.thought.1).0 >= think.every_ns;
        is_late || (think.blocks > 0 && count >= self.thought.0 + think.blocks)
    }

    /// The action in a pause; `None` when there is none, or when it has ended.
    fn paused(&mut self, now: Ns) -> Option<Action> {
        let pause = self.pause?;
        if self.outstanding > 0 {
            return Some(Action::Nothing);
        }
        let end = match self.spec.runtime_ns {
            0 => LATEST,
            _ if self.is_ramp => LATEST,
            runtime => LATEST.min(self.epoch.0.saturating_add(runtime)),
        };
        let until = match pause {
            Pause::Until(at) => at,
            Pause::For(span) => {
                self.forget_missed(span);
                now.0.saturating_add(span)
            }
        };
        let until = until.min(end);
        self.pause = Some(Pause::Until(until));
        if now.0 < until {
            return Some(Action::Wait(Ns(until)));
        }
        self.pause = None;
        if self.held.is_none() {
            let think = self.spec.think;
            let count = if think.by_issue { self.issued.iter().sum() } else { self.completed };
            self.thought = (count, now);
        }
        (now.0 >= end).then(|| {
            self.phase = Phase::Ending;
            self.end_pass(now)
        })
    }

    /// A pause of `thinktime` moves the schedule of the last direction, if it shall.
    fn forget_missed(&mut self, span: u64) {
        let kind = self.last;
        let (rate, gap) = self.rate(kind);
        if !self.spec.rate_ignores_think || rate == 0.0 {
            return;
        }
        if self.is_by_request(kind) {
            self.moved[kind] += span as f64;
        } else {
            // fio counts the bytes of the pause as sent, but for those of a request if it had one.
            let missed = rate * span as f64 / SECOND_NS as f64;
            let over = if gap <= span as f64 { self.spec.sizes[kind].min } else { 0 };
            self.rate_bytes[kind] += (missed as u64).saturating_sub(over);
        }
    }

    /// Bytes a second of a direction and the time of its smallest request; 0 for no schedule.
    fn rate(&self, kind: usize) -> (f64, f64) {
        let (rate, iops) = (self.spec.rate[kind], self.spec.rate_iops[kind]);
        let smallest = self.spec.sizes[kind].min as f64;
        if rate > 0 {
            (rate as f64, SECOND_NS as f64 * smallest / rate as f64)
        } else if iops > 0 {
            (iops as f64 * smallest, SECOND_NS as f64 / iops as f64)
        } else {
            (0.0, 0.0)
        }
    }

    /// Whether requests have their times whatever their size is; else `rate_iops` counts them as
    /// fio does, in requests of the smallest size.
    fn is_by_request(&self, kind: usize) -> bool {
        let has_split = !self.spec.sizes[kind].split.is_empty();
        self.spec.is_poisson || (self.spec.rate[kind] == 0 && has_split)
    }

    /// The direction of the next request, by the schedule of `rate`; or the wait for it.
    fn scheduled(&mut self, now: Ns) -> Result<usize, Action> {
        let kind = self.source.kind();
        if self.spec.rate == [0; 3] && self.spec.rate_iops == [0; 3] {
            return Ok(kind);
        }
        let since = (now.0 - self.epoch.0.min(now.0)) as f64;
        if self.due[kind] <= since {
            return Ok(kind);
        }
        let other = kind ^ 1;
        let can_swap = self.spec.kinds == Kinds::Mixed
            && [self.spec.read_pct, 100 - self.spec.read_pct][other & 1] > 0;
        if can_swap && self.due[other] <= since {
            return Ok(other);
        }
        let first = if can_swap && self.due[other] < self.due[kind] { other } else { kind };
        self.held = Some(first);
        let at = self.epoch.0.saturating_add(libm::ceil(self.due[first]) as u64);
        self.pause = Some(Pause::Until(at));
        Err(self.paused(now).unwrap_or(Action::Wait(Ns(at))))
    }

    /// Moves the schedule behind a request.
    fn schedule(&mut self, kind: usize, bytes: u64) {
        let (rate, gap) = self.rate(kind);
        if rate == 0.0 {
            return;
        }
        self.rate_bytes[kind] += bytes;
        if self.is_by_request(kind) {
            let share = if self.spec.is_poisson { self.rate_rng.exponential() } else { 1.0 };
            self.due[kind] += gap * share + std::mem::take(&mut self.moved[kind]);
        } else {
            self.due[kind] = SECOND_NS as f64 * self.rate_bytes[kind] as f64 / rate;
        }
    }

    fn request(&mut self, kind: usize, now: Ns) -> Action {
        let Some(draw) = self.source.draw(kind) else {
            self.phase = Phase::Ending;
            return self.end_pass(now);
        };
        self.issued[kind] += 1;
        self.issued_bytes[kind] += draw.bytes;
        self.pass_bytes += draw.bytes;
        (self.was_write, self.last) = (kind == WRITE, kind);
        self.schedule(kind, draw.bytes);
        let op = match kind {
            READ => HostOp::Read,
            WRITE => HostOp::Write,
            _ => HostOp::Trim,
        };
        let sector = (self.spec.offset + draw.at) / SECTOR_BYTES;
        let command = HostCommand::new(op, sector, (draw.bytes / SECTOR_BYTES) as u32);
        let is_fua = self.spec.is_fua && kind == WRITE;
        self.submit(HostCommand { is_fua, placement: draw.handle, ..command })
    }

    fn submit(&mut self, command: HostCommand) -> Action {
        self.outstanding += 1;
        if command.op == HostOp::Flush {
            self.has_flush = true;
        } else if !self.is_ramp {
            self.record.issued(self.outstanding);
        }
        Action::Submit(HostCommand { tenant: self.tenant, ..command })
    }

    /// The queue empties; then comes the flush at the end, and another pass or none.
    fn end_pass(&mut self, now: Ns) -> Action {
        if self.outstanding > 0 {
            return Action::Nothing;
        }
        if self.spec.ends_with_flush && self.spec.writes() && !self.is_flushed {
            self.is_flushed = true;
            return self.submit(HostCommand::new(HostOp::Flush, 0, 0));
        }
        if !self.is_ramp {
            self.record.pass_ended(Ns(now.0 - self.pass_begun.0.min(now.0)));
        }
        if !self.has_another_pass(now) {
            self.phase = Phase::Over;
            self.ended = now;
            return Action::Nothing;
        }
        self.phase = Phase::Running;
        (self.pass_begun, self.pass_bytes) = (now, 0);
        (self.is_fruitful, self.is_flushed) = (false, false);
        (self.pause, self.held) = (None, None);
        self.source.begin_pass();
        self.next(now)
    }

    fn has_another_pass(&mut self, now: Ns) -> bool {
        let spec = &self.spec;
        let is_late = spec.runtime_ns > 0
            && !self.is_ramp
            && now.0 - self.epoch.0.min(now.0) >= spec.runtime_ns;
        if is_late || !self.is_fruitful {
            return false;
        }
        if spec.is_time_based {
            return true;
        }
        if self.passes_left > 0 {
            self.passes_left -= 1;
            return true;
        }
        let most = spec.number_ios.saturating_mul(spec.loops.into());
        if most > 0 && self.completed >= most {
            return false;
        }
        let left = spec.bytes_max().saturating_sub(spec.counted(&self.issued_bytes));
        // The rest would not hold the largest request.
        spec.io_size > 0 && left > 0 && left >= spec.request_bytes_max()
    }
}
