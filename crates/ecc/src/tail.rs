//! The upper tail of the binomial distribution, `P(X > t)`, to about 15 digits down to the smallest
//! float.
//!
//! Logarithms of the terms would lose digits: `ln 16383!`, a part of `ln C(16383, 73)`, is above
//! 10^5, so one unit in its last place is 10^-11 of the result. The first term is therefore
//! multiplied out, in numbers with 106 bits of mantissa (two floats) and a separate exponent; the
//! others follow by the ratio of neighbours
//!
//! ```text
//!   P(X = k) = C(n, k) p^k q^(n-k)     P(X = k+1) / P(X = k) = (n-k)/(k+1) * p/q     q = 1 - p
//! ```
//!
//! and are summed away from the mean, in the direction in which they shrink. Additions and
//! multiplications of IEEE 754 are all it takes, so the result is the same on every machine.
//!
//! Source of the two-float arithmetic: Dekker, "A floating-point technique for extending the
//! available precision", Numerische Mathematik 18, 1971.

/// `P(X > t)` for `X ~ Binomial(n, p)`.
///
/// # Panics
/// When `p` is not in `0.0..=1.0`.
///
/// ```
/// use opennandlab_ecc::binomial_tail;
/// // A codeword of 255 bits with 4 correctable errors, at a raw bit error rate of 1e-3.
/// assert!((binomial_tail(255, 4, 1e-3) / 7.016_88e-6 - 1.0).abs() < 1e-5);
/// ```
pub fn binomial_tail(n: u32, t: u32, p: f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "a probability is between 0 and 1, not {p}");
    if t >= n || p == 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let terms = Terms { n, p, odds: p / (1.0 - p) };
    if f64::from(t) + 1.0 > f64::from(n) * p {
        terms.upward(t + 1)
    } else {
        1.0 - terms.downward(t)
    }
}

/// A term smaller than this share of the sum, with smaller ones behind it, no longer moves it.
const NEGLIGIBLE_RATIO: f64 = 1e-20;

struct Terms {
    n: u32,
    p: f64,
    odds: f64,
}

impl Terms {
    /// `P(X >= first)`, for `first` above the mean.
    fn upward(&self, first: u32) -> f64 {
        let mut sum = 1.0;
        let mut term = 1.0;
        for k in first..self.n {
            term *= f64::from(self.n - k) / f64::from(k + 1) * self.odds;
            sum += term;
            if term < sum * NEGLIGIBLE_RATIO {
                break;
            }
        }
        self.at(first).times(sum).to_f64()
    }

    /// `P(X <= first)`, for `first` below the mean.
    fn downward(&self, first: u32) -> f64 {
        let mut sum = 1.0;
        let mut term = 1.0;
        for k in (1..=first).rev() {
            term *= f64::from(k) / (f64::from(self.n - k + 1) * self.odds);
            sum += term;
            if term < sum * NEGLIGIBLE_RATIO {
                break;
            }
        }
        self.at(first).times(sum).to_f64()
    }

    /// `P(X = k)`.
    fn at(&self, k: u32) -> Wide {
        let mut value =
            Wide::new(self.p).power(k).product(Wide::one_minus(self.p).power(self.n - k));
        for i in 0..k.min(self.n - k) {
            value = value.times(f64::from(self.n - i)).over(f64::from(i + 1));
        }
        value
    }
}

/// `(high + low) * 2^exponent`, with `high` in 0.5 to 1 and `low` within half a unit of its last
/// place.
#[derive(Clone, Copy)]
struct Wide {
    high: f64,
    low: f64,
    exponent: i64,
}

impl Wide {
    fn new(value: f64) -> Self {
        Self { high: value, low: 0.0, exponent: 0 }.normal()
    }

    /// `1 - p` exactly.
    fn one_minus(p: f64) -> Self {
        let (high, low) = sum(1.0, -p);
        Self { high, low, exponent: 0 }.normal()
    }

    fn normal(self) -> Self {
        let (high, shift) = libm::frexp(self.high);
        Self {
            high,
            low: libm::scalbn(self.low, -shift),
            exponent: self.exponent + i64::from(shift),
        }
    }

    fn product(self, other: Self) -> Self {
        let (high, error) = product(self.high, other.high);
        let (high, low) = sum(high, error + (self.high * other.low + self.low * other.high));
        Self { high, low, exponent: self.exponent + other.exponent }.normal()
    }

    fn times(self, factor: f64) -> Self {
        let (high, error) = product(self.high, factor);
        let (high, low) = sum(high, error + self.low * factor);
        Self { high, low, exponent: self.exponent }.normal()
    }

    fn over(self, divisor: f64) -> Self {
        let quotient = self.high / divisor;
        let (back, error) = product(quotient, divisor);
        let rest = ((self.high - back) - error + self.low) / divisor;
        let (high, low) = sum(quotient, rest);
        Self { high, low, exponent: self.exponent }.normal()
    }

    fn power(self, exponent: u32) -> Self {
        let mut result = Self::new(1.0);
        for bit in (0..u32::BITS - exponent.leading_zeros()).rev() {
            result = result.product(result);
            if exponent >> bit & 1 == 1 {
                result = result.product(self);
            }
        }
        result
    }

