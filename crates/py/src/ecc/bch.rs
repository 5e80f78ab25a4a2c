//! The BCH codec for Python: bytes in, bytes out.

use opennandlab_ecc::bch::{BchCode, BchDecoder, Path};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::refused;
use crate::doorway::{doorway, Failure};

/// A BCH code. Lengths of bytes are checked by the Python class around it.
#[pyclass(frozen)]
pub(crate) struct EccBch {
    code: BchCode,
}

type Corrected<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<u32>);

#[pymethods]
impl EccBch {
    /// The code (m, t) with `data_bits` data bits; `path` is one of `ecc_bch_paths`, the fastest
    /// when None; `polynomial` of the field is that of the Linux kernel when None.
    #[new]
    #[pyo3(signature = (m, t, data_bits, swap_bits, path=None, polynomial=None))]
    fn new(
        py: Python<'_>,
        m: u32,
        t: u32,
        data_bits: Option<usize>,
        swap_bits: bool,
        path: Option<&str>,
        polynomial: Option<u32>,
    ) -> PyResult<Self> {
        doorway(py, || {
            let path = path.map_or(Ok(Path::best()), named_path)?;
            let code = match polynomial {
                None => BchCode::with_path(path, m, t, data_bits),
                Some(polynomial) => BchCode::over(path, polynomial, t, data_bits),
            }
            .map_err(|error| refused("code", error))?;
            Ok(Self { code: code.with_swap_bits(swap_bits) })
        })
    }

    /// Data bits, parity bits, and the most data bits.
    fn shape(&self) -> (usize, usize, usize) {
        (self.code.data_bits(), self.code.parity_bits(), self.code.max_data_bits())
    }

    /// The name of the implementation that computes.
    fn path(&self) -> &'static str {
        self.code.path().name()
    }

    /// The coefficients of the generator polynomial as text of 0 and 1, highest power first.
    fn generator(&self) -> String {
        self.code.generator().map(|bit| if bit { '1' } else { '0' }).collect()
    }

    /// `P(X > t)` at a raw bit error rate between 0 and 1.
    fn failure_probability(&self, rber: f64) -> f64 {
        self.code.failure_probability(rber)
    }

    /// Share of random words that are decoded, into some codeword.
    fn miscorrection_probability(&self) -> f64 {
        self.code.miscorrection_probability()
    }

    /// Parity of the data of any number of words, one behind the other.
    fn encode<'py>(&self, py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let parity = doorway(py, || {
            let words = data.len() / self.code.data_bytes();
            let mut parity = vec![0; words * self.code.parity_bytes()];
            let records = parity.chunks_exact_mut(self.code.parity_bytes());
            for (data, parity) in data.chunks_exact(self.code.data_bytes()).zip(records) {
                self.code.encode(data, parity);
            }
            Ok(parity)
        })?;
        Ok(PyBytes::new(py, &parity))
    }

    /// Corrected data and parity of one word, and the corrected bits; None when uncorrectable.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        parity: &[u8],
    ) -> PyResult<Option<Corrected<'py>>> {
        let decoded = doorway(py, || {
            let (mut data, mut parity) = (data.to_vec(), parity.to_vec());
            let mut decoder = self.code.decoder();
            let outcome = decoder.decode(&mut data, &mut parity);
            Ok(outcome.ok().map(|_| (data, parity, decoder.positions().to_vec())))
        })?;
        Ok(decoded.map(|(data, parity, positions)| {
            (PyBytes::new(py, &data), PyBytes::new(py, &parity), positions)
        }))
    }

    /// Corrected data and parity of words one behind the other, and the corrected bits of each,
    /// None where uncorrectable.
    #[allow(clippy::type_complexity)] // three lists
    fn decode_batch<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        parity: &[u8],
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<Option<u32>>)> {
        let (data, parity, corrected) = doorway(py, || {
            let mut corrected = vec![None; data.len() / self.code.data_bytes()];
            let (mut data, mut parity) = (data.to_vec(), parity.to_vec());
            self.code.decoder().decode_batch(&mut data, &mut parity, &mut corrected);
            Ok((data, parity, corrected))
        })?;
        Ok((PyBytes::new(py, &data), PyBytes::new(py, &parity), corrected))
    }

    /// Decodes the same received words `rounds` times: bits corrected and words given up, in all.
    fn decode_repeatedly(
        &self,
        py: Python<'_>,
        data: &[u8],
        parity: &[u8],
        rounds: u64,
    ) -> PyResult<(u64, u64)> {
        doorway(py, || {
            let mut decoder = self.code.decoder();
            Ok((0..rounds).fold((0, 0), |counts, _| {
                decode_once(&self.code, &mut decoder, data, parity, counts)
            }))
        })
    }
}

/// Decodes copies of received words, each copied just before; adds to (corrected, given up).
fn decode_once(
    code: &BchCode,
    decoder: &mut BchDecoder<'_>,
    data: &[u8],
    parity: &[u8],
    (mut corrected, mut failed): (u64, u64),
) -> (u64, u64) {
    let mut word_data = vec![0; code.data_bytes()];
    let mut word_parity = vec![0; code.parity_bytes()];
    let records = parity.chunks_exact(code.parity_bytes());
    for (data, parity) in data.chunks_exact(code.data_bytes()).zip(records) {
        word_data.copy_from_slice(data);
        word_parity.copy_from_slice(parity);
        match decoder.decode(&mut word_data, &mut word_parity) {
            Ok(count) => corrected += count as u64,
            Err(_) => failed += 1,
        }
    }
    (corrected, failed)
}

fn named_path(name: &str) -> Result<Path, Failure> {
    let paths = Path::available();
    let names: Vec<&str> = paths.iter().map(|path| path.name()).collect();
    paths.into_iter().find(|path| path.name() == name).ok_or_else(|| {
        refused("path", format!("`{name}` is not here; accepted: {}", names.join(", ")))
    })
}

/// The implementations that this machine can run, slowest first.
#[pyfunction]
pub(crate) fn ecc_bch_paths() -> Vec<&'static str> {
    Path::available().into_iter().map(Path::name).collect()
}
