//! The drive as Python holds it: each method is one of the simulator's, without the GIL.
//!
//! Data crosses in bulk: handles and JSON text in, JSON text and bytes out. Python never holds a
//! pointer into a drive.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opennandlab_sim::config::{self, ConfigError};
use opennandlab_sim::ftl::gc::{Choosers, GcConfig};
use opennandlab_sim::power_loss::{cut_aged, AgedCut, Claims};
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::Session;
use opennandlab_sim::timed::Observation;
use opennandlab_sim::units::Ns;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::config::{Device, Replay, Steps, Workload};
use crate::doorway::{doorway, Failure};
use crate::policy::{Failed, NativeChoosers, Policy, PythonChoosers, PythonPlacer};
use crate::power_loss::{pattern_of, target_of};
use crate::requests::{Kept, Names, Recorder};
use crate::trace::Trace;

/// Threads that untimed writes of a drive take; 0: as many as this process has cores.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Sets the most threads that drives made afterwards take; 0: one for each core.
#[pyfunction]
pub(crate) fn set_threads(count: usize) {
    THREADS.store(count, Ordering::Relaxed);
}

/// A drive and the job that runs on it.
#[pyclass(frozen)]
pub(crate) struct Drive {
    simulation: Mutex<Option<Simulation>>,
    /// What its policy, if that is the user's own, could not do.
    failed: Arc<Failed>,
    /// The name of a policy that is still to be loaded.
    missing: Mutex<Option<String>>,
    /// Where the requests of the run go, if they are recorded.
    recorder: Mutex<Option<Recorder>>,
}

impl Drive {
    pub(crate) fn of(mut simulation: Simulation) -> Self {
        let threads = match THREADS.load(Ordering::Relaxed) {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            count => count,
        };
        simulation.set_threads(threads);
        let missing = match &simulation.config().ftl.gc_policy {
            GcConfig::Python(policy) => Some(policy.name.clone()),
            _ => None,
        };
        Self {
            simulation: Mutex::new(Some(simulation)),
            failed: Arc::default(),
            missing: Mutex::new(missing),
            recorder: Mutex::new(None),
        }
    }

    /// Takes the choosers of victims; with one thread, if they need the interpreter.
    fn take_policy(
        &self,
        py: Python<'_>,
        choosers: Arc<dyn Choosers>,
        threads_max: usize,
    ) -> PyResult<()> {
        *self.missing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.with(py, |drive| {
            drive.limit_threads(threads_max);
            drive.connect_choosers(choosers);
            Ok(())
        })?;
        self.failed.raise()
    }

    fn recorder(&self) -> MutexGuard<'_, Option<Recorder>> {
        // Poison would need a panic in the drive, which is then poisoned itself.
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn policy(&self, name: String) -> Policy {
        Policy { name, failed: Arc::clone(&self.failed) }
    }

    /// Works on the drive without the GIL.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulation) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        self.with_place(py, |place| work(place.as_mut().expect("who takes it puts it back")))
    }

    /// Works on the place of the drive, in which there is one before and behind.
    fn with_place<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<Simulation>) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        doorway(py, || {
            let locked = self.simulation.lock();
            // Who poisoned it has already raised; going on would count on half-made tables.
            let mut place = locked.map_err(|_: PoisonError<_>| ()).expect(
                "this drive was left half-changed by an earlier internal error; build a new one",
            );
            work(&mut place)
        })
    }
}

#[pymethods]
impl Drive {
    /// An empty drive.
    #[new]
    fn new(py: Python<'_>, device: &Device, seed: u64) -> PyResult<Self> {
        doorway(py, || Ok(Self::of(Simulation::new(device.config.clone(), seed))))
    }

    /// The drive of an image.
    #[staticmethod]
    fn from_image(py: Python<'_>, image: &[u8], seed: u64) -> PyResult<Self> {
        doorway(py, || Ok(Self::of(Simulation::from_image(image, seed)?)))
    }

