//! One stimulus on the drive as it is: the runner of a cell, in slices like a run.
//!
//! A cell begins and ends with an idle drive. When its limit is reached no command is issued any
//! more, and those under way are carried out but not counted. Nothing here looks at every page or
//! every block: a cell of 200 commands on a large drive costs what 200 commands cost.
//!
//! Randomness follows from the state of the drive and the seed of the cell alone: victim policies
//! and read errors get streams of that seed. What the timed executor holds (queues, the last
//! direction of the link, the idle timers of dies) starts anew; the write buffer, the caches and the
//! throttles are the drive's and go on.

use serde_json::{json, Value};

use super::backend::Observation;
use super::drive::{Drive, HostCounters};
use super::feed::Feed;
use super::run::{flash_ops, total, work_done, Progress};
use super::timed::{Client, TimedStage};
use super::window::Window;
use crate::ftl::FtlCounters;
use crate::op::{HostCommand, Source, SOURCE_COUNT, SOURCE_NAMES};
use crate::units::{Ns, SECTOR_BYTES};
use crate::workload::cell::Cell;
use crate::workload::{Admission, Load};

/// Completions in a row without time passing after which a cell ends: nothing is asked of the
/// flash.
const STANDSTILL_COMMANDS: u64 = 1_000_000;
/// What an untimed slice is measured in: commands at once.
const UNITS_OF_PROGRESS: f64 = 1e6;
/// Largest gap that Little's law may show; it is exact but for the rounding of two sums.
const LITTLES_LAW_TOLERANCE: f64 = 1e-9;

/// See the module.
pub(crate) struct CellRun {
    cell: Cell,
    /// The threads of the host; one without a clock.
    feeds: Vec<Feed>,
    stage: Option<Box<TimedStage>>,
    window: Window,
    /// The last command issued by the first thread.
    last: Option<HostCommand>,
    /// Commands and bytes issued, without a clock.
    issued: [u64; 2],
    is_done: bool,
    /// The drive takes no more writes, or no time passes.
    is_closed: bool,
    is_standstill: bool,
    /// The time of the last completion, and how many came at it.
    standstill: (Ns, u64),
    /// When the drive fell idle.
    idle_since: Option<Ns>,
    start: (HostCounters, FtlCounters),
    start_ops: u64,
}

impl CellRun {
    /// Prepares a cell on an idle drive; its draws follow from `seed`.
    pub(crate) fn new(cell: Cell, drive: &mut Drive, seed: u64) -> Self {
        drive.reseed(seed);
        let is_measured = cell.spec().is_measured;
        let feeds: Vec<_> = if is_measured {
            cell.loads(seed).into_iter().map(Feed::new).collect()
        } else {
            let admission = Admission::Closed { queue_depth: 1 };
            vec![Feed::new(Load::new(cell.generator(seed), admission))]
        };
        let stage = is_measured.then(|| {
            let hosts: Vec<_> = feeds.iter().map(|feed| &feed.load.host).collect();
            let mut stage = TimedStage::new(drive, &Observation::default(), &hosts);
            stage.keeps_latencies = false;
            stage.take_over(drive);
            Box::new(stage)
        });
        Self {
            window: Window::new(&cell.spec().limit, cell.sample()),
            cell,
            feeds,
            stage,
            last: None,
            issued: [0; 2],
            is_done: false,
            is_closed: false,
            is_standstill: false,
            standstill: (Ns(0), 0),
            idle_since: None,
            start: (drive.host, *drive.ftl.counters()),
            start_ops: flash_ops(drive),
        }
    }

    /// Runs about `max_ops` flash operations and host commands further.
    pub(crate) fn advance(&mut self, drive: &mut Drive, max_ops: u64) -> Progress {
        let goal = work_done(drive).saturating_add(max_ops.max(1));
        while !self.is_done && work_done(drive) < goal {
            match self.stage.take() {
                Some(mut stage) => {
                    self.advance_timed(drive, &mut stage, goal);
                    self.stage = Some(stage);
                }
                None => self.advance_instant(drive),
            }
        }
        self.progress(drive)
    }

    fn advance_timed(&mut self, drive: &mut Drive, stage: &mut TimedStage, goal: u64) {
        if stage.tally.issued == 0 {
            self.fill_queues(drive, stage);
        }
        while work_done(drive) < goal {
            // Events are cheap beside a look at the counters.
            if stage.pump(drive, self, 64) {
                return self.end(drive, stage);
            }
        }
    }

    /// Every thread issues as many commands as it keeps outstanding.
    fn fill_queues(&mut self, drive: &mut Drive, stage: &mut TimedStage) {
        for thread in 0..self.feeds.len() {
            if let Admission::Closed { queue_depth } = self.feeds[thread].load.admission {
                (0..queue_depth).for_each(|_| self.issue(drive, stage, thread));
            }
        }
    }

    #[inline]
    fn issue(&mut self, drive: &mut Drive, stage: &mut TimedStage, thread: usize) {
        if self.is_closed || self.window.is_over() || !self.feeds[thread].refill() {
            return;
        }
        let command = self.feeds[thread].take();
        self.feeds[thread].prefetch_ahead(drive);
        if thread == 0 {
            self.last = Some(command);
        }
        stage.submit(drive, command);
        self.is_closed |= stage.is_worn_out;
    }

    /// Ends a cell in which no time passes: every command is served without flash.
    #[inline]
    fn watch_standstill(&mut self, now: Ns) {
        if self.standstill.0 == now {
            self.standstill.1 += 1;
            if self.standstill.1 >= STANDSTILL_COMMANDS {
                (self.is_standstill, self.is_closed) = (true, true);
            }
        } else {
            self.standstill = (now, 0);
        }
    }

