//! The logs of a drive that is not served, for a file next to the result of its run: the SMART log
//! of NVMe, and logs C0h and C3h of the OCP *Datacenter NVMe SSD Specification* 2.0.
//!
//! Keys are those of nvme-cli. A figure that the model does not have is not there, so that it is
//! unknown and not 0: capacitors, links, system blocks, errors between the drive's own parts.

use serde_json::{json, Map, Value};

use super::counts::Counts;
use super::drive::Drive;
use super::health::{block_figures, wellness, DATA_UNIT_BYTES};
use crate::host::latency_monitor::{Figures, Kind, LatencyMonitor, BUCKETS};
use crate::op::HostOp;
use crate::units::Ns;

/// Version of log C0h whose fields these are.
const VERSION: u32 = 3;
/// Latencies of slow commands are kept, the largest or the first.
const KEEPS: u8 = 1 << 1 | 1 << 2;
const NS_PER_MS: u64 = 1_000_000;

impl Drive {
    /// A command of this latency has ended at a time of the stage that runs.
    #[cold] // as only drives with a monitor call it: the rest stay as fast
    pub(crate) fn note_slow(&mut self, op: HostOp, latency: Ns, at: Ns) {
        let ended = self.clock + at;
        if let (Some(slow), Some(kind)) = (&mut self.slow, Kind::of(op)) {
            slow.note(kind, latency, ended);
        }
    }
}

/// The logs; `counts` are those of hosts and flash since the drive was made or loaded.
pub(crate) fn logs(drive: &Drive, counts: &Counts) -> Value {
    json!({
        "smart_log": smart(drive, counts),
        "smart_add_log": health(drive, counts),
        "latency_monitor_log": drive.slow.as_deref().map(|slow| monitor(slow.clone(), drive)),
    })
}

fn smart(drive: &Drive, counts: &Counts) -> Value {
    let it = wellness(drive);
    let units = |bytes: u64| bytes.div_ceil(DATA_UNIT_BYTES);
    json!({
        "critical_warning": it.warning,
        "avail_spare": it.spare_pct,
        "spare_thresh": it.spare_threshold_pct,
        "percent_used": it.used_pct,
        "data_units_read": units(counts.read_bytes),
        "data_units_written": units(counts.written_bytes),
        "host_read_commands": counts.read_commands,
        "host_write_commands": counts.write_commands,
        "media_errors": it.media_errors,
    })
}

fn health(drive: &Drive, counts: &Counts) -> Value {
    let (geometry, blocks) = (&drive.geometry, block_figures(drive));
    let (tally, figures) = (drive.errors.tally(), drive.ftl.figures());
    let bytes = |pages: u64| geometry.physical_pages_of(pages) * geometry.page_bytes;
    let [least, _, most] = blocks.erase_counts;
    let refresh = figures.counters();
    json!({
        "physical_media_units_written": bytes(counts.programs),
        "physical_media_units_read": bytes(counts.reads),
        "bad_user_nand_blocks_raw": blocks.bad,
        "bad_user_nand_blocks_normalized": wellness(drive).spare_pct,
        "xor_recovery_count": tally.rebuilt,
        "uncorrectable_read_errors": tally.uncorrectable.iter().sum::<u64>(),
        "soft_ecc_error_count": tally.recovered.iter().sum::<u64>(),
        "refresh_count": refresh.refreshed_by_age + refresh.refreshed_by_rate,
        "max_user_data_erase_count": most,
        "min_user_data_erase_count": least,
        "percent_free_blocks": blocks.free_pct,
        "log_page_version": VERSION,
    })
}

fn monitor(mut slow: LatencyMonitor, drive: &Drive) -> Value {
    slow.advance(drive.clock);
    let (setup, (active, age)) = (slow.setup(), slow.active(drive.clock));
    let mut log = Map::new();
    let scalars = [
        ("Feature Status", u64::from(u8::from(setup.is_on) | KEEPS)),
        ("Active Bucket Timer", 5 * u64::from(age)),
        ("Active Bucket Timer Threshold", 5 * u64::from(setup.window)),
        ("Active Latency Configuration", u64::from(setup.keeps_largest)),
        ("Active Latency Minimum Window", 100 * u64::from(setup.pause)),
        ("Active Latency Stamp Units", 0),
        ("Static Latency Stamp Units", 0),
        ("Log Page Version", 1),
    ];
    log.extend(scalars.map(|(name, value)| (name.to_owned(), json!(value))));
    for (letter, threshold) in ["A", "B", "C", "D"].iter().zip(setup.thresholds) {
        let ms = 5 * (u64::from(threshold) + 1);
        log.insert(format!("Active Threshold {letter}"), json!(ms));
    }
    put_figures(&mut log, "Active", active);
    put_figures(&mut log, "Static", slow.kept());
    Value::Object(log)
}

fn put_figures(log: &mut Map<String, Value>, window: &str, figures: &Figures) {
    // By [`Kind`](crate::host::latency_monitor::Kind).
    let row = |of: [Value; 3]| {
        let [trim, write, read] = of;
        json!({"Read": read, "Write": write, "Trim": trim})
    };
    for bucket in 0..BUCKETS {
        let noted = figures.noted[bucket];
        let rows = [
            ("Bucket Counter", row(figures.counts[bucket].map(|count| json!(count)))),
            ("Latency Time Stamp", row(noted.map(|it| json!(it.map(|it| it.at.0 / NS_PER_MS))))),
            ("Measured Latency", {
                let ms = |latency: u64| (latency / NS_PER_MS).min(u64::from(u16::MAX));
                row(noted.map(|it| json!(it.map(|it| ms(it.latency.0)))))
            }),
        ];
        for (name, row) in rows {
            log.insert(format!("{window} {name}: Bucket {bucket}"), row);
        }
    }
}
