//! Bursts: a host that works for a while and then leaves the drive alone.
//!
//! ```text
//! closed loop   ▓▓▓▓▓▓▓ busy ▓▓▓▓▓▓▓│ last completion │◄── idle ──►│▓▓▓▓▓▓▓ busy …
//! open loop     arrivals of the busy time, moved back by all pauses before them
//! ```
//! Collection in the background, flushing and cooling use the time between bursts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{optional_whole, refuse};
use crate::config::ConfigError;
use crate::config::{optional_bytes, size_schema};
use crate::op::HostCommand;
use crate::units::{Ns, SECTOR_BYTES};

/// Bursts of requests with pauses between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleConfig {
    /// Length of a burst; no default.
    pub busy: BusyConfig,
    /// Length of a pause in milliseconds; above 0, at most 1e9; no default. In a closed loop it
    /// begins when the last request of the burst is complete.
    pub idle_ms: f64,
}

/// How long a burst lasts. Exactly one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct BusyConfig {
    /// Requests; at least 1.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_whole")]
    pub ios: Option<u64>,
    /// Simulated seconds; at least 1e-6, at most 1e9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Bytes read, written and trimmed together; a number, or text such as 1GiB.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_bytes")]
    #[schemars(schema_with = "size_schema")]
    pub bytes: Option<u64>,
}

impl IdleConfig {
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        let busy = &self.busy;
        let given = [busy.ios.is_some(), busy.seconds.is_some(), busy.bytes.is_some()];
        let count = given.into_iter().filter(|&is_given| is_given).count();
        if count != 1 {
            let message =
                format!("{count} keys given; accepted: exactly one of ios, seconds, bytes");
            return Err(ConfigError::new(format!("{path}.busy"), message));
        }
        if busy.ios == Some(0) {
            return Err(refuse(&format!("{path}.busy.ios"), 0, "at least 1"));
        }
        if busy.bytes == Some(0) {
            return Err(refuse(&format!("{path}.busy.bytes"), 0, "at least 1 byte"));
        }
        if let Some(seconds) = busy.seconds.filter(|seconds| !(1e-6..=1e9).contains(seconds)) {
            return Err(refuse(&format!("{path}.busy.seconds"), seconds, "1e-6 to 1e9"));
        }
        if !(self.idle_ms > 0.0 && self.idle_ms <= 1e9) {
            let accepted = "above 0, at most 1e9";
            return Err(refuse(&format!("{path}.idle_ms"), self.idle_ms, accepted));
        }
        Ok(())
    }

    /// Share of the time that is busy, if requests of `bytes_mean` bytes arrive at a rate of `iops`
    /// in the bursts.
    pub(super) fn busy_share(&self, iops: f64, bytes_mean: f64) -> f64 {
        let busy_s = match self.busy {
            BusyConfig { ios: Some(ios), .. } => ios as f64 / iops,
            BusyConfig { bytes: Some(bytes), .. } => bytes as f64 / bytes_mean / iops,
            BusyConfig { seconds, .. } => seconds.unwrap_or(1.0),
        };
        busy_s / (busy_s + self.idle_ms / 1e3)
    }

    /// The bursts of a checked declaration.
    pub(crate) fn bursts(&self) -> Bursts {
        let busy = match self.busy {
            BusyConfig { ios: Some(ios), .. } => Busy::Ios(ios),
            BusyConfig { bytes: Some(bytes), .. } => Busy::Bytes(bytes),
            // `check` has seen to it that one is given.
            BusyConfig { seconds, .. } => Busy::Time(Ns::from_us(seconds.unwrap_or(1.0) * 1e6)),
        };
        Bursts { busy, idle: Ns::from_us(self.idle_ms * 1e3), used: 0, start: Ns(0), shift: Ns(0) }
    }
}

/// The limit of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Busy {
    Ios(u64),
    Bytes(u64),
    Time(Ns),
}

/// The state of the bursts of a running load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bursts {
    busy: Busy,
    idle: Ns,
    /// Requests or bytes of the present burst.
    used: u64,
    /// When the present burst of a closed loop began.
    start: Ns,
    /// Sum of the pauses of an open loop.
    shift: Ns,
}

