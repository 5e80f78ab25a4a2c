//! Parses JSON text into checked structs: every error names the dotted path, the value and the
//! accepted values.
//!
//! Configuration is declared once, next to the code that uses it; this file holds only the entry
//! point. `serde_path_to_error` finds the path of a value of the wrong type or an unknown key;
//! ranges are checked by each struct's own `check`, combinations of keys by tables of rules, in
//! order.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The parameters of a kind that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoKeys {}

/// A configuration that cannot be used: the user's to mend, nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ConfigError {
    /// Dotted path of the key, such as `ftl.gc_policy`.
    pub path: String,
    /// The rejected value, the reason, and the accepted values.
    pub message: String,
}

impl ConfigError {
    /// An error at `path`; numbers of hundreds of digits get an exponent.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: with_exponents(message.into()) }
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

/// The path of a key, and its message if a configuration cannot have it together with others.
pub(crate) type Rule<T> = (&'static str, fn(&T) -> Option<String>);

/// Checks a configuration by rules, in their order.
///
/// # Errors
/// [`ConfigError`] of the first rule that the configuration breaks.
pub(crate) fn check_rules<T>(config: &T, rules: &[Rule<T>]) -> Result<(), ConfigError> {
    let refused = rules.iter().find_map(|&(path, refusal)| Some((path, refusal(config)?)));
    refused.map_or(Ok(()), |(path, message)| Err(ConfigError::new(path, message)))
}

/// Most digits that a number of a message has: those of a whole number of 64 bits, and some.
const DIGITS_MAX: usize = 24;

/// Writes long numbers of a text with an exponent: Rust spells out 1e-300 with its 300 zeros.
fn with_exponents(text: String) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    if !text.split(|c| !is_digit(c)).any(|run| run.len() > DIGITS_MAX) {
        return text;
    }
    let mut short = String::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.find(is_digit) {
        let (before, from) = rest.split_at(first);
        let (run, after) = from.split_at(from.find(|c| !is_digit(c)).unwrap_or(from.len()));
        short += before;
        let number = run.parse().unwrap_or(f64::INFINITY);
        let is_long = run.len() > DIGITS_MAX && number.is_finite();
        let shown = if is_long { format!("{number:e}") } else { run.to_owned() };
        short += &shown;
        rest = after;
    }
    short + rest
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

/// Schema of a registry key: the mapping of `T`, or a bare name instead of `{kind: name}`.
pub(crate) fn name_or_mapping_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mapping = T::json_schema(generator);
    let rows = mapping.as_value().get("oneOf").and_then(Value::as_array);
    let names: Vec<Value> = rows
        .into_iter()
        .flatten()
        .filter_map(|row| row.pointer("/properties/kind/const").cloned())
        .collect();
    json_schema!({ "anyOf": [{ "type": "string", "enum": names }, mapping] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_hundreds_of_digits_get_an_exponent() {
        let message = |value: f64| ConfigError::new("key", format!("-{value} ns; to 1e6.")).message;
        assert_eq!(message(1e-300), "-1e-300 ns; to 1e6.");
        assert_eq!(message(1.5e300), "-1.5e300 ns; to 1e6.");
        assert_eq!(message(0.000_012_5), "-0.0000125 ns; to 1e6.");
        let longest = format!("{} to {}.", u64::MAX, u64::MAX);
        assert_eq!(ConfigError::new("key", longest.clone()).message, longest);
        let beyond = "9".repeat(400);
        assert_eq!(ConfigError::new("key", beyond.clone()).message, beyond);
    }
}
