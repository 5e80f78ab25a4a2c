//! A flash page as codewords: how many, how long, and what a read of the page gives.
//!
//! ```text
//!   page of 4096 bytes = 32768 data bits, BCH(255, 223, t=4)
//!   | 223 + 32 | 223 + 32 | ... 146 full codewords ... | 210 + 32 |   the last one is shortened
//! ```
//!
//! The page is unreadable when any of its codewords is. Parity is stored bit by bit without gaps,
//! so that the out-of-band area needs `ceil(codewords * parity bits / 8)` bytes; that of the steps
//! of data sheets ([`crate::Bch::of_step`]) has whole bytes for each.

use crate::codes::{Code, CodeError};

/// A page protected by a code.
#[derive(Debug)]
pub struct PageCode {
    code: Box<dyn Code>,
    page_bytes: u32,
    /// Pages that share a codeword; 1 unless codewords are longer than pages.
    pages_per_codeword: u32,
}

impl PageCode {
    /// Splits pages of `page_bytes` into codewords of `code`.
    ///
    /// # Errors
    /// [`CodeError::PageBytes`] for a page without data, or with more bits than 32 bits can count;
    /// [`CodeError::PageShape`] where codewords of fixed length do not fill pages, nor pages them.
    ///
    /// ```
    /// use opennandlab_ecc::{Bch, PageCode};
    /// let page = PageCode::new(Box::new(Bch::new(8, 4, None)?), 4096)?;
    /// assert_eq!((page.codewords_per_page(), page.parity_bytes_per_page()), (147, 588));
    /// # Ok::<(), opennandlab_ecc::CodeError>(())
    /// ```
    pub fn new(code: Box<dyn Code>, page_bytes: u32) -> Result<Self, CodeError> {
        if page_bytes == 0 || page_bytes > u32::MAX / 8 {
            return Err(CodeError::PageBytes { page_bytes: u64::from(page_bytes) });
        }
        let (page_bits, data_bits) = (page_bytes * 8, code.data_bits_max());
        let mut pages_per_codeword = 1;
        if !code.is_shortened() && page_bits % data_bits != 0 {
            if data_bits % page_bits != 0 {
                return Err(CodeError::PageShape { page_bits, data_bits });
            }
            pages_per_codeword = data_bits / page_bits;
        }
        Ok(Self { code, page_bytes, pages_per_codeword })
    }

    /// Pages that share a codeword, each of which reads all of it; 1 as a rule.
    pub fn pages_per_codeword(&self) -> u32 {
        self.pages_per_codeword
    }

    /// The code of one codeword.
    pub fn code(&self) -> &dyn Code {
        self.code.as_ref()
    }

    /// Data bits of a page.
    pub fn page_bits(&self) -> u32 {
        self.page_bytes * 8
    }

    /// Codewords of a page, the shortened one included.
    pub fn codewords_per_page(&self) -> u32 {
        self.page_bits().div_ceil(self.code.data_bits_max())
    }

    /// Data bits of the last codeword of a page.
    pub fn last_data_bits(&self) -> u32 {
        self.page_bits() - (self.codewords_per_page() - 1) * self.code.data_bits_max()
    }

