//! What several reads at shifted levels tell about a bit: log-likelihood ratios per page type.
//!
//! ```text
//!   one page read n times, every level moved by the same offset      page bit 1 | 0 | 1
//!   read 1   (offset -d)      1 1 1 |0 0 0 0 0 0 0 0| 1 1
//!   read 2   (offset  0)      1 1 1 1 |0 0 0 0 0 0 0 0| 1
//!   read 3   (offset +d)      1 1 1 1 1 |0 0 0 0 0 0 0 0| 1
//!   sensed                   111 ^ ^   000         ^ ^   111
//!                            011  001              100 110
//! ```
//!
//! The controller sees only the sensed bits, so that level crossings of one direction fall together
//! and those of the other direction apart: up to `2 n` patterns. Each pattern has a probability for
//! either bit, exact sums of normal tails over all states, and `llr = ln P(sensed | 0) / P(sensed |
//! 1)`; positive means 0. States that are not equally wide or not equally far make it asymmetric.
//!
//! Where offsets are not given they maximise the mutual information between bit and pattern (bits
//! equally likely); J. Wang et al., "Enhanced precision through multiple reads for LDPC decoding in
//! flash memories", IEEE JSAC 2014.

use super::gray::GrayCode;
use super::levels::ReadLevels;
use super::normal::between;
use super::states::States;
use crate::config::ConfigError;

/// Reads that a table is made for.
pub const READ_COUNTS: [usize; 3] = [1, 3, 7];

/// One pattern of sensed bits.
#[derive(Clone, Debug, PartialEq)]
pub struct LlrBin {
    /// The bits of the reads, lowest offset first.
    pub sensed: Vec<u8>,
    /// Probability of the pattern when the bit is 0.
    pub if_zero: f64,
    /// Probability of the pattern when the bit is 1.
    pub if_one: f64,
    /// `ln(if_zero / if_one)`.
    pub llr: f64,
}

/// What the reads of a page type tell.
#[derive(Clone, Debug, PartialEq)]
pub struct LlrTable {
    /// How far the levels were moved for each read, gaps, rising.
    pub offsets: Vec<f64>,
    /// The patterns that occur, from the surest 0 to the surest 1.
    pub bins: Vec<LlrBin>,
}

/// A page of a cell, as its reads see it.
#[derive(Clone, Copy, Debug)]
pub struct SensedPage<'a> {
    /// The states of the cell.
    pub states: &'a States,
    /// What they stand for.
    pub code: GrayCode,
    /// Page type, 0 the lower page.
    pub page_type: usize,
    /// The levels around which it is read.
    pub levels: &'a ReadLevels,
}

/// Smallest probability whose logarithm is taken: of a pattern that never occurs with one bit.
const TINY: f64 = 1e-300;

