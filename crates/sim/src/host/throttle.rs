//! Throttles: a drive that slows down on purpose, to live as long as promised or to stay cool.
//!
//! **Wear.** "Bandwidth throttling" is one of the drivers of performance and of endurance in the
//! SNIA NAND performance tutorial (L. Smith, 2009). Rated bytes spread evenly over the promised
//! years are a rate; a bucket of tokens lets that rate through, and a burst on top that was saved
//! before:
//! ```text
//! tokens(t) = min(burst, tokens + rate * dt) - bytes      a write waits until its tokens are there
//! ```
//! **Heat.** One thermal resistance `R` and one time constant: with power `P` the temperature goes
//! to `T_ambient + R P` as `exp(-t / tau)`. Each byte takes its energy, `(active - idle) / rate`,
//! so a steady stream at the active rate draws the active power. From `throttle_c` on until
//! `resume_c`, commands pass at a share of the active rate.
//!
//! Both answer with the wait of a command; queues are the caller's. Left out: power states, several
//! sensors, gradients between packages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::op::HostOp;
use crate::units::Ns;

/// Seconds of a year of 365.25 days.
const YEAR_S: f64 = 365.25 * 86_400.0;

/// Throttles that slow the drive down; without either key there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThrottleConfig {
    /// Writes are slowed so that the rated endurance lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearThrottle>,
    /// All transfers are slowed when the drive is hot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermal: Option<ThermalThrottle>,
}

/// Which bytes a wear budget counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WearBytes {
    /// Bytes that the host writes.
    #[default]
    Host,
    /// Bytes programmed into the flash, collections included.
    Nand,
}

/// A wear budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WearThrottle {
    /// Rated endurance in 10^12 bytes; above 0, at most 1e9; no default.
    pub tbw_tb: f64,
    /// Years that it must last; above 0, at most 100; no default.
    pub years: f64,
    /// Which bytes count: `host` or `nand`; default `host`.
    #[serde(default)]
    pub bytes: WearBytes,
    /// Unused budget that may be saved up, in 10^9 bytes; 0 to 1e9; default the budget of one day.
    /// A drive starts with all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_gb: Option<f64>,
}

/// A drive that warms up. Defaults: assumed, an M.2 module without a heat sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThermalThrottle {
    /// Temperature around the drive, in degrees Celsius; -60 to 150; default 35.
    pub ambient_c: f64,
    /// Degrees per watt in the steady state; above 0, at most 1000; default 10.
    pub c_per_w: f64,
    /// Time in which 63 % of a change of temperature are done, in seconds; above 0, at most 1e6;
    /// default 60.
    pub time_constant_s: f64,
    /// Power without transfers, in watts; 0 to 1000; default 1.
    pub idle_w: f64,
    /// Power while data pass at `active_mb_s`, in watts; at least `idle_w`, at most 1000; default
    /// 6.
    pub active_w: f64,
    /// Rate at which the active power is drawn, in MB/s of 10^6 bytes; above 0, at most 1e6;
    /// default 2000.
    pub active_mb_s: f64,
    /// Temperature from which on the drive is slow, in degrees Celsius; default 75.
    pub throttle_c: f64,
    /// Temperature at which it is fast again, below `throttle_c`; default 70.
    pub resume_c: f64,
    /// Share of `active_mb_s` at which a hot drive works; above 0, at most 1; default 0.3.
    pub throttle_ratio: f64,
    /// Temperature at the start; default that of the idle drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_c: Option<f64>,
}

impl Default for ThermalThrottle {
    fn default() -> Self {
        Self {
            ambient_c: 35.0,
            c_per_w: 10.0,
            time_constant_s: 60.0,
            idle_w: 1.0,
            active_w: 6.0,
            active_mb_s: 2000.0,
            throttle_c: 75.0,
            resume_c: 70.0,
            throttle_ratio: 0.3,
            start_c: None,
        }
    }
}

/// Refuses a value that is not in its range.
fn check(key: &str, value: f64, holds: bool, accepted: &str) -> Result<(), ConfigError> {
    if holds && value.is_finite() {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{value} is out of range; accepted: {accepted}")))
}

impl ThrottleConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if let Some(wear) = &self.wear {
            wear.check().map_err(|error| error.under("wear"))?;
        }
        if let Some(thermal) = &self.thermal {
            thermal.check().map_err(|error| error.under("thermal"))?;
        }
        Ok(())
    }
}

impl WearThrottle {
    /// Bytes per second that the budget allows.
    pub fn rate(&self) -> f64 {
        self.tbw_tb * 1e12 / (self.years * YEAR_S)
    }

