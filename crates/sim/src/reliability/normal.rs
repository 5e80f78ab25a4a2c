//! The normal distribution: tails, density and the inverse of the tail, as states need them.
//!
//! `Q(x) = P(X > x) = erfc(x / sqrt 2) / 2`, by `libm`, so that the last digit is the same on every
//! machine.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

/// `Q(x)`: the probability that a standard normal variable exceeds `x`.
pub fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Density of the standard normal distribution.
pub fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * PI)
}

/// Probability that a standard normal variable lies between two ends.
pub fn between(low: f64, high: f64) -> f64 {
    // From the tail in which both ends are small, so that nothing cancels.
    if low > 0.0 {
        upper_tail(low) - upper_tail(high)
    } else {
        upper_tail(-high) - upper_tail(-low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.1 and 26.2, to the digits printed there.
        for (x, expected) in [(0.0, 0.5), (1.0, 0.158_655_253_9), (3.0, 1.349_898_032e-3)] {
            assert!((upper_tail(x) / expected - 1.0).abs() < 1e-9, "{x}");
        }
        assert!((upper_tail(10.0) / 7.619_853e-24 - 1.0).abs() < 1e-6);
        assert!((density(1.0) / 0.241_970_724_519_143 - 1.0).abs() < 1e-14);
    }

    #[test]
    fn an_interval_far_out_keeps_its_digits() {
        let direct = upper_tail(8.0) - upper_tail(9.0);
        for value in [between(8.0, 9.0), between(-9.0, -8.0)] {
            assert!((value / direct - 1.0).abs() < 1e-12);
        }
        assert!((between(-1.0, 2.0) - (1.0 - upper_tail(1.0) - upper_tail(2.0))).abs() < 1e-15);
        assert!((between(f64::NEG_INFINITY, f64::INFINITY) - 1.0).abs() < 1e-15);
    }
}
