//! Sockets, connections and the timer: the threads of the server, and the only wall clock.
//!
//! ```text
//!  acceptor ─► reader of each connection ─► core (one lock) ─► reply at once          untimed
//!                     │                        ▲        └────► pending ─┐             timed
//!                     └── wakes ──► timer ─────┘ advance(now)           └─► pipe ─► socket
//! ```
//! Simulated time is wall time since the start, divided by the scale. A request enters the model
//! when it was read from its socket. The timer sleeps until shortly before the next event of the
//! model and spins for the rest, because a sleep ends late; what the model says is done is answered
//! at once. How late that was is kept ([`Server::status`]).
//!
//! Untimed, a reader answers by itself, and sends what it has when no further request has arrived.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, thread};

use opennandlab_sim::device::{Begun, Session};
use opennandlab_sim::units::Ns;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use serde_json::{json, Value};

use crate::core::{Books, Core, Entry, Pending};
use crate::handshake::{greeting, Export, Handshake, Next};
use crate::pipe::{Pipe, Socket};
use crate::record::{Recorder, Times};
use crate::wire::{self, Command, Errno, Request, REQUEST_BYTES};

/// The timer spins for so long, since a sleep may end so late.
const SPIN_NS: u64 = 60_000;
/// Connections at once.
const CONNECTIONS_MAX: usize = 64;
/// A client that negotiates must go on within this time.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// Options of one client.
const OPTIONS_MAX: usize = 1000;
/// What a request takes in memory beside its data.
const REQUEST_COST: usize = 512;
/// Bytes of a range for each byte of the list of its pages.
const PAGE_COST: usize = 512;
/// Replies that wait for others to be sent together, in bytes.
const TOGETHER_BYTES: usize = 256 << 10;
/// No event is planned.
const NEVER: u64 = u64::MAX;

/// How fast the drive is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// As fast as this machine.
    Off,
    /// So many times as slow as the model says; 1 is real.
    Scaled(f64),
}

/// What to serve and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// How fast the drive is.
    pub timing: Timing,
    /// Where the Unix socket is made.
    pub socket: Option<PathBuf>,
    /// A port of this machine.
    pub tcp: Option<SocketAddr>,
    /// Whether the port may be of another address than loopback.
    pub is_remote_allowed: bool,
    /// The name of the export beside the empty one.
    pub name: String,
    /// Writes are refused.
    pub is_read_only: bool,
    /// Where requests are recorded.
    pub record: Option<PathBuf>,
}

struct Shared {
    core: Mutex<Core>,
    books: Mutex<Books>,
    export: Export,
    timing: Timing,
    start: Instant,
    /// Wall time at which the timer wakes, in nanoseconds.
    planned: AtomicU64,
    is_woken: AtomicBool,
    alarm: (Mutex<()>, Condvar),
    is_stopping: AtomicBool,
    connections: Mutex<Vec<(u64, Arc<Pipe>)>>,
    connection_count: AtomicUsize,
    accepted: AtomicU64,
    rejected: AtomicU64,
}

