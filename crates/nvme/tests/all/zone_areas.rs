//! Random write areas over the wire: what is announced, what is refused, and bytes next to an array
//! of each zone.

use opennandlab_nvme::Nvme;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

use crate::host::{entry, number, ranged, serve, setup, Host};
use crate::zones::{manage, zoned};

const FIELD: u16 = 0x02;
const LBA_RANGE: u16 = 0x80;
const INVALID_OPERATION: u16 = 0x1b6;
const NO_AREA: u16 = 0x1b7;
const BOUNDARY: u16 = 0x1b8;
const FULL: u16 = 0x1b9;
const INVALID_WRITE: u16 = 0x1bc;
const TRANSITION: u16 = 0x1bf;

const ZONE: u64 = 64;
const CAPACITY: u64 = 48;
const AREAS: usize = 2;
const SIZE: u64 = 12;
const GRANULARITY: u64 = 3;

/// Zones of 64 blocks, 48 of them to be written; two areas of 12, flushed by 3.
const WITH_AREAS: &str = r#", "zone_bytes": 262144, "zone_capacity_bytes": 196608,
    "zrwa": {"areas": 2, "size_bytes": 49152, "flush_granularity_bytes": 12288}"#;

const WITH_AREA: u32 = 1 << 9;

fn open_with_area(zone: u64) -> [u8; 64] {
    manage(zone, 3 | WITH_AREA, false)
}

/// To the flash, up to a block and with it.
fn flush(block: u64) -> [u8; 64] {
    entry(0x79, 1, &[block as u32, 0, 0, 0x11])
}

fn write(queue: &mut Host, block: u64, count: u64, value: u8) -> u16 {
    let data = vec![value; count as usize * 4096];
    queue.give(ranged(1, block, count as u32), &data).status
}

/// State, attributes and write pointer of a zone, this in blocks of it.
fn row(queue: &mut Host, zone: u64) -> (u8, u8, u64) {
    let first = (zone * ZONE) as u32;
    let page = queue.take(entry(0x7a, 1, &[first, 0, 31, 1 << 16]), 128).data;
    let row = &page[64..];
    (row[1] >> 4, row[2], number(row, 24, 8).wrapping_sub(zone * ZONE))
}

