//! Zones under a host of the tests: states, write pointers, places and bytes next to a model
//! that was written apart, from the text of the specification.

use std::collections::VecDeque;
use std::net::SocketAddr;

use crate::host::{entry, number, put, ranged, serve, setup, Host};
use opennandlab_nvme::Setup;
use opennandlab_serve::server::Server;
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

const FIELD: u16 = 0x02;
const LBA_RANGE: u16 = 0x80;
const BOUNDARY: u16 = 0x1b8;
const FULL: u16 = 0x1b9;
const READ_ONLY: u16 = 0x1ba;
const OFFLINE: u16 = 0x1bb;
const INVALID_WRITE: u16 = 0x1bc;
const TOO_MANY_ACTIVE: u16 = 0x1bd;
const TOO_MANY_OPEN: u16 = 0x1be;
const TRANSITION: u16 = 0x1bf;

const ZONE: u64 = 64;
const CAPACITY: u64 = 41;
const OPEN_MAX: usize = 3;
const ACTIVE_MAX: usize = 5;

/// Two dies of 24 blocks of 16 pages; a zone is two blocks of each.
pub fn zoned(pace: Pace, nand: &str, mapping: &str) -> Session {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16{nand}}},
        "ftl": {{"over_provisioning_pct": 0.1, "mapping": {{"kind": "zoned", "open_zones_max": 3,
        "active_zones_max": 5{mapping}}}}}}}"#
    );
    let device = DeviceConfig::resolve(&json).expect("a device");
    Session::with_zones(Simulation::new(device, 1), pace).expect("it may have zones")
}

const SMALL: &str = r#", "zone_bytes": 262144, "zone_capacity_bytes": 167936"#;

fn start(pace: Pace) -> (Server, SocketAddr) {
    serve(zoned(pace, "", SMALL), pace, &setup())
}

pub fn manage(zone: u64, action: u32, is_all: bool) -> [u8; 64] {
    let first = zone * ZONE;
    let all = u32::from(is_all) << 8;
    entry(0x79, 1, &[first as u32, (first >> 32) as u32, 0, action | all])
}

fn append(first: u64, blocks: u32) -> [u8; 64] {
    ranged(0x7d, first, blocks)
}

/// A report into as many bytes: its count, and state, first block and pointer of each zone.
fn report(queue: &mut Host, first: u64, bytes: u32, how: u32) -> (u64, Vec<(u8, u64, u64)>) {
    let asked = entry(0x7a, 1, &[first as u32, (first >> 32) as u32, bytes / 4 - 1, how]);
    let done = queue.take(asked, bytes);
    assert_eq!(done.status, 0);
    let rows = done.data[64..].chunks_exact(64).filter(|row| row[0] == 2);
    let row = |row: &[u8]| {
        assert_eq!((row[2], row[3], number(row, 8, 8)), (0, 0, CAPACITY));
        (row[1] >> 4, number(row, 16, 8), number(row, 24, 8))
    };
    (number(&done.data, 0, 8), rows.map(row).collect())
}

const EMPTY: u8 = 1;
const IMPLICIT: u8 = 2;
const EXPLICIT: u8 = 3;
const CLOSED: u8 = 4;
const FULL_STATE: u8 = 0xe;

/// Zones as the specification has them: 2.1.1.2 to 2.1.1.4, 3.4.
struct Model {
    zones: Vec<(u8, u64)>,
    /// Opened by writes, oldest first.
    implicit: VecDeque<usize>,
    blocks: Vec<u8>,
}

impl Model {
    fn new(count: usize) -> Self {
        let blocks = vec![0; count * ZONE as usize];
        Self { zones: vec![(EMPTY, 0); count], implicit: VecDeque::new(), blocks }
    }

    fn count(&self, states: &[u8]) -> usize {
        self.zones.iter().filter(|(state, _)| states.contains(state)).count()
    }

    fn enter(&mut self, zone: usize, state: u8) {
        self.implicit.retain(|&other| other != zone);
        if state == IMPLICIT {
            self.implicit.push_back(zone);
        }
        self.zones[zone].0 = state;
    }

    fn open(&mut self, zone: usize, state: u8) -> u16 {
        let is_empty = self.zones[zone].0 == EMPTY;
        if is_empty && self.count(&[IMPLICIT, EXPLICIT, CLOSED]) == ACTIVE_MAX {
            return TOO_MANY_ACTIVE;
        }
        if self.count(&[IMPLICIT, EXPLICIT]) == OPEN_MAX {
            let Some(oldest) = self.implicit.front().copied() else { return TOO_MANY_OPEN };
            self.enter(oldest, CLOSED);
        }
        self.enter(zone, state);
        0
    }

