//! What a controller says that it has, against what it answers: every log, feature and command.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

use crate::host::{
    connect_data, connect_entry, entry, number, serve, session, setup, Host, DISCOVERY,
};

const LOG_PAGE: u16 = 0x109;
const FIELD: u16 = 0x02;
const OPCODE: u16 = 0x01;

/// The numbers in a list of dwords whose lowest bit is set.
fn listed(page: &[u8]) -> Vec<u8> {
    (0..=u8::MAX).filter(|&id| page[4 * usize::from(id)] & 1 == 1).collect()
}

/// Those that the controller answers; any other ends with `missing`.
fn answered(admin: &mut Host, missing: u16, ask: impl Fn(u8) -> [u8; 64]) -> Vec<u8> {
    let mut found = Vec::new();
    for id in 0..=u8::MAX {
        let status = admin.take(ask(id), 4096).status;
        assert!(status == 0 || status == missing, "{id:x}h: {status:x}");
        found.extend((status == 0).then_some(id));
    }
    found
}

/// Compares both, for logs and features; returns them.
fn walk(admin: &mut Host) -> [Vec<u8>; 2] {
    // Of endurance group 1; a feature by its capabilities, which need no more than a 1.
    let log = |id: u8| entry(2, 0, &[u32::from(id) | 255 << 16, 1 << 16]);
    let feature = |id: u8| entry(10, 0, &[u32::from(id) | 3 << 8, 1]);
    let logs = answered(admin, LOG_PAGE, log);
    assert_eq!(listed(&admin.log(0x00, 1024)), logs);
    let features = answered(admin, FIELD, feature);
    let page = admin.log(0x12, 1024);
    assert_eq!(listed(&page), features);
    for id in 0..=u8::MAX {
        let about = number(&page, 4 * usize::from(id), 4);
        let scope = u64::from(features.contains(&id));
        assert_eq!((about >> 20).count_ones(), scope as u32, "{id:x}h has one scope");
        assert_eq!(about & 0xf_ffff, scope, "{id:x}h changes no data and no capability");
    }
    [logs, features]
}

#[test]
fn every_log_and_feature_is_listed_and_nothing_else() {
    let placing = r#", "placement": {"kind": "fdp", "handles": 3, "isolation": "initially"}"#;
    let plain = || vec![0, 1, 2, 3, 4, 5, 9, 0x12, 0x13, 0x81, 0xc0, 0xc3];
    let zoned = || {
        let device = DeviceConfig::resolve(
            r#"{"nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
            "blocks_per_plane": 24, "pages_per_block": 16},
            "ftl": {"over_provisioning_pct": 0.1, "mapping": {"kind": "zoned",
            "zone_bytes": 262144, "zone_capacity_bytes": 167936}}}"#,
        );
        let simulation = Simulation::new(device.expect("a device"), 1);
        Session::with_zones(simulation, Pace::Untimed).expect("it may have zones")
    };
    let drives = vec![
        (session(Pace::Untimed, ""), vec![], vec![0x16]),
        (session(Pace::Untimed, r#", "write_buffer_pages": 8"#), vec![], vec![6, 0x16]),
        (session(Pace::Untimed, placing), vec![0x20, 0x21, 0x22, 0x23], vec![0x16, 0x1d, 0x1e]),
        (zoned(), vec![0xbf], vec![0x19]),
    ];
    for (drive, logs, features) in drives {
        let (server, address) = serve(drive, Pace::Untimed, &setup());
        let (mut admin, _queue) = Host::pair(address, 0);
        let page = admin.take(entry(6, 0, &[1]), 4096).data;
        assert_eq!(page[261] & 1 << 5, 1 << 5);
        let mut expected = [plain(), vec![1, 2, 4, 5, 7, 0xb, 0xe, 0xf, 0x10, 0x81, 0xc5]];
        expected[0].extend(logs);
        expected[1].extend(features);
        assert_eq!(walk(&mut admin), expected.map(|mut list| (list.sort_unstable(), list).1));
        // Every admin command that is listed names its scope, and others are unknown.
        let effects = admin.log(5, 4096);
        for opcode in 0..=u8::MAX {
            let effect = number(&effects, 4 * usize::from(opcode), 4);
            assert_eq!(effect & 1 == 1, effect >> 20 != 0, "{opcode:x}h");
            if effect == 0 && opcode != 0x7f {
                assert_eq!(
                    admin.ask(entry(opcode, 1, &[]), &[0; 64]).status,
                    OPCODE,
                    "{opcode:x}h"
                );
            }
        }
        drop(server.stop());
    }
}

#[test]
fn a_discovery_controller_has_its_own() {
    let (server, address) = serve(session(Pace::Untimed, ""), Pace::Untimed, &setup());
    let mut host = Host::reach(address, 0);
    let done = host.ask(connect_entry(0, 0), &connect_data(DISCOVERY, 0xffff));
    assert_eq!(done.status, 0);
    host.enable();
    assert_eq!(walk(&mut host), [vec![0, 5, 0x12, 0x70], vec![0xb, 0xf]]);
    assert_eq!(listed(&host.log(5, 4096)), [2, 6, 9, 0xa, 0x18]);
    drop(server.stop());
}
