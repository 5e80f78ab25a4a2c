//! Where did the time go: what each command's latency was spent on.
//!
//! The parts of a command are those of the operation that finished last, plus what the command
//! spent outside the flash; they sum to its latency to the nanosecond, which every run checks.
//! Commands are kept by latency in buckets of 1/256 of an octave, each with the sums of its parts,
//! so that any band of percentiles can be asked for afterwards without keeping commands.
//!
//! ```text
//! submitted ─ submission ─ controller ─ link in ─ mapping ─ cache, room ─ die queue (behind host,
//!     collection, erases) ─ sense, retries ─ bus wait ─ bus ─ program ─ suspended ─ ecc ─ link out
//! ```

use serde_json::{json, Value};

use crate::op::{HostOp, HOST_OP_KINDS};
use crate::units::Ns;

/// Something that a command spends time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// Outside the drive: no slot free, or another queue was served first.
    Submission,
    /// Command processing in the controller.
    Controller,
    /// Data and commands on the host link, waiting for it included.
    Link,
    /// Held back by a throttle.
    Throttle,
    /// Reading entries of the map from the flash, and writing those that had to leave for them.
    Mapping,
    /// Waiting for room in the write cache.
    Cache,
    /// Waiting for an erased block.
    Room,
    /// Waiting on a die behind other host operations.
    Queue,
    /// Waiting on a die behind pages that are moved.
    Gc,
    /// Waiting on a die behind an erase.
    Erase,
    /// Waiting for the channel.
    BusWait,
    /// Transfer over the channel.
    Bus,
    /// Sensing the page, once.
    Sense,
    /// Sensing it again.
    Retry,
    /// Programming.
    Program,
    /// Being suspended for reads.
    Suspended,
    /// Decoding.
    Ecc,
    /// Reading the rest of the stripe.
    Rebuild,
    /// What no other part accounts for: zero unless a command waited for several operations.
    Other,
}

/// Number of [`Part`]s.
pub const PART_COUNT: usize = 19;

/// Their names in results.
pub const PART_NAMES: [&str; PART_COUNT] = [
    "submission",
    "controller",
    "link",
    "throttle",
    "mapping",
    "cache",
    "room",
    "queue",
    "gc",
    "erase",
    "bus_wait",
    "bus",
    "sense",
    "retry",
    "program",
    "suspended",
    "ecc",
    "rebuild",
    "other",
];

/// Nanoseconds by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(pub [u64; PART_COUNT]);

impl Parts {
    /// Adds time to a part.
    #[inline]
    pub fn add(&mut self, part: Part, span: Ns) {
        self.0[part as usize] += span.0;
    }

    /// Whether some of it was spent behind a collection, an erase, or for want of an erased block.
    pub fn met_collection(&self) -> bool {
        [Part::Gc, Part::Erase, Part::Room].iter().any(|&part| self.0[part as usize] > 0)
    }

    /// All of them together.
    pub fn total(&self) -> Ns {
        Ns(self.0.iter().sum())
    }
}

/// Percentile bands of a report: from, to, in thousandths of the commands.
const BANDS: [(&str, u64, u64); 6] = [
    ("all", 0, 1000),
    ("p0-p50", 0, 500),
    ("p50-p90", 500, 900),
    ("p90-p99", 900, 990),
    ("p99-p99.9", 990, 999),
    ("p99.9-max", 999, 1000),
];

/// Classes of commands, in the order of [`HostOp::index`].
const CLASSES: [&str; HOST_OP_KINDS] = ["read", "write", "trim", "flush"];

/// Buckets of an octave, as a power of two: at an edge of a band, latencies that differ by 0.4 % at
/// most are taken for equal.
const OCTAVE_BITS: u32 = 8;

/// One for each nanosecond of the first octaves, and those of the others.
const BUCKET_COUNT: usize = (65 - OCTAVE_BITS as usize) << OCTAVE_BITS;

#[derive(Clone)]
struct Bucket {
    count: u64,
    latency: u128,
    parts: [u128; PART_COUNT],
}

/// Commands of one class by latency.
struct Class {
    buckets: Vec<Option<Box<Bucket>>>,
    count: u64,
}

/// The parts of all commands of a stage.
pub struct Breakdown {
    classes: [Class; HOST_OP_KINDS],
}

impl Default for Breakdown {
    fn default() -> Self {
        let class = || Class { buckets: vec![None; BUCKET_COUNT], count: 0 };
        Self { classes: std::array::from_fn(|_| class()) }
    }
}

/// Place of a latency among the buckets: its octave, and its part of that.
fn bucket_of(latency: Ns) -> usize {
    let shift = (64 - OCTAVE_BITS).saturating_sub(latency.0.leading_zeros() + 1);
    ((shift as usize) << OCTAVE_BITS) + (latency.0 >> shift) as usize
}

impl Breakdown {
    /// A command is done.
    pub fn record(&mut self, op: HostOp, latency: Ns, parts: &Parts) {
        let class = &mut self.classes[op.index()];
        class.count += 1;
        let bucket = class.buckets[bucket_of(latency)].get_or_insert_with(|| {
            Box::new(Bucket { count: 0, latency: 0, parts: [0; PART_COUNT] })
        });
        bucket.count += 1;
        bucket.latency += u128::from(latency.0);
        for (sum, &part) in bucket.parts.iter_mut().zip(&parts.0) {
            *sum += u128::from(part);
        }
    }

