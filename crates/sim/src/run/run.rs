//! A running job: stages one after the other, in slices that may be cut anywhere.
//!
//! A stage is a [`Runner`] with a meter. Between two of them the drive is at rest, and what the
//! stage did is recorded: of preconditioning a line for the result's `state`, of the measured stage
//! its executor and its series.

use std::collections::VecDeque;

use serde::Serialize;

use super::feed::Feed;
use super::meter::{Meter, Sampling, StageMeter};
use super::runner::Runner;
use super::series::Series;
use super::steady::SteadyWatch;
use super::wear::{beyond_rating, set_age};
use crate::drive::{total, Drive, HostCounters, Placed};
use crate::ftl::zones::ZoneCounts;
use crate::ftl::{End, FtlCounters, HandleCounts};
use crate::op::SOURCE_COUNT;
use crate::reads::ReadTally;
use crate::timed::{Latencies, Observation, RequestRow, TimedStage, REST_MAX};
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::{Host, Job, Limit, Load, MergedPages, Split, Stage, StageIds, Wear};

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
    /// Whether the run has ended.
    pub finished: bool,
}

/// Counters when the measured stage began.
#[derive(Clone, Default)]
pub(crate) struct Baseline {
    pub(crate) host: HostCounters,
    pub(crate) ftl: FtlCounters,
    pub(crate) tally: ReadTally,
    pub(crate) buffered_pages: u64,
    /// By handle, see [`crate::ftl::Figures::handle_counts`].
    pub(crate) handles: Vec<HandleCounts>,
    /// Pages programmed in each namespace, by source.
    pub(crate) namespaces: Vec<[u64; SOURCE_COUNT]>,
    pub(crate) zones: ZoneCounts,
}