    /// The nearest float; 0 below the smallest one.
    fn to_f64(self) -> f64 {
        let exponent = self.exponent.clamp(-4096, 4096) as i32;
        libm::scalbn(self.high + self.low, exponent)
    }
}

/// `a + b` and its rounding error (Knuth).
fn sum(a: f64, b: f64) -> (f64, f64) {
    let total = a + b;
    let part = total - a;
    (total, (a - (total - part)) + (b - part))
}

/// `a * b` and its rounding error (Dekker), for factors far from overflow.
fn product(a: f64, b: f64) -> (f64, f64) {
    let total = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    let error = ((a_high * b_high - total) + a_high * b_low + a_low * b_high) + a_low * b_low;
    (total, error)
}

/// Two halves of 26 bits each (Veltkamp).
fn split(a: f64) -> (f64, f64) {
    // 2^27 + 1 cuts a mantissa of 53 bits in the middle.
    let scaled = a * 134_217_729.0;
    let high = scaled - (scaled - a);
    (high, a - high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `(n, t, p, P(X > t))`, summed with 60 decimal digits from the exact value of the float `p`.
    const EXACT: &[(u32, u32, f64, f64)] = &[
        (255, 4, 1e-05, 8.619_511_974_371_931e-16),
        (255, 4, 0.0001, 8.459_446_378_004_635e-11),
        (255, 4, 0.000_324, 2.882_849_336_730_23e-08),
        (255, 4, 0.001, 7.016_880_545_298_607e-06),
        (255, 4, 0.005, 0.009_663_855_992_208_566),
        (255, 4, 0.5, 1.0),
        (242, 4, 0.0001, 6.505_220_203_983_3e-11),
        (8752, 40, 0.001, 2.379_959_717_504_832_3e-15),
        (8752, 40, 0.0025, 0.000_164_178_378_926_173_95),
        (8191, 8, 1e-08, 4.553_317_198_400_706e-43),
        (16383, 72, 1e-06, 8.387_757_715_088_758e-237),
        (16383, 72, 0.004, 0.192_684_121_135_621_72),
        (16383, 72, 1e-05, 7.257_013_892_098_974e-164),
        (16383, 72, 0.1, 1.0),
        (32767, 72, 0.002, 0.192_976_901_736_747_78),
        (65535, 40, 1e-10, 8.821_421_376_962_039e-263),
        (65535, 2000, 0.03, 0.214_696_288_994_567_7),
        (65535, 9000, 0.123_456_789, 9.847_912_965_511_675e-27),
        (65535, 20000, 0.3, 0.001_901_423_249_433_231_8),
        (65535, 30000, 0.4, 6.944_925_923_642_763e-198),
        (65535, 32767, 0.5, 0.5),
        (65535, 33500, 0.5, 5.115_996_990_238_534e-09),
        (31, 15, 0.5, 0.5),
        (31, 0, 1e-20, 3.1e-19),
        (4096, 0, 1e-300, 4.096e-297),
    ];

    #[test]
    fn values_are_exact_to_twelve_digits() {
        for &(n, t, p, exact) in EXACT {
            let ours = binomial_tail(n, t, p);
            assert!(
                (ours / exact - 1.0).abs() < 1e-12,
                "n={n} t={t} p={p:e}: {ours:e} != {exact:e}"
            );
        }
    }

    #[test]
    fn ends_of_the_range_are_met() {
        let value = |n, t, p: f64| binomial_tail(n, t, p).to_bits();
        assert_eq!(value(255, 4, 0.0), 0.0_f64.to_bits());
        assert_eq!(value(255, 4, 1.0), 1.0_f64.to_bits());
        assert_eq!(value(255, 255, 0.3), 0.0_f64.to_bits());
        // (1e-300)^41 is far below the smallest float.
        assert_eq!(value(16383, 40, 1e-300), 0.0_f64.to_bits());
    }

    #[test]
    #[should_panic(expected = "between 0 and 1")]
    fn no_probability_is_no_number() {
        binomial_tail(255, 4, f64::NAN);
    }

    proptest! {
        #[test]
        fn both_tails_make_one(n in 1_u32..3000, share in 0.0_f64..1.0, p in 1e-6_f64..0.999_999) {
            // P(X > t) = 1 - P(n - X > n - t - 1), with n - X ~ Binomial(n, 1 - p).
            let t = (share * f64::from(n - 1)) as u32;
            let total = binomial_tail(n, t, p) + binomial_tail(n, n - t - 1, 1.0 - p);
            prop_assert!((total - 1.0).abs() < 1e-9, "{total}");
        }

        #[test]
        fn more_errors_or_less_correction_never_helps(
            n in 2_u32..5000,
            t in 0_u32..100,
            p in 1e-9_f64..0.5,
            factor in 1.0_f64..1.9,
        ) {
            let value = binomial_tail(n, t, p);
            prop_assert!((0.0..=1.0).contains(&value));
            prop_assert!(binomial_tail(n, t, (p * factor).min(1.0)) >= value * (1.0 - 1e-12));
            prop_assert!(binomial_tail(n, t + 1, p) <= value * (1.0 + 1e-12));
            prop_assert!(binomial_tail(n + 1, t, p) >= value * (1.0 - 1e-12));
        }
    }
}
