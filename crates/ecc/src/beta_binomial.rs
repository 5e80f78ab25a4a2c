//! Errors of a codeword when pages differ: the beta-binomial distribution and its upper tail.
//!
//! Each page has its own raw bit error rate, drawn from a beta distribution around the mean; given
//! that rate, errors are independent. The number of errors in a codeword is then beta-binomial:
//!
//! ```text
//!   P(X = k) = C(n, k) B(k + a, n - k + b) / B(a, b)      mean p = a / (a + b)
//!   variance = n p (1 - p) (1 + (n - 1) rho)              rho = 1 / (a + b + 1)
//! ```
//!
//! Measured flash is overdispersed in this way, and binomial errors misjudge a code by orders of
//! magnitude: V. Taranalli, H. Uchikawa, P. Siegel, "Channel models for multi-level cell flash
//! memories", 2016. The spread is given as the relative standard deviation `cv` of the page rates,
//! so `rho = cv^2 p / (1 - p)`; 0 is the binomial distribution.
//!
//! Left out: correlation between the codewords of a page.

use crate::binomial_tail;

/// The number of errors among `n` bits whose error rate varies from page to page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetaBinomial {
    n: u32,
    mean: f64,
    /// `a` and `b`; none when all pages are alike.
    shape: Option<(f64, f64)>,
}

/// Why there is no such distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpreadError {
    /// The mean error rate is not a valid rate of a readable page.
    #[error("mean error rate {mean:e} is not usable; accepted: 0 to 0.5")]
    Mean {
        /// The refused rate.
        mean: f64,
    },
    /// The relative standard deviation is negative, or so large that the rates pile up at 0 and 1.
    #[error(
        "relative spread {cv:e} at mean error rate {mean:e} is not usable; accepted: 0 to {max:.2e}"
    )]
    Spread {
        /// The refused relative standard deviation.
        cv: f64,
        /// The mean error rate.
        mean: f64,
        /// The largest that is accepted at this mean.
        max: f64,
    },
}

/// Largest overdispersion: below it and for means up to one half, `b` stays above 1, so that the
/// terms beyond the mean only shrink.
const RHO_MAX: f64 = 0.25;

/// Overdispersion under which a variance of 2^32 bits is that of the binomial to 5 digits.
const RHO_NEGLIGIBLE: f64 = 1e-15;

/// A term smaller than this share of the sum, and shrinking fast, no longer moves it.
const NEGLIGIBLE_RATIO: f64 = 1e-18;

impl BetaBinomial {
    /// Errors among `n` bits at a mean error rate, with the relative standard deviation `cv` of the
    /// rates of pages.
    ///
    /// # Errors
    /// [`SpreadError`] for a mean outside 0 to 0.5, or a spread that no beta distribution with a
    /// single peak has.
    ///
    /// ```
    /// use opennandlab_ecc::BetaBinomial;
    /// let alike = BetaBinomial::new(255, 1e-3, 0.0)?;
    /// let apart = BetaBinomial::new(255, 1e-3, 0.5)?;
    /// assert!(apart.tail(4) > 3.0 * alike.tail(4));
    /// # Ok::<(), opennandlab_ecc::SpreadError>(())
    /// ```
    pub fn new(n: u32, mean: f64, cv: f64) -> Result<Self, SpreadError> {
        if !(0.0..=0.5).contains(&mean) {
            return Err(SpreadError::Mean { mean });
        }
        let odds = mean / (1.0 - mean);
        let rho = cv * cv * odds;
        if !(cv >= 0.0 && cv.is_finite() && rho <= RHO_MAX) {
            let max = if odds > 0.0 { libm::sqrt(RHO_MAX / odds) } else { f64::MAX };
            return Err(SpreadError::Spread { cv, mean, max });
        }
        let sum = 1.0 / rho - 1.0;
        let shape = (rho > RHO_NEGLIGIBLE).then_some((mean * sum, (1.0 - mean) * sum));
        Ok(Self { n, mean, shape })
    }

