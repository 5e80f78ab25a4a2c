//! A served drive beside a plain array of bytes: whatever is written, collected, trimmed, saved and
//! loaded, both read the same.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Begun, Done, Pace, Refusal, Request, Session};
use opennandlab_sim::units::{Lpn, Ns};
use serde_json::Value;

fn drive(more: &str) -> Simulation {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16}},
        "ftl": {{"over_provisioning_pct": 0.4 {more}}}}}"#
    );
    Simulation::new(DeviceConfig::resolve(&json).expect("a device"), 7)
}

/// Random requests on a session and on the array; returns the array.
fn exercise(session: &mut Session, seed: u64, count: u64) -> Vec<u8> {
    let mut rng = Rng::stream(seed, "session");
    let mut truth = vec![0; session.capacity_bytes() as usize];
    let (mut done, mut under_way, mut at) = (Vec::new(), 0, Ns(0));
    for token in 0..count {
        at = Ns(at.0 + rng.below(40_000));
        let length_max = if rng.below(3) == 0 { 40_000 } else { 5_000 };
        let length = 1 + rng.below(length_max);
        // Most requests at places that are multiples of a sector.
        let mask = if rng.below(8) == 0 { 0 } else { 511 };
        let offset = rng.below(session.capacity_bytes() - length) & !mask;
        let range = offset as usize..(offset + length) as usize;
        let bytes = vec![rng.below(255) as u8; length as usize];
        let is_fua = rng.below(10) == 0;
        let request = match rng.below(10) {
            0 => Request::Trim { offset, length },
            1 => Request::Zero { offset, length, is_fua, is_allocated: rng.below(2) == 0 },
            2 => Request::Flush,
            3 | 4 => Request::Read { offset, length },
            _ => Request::Write { offset, bytes: &bytes, is_fua, placement: 0 },
        };
        match request {
            Request::Write { .. } => truth[range.clone()].copy_from_slice(&bytes),
            Request::Zero { .. } => truth[range.clone()].fill(0),
            Request::Trim { .. } => {
                let unit = session.unit_bytes() as usize;
                let (first, limit) = (range.start.next_multiple_of(unit), range.end / unit * unit);
                if first < limit {
                    truth[first..limit].fill(0);
                }
            }
            _ => {}
        }
        let begun = session.begin(at, token, request, &mut done).expect("the drive takes it");
        under_way += u64::from(begun == Begun::Running);
        let mut found = vec![1; length as usize];
        session.read(offset, &mut found).expect("what was written");
        assert!(found == truth[range], "request {token} of seed {seed}: {request:?}");
    }
    session.settle();
    let mut all = vec![1; truth.len()];
    session.read(0, &mut all).expect("what was written");
    assert!(all == truth, "seed {seed}: the whole drive after it came to rest");
    session.audit().expect("tables and contents agree");
    assert!(session.pending_count() == 0 && done.len() as u64 <= under_way);
    truth
}

const KINDS: [&str; 8] = [
    "",
    r#", "write_buffer_pages": 16"#,
    r#", "gc_policy": {"kind": "cost_benefit"}, "write_frontiers": "host_gc""#,
    r#", "collection": {"kind": "steps"}, "write_frontiers": "host_gc""#,
    r#", "allocation": "superblock""#,
    r#", "mapping": {"kind": "dftl", "cache_bytes": 4096}"#,
    r#", "mapping": {"kind": "fast", "log_blocks": 4}"#,
    r#", "allocation": "dynamic""#,
];

#[test]
fn bytes_follow_the_map() {
    for (seed, more) in (0..).zip(KINDS) {
        for pace in [Pace::Untimed, Pace::Timed] {
            let mut session = Session::new(drive(more), pace).expect("a plain disk");
            exercise(&mut session, seed, 1500);
            let status = session.status();
            assert!(
                status["erases"].as_u64() > Some(20),
                "{more}: nothing was collected: {status}"
            );
            assert_eq!(status["media_errors"], 0);
            assert_eq!(status["unaccounted"], Value::Null, "{more}");
        }
    }
}

