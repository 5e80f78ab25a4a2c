//! Counts of requests, and histograms.

use serde::Serialize;

use super::ops::OPS;

/// Requests of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Requests.
    pub count: u64,
    /// Their bytes, in whole sectors.
    pub bytes: u64,
    /// The smallest and the largest of them, in bytes.
    pub size_bytes_min: u64,
    /// The largest.
    pub size_bytes_max: u64,
    /// Those with force unit access among them.
    pub fua_count: u64,
}

impl Counts {
    #[inline]
    pub fn add(&mut self, bytes: u64, is_fua: bool) {
        self.size_bytes_min = if self.count == 0 { bytes } else { self.size_bytes_min.min(bytes) };
        self.size_bytes_max = self.size_bytes_max.max(bytes);
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.fua_count += u64::from(is_fua);
    }

    /// With those of another.
    pub fn plus(self, other: &Self) -> Self {
        let smallest = [self, *other].into_iter().filter(|it| it.count > 0);
        Self {
            count: self.count + other.count,
            bytes: self.bytes.saturating_add(other.bytes),
            size_bytes_min: smallest.map(|it| it.size_bytes_min).min().unwrap_or_default(),
            size_bytes_max: self.size_bytes_max.max(other.size_bytes_max),
            fua_count: self.fua_count + other.fua_count,
        }
    }
}

/// Requests by operation, in the order of [`OPS`].
pub type OpCounts = [Counts; OPS.len()];

/// A histogram of powers of two: bin 0 is 0, bin b from 2^(b-1) to 2^b - 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Log2 {
    /// Of each bin.
    pub bins: Vec<u64>,
}

/// While it grows.
pub(super) struct Bins(pub [u64; 65]);

pub(super) const NO_BINS: Bins = Bins([0; 65]);

impl Bins {
    #[inline]
    pub fn add(&mut self, value: u64, weight: u64) {
        self.0[(64 - value.leading_zeros()) as usize] += weight;
    }

    pub fn histogram(&self) -> Log2 {
        let used = self.0.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        Log2 { bins: self.0[..used].to_vec() }
    }
}
