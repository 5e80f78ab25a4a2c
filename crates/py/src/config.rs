//! Devices, workloads and replays, read and checked once: the handles that Python holds.
//!
//! A handle is made from JSON text, or refused; everything later takes the handle. So no text is
//! read twice, and all that Python shows of keys, defaults and units comes from here. Handles never
//! change: a changed device is another one.

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::workload::trace::TraceOptions;
use opennandlab_sim::workload::{ReplayConfig, Space, StepsConfig, WorkloadConfig};
use pyo3::prelude::*;

use crate::doorway::doorway;

/// A resolved device.
#[pyclass(frozen)]
pub(crate) struct Device {
    pub(crate) config: DeviceConfig,
}

#[pymethods]
impl Device {
    /// Fills the defaults of a device file given as JSON, and checks it.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        doorway(py, || Ok(Self { config: DeviceConfig::resolve(text)? }))
    }

    /// The resolved file.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        doorway(py, || Ok(self.config.to_json().to_string()))
    }

    /// What follows from it: capacities, spare factors, the GC reserve, memory.
    fn effective(&self, py: Python<'_>) -> PyResult<String> {
        doorway(py, || Ok(self.config.effective().to_string()))
    }

    /// Dotted path and source of each constant.
    fn sources(&self, py: Python<'_>) -> PyResult<String> {
        doorway(py, || Ok(serde_json::json!(self.config.sources()).to_string()))
    }
}

/// A declaration that is resolved for the address space of a device, and only valid for such a
/// device.
pub(crate) struct Fitted<T> {
    config: T,
    space: Space,
}

impl<T> Fitted<T> {
    /// The declaration, for a drive of this `space`.
    pub(crate) fn for_space(&self, space: Space) -> Result<&T, ConfigError> {
        if self.space == space {
            return Ok(&self.config);
        }
        let message = format!(
            "this was resolved for a device of {} bytes; accepted: what is resolved for this one, \
             of {} bytes",
            self.space.logical_bytes, space.logical_bytes
        );
        Err(ConfigError::new(".", message))
    }
}

/// A handle for one kind of declaration.
macro_rules! handle {
    ($(#[$about:meta])* $name:ident($config:ty, $resolve:expr) { $($more:tt)* }) => {
        $(#[$about])*
        #[pyclass(frozen)]
        pub(crate) struct $name(pub(crate) Fitted<$config>);

        #[pymethods]
        impl $name {
            /// Fills the defaults of the declaration given as JSON, and checks it against the
            /// device.
            #[new]
            fn new(py: Python<'_>, text: &str, device: &Device) -> PyResult<Self> {
                doorway(py, || {
                    let space = device.config.space();
                    let resolve: fn(&str, &DeviceConfig) -> Result<$config, ConfigError> = $resolve;
                    Ok(Self(Fitted { config: resolve(text, &device.config)?, space }))
                })
            }

            /// The resolved declaration.
            fn json(&self, py: Python<'_>) -> PyResult<String> {
                doorway(py, || Ok(self.0.config.to_json().to_string()))
            }

            $($more)*
        }
    };
}

handle! {
    /// A resolved workload.
    Workload(WorkloadConfig, |text, device| {
        WorkloadConfig::resolve_in(text, device.space(), &device.namespaces())
    }) {
        /// The same workload, with traces of tenants that were read: what the user called their
        /// files, and the digests of their text, by tenant.
        fn of(&self, sources: Vec<Option<(String, String)>>) -> Self {
            let Fitted { config, space } = &self.0;
            Self(Fitted { config: config.of(sources), space: *space })
        }
    }
}

impl Workload {
    /// How the trace of a tenant is to be read, and the most bytes that it may unpack to.
    pub(crate) fn trace_options(&self, tenant: usize) -> Option<(TraceOptions, Option<u64>)> {
        self.0.config.tenants.get(tenant)?.trace_options()
    }
}

impl Replay {
    /// How the trace is to be read.
    pub(crate) fn trace_options(&self) -> TraceOptions {
        self.0.config.trace_options()
    }

    /// Most bytes that its trace may unpack to, where the default is not meant.
    pub(crate) fn unpacked_bytes_max(&self) -> Option<u64> {
        self.0.config.unpacked_bytes_max
    }
}

handle! {
    /// The resolved options of a replay.
    Replay(ReplayConfig, |text, device| ReplayConfig::resolve(text, device.space())) {
        /// The same replay, of a trace that was read: what the user called its file, and the
        /// digest of its text.
        fn of(&self, file: String, digest: String) -> Self {
            let Fitted { config, space } = &self.0;
            Self(Fitted { config: config.of(file, digest), space: *space })
        }
    }
}

/// Resolved steps of preconditioning.
#[pyclass(frozen)]
pub(crate) struct Steps {
    pub(crate) config: StepsConfig,
}

#[pymethods]
impl Steps {
    /// Fills the defaults of `{"precondition": [...]}` given as JSON, and checks them.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        doorway(py, || Ok(Self { config: StepsConfig::resolve(text)? }))
    }

    /// The resolved steps.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        doorway(py, || Ok(self.config.to_json().to_string()))
    }
}

/// The JSON schema of device files.
#[pyfunction]
pub(crate) fn device_schema(py: Python<'_>) -> PyResult<String> {
    doorway(py, || Ok(DeviceConfig::schema().to_string()))
}

/// The JSON schema of workload files.
#[pyfunction]
pub(crate) fn workload_schema(py: Python<'_>) -> PyResult<String> {
    doorway(py, || Ok(WorkloadConfig::schema().to_string()))
}

/// The JSON schema of replay options.
#[pyfunction]
pub(crate) fn replay_schema(py: Python<'_>) -> PyResult<String> {
    doorway(py, || Ok(ReplayConfig::schema().to_string()))
}
