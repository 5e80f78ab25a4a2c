//! Binary primitive narrow-sense BCH codes: parameters, and the failure of a bounded-distance
//! decoder.
//!
//! The generator polynomial of a code over GF(2^m) that corrects `t` errors has the roots alpha^1
//! to alpha^2t. Conjugate roots come together, so its degree, the number of parity bits, is the
//! size of the union of the cyclotomic cosets `{i, 2i, 4i, ...} mod (2^m - 1)` of `i = 1, 3, ...,
//! 2t - 1`. That is `m t` as a rule and less when a coset is short: (m=14, t=72) has 1001 parity
//! bits, because the coset of 129 has 7 elements and not 14.
//!
//! A word with at most `t` errors is corrected and any other fails. With independent errors the
//! failure is therefore `P(X > t)`, `X ~ Binomial(n, rber)`. The rare word that is decoded to a
//! *wrong* codeword counts as failed here, as it does for the reader of the data.
//!
//! Source: Lin & Costello, "Error Control Coding", 2nd edition, section 6.1.

use super::{Code, CodeError};
use crate::beta_binomial::BetaBinomial;
use crate::tail::binomial_tail;

/// A BCH code, possibly shortened.
#[derive(Clone, Debug, PartialEq)]
pub struct Bch {
    field_degree: u32,
    correctable_bits: u32,
    /// Bits of a codeword beyond its data: parity, and covered bits of the out-of-band area.
    parity_bits: u32,
    data_bits: u32,
    /// Whether each codeword has whole bytes of the out-of-band area.
    is_step: bool,
    /// Relative standard deviation of the error rates of codewords; 0: all alike.
    spread: f64,
}

impl Bch {
    /// The code over GF(2^`m`) that corrects `t` errors, with `data_bits` data bits a codeword, or
    /// as many as fit when `None`.
    ///
    /// # Errors
    /// [`CodeError`] when `m` is outside 5 to 16, when `t` is 0 or so large that no data bit is
    /// left, and when `data_bits` is 0 or more than fits.
    ///
    /// ```
    /// use opennandlab_ecc::{Bch, Code};
    /// let code = Bch::new(8, 4, None)?;
    /// assert_eq!((code.code_bits(), code.parity_bits(), code.data_bits_max()), (255, 32, 223));
    /// # Ok::<(), opennandlab_ecc::CodeError>(())
    /// ```
    pub fn new(m: u32, t: u32, data_bits: Option<u32>) -> Result<Self, CodeError> {
        if !(5..=16).contains(&m) {
            return Err(CodeError::FieldDegree { m });
        }
        let code_bits = (1_u32 << m) - 1;
        // The repetition code, with a single data bit, is the last of the family.
        let t_max = (code_bits - 1) / 2;
        if t == 0 {
            return Err(CodeError::CorrectsNothing { m, t_max });
        }
        if t > t_max {
            return Err(CodeError::NoDataBits { m, t, code_bits, t_max });
        }
        let parity_bits = coset_union_size(code_bits, t);
        let data_bits_max = code_bits - parity_bits;
        let data_bits = data_bits.unwrap_or(data_bits_max);
        if data_bits == 0 || data_bits > data_bits_max {
            let (data_bits, data_bits_max) = (u64::from(data_bits), u64::from(data_bits_max));
            return Err(CodeError::DataBits { data_bits, data_bits_max });
        }
        Ok(Self {
            field_degree: m,
            correctable_bits: t,
            parity_bits,
            data_bits,
            is_step: false,
            spread: 0.0,
        })
    }

