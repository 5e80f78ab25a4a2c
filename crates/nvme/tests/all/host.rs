//! A host of our own, as small as the tests need: it trusts nothing that it does not check.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use opennandlab_nvme::{crc32c, Nvme, Setup};
use opennandlab_serve::clock::Timing;
use opennandlab_serve::protocol::Protocol;
use opennandlab_serve::server::{Door, Options, Server};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

pub const NQN: &str = "nqn.2026-01.test:drive";
pub const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
const HOST_NQN: &str = "nqn.2026-01.test:host";

pub fn session(pace: Pace, more: &str) -> Session {
    let json = format!(
        r#"{{"nand": {{"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16}},
        "ftl": {{"over_provisioning_pct": 0.4{more}}}}}"#
    );
    let device = DeviceConfig::resolve(&json).expect("a device");
    Session::new(Simulation::new(device, 1), pace).expect("a plain disk")
}

pub fn setup() -> Setup {
    Setup {
        nqn: Some(NQN.into()),
        serial: None,
        model: "opennandlab test".into(),
        block_bytes: 4096,
        namespaces: None,
        is_block_given: false,
        is_read_only: false,
        is_multipath: false,
        seed: String::new(),
    }
}

/// Serves a drive on a port of its own.
pub fn serve(session: Session, pace: Pace, setup: &Setup) -> (Server, SocketAddr) {
    let timing = if pace == Pace::Timed { Timing::Scaled(0.1) } else { Timing::Off };
    let door = Door::tcp(([127, 0, 0, 1], 0).into(), false, |bound| {
        Ok(Arc::new(Nvme::new(&session, setup, bound)?) as Arc<dyn Protocol>)
    })
    .expect("a free port");
    let address = door.address().expect("it is a port");
    let options = Options { timing, record: None, capture: None };
    (Server::start(session, None, &options, vec![door]).expect("it serves"), address)
}

pub fn start(pace: Pace) -> (Server, SocketAddr) {
    serve(session(pace, ""), pace, &setup())
}

/// A number, little endian.
pub fn number(bytes: &[u8], offset: usize, count: usize) -> u64 {
    bytes[offset..offset + count].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

pub fn put(bytes: &mut [u8], offset: usize, count: usize, number: u64) {
    bytes[offset..offset + count].copy_from_slice(&number.to_le_bytes()[..count]);
}

/// A submission queue entry: opcode, namespace and dwords from 10 on.
pub fn entry(opcode: u8, namespace: u32, dwords: &[u32]) -> [u8; 64] {
    let mut entry = [0; 64];
    (entry[0], entry[1]) = (opcode, 0x40);
    put(&mut entry, 4, 4, namespace.into());
    for (place, &dword) in dwords.iter().enumerate() {
        put(&mut entry, 40 + 4 * place, 4, dword.into());
    }
    entry
}

/// An entry for a range of blocks.
pub fn ranged(opcode: u8, first: u64, blocks: u32) -> [u8; 64] {
    entry(opcode, 1, &[first as u32, (first >> 32) as u32, blocks - 1])
}

/// The first PDU, with the digests that it asks for.
pub fn initialize(digests: u8) -> Vec<u8> {
    let mut bytes = vec![0, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, digests];
    bytes.resize(128, 0);
    bytes
}

/// The data of a connect.
pub fn connect_data(nqn: &str, controller: u16) -> Vec<u8> {
    let mut data = vec![0; 1024];
    data[..16].fill(7);
    put(&mut data, 16, 2, controller.into());
    data[256..256 + nqn.len()].copy_from_slice(nqn.as_bytes());
    data[512..512 + HOST_NQN.len()].copy_from_slice(HOST_NQN.as_bytes());
    data
}

/// An entry that connects a queue of 128 entries.
pub fn connect_entry(queue: u16, keep_alive_ms: u32) -> [u8; 64] {
    let mut entry = entry(0x7f, 1, &[u32::from(queue) << 16, 127, keep_alive_ms]);
    entry[1] = 0x40;
    entry
}

/// A completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub first: u64,
    /// Without "do not retry".
    pub status: u16,
    pub data: Vec<u8>,
}

pub struct Host {
    pub stream: TcpStream,
    digests: u8,
    id: u16,
}

impl Host {
    /// A connection that is initialized.
    pub fn reach(address: SocketAddr, digests: u8) -> Self {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        stream.write_all(&initialize(digests)).expect("the server reads");
        let mut answer = [0; 128];
        stream.read_exact(&mut answer).expect("the server answers");
        assert_eq!((answer[0], answer[2], answer[11]), (1, 128, digests));
        Self { stream, digests, id: 0 }
    }

    /// The same with a queue; the number of the controller.
    pub fn queue(address: SocketAddr, digests: u8, queue: u16, controller: u16) -> (Self, u16) {
        let mut host = Self::reach(address, digests);
        let entry = connect_entry(queue, 0);
        let done = host.ask(entry, &connect_data(NQN, controller));
        assert_eq!(done.status, 0, "{done:?}");
        (host, done.first as u16)
    }

    /// Both queues of a controller that is enabled.
    pub fn pair(address: SocketAddr, digests: u8) -> (Self, Self) {
        let (mut admin, controller) = Self::queue(address, digests, 0, 0xffff);
        admin.enable();
        let (queue, _) = Self::queue(address, digests, 1, controller);
        (admin, queue)
    }

    pub fn property(&mut self, offset: u32) -> u64 {
        let mut entry = entry(0x7f, 4, &[u32::from(offset == 0), offset]);
        entry[4] = 4;
        self.ask(entry, &[]).first
    }

