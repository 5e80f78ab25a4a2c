//! An eMMC as Python holds it: commands in, responses, data and busy times out.

use std::sync::{Mutex, PoisonError};

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::emmc::{Card, Options, Reply, Response, FIELDS};
use opennandlab_sim::units::Ns;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};
use serde_json::json;

use crate::config::Device;
use crate::doorway::{doorway, Failure};

/// Nanoseconds that pass at once, at most: a day. The drive has much to do in longer times.
const WAIT_NS_MAX: u64 = 86_400_000_000_000;
/// What may be asked for at once: the blocks that 16 bits can count.
const BLOCKS_MAX: u64 = 65535;

/// A card and the drive below it.
#[pyclass(frozen)]
pub(crate) struct Emmc {
    card: Mutex<Card>,
}

impl Emmc {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Card) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        doorway(py, || {
            let locked = self.card.lock().map_err(|_: PoisonError<_>| ());
            work(&mut locked.expect("this card was left half-changed; build a new one"))
        })
    }
}

fn check(index: u8, blocks: u64) -> Result<(), ConfigError> {
    if index > 63 {
        let message = format!("{index} is not a command; accepted: 0 to 63");
        return Err(ConfigError::new("index", message));
    }
    if blocks > BLOCKS_MAX {
        let message = format!("{blocks} is out of range; accepted: 0 to {BLOCKS_MAX}");
        return Err(ConfigError::new("blocks", message));
    }
    Ok(())
}

/// A status or an OCR as a number, CID and CSD as bytes, `None` if there is no response.
fn said(py: Python<'_>, response: Response) -> Option<Py<PyAny>> {
    match response {
        Response::None => None,
        Response::R1(word) | Response::R3(word) => {
            Some(PyInt::new(py, i64::from(word)).into_any().unbind())
        }
        Response::R2(register) => Some(PyBytes::new(py, &register).into_any().unbind()),
    }
}

#[pymethods]
impl Emmc {
    /// A new card of a drive; `options` are JSON.
    #[new]
    fn new(py: Python<'_>, device: &Device, seed: u64, options: &str) -> PyResult<Self> {
        let config = device.config.clone();
        doorway(py, || {
            let card = Card::new(config, seed, Options::resolve(options)?)?;
            Ok(Self { card: Mutex::new(card) })
        })
    }

    /// A command; the response, the data and the busy time in nanoseconds.
    #[pyo3(signature = (index, argument=0, data=None, blocks=1))]
    fn command<'py>(
        &self,
        py: Python<'py>,
        index: u8,
        argument: u32,
        data: Option<&[u8]>,
        blocks: u64,
    ) -> PyResult<(Option<Py<PyAny>>, Bound<'py, PyBytes>, u64)> {
        let Reply { response, data, busy } = self.with(py, |card| {
            check(index, blocks)?;
            Ok(card.command(index, argument, data.unwrap_or_default(), blocks))
        })?;
        Ok((said(py, response), PyBytes::new(py, &data), busy.0))
    }

    /// Blocks for a card that takes data; how long it then is busy.
    fn send(&self, py: Python<'_>, data: &[u8]) -> PyResult<u64> {
        self.with(py, |card| Ok(card.send(data).0))
    }

    /// More blocks of a read without end.
    fn receive<'py>(&self, py: Python<'py>, blocks: u64) -> PyResult<Bound<'py, PyBytes>> {
        let data = self.with(py, |card| {
            check(0, blocks)?;
            Ok(card.receive(blocks))
        })?;
        Ok(PyBytes::new(py, &data))
    }

    /// Lets time pass.
    fn wait(&self, py: Python<'_>, ns: u64) -> PyResult<()> {
        self.with(py, |card| {
            if ns > WAIT_NS_MAX {
                let message = format!("{ns} is out of range; accepted: 0 to {WAIT_NS_MAX}");
                return Err(ConfigError::new("ns", message).into());
            }
            card.wait(Ns(ns));
            Ok(())
        })
    }

    /// How long the card is busy yet.
    fn busy_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |card| Ok(card.busy().0))
    }

    /// The card's time.
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |card| Ok(card.now().0))
    }

    /// The name of the state.
    fn state(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |card| Ok(card.state().name()))
    }

    /// The supply fails and comes back.
    fn power_cycle(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |card| {
            card.power_cycle();
            Ok(())
        })
    }

    /// The reset pin.
    fn hardware_reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |card| {
            card.hardware_reset();
            Ok(())
        })
    }

    /// Damages what the flash holds of a sector of the user area.
    fn corrupt(&self, py: Python<'_>, sector: u64) -> PyResult<bool> {
        self.with(py, |card| Ok(card.corrupt(sector)))
    }

    /// Sizes, cache and drive, as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |card| Ok(card.status().to_string()))
    }

    /// The first contradiction between card, tables and bytes, if there is one.
    fn audit(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |card| Ok(card.audit().err()))
    }
}

/// The fields of the extended CSD, as JSON: name, first byte, bytes, access, first revision.
#[pyfunction]
pub(crate) fn emmc_fields() -> String {
    let rows: Vec<_> = FIELDS
        .iter()
        .map(|it| {
            json!({
                "name": it.name,
                "index": it.index,
                "bytes": it.bytes,
                "access": it.access.name(),
                "since": it.since.revision(),
                "is_modelled": it.is_writable,
            })
        })
        .collect();
    json!(rows).to_string()
}
