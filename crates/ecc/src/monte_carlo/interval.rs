//! Confidence intervals of counted failures, and the weights of strata.
//!
//! The interval is Clopper and Pearson's ("The use of confidence or fiducial limits illustrated in
//! the case of the binomial", Biometrika 26, 1934): it covers the true rate in at least 95 of 100
//! cases whatever the rate, also after no failure at all. Its ends are quantiles of the beta
//! distribution, found from the incomplete beta function by its continued fraction (Abramowitz and
//! Stegun 26.5.8).

use crate::beta::incomplete_beta;

/// One side of a 95 % interval.
const TAIL: f64 = 0.025;

/// The 95 % interval of a rate of which `errors` of `trials` were seen.
///
/// ```
/// let (low, high) = opennandlab_ecc::monte_carlo::confidence_interval(0, 100);
/// assert!(low == 0.0 && (high - 0.036_216_7).abs() < 1e-7);
/// ```
///
/// # Panics
/// When there are more errors than trials.
pub fn confidence_interval(errors: u64, trials: u64) -> (f64, f64) {
    assert!(errors <= trials, "{errors} errors in {trials} trials");
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (k, n) = (errors as f64, trials as f64);
    let low = if errors == 0 { 0.0 } else { beta_quantile(k, n - k + 1.0, TAIL) };
    let high = if errors == trials { 1.0 } else { beta_quantile(k + 1.0, n - k, 1.0 - TAIL) };
    (low, high)
}

/// `P(w)` for `w` in `first..limit`, `w` wrong bits of `n` at a rate of `p`.
pub fn binomial_weights(n: u32, first: u32, limit: u32, p: f64) -> Vec<f64> {
    let (ln_p, ln_q) = (libm::log(p), libm::log1p(-p));
    let ln_choose = |w: f64| {
        libm::lgamma(f64::from(n) + 1.0)
            - libm::lgamma(w + 1.0)
            - libm::lgamma(f64::from(n) - w + 1.0)
    };
    (first..limit.min(n + 1))
        .map(|w| {
            let w = f64::from(w);
            libm::exp(ln_choose(w) + w * ln_p + (f64::from(n) - w) * ln_q)
        })
        .collect()
}

/// The `x` at which the incomplete beta function `I_x(a, b)` is `share`.
fn beta_quantile(a: f64, b: f64, share: f64) -> f64 {
    // By halves of ln x: rates of interest span many decades.
    let (mut low, mut high) = (-800.0_f64, 0.0_f64);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if incomplete_beta(a, b, libm::exp(middle)) < share {
            low = middle;
        } else {
            high = middle;
        }
        if high - low < 1e-14 {
            break;
        }
    }
    libm::exp(0.5 * (low + high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial_tail;

    #[test]
    fn ends_are_where_the_tails_are_a_fortieth() {
        // Definition: P(X >= k | low) = P(X <= k | high) = 0.025.
        for (errors, trials) in [(1, 10), (5, 100), (100, 10_000), (3, 4_000_000), (50, 60)] {
            let (low, high) = confidence_interval(errors, trials);
            let (k, n) = (errors as u32, trials as u32);
            assert!((binomial_tail(n, k - 1, low) / TAIL - 1.0).abs() < 1e-8, "{errors} {trials}");
            let below = 1.0 - binomial_tail(n, k, high);
            assert!((below / TAIL - 1.0).abs() < 1e-8, "{errors} {trials}: {below}");
        }
    }

    #[test]
    fn ends_of_the_range_are_met() {
        assert_eq!(confidence_interval(0, 0), (0.0, 1.0));
        let (low, high) = confidence_interval(10, 10);
        assert!((low - 0.691_502_9).abs() < 1e-7 && (high - 1.0).abs() < 1e-15);
        // 3.69 / n, from 1 - 0.025^(1/n).
        let (low, high) = confidence_interval(0, 1_000_000_000);
        assert!(low == 0.0 && (high / 3.688_879_454e-9 - 1.0).abs() < 1e-5, "{high}");
    }

    #[test]
    fn weights_are_the_binomial_distribution() {
        for (n, p) in [(10, 0.3), (2048, 0.018), (36_864, 1e-4)] {
            let weights = binomial_weights(n, 0, n + 1, p);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let tail: f64 = weights[5..].iter().sum();
            assert!((tail / binomial_tail(n, 4, p) - 1.0).abs() < 1e-9);
        }
        assert_eq!(binomial_weights(10, 9, 99, 0.3).len(), 2);
    }
}
