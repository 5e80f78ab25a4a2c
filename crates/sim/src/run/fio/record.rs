//! What a process of fio did: counts, response times by fio's buckets, series, single requests.
//!
//! fio keeps response times exactly below 128 ns, and above in 64 buckets for each power of two;
//! it also counts how many are below 2, 4, 10, … ns, us and ms.

use serde_json::{json, Value};

use crate::timed::Completion;
use crate::units::{Ns, SECTOR_BYTES};

/// Kinds of requests: read, write, trim, flush.
const KINDS: usize = 4;
/// Bits of a value that a bucket keeps.
const BITS: u32 = 6;
/// Buckets of fio: 29 groups of 64.
const BUCKETS: usize = 29 << BITS;
/// Limits of the coarse counts: ns, us, ms.
const COARSE: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Rows of a series, and requests that are kept, at most.
pub(super) const ROWS_MAX: usize = 20_000_000;
/// Bytes of a request that is kept.
const ROW_BYTES: usize = 32;

/// Response times.
#[derive(Clone)]
struct Times {
    count: u64,
    sum: u128,
    squares: f64,
    min: u64,
    max: u64,
    buckets: Vec<u32>,
    /// Below 2 ns, 4 ns, … 1000 ms, 2000 ms, longer.
    coarse: [u64; 32],
}

impl Default for Times {
    fn default() -> Self {
        let coarse = [0; 32];
        Self { count: 0, sum: 0, squares: 0.0, min: u64::MAX, max: 0, buckets: vec![], coarse }
    }
}

/// The bucket of a response time.
fn bucket(ns: u64) -> usize {
    if ns < 2 << BITS {
        return ns as usize;
    }
    let shift = ns.ilog2() - BITS;
    let place = ((shift as usize) << BITS) + (ns >> shift) as usize;
    place.min(BUCKETS - 1)
}

/// The coarse count of a response time.
fn coarse(ns: u64) -> usize {
    let (part, unit) = match ns {
        0..=999 => (0, 1),
        1000..=999_999 => (10, 1000),
        _ => (20, 1_000_000),
    };
    // A limit is not in its own bin: 2 us is below 4 us.
    let value = ns / unit;
    let place = COARSE.iter().position(|&limit| value < limit).unwrap_or(10);
    part + if value >= 2000 { 11 } else { place }
}

impl Times {
    fn record(&mut self, ns: u64) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
        self.count += 1;
        self.sum += u128::from(ns);
        self.squares += ns as f64 * ns as f64;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.buckets[bucket(ns)] += 1;
        self.coarse[coarse(ns)] += 1;
    }

    fn to_json(&self) -> Value {
        let used = self.buckets.iter().enumerate().filter(|(_, &count)| count > 0);
        let (places, counts): (Vec<usize>, Vec<u32>) = used.unzip();
        json!({
            "count": self.count,
            "sum": self.sum as u64,
            "squares": self.squares,
            "min": if self.count > 0 { self.min } else { 0 },
            "max": self.max,
            "buckets": places,
            "counts": counts,
            "coarse": self.coarse.as_slice(),
        })
    }
}

/// A window of a series: for each direction requests, bytes, sum and maximum of response times.
type Row = [[u64; 4]; 3];

/// The windows of one length.
struct Series {
    length: u64,
    rows: Vec<(u64, Row)>,
}

impl Series {
    fn record(&mut self, at: u64, done: &Completion) {
        // A request that ends with a window belongs to it.
        let index = at.saturating_sub(1) / self.length;
        if self.rows.last().is_none_or(|&(last, _)| last != index) {
            self.rows.push((index, Row::default()));
        }
        if let Some((_, row)) = self.rows.last_mut() {
            let [count, bytes, sum, max] = &mut row[done.kind];
            *count += 1;
            *bytes += done.bytes;
            *sum += done.latency.0;
            *max = (*max).max(done.latency.0);
        }
    }

    /// `{ns, index, read, write, trim}`; a direction has a row `[requests, bytes, sum, max]` for
    /// each index.
    fn to_json(&self) -> Value {
        let indices: Vec<u64> = self.rows.iter().map(|&(index, _)| index).collect();
        let part = |kind: usize| self.rows.iter().map(|(_, row)| row[kind]).collect::<Vec<_>>();
        json!({
            "ns": self.length, "index": indices,
            "read": part(0), "write": part(1), "trim": part(2),
        })
    }
}

