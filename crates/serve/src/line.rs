//! A connection as its protocol has it: bytes that arrive, requests to the drive, replies.
//!
//! Untimed, requests are answered by the thread that reads, which sends its replies when no further
//! request has arrived. In time, each is answered when it ends in the model, by the thread that
//! advances the drive.

use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use opennandlab_sim::session::{Begun, Session};
use opennandlab_sim::units::Ns;

use crate::answer::{Answer, End, Fault};
use crate::capture::Kind;
use crate::clock::Timing;
use crate::core::{Entry, Pending};
use crate::keeper::sleep_exactly;
use crate::pipe::{Pipe, Socket};
use crate::power::Supply;
use crate::record::Times;
use crate::request::{Command, Errno, Request};
use crate::shared::Shared;

/// Most bytes that a request may read or write.
pub const DATA_BYTES_MAX: u32 = 32 << 20;
/// Memory of a request in addition to its data.
const REQUEST_COST: usize = 512;
/// Bytes of a range for each byte of the list of its pages.
const PAGE_COST: usize = 512;
/// Replies that wait for others to be sent together, in bytes.
const TOGETHER_BYTES: usize = 256 << 10;
/// A client that negotiates must continue, and begin its requests, within this time.
pub(crate) const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// None of those who keep time.
pub(crate) const NO_CLIENT: u64 = u64::MAX;

/// Reads from a client; the waiting thread keeps time meanwhile, once its client sends requests.
pub struct Client<'a> {
    shared: &'a Shared,
    pipe: &'a Pipe,
    /// Number of the connection + 1; [`NO_CLIENT`] while its client negotiates.
    keeps_as: u64,
    /// When its requests must have begun; `None` once they have.
    begins_by: Option<Instant>,
    ready: Vec<(Ns, Pending)>,
}

impl Read for Client<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let socket = &self.pipe.socket;
        if let Some(end) = self.begins_by {
            let left = end.saturating_duration_since(Instant::now());
            // A patience of nothing is none at all.
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.set_patience(Some(left))?;
        }
        if self.keeps_as == NO_CLIENT {
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

/// See the module.
pub struct Line<'a> {
    shared: &'a Arc<Shared>,
    number: u64,
    pipe: &'a Arc<Pipe>,
    /// What arrives.
    pub reader: BufReader<Client<'a>>,
    /// Losses of power before its first request.
    cuts: u64,
    /// Replies that are not sent yet; untimed only.
    replies: Vec<u8>,
    ready: Vec<(Ns, Pending)>,
}

impl<'a> Line<'a> {
    pub(crate) fn new(shared: &'a Arc<Shared>, number: u64, pipe: &'a Arc<Pipe>) -> Self {
        let begins_by = Some(Instant::now() + HANDSHAKE_PATIENCE);
        let ready = Vec::new();
        let client = Client { shared, pipe, keeps_as: NO_CLIENT, begins_by, ready };
        let reader = BufReader::with_capacity(1 << 18, client);
        Self { shared, number, pipe, reader, cuts: 0, replies: Vec::new(), ready: Vec::new() }
    }

