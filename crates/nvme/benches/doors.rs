//! What a command costs over NVMe and over NBD: the same drive, untimed, and one load generator.
//!
//! ```text
//! slots ─► bytes of requests ─► TCP, loopback ─► server ─► replies ─► slots that are free again
//! ```
//! Prints for each load the rate and the processor time of the server's thread a request, medians
//! of interleaved runs, and their ratios; then the median times of a drive that is as slow as its
//! model, whose difference is the lateness of one door over the other.
//! Usage: `cargo bench -p opennandlab-nvme [-- RUNS]`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use opennandlab_nbd::{Export, Nbd};
use opennandlab_nvme::{Nvme, Setup};
use opennandlab_serve::clock::Timing;
use opennandlab_serve::protocol::Protocol;
use opennandlab_serve::server::{Door, Options, Server};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

const NQN: &str = "nqn.2026-01.test:drive";
const DEVICE: &str = r#"{"nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
    "blocks_per_plane": 128, "pages_per_block": 64}, "ftl": {"over_provisioning_pct": 0.28}}"#;
/// Data of one run.
const RUN_BYTES: u64 = 256 << 20;
const REQUESTS_MAX: u64 = 40_000;
/// Requests of one run in real time.
const REAL_REQUESTS: u64 = 4000;

/// What is asked for.
#[derive(Clone, Copy)]
struct Load {
    is_write: bool,
    bytes: u32,
    depth: u16,
}

impl std::fmt::Display for Load {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = if self.is_write { "write" } else { "read" };
        write!(out, "{name:5} {:3} KiB QD {:2}", self.bytes >> 10, self.depth)
    }
}

const LOADS: [Load; 6] = [
    Load { is_write: false, bytes: 4096, depth: 32 },
    Load { is_write: true, bytes: 4096, depth: 32 },
    Load { is_write: false, bytes: 131_072, depth: 8 },
    Load { is_write: true, bytes: 131_072, depth: 8 },
    Load { is_write: false, bytes: 4096, depth: 1 },
    Load { is_write: true, bytes: 4096, depth: 1 },
];

/// What the generator needs of a protocol.
trait Client {
    /// Adds a request.
    fn ask(&self, load: Load, slot: u16, offset: u64, out: &mut Vec<u8>);
    /// The first message of `bytes`: its length and the slot that it ends; `None` until it is
    /// whole. What it asks for is added to `out`.
    fn take(&self, load: Load, bytes: &[u8], out: &mut Vec<u8>) -> Option<(usize, Option<u16>)>;
}

struct OverNbd;

impl Client for OverNbd {
    fn ask(&self, load: Load, slot: u16, offset: u64, out: &mut Vec<u8>) {
        out.extend([0x25, 0x60, 0x95, 0x13, 0, 0, 0, u8::from(load.is_write)]);
        out.extend(u64::from(slot).to_be_bytes());
        out.extend(offset.to_be_bytes());
        out.extend(load.bytes.to_be_bytes());
        if load.is_write {
            out.resize(out.len() + load.bytes as usize, 0x5a);
        }
    }

    fn take(&self, load: Load, bytes: &[u8], _: &mut Vec<u8>) -> Option<(usize, Option<u16>)> {
        let length = 16 + if load.is_write { 0 } else { load.bytes as usize };
        let message = bytes.get(..length)?;
        assert_eq!(message[4..8], [0; 4], "an error");
        Some((length, Some(u16::from_be_bytes([message[14], message[15]]))))
    }
}

struct OverNvme;

/// Bytes of data that fit into a capsule.
const CAPSULE_BYTES: u32 = 16 << 10;

impl Client for OverNvme {
    fn ask(&self, load: Load, slot: u16, offset: u64, out: &mut Vec<u8>) {
        let is_within = load.is_write && load.bytes <= CAPSULE_BYTES;
        let data = if is_within { load.bytes } else { 0 };
        out.extend([4, 0, 72, if is_within { 72 } else { 0 }]);
        out.extend((72 + data).to_le_bytes());
        let mut entry = [0; 64];
        (entry[0], entry[1]) = (if load.is_write { 1 } else { 2 }, 0x40);
        entry[2..4].copy_from_slice(&slot.to_le_bytes());
        entry[4] = 1;
        entry[32..36].copy_from_slice(&load.bytes.to_le_bytes());
        entry[39] = if is_within { 1 } else { 0x5a };
        entry[40..48].copy_from_slice(&(offset / 4096).to_le_bytes());
        entry[48..52].copy_from_slice(&(load.bytes / 4096 - 1).to_le_bytes());
        out.extend(entry);
        out.resize(out.len() + data as usize, 0x5a);
    }

