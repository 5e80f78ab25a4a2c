//! Syndromes: the received word at the roots of the generator, from its residues.
//!
//! `S_i = r(alpha^i)` depends on r modulo the minimal polynomial of alpha^i only, so the residue
//! modulo a group of factors gives one syndrome for each factor: a linear map of 64 bits to four
//! elements, looked up for each of 16 nibbles. The others follow from `S_2i = S_i^2`.
//!
//! Source: Lin & Costello, "Error Control Coding", 2nd edition, section 6.2.

use super::field::Field;
use super::generator::{Conjugate, Generator};

/// The maps from residues to syndromes.
#[derive(Clone, Debug)]
pub(super) struct Syndromes {
    t: usize,
    /// For each group, `16 nibble + value`: its share of the four syndromes, 16 bits each.
    tables: Vec<[u64; 256]>,
    /// For each group, the exponents that belong to the four.
    roots: Vec<Vec<usize>>,
    conjugates: Vec<Conjugate>,
}

impl Syndromes {
    /// The maps of a generator.
    pub fn new(field: &Field, generator: &Generator, t: usize) -> Self {
        let tables = generator
            .groups
            .iter()
            .map(|group| {
                let unused = 64 - group.modulus.degree as usize;
                std::array::from_fn(|index| {
                    let (nibble, value) = (index / 16, index % 16);
                    let share = |root: usize| {
                        (0..4)
                            .filter(|bit| value >> bit & 1 != 0 && 4 * nibble + bit >= unused)
                            .fold(0, |sum, bit| {
                                sum ^ field.alpha(root * (4 * nibble + bit - unused))
                            })
                    };
                    group
                        .roots
                        .iter()
                        .rev()
                        .fold(0, |packed, &root| packed << 16 | u64::from(share(root)))
                })
            })
            .collect();
        let roots = generator.groups.iter().map(|group| group.roots.clone()).collect();
        Self { t, tables, roots, conjugates: generator.conjugates.clone() }
    }

    /// Writes `S_1` to `S_2t`, given the left-aligned residue for each group.
    pub fn compute(&self, field: &Field, residues: &[u64], syndromes: &mut [u16]) {
        for ((&residue, table), roots) in residues.iter().zip(&self.tables).zip(&self.roots) {
            let mut packed = (0..16).fold(0, |sum, nibble| {
                sum ^ table[16 * nibble + (residue >> (4 * nibble)) as usize % 16]
            });
            for &root in roots {
                syndromes[root - 1] = packed as u16;
                packed >>= 16;
            }
        }
        for conjugate in &self.conjugates {
            let syndrome = syndromes[conjugate.root - 1];
            syndromes[conjugate.exponent - 1] =
                (0..conjugate.squarings).fold(syndrome, |power, _| field.square(power));
        }
        for half in 1..=self.t {
            syndromes[2 * half - 1] = field.square(syndromes[half - 1]);
        }
    }
}