    /// The socket, to negotiate on: once requests have begun, replies go through this line.
    pub fn socket(&self) -> &'a Socket {
        &self.pipe.socket
    }

    /// How to end this connection from another thread.
    pub fn pipe(&self) -> Arc<Pipe> {
        Arc::clone(self.pipe)
    }

    /// How long a read may wait for the client; `None` without end.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.pipe.socket.set_patience(patience)
    }

    /// Requests follow. A thread that `keeps_time` while it waits for them has no
    /// patience that ends.
    pub fn begin_requests(&mut self, keeps_time: bool) {
        self.cuts = self.shared.core().cuts;
        self.reader.get_mut().begins_by = None;
        if self.is_timed() {
            let writer = Arc::clone(self.pipe);
            thread::spawn(move || writer.write_on());
            if keeps_time {
                sleep_exactly();
                self.reader.get_mut().keeps_as = self.number + 1;
            }
        }
    }

    fn is_timed(&self) -> bool {
        self.shared.clock.timing != Timing::Off
    }

    /// Whether the drive takes wall time in proportion to its model: the factor.
    pub fn scale(&self) -> Option<f64> {
        match self.shared.clock.timing {
            Timing::Off => None,
            Timing::Scaled(scale) => Some(scale),
        }
    }

    /// Whether what changes the drive is kept: a purge cannot be.
    pub fn is_captured(&self) -> bool {
        self.shared.capture.is_some()
    }

    /// The drive and its supply, looked at under their lock.
    pub fn drive<T>(&self, look: impl FnOnce(&mut Session, Option<&Supply>, Ns) -> T) -> T {
        let now = self.shared.clock.to_model(self.shared.clock.now());
        let mut core = self.shared.core();
        let (session, supply) = core.both();
        look(session, supply, now)
    }

    /// Sends bytes that are the reply to no request of the drive.
    ///
    /// # Errors
    /// [`End`] when the connection is closed.
    pub fn send(&mut self, bytes: Vec<u8>) -> Result<(), End> {
        if !self.is_timed() {
            self.replies.extend(bytes);
            return self.push_out();
        }
        let held = REQUEST_COST + bytes.len();
        self.acquire(held)?;
        self.pipe.send(bytes, held);
        Ok(())
    }

    fn acquire(&self, held: usize) -> Result<(), End> {
        let leave = || self.shared.keeper.leave(self.number + 1);
        if self.pipe.acquire(held, leave) {
            return Ok(());
        }
        Err(End::Closed)
    }

    /// Sends what waits, unless a further request has arrived.
    fn push_out(&mut self) -> Result<(), End> {
        if self.reader.buffer().is_empty() || self.replies.len() >= TOGETHER_BYTES {
            (&self.pipe.socket).write_all(&self.replies)?;
            self.replies.clear();
            self.replies.shrink_to(TOGETHER_BYTES);
        }
        Ok(())
    }

    /// Sends all that waits.
    ///
    /// # Errors
    /// [`End`] when the connection is closed.
    pub fn finish(&mut self) -> Result<(), End> {
        (&self.pipe.socket).write_all(&std::mem::take(&mut self.replies))?;
        Ok(())
    }

    /// Gives the drive a request with the data of a write, unless its protocol has `checked` that
    /// it makes no sense. `answer` is sent when it has ended.
    ///
    /// # Errors
    /// [`End`] when the connection is closed, or the power has failed.
    pub fn submit(
        &mut self,
        asked: (&Request, &[u8]),
        checked: Errno,
        answer: impl Answer,
    ) -> Result<(), End> {
        if self.is_timed() {
            self.submit_in_time(asked, checked, answer)
        } else {
            self.submit_at_once(asked, checked, answer)
        }
    }

    fn submit_at_once(
        &mut self,
        (request, data): (&Request, &[u8]),
        checked: Errno,
        mut answer: impl Answer,
    ) -> Result<(), End> {
        let (connection, start) = (self.number, self.replies.len());
        let arrive = self.shared.clock.now();
        let mut core = self.shared.core();
        let sequence = core.next_sequence();
        let outcome = if checked == Errno::Ok {
            let replies = &mut self.replies;
            core.begin(Ns(0), sequence, (request, data), &mut answer, replies).map(|_| ())
        } else {
            Err(Fault::Checked(checked))
        };
        let errno = outcome.map_or_else(Fault::errno, |()| Errno::Ok);
        let times = Times { arrive, target: arrive, reply: self.shared.clock.now() };
        let entry = Entry { sequence, connection, request: *request, times, errno };
        if errno == Errno::Ok {
            self.shared.capture(Kind::Begun, &entry, times.reply, data);
            self.shared.capture(Kind::Answered, &entry, times.reply, &[]);
        }
        drop(core);
        answer.end(outcome, &mut self.replies, start);
        self.shared.books().note(&entry);
        self.push_out()
    }

    fn submit_in_time(
        &mut self,
        (request, data): (&Request, &[u8]),
        checked: Errno,
        mut answer: impl Answer,
    ) -> Result<(), End> {
        let shared = self.shared;
        // The reply to a read; of others the list of their pages.
        let length = request.length.min(DATA_BYTES_MAX) as usize;
        let is_read = request.command == Command::Read;
        let held = REQUEST_COST + if is_read { length } else { length / PAGE_COST };
        self.acquire(held)?;
        let mut reply = Vec::new();
        let mut core = shared.core();
        if core.cuts != self.cuts || shared.is_off.load(Ordering::SeqCst) {
            // It came from before a loss of power.
            self.pipe.send(Vec::new(), held);
            return Err(End::Closed);
        }
        let arrive = shared.clock.now();
        let sequence = core.next_sequence();
        let begun = if checked == Errno::Ok {
            let at = shared.clock.to_model(arrive);
            core.begin(at, sequence, (request, data), &mut answer, &mut reply)
        } else {
            Err(Fault::Checked(checked))
        };
        let times = Times { arrive, target: arrive, reply: arrive };
        let errno = begun.map_or_else(Fault::errno, |_| Errno::Ok);
        let entry = Entry { sequence, connection: self.number, request: *request, times, errno };
        if errno == Errno::Ok {
            shared.capture(Kind::Begun, &entry, arrive, data);
        }
        let pipe = Arc::clone(self.pipe);
        let mut pending = Pending { pipe, answer: Some(Box::new(answer)), reply, held, entry };
        if begun == Ok(Begun::Running) {
            core.wait(sequence, pending);
        } else {
            pending.end(begun.map(|_| ()));
            self.ready.push((shared.clock.to_model(arrive), pending));
        }
        core.advance(shared.clock.to_model(shared.clock.now()), &mut self.ready);
        match self.reader.get_ref().keeps_as {
            NO_CLIENT => shared.plan(NO_CLIENT, &mut core),
            reader => shared.keeper.plan_and_take(reader, shared.next_at(&mut core)),
        }
        drop(core);
        shared.answer(&mut self.ready);
        Ok(())
    }
}
