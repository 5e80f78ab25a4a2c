//! Multiplication of many field elements by one constant, as vector instructions do it.
//!
//! Multiplication by a constant is linear over GF(2), so the products with the parts of an element
//! define it. There are two forms, each written as a *row* of words:
//!
//! * four 8x8 bit matrices (low to low byte, high to low, low to high, high to high), for the
//!   Galois-field instructions of AVX-512 machines;
//! * eight tables of 16 bytes, the low byte of the product for each value of each of the four
//!   nibbles of the element and then the high byte, for the byte shuffles of AVX2.
//!
//! A row is itself linear in the constant: the row of any constant is the sum of four stored ones,
//! one for each of its nibbles.

use super::field::Field;
use super::simd::Path;

/// The rows of all constants of a field.
#[derive(Clone, Debug)]
pub(super) struct Multipliers {
    row_words: usize,
    /// `16 nibble + value`: the row of the constant `value << 4 nibble`.
    rows: Vec<u64>,
}

impl Multipliers {
    /// The rows in the form of a path; none on the portable one.
    pub fn new(path: Path, field: &Field) -> Self {
        let rows = (0..64)
            .map(|index: u32| (index % 16) << (index / 16 * 4))
            .flat_map(|constant| {
                // What exceeds the field is never asked for.
                let constant = if constant >> field.degree() == 0 { constant } else { 0 };
                row(path, field, constant as u16)
            })
            .collect();
        Self { row_words: path.row_words(), rows }
    }

    /// All the rows: 16 for each of four nibbles.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// The row of any constant.
    pub fn row(&self, constant: u16) -> Vec<u64> {
        let mut sum = vec![0; self.row_words];
        for nibble in 0..4 {
            let value = usize::from(constant >> (4 * nibble) & 15);
            let start = (16 * nibble + value) * self.row_words;
            for (word, &stored) in sum.iter_mut().zip(&self.rows[start..]) {
                *word ^= stored;
            }
        }
        sum
    }
}

/// The row of a constant in the form of a path, from the definition.
fn row(path: Path, field: &Field, constant: u16) -> Vec<u64> {
    let product = |element: u32| {
        if element >> field.degree() == 0 {
            field.mul(constant, element as u16)
        } else {
            0
        }
    };
    match path.row_words() {
        4 => (0..4)
            .map(|part| {
                let (from, to) = (part % 2 * 8, part / 2 * 8);
                // Byte 7 - i of a matrix selects the bits of the operand that add up to bit i.
                (0..64).fold(0, |matrix, place| {
                    let (bit, from_bit) = (7 - place / 8, from + place % 8);
                    matrix | u64::from(product(1 << from_bit) >> (to + bit) & 1) << place
                })
            })
            .collect(),
        16 => (0..16)
            .map(|word| {
                let (to, nibble, first) = (word / 8 * 8, word / 2 % 4, word % 2 * 8);
                let bytes: [u8; 8] = std::array::from_fn(|i| {
                    let value = first + i as u32;
                    // A nibble may reach beyond the field: bit by bit, only the bits inside it
                    // count.
                    let sum = (0..4)
                        .filter(|bit| value >> bit & 1 != 0)
                        .fold(0, |sum, bit| sum ^ product(1 << (4 * nibble + bit)));
                    (sum >> to) as u8
                });
                u64::from_le_bytes(bytes)
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up() {
        for path in Path::available() {
            for m in [5, 8, 11, 16] {
                let field = Field::new(m);
                let multipliers = Multipliers::new(path, &field);
                for constant in [1, 2, 17, 30, field.alpha(field.order() - 3)] {
                    assert_eq!(
                        multipliers.row(constant),
                        row(path, &field, constant),
                        "m={m}: {constant} on {path:?}"
                    );
                }
            }
        }
    }
}
