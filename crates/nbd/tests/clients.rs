//! The server on a socket: clients that are orderly, that send anything, and that vanish.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opennandlab_nbd::{Export, Nbd};
use opennandlab_serve::clock::Timing;
use opennandlab_serve::protocol::Protocol;
use opennandlab_serve::server::{Door, Options, Server};
use opennandlab_sim::drive::DeviceConfig;
use opennandlab_sim::rng::Rng;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Pace, Session};

const GO: [u8; 26] = *b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";
/// Greeting, two infos and the acknowledgement of `GO`.
const GO_ANSWER_BYTES: usize = 18 + 20 + 12 + 20 + 14 + 20;

fn session(pace: Pace) -> Session {
    let json = r#"{"nand": {"channels": 1, "dies_per_channel": 2, "planes_per_die": 1,
        "blocks_per_plane": 24, "pages_per_block": 16}, "ftl": {"over_provisioning_pct": 0.4}}"#;
    let device = DeviceConfig::resolve(json).expect("a device");
    Session::new(Simulation::new(device, 1), pace).expect("a plain disk")
}

fn protocol(session: &Session) -> Arc<Nbd> {
    let bytes = session.capacity_bytes();
    Arc::new(Nbd(Export { name: "drive".into(), bytes, is_read_only: false }))
}

/// Serves a drive on a socket.
fn serve(session: Session, socket: &Path, timing: Timing) -> Result<Server, String> {
    let options = Options { timing, record: None, capture: None };
    let door = Door::unix(socket, protocol(&session))?;
    Server::start(session, None, &options, vec![door])
}

/// A folder of this test alone, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("onl-nbd-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(folder: &Folder, pace: Pace) -> Server {
    let timing = if pace == Pace::Timed { Timing::Scaled(1.0) } else { Timing::Off };
    serve(session(pace), &folder.socket(), timing).expect("a free socket")
}

fn connect(folder: &Folder) -> UnixStream {
    let mut stream = UnixStream::connect(folder.socket()).expect("the server listens");
    stream.write_all(&GO).expect("the server reads");
    let mut answer = [0; GO_ANSWER_BYTES];
    stream.read_exact(&mut answer).expect("the server answers");
    stream
}

fn request(command: u8, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = vec![0x25, 0x60, 0x95, 0x13, 0, 0, 0, command];
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

/// Error and cookie of a simple reply.
fn reply(stream: &mut UnixStream) -> (u32, u64) {
    let mut head = [0; 16];
    stream.read_exact(&mut head).expect("the server answers");
    assert_eq!(head[..4], [0x67, 0x44, 0x66, 0x98]);
    let error = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    (error, head[8..].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

/// Writes a page and reads it on another connection.
fn exchange(folder: &Folder, value: u8) {
    let (mut one, mut other) = (connect(folder), connect(folder));
    one.write_all(&[request(1, 5, 4096, 4096), vec![value; 4096]].concat()).expect("it reads");
    assert_eq!(reply(&mut one), (0, 5));
    other.write_all(&request(0, 6, 4096, 4096)).expect("it reads");
    assert_eq!(reply(&mut other), (0, 6));
    let mut page = [0; 4096];
    other.read_exact(&mut page).expect("the data follows");
    assert!(page == [value; 4096]);
}

#[test]
fn errors_are_answered_and_the_connection_goes_on() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let folder = Folder::new(&format!("errors{pace:?}"));
        let server = start(&folder, pace);
        let mut client = connect(&folder);
        let end = session(pace).capacity_bytes();
        let cases = [
            (request(0, 1, end, 512), 22),
            ([request(1, 2, end - 512, 1024), vec![0; 1024]].concat(), 28),
            (request(4, 3, u64::MAX, 512), 22),
            (request(99, 4, 0, 512), 95),
            // Extents were not agreed upon, so nobody may ask for them.
            (request(7, 5, 0, 512), 22),
            (request(3, 6, 0, 0), 0),
        ];
        for (cookie, (bytes, error)) in (1..).zip(cases) {
            client.write_all(&bytes).expect("it reads");
            assert_eq!(reply(&mut client), (error, cookie));
        }
        exchange(&folder, 7);
        let (session, status, recorded) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
        assert_eq!((status["errors"].as_u64(), recorded), (Some(5), Ok(())));
        assert!(!folder.socket().exists());
    }
}

#[test]
fn garbage_ends_a_connection_and_nothing_else() {
    for pace in [Pace::Untimed, Pace::Timed] {
        let folder = Folder::new(&format!("garbage{pace:?}"));
        let server = start(&folder, pace);
        let mut rng = Rng::stream(7, "garbage");
        for round in 0..400 {
            let mut stream = UnixStream::connect(folder.socket()).expect("the server listens");
            let mut bytes: Vec<u8> = (0..rng.below(120)).map(|_| rng.below(256) as u8).collect();
            // Some get as far as options, some as requests, and half of a request.
            if round % 3 > 0 {
                bytes = [&GO[..if round % 3 == 1 { 20 } else { 26 }], &bytes].concat();
            }
            if round % 6 == 2 {
                bytes = [&GO[..], &request(1, 1, 0, 4096), &bytes].concat();
            }
            // The server may have closed it before all is sent.
            let _ = stream.write_all(&bytes);
            if round % 2 == 0 {
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
        exchange(&folder, 9);
        let (session, status, _) = server.stop();
        session.expect("the drive comes back").audit().expect("it is sound");
        assert!(status["rejected"].as_u64() > Some(100), "{status}");
    }
}

/// Who moves the socket of a server must not keep it from ending.
#[test]
fn a_server_whose_socket_was_moved_ends() {
    let folder = Folder::new("moved");
    let server = start(&folder, Pace::Untimed);
    std::fs::rename(folder.socket(), folder.socket().with_extension("moved")).expect("it is there");
    let (session, ..) = server.stop();
    assert!(session.is_some());
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let folder = Folder::new("slow");
    let server = start(&folder, Pace::Timed);
    let mut slow = connect(&folder);
    for cookie in 0..200 {
        slow.write_all(&request(0, cookie, 0, 65536)).expect("it reads");
    }
    exchange(&folder, 3);
    for cookie in 0..200 {
        let (error, _) = reply(&mut slow);
        assert_eq!(error, 0, "{cookie}");
        slow.read_exact(&mut vec![0; 65536]).expect("the data follows");
    }
    let (session, ..) = server.stop();
    session.expect("the drive comes back").audit().expect("it is sound");
}

#[test]
fn a_socket_belongs_to_one_server_and_one_user() {
    let folder = Folder::new("socket");
    let server = start(&folder, Pace::Untimed);
    let mode = fs::metadata(folder.socket()).expect("it exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = serve(session(Pace::Untimed), &folder.socket(), Timing::Off);
    assert!(again.err().expect("it is taken").contains("another server answers"));
    assert_eq!(server.stop().2, Ok(()));
    // What a killed server left is replaced, a file is not.
    drop(UnixListener::bind(folder.socket()).expect("a free path"));
    assert_eq!(start(&folder, Pace::Untimed).stop().2, Ok(()));
    fs::write(folder.socket(), "data").expect("a free path");
    let refused = serve(session(Pace::Untimed), &folder.socket(), Timing::Off);
    assert!(refused.err().expect("a file").contains("is not a socket"));
    let refused = Door::tcp(([0, 0, 0, 0], 0).into(), false, |_| {
        Ok(protocol(&session(Pace::Untimed)) as Arc<dyn Protocol>)
    });
    assert!(refused.err().expect("all addresses").contains("loopback"));
}
