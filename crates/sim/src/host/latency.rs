//! Latencies of commands: exact sums, and histograms for percentiles.
//!
//! Histograms with three significant digits: a percentile is at most 0.1 % above its true
//! value. A percentile is stated only when at least ten samples are beyond it; otherwise it would
//! depend on chance.

use serde_json::{json, Map, Value};

use super::bins::Bins;
use crate::op::HostOp;
use crate::units::Ns;

/// Percentiles of the result file: name and share.
const PERCENTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p999", 0.999),
    ("p9999", 0.9999),
    ("p99999", 0.99999),
];

/// Samples, as far as the series asks for them.
#[derive(Clone)]
pub struct Samples {
    bins: Bins,
    sum_ns: u128,
    max_ns: u64,
}

impl Samples {
    /// None; percentiles will have this number of bits.
    fn with_bits(bits: u32) -> Self {
        Self { bins: Bins::new(bits), sum_ns: 0, max_ns: 0 }
    }

    /// Adds a sample.
    #[inline]
    fn record(&mut self, latency: Ns) {
        self.bins.record(latency.0);
        self.sum_ns += u128::from(latency.0);
        self.max_ns = self.max_ns.max(latency.0);
    }

    /// Mean in microseconds; `None` without samples.
    pub fn mean_us(&self) -> Option<f64> {
        let count = self.bins.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64 * 1e-3)
    }

    /// The latency in microseconds that a share of the samples does not exceed; `None` with fewer
    /// than ten samples beyond it.
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        let beyond = self.bins.count() as f64 * (1.0 - share);
        // 1 - 0.9 is not exactly 0.1: a hundredth of a sample is not a sample.
        let value = || self.bins.quantile(share).min(self.max_ns);
        (beyond > 9.99).then(|| value() as f64 * 1e-3)
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        self.bins.clear();
        (self.sum_ns, self.max_ns) = (0, 0);
    }

    /// Adds all samples of another.
    fn merge(&mut self, other: &Self) {
        self.bins.add(&other.bins);
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Samples of one kind of command.
#[derive(Clone)]
pub struct Latencies {
    samples: Samples,
    /// Sum of squares in us^2, for the standard deviation.
    sum_squares: f64,
    min_ns: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { samples: Samples::with_bits(10), sum_squares: 0.0, min_ns: u64::MAX }
    }
}

impl Latencies {
    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, latency: Ns) {
        self.samples.record(latency);
        let us = latency.0 as f64 * 1e-3;
        self.sum_squares += us * us;
        self.min_ns = self.min_ns.min(latency.0);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.samples.bins.count()
    }

    /// Sum of all samples.
    pub fn sum_ns(&self) -> u128 {
        self.samples.sum_ns
    }

    /// The longest sample in nanoseconds; 0 without samples.
    pub fn max_ns(&self) -> u64 {
        self.samples.max_ns
    }

    /// Bins that hold samples, ascending: the largest value in nanoseconds that falls into the bin
    /// (at most the longest sample), and how many do.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let Samples { bins, max_ns, .. } = &self.samples;
        bins.iter().map(|(value, count)| (value.min(*max_ns), count))
    }

    /// See [`Samples::mean_us`].
    pub fn mean_us(&self) -> Option<f64> {
        self.samples.mean_us()
    }

    /// See [`Samples::quantile_us`].
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        self.samples.quantile_us(share)
    }

    /// Adds all samples of another.
    pub fn merge(&mut self, other: &Self) {
        self.samples.merge(&other.samples);
        self.sum_squares += other.sum_squares;
        self.min_ns = self.min_ns.min(other.min_ns);
    }

    /// The row of the result file, in microseconds.
    pub fn to_json(&self) -> Value {
        let mut row = Map::new();
        row.insert("count".into(), json!(self.count()));
        row.insert("mean".into(), json!(self.mean_us()));
        let any = self.count() > 0;
        row.insert("min".into(), json!(any.then_some(self.min_ns as f64 * 1e-3)));
        for (name, share) in PERCENTILES {
            row.insert(name.into(), json!(self.quantile_us(share)));
        }
        row.insert("max".into(), json!(any.then_some(self.max_ns() as f64 * 1e-3)));
        row.insert("stddev".into(), json!(self.stddev_us()));
        Value::Object(row)
    }

    fn stddev_us(&self) -> Option<f64> {
        let mean = self.mean_us()?;
        let variance = self.sum_squares / self.count() as f64 - mean * mean;
        Some(variance.max(0.0).sqrt())
    }
}

/// Latencies by kind of command, and of the current interval of the series.
pub struct LatencyBook {
    read: Latencies,
    write: Latencies,
    trim: Latencies,
    flush: Latencies,
    /// All commands since the last sample of the series, in wide bins, since it is read and cleared
    /// often.
    pub interval: Samples,
}

impl Default for LatencyBook {
    fn default() -> Self {
        let [read, write, trim, flush] = std::array::from_fn(|_| Latencies::default());
        Self { read, write, trim, flush, interval: Samples::with_bits(7) }
    }
}

impl LatencyBook {
    /// Adds a completed command.
    #[inline]
    pub fn record(&mut self, op: HostOp, latency: Ns) {
        let kind = match op.index() {
            0 => &mut self.read,
            1 => &mut self.write,
            2 => &mut self.trim,
            _ => &mut self.flush,
        };
        kind.record(latency);
        self.interval.record(latency);
    }

    /// Those of reads.
    pub fn reads(&self) -> &Latencies {
        &self.read
    }

    fn kinds(&self) -> [(&'static str, &Latencies); 4] {
        [("read", &self.read), ("write", &self.write), ("trim", &self.trim), ("flush", &self.flush)]
    }

    /// All commands together.
    pub fn all(&self) -> Latencies {
        let mut all = Latencies::default();
        for (_, kind) in self.kinds() {
            all.merge(kind);
        }
        all
    }

    /// The `latency_us` section of the result file; kinds without samples are left out.
    pub fn to_json(&self) -> Value {
        let mut section = Map::new();
        for (name, kind) in self.kinds() {
            if kind.count() > 0 {
                section.insert(name.into(), kind.to_json());
            }
        }
        section.insert("all".into(), self.all().to_json());
        Value::Object(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|us| latencies.record(Ns(us * 1000)));
        let row = latencies.to_json();
        assert_eq!(row["count"], 1000);
        assert_eq!(row["mean"], 500.5);
        assert!((row["p99"].as_f64().expect("ten samples lie beyond") - 990.0).abs() < 1.0);
        assert!(row["p999"].is_null());
        assert_eq!((row["min"].as_f64(), row["max"].as_f64()), (Some(1.0), Some(1000.0)));
        assert!((row["stddev"].as_f64().expect("samples") - 288.675).abs() < 0.01);
        assert!(Latencies::default().to_json()["mean"].is_null());
    }
}
