//! The processors of the controller: each command takes one of them for a while.
//!
//! Commands are served in order by the cores; a core takes a fixed time for each kind of command.
//! With one core and cost `c` the drive does at most `1 / c` commands a second, however fast its
//! flash is. (The key `command_overhead_us` is another thing: a delay that does not occupy a core,
//! so that delays of several commands overlap.) A core may also take a time for each KiB, as
//! firmware does that moves the data itself, and for commands after a change between reading and
//! writing (see [`super::turnaround`]).

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::jitter::scaled;
use super::turnaround::{Turnaround, TurnaroundConfig};
use crate::config::ConfigError;
use crate::op::HostOp;
use crate::units::Ns;

/// Time that a core takes for a command, in microseconds, 0 to 1e6: one number for all, or one for
/// each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CommandCost {
    /// Reads; default 0.
    pub read: f64,
    /// Writes; default 0.
    pub write: f64,
    /// Trims; default 0.
    pub trim: f64,
    /// Flushes of the cache; default 0.
    pub flush: f64,
    /// Additional time for each KiB that a read or write moves; default 0.
    #[serde(skip_serializing_if = "PerKib::is_free")]
    pub per_kib: PerKib,
}

/// Time of a core for each KiB, in microseconds, 0 to 1e6: one number for both, or one each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerKib {
    /// Reads; default 0.
    pub read: f64,
    /// Writes; default 0.
    pub write: f64,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PerKibKeys {
    /// Reads; default 0.
    read: f64,
    /// Writes; default 0.
    write: f64,
}

impl PerKib {
    fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

impl<'de> Deserialize<'de> for PerKib {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Some(cost) = value.as_f64() {
            return Ok(Self { read: cost, write: cost });
        }
        if !value.is_object() {
            let message = format!(
                "`{value}` is not a valid cost per KiB; accepted: microseconds, or \
                 {{read: 2, write: 3}}"
            );
            return Err(D::Error::custom(message));
        }
        let PerKibKeys { read, write } = serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(Self { read, write })
    }
}

impl JsonSchema for PerKib {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PerKib".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mapping = PerKibKeys::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1e6 }, mapping] })
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CostKeys {
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

impl CommandCost {
    /// Whether no command takes time.
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }

    fn of(&self, op: HostOp) -> f64 {
        [self.read, self.write, self.trim, self.flush][op.index()]
    }

    pub(super) fn check(&self, path: &str) -> Result<(), ConfigError> {
        let keys = [
            ("read", self.read),
            ("write", self.write),
            ("trim", self.trim),
            ("flush", self.flush),
            ("per_kib.read", self.per_kib.read),
            ("per_kib.write", self.per_kib.write),
        ];
        match keys.into_iter().find(|(_, cost)| !(0.0..=1e6).contains(cost)) {
            None => Ok(()),
            Some((key, cost)) => {
                let message = format!("{cost} is out of range; accepted: 0 to 1e6");
                Err(ConfigError::new(format!("{path}.{key}"), message))
            }
        }
    }
}

impl<'de> Deserialize<'de> for CommandCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Some(cost) = value.as_f64() {
            return Ok(Self {
                read: cost,
                write: cost,
                trim: cost,
                flush: cost,
                per_kib: PerKib::default(),
            });
        }
        if !value.is_object() {
            let message = format!(
                "`{value}` is not a valid cost; accepted: microseconds, or {{read: 2, write: 3, \
                 trim: 1, flush: 1, per_kib: 0.5}}"
            );
            return Err(D::Error::custom(message));
        }
        let CostKeys { read, write, trim, flush, per_kib } =
            serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(Self { read, write, trim, flush, per_kib })
    }
}

impl JsonSchema for CommandCost {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CommandCost".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mapping = CostKeys::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1e6 }, mapping] })
    }
}

/// Cores, and until when each is busy.
#[derive(Clone, Debug, PartialEq)]
pub struct Processor {
    free_at: Vec<Ns>,
    /// By read, write, trim, flush.
    costs: [Ns; 4],
    /// Microseconds for each byte of reads and of writes.
    us_per_byte: [f64; 2],
    turnaround: Option<Turnaround>,
    busy: Ns,
}

