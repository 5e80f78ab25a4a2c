//! Texts of any length: opened, decompressed, hashed and interruptible while they stream past.
//!
//! The drive's crate knows no files and no compression. Here a file is opened, gzip, bzip2, xz and
//! zstd are recognised by their first bytes (names may be wrong), and the text is hashed. Ctrl-C is
//! checked while reading: a trace may have gigabytes, and a pipe may have nothing for a while.
//!
//! Unpacking streams, so a compressed file takes no more memory than a plain one: at most 512 MiB
//! for the window of xz, 128 MiB for that of zstd (its own limit). The unpacked size of a small
//! file is limited too, or one of endless comments would be read for hours.
//!
//! Files and pipes are read. A device has no end, and a pipe without a writer would block, so both
//! are refused when they are opened.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{Stream, CONCATENATED};
use pyo3::prelude::*;
use sha2::{Digest, Sha256};

use crate::doorway::Failure;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BZIP2_MAGIC: &[u8] = b"BZh";
const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
/// Memory that unpacking xz may take; `xz -9` needs 65 MiB.
const XZ_MEMORY_BYTES_MAX: u64 = 512 << 20;
/// Unpacked bytes that any compressed file may have, unless the user sets another limit.
const UNPACKED_BYTES_MAX: u64 = 16 << 30;
/// Or this number for each compressed byte: traces are packed to a third or a twentieth of their
/// size.
const UNPACKED_PER_PACKED_MAX: u64 = 100;
const BUFFER_BYTES: usize = 1 << 18;
/// How often Python is asked whether a signal is waiting.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

/// Lets `parse` take the texts at `paths`, one after the other, each with its path.
pub(crate) fn read_all<E: Display>(
    paths: &[String],
    unpacked_bytes_max: Option<u64>,
    parse: &mut dyn FnMut(&mut dyn BufRead, &str) -> Result<(), E>,
) -> Result<(), Failure> {
    let mut paths = paths.iter();
    paths.try_for_each(|path| read_one(path, unpacked_bytes_max, None, |text| parse(text, path)))
}

/// What `parse` makes of the text at `path`, and the SHA-256 of that text in hex. A compressed text
/// may have `unpacked_bytes_max` bytes.
pub(crate) fn read<T, E: Display>(
    path: &str,
    unpacked_bytes_max: Option<u64>,
    parse: impl FnOnce(&mut dyn BufRead) -> Result<T, E>,
) -> Result<(T, String), Failure> {
    let hash = Arc::new(Mutex::new(Sha256::new()));
    let parsed = read_one(path, unpacked_bytes_max, Some(Arc::clone(&hash)), parse)?;
    // Poison would need a panic while hashing: the content is still there.
    let hash = hash.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((parsed, format!("{:x}", hash.clone().finalize())))
}

fn read_one<T, E: Display>(
    path: &str,
    unpacked_bytes_max: Option<u64>,
    hash: Option<Arc<Mutex<Sha256>>>,
    parse: impl FnOnce(&mut dyn BufRead) -> Result<T, E>,
) -> Result<T, Failure> {
    let signals = Signals::default();
    // An error of reading after Python has raised is a consequence of that exception.
    let or_raised = |message: String| match signals.take() {
        Some(error) => Failure::Python(error),
        None => Failure::Trace(message),
    };
    let refuse = |error: io::Error| or_raised(format!("{path}: {error}"));
    let file = Waiting { inner: open(path).map_err(refuse)?, signals: signals.clone() };
    let inner = decoded(file, unpacked_bytes_max).map_err(refuse)?;
    let stream = Hashing { inner, hash, signals: signals.clone() };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, stream);
    parse(&mut reader).map_err(|error| or_raised(error.to_string()))
}

/// What `open` hands out: a file, or a pipe with the bytes that were read to try it.
type Opened = io::Chain<Cursor<Vec<u8>>, File>;

/// Opens a file, or a pipe that has a writer.
#[cfg(unix)]
fn open(path: &str) -> io::Result<Opened> {
    use std::os::unix::fs::FileTypeExt;

    use rustix::fs::{fcntl_setfl, Mode, OFlags};

    // Without NONBLOCK, a pipe without a writer would block here.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    let mut head = Vec::new();
    if kind.is_fifo() {
        let mut start = [0; XZ_MAGIC.len()];
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
fn decoded(
    file: impl Read + Send + 'static,
    unpacked_bytes_max: Option<u64>,
) -> io::Result<Box<dyn Read + Send>> {
    let packed_bytes = Arc::new(AtomicU64::new(0));
    let file = Counting { inner: file, bytes: Arc::clone(&packed_bytes) };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut head = Vec::new();
    // A pipe may hand out less than six bytes at once.
    reader.by_ref().take(XZ_MAGIC.len() as u64).read_to_end(&mut head)?;
    let is = |magic: &[u8]| head.starts_with(magic);
    let magics = [is(GZIP_MAGIC), is(ZSTD_MAGIC), is(BZIP2_MAGIC), is(XZ_MAGIC)];
    let whole = Cursor::new(head).chain(reader);
    let inner: Box<dyn Read + Send> = match magics {
        [true, ..] => Box::new(MultiGzDecoder::new(whole)),
        [_, true, ..] => Box::new(zstd::Decoder::with_buffer(whole)?),
        [.., true, _] => Box::new(MultiBzDecoder::new(whole)),
        [.., true] => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, CONCATENATED)?;
            Box::new(XzDecoder::new_stream(whole, stream))
        }
        _ => return Ok(Box::new(whole)),
    };
    Ok(Box::new(Unpacked { inner, bytes: 0, packed_bytes, bytes_max: unpacked_bytes_max }))
}

/// A reader that counts the bytes that it hands out.
struct Counting<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// An unpacked text that ends with an error when it grows too long.
struct Unpacked {
    inner: Box<dyn Read + Send>,
    bytes: u64,
    packed_bytes: Arc<AtomicU64>,
    bytes_max: Option<u64>,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        let packed_bytes = self.packed_bytes.load(Ordering::Relaxed);
        let limit = self.bytes_max.unwrap_or_else(|| {
            packed_bytes.saturating_mul(UNPACKED_PER_PACKED_MAX).max(UNPACKED_BYTES_MAX)
        });
        if self.bytes > limit {
            return Err(io::Error::other(format!(
                "{packed_bytes} compressed bytes unpack to more than {limit}; accepted: a trace \
                 that does not, or a larger `unpacked_bytes_max` (--unpacked-max)"
            )));
        }
        Ok(count)
    }
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

/// A reader that hashes the bytes that it hands out, if asked, and checks for signals now and then.
struct Hashing<R> {
    inner: R,
    hash: Option<Arc<Mutex<Sha256>>>,
    signals: Signals,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(hash) = &self.hash {
            hash.lock().unwrap_or_else(PoisonError::into_inner).update(&buffer[..count]);
        }
        if self.signals.are_due() {
            self.signals.ask()?;
        }
        Ok(count)
    }
}