/// See the module.
pub struct Server {
    shared: Arc<Shared>,
    acceptors: Vec<JoinHandle<()>>,
    timer: Option<JoinHandle<()>>,
    /// The socket that was made, and its number on its file system.
    socket: Option<(PathBuf, u64)>,
    tcp: Option<SocketAddr>,
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Server {
    /// Serves a drive until [`Server::stop`].
    ///
    /// # Errors
    /// A sentence when a socket cannot be made.
    pub fn start(session: Session, options: &Options) -> Result<Self, String> {
        let export = Export {
            name: options.name.clone(),
            bytes: session.capacity_bytes(),
            is_read_only: options.is_read_only,
        };
        let recorder = match &options.record {
            Some(path) => Some(recorder(path).map_err(|error| say(path, &error))?),
            None => None,
        };
        let mut listeners = Vec::new();
        let mut tcp = None;
        if let Some(address) = options.tcp {
            if !address.ip().is_loopback() && !options.is_remote_allowed {
                return Err(format!("{address} is not an address of this machine alone"));
            }
            let listener =
                TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
            tcp = listener.local_addr().ok();
            listeners.push(Listener::Tcp(listener));
        }
        let mut socket = None;
        if let Some(path) = &options.socket {
            let listener = bind(path)?;
            let inode = fs::symlink_metadata(path).map_err(|error| say(path, &error))?.ino();
            socket = Some((path.clone(), inode));
            listeners.push(Listener::Unix(listener));
        }
        let shared = Arc::new(Shared {
            core: Mutex::new(Core::new(session)),
            books: Mutex::new(Books::new(recorder)),
            export,
            timing: options.timing,
            start: Instant::now(),
            planned: AtomicU64::new(NEVER),
            is_woken: AtomicBool::new(false),
            alarm: (Mutex::new(()), Condvar::new()),
            is_stopping: AtomicBool::new(false),
            connections: Mutex::default(),
            connection_count: AtomicUsize::new(0),
            accepted: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
        });
        let timer = (options.timing != Timing::Off).then(|| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.keep_time())
        });
        let accept = |listener| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&shared, &listener))
        };
        let acceptors = listeners.into_iter().map(accept).collect();
        Ok(Self { shared, acceptors, timer, socket, tcp })
    }

    /// The port that was bound, if there is one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// What was done so far: `{drive, connections, accepted, rejected, wall_ns, requests, …}`.
    pub fn status(&self) -> Value {
        let shared = &self.shared;
        let mut status = shared.books().to_json();
        status["drive"] = shared.core().session.status();
        status["connections"] = json!(shared.connection_count.load(Ordering::Relaxed));
        status["accepted"] = json!(shared.accepted.load(Ordering::Relaxed));
        status["rejected"] = json!(shared.rejected.load(Ordering::Relaxed));
        status["wall_ns"] = json!(shared.now());
        status
    }

    /// Takes no more requests, brings the drive to rest and gives it back with the last status.
    ///
    /// # Errors
    /// A sentence when the record could not be written; the drive is given back all the same.
    pub fn stop(mut self) -> (Option<Session>, Value, Result<(), String>) {
        let shared = &self.shared;
        shared.is_stopping.store(true, Ordering::SeqCst);
        if let Some((path, inode)) = self.socket.take() {
            // Wakes the acceptor. The socket is removed only if it is still ours.
            let _ = UnixStream::connect(&path);
            if fs::symlink_metadata(&path).is_ok_and(|it| it.ino() == inode) {
                let _ = fs::remove_file(&path);
            }
        }
        if let Some(address) = self.tcp {
            let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
        }
        for (_, pipe) in shared.pipes().iter() {
            pipe.close();
        }
        self.acceptors.drain(..).for_each(|it| drop(it.join()));
        // Readers end since their sockets are closed.
        while shared.connection_count.load(Ordering::SeqCst) > 0 {
            for (_, pipe) in shared.pipes().iter() {
                pipe.close();
            }
            thread::sleep(Duration::from_millis(1));
        }
        shared.wake();
        if let Some(timer) = self.timer.take() {
            drop(timer.join());
        }
        shared.core().session.settle();
        let status = self.status();
        let recorder = self.shared.books().recorder.take();
        let recorded = recorder.map_or(Ok(()), Recorder::finish).map_err(|error| error.to_string());
        let Self { shared, .. } = self;
        let session = Arc::into_inner(shared)
            .and_then(|shared| shared.core.into_inner().ok())
            .map(|core| core.session);
        (session, status, recorded)
    }
}

fn say(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn recorder(path: &Path) -> io::Result<Recorder> {
    Recorder::new(Box::new(io::BufWriter::with_capacity(1 << 20, fs::File::create(path)?)))
}

/// Makes a socket that only its owner may use. One that nobody answers is left of a server that was
/// killed, and is replaced.
fn bind(path: &Path) -> Result<UnixListener, String> {
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(format!("{} exists and is no socket", path.display()));
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(|error| say(path, &error))?;
            }
            _ => return Err(format!("{}: another server answers there", path.display())),
        }
    }
    let made = || -> io::Result<UnixListener> {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        // Before anybody can connect.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        rustix::net::listen(&socket, 1024)?;
        Ok(UnixListener::from(socket))
    };
    made().map_err(|error| say(path, &error))
}

fn accept(shared: &Arc<Shared>, listener: &Listener) {
    loop {
        let socket = match listener {
            Listener::Unix(unix) => unix.accept().map(|(stream, _)| Socket::Unix(stream)),
            Listener::Tcp(tcp) => tcp.accept().map(|(stream, _)| {
                let _ = stream.set_nodelay(true);
                Socket::Tcp(stream)
            }),
        };
        if shared.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(socket) = socket else {
            // Out of descriptors: others will be closed.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if shared.connection_count.load(Ordering::SeqCst) >= CONNECTIONS_MAX {
            shared.rejected.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let number = shared.accepted.fetch_add(1, Ordering::Relaxed);
        let pipe = Arc::new(Pipe::new(socket));
        shared.connection_count.fetch_add(1, Ordering::SeqCst);
        shared.pipes().push((number, Arc::clone(&pipe)));
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            let leaving = Leaving { shared: &shared, number, pipe: &pipe };
            let is_orderly = shared.serve(number, &pipe).is_ok();
            shared.rejected.fetch_add(u64::from(!is_orderly), Ordering::Relaxed);
            drop(leaving);
        });
    }
}

