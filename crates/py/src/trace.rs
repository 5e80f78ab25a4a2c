//! Trace files: opened here, read there.
//!
//! The drive's crate knows no files and no compression. Here a file is opened, gzip and zstd are
//! told by their first bytes (names lie), and the text is hashed as it streams past. Ctrl-C is
//! heard while reading: a trace may have gigabytes.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use opennandlab_sim::device::DeviceConfig;
use opennandlab_sim::workload::trace::Trace as Records;
use opennandlab_sim::workload::ReplayConfig;
use pyo3::prelude::*;
use sha2::{Digest, Sha256};

use crate::doorway::{doorway, Failure};

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 1 << 18;
/// How often Python is asked whether a signal is waiting.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

/// A trace that was read completely.
#[pyclass(frozen)]
pub(crate) struct Trace {
    pub(crate) records: Arc<Records>,
    digest: String,
}

#[pymethods]
impl Trace {
    /// Reads the file at `path` as the resolved `replay` says.
    #[new]
    fn new(py: Python<'_>, path: &str, replay: &str, device: &str) -> PyResult<Self> {
        doorway(py, || {
            let space = DeviceConfig::resolve(device)?.space();
            let options = ReplayConfig::resolve(replay, space)?.trace_options();
            let refuse = |error: io::Error| Failure::Trace(format!("{path}: {error}"));
            let text = decoded(File::open(path).map_err(refuse)?).map_err(refuse)?;
            let watch = Arc::new(Mutex::new(Watch { hash: Sha256::new(), raised: None }));
            let stream = Watched { inner: text, watch: Arc::clone(&watch), asked: Instant::now() };
            let mut reader = BufReader::with_capacity(BUFFER_BYTES, stream);
            let read = Records::read(&mut reader, path, &options);
            // Poison would need a panic while hashing: the content is still there.
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(error) = watch.raised.take() {
                return Err(Failure::Python(error));
            }
            let records = read.map_err(|error| Failure::Trace(error.to_string()))?;
            let digest = format!("{:x}", watch.hash.clone().finalize());
            Ok(Self { records: Arc::new(records), digest })
        })
    }

    /// SHA-256 of the uncompressed text, in hex.
    fn digest(&self) -> &str {
        &self.digest
    }

    /// What is in the trace, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        doorway(py, || {
            let summary = self.records.summary();
            Ok(serde_json::json!({
                "format": self.records.format(),
                "read_count": summary.read_count,
                "write_count": summary.write_count,
                "trim_count": summary.trim_count,
                "bytes": summary.bytes,
                "span_s": summary.span.as_seconds(),
                "volume_count": self.records.volumes().len(),
                "sector_end_max": summary.sector_end_max,
                "skipped_lines": self.records.skipped_lines(),
            })
            .to_string())
        })
    }
}

/// The text of a file, whatever its compression.
fn decoded(file: File) -> io::Result<Box<dyn Read + Send>> {
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

/// What is learnt while the text streams past.
struct Watch {
    hash: Sha256,
    raised: Option<PyErr>,
}

/// A reader that hashes what it hands out and listens to signals.
struct Watched<R> {
    inner: R,
    watch: Arc<Mutex<Watch>>,
    asked: Instant,
}

/// Raises what a signal handler of Python raises, such as `KeyboardInterrupt`.
fn waiting_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.hash.update(&buffer[..count]);
        if self.asked.elapsed() >= SIGNAL_PERIOD {
            self.asked = Instant::now();
            if let Err(error) = Python::attach(waiting_signals) {
                watch.raised = Some(error);
                return Err(io::Error::other("interrupted"));
            }
        }
        Ok(count)
    }
}
