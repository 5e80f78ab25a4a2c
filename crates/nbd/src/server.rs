//! Sockets, connections and the timer: the threads of the server, and the only wall clock.
//!
//! ```text
//!  acceptor ─► reader of each connection ─► core (one lock) ─► reply at once          untimed
//!                     │                        ▲        └────► pending ─┐             timed
//!                     └─ who keeps time ───────┘ advance(now)           └─► pipe ─► socket
//! ```
//! Simulated time is wall time since the start, divided by the scale. A request enters the model
//! when it was read from its socket. A reader that waits for its client advances the drive
//! meanwhile ([`keeper`](opennandlab_serve::keeper)); a request that has ended in the model is answered at
//! once. How late that was is kept ([`Server::status`]).
//!
//! Untimed, a reader answers without the timer, and sends its replies when no further request has
//! arrived.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, thread};

use opennandlab_sim::session::{Begun, Session};
use opennandlab_sim::units::Ns;
use serde_json::{json, Value};

use crate::core::{Books, Core, Entry, Pending};
use crate::handshake::{Export, Handshake};
use crate::reading::{negotiate, receive, Garbage};
use crate::wire;
use opennandlab_serve::capture::{Capture, Kind};
use opennandlab_serve::clock::{Clock, Timing};
use opennandlab_serve::keeper::{sleep_exactly, Keeper, NEVER, TIMER};
use opennandlab_serve::pipe::{Pipe, Socket};
use opennandlab_serve::places::{bind, file, say};
use opennandlab_serve::power::Supply;
use opennandlab_serve::record::{Recorder, Times};
use opennandlab_serve::request::{Command, Errno};

/// Connections at once.
const CONNECTIONS_MAX: usize = 64;
/// A client that negotiates must continue within this time.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// Memory of a request in addition to its data.
const REQUEST_COST: usize = 512;
/// Bytes of a range for each byte of the list of its pages.
const PAGE_COST: usize = 512;
/// Replies that wait for others to be sent together, in bytes.
const TOGETHER_BYTES: usize = 256 << 10;
/// None of those who keep time.
const NOBODY: u64 = u64::MAX;

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
    /// The name of the export; the empty name is accepted too.
    pub name: String,
    /// Writes are refused.
    pub is_read_only: bool,
    /// Where requests are recorded.
    pub record: Option<PathBuf>,
    /// Where requests that change the drive are kept, with their bytes.
    pub capture: Option<PathBuf>,
}

struct Shared {
    core: Mutex<Core>,
    books: Mutex<Books>,
    capture: Option<Mutex<Capture>>,
    export: Export,
    clock: Clock,
    is_off: AtomicBool,
    keeper: Keeper,
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
    listeners: Vec<Arc<Listener>>,
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Accepts no client any more.
    fn close(&self) {
        let _ = match self {
            Self::Unix(unix) => rustix::net::shutdown(unix, rustix::net::Shutdown::Both),
            Self::Tcp(tcp) => rustix::net::shutdown(tcp, rustix::net::Shutdown::Both),
        };
    }
}

