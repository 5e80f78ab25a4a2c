//! Copy over sockets: what it moves, what it costs, and what it refuses.

use opennandlab_nvme::Setup;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

use crate::host::{entry, number, put, ranged, serve, session, setup, Done, Host};

const SIZE: u16 = 0x183;

/// A copy of ranges of blocks to a block.
fn copy(queue: &mut Host, id: u32, to: u64, ranges: &[(u64, u16)]) -> Done {
    let (asked, data) = built(id, to, ranges);
    queue.ask(asked, &data)
}

fn built(id: u32, to: u64, ranges: &[(u64, u16)]) -> ([u8; 64], Vec<u8>) {
    let mut data = vec![0; 32 * ranges.len()];
    for (place, &(first, blocks)) in ranges.iter().enumerate() {
        put(&mut data, 32 * place + 8, 8, first);
        put(&mut data, 32 * place + 16, 2, u64::from(blocks.wrapping_sub(1)));
    }
    let count = ranges.len().wrapping_sub(1) as u32;
    (entry(0x19, id, &[to as u32, (to >> 32) as u32, count & 0xff]), data)
}

fn block(value: u8) -> Vec<u8> {
    vec![value; 4096]
}

#[test]
fn ranges_go_to_one_place_in_their_order() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let (server, address) = serve(session(pace, ""), pace, &setup());
        let (mut admin, mut queue) = Host::pair(address, 0);
        let page = admin.take(entry(6, 0, &[1]), 4096).data;
        assert_eq!((page[521] & 7, number(&page, 534, 2)), (7, 5));
        let page = admin.take(entry(6, 1, &[0]), 4096).data;
        assert_eq!((number(&page, 74, 2), number(&page, 76, 4), page[80]), (256, 256, 127));
        assert_eq!(number(&admin.log(5, 4096), 1024 + 4 * 0x19, 4), 0x10_0003);
        for value in 0..6 {
            assert_eq!(queue.ask(ranged(1, u64::from(value), 1), &block(value)).status, 0);
        }
        let before = server.status()["drive"].clone();
        assert_eq!(copy(&mut queue, 1, 100, &[(4, 2), (1, 1), (50, 1)]).status, 0);
        let after = server.status()["drive"].clone();
        for (at, value) in [(100, 4), (101, 5), (102, 1), (103, 0), (4, 4)] {
            assert_eq!(queue.take(ranged(2, at, 1), 4096).data, block(value), "{at}");
        }
        // Four blocks are read and written; none went over the wire.
        for (name, blocks) in [("read_bytes", 4), ("written_bytes", 4), ("programmed_bytes", 4)] {
            let grown = after[name].as_u64().unwrap() - before[name].as_u64().unwrap();
            assert_eq!(grown, blocks * 4096, "{name}");
        }
        // Source and destination overlap: what was read first is written.
        assert_eq!(copy(&mut queue, 1, 1, &[(0, 4)]).status, 0);
        for (at, value) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 3), (5, 5)] {
            assert_eq!(queue.take(ranged(2, at, 1), 4096).data, block(value), "{at}");
        }
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

