//! How much is asked: exactly one of drive writes, bytes, requests or simulated seconds.
//!
//! A drive write is the whole logical capacity written once, whatever the active range.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{optional_whole, refuse};
use super::{Limit, Space};
use crate::config::ConfigError;
use crate::config::{optional_bytes, size_schema};
use crate::units::Ns;

/// More drive writes than any flash survives.
pub(crate) const DRIVE_WRITES_MAX: f64 = 1e6;

/// Amount of a workload. Exactly one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct TotalConfig {
    /// Bytes written, in multiples of the logical capacity; above 0, at most 1e6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_writes: Option<f64>,
    /// Bytes read, written and trimmed together; a number, or text such as 1GiB.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub bytes: Option<u64>,
    /// Requests of any kind; at least 1.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    pub ios: Option<u64>,
    /// Simulated seconds; above 0, at most 1e9. Needs `timed: true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl TotalConfig {
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        let given = [
            self.drive_writes.is_some(),
            self.bytes.is_some(),
            self.ios.is_some(),
            self.seconds.is_some(),
        ];
        let count = given.iter().filter(|&&is_given| is_given).count();
        if count != 1 {
            return Err(ConfigError::new(
                path,
                format!(
                    "{count} keys given; accepted: exactly one of drive_writes, bytes, ios, \
                     seconds"
                ),
            ));
        }
        if self.bytes == Some(0) {
            return Err(refuse(&format!("{path}.bytes"), 0, "at least 1 byte"));
        }
        if self.ios == Some(0) {
            return Err(refuse(&format!("{path}.ios"), 0, "at least 1"));
        }
        if let Some(writes) = self.drive_writes {
            check_drive_writes(&format!("{path}.drive_writes"), writes)?;
        }
        match self.seconds {
            Some(seconds) if !(seconds > 0.0 && seconds <= 1e9) => {
                Err(refuse(&format!("{path}.seconds"), seconds, "above 0, at most 1e9"))
            }
            _ => Ok(()),
        }
    }

    /// The limit of a checked total on a device of this `space`.
    pub(crate) fn limit(&self, space: Space) -> Limit {
        match *self {
            Self { drive_writes: Some(writes), .. } => Limit::WrittenBytes(bytes_of(writes, space)),
            Self { bytes: Some(bytes), .. } => Limit::Bytes(bytes),
            Self { ios: Some(ios), .. } => Limit::Ios(ios),
            // `check` has seen to it that one is given: rounded to the nearest nanosecond.
            Self { seconds, .. } => Limit::Time(Ns((seconds.unwrap_or(0.0) * 1e9).round() as u64)),
        }
    }
}

pub(crate) fn check_drive_writes(path: &str, writes: f64) -> Result<(), ConfigError> {
    if writes > 0.0 && writes <= DRIVE_WRITES_MAX {
        return Ok(());
    }
    Err(refuse(path, writes, "above 0, at most 1e6 logical capacities"))
}

/// Bytes of `drive_writes` logical capacities: the nearest whole byte, at least 1.
pub(crate) fn bytes_of(drive_writes: f64, space: Space) -> u64 {
    ((drive_writes * space.logical_bytes as f64).round() as u64).max(1)
}