    fn take(&self, load: Load, bytes: &[u8], out: &mut Vec<u8>) -> Option<(usize, Option<u16>)> {
        let length = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
        let message = bytes.get(..length)?;
        match message[0] {
            5 => {
                assert_eq!(message[22..24], [0; 2], "an error");
                return Some((length, Some(u16::from_le_bytes([message[20], message[21]]))));
            }
            9 => {
                out.extend([6, 4, 24, 24]);
                out.extend((24 + load.bytes).to_le_bytes());
                out.extend(&message[8..12]);
                out.extend([0; 4]);
                out.extend(load.bytes.to_le_bytes());
                out.extend([0; 4]);
                out.resize(out.len() + load.bytes as usize, 0x5a);
            }
            kind => assert_eq!(kind, 7, "{:?}", &message[..24]),
        }
        Some((length, None))
    }
}

/// Seconds, seconds of the server's processor, and the median seconds of a request.
struct Run {
    wall: f64,
    server: f64,
    median: f64,
}

/// Processor time of this process without that of this thread.
fn others() -> f64 {
    let of = |path: &str| -> f64 {
        let text = std::fs::read_to_string(path).expect("Linux");
        text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).expect("a number")
    };
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux").flatten();
    let all: f64 = tasks.map(|task| of(&format!("{}/schedstat", task.path().display()))).sum();
    (all - of("/proc/thread-self/schedstat")) / 1e9
}

fn run(client: &dyn Client, mut stream: TcpStream, load: Load, pages: u64, requests: u64) -> Run {
    let mut place = 1_u64;
    let mut next = || {
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (place >> 33) % (pages - u64::from(load.bytes / 4096)) * 4096
    };
    stream.set_nodelay(true).expect("a socket");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    let (mut out, mut bytes, mut filled) = (Vec::new(), vec![0; 4 << 20], 0);
    let mut began = vec![Instant::now(); usize::from(load.depth)];
    let (mut asked, mut ended) = (0, 0);
    let mut times = Vec::with_capacity(requests as usize);
    let (start, server) = (Instant::now(), others());
    for slot in 0..load.depth {
        client.ask(load, slot, next(), &mut out);
        asked += 1;
    }
    while ended < requests {
        stream.write_all(&out).expect("the server reads");
        out.clear();
        filled += stream.read(&mut bytes[filled..]).expect("the server answers");
        let mut taken = 0;
        while let Some((length, slot)) = client.take(load, &bytes[taken..filled], &mut out) {
            taken += length;
            let Some(slot) = slot else { continue };
            ended += 1;
            let now = Instant::now();
            times.push((now - began[usize::from(slot)]).as_secs_f64());
            began[usize::from(slot)] = now;
            if asked < requests {
                client.ask(load, slot, next(), &mut out);
                asked += 1;
            }
        }
        bytes.copy_within(taken..filled, 0);
        filled -= taken;
    }
    let (wall, server) = (start.elapsed().as_secs_f64(), others() - server);
    Run { wall, server, median: median(&mut times) }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn over_nbd(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let go = b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";
    stream.write_all(go).expect("the server reads");
    stream.read_exact(&mut [0; 18 + 20 + 12 + 20 + 14 + 20]).expect("the server answers");
    stream
}

/// A queue of a connection that is initialized; the number of the controller.
fn queue(address: SocketAddr, id: u8, controller: u16) -> (TcpStream, u16) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let mut first = vec![0, 0, 128, 0, 128];
    first.resize(128, 0);
    stream.write_all(&first).expect("the server reads");
    stream.read_exact(&mut [0; 128]).expect("the server answers");
    let mut connect = vec![4, 0, 72, 72, 0x48, 4, 0, 0];
    connect.resize(72 + 1024, 0);
    (connect[8], connect[9], connect[12]) = (0x7f, 0x40, 1);
    connect[40..44].copy_from_slice(&1024_u32.to_le_bytes());
    connect[47] = 1;
    (connect[50], connect[52]) = (id, 127);
    connect[72..88].fill(7);
    connect[88..90].copy_from_slice(&controller.to_le_bytes());
    connect[328..328 + NQN.len()].copy_from_slice(NQN.as_bytes());
    connect[584..584 + NQN.len()].copy_from_slice(NQN.as_bytes());
    stream.write_all(&connect).expect("the server reads");
    let mut answer = [0; 24];
    stream.read_exact(&mut answer).expect("the server answers");
    assert_eq!(answer[22..24], [0; 2], "connected");
    (stream, u16::from_le_bytes([answer[8], answer[9]]))
}