#[test]
fn what_a_copy_cannot_do_is_refused() {
    let divided = Setup { namespaces: Some("50%,50%".into()), ..setup() };
    let (server, address) = serve(session(Pace::Untimed, ""), Pace::Untimed, &divided);
    let (mut admin, mut queue) = Host::pair(address, 0);
    let blocks = number(&admin.take(entry(6, 2, &[0]), 4096).data, 0, 8);
    assert!(blocks > 257, "{blocks}");
    assert_eq!(queue.ask(ranged(1, 0, 1), &block(7)).status, 0);
    for (id, to, ranges, status) in [
        (2, 0, vec![(blocks, 1)], 0x80),
        (2, 0, vec![(0, 1), (blocks - 1, 2)], 0x80),
        (2, 0, vec![(u64::MAX, 1)], 0x80),
        (2, blocks, vec![(0, 1)], 0x80),
        (2, blocks - 1, vec![(0, 1), (1, 1)], 0x80),
        (2, u64::MAX, vec![(0, 1)], 0x80),
        (2, 0, vec![(0, 257)], SIZE),
        (2, 0, vec![(0, 200), (0, 57)], SIZE),
        (2, 0, vec![(0, 1); 129], SIZE),
        (3, 0, vec![(0, 1)], 0x0b),
        (u32::MAX, 0, vec![(0, 1)], 0x0b),
    ] {
        assert_eq!(copy(&mut queue, id, to, &ranges).status, status, "{id} {to} {ranges:?}");
    }
    let (asked, data) = built(2, 0, &[(0, 1), (1, 1)]);
    assert_eq!(queue.ask(asked, &data[..48]).status, 0x0f, "half a range");
    for (place, value) in [(49, 1), (49, 15), (50, 0x10)] {
        let mut other = asked;
        other[place] = value;
        assert_eq!(queue.ask(other, &data).status, 0x02, "{place} {value}");
    }
    assert_eq!(queue.take(ranged(2, 0, 1), 4096).data, block(7));
    drop(server.stop());
    let read_only = Setup { is_read_only: true, ..setup() };
    let (server, address) = serve(session(Pace::Untimed, ""), Pace::Untimed, &read_only);
    let (_admin, mut queue) = Host::pair(address, 0);
    assert_eq!(copy(&mut queue, 1, 0, &[(1, 1)]).status, 0x20);
    drop(server.stop());
}

