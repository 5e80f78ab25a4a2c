//! Residues of a long stream of bits modulo every group of factors of the generator: the work that
//! grows with the length of the data, for encoder and decoder alike.
//!
//! A stream is a whole number of blocks of 64 bytes. Its residue modulo a group, times a constant
//! that places the stream (by a power of x) or prepares what comes next, is one left-aligned word.
//! The fast way folds. A block is four lanes of 128 bits, and the next block follows 512 bits
//! later: each lane times x^512 is replaced by 128 bits with the same residue (both halves of 64
//! bits, times a constant of at most 64 bits), and these are added to the same lane of the next
//! block:
//!
//! ```text
//!   four lanes of 128 bits   hi * (x^576 mod G) + lo * (x^512 mod G) + next block   ... per block
//!   at the end               sum over lanes of hi * c + lo * c'   ->  128 bits  ->  Barrett
//! ```
//!
//! The portable way divides word by word with eight tables of 256 remainders.
//!
//! Source: V. Gopal et al., "Fast CRC computation for generic polynomials using the PCLMULQDQ
//! instruction", Intel, 2009.

use super::generator::Group;
use super::polynomial::Modulus;
use super::simd::{self, Fold, Path};

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 64;

/// The residues of streams whose last bit has the same weight.
#[derive(Clone, Debug)]
pub(super) struct Residues {
    path: Path,
    folds: Vec<Fold>,
    /// Only on the portable path.
    tables: Vec<Table>,
}

/// The portable way through one group.
#[derive(Clone, Debug)]
struct Table {
    modulus: Modulus,
    /// The left-aligned constant.
    weight: u64,
    /// `remainders[k][b]` is `b x^(64 + 8 k)` modulo M, the scaled group (see `polynomial`).
    remainders: Box<[[u64; 256]; 8]>,
}

impl Residues {
    /// Residues of a stream times a left-aligned constant, given for each group.
    pub fn new(path: Path, groups: &[Group], weights: &[u64]) -> Self {
        let pairs = || groups.iter().map(|group| &group.modulus).zip(weights);
        let folds = pairs().map(|(modulus, &weight)| fold(modulus, weight)).collect();
        let tables = if path == Path::PORTABLE {
            pairs().map(|(modulus, &weight)| Table::new(modulus.clone(), weight)).collect()
        } else {
            Vec::new()
        };
        Self { path, folds, tables }
    }

    /// Writes the residue for each group.
    pub fn compute(&self, stream: &[u8], residues: &mut [u64]) {
        debug_assert!(
            stream.len().is_multiple_of(BLOCK_BYTES) && residues.len() == self.folds.len()
        );
        if simd::residues(self.path, stream, &self.folds, residues) {
            return;
        }
        for (residue, table) in residues.iter_mut().zip(&self.tables) {
            *residue = table.residue(stream);
        }
    }
}

/// The constants that fold a stream modulo one group and multiply the residue by a left-aligned
/// `weight`.
fn fold(modulus: &Modulus, weight: u64) -> Fold {
    let x_to = |exponent| modulus.x_to(exponent) >> (64 - modulus.degree);
    Fold {
        step: [x_to(512), x_to(576)],
        lanes: std::array::from_fn(|half| {
            modulus.mul(weight, modulus.x_to(128 * (3 - half / 2) + 64 * (half % 2)))
        }),
        barrett: [modulus.mu, modulus.low],
    }
}

impl Table {
    fn new(modulus: Modulus, weight: u64) -> Self {
        let mut remainders = Box::new([[0; 256]; 8]);
        // x^64 modulo M is M without its leading term; each further bit is one shift.
        let mut power = modulus.low;
        for table in remainders.iter_mut() {
            for bit in 0..8 {
                let step = 1 << bit;
                for byte in 0..step {
                    table[step + byte] = table[byte] ^ power;
                }
                power = power << 1 ^ if power >> 63 != 0 { modulus.low } else { 0 };
            }
        }
        Self { modulus, weight, remainders }
    }

    fn residue(&self, stream: &[u8]) -> u64 {
        let mut rest = 0_u64;
        for chunk in stream.chunks_exact(8) {
            let word = chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
            let shifted = rest
                .to_le_bytes()
                .iter()
                .zip(self.remainders.iter())
                .fold(0, |sum, (&byte, table)| sum ^ table[usize::from(byte)]);
            rest = shifted ^ word;
        }
        self.modulus.scale(self.weight, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::Field;
    use super::super::generator::Generator;
    use super::*;

    #[test]
    fn every_path_gives_the_residue_of_long_division() {
        for (m, t, blocks) in [(5, 2, 1), (8, 4, 1), (13, 16, 3), (14, 72, 19), (16, 9, 2)] {
            let generator = Generator::new(&Field::new(m), t);
            let stream: Vec<u8> =
                (0..64 * blocks).map(|i: usize| (i * i * 31 + i * 7 + 3) as u8).collect();
            let weights: Vec<u64> =
                generator.groups.iter().map(|group| group.modulus.x_to_minus(5)).collect();
            let long_hand: Vec<u64> = generator
                .groups
                .iter()
                .map(|Group { modulus, .. }| {
                    let mut rest = 0;
                    for &byte in &stream {
                        for bit in (0..8).rev() {
                            rest = modulus.scale(rest, 2);
                            rest ^= modulus.residue(u64::from(byte >> bit & 1));
                        }
                    }
                    modulus.mul(rest, modulus.x_to_minus(5))
                })
                .collect();
            for path in Path::available() {
                let mut residues = vec![0; weights.len()];
                Residues::new(path, &generator.groups, &weights).compute(&stream, &mut residues);
                assert_eq!(residues, long_hand, "m={m} t={t} on {path:?}");
            }
        }
    }
}
