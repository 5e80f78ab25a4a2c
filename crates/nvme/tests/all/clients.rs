//! The controller under a host of our own: what the specifications say of each command, to the byte
//! and the unit.

use std::sync::Arc;

use crate::host::{
    connect_data, connect_entry, entry, number, put, ranged, serve, session, setup, start, Host,
    DISCOVERY, NQN,
};
use opennandlab_sim::session::Pace;

const PACES: [Pace; 2] = [Pace::Untimed, Pace::Timed];
/// Status codes as the specifications number them: type << 8 | code.
const OPCODE: u16 = 0x01;
const FIELD: u16 = 0x02;
const NAMESPACE: u16 = 0x0b;
const SGL_LENGTH: u16 = 0x0f;
const LBA_RANGE: u16 = 0x80;
const COMPARE: u16 = 0x285;

fn page(value: u8, count: usize) -> Vec<u8> {
    (0..count * 4096).map(|place| value.wrapping_add((place / 512) as u8)).collect()
}

#[test]
fn a_host_connects_and_reads_what_it_wrote() {
    for (pace, digests) in PACES.into_iter().flat_map(|pace| [(pace, 0), (pace, 3)]) {
        let (server, address) = start(pace);
        let (_admin, mut queue) = Host::pair(address, digests);
        // In the capsule, and asked for.
        assert_eq!(queue.ask(ranged(1, 3, 2), &page(1, 2)).status, 0);
        assert_eq!(queue.give(ranged(1, 40, 32), &page(9, 32)).status, 0);
        for (first, data) in [(3, page(1, 2)), (40, page(9, 32)), (5, vec![0; 4096])] {
            let blocks = data.len() as u32 / 4096;
            let done = queue.take(ranged(2, first, blocks), data.len() as u32);
            assert!(done.status == 0 && done.data == data, "{first} {}", done.status);
        }
        assert_eq!(queue.ask(ranged(5, 3, 2), &page(1, 2)).status, 0);
        assert_eq!(queue.ask(ranged(5, 3, 2), &page(2, 2)).status, COMPARE);
        assert_eq!(queue.ask(ranged(0x0c, 3, 2), &[]).status, 0);
        // Zeroes that are written, zeroes that deallocate, and two ranges that are deallocated.
        assert_eq!(queue.ask(ranged(8, 3, 1), &[]).status, 0);
        let mut deallocates = ranged(8, 4, 1);
        deallocates[51] = 2;
        assert_eq!(queue.ask(deallocates, &[]).status, 0);
        let mut ranges = vec![0; 32];
        for (place, first) in [(0, 40), (16, 50)] {
            put(&mut ranges, place + 4, 4, 2);
            put(&mut ranges, place + 8, 8, first);
        }
        assert_eq!(queue.ask(entry(9, 1, &[1, 4]), &ranges).status, 0);
        for (first, is_zero) in [(3, true), (4, true), (41, true), (42, false), (51, true)] {
            let done = queue.take(ranged(2, first, 1), 4096);
            assert_eq!(done.data == vec![0; 4096], is_zero, "{first}");
        }
        assert_eq!(queue.ask(entry(0, u32::MAX, &[]), &[]).status, 0);
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

#[test]
fn refusals_are_those_of_the_standard() {
    for pace in PACES {
        let (server, address) = start(pace);
        let (mut admin, mut queue) = Host::pair(address, 0);
        let blocks = number(&admin.take(entry(6, 1, &[0]), 4096).data, 0, 8);
        let wrong = [
            (ranged(2, blocks, 1), LBA_RANGE),
            (ranged(2, u64::MAX, 1), LBA_RANGE),
            (ranged(2, 0, 33), FIELD),
            (ranged(2, 0, 2), SGL_LENGTH),
            (ranged(1, 0, 2), SGL_LENGTH),
            (entry(0x7d, 1, &[]), OPCODE),
            (entry(0, 2, &[]), NAMESPACE),
            (entry(2, 0, &[]), NAMESPACE),
        ];
        for (entry, status) in wrong {
            let done = if entry[0] & 3 == 1 {
                queue.ask(entry, &[0; 4096])
            } else {
                queue.take(entry, 4096)
            };
            assert_eq!(done.status, status, "{entry:?}");
        }
        // The newest failure is first: count, queue, status, block, namespace.
        let log = admin.log(1, 64 * 64);
        assert_eq!((number(&log, 0, 8), number(&log, 8, 2)), (8, 1));
        assert_eq!((number(&log, 12, 2) >> 1 & 0x3fff, number(&log, 24, 4)), (0x0b, 0));
        assert_eq!((number(&log, 7 * 64, 8), number(&log, 7 * 64 + 16, 8)), (1, blocks));
        // What is not built; formats of logs and features.
        for (asked, status) in [
            (entry(0x10, 1, &[]), OPCODE),
            (entry(6, 1, &[0x15]), FIELD),
            (entry(6, 7, &[0]), NAMESPACE),
            (entry(2, 1, &[0x55 | 3 << 16]), 0x109),
            (entry(2, 1, &[2 | 3 << 16, 0, 1 << 20]), FIELD),
            (entry(10, 0, &[0x1d]), FIELD),
            (entry(9, 0, &[0x8000_000b]), 0x10d),
        ] {
            let bytes = if asked[0] == 9 { 0 } else { 4096 };
            assert_eq!(admin.take(asked, bytes).status, status, "{asked:?}");
        }
        let done = admin.take(entry(8, 0, &[1]), 0);
        assert_eq!((done.status, done.first), (0, 1), "an abort comes too late");
        // A write of 128 KiB and a block is refused before its data is asked for.
        assert_eq!(queue.give(ranged(1, 0, 33), &page(0, 33)).status, FIELD);
        drop(server.stop());
    }
}

#[test]
fn controller_and_namespace_say_what_the_drive_is() {
    let (server, address) = start(Pace::Untimed);
    let (mut admin, controller) = Host::queue(address, 0, 0, 0xffff);
    assert_eq!(admin.property(0x1c), 0);
    let capabilities = admin.property(0);
    assert_eq!((capabilities & 0xffff, capabilities >> 37 & 0xff), (127, 1));
    assert_eq!(admin.property(8), 0x2_0000);
    admin.enable();
    let page = admin.take(entry(6, 0, &[1]), 4096).data;
    assert_eq!(page[4..23].iter().filter(|byte| byte.is_ascii_graphic()).count(), 19);
    assert_eq!(&page[24..40], b"opennandlab test");
    assert_eq!((page[77], number(&page, 78, 2), page[111]), (5, controller.into(), 1));
    assert_eq!((number(&page, 320, 2), page[512], page[513]), (10, 0x66, 0x44));
    assert_eq!((number(&page, 536, 4), number(&page, 1792, 4)), (0x0010_0001, 1028));
    assert_eq!(&page[768..768 + NQN.len()], NQN.as_bytes());
    // Format alone of the optional ones, and no volatile cache.
    assert_eq!((number(&page, 256, 2), page[525] & 1), (2, 0));
    let page = admin.take(entry(6, 1, &[0]), 4096).data;
    let capacity = session(Pace::Untimed, "").capacity_bytes();
    assert_eq!((number(&page, 0, 8), number(&page, 8, 8)), (capacity / 4096, capacity / 4096));
    assert_eq!((number(&page, 16, 8), page[26], page[130], page[134]), (0, 1, 9, 12));
    let page = admin.take(entry(6, 1, &[3]), 4096).data;
    assert_eq!((page[0], page[1], page[20], page[21], page[40], page[41]), (3, 16, 2, 16, 4, 1));
    assert_eq!(page[4 + 6] >> 4, 8);
    assert_eq!(number(&admin.take(entry(6, 0, &[2]), 4096).data, 0, 8), 1);
    assert_eq!(number(&admin.take(entry(6, 1, &[2]), 4096).data, 0, 8), 0);
    // As many queues as were asked for, up to eight.
    assert_eq!(admin.take(entry(9, 0, &[7, 0x0002_0002]), 0).first, 0x0002_0002);
    assert_eq!(admin.take(entry(9, 0, &[7, 0x003f_003f]), 0).first, 0x0007_0007);
    assert_eq!(admin.take(entry(0x18, 0, &[]), 0).status, 0);
    drop(server.stop());
}

#[test]
fn a_host_that_asks_wrongly_is_not_connected() {
    let (server, address) = start(Pace::Untimed);
    let connect = |queue, name: &str, controller| {
        let mut host = Host::reach(address, 0);
        let done = host.ask(connect_entry(queue, 0), &connect_data(name, controller));
        (done.status, done.first)
    };
    assert_eq!(connect(0, "nqn.2026-01.test:other", 0xffff), (0x182, 0x1_0100));
    assert_eq!(connect(0, NQN, 5), (0x182, 0x1_0010));
    assert_eq!(connect(1, NQN, 1), (0x182, 0x1_0010), "no such controller");
    let (mut admin, controller) = Host::queue(address, 0, 0, 0xffff);
    assert_eq!(connect(1, NQN, controller), (0x182, 42), "it is not enabled");
    assert_eq!(admin.take(entry(6, 0, &[1]), 4096).status, 0x0c);
    assert_eq!(admin.ask(connect_entry(0, 0), &connect_data(NQN, 0xffff)).status, 0x0c);
    admin.enable();
    assert_eq!(connect(9, NQN, controller), (0x182, 42), "no ninth queue");
    let (_queue, _) = Host::queue(address, 0, 1, controller);
    assert_eq!(connect(1, NQN, controller).0, 0x0c, "it is connected");
    // Sixteen controllers, and no more.
    let others: Vec<_> = (0..15).map(|_| Host::queue(address, 0, 0, 0xffff)).collect();
    assert_eq!(connect(0, NQN, 0xffff).0, 0x181);
    let mut numbers: Vec<_> = others.iter().map(|(_, number)| *number).collect();
    numbers.push(controller);
    numbers.sort_unstable();
    assert_eq!(numbers, (1..17).collect::<Vec<_>>());
    let mut early = Host::reach(address, 0);
    assert_eq!(early.take(entry(6, 0, &[1]), 4096).status, 0x0c, "before it is connected");
    drop(server.stop());
}

#[test]
fn a_controller_ends_with_its_admin_queue() {
    for pace in PACES {
        let (server, address) = start(pace);
        let (admin, mut queue) = Host::pair(address, 0);
        drop(admin);
        assert!(queue.receive().is_none());
        // A reset ends the others and leaves the first.
        let (mut admin, mut queue) = Host::pair(address, 0);
        admin.configure(0x46_0000);
        assert!(queue.receive().is_none());
        assert_eq!(admin.property(0x1c), 0);
        admin.enable();
        if pace == Pace::Timed {
            silence_ends(address);
        }
        drop(server.stop());
    }
}

/// A host that promised to say something in a millisecond is gone after a second more.
fn silence_ends(address: std::net::SocketAddr) {
    let mut silent = Host::reach(address, 0);
    let done = silent.ask(connect_entry(0, 1), &connect_data(NQN, 0xffff));
    assert_eq!(done.status, 0);
    assert!(silent.receive().is_none());
}

#[test]
fn discovery_names_the_drive() {
    let (server, address) = start(Pace::Untimed);
    let mut host = Host::reach(address, 0);
    let done = host.ask(connect_entry(0, 0), &connect_data(DISCOVERY, 0xffff));
    assert_eq!(done.status, 0);
    host.enable();
    let page = host.take(entry(6, 0, &[1]), 4096).data;
    assert_eq!((page[111], &page[768..768 + DISCOVERY.len()]), (2, DISCOVERY.as_bytes()));
    let log = host.log(0x70, 2048);
    assert_eq!((number(&log, 8, 8), number(&log, 16, 2)), (1, 0));
    let record = &log[1024..];
    assert_eq!((&record[..4], number(record, 6, 2)), (&[3, 1, 2, 4][..], 0xffff));
    assert_eq!(record[32..64].trim_ascii_end(), address.port().to_string().as_bytes());
    assert_eq!(&record[256..256 + NQN.len()], NQN.as_bytes());
    assert_eq!(record[512..768].trim_ascii_end(), b"127.0.0.1");
    assert_eq!(host.take(entry(2, 0, &[2 | 3 << 16]), 16).status, 0x109);
    assert_eq!(host.take(entry(8, 0, &[1]), 0).status, OPCODE);
    drop(server.stop());
}

/// What logs say of work and wear is what the status of the server says, to the unit.
#[test]
fn logs_agree_with_the_counts_of_the_drive() {
    for pace in PACES {
        let (server, address) = start(pace);
        let (mut admin, mut queue) = Host::pair(address, 0);
        for round in 0..400 {
            let first = round * 7 % 300;
            assert_eq!(queue.ask(ranged(1, first, 1), &page(round as u8, 1)).status, 0);
        }
        for first in 0..50 {
            assert_eq!(queue.take(ranged(2, first * 3, 2), 8192).status, 0);
        }
        assert_eq!(queue.take(ranged(2, 0, 33), 4096 * 33).status, FIELD);
        // Zeroes on the flash and without, a look, a comparison, and a copy of three ranges.
        assert_eq!(queue.ask(ranged(8, 0, 300), &[]).status, 0);
        let mut deallocates = ranged(8, 300, 9);
        deallocates[51] = 2;
        assert_eq!(queue.ask(deallocates, &[]).status, 0);
        assert_eq!(queue.ask(ranged(0x0c, 0, 400), &[]).status, FIELD);
        assert_eq!(queue.ask(ranged(0x0c, 0, 32), &[]).status, 0);
        assert_eq!(queue.ask(ranged(5, 0, 1), &[0; 4096]).status, 0);
        let mut ranges = vec![0; 96];
        for (place, blocks) in [(0, 256 - 13), (32, 3), (64, 10)] {
            put(&mut ranges, place + 16, 2, blocks - 1);
        }
        assert_eq!(queue.ask(entry(0x19, 1, &[260, 0, 2]), &ranges).status, 0);
        let units = |bytes: u64| bytes.div_ceil(512_000);
        let drive = server.status()["drive"].clone();
        let count = |name: &str| drive[name].as_u64().expect("a count");
        let log = admin.log(2, 512);
        let words: Vec<u64> = (32..192).step_by(16).map(|place| number(&log, place, 8)).collect();
        // In blocks, as they were asked for.
        let [read, written, zeroed, copied] = [100 + 32 + 1, 400, 300, 256].map(|it| it * 4096);
        for (name, bytes) in [
            ("read_bytes", read + copied),
            ("written_bytes", written + zeroed + copied),
            ("zeroed_bytes", zeroed),
            ("copied_bytes", copied),
            ("copy_source_bytes", copied),
        ] {
            assert_eq!(count(name), bytes, "{name}");
        }
        // Compare and copy are read commands, verify is not; zeroes are no write commands.
        assert_eq!(words[..4], [units(read), units(written + copied), 52, 401]);
        assert!(units(written + copied) < units(count("written_bytes")));
        // Cycles, unsafe shutdowns, media errors, failures.
        assert_eq!((words[5], words[7], words[8], words[9]), (1, 0, 0, 2));
        assert_eq!((log[0], log[4]), (0, 10));
        let mut group = entry(2, u32::MAX, &[9 | 127 << 16, 1 << 16]);
        group[1] = 0x40;
        let log = admin.take(group, 512).data;
        assert_eq!((number(&log, 96, 8), number(&log, 112, 8)), (53, 401));
        let [read, written] = ["read_bytes", "written_bytes"].map(&count);
        let group = |bytes: u64| bytes.div_ceil(1_000_000_000);
        assert_eq!((number(&log, 48, 8), number(&log, 64, 8)), (group(read), group(written)));
        assert_eq!(number(&log, 80, 8), count("programmed_bytes").div_ceil(1_000_000_000));
        let log = admin.log(0xc0, 512);
        assert_eq!(number(&log, 0, 8), count("programmed_bytes"));
        assert_eq!(number(&log, 88, 4), count("erase_count_max"));
        assert_eq!((number(&log, 494, 2), number(&log, 496, 8)), (3, 0xa4f2_bfea_2810_afc5));
        assert_eq!(number(&log, 152, 8), count("mapped_pages"));
        let used = number(&admin.take(entry(6, 1, &[0]), 4096).data, 16, 8);
        assert_eq!(used, count("mapped_pages"));
        assert_eq!(number(&admin.log(5, 4096), 1024 + 4, 4), 0x10_0003);
        assert_eq!(admin.log(3, 512)[0], 1);
        drop(server.stop());
    }
}

/// The same requests by NBD and by NVMe leave the same drive: map, bytes and counts.
#[test]
fn both_protocols_leave_the_same_drive() {
    use opennandlab_nbd::{Export, Nbd};
    use opennandlab_serve::clock::Timing;
    use opennandlab_serve::server::{Door, Options, Server};
    use std::io::{Read, Write};

    // Kind, first block, blocks: writes, deallocation, both kinds of zeroes, flushes.
    let requests: Vec<(u8, u64, u32)> = (0..900)
        .map(|round: u64| {
            let kind = [0, 0, 0, 1, 2, 3, 0, 4][(round % 8) as usize];
            (kind, round * 37 % 350, 1 + (round * 11 % 4) as u32)
        })
        .collect();
    let save = |server: Server| {
        let mut image = Vec::new();
        let mut session = server.stop().0.expect("the drive comes back");
        session.audit().expect("it is sound");
        session.save(&mut image).expect("into memory");
        // Up to the notes of the protocol.
        let end = image.windows(4).rposition(|word| word == b"ONLS").expect("a section");
        image.truncate(end);
        image
    };
    let (server, address) = start(Pace::Untimed);
    let (_admin, mut queue) = Host::pair(address, 0);
    for (round, &(kind, first, blocks)) in requests.iter().enumerate() {
        let mut zeroes = ranged(8, first, blocks);
        zeroes[51] = if kind == 3 { 2 } else { 0 };
        let mut range = vec![0; 16];
        put(&mut range, 4, 4, blocks.into());
        put(&mut range, 8, 8, first);
        let done = match kind {
            0 => queue.ask(ranged(1, first, blocks), &page(round as u8, blocks as usize)),
            1 => queue.ask(entry(9, 1, &[0, 4]), &range),
            2 | 3 => queue.ask(zeroes, &[]),
            _ => queue.ask(entry(0, 1, &[]), &[]),
        };
        assert_eq!(done.status, 0);
    }
    let by_nvme = save(server);

    let drive = session(Pace::Untimed, "");
    let bytes = drive.capacity_bytes();
    let export = Export { name: "drive".into(), bytes, is_read_only: false };
    let door = Door::tcp(([127, 0, 0, 1], 0).into(), false, |_| Ok(Arc::new(Nbd(export))));
    let door = door.expect("a free port");
    let address = door.address().expect("it is a port");
    let options = Options { timing: Timing::Off, record: None, capture: None };
    let server = Server::start(drive, None, &options, vec![door]).expect("it serves");
    let mut client = std::net::TcpStream::connect(address).expect("it listens");
    client.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0").expect("it reads");
    client.read_exact(&mut [0; 104]).expect("it answers");
    for (round, &(kind, first, blocks)) in requests.iter().enumerate() {
        let (command, flags) = [(1, 0), (4, 0), (6, 2), (6, 0), (3, 0)][usize::from(kind)];
        let mut bytes = vec![0x25, 0x60, 0x95, 0x13, 0, flags, 0, command];
        bytes.extend([0; 8]);
        let is_flush = command == 3;
        bytes.extend(if is_flush { 0 } else { first * 4096 }.to_be_bytes());
        bytes.extend(if is_flush { 0 } else { blocks * 4096 }.to_be_bytes());
        if kind == 0 {
            bytes.extend(page(round as u8, blocks as usize));
        }
        client.write_all(&bytes).expect("it reads");
        let mut reply = [0; 16];
        client.read_exact(&mut reply).expect("it answers");
        assert_eq!(reply[4..8], [0; 4]);
    }
    assert!(by_nvme == save(server));
}

#[test]
fn a_cache_that_is_switched_off_takes_no_write() {
    let drive = session(Pace::Untimed, r#", "write_buffer_pages": 64"#);
    let (server, address) = serve(drive, Pace::Untimed, &setup());
    let (mut admin, mut queue) = Host::pair(address, 0);
    let buffered = |server: &opennandlab_serve::server::Server| {
        server.status()["drive"]["buffered_pages"].as_u64().expect("a count")
    };
    assert_eq!(admin.take(entry(10, 0, &[6]), 0).first, 1);
    queue.ask(ranged(1, 0, 2), &page(1, 2));
    assert_eq!(buffered(&server), 2);
    assert_eq!(admin.take(entry(9, 0, &[6, 0]), 0).status, 0);
    assert_eq!(buffered(&server), 0);
    queue.ask(ranged(1, 8, 2), &page(2, 2));
    assert_eq!((buffered(&server), admin.take(entry(10, 0, &[6]), 0).first), (0, 0));
    assert_eq!(admin.take(entry(9, 0, &[6, 1]), 0).status, 0);
    queue.ask(ranged(1, 16, 2), &page(3, 2));
    assert_eq!(buffered(&server), 2);
    // A reset brings it back.
    assert_eq!(admin.take(entry(9, 0, &[6, 0]), 0).status, 0);
    admin.configure(0x46_0000);
    admin.configure(0x46_0001);
    assert_eq!(admin.take(entry(10, 0, &[6]), 0).first, 1);
    let (mut queue, _) = Host::queue(address, 0, 1, 1);
    queue.ask(ranged(1, 24, 2), &page(4, 2));
    assert_eq!(buffered(&server), 2);
    // A shutdown that the host announces is a clean one.
    admin.configure(0x46_4001);
    assert_eq!((buffered(&server), admin.property(0x1c)), (0, 9));
    drop(server.stop());
}

#[test]
fn events_are_asked_for_and_wait() {
    let (server, address) = start(Pace::Untimed);
    let (mut admin, _queue) = Host::pair(address, 0);
    for _ in 0..4 {
        let mut ask = entry(12, 0, &[]);
        ask[39] = 0x5a;
        admin.send(ask, &[]);
    }
    assert_eq!(admin.take(entry(12, 0, &[]), 0).status, 0x105);
    drop(server.stop());
}

#[test]
fn a_small_block_and_a_read_only_drive() {
    let small = opennandlab_nvme::Setup { block_bytes: 512, is_read_only: true, ..setup() };
    let (server, address) = serve(session(Pace::Untimed, ""), Pace::Untimed, &small);
    let (mut admin, mut queue) = Host::pair(address, 0);
    let page = admin.take(entry(6, 1, &[0]), 4096).data;
    assert_eq!(number(&page, 0, 8) * 512, session(Pace::Untimed, "").capacity_bytes());
    assert_eq!((page[26], number(&page, 64, 2), page[99]), (0, 7, 1));
    assert_eq!(queue.take(ranged(2, 5, 3), 1536).data.len(), 1536);
    assert_eq!(queue.ask(ranged(1, 5, 1), &[0; 512]).status, 0x20);
    assert_eq!(queue.ask(entry(9, 1, &[0, 4]), &[0; 16]).status, 0x20);
    drop(server.stop());
}

#[test]
fn names_that_cannot_be_are_refused() {
    let drive = session(Pace::Untimed, "");
    let address = ([127, 0, 0, 1], 4420).into();
    let made = |setup: &opennandlab_nvme::Setup| {
        opennandlab_nvme::Nvme::new(&drive, setup, address).map(|nvme| nvme.nqn().to_owned())
    };
    for nqn in ["drive", DISCOVERY, &format!("nqn.{}", "x".repeat(220))] {
        let refused = made(&opennandlab_nvme::Setup { nqn: Some(nqn.into()), ..setup() });
        assert!(refused.expect_err("no name").starts_with("nqn: "), "{nqn}");
    }
    for serial in ["", "123456789012345678901", "a\n"] {
        let refused = made(&opennandlab_nvme::Setup { serial: Some(serial.into()), ..setup() });
        assert!(refused.expect_err("no serial number").starts_with("serial: "), "{serial}");
    }
    let refused = made(&opennandlab_nvme::Setup { block_bytes: 520, ..setup() });
    assert_eq!(refused, Err("lba: 520; accepted: 512, 4096".into()));
    // Servers that differ in what they serve, or where, have other names.
    let of =
        |seed: &str| made(&opennandlab_nvme::Setup { nqn: None, seed: seed.into(), ..setup() });
    let name = of("one").expect("a name");
    assert!(name.starts_with("nqn.2014-08.org.nvmexpress:uuid:") && name.len() == 68, "{name}");
    assert_eq!(of("one"), Ok(name.clone()));
    assert_ne!(of("two"), Ok(name));
}
