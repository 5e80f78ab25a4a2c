//! The `PyO3` skin of opennandlab: `opennandlab._core`.
//!
//! No logic: JSON text becomes a handle (`config`), a handle a drive (`drive`), and JSON text and
//! bytes come out. The core works without the GIL (`doorway`). Python never holds a pointer into
//! it, and all that Python shows of keys, defaults and units comes from here.

mod config;
mod doorway;
mod drive;
mod ecc;
mod emmc;
mod player;
mod policy;
mod power_loss;
mod raw;
mod reliability;
mod requests;
mod server;
mod source;
mod stream;
mod trace;

use pyo3::prelude::*;

/// Results are comparable only within one version of the model; whatever changes numbers raises it.
const MODEL_VERSION: u32 = 6;

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

/// Whether the sources of the core were changed after that commit.
#[pyfunction]
fn dirty() -> bool {
    env!("OPENNANDLAB_DIRTY") == "true"
}

/// The compiled core of opennandlab.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::config::{
        device_schema, replay_schema, workload_schema, Device, Replay, Steps, Workload,
    };
    #[pymodule_export]
    use super::drive::{set_threads, Drive};
    #[pymodule_export]
    use super::ecc::bch::{ecc_bch_paths, EccBch};
    #[pymodule_export]
    use super::ecc::channel::{ecc_interval, ecc_limits, ecc_llr_table, ecc_tail, ecc_weights};
    #[pymodule_export]
    use super::ecc::ldpc::{ecc_ldpc_names, EccLdpc};
    #[pymodule_export]
    use super::ecc::monte_carlo::{EccCodec, EccGpu, EccTask};
    #[pymodule_export]
    use super::emmc::{emmc_fields, Emmc};
    #[pymodule_export]
    use super::player::Player;
    #[pymodule_export]
    use super::power_loss::{power_check, power_promises, power_self_test, PowerCampaign};
    #[pymodule_export]
    use super::raw::{RawNand, RawRead, RawServer};
    #[pymodule_export]
    use super::reliability::{
        arrhenius, beta_binomial_tail, cells_analytic, cells_counted, codeword_failures,
        device_reliability, layer_factors, llr_table, page_code, page_types, rber,
        resolve_reliability, retry_steps, states,
    };
    #[pymodule_export]
    use super::server::Server;
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::trace::{trace_statistics, Trace, Traces};
    #[pymodule_export]
    use super::{commit, dirty, model_version, version};
}
