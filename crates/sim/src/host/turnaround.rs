//! The cost of a change between reading and writing.
//!
//! Published tables of mixed loads are far below the rate of reads and writes in turns: a client
//! drive of 2013 does 70 600 reads or 62 100 writes of 4 KiB a second, and 18 500 of both mixed
//! (SNIA PTS tutorial, E. Kim and E. Ho, 2013). Links, dies and buses do not explain it; firmware
//! that completes its running commands before it changes direction does. This is an empirical model
//! of that: each of the first commands of a new direction takes additional time, and during this
//! time all cores wait.
//!
//! ```text
//! R R R R W W W R R R R R R       commands: 2
//!         x x   x x               x: fixed + per_unit n + per_sqrt_unit sqrt(n), n units of data
//! ```
//! One command models a loss per change. Several model a pipeline that fills again: then changes
//! that follow each other closely cost less each. Trims and flushes neither pay nor turn.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::config::ConfigError;
use crate::op::HostOp;
use crate::units::{Ns, SECTOR_BYTES};

/// Time lost when commands change between reading and writing, in microseconds: one number for
/// each change, or a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TurnaroundConfig {
    /// Commands after a change that cost more, the first included; 1 to 65536.
    pub commands: u32,
    /// Additional time of each of these commands, regardless of its size; 0 to 1e6.
    pub fixed: f64,
    /// Additional time of each for every unit of data; 0 to 1e6.
    pub per_unit: f64,
    /// Additional time of each times the square root of its units; 0 to 1e6.
    pub per_sqrt_unit: f64,
    /// Size of a unit, a multiple of 512; the last unit of a command counts in full.
    pub unit_bytes: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct TurnaroundKeys {
    /// Commands after a change that cost more, the first included; 1 to 65536; default 1.
    commands: u32,
    /// Additional time of each of these commands, regardless of its size; 0 to 1e6; default 0.
    fixed: f64,
    /// Additional time of each for every unit of data; 0 to 1e6; default 0.
    per_unit: f64,
    /// Additional time of each times the square root of its units; 0 to 1e6; default 0.
    per_sqrt_unit: f64,
    /// Bytes of a unit, a multiple of 512; the last unit of a command counts in full; default 4096.
    unit_bytes: u64,
}

impl Default for TurnaroundKeys {
    fn default() -> Self {
        Self { commands: 1, fixed: 0.0, per_unit: 0.0, per_sqrt_unit: 0.0, unit_bytes: 4096 }
    }
}

impl TurnaroundConfig {
    pub(super) fn check(&self, path: &str) -> Result<(), ConfigError> {
        let refuse =
            |key: &str, message: String| Err(ConfigError::new(format!("{path}.{key}"), message));
        if !(1..=65_536).contains(&self.commands) {
            let message = format!("{} is out of range; accepted: 1 to 65536", self.commands);
            return refuse("commands", message);
        }
        if self.unit_bytes == 0 || !self.unit_bytes.is_multiple_of(SECTOR_BYTES) {
            let message =
                format!("{} is not a valid unit; accepted: multiples of 512", self.unit_bytes);
            return refuse("unit_bytes", message);
        }
        let times = [
            ("fixed", self.fixed),
            ("per_unit", self.per_unit),
            ("per_sqrt_unit", self.per_sqrt_unit),
        ];
        match times.into_iter().find(|(_, time)| !(0.0..=1e6).contains(time)) {
            None => Ok(()),
            Some((key, time)) => refuse(key, format!("{time} is out of range; accepted: 0 to 1e6")),
        }
    }

    /// Additional time of a command with this number of bytes.
    fn extra(&self, bytes: u64) -> Ns {
        let units = bytes.div_ceil(self.unit_bytes) as f64;
        Ns::from_us(self.fixed + self.per_unit * units + self.per_sqrt_unit * units.sqrt())
    }
}

