//! The generator polynomial, as the product of its irreducible factors.
//!
//! It has the roots alpha^1 to alpha^2t. A polynomial over GF(2) that has the root r has r^2 too,
//! so exponents come in cyclotomic cosets `{i, 2i, 4i, ...} mod n`, and each coset met by 1, 3,
//! ..., 2t - 1 brings one factor, the minimal polynomial of alpha^i. Up to four factors are
//! multiplied to a *group* of degree up to 64, the unit in which residues are computed: a word is
//! divisible by the generator exactly when its residue modulo every group is 0.
//!
//! Source: Lin & Costello, "Error Control Coding", 2nd edition, section 6.1.

use super::field::Field;
use super::polynomial::{clmul, Modulus};

/// Factors in a group: four of degree up to 16 fill 64 bits.
pub(super) const FACTORS_PER_GROUP: usize = 4;

/// Some irreducible factors of the generator and their product.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The exponents i of which alpha^i is a root, one for each factor.
    pub roots: Vec<usize>,
    /// The product of the factors.
    pub modulus: Modulus,
}

/// An odd exponent below 2t whose coset was met before: alpha^`exponent` = (alpha^`root`)^(2^
/// `squarings`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conjugate {
    pub exponent: usize,
    pub root: usize,
    pub squarings: u32,
}

/// The factors of a generator polynomial.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    /// The groups of factors, in the order of their roots.
    pub groups: Vec<Group>,
    /// The exponents among 1, 3, ..., 2t - 1 whose minimal polynomial is already a factor.
    pub conjugates: Vec<Conjugate>,
    /// The degree: the number of parity bits.
    pub degree: usize,
    /// The coefficients behind the leading one, highest power first, packed like a stream of bits
    /// from the most significant bit of the first word.
    pub tail: Vec<u64>,
}

impl Generator {
    /// The generator of the code that corrects `t` errors.
    pub fn new(field: &Field, t: usize) -> Self {
        let (factors, conjugates) = factors(field, t);
        let groups: Vec<Group> = factors
            .chunks(FACTORS_PER_GROUP)
            .map(|chunk| {
                // The last product may reach degree 64; before it 48 is the most.
                let product = chunk.iter().fold(1_u128, |product, factor| {
                    clmul(product as u64, u64::from(factor.polynomial))
                });
                Group {
                    roots: chunk.iter().map(|factor| factor.root).collect(),
                    modulus: Modulus::new(product, field.order()),
                }
            })
            .collect();
        let degree: usize = groups.iter().map(|group| group.modulus.degree as usize).sum();
        let tail = product(&groups, degree.div_ceil(64));
        Self { groups, conjugates, degree, tail }
    }

    /// All coefficients, highest power first.
    pub fn coefficients(&self) -> impl Iterator<Item = bool> + '_ {
        let tail = (0..self.degree).map(|k| self.tail[k / 64] >> (63 - k % 64) & 1 != 0);
        std::iter::once(true).chain(tail)
    }
}

/// A minimal polynomial and the exponent of one of its roots.
struct Factor {
    root: usize,
    polynomial: u32,
}

fn factors(field: &Field, t: usize) -> (Vec<Factor>, Vec<Conjugate>) {
    // Where each exponent was met: root and number of squarings.
    let mut met: Vec<Option<(usize, u32)>> = vec![None; field.order()];
    let mut factors = Vec::new();
    let mut conjugates = Vec::new();
    for exponent in (1..2 * t).step_by(2) {
        if let Some((root, squarings)) = met[exponent] {
            conjugates.push(Conjugate { exponent, root, squarings });
            continue;
        }
        let mut coset = Vec::new();
        let mut member = exponent;
        while met[member].is_none() {
            met[member] = Some((exponent, coset.len() as u32));
            coset.push(member);
            member = 2 * member % field.order();
        }
        factors.push(Factor { root: exponent, polynomial: minimal_polynomial(field, &coset) });
    }
    (factors, conjugates)
}

/// The product of (x - alpha^e) over the exponents of a coset; its coefficients are 0 and 1.
fn minimal_polynomial(field: &Field, coset: &[usize]) -> u32 {
    let mut coefficients = vec![1_u16];
    for &exponent in coset {
        let root = field.alpha(exponent);
        let mut product = vec![0; coefficients.len() + 1];
        for (k, &coefficient) in coefficients.iter().enumerate() {
            product[k + 1] ^= coefficient;
            product[k] ^= field.mul(coefficient, root);
        }
        coefficients = product;
    }
    debug_assert!(coefficients.iter().all(|&coefficient| coefficient <= 1));
    coefficients.iter().rev().fold(0, |bits, &coefficient| bits << 1 | u32::from(coefficient))
}

/// The product of the groups without its leading one, in `len` words.
fn product(groups: &[Group], len: usize) -> Vec<u64> {
    // Relative to its leading one, a factor is 1 + f with bits of f of weight x^-1, x^-2, ..., and
    // (1 + a)(1 + f) = 1 + a + f + a f.
    let mut tail = vec![0_u64; len];
    for Group { modulus, .. } in groups {
        let mut result = tail.clone();
        result[0] ^= modulus.low;
        for (index, &word) in tail.iter().enumerate() {
            let both = clmul(word, modulus.low);
            result[index] ^= (both >> 64) as u64;
            if index + 1 < len {
                result[index + 1] ^= both as u64;
            }
        }
        tail = result;
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_generators() {
        // Lin & Costello, table 6.4 and appendix C: (31, 21) has 3551 in octal, (31, 16) 107657.
        for (t, octal) in [(2, 0o3551), (3, 0o107_657_u32)] {
            let generator = Generator::new(&Field::new(5), t);
            let value = generator.coefficients().fold(0, |value, bit| value << 1 | u32::from(bit));
            assert_eq!(value, octal, "t={t}");
        }
    }

    #[test]
    fn the_roots_are_alpha_to_the_first_2t() {
        for (m, t) in [(5, 4), (6, 7), (8, 11), (9, 30), (12, 5), (14, 72)] {
            let field = Field::new(m);
            let generator = Generator::new(&field, t);
            for exponent in 1..=2 * t {
                let value = generator
                    .coefficients()
                    .fold(0, |value, bit| field.mul(value, field.alpha(exponent)) ^ u16::from(bit));
                assert_eq!(value, 0, "m={m} t={t}: alpha^{exponent}");
            }
        }
    }

    #[test]
    fn exponents_of_a_coset_met_before_are_named() {
        // n = 31, t = 5: the cosets of 1, 3, 5, 7; 9 = 5 * 8 mod 31.
        let generator = Generator::new(&Field::new(5), 5);
        assert_eq!(generator.degree, 20);
        assert_eq!(generator.groups[0].roots, [1, 3, 5, 7]);
        let expected = Conjugate { exponent: 9, root: 5, squarings: 3 };
        assert_eq!(generator.conjugates, [expected]);
    }
}
