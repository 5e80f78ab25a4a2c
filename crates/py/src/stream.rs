//! The commands of a stimulus as lines that another program carries out.

use std::sync::{Mutex, PoisonError};

use opennandlab_sim::workload::cell::lines::write_lines;
use opennandlab_sim::workload::cell::CellSpec;
use opennandlab_sim::workload::{Generator, Space};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::doorway::doorway;

/// Commands drawn at once, so that they stay in the cache.
const CHUNK: usize = 1024;
/// Only the sizes of pages depend on it, and a stream knows no pages.
const PAGE_BYTES: u64 = 4096;

/// The commands of one thread of a stimulus on an address space, without end.
#[pyclass(frozen)]
pub(crate) struct Stream {
    generator: Mutex<Box<dyn Generator>>,
}

#[pymethods]
impl Stream {
    /// The stimulus `spec` (JSON), as its thread number `thread` draws it.
    #[new]
    fn new(
        py: Python<'_>,
        spec: &str,
        capacity_bytes: u64,
        seed: u64,
        thread: u32,
    ) -> PyResult<Self> {
        doorway(py, || {
            let space = Space {
                logical_bytes: capacity_bytes,
                page_bytes: PAGE_BYTES,
                placement_ids: 0,
                zones: None,
            };
            let generator = CellSpec::resolve(spec, space)?.stream(thread, seed);
            Ok(Self { generator: Mutex::new(generator) })
        })
    }

    /// The next `count` commands on the file called `name`, as lines of an iolog of fio.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        count: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let lines = doorway(py, || {
            let mut generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut lines, mut batch) = (Vec::new(), Vec::with_capacity(CHUNK));
            for start in (0..count).step_by(CHUNK) {
                batch.clear();
                generator.fill(&mut batch, CHUNK.min(count - start));
                write_lines(&batch, name, &mut lines);
            }
            Ok(lines)
        })?;
        Ok(PyBytes::new(py, &lines))
    }
}
