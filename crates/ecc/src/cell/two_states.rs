//! The cell of one bit as a channel sees it: two states, and the reads that separate them.
//!
//! ```text
//!            bit 1                     bit 0
//!            .-.                        .-.
//!          .'   '.                    .'   '.        voltage in units of half the distance of the
//!   ______'       '.______|____|____.'       '___    states: bit 1 at -1, bit 0 at +1
//!           -1         -s   0   s       +1
//!   bin        0          1   2         3            3 reads cut the axis into 4 bins
//! ```
//!
//! A read at a threshold shows on which side of it the cell is; N reads give one of N + 1 bins, and
//! a bin is worth the LLR `ln(P(bin | 0) / P(bin | 1))`. With one read at the crossing of the two
//! densities, bits are wrong with the raw bit error rate (RBER): equal widths give
//! `sigma = 1 / Q^-1(RBER)`.
//!
//! This is the special case of [`States`] in which every threshold may be moved separately and
//! probabilities are needed far out in the tails: they are logarithms here. The thresholds that
//! keep the most mutual information are found by a fixed point: at the best threshold the posterior
//! is as far (Kullback-Leibler) from the bin on its left as from the one on its right. Source:
//! Zhang and Kurkoski, "Low-complexity quantization of discrete memoryless channels", ISITA 2016
//! (KL-means); the choice of thresholds by mutual information: Wang et al., "Enhanced precision
//! through multiple reads for LDPC decoding in flash memories", JSAC 2014.

use super::gaussian::{log_q, q, q_inverse, softplus};
use super::states::States;
use super::table::LlrTable;
use super::CellError;

/// Widest ratio of the two states that is accepted, either way.
pub const SIGMA_RATIO_MAX: f64 = 4.0;
const ITERATIONS_MAX: u32 = 20_000;

/// The two states: widths in units of half their distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoStates {
    /// Standard deviations of bit 0 (at +1) and bit 1 (at -1).
    sigma: [f64; 2],
}

impl TwoStates {
    /// States of equal width that give this raw bit error rate with one read.
    ///
    /// # Errors
    /// When the RBER is not inside (0, 0.5).
    pub fn symmetric(rber: f64) -> Result<Self, CellError> {
        Self::with_ratio(rber, 1.0)
    }

