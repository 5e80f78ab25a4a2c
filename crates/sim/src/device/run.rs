//! A job under way: stages one after the other, in slices that may be cut anywhere.
//!
//! Everything that a slice needs lives in [`Run`], so `advance(1)` called often gives what one long
//! call gives: untimed stages move in whole chunks of commands, timed ones event by event, and
//! limits, samples and the steady-state watch look at commands only, never at slices.

use std::collections::VecDeque;

use serde::Serialize;

use super::drive::{Drive, HostCounters};
use super::series::Series;
use super::steady::SteadyWatch;
use super::timed::{Step, TimedStage};
use crate::controller::ecc::ReadTally;
use crate::ftl::FtlCounters;
use crate::op::{HostCommand, HostOp};
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::{Admission, Job, Limit, Stage};

/// Commands that an untimed stage takes at once, and that are drawn ahead.
const CHUNK: usize = 1024;

/// A timed stage limited by time ends when so many commands complete without time passing.
const STANDSTILL_COMMANDS: u64 = 4_000_000;

/// How far a run is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Progress {
    /// Name of the stage.
    pub stage: String,
    /// Its number, from 0.
    pub stage_index: usize,
    /// Stages of the run.
    pub stage_count: usize,
    /// Whether this is the measured stage.
    pub measured: bool,
    /// How much of the stage is done, in the unit of its limit.
    pub done: u64,
    /// How much there is to do; 0 when unknown.
    pub total: u64,
    /// Simulated time of the stage.
    pub simulated_ns: u64,
    /// Host commands since the run began.
    pub host_ios: u64,
    /// Flash operations since the run began.
    pub flash_ops: u64,
    /// Whether the run is over.
    pub finished: bool,
}

/// Counters when the measured stage began.
#[derive(Clone, Default)]
pub(crate) struct Baseline {
    pub(crate) host: HostCounters,
    pub(crate) ftl: FtlCounters,
    pub(crate) tally: ReadTally,
    pub(crate) buffered_pages: u64,
}

impl Baseline {
    pub(crate) fn of(drive: &Drive) -> Self {
        Self {
            host: drive.host,
            ftl: *drive.ftl.counters(),
            tally: drive.errors.tally().clone(),
            buffered_pages: drive.buffered_pages() as u64,
        }
    }
}

/// What a preconditioning stage did, for the result's `state`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StageRecord {
    pub(crate) step: String,
    pub(crate) host_bytes_written: u64,
    pub(crate) waf: Option<f64>,
    /// Whether WAF became steady; absent for stages without that rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) steady: Option<bool>,
}

/// Points of the series and how many are taken.
struct Sampling {
    series: Series,
    count: u64,
    taken: u64,
}

/// The stage under way.
struct Current {
    stage: Stage,
    /// Commands drawn ahead, and the first that was not used yet.
    batch: Vec<HostCommand>,
    batch_next: usize,
    /// The command of an open loop whose arrival is scheduled.
    arriving: Option<HostCommand>,
    is_begun: bool,
    is_exhausted: bool,
    issued: u64,
    issued_bytes: u64,
    written_bytes: u64,
    watch: Option<SteadyWatch>,
    is_steady: bool,
    timed: Option<Box<TimedStage>>,
    start: Baseline,
    sampling: Option<Sampling>,
    standstill: (Ns, u64),
}

/// See the module.
pub(crate) struct Run {
    stages: VecDeque<(Stage, bool)>,
    stage_count: usize,
    current: Option<Current>,
    is_measuring: bool,
    sample_count: u64,
    pub(crate) records: Vec<StageRecord>,
    pub(crate) resolved: serde_json::Value,
    pub(crate) warnings: Vec<String>,
    /// The measured stage's start, once it began.
    pub(crate) baseline: Option<Baseline>,
    pub(crate) series: Option<Series>,
    pub(crate) timed: Option<Box<TimedStage>>,
    pub(crate) is_measured_done: bool,
    start_ops: u64,
    start_ios: u64,
}

impl Run {
    pub(crate) fn new(job: Job, drive: &Drive) -> Self {
        let mut stages: VecDeque<_> =
            job.precondition.into_iter().map(|stage| (stage, false)).collect();
        stages.extend(job.measured.map(|stage| (stage, true)));
        Self {
            stage_count: stages.len(),
            stages,
            current: None,
            is_measuring: false,
            sample_count: u64::from(job.sample_count.max(1)),
            records: Vec::new(),
            resolved: job.resolved,
            warnings: job.warnings,
            baseline: None,
            series: None,
            timed: None,
            is_measured_done: false,
            start_ops: flash_ops(drive),
            start_ios: drive.host.commands.iter().sum(),
        }
    }