    /// Bytes that the parity of a page fills in its out-of-band area.
    pub fn parity_bytes_per_page(&self) -> u32 {
        let parity_bits = u64::from(self.codewords_per_page()) * u64::from(self.code.spare_bits());
        // A code has less parity than code bits, 2^16 - 1, and at least one data bit: 2^45 at most.
        let bytes = parity_bits.div_ceil(8 * u64::from(self.pages_per_codeword));
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Probability that one full codeword is not decoded at raw bit error rate `rber`.
    pub fn codeword_failure_probability(&self, rber: f64) -> f64 {
        self.code.failure_probability(self.code.data_bits_max(), rber)
    }

    /// Probability that a read of the page is uncorrectable: that any of its codewords is.
    ///
    /// `1 - product of (1 - p)`, in logarithms, so that nothing is lost when all `p` are tiny.
    pub fn page_failure_probability(&self, rber: f64) -> f64 {
        self.page_failure_after(rber, 1)
    }

    /// As [`Self::page_failure_probability`], decoded from `reads` reads; 1 if the code has no soft
    /// decisions from that many.
    pub fn page_failure_after(&self, rber: f64, reads: u32) -> f64 {
        -libm::expm1(self.total(|bits| libm::log1p(-self.failure(bits, rber, reads).min(1.0))))
    }

    /// Whether failure probabilities at this RBER are outside the measured range of the code.
    pub fn is_extrapolated(&self, rber: f64, reads: u32) -> bool {
        self.code.is_extrapolated(rber, reads)
    }

    fn failure(&self, data_bits: u32, rber: f64, reads: u32) -> f64 {
        if reads == 1 {
            self.code.failure_probability(data_bits, rber)
        } else {
            self.code.soft_failure_probability(data_bits, rber, reads).unwrap_or(1.0)
        }
    }

    /// Mean number of bits corrected in a read of the page; codewords that fail do not count.
    pub fn corrected_bits_mean(&self, rber: f64) -> f64 {
        self.total(|data_bits| self.code.corrected_bits_mean(data_bits, rber))
    }

    /// Mean number of errors of the worst codeword of a page, of those pages that are decoded; none
    /// for codes that do not go by the number of errors.
    ///
    /// With `F(e)` the probability that no codeword has more than `e` errors, and `t` those that
    /// are corrected: the sum over `e < t` of `1 - F(e) / F(t)`; `t` if none is decoded.
    pub fn worst_errors_mean(&self, rber: f64) -> Option<f64> {
        let errors_max = self.code.errors_max()?;
        let log_share = |errors: u32| {
            self.total(|bits| {
                let more = self.code.more_errors_than(errors, bits, rber).unwrap_or(0.0);
                libm::log1p(-more.min(1.0))
            })
        };
        let decoded = log_share(errors_max);
        if decoded == f64::NEG_INFINITY {
            return Some(f64::from(errors_max));
        }
        Some((0..errors_max).map(|errors| -libm::expm1(log_share(errors) - decoded)).sum())
    }

    /// Uncorrectable data errors per data bit read, as JESD218 defines the uncorrectable bit error
    /// rate.
    ///
    /// A data error is a codeword that is not decoded; a page with all codewords of one length
    /// gives `P(codeword fails) / data bits of a codeword`.
    pub fn uber(&self, rber: f64) -> f64 {
        self.uber_after(rber, 1)
    }

    /// As [`Self::uber`], decoded from `reads` reads.
    pub fn uber_after(&self, rber: f64, reads: u32) -> f64 {
        let failed_codewords = self.total(|bits| self.failure(bits, rber, reads));
        failed_codewords / (f64::from(self.page_bits()) * f64::from(self.pages_per_codeword))
    }

    /// Adds `value(data bits)` over the codewords of the page.
    fn total(&self, value: impl Fn(u32) -> f64) -> f64 {
        let full_count = f64::from(self.codewords_per_page() - 1);
        let last = value(self.last_data_bits());
        // A page of one short codeword has no full ones; 0 * value could be 0 * infinity.
        if full_count > 0.0 {
            full_count * value(self.code.data_bits_max()) + last
        } else {
            last
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{Bch, Uncoded};
    use proptest::prelude::*;

    fn bch_page(m: u32, t: u32, page_bytes: u32) -> PageCode {
        PageCode::new(Box::new(Bch::new(m, t, None).unwrap()), page_bytes).unwrap()
    }

    #[test]
    fn a_page_is_split_and_its_last_codeword_shortened() {
        let page = bch_page(8, 4, 4096);
        assert_eq!(page.codewords_per_page(), 147);
        assert_eq!(page.last_data_bits(), 32768 - 146 * 223);
        assert_eq!(page.parity_bytes_per_page(), 588);
        // A page smaller than a codeword is one short codeword.
        let page = bch_page(14, 72, 512);
        assert_eq!((page.codewords_per_page(), page.last_data_bits()), (1, 4096));
    }

    #[test]
    fn the_worst_codeword_has_the_mean_errors_of_the_largest_of_binomials() {
        // Three codewords of 31 bits, the last shortened to 10 + 20, of a code that corrects 5:
        // every triple of counts, weighted.
        let page = bch_page(5, 5, 4);
        assert_eq!((page.codewords_per_page(), page.last_data_bits()), (3, 10));
        for rber in [1e-3_f64, 0.02, 0.2] {
            let share = |bits: u32, errors: u32| {
                let choose = |n: u32, k: u32| {
                    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product::<f64>()
                };
                choose(bits, errors)
                    * libm::pow(rber, errors.into())
                    * libm::pow(1.0 - rber, (bits - errors).into())
            };
            let (mut sum, mut whole) = (0.0, 0.0);
            for (a, b, c) in
                (0..=5).flat_map(|a| (0..=5).flat_map(move |b| (0..=5).map(move |c| (a, b, c))))
            {
                let weight = share(31, a) * share(31, b) * share(30, c);
                sum += weight * f64::from(a.max(b).max(c));
                whole += weight;
            }
            let found = page.worst_errors_mean(rber).expect("counts errors");
            assert!((found / (sum / whole) - 1.0).abs() < 1e-9, "{rber}: {found}");
        }
        assert_eq!(page.worst_errors_mean(0.0), Some(0.0));
        assert_eq!(page.worst_errors_mean(1.0), Some(5.0));
        let uncoded = PageCode::new(Box::new(Uncoded), 512).unwrap();
        assert_eq!(uncoded.worst_errors_mean(1e-3), None);
    }

    #[test]
    fn failures_are_those_of_the_reference_table() {
        // Columns as in the file's first line; computed independently, 7 digits.
        let table = include_str!("../tests/data/analytic_failure.csv");
        let rows: Vec<_> = table.lines().filter(|line| !line.starts_with(['#', 'm'])).collect();
        assert!(rows.len() >= 70, "{} rows", rows.len());
        for row in rows {
            let field: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
            let code = Bch::new(field[0] as u32, field[1] as u32, Some(field[3] as u32)).unwrap();
            assert_eq!(code.code_bits(), field[2] as u32, "{row}");
            let page = PageCode::new(Box::new(code), 4096).unwrap();
            assert_eq!(page.codewords_per_page(), field[6] as u32, "{row}");
            let rber = field[4];
            for (ours, expected) in [
                (page.codeword_failure_probability(rber), field[5]),
                (page.page_failure_probability(rber), field[7]),
            ] {
                // Half a unit of the seventh digit, and a zero where the table's own arithmetic
                // ended.
                let close =
                    (ours / expected - 1.0).abs() < 1e-6 || (ours < 1e-290 && expected == 0.0);
                assert!(close, "{row}: {ours:e} != {expected:e}");
            }
        }
    }

    #[test]
    fn uber_counts_lost_codewords_per_bit_read() {
        // 1 KiB codewords with t = 40 at an error rate of 1e-3: P = 2.380e-15, over 8192 data bits.
        let code = Bch::new(14, 40, Some(8192)).unwrap();
        let page = PageCode::new(Box::new(code), 4096).unwrap();
        assert_eq!(page.codewords_per_page(), 4);
        let expected = 2.379_959_717_504_832_3e-15 / 8192.0;
        assert!((page.uber(1e-3) / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn steps_of_data_sheets_are_equal_words() {
        // 8 bits for each 512 bytes of 2 KiB: 4 words of 4200 bits; computed independently.
        let page = PageCode::new(Box::new(Bch::of_step(13, 8, 512, 0).unwrap()), 2048).unwrap();
        assert_eq!((page.codewords_per_page(), page.last_data_bits()), (4, 4096));
        assert_eq!((page.code().parity_bits(), page.parity_bytes_per_page()), (104, 52));
        assert!((page.page_failure_probability(1e-4) / 3.050e-9 - 1.0).abs() < 2e-4);
        assert!((page.uber(5.4904e-5) / 1e-15 - 1.0).abs() < 2e-4);
        // Two covered bytes are part of a word and of its room; 52 bits of parity are 7 bytes.
        let code = Bch::of_step(13, 4, 512, 2).unwrap();
        assert_eq!(code.code_bits(), 8 * 514 + 52);
        let page = PageCode::new(Box::new(code), 2048).unwrap();
        assert_eq!(page.parity_bytes_per_page(), 4 * (2 + 7));
    }

    #[test]
    fn pages_without_data_are_refused() {
        for page_bytes in [0, u32::MAX] {
            let error = PageCode::new(Box::new(Uncoded), page_bytes).unwrap_err();
            assert_eq!(error, CodeError::PageBytes { page_bytes: u64::from(page_bytes) });
        }
    }

    #[test]
    fn an_uncoded_page_fails_with_its_first_wrong_bit() {
        let page = PageCode::new(Box::new(Uncoded), 4096).unwrap();
        assert_eq!((page.codewords_per_page(), page.parity_bytes_per_page()), (8, 0));
        let expected = -libm::expm1(32768.0 * libm::log1p(-1e-7));
        assert!((page.page_failure_probability(1e-7) / expected - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn every_page_is_covered(m in 5_u32..=14, t in 1_u32..15, page_bytes in 1_u32..20_000) {
            let page = bch_page(m, t, page_bytes);
            let full = page.code().data_bits_max();
            let last = page.last_data_bits();
            prop_assert!((1..=full).contains(&last));
            prop_assert_eq!((page.codewords_per_page() - 1) * full + last, page.page_bits());
        }

        #[test]
        fn outcomes_stay_within_their_bounds(t in 1_u32..9, rber in 0.0_f64..=0.5) {
            let page = bch_page(8, t, 4096);
            let codeword = page.codeword_failure_probability(rber);
            let failure = page.page_failure_probability(rber);
            // The union bound, and at least as bad as one codeword.
            prop_assert!(failure >= codeword * (1.0 - 1e-12) && failure <= 1.0);
            let count = page.codewords_per_page();
            prop_assert!(failure <= f64::from(count) * codeword * (1.0 + 1e-12));
            let code_bits = f64::from(page.page_bits() + count * page.code().parity_bits());
            prop_assert!(page.corrected_bits_mean(rber) <= code_bits * rber * (1.0 + 1e-12));
        }
    }
}
