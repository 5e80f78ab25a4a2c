//! LDPC codes for Python: bytes of arrays in, bytes of arrays out.

use opennandlab_ecc::ldpc::{Algorithm, Decoder, DecoderConfig, LdpcCode};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::refused;
use crate::doorway::{doorway, Failure};

/// An LDPC code. Shapes and types of arrays are checked by the Python class around it.
#[pyclass(frozen)]
pub(crate) struct EccLdpc {
    code: LdpcCode,
}

/// Names of the codes of our own.
#[pyfunction]
pub(crate) fn ecc_ldpc_names() -> Vec<String> {
    LdpcCode::names()
}

type Decoded<'py> = (Bound<'py, PyBytes>, Vec<bool>, Vec<u32>);

#[pymethods]
impl EccLdpc {
    /// The code of a `text` in the format `kind`, `alist` or `qc`; of the name `text` when `nand`.
    #[new]
    fn new(py: Python<'_>, kind: &str, text: &str) -> PyResult<Self> {
        doorway(py, || {
            let code = match kind {
                "alist" => LdpcCode::from_alist(text),
                "qc" => LdpcCode::from_qc(text),
                "nand" => LdpcCode::nand(text),
                other => return Err(refused("code", format!("unknown format `{other}`"))),
            };
            Ok(Self { code: code.map_err(|error| refused("code", error))? })
        })
    }

    /// Sent bits, information bits, rank, and all bits with the punctured ones.
    fn shape(&self) -> (usize, usize, usize, usize) {
        let columns = self.code.matrix().column_count();
        (self.code.code_bits(), self.code.info_bits(), self.code.rank(), columns)
    }

    /// Shortest cycle up to 12, or none.
    fn girth(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        doorway(py, || Ok(self.code.girth()))
    }

    /// Positions of the information bits in a word.
    fn info_positions(&self) -> Vec<u32> {
        self.code.info_positions().to_vec()
    }

    /// Frames of information, a bit per byte, to frames of sent bits.
    fn encode<'py>(&self, py: Python<'py>, info: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let words = doorway(py, || {
            let (k, n) = (self.code.info_bits(), self.code.code_bits());
            let mut words = vec![0; info.len() / k * n];
            for (info, word) in info.chunks_exact(k).zip(words.chunks_exact_mut(n)) {
                self.code.encode(info, word);
            }
            Ok(words)
        })?;
        Ok(PyBytes::new(py, &words))
    }

    /// Frames of LLRs, 32-bit little-endian floats, to bits, flags and iterations.
    #[allow(clippy::too_many_arguments)] // the options of one command, by their names
    fn decode_f32<'py>(
        &self,
        py: Python<'py>,
        llrs: &[u8],
        decoder: &str,
        iterations: u32,
        scale: f32,
        offset: f32,
        stop: bool,
    ) -> PyResult<Decoded<'py>> {
        let config = config(decoder, iterations, scale, offset, stop);
        let (hard, ok, iterations) = doorway(py, || {
            let read = |bytes: &[u8]| bytes.try_into().map_or(0.0, f32::from_le_bytes);
            let llrs: Vec<f32> = llrs.chunks_exact(4).map(read).collect();
            let frames = llrs.len() / self.code.code_bits();
            let (mut hard, mut ok, mut iterations) = answers(frames, llrs.len());
            let mut decoder = self.decoder(config?)?;
            decoder.decode_f32(&llrs, frames, &mut hard, &mut ok, &mut iterations);
            Ok((hard, ok, iterations))
        })?;
        Ok((PyBytes::new(py, &hard), ok, iterations))
    }

    /// Frames of LLRs in 8 bits to bits, flags and iterations.
    #[allow(clippy::too_many_arguments)] // the options of one command, by their names
    fn decode_i8<'py>(
        &self,
        py: Python<'py>,
        llrs: &[u8],
        decoder: &str,
        iterations: u32,
        scale: f32,
        offset: f32,
        stop: bool,
    ) -> PyResult<Decoded<'py>> {
        let config = config(decoder, iterations, scale, offset, stop);
        let (hard, ok, iterations) = doorway(py, || {
            let llrs: Vec<i8> = llrs.iter().map(|&byte| byte.cast_signed()).collect();
            let frames = llrs.len() / self.code.code_bits();
            let (mut hard, mut ok, mut iterations) = answers(frames, llrs.len());
            let mut decoder = self.decoder(config?)?;
            decoder.decode_i8(&llrs, frames, &mut hard, &mut ok, &mut iterations);
            Ok((hard, ok, iterations))
        })?;
        Ok((PyBytes::new(py, &hard), ok, iterations))
    }
}

impl EccLdpc {
    fn decoder(&self, config: DecoderConfig) -> Result<Decoder, Failure> {
        Decoder::new(&self.code, &config).map_err(|error| refused("decoder", error))
    }
}

/// Room for the answers of a call.
fn answers(frames: usize, bits: usize) -> (Vec<u8>, Vec<bool>, Vec<u32>) {
    (vec![0; bits], vec![false; frames], vec![0; frames])
}

fn config(
    decoder: &str,
    iterations: u32,
    scale: f32,
    offset: f32,
    stop: bool,
) -> Result<DecoderConfig, Failure> {
    let algorithm = Algorithm::from_name(decoder).map_err(|error| refused("decoder", error))?;
    Ok(DecoderConfig { algorithm, iterations, scale, offset, stop })
}
