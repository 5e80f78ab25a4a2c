//! Flexible data placement under a host of the tests: logs agree with what handles were given.

use crate::host::{entry, number, put, ranged, serve, session, setup, Host};
use opennandlab_sim::session::Pace;

const FIELD: u16 = 0x02;
const SEQUENCE: u16 = 0x0c;
const OPCODE: u16 = 0x01;
/// Blocks of a reclaim unit, and of those of both dies.
const UNIT: u64 = 16;
const UNITS: u64 = 2 * UNIT;

fn placing(isolation: &str) -> String {
    format!(r#", "placement": {{"kind": "fdp", "handles": 3, "isolation": "{isolation}"}}"#)
}

/// A write with a placement id.
fn placed(first: u64, blocks: u32, id: u16) -> [u8; 64] {
    let mut asked = ranged(1, first, blocks);
    let kind = number(&asked, 48, 4) | 2 << 20;
    put(&mut asked, 48, 4, kind);
    put(&mut asked, 54, 2, id.into());
    asked
}

fn group_log(admin: &mut Host, log: u32, bytes: u32) -> Vec<u8> {
    let done = admin.take(entry(2, 0, &[log | (bytes / 4 - 1) << 16, 1 << 16]), bytes);
    assert_eq!(done.status, 0, "{log:x}");
    done.data
}

/// Blocks that the units of each handle still take.
fn room(queue: &mut Host, handles: usize) -> Vec<u64> {
    let head = queue.take(entry(0x12, 1, &[1, 3]), 16);
    assert_eq!((head.status, number(&head.data, 14, 2)), (0, handles as u64));
    let bytes = 16 + 32 * handles as u32;
    let data = queue.take(entry(0x12, 1, &[1, bytes / 4 - 1]), bytes).data;
    let rows = data[16..].chunks_exact(32).enumerate();
    rows.map(|(handle, row)| {
        assert_eq!((number(row, 0, 2), number(row, 2, 2)), (handle as u64, handle as u64));
        number(row, 8, 8)
    })
    .collect()
}

#[test]
fn configurations_and_features_are_those_of_the_drive() {
    for (isolation, kind) in [("initially", 1), ("persistently", 2)] {
        let (server, address) =
            serve(session(Pace::Untimed, &placing(isolation)), Pace::Untimed, &setup());
        let (mut admin, mut queue) = Host::pair(address, 0);
        let page = admin.take(entry(6, 0, &[1]), 4096).data;
        assert_eq!(number(&page, 96, 4) & (1 << 4 | 1 << 19), 1 << 4 | 1 << 19);
        assert_eq!(number(&page, 256, 2) >> 5 & 1, 1);
        let page = group_log(&mut admin, 0x20, 96);
        assert_eq!((number(&page, 0, 2), number(&page, 4, 4), number(&page, 16, 2)), (0, 96, 80));
        assert_eq!((page[18], number(&page, 20, 4), number(&page, 24, 2)), (0x80, 1, 3));
        assert_eq!((number(&page, 26, 2), number(&page, 32, 8)), (2, UNITS * 4096));
        assert_eq!((page[80], page[84], page[88]), (kind, kind, kind));
        let page = group_log(&mut admin, 0x21, 32);
        assert_eq!((number(&page, 0, 2), page[8], page[16], page[24]), (3, 1, 1, 1));
        assert_eq!(admin.take(entry(10, 0, &[0x1d, 1]), 0).first, 1);
        for (asked, status) in [
            (entry(10, 0, &[0x1d, 2]), FIELD),
            (entry(9, 0, &[0x1d, 1, 0]), SEQUENCE),
            (entry(2, 0, &[0x20 | 3 << 16, 2 << 16]), FIELD),
            (entry(10, 0, &[0x1e, 3 | 2 << 16]), FIELD),
        ] {
            let bytes = if asked[0] == 9 { 0 } else { 16 };
            assert_eq!(admin.take(asked, bytes).status, status, "{asked:?}");
        }
        let done = admin.take(entry(10, 0, &[0x1e, 1 | 2 << 16]), 4);
        assert_eq!((done.first, done.data), (2, vec![0, 1, 3, 1]));
        let done = admin.take(entry(0x1a, 1, &[1023, 1]), 4096);
        assert_eq!((done.data[0], done.data[32]), (0b101, 0b101));
        // Another directive, another operation, ids that are not there.
        let mut stream = ranged(1, 0, 1);
        put(&mut stream, 48, 4, 1 << 20);
        assert_eq!(queue.ask(stream, &[1; 4096]).status, FIELD);
        assert_eq!(queue.take(entry(0x12, 1, &[2, 3]), 16).status, FIELD);
        assert_eq!(queue.ask(entry(0x1d, 1, &[1]), &[3, 0, 0, 0]).status, FIELD);
        drop(server.stop());
    }
    let (server, address) = serve(session(Pace::Untimed, ""), Pace::Untimed, &setup());
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(admin.take(entry(2, 0, &[0x22 | 15 << 16, 1 << 16]), 64).status, 0x109);
    assert_eq!(queue.take(entry(0x12, 1, &[1, 3]), 16).status, OPCODE);
    assert_eq!(queue.ask(placed(0, 1, 0), &[1; 4096]).status, FIELD);
    drop(server.stop());
}

#[test]
fn writes_go_to_their_handles_and_logs_are_those_of_the_drive() {
    for (pace, isolation) in [(Pace::Untimed, "initially"), (Pace::Timed, "persistently")] {
        let (server, address) = serve(session(pace, &placing(isolation)), pace, &setup());
        let (mut admin, mut queue) = Host::pair(address, 3);
        assert_eq!(room(&mut queue, 3), [UNITS; 3]);
        // By address: a third each, twice over, so that collections move some.
        let page = admin.take(entry(6, 1, &[0]), 4096).data;
        let blocks = number(&page, 0, 8);
        let mut written = [0; 3];
        for round in 0..3_u8 {
            for block in 0..blocks {
                let id = (3 * block / blocks) as u16;
                if round > 0 && block % 5 == 0 {
                    continue;
                }
                assert_eq!(queue.ask(placed(block, 1, id), &[round + 1; 4096]).status, 0);
                written[usize::from(id)] += 4096;
            }
        }
        let page = group_log(&mut admin, 0x22, 64);
        let [host, media, erased] = [0, 16, 32].map(|place| number(&page, place, 8));
        assert_eq!(queue.take(ranged(2, 1, 1), 4096).data, [3; 4096]);
        assert_eq!(queue.take(ranged(2, 5, 1), 4096).data, [1; 4096]);
        let (session, status, _) = server.stop();
        let fdp = &status["drive"]["fdp"];
        assert_eq!(host, written.iter().sum::<u64>());
        for (key, value) in [
            ("host_bytes_with_metadata_written", host),
            ("media_bytes_with_metadata_written", media),
            ("media_bytes_erased", erased),
        ] {
            assert_eq!(fdp[key].as_u64(), Some(value), "{key} {fdp}");
        }
        assert!(erased > 0 && media > host);
        for (handle, bytes) in written.into_iter().enumerate() {
            assert_eq!(fdp["handles"][handle]["host_bytes"].as_u64(), Some(bytes), "{fdp}");
        }
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

#[test]
fn events_are_those_of_the_host() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let (server, address) = serve(session(pace, &placing("initially")), pace, &setup());
        let (mut admin, mut queue) = Host::pair(address, 0);
        assert_eq!(queue.ask(placed(0, 3, 1), &[1; 3 * 4096]).status, 0);
        assert_eq!(room(&mut queue, 3), [UNITS, UNITS - 3, UNITS]);
        // An id that is not there: handle 0, and an event.
        assert_eq!(queue.ask(placed(9, 2, 77), &[2; 2 * 4096]).status, 0);
        assert_eq!(room(&mut queue, 3), [UNITS - 2, UNITS - 3, UNITS]);
        // The rest of the units of handle 1 is filled, and again there is none.
        for _ in 0..2 {
            assert_eq!(queue.ask(entry(0x1d, 1, &[1]), &[1, 0]).status, 0);
            assert_eq!(room(&mut queue, 3), [UNITS - 2, UNITS, UNITS]);
        }
        let page = group_log(&mut admin, 0x23 | 1 << 8, 4096);
        assert_eq!(number(&page, 0, 4), 2);
        let event = |place: usize| {
            let it = &page[64 * (1 + place)..64 * (2 + place)];
            (it[0], it[1], number(it, 2, 2), number(it, 12, 4), number(it, 32, 2), it[34])
        };
        assert_eq!(event(0), (0, 7, 1, 1, 0, 1));
        assert_eq!(event(1), (3, 3, 77, 1, 0, 0));
        assert_eq!(number(&group_log(&mut admin, 0x23, 4096), 0, 4), 0, "none of the controller");
        // Switched off, the same id leaves none.
        let off = entry(9, 0, &[0x1e, 1 << 16, 0]);
        assert_eq!(admin.ask(off, &[3]).status, 0);
        assert_eq!(queue.ask(placed(9, 1, 77), &[3; 4096]).status, 0);
        assert_eq!(number(&group_log(&mut admin, 0x23 | 1 << 8, 64), 0, 4), 2);
        assert_eq!(queue.take(ranged(2, 9, 2), 8192).data, [[3; 4096], [2; 4096]].concat());
        assert_eq!(queue.take(ranged(2, 0, 3), 3 * 4096).data, [1; 3 * 4096]);
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}
