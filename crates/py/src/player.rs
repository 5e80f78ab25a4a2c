//! Recorded requests played on a copy of a drive: records and times cross as bytes.

use std::sync::{Mutex, PoisonError};

use opennandlab_sim::config::ConfigError;
use opennandlab_sim::run::Simulation;
use opennandlab_sim::session::{Asked, Player as Inner, Recorded};
use opennandlab_sim::units::Ns;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::doorway::{doorway, Failure};
use crate::drive::Drive;

/// Bytes of a record: kind u32, stream u32, offset, length, arrival and reply u64, little endian.
const RECORD_BYTES: usize = 40;
/// Token, kind, offset and length of a request.
type Started = (u64, u32, u64, u64);
/// Token, time and whether it was refused of each that ended; when something happens next.
type Stepped = (Vec<(u64, u64, bool)>, Option<u64>);

/// A drive on which records are played.
#[pyclass(frozen)]
pub(crate) struct Player {
    /// None when the drive was given back.
    inner: Mutex<Option<Inner>>,
}

impl Player {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        doorway(py, || {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            work(inner.as_mut().ok_or_else(given_back)?)
        })
    }
}

#[pymethods]
impl Player {
    /// Takes a copy of a drive.
    #[new]
    fn new(py: Python<'_>, drive: &Drive) -> PyResult<Self> {
        let checkpoint = drive.with(py, |drive| Ok(drive.checkpoint()))?;
        doorway(py, || {
            let inner = Inner::new(Simulation::from_checkpoint(&checkpoint)?)?;
            Ok(Self { inner: Mutex::new(Some(inner)) })
        })
    }

    /// Bytes that may be addressed.
    fn capacity_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |player| Ok(player.capacity_bytes()))
    }

    /// The work of the drive, up to now, as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |player| Ok(player.status().to_string()))
    }

    /// Gives the drive back, at rest; the player cannot be used any more.
    fn drive(&self, py: Python<'_>) -> PyResult<Drive> {
        doorway(py, || {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let player = inner.take().ok_or_else(given_back)?;
            Ok(Drive::of(player.into_simulation()))
        })
    }

    /// Begins a request at a time, not before the last, and lets everything happen up to a time;
    /// the caller has the clock. Returns what ended, as token, time and whether it was refused, and
    /// when something happens next.
    fn step(&self, py: Python<'_>, until: u64, request: Option<Started>) -> PyResult<Stepped> {
        self.with(py, |player| {
            let mut done = Vec::new();
            if let Some((token, kind, offset, length)) = request {
                player.start(token, asked(kind)?, (offset, length), Ns(until), &mut done)?;
            } else {
                player.advance(Ns(until), &mut done);
            }
            let next = player.next_at().map(|at| at.0);
            let ended = done.iter().map(|one| (one.token, one.at.0, one.refusal.is_some()));
            Ok((ended.collect(), next))
        })
    }

    /// Plays records; of each when it began and ended, u64 in nanoseconds, the end 0 if refused.
    fn play<'py>(&self, py: Python<'py>, records: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let played = self.with(py, |player| {
            let records = recorded(records)?;
            let played = player.play(&records)?;
            let end =
                |one: &opennandlab_sim::session::Played| if one.is_refused { 0 } else { one.end.0 };
            let words = played.iter().flat_map(|one| [one.start.0, end(one)]);
            Ok(words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
        })?;
        Ok(PyBytes::new(py, &played))
    }
}

fn given_back() -> Failure {
    Failure::Config(ConfigError::new("player", "its drive was given back"))
}

fn recorded(bytes: &[u8]) -> Result<Vec<Recorded>, ConfigError> {
    if !bytes.len().is_multiple_of(RECORD_BYTES) {
        let message = format!("{} bytes are not records of {RECORD_BYTES}", bytes.len());
        return Err(ConfigError::new("trace", message));
    }
    let word = |record: &[u8], at: usize| {
        u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
    };
    bytes
        .chunks_exact(RECORD_BYTES)
        .map(|record| {
            let head = word(record, 0);
            Ok(Recorded {
                asked: asked(head as u32)?,
                stream: (head >> 32) as u32,
                offset: word(record, 8),
                length: word(record, 16),
                arrive: Ns(word(record, 24)),
                reply: Ns(word(record, 32)),
            })
        })
        .collect()
}

fn asked(kind: u32) -> Result<Asked, ConfigError> {
    Ok(match kind {
        0 => Asked::Read,
        1 => Asked::Write { is_fua: false },
        2 => Asked::Write { is_fua: true },
        3 => Asked::Trim,
        4 => Asked::Flush,
        5 => Asked::Mark,
        other => {
            let message = format!("{other} is not a kind of request: 0 to 5 are");
            return Err(ConfigError::new("trace", message));
        }
    })
}
