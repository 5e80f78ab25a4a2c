//! Several namespaces of one drive: what hosts learn of them, and that none touches another.

use opennandlab_nvme::{Nvme, Setup};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

use crate::host::{entry, number, put, ranged, serve, session, setup, Host};

const EVERY: u32 = u32::MAX;

fn divided(shares: &str) -> Setup {
    Setup { namespaces: Some(shares.into()), ..setup() }
}

/// The entry of `ranged` for another namespace.
fn of(namespace: u32, mut entry: [u8; 64]) -> [u8; 64] {
    put(&mut entry, 4, 4, namespace.into());
    entry
}

fn identify(admin: &mut Host, kind: u32, namespace: u32) -> (u16, Vec<u8>) {
    let done = admin.take(entry(6, namespace, &[kind]), 4096);
    (done.status, done.data)
}

#[test]
fn hosts_find_every_namespace() {
    let (server, address) =
        serve(session(Pace::Untimed, ""), Pace::Untimed, &divided("25%,50%,25%"));
    let mut admin = Host::pair(address, 0).0;
    let capacity = session(Pace::Untimed, "").capacity_bytes() / 4096;
    let page = identify(&mut admin, 1, 0).1;
    assert_eq!((number(&page, 516, 4), number(&page, 280, 8)), (3, capacity * 4096));
    for kind in [2, 7, 0x10, 0x1a] {
        let list = |from: u32, admin: &mut Host| {
            let page = identify(admin, kind, from).1;
            (0..4).map(|place| number(&page, 4 * place, 4)).collect::<Vec<_>>()
        };
        assert_eq!(list(0, &mut admin), [1, 2, 3, 0]);
        assert_eq!(list(2, &mut admin), [3, 0, 0, 0]);
        assert_eq!(list(3, &mut admin), [0; 4]);
        assert_eq!(identify(&mut admin, kind, EVERY).0, 0x0b);
    }
    let mut names = Vec::new();
    let mut blocks = 0;
    for id in 1..=3 {
        let page = identify(&mut admin, 0, id).1;
        blocks += number(&page, 0, 8);
        assert_eq!((number(&page, 0, 8), number(&page, 16, 8)), (number(&page, 8, 8), 0));
        assert_eq!(number(&page, 48, 8), number(&page, 0, 8) * 4096);
        let descriptors = identify(&mut admin, 3, id).1;
        assert_eq!(descriptors[24..40], page[104..120]);
        names.push(descriptors[4..20].to_vec());
        names.push(descriptors[24..40].to_vec());
        for kind in [5, 8, 0x11, 0x12] {
            assert_eq!(identify(&mut admin, kind, id).0, 0, "{kind} {id}");
        }
    }
    assert_eq!(blocks, capacity);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 6, "names differ");
    for (kind, id) in [(0, 0), (0, 4), (3, 4), (3, EVERY), (5, 4), (8, 4), (0x11, EVERY), (0x12, 4)]
    {
        assert_eq!(identify(&mut admin, kind, id).0, 0x0b, "{kind} {id}");
    }
    // What all have in common is no size and no name.
    let page = identify(&mut admin, 0, EVERY).1;
    assert_eq!((page[25], page[130], number(&page, 0, 8)), (1, 9, 0));
    assert_eq!(page[104..120], [0; 16]);
    drop(server.stop());
}

