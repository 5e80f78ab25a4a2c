//! The jobs of a stage of a fio job file, at the same time on one drive: their runner.
//!
//! ```text
//! Process ── Action ──► timed stage ── step ──► completed, time has come ──► Process
//!                                                    └──► Record, Watch of a group
//! ```
//! As for a cell, the drive is idle before and behind, and randomness follows from the drive and
//! the seed alone.

mod process;
mod record;
mod steady;

use serde_json::{json, Value};

use self::process::{Action, Process};
use self::record::ROWS_MAX;
use self::steady::Watch;
use super::run::Progress;
use crate::drive::Drive;
use crate::ftl::End;
use crate::timed::{Step, TimedStage};
use crate::units::Ns;
use crate::workload::fio::JobSpec;
use crate::workload::{Host, StageIds};

/// Completions at one time after which a stage ends: no time passes.
const STANDSTILL: u64 = 1_000_000;
/// Events between two looks at the operation counts.
const EVENTS_AT_ONCE: u64 = 64;
const UNITS_OF_PROGRESS: f64 = 1e6;

/// See the module.
#[allow(clippy::struct_excessive_bools)] // how far it is, and why it ended
pub(crate) struct FioRun {
    processes: Vec<Process>,
    watches: Vec<Watch>,
    stage: Box<TimedStage>,
    is_begun: bool,
    is_done: bool,
    is_standstill: bool,
    is_full: bool,
    standstill: (Ns, u64),
    start_ops: u64,
    /// Bytes programmed, and bytes written by hosts, before this run.
    before: (u64, u64),
}

