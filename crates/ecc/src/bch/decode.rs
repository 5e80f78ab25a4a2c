//! The decoder: residues, syndromes, key equation, roots, correction.
//!
//! ```text
//!   data, parity ──► one stream ──► residues ── all 0 ──► nothing to do
//!                                      │
//!                                  syndromes ──► locator ──► as many roots as its degree?
//!                                                              yes: flip them    no: Uncorrectable
//! ```
//!
//! The corrected word needs no second check that it is a codeword. A locator of degree e <= t with
//! e different roots means that `S_i = sum of Y_k X_k^i` for i = 1, ..., 2t with unique `Y_k`, none
//! of them 0 (a shorter recurrence would do otherwise). Since `S_2i = S_i^2`, the squares of the
//! `Y_k` satisfy the same equations, so each `Y_k` is 1: flipping the bits makes all syndromes 0.

use super::locate::Scratch;
use super::{BchCode, KeyEquation};
use crate::bits;

/// A word with no codeword within t bit errors; data and parity are as they were received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("uncorrectable: more than {t} bit errors")]
pub struct Uncorrectable {
    /// The errors that the code corrects.
    pub t: u32,
}

/// Decodes words of one code; holds the room that it takes, so that decoding allocates nothing.
#[derive(Clone, Debug)]
pub struct BchDecoder<'code> {
    code: &'code BchCode,
    stream: Vec<u8>,
    residues: Vec<u64>,
    syndromes: Vec<u16>,
    equation: KeyEquation,
    locator: Vec<u16>,
    scratch: Scratch,
    positions: Vec<u32>,
}

impl<'code> BchDecoder<'code> {
    pub(super) fn new(code: &'code BchCode) -> Self {
        let t = code.t() as usize;
        Self {
            code,
            stream: vec![0; code.stream_bytes()],
            residues: vec![0; code.generator.groups.len()],
            syndromes: vec![0; 2 * t],
            equation: KeyEquation::new(t),
            locator: vec![0; t + 1],
            scratch: Scratch::new(t, &code.locator),
            positions: Vec::with_capacity(t + 1),
        }
    }

    /// Corrects data and parity in place; the number of bits corrected.
    ///
    /// Bits behind the last data or parity bit of a byte are ignored and left alone. With more than
    /// t errors most words are refused; [`BchCode::miscorrection_probability`] are not, since they
    /// are within t errors of another codeword.
    ///
    /// # Errors
    /// [`Uncorrectable`] when there is no codeword within t bit errors.
    ///
    /// # Panics
    /// When data or parity do not have the length of the code.
    pub fn decode(&mut self, data: &mut [u8], parity: &mut [u8]) -> Result<usize, Uncorrectable> {
        self.positions.clear();
        if !self.locate(data, parity) {
            self.positions.clear();
            return Err(Uncorrectable { t: self.code.t() });
        }
        for &position in &self.positions {
            let position = position as usize;
            let (bytes, index) = match position.checked_sub(self.code.data_bits()) {
                None => (&mut *data, position),
                Some(index) => (&mut *parity, index),
            };
            bits::flip(bytes, if self.code.swap_bits { index ^ 7 } else { index });
        }
        Ok(self.positions.len())
    }

    /// Decodes consecutive words, each in whole bytes; gives the number of corrected bits of each,
    /// `None` if it is uncorrectable.
    ///
    /// # Panics
    /// When data and parity are not those of `corrected.len()` words.
    pub fn decode_batch(
        &mut self,
        data: &mut [u8],
        parity: &mut [u8],
        corrected: &mut [Option<u32>],
    ) {
        let (data_bytes, parity_bytes) = (self.code.data_bytes(), self.code.parity_bytes());
        assert!(
            data.len() == corrected.len() * data_bytes
                && parity.len() == corrected.len() * parity_bytes,
            "{} words have {data_bytes} bytes of data and {parity_bytes} of parity each",
            corrected.len(),
        );
        let words = data.chunks_exact_mut(data_bytes).zip(parity.chunks_exact_mut(parity_bytes));
        for ((data, parity), corrected) in words.zip(corrected) {
            *corrected = self.decode(data, parity).ok().map(|count| count as u32);
        }
    }

    /// Which bits the last call corrected, in ascending order: indices into the data bits and then
    /// the parity bits, in the order of the codeword. Empty when it failed.
    ///
    /// Bit `i` of the data is bit `7 - i % 8` of byte `i / 8`, counted from the least significant
    /// one, or bit `i % 8` when bits are swapped.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Fills the positions; `false` when the word cannot be corrected.
    fn locate(&mut self, data: &[u8], parity: &[u8]) -> bool {
        let code = self.code;
        code.pack(data, parity, &mut self.stream);
        code.residues.compute(&self.stream, &mut self.residues);
        if self.residues.iter().all(|&residue| residue == 0) {
            return true;
        }
        code.syndromes.compute(&code.field, &self.residues, &mut self.syndromes);
        let degree = self.equation.solve(
            code.path,
            &code.field,
            &code.multipliers,
            &self.syndromes,
            &mut self.locator,
        );
        degree.is_some_and(|degree| {
            code.locator.search(
                &code.field,
                &code.multipliers,
                &self.locator[..=degree],
                &mut self.scratch,
                &mut self.positions,
            )
        })
    }
}
