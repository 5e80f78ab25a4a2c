//! Sockets, connections and the timer: the threads of the server, and the only wall clock.
//!
//! ```text
//!  acceptor ─► reader of each connection ─► core (one lock) ─► reply at once          untimed
//!                     │                        ▲        └────► pending ─┐             timed
//!                     └─ who keeps time ───────┘ advance(now)           └─► pipe ─► socket
//! ```
//! Simulated time is wall time since the start, divided by the scale. A request enters the model
//! when it was read from its socket. A reader that waits for its client advances the drive
//! meanwhile ([`keeper`](crate::keeper)); a request that has ended in the model is answered at
//! once. How late that was is kept ([`Server::status`]).
//!
//! Untimed, a reader answers without the timer, and sends its replies when no further request has
//! arrived.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, thread};

use opennandlab_sim::session::{Session, Snapshot};
use opennandlab_sim::units::Ns;
use serde_json::{json, Value};

use crate::answer::End;
use crate::capture::{Capture, Kind};
use crate::clock::{Clock, Timing};
use crate::core::{Books, Core, Pending};
use crate::keeper::Keeper;
use crate::line::{Line, HANDSHAKE_PATIENCE, NO_CLIENT};
use crate::pipe::{Pipe, Socket};
use crate::places::{bind, file, say};
use crate::power::Supply;
use crate::protocol::Protocol;
use crate::record::Recorder;
use crate::shared::Shared;

/// Connections at once.
const CONNECTIONS_MAX: usize = 64;

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// How fast the drive is.
    pub timing: Timing,
    /// Where requests are recorded.
    pub record: Option<PathBuf>,
    /// Where requests that change the drive are kept, with their bytes.
    pub capture: Option<PathBuf>,
}

/// Where clients of a protocol come in.
pub struct Door {
    listener: Listener,
    protocol: Arc<dyn Protocol>,
    is_closed: AtomicBool,
}

/// See the module.
pub struct Server {
    shared: Arc<Shared>,
    acceptors: Vec<JoinHandle<()>>,
    timer: Option<JoinHandle<()>>,
    doors: Vec<Arc<Door>>,
}

enum Listener {
    /// Its path, and the number of the socket that was made there on its file system.
    Unix(UnixListener, PathBuf, u64),
    Tcp(TcpListener, SocketAddr),
}

impl Door {
    /// A Unix socket that is made, for its owner alone.
    ///
    /// # Errors
    /// A sentence when it cannot be made.
    pub fn unix(path: &Path, protocol: Arc<dyn Protocol>) -> Result<Self, String> {
        let listener = bind(path)?;
        let inode = fs::symlink_metadata(path).map_err(|error| say(path, &error))?.ino();
        Ok(Self::of(Listener::Unix(listener, path.to_owned(), inode), protocol))
    }

    /// A port of an address of this machine alone, unless others are allowed. The protocol is made
    /// when the port is known.
    ///
    /// # Errors
    /// A sentence when the port cannot be had.
    pub fn tcp(
        address: SocketAddr,
        is_remote_allowed: bool,
        protocol: impl FnOnce(SocketAddr) -> Result<Arc<dyn Protocol>, String>,
    ) -> Result<Self, String> {
        if !address.ip().is_loopback() && !is_remote_allowed {
            return Err(format!(
                "{address} is not a loopback address; accepted: 127.0.0.1, ::1, \
                 others with --any-address"
            ));
        }
        let failed = |error| format!("{address}: {error}");
        let listener = TcpListener::bind(address).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        Ok(Self::of(Listener::Tcp(listener, bound), protocol(bound)?))
    }

    fn of(listener: Listener, protocol: Arc<dyn Protocol>) -> Self {
        Self { listener, protocol, is_closed: AtomicBool::new(false) }
    }

    /// The port that was bound, if this is one.
    pub fn address(&self) -> Option<SocketAddr> {
        match self.listener {
            Listener::Unix(..) => None,
            Listener::Tcp(_, bound) => Some(bound),
        }
    }

    /// Accepts no client any more. Wakes its acceptor, even if the socket file was moved: on Linux
    /// an accept ends when its socket is shut down, elsewhere when a client connects.
    fn close(&self) {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return;
        }
        match &self.listener {
            Listener::Unix(unix, path, inode) => {
                let _ = rustix::net::shutdown(unix, rustix::net::Shutdown::Both);
                let _ = UnixStream::connect(path);
                // The socket is removed only if it is still ours.
                if fs::symlink_metadata(path).is_ok_and(|it| it.ino() == *inode) {
                    let _ = fs::remove_file(path);
                }
            }
            Listener::Tcp(tcp, bound) => {
                let _ = rustix::net::shutdown(tcp, rustix::net::Shutdown::Both);
                let _ = TcpStream::connect_timeout(bound, Duration::from_secs(1));
            }
        }
    }
}

impl Drop for Door {
    /// A door that no server has opened leaves no socket either.
    fn drop(&mut self) {
        self.close();
    }
}