#[test]
fn what_one_holds_no_other_has() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let (server, address) = serve(session(pace, ""), pace, &divided("25%,75%"));
        let (mut admin, mut queue) = Host::pair(address, 0);
        let first = number(&identify(&mut admin, 0, 1).1, 0, 8);
        let second = number(&identify(&mut admin, 0, 2).1, 0, 8);
        // The last block of one and the first of the next; both first ones.
        for (id, block, value) in [(1, first - 1, 1), (2, 0, 2), (1, 0, 3), (2, second - 1, 4)] {
            assert_eq!(queue.ask(of(id, ranged(1, block, 1)), &[value; 4096]).status, 0);
        }
        for (id, block, value) in [(1, first - 1, 1), (2, 0, 2), (1, 0, 3), (2, second - 1, 4)] {
            let done = queue.take(of(id, ranged(2, block, 1)), 4096);
            assert_eq!((done.status, done.data), (0, vec![value; 4096]));
            assert_eq!(queue.ask(of(id, ranged(5, block, 1)), &[value; 4096]).status, 0);
        }
        for (id, limit) in [(1, first), (2, second)] {
            for (opcode, bytes) in [(1, 4096), (5, 4096), (8, 0), (12, 0)] {
                for (block, blocks) in [(limit, 1), (limit - 1, 2)] {
                    let data = vec![0; bytes * blocks as usize];
                    let done = queue.ask(of(id, ranged(opcode, block, blocks)), &data);
                    assert_eq!(done.status, 0x80, "{opcode} {block}");
                }
            }
            let mut range = [0; 16];
            put(&mut range, 4, 4, 2);
            put(&mut range, 8, 8, limit - 1);
            assert_eq!(queue.ask(entry(9, id, &[0, 4]), &range).status, 0x80);
        }
        let used = |admin: &mut Host, id| number(&identify(admin, 0, id).1, 16, 8);
        assert_eq!((used(&mut admin, 1), used(&mut admin, 2)), (2, 2));
        assert_eq!(number(&admin.log(0xc0, 512), 152, 8), 4);
        // All of the second has no value any more; the first keeps its data.
        let mut range = [0; 16];
        put(&mut range, 4, 4, second);
        assert_eq!(queue.ask(entry(9, 2, &[0, 4]), &range).status, 0);
        assert_eq!((used(&mut admin, 1), used(&mut admin, 2)), (2, 0));
        assert_eq!(queue.take(of(1, ranged(2, first - 1, 1)), 4096).data, [1; 4096]);
        assert_eq!(queue.take(of(2, ranged(2, 0, 1)), 4096).data, [0; 4096]);
        // A flush of one and of all; other commands are of one.
        for (id, status) in [(1, 0), (2, 0), (EVERY, 0), (0, 0x0b), (3, 0x0b)] {
            assert_eq!(queue.ask(entry(0, id, &[]), &[]).status, status, "{id}");
        }
        assert_eq!(queue.ask(of(EVERY, ranged(1, 0, 1)), &[0; 4096]).status, 0x0b);
        let (session, ..) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
    }
}

#[test]
fn a_drive_that_is_divided_has_its_own_namespaces() {
    let device = DeviceConfig::resolve(
        r#"{"nand": {"channels": 2, "dies_per_channel": 1, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16}, "ftl": {"over_provisioning_pct": 0.4},
        "host": {"namespaces": [{"name": "a", "channels": [0]}, {"name": "b", "channels": [1]}]}}"#,
    )
    .expect("a device");
    let made = || {
        let simulation = Simulation::new(device.clone(), 1);
        Session::new(simulation, Pace::Untimed).expect("a plain disk")
    };
    let own: Vec<u64> = made().namespaces().iter().map(|it| it.pages.len() as u64).collect();
    let (server, address) = serve(made(), Pace::Untimed, &setup());
    let mut admin = Host::pair(address, 0).0;
    let sizes: Vec<_> = (1..3).map(|id| number(&identify(&mut admin, 0, id).1, 0, 8)).collect();
    assert_eq!(sizes, own);
    drop(server.stop());
    let refused = Nvme::new(&made(), &divided("50%,50%"), ([127, 0, 0, 1], 1).into());
    let message = refused.map(|_| ()).expect_err("it has its own");
    assert!(message.contains("`50%,50%`, for a drive that host.namespaces divides"), "{message}");
}

#[test]
fn shares_without_a_block_are_refused() {
    let drive = session(Pace::Untimed, "");
    let address = ([127, 0, 0, 1], 4420).into();
    for (shares, said) in [
        ("0.01%,99.99%", "`0.01%,99.99%` leaves number 1 without a block"),
        ("25%,70%", "`25%,70%`; accepted: 1 to 64 shares above 0 that are 100 % together"),
    ] {
        let refused = Nvme::new(&drive, &divided(shares), address).map(|_| ());
        let message = refused.expect_err("no namespaces");
        assert!(message.starts_with("namespaces: ") && message.contains(said), "{message}");
    }
}