    /// States of which that of bit 1 is `ratio` times as wide as that of bit 0.
    ///
    /// The RBER is the mean of both bits' error rates with one read at [`Self::decision_point`].
    ///
    /// # Errors
    /// When the RBER is not inside (0, 0.5), the ratio not within 1/4 and 4, or when the wide state
    /// would swallow the narrow one before the RBER is reached.
    pub fn with_ratio(rber: f64, ratio: f64) -> Result<Self, CellError> {
        if !(rber > 0.0 && rber < 0.5) {
            return Err(CellError::Rber { rber });
        }
        if !(1.0 / SIGMA_RATIO_MAX..=SIGMA_RATIO_MAX).contains(&ratio) {
            return Err(CellError::SigmaRatio { ratio });
        }
        let even = 1.0 / q_inverse(rber);
        if (ratio - 1.0).abs() < 1e-12 {
            return Ok(Self { sigma: [even, even] });
        }
        let of = |sigma: f64| Self { sigma: [sigma, ratio * sigma] };
        // Beyond this the densities no longer cross between the two centres.
        let square = 2.0 / libm::log(ratio).abs();
        let widest = if ratio > 1.0 { square.sqrt() } else { square.sqrt() / ratio };
        let rber_max = of(widest).rber();
        if rber > rber_max {
            return Err(CellError::RberOfRatio { rber, ratio, rber_max });
        }
        // Some width between that of equal states and that divided by the ratio.
        let (mut low, mut high) = (even / SIGMA_RATIO_MAX.max(ratio) * 0.5, widest);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if of(middle).log_rber() < libm::log(rber) {
                low = middle;
            } else {
                high = middle;
            }
            if high - low <= 1e-15 * high {
                break;
            }
        }
        Ok(of(0.5 * (low + high)))
    }

    /// States of equal width with this standard deviation, in units of half their distance.
    pub fn with_sigma(sigma: f64) -> Self {
        Self { sigma: [sigma, sigma] }
    }

    /// Standard deviations of bit 0 and bit 1, in units of half the distance of the states.
    pub fn sigma(&self) -> [f64; 2] {
        self.sigma
    }

    /// Whether both states are equally wide.
    pub fn is_symmetric(&self) -> bool {
        self.sigma[0].to_bits() == self.sigma[1].to_bits()
    }

    /// `ln(p(y | 0) / p(y | 1))` of a cell whose voltage is known exactly.
    #[inline]
    pub fn llr(&self, y: f64) -> f64 {
        let [zero, one] = self.sigma;
        if self.is_symmetric() {
            return 2.0 * y / (zero * zero);
        }
        let (a, b) = ((y - 1.0) / zero, (y + 1.0) / one);
        libm::log(one / zero) - 0.5 * a * a + 0.5 * b * b
    }

    /// The voltage between the states where the LLR is `llr`; the nearest one has it if none has.
    pub fn voltage(&self, llr: f64) -> f64 {
        let [zero, one] = self.sigma.map(|sigma| 1.0 / (sigma * sigma));
        // LLR = a y^2 + b y + c; the root on the rising branch, which holds both centres.
        let a = 0.5 * (one - zero);
        let b = zero + one;
        let c = a + 0.5 * libm::log(zero / one);
        let root = (b * b - 4.0 * a * (c - llr)).max(0.0).sqrt();
        2.0 * (llr - c) / (b + root)
    }

    /// The threshold at which one read separates the states best: the densities cross.
    pub fn decision_point(&self) -> f64 {
        if self.is_symmetric() {
            0.0
        } else {
            self.voltage(0.0)
        }
    }

    /// Error rates of bit 0 and bit 1 with one read at the decision point.
    pub fn error_rates(&self) -> [f64; 2] {
        let point = self.decision_point();
        [q((1.0 - point) / self.sigma[0]), q((1.0 + point) / self.sigma[1])]
    }

    /// Raw bit error rate with one read at the decision point, for bits of equal frequency.
    pub fn rber(&self) -> f64 {
        let [zero, one] = self.error_rates();
        0.5 * (zero + one)
    }

    fn log_rber(&self) -> f64 {
        let point = self.decision_point();
        let zero = log_q((1.0 - point) / self.sigma[0]);
        let one = log_q((1.0 + point) / self.sigma[1]);
        zero.max(one) + softplus(-(zero - one).abs()) - std::f64::consts::LN_2
    }

    /// The states as those of any cell: bit 1 is the lower one.
    pub fn cell(&self) -> States {
        let [zero, one] = self.sigma;
        States::new(&[-1.0, 1.0], &[one, zero])
    }

    /// Logarithms of the bins' probabilities, given bit 0 and bit 1, from the lowest bin upwards.
    pub fn log_bins(&self, thresholds: &[f64]) -> [Vec<f64>; 2] {
        let cell = self.cell();
        [0, 1].map(|bit| {
            (0..=thresholds.len())
                .map(|bin| {
                    let low = if bin == 0 { f64::NEG_INFINITY } else { thresholds[bin - 1] };
                    let high = thresholds.get(bin).copied().unwrap_or(f64::INFINITY);
                    cell.log_probability(1 - bit, low, high)
                })
                .collect()
        })
    }

    /// The thresholds of `reads` reads that keep the most mutual information, ascending.
    ///
    /// # Panics
    /// When `reads` is 0.
    pub fn best_thresholds(&self, reads: usize) -> Vec<f64> {
        assert!(reads > 0, "without a read nothing is known");
        if reads == 1 {
            return vec![self.decision_point()];
        }
        let width = self.sigma[0].max(self.sigma[1]);
        let middle = (reads as f64 - 1.0) / 2.0;
        let step = 3.0 * width / (reads as f64 + 1.0);
        let mut thresholds: Vec<f64> =
            (0..reads).map(|read| self.decision_point() + (read as f64 - middle) * step).collect();
        for _ in 0..ITERATIONS_MAX {
            let llrs = bin_llrs(&self.log_bins(&thresholds));
            let mut moved = 0.0_f64;
            for (read, threshold) in thresholds.iter_mut().enumerate() {
                let (left, right) = (llrs[read], llrs[read + 1]);
                let towards_one = softplus(right) - softplus(left);
                let towards_zero = softplus(-left) - softplus(-right);
                let next = self.voltage(libm::log(towards_one / towards_zero));
                moved = moved.max((next - *threshold).abs());
                *threshold = next;
            }
            if moved < 1e-13 {
                break;
            }
        }
        if self.is_symmetric() {
            symmetrise(&mut thresholds);
        }
        thresholds
    }

    /// The same reads, with the LLRs of a controller that takes the cells to be in these states.
    #[must_use]
    pub fn believe(&self, mut table: LlrTable) -> LlrTable {
        let llrs = bin_llrs(&self.log_bins(&table.reads));
        table.bins.iter_mut().zip(llrs).for_each(|(bin, llr)| bin.llr = llr);
        table
    }

    /// Mutual information between a bit and its bin, in bits, as its distance from 1.
    ///
    /// The distance is summed directly: near 1 a difference would have no digits left.
    pub fn information(&self, thresholds: &[f64]) -> Information {
        let bins = self.log_bins(thresholds);
        let missing: f64 = bin_llrs(&bins)
            .iter()
            .enumerate()
            .map(|(bin, &llr)| {
                let lost = |bit: usize, llr: f64| {
                    if bins[bit][bin] == f64::NEG_INFINITY {
                        0.0
                    } else {
                        libm::exp(bins[bit][bin]) * softplus(-llr)
                    }
                };
                0.5 * (lost(0, llr) + lost(1, -llr))
            })
            .sum();
        Information { missing: missing / std::f64::consts::LN_2 }
    }

    /// The same of the voltage itself, without reads: the integral over both densities.
    pub fn information_unquantised(&self) -> Information {
        // The trapezoidal rule is exact to the last digits for smooth functions that vanish at
        // both ends; 40 standard deviations in steps of 1/64.
        const STEPS: i32 = 64 * 20;
        let mut missing = 0.0;
        for (bit, sign) in [(0, 1.0), (1, -1.0)] {
            for step in -STEPS..=STEPS {
                let z = f64::from(step) / 64.0;
                let y = sign + self.sigma[bit] * z;
                let lost = softplus(-sign * self.llr(y));
                missing += 0.5 * lost * libm::exp(-0.5 * z * z) / 64.0;
            }
        }
        let density = (std::f64::consts::TAU).sqrt() * std::f64::consts::LN_2;
        Information { missing: missing / density }
    }
}