    fn burst_bytes(&self) -> f64 {
        self.burst_gb.map_or(self.rate() * 86_400.0, |burst| burst * 1e9)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let (tbw, years) = (self.tbw_tb, self.years);
        check("tbw_tb", tbw, tbw > 0.0 && tbw <= 1e9, "above 0, at most 1e9")?;
        check("years", years, years > 0.0 && years <= 100.0, "above 0, at most 100")?;
        let burst = self.burst_gb.unwrap_or(0.0);
        check("burst_gb", burst, (0.0..=1e9).contains(&burst), "0 to 1e9")
    }
}

impl ThermalThrottle {
    fn check(&self) -> Result<(), ConfigError> {
        let celsius = -60.0..=150.0;
        let above = |key, value: f64, most: f64| {
            let accepted = format!("above 0, at most {most}");
            check(key, value, value > 0.0 && value <= most, &accepted)
        };
        check("ambient_c", self.ambient_c, celsius.contains(&self.ambient_c), "-60 to 150")?;
        above("c_per_w", self.c_per_w, 1000.0)?;
        above("time_constant_s", self.time_constant_s, 1e6)?;
        check("idle_w", self.idle_w, (0.0..=1000.0).contains(&self.idle_w), "0 to 1000")?;
        let active = self.idle_w..=1000.0;
        let accepted = format!("idle_w ({}) to 1000", self.idle_w);
        check("active_w", self.active_w, active.contains(&self.active_w), &accepted)?;
        above("active_mb_s", self.active_mb_s, 1e6)?;
        let hot = self.idle_c()..=200.0;
        let accepted = format!("the temperature of the idle drive ({}) to 200", self.idle_c());
        check("throttle_c", self.throttle_c, hot.contains(&self.throttle_c), &accepted)?;
        let is_between = self.resume_c > self.idle_c() && self.resume_c <= self.throttle_c;
        let accepted = format!(
            "above the temperature of the idle drive ({}), at most throttle_c ({}); a drive that \
             cannot cool down to it would be slow for ever",
            self.idle_c(),
            self.throttle_c
        );
        check("resume_c", self.resume_c, is_between, &accepted)?;
        above("throttle_ratio", self.throttle_ratio, 1.0)?;
        let start = self.start_c.unwrap_or(self.ambient_c);
        check("start_c", start, (-60.0..=200.0).contains(&start), "-60 to 200")
    }

    /// Steady temperature without transfers.
    fn idle_c(&self) -> f64 {
        self.ambient_c + self.c_per_w * self.idle_w
    }
}

/// A bucket of tokens, one per byte.
#[derive(Clone, Debug, PartialEq)]
struct Bucket {
    /// Tokens per nanosecond.
    rate: f64,
    burst: f64,
    /// Negative: spent ahead, to be paid by waiting.
    tokens: f64,
    refilled: Ns,
}

impl Bucket {
    fn refill(&mut self, now: Ns) {
        let elapsed = now.0.saturating_sub(self.refilled.0) as f64;
        self.tokens = (self.tokens + elapsed * self.rate).min(self.burst);
        self.refilled = self.refilled.max(now);
    }

    /// Takes tokens, also more than there are; returns how long until they are paid.
    fn spend(&mut self, now: Ns, bytes: u64) -> Ns {
        self.refill(now);
        self.tokens -= bytes as f64;
        Ns((-self.tokens / self.rate).max(0.0).ceil() as u64)
    }
}

/// Temperature over time.
#[derive(Clone, Debug, PartialEq)]
struct Heat {
    config: ThermalThrottle,
    celsius: f64,
    at: Ns,
    is_hot: bool,
    /// When the next command of a hot drive may pass.
    gate: Ns,
}

impl Heat {
    fn new(config: &ThermalThrottle) -> Self {
        let celsius = config.start_c.unwrap_or(config.idle_c());
        Self { config: config.clone(), celsius, at: Ns(0), is_hot: false, gate: Ns(0) }
    }

    /// Lets the idle drive cool down, or warm up, until `now`.
    fn settle(&mut self, now: Ns) {
        let seconds = Ns(now.0.saturating_sub(self.at.0)).as_seconds();
        let goal = self.config.idle_c();
        let share = libm::exp(-seconds / self.config.time_constant_s);
        self.celsius = goal + (self.celsius - goal) * share;
        self.at = self.at.max(now);
    }

    /// Warms the drive by a transfer; returns its wait.
    fn delay(&mut self, now: Ns, bytes: u64) -> Ns {
        self.settle(now);
        let config = &self.config;
        if self.celsius >= config.throttle_c {
            self.is_hot = true;
        } else if self.celsius <= config.resume_c {
            self.is_hot = false;
        }
        // Bytes over MB/s are microseconds at the active rate.
        let active_us = bytes as f64 / config.active_mb_s;
        let joules = active_us * 1e-6 * (config.active_w - config.idle_w);
        // An impulse of energy E lifts the temperature by R E / tau: dT/dt = (R P + T_a - T) / tau.
        self.celsius += config.c_per_w * joules / config.time_constant_s;
        if !self.is_hot {
            self.gate = now;
            return Ns(0);
        }
        let start = self.gate.max(now);
        self.gate = start + Ns::from_us(active_us / config.throttle_ratio);
        start - now
    }
}

