//! Purges of a served drive: what they take, what they leave, and what a loss of power or an image
//! in their middle does.

use opennandlab_sim::drive::{DeviceConfig, Mounting};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{
    Begun, Done, Pace, PurgeKind, PurgeOrder, Refusal, Request, Session,
};
use opennandlab_sim::units::Ns;

const ERASE: PurgeOrder = PurgeOrder { kind: PurgeKind::Erase, mark: 0 };
const CRYPTO: PurgeOrder = PurgeOrder { kind: PurgeKind::Crypto, mark: 4 };
const ERASE_US: u64 = 3000;

/// A drive: dies, blocks of each, and whatever else its device file says of the FTL.
fn simulation(dies: u64, blocks: u64, more: &str) -> Simulation {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": {dies}, "planes_per_die": 1,
        "blocks_per_plane": {blocks}, "pages_per_block": 16,
        "timing": {{"t_read_us": 40, "t_program_us": [300], "t_erase_us": {ERASE_US}}}}},
        "ftl": {{"over_provisioning_pct": 0.4{more}}}}}"#
    );
    Simulation::new(DeviceConfig::resolve(&json).expect("a device"), 7)
}

fn drive(dies: u64, blocks: u64, pace: Pace) -> Session {
    Session::new(simulation(dies, blocks, ""), pace).expect("a plain disk")
}

/// Writes a range of the drive until about all of it is written; when the last request has ended.
fn fill(session: &mut Session, rng: &mut Rng) -> Ns {
    let (unit, capacity) = (session.unit_bytes(), session.capacity_bytes());
    let (mut at, mut done) = (Ns(0), Vec::new());
    for token in 0..capacity / unit {
        let offset = rng.below(capacity / unit) * unit;
        let bytes = vec![1 + rng.below(254) as u8; unit as usize];
        let write = Request::Write { offset, bytes: &bytes, is_fua: false, placement: 0 };
        session.begin(at, token, write, &mut done).expect("there is room");
        at = at + Ns(200_000);
    }
    while session.pending_count() > 0 {
        at = session.next_at().expect("it continues");
        session.advance(at, &mut done);
    }
    at + Ns(10_000_000_000)
}

fn reads_zeros(session: &mut Session) -> bool {
    let mut bytes = vec![1; session.capacity_bytes() as usize];
    session.read(0, &mut bytes).expect("nothing is wrong with zeros");
    bytes.iter().all(|&byte| byte == 0)
}

/// An erase of a block, in the units of `wear`.
const ONCE: u64 = 1_000_000;

/// Erase counts in millionths: least, highest and mean.
fn wear(session: &Session) -> [u64; 3] {
    let status = session.status();
    let [least, _, highest] = session.vitals().erase_counts;
    let mean = status["erase_count_mean"].as_f64().expect("there are blocks");
    [least * ONCE, highest * ONCE, (mean * ONCE as f64).round() as u64]
}

fn write(session: &mut Session, at: Ns, offset: u64, value: u8) -> Result<Begun, Refusal> {
    let bytes = vec![value; session.unit_bytes() as usize];
    let write = Request::Write { offset, bytes: &bytes, is_fua: true, placement: 0 };
    session.begin(at, 1 << 40, write, &mut Vec::new())
}

#[test]
fn untimed_every_block_is_erased_once_more() {
    let mut rng = Rng::stream(1, "purge");
    let mut session = drive(2, 24, Pace::Untimed);
    fill(&mut session, &mut rng);
    let before = wear(&session);
    assert_eq!(session.purge(Ns(0), 1, ERASE, &mut Vec::new()), Ok(Begun::Done));
    assert_eq!(wear(&session), before.map(|count| count + ONCE));
    assert!(session.purge_progress(Ns(0)).is_none() && reads_zeros(&mut session));
    session.audit().expect("it is sound");
    assert_eq!(write(&mut session, Ns(0), 4096, 9), Ok(Begun::Done));
    let mut bytes = [0; 4096];
    session.read(4096, &mut bytes).expect("it was written");
    assert_eq!(bytes, [9; 4096]);
}