impl Processor {
    /// A number of idle cores, at least 1.
    pub fn new(cost: &CommandCost, cores: u32, turnaround: Option<&TurnaroundConfig>) -> Self {
        let ops = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::Flush];
        Self {
            free_at: vec![Ns(0); cores.max(1) as usize],
            costs: ops.map(|op| Ns::from_us(cost.of(op))),
            us_per_byte: [cost.per_kib.read, cost.per_kib.write].map(|time| time / 1024.0),
            turnaround: turnaround.map(Turnaround::new),
            busy: Ns(0),
        }
    }

    /// Gives a command that moves `bytes` to the core that is free first, its time multiplied by
    /// `factor`; returns when it is done. Callers come in order of time.
    #[inline]
    pub fn reserve(&mut self, now: Ns, op: HostOp, bytes: u64, factor: Option<f64>) -> Ns {
        let mut cost = self.costs[op.index()];
        match self.us_per_byte.get(op.index()) {
            Some(&time) if time > 0.0 => cost = cost + Ns::from_us(time * bytes as f64),
            _ => {}
        }
        let cost = scaled(cost, factor);
        let mut first = 0;
        for core in 1..self.free_at.len() {
            if self.free_at[core] < self.free_at[first] {
                first = core;
            }
        }
        let mut start = now.max(self.free_at[first]);
        if let Some(turnaround) = &mut self.turnaround {
            start = turnaround.pass(start, op, bytes);
        }
        self.free_at[first] = start + cost;
        self.busy = self.busy + cost;
        start + cost
    }

    /// When the next core is free, or has been since.
    pub fn free_at(&self) -> Ns {
        self.free_at.iter().copied().min().unwrap_or(Ns(0))
    }

    /// Time that all cores together spent on commands, turnarounds left out.
    pub fn busy(&self) -> Ns {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_serve_in_order_and_side_by_side() {
        let cost: CommandCost = serde_json::from_str(r#"{"read": 2, "write": 3}"#).expect("a cost");
        let mut one = Processor::new(&cost, 1, None);
        assert_eq!(one.reserve(Ns(0), HostOp::Read, 4096, None), Ns(2000));
        assert_eq!(one.reserve(Ns(500), HostOp::Write, 4096, None), Ns(5000));
        assert_eq!(one.reserve(Ns(9000), HostOp::Read, 4096, None), Ns(11_000));
        assert_eq!(one.reserve(Ns(9000), HostOp::Flush, 4096, None), Ns(11_000));
        assert_eq!(one.busy(), Ns(7000));
        let mut two = Processor::new(&cost, 2, None);
        assert_eq!(two.reserve(Ns(0), HostOp::Write, 4096, None), Ns(3000));
        assert_eq!(two.reserve(Ns(0), HostOp::Read, 4096, None), Ns(2000));
        assert_eq!(two.free_at(), Ns(2000));
        assert_eq!(two.reserve(Ns(0), HostOp::Read, 4096, None), Ns(4000));
    }

    #[test]
    fn data_cost_by_the_kib() {
        let cost: CommandCost =
            serde_json::from_str(r#"{"read": 2, "per_kib": {"read": 0.5, "write": 1}}"#)
                .expect("a cost");
        let mut one = Processor::new(&cost, 1, None);
        assert_eq!(one.reserve(Ns(0), HostOp::Read, 4096, None), Ns(4000));
        assert_eq!(one.reserve(Ns(0), HostOp::Write, 512, None), Ns(4500));
        assert_eq!(one.reserve(Ns(0), HostOp::Trim, 1 << 20, None), Ns(4500));
        let both: PerKib = serde_json::from_str("0.5").expect("a cost");
        assert_eq!(both, PerKib { read: 0.5, write: 0.5 });
        assert!(serde_json::from_str::<PerKib>(r#""slow""#).is_err());
    }

    #[test]
    fn a_turnaround_holds_up_all_cores() {
        let cost: CommandCost = serde_json::from_str("1").expect("a cost");
        let turnaround: TurnaroundConfig = serde_json::from_str("10").expect("a turnaround");
        let mut two = Processor::new(&cost, 2, Some(&turnaround));
        assert_eq!(two.reserve(Ns(0), HostOp::Read, 4096, None), Ns(1000));
        assert_eq!(two.reserve(Ns(0), HostOp::Write, 4096, None), Ns(11_000));
        // The other core is idle, but the drive is turning.
        assert_eq!(two.reserve(Ns(0), HostOp::Write, 4096, None), Ns(11_000));
        assert_eq!(two.busy(), Ns(3000));
    }

    #[test]
    fn a_cost_is_a_number_or_a_mapping() {
        let cost: CommandCost = serde_json::from_str("1.5").expect("a cost");
        assert_eq!(cost.of(HostOp::TrimMapped).to_bits(), 1.5_f64.to_bits());
        for bad in [r#""fast""#, r#"{"reed": 1}"#, "[1]"] {
            assert!(serde_json::from_str::<CommandCost>(bad).is_err(), "{bad}");
        }
        let cost: CommandCost = serde_json::from_str(r#"{"trim": -1}"#).expect("well formed");
        assert_eq!(
            cost.check("command_cost_us").expect_err("negative").path,
            "command_cost_us.trim"
        );
    }
}