fn over_nvme(address: SocketAddr) -> (TcpStream, TcpStream) {
    let (mut admin, controller) = queue(address, 0, 0xffff);
    let mut enable = vec![4, 0, 72, 0, 72, 0, 0, 0];
    enable.resize(72, 0);
    (enable[8], enable[9], enable[47]) = (0x7f, 0x40, 0x5a);
    enable[52] = 0x14;
    enable[56..60].copy_from_slice(&0x46_0001_u32.to_le_bytes());
    admin.write_all(&enable).expect("the server reads");
    admin.read_exact(&mut [0; 24]).expect("the server answers");
    let (io, _) = queue(address, 1, controller);
    (admin, io)
}

/// A drive that is served over both.
struct Bench {
    server: Server,
    nbd: SocketAddr,
    nvme: SocketAddr,
    pages: u64,
}

impl Bench {
    fn new(timing: Timing) -> Bench {
        let simulation = Simulation::new(DeviceConfig::resolve(DEVICE).expect("a device"), 1);
        let pace = if timing == Timing::Off { Pace::Untimed } else { Pace::Timed };
        let session = Session::new(simulation, pace).expect("a plain disk");
        let bytes = session.capacity_bytes();
        let local: SocketAddr = ([127, 0, 0, 1], 0).into();
        let nbd = Arc::new(Nbd(Export { name: "drive".into(), bytes, is_read_only: false }));
        let nbd = Door::tcp(local, false, |_| Ok(nbd as Arc<dyn Protocol>)).expect("a free port");
        let setup = Setup {
            nqn: Some(NQN.into()),
            serial: None,
            model: "opennandlab test".into(),
            block_bytes: 4096,
            namespaces: None,
            is_block_given: false,
            is_read_only: false,
            seed: String::new(),
            is_multipath: false,
        };
        let nvme = Door::tcp(local, false, |bound| {
            Ok(Arc::new(Nvme::new(&session, &setup, bound)?) as Arc<dyn Protocol>)
        })
        .expect("a free port");
        let (to_nbd, to_nvme) = (nbd.address().expect("a port"), nvme.address().expect("a port"));
        let options = Options { timing, record: None, capture: None };
        let server = Server::start(session, None, &options, vec![nbd, nvme]).expect("it serves");
        Bench { server, nbd: to_nbd, nvme: to_nvme, pages: bytes / 4096 }
    }

    /// Medians over NBD and over NVMe of a number of runs in turns. Each is alone with the server:
    /// the thread of a client that waits keeps time for the others.
    fn medians(&self, load: Load, requests: u64, runs: usize) -> [Run; 2] {
        let mut of = [vec![], vec![]];
        for _ in 0..runs {
            of[0].push(run(&OverNbd, over_nbd(self.nbd), load, self.pages, requests));
            let (_admin, io) = over_nvme(self.nvme);
            of[1].push(run(&OverNvme, io, load, self.pages, requests));
        }
        of.map(|runs| {
            let over =
                |value: fn(&Run) -> f64| median(&mut runs.iter().map(value).collect::<Vec<_>>());
            Run {
                wall: over(|run| run.wall),
                server: over(|run| run.server),
                median: over(|run| run.median),
            }
        })
    }
}

fn main() {
    let runs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let bench = Bench::new(Timing::Off);
    println!("load               NBD/s   NVMe/s  ratio   server us, NBD  NVMe   p50 us, NBD  NVMe");
    for load in LOADS {
        let requests = (RUN_BYTES / u64::from(load.bytes)).min(REQUESTS_MAX);
        let [nbd, nvme] = bench.medians(load, requests, runs);
        let (count, us) = (requests as f64, 1e6 / requests as f64);
        println!(
            "{load} {:8.0} {:8.0}  {:.3}   {:14.2} {:5.2}   {:11.1} {:5.1}",
            count / nbd.wall,
            count / nvme.wall,
            nbd.wall / nvme.wall,
            nbd.server * us,
            nvme.server * us,
            nbd.median * 1e6,
            nvme.median * 1e6,
        );
    }
    let _ = bench.server.stop();
    let bench = Bench::new(Timing::Scaled(1.0));
    println!("\nin real time      p50 us, NBD   NVMe   later by");
    for load in [LOADS[5], LOADS[4], LOADS[0]] {
        let [nbd, nvme] = bench.medians(load, REAL_REQUESTS, runs).map(|run| run.median * 1e6);
        println!("{load} {nbd:10.1} {nvme:8.1} {:8.1}", nvme - nbd);
    }
    let _ = bench.server.stop();
}