    /// `{read: {count, bands: [{band, count, latency_us_mean, parts_us: {…}}]}, …}`; classes
    /// without commands are left out.
    ///
    /// A band holds exactly its share of the commands. A bucket that spans an edge gives each side
    /// as many of its commands as belong there, each with the bucket's mean parts.
    pub fn to_json(&self) -> Value {
        let mut document = serde_json::Map::new();
        for (name, class) in CLASSES.iter().zip(&self.classes) {
            if class.count > 0 {
                let bands: Vec<Value> = BANDS
                    .iter()
                    .filter_map(|&(band, from, to)| class.band(band, from, to))
                    .collect();
                document.insert((*name).into(), json!({ "count": class.count, "bands": bands }));
            }
        }
        Value::Object(document)
    }
}

impl Class {
    fn band(&self, name: &str, from: u64, to: u64) -> Option<Value> {
        // Rounded down, so that the slowest command is always in the last band.
        let edge = |thousandths| self.count * thousandths / 1000;
        let (first, limit) = (edge(from), edge(to));
        let mut latency = 0.0;
        let mut sums = [0.0; PART_COUNT];
        let mut below = 0;
        for bucket in self.buckets.iter().flatten() {
            let end = below + bucket.count;
            let inside = end.min(limit).saturating_sub(below.max(first));
            below = end;
            // Multiplied first: exact as long as the products are below 2^53 ns.
            let share = |total: u128| total as f64 * inside as f64 / bucket.count as f64;
            latency += share(bucket.latency);
            sums.iter_mut().zip(&bucket.parts).for_each(|(sum, &part)| *sum += share(part));
        }
        let count = limit - first;
        let mean = |total: f64| total / (1e3 * count as f64);
        let parts: serde_json::Map<String, Value> = PART_NAMES
            .iter()
            .zip(&sums)
            .filter(|(_, &total)| total > 0.0)
            .map(|(name, &total)| ((*name).to_owned(), json!(mean(total))))
            .collect();
        (count > 0).then(|| {
            json!({"band": name, "count": count, "latency_us_mean": mean(latency),
                   "parts_us": parts})
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_what_was_recorded() {
        let mut breakdown = Breakdown::default();
        for index in 0..1000_u64 {
            // Every hundredth command waited behind an erase.
            let slow = index % 100 == 0;
            let mut parts = Parts::default();
            parts.add(Part::Sense, Ns(60_000));
            parts.add(Part::Erase, Ns(if slow { 3_000_000 } else { 0 }));
            breakdown.record(HostOp::Read, parts.total(), &parts);
        }
        let json = breakdown.to_json();
        let bands = json["read"]["bands"].as_array().expect("bands");
        let find = |name: &str| bands.iter().find(|band| band["band"] == name);
        assert_eq!(find("all").expect("a band")["count"], 1000);
        let fast = find("p0-p50").expect("a band");
        assert_eq!(fast["parts_us"], json!({"sense": 60.0}));
        let tail = find("p99-p99.9").expect("a band");
        assert_eq!(tail["count"], 9);
        assert_eq!(tail["parts_us"], json!({"sense": 60.0, "erase": 3000.0}));
        assert_eq!(find("p99.9-max").expect("a band")["count"], 1);
    }

    #[test]
    fn buckets_are_in_order_and_narrow() {
        let mut last = 0;
        for latency in (0..70_000).chain((0..48).map(|octave| (70_000 << octave) + 1)) {
            let bucket = bucket_of(Ns(latency));
            assert!(bucket >= last, "{latency}");
            last = bucket;
        }
        assert_eq!(bucket_of(Ns(u64::MAX)), BUCKET_COUNT - 1);
        assert!(bucket_of(Ns(1_000_000)) < bucket_of(Ns(1_004_000)));
    }

    #[test]
    fn means_of_bands_are_within_their_ends() {
        // A plateau of collections: nine tenths of them are within an eighth of an octave.
        let mut breakdown = Breakdown::default();
        let span = |index: u64| Ns(170_000_000 + index * 12_000);
        for index in 0..1000 {
            let mut parts = Parts::default();
            parts.add(Part::Gc, span(index));
            breakdown.record(HostOp::Write, parts.total(), &parts);
        }
        let json = breakdown.to_json();
        for (band, &(name, from, to)) in
            json["write"]["bands"].as_array().expect("bands").iter().zip(&BANDS)
        {
            let exact = (span(from).0 + span(to - 1).0) as f64 / 2e3;
            let mean = band["latency_us_mean"].as_f64().expect("a mean");
            assert!((mean / exact - 1.0).abs() < 0.002, "{name}: {mean} for {exact}");
        }
    }

    #[test]
    fn a_bucket_across_an_edge_is_shared_out() {
        let mut breakdown = Breakdown::default();
        let mut parts = Parts::default();
        parts.add(Part::Program, Ns(700_000));
        for _ in 0..200 {
            breakdown.record(HostOp::Flush, parts.total(), &parts);
        }
        let json = breakdown.to_json();
        let bands = json["flush"]["bands"].as_array().expect("bands");
        let counts: Vec<_> = bands.iter().map(|band| band["count"].as_u64()).collect();
        assert_eq!(counts, [200, 100, 80, 18, 1, 1].map(Some));
        for band in bands {
            let mean = band["latency_us_mean"].as_f64().expect("a mean");
            assert!((mean - 700.0).abs() < 1e-9, "{band}");
        }
    }
}
