//! One stimulus on the drive as it is, or a time without any: the runner of a cell, in slices like
//! a run.
//!
//! A cell begins and ends with an idle drive. When its limit is reached, no further command is
//! issued, and outstanding commands are carried out but not counted. Nothing here examines every
//! page or every block: a cell of 200 commands on a large drive costs what 200 commands cost.
//!
//! Randomness follows from the state of the drive and the seed of the cell alone: victim policies
//! and read errors get streams of that seed. What the timed executor holds (queues, the last
//! direction of the link, the idle timers of dies) starts from its initial state; the write buffer,
//! the caches and the throttles belong to the drive and keep their state.
//!
//! In an idle time dies collect and fold as between two bursts of a host (`idle_collection`, and
//! steps below the soft limit); a drive that does neither just lets its throttles recover. The cost
//! follows from the work done in it, not from its length.

use serde_json::{json, Value};

use super::feed::Feed;
use super::meter::{CellMeter, Meter};
use super::run::Progress;
use super::runner::Runner;
use super::window::Window;
use crate::drive::{total, Counts, Drive, HostCounters};
use crate::ftl::{End, FtlCounters};
use crate::op::{SOURCE_COUNT, SOURCE_NAMES};
use crate::timed::TimedStage;
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::cell::Cell;
use crate::workload::{Admission, Host, Limit, Load};

/// What an untimed slice is measured in: commands at once.
const UNITS_OF_PROGRESS: f64 = 1e6;
/// Largest gap that Little's law may show; it is exact but for the rounding of two sums.
const LITTLES_LAW_TOLERANCE: f64 = 1e-9;

/// See the module.
pub(crate) struct CellRun {
    cell: Cell,
    runner: Runner,
    is_done: bool,
    /// When the drive fell idle.
    idle_since: Option<Ns>,
    start: (HostCounters, FtlCounters),
    lost_before: u64,
    /// What became of every written unit is counted from here.
    counts: Counts,
    start_ops: u64,
}

impl CellRun {
    /// Prepares a cell on an idle drive; its draws follow from `seed`.
    pub(crate) fn new(cell: Cell, drive: &mut Drive, seed: u64) -> Self {
        drive.reseed(seed);
        let is_timed = cell.spec().is_measured;
        // The threads of the host; one without a clock.
        let feeds: Vec<_> = if is_timed {
            cell.loads(seed).into_iter().map(Feed::new).collect()
        } else {
            let admission = Admission::Closed { queue_depth: 1 };
            vec![Feed::new(Load::new(cell.generator(seed), admission))]
        };
        let stage = is_timed.then(|| {
            let hosts: Vec<_> = feeds.iter().map(|feed| &feed.load.host).collect();
            Box::new(TimedStage::of_cell(drive, &hosts))
        });
        let mut window = Window::new(&cell.spec().limit, cell.sample());
        if cell.load_count() > 1 {
            window.watch_loads(cell.load_count());
        }
        let meter = Meter::Cell(Box::new(CellMeter::new(drive, cell.spec(), window)));
        Self {
            cell,
            runner: Runner::new(feeds, stage, meter),
            is_done: false,
            idle_since: None,
            start: (drive.host, *drive.ftl.figures().counters()),
            lost_before: drive.errors.lost_of_host(),
            counts: Counts::of(drive),
            start_ops: drive.flash_ops(),
        }
    }

    /// Runs about `max_ops` flash operations and host commands further.
    pub(crate) fn advance(&mut self, drive: &mut Drive, max_ops: u64) -> Progress {
        let goal = drive.work_done().saturating_add(max_ops.max(1));
        while !self.is_done && drive.work_done() < goal {
            if self.runner.advance(drive, goal, u64::MAX) {
                self.end(drive);
            }
        }
        self.progress(drive)
    }

    fn end(&mut self, drive: &mut Drive) {
        if let (Meter::Cell(meter), Some(stage)) = self.runner.meter_mut() {
            let idle_since = stage.at_rest_since();
            meter.window.finish(idle_since);
            meter.look_at_effort(drive, stage);
            stage.give_back(drive, idle_since);
            drive.ftl.finish(End::Stage);
            drive.rest();
            self.idle_since = Some(idle_since);
        }
        self.is_done = true;
    }

    fn meter(&self) -> &CellMeter {
        self.runner.meter().cell().expect("a cell has the meter of a cell")
    }

    fn progress(&self, drive: &Drive) -> Progress {
        let (now, meter) = (self.runner.now(), self.meter());
        let limit = &self.cell.spec().limit;
        let part = |done: u64, all: u64| if all > 0 { done as f64 / all as f64 } else { 1.0 };
        let is_timed = self.runner.stage().is_some();
        let [ios, bytes] = meter.issued;
        let fraction = if is_timed {
            meter.window.fraction(now)
        } else {
            part(ios, limit.ios).min(part(bytes, limit.bytes))
        };
        Progress {
            stage: "cell".to_owned(),
            stage_count: 1,
            measured: is_timed,
            done: (fraction.min(1.0) * UNITS_OF_PROGRESS) as u64,
            total: UNITS_OF_PROGRESS as u64,
            simulated_ns: now.0,
            host_ios: total(&drive.host.commands) - total(&self.start.0.commands),
            flash_ops: drive.flash_ops() - self.start_ops,
            finished: self.is_done,
            ..Progress::default()
        }
    }

