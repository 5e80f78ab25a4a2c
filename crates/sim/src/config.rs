//! From JSON text to checked structs: every refusal names the dotted path, the value and what is
//! accepted.
//!
//! Configuration is declared once, beside the code that uses it; this file holds only the doorway.
//! `serde_path_to_error` finds the path of a value of the wrong type or an unknown key; ranges and
//! relations between keys are checked by each struct's own `check`.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A configuration that cannot be used: the user's to mend, nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ConfigError {
    /// Dotted path of the key, such as `ftl.gc_policy`.
    pub path: String,
    /// What was wrong with which value, and what is accepted.
    pub message: String,
}

impl ConfigError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The same error seen from outside: `prefix.path`.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.path = if self.path == "." || self.path.is_empty() {
            prefix.to_owned()
        } else {
            format!("{prefix}.{}", self.path)
        };
        self
    }
}

/// Parses JSON into `T`.
///
/// # Errors
/// [`ConfigError`] with the dotted path where the text and the declaration part ways.
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, ConfigError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| ConfigError::new(error.path().to_string(), error.inner().to_string()))?;
    reader.end().map_err(|error| ConfigError::new(".", error.to_string()))?;
    Ok(value)
}

/// Checks a time of a device file: 0 to 1e7 microseconds.
///
/// # Errors
/// [`ConfigError`] at `key` for any other.
pub fn check_time_us(key: &str, us: f64) -> Result<(), ConfigError> {
    if (0.0..=1e7).contains(&us) {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{us} us is out of range; accepted: 0 to 1e7")))
}

/// Checks an energy or a power of a device file: 0 to 1e6, in the unit of its key.
///
/// # Errors
/// [`ConfigError`] at `key` for any other.
pub fn check_amount(key: &str, value: f64) -> Result<(), ConfigError> {
    if (0.0..=1e6).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{value} is out of range; accepted: 0 to 1e6")))
}

/// Serde helper for registry keys: a bare name `greedy` means the mapping `{kind: greedy}`.
///
/// # Errors
/// Whatever the declaration of `T` refuses.
pub fn name_or_mapping<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = match Value::deserialize(deserializer)? {
        Value::String(kind) => serde_json::json!({ "kind": kind }),
        other => other,
    };
    serde_json::from_value(value).map_err(serde::de::Error::custom)
}

/// Serde helper for sizes: an integer of bytes, or text such as `4KiB` (see
/// [`crate::units::parse_bytes`]).
///
/// # Errors
/// When the value is neither.
pub fn bytes_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Number(number) if number.is_u64() => Ok(number.as_u64().unwrap_or_default()),
        Value::String(text) => crate::units::parse_bytes(&text).map_err(serde::de::Error::custom),
        other => Err(serde::de::Error::custom(format!(
            "`{other}` is not a valid size; accepted: bytes as a positive integer, or text \
             such as 4KiB"
        ))),
    }
}

/// The same for a size that may be left out.
///
/// # Errors
/// As [`bytes_or_text`].
pub fn optional_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value: Option<Value> = Option::deserialize(deserializer)?;
    value.map(bytes_or_text).transpose().map_err(serde::de::Error::custom)
}

/// Whether a key has its default value, and so is left out of files.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Schema of a size: bytes, or text such as `4KiB`.
pub fn size_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }] })
}
