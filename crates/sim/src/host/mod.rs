//! The host side: how deep it queues, what a command costs, how long it took.

pub mod latency;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;

/// The interface between host and drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// Infinitely fast.
    #[default]
    Ideal,
}

/// The host interface of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// The link; only `ideal` so far.
    pub link: Link,
    /// Commands that the drive accepts at once, 1 to 1048576; further ones wait outside, in order.
    pub queue_depth_max: u32,
    /// Time that each command spends in the controller before its first flash operation, in
    /// microseconds.
    pub command_overhead_us: f64,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self { link: Link::Ideal, queue_depth_max: 65_536, command_overhead_us: 0.0 }
    }
}

impl HostConfig {
    /// Ranges of single keys.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if !(1..=1 << 20).contains(&self.queue_depth_max) {
            let message =
                format!("{} is out of range; accepted: 1 to 1048576", self.queue_depth_max);
            return Err(ConfigError::new("queue_depth_max", message));
        }
        if !(0.0..=1e7).contains(&self.command_overhead_us) {
            let message =
                format!("{} is out of range; accepted: 0 to 1e7", self.command_overhead_us);
            return Err(ConfigError::new("command_overhead_us", message));
        }
        Ok(())
    }
}