impl FioRun {
    /// Prepares the processes of a stage on an idle drive; their draws follow from `seed`.
    pub(crate) fn new(jobs: Vec<JobSpec>, drive: &mut Drive, seed: u64) -> Self {
        drive.reseed(seed);
        drive.place(Some(&StageIds::Commands));
        let host = Host { weight: 1, ..Host::default() };
        let hosts = vec![&host; jobs.len()];
        let stage = Box::new(TimedStage::of_cell(drive, &hosts));
        let mut watches: Vec<(u32, Watch)> = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            let Some(steady) = job.steady else { continue };
            let place = watches.iter().position(|(group, _)| *group == job.group);
            let place = place.unwrap_or_else(|| {
                watches.push((job.group, Watch::new(steady)));
                watches.len() - 1
            });
            watches[place].1.members.push(index);
        }
        let processes = jobs.into_iter().enumerate();
        Self {
            processes: processes.map(|(index, job)| Process::new(job, index as u8, seed)).collect(),
            watches: watches.into_iter().map(|(_, watch)| watch).collect(),
            stage,
            is_begun: false,
            is_done: false,
            is_standstill: false,
            is_full: false,
            standstill: (Ns(0), 0),
            start_ops: drive.flash_ops(),
            before: (drive.programmed_bytes(), drive.written_bytes()),
        }
    }

    /// Runs about `max_ops` flash operations and host commands further.
    pub(crate) fn advance(&mut self, drive: &mut Drive, max_ops: u64) -> Progress {
        let goal = drive.work_done().saturating_add(max_ops.max(1));
        if !self.is_begun {
            self.is_begun = true;
            self.begin_due(drive);
            self.stage.ask_all(drive);
        }
        // Timers of idle dies and of pauses are no work, so events are bounded too.
        let mut events_left = max_ops.max(EVENTS_AT_ONCE);
        while !self.is_done && drive.work_done() < goal && events_left > 0 {
            events_left = events_left.saturating_sub(EVENTS_AT_ONCE);
            for _ in 0..EVENTS_AT_ONCE {
                match self.stage.step_once(drive) {
                    Step::Internal => {}
                    Step::Completed(tenant) => self.completed(drive, usize::from(tenant)),
                    Step::Arrived(tenant) => self.arrived(drive, usize::from(tenant)),
                    Step::Idle => {
                        self.end(drive);
                        break;
                    }
                }
            }
        }
        self.progress(drive)
    }

    /// Begins the processes whose time has come, and asks for the times of the others.
    fn begin_due(&mut self, drive: &mut Drive) {
        let now = self.stage.now();
        for index in 0..self.processes.len() {
            let spec = &self.processes[index].spec;
            let waits = spec.after.iter().any(|&before| !self.processes[before].is_over());
            if !self.processes[index].is_before() || waits {
                continue;
            }
            let at = Ns(spec.delay_ns);
            if at > now {
                self.stage.await_arrival(index as u8, at);
                continue;
            }
            self.processes[index].begin(now);
            self.note_epoch(index, now);
            self.pump(drive, index);
        }
    }

    /// A process begins to be counted, if it has no ramp; otherwise that is asked for.
    fn note_epoch(&mut self, index: usize, now: Ns) {
        let ramp = self.processes[index].spec.ramp_ns;
        if ramp > 0 {
            self.stage.await_arrival(index as u8, Ns(now.0 + ramp));
        } else {
            self.begin_watch(index, now);
        }
    }

    fn begin_watch(&mut self, index: usize, now: Ns) {
        for watch in self.watches.iter_mut().filter(|watch| watch.members.contains(&index)) {
            watch.begin(now);
            if let Some(due) = watch.due {
                self.stage.await_arrival(watch.members[0] as u8, due);
            }
        }
    }

    fn completed(&mut self, drive: &mut Drive, index: usize) {
        let (now, done) = (self.stage.now(), self.stage.host.ledger.last);
        self.pass_ramp(index, now);
        self.processes[index].completed(now, &done);
        if self.standstill.0 == now {
            self.standstill.1 += 1;
            self.is_standstill |= self.standstill.1 >= STANDSTILL;
        } else {
            self.standstill = (now, 0);
        }
        self.is_full |= self.processes[index].record.is_full();
        if self.is_standstill || self.is_full || self.stage.host.is_worn_out {
            self.processes.iter_mut().for_each(Process::terminate);
        }
        self.pump(drive, index);
    }

    fn arrived(&mut self, drive: &mut Drive, index: usize) {
        let now = self.stage.now();
        self.pass_ramp(index, now);
        self.look(drive, now);
        if self.processes[index].is_before() {
            self.begin_due(drive);
        } else {
            self.pump(drive, index);
        }
    }

    fn pass_ramp(&mut self, index: usize, now: Ns) {
        if self.processes[index].pass_ramp(now) {
            self.begin_watch(index, now);
        }
    }

    /// Takes the values of groups that are due.
    fn look(&mut self, drive: &mut Drive, now: Ns) {
        for place in 0..self.watches.len() {
            if self.watches[place].due.is_none_or(|due| due > now) {
                continue;
            }
            let members = self.watches[place].members.clone();
            if members.iter().all(|&index| self.processes[index].is_over()) {
                continue;
            }
            let totals = members.iter().map(|&index| self.processes[index].record.totals());
            let sum = totals.fold((0, 0, 0), |(a, b, c), (d, e, f)| (a + d, b + e, c + f));
            let is_steady = self.watches[place].take(now, sum);
            if is_steady {
                for &index in &members {
                    self.processes[index].terminate();
                }
                for &index in &members {
                    self.pump(drive, index);
                }
                self.watches[place].due = None;
            } else if let Some(due) = self.watches[place].due {
                self.stage.await_arrival(members[0] as u8, due);
            }
        }
    }

    /// Lets a process do all that it can now.
    fn pump(&mut self, drive: &mut Drive, index: usize) {
        loop {
            let now = self.stage.now();
            match self.processes[index].next(now) {
                Action::Submit(command) => {
                    self.stage.submit(drive, &command);
                }
                Action::Wait(at) => return self.stage.await_arrival(index as u8, at),
                Action::Nothing => break,
            }
        }
        if self.processes[index].is_over() {
            if self.processes[index].spec.ends_all {
                for other in 0..self.processes.len() {
                    if !self.processes[other].is_over() {
                        self.processes[other].terminate();
                        self.pump(drive, other);
                    }
                }
            }
            self.begin_due(drive);
        }
    }

    fn end(&mut self, drive: &mut Drive) {
        let idle_since = self.stage.at_rest_since();
        self.stage.give_back(drive, idle_since);
        drive.is_worn_out |= self.stage.host.is_worn_out;
        drive.ftl.finish(End::Stage);
        drive.rest();
        self.is_done = true;
    }

    fn progress(&self, drive: &Drive) -> Progress {
        let now = self.stage.now();
        let parts = self.processes.iter().map(|process| process.fraction(now));
        let fraction = if self.is_done { 1.0 } else { parts.fold(1.0, f64::min) };
        Progress {
            stage: "jobs".to_owned(),
            stage_count: 1,
            measured: true,
            done: (fraction * UNITS_OF_PROGRESS) as u64,
            total: UNITS_OF_PROGRESS as u64,
            simulated_ns: now.0,
            host_ios: self.stage.host.ledger.tally.served,
            flash_ops: drive.flash_ops() - self.start_ops,
            finished: self.is_done,
            ..Progress::default()
        }
    }

    /// What each process did, and the groups that were watched.
    pub(crate) fn outcome(&self, drive: &Drive) -> Value {
        let process = |process: &Process| {
            let mut row = process.record.to_json();
            let [begun, epoch, ended] = process.times();
            (row["begun_ns"], row["epoch_ns"]) = (json!(begun.0), json!(epoch.0));
            (row["ended_ns"], row["is_over"]) = (json!(ended.0), json!(process.is_over()));
            row
        };
        let ledger = &self.stage.host.ledger;
        let violations = self.stage.violations().0;
        let mut failures = Vec::new();
        if self.is_full {
            failures.push(format!("a process has more than {ROWS_MAX} rows in its logs"));
        }
        if self.is_done && violations > 0 {
            failures.push(format!("{violations} operations broke the rules of the flash"));
        }
        if self.is_done && ledger.tally.issued != ledger.tally.served {
            let tally = &ledger.tally;
            failures.push(format!("{} issued, {} served", tally.issued, tally.served));
        }
        json!({
            "processes": self.processes.iter().map(process).collect::<Vec<_>>(),
            "steady": self.watches.iter().map(Watch::to_json).collect::<Vec<_>>(),
            "elapsed_ns": self.stage.now().0,
            "nand_bytes": drive.programmed_bytes() - self.before.0,
            "host_bytes": drive.written_bytes() - self.before.1,
            "littles_law_error": ledger.littles_law_error(),
            "is_worn_out": drive.is_worn_out || self.stage.host.is_worn_out,
            "is_standstill": self.is_standstill,
            "failures": failures,
        })
    }

    /// The requests of a process, if they were kept; see `Record::all`.
    pub(crate) fn requests(&self, index: usize) -> Option<&[u8]> {
        Some(self.processes.get(index)?.record.all())
    }
}
