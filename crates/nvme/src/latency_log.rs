//! Log C3h: commands that were slow, as the drive has counted them in its life.
//!
//! Feature C5h sets thresholds, window, the latency that is kept, and whether the drive counts at
//! all; the counts begin again then. Settings and counts outlast resets, losses of power and, with
//! an image, the server. There is no debug log, so nothing triggers or discards one.
//!
//! Source: OCP Datacenter NVMe SSD Specification 2.0, 4.8.8, 4.8.9, 4.12.10 and appendix C.
//! Counters of a bucket are one not used, trim, write and read, of the bucket with the lowest
//! latencies first; stamps and latencies have no first one, and begin with the highest bucket.
//! Stamps are milliseconds of the clock that a host has set (feature 0Eh), or of the time that the
//! drive has had power; both run by the model.

use opennandlab_sim::host::latency_monitor::{
    bit_of, Figures, LatencyMonitor, Setup, BUCKETS, KINDS,
};
use opennandlab_sim::units::Ns;

use crate::bytes::{get, put, put_number};
use crate::status::Status;

/// The feature that sets the monitor.
pub(crate) const FEATURE: u8 = 0xc5;
/// Bytes of its data, of which the first ones mean something.
const SETTINGS_BYTES: usize = 4096;
const SETTINGS_USED: usize = 13;
/// Bits of a mask of buckets and kinds.
const MASK: u16 = 0x0fff;
/// What to do with the debug log: nothing, or to discard it, or that alone.
const DISCARDS_ALONE: u8 = 2;
const BYTES: usize = 512;
/// Both ways to keep a latency are there.
const HAS_LATENCIES: u8 = 1 << 1 | 1 << 2;
/// Places of the figures that grow, and of those of the window before.
const ACTIVE: [usize; 4] = [0x20, 0x60, 0xc0, 0xd8];
const KEPT: [usize; 4] = [0xf0, 0x130, 0x190, 0x1a8];
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
    page[0] = u8::from(setup.is_on) | HAS_LATENCIES;
    put_number(&mut page, 2, 2, u64::from(age));
    put_number(&mut page, 4, 2, u64::from(setup.window));
    put(&mut page, 6, &setup.thresholds);
    put_number(&mut page, 10, 2, u64::from(setup.keeps_largest));
    page[12] = setup.pause;
    put_figures(&mut page, ACTIVE, active);
    put_figures(&mut page, KEPT, monitor.kept());
    put_number(&mut page, DEBUG_STAMP, 8, NEVER);
    put_number(&mut page, 0x1ee, 2, VERSION);
    put(&mut page, 0x1f0, &NAME);
    page
}

/// The settings that a host has sent; `None` if it changes none.
pub(crate) fn settings_of(data: &[u8]) -> Result<Option<Setup>, Status> {
    let data = data.get(..SETTINGS_BYTES).ok_or(Status::SGL_LENGTH)?;
    match data[11] {
        DISCARDS_ALONE => return Ok(None),
        ..DISCARDS_ALONE => {}
        _ => return Err(Status::FIELD),
    }
    let setup = Setup {
        is_on: data[12] == 1,
        thresholds: std::array::from_fn(|place| data[2 + place]),
        window: get(data, 0, 2) as u16,
        keeps_largest: get(data, 6, 2) as u16,
        pause: data[8],
    };
    let is_ascending = setup.thresholds.is_sorted_by(|one, next| one < next);
    let triggers_log = get(data, 9, 2) != 0;
    let has_reserved = data[12] > 1
        || setup.keeps_largest & !MASK != 0
        || data[SETTINGS_USED..].iter().any(|&byte| byte != 0);
    if !is_ascending || triggers_log || has_reserved {
        return Err(Status::FIELD);
    }
    Ok(Some(setup))
}

/// Settings as the data of the feature.
pub(crate) fn settings(setup: Setup) -> Vec<u8> {
    let mut data = vec![0; SETTINGS_BYTES];
    put_number(&mut data, 0, 2, u64::from(setup.window));
    put(&mut data, 2, &setup.thresholds);
    put_number(&mut data, 6, 2, u64::from(setup.keeps_largest));
    data[8] = setup.pause;
    data[12] = u8::from(setup.is_on);
    data
}

