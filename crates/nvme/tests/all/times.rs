//! Logs of time: commands that were slow in the model, and how long the drive was busy.

use opennandlab_serve::clock::Timing;
use opennandlab_serve::power::Supply;
use opennandlab_serve::protocol::Protocol;
use opennandlab_serve::server::{Door, Options, Server};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};
use std::net::SocketAddr;
use std::sync::Arc;

use crate::host::{entry, number, put, ranged, setup, Host};
use crate::purge::{image_of, of_image};

/// Reads of 40 ms, programs of 120 ms.
fn slow() -> Simulation {
    let device = DeviceConfig::resolve(
        r#"{"nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16,
        "timing": {"t_read_us": 40000, "t_program_us": 120000, "t_erase_us": 5000}},
        "ftl": {"over_provisioning_pct": 0.4}}"#,
    );
    Simulation::new(device.expect("a device"), 1)
}

/// Serves a drive ten times faster than its model, so that its minutes pass.
fn serve(session: Session, supply: Option<Supply>, scale: f64) -> (Server, SocketAddr) {
    let door = Door::tcp(([127, 0, 0, 1], 0).into(), false, |bound| {
        let nvme = opennandlab_nvme::Nvme::new(&session, &setup(), bound)?;
        Ok(Arc::new(nvme) as Arc<dyn Protocol>)
    });
    let door = door.expect("a free port");
    let address = door.address().expect("it is a port");
    let options = Options { timing: Timing::Scaled(scale), record: None, capture: None };
    (Server::start(session, supply, &options, vec![door]).expect("it serves"), address)
}

fn counts(log: &[u8]) -> Vec<u64> {
    (0..16).map(|place| number(log, 0x20 + 4 * place, 4)).collect()
}