/// The throttles of a running drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttle {
    wear: Option<(WearBytes, Bucket)>,
    heat: Option<Heat>,
    waited: Ns,
}

impl Throttle {
    /// The throttles that `config` asks for, if any.
    pub fn new(config: &ThrottleConfig) -> Option<Self> {
        let wear = config.wear.as_ref().map(|wear| {
            let (rate, burst) = (wear.rate() * 1e-9, wear.burst_bytes());
            (wear.bytes, Bucket { rate, burst, tokens: burst, refilled: Ns(0) })
        });
        let heat = config.thermal.as_ref().map(Heat::new);
        (wear.is_some() || heat.is_some()).then_some(Self { wear, heat, waited: Ns(0) })
    }

    /// The same throttles, at the time 0 of a clock that starts `now`.
    #[must_use]
    pub fn at_start(mut self, now: Ns) -> Self {
        if let Some((_, bucket)) = &mut self.wear {
            bucket.refill(now);
            bucket.refilled = Ns(0);
        }
        if let Some(heat) = &mut self.heat {
            heat.settle(now);
            heat.at = Ns(0);
            heat.gate = Ns(heat.gate.0.saturating_sub(now.0));
        }
        self.waited = Ns(0);
        self
    }

    /// The state at the time 0 of a clock, as [`Throttle::at_start`] left it: tokens, temperature,
    /// whether it is hot, and until when the next command of a hot drive waits.
    pub fn save(&self) -> (f64, f64, bool, u64) {
        let heat = self.heat.as_ref();
        let tokens = self.wear.as_ref().map_or(0.0, |(_, bucket)| bucket.tokens);
        let (celsius, is_hot) = heat.map_or((0.0, false), |heat| (heat.celsius, heat.is_hot));
        (tokens, celsius, is_hot, heat.map_or(0, |heat| heat.gate.0))
    }

    /// Restores the state from [`Throttle::save`], into new throttles.
    pub fn restore(&mut self, (tokens, celsius, is_hot, gate): (f64, f64, bool, u64)) {
        if let Some((_, bucket)) = &mut self.wear {
            bucket.tokens = tokens;
        }
        if let Some(heat) = &mut self.heat {
            (heat.celsius, heat.is_hot, heat.gate) = (celsius, is_hot, Ns(gate));
        }
    }

    /// How long a command of the host must wait before it starts; counts its bytes. Called once for
    /// each command, in order of time.
    pub fn delay(&mut self, now: Ns, op: HostOp, bytes: u64) -> Ns {
        let mut wait = Ns(0);
        if let (Some((counted, bucket)), HostOp::Write) = (&mut self.wear, op) {
            let spent = if *counted == WearBytes::Host { bytes } else { 0 };
            wait = bucket.spend(now, spent);
        }
        if let (Some(heat), HostOp::Write | HostOp::Read) = (&mut self.heat, op) {
            wait = wait.max(heat.delay(now, bytes));
        }
        self.waited = self.waited + wait;
        wait
    }

    /// Counts bytes that were programmed into the flash; writes to come wait for them if the budget
    /// counts NAND bytes.
    pub fn note_programmed(&mut self, now: Ns, bytes: u64) {
        if let Some((WearBytes::Nand, bucket)) = &mut self.wear {
            bucket.spend(now, bytes);
        }
    }

    /// Whether the budget counts NAND bytes, so that [`Throttle::note_programmed`] is of use.
    pub fn counts_nand(&self) -> bool {
        matches!(self.wear, Some((WearBytes::Nand, _)))
    }

    /// Temperature now, in degrees Celsius, if it is modelled.
    pub fn celsius(&mut self, now: Ns) -> Option<f64> {
        let heat = self.heat.as_mut()?;
        heat.settle(now);
        Some(heat.celsius)
    }

