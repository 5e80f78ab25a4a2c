//! A trace that was read: made from a file, handed to a drive.

use std::sync::Arc;

use opennandlab_sim::workload::trace::{Trace as Records, TraceOptions};
use pyo3::prelude::*;

use crate::config::Replay;
use crate::doorway::doorway;
use crate::source;

/// A trace that was read completely.
#[pyclass(frozen)]
pub(crate) struct Trace {
    pub(crate) records: Arc<Records>,
    digest: String,
}

#[pymethods]
impl Trace {
    /// Reads the file at `path` in the way of `replay`; its requests may take `memory_bytes_max`
    /// bytes.
    #[new]
    #[pyo3(signature = (path, replay, memory_bytes_max=None))]
    fn new(
        py: Python<'_>,
        path: &str,
        replay: &Replay,
        memory_bytes_max: Option<u64>,
    ) -> PyResult<Self> {
        let options = TraceOptions { memory_bytes_max, ..replay.trace_options() };
        let unpacked_bytes_max = replay.unpacked_bytes_max();
        doorway(py, || {
            let (records, digest) = source::read(path, unpacked_bytes_max, |reader| {
                Records::read(reader, path, &options)
            })?;
            Ok(Self { records: Arc::new(records), digest })
        })
    }

    /// SHA-256 of the uncompressed text, in hex.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// The contents of the trace, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        doorway(py, || {
            let summary = self.records.summary();
            let mut found = serde_json::json!({
                "format": self.records.format(),
                "read_count": summary.read_count,
                "write_count": summary.write_count,
                "trim_count": summary.trim_count,
                "bytes": summary.bytes,
                "span_s": summary.span.as_seconds(),
                "volume_count": self.records.volumes().len(),
                "sector_end_max": summary.sector_end_max,
                "skipped_lines": self.records.skipped_lines(),
            });
            let durable = [("flush_count", summary.flush_count), ("fua_count", summary.fua_count)];
            for (name, count) in durable.into_iter().filter(|(_, count)| *count > 0) {
                found[name] = serde_json::json!(count);
            }
            Ok(found.to_string())
        })
    }
}
