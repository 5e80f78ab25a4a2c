//! A raw NAND chip as Python holds it, and the server of one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use opennandlab_raw::{Access, At, Erasure, Fault, Options, RawNand as Chip, Scope, Server};
use opennandlab_sim::config::ConfigError;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{json, Value};

use crate::doorway::{doorway, exception, Failure};

/// A page that was read: `status`, `data`, `oob`, `corrected_max`, `corrected_sum`.
#[pyclass(frozen, get_all, module = "opennandlab")]
pub(crate) struct RawRead {
    /// 0, or `errno.EUCLEAN`, `EBADMSG`, `ENODEV`.
    status: i32,
    /// Data bytes.
    data: Py<PyBytes>,
    /// Spare bytes.
    oob: Py<PyBytes>,
    /// Most corrected bits of a step.
    corrected_max: u32,
    /// Corrected bits of all steps.
    corrected_sum: u32,
}

/// A raw NAND chip in memory: pages with OOB, the rules of the flash, ECC, faults, ageing.
///
/// Operations return numbers of `errno`, as the MTD layer of a kernel does: 0, `EUCLEAN` (corrected
/// bits at the threshold), `EBADMSG` (uncorrectable, the data are as they were read), `EIO` (bad
/// block, failed program or erase), `ENODEV` (no power). What cannot be, and a rule of the flash
/// that would be broken, raise `ConfigError`.
///
/// >>> import opennandlab as onl
/// >>> chip = onl.RawNand(blocks=16)
/// >>> chip.program(0, 0, bytes(2048))
/// 0
/// >>> chip.flip(0, 0, 2, 8)
/// >>> found = chip.read(0, 0)
/// >>> found.status, found.data == bytes(2048), found.corrected_max
/// (117, True, 8)
#[pyclass(frozen, module = "opennandlab")]
pub(crate) struct RawNand {
    chip: Arc<Mutex<Chip>>,
}

impl RawNand {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Chip) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        doorway(py, || {
            let locked = self.chip.lock().map_err(|_: PoisonError<_>| ());
            work(&mut locked.expect("this chip was left half-changed; build a new one"))
        })
    }
}

fn number(key: &str, value: i64) -> Result<u32, ConfigError> {
    u32::try_from(value).map_err(|_| {
        ConfigError::new(key, format!("{value} is out of range; accepted: 0 to 2^32 - 1"))
    })
}

fn place(block: i64, page: i64) -> Result<At, ConfigError> {
    Ok(At { block: number("block", block)?, page: number("page", page)? })
}

fn access(raw: bool) -> Access {
    if raw {
        Access::Raw
    } else {
        Access::Coded
    }
}

/// A flat mapping of numbers.
fn numbers<'py>(py: Python<'py>, record: &Value) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for (key, value) in record.as_object().into_iter().flatten() {
        found.set_item(key, value.as_u64())?;
    }
    Ok(found)
}

#[pymethods]
impl RawNand {
    /// A chip, erased or with the pages of a dump; options are keywords.
    #[new]
    #[pyo3(signature = (image=None, **options))]
    #[allow(clippy::needless_pass_by_value)] // as Python hands it over
    fn new(
        py: Python<'_>,
        image: Option<PathBuf>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let text = match options {
            None => "{}".to_owned(),
            Some(options) => py.import("json")?.call_method1("dumps", (options,))?.extract()?,
        };
        doorway(py, || {
            let chip = Chip::new(Options::resolve(&text)?, image.as_deref())?;
            Ok(Self { chip: Arc::new(Mutex::new(chip)) })
        })
    }

