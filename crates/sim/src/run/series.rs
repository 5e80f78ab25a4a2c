//! Series: how a run went, as equally many points whatever its length.
//!
//! A point is taken whenever another share of the stage is done, so its place depends on the
//! commands alone. Rates and means belong to the interval since the last point; levels (free
//! blocks, wear, RBER) to the point itself.

use serde_json::{json, Map, Value};

use crate::drive::Drive;
use crate::timed::TimedStage;
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
            served: timed.map_or(0, |stage| stage.host.ledger.tally.served),
            served_bytes: timed
                .map_or(0, |stage| stage.host.ledger.tally.served_bytes.iter().take(2).sum()),
            written_bytes: drive.host.sectors[1] * SECTOR_BYTES,
            programs: drive
                .geometry
                .physical_pages_of(drive.ftl.figures().counters().programs.iter().sum()),
        }
    }
}

/// Columns of the series, in the order in which they were declared.
pub(crate) struct Series {
    columns: Vec<(&'static str, Vec<Option<f64>>)>,
    start: Totals,
    last: Totals,
}

impl Series {
    /// No points yet; intervals start here.
    pub(crate) fn new(drive: &Drive, timed: Option<&TimedStage>) -> Self {
        let start = Totals::of(drive, timed);
        Self { columns: Vec::new(), start, last: start }
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
            let book = stage.host.ledger.latencies.as_deref_mut();
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
        point.extend(Self::levels(drive));
        if self.columns.is_empty() {
            self.columns = point.iter().map(|&(name, _)| (name, Vec::new())).collect();
        }
        for ((_, column), (_, value)) in self.columns.iter_mut().zip(point) {
            column.push(value);
        }
    }

    /// Wear, errors and space as they are now.
    fn levels(drive: &mut Drive) -> [(&'static str, Option<f64>); 7] {
        let wear = drive.media.wear();
        let blocks = f64::from(wear.blocks().max(1));
        let erase_count_max = f64::from(wear.highest());
        let good_pages =
            drive.ftl.figures().good_blocks() as f64 * f64::from(drive.geometry.pages_per_block);
        let spare = 1.0 - f64::from(drive.ftl.figures().logical_pages()) / good_pages;
        let retired = drive.ftl.figures().counters().retired_blocks;
        [
            ("free_blocks", Some(drive.ftl.figures().erased_blocks() as f64)),
            ("erase_count_mean", Some(wear.erases() as f64 / blocks)),
            ("erase_count_max", Some(erase_count_max)),
            ("rber_mean", Some(drive.errors.sum_of_rates(&wear) / blocks)),
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
        let wear = drive.media.wear();
        let Some((min, _)) = wear.iter().next() else { return Self::default() };
        let blocks = f64::from(wear.blocks());
        let mean = wear.erases() as f64 / blocks;
        let counts = drive.media.erase_counts.iter().zip(drive.media.bad.iter());
        let good = counts.filter(|(_, &bad)| !bad).map(|(&count, _)| f64::from(count) - mean);
        let squares: f64 = good.map(|distance| distance * distance).sum();
        Self { min, max: wear.highest(), mean, stddev: (squares / blocks).sqrt() }
    }
}
