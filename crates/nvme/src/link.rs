//! A connection from its first byte to its end: PDUs become commands with their data.
//!
//! ```text
//! ICReq ─► ICResp ─► capsule ─┬─ has its data, or none ─────────────────────► execute
//!                             └─ R2T ─► (other capsules) ─► H2CData, … whole ─► execute
//! ```
//! A PDU that makes no sense is answered by a termination request, and the connection ends. What
//! a command asks for is answered by its status, and the connection stays.

use std::collections::BTreeMap;
use std::io::{BufRead, ErrorKind, Read, Result as IoResult};
use std::sync::Arc;

use opennandlab_serve::answer::End;
use opennandlab_serve::line::Line;

use crate::bytes::get;
use crate::command::{Entry, Place, TRANSFER_BYTES_MAX};
use crate::digest::crc32c;
use crate::fabrics::{self, Queue, CONNECT_BYTES, ENTRIES_MAX};
use crate::pdu::{self, Digests, Fatal, Kind, Shape, DIGEST_BYTES, HEAD_BYTES};
use crate::reply::Ticket;
use crate::status::Status;
use crate::target::Target;
use crate::{admin, io};

/// Head of a queue that the host leaves alone.
const NO_HEAD: u16 = 0xffff;

/// A command that waits for its data.
struct Waiting {
    ticket: Ticket,
    /// All of it, as far as it has come.
    bytes: usize,
    data: Vec<u8>,
    /// Why it fails when its data is there.
    status: Status,
}

/// What ends a connection.
enum Stop {
    End(End),
    /// With the header that was no good.
    Fatal(Fatal, Vec<u8>),
}

impl From<End> for Stop {
    fn from(end: End) -> Self {
        Self::End(end)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::End(error.into())
    }
}

/// See the module.
struct Link<'a> {
    target: &'a Arc<Target>,
    digests: Digests,
    queue: Option<Queue>,
    /// Capsules that have come, modulo the entries of the queue.
    head: u16,
    /// By tag.
    waiting: BTreeMap<u16, Waiting>,
    next_tag: u16,
    /// Memory for the data of capsules.
    data: Vec<u8>,
}

/// Most bytes of a header after the first PDU.
const HEADER_BYTES_MAX: usize = 72;

/// Adds the next bytes to `data`, which costs no zeros first.
fn append(reader: &mut impl BufRead, mut count: usize, data: &mut Vec<u8>) -> IoResult<()> {
    data.reserve_exact(count);
    while count > 0 {
        let come = reader.fill_buf()?;
        if come.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let come = &come[..come.len().min(count)];
        data.extend_from_slice(come);
        let taken = come.len();
        reader.consume(taken);
        count -= taken;
    }
    Ok(())
}

/// Serves a connection.
pub(crate) fn serve(target: &Arc<Target>, line: &mut Line<'_>) -> Result<(), End> {
    match run(target, line) {
        Ok(()) | Err(Stop::End(End::Closed)) => Ok(()),
        Err(Stop::End(end)) => Err(end),
        Err(Stop::Fatal(fatal, bad)) => {
            line.send(pdu::terminate(fatal, &bad))?;
            line.finish()?;
            Err(End::Garbage)
        }
    }
}

fn run(target: &Arc<Target>, line: &mut Line<'_>) -> Result<(), Stop> {
    let mut bytes = [0; 128];
    line.reader.read_exact(&mut bytes)?;
    let digests = pdu::initialize(&bytes).map_err(|fatal| Stop::Fatal(fatal, bytes.to_vec()))?;
    line.send(pdu::initialized(digests))?;
    let (queue, waiting) = (None, BTreeMap::new());
    let data = Vec::new();
    let mut link = Link { target, digests, queue, head: 0, waiting, next_tag: 0, data };
    while link.step(line)? {}
    Ok(())
}