    /// Status and first block.
    fn write(&mut self, first: u64, count: u64, value: u8, appends: bool) -> (u16, u64) {
        if first + count > self.blocks.len() as u64 {
            return (LBA_RANGE, 0);
        }
        let (zone, place) = ((first / ZONE) as usize, first % ZONE);
        let (state, pointer) = self.zones[zone];
        let status = match state {
            _ if appends && place != 0 => FIELD,
            FULL_STATE => FULL,
            _ if !appends && place != pointer => INVALID_WRITE,
            _ if pointer + count > CAPACITY => BOUNDARY,
            IMPLICIT | EXPLICIT => 0,
            _ => self.open(zone, IMPLICIT),
        };
        if status != 0 {
            return (status, 0);
        }
        let at = zone as u64 * ZONE + pointer;
        self.blocks[at as usize..(at + count) as usize].fill(value);
        self.zones[zone].1 += count;
        if pointer + count == CAPACITY {
            self.enter(zone, FULL_STATE);
        }
        (0, if appends { at } else { 0 })
    }

    fn act(&mut self, zone: usize, action: u32) -> u16 {
        match (action, self.zones[zone].0) {
            (1, CLOSED) | (2, FULL_STATE) | (3, EXPLICIT) | (4, EMPTY) => {}
            (1, IMPLICIT | EXPLICIT) => self.enter(zone, CLOSED),
            (2, EMPTY | IMPLICIT | EXPLICIT | CLOSED) => self.enter(zone, FULL_STATE),
            (3, IMPLICIT) => self.enter(zone, EXPLICIT),
            (3, EMPTY | CLOSED) => return self.open(zone, EXPLICIT),
            (4, _) => {
                self.enter(zone, EMPTY);
                self.zones[zone].1 = 0;
                let start = zone * ZONE as usize;
                self.blocks[start..start + ZONE as usize].fill(0);
            }
            _ => return TRANSITION,
        }
        0
    }

    fn act_on_all(&mut self, action: u32) -> u16 {
        let of: &[u8] = match action {
            1 => &[IMPLICIT, EXPLICIT],
            2 => &[IMPLICIT, EXPLICIT, CLOSED],
            3 => &[CLOSED],
            4 => &[IMPLICIT, EXPLICIT, CLOSED, FULL_STATE],
            _ => &[],
        };
        let open = self.count(&[IMPLICIT, EXPLICIT]);
        if action == 3 && open + self.count(of) > OPEN_MAX {
            return TOO_MANY_OPEN;
        }
        for zone in 0..self.zones.len() {
            if of.contains(&self.zones[zone].0) {
                self.act(zone, action);
            }
        }
        0
    }

    fn rows(&self) -> Vec<(u8, u64, u64)> {
        let rows = self.zones.iter().zip((0..).step_by(ZONE as usize));
        rows.map(|(&(state, written), start)| {
            let pointer = if state == FULL_STATE { u64::MAX } else { start + written };
            (state, start, pointer)
        })
        .collect()
    }
}

/// One command of chance, on the drive and in the model.
fn step(queue: &mut Host, model: &mut Model, rng: &mut Rng, value: u8) {
    let zones = model.zones.len() as u64;
    let zone = rng.below(zones.min(8));
    let count = 1 + rng.below(16);
    let (pointer, start) = (model.zones[zone as usize].1, zone * ZONE);
    let data = vec![value; count as usize * 4096];
    match rng.below(16) {
        0..=4 => {
            let place = if rng.below(8) == 0 { rng.below(ZONE) } else { pointer };
            let (status, _) = model.write(start + place, count, value, false);
            let done = queue.give(ranged(1, start + place, count as u32), &data);
            assert_eq!((done.status, done.first), (status, 0), "write {zone} {place} {count}");
        }
        5..=8 => {
            let place = u64::from(rng.below(12) == 0);
            let (status, first) = model.write(start + place, count, value, true);
            let done = queue.give(append(start + place, count as u32), &data);
            assert_eq!((done.status, done.first), (status, first), "append {zone} {count}");
        }
        9 => {
            let (status, _) = model.write(start + pointer, count, 0, false);
            let done = queue.ask(ranged(8, start + pointer, count as u32), &[]);
            assert_eq!(done.status, status, "zeroes {zone} {count}");
        }
        10 | 11 => {
            let place = rng.below(ZONE);
            let bytes = (count * 4096) as u32;
            let done = queue.take(ranged(2, start + place, count as u32), bytes);
            if place + count > ZONE {
                assert_eq!(done.status, BOUNDARY);
                return;
            }
            let first = (start + place) as usize;
            for (at, block) in done.data.chunks(4096).enumerate() {
                assert!(block.iter().all(|&byte| byte == model.blocks[first + at]), "{first} {at}");
            }
        }
        12..=14 => {
            let action = 1 + rng.below(5) as u32;
            let done = queue.ask(manage(zone, action, false), &[]);
            assert_eq!(done.status, model.act(zone as usize, action), "{action} of {zone}");
        }
        _ => {
            let action = [1, 1, 2, 3, 3, 3, 4, 5][rng.below(8) as usize];
            let done = queue.ask(manage(0, action, true), &[]);
            assert_eq!(done.status, model.act_on_all(action), "{action} of all");
        }
    }
}