/// Of an idle drive it takes the erases of the die with most blocks, to the nanosecond.
#[test]
fn it_takes_the_erases_of_a_die_and_refuses_meanwhile() {
    let mut rng = Rng::stream(2, "purge");
    for case in 0..8 {
        let (dies, blocks) = (1 + rng.below(4), 16 + rng.below(17));
        let mut session = drive(dies, blocks, Pace::Timed);
        let at = fill(&mut session, &mut rng);
        let (before, mut done) = (wear(&session), Vec::new());
        session.advance(at, &mut done);
        done.clear();
        assert_eq!(session.purge(at, 5, ERASE, &mut done), Ok(Begun::Running));
        let span = Ns(blocks * ERASE_US * 1000);
        assert_eq!(session.purge_time(PurgeKind::Erase), span);
        // Half of the blocks of each die, rounded down.
        let half = Ns(at.0 + blocks / 2 * ERASE_US * 1000);
        session.advance(half, &mut done);
        let all = dies * blocks;
        let progress = session.purge_progress(half);
        assert_eq!(progress, Some((ERASE, [dies * (blocks / 2), all])), "case {case}");
        let refused = Err(Refusal::Purging { mark: 0 });
        assert_eq!(write(&mut session, half, 0, 1), refused);
        let read = Request::Read { offset: 0, length: 4096 };
        assert_eq!(session.begin(half, 7, read, &mut done), refused);
        assert_eq!(session.begin(half, 8, Request::Flush, &mut done), Ok(Begun::Done));
        assert_eq!(session.purge(half, 9, CRYPTO, &mut done), refused);
        session.advance(Ns(at.0 + span.0 - 1), &mut done);
        assert!(done.is_empty());
        session.advance(Ns(at.0 + span.0), &mut done);
        assert_eq!(done, [Done { token: 5, at: Ns(at.0 + span.0), refusal: None, place: None }]);
        assert_eq!(wear(&session), before.map(|count| count + ONCE));
        assert!(reads_zeros(&mut session) && session.purged().is_none());
        write(&mut session, Ns(at.0 + 2 * span.0), 0, 3).expect("it takes writes again");
        session.settle();
        session.audit().expect("it is sound");
        assert_eq!(session.status()["unaccounted"], serde_json::Value::Null);
    }
}

#[test]
fn requests_from_before_end_first() {
    let mut session = drive(2, 24, Pace::Timed);
    let mut done = Vec::new();
    for token in 0..40 {
        let write =
            Request::Write { offset: token * 4096, bytes: &[7; 4096], is_fua: true, placement: 0 };
        session.begin(Ns(0), token, write, &mut done).expect("there is room");
    }
    assert_eq!(session.purge(Ns(1), 99, ERASE, &mut done), Ok(Begun::Running));
    assert_eq!(session.purge_progress(Ns(1)), Some((ERASE, [0, 0])));
    while let (Some(next), true) = (session.next_at(), session.purge_progress(Ns(1)).is_some()) {
        session.advance(next, &mut done);
    }
    assert_eq!(done.len(), 41);
    assert_eq!(done.last().map(|it| it.token), Some(99));
    let ends: Vec<u64> = done.iter().map(|it| it.at.0).collect();
    assert!(ends[40] >= ends[39] + 24 * ERASE_US * 1000, "{ends:?}");
    assert!(reads_zeros(&mut session));
}

#[test]
fn a_crypto_purge_takes_no_erases_and_is_marked() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let mut session = drive(2, 24, pace);
        let at = fill(&mut session, &mut Rng::stream(3, "purge"));
        let (before, mut done) = (wear(&session), Vec::new());
        session.purge(at, 5, CRYPTO, &mut done).expect("it begins");
        session.advance(at, &mut done);
        assert_eq!(wear(&session), before);
        assert!(reads_zeros(&mut session) && session.purge_progress(at).is_none());
        let purged = session.purged().expect("it has a mark");
        assert_eq!((purged.mark, purged.count), (4, 1));
        assert_eq!(purged.written_bytes, session.vitals().totals.host_bytes[1]);
        session.settle();
        session.audit().expect("it is sound");
    }
}