impl<'de> Deserialize<'de> for TurnaroundConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let keys = if let Some(fixed) = value.as_f64() {
            TurnaroundKeys { fixed, ..TurnaroundKeys::default() }
        } else if value.is_object() {
            serde_json::from_value(value).map_err(D::Error::custom)?
        } else {
            let message = format!(
                "`{value}` is not a valid turnaround; accepted: microseconds, or {{commands: 8, \
                 fixed: 5, per_unit: 1, per_sqrt_unit: 20, unit_bytes: 4096}}"
            );
            return Err(D::Error::custom(message));
        };
        let TurnaroundKeys { commands, fixed, per_unit, per_sqrt_unit, unit_bytes } = keys;
        Ok(Self { commands, fixed, per_unit, per_sqrt_unit, unit_bytes })
    }
}

impl JsonSchema for TurnaroundConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TurnaroundConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mapping = TurnaroundKeys::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1e6 }, mapping] })
    }
}

/// Direction of the last command, and how many more commands of this direction cost more.
#[derive(Clone, Debug, PartialEq)]
pub struct Turnaround {
    config: TurnaroundConfig,
    last: Option<HostOp>,
    /// Commands since the last change that still pay; none before the first change.
    paying: u32,
    /// Time before which no new command starts.
    gate: Ns,
}

impl Turnaround {
    /// A drive that has served nothing yet.
    pub fn new(config: &TurnaroundConfig) -> Self {
        Self { config: *config, last: None, paying: 0, gate: Ns(0) }
    }

    /// A command that could start at `start`; returns when it does.
    #[inline]
    pub fn pass(&mut self, start: Ns, op: HostOp, bytes: u64) -> Ns {
        let start = start.max(self.gate);
        if !matches!(op, HostOp::Read | HostOp::Write) {
            return start;
        }
        if self.last.is_some_and(|last| last != op) {
            self.paying = self.config.commands;
        }
        self.last = Some(op);
        if self.paying == 0 {
            return start;
        }
        self.paying -= 1;
        self.gate = start + self.config.extra(bytes);
        self.gate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turnaround(json: &str) -> Turnaround {
        let config: TurnaroundConfig = serde_json::from_str(json).expect("a turnaround");
        config.check("turnaround_us").expect("in range");
        Turnaround::new(&config)
    }

    #[test]
    fn the_first_commands_of_a_direction_pay() {
        let mut drive = turnaround(r#"{"commands": 2, "fixed": 10}"#);
        let ops = [HostOp::Read, HostOp::Read, HostOp::Write, HostOp::Write, HostOp::Write];
        let ends = ops.map(|op| drive.pass(Ns(0), op, 4096));
        assert_eq!(ends, [0, 0, 10_000, 20_000, 20_000].map(Ns));
        // Another change before the end of the window starts it again; a flush does not turn.
        assert_eq!(drive.pass(Ns(0), HostOp::Read, 4096), Ns(30_000));
        assert_eq!(drive.pass(Ns(0), HostOp::Flush, 0), Ns(30_000));
        assert_eq!(drive.pass(Ns(50_000), HostOp::Write, 4096), Ns(60_000));
        assert_eq!(drive.pass(Ns(60_000), HostOp::Write, 4096), Ns(70_000));
        assert_eq!(drive.pass(Ns(99_000), HostOp::Write, 4096), Ns(99_000));
    }

    #[test]
    fn it_grows_with_size() {
        let json = r#"{"fixed": 1, "per_unit": 2, "per_sqrt_unit": 3, "unit_bytes": 4096}"#;
        let config: TurnaroundConfig = serde_json::from_str(json).expect("a turnaround");
        assert_eq!(config.extra(512), Ns(6000));
        assert_eq!(config.extra(4096), Ns(6000));
        assert_eq!(config.extra(16_384), Ns(15_000));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in [r#""slow""#, r#"{"comands": 1}"#, "[1]"] {
            assert!(serde_json::from_str::<TurnaroundConfig>(bad).is_err(), "{bad}");
        }
        for (bad, path) in [
            (r#"{"commands": 0}"#, "t.commands"),
            (r#"{"unit_bytes": 1000}"#, "t.unit_bytes"),
            ("-1", "t.fixed"),
        ] {
            let config: TurnaroundConfig = serde_json::from_str(bad).expect("well formed");
            assert_eq!(config.check("t").expect_err(bad).path, path);
        }
    }
}