    fn end(&mut self, drive: &mut Drive, stage: &mut TimedStage) {
        let idle_since = *self.idle_since.get_or_insert(stage.at_rest_since());
        self.window.finish(idle_since);
        stage.give_back(drive, idle_since);
        drive.is_worn_out |= stage.is_worn_out;
        drive.ftl.settle();
        self.is_done = true;
    }

    /// One chunk of commands without a clock.
    fn advance_instant(&mut self, drive: &mut Drive) {
        let feed = &mut self.feeds[0];
        let limit = &self.cell.spec().limit;
        let is_open = |issued: &[u64; 2]| issued[0] < limit.ios || issued[1] < limit.bytes;
        if !feed.refill() {
            self.is_done = true;
            return;
        }
        let first = feed.batch_next;
        while feed.batch_next < feed.batch.len() && is_open(&self.issued) {
            let command = feed.take();
            self.issued[0] += 1;
            self.issued[1] += u64::from(command.sector_count) * SECTOR_BYTES;
            if command.tenant == 0 {
                self.last = Some(command);
            }
        }
        let commands = &mut feed.batch[first..feed.batch_next];
        let is_worn_out = drive.run_instant(commands, |_| {}).is_err();
        drive.is_worn_out |= is_worn_out;
        self.is_closed |= is_worn_out;
        self.is_done = is_worn_out || !is_open(&self.issued);
    }

    fn progress(&self, drive: &Drive) -> Progress {
        let now = self.stage.as_ref().map_or(Ns(0), |stage| stage.now());
        let limit = &self.cell.spec().limit;
        let part = |done: u64, all: u64| if all > 0 { done as f64 / all as f64 } else { 1.0 };
        let fraction = match &self.stage {
            Some(_) => self.window.fraction(now),
            None => part(self.issued[0], limit.ios).min(part(self.issued[1], limit.bytes)),
        };
        Progress {
            stage: "cell".to_owned(),
            stage_count: 1,
            measured: self.stage.is_some(),
            done: (fraction.min(1.0) * UNITS_OF_PROGRESS) as u64,
            total: UNITS_OF_PROGRESS as u64,
            simulated_ns: now.0,
            host_ios: total(&drive.host.commands) - total(&self.start.0.commands),
            flash_ops: flash_ops(drive) - self.start_ops,
            finished: self.is_done,
            ..Progress::default()
        }
    }

    /// What the cell gave: `{complete, failures, end_bytes, read_bytes, written_bytes, flash,
    /// waiting_pages, …}`, and with a clock `{seconds, elapsed_s, reads, writes, ramp_ios, samples,
    /// littles_law_error, violations}`.
    pub(crate) fn outcome(&self, drive: &Drive) -> Value {
        let (host, _) = &self.start;
        let bytes = |kind: usize| (drive.host.sectors[kind] - host.sectors[kind]) * SECTOR_BYTES;
        let mut document = json!({
            "complete": self.is_done,
            "read_bytes": bytes(0),
            "written_bytes": bytes(1),
            "end_bytes": self.cell.end_bytes(0, self.last.as_ref()),
            "flash": self.flash(drive),
            "waiting_pages": drive.buffered_pages(),
            "unmapped_read_pages": drive.host.unmapped_read_pages - host.unmapped_read_pages,
            "is_worn_out": drive.is_worn_out,
            "is_standstill": self.is_standstill,
            "failures": self.failures(drive),
        });
        if let (Some(stage), Value::Object(section)) = (&self.stage, &mut document) {
            if let Value::Object(window) = self.window.to_json() {
                section.extend(window);
            }
            let elapsed = self.idle_since.unwrap_or(stage.now());
            section.insert("elapsed_s".into(), json!(elapsed.as_seconds()));
            section.insert("littles_law_error".into(), json!(stage.littles_law_error()));
            section.insert("violations".into(), json!(stage.violations().0));
        }
        document
    }

    /// Pages and blocks, by who asked for it, from the first command until the drive fell idle.
    fn flash(&self, drive: &Drive) -> Value {
        let (now, then) = (drive.ftl.counters(), &self.start.1);
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
        let mut failures: Vec<String> = self.window.failure().into_iter().collect();
        let (now, then) = (drive.ftl.counters(), &self.start.1);
        let moved = [Source::Gc, Source::Wear, Source::Fold].map(|source| source as usize);
        if moved.iter().any(|&source| {
            now.programs[source] - then.programs[source] != now.reads[source] - then.reads[source]
        }) {
            failures.push("pages read and programmed by collections differ".to_owned());
        }
        let Some(stage) = self.stage.as_deref().filter(|_| self.is_done) else { return failures };
        let (issued, served) = (stage.tally.issued, stage.tally.served);
        if issued != served || stage.pending_ops() > 0 {
            failures
                .push(format!("{issued} issued, {served} served, {} left", stage.pending_ops()));
        }
        let error = stage.littles_law_error();
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

impl Client for CellRun {
    fn completed(&mut self, drive: &mut Drive, stage: &mut TimedStage, thread: usize) {
        self.window.note(stage.now(), &stage.last);
        self.watch_standstill(stage.now());
        self.issue(drive, stage, thread);
    }

    fn arrived(&mut self, _: &mut Drive, _: &mut TimedStage, _: usize) {
        unreachable!("the threads of a cell are closed loops");
    }
}