fn cuttable() -> Session {
    let session =
        Session::cuttable(simulation(2, 24, r#", "gc_reserve_blocks": 4"#)).expect("it may be cut");
    session.shut_down().mount(&Mounting::default()).ok().expect("nothing interrupts it").0
}

/// The blocks that were being erased take one erase more; all others one, as without the cut.
#[test]
fn after_a_loss_of_power_the_blocks_that_are_left_are_erased() {
    for (order, extra) in [(ERASE, 2.0), (CRYPTO, 0.0)] {
        let mut session = cuttable();
        let at = fill(&mut session, &mut Rng::stream(4, "purge"));
        let (before, mut done) = (wear(&session), Vec::new());
        session.purge(at, 5, order, &mut done).expect("it begins");
        // In the middle of the sixth erase of both dies.
        let cut = Ns(at.0 + (5 * ERASE_US + 1500) * 1000);
        session.advance(cut, &mut done);
        let versions: Vec<u32> = session.known().map(|(version, _)| version).collect();
        let (remains, ..) = session.cut(cut);
        let mounting = Mounting { versions, ..Mounting::default() };
        let (mut session, _) = remains.mount(&mounting).ok().expect("nothing interrupts it");
        assert!(reads_zeros(&mut session));
        if order == ERASE {
            assert_eq!(session.purge_progress(cut), Some((ERASE, [10, 48])));
            assert_eq!(write(&mut session, cut, 0, 1), Err(Refusal::Purging { mark: 0 }));
            let on = Ns(cut.0 + 1_000_000);
            session.resume_purge(on);
            let end = Ns(on.0 + 19 * ERASE_US * 1000);
            session.advance(Ns(end.0 - 1), &mut done);
            assert_eq!(session.purge_progress(Ns(end.0 - 1)), Some((ERASE, [46, 48])));
            session.advance(end, &mut done);
            let sum = 48.0 * (wear(&session)[2] - before[2]) as f64 / ONCE as f64;
            assert!((sum - (48.0 + extra)).abs() < 1e-4, "{sum}");
        }
        assert!(session.purge_progress(cut).is_none() && reads_zeros(&mut session));
        write(&mut session, Ns(cut.0 * 2), 0, 3).expect("it takes writes again");
        session.settle();
        session.audit().expect("it is sound");
    }
}

#[test]
fn an_image_keeps_what_is_left_and_damage_is_named() {
    let mut session = drive(2, 24, Pace::Timed);
    let at = fill(&mut session, &mut Rng::stream(5, "purge"));
    let before = wear(&session);
    let order = PurgeOrder { mark: 2, ..ERASE };
    session.purge(at, 5, order, &mut Vec::new()).expect("it begins");
    session.advance(Ns(at.0 + 10 * ERASE_US * 1000), &mut Vec::new());
    session.settle();
    session.set_note("front", serde_json::json!({"name": "x"}));
    let (mut image, totals) = (Vec::new(), session.vitals().totals);
    session.save(&mut image).expect("memory takes it");
    let load = |image: &[u8], pace| {
        let simulation = Simulation::from_image(image, 7).map_err(|error| error.to_string())?;
        let mut session = Session::new(simulation, pace).map_err(|error| error.to_string())?;
        session.load_contents(image).map(|()| session)
    };
    let mut again = load(&image, Pace::Timed).expect("it is sound");
    assert_eq!(again.vitals().totals, totals);
    assert_eq!(again.note("front"), Some(&serde_json::json!({"name": "x"})));
    again.resume_purge(Ns(0));
    assert_eq!(again.purge_progress(Ns(0)), Some((order, [20, 48])));
    let mut done = Vec::new();
    again.advance(Ns(14 * ERASE_US * 1000), &mut done);
    assert!(again.purge_progress(Ns(0)).is_none() && reads_zeros(&mut again));
    assert_eq!(wear(&again), before.map(|count| count + ONCE));
    assert_eq!(again.purged().map(|it| it.mark), Some(2));
    // Untimed it is done at once.
    let mut again = load(&image, Pace::Untimed).expect("it is sound");
    again.resume_purge(Ns(0));
    assert!(again.purge_progress(Ns(0)).is_none());
    // Damage is named, an image from before has the defaults, and what is not known is refused.
    let start = image.windows(4).rposition(|word| word == b"ONLS").expect("a section");
    let mut damaged = image.clone();
    *damaged.last_mut().expect("it has bytes") ^= 1;
    let refused = load(&damaged, Pace::Timed).err().expect("it is damaged");
    assert_eq!(refused, "the section `life` is damaged: its checksum does not fit");
    let refused = load(&image[..image.len() - 1], Pace::Timed).err().expect("it is cut off");
    assert!(refused.starts_with("the section `life` is cut off"), "{refused}");
    let mut old = load(&image[..start], Pace::Timed).expect("an old image is read");
    assert!(old.purge_progress(Ns(0)).is_none() && reads_zeros(&mut old));
    let mut foreign = image.clone();
    foreign[start + 4] = b'x';
    assert!(load(&foreign, Pace::Timed).is_err());
}