/// Random copies, writes and trims against a plain list of blocks, with small blocks: most begin
/// and end inside a map unit.
#[test]
fn copies_agree_with_a_list_of_blocks() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let small = Setup { block_bytes: 512, ..setup() };
        let drive = session(pace, r#", "write_buffer_pages": 16"#);
        let (server, address) = serve(drive, pace, &small);
        let (_admin, mut queue) = Host::pair(address, 0);
        let mut rng = Rng::stream(5, "copies");
        let mut blocks = [0_u8; 200];
        for round in 0..300_u32 {
            let mut draw = |limit: u64| rng.below(limit);
            let (to, count) = (draw(180), 1 + draw(8));
            if round % 3 == 0 {
                let value = round as u8 | 1;
                let data = vec![value; 512 * count as usize];
                assert_eq!(queue.ask(ranged(1, to, count as u32), &data).status, 0);
                blocks[to as usize..(to + count) as usize].fill(value);
                continue;
            }
            let ranges: Vec<(u64, u16)> =
                (0..=draw(3)).map(|_| (draw(190), 1 + draw(6) as u16)).collect();
            let moved: Vec<u8> = ranges
                .iter()
                .flat_map(|&(first, count)| {
                    &blocks[first as usize..first as usize + count as usize]
                })
                .copied()
                .collect();
            assert_eq!(copy(&mut queue, 1, to, &ranges).status, 0);
            blocks[to as usize..to as usize + moved.len()].copy_from_slice(&moved);
        }
        for (at, &value) in blocks.iter().enumerate() {
            assert_eq!(queue.take(ranged(2, at as u64, 1), 512).data, vec![value; 512], "{at}");
        }
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

/// Entries of copies whose every byte is random: answered, whatever they say.
#[test]
fn copies_of_nonsense_are_answered() {
    let (server, address) = serve(session(Pace::Untimed, ""), Pace::Untimed, &setup());
    let (_admin, mut queue) = Host::pair(address, 0);
    let mut rng = Rng::stream(6, "nonsense");
    for round in 0..2000 {
        let mut asked = entry(0x19, 1, &[]);
        for byte in &mut asked[40..] {
            *byte = if rng.below(3) == 0 { rng.below(256) as u8 } else { 0 };
        }
        if round % 4 > 0 {
            asked[42..48].fill(0);
        }
        let mut data = vec![0; 16 * rng.below(300) as usize];
        for byte in &mut data {
            *byte = if rng.below(8) == 0 { rng.below(256) as u8 } else { 0 };
        }
        let done = queue.ask(asked, &data);
        let known = [0, 0x02, 0x0f, 0x80, SIZE];
        assert!(known.contains(&done.status), "{:x} {asked:?}", done.status);
    }
    assert_eq!(queue.ask(ranged(1, 9, 1), &block(9)).status, 0);
    assert_eq!(queue.take(ranged(2, 9, 1), 4096).data, block(9));
    let (session, ..) = server.stop();
    session.expect("the drive comes back").audit().expect("it is sound");
}

/// A source that the model cannot correct ends the copy with an error of the medium, and its
/// destination stays as it was.
#[test]
fn a_copy_of_lost_data_writes_nothing() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let device = DeviceConfig::resolve(
            r#"{"nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
            "blocks_per_plane": 40, "pages_per_block": 16}, "ftl": {"over_provisioning_pct": 0.4},
            "reliability": {"kind": "power_law", "floor": 8e-4},
            "ecc": {"algorithm": "bch", "bch_m": 14, "bch_t": 16}}"#,
        );
        let simulation = Simulation::new(device.expect("a device"), 7);
        let drive = Session::new(simulation, pace).expect("a plain disk");
        let (server, address) = serve(drive, pace, &setup());
        let (_admin, mut queue) = Host::pair(address, 0);
        for value in 1..9 {
            assert_eq!(queue.ask(ranged(1, u64::from(value), 1), &block(value)).status, 0);
        }
        let (mut current, mut outcomes) = ([0, 0], [0, 0]);
        for round in 0..200_u64 {
            let sources = [1 + round % 8, 1 + round % 7];
            let done = copy(&mut queue, 1, 100, &sources.map(|it| (it, 1)));
            assert!(matches!(done.status, 0 | 0x281), "{:x}", done.status);
            outcomes[usize::from(done.status == 0)] += 1;
            if done.status == 0 {
                current = sources.map(|it| it as u8);
            }
            for (at, value) in (100..).zip(current) {
                // Reads fail as well; one of many does not.
                let mut found = (0..200).map(|_| queue.take(ranged(2, at, 1), 4096));
                let found = found.find(|done| done.status == 0).expect("it can be read");
                assert_eq!(found.data, block(value), "{round}");
            }
        }
        assert!(outcomes.iter().all(|&count| count > 10), "{outcomes:?}");
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

/// A copy whose ranges name their namespaces: its status.
fn copy_between(queue: &mut Host, id: u32, to: u64, ranges: &[(u32, u64, u16)]) -> u16 {
    let plain: Vec<_> = ranges.iter().map(|&(_, first, blocks)| (first, blocks)).collect();
    let (mut asked, mut data) = built(id, to, &plain);
    asked[49] |= 2;
    for (place, &(source, ..)) in ranges.iter().enumerate() {
        put(&mut data, 32 * place, 4, source.into());
    }
    queue.ask(asked, &data).status
}

/// The host supports ranges of other namespaces, or not.
fn enable(admin: &mut Host, formats: u64) {
    let mut behavior = vec![0; 512];
    put(&mut behavior, 4, 2, formats);
    assert_eq!(admin.ask(entry(9, 0, &[0x16]), &behavior).status, 0);
}

