//! A drive and the job that runs on it: the object that the Python package holds.

use std::sync::{Arc, Mutex};

use serde_json::{json, Value};

use super::cell::{CellRun, IdleRun};
use super::fio::FioRun;
use super::outcome;
use super::run::{Progress, Run};
use super::wear::set_age;
use crate::config::ConfigError;
use crate::drive::image::{self, ImageError};
use crate::drive::{checkpoint, logs, Counts, DeviceConfig, Drive, Placer};
use crate::ftl::gc::Choosers;
use crate::ftl::{End, PurgeScope};
use crate::host::latency_monitor::{LatencyMonitor, Setup, BUCKETS};
use crate::nand::EraseHistogram;
use crate::op::HostCommand;
use crate::reliability::conditions::StressConfig;
use crate::timed::{Observation, RequestRow};
use crate::units::Ns;
use crate::workload::cell::{Cell, CellSpec};
use crate::workload::fio::JobSpec;
use crate::workload::{Host, Job, Space, Wear};

/// What the drive is busy with.
enum Work {
    None,
    Run(Box<Run>),
    Cell(Box<CellRun>),
    Fio(Box<FioRun>),
    Idle(Box<IdleRun>),
}

/// One simulated drive.
///
/// ```
/// use opennandlab_sim::drive::DeviceConfig;
/// use opennandlab_sim::run::Simulation;
/// use opennandlab_sim::workload::WorkloadConfig;
/// # fn main() -> Result<(), opennandlab_sim::config::ConfigError> {
/// let device = DeviceConfig::resolve(r#"{
///     "nand": {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1,
///     "blocks_per_plane": 64, "pages_per_block": 64}, "ftl": {"over_provisioning_pct": 0.28}}"#)?;
/// let mut simulation = Simulation::new(device, 42);
/// let json = r#"{"name": "fill", "pattern": "sequential", "timed": false,
///     "total": {"drive_writes": 2}}"#;
/// let workload = WorkloadConfig::resolve(json, simulation.space())?;
/// simulation.begin(workload.job(simulation.space(), 42));
/// while !simulation.advance(1_000_000).finished {}
/// assert_eq!(simulation.outcome()["metrics"]["waf"], 1.0);
/// # Ok(()) }
/// ```
pub struct Simulation {
    drive: Drive,
    work: Work,
    /// What the measured stage of later jobs watches.
    observation: Observation,
    /// How the drive came to be, for the result's `state`.
    origin: Value,
    /// Counts of the drive then.
    since: Counts,
}

impl Simulation {
    /// A drive fresh from the factory; `seed` decides its bad blocks and the choices of its
    /// policies.
    pub fn new(config: DeviceConfig, seed: u64) -> Self {
        Self::of(Drive::new(config, seed), json!("fresh"))
    }

    fn of(drive: Drive, origin: Value) -> Self {
        let (since, observation) = (Counts::of(&drive), Observation::default());
        Self { drive, work: Work::None, observation, origin, since }
    }

    /// The drive of an image.
    ///
    /// # Errors
    /// [`ImageError`] when the bytes are no image of this version, or contradict themselves.
    pub fn from_image(bytes: &[u8], seed: u64) -> Result<Self, ImageError> {
        let (drive, checksum) = image::load(bytes, seed)?;
        Ok(Self::of(drive, json!({ "image_crc32": format!("{checksum:08x}") })))
    }

    /// The drive as bytes. Pages in the write buffer are not in it: they are volatile.
    pub fn image(&self) -> Vec<u8> {
        image::save(&self.drive)
    }

    /// The drive as bytes from which [`Simulation::from_checkpoint`] builds a drive in exactly this
    /// state, including the pages in its write buffer and caches. Work that is not finished is
    /// dropped.
    pub fn checkpoint(&mut self) -> Vec<u8> {
        self.drop_work();
        checkpoint::save(&self.drive)
    }