#[test]
fn slow_commands_are_those_of_the_model() {
    let session = Session::new(slow(), Pace::Timed).expect("a plain disk");
    let (server, address) = serve(session, None, 0.1);
    let (mut admin, mut queue) = Host::pair(address, 0);
    for first in 0..3 {
        assert_eq!(queue.ask(ranged(1, first, 1), &[1; 4096]).status, 0);
    }
    for first in [0, 1, 2, 0] {
        assert_eq!(queue.take(ranged(2, first, 1), 4096).status, 0);
    }
    // Blocks without data need no flash, and a trim none either.
    assert_eq!(queue.take(ranged(2, 99, 1), 4096).status, 0);
    let mut range = [0; 16];
    put(&mut range, 4, 4, 1);
    assert_eq!(queue.ask(entry(9, 1, &[0, 4]), &range).status, 0);
    let log = admin.log(0xc3, 512);
    // Bucket 0 has four reads of 40 ms, bucket 1 three writes of 120 ms.
    assert_eq!(counts(&log), [0, 0, 0, 4, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(number(&log, 0xc0 + 2 * 11, 2), 40, "the slowest read of bucket 0");
    assert_eq!(number(&log, 0xc0 + 2 * 7, 2), 120, "the slowest write of bucket 1");
    let stamp = number(&log, 0x60 + 8 * 11, 8);
    assert!((400..600_000).contains(&stamp), "{stamp} ms of the model");
    assert_eq!((log[0], number(&log, 0x1ee, 2)), (7, 1));
    drop(server.stop());
}

/// A copy is a write whose time has its reads in it. Like zeroes, comparisons and looks it is of no
/// kind that the monitor counts.
#[test]
fn a_copy_waits_for_its_reads() {
    let session = Session::new(slow(), Pace::Timed).expect("a plain disk");
    let (server, address) = serve(session, None, 0.1);
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(queue.ask(ranged(1, 0, 1), &[1; 4096]).status, 0);
    let start = std::time::Instant::now();
    assert_eq!(queue.ask(entry(0x19, 1, &[5, 0, 0]), &[0; 32]).status, 0);
    assert!(start.elapsed().as_millis() >= 16, "40 ms and 120 ms, ten times faster");
    assert_eq!(queue.ask(ranged(5, 5, 1), &[1; 4096]).status, 0);
    assert_eq!(queue.ask(ranged(0x0c, 5, 1), &[]).status, 0);
    assert_eq!(queue.ask(ranged(8, 5, 1), &[]).status, 0);
    assert_eq!(counts(&admin.log(0xc3, 512)), [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    drop(server.stop());
}

/// A thousand times faster than the model: a second is a quarter of an hour of it. Minutes without
/// commands are not busy, and neither a loss of power nor an image ends busy time and counts.
#[test]
fn busy_minutes_are_those_with_commands() {
    let device = DeviceConfig::resolve(
        r#"{"nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16,
        "timing": {"t_program_us": 10000000}},
        "ftl": {"over_provisioning_pct": 0.4, "gc_reserve_blocks": 8}}"#,
    );
    let simulation = Simulation::new(device.expect("a device"), 1);
    let (session, supply) = Supply::new(simulation, &[], 1).expect("it may be cut");
    let (server, address) = serve(session, Some(supply), 0.001);
    let minutes = |admin: &mut Host| number(&admin.log(2, 512), 96, 8);
    let (mut admin, mut queue) = Host::pair(address, 0);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(minutes(&mut admin), 0, "200 s without a command");
    for first in 0..7 {
        assert_eq!(queue.ask(ranged(1, first, 1), &[1; 4096]).status, 0);
    }
    // Seven programs of 10 s, and pauses of the host that are not busy.
    assert_eq!(minutes(&mut admin), 1);
    assert_eq!(counts(&admin.log(0xc3, 512))[14], 7);
    server.power_off().expect("it may fail");
    server.power_on().expect("it is off");
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(minutes(&mut admin), 1);
    assert_eq!(counts(&admin.log(0xc3, 512))[14], 7);
    for first in 0..5 {
        assert_eq!(queue.ask(ranged(1, first, 1), &[1; 4096]).status, 0);
    }
    assert_eq!(minutes(&mut admin), 2);
    // An image of the drive as it is served, and that of its end; the age of the window grows.
    let figures = |admin: &mut Host| admin.log(0xc3, 512).split_off(4);
    let before = figures(&mut admin);
    assert_eq!(number(&before, 0x20 - 4 + 4 * 14, 4), 12);
    let mut live = Vec::new();
    server.save(&mut live).expect("memory takes it");
    for image in [live, image_of(server)] {
        let (server, address) = serve(of_image(&image), None, 0.001);
        let (mut admin, mut queue) = Host::pair(address, 0);
        assert_eq!((minutes(&mut admin), figures(&mut admin)), (2, before.clone()));
        let stamps = |admin: &mut Host| number(&admin.log(0xc3, 512), 0x60 + 8, 8);
        let first = stamps(&mut admin);
        // Two of them on one die: one is the slowest, after all of the service before.
        let writes = [2, 4, 6].map(|first| queue.send(ranged(1, first, 1), &[1; 4096]));

        for _ in writes {
            assert!(queue.receive().is_some());
        }
        assert_eq!(counts(&admin.log(0xc3, 512))[14], 15);
        assert!(stamps(&mut admin) > first);
        drop(server.stop());
    }
}

/// Feature C5h changes what the drive counts, for log and image alike.
#[test]
fn a_host_sets_the_monitor() {
    let session = Session::new(slow(), Pace::Timed).expect("a plain disk");
    let (server, address) = serve(session, None, 0.1);
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(queue.ask(ranged(1, 0, 1), &[1; 4096]).status, 0);
    assert_eq!(counts(&admin.log(0xc3, 512))[6], 1);
    let get = |admin: &mut Host, select: u32, bytes| {
        admin.take(entry(10, 0, &[0xc5 | select << 8]), bytes)
    };
    let first = get(&mut admin, 0, 4096);
    assert_eq!((first.status, first.first, first.data[5], first.data[12]), (0, 1, 0x2e, 1));
    assert_eq!((get(&mut admin, 3, 0).first, get(&mut admin, 0, 0).first), (5, 1));
    // 35, 125, 130 and 1280 ms; saved or not, the counts begin again.
    let mut data = first.data.clone();
    data[..6].copy_from_slice(&[3, 0, 6, 24, 25, 255]);
    for saves in [0, 1 << 31] {
        assert_eq!(queue.ask(ranged(1, 1, 1), &[1; 4096]).status, 0);
        assert_eq!(admin.give(entry(9, 0, &[0xc5 | saves]), &data).status, 0);
        assert_eq!(counts(&admin.log(0xc3, 512)), [0; 16]);
    }
    for (select, expected) in [(0, &data), (1, &first.data), (2, &data)] {
        assert_eq!(get(&mut admin, select, 4096).data, *expected);
    }
    // What is refused changes nothing.
    data[3] = 6;
    assert_eq!(admin.give(entry(9, 0, &[0xc5]), &data).status, 2);
    assert_eq!(admin.give(entry(9, 0, &[0xc5]), &data[..512]).status, 0x0f);
    assert_eq!(queue.ask(ranged(1, 2, 1), &[1; 4096]).status, 0);
    assert_eq!(queue.take(ranged(2, 2, 1), 4096).status, 0);
    let log = admin.log(0xc3, 512);
    assert_eq!(counts(&log), [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(log[4..13], [3, 0, 6, 24, 25, 255, 0xff, 0x0f, 0x0a]);
    // A reset, a restart from an image; then it is off.
    admin.configure(0x46_0000);
    admin.enable();
    assert_eq!(admin.log(0xc3, 512)[4..], log[4..]);
    let (server, address) = serve(of_image(&image_of(server)), None, 0.1);
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(admin.log(0xc3, 512)[4..], log[4..]);
    data[3] = 24;
    data[12] = 0;
    assert_eq!(admin.give(entry(9, 0, &[0xc5]), &data).status, 0);
    assert_eq!(queue.take(ranged(2, 2, 1), 4096).status, 0);
    let log = admin.log(0xc3, 512);
    assert_eq!((counts(&log), log[0], get(&mut admin, 0, 0).first), (vec![0; 16], 6, 0));
    drop(server.stop());
}