impl Bursts {
    /// Whether the burst of a closed loop continues.
    pub fn is_busy(&self, now: Ns) -> bool {
        match self.busy {
            Busy::Ios(limit) | Busy::Bytes(limit) => self.used < limit,
            Busy::Time(span) => now < self.start + span,
        }
    }

    /// Counts a request.
    pub fn count(&mut self, command: &HostCommand) {
        self.used += match self.busy {
            Busy::Bytes(_) => u64::from(command.sector_count) * SECTOR_BYTES,
            _ => 1,
        };
    }

    /// When the next burst begins after a pause that begins now; it counts from there.
    pub fn pause(&mut self, now: Ns) -> Ns {
        self.used = 0;
        self.start = now + self.idle;
        self.start
    }

    /// Arrival of the next request of an open loop, moved back by the pauses before it.
    pub fn arrival(&mut self, command: &HostCommand) -> Ns {
        let pauses = if let Busy::Time(span) = self.busy {
            // Whole bursts before it: rounded down.
            Ns((command.arrival.0 / span.0).saturating_mul(self.idle.0))
        } else {
            if !self.is_busy(command.arrival) {
                self.used = 0;
                self.shift = Ns(self.shift.0.saturating_add(self.idle.0));
            }
            self.count(command);
            self.shift
        };
        Ns(command.arrival.0.saturating_add(pauses.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::HostOp;

    fn bursts(json: &str) -> Bursts {
        let config: IdleConfig = serde_json::from_str(json).expect("bursts");
        config.check("idle").expect("possible");
        config.bursts()
    }

    fn at(ns: u64) -> HostCommand {
        HostCommand { arrival: Ns(ns), ..HostCommand::new(HostOp::Write, 0, 8) }
    }

    #[test]
    fn a_closed_loop_pauses_after_its_share() {
        let mut ios = bursts(r#"{"busy": {"ios": 2}, "idle_ms": 1}"#);
        assert!(ios.is_busy(Ns(0)));
        ios.count(&at(0));
        ios.count(&at(0));
        assert!(!ios.is_busy(Ns(5)));
        assert_eq!(ios.pause(Ns(700)), Ns(1_000_700));
        assert!(ios.is_busy(Ns(1_000_700)));
        let mut bytes = bursts(r#"{"busy": {"bytes": "8KiB"}, "idle_ms": 1}"#);
        bytes.count(&at(0));
        assert!(bytes.is_busy(Ns(0)));
        bytes.count(&at(0));
        assert!(!bytes.is_busy(Ns(0)));
        let mut time = bursts(r#"{"busy": {"seconds": 0.001}, "idle_ms": 2}"#);
        assert!(time.is_busy(Ns(999_999)) && !time.is_busy(Ns(1_000_000)));
        assert_eq!(time.pause(Ns(1_000_500)), Ns(3_000_500));
        assert!(time.is_busy(Ns(4_000_499)) && !time.is_busy(Ns(4_000_500)));
    }

    #[test]
    fn arrivals_of_an_open_loop_move_back_by_the_pauses() {
        let mut ios = bursts(r#"{"busy": {"ios": 2}, "idle_ms": 0.001}"#);
        let arrivals: Vec<_> = (0..5).map(|step| ios.arrival(&at(step * 10)).0).collect();
        assert_eq!(arrivals, [0, 10, 1020, 1030, 2040]);
        let mut time = bursts(r#"{"busy": {"seconds": 0.000001}, "idle_ms": 0.5}"#);
        assert_eq!(time.arrival(&at(999)), Ns(999));
        assert_eq!(time.arrival(&at(2000)), Ns(1_002_000));
    }

    #[test]
    fn impossible_bursts_are_refused() {
        for (json, path) in [
            (r#"{"busy": {}, "idle_ms": 1}"#, "idle.busy"),
            (r#"{"busy": {"ios": 1, "seconds": 1}, "idle_ms": 1}"#, "idle.busy"),
            (r#"{"busy": {"ios": 0}, "idle_ms": 1}"#, "idle.busy.ios"),
            (r#"{"busy": {"seconds": 0}, "idle_ms": 1}"#, "idle.busy.seconds"),
            (r#"{"busy": {"ios": 1}, "idle_ms": 0}"#, "idle.idle_ms"),
        ] {
            let config: IdleConfig = serde_json::from_str(json).expect("well formed");
            assert_eq!(config.check("idle").expect_err(json).path, path);
        }
    }
}
