//! The `PyO3` skin of opennandlab: `opennandlab._core`.
//!
//! No logic: JSON text comes in, the core works without the GIL, JSON text goes out. Python never
//! holds a pointer into the core; what it says about keys, defaults and units, it got from here.

mod doorway;
mod ecc;
mod reliability;
mod trace;

use std::sync::{Arc, Mutex, PoisonError};

use opennandlab_sim::config;
use opennandlab_sim::device::{DeviceConfig, Observation, Simulation as Drive};
use opennandlab_sim::units::Ns;
use opennandlab_sim::workload::{ReplayConfig, WorkloadConfig};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use doorway::{doorway, Failure};

/// Results are comparable only within one version of the model; whatever changes numbers raises it.
const MODEL_VERSION: u32 = 3;

/// Version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Version of the model.
#[pyfunction]
fn model_version() -> u32 {
    MODEL_VERSION
}

/// Commit that the core was built from.
#[pyfunction]
fn commit() -> &'static str {
    env!("OPENNANDLAB_COMMIT")
}

/// Fills the defaults of a device file given as JSON, and checks it.
#[pyfunction]
fn resolve_device(py: Python<'_>, text: &str) -> PyResult<String> {
    doorway(py, || Ok(DeviceConfig::resolve(text)?.to_json().to_string()))
}

/// The JSON schema of device files.
#[pyfunction]
fn device_schema(py: Python<'_>) -> PyResult<String> {
    doorway(py, || Ok(DeviceConfig::schema().to_string()))
}

/// What follows from a device: capacities, spare factors, the GC reserve, memory.
#[pyfunction]
fn effective(py: Python<'_>, device: &str) -> PyResult<String> {
    doorway(py, || Ok(DeviceConfig::resolve(device)?.effective().to_string()))
}

/// Dotted path and source of each constant of a device.
#[pyfunction]
fn sources(py: Python<'_>, device: &str) -> PyResult<String> {
    doorway(py, || Ok(serde_json::json!(DeviceConfig::resolve(device)?.sources()).to_string()))
}

/// Fills the defaults of a workload file given as JSON, and checks it against the device.
#[pyfunction]
fn resolve_workload(py: Python<'_>, text: &str, device: &str) -> PyResult<String> {
    doorway(py, || {
        let space = DeviceConfig::resolve(device)?.space();
        Ok(WorkloadConfig::resolve(text, space)?.to_json().to_string())
    })
}

/// The JSON schema of workload files.
#[pyfunction]
fn workload_schema(py: Python<'_>) -> PyResult<String> {
    doorway(py, || Ok(WorkloadConfig::schema().to_string()))
}

/// Fills the defaults of replay options given as JSON, and checks them.
#[pyfunction]
fn resolve_replay(py: Python<'_>, text: &str, device: &str) -> PyResult<String> {
    doorway(py, || {
        let space = DeviceConfig::resolve(device)?.space();
        Ok(ReplayConfig::resolve(text, space)?.to_json().to_string())
    })
}

/// The JSON schema of replay options.
#[pyfunction]
fn replay_schema(py: Python<'_>) -> PyResult<String> {
    doorway(py, || Ok(ReplayConfig::schema().to_string()))
}

/// A drive and the job that runs on it.
#[pyclass(frozen)]
struct Simulation {
    drive: Mutex<Drive>,
}

impl Simulation {
    /// Works on the drive without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Drive) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        doorway(py, || {
            let locked = self.drive.lock();
            // Who poisoned it has already raised; going on would count on half-made tables.
            let mut drive = locked.map_err(|_: PoisonError<_>| ()).expect(
                "this drive was left half-changed by an earlier internal error; build a new one",
            );
            work(&mut drive)
        })
    }
}

#[pymethods]
impl Simulation {
    /// An empty drive.
    #[new]
    fn new(py: Python<'_>, device: &str, seed: u64) -> PyResult<Self> {
        doorway(py, || {
            let drive = Drive::new(DeviceConfig::resolve(device)?, seed);
            Ok(Self { drive: Mutex::new(drive) })
        })
    }

    /// The drive of an image.
    #[staticmethod]
    fn from_image(py: Python<'_>, image: &[u8], seed: u64) -> PyResult<Self> {
        doorway(py, || Ok(Self { drive: Mutex::new(Drive::from_image(image, seed)?) }))
    }