#[test]
fn ranges_of_other_namespaces_go_to_one_place() {
    let divided = Setup { namespaces: Some("40%,60%".into()), ..setup() };
    let of = |id: u32, mut asked: [u8; 64]| {
        put(&mut asked, 4, 4, id.into());
        asked
    };
    for pace in [Pace::Untimed, Pace::Timed] {
        let (server, address) = serve(session(pace, ""), pace, &divided);
        let (mut admin, mut queue) = Host::pair(address, 0);
        let ends = [1, 2].map(|id| number(&admin.take(entry(6, id, &[0]), 4096).data, 0, 8));
        assert!(ends[0] != ends[1], "{ends:?}");
        // The last block of one namespace is next to the first of the other.
        for (id, at, value) in [(1, 0, 1), (1, ends[0] - 1, 2), (2, 0, 3), (2, ends[1] - 1, 4)] {
            assert_eq!(queue.ask(of(id, ranged(1, at, 1)), &block(value)).status, 0);
        }
        let sources = [(2, ends[1] - 1, 1), (1, ends[0] - 1, 1), (2, 0, 2), (1, 0, 1)];
        assert_eq!(copy_between(&mut queue, 1, 9, &sources), 0x02, "it is not enabled");
        enable(&mut admin, 0b100);
        for (id, to) in [(1, 9), (2, 20)] {
            assert_eq!(copy_between(&mut queue, id, to, &sources), 0);
            for (at, value) in (to..).zip([4, 2, 3, 0, 1]) {
                let found = queue.take(of(id, ranged(2, at, 1)), 4096).data;
                assert_eq!(found, block(value), "{id} {at}");
            }
        }
        // Each end is that of the namespace of the range, and of the destination.
        for (id, to, ranges, status) in [
            (1, 9, vec![(1, ends[0] - 1, 2)], 0x80),
            (1, 9, vec![(2, ends[1] - 1, 2)], 0x80),
            (1, 9, vec![(2, ends[1], 1)], 0x80),
            (1, ends[0] - 1, vec![(2, 0, 2)], 0x80),
            (2, ends[0], vec![(1, 0, 1)], 0),
            (1, 9, vec![(0, 0, 1)], 0x0b),
            (1, 9, vec![(3, 0, 1)], 0x0b),
            (1, 9, vec![(2, 0, 1), (u32::MAX, 0, 1)], 0x0b),
            // The same numbers overlap in one namespace alone.
            (1, 9, vec![(2, 9, 1)], 0),
            (2, 9, vec![(2, 9, 1)], 0x187),
            (2, 9, vec![(1, 0, 1), (2, 4, 6)], 0x187),
            (2, 9, vec![(1, 0, 1), (2, 15, 6)], 0x187),
            (2, 9, vec![(1, 0, 1), (2, 16, 6)], 0),
        ] {
            assert_eq!(copy_between(&mut queue, id, to, &ranges), status, "{id} {to} {ranges:?}");
        }
        // Other blocks; formats that belong to protection; what a reset leaves.
        let (mut asked, data) = built(1, 0, &[(1, 1)]);
        for format in [1, 3, 4, 15] {
            asked[49] = format;
            assert_eq!(queue.ask(asked, &data).status, 0x02, "{format}");
        }
        assert_eq!(admin.ask(entry(0x80, 2, &[0]), &[]).status, 0);
        assert_eq!(copy_between(&mut queue, 1, 0, &[(2, 0, 1)]), 0x185);
        assert_eq!(copy_between(&mut queue, 2, 0, &[(2, 8, 1)]), 0);
        assert_eq!(copy(&mut queue, 1, 1, &[(0, 4)]).status, 0, "format 0 overlaps");
        let read = |admin: &mut Host| admin.take(entry(10, 0, &[0x16]), 512).data;
        assert_eq!(number(&read(&mut admin), 4, 2), 0b100);
        for (place, value) in [(0, 2), (5, 1), (4, 0x20), (6, 1), (511, 1)] {
            let mut behavior = vec![0; 512];
            behavior[place] = value;
            assert_eq!(admin.ask(entry(9, 0, &[0x16]), &behavior).status, 0x02, "{place}");
        }
        assert_eq!(admin.ask(entry(9, 0, &[0x16]), &[0; 508]).status, 0x0f);
        enable(&mut admin, 0b1_1111);
        assert_eq!(number(&read(&mut admin), 4, 2), 0b1_1100);
        admin.configure(0x46_0000);
        admin.enable();
        assert_eq!(read(&mut admin), [0; 512]);
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}