    /// The drive of a checkpoint.
    ///
    /// # Errors
    /// [`ImageError`] when the bytes are no checkpoint of this version, or contradict themselves.
    pub fn from_checkpoint(bytes: &[u8]) -> Result<Self, ImageError> {
        let drive = checkpoint::load(bytes)?;
        Ok(Self::of(drive, json!("checkpoint")))
    }

    /// The drive alone, idle.
    pub(crate) fn into_drive(mut self) -> Drive {
        self.drop_work();
        self.drive
    }

    /// A drive that was lent.
    pub(crate) fn of_drive(drive: Drive) -> Self {
        Self::of(drive, json!("served"))
    }

    /// The resolved device.
    pub fn config(&self) -> &DeviceConfig {
        &self.drive.config
    }

    /// The address space for which workloads are compiled.
    pub fn space(&self) -> Space {
        self.drive.config.space()
    }

    /// Lets untimed writes use up to `threads` threads; no result depends on it.
    pub fn set_threads(&mut self, threads: usize) {
        self.drive.threads = threads.max(1);
    }

    /// Reduces the threads of untimed writes to at most `threads_max`.
    pub fn limit_threads(&mut self, threads_max: usize) {
        self.drive.threads = self.drive.threads.min(threads_max.max(1));
    }

    /// Lets these choosers pick victims, if `ftl.gc_policy` leaves that to code outside the
    /// simulator. After [`Simulation::advance`] the code that made a chooser must check whether it
    /// failed.
    pub fn connect_choosers(&mut self, choosers: Arc<dyn Choosers>) {
        self.drive.choosers = Some(choosers);
        self.drive.connect_choosers();
    }

    /// Writes of later jobs get their placement ids from this placer; those of stimuli have id 0.
    pub fn place_by(&mut self, placer: Box<dyn Placer>) {
        self.drive.placer = Some(Arc::new(Mutex::new(placer)));
    }

    /// Watches the measured stage of later jobs; no metric depends on it.
    pub fn observe(&mut self, observation: Observation) {
        self.observation = observation;
    }

    /// Counts slow commands of later timed work, by these thresholds; `None` ends that. No metric
    /// depends on it.
    pub fn monitor(&mut self, thresholds: Option<[u8; BUCKETS]>) {
        let setup = |thresholds| Setup { thresholds, ..Setup::default() };
        let monitor = |setup| Box::new(LatencyMonitor::new(setup, self.drive.clock));
        self.drive.slow = thresholds.map(setup).map(monitor);
    }

    /// The logs of the drive: counts since it was made or loaded, and slow commands since
    /// [`Simulation::monitor`], of a job those of its measured stage.
    pub fn logs(&self) -> Value {
        logs(&self.drive, &Counts::of(&self.drive).since(self.since))
    }

    /// Changes the stress for the following page reads, as after a time on the shelf. A running job
    /// is dropped.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `nand.stress` for a value out of range; nothing was changed.
    pub fn set_stress(&mut self, stress: StressConfig) -> Result<(), ConfigError> {
        stress.check().map_err(|error| error.under("nand.stress"))?;
        self.drop_work();
        self.drive.errors.set_stress(&stress, &self.drive.geometry);
        self.drive.config.nand.stress = Some(stress);
        Ok(())
    }

    /// Begins a job; a running one is dropped.
    pub fn begin(&mut self, job: Job) {
        self.work = Work::Run(Box::new(Run::new(job, &self.drive, self.observation.clone())));
    }

    /// Begins a stimulus, given as the JSON of a [`CellSpec`]: [`Simulation::advance`] carries it
    /// out, [`Simulation::cell`] returns its result. Running work is dropped.
    ///
    /// # Errors
    /// [`ConfigError`] when the stimulus cannot be; then nothing has changed.
    pub fn begin_cell(&mut self, spec: &str, seed: u64) -> Result<(), ConfigError> {
        let cell = self.resolve_cell(spec)?;
        self.drop_work();
        self.work = Work::Cell(Box::new(CellRun::new(cell, &mut self.drive, seed)));
        Ok(())
    }