    /// Lets victims be chosen by Python: `make(die, block_count, pages_per_block)` returns the
    /// pool, its arrays and the function that is called with it.
    fn consult(&self, py: Python<'_>, name: String, make: Py<PyAny>) -> PyResult<()> {
        let choosers = PythonChoosers { policy: self.policy(name), make };
        self.take_policy(py, Arc::new(choosers), 1)
    }

    /// Lets victims be chosen by a native function, whose code lives as long as its owner.
    fn consult_native(
        &self,
        py: Python<'_>,
        name: String,
        address: NonZero<usize>,
        owner: Py<PyAny>,
    ) -> PyResult<()> {
        let (policy, owner) = (self.policy(name), Arc::new(owner));
        let choosers = NativeChoosers { policy, address: address.get(), owner };
        self.take_policy(py, Arc::new(choosers), usize::MAX)
    }

    /// Lets Python give writes their placement ids; see `PythonPlacer`.
    fn place_by(&self, py: Python<'_>, name: String, ask: Py<PyAny>) -> PyResult<()> {
        let placer = PythonPlacer { policy: self.policy(name), ask };
        self.with(py, |drive| {
            drive.place_by(Box::new(placer));
            Ok(())
        })
    }

    /// The drive as bytes.
    fn image<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, |drive| Ok(drive.image())).map(|image| PyBytes::new(py, &image))
    }

    /// The resolved device.
    fn device(&self, py: Python<'_>) -> PyResult<Device> {
        self.with(py, |drive| Ok(Device { config: drive.config().clone() }))
    }

    /// Changes the stress under which pages are read afterwards; a running job is dropped.
    fn set_stress(&self, py: Python<'_>, stress: &str) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.set_stress(config::parse(stress)?)?))
    }

    /// Begins a workload, with the traces of its tenants by their numbers.
    #[allow(clippy::needless_pass_by_value)] // called from Python
    #[pyo3(signature = (workload, seed, traces=Vec::new()))]
    fn begin(
        &self,
        py: Python<'_>,
        workload: &Workload,
        seed: u64,
        traces: Vec<Option<PyRef<'_, Trace>>>,
    ) -> PyResult<()> {
        let of = |trace: &Option<PyRef<'_, Trace>>| Some(Arc::clone(&trace.as_ref()?.records));
        let traces: Vec<_> = traces.iter().map(of).collect();
        self.with(py, |drive| {
            let space = drive.space();
            let job = workload.0.for_space(space)?.job_of(&traces, space, seed)?;
            drive.check_ages(&job)?;
            drive.begin(job);
            Ok(())
        })
    }

    /// Begins preconditioning alone; nothing is measured after it.
    fn begin_precondition(&self, py: Python<'_>, steps: &Steps, seed: u64) -> PyResult<()> {
        self.with(py, |drive| {
            let space = drive.space();
            let job = steps.config.job(space, seed);
            drive.check_ages(&job)?;
            drive.begin(job);
            Ok(())
        })
    }

    /// Begins the replay of a trace.
    fn begin_replay(&self, py: Python<'_>, replay: &Replay, trace: &Trace) -> PyResult<()> {
        let records = Arc::clone(&trace.records);
        self.with(py, |drive| {
            let space = drive.space();
            let job = replay.0.for_space(space)?.job(records, space)?;
            drive.check_ages(&job)?;
            drive.begin(job);
            Ok(())
        })
    }

    /// Watches the measured part of later jobs: the parts of every command, and spans of activity
    /// between two points of its time, in nanoseconds; `record` takes each request of a number.
    /// No metric depends on it.
    #[pyo3(signature = (breakdown, timeline_ns=None, requests_every=None))]
    fn observe(
        &self,
        py: Python<'_>,
        breakdown: bool,
        timeline_ns: Option<(u64, u64)>,
        requests_every: Option<NonZero<u64>>,
    ) -> PyResult<()> {
        let timeline = timeline_ns.map(|(from, to)| (Ns(from), Ns(to)));
        self.with(py, |drive| {
            drive.observe(Observation { breakdown, timeline, requests_every });
            Ok(())
        })
    }

    /// Counts slow commands of later timed work, by four thresholds of (x + 1) x 5 ms, ascending;
    /// `None` ends that.
    #[pyo3(signature = (thresholds=None))]
    fn monitor(&self, py: Python<'_>, thresholds: Option<[u8; 4]>) -> PyResult<()> {
        self.with(py, |drive| {
            drive.monitor(thresholds);
            Ok(())
        })
    }

    /// The logs of the drive, as JSON by the names of nvme-cli.
    fn logs(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.logs().to_string()))
    }

    /// The spans recorded in the measured part, as a Trace Event document, if asked for.
    fn timeline(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |drive| Ok(drive.timeline().map(|document| document.to_string())))
    }

    /// Lets the requests that `observe` asked for be written to the file at `path`, which exists
    /// and is empty, in the format of an ending; `trace` is the one that is replayed.
    #[allow(clippy::needless_pass_by_value)] // called from Python
    #[pyo3(signature = (path, ending, stage, trace=None))]
    fn record(
        &self,
        py: Python<'_>,
        path: PathBuf,
        ending: &str,
        stage: String,
        trace: Option<PyRef<'_, Trace>>,
    ) -> PyResult<()> {
        let trace = trace.map(|trace| Arc::clone(&trace.records));
        let names = self.with(py, |drive| Ok(Names::of(stage, drive.hosts(), trace)))?;
        *self.recorder() = Some(Recorder::begin(&path, ending, names)?);
        Ok(())
    }

    /// Ends the file of `record`: its rows, or none if it is no valid file; the rows that there
    /// were; and why they are not the same.
    fn end_record(&self, py: Python<'_>) -> PyResult<(Option<u64>, u64, Option<String>)> {
        let recorder = self.recorder().take();
        self.with(py, |drive| {
            let Some(recorder) = recorder else { return Ok((None, 0, None)) };
            let (Kept { rows, problem }, offered) = recorder.finish(drive);
            Ok((rows, offered, problem))
        })
    }

    /// Runs about `ops` operations further; the progress as JSON.
    fn advance(&self, py: Python<'_>, ops: u64) -> PyResult<String> {
        let progress = self.with(py, |drive| {
            if let Some(name) = &*self.missing.lock().unwrap_or_else(PoisonError::into_inner) {
                let message = format!("the policy `{name}` was not loaded");
                return Err(ConfigError::new("ftl.gc_policy", message).into());
            }
            let progress = match &mut *self.recorder() {
                Some(recorder) => recorder.advance(drive, ops),
                None => drive.advance(ops),
            };
            Ok(serde_json::to_value(progress).unwrap_or(Value::Null).to_string())
        })?;
        self.failed.raise()?;
        Ok(progress)
    }

    /// Begins a stimulus; `advance` carries it out.
    fn begin_cell(&self, py: Python<'_>, spec: &str, seed: u64) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.begin_cell(spec, seed)?))
    }

    /// The result of the stimulus, up to now, as JSON.
    fn cell(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.cell().to_string()))
    }

    /// Refuses jobs of fio that could not be begun.
    fn check_jobs(&self, py: Python<'_>, jobs: &str) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.check_jobs(jobs)?))
    }

    /// Begins jobs of fio, given as JSON; `advance` carries them out.
    fn begin_jobs(&self, py: Python<'_>, jobs: &str, seed: u64) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.begin_jobs(jobs, seed)?))
    }

    /// What the jobs of fio did, up to now, as JSON.
    fn jobs(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.jobs().to_string()))
    }

    /// The requests of a process of the jobs, if they were kept: end and response time in
    /// nanoseconds, first byte (8 bytes each, little endian), bytes, kind (4 bytes each).
    fn job_requests<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let rows =
            self.with(py, |drive| Ok(drive.job_requests(index).unwrap_or_default().to_vec()))?;
        Ok(PyBytes::new(py, &rows))
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

    /// Advances the clock by `span_ns` nanoseconds, without anything happening.
    fn pass_time(&self, py: Python<'_>, span_ns: u64) -> PyResult<()> {
        self.with(py, |drive| {
            drive.pass_time(Ns(span_ns));
            Ok(())
        })
    }

    /// Lets a host work with the drive and cuts its power; the drive continues in the state
    /// that it had after the mount. `number` is that of the cut in its life; names of workload and
    /// moment as on the command line, claims as for [`PowerCampaign`](crate::power_loss), by
    /// default those of its options; `share` of the drive is written, from its first page on.
    /// Returns the findings, as JSON.
    #[allow(clippy::needless_pass_by_value)] // called from Python
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (number, workload, at, claims, share, mount_limit_us, seed))]
    fn cut_power(
        &self,
        py: Python<'_>,
        number: u32,
        workload: String,
        at: String,
        claims: Option<(bool, bool, bool, bool)>,
        share: f64,
        mount_limit_us: f64,
        seed: u64,
    ) -> PyResult<String> {
        self.with_place(py, |place| {
            let (pattern, target) = (pattern_of(&workload)?, target_of(&at)?);
            let simulation = place.as_ref().expect("who takes it puts it back");
            Session::check_used(simulation)?;
            if !(share > 0.0 && share <= 1.0) {
                let message = format!("{share} is out of range; accepted: above 0, at most 1");
                return Err(ConfigError::new("share", message).into());
            }
            let own = || Claims::of(&simulation.config().power.clone().unwrap_or_default());
            let claims = claims.map_or_else(own, |(honest_flush, plp, ordered, rzat)| Claims {
                honest_flush,
                plp,
                ordered,
                rzat,
            });
            let mount_limit = Ns::from_us(mount_limit_us);
            let asked = AgedCut { number, pattern, target, claims, mount_limit, share, seed };
            let simulation = place.take().expect("who takes it puts it back");
            let (simulation, tally) = cut_aged(simulation, &asked)?;
            *place = Some(simulation);
            Ok(tally.to_json().to_string())
        })
    }

    /// Forgets everything that was written; the blocks that were erased for it.
    fn purge(&self, py: Python<'_>) -> PyResult<u64> {
        let erased = self.with(py, |drive| Ok(drive.purge()))?;
        self.failed.raise()?;
        Ok(erased)
    }

    /// Gives a drive without data the wear of `cycles` erases of each block, give or take a ratio
    /// of `spread`; the blocks that failed on the way.
    fn warp(&self, py: Python<'_>, cycles: f64, spread: f64, seed: u64) -> PyResult<u32> {
        let retired = self.with(py, |drive| Ok(drive.warp(cycles, spread, seed)?))?;
        self.failed.raise()?;
        Ok(retired)
    }

    /// How worn the drive is, as JSON.
    fn wear(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.wear().to_string()))
    }

    /// Continues as a device with another write buffer, or other compression.
    fn reconfigure(&self, py: Python<'_>, device: &Device) -> PyResult<()> {
        self.with(py, |drive| Ok(drive.reconfigure(device.config.clone())?))?;
        self.failed.raise()
    }

    /// Logical pages that hold data.
    fn mapped_pages(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |drive| Ok(drive.mapped_pages()))
    }

    /// The first contradiction between the tables of the drive, if there is one.
    fn audit(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |drive| Ok(drive.audit().err()))
    }

    /// The present state of the drive, as bytes; a drive made from them continues exactly as this
    /// one.
    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with(py, |drive| Ok(drive.checkpoint())).map(|state| PyBytes::new(py, &state))
    }

    /// The drive of a checkpoint.
    #[staticmethod]
    fn from_checkpoint(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        doorway(py, || Ok(Self::of(Simulation::from_checkpoint(state)?)))
    }

    /// The result of the job, up to now, as JSON.
    fn outcome(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |drive| Ok(drive.outcome().to_string()))
    }
}
