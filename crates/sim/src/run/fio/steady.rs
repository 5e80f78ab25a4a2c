//! The steady state of fio: a group of jobs ends when a value of it no longer moves.
//!
//! After each interval the group has one more value; a window of the last ones is full first after
//! its length. Then the largest deviation from the mean, or the slope of the regression line, is
//! compared with the limit, and must be below it.

use std::collections::VecDeque;

use serde_json::{json, Value};

use crate::units::Ns;
use crate::workload::fio::{Steady, SteadyOf};

/// The processes of a group that are watched together.
pub(super) struct Watch {
    spec: Steady,
    /// Numbers of the processes.
    pub(super) members: Vec<usize>,
    /// When the next value is due; `None` before the group has begun.
    pub(super) due: Option<Ns>,
    before: (u64, u64, u128),
    /// Requests a second, bytes a second, mean response time in ns.
    values: VecDeque<[u64; 3]>,
    is_attained: bool,
    criterion: f64,
    deviation: f64,
    slope: f64,
}

/// The largest deviation of values from their mean, and the slope of their regression line.
fn spread(values: &[f64]) -> (f64, f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = values.iter().fold(0.0_f64, |most, value| most.max((value - mean).abs()));
    let middle = (count - 1.0) / 2.0;
    let parts = values.iter().enumerate().map(|(place, value)| {
        let x = place as f64 - middle;
        (x * value, x * x)
    });
    let (product, square) = parts.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    (mean, deviation, product / square)
}

impl Watch {
    pub(super) fn new(spec: Steady) -> Self {
        Self {
            spec,
            members: Vec::new(),
            due: None,
            before: (0, 0, 0),
            values: VecDeque::new(),
            is_attained: false,
            criterion: 0.0,
            deviation: 0.0,
            slope: 0.0,
        }
    }

    /// The first process of the group begins to be counted.
    pub(super) fn begin(&mut self, now: Ns) {
        let first = now.0 + self.spec.ramp_ns + self.spec.interval_ns;
        self.due = self.due.or(Some(Ns(first)));
    }

    /// A value is due: what the group has done by now; true when it is steady.
    pub(super) fn take(&mut self, now: Ns, (ios, bytes, sum): (u64, u64, u128)) -> bool {
        self.due = Some(Ns(now.0 + self.spec.interval_ns));
        let seconds = self.spec.interval_ns as f64 * 1e-9;
        let (ios_before, bytes_before, sum_before) =
            std::mem::replace(&mut self.before, (ios, bytes, sum));
        let done = ios.saturating_sub(ios_before);
        let mean = if done > 0 { (sum - sum_before) as f64 / done as f64 } else { 0.0 };
        let rate = |count: u64| (count as f64 / seconds) as u64;
        self.values.push_back([rate(done), rate(bytes.saturating_sub(bytes_before)), mean as u64]);
        if self.values.len() > self.spec.window {
            self.values.pop_front();
        }
        self.values.len() == self.spec.window && self.judge()
    }

    fn judge(&mut self) -> bool {
        let column = match self.spec.of {
            SteadyOf::Iops => 0,
            SteadyOf::Bw => 1,
            SteadyOf::Lat => 2,
        };
        let values: Vec<f64> = self.values.iter().map(|row| row[column] as f64).collect();
        let (mean, deviation, slope) = spread(&values);
        (self.deviation, self.slope) = (deviation, slope);
        let found = if self.spec.is_slope { slope } else { deviation };
        self.criterion = if self.spec.is_percent { 100.0 * found / mean } else { found };
        self.is_attained = self.criterion.abs() < self.spec.limit;
        self.is_attained
    }

    /// `{attained, criterion, max_deviation, slope, iops, bw, lat}`.
    pub(super) fn to_json(&self) -> Value {
        let column = |place: usize| self.values.iter().map(|row| row[place]).collect::<Vec<_>>();
        json!({
            "members": self.members,
            "attained": self.is_attained,
            "criterion": self.criterion,
            "max_deviation": self.deviation,
            "slope": self.slope,
            "iops": column(0), "bw": column(1), "lat": column(2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by hand: 100, 102, 98, 101, 99 have the mean 100, differ from it by 2 at most, and
    /// fall by 0.3 each.
    #[test]
    fn the_limit_itself_is_not_steady() {
        let (mean, deviation, slope) = spread(&[100.0, 102.0, 98.0, 101.0, 99.0]);
        assert!((mean - 100.0).abs() < 1e-12 && (deviation - 2.0).abs() < 1e-12);
        assert!((slope + 0.3).abs() < 1e-12, "{slope}");
        for (is_slope, limit, is_steady) in
            [(false, 2.0, false), (false, 2.01, true), (true, 0.3, false), (true, 0.31, true)]
        {
            let mut watch = Watch::new(Steady {
                of: SteadyOf::Iops,
                is_slope,
                limit,
                is_percent: true,
                window: 5,
                interval_ns: 1_000_000_000,
                ramp_ns: 0,
            });
            let mut sum = 0;
            let found: Vec<bool> = [100, 102, 98, 101, 99]
                .into_iter()
                .map(|ios| {
                    sum += ios;
                    watch.take(Ns(0), (sum, 0, 0))
                })
                .collect();
            assert_eq!(found, [false, false, false, false, is_steady], "{limit}");
        }
    }
}
