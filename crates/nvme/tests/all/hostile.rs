//! Hosts that send anything: PDUs that make no sense, lengths that lie, halves of a capsule, sound
//! PDUs in any order. None of them hurts another host.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::host::{
    connect_data, connect_entry, entry, initialize, number, put, ranged, start, Host, NQN,
};
use opennandlab_sim::rng::Rng;
use opennandlab_sim::session::Pace;

/// A host that is orderly all the while.
fn exchange(queue: &mut Host, value: u8) {
    assert_eq!(queue.ask(ranged(1, 2, 1), &[value; 4096]).status, 0);
    assert_eq!(queue.take(ranged(2, 2, 1), 4096).data, [value; 4096]);
}

/// What a server says before it closes: the type of its last PDU, and its reason if it gives one.
fn farewell(host: &mut Host) -> (u8, u64) {
    let mut last = (0, 0);
    while let Some((kind, header, _)) = host.receive() {
        last = (kind, if kind == 3 { number(&header, 0, 2) } else { 0 });
    }
    last
}

#[test]
fn nonsense_is_named_and_ends_the_connection() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let (server, address) = start(pace);
        let (_admin, mut queue) = Host::pair(address, 0);
        // Header, sequence, digest, range, limit, parameter.
        let cases: [(Vec<u8>, u64); 8] = [
            (vec![99, 0, 24, 0, 24, 0, 0, 0], 1),
            (vec![4, 0, 71, 0, 72, 0, 0, 0], 1),
            (vec![4, 0, 72, 0, 71, 0, 0, 0], 1),
            (vec![4, 0, 72, 72, 255, 255, 255, 127], 5),
            (vec![4, 1, 72, 76, 76, 0, 0, 0], 1),
            (initialize(0), 2),
            ([&[6, 4, 24, 24, 28, 0, 0, 0][..], &[9; 16], &[0; 4]].concat(), 2),
            (vec![7, 0, 24, 0, 24, 0, 0, 0], 1),
        ];
        for (bytes, reason) in cases {
            let mut host = Host::reach(address, 0);
            host.stream.write_all(&bytes).expect("it reads");
            assert_eq!(farewell(&mut host), (3, reason), "{bytes:?}");
        }
        for (place, value, reason) in [(0, 4, 2), (8, 1, 6), (4, 129, 1)] {
            let mut bytes = initialize(0);
            bytes[place] = value;
            let mut stream = TcpStream::connect(address).expect("it listens");
            stream.write_all(&bytes).expect("it reads");
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            assert_eq!((answer[0], number(&answer, 8, 2)), (3, reason));
        }
        // A header whose digest is wrong ends the connection, data only its command.
        let (_other, mut digested) = Host::pair(address, 3);
        let mut write = ranged(1, 0, 1);
        put(&mut write, 32, 4, 4096);
        write[39] = 1;
        for (place, reason) in [(4096 + 72 + 4, Some(0x22)), (20, None)] {
            let mut bytes = digested.pdu(4, 0, &write, &[1; 4096]);
            bytes[place] ^= 1;
            digested.stream.write_all(&bytes).expect("it reads");
            let Some(status) = reason else {
                assert_eq!(farewell(&mut digested), (3, 3));
                break;
            };
            let (kind, header, _) = digested.receive().expect("it answers");
            assert_eq!((kind, number(&header, 14, 2) >> 1 & 0x3fff), (5, status));
        }
        exchange(&mut queue, 5);
        drop(server.stop());
    }
}

