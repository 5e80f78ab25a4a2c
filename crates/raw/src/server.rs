//! A chip on a socket: for emulators and other languages.
//!
//! All numbers are little-endian. A client sends a request and reads its reply; the replies of a
//! connection come in the order of its requests.
//!
//! ```text
//!   request   magic u32 │ op u16 │ flags u16 │ tag u64 │ block u32 │ page u32 │ length u32 │ data
//!   reply     magic u32 │ tag u64 │ status u32 │ corrected max u32, sum u32 │ length u32 │ data
//! ```
//! `status` is a number of Linux, as in C but positive. With `EINVAL` the data are the reason.
//! After a frame that is not valid the connection is closed; no other connection is affected.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use opennandlab_serve::places::bind;
use opennandlab_sim::config::ConfigError;
use rustix::net::Shutdown;
use serde_json::json;

use crate::chip::{Access, At, Erasure, RawNand, Status};
use crate::faults::Fault;

/// `ONLR` in a stream of bytes.
const MAGIC: u32 = u32::from_le_bytes(*b"ONLR");
const HEAD_BYTES: usize = 28;
const CONNECTIONS_MAX: usize = 64;
/// Before another connection is accepted when the system has no room for one.
const PATIENCE: Duration = Duration::from_millis(20);
const EIO: u32 = 5;
const EINVAL: u32 = 22;
const RAW: u16 = 1;
const FORCE: u16 = 2;

const GEOMETRY: u16 = 1;
const READ: u16 = 2;
const PROGRAM: u16 = 3;
const ERASE: u16 = 4;
const IS_BAD: u16 = 5;
const MARK_BAD: u16 = 6;
const INJECT: u16 = 7;
const AGE: u16 = 8;
const STATS: u16 = 9;

/// A request without its data.
#[derive(Debug)]
struct Request {
    op: u16,
    flags: u16,
    tag: u64,
    at: At,
    length: usize,
}

/// The fields of a stream of bytes that is long enough.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn next<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("its length was checked");
        self.0 = rest;
        *field
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.next())
    }
}

impl Request {
    /// The request of a head, for pages of `page` bytes with `oob` spare ones; or its tag, and why
    /// it is none.
    fn parse(head: &[u8; HEAD_BYTES], page: usize, oob: usize) -> Result<Self, (u64, String)> {
        let mut fields = Fields(head);
        let magic = fields.u32();
        let op = u16::from_le_bytes(fields.next());
        let flags = u16::from_le_bytes(fields.next());
        let tag = u64::from_le_bytes(fields.next());
        let at = At { block: fields.u32(), page: fields.u32() };
        let length = fields.u32() as usize;
        if magic != MAGIC {
            return Err((0, format!("magic: {magic:#x}; accepted: {MAGIC:#x}")));
        }
        // The flags and lengths of an operation.
        let (known, lengths) = match op {
            READ => (RAW, 0..=0),
            PROGRAM => (RAW, page..=page + oob),
            ERASE => (FORCE, 0..=0),
            INJECT => (0, 12..=12),
            AGE => (0, 24..=24),
            GEOMETRY | IS_BAD | MARK_BAD | STATS => (0, 0..=0),
            _ => return Err((tag, format!("op: {op} is unknown; accepted: 1 to {STATS}"))),
        };
        if flags & !known != 0 {
            return Err((tag, format!("flags: {flags} is not known here; accepted: 0 or {known}")));
        }
        if !lengths.contains(&length) {
            let (least, most) = (lengths.start(), lengths.end());
            return Err((tag, format!("length: {length}; accepted: {least} to {most}")));
        }
        Ok(Self { op, flags, tag, at, length })
    }
}

/// An answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reply {
    status: u32,
    corrected: [u32; 2],
    data: Vec<u8>,
}

impl Reply {
    fn refused(text: String) -> Self {
        Self { status: EINVAL, data: text.into_bytes(), ..Self::default() }
    }

    fn with(data: Vec<u8>) -> Self {
        Self { data, ..Self::default() }
    }

    fn of(status: Status) -> Self {
        Self { status: status as u32, ..Self::default() }
    }

    fn bytes(&self, tag: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.data.len());
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(tag.to_le_bytes());
        for field in [self.status, self.corrected[0], self.corrected[1], self.data.len() as u32] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(&self.data);
        bytes
    }
}

fn answer(chip: &mut RawNand, request: &Request, data: &[u8]) -> Result<Reply, ConfigError> {
    let at = request.at;
    let access = if request.flags & RAW == 0 { Access::Coded } else { Access::Raw };
    let erasure = if request.flags & FORCE == 0 { Erasure::Careful } else { Erasure::Forced };
    let mut fields = Fields(data);
    Ok(match request.op {
        GEOMETRY => {
            let it = chip.geometry();
            let fields = [
                it.page_bytes,
                it.oob_bytes,
                it.oob_free_bytes,
                it.pages_per_block,
                it.blocks,
                it.step_bytes,
                it.strength,
                it.bitflip_threshold,
            ];
            Reply::with(fields.iter().flat_map(|field| field.to_le_bytes()).collect())
        }
        READ => {
            let found = chip.read(at, access)?;
            let corrected = [found.corrected_max, found.corrected_sum];
            Reply { status: found.status as u32, corrected, data: found.bytes }
        }
        PROGRAM => {
            let (data, oob) = data.split_at(chip.geometry().page_bytes as usize);
            Reply::of(chip.program(at, data, oob, access)?)
        }
        ERASE => Reply::of(chip.erase(at.block, erasure)?),
        IS_BAD => match chip.is_bad(at.block)? {
            Ok(is_bad) => Reply::with(vec![is_bad.into()]),
            Err(status) => Reply::of(status),
        },
        MARK_BAD => Reply::of(chip.mark_bad(at.block)?),
        INJECT => {
            let (kind, step) = (fields.u32(), fields.u32());
            chip.inject(Fault::of(kind, at.block, at.page, step, fields.u32())?)?;
            Reply::default()
        }
        AGE => {
            let [pe, hours, celsius] = [(); 3].map(|()| f64::from_le_bytes(fields.next()));
            chip.age(pe, hours, celsius)?;
            Reply::default()
        }
        // No other is parsed.
        _ => Reply::with(json!(chip.stats()).to_string().into_bytes()),
    })
}

