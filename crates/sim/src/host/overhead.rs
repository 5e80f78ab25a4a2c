//! Time of a command that takes no core: firmware and host pass it side by side.
//!
//! One number for all commands, or one for each kind with a part that grows with the data. At a
//! depth of 1 the host waits for all of it; with many commands outstanding only the cores
//! (`command_cost_us`), the link and the flash limit the rate.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::processor::{CommandCost, PerKib};
use crate::config::ConfigError;
use crate::op::HostOp;
use crate::units::Ns;

/// See the module; in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CommandOverhead(CommandCost);

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct OverheadKeys {
    /// Reads; default 0.
    read: f64,
    /// Writes; default 0.
    write: f64,
    /// Trims; default 0.
    trim: f64,
    /// Flushes of the cache; default 0.
    flush: f64,
    /// Additional time for each KiB that a read or write moves: a number, or `{read, write}`;
    /// default 0.
    per_kib: PerKib,
}

/// The same in nanoseconds, ready for use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// By read, write, trim, flush.
    fixed: [Ns; 4],
    /// Microseconds for each byte of reads and of writes.
    us_per_byte: [f64; 2],
}

impl CommandOverhead {
    /// The one number of all commands, if there is one.
    fn number(&self) -> Option<f64> {
        let read = self.0.read;
        let all = CommandCost { read, write: read, trim: read, flush: read, ..Default::default() };
        (self.0 == all).then_some(read)
    }

    /// Whether no command takes time.
    pub(super) fn is_free(&self) -> bool {
        self.0.is_free()
    }

    pub(super) fn check(&self, path: &str) -> Result<(), ConfigError> {
        match self.number() {
            Some(time) if (0.0..=1e7).contains(&time) => Ok(()),
            Some(time) => {
                let message = format!("{time} is out of range; accepted: 0 to 1e7");
                Err(ConfigError::new(path, message))
            }
            None => self.0.check(path),
        }
    }

    /// Ready for use.
    pub(crate) fn build(&self) -> Overhead {
        let per_kib = self.0.per_kib;
        Overhead {
            fixed: [self.0.read, self.0.write, self.0.trim, self.0.flush].map(Ns::from_us),
            us_per_byte: [per_kib.read, per_kib.write].map(|time| time / 1024.0),
        }
    }
}

impl Overhead {
    /// The time of a command that moves `bytes`.
    #[inline]
    pub(crate) fn of(&self, op: HostOp, bytes: u64) -> Ns {
        let fixed = self.fixed[op.index()];
        match self.us_per_byte.get(op.index()) {
            Some(&time) if time > 0.0 => fixed + Ns::from_us(time * bytes as f64),
            _ => fixed,
        }
    }
}

impl Serialize for CommandOverhead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.number() {
            Some(time) => serializer.serialize_f64(time),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CommandOverhead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let keys = if let Some(time) = value.as_f64() {
            OverheadKeys { read: time, write: time, trim: time, flush: time, ..Default::default() }
        } else if value.is_object() {
            serde_json::from_value(value).map_err(D::Error::custom)?
        } else {
            let message = format!(
                "`{value}` is not a valid overhead; accepted: microseconds, or {{read: 20, write: \
                 90, trim: 5, flush: 5, per_kib: 1}}"
            );
            return Err(D::Error::custom(message));
        };
        let OverheadKeys { read, write, trim, flush, per_kib } = keys;
        Ok(Self(CommandCost { read, write, trim, flush, per_kib, moved: 0.0 }))
    }
}

impl JsonSchema for CommandOverhead {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CommandOverhead".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mapping = OverheadKeys::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1e7 }, mapping] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_for_all_commands_and_a_mapping_for_each_kind() {
        let read = |text: &str| serde_json::from_str::<CommandOverhead>(text).expect("an overhead");
        let all = read("34");
        assert_eq!(serde_json::to_string(&all).expect("text"), "34.0");
        assert_eq!(all.build().of(HostOp::Flush, 0), Ns(34_000));
        let each = read(r#"{"read": 20, "write": 90, "per_kib": {"write": 20.5}}"#);
        let times = each.build();
        assert_eq!(times.of(HostOp::Read, 8192), Ns(20_000));
        assert_eq!(times.of(HostOp::Write, 8192), Ns(254_000));
        assert_eq!(times.of(HostOp::Trim, 8192), Ns(0));
        let again = serde_json::to_string(&each).expect("text");
        assert_eq!(read(&again), each);
    }

    #[test]
    fn what_is_out_of_range_names_its_key() {
        for (text, words) in [
            ("2e7", "it: 20000000 is out of range; accepted: 0 to 1e7"),
            (r#"{"read": -1}"#, "it.read: -1 is out of range; accepted: 0 to 1e6"),
            (r#"{"per_kib": {"write": 2e6}}"#, "it.per_kib.write: 2000000 is out of range"),
        ] {
            let overhead: CommandOverhead = serde_json::from_str(text).expect("an overhead");
            let refusal = overhead.check("it").expect_err("a refusal").to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
        for bad in [r#""slow""#, r#"{"reed": 1}"#, r#"{"move": 1}"#] {
            assert!(serde_json::from_str::<CommandOverhead>(bad).is_err(), "{bad}");
        }
    }
}