    fn resolve_cell(&self, spec: &str) -> Result<Cell, ConfigError> {
        let cell = CellSpec::resolve(spec, self.space())?;
        self.check_request("block_bytes", cell.spec().block_bytes.bytes_max())?;
        Ok(cell)
    }

    fn resolve_jobs(&self, jobs: &str) -> Result<Vec<JobSpec>, ConfigError> {
        let jobs = JobSpec::resolve(jobs, self.space())?;
        for job in &jobs {
            self.check_request("bs", job.request_bytes_max())?;
        }
        Ok(jobs)
    }

    /// Refuses requests that the host of the device would split: these are counted whole.
    fn check_request(&self, key: &str, bytes: u64) -> Result<(), ConfigError> {
        let limit = self.drive.config.host.max_transfer_bytes.unwrap_or(u64::MAX);
        if bytes <= limit {
            return Ok(());
        }
        let message = format!(
            "{bytes} is above host.max_transfer_bytes {limit} of the device, whose host sends \
             several commands for it, and a test counts whole requests; accepted: at most that, or \
             a device without the limit"
        );
        Err(ConfigError::new(key, message))
    }

    /// The result of the stimulus up to now; null when there is none.
    pub fn cell(&self) -> Value {
        match &self.work {
            Work::Cell(cell) => cell.outcome(&self.drive),
            _ => Value::Null,
        }
    }

    /// Refuses jobs that [`Simulation::begin_jobs`] would refuse; nothing changes.
    ///
    /// # Errors
    /// [`ConfigError`] when a job cannot be.
    pub fn check_jobs(&self, jobs: &str) -> Result<(), ConfigError> {
        self.resolve_jobs(jobs).map(|_| ())
    }

    /// Begins jobs of fio that run at the same time, given as the JSON of a list of [`JobSpec`].
    /// [`Simulation::advance`] carries them out, [`Simulation::jobs`] returns their results;
    /// running work is dropped.
    ///
    /// # Errors
    /// [`ConfigError`] when a job cannot be; then nothing has changed.
    pub fn begin_jobs(&mut self, jobs: &str, seed: u64) -> Result<(), ConfigError> {
        let jobs = self.resolve_jobs(jobs)?;
        self.drop_work();
        self.work = Work::Fio(Box::new(FioRun::new(jobs, &mut self.drive, seed)));
        Ok(())
    }

    /// The results of the jobs up to now; null when there are none.
    pub fn jobs(&self) -> Value {
        match &self.work {
            Work::Fio(jobs) => jobs.outcome(&self.drive),
            _ => Value::Null,
        }
    }

    /// The requests of a process of the jobs, in the order of their completion, if they were kept:
    /// 32 bytes each.
    pub fn job_requests(&self, index: usize) -> Option<&[u8]> {
        match &self.work {
            Work::Fio(jobs) => jobs.requests(index),
            _ => None,
        }
    }

    /// The first commands of a stimulus, threads in turn.
    ///
    /// # Errors
    /// [`ConfigError`] when the stimulus is invalid.
    pub fn cell_commands(
        &self,
        spec: &str,
        seed: u64,
        count: usize,
    ) -> Result<Vec<HostCommand>, ConfigError> {
        let mut commands = Vec::with_capacity(count);
        self.resolve_cell(spec)?.generator(seed).fill(&mut commands, count);
        Ok(commands)
    }

    /// Begins a time without commands, which [`Simulation::advance`] lets pass. Running work is
    /// dropped.
    pub fn begin_idle(&mut self, span: Ns) {
        self.drop_work();
        self.work = Work::Idle(Box::new(IdleRun::new(&mut self.drive, span)));
    }

    /// Advances the clock of the drive without any other effect, for example by the time that work
    /// without a clock would have taken. Blocks age by it; unlike in an idle time, nothing is
    /// collected. Running work is dropped.
    pub fn pass_time(&mut self, span: Ns) {
        self.drop_work();
        self.drive.clock = Ns(self.drive.clock.0.saturating_add(span.0));
    }