    /// Sizes and code: `page_bytes`, `oob_bytes`, `oob_free_bytes`, `pages_per_block`, `blocks`,
    /// `step_bytes`, `strength`, `bitflip_threshold`.
    fn geometry<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.with(py, |chip| Ok(json!(chip.geometry())))?;
        numbers(py, &found)
    }

    /// Read a page; `raw`: without ECC.
    #[pyo3(signature = (block, page, *, raw=false))]
    fn read(&self, py: Python<'_>, block: i64, page: i64, raw: bool) -> PyResult<RawRead> {
        let (found, page_bytes) = self.with(py, |chip| {
            let found = chip.read(place(block, page)?, access(raw))?;
            Ok((found, chip.geometry().page_bytes as usize))
        })?;
        let (data, oob) = found.bytes.split_at(page_bytes);
        Ok(RawRead {
            status: found.status as i32,
            data: PyBytes::new(py, data).unbind(),
            oob: PyBytes::new(py, oob).unbind(),
            corrected_max: found.corrected_max,
            corrected_sum: found.corrected_sum,
        })
    }

    /// Program all data of a page, and the first bytes of its OOB; `raw`: without parity.
    #[pyo3(signature = (block, page, data, oob=None, *, raw=false))]
    fn program(
        &self,
        py: Python<'_>,
        block: i64,
        page: i64,
        data: &[u8],
        oob: Option<&[u8]>,
        raw: bool,
    ) -> PyResult<i32> {
        self.with(py, |chip| {
            let oob = oob.unwrap_or_default();
            Ok(chip.program(place(block, page)?, data, oob, access(raw))? as i32)
        })
    }

    /// Erase a block; `force`: a bad one too, which loses its marker.
    #[pyo3(signature = (block, *, force=false))]
    fn erase(&self, py: Python<'_>, block: i64, force: bool) -> PyResult<i32> {
        let erasure = if force { Erasure::Forced } else { Erasure::Careful };
        self.with(py, |chip| Ok(chip.erase(number("block", block)?, erasure)? as i32))
    }

    /// Return whether a block has a marker; without power, raise `OSError`.
    fn is_bad(&self, py: Python<'_>, block: i64) -> PyResult<bool> {
        let found = self.with(py, |chip| Ok(chip.is_bad(number("block", block)?)?))?;
        found.map_err(|status| PyOSError::new_err((status as i32, "the power is off")))
    }

    /// Write the marker of a bad block.
    fn mark_bad(&self, py: Python<'_>, block: i64) -> PyResult<i32> {
        self.with(py, |chip| Ok(chip.mark_bad(number("block", block)?)? as i32))
    }

    /// Invert `n` different bits of a step in the cells; None: of all blocks, of all pages that
    /// are not all ones, of all steps.
    fn flip(
        &self,
        py: Python<'_>,
        block: Option<i64>,
        page: Option<i64>,
        step: Option<i64>,
        n: i64,
    ) -> PyResult<()> {
        self.with(py, |chip| {
            let scope = Scope {
                block: block.map(|it| number("block", it)).transpose()?,
                page: page.map(|it| number("page", it)).transpose()?,
                step: step.map(|it| number("step", it)).transpose()?,
            };
            Ok(chip.inject(Fault::Flip(scope, number("n", n)?))?)
        })
    }

    /// Let all later programs of a block fail.
    fn fail_program(&self, py: Python<'_>, block: i64) -> PyResult<()> {
        self.with(py, |chip| Ok(chip.inject(Fault::FailProgram(number("block", block)?))?))
    }

    /// Let all later erases of a block fail.
    fn fail_erase(&self, py: Python<'_>, block: i64) -> PyResult<()> {
        self.with(py, |chip| Ok(chip.inject(Fault::FailErase(number("block", block)?))?))
    }

    /// Cut the power in the middle of a program or erase: for 1 the next one.
    fn cut(&self, py: Python<'_>, after_ops: i64) -> PyResult<()> {
        self.with(py, |chip| Ok(chip.inject(Fault::Cut(number("after_ops", after_ops)?))?))
    }

    /// Bring the power back.
    fn power_on(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |chip| Ok(chip.inject(Fault::PowerOn)?))
    }

    /// Add P/E cycles to all blocks, and hours in which nothing is done.
    #[pyo3(signature = (pe=0.0, hours=0.0, celsius=40.0))]
    fn age(&self, py: Python<'_>, pe: f64, hours: f64, celsius: f64) -> PyResult<()> {
        self.with(py, |chip| Ok(chip.age(pe, hours, celsius)?))
    }

    /// Counts of operations, corrected bits and failures.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.with(py, |chip| Ok(json!(chip.stats())))?;
        numbers(py, &found)
    }

    /// Write all pages with their OOB to a file, whole or not at all.
    #[allow(clippy::needless_pass_by_value)] // as Python hands it over
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = self.with(py, |chip| Ok(chip.save(&path)))?;
        saved.map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            exception(py, "WriteError", (message,))
        })
    }
}

/// A chip on a socket, until it is stopped.
#[pyclass(frozen)]
pub(crate) struct RawServer {
    server: Mutex<Server>,
}

#[pymethods]
impl RawServer {
    /// Serves a chip at a Unix socket, at `ADDRESS:PORT` of this machine, or both.
    #[new]
    #[pyo3(signature = (chip, socket=None, tcp=None))]
    #[allow(clippy::needless_pass_by_value)] // as Python hands it over
    fn new(
        py: Python<'_>,
        chip: &RawNand,
        socket: Option<PathBuf>,
        tcp: Option<&str>,
    ) -> PyResult<Self> {
        let chip = Arc::clone(&chip.chip);
        doorway(py, || {
            let refused = |message: String| Failure::Config(ConfigError::new("serve", message));
            let tcp = tcp.map(str::parse).transpose().map_err(|_| {
                refused("--tcp takes ADDRESS:PORT, such as 127.0.0.1:10809".to_owned())
            })?;
            let server = Server::start(chip, socket.as_deref(), tcp).map_err(refused)?;
            Ok(Self { server: Mutex::new(server) })
        })
    }

    /// The address and port that were bound, if any.
    fn tcp(&self) -> Option<String> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.tcp().map(|address| address.to_string())
    }

    /// Ends all connections.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        doorway(py, || {
            self.server.lock().unwrap_or_else(PoisonError::into_inner).stop();
            Ok(())
        })
    }
}
