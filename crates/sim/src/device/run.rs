//! A job under way: stages one after the other, in slices that may be cut anywhere.
//!
//! Everything that a slice needs lives in [`Run`], so `advance(1)` called often gives what one long
//! call gives: untimed stages move in whole chunks of commands, timed ones event by event, and
//! limits, samples and the steady-state watch look at commands only, never at slices.

use std::collections::VecDeque;

use serde::Serialize;

use super::backend::Observation;
use super::drive::{Drive, HostCounters};
use super::feed::Feed;
use super::series::Series;
use super::steady::SteadyWatch;
use super::timed::{Client, TimedStage};
use crate::ftl::FtlCounters;
use crate::op::{HostCommand, HostOp};
use crate::reads::ReadTally;
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::{Admission, Job, Limit, Stage};

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
    /// The hosts, by the number of their tenant; one in untimed stages.
    feeds: Vec<Feed>,
    is_begun: bool,
    /// No host may issue another command.
    is_closed: bool,
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

    fn begin_stage(&mut self, drive: &mut Drive, mut stage: Stage, measured: bool) {
        self.is_measuring = measured;
        let feeds: Vec<_> = stage.loads.drain(..).map(Feed::new).collect();
        let observation = if measured { drive.observation.clone() } else { Observation::default() };
        let timed = stage.timed.then(|| {
            let hosts: Vec<_> = feeds.iter().map(|feed| &feed.load.host).collect();
            Box::new(TimedStage::new(drive, &observation, &hosts))
        });
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
            feeds,
            is_begun: false,
            is_closed: false,
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
        drive.ftl.settle();
        drive.errors.settle();
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

    /// The measured stage, done or under way, if it is timed.
    pub(crate) fn timed_stage(&self) -> Option<&TimedStage> {
        self.timed.as_deref().or_else(|| self.partial()?.1)
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
        !(is_over || self.is_closed || self.is_steady)
    }

    #[inline]
    fn count(&mut self, command: &HostCommand) {
        let bytes = u64::from(command.sector_count) * SECTOR_BYTES;
        self.issued += 1;
        self.issued_bytes += bytes;
        self.written_bytes += if command.op == HostOp::Write { bytes } else { 0 };
    }

    /// The next command of a host within the limit.
    #[inline]
    fn next_command(&mut self, tenant: usize, now: Ns) -> Option<HostCommand> {
        if !self.is_open(now) || !self.feeds[tenant].refill() {
            return None;
        }
        let command = self.feeds[tenant].take();
        self.count(&command);
        Some(command)
    }

    /// One chunk of commands without time; true when the stage is over.
    fn advance_instant(&mut self, drive: &mut Drive) -> bool {
        if !self.is_open(Ns(0)) || !self.feeds[0].refill() {
            return true;
        }
        let first = self.feeds[0].batch_next;
        if let Limit::Ios(ios) = self.stage.limit {
            // The common case without a look at each command.
            let feed = &mut self.feeds[0];
            let count = (feed.batch.len() - first).min((ios - self.issued) as usize);
            feed.batch_next += count;
            self.issued += count as u64;
        } else {
            while self.feeds[0].batch_next < self.feeds[0].batch.len() && self.is_open(Ns(0)) {
                let command = self.feeds[0].take();
                self.count(&command);
            }
        }
        let Feed { load, batch, batch_next, .. } = &mut self.feeds[0];
        let generator = &mut load.generator;
        let outcome = drive
            .run_instant(&mut batch[first..*batch_next], |command| generator.retarget(command));
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
            is_over = timed.pump(drive, self, 64);
        }
        if is_over {
            self.note(drive, Some(&mut timed));
            drive.is_worn_out |= timed.is_worn_out;
        }
        self.timed = Some(timed);
        is_over
    }

    /// Fills the closed loops, and schedules the first arrivals.
    fn begin_timed(&mut self, drive: &mut Drive, timed: &mut TimedStage) {
        self.is_begun = true;
        for tenant in 0..self.feeds.len() {
            self.begin_burst(drive, timed, tenant);
        }
    }

    /// Fills the closed loop of a host, or schedules its first arrival.
    fn begin_burst(&mut self, drive: &mut Drive, timed: &mut TimedStage, tenant: usize) {
        match self.feeds[tenant].load.admission {
            Admission::Closed { queue_depth } => {
                (0..queue_depth).for_each(|_| self.issue(drive, timed, tenant));
            }
            Admission::Open => self.await_next(timed, tenant),
        }
    }

    /// Draws and submits the next command of a closed loop, if its burst and the limit allow one.
    #[inline]
    fn issue(&mut self, drive: &mut Drive, timed: &mut TimedStage, tenant: usize) {
        if self.feeds[tenant].load.bursts.is_some() && self.pauses(timed, tenant) {
            return;
        }
        if let Some(command) = self.next_command(tenant, timed.now()) {
            let feed = &mut self.feeds[tenant];
            feed.prefetch_ahead(drive);
            if let Some(bursts) = &mut feed.load.bursts {
                bursts.count(&command);
                feed.outstanding += 1;
            }
            self.submit(drive, timed, command);
        }
    }

    /// Whether the burst of a closed loop is over; schedules the next when nothing is outstanding.
    fn pauses(&mut self, timed: &mut TimedStage, tenant: usize) -> bool {
        let is_open = self.is_open(timed.now());
        let feed = &mut self.feeds[tenant];
        let Some(bursts) = &mut feed.load.bursts else { return false };
        if bursts.is_busy(timed.now()) {
            return false;
        }
        if feed.outstanding == 0 && is_open {
            let at = bursts.pause(timed.now());
            timed.await_arrival(tenant as u8, at);
        }
        true
    }

    #[inline]
    fn submit(&mut self, drive: &mut Drive, timed: &mut TimedStage, mut command: HostCommand) {
        let generator = &mut self.feeds[usize::from(command.tenant)].load.generator;
        TimedStage::aim(drive, &mut command, &mut |command| generator.retarget(command));
        timed.submit(drive, command);
        self.is_closed |= timed.is_worn_out;
    }

    /// Schedules the arrival of the next command of an open loop.
    fn await_next(&mut self, timed: &mut TimedStage, tenant: usize) {
        let Some(mut command) = self.next_command(tenant, timed.now()) else { return };
        let feed = &mut self.feeds[tenant];
        if let Some(bursts) = &mut feed.load.bursts {
            command.arrival = bursts.arrival(&command);
        }
        if matches!(self.stage.limit, Limit::Time(span) if command.arrival > span) {
            feed.is_exhausted = true;
            return;
        }
        feed.arriving = Some(command);
        timed.await_arrival(tenant as u8, command.arrival);
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
            self.is_closed |= commands >= STANDSTILL_COMMANDS;
        }
    }
}