    /// Runs about `max_ops` flash operations and host commands further, at most to the end of the
    /// stage: the next one may be a hundred times slower.
    pub(crate) fn advance(&mut self, drive: &mut Drive, max_ops: u64) -> Progress {
        let goal = work_done(drive).saturating_add(max_ops.max(1));
        while work_done(drive) < goal && self.has_work(drive) {
            let current = self.current.as_mut().expect("has_work began a stage");
            let is_over = if current.stage.timed {
                current.advance_timed(drive, goal)
            } else {
                current.advance_instant(drive)
            };
            if is_over {
                self.end_stage(drive);
                break;
            }
        }
        self.progress(drive)
    }

    /// Whether a stage is under way; begins the next one if there is one.
    fn has_work(&mut self, drive: &mut Drive) -> bool {
        if self.current.is_none() {
            if let Some((stage, measured)) = self.stages.pop_front() {
                self.begin_stage(drive, stage, measured);
            }
        }
        self.current.is_some()
    }

    fn begin_stage(&mut self, drive: &mut Drive, stage: Stage, measured: bool) {
        self.is_measuring = measured;
        let timed = stage.timed.then(|| Box::new(TimedStage::new(drive)));
        let start = Baseline::of(drive);
        let sampling = measured.then(|| Sampling {
            series: Series::new(drive, timed.as_deref()),
            count: self.sample_count,
            taken: 0,
        });
        if measured {
            self.baseline = Some(start.clone());
        }
        let totals = (written_bytes(drive), programmed_bytes(drive));
        self.current = Some(Current {
            watch: stage.until.map(|rule| SteadyWatch::new(rule, totals.0, totals.1)),
            stage,
            batch: Vec::with_capacity(CHUNK),
            batch_next: 0,
            arriving: None,
            is_begun: false,
            is_exhausted: false,
            issued: 0,
            issued_bytes: 0,
            written_bytes: 0,
            is_steady: false,
            timed,
            start,
            sampling,
            standstill: (Ns(0), 0),
        });
    }

    fn end_stage(&mut self, drive: &mut Drive) {
        let Some(mut current) = self.current.take() else { return };
        if drive.is_worn_out {
            self.stages.clear();
        }
        if let Some(mut sampling) = current.sampling.take() {
            if sampling.taken < sampling.count {
                sampling.series.sample(drive, current.timed.as_deref_mut());
            }
            self.is_measured_done = true;
            self.series = Some(sampling.series);
            self.timed = current.timed.take();
            return;
        }
        let written = (drive.host.sectors[1] - current.start.host.sectors[1]) * SECTOR_BYTES;
        let page_bytes = drive.geometry.page_bytes as f64;
        let programs = drive.geometry.physical_pages_of(
            total(&drive.ftl.counters().programs) - total(&current.start.ftl.programs),
        );
        let is_steady = current.watch.as_ref().map(|_| current.is_steady);
        if is_steady == Some(false) {
            self.warnings.push(format!(
                "preconditioning stage `{}` ended before WAF was steady",
                current.stage.label
            ));
        }
        self.records.push(StageRecord {
            step: current.stage.label,
            host_bytes_written: written,
            waf: (written > 0).then(|| programs as f64 * page_bytes / written as f64),
            steady: is_steady,
        });
    }

    /// The measured stage while it is under way, for a partial outcome.
    pub(crate) fn partial(&self) -> Option<(&Series, Option<&TimedStage>)> {
        let current = self.current.as_ref()?;
        Some((&current.sampling.as_ref()?.series, current.timed.as_deref()))
    }

    pub(crate) fn progress(&self, drive: &Drive) -> Progress {
        let mut progress = Progress {
            stage_count: self.stage_count,
            host_ios: drive.host.commands.iter().sum::<u64>() - self.start_ios,
            flash_ops: flash_ops(drive) - self.start_ops,
            finished: self.current.is_none() && self.stages.is_empty(),
            ..Progress::default()
        };
        progress.stage_index =
            self.stage_count - self.stages.len() - usize::from(self.current.is_some());
        if let Some(current) = &self.current {
            let now = current.timed.as_ref().map_or(Ns(0), |timed| timed.now());
            let (done, total) = current.extent(now);
            progress.stage.clone_from(&current.stage.label);
            progress.measured = self.is_measuring;
            (progress.done, progress.total) = (done, total);
            progress.simulated_ns = now.0;
        } else if let Some((next, measured)) = self.stages.front() {
            // Between two stages: the next one, of which nothing is done.
            progress.stage.clone_from(&next.label);
            progress.measured = *measured;
        }
        progress
    }
}

