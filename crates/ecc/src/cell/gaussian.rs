//! The Gaussian distribution: its upper tail `Q`, the inverse of it, both in logarithms, and
//! intervals.
//!
//! `Q(x) = P(Z > x)` for a standard normal `Z`. Tails below the smallest float still have a
//! logarithm, which is what an LLR needs: it is Mills' ratio, `Q(x) / phi(x)`, by its continued
//! fraction. Source of that fraction: Abramowitz and Stegun, "Handbook of Mathematical Functions",
//! 26.2.14. Functions come from `libm`, so that results do not depend on the machine.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

/// `ln sqrt(2 pi)`.
const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;
/// Above this the continued fraction has converged to the last digit with [`FRACTION_TERMS`].
const FRACTION_FROM: f64 = 5.0;
const FRACTION_TERMS: u32 = 80;

/// `P(Z > x)` for a standard normal `Z`.
///
/// ```
/// use opennandlab_ecc::cell::q;
/// assert!((q(1.959_963_984_540_054) - 0.025).abs() < 1e-15);
/// ```
pub fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// `P(low < Z < high)`, from the tail in which both ends are small, so that nothing cancels.
pub fn between(low: f64, high: f64) -> f64 {
    if low > 0.0 {
        q(low) - q(high)
    } else {
        q(-high) - q(-low)
    }
}

/// `ln P(low < Z < high)`, exact far out in a tail.
pub fn log_between(low: f64, high: f64) -> f64 {
    // The tail on the far side of the interval is the small one.
    if low + high > 0.0 {
        log_difference(log_q(low), if high.is_finite() { log_q(high) } else { f64::NEG_INFINITY })
    } else {
        log_difference(log_q(-high), if low.is_finite() { log_q(-low) } else { f64::NEG_INFINITY })
    }
}

/// `ln P(Z > x)`, also where the probability itself is below the smallest float.
pub fn log_q(x: f64) -> f64 {
    if x < FRACTION_FROM {
        return libm::log(q(x));
    }
    let mut rest = x;
    for term in (1..=FRACTION_TERMS).rev() {
        rest = x + f64::from(term) / rest;
    }
    -0.5 * x * x - LN_SQRT_TAU - libm::log(rest)
}

/// The `x` with `P(Z > x) = p`, for `p` in `0.0..=0.5` exclusive of 0.
///
/// # Panics
/// When `p` is outside that range.
pub fn q_inverse(p: f64) -> f64 {
    assert!(p > 0.0 && p <= 0.5, "a tail probability up to one half, not {p}");
    let wanted = libm::log(p);
    // ln Q is concave and below -x^2/2 - ln 2: Newton's method from there converges from one side.
    let mut x = (-2.0 * (wanted + LN_2)).max(0.0).sqrt();
    for _ in 0..60 {
        let now = log_q(x);
        // d ln Q / dx = -phi / Q.
        let slope = -libm::exp(-0.5 * x * x - LN_SQRT_TAU - now);
        let step = (now - wanted) / slope;
        x -= step;
        if step.abs() <= 1e-15 * x.abs().max(1e-300) {
            break;
        }
    }
    x.max(0.0)
}

/// `ln(e^a - e^b)` for `a >= b`.
fn log_difference(a: f64, b: f64) -> f64 {
    if b == f64::NEG_INFINITY {
        return a;
    }
    a + libm::log(-libm::expm1(b - a))
}

/// `ln(1 + e^x)`.
pub(super) fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_tables() {
        // mpmath, 30 digits: erfc(x / sqrt 2) / 2.
        for (x, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_05),
            (2.575_829_303_548_900_4, 0.005),
            (6.0, 9.865_876_450_376_98e-10),
            (20.0, 2.753_624_118_606_233_6e-89),
        ] {
            assert!((q(x) / tail - 1.0).abs() < 1e-13, "Q({x}) = {:e}", q(x));
            assert!((log_q(x) - libm::log(tail)).abs() < 1e-13 * (1.0 + x * x), "ln Q({x})");
        }
        // ln Q(100) = -5005.5242086942...
        assert!((log_q(100.0) + 5_005.524_208_694_205).abs() < 1e-9);
    }

    #[test]
    fn both_branches_meet() {
        let (below, above) = (log_q(FRACTION_FROM - 1e-9), log_q(FRACTION_FROM));
        assert!((below - above).abs() < 1e-8);
    }

    #[test]
    fn an_interval_far_out_keeps_its_digits() {
        let direct = q(8.0) - q(9.0);
        for (low, high) in [(8.0, 9.0), (-9.0, -8.0)] {
            assert!((between(low, high) / direct - 1.0).abs() < 1e-12);
            assert!((log_between(low, high) - libm::log(direct)).abs() < 1e-12);
        }
        assert!((between(-1.0, 2.0) - (1.0 - q(1.0) - q(2.0))).abs() < 1e-15);
        assert!((between(f64::NEG_INFINITY, f64::INFINITY) - 1.0).abs() < 1e-15);
        assert!(log_between(f64::NEG_INFINITY, f64::INFINITY).abs() < 1e-15);
        // Below the smallest float there still is a logarithm.
        assert!((log_between(100.0, f64::INFINITY) - log_q(100.0)).abs() < 1e-9);
    }

    #[test]
    fn the_inverse_inverts() {
        for p in [0.5, 0.499_999, 0.11, 5e-3, 1e-4, 1e-15, 1e-100, 1e-300] {
            let back = libm::exp(log_q(q_inverse(p)));
            assert!((back / p - 1.0).abs() < 1e-11, "{p:e} became {back:e}");
        }
    }
}