    /// The code of a step as data sheets state it: `t` errors in `step_bytes` of a page. It covers
    /// `meta_bytes` of the out-of-band area too, and its parity fills whole bytes there.
    ///
    /// # Errors
    /// As [`Bch::new`].
    ///
    /// ```
    /// use opennandlab_ecc::{Bch, PageCode};
    /// let page = PageCode::new(Box::new(Bch::of_step(13, 8, 512, 0)?), 2048)?;
    /// assert_eq!((page.codewords_per_page(), page.parity_bytes_per_page()), (4, 52));
    /// # Ok::<(), opennandlab_ecc::CodeError>(())
    /// ```
    pub fn of_step(m: u32, t: u32, step_bytes: u32, meta_bytes: u32) -> Result<Self, CodeError> {
        let covered = step_bytes.saturating_add(meta_bytes).saturating_mul(8);
        let mut code = Self::new(m, t, Some(covered))?;
        code.data_bits = 8 * step_bytes;
        code.parity_bits += 8 * meta_bytes;
        code.is_step = true;
        Ok(code)
    }

    /// The same code on flash whose codewords differ: their error rates have a beta distribution
    /// with this relative standard deviation. If no such distribution exists, the widest one.
    #[must_use]
    pub fn with_spread(mut self, spread: f64) -> Self {
        self.spread = spread;
        self
    }

    /// The number of errors of a codeword; none when it is binomial.
    fn spread_errors(&self, code_bits: u32, rber: f64) -> Option<BetaBinomial> {
        if self.spread <= 0.0 || rber <= 0.0 || rber > 0.5 {
            return None;
        }
        let made = BetaBinomial::new(code_bits, rber, self.spread);
        // Half of the variance that a rate of 0 or 1 would have: the widest that is accepted.
        let widest = 0.499 * libm::sqrt((1.0 - rber) / rber);
        made.or_else(|_| BetaBinomial::new(code_bits, rber, widest)).ok()
    }

    /// Probability that a codeword has more than `count` errors.
    fn tail(&self, count: u32, data_bits: u32, rber: f64) -> f64 {
        let code_bits = data_bits + self.parity_bits;
        match self.spread_errors(code_bits, rber) {
            Some(errors) => errors.tail(count),
            None => binomial_tail(code_bits, count, rber),
        }
    }

    /// The degree `m` of the field.
    pub fn field_degree(&self) -> u32 {
        self.field_degree
    }

    /// The number `t` of errors that are corrected in any codeword.
    pub fn correctable_bits(&self) -> u32 {
        self.correctable_bits
    }

    /// Length `n` of a codeword: data and parity.
    pub fn code_bits(&self) -> u32 {
        self.data_bits + self.parity_bits
    }

    /// Data bits per code bit.
    pub fn rate(&self) -> f64 {
        f64::from(self.data_bits) / f64::from(self.code_bits())
    }
}

impl Code for Bch {
    fn data_bits_max(&self) -> u32 {
        self.data_bits
    }

    fn parity_bits(&self) -> u32 {
        self.parity_bits
    }

    fn spare_bits(&self) -> u32 {
        if self.is_step {
            self.parity_bits.next_multiple_of(8)
        } else {
            self.parity_bits
        }
    }

    fn failure_probability(&self, data_bits: u32, rber: f64) -> f64 {
        self.tail(self.correctable_bits, data_bits, rber)
    }

    fn errors_max(&self) -> Option<u32> {
        Some(self.correctable_bits)
    }

    fn more_errors_than(&self, count: u32, data_bits: u32, rber: f64) -> Option<f64> {
        Some(self.tail(count, data_bits, rber))
    }

    fn corrected_bits_mean(&self, data_bits: u32, rber: f64) -> f64 {
        // E[X; X <= t] = n p P(Y <= t - 1), Y ~ Binomial(n - 1, p): take one wrong bit out of the
        // word.
        let code_bits = data_bits + self.parity_bits;
        if let Some(errors) = self.spread_errors(code_bits, rber) {
            let bits = |count| f64::from(count) * errors.probability(count);
            return (1..=self.correctable_bits).map(bits).sum();
        }
        let others_fail = binomial_tail(code_bits - 1, self.correctable_bits - 1, rber);
        f64::from(code_bits) * rber * (1.0 - others_fail)
    }
}