fn put_figures(page: &mut [u8], places: [usize; 4], figures: &Figures) {
    let [counts, stamps, latencies, units] = places;
    let mut by_clock = 0;
    for (bucket, kind) in (0..BUCKETS).flat_map(|it| (0..KINDS).map(move |kind| (it, kind))) {
        let count = figures.counts[bucket][kind];
        put_number(page, counts + 4 * (bucket * 4 + kind + 1), 4, u64::from(count));
        let place = (BUCKETS - 1 - bucket) * KINDS + kind;
        let noted = figures.noted[bucket][kind];
        let stamp = noted.map_or(NEVER, |it| it.clock_ms.unwrap_or(it.at.0 / NS_PER_MS));
        let latency = noted.map_or(0, |it| it.latency.0 / NS_PER_MS).min(u64::from(u16::MAX));
        put_number(page, stamps + 8 * place, 8, stamp);
        put_number(page, latencies + 2 * place, 2, latency);
        if noted.is_some_and(|it| it.clock_ms.is_some()) {
            by_clock |= bit_of(bucket, kind);
        }
    }
    put_number(page, units, 2, u64::from(by_clock));
}

#[cfg(test)]
mod tests {
    use opennandlab_sim::host::latency_monitor::Kind;

    use super::*;

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
        assert_eq!(page[..13], [7, 0, 2, 0, 0xe0, 0x07, 5, 0x13, 0x1e, 0x2e, 0xff, 0x0f, 0x0a]);
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

    /// The same latencies, and other thresholds: 10, 50, 150 and 500 ms.
    #[test]
    fn figures_follow_the_settings() {
        let mut data = settings(Setup::default());
        assert_eq!(data[..13], [0xe0, 0x07, 5, 0x13, 0x1e, 0x2e, 0xff, 0x0f, 0x0a, 0, 0, 0, 1]);
        data[..9].copy_from_slice(&[1, 0, 1, 9, 29, 99, 0xb6, 0x0d, 0]);
        let setup = settings_of(&data).expect("they are sound").expect("they change something");
        assert_eq!(settings(setup), data);
        let mut monitor = LatencyMonitor::default();
        monitor.note(Kind::Write, Ns(900_000_000), Ns(900_000_000));
        monitor.configure(setup, Ns(1_000_000_000));
        let latencies = [9.999, 29.999, 30.0, 99.9, 100.0, 154.0, 155.0, 235.0, 900.0, 50.0];
        for (second, ms) in (1..).zip(latencies) {
            let at = Ns(second * 1_000_000_000);
            monitor.note(Kind::Read, Ns((ms * 1e6) as u64), at);
        }
        // The clock of the host is set, and five minutes pass.
        monitor.set_clock(1_700_000_000_000, Ns(20_000_000_000));
        monitor.note(Kind::Write, Ns(60_000_000), Ns(21_000_000_000));
        let before = page(monitor.clone(), Ns(300_999_999_999));
        let page = page(monitor, Ns(301_000_000_000));
        assert_eq!(page[..13], [7, 0, 0, 0, 1, 0, 1, 9, 29, 99, 0xb6, 0x0d, 0]);
        for (page, counts, units) in [(&before, 0x20, 0xd8), (&page, 0xf0, 0x1a8)] {
            let found: Vec<u64> = (0..16).map(|place| get(page, counts + 4 * place, 4)).collect();
            assert_eq!(found, [0, 0, 0, 2, 0, 0, 1, 3, 0, 0, 0, 3, 0, 0, 0, 1]);
            assert_eq!(get(page, units, 2), 1 << 4, "a write of bucket 1 has the host's clock");
        }
        // Of reads the first latency is kept, of buckets 0 to 3.
        let noted =
            |page: &[u8], at: usize| [11usize, 8, 5, 2].map(|place| get(page, at + 2 * place, 2));
        assert_eq!(noted(&before, 0xc0), [29, 99, 154, 900]);
        assert_eq!(noted(&page, 0x190), [29, 99, 154, 900]);
        assert_eq!(get(&page, 0x130 + 8 * 7, 8), 1_700_000_001_000);
        assert!(page[0x20..0x60].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn settings_that_cannot_be_are_refused() {
        let sound = settings(Setup::default());
        for (place, value) in
            [(3, 5), (2, 0xff), (7, 0x1f), (9, 1), (10, 1), (11, 3), (12, 2), (13, 1), (4095, 1)]
        {
            let mut data = sound.clone();
            data[place] = value;
            assert_eq!(settings_of(&data), Err(Status::FIELD), "byte {place}");
        }
        assert_eq!(settings_of(&sound[..4095]), Err(Status::SGL_LENGTH));
        let mut alone = vec![0xff; SETTINGS_BYTES];
        alone[11] = 2;
        assert_eq!(settings_of(&alone), Ok(None));
    }
}