impl Current {
    /// How much of the stage was issued, in the unit of its limit, and how much there is.
    fn extent(&self, now: Ns) -> (u64, u64) {
        match self.stage.limit {
            Limit::WrittenBytes(bytes) => (self.written_bytes, bytes),
            Limit::Bytes(bytes) => (self.issued_bytes, bytes),
            Limit::Ios(ios) => (self.issued, ios),
            Limit::Time(span) => (now.0.min(span.0), span.0),
            Limit::Exhausted => (self.issued, 0),
        }
    }

    /// Whether the limit allows another command.
    fn is_open(&self, now: Ns) -> bool {
        let (done, total) = self.extent(now);
        let is_over = !matches!(self.stage.limit, Limit::Exhausted) && done >= total;
        !(is_over || self.is_exhausted || self.is_steady)
    }

    /// Draws commands ahead when none is left; false when the generator is exhausted.
    fn refill(&mut self) -> bool {
        if self.batch_next == self.batch.len() {
            self.batch.clear();
            self.batch_next = 0;
            self.stage.generator.fill(&mut self.batch, CHUNK);
            self.is_exhausted |= self.batch.is_empty();
        }
        !self.is_exhausted
    }

    #[inline]
    fn count(&mut self, command: &HostCommand) {
        let bytes = u64::from(command.sector_count) * SECTOR_BYTES;
        self.issued += 1;
        self.issued_bytes += bytes;
        self.written_bytes += if command.op == HostOp::Write { bytes } else { 0 };
    }

    /// The next command within the limit.
    #[inline]
    fn next_command(&mut self, now: Ns) -> Option<HostCommand> {
        if !self.is_open(now) || !self.refill() {
            return None;
        }
        let command = self.batch[self.batch_next];
        self.batch_next += 1;
        self.count(&command);
        Some(command)
    }

    /// Asks for what the next commands of a timed stage will touch.
    #[inline]
    fn prefetch_ahead(&self, drive: &Drive) {
        if let Some(coming) = self.batch.get(self.batch_next + 8) {
            drive.prefetch_entry(coming);
        }
        if let Some(coming) = self.batch.get(self.batch_next + 4) {
            drive.prefetch_page(coming);
        }
    }

    /// One chunk of commands without time; true when the stage is over.
    fn advance_instant(&mut self, drive: &mut Drive) -> bool {
        if !self.is_open(Ns(0)) || !self.refill() {
            return true;
        }
        let first = self.batch_next;
        if let Limit::Ios(ios) = self.stage.limit {
            // The common case without a look at each command.
            let count = (self.batch.len() - first).min((ios - self.issued) as usize);
            self.batch_next += count;
            self.issued += count as u64;
        } else {
            while self.batch_next < self.batch.len() && self.is_open(Ns(0)) {
                let command = self.batch[self.batch_next];
                self.batch_next += 1;
                self.count(&command);
            }
        }
        let chunk = &mut self.batch[first..self.batch_next];
        let generator = &mut self.stage.generator;
        let outcome = drive.run_instant(chunk, |command| generator.retarget(command));
        drive.is_worn_out |= outcome.is_err();
        self.note(drive, None);
        outcome.is_err()
    }

    /// Events until the goal; true when the stage is over.
    fn advance_timed(&mut self, drive: &mut Drive, goal: u64) -> bool {
        let mut timed = self.timed.take().expect("the stage is timed");
        if !self.is_begun {
            self.begin_timed(drive, &mut timed);
        }
        let mut is_over = false;
        while work_done(drive) < goal && !is_over {
            // Events are cheap beside a look at the counters.
            is_over = (0..64).any(|_| self.step_timed(drive, &mut timed) == Step::Idle);
        }
        if is_over {
            self.note(drive, Some(&mut timed));
            drive.is_worn_out |= timed.is_worn_out;
        }
        self.timed = Some(timed);
        is_over
    }

