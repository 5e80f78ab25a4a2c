//! Collects any closed block, the only one drawn: the yardstick that a policy must beat.
//!
//! The write amplification for uniform writes is `1 / spare factor` (Van Houdt, SIGMETRICS 2013, d
//! = 1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::d_choices::DChoices;
use super::{BuildContext, GcPolicy};
use crate::config::ConfigError;

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomConfig {}

impl RandomConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    pub(super) fn build(&self, context: BuildContext) -> Box<dyn GcPolicy> {
        Box::new(DChoices::new(1, context))
    }
}
