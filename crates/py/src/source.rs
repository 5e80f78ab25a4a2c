//! Texts of any length: opened, decompressed, hashed and listened to while they stream past.
//!
//! The drive's crate knows no files and no compression. Here a file is opened, gzip and zstd are
//! told by their first bytes (names lie), and the text is hashed. Ctrl-C is heard while reading: a
//! trace may have gigabytes, and a pipe may have nothing for a while.
//!
//! Files and pipes are read. A device has no end, and a pipe into which nobody writes would be
//! waited for, so both are refused when they are opened.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use pyo3::prelude::*;
use sha2::{Digest, Sha256};

use crate::doorway::Failure;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 1 << 18;
/// How often Python is asked whether a signal is waiting.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

/// What `parse` makes of the text at `path`, and the SHA-256 of that text in hex.
pub(crate) fn read<T, E: Display>(
    path: &str,
    parse: impl FnOnce(&mut dyn BufRead) -> Result<T, E>,
) -> Result<(T, String), Failure> {
    let signals = Signals::default();
    // Whatever reading says after Python has raised, it says because of that.
    let or_raised = |message: String| match signals.take() {
        Some(error) => Failure::Python(error),
        None => Failure::Trace(message),
    };
    let refuse = |error: io::Error| or_raised(format!("{path}: {error}"));
    let file = Waiting { inner: open(path).map_err(refuse)?, signals: signals.clone() };
    let text = decoded(file).map_err(refuse)?;
    let hash = Arc::new(Mutex::new(Sha256::new()));
    let stream = Hashing { inner: text, hash: Arc::clone(&hash), signals: signals.clone() };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, stream);
    let parsed = parse(&mut reader).map_err(|error| or_raised(error.to_string()))?;
    // Poison would need a panic while hashing: the content is still there.
    let hash = hash.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((parsed, format!("{:x}", hash.clone().finalize())))
}

/// What `open` hands out: a file, or a pipe with the bytes that were read to try it.
type Opened = io::Chain<Cursor<Vec<u8>>, File>;

/// Opens a file, or a pipe into which somebody writes.
#[cfg(unix)]
fn open(path: &str) -> io::Result<Opened> {
    use std::os::unix::fs::FileTypeExt;

    use rustix::fs::{fcntl_setfl, Mode, OFlags};

    // Without NONBLOCK, a pipe that nobody writes into would hold us here.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    let mut head = Vec::new();
    if kind.is_fifo() {
        let mut start = [0; ZSTD_MAGIC.len()];
        match file.read(&mut start) {
            Ok(0) => return Err(io::Error::other("no program writes into this pipe")),
            Ok(count) => head.extend_from_slice(&start[..count]),
            // A program that has not written yet is waited for.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        fcntl_setfl(&file, OFlags::empty())?;
    } else if !kind.is_file() {
        return Err(io::Error::other("not a file; accepted: a trace in a file, or from a pipe"));
    }
    Ok(Cursor::new(head).chain(file))
}

/// Opens a file.
#[cfg(not(unix))]
fn open(path: &str) -> io::Result<Opened> {
    Ok(Cursor::new(Vec::new()).chain(File::open(path)?))
}

/// The text of a file, whatever its compression.
fn decoded(file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut head = Vec::new();
    // A pipe may hand out less than four bytes at once.
    reader.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head)?;
    let is = |magic: &[u8]| head.starts_with(magic);
    let (is_gzip, is_zstd) = (is(GZIP_MAGIC), is(ZSTD_MAGIC));
    let whole = Cursor::new(head).chain(reader);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if is_zstd {
        Box::new(zstd::Decoder::with_buffer(BufReader::new(whole))?)
    } else {
        Box::new(whole)
    })
}

/// Signals of Python, asked for while reading; what a handler raised is kept.
#[derive(Clone)]
struct Signals(Arc<Mutex<(Instant, Option<PyErr>)>>);

impl Default for Signals {
    fn default() -> Self {
        Self(Arc::new(Mutex::new((Instant::now(), None))))
    }
}

impl Signals {
    /// Lets Python handle signals; an error when a handler raised, such as `KeyboardInterrupt`.
    fn ask(&self) -> io::Result<()> {
        #[allow(clippy::redundant_closure_for_method_calls)] // the method is not general enough
        let raised = Python::attach(|py| py.check_signals());
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = Instant::now();
        raised.map_err(|error| {
            state.1 = Some(error);
            io::Error::other("interrupted")
        })
    }

    fn are_due(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.elapsed() >= SIGNAL_PERIOD
    }

    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }
}

/// A reader that listens to signals when one ends its waiting.
struct Waiting<R> {
    inner: R,
    signals: Signals,
}

impl<R: Read> Read for Waiting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.signals.ask()?,
                done => return done,
            }
        }
    }
}

/// A reader that hashes what it hands out, and listens to signals now and then.
struct Hashing<R> {
    inner: R,
    hash: Arc<Mutex<Sha256>>,
    signals: Signals,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.lock().unwrap_or_else(PoisonError::into_inner).update(&buffer[..count]);
        if self.signals.are_due() {
            self.signals.ask()?;
        }
        Ok(count)
    }
}