    /// `rho`, the correlation between two bits of a codeword.
    pub fn overdispersion(&self) -> f64 {
        self.shape.map_or(0.0, |(a, b)| 1.0 / (a + b + 1.0))
    }

    /// Variance of the number of errors.
    pub fn variance(&self) -> f64 {
        let bits = f64::from(self.n);
        let binomial = bits * self.mean * (1.0 - self.mean);
        binomial * (1.0 + (bits - 1.0) * self.overdispersion())
    }

    /// Probability of exactly `k` errors.
    pub fn probability(&self, k: u32) -> f64 {
        if k > self.n {
            return 0.0;
        }
        match self.shape {
            Some((a, b)) => libm::exp(log_term(self.n, k, a, b)),
            None if k == 0 => libm::exp(f64::from(self.n) * libm::log1p(-self.mean)),
            None => binomial_tail(self.n, k - 1, self.mean) - binomial_tail(self.n, k, self.mean),
        }
    }

    /// `P(X > t)`: that a code which corrects `t` errors fails.
    pub fn tail(&self, t: u32) -> f64 {
        let Some((a, b)) = self.shape else {
            return binomial_tail(self.n, t, self.mean);
        };
        if t >= self.n {
            return 0.0;
        }
        // Summed away from the mean, where the terms only shrink.
        if f64::from(t) + 1.0 > f64::from(self.n) * self.mean {
            self.upward(t + 1, a, b).min(1.0)
        } else {
            (1.0 - self.downward(t, a, b)).max(0.0)
        }
    }

    /// `P(X >= first)`, for `first` above the mean.
    fn upward(&self, first: u32, a: f64, b: f64) -> f64 {
        let (mut sum, mut term) = (1.0, 1.0);
        for k in first..self.n {
            let ratio = step(self.n, k, a, b);
            term *= ratio;
            sum += term;
            if ratio < 0.99 && term < sum * NEGLIGIBLE_RATIO {
                break;
            }
        }
        libm::exp(log_term(self.n, first, a, b) + libm::log(sum))
    }

    /// `P(X <= first)`, for `first` below the mean; with `a` below 1 the terms grow toward 0, so
    /// all of them count.
    fn downward(&self, first: u32, a: f64, b: f64) -> f64 {
        let (mut sum, mut term) = (1.0, 1.0);
        for k in (0..first).rev() {
            term /= step(self.n, k, a, b);
            sum += term;
        }
        libm::exp(log_term(self.n, first, a, b) + libm::log(sum))
    }
}

/// `P(X = k + 1) / P(X = k)`.
fn step(n: u32, k: u32, a: f64, b: f64) -> f64 {
    let (bits, errors) = (f64::from(n), f64::from(k));
    (bits - errors) / (errors + 1.0) * ((errors + a) / (bits - errors - 1.0 + b))
}

/// `ln P(X = k)`, as sums of logarithms of factors near 1, which keep 12 digits where differences
/// of `ln Gamma` would keep 8:
///
/// `P = prod (b + i) / (a + b + i) for i < n - k, times the k steps upward from there`
fn log_term(n: u32, k: u32, a: f64, b: f64) -> f64 {
    let correct = n - k;
    let unread = Sum::of((0..correct).map(|i| libm::log1p(-a / (a + b + f64::from(i)))));
    let (total, right) = (a + b + f64::from(correct), f64::from(correct));
    let wrong = Sum::of((0..k).map(|step| {
        let step = f64::from(step);
        libm::log((a + step) / (step + 1.0) * ((right + 1.0 + step) / (total + step)))
    }));
    unread + wrong
}

/// Compensated summation (Kahan): the error does not grow with the number of terms.
struct Sum;

