//! Images of a drive that is being served: each holds the drive as it was at the first look,
//! whatever happens before its last byte is written.

use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{
    Pace, PurgeKind, PurgeOrder, Refusal, Request, Service, Session, Snapshot,
};
use opennandlab_sim::units::Ns;

/// The drives: a write buffer, maps of other kinds, collections, SLC caches.
const DRIVES: [&str; 5] = [
    r#""ftl": {"over_provisioning_pct": 0.4}"#,
    r#""ftl": {"over_provisioning_pct": 0.4, "write_buffer_pages": 16}"#,
    r#""ftl": {"over_provisioning_pct": 0.4, "write_buffer_pages": 16, "collection": "steps",
        "write_frontiers": "host_gc"}"#,
    r#""ftl": {"over_provisioning_pct": 0.4, "write_buffer_pages": 64},
       "host": {"power_loss_protected": true}"#,
    r#""ftl": {"over_provisioning_pct": 0.4, "mapping": {"kind": "fast", "log_blocks": 8}}"#,
];

fn session(drive: &str, pace: Pace) -> Option<Session> {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16}}, {drive}}}"#
    );
    let device = DeviceConfig::resolve(&json).ok()?;
    Some(Session::new(Simulation::new(device, 7), pace).expect("a plain disk"))
}

fn load(image: &[u8], pace: Pace) -> Session {
    let simulation = Simulation::from_image(image, 9).expect("tables that agree");
    let mut session = Session::new(simulation, pace).expect("a plain disk");
    session.load_contents(image).expect("its contents");
    session
}

/// Writes the rest of an image.
fn finish(session: &mut Session, snapshot: &mut Snapshot, image: &mut Vec<u8>) {
    while session.copy_units(snapshot, image).expect("nothing ends it") {}
    image.extend(&snapshot.tail);
}

#[test]
fn an_image_is_the_drive_of_the_first_look() {
    for (place, drive) in DRIVES.iter().enumerate() {
        for pace in [Pace::Timed, Pace::Untimed] {
            let Some(mut session) = session(drive, pace) else { panic!("{drive}") };
            let mut rng = Rng::stream(place as u64, "snapshots");
            let capacity = session.capacity_bytes();
            let mut truth = vec![0; capacity as usize];
            let (mut at, mut done, mut token) = (Ns(0), Vec::new(), 0);
            let mut request = |session: &mut Session, truth: &mut Vec<u8>, rng: &mut Rng| {
                at = at + Ns(rng.below(60_000));
                token += 1;
                let length = 512 * (1 + rng.below(32));
                let offset = rng.below((capacity - length) / 512) * 512;
                let range = offset as usize..(offset + length) as usize;
                let bytes = vec![rng.below(255) as u8; length as usize];
                let request = match rng.below(8) {
                    0 => Request::Flush,
                    1 => Request::Zero { offset, length, is_fua: false, is_allocated: false },
                    _ => Request::Write {
                        offset,
                        bytes: &bytes,
                        is_fua: rng.below(9) == 0,
                        placement: 0,
                    },
                };
                match request {
                    Request::Zero { .. } => truth[range].fill(0),
                    Request::Write { .. } => truth[range].copy_from_slice(&bytes),
                    _ => {}
                }
                session.begin(at, token, request, &mut done).expect("there is room");
            };
            for round in 0..12 {
                (0..rng.below(120)).for_each(|_| request(&mut session, &mut truth, &mut rng));
                let service = Service { power_cycles: 1, unsafe_shutdowns: 1, age_ns: 5 };
                let (mut snapshot, then) = (session.snapshot(service), truth.clone());
                let totals = session.vitals().totals;
                let mut image = snapshot.head.clone();
                // The drive works before the rest is copied.
                (0..rng.below(60)).for_each(|_| request(&mut session, &mut truth, &mut rng));
                finish(&mut session, &mut snapshot, &mut image);
                for pace in [Pace::Untimed, Pace::Timed] {
                    let mut again = load(&image, pace);
                    let mut found = vec![1; capacity as usize];
                    again.read(0, &mut found).expect("nothing is damaged");
                    assert!(found == then, "drive {place}, round {round}, {pace:?}");
                    assert_eq!(again.vitals().totals, totals);
                    assert_eq!(again.vitals().service, service);
                    again.settle();
                    again.audit().expect("it is sound");
                }
            }
            session.settle();
            session.audit().expect("it is sound");
        }
    }
}

/// What is put together while clients wait is a small share of the image.
#[test]
fn the_first_look_is_short() {
    let mut session = session(DRIVES[0], Pace::Untimed).expect("a device");
    let capacity = session.capacity_bytes();
    for offset in (0..capacity).step_by(4096) {
        let write = Request::Write { offset, bytes: &[7; 4096], is_fua: false, placement: 0 };
        session.begin(Ns(0), offset, write, &mut Vec::new()).expect("there is room");
    }
    let mut snapshot = session.snapshot(Service::default());
    let looked = snapshot.bytes();
    let mut image = snapshot.head.clone();
    finish(&mut session, &mut snapshot, &mut image);
    let share = looked as f64 / image.len() as f64;
    assert!(share < 0.03, "{share}");
}

#[test]
fn a_snapshot_ends_when_the_data_is_gone() {
    let mut session = session(DRIVES[0], Pace::Untimed).expect("a device");
    let write = Request::Write { offset: 0, bytes: &[7; 4096], is_fua: false, placement: 0 };
    session.begin(Ns(0), 0, write, &mut Vec::new()).expect("there is room");
    let mut snapshot = session.snapshot(Service::default());
    let order = PurgeOrder { kind: PurgeKind::Erase, mark: 0 };
    assert_ne!(session.purge(Ns(0), 1, order, &mut Vec::new()), Err(Refusal::WornOut));
    let refused = session.copy_units(&mut snapshot, &mut Vec::new());
    assert_eq!(refused, Err("the drive has lost its power or its data in the meantime".into()));
    session.drop_snapshot(snapshot);
    session.begin(Ns(0), 2, write, &mut Vec::new()).expect("there is room");
    // One that is given up leaves nothing behind.
    let (before, snapshot) = (session.status(), session.snapshot(Service::default()));
    session.drop_snapshot(snapshot);
    assert_eq!(session.status(), before);
    session.audit().expect("it is sound");
}