    /// Brings the drive into the state in which nothing was written, and returns how many blocks
    /// were erased for it. Wear and bad blocks stay. Running work is dropped.
    pub fn purge(&mut self) -> u64 {
        self.drop_work();
        self.drive.purge(PurgeScope::Written)
    }

    /// Wears an empty drive; see [`Simulation::warp`].
    pub(super) fn age(&mut self, wear: Wear, seed: u64) -> u32 {
        self.drop_work();
        let retired = set_age(&mut self.drive, wear, seed);
        self.drive.purge(PurgeScope::Written);
        retired
    }

    /// Whether any block holds pages, live or not.
    pub(super) fn is_written(&self) -> bool {
        self.drive.ftl.is_written()
    }

    /// Erase counts of the good blocks, and how many blocks are erased.
    pub(super) fn worn(&self) -> (EraseHistogram, u64) {
        (self.drive.media.wear(), self.drive.ftl.figures().erased_blocks())
    }

    /// Changes the configuration of the device: the new one may differ in the write buffer, and,
    /// while nothing is written, in the compression. Running work is dropped.
    ///
    /// # Errors
    /// [`ConfigError`] when the two differ in what cannot change, or not now.
    pub fn reconfigure(&mut self, config: DeviceConfig) -> Result<(), ConfigError> {
        self.drop_work();
        self.drive.reconfigure(config)
    }

    /// Logical pages of the drive.
    pub(crate) fn logical_pages(&self) -> u32 {
        self.drive.ftl.figures().logical_pages()
    }

    /// Logical pages that hold data, those that wait in the write buffer left out.
    pub fn mapped_pages(&self) -> u32 {
        self.drive.ftl.figures().mapped_pages()
    }

    /// Drops the running work, and settles erases whose end no executor will report.
    fn drop_work(&mut self) {
        self.work = Work::None;
        self.drive.ftl.finish(End::Stage);
        self.drive.place(None);
    }

    /// The hosts of the measured part of the job by the numbers that their commands carry, volumes
    /// of their traces behind them.
    pub fn hosts(&self) -> &[Host] {
        self.run().map_or(&[], Run::hosts)
    }

    /// Whether [`Simulation::advance`] runs no further until rows of requests were taken.
    pub fn has_full_batch(&self) -> bool {
        let stage = self.run().and_then(|run| run.measured()?.1);
        stage.is_some_and(|stage| stage.host.ledger.is_log_full())
    }

    /// Exchanges the rows of the requests that were recorded for a vector without any.
    pub fn swap_requests(&mut self, rows: &mut Vec<RequestRow>) {
        match &mut self.work {
            Work::Run(run) => run.swap_requests(rows),
            _ => rows.clear(),
        }
    }

    /// Runs about `max_ops` operations further; without work, nothing is left to do.
    pub fn advance(&mut self, max_ops: u64) -> Progress {
        match &mut self.work {
            Work::Run(run) => run.advance(&mut self.drive, max_ops),
            Work::Cell(cell) => cell.advance(&mut self.drive, max_ops),
            Work::Fio(jobs) => jobs.advance(&mut self.drive, max_ops),
            Work::Idle(idle) => idle.advance(&mut self.drive, max_ops),
            Work::None => Progress { finished: true, ..Progress::default() },
        }
    }

    fn run(&self) -> Option<&Run> {
        match &self.work {
            Work::Run(run) => Some(run),
            _ => None,
        }
    }

    /// The result of the job up to now:
    /// `{effective, workload, state, metrics, series, checks, warnings, complete}`; metrics, series
    /// and checks are there once the measured part began.
    pub fn outcome(&self) -> Value {
        if let Some(run) = self.run() {
            return outcome::document(&self.drive, run, &self.origin);
        }
        let effective = self.drive.config.effective();
        json!({ "effective": effective, "state": { "origin": self.origin } })
    }

    /// The spans recorded in the measured part, when they were asked for.
    pub fn timeline(&self) -> Option<Value> {
        self.run()?.measured()?.1?.timeline()
    }

    /// Checks that all tables of the drive agree.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self) -> Result<(), String> {
        self.drive.ftl.audit(&self.drive.media)
    }
}