#[test]
fn data_that_was_not_asked_for_is_refused() {
    let (server, address) = start(Pace::Untimed);
    let (_admin, mut orderly) = Host::pair(address, 0);
    // Tag, offset, bytes, flags of the data, and the reason: another tag, another place, too much,
    // the end too early, no end.
    let cases = [(7, 0, 4096, 4, 2), (0, 512, 512, 0, 4), (0, 0, 8192, 4, 4)];
    let cases = [&cases[..], &[(0, 0, 2048, 4, 2), (0, 0, 4096, 0, 2)]].concat();
    for (tag, offset, bytes, flags, reason) in cases {
        let (_admin, mut queue) = Host::pair(address, 0);
        let mut write = ranged(1, 0, 1);
        put(&mut write, 32, 4, 4096);
        write[39] = 0x5a;
        let id = queue.send(write, &[]);
        let (kind, header, _) = queue.receive().expect("it asks");
        assert_eq!((kind, number(&header, 2, 2)), (9, 0));
        let bytes = queue.data(id, tag, offset, flags, &vec![0; bytes]);
        queue.stream.write_all(&bytes).expect("it reads");
        assert_eq!(farewell(&mut queue), (3, reason), "{tag} {offset} {flags}");
    }
    // More commands that wait for their data than the queue has entries.
    let (_admin, mut queue) = Host::pair(address, 0);
    let mut write = ranged(1, 0, 1);
    put(&mut write, 32, 4, 4096);
    write[39] = 0x5a;
    for _ in 0..129 {
        queue.send(write, &[]);
    }
    assert_eq!(farewell(&mut queue), (3, 5));
    exchange(&mut orderly, 6);
    drop(server.stop());
}

/// While a command waits for its data, others are done.
#[test]
fn commands_overtake_one_that_waits_for_its_data() {
    let (server, address) = start(Pace::Timed);
    let (_admin, mut queue) = Host::pair(address, 0);
    let mut write = ranged(1, 9, 2);
    put(&mut write, 32, 4, 8192);
    write[39] = 0x5a;
    let id = queue.send(write, &[]);
    let (kind, header, _) = queue.receive().expect("it asks");
    assert_eq!(kind, 9);
    exchange(&mut queue, 7);
    let bytes = queue.data(id, number(&header, 2, 2) as u16, 0, 4, &[3; 8192]);
    queue.stream.write_all(&bytes).expect("it reads");
    let (kind, header, _) = queue.receive().expect("it answers");
    assert_eq!((kind, number(&header, 12, 2), number(&header, 14, 2)), (5, u64::from(id), 0));
    assert_eq!(queue.take(ranged(2, 9, 2), 8192).data, [3; 8192]);
    drop(server.stop());
}

/// Bytes of a host that is sound up to a point: connected, or not.
fn sound(rng: &mut Rng, host: &Host) -> Vec<u8> {
    let mut entry = match rng.below(6) {
        0 => connect_entry(rng.below(3) as u16, 0),
        1 => entry(rng.below(256) as u8, 1, &[rng.below(1 << 32) as u32, rng.below(256) as u32]),
        2 => entry(0x7f, rng.below(8) as u32, &[rng.below(2) as u32, rng.below(32) as u32]),
        3 => entry(2, 1, &[rng.below(1 << 32) as u32, rng.below(2) as u32, rng.below(99) as u32]),
        _ => ranged(rng.below(16) as u8, rng.below(400), 1 + rng.below(40) as u32),
    };
    let data = match rng.below(4) {
        0 => connect_data(NQN, 0xffff),
        1 => vec![rng.below(256) as u8; 4096],
        _ => Vec::new(),
    };
    let bytes = if data.is_empty() { rng.below(3) * 4096 } else { data.len() as u64 };
    put(&mut entry, 32, 4, bytes);
    entry[39] = [0x5a, 1, 0x5a, 0][rng.below(4) as usize];
    if rng.below(5) == 0 {
        let length = rng.below(3) as usize * 512;
        let tag = rng.below(3) as u16;
        return host.data(rng.below(4) as u16, tag, 0, 4, &vec![0; length]);
    }
    host.pdu(4, 0, &entry, &data)
}

