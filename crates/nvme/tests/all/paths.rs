//! Several controllers of one drive, as paths of one host.

use opennandlab_nvme::Setup;
use opennandlab_sim::session::Pace;

use crate::host::{entry, number, ranged, serve, session, setup, Host};

/// The controllers that a page lists, from a number on.
fn listed(admin: &mut Host, kind: u32, from: u32) -> Vec<u64> {
    let page = admin.take(entry(6, 1, &[kind | from << 16]), 4096).data;
    (0..number(&page, 0, 2) as usize).map(|place| number(&page, 2 + 2 * place, 2)).collect()
}

#[test]
fn several_controllers_share_the_namespaces() {
    for is_multipath in [false, true] {
        let setup = Setup { is_multipath, ..setup() };
        let (server, address) = serve(session(Pace::Timed, ""), Pace::Timed, &setup);
        let (mut first, mut queue) = Host::pair(address, 0);
        let (mut second, mut other) = Host::pair(address, 0);
        for admin in [&mut first, &mut second] {
            let page = admin.take(entry(6, 0, &[1]), 4096).data;
            assert_eq!(page[76], u8::from(is_multipath) << 1);
            assert_eq!(admin.take(entry(6, 1, &[0]), 4096).data[30], u8::from(is_multipath));
            assert_eq!(admin.take(entry(6, 1, &[8]), 4096).data[1], u8::from(is_multipath));
        }
        for kind in [0x12, 0x13] {
            let all = if is_multipath { vec![1, 2] } else { vec![2] };
            assert_eq!(listed(&mut second, kind, 0), all);
            assert_eq!(listed(&mut second, kind, 2), [2]);
            assert!(listed(&mut second, kind, 3).is_empty());
        }
        // What is written over one path is read over the other.
        assert_eq!(queue.ask(ranged(1, 7, 1), &[7; 4096]).status, 0);
        assert_eq!(other.take(ranged(2, 7, 1), 4096).data, [7; 4096]);
        // A path that ends leaves the other.
        drop((first, queue));
        assert_eq!(other.take(ranged(2, 7, 1), 4096).data, [7; 4096]);
        drop(server.stop());
    }
}
