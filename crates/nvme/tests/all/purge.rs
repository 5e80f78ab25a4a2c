//! Format and Sanitize under a host of our own, and what an image keeps of a drive.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use opennandlab_nvme::{Nvme, Setup};
use opennandlab_serve::clock::Timing;
use opennandlab_serve::power::Supply;
use opennandlab_serve::protocol::Protocol;
use opennandlab_serve::server::{Door, Options, Server};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

use crate::host::{entry, number, put, ranged, serve, session, setup, start, Host, NQN};

const FIELD: u16 = 0x02;
const SANITIZING: u16 = 0x1d;
const FORMATTING: u16 = 0x84;
const INVALID_FORMAT: u16 = 0x10a;
const FORMAT: u8 = 0x80;
const SANITIZE: u8 = 0x84;
/// Of dword 10 of a Format: 4096 bytes a block, and the kinds of erase.
const AS_4096: u32 = 1;
const USER_DATA: u32 = 1 << 9;
const CRYPTO: u32 = 2 << 9;

fn write(queue: &mut Host, first: u64, value: u8) -> u16 {
    queue.ask(ranged(1, first, 1), &[value; 4096]).status
}

fn read(queue: &mut Host, first: u64) -> (u16, Vec<u8>) {
    let done = queue.take(ranged(2, first, 1), 4096);
    (done.status, done.data)
}

/// Progress, state and dword 10 of the log of Sanitize.
fn sanitized(admin: &mut Host) -> [u64; 3] {
    let log = admin.log(0x81, 512);
    [number(&log, 0, 2), number(&log, 2, 2), number(&log, 4, 4)]
}

/// Least, highest and mean erase count.
fn wear(admin: &mut Host) -> [u64; 3] {
    let log = admin.log(0xc0, 512);
    [number(&log, 92, 4), number(&log, 88, 4), number(&log, 224, 8)]
}

/// A drive whose erases are slow enough for a host to see their progress.
fn slow(more: &str) -> Simulation {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16, "timing": {{"t_erase_us": 50000}}}},
        "ftl": {{"over_provisioning_pct": 0.4{more}}}}}"#
    );
    Simulation::new(DeviceConfig::resolve(&json).expect("a device"), 1)
}

fn served(session: Session, supply: Option<Supply>) -> (Server, std::net::SocketAddr) {
    let door = Door::tcp(([127, 0, 0, 1], 0).into(), false, |bound| {
        Ok(Arc::new(Nvme::new(&session, &setup(), bound)?) as Arc<dyn Protocol>)
    })
    .expect("a free port");
    let address = door.address().expect("it is a port");
    let options = Options { timing: Timing::Scaled(1.0), record: None, capture: None };
    (Server::start(session, supply, &options, vec![door]).expect("it serves"), address)
}