/// Closes a connection, whatever ended it.
struct Leaving<'a> {
    shared: &'a Shared,
    number: u64,
    pipe: &'a Pipe,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.pipe.close();
        // What it asked for goes on in the model. Its place stays taken until that is over, so that
        // clients which come and go cannot pile up work without end.
        if let Ok(mut core) = self.shared.core.lock() {
            core.drop_replies(self.number);
        }
        loop {
            if self.pipe.is_done() || self.shared.is_stopping.load(Ordering::SeqCst) {
                break;
            }
        }
        self.shared.pipes().retain(|(number, _)| *number != self.number);
        self.shared.connection_count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What ends a connection before its time: bytes that make no sense, or none.
struct Garbage;

impl From<io::Error> for Garbage {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl Shared {
    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().expect("the drive was left half-changed by an internal error")
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pipes(&self) -> MutexGuard<'_, Vec<(u64, Arc<Pipe>)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds since the start.
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn to_model(&self, wall: u64) -> Ns {
        match self.timing {
            Timing::Off => Ns(0),
            Timing::Scaled(scale) if (scale - 1.0).abs() < f64::EPSILON => Ns(wall),
            Timing::Scaled(scale) => Ns((wall as f64 / scale) as u64),
        }
    }

    fn to_wall(&self, model: Ns) -> u64 {
        match self.timing {
            Timing::Off => 0,
            Timing::Scaled(scale) if (scale - 1.0).abs() < f64::EPSILON => model.0,
            Timing::Scaled(scale) => (model.0 as f64 * scale) as u64,
        }
    }

    /// A connection from its greeting to its end.
    fn serve(self: &Arc<Self>, number: u64, pipe: &Arc<Pipe>) -> Result<(), Garbage> {
        let mut reader = BufReader::with_capacity(1 << 18, &pipe.socket);
        pipe.socket.set_patience(Some(HANDSHAKE_PATIENCE))?;
        let Some(handshake) = self.negotiate(&mut reader, &pipe.socket)? else { return Ok(()) };
        pipe.socket.set_patience(None)?;
        if self.timing == Timing::Off {
            return self.serve_at_once(number, &handshake, &mut reader, pipe);
        }
        let writer = Arc::clone(pipe);
        thread::spawn(move || writer.write_on());
        self.serve_in_time(number, &handshake, &mut reader, pipe)
    }

    fn negotiate(
        &self,
        reader: &mut impl Read,
        mut to: &Socket,
    ) -> Result<Option<Handshake>, Garbage> {
        to.write_all(&greeting())?;
        let mut flags = [0; 4];
        reader.read_exact(&mut flags)?;
        let mut handshake = Handshake::new(flags).ok_or(Garbage)?;
        for _ in 0..OPTIONS_MAX {
            let mut head = [0; 16];
            reader.read_exact(&mut head)?;
            let (option, length) = Handshake::option_head(&head).ok_or(Garbage)?;
            let mut data = vec![0; length as usize];
            reader.read_exact(&mut data)?;
            let mut answer = Vec::new();
            let next = handshake.answer(option, &data, &self.export, &mut answer);
            to.write_all(&answer)?;
            match next {
                Next::Option => {}
                Next::Transmission => return Ok(Some(handshake)),
                Next::Close => return Ok(None),
            }
        }
        Err(Garbage)
    }

    /// The next request and its data, which goes to `data`; `None` at the end.
    fn receive(
        &self,
        handshake: &Handshake,
        reader: &mut impl Read,
        data: &mut Vec<u8>,
    ) -> Result<Option<(Request, Errno)>, Garbage> {
        let mut head = [0; REQUEST_BYTES];
        // A client that vanishes between two requests just ends.
        if reader.read(&mut head[..1])? == 0 {
            return Ok(None);
        }
        reader.read_exact(&mut head[1..])?;
        let request = wire::request(&head).ok_or(Garbage)?;
        let errno = if request.command == Command::BlockStatus && !handshake.has_extents {
            Errno::Inval
        } else {
            wire::check(&request, self.export.bytes, self.export.is_read_only)
        };
        data.clear();
        if request.command == Command::Write {
            // Data of a request that is refused comes all the same.
            if request.length > 2 * wire::DATA_BYTES_MAX {
                return Err(Garbage);
            }
            data.resize(request.length as usize, 0);
            reader.read_exact(data)?;
        }
        Ok((request.command != Command::Disconnect).then_some((request, errno)))
    }

