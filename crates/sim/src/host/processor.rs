//! The processors of the controller: each command takes one of them for a while.
//!
//! Commands are served in order by the cores; a core takes a fixed time for each kind of command.
//! With one core and cost `c` the drive does at most `1 / c` commands a second, however fast its
//! flash is. (The key `command_overhead_us` is another thing: a delay that does not occupy a core,
//! so that delays of several commands overlap.) A core may also take a time for each KiB, as
//! firmware does that moves the data itself, and for commands after a change between reading and
//! writing (see [`super::turnaround`]).
//!
//! Collections may take the cores too, a while for each map unit that they move. Commands go first:
//! one that finds its core with a move waits for the end of that move only. Moves are done in the
//! time that commands leave, and the next step of a collection waits for those of the last.

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
    /// Map units that collection, folding, wear leveling and refresh move; default 0.
    #[serde(rename = "move", skip_serializing_if = "crate::config::is_default")]
    pub moved: f64,
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
    pub(super) fn is_free(&self) -> bool {
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
    /// Time that a core takes for each map unit that is moved by collection, folding, wear leveling
    /// or refresh; commands go first. Needs `ftl.collection` `steps` or `bursts`; default 0.
    #[serde(rename = "move")]
    moved: f64,
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
            ("move", self.moved),
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
                ..Self::default()
            });
        }
        if !value.is_object() {
            let message = format!(
                "`{value}` is not a valid cost; accepted: microseconds, or {{read: 2, write: 3, \
                 trim: 1, flush: 1, per_kib: 0.5, move: 4}}"
            );
            return Err(D::Error::custom(message));
        }
        let CostKeys { read, write, trim, flush, per_kib, moved } =
            serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(Self { read, write, trim, flush, per_kib, moved })
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
    moves: Moves,
}

/// Moves that cores do while no command has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moves {
    /// Time of each.
    cost: Ns,
    /// Time of those that were ordered and have not ended, at `since`.
    left: Ns,
    since: Ns,
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
            moves: Moves { cost: Ns::from_us(cost.moved), ..Moves::default() },
        }
    }

    /// Whether moves take the cores.
    #[inline]
    pub fn moves(&self) -> bool {
        self.moves.cost > Ns(0)
    }

    /// Orders the moves of `count` map units.
    pub fn order_moves(&mut self, now: Ns, count: u32) {
        self.move_until(now);
        let time = Ns(self.moves.cost.0 * u64::from(count));
        self.moves.left = self.moves.left + time;
        self.busy = self.busy + time;
    }

    /// When the moves that were ordered will have ended, if no further command comes; `None` if
    /// they have.
    pub fn moves_end(&mut self, now: Ns) -> Option<Ns> {
        self.move_until(now);
        let cores = self.free_at.len() as u64;
        let begin = now.max(self.free_at());
        (self.moves.left > Ns(0)).then(|| begin + Ns(self.moves.left.0.div_ceil(cores)))
    }

    /// The cores have moved while they had no command.
    fn move_until(&mut self, now: Ns) {
        let since = self.moves.since;
        let idle = |&free: &Ns| now.0.saturating_sub(free.max(since).0);
        let idle: u64 = self.free_at.iter().map(idle).sum();
        self.moves.left = Ns(self.moves.left.0.saturating_sub(idle));
        self.moves.since = now;
    }

    /// A command comes to a core that may be in the middle of a move: when that has ended.
    #[cold]
    fn end_move(&mut self, now: Ns, start: Ns) -> Ns {
        self.move_until(now);
        let rest = if start > now { Ns(0) } else { Ns(self.moves.left.0 % self.moves.cost.0) };
        self.moves.left = self.moves.left - rest;
        start + rest
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
        if self.moves.left > Ns(0) {
            start = self.end_move(now, start);
        }
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

    /// Time that all cores together spend on the commands and moves of until now, turnarounds left
    /// out.
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
    fn moves_take_what_commands_leave() {
        let cost = r#"{"read": 2, "write": 3, "move": 10}"#;
        let cost: CommandCost = serde_json::from_str(cost).expect("a cost");
        let mut one = Processor::new(&cost, 1, None);
        assert!(one.moves() && one.moves_end(Ns(0)).is_none());
        // Three moves; a read comes in the middle of the first, and a second one with it.
        one.order_moves(Ns(0), 3);
        assert_eq!(one.moves_end(Ns(0)), Some(Ns(30_000)));
        assert_eq!(one.reserve(Ns(4000), HostOp::Read, 4096, None), Ns(12_000));
        assert_eq!(one.reserve(Ns(4000), HostOp::Read, 4096, None), Ns(14_000));
        assert_eq!(one.moves_end(Ns(4000)), Some(Ns(34_000)));
        assert_eq!(one.reserve(Ns(25_000), HostOp::Write, 4096, None), Ns(37_000));
        assert_eq!(one.moves_end(Ns(37_000)), None);
        assert_eq!(one.busy(), Ns(37_000));
        // Two cores share the moves.
        let mut two = Processor::new(&cost, 2, None);
        two.order_moves(Ns(0), 4);
        assert_eq!(two.moves_end(Ns(0)), Some(Ns(20_000)));
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