impl Baseline {
    pub(crate) fn of(drive: &Drive) -> Self {
        Self {
            host: drive.host,
            ftl: *drive.ftl.figures().counters(),
            tally: drive.errors.tally().clone(),
            buffered_pages: drive.buffered_pages() as u64,
            handles: drive.ftl.figures().handle_counts(),
            namespaces: drive.ftl.figures().partition_programs().to_vec(),
            zones: drive.ftl.zones().map_or_else(ZoneCounts::default, |zones| *zones.counts()),
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
    /// Mean WAF of the windows that agreed; absent if WAF did not become steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) steady_waf: Option<f64>,
    /// How long the drive rested; absent for stages with commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rest_s: Option<f64>,
    /// Blocks that failed before they had the wear that was set; absent for stages with commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed_blocks: Option<u32>,
}

/// The running stage.
struct Current {
    label: String,
    is_measured: bool,
    is_rest: bool,
    runner: Runner,
    start: Baseline,
}

/// See the module.
pub(crate) struct Run {
    stages: VecDeque<(Stage, bool)>,
    stage_count: usize,
    current: Option<Current>,
    sample_count: u64,
    observation: Observation,
    pub(crate) records: Vec<StageRecord>,
    pub(crate) resolved: serde_json::Value,
    warnings: Vec<String>,
    /// The hosts of the measured stage, with the volumes of their traces.
    hosts: Vec<Host>,
    /// Of a trace whose addresses were changed.
    pub(crate) merged_pages: Option<MergedPages>,
    /// The measured stage's start, once it began.
    pub(crate) baseline: Option<Baseline>,
    /// The series and the executor of the measured stage, once it has ended.
    measured: Option<(Series, Option<Box<TimedStage>>)>,
    start_ops: u64,
    start_ios: u64,
}

impl Run {
    /// A job before its first command, whose measured stage is watched as asked.
    pub(crate) fn new(job: Job, drive: &Drive, observation: Observation) -> Self {
        let loads = job.measured.iter().flat_map(|stage| &stage.loads);
        let hosts = loads.map(|load| load.host.clone()).collect();
        let mut stages: VecDeque<_> =
            job.precondition.into_iter().map(|stage| (stage, false)).collect();
        stages.extend(job.measured.map(|stage| (stage, true)));
        Self {
            stage_count: stages.len(),
            stages,
            current: None,
            sample_count: u64::from(job.sample_count.max(1)),
            observation,
            records: Vec::new(),
            resolved: job.resolved,
            warnings: job.warnings,
            hosts,
            merged_pages: None,
            baseline: None,
            measured: None,
            start_ops: drive.flash_ops(),
            start_ios: total(&drive.host.commands),
        }
    }

    /// Runs about `max_ops` flash operations and host commands further, at most to the end of the
    /// stage: the next one may be a hundred times slower; and at most until a batch of rows of
    /// requests is full.
    pub(crate) fn advance(&mut self, drive: &mut Drive, max_ops: u64) -> Progress {
        let goal = drive.work_done().saturating_add(max_ops.max(1));
        while drive.work_done() < goal && self.has_work(drive) {
            let current = self.current.as_mut().expect("has_work began a stage");
            if current.runner.advance(drive, goal, u64::MAX) {
                self.end_stage(drive);
                break;
            }
            if current.runner.stage().is_some_and(|stage| stage.host.ledger.is_log_full()) {
                break;
            }
        }
        self.progress(drive)
    }

    /// Whether a stage is running; begins the next one if there is one.
    fn has_work(&mut self, drive: &mut Drive) -> bool {
        while self.current.is_none() {
            let Some((stage, is_measured)) = self.stages.pop_front() else { break };
            match stage.wear {
                Some(wear) => self.age(drive, stage.label, wear),
                None => self.begin_stage(drive, stage, is_measured),
            }
        }
        self.current.is_some()
    }

    /// Carries out a stage that sets wear: at once.
    fn age(&mut self, drive: &mut Drive, label: String, wear: Wear) {
        let failed_blocks = set_age(drive, wear, drive.seed);
        self.warnings.extend(beyond_rating(drive, &label, wear));
        self.records.push(StageRecord {
            step: label,
            host_bytes_written: 0,
            waf: None,
            steady: None,
            steady_waf: None,
            rest_s: None,
            failed_blocks: Some(failed_blocks),
        });
    }

    fn begin_stage(&mut self, drive: &mut Drive, mut stage: Stage, is_measured: bool) {
        let page_sectors = (drive.geometry.page_bytes / SECTOR_BYTES) as u32;
        let transfer_max = drive.config.host.max_transfer_bytes;
        let split = |load: Load| match transfer_max {
            None => load,
            Some(bytes) => {
                let split = Split::new(load.generator, (bytes / SECTOR_BYTES) as u32);
                Load { generator: Box::new(split), ..load }
            }
        };
        let placed = |load: Load| match drive.placer.clone() {
            None => load,
            Some(placer) => {
                let generator = Box::new(Placed { inner: load.generator, placer, page_sectors });
                Load { generator, ..load }
            }
        };
        let feeds: Vec<_> = stage.loads.drain(..).map(split).map(placed).map(Feed::new).collect();
        let observation = if is_measured { &self.observation } else { &Observation::default() };
        let is_rest = feeds.is_empty();
        let nobody = Host { weight: 1, ..Host::default() };
        let mut timed = stage.timed.then(|| {
            let mut hosts: Vec<_> = feeds.iter().map(|feed| &feed.load.host).collect();
            hosts.extend(is_rest.then_some(&nobody));
            Box::new(TimedStage::new(drive, observation, &hosts, Latencies::Kept))
        });
        if let Some(timed) = timed.as_deref_mut().filter(|_| is_rest) {
            timed.begin_rest(drive, stage.limit);
        }
        let by_command = drive.placer.as_ref().map(|_| StageIds::Commands);
        drive.place(by_command.or(stage.ids.take()).as_ref());
        let start = Baseline::of(drive);
        let sampling = is_measured.then(|| Sampling {
            series: Series::new(drive, timed.as_deref()),
            count: self.sample_count,
            taken: 0,
            due: 0,
        });
        if is_measured {
            if let Some(slow) = &mut drive.slow {
                slow.configure(slow.setup(), drive.clock);
            }
            self.baseline = Some(start.clone());
            self.merged_pages = feeds.iter().find_map(|feed| feed.load.generator.merged_pages());
        }
        let watch = stage.until.map(|rule| {
            let (host, nand) = (drive.written_bytes(), drive.programmed_bytes());
            SteadyWatch::new(rule, host, nand, drive.raw_bytes())
        });
        let meter = Meter::Stage(Box::new(StageMeter::new(stage.limit, watch, sampling)));
        let runner = Runner::new(feeds, timed, meter);
        self.current = Some(Current { label: stage.label, is_measured, is_rest, runner, start });
    }

    fn end_stage(&mut self, drive: &mut Drive) {
        let Some(Current { label, is_rest, runner, start, is_measured }) = self.current.take()
        else {
            return;
        };
        if is_measured {
            self.warnings.extend(ended_early(&runner, drive));
            self.warnings.extend(tenants_ended(&runner));
            self.warnings.extend(overloads(&runner));
        }
        drive.ftl.finish(End::Stage);
        drive.rest();
        drive.errors.settle();
        if drive.is_worn_out {
            self.stages.clear();
        }
        let (meter, mut timed) = runner.into_parts();
        let mut span = timed.as_ref().map_or(Ns(0), |stage| stage.at_rest_since());
        let rests_until = meter.time_limit().filter(|_| is_rest);
        span = span.max(rests_until.unwrap_or(span));
        drive.clock = drive.clock + span;
        let Meter::Stage(meter) = meter else { return };
        let (is_steady, steady_waf) = (meter.is_steady(), meter.steady_waf());
        if let Some(series) = meter.into_series(drive, timed.as_deref_mut()) {
            self.measured = Some((series, timed));
            return;
        }
        let written = (drive.host.sectors[1] - start.host.sectors[1]) * SECTOR_BYTES;
        let page_bytes = drive.geometry.page_bytes as f64;
        let programs = drive.geometry.physical_pages_of(
            total(&drive.ftl.figures().counters().programs) - total(&start.ftl.programs),
        );
        if is_steady == Some(false) {
            self.warnings
                .push(format!("preconditioning stage `{label}` ended before WAF was steady"));
        }
        if is_rest && rests_until.is_none() && span >= REST_MAX {
            self.warnings.push(format!(
                "preconditioning stage `{label}` ended after an hour, before the drive was idle"
            ));
        }
        self.records.push(StageRecord {
            step: label,
            host_bytes_written: written,
            waf: (written > 0).then(|| programs as f64 * page_bytes / written as f64),
            steady: is_steady,
            steady_waf,
            rest_s: is_rest.then(|| span.as_seconds()),
            failed_blocks: None,
        });
    }

    /// Warnings for the user, up to now.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let under_way = self.current.as_ref().filter(|current| current.is_measured);
        let overloads = under_way.map_or_else(Vec::new, |current| overloads(&current.runner));
        [&self.warnings[..], &overloads].concat()
    }

    /// The hosts of the measured stage by the numbers that their commands carry.
    pub(crate) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Whether the measured stage has ended.
    pub(crate) fn is_measured_done(&self) -> bool {
        self.measured.is_some()
    }

    /// The measured stage, ended or running, if it began: its series, and its executor if it is
    /// timed.
    pub(crate) fn measured(&self) -> Option<(&Series, Option<&TimedStage>)> {
        if let Some((series, timed)) = &self.measured {
            return Some((series, timed.as_deref()));
        }
        let runner = &self.current.as_ref()?.runner;
        Some((runner.meter().stage()?.series()?, runner.stage()))
    }

    /// Exchanges the rows of requests for a vector without any; see [`RequestRow`].
    pub(crate) fn swap_requests(&mut self, rows: &mut Vec<RequestRow>) {
        let current = self.current.as_mut().filter(|current| current.is_measured);
        let stage = match &mut self.measured {
            Some((_, ended)) => ended.as_deref_mut(),
            None => current.and_then(|current| current.runner.stage_mut()),
        };
        rows.clear();
        if let Some(stage) = stage {
            stage.host.ledger.swap_requests(rows);
        }
    }

    pub(crate) fn progress(&self, drive: &Drive) -> Progress {
        let mut progress = Progress {
            stage_count: self.stage_count,
            host_ios: total(&drive.host.commands) - self.start_ios,
            flash_ops: drive.flash_ops() - self.start_ops,
            finished: self.current.is_none() && self.stages.is_empty(),
            ..Progress::default()
        };
        progress.stage_index =
            self.stage_count - self.stages.len() - usize::from(self.current.is_some());
        if let Some(current) = &self.current {
            let now = current.runner.now();
            if let Some(meter) = current.runner.meter().stage() {
                (progress.done, progress.total) = meter.extent(now);
            }
            progress.stage.clone_from(&current.label);
            progress.measured = current.is_measured;
            progress.simulated_ns = now.0;
        } else if let Some((next, is_measured)) = self.stages.front() {
            // Between two stages: the next one, of which nothing is done.
            progress.stage.clone_from(&next.label);
            progress.measured = *is_measured;
        }
        progress
    }
}

/// Hosts whose requests came faster than the drive serves them.
fn overloads(runner: &Runner) -> Vec<String> {
    let overload = |feed: &Feed| {
        let (offered, served, share) = feed.arrivals.overload(feed.outstanding)?;
        let who = match feed.load.host.name.as_str() {
            "" => String::new(),
            name => format!("tenant {name}: "),
        };
        let offered = if offered.is_finite() {
            format!("{} requests/s came", three_digits(offered))
        } else {
            format!("all {} requests came at once", feed.arrivals.count)
        };
        Some(format!(
            "{who}the drive is overloaded: {offered}, {}/s were served, and {:.0} % of \
             them still waited when the last one came; latency measures the length of the run, \
             not the drive",
            three_digits(served),
            100.0 * share
        ))
    };
    runner.feeds().iter().filter_map(overload).collect()
}

/// A trace that ended before the total that was asked for.
fn ended_early(runner: &Runner, drive: &Drive) -> Option<String> {
    let last_done = runner.stage().map_or(Ns(0), |stage| stage.host.ledger.tally.last_completion);
    let meter = runner.meter().stage()?;
    let (done, total) = meter.extent(last_done);
    let is_early = done < total && runner.feeds().iter().all(Feed::is_at_its_end);
    let (unit, what) = match meter.limit() {
        Limit::WrittenBytes(_) => {
            (drive.config.space().logical_bytes as f64, "drive writes of `total.drive_writes`")
        }
        Limit::Bytes(_) => (1.0, "bytes of `total.bytes`"),
        Limit::Ios(_) => (1.0, "requests of `total.ios`"),
        Limit::Time(_) => (1e9, "seconds of `total.seconds`"),
        Limit::Exhausted | Limit::Idle => return None,
    };
    let (done, total) = (done as f64, total as f64);
    let is_one = runner.feeds().iter().all(|feed| feed.load.host.trace.is_none());
    let (who, end) =
        if is_one { ("the trace", "it is") } else { ("the traces of tenants", "they are") };
    is_early.then(|| {
        format!(
            "{who} ended after {} of the {} {what} ({:.2} %): {end} not repeated",
            three_digits(done / unit),
            three_digits(total / unit),
            100.0 * done / total
        )
    })
}

/// Tenants whose traces ended before the run.
fn tenants_ended(runner: &Runner) -> Option<String> {
    let ledger = &runner.stage()?.host.ledger;
    let run = ledger.tally.last_completion;
    let ended = ledger.tenants.as_ref()?.ended_before(1.0 - ENDED_SHARE, run);
    let named = |(name, at): &(&str, Ns)| format!("{name} at {}", three_digits(at.as_seconds()));
    let mut list: Vec<_> = ended.iter().take(NAMES_MAX).map(named).collect();
    if ended.len() > NAMES_MAX {
        list.push(format!("{} more", ended.len() - NAMES_MAX));
    }
    (!ended.is_empty()).then(|| {
        format!(
            "traces of tenants ended before the run, at {} s: {} s; they are not repeated, and \
             their rates are over the whole run",
            three_digits(run.as_seconds()),
            list.join(", ")
        )
    })
}

/// Share of a run that may remain when a trace ends.
const ENDED_SHARE: f64 = 0.01;
/// Most names in a warning.
const NAMES_MAX: usize = 8;

/// A number with three digits, or those before its point.
fn three_digits(value: f64) -> String {
    let exponent = if value > 0.0 { libm::log10(value).floor() as i32 } else { 0 };
    let text = format!("{value:.*}", (2 - exponent).clamp(0, 12) as usize);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}
