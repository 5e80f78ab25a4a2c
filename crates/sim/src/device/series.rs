//! Series: how a run went, as equally many points whatever its length.
//!
//! A point is taken whenever another share of the stage is done, so its place depends on the
//! commands alone. Rates and means belong to the interval since the last point; levels (free
//! blocks, wear, RBER) to the point itself.

use serde_json::{json, Map, Value};

use super::drive::Drive;
use super::timed::TimedStage;
use crate::units::SECTOR_BYTES;

/// Totals at a point in time.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    time_ns: u64,
    served: u64,
    served_bytes: u64,
    written_bytes: u64,
    programs: u64,
}

impl Totals {
    fn of(drive: &Drive, timed: Option<&TimedStage>) -> Self {
        Self {
            time_ns: timed.map_or(0, |stage| stage.now().0),
            served: timed.map_or(0, |stage| stage.ledger.tally.served),
            served_bytes: timed
                .map_or(0, |stage| stage.ledger.tally.served_bytes.iter().take(2).sum()),
            written_bytes: drive.host.sectors[1] * SECTOR_BYTES,
            programs: drive.geometry.physical_pages_of(drive.ftl.counters().programs.iter().sum()),
        }
    }
}

/// Columns of the series, in the order in which they were declared.
pub(crate) struct Series {
    columns: Vec<(&'static str, Vec<Option<f64>>)>,
    start: Totals,
    last: Totals,
    levels: Option<BlockLevels>,
}

/// What a look at every block gives. It is the same until another block is erased or retired, so a
/// run without collections looks once.
#[derive(Clone, Copy, Debug)]
struct BlockLevels {
    erases: u64,
    retired: u64,
    erase_count_mean: f64,
    erase_count_max: u32,
    rber_mean: f64,
}

impl Series {
    /// No points yet; intervals start here.
    pub(crate) fn new(drive: &Drive, timed: Option<&TimedStage>) -> Self {
        let start = Totals::of(drive, timed);
        Self { columns: Vec::new(), start, last: start, levels: None }
    }

    /// Takes a point.
    pub(crate) fn sample(&mut self, drive: &mut Drive, timed: Option<&mut TimedStage>) {
        let now = Totals::of(drive, timed.as_deref());
        let last = std::mem::replace(&mut self.last, now);
        // Writes that stalled may be refused after they were counted.
        let written = now.written_bytes.saturating_sub(last.written_bytes);
        let logical_bytes = drive.config.space().logical_bytes as f64;
        let mut point: Vec<(&'static str, Option<f64>)> = Vec::new();
        if let Some(stage) = timed {
            let seconds = (now.time_ns - last.time_ns) as f64 * 1e-9;
            let rate = |amount: u64| (seconds > 0.0).then(|| amount as f64 / seconds);
            let book = stage.ledger.latencies.as_deref_mut();
            let interval = &mut book.expect("a stage of a run keeps its latencies").interval;
            point.extend([
                ("t_s", Some((now.time_ns - self.start.time_ns) as f64 * 1e-9)),
                ("iops", rate(now.served - last.served)),
                (
                    "throughput_mb_s",
                    rate(now.served_bytes - last.served_bytes).map(|rate| rate * 1e-6),
                ),
                ("latency_us_mean", interval.mean_us()),
                ("latency_us_p99", interval.quantile_us(0.99)),
            ]);
            interval.clear();
        }
        let page_bytes = drive.geometry.page_bytes as f64;
        let programmed = (now.programs - last.programs) as f64 * page_bytes;
        point.push((
            "drive_writes",
            Some((now.written_bytes - self.start.written_bytes) as f64 / logical_bytes),
        ));
        point.push(("waf", (written > 0).then(|| programmed / written as f64)));
        point.extend(self.levels(drive));
        if self.columns.is_empty() {
            self.columns = point.iter().map(|&(name, _)| (name, Vec::new())).collect();
        }
        for ((_, column), (_, value)) in self.columns.iter_mut().zip(point) {
            column.push(value);
        }
    }

    /// Wear, errors and space as they are now.
    fn levels(&mut self, drive: &mut Drive) -> [(&'static str, Option<f64>); 7] {
        let counters = drive.ftl.counters();
        let (erases, retired) = (counters.erases.iter().sum(), counters.retired_blocks);
        let blocks = match self.levels {
            Some(known) if (known.erases, known.retired) == (erases, retired) => known,
            _ => BlockLevels::of(drive, erases, retired),
        };
        self.levels = Some(blocks);
        let good_pages = drive.ftl.good_blocks() as f64 * f64::from(drive.geometry.pages_per_block);
        let spare = 1.0 - f64::from(drive.ftl.logical_pages()) / good_pages;
        let erase_count_max = f64::from(blocks.erase_count_max);
        [
            ("free_blocks", Some(drive.ftl.erased_blocks() as f64)),
            ("erase_count_mean", Some(blocks.erase_count_mean)),
            ("erase_count_max", Some(erase_count_max)),
            ("rber_mean", Some(blocks.rber_mean)),
            ("rber_max", Some(drive.errors.fates().rber(erase_count_max))),
            ("spare_ratio", Some(spare)),
            ("retired_blocks", Some(retired as f64)),
        ]
    }

    pub(crate) fn to_json(&self) -> Value {
        let columns = self.columns.iter().map(|(name, values)| ((*name).to_owned(), json!(values)));
        Value::Object(columns.collect::<Map<_, _>>())
    }
}

impl BlockLevels {
    fn of(drive: &mut Drive, erases: u64, retired: u64) -> Self {
        let (_, max, mean) = Wear::extent(drive);
        let blocks = drive.media.erase_counts.iter().zip(drive.media.bad.iter());
        let counts = blocks.filter(|(_, &bad)| !bad).map(|(&count, _)| count);
        let rber_mean = drive.errors.rber_mean(counts, max);
        Self { erases, retired, erase_count_mean: mean, erase_count_max: max, rber_mean }
    }
}

/// Erase counts of the blocks in use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wear {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) mean: f64,
    pub(crate) stddev: f64,
}

impl Wear {
    pub(crate) fn of(drive: &Drive) -> Self {
        let (min, max, mean) = Self::extent(drive);
        let squared = |count| (f64::from(count) - mean) * (f64::from(count) - mean);
        let squares: f64 = Self::counts(drive).map(squared).sum();
        let total = Self::counts(drive).count();
        if total == 0 {
            return Self::default();
        }
        Self { min, max, mean, stddev: (squares / total as f64).sqrt() }
    }

    fn counts(drive: &Drive) -> impl Iterator<Item = u32> + '_ {
        let blocks = drive.media.erase_counts.iter().zip(drive.media.bad.iter());
        blocks.filter(|(_, &bad)| !bad).map(|(&count, _)| count)
    }

    /// The least, the most and the mean; zeros of a drive without good blocks.
    fn extent(drive: &Drive) -> (u32, u32, f64) {
        let (mut min, mut max, mut sum, mut total) = (u32::MAX, 0, 0_u64, 0_u32);
        // Without a branch, so that it is compiled to whole vectors.
        for (&count, &bad) in drive.media.erase_counts.iter().zip(drive.media.bad.iter()) {
            let good = u32::from(!bad);
            min = min.min(if bad { u32::MAX } else { count });
            max = max.max(count * good);
            sum += u64::from(count * good);
            total += good;
        }
        if total == 0 {
            return (0, 0, 0.0);
        }
        (min, max, sum as f64 / f64::from(total))
    }
}
