//! The systematic encoder: parity from residues, by the Chinese remainder theorem.
//!
//! The parity is the residue of `data(x) x^p` modulo the generator g of degree p. With the residues
//! modulo the groups of factors `G_j` known, it is
//!
//! ```text
//!   parity = sum over j of  c_j h_j      h_j = g / G_j     c_j = data x^p / h_j  modulo G_j
//! ```
//!
//! in which every term has a degree below p. The factor `x^p / h_j` is part of the constant by
//! which residues are multiplied anyway. So all the work that grows with the length of the data is
//! in [`super::residue`]; the work that remains does not depend on it.

use super::generator::Generator;
use super::polynomial::clmul;
use super::residue::{Residues, BLOCK_BYTES};
use super::simd::{self, Path};
use crate::bits;

/// Bytes of the longest codeword, m = 16, in whole blocks.
const STREAM_BYTES_MAX: usize = 8192;
/// More than there are groups: GF(2^16) has 4115 cyclotomic cosets, four to a group.
const GROUPS_END: usize = 1100;

/// Parity of streams of data of one length.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    path: Path,
    data_bits: usize,
    residues: Residues,
    groups: usize,
    /// For each group, `h_j` without its leading one, in the words of the parity.
    cofactors: Vec<u64>,
}

impl Encoder {
    /// The encoder of a code with `data_bits` data bits.
    pub fn new(path: Path, generator: &Generator, data_bits: usize) -> Self {
        let words = generator.tail.len();
        let mut cofactors = Vec::with_capacity(words * generator.groups.len());
        let padding = bits::bytes_of(data_bits) * 8 - data_bits;
        let weights: Vec<u64> = generator
            .groups
            .iter()
            .map(|group| {
                // g x^(64 (words + 1) - p), one word after the other, divided by the scaled group.
                let modulus = &group.modulus;
                let mut rest = 1_u64;
                let mut cofactor = Vec::with_capacity(words + 1);
                for &word in generator.tail.iter().chain(&[0]) {
                    let (quotient, next) =
                        modulus.divide(u128::from(rest) << 64 | u128::from(word));
                    cofactor.push(quotient);
                    rest = next;
                }
                debug_assert!(cofactor[0] == 1 && rest == 0, "a group divides the generator");
                // h_j modulo G_j; the words hold h_j x^(64 words - p + degree).
                let residue = cofactor.iter().fold(0, |residue, &word| {
                    modulus.mul(residue, modulus.x_to(64)) ^ modulus.residue(word)
                });
                cofactors.extend(&cofactor[1..]);
                let shift = 64 * words - generator.degree + modulus.degree as usize;
                let x_power = modulus.x_to(generator.degree + shift);
                let place = modulus.mul(x_power, modulus.x_to_minus(padding));
                modulus.mul(place, modulus.inverse(residue))
            })
            .collect();
        Self {
            path,
            data_bits,
            residues: Residues::new(path, &generator.groups, &weights),
            groups: generator.groups.len(),
            cofactors,
        }
    }

    /// Writes the parity of `data`, both packed.
    pub fn encode(&self, data: &[u8], parity: &mut [u8], swap_bits: bool) {
        // Room on the stack in a few sizes, so that a short word need not clear a long one.
        match (data.len(), self.groups) {
            (0..=64, 0..16) => self.encode_in::<64, 16>(data, parity, swap_bits),
            (0..=1024, 0..64) => self.encode_in::<1024, 64>(data, parity, swap_bits),
            _ => self.encode_in::<STREAM_BYTES_MAX, GROUPS_END>(data, parity, swap_bits),
        }
    }

    fn encode_in<const BYTES: usize, const WORDS: usize>(
        &self,
        data: &[u8],
        parity: &mut [u8],
        swap_bits: bool,
    ) {
        let mut room = [0_u8; BYTES];
        let stream = &mut room[..data.len().next_multiple_of(BLOCK_BYTES)];
        let front = stream.len() - data.len();
        stream[front..].copy_from_slice(data);
        if swap_bits {
            bits::reverse_in_bytes(&mut stream[front..]);
        }
        bits::clear_behind(&mut stream[front..], self.data_bits);

        let mut residues = [0_u64; WORDS];
        let residues = &mut residues[..self.groups];
        self.residues.compute(stream, residues);

        let words = self.cofactors.len() / self.groups;
        let mut sum = [0_u64; WORDS];
        let sum = &mut sum[..=words];
        for (&residue, cofactor) in residues.iter().zip(self.cofactors.chunks_exact(words)) {
            sum[0] ^= residue;
            if !simd::add_multiple(self.path, residue, cofactor, sum) {
                add_multiple(residue, cofactor, sum);
            }
        }
        for (bytes, word) in parity.chunks_mut(8).zip(sum) {
            bytes.copy_from_slice(&word.to_be_bytes()[..bytes.len()]);
        }
        if swap_bits {
            bits::reverse_in_bytes(parity);
        }
    }
}

/// [`simd::add_multiple`] without vectors.
fn add_multiple(factor: u64, row: &[u64], sum: &mut [u64]) {
    for (index, &word) in row.iter().enumerate() {
        let product = clmul(factor, word);
        sum[index] ^= (product >> 64) as u64;
        sum[index + 1] ^= product as u64;
    }
}
