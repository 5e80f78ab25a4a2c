//! Campaigns of power cuts: names come in, counts go out as JSON.

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::power_loss::{self_test, Campaign, Claims, Life, Pattern, Tally, Target};
use opennandlab_sim::units::Ns;
use pyo3::prelude::*;
use serde_json::json;

use crate::config::Device;
use crate::doorway::{doorway, Failure};

/// A drive that lives through cuts, once for each number of a life.
#[pyclass(frozen)]
pub(crate) struct PowerCampaign {
    life: Life,
}

#[pymethods]
impl PowerCampaign {
    /// Writes the drive. Names of workloads and targets as on the command line; claims in the order
    /// honest flush, capacitors, ordered, zeros after trim.
    #[new]
    #[pyo3(signature = (device, workloads, targets, claims, cuts_per_life, mount_limit_us, seed))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // called from Python
    fn new(
        py: Python<'_>,
        device: &Device,
        workloads: Vec<String>,
        targets: Vec<String>,
        claims: (bool, bool, bool, bool),
        cuts_per_life: u32,
        mount_limit_us: f64,
        seed: u64,
    ) -> PyResult<Self> {
        let device = device.config.clone();
        doorway(py, || {
            let patterns = named("--workload", &workloads, Pattern::of_name, || {
                Pattern::ALL.iter().map(|it| it.name()).collect()
            })?;
            let targets = named("--at", &targets, Target::of_name, || {
                Target::ALL.iter().map(|it| it.name()).collect()
            })?;
            let (honest_flush, plp, ordered, rzat) = claims;
            let campaign = Campaign {
                device,
                patterns,
                targets,
                claims: Claims { honest_flush, plp, ordered, rzat },
                cuts_per_life,
                mount_limit: Ns::from_us(mount_limit_us),
                seed,
            };
            Ok(Self { life: Life::new(campaign)? })
        })
    }

    /// Lives so many lives from a number on; what they have shown, as JSON.
    fn live(&self, py: Python<'_>, first: u64, count: u64) -> PyResult<String> {
        doorway(py, || {
            let mut tally = Tally::default();
            (first..first + count).for_each(|number| tally.add(self.life.live(number)));
            Ok::<_, Failure>(tally.to_json().to_string())
        })
    }
}

fn named<T>(
    option: &str,
    names: &[String],
    of_name: impl Fn(&str) -> Option<T>,
    all: impl Fn() -> Vec<&'static str>,
) -> Result<Vec<T>, ConfigError> {
    let one = |name: &String| {
        of_name(name).ok_or_else(|| {
            let accepted = all().join(", ");
            ConfigError::new(option, format!("`{name}` is not known; accepted: {accepted}"))
        })
    };
    names.iter().map(one).collect()
}

/// Puts faults of every class into right answers; what the judge called them, as JSON.
#[pyfunction]
pub(crate) fn power_self_test(py: Python<'_>, seed: u64, count: u64) -> PyResult<String> {
    doorway(py, || {
        let test = self_test(seed, count);
        Ok::<_, Failure>(
            json!({
                "injected": test.injected,
                "named": test.named,
                "clean": test.clean,
                "false_alarms": test.false_alarms,
                "classes": test
                    .classes
                    .iter()
                    .map(|(name, (injected, named))| {
                        ((*name).to_owned(), json!({"injected": injected, "named": named}))
                    })
                    .collect::<serde_json::Map<_, _>>(),
            })
            .to_string(),
        )
    })
}