    /// Sum of all waits.
    pub fn waited(&self) -> Ns {
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle(json: &str) -> Throttle {
        let config: ThrottleConfig = serde_json::from_str(json).expect("a throttle");
        config.check().expect("possible");
        Throttle::new(&config).expect("one of the two")
    }

    #[test]
    fn a_budget_lets_its_burst_and_then_its_rate_through() {
        // 31.5576 TB over 1 year are 1 MB/s; a burst of 10 MB.
        let json = r#"{"wear": {"tbw_tb": 31.5576, "years": 1, "burst_gb": 0.01}}"#;
        let mut throttle = throttle(json);
        let (mut now, mut written) = (Ns(0), 0_u64);
        while now < Ns(100_000_000_000) {
            written += 4096;
            now = now + throttle.delay(now, HostOp::Write, 4096);
        }
        // All that was written by then: burst + rate * time, to a command.
        let allowed = 10e6 + now.as_seconds() * 1e6;
        assert!((written as f64 - allowed).abs() < 4096.0, "{written} {allowed}");
        assert_eq!(throttle.delay(now, HostOp::Read, 1 << 30), Ns(0));
    }

    #[test]
    fn nand_bytes_are_paid_by_the_next_write() {
        let json = r#"{"wear": {"tbw_tb": 31.5576, "years": 1, "bytes": "nand", "burst_gb": 0}}"#;
        let mut throttle = throttle(json);
        assert!(throttle.counts_nand());
        assert_eq!(throttle.delay(Ns(0), HostOp::Write, 4096), Ns(0));
        throttle.note_programmed(Ns(0), 3_000_000);
        let wait = throttle.delay(Ns(1_000_000_000), HostOp::Write, 4096);
        assert!(wait.0.abs_diff(2_000_000_000) <= 1, "{wait:?}");
    }

    #[test]
    fn temperature_rises_as_the_exponential_of_a_steady_stream() {
        // 6 W at 1000 MB/s and 10 C per W: from 45 C (idle, 1 W) towards 95 C, tau 20 s.
        let json = r#"{"thermal": {"active_mb_s": 1000, "time_constant_s": 20, "throttle_c": 120,
                        "resume_c": 110}}"#;
        let mut throttle = throttle(json);
        for step in 0..30_000_u64 {
            // A megabyte each millisecond.
            assert_eq!(throttle.delay(Ns(step * 1_000_000), HostOp::Write, 1_000_000), Ns(0));
        }
        let celsius = throttle.celsius(Ns(30_000_000_000)).expect("modelled");
        let exact = 95.0 - 50.0 * (-30.0_f64 / 20.0).exp();
        assert!((celsius - exact).abs() < 0.005, "{celsius} {exact}");
        // And falls again without transfers.
        let cooled = throttle.celsius(Ns(50_000_000_000)).expect("modelled");
        let exact = 45.0 + (celsius - 45.0) * (-1.0_f64).exp();
        assert!((cooled - exact).abs() < 1e-9, "{cooled} {exact}");
    }

    #[test]
    fn a_hot_drive_works_at_its_share_until_it_has_cooled() {
        let json = r#"{"thermal": {"active_mb_s": 1000, "time_constant_s": 20, "throttle_c": 75,
                        "resume_c": 70, "throttle_ratio": 0.25}}"#;
        let mut throttle = throttle(json);
        let (mut now, mut hot_bytes, mut hot_ns, mut peak) = (Ns(0), 0_u64, 0_u64, 0.0_f64);
        while now < Ns(200_000_000_000) {
            let wait = throttle.delay(now, HostOp::Write, 1_000_000);
            if wait > Ns(0) {
                hot_bytes += 1_000_000;
                hot_ns += wait.0;
            }
            // Between waits the flash takes a millisecond for a megabyte: 1000 MB/s at best.
            now = now + wait.max(Ns(1_000_000));
            peak = peak.max(throttle.celsius(now).expect("modelled"));
        }
        let rate = hot_bytes as f64 * 1e3 / hot_ns as f64;
        assert!((rate - 250.0).abs() < 1.0, "{rate} MB/s while hot");
        // 5 W above idle lift by 50 C: 75 C are reached, 0.25 of them do not hold 70 C.
        assert!((75.0..75.1).contains(&peak), "{peak}");
        assert!(throttle.waited() > Ns(0));
    }

    #[test]
    fn impossible_throttles_are_refused() {
        for (json, path) in [
            (r#"{"wear": {"tbw_tb": 0, "years": 5}}"#, "wear.tbw_tb"),
            (r#"{"wear": {"tbw_tb": 1, "years": 500}}"#, "wear.years"),
            (r#"{"wear": {"tbw_tb": 1, "years": 5, "burst_gb": -1}}"#, "wear.burst_gb"),
            (r#"{"thermal": {"active_w": 0.5}}"#, "thermal.active_w"),
            (r#"{"thermal": {"throttle_c": 40}}"#, "thermal.throttle_c"),
            (r#"{"thermal": {"resume_c": 80}}"#, "thermal.resume_c"),
            (r#"{"thermal": {"resume_c": 45}}"#, "thermal.resume_c"),
            (r#"{"thermal": {"throttle_ratio": 0}}"#, "thermal.throttle_ratio"),
        ] {
            let config: ThrottleConfig = serde_json::from_str(json).expect("well formed");
            assert_eq!(config.check().expect_err(json).path, path);
        }
        assert!(serde_json::from_str::<ThrottleConfig>(r#"{"wear": {"years": 5}}"#).is_err());
        assert!(Throttle::new(&ThrottleConfig::default()).is_none());
    }
}
