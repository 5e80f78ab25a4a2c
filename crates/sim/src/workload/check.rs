//! Small helpers of the workload declarations: how a refusal reads, and numbers as people write
//! them.
//!
//! A refusal names the path, the value and the accepted values. Whole numbers may be written `1e6`:
//! YAML hands that over as a float, and a float without a fraction is still a count.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::config::ConfigError;
use crate::units::SECTOR_BYTES;

/// The error for a `value` at `path` that is none of the `accepted`.
pub(crate) fn refuse(path: &str, value: impl std::fmt::Display, accepted: &str) -> ConfigError {
    ConfigError::new(path, format!("`{value}` is out of range; accepted: {accepted}"))
}

/// Refuses sizes that are no positive multiple of a sector.
pub(crate) fn whole_sectors(path: &str, bytes: u64) -> Result<(), ConfigError> {
    if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(refuse(path, bytes, "a multiple of 512 B, at least 512"));
    }
    Ok(())
}

/// Serde helper: a whole number, also when written as a float such as `1e6`.
pub(crate) fn whole<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let value = Value::deserialize(deserializer)?;
    whole_from(&value).ok_or_else(|| {
        D::Error::custom(format!(
            "`{value}` is not a valid count; accepted: a whole number such as 1000000"
        ))
    })
}

/// As [`whole`], for keys that may be absent or null.
pub(crate) fn optional_whole<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let value: Option<Value> = Option::deserialize(deserializer)?;
    value.map(whole).transpose().map_err(D::Error::custom)
}

/// Serde helper: keys that are zero unless asked for.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(value: &f64) -> bool {
    value.to_bits() == 0
}

pub(crate) fn whole_from<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    let count = match (value.as_u64(), value.as_f64()) {
        (Some(count), _) => count,
        // Below 2^53 a float without a fraction is exactly the integer that was meant.
        (None, Some(float)) if float >= 0.0 && float.fract() == 0.0 && float < 9.0e15 => {
            float as u64
        }
        _ => return None,
    };
    T::try_from(count).ok()
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
    use serde_json::json;

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        assert_eq!(whole_from::<u64>(&json!(1e6)), Some(1_000_000));
        assert_eq!(whole_from::<u32>(&json!(7)), Some(7));
        for bad in [json!(-1), json!(1.5), json!("7"), json!(1e300), json!(null)] {
            assert_eq!(whole_from::<u64>(&bad), None, "{bad}");
        }
        assert_eq!(whole_from::<u32>(&json!(1_u64 << 32)), None);
    }
}