impl Server {
    /// Serves a drive until [`Server::stop`].
    ///
    /// # Errors
    /// A sentence when a socket cannot be made.
    pub fn start(
        session: Session,
        supply: Option<Supply>,
        options: &Options,
    ) -> Result<Self, String> {
        let export = Export {
            name: options.name.clone(),
            bytes: session.capacity_bytes(),
            is_read_only: options.is_read_only,
        };
        let recorder = match &options.record {
            Some(path) => {
                Some(file(path).and_then(Recorder::new).map_err(|error| say(path, &error))?)
            }
            None => None,
        };
        let capture = match &options.capture {
            Some(path) => {
                let unit = session.unit_bytes() as u32;
                let made = file(path).and_then(|file| Capture::new(file, export.bytes, unit));
                Some(Mutex::new(made.map_err(|error| say(path, &error))?))
            }
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
            core: Mutex::new(Core::new(session, supply)),
            books: Mutex::new(Books::new(recorder)),
            capture,
            export,
            clock: Clock::new(options.timing),
            is_off: AtomicBool::new(false),
            keeper: Keeper::new().map_err(|error| error.to_string())?,
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
        let listeners: Vec<_> = listeners.into_iter().map(Arc::new).collect();
        let accept = |listener: &Arc<Listener>| {
            let (shared, listener) = (Arc::clone(&shared), Arc::clone(listener));
            thread::spawn(move || accept(&shared, &listener))
        };
        let acceptors = listeners.iter().map(accept).collect();
        Ok(Self { shared, acceptors, timer, socket, tcp, listeners })
    }

    /// The port that was bound, if there is one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// The counts since the start:
    /// `{drive, connections, accepted, rejected, wall_ns, requests, …}`.
    pub fn status(&self) -> Value {
        let shared = &self.shared;
        let mut status = shared.books().to_json();
        let (drive, power) = shared.core().status();
        status["drive"] = drive;
        if let Some(power) = power {
            status["power"] = power;
        }
        status["connections"] = json!(shared.connection_count.load(Ordering::Relaxed));
        status["accepted"] = json!(shared.accepted.load(Ordering::Relaxed));
        status["rejected"] = json!(shared.rejected.load(Ordering::Relaxed));
        status["wall_ns"] = json!(shared.clock.now());
        status
    }

    /// The power fails: connections end at once, and no client can connect until
    /// [`Server::power_on`]. The drive has been mounted from its flash then; returns how long that
    /// takes it, as this server keeps time, in nanoseconds.
    ///
    /// # Errors
    /// A sentence for a drive that may not fail, or that is off.
    pub fn power_off(&self) -> Result<u64, String> {
        let shared = &self.shared;
        if shared.is_off.swap(true, Ordering::SeqCst) {
            return Err("the power is off already".to_owned());
        }
        let mut core = shared.core();
        let at = shared.clock.now();
        let Some((pending, ready)) = core.cut(shared.clock.to_model(at)) else {
            shared.is_off.store(false, Ordering::SeqCst);
            return Err("this drive is served without a supply that may fail".to_owned());
        };
        shared.note_power(Kind::Off, at);
        shared.plan(NOBODY, &mut core);
        drop(core);
        for (_, pipe) in shared.pipes().iter() {
            pipe.close();
        }
        for Pending { pipe, held, entry, .. } in pending {
            pipe.send(Vec::new(), held);
            if let Some(recorder) = &mut shared.books().recorder {
                recorder.skip(entry.sequence);
            }
        }
        Ok(shared.clock.to_wall(ready))
    }

    /// The power is back, and the drive ready: clients may connect.
    ///
    /// # Errors
    /// A sentence if it is on.
    pub fn power_on(&self) -> Result<(), String> {
        if !self.shared.is_off.load(Ordering::SeqCst) {
            return Err("the power is on".to_owned());
        }
        // The record has it before the first request.
        self.shared.note_power(Kind::On, self.shared.clock.now());
        self.shared.is_off.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Takes no more requests, brings the drive to rest and gives it back with the last status.
    ///
    /// # Errors
    /// A sentence when the record could not be written; the drive is given back all the same.
    pub fn stop(mut self) -> (Option<Session>, Value, Result<(), String>) {
        let shared = &self.shared;
        shared.is_stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptors, even if the socket file was moved: on Linux an accept ends when its
        // socket is shut down, elsewhere when a client connects.
        self.listeners.drain(..).for_each(|listener| listener.close());
        if let Some((path, inode)) = self.socket.take() {
            let _ = UnixStream::connect(&path);
            // The socket is removed only if it is still ours.
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
        shared.keeper.stop();
        if let Some(timer) = self.timer.take() {
            drop(timer.join());
        }
        shared.core().session().settle();
        let status = self.status();
        let recorder = self.shared.books().recorder.take();
        let recorded = recorder.map_or(Ok(()), Recorder::finish);
        let Self { shared, .. } = self;
        let Some(Shared { core, capture, .. }) = Arc::into_inner(shared) else {
            return (None, status, recorded.map_err(|error| error.to_string()));
        };
        let capture = capture.and_then(|capture| capture.into_inner().ok());
        let captured = capture.map_or(Ok(()), Capture::finish);
        let session = core.into_inner().ok().and_then(Core::into_session);
        (session, status, recorded.and(captured).map_err(|error| error.to_string()))
    }
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
        if shared.is_off.load(Ordering::SeqCst) {
            continue;
        }
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
        self.shared.keeper.leave(self.number + 1);
        self.pipe.close();
        // The requests of the client continue in the model. Its place stays taken until they have
        // ended, so that clients which come and go cannot pile up work without end.
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

/// Reads from a client; the waiting thread keeps time meanwhile, once its client sends requests.
struct Client<'a> {
    shared: &'a Shared,
    pipe: &'a Pipe,
    /// Number of the connection + 1; [`NOBODY`] while its client negotiates.
    keeps_as: u64,
    ready: Vec<(Ns, Pending)>,
}

impl Read for Client<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let socket = &self.pipe.socket;
        if self.keeps_as == NOBODY {
            return { socket }.read(bytes);
        }
        loop {
            match socket.read_now(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            if !self.shared.keeper.take(self.keeps_as) {
                return { socket }.read(bytes);
            }
            if self.shared.keeper.is_due(&self.shared.clock) {
                self.shared.go_on(self.keeps_as, &mut self.ready);
            } else {
                self.shared.keeper.pause(&self.shared.clock, socket.as_fd());
            }
        }
    }
}

impl Shared {
    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().expect("the drive was left half-changed by an internal error")
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what became of a request that changes the drive.
    fn capture(&self, kind: Kind, entry: &Entry, at: u64, data: &[u8]) {
        if let Some(capture) = &self.capture {
            let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
            let place = (entry.sequence, entry.connection);
            let at = self.clock.on_machine(at);
            capture.note(kind, place, (&entry.request, entry.errno), at, data);
        }
    }

    fn note_power(&self, kind: Kind, at: u64) {
        if let Some(capture) = &self.capture {
            let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
            capture.note_power(kind, self.clock.on_machine(at));
        }
    }

    fn pipes(&self) -> MutexGuard<'_, Vec<(u64, Arc<Pipe>)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection from its greeting to its end.
    fn serve(self: &Arc<Self>, number: u64, pipe: &Arc<Pipe>) -> Result<(), Garbage> {
        let client = Client { shared: self, pipe, keeps_as: NOBODY, ready: Vec::new() };
        let mut reader = BufReader::with_capacity(1 << 18, client);
        pipe.socket.set_patience(Some(HANDSHAKE_PATIENCE))?;
        let Some(handshake) = negotiate(&self.export, &mut reader, &pipe.socket)? else {
            return Ok(());
        };
        pipe.socket.set_patience(None)?;
        if self.clock.timing == Timing::Off {
            return self.serve_at_once(number, &handshake, &mut reader, pipe);
        }
        let writer = Arc::clone(pipe);
        thread::spawn(move || writer.write_on());
        sleep_exactly();
        reader.get_mut().keeps_as = number + 1;
        self.serve_in_time(number, &handshake, &mut reader, pipe)
    }

    /// Requests of a connection, answered by its own thread.
    fn serve_at_once(
        &self,
        connection: u64,
        handshake: &Handshake,
        reader: &mut BufReader<Client>,
        pipe: &Pipe,
    ) -> Result<(), Garbage> {
        let (mut data, mut replies) = (Vec::new(), Vec::new());
        let mut to = &pipe.socket;
        while let Some((request, errno)) = receive(&self.export, handshake, reader, &mut data)? {
            let arrive = self.clock.now();
            let mut core = self.core();
            let sequence = core.next_sequence();
            let errno = if errno == Errno::Ok {
                let asked = (&request, &data[..]);
                let begun = core.begin(Ns(0), sequence, asked, handshake.replies, &mut replies);
                begun.err().unwrap_or(Errno::Ok)
            } else {
                errno
            };
            let times = Times { arrive, target: arrive, reply: self.clock.now() };
            let entry = Entry { sequence, connection, request, times, errno };
            if errno == Errno::Ok {
                self.capture(Kind::Begun, &entry, times.reply, &data);
                self.capture(Kind::Answered, &entry, times.reply, &[]);
            }
            drop(core);
            if errno != Errno::Ok {
                wire::reply(handshake.replies, &request, errno, &mut replies);
            }
            self.books().note(&entry);
            if reader.buffer().is_empty() || replies.len() >= TOGETHER_BYTES {
                to.write_all(&replies)?;
                replies.clear();
                replies.shrink_to(TOGETHER_BYTES);
            }
        }
        Ok(to.write_all(&replies)?)
    }

    /// Serves the requests of a connection, each answered when it ends in the model.
    fn serve_in_time(
        &self,
        connection: u64,
        handshake: &Handshake,
        reader: &mut impl BufRead,
        pipe: &Arc<Pipe>,
    ) -> Result<(), Garbage> {
        let cuts = self.core().cuts;
        let mut data = Vec::new();
        let mut ready = Vec::new();
        while let Some((request, errno)) = receive(&self.export, handshake, reader, &mut data)? {
            // The reply to a read; of others the list of their pages.
            let length = request.length.min(wire::DATA_BYTES_MAX) as usize;
            let is_read = request.command == Command::Read;
            let held = REQUEST_COST + if is_read { length } else { length / PAGE_COST };
            let leave = || self.keeper.leave(connection + 1);
            if !pipe.acquire(held, leave) {
                return Ok(());
            }
            let mut reply = Vec::new();
            let mut core = self.core();
            if core.cuts != cuts || self.is_off.load(Ordering::SeqCst) {
                // It came from before a loss of power.
                pipe.send(Vec::new(), held);
                return Ok(());
            }
            let arrive = self.clock.now();
            let sequence = core.next_sequence();
            let begun = if errno == Errno::Ok {
                let asked = (&request, &data[..]);
                let at = self.clock.to_model(arrive);
                core.begin(at, sequence, asked, handshake.replies, &mut reply)
            } else {
                Err(errno)
            };
            let errno = begun.err().unwrap_or(Errno::Ok);
            let times = Times { arrive, target: arrive, reply: arrive };
            let entry = Entry { sequence, connection, request, times, errno };
            let replies = handshake.replies;
            if errno == Errno::Ok {
                self.capture(Kind::Begun, &entry, arrive, &data);
            }
            if errno != Errno::Ok {
                wire::reply(replies, &request, errno, &mut reply);
            }
            let pending = Pending { pipe: Arc::clone(pipe), replies, reply, held, entry };
            if begun == Ok(Begun::Running) {
                core.wait(sequence, pending);
            } else {
                ready.push((self.clock.to_model(arrive), pending));
            }
            core.advance(self.clock.to_model(self.clock.now()), &mut ready);
            self.plan(connection + 1, &mut core);
            drop(core);
            self.answer(&mut ready);
        }
        Ok(())
    }

    /// Sends the replies of completed requests.
    fn answer(&self, ready: &mut Vec<(Ns, Pending)>) {
        for (at, Pending { pipe, reply, held, mut entry, .. }) in ready.drain(..) {
            entry.times.target = self.clock.to_wall(at);
            self.capture(Kind::Answered, &entry, self.clock.now(), &[]);
            pipe.send(reply, held);
            entry.times.reply = self.clock.now();
            self.books().note(&entry);
        }
    }

    /// Notes when the drive has something to do next.
    fn plan(&self, who: u64, core: &mut Core) {
        let next = core.session().next_at().map_or(NEVER, |at| self.clock.to_wall(at));
        self.keeper.plan(who, next);
    }

    /// Advances the drive to the present time.
    fn go_on(&self, who: u64, ready: &mut Vec<(Ns, Pending)>) {
        let mut core = self.core();
        core.advance(self.clock.to_model(self.clock.now()), ready);
        self.plan(who, &mut core);
        drop(core);
        self.answer(ready);
    }

    /// The timer.
    fn keep_time(&self) {
        sleep_exactly();
        let mut ready = Vec::new();
        self.go_on(TIMER, &mut ready);
        while self.keeper.wait(&self.clock) {
            self.go_on(TIMER, &mut ready);
        }
    }
}
