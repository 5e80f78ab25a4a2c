//! A drive and the job that runs on it: what the Python package holds.

use serde_json::{json, Value};

use super::backend::Observation;
use super::config::DeviceConfig;
use super::drive::Drive;
use super::image::{self, ImageError};
use super::outcome;
use super::run::{Progress, Run};
use crate::config::ConfigError;
use crate::reliability::conditions::StressConfig;
use crate::workload::{Job, Space};

/// One simulated drive.
///
/// ```
/// use opennandlab_sim::device::{DeviceConfig, Simulation};
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
    run: Option<Run>,
    /// How the drive came to be, for the result's `state`.
    origin: Value,
}

impl Simulation {
    /// A drive fresh from the factory; `seed` decides its bad blocks and the choices of its
    /// policies.
    pub fn new(config: DeviceConfig, seed: u64) -> Self {
        Self { drive: Drive::new(config, seed), run: None, origin: json!("fresh") }
    }

    /// The drive of an image.
    ///
    /// # Errors
    /// [`ImageError`] when the bytes are no image of this version, or contradict themselves.
    pub fn from_image(bytes: &[u8], seed: u64) -> Result<Self, ImageError> {
        let (drive, checksum) = image::load(bytes, seed)?;
        Ok(Self { drive, run: None, origin: json!({ "image_crc32": format!("{checksum:08x}") }) })
    }

    /// The drive as bytes. Pages in the write buffer are not in it: they are volatile.
    pub fn image(&self) -> Vec<u8> {
        image::save(&self.drive)
    }

    /// The resolved device.
    pub fn config(&self) -> &DeviceConfig {
        &self.drive.config
    }

    /// The address space for which workloads are compiled.
    pub fn space(&self) -> Space {
        self.drive.config.space()
    }

    /// Watches the measured stage of later jobs; no metric depends on it.
    pub fn observe(&mut self, observation: Observation) {
        self.drive.observation = observation;
    }

    /// Changes the stress under which pages are read from now on, as after a time on the shelf. A
    /// job that was under way is dropped.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `nand.stress` for a value out of range; nothing was changed.
    pub fn set_stress(&mut self, stress: StressConfig) -> Result<(), ConfigError> {
        stress.check().map_err(|error| error.under("nand.stress"))?;
        self.run = None;
        self.drive.errors.set_stress(&stress, &self.drive.geometry);
        self.drive.config.nand.stress = Some(stress);
        Ok(())
    }

    /// Begins a job; one that was under way is dropped.
    pub fn begin(&mut self, job: Job) {
        self.run = Some(Run::new(job, &self.drive));
    }

    /// Runs about `max_ops` operations further; without a job, nothing is left to do.
    pub fn advance(&mut self, max_ops: u64) -> Progress {
        match &mut self.run {
            Some(run) => run.advance(&mut self.drive, max_ops),
            None => Progress { finished: true, ..Progress::default() },
        }
    }

    /// The result of the job so far: `{effective, workload, state, metrics, series, checks,
    /// warnings, complete}`; metrics, series and checks are there once the measured part began.
    pub fn outcome(&self) -> Value {
        if let Some(run) = &self.run {
            return outcome::document(&self.drive, run, &self.origin);
        }
        let effective = self.drive.config.effective();
        json!({ "effective": effective, "state": { "origin": self.origin } })
    }

    /// The spans recorded in the measured part, when they were asked for.
    pub fn timeline(&self) -> Option<Value> {
        self.run.as_ref()?.timed_stage()?.timeline()
    }

    /// Checks that all tables of the drive agree.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self) -> Result<(), String> {
        self.drive.ftl.audit(&self.drive.media)
    }
}
