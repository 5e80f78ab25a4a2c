//! How traces are read that no drive replays: for statistics and conversions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trace::convert::{Align, Edit};
use super::trace::{BadLines, FormatConfig, TraceOptions};
use crate::config::{name_or_mapping, optional_bytes, parse, ConfigError};

/// Files of traces, and the treatment of their requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadingConfig {
    /// As of a replay.
    #[serde(deserialize_with = "name_or_mapping")]
    #[schemars(with = "String")]
    pub format: FormatConfig,
    /// Whether lines that cannot be read are counted and skipped; default false.
    pub skip_bad_lines: bool,
    /// As of a replay.
    #[serde(deserialize_with = "optional_bytes")]
    pub unpacked_bytes_max: Option<u64>,
    /// The common zero of the times of several files; default `start`.
    pub align: Align,
    /// Whether requests are dropped that several files have; default false.
    pub dedupe: bool,
    /// Changes.
    pub edit: Edit,
}

impl ReadingConfig {
    /// Reads it, checked.
    ///
    /// # Errors
    /// The dotted path of the first invalid key, its value, and the accepted values.
    pub fn resolve(json: &str) -> Result<Self, ConfigError> {
        let config: Self = parse(json)?;
        match config.format.check() {
            Err((key, message)) => Err(ConfigError::new(format!("format.{key}"), message)),
            Ok(()) => Ok(config),
        }
    }

    /// How each file is read.
    pub fn trace_options(&self, memory_bytes_max: Option<u64>) -> TraceOptions {
        let bad_lines = if self.skip_bad_lines { BadLines::Skip } else { BadLines::Refuse };
        TraceOptions {
            format: self.format.clone(),
            bad_lines,
            memory_bytes_max,
            has_processes: true,
            ..TraceOptions::default()
        }
    }
}
