//! Polynomials over GF(2) as machine words: products without carry, and residues modulo a
//! polynomial of degree up to 64.
//!
//! Division is Barrett's, as checksums use it: with `mu = floor(x^128 / M)` the quotient of a
//! 128-bit polynomial by M of degree 64 is the upper half of a product, exactly, since polynomials
//! do not carry. A modulus G of lower degree d is scaled to `M = G x^(64-d)`, and a residue is kept
//! *left-aligned*, as `r x^(64-d)`: then `residue * anything` reduced modulo M is left-aligned
//! again, and unique.
//!
//! Source: V. Gopal et al., "Fast CRC computation for generic polynomials using the PCLMULQDQ
//! instruction", Intel, 2009.

/// The product of two polynomials of degree below 64.
pub(super) fn clmul(a: u64, b: u64) -> u128 {
    let mut multiples = [0_u128; 16];
    multiples[1] = u128::from(b);
    for i in 1..8 {
        multiples[2 * i] = multiples[i] << 1;
        multiples[2 * i + 1] = multiples[2 * i] ^ multiples[1];
    }
    (0..16)
        .rev()
        .fold(0, |product, nibble| (product << 4) ^ multiples[(a >> (4 * nibble)) as usize & 15])
}

/// A polynomial G over GF(2) of degree 1 to 64 whose roots are in GF(2^m), each once.
#[derive(Clone, Debug)]
pub(super) struct Modulus {
    /// The degree of G.
    pub degree: u32,
    /// `M = G x^(64 - degree)` without its leading term x^64.
    pub low: u64,
    /// `floor(x^128 / M)` without its leading term x^64.
    pub mu: u64,
    /// The n with x^n = 1 modulo G: 2^m - 1.
    order: usize,
}

impl Modulus {
    /// The modulus `polynomial` of degree 1 to 64, all of whose roots are powers of an element of
    /// order `order`.
    pub fn new(polynomial: u128, order: usize) -> Self {
        let degree = polynomial.ilog2();
        debug_assert!((1..=64).contains(&degree), "degree {degree}");
        let low = (polynomial << (64 - degree)) as u64;
        // Long division of x^128 by M; the first quotient bit is known to be 1.
        let mut rest = u128::from(low) << 64;
        let mut mu = 0;
        for place in (0..64).rev() {
            if rest >> (64 + place) & 1 != 0 {
                mu |= 1 << place;
                rest ^= 1 << (64 + place) ^ u128::from(low) << place;
            }
        }
        Self { degree, low, mu, order }
    }

    /// Quotient and rest of the division of `value` by M.
    pub fn divide(&self, value: u128) -> (u64, u64) {
        let high = (value >> 64) as u64;
        let quotient = high ^ (clmul(high, self.mu) >> 64) as u64;
        (quotient, value as u64 ^ clmul(quotient, self.low) as u64)
    }

    /// The left-aligned residue 1.
    pub fn one(&self) -> u64 {
        1 << (64 - self.degree)
    }

    /// The left-aligned residue of a polynomial of degree below 64.
    pub fn residue(&self, polynomial: u64) -> u64 {
        self.scale(self.one(), polynomial)
    }

    /// The left-aligned residue `a` times a polynomial of degree below 64.
    pub fn scale(&self, a: u64, polynomial: u64) -> u64 {
        self.divide(clmul(a, polynomial)).1
    }

    /// The product of two left-aligned residues.
    pub fn mul(&self, a: u64, b: u64) -> u64 {
        self.scale(a, b >> (64 - self.degree))
    }

    /// A power of a left-aligned residue.
    pub fn power(&self, a: u64, exponent: usize) -> u64 {
        let mut result = self.one();
        for place in (0..usize::BITS).rev() {
            result = self.mul(result, result);
            if exponent >> place & 1 != 0 {
                result = self.mul(result, a);
            }
        }
        result
    }

    /// The left-aligned residue of x^`exponent`.
    pub fn x_to(&self, exponent: usize) -> u64 {
        self.power(self.residue(2), exponent % self.order)
    }

    /// The left-aligned residue of x^-`exponent`.
    pub fn x_to_minus(&self, exponent: usize) -> u64 {
        self.power(self.residue(2), self.order - exponent % self.order)
    }

    /// The inverse of a left-aligned residue that shares no root with G.
    pub fn inverse(&self, a: u64) -> u64 {
        // Modulo each irreducible factor the residue is in a subfield of GF(2^m): a^n = 1.
        let inverse = self.power(a, self.order - 1);
        debug_assert_eq!(self.mul(a, inverse), self.one(), "not invertible");
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_shift_and_add() {
        let (mut a, mut b) = (0x9e37_79b9_7f4a_7c15_u64, 0xbf58_476d_1ce4_e5b9_u64);
        for _ in 0..200 {
            let long_hand =
                (0..64).filter(|k| a >> k & 1 != 0).fold(0, |sum, k| sum ^ u128::from(b) << k);
            assert_eq!(clmul(a, b), long_hand);
            (a, b) = (b.rotate_left(7).wrapping_mul(3), a ^ (b >> 3));
        }
    }

    #[test]
    fn residues_form_the_ring() {
        // The minimal polynomials of alpha and alpha^3 in GF(2^5): 100101 and 111101, product of
        // degree 10; x has the order 31.
        let polynomial = clmul(0b10_0101, 0b11_1101);
        let modulus = Modulus::new(polynomial, 31);
        assert_eq!((modulus.degree, modulus.x_to(31)), (10, modulus.one()));
        assert_eq!(modulus.mul(modulus.x_to_minus(9), modulus.x_to(9)), modulus.one());
        // x^10 is the rest of the polynomial.
        assert_eq!(u128::from(modulus.x_to(10) >> 54), polynomial ^ 1 << 10);
        assert_eq!(modulus.residue(polynomial as u64), 0);
        let a = modulus.residue(0b1_0110_1011_1001);
        assert_eq!(modulus.mul(a, modulus.inverse(a)), modulus.one());
    }
}