impl SensedPage<'_> {
    /// The table for reads at given offsets, in rising order.
    ///
    /// # Errors
    /// [`ConfigError`] when the offsets are not 1, 3 or 7 in rising order, or reach from one level
    /// of the page to the next.
    pub fn table(&self, offsets: &[f64]) -> Result<LlrTable, ConfigError> {
        let refuse = |message: String| Err(ConfigError::new("offsets", message));
        if !READ_COUNTS.contains(&offsets.len()) {
            return refuse(format!("{} reads are not usable; accepted: 1, 3 or 7", offsets.len()));
        }
        let rises = offsets.windows(2).all(|pair| pair[0] < pair[1]);
        if !rises || offsets.iter().any(|offset| !offset.is_finite()) {
            return refuse(format!("{offsets:?} do not rise; accepted: gaps in rising order"));
        }
        let reach = offsets[offsets.len() - 1] - offsets[0];
        let room = self.room();
        if reach >= room {
            return refuse(format!(
                "they reach over {reach:.3} gaps; accepted: less than the {room:.3} between levels \
                 of the page"
            ));
        }
        Ok(self.tabulate(offsets))
    }

    /// The table for 1, 3 or 7 reads at the offsets that tell most.
    ///
    /// # Errors
    /// [`ConfigError`] for another number of reads.
    pub fn best_table(&self, reads: usize) -> Result<LlrTable, ConfigError> {
        if !READ_COUNTS.contains(&reads) {
            let message = format!("{reads} is not usable; accepted: 1, 3 or 7");
            return Err(ConfigError::new("reads", message));
        }
        Ok(self.tabulate(&self.best_offsets(reads / 2)))
    }

    /// Distance between the two closest levels of the page; that of all states if it has one level.
    fn room(&self) -> f64 {
        let at: Vec<f64> =
            self.code.levels_of(self.page_type).map(|level| self.levels.at()[level]).collect();
        let mean = self.states.mean();
        at.windows(2).map(|pair| pair[1] - pair[0]).fold(mean[mean.len() - 1] - mean[0], f64::min)
    }

    /// Symmetric offsets of most mutual information, by searching one after the other until none
    /// moves. The information has a single peak in each as long as the others stay.
    fn best_offsets(&self, pairs: usize) -> Vec<f64> {
        let room = self.room() / 2.0 * 0.999;
        let widest = self.states.sigma().iter().copied().fold(0.0, f64::max);
        let start = room.min(2.0 * widest);
        let mut half: Vec<f64> =
            (1..=pairs).map(|k| start * k as f64 / (pairs + 1) as f64).collect();
        for _ in 0..ROUNDS {
            let before = half.clone();
            for k in 0..pairs {
                let low = if k > 0 { half[k - 1] } else { 0.0 };
                let high = if k + 1 < pairs { half[k + 1] } else { room };
                let mut tried = half.clone();
                half[k] = peak(low, high, |offset| {
                    tried[k] = offset;
                    self.tabulate(&mirrored(&tried)).mutual_information()
                });
            }
            let moved = half.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if moved < 1e-6 * room {
                break;
            }
        }
        mirrored(&half)
    }

    fn tabulate(&self, offsets: &[f64]) -> LlrTable {
        // Thresholds in rising order, each with the read whose bit it flips.
        let mut thresholds: Vec<(f64, usize)> = self
            .code
            .levels_of(self.page_type)
            .flat_map(|level| {
                let at = self.levels.at()[level];
                offsets.iter().enumerate().map(move |(read, offset)| (at + offset, read))
            })
            .collect();
        thresholds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sensed = vec![1_u8; offsets.len()];
        let mut bins: Vec<LlrBin> = Vec::with_capacity(2 * offsets.len());
        let mut from = f64::NEG_INFINITY;
        for region in 0..=thresholds.len() {
            let to = thresholds.get(region).map_or(f64::INFINITY, |&(at, _)| at);
            let (if_zero, if_one) = self.region(from, to);
            if let Some(bin) = bins.iter_mut().find(|bin| bin.sensed == sensed) {
                bin.if_zero += if_zero;
                bin.if_one += if_one;
            } else {
                bins.push(LlrBin { sensed: sensed.clone(), if_zero, if_one, llr: 0.0 });
            }
            if let Some(&(at, read)) = thresholds.get(region) {
                sensed[read] = 1 - sensed[read];
                from = at;
            }
        }
        for bin in &mut bins {
            bin.llr = libm::log(bin.if_zero.max(TINY) / bin.if_one.max(TINY));
        }
        bins.sort_by(|a, b| b.llr.total_cmp(&a.llr));
        LlrTable { offsets: offsets.to_vec(), bins }
    }

    /// Probability that the voltage lies in a region, given the bit.
    fn region(&self, from: f64, to: f64) -> (f64, f64) {
        let mut sums = [0.0, 0.0];
        for (state, (mean, sigma)) in self.states.mean().iter().zip(self.states.sigma()).enumerate()
        {
            let inside = between((from - mean) / sigma, (to - mean) / sigma);
            sums[usize::from(self.code.bit(state, self.page_type))] += inside;
        }
        // Every page type has as many states of either bit.
        let half = self.states.mean().len() as f64 / 2.0;
        (sums[0] / half, sums[1] / half)
    }
}

impl LlrTable {
    /// Mutual information between bit and pattern, bits, when both bits are equally likely.
    pub fn mutual_information(&self) -> f64 {
        let part = |p: f64, mean: f64| if p > 0.0 { 0.5 * p * libm::log2(p / mean) } else { 0.0 };
        self.bins
            .iter()
            .map(|bin| {
                let mean = 0.5 * (bin.if_zero + bin.if_one);
                part(bin.if_zero, mean) + part(bin.if_one, mean)
            })
            .sum()
    }

    /// Error rate of a decision by the sign of the LLR.
    pub fn rber(&self) -> f64 {
        0.5 * self.bins.iter().map(|bin| bin.if_zero.min(bin.if_one)).sum::<f64>()
    }
}

/// Sweeps over all offsets; they settle in about ten.
const ROUNDS: usize = 40;

/// `-half` reversed, 0, `half`.
fn mirrored(half: &[f64]) -> Vec<f64> {
    let down = half.iter().rev().map(|offset| -offset);
    down.chain([0.0]).chain(half.iter().copied()).collect()
}