#[test]
fn a_saved_drive_holds_the_same() {
    let mut session = Session::new(drive(KINDS[1]), Pace::Timed).expect("a plain disk");
    let truth = exercise(&mut session, 3, 800);
    let mut image = Vec::new();
    session.save(&mut image).expect("a vector takes all");

    let load = |image: &[u8]| {
        let simulation = Simulation::from_image(image, 7).map_err(|error| error.to_string())?;
        let mut again = Session::new(simulation, Pace::Untimed).expect("a plain disk");
        again.load_contents(image).map(|()| again)
    };
    let mut again = load(&image).expect("what was saved");
    let mut found = vec![1; truth.len()];
    again.read(0, &mut found).expect("what was written");
    assert!(found == truth);
    again.audit().expect("tables and contents agree");

    // Counters of the host went on in the image, and those of the flash began again: an aged drive
    // of 473 GB written had a WAF of 0.0001. Both are counted from here.
    let before = again.status();
    assert_eq!((before["written_bytes"].as_u64(), &before["waf"]), (Some(0), &Value::Null));
    let (mut done, bytes) = (Vec::new(), [7; 4096]);
    for page in 0..64 {
        let write =
            Request::Write { offset: page * 4096, bytes: &bytes[..], is_fua: false, placement: 0 };
        again.begin(Ns(0), page, write, &mut done).expect("the drive takes it");
    }
    let after = again.status();
    assert_eq!(after["written_bytes"].as_u64(), Some(64 * 4096));
    // Pages wait in the write buffer, so a WAF below 1 is right, and accounted for.
    let waiting = after["buffered_pages"].as_u64().expect("a count");
    assert!((1..=16).contains(&waiting), "{after}");
    assert!(after["programmed_bytes"].as_u64() >= Some((64 - waiting) * 4096), "{after}");
    assert_eq!(after["unaccounted"], Value::Null);

    // Cut off or damaged it is refused, wherever that happens.
    for cut in [image.len() - 1, image.len() - 5000, image.len() / 2, 30] {
        assert!(load(&image[..cut]).is_err(), "cut at {cut}");
    }
    // Where the image ends and the contents begin, what is left is sound by itself.
    let length = u64::from_le_bytes(image[12..20].try_into().expect("eight bytes"));
    let end = 24 + length as usize;
    let error = load(&image[..end]).err().expect("refused");
    let missing = format!("which its header announces after byte {end}, is missing");
    assert!(error.contains(&missing), "{error}");
    assert!(load(&image[..end + 3]).is_err(), "in the word of the contents");
    let mut rng = Rng::stream(1, "damage");
    for _ in 0..200 {
        let mut damaged = image.clone();
        let place = rng.below(image.len() as u64) as usize;
        damaged[place] ^= 1 << rng.below(8);
        assert!(load(&damaged).is_err(), "a bit of byte {place}");
    }
}

#[test]
fn damage_is_an_error_of_the_medium_and_never_data() {
    let mut session = Session::new(drive(""), Pace::Untimed).expect("a plain disk");
    let mut done = Vec::new();
    let bytes = [5; 8192];
    let write = |offset, bytes| Request::Write { offset, bytes, is_fua: false, placement: 0 };
    session.begin(Ns(0), 0, write(0, &bytes[..]), &mut done).expect("the drive takes it");
    assert!(session.corrupt(Lpn(1)) && !session.corrupt(Lpn(9)));
    let mut found = [0; 4096];
    assert!(session.read(4096, &mut found).is_err() && session.read(0, &mut found).is_ok());
    // A part of a damaged unit cannot be written, the whole can.
    assert!(session.begin(Ns(0), 1, write(4096, &bytes[..512]), &mut done).is_err());
    assert!(session.begin(Ns(0), 2, write(4096, &bytes[..4096]), &mut done).is_ok());
    session.read(4096, &mut found).expect("written anew");
    assert_eq!((found[0], session.status()["media_errors"].as_u64()), (5, Some(2)));
}