impl Server {
    /// Serves a drive until [`Server::stop`].
    ///
    /// # Errors
    /// A sentence when a file cannot be made.
    pub fn start(
        session: Session,
        supply: Option<Supply>,
        options: &Options,
        doors: Vec<Door>,
    ) -> Result<Self, String> {
        let recorder = match &options.record {
            Some(path) => {
                Some(file(path).and_then(Recorder::new).map_err(|error| say(path, &error))?)
            }
            None => None,
        };
        let capture = match &options.capture {
            Some(path) => {
                let (unit, bytes) = (session.unit_bytes() as u32, session.capacity_bytes());
                let made = file(path).and_then(|file| Capture::new(file, bytes, unit));
                Some(Mutex::new(made.map_err(|error| say(path, &error))?))
            }
            None => None,
        };
        let mut core = Core::new(session, supply);
        core.power_on(Ns(0));
        let shared = Arc::new(Shared {
            core: Mutex::new(core),
            books: Mutex::new(Books::new(recorder)),
            capture,
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
        let doors: Vec<_> = doors.into_iter().map(Arc::new).collect();
        let accept = |door: &Arc<Door>| {
            let (shared, door) = (Arc::clone(&shared), Arc::clone(door));
            thread::spawn(move || accept(&shared, &door))
        };
        let acceptors = doors.iter().map(accept).collect();
        Ok(Self { shared, acceptors, timer, doors })
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
            return Err("the power is already off".to_owned());
        }
        let mut core = shared.core();
        let at = shared.clock.now();
        let Some((pending, ready)) = core.cut(shared.clock.to_model(at)) else {
            shared.is_off.store(false, Ordering::SeqCst);
            return Err("this drive is served without a supply that may fail".to_owned());
        };
        shared.note_power(Kind::Off, at);
        shared.plan(NO_CLIENT, &mut core);
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
        let (shared, at) = (&self.shared, self.shared.clock.now());
        shared.note_power(Kind::On, at);
        let mut core = shared.core();
        core.power_on(shared.clock.to_model(at));
        shared.plan(NO_CLIENT, &mut core);
        drop(core);
        self.shared.is_off.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Writes an image of the drive as it is when this begins; clients wait for the first look at
    /// the drive alone.
    ///
    /// # Errors
    /// Those of the file, and one when the drive has lost its power or its data in the meantime.
    pub fn save(&self, file: &mut impl Write) -> io::Result<Saved> {
        let shared = &self.shared;
        let mut core = shared.core();
        for door in &self.doors {
            door.protocol.keep(core.session());
        }
        let mut snapshot = core.snapshot(shared.clock.to_model(shared.clock.now()));
        drop(core);
        let mut saved = Saved { bytes: 0, looked_at_bytes: snapshot.bytes() };
        let written = write_snapshot(&mut snapshot, file, shared, &mut saved.bytes);
        shared.core().session().drop_snapshot(snapshot);
        written.map(|()| saved)
    }

    /// Takes no more requests, brings the drive to rest and gives it back with the last status.
    ///
    /// # Errors
    /// A sentence when the record could not be written; the drive is given back all the same.
    pub fn stop(mut self) -> (Option<Session>, Value, Result<(), String>) {
        let shared = &self.shared;
        shared.is_stopping.store(true, Ordering::SeqCst);
        self.doors.iter().for_each(|door| door.close());
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
        // Threads of connections have counted themselves out, and end now.
        while Arc::strong_count(shared) > 1 {
            thread::sleep(Duration::from_millis(1));
        }
        shared.core().end_service(shared.clock.to_model(shared.clock.now()));
        for door in &self.doors {
            door.protocol.keep(shared.core().session());
        }
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

/// What an image of a served drive took.
#[derive(Clone, Copy, Debug)]
pub struct Saved {
    /// Bytes of the image.
    pub bytes: u64,
    /// Those that were put together while clients had to wait.
    pub looked_at_bytes: u64,
}

fn write_snapshot(
    snapshot: &mut Snapshot,
    file: &mut impl Write,
    shared: &Shared,
    written: &mut u64,
) -> io::Result<()> {
    let mut bytes = std::mem::take(&mut snapshot.head);
    loop {
        file.write_all(&bytes)?;
        *written += bytes.len() as u64;
        bytes.clear();
        let more = shared.core().session().copy_units(snapshot, &mut bytes);
        if !more.map_err(io::Error::other)? {
            break;
        }
    }
    for bytes in [&bytes, &snapshot.tail] {
        file.write_all(bytes)?;
        *written += bytes.len() as u64;
    }
    Ok(())
}

fn accept(shared: &Arc<Shared>, door: &Arc<Door>) {
    loop {
        let socket = match &door.listener {
            Listener::Unix(unix, ..) => unix.accept().map(|(stream, _)| Socket::Unix(stream)),
            Listener::Tcp(tcp, _) => tcp.accept().map(|(stream, _)| {
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
        let (shared, protocol) = (Arc::clone(shared), Arc::clone(&door.protocol));
        thread::spawn(move || {
            let leaving = Leaving { shared: &shared, number, pipe: &pipe };
            let _ = pipe.socket.set_patience(Some(HANDSHAKE_PATIENCE));
            let mut line = Line::new(&shared, number, &pipe);
            let outcome = protocol.serve(&mut line).and_then(|()| line.finish());
            let is_garbage = outcome == Err(End::Garbage);
            shared.rejected.fetch_add(u64::from(is_garbage), Ordering::Relaxed);
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