/// Where a function of a single peak is highest, by golden section.
fn peak(mut low: f64, mut high: f64, mut value: impl FnMut(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let mut left = high - GOLDEN * (high - low);
    let mut right = low + GOLDEN * (high - low);
    let (mut at_left, mut at_right) = (value(left), value(right));
    // 30 steps narrow the interval to a millionth.
    for _ in 0..30 {
        if at_left < at_right {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = value(right);
        } else {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = value(left);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::super::states::StateModel;
    use super::super::Stress;
    use super::*;

    fn two_states() -> States {
        // Error rate 5e-3: half the distance is Qinv(5e-3) widths.
        States::new(&[-1.0, 1.0], &[0.388_223, 0.388_223])
    }

    #[test]
    fn two_equal_states_give_the_tables_of_the_symmetric_channel() {
        // Offsets, LLRs and information of the optimal symmetric channel at 5e-3, computed by an
        // independent program; offsets in half the distance of the states.
        let states = two_states();
        let levels = states.best_levels();
        let page =
            SensedPage { states: &states, code: GrayCode::Slc, page_type: 0, levels: &levels };
        for (reads, offsets, llrs, information) in [
            (1, vec![0.0], vec![5.293], 0.954_585),
            (3, vec![-0.2634, 0.0, 0.2634], vec![7.443, 1.685], 0.975_352),
            (
                7,
                vec![-0.4684, -0.2506, -0.1125, 0.0, 0.1125, 0.2506, 0.4684],
                vec![9.374, 4.651, 2.384, 0.741],
                0.978_920,
            ),
        ] {
            let table = page.best_table(reads).expect("1, 3 or 7");
            assert!((table.mutual_information() - information).abs() < 2e-6, "{reads}");
            for (ours, expected) in table.offsets.iter().zip(&offsets) {
                assert!((ours - expected).abs() < 1e-3, "{reads}: {:?}", table.offsets);
            }
            assert_eq!(table.bins.len(), 2 * llrs.len());
            for (k, expected) in llrs.iter().enumerate() {
                let mirror = table.bins[table.bins.len() - 1 - k].llr;
                assert!((table.bins[k].llr - expected).abs() < 5e-3, "{reads}: {table:?}");
                assert!((mirror + expected).abs() < 5e-3, "{reads}: {table:?}");
            }
        }
    }

    #[test]
    fn every_page_type_has_whole_probabilities_and_its_own_error_rate() {
        let model = StateModel::default();
        let stress = Stress { pe_cycles: 3000.0, retention_h: 720.0, ..Stress::default() };
        let states = model.states(&stress);
        let levels = model.default_levels();
        for page_type in 0..3 {
            let page =
                SensedPage { states: &states, code: model.gray_code, page_type, levels: &levels };
            let mut information = 0.0;
            for reads in READ_COUNTS {
                let table = page.best_table(reads).expect("1, 3 or 7");
                let total = |of: fn(&LlrBin) -> f64| table.bins.iter().map(of).sum::<f64>();
                assert!((total(|bin| bin.if_zero) - 1.0).abs() < 1e-12);
                assert!((total(|bin| bin.if_one) - 1.0).abs() < 1e-12);
                assert!(table.mutual_information() > information, "more reads tell more");
                information = table.mutual_information();
                let levels_of_page = model.gray_code.levels_of(page_type).count();
                let directions = if levels_of_page > 1 { 2 } else { 1 };
                assert_eq!(table.bins.len(), 2 + directions * (reads - 1));
            }
            // A single read errs as the page does.
            let hard = page.best_table(1).expect("one read").rber();
            let rber = model.rber_at(&stress, page_type, &levels);
            assert!((hard / rber - 1.0).abs() < 1e-12, "{hard:e} {rber:e}");
        }
    }

    #[test]
    fn retention_makes_the_table_lopsided() {
        let model = StateModel::default();
        let stress = Stress { pe_cycles: 3000.0, retention_h: 8760.0, ..Stress::default() };
        let states = model.states(&stress);
        let levels = model.default_levels();
        let page =
            SensedPage { states: &states, code: model.gray_code, page_type: 0, levels: &levels };
        let bins = page.best_table(3).expect("3 reads").bins;
        // States have sunk: what is sensed just below the level is likely from above it.
        assert!(bins[0].llr.abs() > 1.2 * bins[bins.len() - 1].llr.abs(), "{bins:?}");
    }

    #[test]
    fn offsets_that_make_no_table_are_refused() {
        let states = two_states();
        let levels = states.best_levels();
        let page =
            SensedPage { states: &states, code: GrayCode::Slc, page_type: 0, levels: &levels };
        for (offsets, words) in [
            (vec![0.0, 0.1], "1, 3 or 7"),
            (vec![0.1, 0.0, 0.2], "rising"),
            (vec![-0.1, 0.0, f64::NAN], "rising"),
            (vec![-2.0, 0.0, 2.0], "between levels"),
        ] {
            let error = page.table(&offsets).unwrap_err();
            assert!(error.message.contains(words), "{error}");
        }
        assert_eq!(page.best_table(5).unwrap_err().path, "reads");
    }
}