/// Waits for the end of a sanitize; how often it was seen in progress.
fn await_sanitize(admin: &mut Host) -> usize {
    let (mut seen, mut before) = (0, 0);
    loop {
        let [progress, state, _] = sanitized(admin);
        if state & 7 != 2 {
            assert_eq!((progress, state), (0xffff, 0x101));
            return seen;
        }
        assert!((before..0x10000).contains(&progress), "{before} {progress}");
        (before, seen) = (progress, seen + 1);
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_format_erases_and_gives_a_namespace_its_block() {
    for (pace, kind) in [Pace::Untimed, Pace::Timed]
        .into_iter()
        .flat_map(|pace| [0, USER_DATA, CRYPTO].map(|kind| (pace, kind)))
    {
        let (server, address) = start(pace);
        let (mut admin, mut queue) = Host::pair(address, 0);
        let page = admin.take(entry(6, 0, &[1]), 4096).data;
        assert_eq!((page[256] & 2, page[524], number(&page, 328, 4)), (2, 4, 0x6000_0003));
        let blocks = number(&admin.take(entry(6, 1, &[0]), 4096).data, 0, 8);
        (0..20).for_each(|block| assert_eq!(write(&mut queue, block, 7), 0));
        let before = wear(&mut admin);
        assert_eq!(admin.ask(entry(FORMAT, 1, &[kind]), &[]).status, 0);
        let more = u64::from(kind != CRYPTO);
        assert_eq!(wear(&mut admin), before.map(|count| count + more));
        let page = admin.take(entry(6, 1, &[0]), 4096).data;
        assert_eq!((number(&page, 0, 8), page[26], number(&page, 16, 8)), (blocks * 8, 0, 0));
        // Blocks of 512 bytes now.
        let done = queue.take(ranged(2, 0, 160), 81920);
        assert_eq!((done.status, done.data), (0, vec![0; 81920]));
        assert_eq!(queue.ask(ranged(1, blocks * 8 - 1, 1), &[3; 512]).status, 0);
        assert_eq!(admin.ask(entry(FORMAT, u32::MAX, &[AS_4096]), &[]).status, 0);
        assert_eq!(read(&mut queue, blocks - 1), (0, vec![0; 4096]));
        // Formats, erases, protection and namespaces that there are not.
        for (first, id, status) in [
            (2, 1, INVALID_FORMAT),
            (1 << 4, 1, INVALID_FORMAT),
            (1 << 5, 1, INVALID_FORMAT),
            (3 << 9, 1, FIELD),
            (0, 2, 0x0b),
            (0, 0, 0x0b),
        ] {
            assert_eq!(admin.ask(entry(FORMAT, id, &[first]), &[]).status, status, "{first:x}");
        }
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

#[test]
fn a_format_of_one_namespace_leaves_the_others() {
    let divided = Setup { namespaces: Some("50%,50%".into()), ..setup() };
    let (server, address) = serve(session(Pace::Timed, ""), Pace::Timed, &divided);
    let (mut admin, mut queue) = Host::pair(address, 0);
    let (mut other, _) = Host::pair(address, 0);
    // The other host asks for events of namespaces.
    assert_eq!(other.ask(entry(9, 0, &[0x0b, 0x100]), &[]).status, 0);
    let mut second = ranged(1, 5, 1);
    put(&mut second, 4, 4, 2);
    for entry in [ranged(1, 5, 1), second] {
        assert_eq!(queue.ask(entry, &[9; 4096]).status, 0);
    }
    assert_eq!(admin.ask(entry(FORMAT, 2, &[USER_DATA]), &[]).status, 0);
    assert_eq!(read(&mut queue, 5), (0, vec![9; 4096]));
    second[0] = 2;
    put(&mut second, 40, 8, 40);
    put(&mut second, 48, 4, 7);
    assert_eq!(queue.take(second, 4096).data, vec![0; 4096]);
    // A notice for the other: the list of changed namespaces, which is empty once it was read.
    let event = other.ask(entry(0x0c, 0, &[]), &[]);
    assert_eq!((event.status, event.first), (0, 0x0004_0002));
    let log = other.log(4, 4096);
    assert_eq!((number(&log, 0, 4), number(&log, 4, 4)), (2, 0));
    assert_eq!(number(&other.log(4, 4096), 0, 4), 0);
    assert_eq!(number(&admin.log(4, 4096), 0, 4), 0);
    drop(server.stop());
}

#[test]
fn a_sanitize_takes_the_time_of_its_erases() {
    let (server, address) = served(Session::new(slow(""), Pace::Timed).expect("a disk"), None);
    let (mut admin, mut queue) = Host::pair(address, 0);
    // Nothing was ever written, and then something was.
    assert_eq!(sanitized(&mut admin), [0xffff, 0x100, 0]);
    assert_eq!(write(&mut queue, 3, 7), 0);
    assert_eq!(sanitized(&mut admin), [0xffff, 0, 0]);
    let log = admin.log(0x81, 512);
    // 24 blocks of a die, 50 ms each; no time for a key.
    assert_eq!((number(&log, 12, 4), number(&log, 16, 4)), (2, 0));
    assert_eq!((number(&log, 8, 4), number(&log, 24, 4)), (0xffff_ffff, 0xffff_ffff));
    let before = wear(&mut admin);
    for action in [0, 1, 3, 5, 2 | 1 << 9] {
        assert_eq!(admin.ask(entry(SANITIZE, 0, &[action]), &[]).status, FIELD, "{action:x}");
    }
    let mut asks = entry(0x0c, 0, &[]);
    asks[39] = 0x5a;
    let event = admin.send(asks, &[]);
    assert_eq!(admin.ask(entry(SANITIZE, 0, &[2 | 1 << 3]), &[]).status, 0);
    let [_, state, dword] = sanitized(&mut admin);
    assert_eq!((state, dword), (2, 10));
    // Refused meanwhile: data, other purges, logs of the vendor; a flush has nothing to do.
    assert_eq!(write(&mut queue, 3, 7), SANITIZING);
    assert_eq!(read(&mut queue, 3).0, SANITIZING);
    assert_eq!(queue.ask(entry(0, 1, &[]), &[]).status, 0);
    assert_eq!(admin.ask(entry(SANITIZE, 0, &[4]), &[]).status, SANITIZING);
    assert_eq!(admin.ask(entry(FORMAT, 1, &[1]), &[]).status, SANITIZING);
    let ocp = admin.take(entry(2, u32::MAX, &[0xc0 | 127 << 16]), 512);
    assert_eq!(ocp.status, SANITIZING);
    assert_eq!(admin.take(entry(6, 1, &[0]), 4096).status, 0);
    // The event comes by itself.
    let (kind, header, _) = admin.receive().expect("an event");
    assert_eq!((kind, number(&header, 12, 2)), (5, u64::from(event)));
    assert_eq!(number(&header, 0, 4), 0x0081_0106);
    assert_eq!(sanitized(&mut admin), [0xffff, 0x101, 10]);
    assert_eq!(wear(&mut admin), before.map(|count| count + 1));
    assert_eq!(read(&mut queue, 3), (0, vec![0; 4096]));
    // A write clears the bit of data that is all erased.
    assert_eq!(write(&mut queue, 3, 1), 0);
    assert_eq!(sanitized(&mut admin), [0xffff, 1, 10]);
    let (session, ..) = server.stop();
    session.expect("the drive comes back").audit().expect("it is sound");
}

#[test]
fn a_sanitize_goes_on_after_a_reset_and_hosts_that_go() {
    let (server, address) = served(Session::new(slow(""), Pace::Timed).expect("a disk"), None);
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(write(&mut queue, 3, 7), 0);
    assert_eq!(admin.ask(entry(SANITIZE, 0, &[2]), &[]).status, 0);
    drop((admin, queue));
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert!(await_sanitize(&mut admin) > 3);
    assert_eq!(read(&mut queue, 3), (0, vec![0; 4096]));
    // The key takes no time.
    assert_eq!(admin.ask(entry(SANITIZE, 0, &[4]), &[]).status, 0);
    assert_eq!(sanitized(&mut admin), [0xffff, 0x101, 4]);
    drop(server.stop());
}

#[test]
fn sanitize_and_format_go_on_after_a_loss_of_power() {
    for is_format in [false, true] {
        let simulation = slow(r#", "gc_reserve_blocks": 4"#);
        let (session, supply) = Supply::new(simulation, &[], 5).expect("it may be cut");
        let (server, address) = served(session, Some(supply));
        let (mut admin, mut queue) = Host::pair(address, 0);
        assert_eq!(write(&mut queue, 3, 7), 0);
        assert_eq!(queue.ask(entry(0, 1, &[]), &[]).status, 0);
        let before = wear(&mut admin);
        if is_format {
            let mut format = entry(FORMAT, 1, &[USER_DATA]);
            format[39] = 0x5a;
            admin.send(format, &[]);
        } else {
            assert_eq!(admin.ask(entry(SANITIZE, 0, &[2]), &[]).status, 0);
        }
        sleep(Duration::from_millis(225));
        server.power_off().expect("it has power");
        sleep(Duration::from_millis(100));
        server.power_on().expect("it has none");
        let (mut admin, mut queue) = Host::pair(address, 0);
        if is_format {
            assert_eq!(queue.take(ranged(2, 24, 8), 4096).status, FORMATTING);
            while queue.take(ranged(2, 24, 8), 4096).status == FORMATTING {
                sleep(Duration::from_millis(20));
            }
            assert_eq!(admin.take(entry(6, 1, &[0]), 4096).data[26], 0);
            assert_eq!(queue.take(ranged(2, 24, 8), 4096).data, vec![0; 4096]);
        } else {
            assert_eq!(sanitized(&mut admin)[1], 2);
            assert!(await_sanitize(&mut admin) > 3);
            assert_eq!(read(&mut queue, 3), (0, vec![0; 4096]));
        }
        // Once more each; twice those whose erase was cut.
        let after = wear(&mut admin);
        assert_eq!((after[0], after[1]), (before[0] + 1, before[1] + 2), "{before:?}");
        assert_eq!(number(&admin.log(2, 512), 144, 8), 1);
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

/// The drive of an image, as a server takes it.
pub fn of_image(image: &[u8]) -> Session {
    let simulation = Simulation::from_image(image, 1).expect("an image");
    let mut session = Session::new(simulation, Pace::Timed).expect("a disk");
    session.load_contents(image).expect("its contents");
    session
}

pub fn image_of(server: Server) -> Vec<u8> {
    let mut image = Vec::new();
    server.stop().0.expect("the drive comes back").save(&mut image).expect("memory takes it");
    image
}

#[test]
fn logs_continue_over_images_to_the_unit() {
    let (server, address) = served(Session::new(slow(""), Pace::Timed).expect("a disk"), None);
    let (mut admin, mut queue) = Host::pair(address, 0);
    for block in 0..300 {
        assert_eq!(write(&mut queue, block % 20, 7), 0);
        assert_eq!(read(&mut queue, block % 20).0, 0);
    }
    assert_eq!(queue.ask(ranged(1, u64::MAX, 1), &[0; 4096]).status, 0x80);
    assert_eq!(admin.ask(entry(FORMAT, 1, &[CRYPTO]), &[]).status, 0);
    let facts = |admin: &mut Host| {
        let (health, ocp) = (admin.log(2, 512), admin.log(0xc0, 512));
        let group = admin.take(entry(2, 0, &[9 | 127 << 16, 1 << 16]), 512).data;
        let mut facts: Vec<u64> =
            [32, 48, 64, 80, 144, 160, 176].map(|at| number(&health, at, 8)).to_vec();
        facts.extend([48, 64, 80, 96, 112].map(|at| number(&group, at, 8)));
        facts.extend([0, 16, 56, 64, 136].map(|at| number(&ocp, at, 8)));
        (number(&health, 112, 8), facts)
    };
    let (cycles, before) = facts(&mut admin);
    assert_eq!((cycles, before[2], before[3], before[6]), (1, 300, 300, 1));
    // The image knows name and format as well.
    let kept = of_image(&image_of(server));
    let unnamed = Setup { nqn: None, ..setup() };
    let nvme = Nvme::new(&kept, &unnamed, ([127, 0, 0, 1], 1).into()).expect("it is sound");
    assert_eq!(nvme.nqn(), NQN);
    let (server, address) = served(kept, None);
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(facts(&mut admin), (2, before.clone()));
    assert_eq!(admin.take(entry(6, 1, &[0]), 4096).data[26], 0);
    // What it does now adds to it.
    assert_eq!(queue.ask(ranged(0x0c, 0, 8), &[]).status, 0);
    let now = facts(&mut admin).1;
    // A read command of the group alone.
    assert_eq!((now[2], now[3], now[10], now[11]), (300, 300, 301, 300));
    let (server, address) = served(of_image(&image_of(server)), None);
    let (mut admin, _queue) = Host::pair(address, 0);
    assert_eq!(facts(&mut admin), (3, now));
    drop(server.stop());
}

#[test]
fn a_sanitize_goes_on_after_a_restart_from_an_image() {
    let (server, address) = served(Session::new(slow(""), Pace::Timed).expect("a disk"), None);
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(write(&mut queue, 3, 7), 0);
    let before = wear(&mut admin);
    assert_eq!(admin.ask(entry(SANITIZE, 0, &[2]), &[]).status, 0);
    sleep(Duration::from_millis(200));
    let (server, address) = served(of_image(&image_of(server)), None);
    let (mut admin, mut queue) = Host::pair(address, 0);
    let [progress, state, dword] = sanitized(&mut admin);
    assert!(progress > 0 && state == 2 && dword == 2, "{progress} {state}");
    assert!(await_sanitize(&mut admin) > 3);
    assert_eq!(wear(&mut admin), before.map(|count| count + 1));
    assert_eq!(read(&mut queue, 3), (0, vec![0; 4096]));
    drop(server.stop());
}
