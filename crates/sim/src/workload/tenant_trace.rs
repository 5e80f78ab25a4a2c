//! The trace that a tenant replays, as a workload file declares it.

use std::fmt;

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::replay::{Beyond, LoopConfig, Part, ReplayConfig};
use super::trace::{FormatConfig, Order};
use crate::config::ConfigError;
use crate::config::{name_or_mapping, name_or_mapping_schema, optional_bytes, size_schema};

/// The trace of a tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TenantTrace {
    /// Name of the file; no default.
    pub file: String,
    /// SHA-256 of its uncompressed text, in hexadecimal; empty if not known.
    pub digest: String,
    /// As of a replay.
    #[serde(deserialize_with = "name_or_mapping")]
    #[schemars(schema_with = "name_or_mapping_schema::<FormatConfig>")]
    pub format: FormatConfig,
    /// As of a replay, on the range of the tenant.
    #[serde(deserialize_with = "super::replay::volume_name")]
    pub volumes: String,
    /// The treatment of addresses beyond the range of the tenant: `error`, `wrap` or `scale`;
    /// default `error`.
    pub beyond: Beyond,
    /// As of a replay.
    pub skip_bad_lines: bool,
    /// As of a replay.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub unpacked_bytes_max: Option<u64>,
    /// As of a replay.
    #[serde(
        skip_serializing_if = "super::replay::is_once",
        deserialize_with = "super::check::whole"
    )]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repeat: u32,
    /// As of a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
}

impl Default for TenantTrace {
    fn default() -> Self {
        let plain = ReplayConfig::default();
        Self {
            file: String::new(),
            digest: String::new(),
            format: plain.format,
            volumes: plain.volumes,
            beyond: plain.beyond,
            skip_bad_lines: plain.skip_bad_lines,
            unpacked_bytes_max: plain.unpacked_bytes_max,
            repeat: plain.repeat,
            order: plain.order,
        }
    }
}

impl TenantTrace {
    /// The replay of it alone.
    pub(super) fn replay(&self, load: LoopConfig) -> ReplayConfig {
        ReplayConfig {
            format: self.format.clone(),
            load,
            volumes: self.volumes.clone(),
            beyond: self.beyond,
            skip_bad_lines: self.skip_bad_lines,
            unpacked_bytes_max: self.unpacked_bytes_max,
            repeat: self.repeat,
            order: self.order,
            ..ReplayConfig::default()
        }
    }

    /// Refuses invalid values; paths are relative to the tenant.
    pub(super) fn check(&self, load: LoopConfig, part: Part) -> Result<(), ConfigError> {
        if self.file.is_empty() {
            let message = "missing; accepted: the name of a trace";
            return Err(ConfigError::new("trace.file", message));
        }
        let under = |error: ConfigError| {
            if error.path.starts_with("loop") {
                error
            } else {
                error.under("trace")
            }
        };
        self.replay(load).check_trace(part.space).map_err(under)
    }
}

/// Serde helper: the name of a file, or a mapping.
pub(super) fn optional_trace<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TenantTrace>, D::Error> {
    struct FileOrMapping;
    impl<'de> Visitor<'de> for FileOrMapping {
        type Value = Option<TenantTrace>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("the name of a trace, or a mapping of keys")
        }

        fn visit_str<E: Error>(self, file: &str) -> Result<Self::Value, E> {
            Ok(Some(TenantTrace { file: file.to_owned(), ..TenantTrace::default() }))
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            TenantTrace::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }
    deserializer.deserialize_any(FileOrMapping)
}

/// Serde helper: a loop, by its name or as a mapping.
pub(super) fn optional_loop<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<LoopConfig>, D::Error> {
    let value: Option<Value> = Option::deserialize(deserializer)?;
    value.map(name_or_mapping).transpose().map_err(Error::custom)
}

/// Schema of a trace: the name of its file, or a mapping.
pub(super) fn trace_schema(generator: &mut SchemaGenerator) -> Schema {
    let mapping = generator.subschema_for::<TenantTrace>();
    json_schema!({ "anyOf": [{ "type": "string" }, mapping] })
}
