//! How fast the density of a state falls far from its mean.

use super::gaussian::{between, q};
use crate::beta::incomplete_beta;

/// The distribution of a state, of mean 0 and variance 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tail {
    /// Normal.
    #[default]
    Normal,
    /// Student's t with these degrees of freedom, above 2, scaled to variance 1.
    Student(f64),
}

impl Tail {
    /// `P(Z > x)`.
    ///
    /// For Student's t with `n` degrees of freedom this is `I_y(n / 2, 1 / 2) / 2` for `x > 0`,
    /// `y = n / (n + t^2)`. Source: Abramowitz and Stegun, "Handbook of Mathematical Functions",
    /// 26.7.1 and 26.5.27.
    pub fn above(self, x: f64) -> f64 {
        match self {
            Self::Normal => q(x),
            Self::Student(degrees) => {
                let t = x * libm::sqrt(degrees / (degrees - 2.0));
                let half = 0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
                if x > 0.0 {
                    half
                } else {
                    1.0 - half
                }
            }
        }
    }

    /// `P(low < Z < high)`, from the tail in which both ends are small.
    pub fn between(self, low: f64, high: f64) -> f64 {
        match self {
            Self::Normal => between(low, high),
            Self::Student(_) if low > 0.0 => self.above(low) - self.above(high),
            Self::Student(_) => self.above(-high) - self.above(-low),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_students_t_are_those_of_its_density() {
        // Integrated by hand in 50 digits: unit variance.
        for (degrees, x, tail) in [
            (6.0, 2.5, 1.109e-2),
            (6.0, 4.0, 1.357e-3),
            (10.0, 2.5, 9.477e-3),
            (10.0, 4.0, 5.967e-4),
        ] {
            let ours = Tail::Student(degrees).above(x);
            assert!((ours / tail - 1.0).abs() < 5e-4, "{degrees} {x}: {ours:e}");
            assert!((Tail::Student(degrees).above(-x) + ours - 1.0).abs() < 1e-14);
        }
        let normal = Tail::Student(1e6);
        for x in [-3.0, -0.5, 0.0, 1.0, 3.0] {
            assert!((normal.above(x) / Tail::Normal.above(x) - 1.0).abs() < 1e-4, "{x}");
        }
    }

    #[test]
    fn intervals_are_differences_of_tails() {
        for tail in [Tail::Normal, Tail::Student(6.0)] {
            for (low, high) in [(-1.0, 2.0), (1.0, 2.0), (-3.0, -0.5)] {
                let difference = tail.above(low) - tail.above(high);
                assert!((tail.between(low, high) - difference).abs() < 1e-14);
            }
            assert!((tail.between(f64::NEG_INFINITY, f64::INFINITY) - 1.0).abs() < 1e-15);
        }
    }
}