impl Sum {
    fn of(values: impl Iterator<Item = f64>) -> f64 {
        let (mut total, mut lost) = (0.0, 0.0);
        for value in values {
            let corrected = value - lost;
            let next = total + corrected;
            lost = (next - total) - corrected;
            total = next;
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(n: u32, mean: f64, cv: f64) -> BetaBinomial {
        BetaBinomial::new(n, mean, cv).expect("in range")
    }

    /// `(n, t, mean, cv, P(X > t))`, summed term by term with 50 decimal digits.
    const EXACT: &[(u32, u32, f64, f64, f64)] = &[
        (255, 4, 1e-4, 0.5, 5.409_247_128_532_258e-10),
        (255, 4, 1e-3, 0.1, 7.665_424_260_069_046e-6),
        (255, 4, 1e-3, 0.5, 3.597_813_937_264_978e-5),
        (255, 4, 5e-3, 2.0, 0.088_706_814_741_467_62),
        (16383, 72, 2e-3, 0.05, 5.783_346_386_439_093e-9),
        (16383, 72, 2e-3, 0.3, 0.002_518_871_226_711_065),
        (16383, 72, 4e-3, 0.3, 0.338_357_981_690_572_5),
        (8191, 8, 1e-8, 1.0, 1.651_212_713_084_815e-37),
        (65535, 2000, 0.03, 0.2, 0.439_933_634_180_574_1),
        (2048, 100, 0.2, 0.4, 0.993_035_546_391_444_2),
        (255, 0, 0.5, 0.3, 0.999_999_989_395_694_5),
    ];

    #[test]
    fn tails_are_exact_to_ten_digits() {
        for &(n, t, mean, cv, exact) in EXACT {
            let ours = made(n, mean, cv).tail(t);
            assert!(
                (ours / exact - 1.0).abs() < 1e-10,
                "n={n} t={t} mean={mean:e} cv={cv}: {ours:e} != {exact:e}"
            );
        }
    }

    #[test]
    fn without_spread_it_is_the_binomial() {
        for (n, t, mean) in [(255, 4, 1e-3), (16383, 72, 4e-3), (255, 4, 0.0), (31, 40, 0.5)] {
            let ours = made(n, mean, 0.0).tail(t);
            assert!((ours - binomial_tail(n, t, mean)).abs() < f64::EPSILON, "{n} {t} {mean}");
            // A small spread is close by.
            let near = made(n, mean, 1e-5).tail(t);
            assert!((near - ours).abs() <= 1e-6 * ours, "{n} {t} {mean}: {near:e} {ours:e}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for (mean, cv, words) in [
            (0.6, 0.1, "0 to 0.5"),
            (f64::NAN, 0.1, "0 to 0.5"),
            (0.1, -1.0, "0 to"),
            (0.1, 9.0, "1.50e0"),
        ] {
            let error = BetaBinomial::new(100, mean, cv).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    proptest! {
        #[test]
        fn probabilities_sum_to_one_and_have_the_stated_moments(
            n in 1_u32..400,
            mean in 1e-4_f64..0.5,
            share in 0.01_f64..1.0,
        ) {
            // Up to the largest spread that is accepted.
            let cv = share * (RHO_MAX * (1.0 - mean) / mean).sqrt() * 0.999;
            let errors = made(n, mean, cv);
            let terms: Vec<f64> = (0..=n).map(|k| errors.probability(k)).collect();
            let moment = |f: &dyn Fn(f64) -> f64| -> f64 {
                terms.iter().enumerate().map(|(k, p)| p * f(k as f64)).sum()
            };
            let expected = f64::from(n) * mean;
            prop_assert!((moment(&|_| 1.0) - 1.0).abs() < 1e-10);
            prop_assert!((moment(&|k| k) / expected - 1.0).abs() < 1e-9);
            let variance = moment(&|k| (k - expected) * (k - expected));
            prop_assert!((variance / errors.variance() - 1.0).abs() < 1e-8);
            // The tail is the sum of the probabilities of more than t errors.
            let t = n / 3;
            let direct: f64 = terms[t as usize + 1..].iter().sum();
            prop_assert!((errors.tail(t) - direct).abs() < 1e-9);
        }

        #[test]
        fn a_tail_beyond_the_mean_grows_with_spread(cv in 0.0_f64..1.0, more in 0.01_f64..0.5) {
            let (n, mean, t) = (2000, 1e-3, 12);
            prop_assert!(made(n, mean, cv + more).tail(t) > made(n, mean, cv).tail(t));
        }
    }
}