/// Pages that the write buffer had acknowledged and that found no room are lost: a flush fails for
/// each that it finds so, and was acknowledged before.
#[test]
fn a_flush_fails_when_a_worn_out_drive_has_lost_what_it_buffered() {
    let json = r#"{"nand": {"channels": 1, "dies_per_channel": 1, "blocks_per_plane": 24,
        "pages_per_block": 16, "page_size_bytes": 4096, "max_pe_cycles": 5},
        "ftl": {"over_provisioning_pct": 0.4, "write_buffer_pages": 8}}"#;
    let mut told = Vec::new();
    for seed in 0..6 {
        let simulation = Simulation::new(DeviceConfig::resolve(json).expect("a device"), seed);
        let mut session = Session::new(simulation, Pace::Timed).expect("a plain disk");
        let mut rng = Rng::stream(seed, "worn");
        let (mut done, mut token) = (Vec::new(), 0);
        // Writes as fast as the host can, until one is refused.
        loop {
            let offset = rng.below(session.capacity_bytes() / 4096) * 4096;
            token += 1;
            let write = Request::Write { offset, bytes: &[7; 4096], is_fua: false, placement: 0 };
            if session.begin(Ns(0), token, write, &mut done).is_err() {
                break;
            }
            if token % 4 == 0 {
                let next = session.next_at().expect("writes are under way");
                session.advance(next, &mut done);
            }
            assert!(token < 100_000, "seed {seed}: it must wear out");
        }
        let mut flush = |session: &mut Session| {
            token += 1;
            session.begin(Ns(0), token, Request::Flush, &mut done).expect("it is asked for");
            while let Some(next) = session.next_at() {
                session.advance(next, &mut done);
            }
            let ended = done.iter().find(|done| done.token == token).expect("it ends");
            ended.refusal.is_some()
        };
        told.push((0..40).take_while(|_| flush(&mut session)).count());
    }
    assert!(told.iter().all(|&failed| (1..40).contains(&failed)), "{told:?}");
}

/// A drive with this protection and these faults, of which pages 0 to 7 were written.
fn faulty(protection: &str, faults: &str, pace: Pace) -> Session {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16, "page_size_bytes": 4096,
        "faults": [{faults}]}},
        "ftl": {{"over_provisioning_pct": 0.4}}, "host": {{"protection": {protection}}}}}"#
    );
    let simulation = Simulation::new(DeviceConfig::resolve(&json).expect("a device"), 7);
    let mut session = Session::new(simulation, pace).expect("a plain disk");
    for page in 0..8 {
        let (bytes, mut done) = ([page as u8 + 1; 4096], Vec::new());
        let write =
            Request::Write { offset: page * 4096, bytes: &bytes, is_fua: false, placement: 0 };
        session.begin(Ns(0), page, write, &mut done).expect("the drive takes it");
        session.advance(Ns(20_000_000), &mut done);
    }
    session
}