/// See the module.
pub(super) struct Record {
    times: [Times; KINDS],
    bytes: [u64; KINDS],
    /// Requests by how many were in flight: 1, 2, 4, … 64 and more.
    depths: [u64; 7],
    /// Time of the passes in which a direction had requests, by direction.
    ran: [u64; 3],
    series: Vec<Series>,
    all: Option<Vec<u8>>,
}

impl Record {
    pub(super) fn new(windows_ns: &[u64], keeps_all: bool) -> Self {
        let series = windows_ns.iter().map(|&length| Series { length, rows: Vec::new() });
        Self {
            times: std::array::from_fn(|_| Times::default()),
            bytes: [0; KINDS],
            depths: [0; 7],
            ran: [0; 3],
            series: series.collect(),
            all: keeps_all.then(Vec::new),
        }
    }

    /// A request is issued, as one of `outstanding`.
    pub(super) fn issued(&mut self, outstanding: u32) {
        self.depths[(outstanding.max(1).ilog2() as usize).min(6)] += 1;
    }

    /// A request is complete, `at` after the job's begin.
    pub(super) fn completed(&mut self, at: Ns, done: &Completion) {
        self.times[done.kind].record(done.latency.0);
        self.bytes[done.kind] += done.bytes;
        if done.kind >= 3 {
            return;
        }
        self.series.iter_mut().for_each(|series| series.record(at.0, done));
        if let Some(all) = &mut self.all {
            let words = [at.0, done.latency.0, done.sector * SECTOR_BYTES];
            all.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            all.extend_from_slice(&(done.bytes as u32).to_le_bytes());
            all.extend_from_slice(&(done.kind as u32).to_le_bytes());
        }
    }

    /// A pass has ended after this time.
    pub(super) fn pass_ended(&mut self, span: Ns) {
        for kind in 0..3 {
            self.ran[kind] += if self.bytes[kind] > 0 { span.0 } else { 0 };
        }
    }

    /// Requests of all directions, their bytes, and the sum of their response times.
    pub(super) fn totals(&self) -> (u64, u64, u128) {
        let times = &self.times[..3];
        (
            times.iter().map(|it| it.count).sum(),
            self.bytes[..3].iter().sum(),
            times.iter().map(|it| it.sum).sum(),
        )
    }

    /// Whether there are more rows than anyone can want.
    pub(super) fn is_full(&self) -> bool {
        self.all.as_ref().is_some_and(|all| all.len() / ROW_BYTES >= ROWS_MAX)
            || self.series.iter().any(|series| series.rows.len() >= ROWS_MAX)
    }

    /// Every request: end and response time in ns, first byte (8 bytes each), bytes, kind (4 each).
    pub(super) fn all(&self) -> &[u8] {
        self.all.as_deref().unwrap_or_default()
    }

    pub(super) fn to_json(&self) -> Value {
        let kind = |kind: usize| {
            let mut row = self.times[kind].to_json();
            row["bytes"] = json!(self.bytes[kind]);
            row["ran_ns"] = json!(self.ran.get(kind));
            row
        };
        json!({
            "read": kind(0), "write": kind(1), "trim": kind(2), "flush": kind(3),
            "depths": self.depths,
            "series": self.series.iter().map(Series::to_json).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values and the middles that fio states for them: its `plat_idx_to_val`.
    #[test]
    fn buckets_are_those_of_fio() {
        let middle = |place: usize| {
            let (group, rest) = (place >> BITS, (place & 63) as f64);
            if group < 2 {
                return place as u64;
            }
            let width = (1_u64 << (group - 1)) as f64;
            (width * (64.0 + rest + 0.5)) as u64
        };
        for (ns, said) in
            [(100, 100), (127, 127), (128, 129), (1000, 1004), (2000, 2008), (100_000, 99_840)]
        {
            assert_eq!(middle(bucket(ns)), said, "{ns}");
        }
        assert_eq!(middle(bucket(25_000_000)), 25_034_752);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn coarse_counts_are_those_of_fio() {
        for (ns, place) in [(1, 0), (2, 1), (999, 9), (1000, 10), (2000, 11), (999_999, 19)] {
            assert_eq!(coarse(ns), place, "{ns}");
        }
        for (ms, place) in [(1, 20), (2, 21), (749, 28), (1000, 30), (1999, 30), (2000, 31)] {
            assert_eq!(coarse(ms * 1_000_000), place, "{ms} ms");
        }
    }
}