impl Client for Current {
    fn completed(&mut self, drive: &mut Drive, timed: &mut TimedStage, tenant: usize) {
        let feed = &mut self.feeds[tenant];
        if feed.is_closed_loop() {
            feed.outstanding -= u32::from(feed.load.bursts.is_some());
            self.issue(drive, timed, tenant);
        }
        self.watch_standstill(timed);
        self.note(drive, Some(timed));
    }

    fn arrived(&mut self, drive: &mut Drive, timed: &mut TimedStage, tenant: usize) {
        match self.feeds[tenant].arriving.take() {
            Some(command) => {
                self.submit(drive, timed, command);
                self.await_next(timed, tenant);
            }
            None => self.begin_burst(drive, timed, tenant),
        }
        self.note(drive, Some(timed));
    }
}

pub(super) fn total(counts: &[u64]) -> u64 {
    counts.iter().sum()
}

/// Flash operations since the drive was made.
pub(super) fn flash_ops(drive: &Drive) -> u64 {
    let counters = drive.ftl.counters();
    total(&counters.programs) + total(&counters.reads) + total(&counters.erases)
}

/// What a slice is measured in.
pub(super) fn work_done(drive: &Drive) -> u64 {
    flash_ops(drive) + total(&drive.host.commands)
}

fn written_bytes(drive: &Drive) -> u64 {
    drive.host.sectors[1] * SECTOR_BYTES
}

fn programmed_bytes(drive: &Drive) -> u64 {
    let programs = total(&drive.ftl.counters().programs);
    drive.geometry.physical_pages_of(programs) * drive.geometry.page_bytes
}
