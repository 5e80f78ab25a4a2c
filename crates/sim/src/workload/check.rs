//! Small helpers of the workload declarations: how a refusal reads, and numbers as people write
//! them.
//!
//! A refusal names the path, the value and the accepted values. Whole numbers may be written `1e6`:
//! YAML hands that over as a float, and a float without a fraction is still a count.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::config::ConfigError;
use crate::units::SECTOR_BYTES;

/// The error for a `value` at `path` outside the `accepted` range.
pub(crate) fn refuse(path: &str, value: impl std::fmt::Display, accepted: &str) -> ConfigError {
    ConfigError::new(path, format!("`{value}` is out of range; accepted: {accepted}"))
}

/// Refuses sizes that are not a positive multiple of a sector.
pub(crate) fn whole_sectors(path: &str, bytes: u64) -> Result<(), ConfigError> {
    if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
        let message =
            format!("`{bytes}` is not valid; accepted: a multiple of 512 B, at least 512");
        return Err(ConfigError::new(path, message));
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

/// The number below which every whole number has an exact float.
const EXACT_MAX: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// A whole number, also when written as a float.
pub(crate) fn whole_from<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    let count = match (value.as_u64(), value.as_f64()) {
        (Some(count), _) => count,
        // A float without a fraction is then exactly the integer that was meant.
        (None, Some(float)) if (0.0..EXACT_MAX).contains(&float) && float.fract() == 0.0 => {
            float as u64
        }
        _ => return None,
    };
    T::try_from(count).ok()
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