#[test]
fn areas_are_announced_and_reported() {
    let (server, address) = serve(zoned(Pace::Untimed, "", WITH_AREAS), Pace::Untimed, &setup());
    let (mut admin, mut queue) = Host::pair(address, 3);
    let page = admin.take(entry(6, 1, &[0x05, 2 << 24]), 4096).data;
    // ZOC, OZCS; MAR, MOR; NUMZRWA, ZRWAFG, ZRWASZ, ZRWACAP.
    assert_eq!(page[..4], [0, 0, 2, 0]);
    assert_eq!(page[4..12], [4, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(page[12..44], [0; 32]);
    assert_eq!(page[44..53], [1, 0, 0, 0, 3, 0, 12, 0, 1]);
    assert_eq!(page[53..2816], [0; 2763]);
    // No volatile write cache: what an area holds survives.
    assert_eq!(admin.take(entry(6, 0, &[1]), 4096).data[525] & 1, 0);
    assert_eq!(queue.ask(open_with_area(1), &[]).status, 0);
    assert_eq!(row(&mut queue, 1), (3, 1 << 3, 0));
    assert_eq!(row(&mut queue, 0), (1, 0, 0));
    assert_eq!(write(&mut queue, ZONE + 7, 2, 9), 0);
    assert_eq!(row(&mut queue, 1), (3, 1 << 3, 0), "the pointer stays");
    assert_eq!(queue.ask(manage(1, 1, false), &[]).status, 0);
    assert_eq!(row(&mut queue, 1), (4, 1 << 3, 0), "a closed zone keeps its area");
    assert_eq!(queue.ask(flush(ZONE + 5), &[]).status, 0);
    assert_eq!(row(&mut queue, 1), (2, 1 << 3, 6), "a flush opens it");
    assert_eq!(queue.ask(manage(1, 2, false), &[]).status, 0);
    assert_eq!(row(&mut queue, 1).1, 0, "a full zone has none");
    let read = queue.take(ranged(2, ZONE + 6, 4), 4 * 4096).data;
    let values: Vec<u8> = read.chunks(4096).map(|block| block[4095]).collect();
    assert_eq!(values, [0, 9, 9, 0]);
    drop(server.stop());
}

#[test]
fn what_an_area_does_not_take_has_its_status() {
    let (server, address) = serve(zoned(Pace::Timed, "", WITH_AREAS), Pace::Timed, &setup());
    let (_admin, mut queue) = Host::pair(address, 0);
    for zone in [0, 1] {
        assert_eq!(queue.ask(open_with_area(zone), &[]).status, 0);
        assert_eq!(queue.ask(open_with_area(zone), &[]).status, 0, "it has one");
    }
    assert_eq!(queue.ask(open_with_area(2), &[]).status, NO_AREA);
    assert_eq!(row(&mut queue, 2), (1, 0, 0), "nothing has changed");
    assert_eq!(write(&mut queue, 3 * ZONE, 1, 1), 0);
    assert_eq!(queue.ask(open_with_area(3), &[]).status, INVALID_OPERATION, "it is not empty");
    assert_eq!(queue.ask(manage(3, 2, false), &[]).status, 0);
    assert_eq!(queue.ask(open_with_area(3), &[]).status, TRANSITION);
    for action in [3 | WITH_AREA, 0x11] {
        assert_eq!(queue.ask(manage(0, action, true), &[]).status, FIELD, "not of all zones");
    }
    let data = [1; 4096];
    assert_eq!(queue.ask(ranged(0x7d, 0, 1), &data).status, INVALID_OPERATION, "an append");
    // Up to two sizes behind the pointer, and not before it.
    assert_eq!(write(&mut queue, 2 * SIZE, 1, 1), INVALID_WRITE);
    assert_eq!(write(&mut queue, 2 * SIZE - 2, 3, 1), INVALID_WRITE);
    assert_eq!(write(&mut queue, 2 * SIZE - 1, 1, 1), 0);
    assert_eq!(row(&mut queue, 0).2, SIZE, "as far as the write needs");
    assert_eq!(write(&mut queue, SIZE - 1, 1, 1), INVALID_WRITE);
    assert_eq!(write(&mut queue, 2 * SIZE, 1, 1), 0);
    assert_eq!(row(&mut queue, 0).2, SIZE + GRANULARITY, "by whole granularities");
    let pointer = SIZE + GRANULARITY;
    for (block, status) in [
        (pointer - 1, INVALID_OPERATION),
        (pointer + SIZE, INVALID_OPERATION),
        (pointer, FIELD),
        (2 * ZONE, INVALID_OPERATION),
        (1 << 20, LBA_RANGE),
        (pointer + 2, 0),
    ] {
        assert_eq!(queue.ask(flush(block), &[]).status, status, "{block}");
    }
    // To the end of the zone, and not beyond.
    let mut pointer = pointer + GRANULARITY;
    while pointer + SIZE < CAPACITY {
        pointer += SIZE;
        assert_eq!(queue.ask(flush(pointer - 1), &[]).status, 0);
    }
    assert_eq!(write(&mut queue, CAPACITY - 1, 2, 1), BOUNDARY);
    assert_eq!(queue.ask(flush(CAPACITY), &[]).status, INVALID_OPERATION);
    assert_eq!(queue.ask(flush(CAPACITY - 1), &[]).status, 0);
    assert_eq!(row(&mut queue, 0).0, 0xe);
    assert_eq!(write(&mut queue, CAPACITY - 1, 1, 1), FULL);
    assert_eq!(queue.ask(open_with_area(2), &[]).status, 0, "its area is free");
    drop(server.stop());

    // A drive without areas has neither.
    let plain = r#", "zone_bytes": 262144"#;
    let (server, address) = serve(zoned(Pace::Untimed, "", plain), Pace::Untimed, &setup());
    let (mut admin, mut queue) = Host::pair(address, 0);
    let page = admin.take(entry(6, 1, &[0x05, 2 << 24]), 4096).data;
    assert_eq!((number(&page, 2, 2), &page[44..53]), (0, &[0; 9][..]));
    for asked in [open_with_area(0), flush(0)] {
        assert_eq!(queue.ask(asked, &[]).status, INVALID_OPERATION);
    }
    drop(server.stop());
}

/// Zones as arrays of bytes.
struct Model {
    blocks: Vec<u8>,
    /// Of each zone: its pointer, and whether it has an area and is full.
    zones: Vec<(u64, bool, bool)>,
}

impl Model {
    fn write(&mut self, zone: usize, place: u64, count: u64, value: u8) -> u16 {
        let (pointer, has_area, is_full) = self.zones[zone];
        let end = place + count;
        let fits = place >= pointer && end <= pointer + 2 * SIZE;
        match (is_full, has_area) {
            (true, _) => return FULL,
            (_, true) if !fits => return INVALID_WRITE,
            (_, false) if place != pointer => return INVALID_WRITE,
            _ if end > CAPACITY => return BOUNDARY,
            _ => {}
        }
        let first = zone * ZONE as usize;
        self.blocks[first + place as usize..first + end as usize].fill(value);
        let beyond = end.saturating_sub(pointer + SIZE);
        let moved = if has_area { beyond.next_multiple_of(GRANULARITY) } else { count };
        self.advance(zone, pointer + moved);
        0
    }

    fn advance(&mut self, zone: usize, pointer: u64) {
        let it = &mut self.zones[zone];
        it.0 = pointer;
        if pointer == CAPACITY {
            (it.1, it.2) = (false, true);
        }
    }

    fn flush(&mut self, zone: usize, place: u64) -> u16 {
        let (pointer, has_area, _) = self.zones[zone];
        if !has_area || !(pointer..(pointer + SIZE).min(CAPACITY)).contains(&place) {
            return INVALID_OPERATION;
        }
        if !(place + 1 - pointer).is_multiple_of(GRANULARITY) {
            return FIELD;
        }
        self.advance(zone, place + 1);
        0
    }

    fn open(&mut self, zone: usize) -> u16 {
        let (pointer, has_area, is_full) = self.zones[zone];
        if is_full {
            return TRANSITION;
        }
        if has_area {
            return 0;
        }
        if pointer > 0 {
            return INVALID_OPERATION;
        }
        if self.zones.iter().filter(|it| it.1).count() == AREAS {
            return NO_AREA;
        }
        self.zones[zone].1 = true;
        0
    }
}

/// A command of chance, on three zones: as many as may be open.
fn step(queue: &mut Host, model: &mut Model, rng: &mut Rng, value: u8) {
    let zone = rng.below(3);
    let (pointer, has_area, _) = model.zones[zone as usize];
    let (start, count) = (zone * ZONE, 1 + rng.below(5));
    let near = (pointer + rng.below(2 * SIZE + 1)).min(ZONE - 6);
    match rng.below(16) {
        0..=8 => {
            let place = if has_area || rng.below(8) == 0 { near } else { pointer };
            let expected = model.write(zone as usize, place, count, value);
            let found = write(queue, start + place, count, value);
            assert_eq!(found, expected, "write {zone} {place} {count}");
        }
        9 | 10 => {
            let expected = model.flush(zone as usize, near);
            assert_eq!(queue.ask(flush(start + near), &[]).status, expected, "flush {zone} {near}");
        }
        11 => {
            let expected = model.open(zone as usize);
            assert_eq!(queue.ask(open_with_area(zone), &[]).status, expected, "open {zone}");
        }
        12 if rng.below(2) == 0 => {
            assert_eq!(queue.ask(manage(zone, 2, false), &[]).status, 0);
            let it = &mut model.zones[zone as usize];
            (it.1, it.2) = (false, true);
        }
        12 => {
            assert_eq!(queue.ask(manage(zone, 4, false), &[]).status, 0);
            model.zones[zone as usize] = (0, false, false);
            model.blocks[start as usize..(start + ZONE) as usize].fill(0);
        }
        13 => assert_eq!(queue.ask(entry(0, 1, &[]), &[]).status, 0, "flush of the drive"),
        _ => {
            let first = start + rng.below(CAPACITY);
            let count = count.min(start + ZONE - first);
            let done = queue.take(ranged(2, first, count as u32), (count * 4096) as u32);
            for (at, block) in done.data.chunks(4096).enumerate() {
                let expected = model.blocks[first as usize + at];
                assert!(block.iter().all(|&byte| byte == expected), "{first} + {at}");
            }
        }
    }
}

#[test]
fn bytes_are_those_of_an_array_of_each_zone() {
    for (pace, steps) in [(Pace::Untimed, 800), (Pace::Timed, 300)] {
        let (server, address) = serve(zoned(pace, "", WITH_AREAS), pace, &setup());
        let (mut admin, mut queue) = Host::pair(address, 0);
        let blocks = number(&admin.take(entry(6, 1, &[0]), 4096).data, 0, 8);
        let mut model = Model {
            blocks: vec![0; blocks as usize],
            zones: vec![(0, false, false); (blocks / ZONE) as usize],
        };
        let mut rng = Rng::stream(5, "areas");
        for index in 0..steps {
            step(&mut queue, &mut model, &mut rng, 1 + (index % 255) as u8);
        }
        for (zone, &(pointer, has_area, is_full)) in (0..3).zip(&model.zones) {
            let (state, attributes, found) = row(&mut queue, zone);
            assert_eq!((attributes == 1 << 3, state == 0xe), (has_area, is_full));
            assert!(is_full || found == pointer, "{zone}: {found} {pointer}");
        }
        let media = number(&admin.log(0xc0, 512), 0, 16);
        let (session, status, _) = server.stop();
        let drive = &status["drive"];
        assert_eq!(drive["unaccounted"].as_str(), None);
        assert_eq!(drive["programmed_bytes"].as_u64(), Some(media));
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

/// Five writes of an area are one of the flash, in the logs as in the document; and a reset of the
/// controller, a shutdown and an image keep what an area holds.
#[test]
fn logs_count_what_reaches_the_flash_and_images_keep_the_rest() {
    let (server, address) = serve(zoned(Pace::Timed, "", WITH_AREAS), Pace::Timed, &setup());
    let (mut admin, mut queue) = Host::pair(address, 0);
    assert_eq!(queue.ask(open_with_area(0), &[]).status, 0);
    for value in 1..=5 {
        assert_eq!(write(&mut queue, 0, SIZE, value), 0);
    }
    let media = |admin: &mut Host| number(&admin.log(0xc0, 512), 0, 16);
    assert_eq!(media(&mut admin), 0, "nothing is flushed");
    assert_eq!(queue.ask(flush(SIZE - 1), &[]).status, 0);
    assert_eq!(media(&mut admin), SIZE * 4096);
    for (place, value) in [(2, 6), (9, 7), (2, 8)] {
        assert_eq!(write(&mut queue, SIZE + place, 1, value), 0);
    }
    // A reset of the controller.
    admin.configure(0x46_0000);
    drop((admin, queue));
    let (mut admin, mut queue) = Host::pair(address, 0);
    let values = |queue: &mut Host| {
        [0, SIZE + 2, SIZE + 3, SIZE + 9].map(|block| queue.take(ranged(2, block, 1), 4096).data[7])
    };
    assert_eq!(values(&mut queue), [5, 8, 0, 7]);
    admin.configure(0x46_4001);
    drop((admin, queue));
    let (session, status, _) = server.stop();
    let drive = &status["drive"];
    assert_eq!(drive["waf"].as_f64(), Some(SIZE as f64 / (5 * SIZE + 3) as f64));
    assert_eq!(drive["zones"]["zrwa"]["held_bytes"].as_u64(), Some(2 * 4096));
    let mut image = Vec::new();
    session.expect("the drive comes back").save(&mut image).expect("it is saved");
    let simulation = Simulation::from_image(&image, 1).expect("an image");
    let mut session = Session::with_zones(simulation, Pace::Timed).expect("zones");
    session.load_contents(&image).expect("contents");
    let (server, address) = serve(session, Pace::Timed, &setup());
    let (_admin, mut queue) = Host::pair(address, 0);
    assert_eq!(values(&mut queue), [5, 8, 0, 7]);
    assert_eq!(row(&mut queue, 0), (3, 1 << 3, SIZE));
    assert_eq!(queue.ask(flush(SIZE + 2), &[]).status, 0);
    assert_eq!(values(&mut queue), [5, 8, 0, 7]);
    let (session, status, _) = server.stop();
    assert_eq!(status["drive"]["unaccounted"].as_str(), None);
    session.expect("the drive comes back").audit().expect("it is sound");
}

/// A format empties zones and areas; commands of several blocks in flight together are one after
/// the other to an area.
#[test]
fn a_format_gives_areas_back() {
    for (kind, pace) in [(1, Pace::Untimed), (1, Pace::Timed), (2, Pace::Untimed)] {
        let (server, address) = serve(zoned(pace, "", WITH_AREAS), pace, &setup());
        let (mut admin, mut queue) = Host::pair(address, 0);
        assert_eq!(queue.ask(open_with_area(0), &[]).status, 0);
        assert_eq!(write(&mut queue, 2 * SIZE - 4, 3, 3), 0);
        assert_eq!(admin.ask(entry(0x80, 1, &[kind << 9]), &[]).status, 0);
        let data = queue.take(ranged(2, 0, 2 * SIZE as u32), 2 * SIZE as u32 * 4096).data;
        assert!(data.iter().all(|&byte| byte == 0), "{kind}");
        assert_eq!(row(&mut queue, 0), (1, 0, 0), "{kind}");
        assert_eq!(queue.ask(open_with_area(0), &[]).status, 0);
        let (session, status, _) = server.stop();
        assert_eq!(status["drive"]["unaccounted"].as_str(), None, "{kind}");
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

#[test]
fn areas_that_hosts_cannot_count_are_refused() {
    let odd = r#", "zone_bytes": 131072, "zrwa": {"areas": 1, "size_bytes": 8192,
        "flush_granularity_bytes": 2048}"#;
    let session = zoned(Pace::Untimed, r#", "page_size_bytes": 2048"#, odd);
    let made = Nvme::new(&session, &setup(), ([127, 0, 0, 1], 1).into());
    let refusal = made.err().expect("it is refused");
    let words = "ftl.mapping.zrwa.flush_granularity_bytes: 2048";
    assert!(
        refusal.contains(words) && refusal.contains("accepted: a multiple of 4096"),
        "{refusal}"
    );
}