fn attack(address: SocketAddr, rng: &mut Rng, round: u64) {
    let mut bytes: Vec<u8> = (0..rng.below(200)).map(|_| rng.below(256) as u8).collect();
    if round.is_multiple_of(5) {
        // It never gets as far as to be initialized.
        let mut stream = TcpStream::connect(address).expect("the server listens");
        let _ = stream.write_all(&bytes);
        return;
    }
    let mut host = Host::reach(address, (round % 4) as u8);
    if round % 5 > 1 {
        let kind = rng.below(10) as u8;
        let mut pdu =
            host.pdu(kind, 0, &entry(2, 1, &[])[..64.min(8 * (1 + round as usize % 8))], &[]);
        for _ in 0..rng.below(3) {
            let place = rng.below(pdu.len() as u64) as usize;
            pdu[place] = rng.below(256) as u8;
        }
        bytes = [sound(rng, &host), pdu, bytes].concat();
    }
    // The server may have closed it before all is sent.
    let _ = host.stream.write_all(&bytes);
    if round.is_multiple_of(2) {
        let _ = host.stream.shutdown(Shutdown::Write);
        let _ = host.stream.read_to_end(&mut Vec::new());
    }
}

fn fuzz(pace: Pace, rounds: u64) {
    let (server, address) = start(pace);
    let (_admin, mut queue) = Host::pair(address, 0);
    let mut rng = Rng::stream(7, "nvme.garbage");
    for round in 0..rounds {
        attack(address, &mut rng, round);
        if round % 50 == 0 {
            exchange(&mut queue, round as u8);
        }
    }
    exchange(&mut queue, 9);
    let (session, status, _) = server.stop();
    session.expect("the drive comes back").audit().expect("it is sound");
    assert!(status["rejected"].as_u64() > Some(rounds / 4), "{status}");
}

/// Sound PDUs in any order, answered or refused, and then the connection ends.
fn disorder(pace: Pace, rounds: u64) {
    let (server, address) = start(pace);
    let (_admin, mut queue) = Host::pair(address, 0);
    let mut rng = Rng::stream(8, "nvme.disorder");
    for round in 0..rounds {
        let mut host = if round % 3 == 0 {
            Host::reach(address, 0)
        } else {
            let (mut admin, controller) = Host::queue(address, 0, 0, 0xffff);
            if round % 3 == 1 {
                admin
            } else {
                admin.enable();
                let (io, _) = Host::queue(address, 0, 1, controller);
                // Its controller is gone in the middle of what it asks.
                let mut io = io;
                let _ = io.stream.write_all(&sound(&mut rng, &io));
                drop(admin);
                io
            }
        };
        for _ in 0..=rng.below(12) {
            let bytes = sound(&mut rng, &host);
            if host.stream.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = host.stream.shutdown(Shutdown::Write);
        let _ = host.stream.read_to_end(&mut Vec::new());
        if round % 20 == 0 {
            exchange(&mut queue, round as u8);
        }
    }
    let (session, ..) = server.stop();
    session.expect("the drive comes back").audit().expect("it is sound");
}

#[test]
fn garbage_ends_a_connection_and_nothing_else() {
    for pace in [Pace::Untimed, Pace::Timed] {
        fuzz(pace, 300);
    }
}

#[test]
fn sound_pdus_come_in_any_order() {
    for pace in [Pace::Untimed, Pace::Timed] {
        disorder(pace, 100);
    }
}

#[test]
#[ignore = "100,000 connections; some minutes"]
fn much_garbage_ends_connections_and_nothing_else() {
    for pace in [Pace::Untimed, Pace::Timed] {
        fuzz(pace, 50_000);
        disorder(pace, 1_000);
    }
}

#[test]
#[ignore = "waits for ten seconds"]
fn a_host_that_never_begins_is_let_go() {
    let (server, address) = start(Pace::Untimed);
    let silent = TcpStream::connect(address).expect("the server listens");
    let mut half = TcpStream::connect(address).expect("the server listens");
    half.write_all(&initialize(0)[..100]).expect("it reads");
    let unconnected = Host::reach(address, 0);
    for mut stream in [silent, half, unconnected.stream] {
        assert_eq!(stream.read_to_end(&mut Vec::new()).expect("it ends"), 0);
    }
    drop(server.stop());
}