    /// The drive as bytes.
    fn image<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, |drive| Ok(drive.image())).map(|image| PyBytes::new(py, &image))
    }

    /// The resolved device.
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.config().to_json().to_string()))
    }

    /// Changes the stress under which pages are read from now on; a job under way is dropped.
    fn set_stress(&self, py: Python<'_>, stress: &str) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.set_stress(config::parse(stress)?)?))
    }

    /// Begins a resolved workload.
    fn begin(&self, py: Python<'_>, workload: &str, seed: u64) -> PyResult<()> {
        self.with(py, |drive| {
            let space = drive.space();
            drive.begin(WorkloadConfig::resolve(workload, space)?.job(space, seed));
            Ok(())
        })
    }

    /// Begins the preconditioning of a resolved workload; its measured part is dropped.
    fn begin_precondition(&self, py: Python<'_>, workload: &str, seed: u64) -> PyResult<()> {
        self.with(py, |drive| {
            let space = drive.space();
            let mut job = WorkloadConfig::resolve(workload, space)?.job(space, seed);
            job.measured = None;
            drive.begin(job);
            Ok(())
        })
    }

    /// Begins the resolved replay of a trace.
    fn begin_replay(&self, py: Python<'_>, replay: &str, trace: &trace::Trace) -> PyResult<()> {
        let records = Arc::clone(&trace.records);
        self.with(py, |drive| {
            let space = drive.space();
            drive.begin(ReplayConfig::resolve(replay, space)?.job(records, space)?);
            Ok(())
        })
    }

    /// Watches the measured part of later jobs: the parts of every command, and spans of activity
    /// between two points of its time, in nanoseconds. No metric depends on it.
    #[pyo3(signature = (breakdown, timeline_ns=None))]
    fn observe(
        &self,
        py: Python<'_>,
        breakdown: bool,
        timeline_ns: Option<(u64, u64)>,
    ) -> PyResult<()> {
        let timeline = timeline_ns.map(|(from, to)| (Ns(from), Ns(to)));
        self.with(py, |drive| {
            drive.observe(Observation { breakdown, timeline });
            Ok(())
        })
    }

    /// The spans recorded in the measured part, as a Trace Event document, if asked for.
    fn timeline(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |drive| Ok(drive.timeline().map(|document| document.to_string())))
    }

    /// Runs about `ops` operations further; the progress as JSON.
    fn advance(&self, py: Python<'_>, ops: u64) -> PyResult<String> {
        self.with(py, |drive| {
            let progress = drive.advance(ops);
            Ok(serde_json::to_value(progress).unwrap_or(Value::Null).to_string())
        })
    }

    /// Begins a stimulus; `advance` carries it out.
    fn begin_cell(&self, py: Python<'_>, spec: &str, seed: u64) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.begin_cell(spec, seed)?))
    }

    /// What the stimulus gave so far, as JSON.
    fn cell(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.cell().to_string()))
    }

    /// The first commands of a stimulus: kinds (1 byte each, 0 reads, 1 writes), first sectors (8
    /// bytes, little endian), sectors (4 bytes).
    fn cell_commands<'py>(
        &self,
        py: Python<'py>,
        spec: &str,
        seed: u64,
        count: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let commands = self.with(py, |drive| Ok(drive.cell_commands(spec, seed, count)?))?;
        let ops: Vec<u8> = commands.iter().map(|it| it.op.index() as u8).collect();
        let sectors: Vec<u8> = commands.iter().flat_map(|it| it.sector.to_le_bytes()).collect();
        let counts: Vec<u8> =
            commands.iter().flat_map(|it| it.sector_count.to_le_bytes()).collect();
        Ok((PyBytes::new(py, &ops), PyBytes::new(py, &sectors), PyBytes::new(py, &counts)))
    }

    /// Begins a time without commands, in nanoseconds; `advance` lets it pass.
    fn begin_idle(&self, py: Python<'_>, span_ns: u64) -> PyResult<()> {
        self.with(py, |drive| {
            drive.begin_idle(Ns(span_ns));
            Ok(())
        })
    }

    /// Forgets everything that was written; the blocks that were erased for it.
    fn purge(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |drive| Ok(drive.purge()))
    }

    /// Goes on as a device with another write buffer, or other compression.
    fn reconfigure(&self, py: Python<'_>, device: &str) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.reconfigure(DeviceConfig::resolve(device)?)?))
    }

    /// Logical pages that hold data.
    fn mapped_pages(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |drive| Ok(drive.mapped_pages()))
    }

    /// The first contradiction between the tables of the drive, if there is one.
    fn audit(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |drive| Ok(drive.audit().err()))
    }

    /// The drive as it stands, as bytes; what follows from them is what would have followed.
    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, |drive| Ok(drive.checkpoint())).map(|state| PyBytes::new(py, &state))
    }

    /// The drive of a checkpoint.
    #[staticmethod]
    fn from_checkpoint(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        doorway(py, || Ok(Self { drive: Mutex::new(Drive::from_checkpoint(state)?) }))
    }

    /// The result of the job so far, as JSON.
    fn outcome(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.outcome().to_string()))
    }
}

/// The compiled core of opennandlab.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::ecc::bch::{ecc_bch_paths, EccBch};
    #[pymodule_export]
    use super::ecc::channel::{ecc_interval, ecc_limits, ecc_llr_table, ecc_tail, ecc_weights};
    #[pymodule_export]
    use super::ecc::ldpc::{ecc_ldpc_names, EccLdpc};
    #[pymodule_export]
    use super::ecc::monte_carlo::{EccCodec, EccTask};
    #[pymodule_export]
    use super::reliability::{
        arrhenius, beta_binomial_tail, codeword_failures, device_reliability, layer_factors,
        llr_table, page_code, page_types, rber, resolve_reliability, retry_steps, states,
    };
    #[pymodule_export]
    use super::{
        commit, device_schema, effective, model_version, replay_schema, resolve_device,
        resolve_replay, resolve_workload, sources, trace::Trace, version, workload_schema,
        Simulation,
    };
}