    /// What the cell gave: `{complete, failures, end_bytes, read_bytes, written_bytes, flash,
    /// reclaims, waiting_pages, lost_read_pages, …}`, and with a clock `{seconds, elapsed_s, reads,
    /// writes, ramp_ios, samples, littles_law_error, violations}`; of devices that state their
    /// energies `power` of the window.
    pub(crate) fn outcome(&self, drive: &Drive) -> Value {
        let (host, _) = &self.start;
        let bytes = |kind: usize| (drive.host.sectors[kind] - host.sectors[kind]) * SECTOR_BYTES;
        let mut document = json!({
            "complete": self.is_done,
            "read_bytes": bytes(0),
            "written_bytes": bytes(1),
            "end_bytes": self.cell.end_bytes(0, self.meter().last.as_ref()),
            "flash": self.flash(drive),
            "reclaims": self.meter().reclaims(drive),
            "waiting_pages": drive.buffered_pages(),
            "unmapped_read_pages": drive.host.unmapped_read_pages - host.unmapped_read_pages,
            "lost_read_pages": if drive.tells_losses() {
                drive.errors.lost_of_host() - self.lost_before
            } else {
                0
            },
            "is_worn_out": drive.is_worn_out,
            "is_standstill": self.runner.is_standstill(),
            "failures": self.failures(drive),
        });
        if let (Some(stage), Value::Object(section)) = (self.runner.stage(), &mut document) {
            if let Value::Object(window) = self.meter().window.to_json() {
                section.extend(window);
            }
            let elapsed = self.idle_since.unwrap_or(stage.now());
            section.insert("elapsed_s".into(), json!(elapsed.as_seconds()));
            section
                .insert("littles_law_error".into(), json!(stage.host.ledger.littles_law_error()));
            section.insert("violations".into(), json!(stage.violations().0));
            section.extend(self.meter().power(drive).map(|power| ("power".into(), power)));
        }
        document
    }

    /// Pages and blocks, by who asked for it, from the first command until the drive fell idle.
    fn flash(&self, drive: &Drive) -> Value {
        let (now, then) = (drive.ftl.figures().counters(), &self.start.1);
        let since = |now: &[u64; SOURCE_COUNT], then: &[u64; SOURCE_COUNT]| {
            std::array::from_fn::<u64, SOURCE_COUNT, _>(|source| now[source] - then[source])
        };
        let named = |counts: [u64; SOURCE_COUNT]| {
            let counts = SOURCE_NAMES.iter().zip(counts).filter(|&(_, count)| count > 0);
            Value::Object(counts.map(|(name, count)| ((*name).to_owned(), json!(count))).collect())
        };
        let programs = since(&now.programs, &then.programs);
        let pages = drive.geometry.physical_pages_of(total(&programs));
        json!({
            "programs": named(programs),
            "reads": named(since(&now.reads, &then.reads)),
            "erases": named(since(&now.erases, &then.erases)),
            "nand_bytes_written": pages * drive.geometry.page_bytes,
        })
    }

    /// Self-checks that take no look at every page; none fails unless the simulator is wrong.
    fn failures(&self, drive: &Drive) -> Vec<String> {
        let mut failures: Vec<String> = self.meter().window.failure().into_iter().collect();
        let (now, then) = (drive.ftl.figures().counters(), &self.start.1);
        if !now.moves_agree(then) {
            failures.push("pages read and programmed by collections differ".to_owned());
        }
        if self.is_done {
            failures.extend(Counts::of(drive).since(self.counts).agree().err());
        }
        let Some(stage) = self.runner.stage().filter(|_| self.is_done) else { return failures };
        let (issued, served) = (stage.host.ledger.tally.issued, stage.host.ledger.tally.served);
        if issued != served || stage.pending_ops() > 0 {
            failures
                .push(format!("{issued} issued, {served} served, {} left", stage.pending_ops()));
        }
        let error = stage.host.ledger.littles_law_error();
        if error > LITTLES_LAW_TOLERANCE {
            failures.push(format!("Little's law is off by {error:e}"));
        }
        let violations = stage.violations().0;
        if violations > 0 {
            failures.push(format!("{violations} operations broke the rules of the flash"));
        }
        failures
    }
}

/// A time without commands.
pub(crate) struct IdleRun {
    runner: Runner,
    span: Ns,
    is_done: bool,
    start_ops: u64,
}

impl IdleRun {
    /// Prepares an idle time of the drive.
    pub(crate) fn new(drive: &mut Drive, span: Ns) -> Self {
        let host = Host { weight: 1, ..Host::default() };
        let mut stage = Box::new(TimedStage::of_cell(drive, &[&host]));
        let start_ops = drive.flash_ops();
        // The next command of the host, which never comes to the drive, ends the time.
        stage.begin_rest(drive, Limit::Time(span));
        let runner = Runner::new(Vec::new(), Some(stage), Meter::Idle);
        Self { runner, span, is_done: false, start_ops }
    }

    /// Runs about `max_ops` flash operations further.
    pub(crate) fn advance(&mut self, drive: &mut Drive, max_ops: u64) -> Progress {
        let goal = drive.work_done().saturating_add(max_ops.max(1));
        // Timers of idle dies are no work, so events are bounded too.
        if !self.is_done && self.runner.advance(drive, goal, max_ops) {
            if let Some(stage) = self.runner.stage_mut() {
                stage.give_back(drive, self.span);
            }
            drive.ftl.finish(End::Stage);
            drive.rest();
            self.is_done = true;
        }
        let now = if self.is_done { self.span.0 } else { self.runner.now().0.min(self.span.0) };
        Progress {
            stage: "idle".to_owned(),
            stage_count: 1,
            measured: true,
            done: now,
            total: self.span.0,
            simulated_ns: now,
            flash_ops: drive.flash_ops() - self.start_ops,
            finished: self.is_done,
            ..Progress::default()
        }
    }
}