/// Size of the union of the cyclotomic cosets of 1, 3, ..., 2t - 1 modulo `code_bits`.
fn coset_union_size(code_bits: u32, t: u32) -> u32 {
    let mut is_root = vec![false; code_bits as usize];
    let mut size = 0;
    for first in (1..2 * t).step_by(2) {
        let mut root = first;
        while !is_root[root as usize] {
            is_root[root as usize] = true;
            size += 1;
            root = 2 * root % code_bits;
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_the_constructed_generators() {
        // (m, t, n, parity bits, k): degrees of generator polynomials built independently.
        let rows = [
            (8, 4, 255, 32, 223),
            (13, 8, 8191, 104, 8087),
            (14, 40, 16383, 560, 15823),
            (14, 72, 16383, 1001, 15382),
            (15, 72, 32767, 1080, 31687),
            // Lin & Costello, table 6.1: (31, 11) corrects 5, (31, 6) corrects 7.
            (5, 5, 31, 20, 11),
            (5, 7, 31, 25, 6),
            (6, 10, 63, 45, 18),
        ];
        for (m, t, code_bits, parity_bits, data_bits) in rows {
            let code = Bch::new(m, t, None).unwrap();
            assert_eq!(
                (code.code_bits(), code.parity_bits(), code.data_bits_max()),
                (code_bits, parity_bits, data_bits),
                "m={m} t={t}"
            );
        }
    }

    #[test]
    fn impossible_codes_are_refused_with_the_accepted_range() {
        let message = |m, t, data_bits| Bch::new(m, t, data_bits).unwrap_err().to_string();
        assert_eq!(message(4, 1, None), "field degree m = 4 is not supported; accepted: 5 to 16");
        assert_eq!(message(17, 1, None), "field degree m = 17 is not supported; accepted: 5 to 16");
        assert_eq!(message(8, 0, None), "t = 0 corrects nothing; accepted: 1 to 127 for m = 8");
        assert_eq!(
            message(8, 128, None),
            "t = 128 leaves no data bits in 255 bits; accepted: 1 to 127 for m = 8"
        );
        assert!(message(8, u32::MAX, None).contains("leaves no data bits"));
        assert_eq!(message(8, 4, Some(224)), "224 data bits do not fit; accepted: 1 to 223");
        assert_eq!(message(8, 4, Some(0)), "0 data bits do not fit; accepted: 1 to 223");
    }

    #[test]
    fn the_last_of_every_family_is_the_repetition_code() {
        for m in 5..=16 {
            let t_max = ((1 << m) - 2) / 2;
            assert_eq!(Bch::new(m, t_max, None).unwrap().data_bits_max(), 1, "m={m}");
        }
    }

    #[test]
    fn codewords_that_differ_fail_more_often() {
        let alike = Bch::new(8, 4, None).unwrap();
        let apart = alike.clone().with_spread(0.5);
        // 255 bits at 1e-3 with a spread of 0.5: 3.597813937e-5, see the beta-binomial.
        let failure = apart.failure_probability(223, 1e-3);
        assert!((failure / 3.597_813_937e-5 - 1.0).abs() < 1e-9, "{failure:e}");
        assert!(failure > 3.0 * alike.failure_probability(223, 1e-3));
        let (ours, binomial) =
            (apart.corrected_bits_mean(223, 1e-3), alike.corrected_bits_mean(223, 1e-3));
        assert!(ours < binomial && ours > 0.999 * binomial, "{ours} {binomial}");
        assert!(apart.with_spread(1e6).failure_probability(223, 0.4) > 0.3);
    }

    #[test]
    fn corrected_bits_follow_the_definition() {
        // The sum over k <= t of k P(X = k), by Horner-free brute force for a short code.
        let code = Bch::new(5, 3, None).unwrap();
        let (n, p) = (31_i32, 0.03_f64);
        let mut choose = 1.0;
        let mut mean = 0.0;
        for k in 0..=3_i32 {
            mean += f64::from(k) * choose * p.powi(k) * (1.0 - p).powi(n - k);
            choose *= f64::from(n - k) / f64::from(k + 1);
        }
        let ours = code.corrected_bits_mean(code.data_bits_max(), p);
        assert!((ours / mean - 1.0).abs() < 1e-12, "{ours} against {mean}");
    }
}