    pub fn configure(&mut self, value: u32) {
        let entry = entry(0x7f, 0, &[0, 0x14, value]);
        assert_eq!(self.ask(entry, &[]).status, 0);
    }

    pub fn enable(&mut self) {
        self.configure(0x46_0001);
        assert_eq!(self.property(0x1c), 1);
    }

    pub fn log(&mut self, id: u8, bytes: u32) -> Vec<u8> {
        let done = self.take(entry(2, u32::MAX, &[u32::from(id) | (bytes / 4 - 1) << 16]), bytes);
        assert_eq!(done.status, 0);
        done.data
    }

    /// One PDU of ours.
    pub fn pdu(&self, kind: u8, flags: u8, header: &[u8], data: &[u8]) -> Vec<u8> {
        let begin = 8 + header.len() + 4 * usize::from(self.digests & 1);
        let digest = if self.digests & 2 != 0 && !data.is_empty() { 4 } else { 0 };
        let flags = flags | self.digests & 1 | if digest > 0 { 2 } else { 0 };
        let mut bytes = vec![kind, flags, 8 + header.len() as u8, 0, 0, 0, 0, 0];
        if !data.is_empty() {
            bytes[3] = begin as u8;
        }
        put(&mut bytes, 4, 4, (begin + data.len() + digest) as u64);
        bytes.extend(header);
        if self.digests & 1 != 0 {
            bytes.extend(crc32c(&bytes).to_le_bytes());
        }
        bytes.extend(data);
        if digest > 0 {
            bytes.extend(crc32c(data).to_le_bytes());
        }
        bytes
    }

    /// The next PDU: type, header without its first 8 bytes, data. `None` at the end.
    pub fn receive(&mut self) -> Option<(u8, Vec<u8>, Vec<u8>)> {
        let mut head = [0; 8];
        self.stream.read_exact(&mut head).ok()?;
        let mut rest = vec![0; number(&head, 4, 4) as usize - 8];
        self.stream.read_exact(&mut rest).ok()?;
        let header = rest[..usize::from(head[2]) - 8].to_vec();
        let mut behind = &rest[header.len()..];
        if self.digests & 1 != 0 && head[0] != 3 {
            let (digest, data) = behind.split_at(4);
            assert_eq!(crc32c(&[&head[..], &header].concat()).to_le_bytes(), *digest);
            behind = data;
        }
        if self.digests & 2 != 0 && !behind.is_empty() && head[0] != 3 {
            let (data, digest) = behind.split_at(behind.len() - 4);
            assert_eq!(crc32c(data).to_le_bytes(), *digest);
            behind = data;
        }
        Some((head[0], header, behind.to_vec()))
    }

    /// Sends a command whose descriptor is set, with data in its capsule.
    pub fn send(&mut self, mut entry: [u8; 64], data: &[u8]) -> u16 {
        self.id += 1;
        put(&mut entry, 2, 2, self.id.into());
        let bytes = self.pdu(4, 0, &entry, data);
        self.stream.write_all(&bytes).expect("the server reads");
        self.id
    }

    /// A command with data in its capsule, if any.
    pub fn ask(&mut self, mut entry: [u8; 64], data: &[u8]) -> Done {
        put(&mut entry, 32, 4, data.len() as u64);
        entry[39] = if data.is_empty() { 0x5a } else { 1 };
        let id = self.send(entry, data);
        self.end(id, &[])
    }

    /// A command whose data is asked for, which comes in two parts.
    pub fn give(&mut self, mut entry: [u8; 64], data: &[u8]) -> Done {
        put(&mut entry, 32, 4, data.len() as u64);
        entry[39] = 0x5a;
        let id = self.send(entry, &[]);
        self.end(id, data)
    }

    /// A command that has data for us.
    pub fn take(&mut self, mut entry: [u8; 64], bytes: u32) -> Done {
        put(&mut entry, 32, 4, bytes.into());
        entry[39] = 0x5a;
        let id = self.send(entry, &[]);
        self.end(id, &[])
    }

    fn end(&mut self, id: u16, data: &[u8]) -> Done {
        let mut done = Done::default();
        loop {
            let (kind, header, behind) = self.receive().expect("the server answers");
            match kind {
                5 => {
                    assert_eq!(number(&header, 12, 2), u64::from(id));
                    done.first = number(&header, 0, 8);
                    done.status = (number(&header, 14, 2) >> 1) as u16 & 0x3fff;
                    return done;
                }
                7 => {
                    assert_eq!(number(&header, 0, 2), u64::from(id));
                    assert_eq!(number(&header, 4, 4), done.data.len() as u64);
                    done.data.extend(behind);
                }
                9 => {
                    let (tag, length) = (number(&header, 2, 2), number(&header, 8, 4));
                    assert_eq!((number(&header, 0, 2), length), (u64::from(id), data.len() as u64));
                    let half = data.len() / 2;
                    for (flags, offset, part) in [(0, 0, &data[..half]), (4, half, &data[half..])] {
                        let bytes = self.data(id, tag as u16, offset as u32, flags, part);
                        self.stream.write_all(&bytes).expect("the server reads");
                    }
                }
                kind => panic!("type {kind}: {header:?}"),
            }
        }
    }

    /// A PDU with data of a command.
    pub fn data(&self, id: u16, tag: u16, offset: u32, flags: u8, part: &[u8]) -> Vec<u8> {
        let mut header = [0; 16];
        put(&mut header, 0, 2, u64::from(id));
        put(&mut header, 2, 2, tag.into());
        put(&mut header, 4, 4, offset.into());
        put(&mut header, 8, 4, part.len() as u64);
        self.pdu(6, flags, &header, part)
    }
}
