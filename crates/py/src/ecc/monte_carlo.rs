//! Codes and tasks for Python: frames go through in bulk, without the GIL.

use std::sync::Arc;

use opennandlab_ecc::channel::{BitErrors, Channel};
use opennandlab_ecc::monte_carlo::{
    buffers, run_chunk, Codec, Codewords, Gpu, Prepared, Tally, Task,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use super::channel::Spec;
use super::{codecs, refused};
use crate::doorway::{doorway, Failure};

/// A code with its decoder.
#[pyclass(frozen)]
pub(crate) struct EccCodec {
    codec: Arc<Codec>,
    reduced_shifts: usize,
}

#[pymethods]
impl EccCodec {
    /// From `{kind, ...}` as JSON: `bch` (m, t, `data_bits`), `alist` or `qc` (text, and
    /// columns `punctured` and `shortened`), `nand` (name); the last three with algorithm,
    /// iterations, scale and offset of the decoder.
    #[new]
    fn new(py: Python<'_>, spec: &str) -> PyResult<Self> {
        doorway(py, || {
            let spec: Value = serde_json::from_str(spec).map_err(|error| refused("code", error))?;
            let (codec, reduced_shifts) = codecs::build(&spec)?;
            Ok(Self { codec: Arc::new(codec), reduced_shifts })
        })
    }

    /// Shifts of a quasi-cyclic matrix that were taken modulo the size of its blocks.
    fn reduced_shifts(&self) -> usize {
        self.reduced_shifts
    }

    /// Sent bits, information bits, and frames of a chunk.
    fn shape(&self) -> (usize, usize, u64) {
        (self.codec.code_bits(), self.codec.info_bits(), self.codec.chunk_frames())
    }

    /// Codewords of packed data, each padded to whole bytes; the last data word is filled with
    /// zeros.
    fn encode<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let words = doorway(py, || Ok(buffers::encode(&self.codec, data)))?;
        Ok(PyBytes::new(py, &words))
    }

    /// Packed data of codewords, wrong bits corrected in each, and the first word given up.
    ///
    /// LLRs of a soft decoder are those of a binary symmetric channel with `rber`.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        words: &[u8],
        rber: f64,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<u64>, Vec<u64>)> {
        let decoded = doorway(py, || {
            buffers::decode(&self.codec, words, rber).map_err(|error| refused("rber", error))
        })?;
        Ok((PyBytes::new(py, &decoded.data), decoded.corrected, decoded.failed))
    }

    /// The words with wrong bits: at a rate, or `count` in each word. Also how many.
    #[pyo3(signature = (words, seed, rber=None, count=None))]
    fn inject<'py>(
        &self,
        py: Python<'py>,
        words: &[u8],
        seed: u64,
        rber: Option<f64>,
        count: Option<u32>,
    ) -> PyResult<(Bound<'py, PyBytes>, u64)> {
        let (bytes, wrong) = doorway(py, || {
            let bits = self.codec.code_bits();
            if count.is_some_and(|count| count as usize > bits) {
                let text = format!("there are {bits} bits in a codeword");
                return Err(refused("inject_errors", text));
            }
            let errors = count.map_or(BitErrors::Natural, BitErrors::Exactly);
            let mut bytes = words.to_vec();
            let wrong =
                buffers::inject(&self.codec, &mut bytes, rber.unwrap_or(0.25), errors, seed)
                    .map_err(|error| refused("inject_ber", error))?;
            Ok((bytes, wrong))
        })?;
        Ok((PyBytes::new(py, &bytes), wrong))
    }
}

/// One point of a curve: a code on a channel.
#[pyclass(frozen)]
pub(crate) struct EccTask {
    codec: Arc<Codec>,
    task: Task,
}

/// Frames, frame errors, undetected ones, bit errors, failures, channel errors, iterations.
type Counts = (u64, u64, u64, u64, u64, u64, u64);

/// Frames and seconds of each round, words decoded of a pass, mean iterations.
type Speed = (Vec<(u64, f64)>, usize, Option<f64>);

