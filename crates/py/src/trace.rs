//! A trace that was read: made from a file, handed to a drive.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::workload::trace::remap::Map;
use opennandlab_sim::workload::trace::statistics::{Shape, Statistics};
use opennandlab_sim::workload::trace::write::Target;
use opennandlab_sim::workload::trace::{Trace as Records, TraceError, TraceOptions};
use opennandlab_sim::workload::ReadingConfig;
use pyo3::prelude::*;

use crate::config::{Replay, Workload};
use crate::doorway::{doorway, Failure};
use crate::source;

/// A trace that was read completely.
#[pyclass(frozen)]
pub(crate) struct Trace {
    pub(crate) records: Arc<Records>,
    digest: String,
}

impl Trace {
    fn read(
        py: Python<'_>,
        path: &str,
        options: &TraceOptions,
        unpacked_bytes_max: Option<u64>,
    ) -> PyResult<Self> {
        doorway(py, || {
            let read = |reader: &mut dyn std::io::BufRead| Records::read(reader, path, options);
            let (records, digest) = source::read(path, unpacked_bytes_max, read)?;
            Ok(Self { records: Arc::new(records), digest })
        })
    }
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
        Self::read(py, path, &options, replay.unpacked_bytes_max())
    }

    /// Reads the file at `path` in the way of the tenant of this number.
    #[staticmethod]
    #[pyo3(signature = (path, workload, tenant, memory_bytes_max=None))]
    fn of_tenant(
        py: Python<'_>,
        path: &str,
        workload: &Workload,
        tenant: usize,
        memory_bytes_max: Option<u64>,
    ) -> PyResult<Self> {
        let (options, unpacked_bytes_max) = workload.trace_options(tenant).unwrap_or_default();
        let options = TraceOptions { memory_bytes_max, ..options };
        Self::read(py, path, &options, unpacked_bytes_max)
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
            let others = [("flush_count", summary.flush_count), ("fua_count", summary.fua_count)];
            for (name, count) in others.into_iter().filter(|(_, count)| *count > 0) {
                found[name] = serde_json::json!(count);
            }
            Ok(found.to_string())
        })
    }

    /// The same with its requests where the table of ranges at `path` leads them, and counts of
    /// them as JSON; pages have `page_bytes`.
    fn moved(&self, py: Python<'_>, path: &str, page_bytes: u64) -> PyResult<(Self, String)> {
        doorway(py, || {
            let (records, counts) = moved(&self.records, path, page_bytes)?;
            let digest = self.digest.clone();
            Ok((Self { records: Arc::new(records), digest }, counts))
        })
    }
}

/// A trace after a table of ranges, and counts as JSON.
fn moved(trace: &Records, path: &str, page_bytes: u64) -> Result<(Records, String), Failure> {
    let (map, _) = source::read(path, None, |reader| Map::read(reader, path))?;
    let moved = trace.moved(&map, page_bytes);
    let (records, counts) = moved.map_err(|text| Failure::Trace(format!("{path}: {text}")))?;
    Ok((records, serde_json::json!(counts).to_string()))
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Self::Trace(error.to_string())
    }
}

/// Statistics of one trace as JSON, in one pass that keeps no requests. Several `paths` are the
/// parts of one, such as the records of blktrace of each processor.
#[pyfunction]
pub(crate) fn trace_statistics(
    py: Python<'_>,
    paths: Vec<String>,
    reading: &str,
    page_bytes: u64,
    pages_max: usize,
) -> PyResult<String> {
    doorway(py, move || {
        let config = ReadingConfig::resolve(reading)?;
        let options = config.trace_options(None);
        let found = Statistics::read::<Failure>(
            |read| source::read_all(&paths, config.unpacked_bytes_max, read),
            &paths.join(" + "),
            &options,
            Shape { page_bytes, pages_max },
        )?;
        Ok(serde_json::json!(found).to_string())
    })
}

/// Traces in memory, joined to one.
#[pyclass(frozen)]
pub(crate) struct Traces {
    records: Records,
    duplicates: u64,
}

#[pymethods]
impl Traces {
    /// Reads files, each a group of parts of one trace, whose requests may take `memory_bytes_max`
    /// bytes.
    #[new]
    #[pyo3(signature = (groups, reading, memory_bytes_max=None))]
    fn new(
        py: Python<'_>,
        groups: Vec<Vec<String>>,
        reading: &str,
        memory_bytes_max: Option<u64>,
    ) -> PyResult<Self> {
        doorway(py, || {
            let config = ReadingConfig::resolve(reading)?;
            let options = config.trace_options(memory_bytes_max);
            let mut traces = Vec::new();
            for paths in groups {
                let name = paths.join(" + ");
                traces.push(Records::read_files::<Failure>(
                    |read| source::read_all(&paths, config.unpacked_bytes_max, read),
                    &name,
                    &options,
                )?);
            }
            let (records, duplicates) = Records::join(&traces, config.align, config.dedupe);
            Ok(Self { records, duplicates })
        })
    }

    /// Requests that another file has too.
    fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Names of volumes and of processes, and warnings, as JSON.
    fn names(&self, py: Python<'_>) -> PyResult<String> {
        doorway(py, || {
            Ok(serde_json::json!({
                "format": self.records.format(),
                "volumes": self.records.volumes(),
                "processes": self.records.processes(),
                "warnings": self.records.warnings(),
            })
            .to_string())
        })
    }

    /// Statistics as JSON.
    fn statistics(&self, py: Python<'_>, page_bytes: u64, pages_max: usize) -> PyResult<String> {
        doorway(py, || {
            let found = Statistics::of(&self.records, Shape { page_bytes, pages_max });
            Ok(serde_json::json!(found).to_string())
        })
    }

    /// As of [`Trace::moved`].
    fn moved(&self, py: Python<'_>, path: &str, page_bytes: u64) -> PyResult<(Self, String)> {
        doorway(py, || {
            let (records, counts) = moved(&self.records, path, page_bytes)?;
            Ok((Self { records, duplicates: self.duplicates }, counts))
        })
    }

    /// The traces after the changes that `reading` has, and counts of pages as JSON.
    fn edit(&self, py: Python<'_>, reading: &str) -> PyResult<(Self, String)> {
        doorway(py, || {
            let config = ReadingConfig::resolve(reading)?;
            let (records, pages) = self
                .records
                .edit(&config.edit)
                .map_err(|message| ConfigError::new("edit", message))?;
            let duplicates = self.duplicates;
            Ok((Self { records, duplicates }, serde_json::json!(pages).to_string()))
        })
    }

    /// Writes a file in the format `target`: all, or the requests of a volume or of a process by
    /// index. Returns counts of losses, as JSON.
    #[pyo3(signature = (path, target, volume=None, process=None))]
    fn write(
        &self,
        py: Python<'_>,
        path: &str,
        target: &str,
        volume: Option<usize>,
        process: Option<u32>,
    ) -> PyResult<String> {
        doorway(py, || {
            let target: Target = serde_json::from_value(serde_json::json!(target))
                .map_err(|error| ConfigError::new("--to", error.to_string()))?;
            let is_part = |at: usize, by: u32| {
                volume.is_none_or(|volume| volume == at) && process.is_none_or(|it| it == by)
            };
            let write = || {
                let mut out = BufWriter::new(File::create(path)?);
                let losses = self.records.write(target, &mut out, &is_part)?;
                out.flush().map(|()| losses)
            };
            let losses = write().map_err(|error| Failure::Trace(format!("{path}: {error}")))?;
            Ok(serde_json::json!(losses).to_string())
        })
    }
}
