//! Log C3h: commands that were slow, as the drive has counted them in its life.
//!
//! Source: OCP Datacenter NVMe SSD Specification 2.0, latency monitor, with the offsets that newer
//! nvme-cli reads: counters of a bucket are one not used, trim, write and read, of the bucket with
//! the lowest latencies first; stamps and latencies have no first one, and begin with the highest
//! bucket. Stamps are milliseconds that the drive has had power, by the model.

use opennandlab_sim::host::latency_monitor::{Figures, LatencyMonitor, BUCKETS, KINDS};
use opennandlab_sim::units::Ns;

use crate::bytes::{put, put_number};

const BYTES: usize = 512;
/// The monitor is on.
const IS_ON: u8 = 1;
/// Of each bucket and kind the largest latency is kept.
const KEEPS_LARGEST: u64 = 0x0fff;
/// Least time between two latencies that are kept, in 100 ms: for those that keep the last one.
const WINDOW_MIN: u8 = 0x0a;
/// Places of the figures that grow, and of those of the window before.
const ACTIVE: [usize; 3] = [0x20, 0x60, 0xc0];
const KEPT: [usize; 3] = [0xf0, 0x130, 0x190];
/// No stamp.
const NEVER: u64 = u64::MAX;
/// Stamp of the debug log, which there is not.
const DEBUG_STAMP: usize = 0x1c4;
const VERSION: u64 = 1;
/// Name of the log, as it is stored.
const NAME: [u8; 16] = [
    0x92, 0x7a, 0xc0, 0x8c, 0xd0, 0x84, 0x6c, 0x9c, 0x70, 0x43, 0xe6, 0xd4, 0x58, 0x5e, 0xd4, 0x85,
];
const NS_PER_MS: u64 = 1_000_000;

/// The log at this time of the model.
pub(crate) fn page(mut monitor: LatencyMonitor, now: Ns) -> Vec<u8> {
    monitor.advance(now);
    let (setup, (active, age)) = (monitor.setup(), monitor.active(now));
    let mut page = vec![0; BYTES];
    page[0] = IS_ON;
    put_number(&mut page, 2, 2, u64::from(age));
    put_number(&mut page, 4, 2, u64::from(setup.window));
    put(&mut page, 6, &setup.thresholds);
    put_number(&mut page, 10, 2, KEEPS_LARGEST);
    page[12] = WINDOW_MIN;
    put_figures(&mut page, ACTIVE, active);
    put_figures(&mut page, KEPT, monitor.kept());
    put_number(&mut page, DEBUG_STAMP, 8, NEVER);
    put_number(&mut page, 0x1ee, 2, VERSION);
    put(&mut page, 0x1f0, &NAME);
    page
}

fn put_figures(page: &mut [u8], [counts, stamps, latencies]: [usize; 3], figures: &Figures) {
    for (bucket, kind) in (0..BUCKETS).flat_map(|it| (0..KINDS).map(move |kind| (it, kind))) {
        let count = figures.counts[bucket][kind];
        put_number(page, counts + 4 * (bucket * 4 + kind + 1), 4, u64::from(count));
        let place = (BUCKETS - 1 - bucket) * KINDS + kind;
        let slowest = figures.slowest[bucket][kind];
        let stamp = slowest.map_or(NEVER, |it| it.at.0 / NS_PER_MS);
        let latency = slowest.map_or(0, |it| it.latency.0 / NS_PER_MS).min(u64::from(u16::MAX));
        put_number(page, stamps + 8 * place, 8, stamp);
        put_number(page, latencies + 2 * place, 2, latency);
    }
}

#[cfg(test)]
mod tests {
    use opennandlab_sim::host::latency_monitor::Kind;

    use super::*;
    use crate::bytes::get;

    /// The vector of the specification's thresholds, in the bytes where nvme-cli reads them.
    #[test]
    fn figures_are_where_they_are_read() {
        let mut monitor = LatencyMonitor::default();
        let latencies = [29.999, 30.0, 99.9, 100.0, 154.0, 155.0, 235.0, 900.0];
        for (second, ms) in (1..).zip(latencies) {
            let at = Ns(second * 1_000_000_000);
            monitor.note(Kind::Read, Ns((ms * 1e6) as u64), at);
        }
        monitor.note(Kind::Write, Ns(40_000_000), Ns(9_000_000_000));
        monitor.note(Kind::Trim, Ns(70_000_000_000), Ns(10_000_000_000));
        let minute = Ns(660_000_000_000);
        let page = page(monitor, minute);
        assert_eq!(page[..13], [1, 0, 2, 0, 0xe0, 0x07, 5, 0x13, 0x1e, 0x2e, 0xff, 0x0f, 0x0a]);
        let counts: Vec<u64> = (0..16).map(|place| get(&page, 0x20 + 4 * place, 4)).collect();
        assert_eq!(counts, [0, 0, 1, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 1, 0, 2]);
        // Highest bucket first; trim, write, read.
        let stamps: Vec<u64> = (0..12).map(|place| get(&page, 0x60 + 8 * place, 8)).collect();
        let none = u64::MAX;
        let expected = [10000, none, 8000, none, none, 6000, none, none, 5000, none, 9000, 3000];
        assert_eq!(stamps, expected);
        let latencies: Vec<u64> = (0..12).map(|place| get(&page, 0xc0 + 2 * place, 2)).collect();
        assert_eq!(latencies, [65535, 0, 900, 0, 0, 155, 0, 0, 154, 0, 40, 99]);
        assert_eq!(get(&page, 0xd8, 2), 0, "stamps are times since power was on");
        assert!(page[0xf0..0x130].iter().all(|&byte| byte == 0));
        assert!(page[0x130..0x190].iter().all(|&byte| byte == 0xff));
        assert_eq!((get(&page, 0x1ee, 2), get(&page, 0x1f0, 8)), (1, 0x9c6c_84d0_8cc0_7a92));
    }

    #[test]
    fn the_window_before_is_kept() {
        let week = Ns(7 * 24 * 3_600_000_000_000);
        let mut monitor = LatencyMonitor::default();
        monitor.note(Kind::Read, Ns(50_000_000), Ns(1_000_000));
        let page = page(monitor, week);
        assert_eq!((get(&page, 2, 2), get(&page, 0x20 + 12, 4)), (0, 0));
        assert_eq!((get(&page, 0xf0 + 12, 4), get(&page, 0x130 + 8 * 11, 8)), (1, 1));
        assert_eq!(get(&page, 0x190 + 2 * 11, 2), 50);
    }
}