    /// Requests of a connection, answered by its own thread.
    fn serve_at_once(
        &self,
        connection: u64,
        handshake: &Handshake,
        reader: &mut BufReader<&Socket>,
        pipe: &Pipe,
    ) -> Result<(), Garbage> {
        let (mut data, mut replies) = (Vec::new(), Vec::new());
        let mut to = &pipe.socket;
        while let Some((request, errno)) = self.receive(handshake, reader, &mut data)? {
            let arrive = self.now();
            let mut core = self.core();
            let sequence = core.next_sequence();
            let errno = if errno == Errno::Ok {
                let asked = (&request, &data[..]);
                let begun = core.begin(Ns(0), sequence, asked, handshake.replies, &mut replies);
                begun.err().unwrap_or(Errno::Ok)
            } else {
                errno
            };
            drop(core);
            if errno != Errno::Ok {
                wire::reply(handshake.replies, &request, errno, &mut replies);
            }
            let times = Times { arrive, target: arrive, reply: self.now() };
            self.books().note(&Entry { sequence, connection, request, times, errno });
            if reader.buffer().is_empty() || replies.len() >= TOGETHER_BYTES {
                to.write_all(&replies)?;
                replies.clear();
                replies.shrink_to(TOGETHER_BYTES);
            }
        }
        Ok(to.write_all(&replies)?)
    }

    /// Requests of a connection, answered when the model says so.
    fn serve_in_time(
        &self,
        connection: u64,
        handshake: &Handshake,
        reader: &mut impl BufRead,
        pipe: &Arc<Pipe>,
    ) -> Result<(), Garbage> {
        let mut data = Vec::new();
        let mut ready = Vec::new();
        while let Some((request, errno)) = self.receive(handshake, reader, &mut data)? {
            // The reply to a read; of others the list of their pages.
            let length = request.length.min(wire::DATA_BYTES_MAX) as usize;
            let is_read = request.command == Command::Read;
            let held = REQUEST_COST + if is_read { length } else { length / PAGE_COST };
            if !pipe.acquire(held) {
                return Ok(());
            }
            let mut reply = Vec::new();
            let mut core = self.core();
            let arrive = self.now();
            let sequence = core.next_sequence();
            let begun = if errno == Errno::Ok {
                let asked = (&request, &data[..]);
                let at = self.to_model(arrive);
                core.begin(at, sequence, asked, handshake.replies, &mut reply)
            } else {
                Err(errno)
            };
            let errno = begun.err().unwrap_or(Errno::Ok);
            let times = Times { arrive, target: arrive, reply: arrive };
            let entry = Entry { sequence, connection, request, times, errno };
            let replies = handshake.replies;
            if errno != Errno::Ok {
                wire::reply(replies, &request, errno, &mut reply);
            }
            let pending = Pending { pipe: Arc::clone(pipe), replies, reply, held, entry };
            if begun == Ok(Begun::UnderWay) {
                core.wait(sequence, pending);
            } else {
                ready.push((self.to_model(arrive), pending));
            }
            core.advance(self.to_model(self.now()), &mut ready);
            let next = core.session.next_at();
            drop(core);
            self.answer(&mut ready);
            if next.is_some_and(|at| self.to_wall(at) < self.planned.load(Ordering::SeqCst)) {
                self.wake();
            }
        }
        Ok(())
    }

    /// Sends what is done.
    fn answer(&self, ready: &mut Vec<(Ns, Pending)>) {
        for (at, Pending { pipe, reply, held, mut entry, .. }) in ready.drain(..) {
            entry.times.target = self.to_wall(at);
            pipe.send(reply, held);
            entry.times.reply = self.now();
            self.books().note(&entry);
        }
    }

    /// Lets the timer look at the drive again.
    fn wake(&self) {
        let _guard = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_woken.store(true, Ordering::SeqCst);
        self.alarm.1.notify_one();
    }

    /// The timer: lets the drive go on as time does.
    fn keep_time(&self) {
        let mut ready = Vec::new();
        while !self.is_stopping.load(Ordering::SeqCst) {
            let next = {
                let mut core = self.core();
                core.advance(self.to_model(self.now()), &mut ready);
                let next = core.session.next_at().map_or(NEVER, |at| self.to_wall(at));
                // Before a reader can see the drive: it wakes us if its request ends earlier.
                self.planned.store(next, Ordering::SeqCst);
                self.is_woken.store(false, Ordering::SeqCst);
                next
            };
            self.answer(&mut ready);
            self.sleep_until(next);
        }
    }

    fn sleep_until(&self, wall: u64) {
        let mut guard = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_woken.load(Ordering::SeqCst) && !self.is_stopping.load(Ordering::SeqCst) {
            let left = wall.saturating_sub(self.now());
            if left <= SPIN_NS {
                break;
            }
            let span = Duration::from_nanos((left - SPIN_NS).min(100_000_000));
            let waited = self.alarm.1.wait_timeout(guard, span);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(guard);
        while self.now() < wall && !self.is_woken.load(Ordering::SeqCst) {
            std::hint::spin_loop();
        }
    }
}