#[pymethods]
impl EccTask {
    /// A code on a channel (as JSON) at the point `x`; with `errors`, this number of wrong hard
    /// decisions in each frame.
    #[new]
    #[pyo3(signature = (codec, channel, x, seed, zero_codeword, errors=None))]
    fn new(
        py: Python<'_>,
        codec: &EccCodec,
        channel: &str,
        x: f64,
        seed: u64,
        zero_codeword: bool,
        errors: Option<u32>,
    ) -> PyResult<Self> {
        let codec = Arc::clone(&codec.codec);
        doorway(py, || {
            let channel = Spec::parse(channel)?.at(x, codec.rate())?;
            check_errors(&codec, &channel, errors)?;
            let task = Task {
                channel,
                codewords: if zero_codeword { Codewords::Zero } else { Codewords::Random },
                errors: errors.map_or(BitErrors::Natural, BitErrors::Exactly),
                seed,
                point: x.to_bits(),
            };
            Ok(Self { codec, task })
        })
    }

    /// Probability of a wrong hard decision, and whether it is the same for both bits.
    fn hard_decision(&self) -> (f64, bool) {
        (self.task.channel.rber(), self.task.channel.is_symmetric())
    }

    /// The tally of the frames `first..limit`.
    fn run(&self, py: Python<'_>, first: u64, limit: u64) -> PyResult<Counts> {
        doorway(py, || Ok(counts(run_chunk(&self.codec, &self.task, first..limit))))
    }

    /// The same frames on a GPU; refused with the reason if that is not possible.
    fn on_gpu(&self, py: Python<'_>) -> PyResult<EccGpu> {
        doorway(py, || {
            let gpu =
                Gpu::new(&self.codec, &self.task).map_err(|error| refused("engine", error))?;
            Ok(EccGpu { gpu })
        })
    }

    /// Decodes `frames` prepared frames over and over, for `seconds` in each of `rounds`; frames
    /// and seconds of each round, words decoded of a pass, and mean iterations. Seconds are those
    /// of `clock`, a function of Python that is called on this thread.
    #[allow(clippy::needless_pass_by_value)] // `Py` is moved to code without the GIL
    fn speed(
        &self,
        py: Python<'_>,
        frames: usize,
        seconds: f64,
        rounds: usize,
        clock: Py<PyAny>,
    ) -> PyResult<Speed> {
        doorway(py, || {
            let now = || {
                Python::attach(|py| clock.call0(py)?.extract::<f64>(py)).map_err(Failure::Python)
            };
            let mut prepared = Prepared::new(&self.codec, &self.task, frames);
            let decoded = prepared.decode();
            let times = prepared.time(rounds, seconds, now)?;
            Ok((times, decoded, prepared.iterations_mean()))
        })
    }
}

/// A task on a GPU.
#[pyclass(frozen)]
pub(crate) struct EccGpu {
    gpu: Gpu,
}

#[pymethods]
impl EccGpu {
    /// Frames of a run at most: whole chunks.
    fn frames_max(&self) -> u64 {
        self.gpu.frames_max()
    }

    /// The tallies of the chunks of the frames `first..limit`.
    fn run(&self, py: Python<'_>, first: u64, limit: u64) -> PyResult<Vec<Counts>> {
        doorway(py, || {
            let tallies = self.gpu.run(first..limit).map_err(|error| refused("engine", error))?;
            Ok(tallies.into_iter().map(counts).collect())
        })
    }
}

fn counts(tally: Tally) -> Counts {
    (
        tally.frames,
        tally.frame_errors,
        tally.undetected,
        tally.bit_errors,
        tally.failures,
        tally.channel_errors,
        tally.iterations,
    )
}

fn check_errors(codec: &Codec, channel: &Channel, errors: Option<u32>) -> Result<(), Failure> {
    let Some(count) = errors else { return Ok(()) };
    let bits = codec.code_bits();
    if count as usize > bits {
        return Err(refused("bit_errors", format!("{count} errors do not fit {bits} sent bits")));
    }
    if channel.is_symmetric() {
        Ok(())
    } else {
        let text = "a fixed number of errors needs states of equal width (sigma ratio 1)";
        Err(refused("sigma_ratio", text))
    }
}