    /// Fills the closed loop, or schedules the first arrival.
    fn begin_timed(&mut self, drive: &mut Drive, timed: &mut TimedStage) {
        self.is_begun = true;
        match self.stage.admission {
            Admission::Closed { queue_depth } => {
                (0..queue_depth).for_each(|_| self.issue(drive, timed));
            }
            Admission::Open => self.await_next(timed),
        }
    }

    /// Draws and submits the next command of a closed loop, if the limit allows one.
    #[inline]
    fn issue(&mut self, drive: &mut Drive, timed: &mut TimedStage) {
        if let Some(command) = self.next_command(timed.now()) {
            self.prefetch_ahead(drive);
            self.submit(drive, timed, command);
        }
    }

    #[inline]
    fn submit(&mut self, drive: &mut Drive, timed: &mut TimedStage, mut command: HostCommand) {
        let generator = &mut self.stage.generator;
        TimedStage::aim(drive, &mut command, &mut |command| generator.retarget(command));
        timed.submit(drive, command);
        self.is_exhausted |= timed.is_worn_out;
    }

    /// Schedules the arrival of the next command of an open loop.
    fn await_next(&mut self, timed: &mut TimedStage) {
        let Some(command) = self.next_command(timed.now()) else { return };
        if matches!(self.stage.limit, Limit::Time(span) if command.arrival > span) {
            self.is_exhausted = true;
            return;
        }
        self.arriving = Some(command);
        timed.await_arrival(command.arrival);
    }

    #[inline]
    fn step_timed(&mut self, drive: &mut Drive, timed: &mut TimedStage) -> Step {
        let step = timed.step(drive);
        match step {
            Step::Internal | Step::Idle => return step,
            Step::Completed(_) => {
                if matches!(self.stage.admission, Admission::Closed { .. }) {
                    self.issue(drive, timed);
                }
                self.watch_standstill(timed);
            }
            Step::Arrived(_) => {
                let command = self.arriving.take().expect("an arrival was scheduled for a command");
                self.submit(drive, timed, command);
                self.await_next(timed);
            }
        }
        self.note(drive, Some(timed));
        step
    }

    /// Takes samples that are due, and asks whether WAF is steady.
    #[inline]
    fn note(&mut self, drive: &mut Drive, timed: Option<&mut TimedStage>) {
        if self.sampling.is_some() {
            self.sample(drive, timed);
        }
        if let Some(watch) = &mut self.watch {
            self.is_steady |= watch.note(written_bytes(drive), programmed_bytes(drive));
        }
    }

    fn sample(&mut self, drive: &mut Drive, timed: Option<&mut TimedStage>) {
        let now = timed.as_ref().map_or(Ns(0), |timed| timed.now());
        let (done, total) = self.extent(now);
        let sampling = self.sampling.as_mut().expect("called when sampling");
        let reached = |points: u64| {
            u128::from(done) * u128::from(sampling.count) >= u128::from(points) * u128::from(total)
        };
        if total > 0 && sampling.taken < sampling.count && reached(sampling.taken + 1) {
            sampling.taken =
                (u128::from(done) * u128::from(sampling.count) / u128::from(total)) as u64;
            sampling.series.sample(drive, timed);
        }
    }

    /// Ends a stage that is limited by time when no time passes: every command is served without
    /// flash.
    fn watch_standstill(&mut self, timed: &TimedStage) {
        let (since, commands) = self.standstill;
        if since != timed.now() {
            self.standstill = (timed.now(), 0);
        } else if matches!(self.stage.limit, Limit::Time(_)) {
            self.standstill.1 = commands + 1;
            self.is_exhausted |= commands >= STANDSTILL_COMMANDS;
        }
    }
}

fn total(counts: &[u64]) -> u64 {
    counts.iter().sum()
}

/// Flash operations since the drive was made.
fn flash_ops(drive: &Drive) -> u64 {
    let counters = drive.ftl.counters();
    total(&counters.programs) + total(&counters.reads) + total(&counters.erases)
}

/// What a slice is measured in.
fn work_done(drive: &Drive) -> u64 {
    flash_ops(drive) + total(&drive.host.commands)
}

fn written_bytes(drive: &Drive) -> u64 {
    drive.host.sectors[1] * SECTOR_BYTES
}

fn programmed_bytes(drive: &Drive) -> u64 {
    let programs = total(&drive.ftl.counters().programs);
    drive.geometry.physical_pages_of(programs) * drive.geometry.page_bytes
}
