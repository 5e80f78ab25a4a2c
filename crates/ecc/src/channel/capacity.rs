//! Shannon limits: the highest raw bit error rate at which a code of a given rate can exist.
//!
//! The limit is where the mutual information between bit and reads equals the rate; codes of any
//! length fail beyond it, and long codes need not fail before it. It holds for two states of equal
//! width, with the thresholds that keep the most information.

use super::ChannelError;
use crate::cell::{q, CellError, TwoStates, READS_WITH_BEST_THRESHOLDS};

/// How a cell is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensing {
    /// This number of reads, at the best thresholds.
    Reads(usize),
    /// The voltage itself is known.
    Unquantised,
}

/// The highest raw bit error rate at which codes of this rate can be free of errors.
///
/// # Errors
/// When the rate is not within 1e-6 and 0.999999, or the number of reads is not 1, 3 or 7.
///
/// ```
/// use opennandlab_ecc::channel::{rber_limit, Sensing};
/// assert!((rber_limit(0.9, Sensing::Reads(1)).unwrap() - 0.012987).abs() < 5e-7);
/// ```
pub fn rber_limit(rate: f64, sensing: Sensing) -> Result<f64, ChannelError> {
    Ok(q(1.0 / sigma_limit(rate, sensing)?))
}

/// The same limit as the lowest Eb/N0 of a BPSK channel with Gaussian noise, in dB: Eb/N0 =
/// 1/(2 R sigma^2) for a code of rate R. The unquantised limit is that of soft decisions, one read
/// that of hard decisions; 3 and 7 reads quantise in between.
///
/// # Errors
/// As [`rber_limit`].
pub fn ebn0_db_limit(rate: f64, sensing: Sensing) -> Result<f64, ChannelError> {
    let sigma = sigma_limit(rate, sensing)?;
    Ok(-10.0 * libm::log10(2.0 * rate * sigma * sigma))
}

/// The width of the states, in units of half their distance, at which information equals the rate.
fn sigma_limit(rate: f64, sensing: Sensing) -> Result<f64, ChannelError> {
    if !(1e-6..=0.999_999).contains(&rate) {
        return Err(ChannelError::Rate { rate });
    }
    if let Sensing::Reads(reads) = sensing {
        if !READS_WITH_BEST_THRESHOLDS.contains(&reads) {
            return Err(CellError::Reads { reads }.into());
        }
    }
    let missing = |sigma: f64| {
        let states = TwoStates::with_sigma(sigma);
        match sensing {
            Sensing::Reads(reads) => states.information(&states.best_thresholds(reads)).missing,
            Sensing::Unquantised => states.information_unquantised().missing,
        }
    };
    // Information falls as the states widen: sigma 0.05 misses 1e-89 bit, sigma 2000 nearly one.
    let (mut low, mut high) = (libm::log(0.05), libm::log(2000.0));
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        if missing(libm::exp(middle)) < 1.0 - rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(libm::exp(0.5 * (low + high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rate, then the limits for 1, 3, 7 reads and unquantised. Source: computed outside this code,
    /// by numerical integration of the mutual information of two Gaussians and a search for the
    /// thresholds that maximise it.
    const LIMITS: &[(f64, [f64; 4])] = &[
        (0.5, [0.110_028, 0.142_127, 0.150_472, 0.153_445]),
        (5.0 / 6.0, [0.024_62, 0.039_34, 0.043_61, 0.045_08]),
        (0.9, [0.012_987, 0.022_414, 0.025_287, 0.026_265]),
        (0.95, [0.005_607, 0.010_608, 0.012_223, 0.012_767]),
    ];

    #[test]
    fn limits_are_those_computed_elsewhere() {
        for (rate, limits) in LIMITS {
            for (sensing, limit) in
                [1, 3, 7].map(Sensing::Reads).into_iter().chain([Sensing::Unquantised]).zip(limits)
            {
                let ours = rber_limit(*rate, sensing).unwrap();
                assert!((ours / limit - 1.0).abs() < 2e-4, "{rate} {sensing:?}: {ours}");
            }
        }
    }

    #[test]
    fn the_limit_of_rate_one_half_is_the_textbook_one() {
        // 0.187 dB soft and 1.772 dB hard (for example Richardson and Urbanke, "Modern Coding
        // Theory").
        assert!((ebn0_db_limit(0.5, Sensing::Unquantised).unwrap() - 0.1871).abs() < 1e-4);
        assert!((ebn0_db_limit(0.5, Sensing::Reads(1)).unwrap() - 1.7725).abs() < 1e-4);
    }

    #[test]
    fn ends_of_the_range_have_limits() {
        for rate in [1e-6, 0.999_999] {
            let limit = rber_limit(rate, Sensing::Reads(3)).unwrap();
            assert!(limit > 0.0 && limit < 0.5, "{rate}: {limit}");
        }
        for rate in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
            assert!(rber_limit(rate, Sensing::Unquantised).is_err());
        }
        assert!(rber_limit(0.5, Sensing::Reads(2)).is_err());
    }
}