/// Mutual information in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Information {
    /// One bit less the mutual information.
    pub missing: f64,
}

impl Information {
    /// The information, 0 to 1 bit.
    pub fn bits(self) -> f64 {
        1.0 - self.missing
    }
}

/// LLRs of bins from the logarithms of their probabilities.
pub(crate) fn bin_llrs(log_bins: &[Vec<f64>; 2]) -> Vec<f64> {
    log_bins[0].iter().zip(&log_bins[1]).map(|(zero, one)| zero - one).collect()
}

/// Removes the rounding error between the halves of a symmetric set.
fn symmetrise(thresholds: &mut [f64]) {
    let count = thresholds.len();
    for read in 0..count / 2 {
        let half = 0.5 * (thresholds[count - 1 - read] - thresholds[read]);
        thresholds[read] = -half;
        thresholds[count - 1 - read] = half;
    }
    if count % 2 == 1 {
        thresholds[count / 2] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_states_have_the_rber_they_were_made_for() {
        for rber in [1e-300, 1e-12, 5e-3, 0.11, 0.4999] {
            let states = TwoStates::symmetric(rber).unwrap();
            assert!((states.rber() / rber - 1.0).abs() < 1e-9, "{rber:e}");
        }
        assert!((TwoStates::symmetric(5e-3).unwrap().sigma()[0] - 0.388_22).abs() < 5e-6);
    }

    #[test]
    fn unequal_states_have_the_rber_they_were_made_for() {
        for ratio in [0.25, 0.5, 0.9, 1.1, 2.0, 4.0] {
            for rber in [1e-12, 1e-4, 5e-3, 0.02] {
                let states = TwoStates::with_ratio(rber, ratio).unwrap();
                assert!((states.rber() / rber - 1.0).abs() < 1e-9, "{rber:e} at {ratio}");
                let [zero, one] = states.sigma();
                assert!((one / zero - ratio).abs() < 1e-12);
                // The read moves towards the narrow state, and is where the densities are equal.
                assert!(states.decision_point() * (ratio - 1.0) > 0.0);
                assert!(states.llr(states.decision_point()).abs() < 1e-9);
            }
        }
        // Mirrored states mirror everything.
        let (wide, narrow) =
            (TwoStates::with_ratio(0.01, 2.0).unwrap(), TwoStates::with_ratio(0.01, 0.5).unwrap());
        assert!((wide.decision_point() + narrow.decision_point()).abs() < 1e-9);
    }

    #[test]
    fn the_best_read_is_where_the_densities_cross() {
        let states = TwoStates::with_ratio(0.01, 1.7).unwrap();
        let rate = |point: f64| {
            0.5 * (q((1.0 - point) / states.sigma[0]) + q((1.0 + point) / states.sigma[1]))
        };
        let best = states.decision_point();
        assert!(rate(best) < rate(best + 1e-3) && rate(best) < rate(best - 1e-3));
    }

    #[test]
    fn voltages_and_llrs_are_inverse() {
        for ratio in [1.0, 0.6, 1.8] {
            let states = TwoStates::with_ratio(0.01, ratio).unwrap();
            for y in [-0.9, -0.3, 0.0, 0.2, 0.95] {
                assert!((states.voltage(states.llr(y)) - y).abs() < 1e-9, "{y} at {ratio}");
            }
        }
    }

    #[test]
    fn no_nearby_thresholds_keep_more_information() {
        for ratio in [1.0, 0.7, 2.0] {
            let states = TwoStates::with_ratio(0.01, ratio).unwrap();
            for reads in [2, 3, 5, 7] {
                let best = states.best_thresholds(reads);
                assert!(best.windows(2).all(|pair| pair[0] < pair[1]));
                let missing = states.information(&best).missing;
                for read in 0..reads {
                    for shift in [-1e-3, 1e-3] {
                        let mut moved = best.clone();
                        moved[read] += shift;
                        assert!(states.information(&moved).missing > missing, "{reads} {read}");
                    }
                }
            }
        }
    }

    #[test]
    fn more_reads_keep_more_information_and_never_more_than_there_is() {
        for ratio in [1.0, 2.0] {
            for rber in [1e-9, 1e-3, 0.05] {
                let states = TwoStates::with_ratio(rber, ratio).unwrap();
                let all = states.information_unquantised().missing;
                let mut before = f64::INFINITY;
                for reads in [1, 3, 7, 15, 31] {
                    let missing = states.information(&states.best_thresholds(reads)).missing;
                    assert!(missing < before && missing > all, "{rber} {reads}: {missing:e}");
                    before = missing;
                }
                assert!(before < all * 1.02);
            }
        }
    }

    #[test]
    fn one_read_is_a_binary_symmetric_channel() {
        let p: f64 = 0.02;
        let entropy = -(p * libm::log2(p) + (1.0 - p) * libm::log2(1.0 - p));
        let missing = TwoStates::symmetric(p).unwrap().information(&[0.0]).missing;
        assert!((missing / entropy - 1.0).abs() < 1e-12);
    }

    #[test]
    fn impossible_states_are_refused() {
        for rber in [0.0, 0.5, -1.0, 1.0, f64::NAN, f64::INFINITY] {
            assert!(TwoStates::symmetric(rber).is_err(), "{rber}");
        }
        for ratio in [0.0, -1.0, 0.2, 5.0, f64::NAN] {
            assert!(TwoStates::with_ratio(0.01, ratio).is_err(), "{ratio}");
        }
        let refusal = TwoStates::with_ratio(0.4, 4.0).unwrap_err().to_string();
        assert!(refusal.contains("at most"), "{refusal}");
    }
}