/// What every protection finds of a changed bit and of a misdirected write: never data with those
/// that can tell, and what passes the others is counted.
#[test]
fn faults_are_found_by_what_can_find_them() {
    const FAULTS: &str = r#"{"kind": "corrupt", "unit": 2, "at_s": 0},
        {"kind": "misdirected", "unit": 3, "to": 5, "at_s": 0}"#;
    for (protection, finds_bit, finds_page) in [
        (r#""none""#, false, false),
        (r#""crc""#, true, true),
        (r#"{"kind": "dif", "type": 1}"#, true, true),
        (r#"{"kind": "dif", "type": 2, "first_reference_tag": 9}"#, true, true),
        (r#"{"kind": "dif", "type": 3, "application_tag": 5}"#, true, false),
    ] {
        let mut session = faulty(protection, FAULTS, Pace::Timed);
        session.strike(Ns(25_000_000));
        for (page, is_found) in [(2, finds_bit), (5, finds_page)] {
            let mut found = [0; 4096];
            let outcome = session.read(page * 4096, &mut found);
            assert_eq!(outcome.is_err(), is_found, "{protection}, page {page}: {outcome:?}");
        }
        for page in [0, 1, 3, 4, 6, 7] {
            let mut found = [0; 4096];
            session.read(page * 4096, &mut found).expect("nothing happened to it");
            assert_eq!(found, [page as u8 + 1; 4096]);
        }
        let status = session.status();
        let expected = u64::from(finds_bit) + u64::from(finds_page);
        assert_eq!(status["media_errors"], expected, "{protection}");
        assert_eq!(status["silent_errors"], 2 - expected, "{protection}");
        assert_eq!(status["faults_struck"], 2);
        session.settle();
        session.audit().expect("faults are no contradictions");
        // Damage lasts in an image, and so does what finds it.
        let mut image = Vec::new();
        session.save(&mut image).expect("a vector takes all");
        let simulation = Simulation::from_image(&image, 7).expect("an image");
        let mut again = Session::new(simulation, Pace::Timed).expect("a plain disk");
        again.load_contents(&image).expect("what was saved");
        let mut found = [0; 4096];
        assert_eq!(again.read(2 * 4096, &mut found).is_err(), finds_bit);
        assert_eq!(again.read(5 * 4096, &mut found).is_err(), finds_page);
        again.read(7 * 4096, &mut found).expect("nothing happened to it");
    }
}

/// A fault waits for its time and for data on the flash; without a clock for the data alone.
#[test]
fn faults_strike_when_they_are_due() {
    let fault = r#"{"kind": "corrupt", "unit": 2, "at_s": 1}"#;
    let struck = |session: &Session| session.status()["faults_struck"].as_u64();
    let mut session = faulty(r#""crc""#, fault, Pace::Timed);
    session.strike(Ns(999_999_999));
    assert_eq!(struck(&session), Some(0));
    session.strike(Ns(1_000_000_000));
    assert_eq!(struck(&session), Some(1));
    let mut session = faulty(r#""crc""#, fault, Pace::Untimed);
    session.strike(Ns(0));
    assert_eq!(struck(&session), Some(1));
    let fault = r#"{"kind": "corrupt", "unit": 9, "at_s": 0}"#;
    let mut session = faulty(r#""crc""#, fault, Pace::Untimed);
    session.strike(Ns(0));
    assert_eq!(struck(&session), Some(0));
}

/// Every kind of protection through collections, trims and a restart.
#[test]
fn bytes_follow_the_map_under_every_protection() {
    for protection in
        [r#""none""#, r#"{"kind": "dif", "type": 1}"#, r#"{"kind": "dif", "type": 3}"#]
    {
        let json = format!(
            r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
            "blocks_per_plane": 24, "pages_per_block": 16}},
            "ftl": {{"over_provisioning_pct": 0.4, "write_buffer_pages": 16}},
            "host": {{"protection": {protection}}}}}"#
        );
        let simulation = Simulation::new(DeviceConfig::resolve(&json).expect("a device"), 7);
        let mut session = Session::new(simulation, Pace::Timed).expect("a plain disk");
        let truth = exercise(&mut session, 5, 1000);
        assert_eq!(session.status()["media_errors"], 0);
        assert_eq!(session.status()["silent_errors"], 0);
        let mut image = Vec::new();
        session.save(&mut image).expect("a vector takes all");
        let simulation = Simulation::from_image(&image, 7).expect("an image");
        let mut again = Session::new(simulation, Pace::Untimed).expect("a plain disk");
        again.load_contents(&image).expect("what was saved");
        let mut found = vec![1; truth.len()];
        again.read(0, &mut found).expect("what was written");
        assert!(found == truth);
        // The file is checked whatever protects the data on the flash.
        let last = image.len() - 1;
        image[last] ^= 1;
        let simulation = Simulation::from_image(&image, 7).expect("an image");
        let mut again = Session::new(simulation, Pace::Untimed).expect("a plain disk");
        assert!(again.load_contents(&image).is_err(), "{protection}");
    }
}

#[test]
fn a_timed_session_takes_what_the_model_takes() {
    let run = |more| {
        let mut session = Session::new(drive(more), Pace::Timed).expect("a plain disk");
        let mut done = Vec::new();
        let bytes = [1; 4096];
        let write = Request::Write { offset: 0, bytes: &bytes, is_fua: false, placement: 0 };
        session.begin(Ns(1000), 1, write, &mut done).expect("the drive takes it");
        session.advance(Ns(10_000_000), &mut done);
        let begin = Ns(20_000_000);
        let read = Request::Read { offset: 0, length: 4096 };
        session.begin(begin, 2, read, &mut done).expect("the drive takes it");
        session.advance(Ns(40_000_000), &mut done);
        assert_eq!((done[0].token, done[1].token), (1, 2));
        (done[0].at.0 - 1000, done[1].at.0 - begin.0)
    };
    let (written, read) = run("");
    // tPROG and tR of the flash, and the transfer of a page.
    assert!(written > read && read > 20_000, "{written} ns and {read} ns");
    // A write buffer answers at once, and has the page until it leaves.
    let (buffered, from_memory) = run(KINDS[1]);
    assert!(buffered < read && from_memory < read, "{buffered} ns and {from_memory} ns");
}

#[test]
fn what_is_no_plain_disk_is_refused() {
    let zoned = r#", "mapping": {"kind": "zoned", "zone_bytes": 131072}"#;
    let refused = Session::new(drive(zoned), Pace::Untimed).err().expect("zones");
    assert_eq!(refused.path, "ftl.mapping");
}

/// Each command reads one page: as many fail as the model could not correct, and only those,
/// whatever a read waits for before it reaches the flash.
#[test]
fn a_read_that_cannot_be_corrected_is_refused() {
    let dftl = r#", "mapping": {"kind": "dftl", "cache_bytes": 4096}"#;
    for (pace, ftl, host) in [
        (Pace::Untimed, "", "{}"),
        (Pace::Timed, "", "{}"),
        (Pace::Timed, "", r#"{"command_overhead_us": 10}"#),
        (Pace::Timed, dftl, "{}"),
    ] {
        let json = format!(
            r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
            "blocks_per_plane": 200, "pages_per_block": 16}},
            "ftl": {{"over_provisioning_pct": 0.4{ftl}}},
            "host": {host},
            "reliability": {{"kind": "power_law", "floor": 1.2e-3}},
            "ecc": {{"algorithm": "bch", "bch_m": 14, "bch_t": 16}}}}"#
        );
        let config = DeviceConfig::resolve(&json).expect("a device");
        let mut session = Session::new(Simulation::new(config, 7), pace).expect("a plain disk");
        let unit = session.unit_bytes();
        let bytes = vec![5; unit as usize];
        // Entries of all pages of the map, of which the cache of `dftl` has room for one.
        let stride = session.capacity_bytes() / 64 / unit * unit;
        let mut done = Vec::new();
        for token in 0..64 {
            let request = Request::Write {
                offset: token * stride,
                bytes: &bytes,
                is_fua: true,
                placement: 0,
            };
            session.begin(Ns(0), token, request, &mut done).expect("the drive takes it");
        }
        session.advance(Ns(1 << 40), &mut done);
        done.clear();
        let (mut failed, count) = (0, 2000);
        for token in 64..64 + count {
            let request = Request::Read { offset: token % 64 * stride, length: unit };
            let begun = session.begin(Ns((1 << 40) + token * 1_000_000), token, request, &mut done);
            failed += u64::from(begun == Err(Refusal::Uncorrectable));
        }
        session.advance(Ns(1 << 41), &mut done);
        assert!(done.iter().all(|one| one.refusal.is_none() || pace == Pace::Timed));
        let lost = |one: &&Done| one.refusal == Some(Refusal::Uncorrectable);
        failed += done.iter().filter(lost).count() as u64;
        let counted = session.status()["uncorrectable_reads"].as_u64().expect("a count");
        assert_eq!(failed, counted, "{pace:?}{ftl} {host}");
        assert!(failed > count / 100 && failed < count * 99 / 100, "{failed} of {count}");
    }
}