#[test]
fn states_places_and_bytes_are_those_of_the_specification() {
    compare(500, 200);
}

#[test]
#[ignore = "minutes"]
fn states_places_and_bytes_are_those_of_the_specification_for_long() {
    compare(4000, 1000);
}

/// Random commands without a clock, and in time, next to the model.
fn compare(untimed: u32, timed: u32) {
    for (pace, steps) in [(Pace::Untimed, untimed), (Pace::Timed, timed)] {
        let (server, address) = start(pace);
        let (mut admin, mut queue) = Host::pair(address, 0);
        let blocks = number(&admin.take(entry(6, 1, &[0]), 4096).data, 0, 8);
        let mut model = Model::new((blocks / ZONE) as usize);
        let mut rng = Rng::stream(3, "zones");
        for index in 0..steps {
            step(&mut queue, &mut model, &mut rng, 1 + (index % 255) as u8);
            if index % 16 == 0 {
                assert_eq!(report(&mut queue, 0, 4096, 0).1, model.rows(), "{index}");
            }
        }
        let (session, status, _) = server.stop();
        assert_eq!(status["drive"]["unaccounted"].as_str(), None);
        assert_eq!(status["drive"]["waf"].as_f64(), Some(1.0));
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

#[test]
fn identification_and_reports_are_those_of_the_standard() {
    let (server, address) = start(Pace::Untimed);
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(admin.property(0) >> 37 & 0xff, 1 | 1 << 6);
    let identify = |admin: &mut Host, kind: u32, set: u32, id: u32| {
        admin.take(entry(6, id, &[kind, set << 24]), 4096)
    };
    let page = identify(&mut admin, 0x05, 2, 1).data;
    let count = number(&identify(&mut admin, 0, 0, 1).data, 0, 8) / ZONE;
    assert_eq!((number(&page, 0, 4), number(&page, 4, 4), number(&page, 8, 4)), (0, 4, 2));
    assert_eq!((number(&page, 2816, 8), page[2824]), (ZONE, 0));
    assert_eq!(identify(&mut admin, 0x06, 2, 0).data, [0; 4096]);
    let page = identify(&mut admin, 0x00, 0, 1).data;
    assert_eq!(number(&page, 8, 8), count * CAPACITY);
    assert_eq!((page[25], page[26], page[130], number(&page, 132, 4)), (0, 0, 12, 0));
    let page = identify(&mut admin, 0x03, 0, 1).data;
    assert_eq!((page[40], page[41], page[44]), (4, 1, 2));
    for (set, first) in [(0, 0), (2, 1)] {
        assert_eq!(number(&identify(&mut admin, 0x07, set, 0).data, 0, 4), first, "{set}");
    }
    assert_eq!(number(&identify(&mut admin, 0x1c, 0, 0).data, 0, 8), 0b101);
    for (kind, set) in [(0x05, 0), (0x05, 1), (0x06, 3)] {
        assert_eq!(identify(&mut admin, kind, set, 1).status, FIELD, "{kind} {set}");
    }
    // Append and both managements, which change the namespace or do not; of zones alone.
    let effects = |admin: &mut Host, set: u32| {
        let asked = entry(2, u32::MAX, &[0x05 | 1023 << 16, 0, 0, 0, set << 24]);
        let page = admin.take(asked, 4096).data;
        [0x79, 0x7a, 0x7d, 0x01].map(|opcode| number(&page, 1024 + 4 * opcode, 4) & 0xf_ffff)
    };
    assert_eq!(effects(&mut admin, 2), [3, 1, 3, 3]);
    assert_eq!(effects(&mut admin, 0), [0, 0, 0, 3]);
    assert_eq!(admin.take(entry(10, 0, &[0x19]), 0).first, 0);
    assert_eq!(admin.ask(entry(9, 0, &[0x19, 1]), &[]).status, 0x12b);

    assert_eq!(queue.ask(manage(2, 3, false), &[]).status, 0);
    assert_eq!(queue.ask(append(0, 4), &[1; 4 * 4096]).status, 0);
    // A part, a filter, and a start inside a zone.
    assert_eq!(report(&mut queue, 0, 64 + 128, 0), (count, vec![(2, 0, 4), (1, 64, 64)]));
    assert_eq!(report(&mut queue, 0, 64 + 128, 1 << 16), (2, vec![(2, 0, 4), (1, 64, 64)]));
    assert_eq!(report(&mut queue, 70, 4096, 3 << 8), (1, vec![(3, 128, 128)]));
    assert_eq!(report(&mut queue, 129, 4096, 0).0, count - 2);
    assert_eq!(report(&mut queue, 0, 64, 1 << 16), (0, vec![]));
    for (first, how, dwords, status) in [
        (count * ZONE, 0, 15, LBA_RANGE),
        (0, 8 << 8, 15, FIELD),
        (0, 1, 15, FIELD),
        (0, 0, u32::MAX, FIELD),
    ] {
        let asked = entry(0x7a, 1, &[first as u32, 0, dwords, how]);
        assert_eq!(queue.take(asked, 64).status, status, "{first} {how}");
    }
    drop(server.stop());
}

/// Appends in flight together get places of their own, without a gap, and reads find their bytes.
#[test]
fn appends_together_take_the_whole_zone() {
    let (server, address) = start(Pace::Timed);
    let (_admin, mut queue) = Host::pair(address, 0);
    let mut sent = Vec::new();
    for value in 1..=CAPACITY as u8 + 3 {
        let mut asked = append(ZONE, 1);
        put(&mut asked, 32, 4, 4096);
        asked[39] = 1;
        sent.push((queue.send(asked, &[value; 4096]), value));
    }
    let (mut places, mut full) = (Vec::new(), 0);
    while places.len() + full < sent.len() {
        let (kind, header, _) = queue.receive().expect("it answers");
        assert_eq!(kind, 5);
        let id = number(&header, 12, 2) as u16;
        let value = sent.iter().find(|it| it.0 == id).expect("it was sent").1;
        match number(&header, 14, 2) as u16 >> 1 & 0x3fff {
            0 => places.push((number(&header, 0, 8), value)),
            status => {
                assert_eq!(status, FULL);
                full += 1;
            }
        }
    }
    assert_eq!(full, 3);
    places.sort_unstable();
    assert!(places.iter().map(|it| it.0).eq(ZONE..ZONE + CAPACITY));
    for (place, value) in places {
        assert_eq!(queue.take(ranged(2, place, 1), 4096).data, [value; 4096], "{place}");
    }
    drop(server.stop());
}

/// A die without blocks makes zones read-only: an event names the log, which names them.
#[test]
fn zones_that_fail_are_reported() {
    let nand = r#", "max_pe_cycles": 3, "wear_out": "retire""#;
    for pace in [Pace::Untimed, Pace::Timed] {
        let (server, address) = serve(zoned(pace, nand, SMALL), pace, &setup());
        let (mut admin, mut queue) = Host::pair(address, 0);
        assert_eq!(admin.ask(entry(9, 0, &[0x0b, 1 << 27]), &[]).status, 0);
        assert_eq!(number(&admin.log(0xbf, 4096), 0, 2), 0);
        let event = admin.send(
            {
                let mut asked = entry(0x0c, 0, &[]);
                asked[39] = 0x5a;
                asked
            },
            &[],
        );
        let mut failed = None;
        for round in 0..400 {
            let zone = round % 8;
            let done = queue.give(append(zone * ZONE, 16), &vec![7; 16 * 4096]);
            if done.status == READ_ONLY {
                failed = Some(zone);
                break;
            }
            assert_eq!(done.status, 0, "{round}");
            assert_eq!(queue.ask(manage(zone, 4, false), &[]).status, 0, "{round}");
        }
        let zone = failed.expect("blocks wear out");
        let start = zone * ZONE;
        // Others go on as long as their dies have blocks; this one is not written.
        assert_eq!(report(&mut queue, start, 128, 0).1, [(0xd, start, u64::MAX)]);
        assert_eq!(queue.ask(append(start, 1), &[7; 4096]).status, READ_ONLY);
        assert_eq!(queue.ask(manage(zone, 4, false), &[]).status, TRANSITION);
        // The event comes with the next command of the admin queue: notice, number, log, namespace.
        let mut asked = entry(0x18, 0, &[]);
        asked[39] = 0x5a;
        let kept = admin.send(asked, &[]);
        for id in [kept, event] {
            let (_, header, _) = admin.receive().expect("it answers");
            assert_eq!(number(&header, 12, 2), u64::from(id));
            if id == event {
                assert_eq!(number(&header, 0, 8), 1 << 32 | 0x00bf_ef02);
            }
        }
        let log = admin.log(0xbf, 4096);
        assert_eq!((number(&log, 0, 2), number(&log, 8, 8)), (1, start));
        assert_eq!(number(&admin.log(0xbf, 4096), 0, 2), 0, "it was read");
        assert_eq!(queue.ask(manage(zone, 5, false), &[]).status, 0);
        assert_eq!(report(&mut queue, start, 128, 7 << 8).1, [(0xf, start, u64::MAX)]);
        assert_eq!(queue.take(ranged(2, start, 1), 4096).status, OFFLINE);
        drop(server.stop());
    }
}

#[test]
fn refusals_name_the_key_and_what_is_accepted() {
    let odd = r#", "zone_bytes": 393216"#;
    let large = (r#", "page_size_bytes": 16384"#, r#", "zone_bytes": 1048576"#);
    for (keys, block_bytes, words) in [
        (("", SMALL), 512, "lba: 512 with ftl.mapping zoned; accepted: 4096"),
        (("", odd), 4096, "ftl.mapping.zone_bytes: 393216"),
        (large, 4096, "nand.page_size_bytes: 16384"),
    ] {
        let session = zoned(Pace::Untimed, keys.0, keys.1);
        let setup = Setup { block_bytes, ..setup() };
        let made = opennandlab_nvme::Nvme::new(&session, &setup, ([127, 0, 0, 1], 1).into());
        let refusal = made.err().expect("it is refused");
        assert!(refusal.contains(words) && refusal.contains("accepted"), "{refusal}");
    }
}

/// Contents and states of zones come back from an image.
#[test]
fn an_image_keeps_zones_and_their_bytes() {
    let (server, address) = start(Pace::Timed);
    let (_admin, mut queue) = Host::pair(address, 0);
    for (zone, blocks) in [(0, 5), (1, CAPACITY as u32 - 9), (3, 2)] {
        let data = vec![zone as u8 + 1; blocks as usize * 4096];
        assert_eq!(queue.give(append(zone * ZONE, blocks), &data).status, 0);
    }
    assert_eq!(queue.ask(manage(1, 2, false), &[]).status, 0);
    assert_eq!(queue.ask(manage(3, 1, false), &[]).status, 0);
    let before = report(&mut queue, 0, 4096, 0);
    let session = server.stop().0.expect("the drive comes back");
    let mut image = Vec::new();
    session.save(&mut image).expect("it is saved");
    let simulation = Simulation::from_image(&image, 1).expect("an image");
    let mut session = Session::with_zones(simulation, Pace::Timed).expect("zones");
    session.load_contents(&image).expect("contents");
    let (server, address) = serve(session, Pace::Timed, &setup());
    let (_admin, mut queue) = Host::pair(address, 0);
    assert_eq!(report(&mut queue, 0, 4096, 0), before);
    for (zone, at, value) in [(0, 4, 1), (0, 5, 0), (1, 31, 2), (1, 32, 0), (3, 1, 4)] {
        let data = queue.take(ranged(2, zone * ZONE + at, 1), 4096).data;
        assert_eq!(data, [value; 4096], "{zone} {at}");
    }
    assert_eq!(queue.ask(append(0, 1), &[9; 4096]).first, 5);
    let (session, ..) = server.stop();
    session.expect("the drive comes back").audit().expect("it is sound");
}

/// Linux writes files of zonefs that are opened with `O_SYNC` so.
#[test]
fn appends_that_go_through_learn_their_place() {
    const THROUGH: u32 = 1 << 30;
    for pace in [Pace::Untimed, Pace::Timed] {
        let (server, address) = start(pace);
        let (_admin, mut queue) = Host::pair(address, 3);
        let mut place = 0;
        for blocks in [1, 2, 3, 1, 8, 4] {
            for is_asked_for in [false, true] {
                let mut asked = append(0, blocks);
                put(&mut asked, 48, 4, u64::from(THROUGH | (blocks - 1)));
                let data = vec![blocks as u8; blocks as usize * 4096];
                let done = if is_asked_for || data.len() > 8192 {
                    queue.give(asked, &data)
                } else {
                    queue.ask(asked, &data)
                };
                assert_eq!((done.status, done.first), (0, place), "{blocks} blocks");
                let read = queue.take(ranged(2, place, blocks), data.len() as u32);
                assert_eq!(read.data, data);
                place += u64::from(blocks);
            }
        }
        drop(server.stop());
    }
}