impl Link<'_> {
    /// Takes the next PDU; false at the end.
    fn step(&mut self, line: &mut Line<'_>) -> Result<bool, Stop> {
        let mut head = [0; HEAD_BYTES];
        // A host that vanishes between two PDUs just ends.
        if line.reader.fill_buf()?.is_empty() {
            return Ok(false);
        }
        line.reader.read_exact(&mut head)?;
        let shape = self.digests.shape(head);
        let shape = shape.map_err(|fatal| Stop::Fatal(fatal, head.to_vec()))?;
        let mut header = [0; HEADER_BYTES_MAX];
        let header = &mut header[..shape.header];
        header[..HEAD_BYTES].copy_from_slice(&head);
        line.reader.read_exact(&mut header[HEAD_BYTES..])?;
        if shape.kind == Kind::Terminates {
            return Ok(false);
        }
        if self.digests.header {
            let mut digest = [0; DIGEST_BYTES];
            line.reader.read_exact(&mut digest)?;
            if digest != crc32c(header).to_le_bytes() {
                return Err(Stop::Fatal(Fatal::DIGEST, header.to_vec()));
            }
        }
        let outcome = match shape.kind {
            Kind::Data => self.take_data(header, shape, line),
            _ => self.take_command(header, shape, line),
        };
        outcome.map(|()| true).map_err(|stop| match stop {
            Stop::Fatal(fatal, bad) if bad.is_empty() => Stop::Fatal(fatal, header.to_vec()),
            stop => stop,
        })
    }

    /// Adds the data of a PDU to `data`; false if its digest does not fit.
    fn read(&self, count: usize, data: &mut Vec<u8>, line: &mut Line<'_>) -> Result<bool, Stop> {
        let start = data.len();
        append(&mut line.reader, count, data)?;
        if !self.digests.data || count == 0 {
            return Ok(true);
        }
        let mut digest = [0; DIGEST_BYTES];
        line.reader.read_exact(&mut digest)?;
        Ok(digest == crc32c(&data[start..]).to_le_bytes())
    }

    /// What the completion of the next command needs.
    fn ticket(&mut self, entry: Entry) -> Ticket {
        let entries = self.queue.as_ref().map_or(1, |queue| queue.entries);
        self.head = (self.head + 1) % entries;
        let is_brief = self.queue.as_ref().is_some_and(|queue| queue.is_without_flow);
        let head = if is_brief { NO_HEAD } else { self.head };
        let id = self.queue.as_ref().map_or(0, |queue| queue.id);
        let failures = Arc::clone(&self.target.failures);
        Ticket { failures, entry, digests: self.digests, queue: (id, head), is_brief }
    }

    fn take_command(
        &mut self,
        header: &[u8],
        shape: Shape,
        line: &mut Line<'_>,
    ) -> Result<(), Stop> {
        let mut entry = Entry([0; 64]);
        entry.0.copy_from_slice(&header[HEAD_BYTES..]);
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        let is_sound = self.read(shape.data, &mut data, line)?;
        let ticket = self.ticket(entry);
        let (place, bytes) = (entry.data_place(), entry.data_bytes());
        let comes_later = entry.is_from_host() && place == Place::Transport && bytes > 0;
        let status = match place {
            _ if !is_sound => Status::TRANSPORT,
            Place::Capsule if entry.data_offset() != 0 => Status::SGL_OFFSET,
            Place::Capsule if bytes as usize != data.len() => Status::SGL_LENGTH,
            Place::Other if bytes > 0 => Status::SGL_TYPE,
            _ if comes_later && bytes > TRANSFER_BYTES_MAX => Status::FIELD,
            _ if comes_later && !data.is_empty() => Status::SGL_TYPE,
            _ => Status::OK,
        };
        if comes_later && status == Status::OK {
            return self.ask(ticket, bytes, line);
        }
        self.execute(ticket, status, &data, line)?;
        self.data = data;
        Ok(())
    }

    /// Asks for the data of a command.
    fn ask(&mut self, ticket: Ticket, bytes: u32, line: &mut Line<'_>) -> Result<(), Stop> {
        let entries = self.queue.as_ref().map_or(ENTRIES_MAX + 1, |queue| queue.entries);
        if self.waiting.len() >= usize::from(entries) {
            return Err(Stop::Fatal(Fatal::LIMIT, Vec::new()));
        }
        while self.waiting.contains_key(&self.next_tag) {
            self.next_tag = self.next_tag.wrapping_add(1);
        }
        let tag = self.next_tag;
        self.next_tag = tag.wrapping_add(1);
        line.send(self.digests.ready(ticket.entry.id(), tag, bytes))?;
        let (bytes, data) = (bytes as usize, Vec::new());
        self.waiting.insert(tag, Waiting { ticket, bytes, data, status: Status::OK });
        Ok(())
    }

    /// A part of the data of a command, in order.
    fn take_data(&mut self, header: &[u8], shape: Shape, line: &mut Line<'_>) -> Result<(), Stop> {
        let fatal = |fatal| Err(Stop::Fatal(fatal, Vec::new()));
        let (id, tag) = (get(header, 8, 2) as u16, get(header, 10, 2) as u16);
        let (offset, length) = (get(header, 12, 4) as usize, get(header, 16, 4) as usize);
        let Some(mut waiting) = self.waiting.remove(&tag) else { return fatal(Fatal::SEQUENCE) };
        if waiting.ticket.entry.id() != id {
            return fatal(Fatal::SEQUENCE);
        }
        if length != shape.data || length == 0 {
            return fatal(Fatal { status: 1, offset: 16 });
        }
        let end = offset + length;
        if offset != waiting.data.len() || end > waiting.bytes {
            return fatal(Fatal::RANGE);
        }
        if !self.read(length, &mut waiting.data, line)? {
            waiting.status = Status::TRANSPORT;
        }
        let is_whole = end == waiting.bytes;
        if is_whole != shape.is_last {
            return fatal(Fatal::SEQUENCE);
        }
        if is_whole {
            let Waiting { ticket, status, data, .. } = waiting;
            return self.execute(ticket, status, &data, line);
        }
        self.waiting.insert(tag, waiting);
        Ok(())
    }

    /// Carries out a command, unless it has failed by now.
    fn execute(
        &mut self,
        ticket: Ticket,
        status: Status,
        data: &[u8],
        line: &mut Line<'_>,
    ) -> Result<(), Stop> {
        let Some(queue) = &self.queue else { return self.connect(&ticket, status, data, line) };
        let outcome = if status != Status::OK {
            line.send(ticket.completed(Err(status)))
        } else if queue.id == 0 {
            admin::execute(queue, ticket, data, line)
        } else {
            io::execute(queue, ticket, data, line)
        };
        Ok(outcome?)
    }

    /// The first command of a connection names its queue.
    fn connect(
        &mut self,
        ticket: &Ticket,
        status: Status,
        data: &[u8],
        line: &mut Line<'_>,
    ) -> Result<(), Stop> {
        let connected = match status {
            Status::OK => fabrics::connect(self.target, &ticket.entry, data, line.pipe()),
            status => Err((status, 0)),
        };
        let queue = match connected {
            Ok(queue) => queue,
            Err((status, first)) => {
                let mut done = pdu::completion(&ticket.entry, ticket.queue, first, status);
                done[8..10].fill(0);
                let mut reply = Vec::new();
                self.digests.response(&done, &mut reply);
                line.send(reply)?;
                return Ok(());
            }
        };
        debug_assert_eq!(data.len(), CONNECT_BYTES);
        let is_admin = queue.id == 0;
        line.set_patience(admin::patience(queue.keep_alive_ms))?;
        line.begin_requests(!is_admin);
        let (id, first) = (queue.id, u64::from(queue.controller.id));
        self.head = 1;
        let head = if queue.is_without_flow { NO_HEAD } else { self.head };
        self.queue = Some(queue);
        let ticket = Ticket { queue: (id, head), ..ticket.clone() };
        line.send(ticket.completed(Ok(first)))?;
        Ok(())
    }
}