struct Shared {
    chip: Arc<Mutex<RawNand>>,
    is_stopping: AtomicBool,
    connections: Mutex<Vec<Arc<File>>>,
}

/// A chip that is being served.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Arc<OwnedFd>>,
    acceptors: Vec<JoinHandle<()>>,
    /// The socket that was made, and its number on its file system.
    socket: Option<(PathBuf, u64)>,
    tcp: Option<SocketAddr>,
}

impl Server {
    /// Serves a chip at a Unix socket or at a port of this machine alone.
    ///
    /// # Errors
    /// A sentence when a socket cannot be made.
    pub fn start(
        chip: Arc<Mutex<RawNand>>,
        socket: Option<&Path>,
        tcp: Option<SocketAddr>,
    ) -> Result<Self, String> {
        let mut listeners = Vec::new();
        let mut bound = None;
        if let Some(address) = tcp {
            if !address.ip().is_loopback() {
                return Err(format!("{address} is not a loopback address"));
            }
            let listener =
                TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
            bound = listener.local_addr().ok();
            listeners.push(Arc::new(OwnedFd::from(listener)));
        }
        let mut made = None;
        if let Some(path) = socket {
            listeners.push(Arc::new(OwnedFd::from(bind(path)?)));
            let about = fs::symlink_metadata(path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            made = Some((path.to_owned(), about.ino()));
        }
        let (is_stopping, connections) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { chip, is_stopping, connections });
        let accept = |listener: &Arc<OwnedFd>| {
            let (shared, listener) = (Arc::clone(&shared), Arc::clone(listener));
            thread::spawn(move || shared.accept(&listener))
        };
        let acceptors = listeners.iter().map(accept).collect();
        Ok(Self { shared, listeners, acceptors, socket: made, tcp: bound })
    }

    /// The port that was bound, if there is one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Ends all connections.
    pub fn stop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        for listener in &self.listeners {
            let _ = rustix::net::shutdown(listener, Shutdown::Both);
        }
        for acceptor in self.acceptors.drain(..) {
            let _ = acceptor.join();
        }
        for connection in self.shared.list().iter() {
            let _ = rustix::net::shutdown(connection.as_fd(), Shutdown::Both);
        }
        while !self.shared.list().is_empty() {
            thread::sleep(PATIENCE);
        }
        if let Some((path, inode)) = self.socket.take() {
            if fs::symlink_metadata(&path).is_ok_and(|about| about.ino() == inode) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Arc<File>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes clients until the listener is shut.
    fn accept(self: &Arc<Self>, listener: &OwnedFd) {
        while !self.is_stopping.load(Ordering::SeqCst) {
            let Ok(client) = rustix::net::accept(listener) else {
                thread::sleep(PATIENCE);
                continue;
            };
            let client = Arc::new(File::from(client));
            let mut list = self.list();
            if list.len() >= CONNECTIONS_MAX {
                continue;
            }
            list.push(Arc::clone(&client));
            drop(list);
            let shared = Arc::clone(self);
            thread::spawn(move || {
                // The client is gone, or sent no request.
                let _ = shared.serve(&client);
                let _ = rustix::net::shutdown(client.as_fd(), Shutdown::Both);
                shared.list().retain(|other| !Arc::ptr_eq(other, &client));
            });
        }
    }

    fn serve(&self, client: &File) -> io::Result<()> {
        let (page, oob) = {
            let chip = self.chip.lock().unwrap_or_else(PoisonError::into_inner);
            (chip.geometry().page_bytes as usize, chip.geometry().oob_bytes as usize)
        };
        let mut reader = BufReader::new(client);
        let mut writer = client;
        loop {
            let mut head = [0; HEAD_BYTES];
            reader.read_exact(&mut head)?;
            let request = match Request::parse(&head, page, oob) {
                Ok(request) => request,
                Err((tag, text)) => return writer.write_all(&Reply::refused(text).bytes(tag)),
            };
            let mut data = vec![0; request.length];
            reader.read_exact(&mut data)?;
            let reply = match self.chip.lock() {
                Ok(mut chip) => answer(&mut chip, &request, &data)
                    .unwrap_or_else(|error| Reply::refused(error.to_string())),
                // An earlier request was not finished.
                Err(_) => Reply { status: EIO, ..Reply::default() },
            };
            writer.write_all(&reply.bytes(request.tag))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_head_is_taken_for_more_data_than_a_page(
            mut head in any::<[u8; HEAD_BYTES]>(), op in 0_u16..12, is_ours: bool,
        ) {
            if is_ours {
                head[..4].copy_from_slice(&MAGIC.to_le_bytes());
                head[4..6].copy_from_slice(&op.to_le_bytes());
            }
            if let Ok(request) = Request::parse(&head, 2048, 64) {
                prop_assert!(request.length <= 2112);
            }
        }
    }
}
