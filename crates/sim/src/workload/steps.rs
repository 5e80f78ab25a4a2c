//! Preconditioning alone, for drives that are run step by step.
//!
//! There is no workload whose requests a `workload` step could repeat: it writes 4 KiB at random,
//! the default of every workload.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::WorkloadConfig;
use super::precondition::{resolve_steps, PreconditionStep};
use super::{Job, Space};
use crate::config::{parse, ConfigError};

/// Steps as under `precondition:` in a workload file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepsConfig {
    /// In the order in which they run.
    pub precondition: Vec<PreconditionStep>,
}

impl StepsConfig {
    /// Reads steps: defaults filled in, everything checked. They fit every device.
    ///
    /// # Errors
    /// The dotted path of the first invalid key, its value, and the accepted values.
    pub fn resolve(json: &str) -> Result<Self, ConfigError> {
        let mut config: Self = parse(json)?;
        resolve_steps(&mut config.precondition, None)?;
        Ok(config)
    }

    /// The resolved steps.
    ///
    /// # Panics
    /// Never: every checked number is finite.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("every number is finite")
    }

    /// Compiles the steps; nothing is measured after them.
    pub fn job(&self, space: Space, seed: u64) -> Job {
        let steps = self.precondition.clone();
        let whole = WorkloadConfig { precondition: steps, ..WorkloadConfig::default() };
        Job {
            precondition: whole.preconditioning(space, seed, None),
            measured: None,
            sample_count: 1,
            resolved: self.to_json(),
            warnings: Vec::new(),
        }
    }
}
