//! When requests are made: a constant number outstanding, or arrivals that do not wait for the
//! drive.
//!
//! Closed loop: `queue_depth` requests are always outstanding, a completion issues the next. Open
//! loop: requests arrive by a Poisson process, whatever the drive does. Gaps are drawn in
//! nanoseconds as floats; the fraction that a whole-nanosecond clock cannot show is carried to the
//! next gap, so that rounding never accumulates.

use schemars::generate::SchemaGenerator;
use schemars::{json_schema, JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::check::{refuse, whole_from};
use super::Admission;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::units::Ns;

/// Deepest queue accepted: the most that an `NVMe` queue can hold.
const QUEUE_DEPTH_MAX: u32 = 65_536;

/// Value of the key `queue_depth`: a number, or how requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadConfig {
    /// A constant number of outstanding requests.
    Closed(u32),
    /// Arrivals that do not wait for completions.
    Open(ArrivalConfig),
}

/// How requests of an open loop arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "arrival", rename_all = "snake_case")]
pub enum ArrivalConfig {
    /// Independent exponential gaps.
    Poisson(PoissonConfig),
}

/// Parameters of Poisson arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoissonConfig {
    /// Mean arrivals per second; 0.001 to 1e9.
    #[schemars(range(min = 0.001, max = 1e9))]
    pub iops: f64,
}

impl LoadConfig {
    pub(crate) fn check(&self, path: &str) -> Result<(), ConfigError> {
        match *self {
            Self::Closed(depth) if !(1..=QUEUE_DEPTH_MAX).contains(&depth) => {
                Err(refuse(path, depth, "1 to 65536"))
            }
            Self::Open(ArrivalConfig::Poisson(poisson))
                if !(1e-3..=1e9).contains(&poisson.iops) =>
            {
                Err(refuse(&format!("{path}.iops"), poisson.iops, "0.001 to 1e9 per second"))
            }
            _ => Ok(()),
        }
    }

    /// When the device may start the next command.
    pub fn admission(&self) -> Admission {
        match *self {
            Self::Closed(queue_depth) => Admission::Closed { queue_depth },
            Self::Open(_) => Admission::Open,
        }
    }
}

impl<'de> Deserialize<'de> for LoadConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_object() {
            return serde_json::from_value(value).map(Self::Open).map_err(D::Error::custom);
        }
        whole_from(&value).map(Self::Closed).ok_or_else(|| {
            D::Error::custom(format!(
                "`{value}` is not a valid queue depth; accepted: 1 to 65536, or \
                 {{arrival: poisson, iops: 50000}}"
            ))
        })
    }
}

impl Serialize for LoadConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Closed(depth) => serializer.serialize_u32(*depth),
            Self::Open(arrival) => arrival.serialize(serializer),
        }
    }
}

impl JsonSchema for LoadConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LoadConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let arrival = ArrivalConfig::json_schema(generator);
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": QUEUE_DEPTH_MAX }, arrival],
        })
    }
}

/// A running Poisson process.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    gap_ns_mean: f64,
    clock: Ns,
    /// Part of a nanosecond that has passed beyond `clock`, in `0..1`.
    fraction_ns: f64,
    rng: Rng,
}

impl Arrivals {
    /// The process that `load` declares, if it is an open loop.
    pub fn of(load: &LoadConfig, rng: Rng) -> Option<Self> {
        match *load {
            LoadConfig::Closed(_) => None,
            LoadConfig::Open(ArrivalConfig::Poisson(PoissonConfig { iops })) => {
                Some(Self { gap_ns_mean: 1e9 / iops, clock: Ns(0), fraction_ns: 0.0, rng })
            }
        }
    }

    /// Time of the next arrival. The first comes one gap after the start.
    pub fn next(&mut self) -> Ns {
        let elapsed_ns = self.fraction_ns + self.rng.exponential() * self.gap_ns_mean;
        let whole_ns = elapsed_ns as u64;
        self.fraction_ns = elapsed_ns - whole_ns as f64;
        // 2^64 ns are 584 years: a clock that stops there is as good as any.
        self.clock = Ns(self.clock.0.saturating_add(whole_ns));
        self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poisson(iops: f64) -> LoadConfig {
        LoadConfig::Open(ArrivalConfig::Poisson(PoissonConfig { iops }))
    }

    #[test]
    fn gaps_are_exponential() {
        let mut arrivals = Arrivals::of(&poisson(50_000.0), Rng::stream(1, "test")).unwrap();
        let count = 200_000;
        let mut gaps = Vec::with_capacity(count);
        let mut before = Ns(0);
        for _ in 0..count {
            let now = arrivals.next();
            gaps.push((now - before).0 as f64 / 20_000.0);
            before = now;
        }
        let mean = gaps.iter().sum::<f64>() / count as f64;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / count as f64;
        // Mean 1 with deviation 1/sqrt(n); E[gap^2] = 2 with deviation sqrt(20/n): 4.5 of each.
        assert!((mean - 1.0).abs() < 4.5 / (count as f64).sqrt(), "{mean}");
        assert!((square - 2.0).abs() < 4.5 * (20.0 / count as f64).sqrt(), "{square}");
        let late = gaps.iter().filter(|&&gap| gap > 3.0).count() as f64 / count as f64;
        let tail = (-3.0_f64).exp();
        assert!((late - tail).abs() < 4.5 * (tail / count as f64).sqrt(), "{late}");
    }

    #[test]
    fn rounding_does_not_accumulate() {
        // Gaps of a third of a nanosecond on average: rounding each would lose or gain them all.
        let mut arrivals = Arrivals::of(&poisson(1e9), Rng::stream(2, "test")).unwrap();
        arrivals.gap_ns_mean = 1.0 / 3.0;
        let mut exact = 0.0;
        let mut rng = Rng::stream(2, "test");
        for _ in 0..100_000 {
            exact += rng.exponential() / 3.0;
            let clock = arrivals.next().0 as f64;
            assert!((exact - clock) < 1.000_001 && exact > clock - 1e-6, "{exact} {clock}");
        }
    }
}
