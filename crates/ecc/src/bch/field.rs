//! The finite field GF(2^m): its elements as m-bit numbers, multiplied by logarithms.
//!
//! An element is a polynomial in alpha of degree below m, bit k being the coefficient of alpha^k;
//! addition is XOR. Alpha is a root of the primitive polynomial, so every element but 0 is a power
//! of it, and a product is a sum of exponents.
//!
//! Source: Lin & Costello, "Error Control Coding", 2nd edition, section 2.4. The polynomials are
//! the defaults of the BCH code in the Linux kernel (`lib/bch.c`), so that parity can be exchanged.

/// Primitive polynomial of each degree from 5 to 16, bit k being the coefficient of x^k.
const PRIMITIVE: [u32; 12] =
    [0x25, 0x43, 0x83, 0x11d, 0x211, 0x409, 0x805, 0x1053, 0x201b, 0x402b, 0x8003, 0x1_100b];

/// The polynomial of the Linux kernel for a degree of 5 to 16.
pub(super) fn usual_polynomial(m: u32) -> u32 {
    PRIMITIVE[m as usize - 5]
}

/// The field GF(2^m) as tables of logarithms.
#[derive(Clone, Debug)]
pub(super) struct Field {
    degree: u32,
    /// alpha^e for e in `0..2 * order`, so that a sum of two logarithms needs no reduction.
    exp: Vec<u16>,
    /// The e with alpha^e = a, for each a but 0.
    log: Vec<u16>,
}

impl Field {
    /// The field of degree `m`, 5 to 16, with the polynomial of the Linux kernel.
    #[cfg(test)]
    pub fn new(m: u32) -> Self {
        Self::over(usual_polynomial(m)).expect("they are primitive")
    }

    /// The field of a polynomial of degree 5 to 16, bit k being the coefficient of x^k; `None`
    /// unless it is primitive.
    pub fn over(polynomial: u32) -> Option<Self> {
        let m = polynomial.checked_ilog2().filter(|m| (5..=16).contains(m))?;
        let order = (1_usize << m) - 1;
        let mut exp = vec![0_u16; 2 * order];
        let mut log = vec![0_u16; order + 1];
        let mut power = 1_u32;
        for e in 0..order {
            // Alpha is back too early, or never.
            if e > 0 && power <= 1 {
                return None;
            }
            exp[e] = power as u16;
            exp[e + order] = power as u16;
            log[power as usize] = e as u16;
            power <<= 1;
            if power >> m != 0 {
                power ^= polynomial;
            }
        }
        (power == 1).then_some(Self { degree: m, exp, log })
    }

    /// The degree m.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// The number of elements but 0, `n = 2^m - 1`: alpha^n = 1.
    pub fn order(&self) -> usize {
        self.log.len() - 1
    }

    /// alpha^`exponent`.
    pub fn alpha(&self, exponent: usize) -> u16 {
        self.exp[exponent % self.order()]
    }

    /// The e in `0..order` with alpha^e = `a`; `a` is not 0.
    #[inline]
    pub fn exponent(&self, a: u16) -> usize {
        debug_assert!(a != 0, "0 has no logarithm");
        usize::from(self.log[usize::from(a)])
    }

    /// The product.
    #[inline]
    pub fn mul(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.exp[self.exponent(a) + self.exponent(b)]
    }

    /// The quotient; `b` is not 0.
    #[inline]
    pub fn div(&self, a: u16, b: u16) -> u16 {
        if a == 0 {
            return 0;
        }
        self.exp[self.exponent(a) + self.order() - self.exponent(b)]
    }

    /// The square.
    #[inline]
    pub fn square(&self, a: u16) -> u16 {
        if a == 0 {
            return 0;
        }
        self.exp[2 * self.exponent(a)]
    }

    /// alpha^(`a` + `b`), with both exponents below the order.
    #[inline]
    pub fn alpha_sum(&self, a: usize, b: usize) -> u16 {
        self.exp[a + b]
    }

    /// `a` times alpha^`exponent`, with `exponent` below the order.
    #[inline]
    pub fn mul_alpha(&self, a: u16, exponent: usize) -> u16 {
        if a == 0 {
            return 0;
        }
        self.exp[self.exponent(a) + exponent]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomials_are_primitive() {
        // alpha takes the value of every element once before it returns to 1.
        for m in 5..=16 {
            assert_eq!(PRIMITIVE[m as usize - 5] >> m, 1, "degree of row {m}");
            let field = Field::new(m);
            let mut seen = vec![false; field.order() + 1];
            for e in 0..field.order() {
                let element = usize::from(field.alpha(e));
                assert!(element != 0 && !seen[element], "m={m}: alpha^{e} came before");
                seen[element] = true;
            }
            let last = u32::from(field.alpha(field.order() - 1));
            assert_eq!((last << 1) ^ PRIMITIVE[m as usize - 5], 1, "alpha^n = 1 for m={m}");
        }
    }

    #[test]
    fn only_primitive_polynomials_make_a_field() {
        // phi(2^5 - 1) / 5 of degree 5; x^8 + x^4 + x^3 + x + 1 (AES) is irreducible only.
        let primitive: Vec<u32> = (32..64).filter(|&p| Field::over(p).is_some()).collect();
        assert_eq!(primitive, [0x25, 0x29, 0x2f, 0x37, 0x3b, 0x3d]);
        for refused in [0, 1, 0x13, 0x11b, 0x201a, 0x2_0009, u32::MAX] {
            assert!(Field::over(refused).is_none(), "{refused:#x}");
        }
        // Their number for m = 13 and 14: phi(2^m - 1) / m.
        let count = |m: u32| (1 << m..2 << m).filter(|&p| Field::over(p).is_some()).count();
        assert_eq!([count(9), count(13), count(14)], [48, 630, 756]);
    }

    #[test]
    fn products_are_those_of_polynomials() {
        for m in [5, 8, 13, 16] {
            let field = Field::new(m);
            let long_hand = |a: u16, b: u16| {
                let mut product = 0_u32;
                for k in (0..m).rev() {
                    product <<= 1;
                    if product >> m != 0 {
                        product ^= PRIMITIVE[m as usize - 5];
                    }
                    if b >> k & 1 != 0 {
                        product ^= u32::from(a);
                    }
                }
                product as u16
            };
            for i in 0..5000_u32 {
                let a = (i.wrapping_mul(2_654_435_761) >> 7) as usize & field.order();
                let b = (i.wrapping_mul(40_503) >> 3) as usize & field.order();
                let (a, b) = (a as u16, b as u16);
                let product = field.mul(a, b);
                assert_eq!(product, long_hand(a, b), "m={m}: {a} * {b}");
                assert_eq!(field.square(a), long_hand(a, a));
                if b != 0 {
                    assert_eq!(field.div(product, b), a);
                    assert_eq!(field.mul_alpha(a, field.exponent(b)), product);
                }
            }
        }
    }
}
