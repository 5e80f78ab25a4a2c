//! A page of a cell: its error rate, and the LLR of a bit after several reads at shifted levels.
//!
//! A page has some of the read levels; each flips its bit. A cell is read wrong when the number of
//! levels of the page between its state and its voltage is odd, so the error rate of a page is a
//! sum of normal tails over states and levels, exact for any position of the levels.
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
//! either bit, exact sums of normal tails over all states.
//!
//! If offsets are not given, they maximise the mutual information between bit and pattern. All
//! levels of the page are moved by the same offset, up and down alike, so the fixed point of
//! [`super::TwoStates::best_thresholds`], which moves every threshold separately, does not apply:
//! the offsets are searched one after the other. Source: J. Wang et al., "Enhanced precision
//! through multiple reads for LDPC decoding in flash memories", IEEE JSAC 2014.

use super::states::{ReadLevels, States, STATE_COUNT_MAX};
use super::table::{LlrBin, LlrTable};
use super::{CellError, READS_WITH_BEST_THRESHOLDS};

/// The bit of each state of a cell on one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageBits {
    count: usize,
    bits: [u8; STATE_COUNT_MAX],
}

impl PageBits {
    /// The page of a cell with two states: the lower one is 1.
    pub const TWO_STATES: Self = {
        let mut bits = [0; STATE_COUNT_MAX];
        bits[0] = 1;
        Self { count: 2, bits }
    };

    /// The bits of the states, lowest first.
    ///
    /// # Panics
    /// When there are more than 16.
    pub fn new(states: impl IntoIterator<Item = u8>) -> Self {
        let mut page = Self { count: 0, bits: [0; STATE_COUNT_MAX] };
        for bit in states {
            page.bits[page.count] = bit;
            page.count += 1;
        }
        page
    }

    /// The bit of a state.
    pub fn bit(&self, state: usize) -> u8 {
        self.bits[state]
    }

    /// Read levels at which the bit changes, lowest first; level 0 parts states 0 and 1.
    pub fn levels(&self) -> impl Iterator<Item = usize> + '_ {
        (1..self.count).filter(|&high| self.bits[high - 1] != self.bits[high]).map(|high| high - 1)
    }

    /// Probability that a cell of this state is read wrong, from that of its voltage to be between
    /// two others.
    pub(super) fn wrong(
        &self,
        state: usize,
        levels: &ReadLevels,
        inside: impl Fn(f64, f64) -> f64,
    ) -> f64 {
        let (mut from, mut sensed, mut wrong) = (f64::NEG_INFINITY, 1, 0.0);
        let ends = self.levels().map(|level| levels.at()[level]).chain([f64::INFINITY]);
        for to in ends {
            if sensed != self.bits[state] {
                wrong += inside(from, to);
            }
            (from, sensed) = (to, 1 - sensed);
        }
        wrong
    }
}

/// What a page needs to know of the voltages of its cells.
pub trait Voltages {
    /// Means and widths: the number of states, and where to look for good offsets.
    fn states(&self) -> &States;

    /// `P(low < V < high)` of the voltage of a cell in this state.
    fn probability(&self, state: usize, low: f64, high: f64) -> f64;
}

impl Voltages for States {
    fn states(&self) -> &States {
        self
    }

    fn probability(&self, state: usize, low: f64, high: f64) -> f64 {
        States::probability(self, state, low, high)
    }
}

/// A page of a cell, as its reads see it.
#[derive(Clone, Copy, Debug)]
pub struct CellPage<'a, V = States> {
    /// The states of the cell.
    pub states: &'a V,
    /// The bit of each state.
    pub bits: PageBits,
    /// The levels around which it is read.
    pub levels: &'a ReadLevels,
}

/// Sweeps over all offsets; they settle in about ten.
const ROUNDS: usize = 40;

impl<V: Voltages> CellPage<'_, V> {
    /// Share of the bits that is read wrong.
    pub fn rber(&self) -> f64 {
        let count = self.states.states().mean().len();
        let wrong = |state| {
            self.bits
                .wrong(state, self.levels, |low, high| self.states.probability(state, low, high))
        };
        (0..count).map(wrong).sum::<f64>() / count as f64
    }

    /// The table for reads at given offsets of the levels, in rising order.
    ///
    /// # Errors
    /// When the offsets are not 1, 3 or 7 in rising order, or reach from one level of the page to
    /// the next.
    pub fn table(&self, offsets: &[f64]) -> Result<LlrTable, CellError> {
        if !READS_WITH_BEST_THRESHOLDS.contains(&offsets.len()) {
            return Err(CellError::OffsetCount { reads: offsets.len() });
        }
        let rises = offsets.windows(2).all(|pair| pair[0] < pair[1]);
        if !rises || offsets.iter().any(|offset| !offset.is_finite()) {
            return Err(CellError::OffsetOrder { offsets: offsets.to_vec() });
        }
        let (reach, room) = (offsets[offsets.len() - 1] - offsets[0], self.room());
        if reach >= room {
            return Err(CellError::OffsetReach { reach, room });
        }
        Ok(self.tabulate(offsets))
    }

    /// The table for 1, 3 or 7 reads at the offsets that give the most information.
    ///
    /// # Errors
    /// For another number of reads.
    pub fn best_table(&self, reads: usize) -> Result<LlrTable, CellError> {
        if !READS_WITH_BEST_THRESHOLDS.contains(&reads) {
            return Err(CellError::Reads { reads });
        }
        Ok(self.tabulate(&self.best_offsets(reads / 2)))
    }

    /// Distance between the two closest levels of the page; that of all states if it has one level.
    fn room(&self) -> f64 {
        let at: Vec<f64> = self.bits.levels().map(|level| self.levels.at()[level]).collect();
        let mean = self.states.states().mean();
        at.windows(2).map(|pair| pair[1] - pair[0]).fold(mean[mean.len() - 1] - mean[0], f64::min)
    }

    /// Symmetric offsets of most mutual information, by searching one after the other until none
    /// moves. The information has a single peak in each as long as the others stay.
    fn best_offsets(&self, pairs: usize) -> Vec<f64> {
        let room = self.room() / 2.0 * 0.999;
        let widest = self.states.states().sigma().iter().copied().fold(0.0, f64::max);
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
                    self.tabulate(&mirrored(&tried)).mutual_information
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
            .bits
            .levels()
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
        LlrTable::of_patterns(offsets, bins)
    }

    /// Probability that the voltage is in a region, given the bit.
    fn region(&self, from: f64, to: f64) -> (f64, f64) {
        let (mut sums, count) = ([0.0, 0.0], self.states.states().mean().len());
        for state in 0..count {
            let inside = self.states.probability(state, from, to);
            sums[usize::from(self.bits.bit(state))] += inside;
        }
        // Every page has as many states of either bit.
        let half = count as f64 / 2.0;
        (sums[0] / half, sums[1] / half)
    }
}

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
    use super::super::two_states::TwoStates;
    use super::super::{q, Thresholds};
    use super::*;

    /// TLC pages of the reflected code: levels of the lower, middle and upper page.
    fn tlc() -> [PageBits; 3] {
        [
            PageBits::new([1, 1, 1, 1, 0, 0, 0, 0]),
            PageBits::new([1, 1, 0, 0, 0, 0, 1, 1]),
            PageBits::new([1, 0, 0, 1, 1, 0, 0, 1]),
        ]
    }

    fn tlc_states() -> States {
        let mut sigma = [0.2; 8];
        sigma[0] = 0.3;
        States::new(&[-1.4, 0.0, 1.0, 1.95, 2.9, 3.85, 4.8, 5.7], &sigma)
    }

    #[test]
    fn two_equal_states_give_the_tail_of_half_their_distance() {
        // Two states at -1 and 1 of width 1 / Qinv(5e-3) = 0.38822 give 5e-3.
        let states = States::new(&[-1.0, 1.0], &[0.388_223, 0.388_223]);
        let levels = states.best_levels();
        assert!(levels.at()[0].abs() < 1e-15);
        let page = CellPage { states: &states, bits: PageBits::TWO_STATES, levels: &levels };
        assert!((page.rber() / 5e-3 - 1.0).abs() < 1e-4, "{}", page.rber());
    }

    #[test]
    fn reflected_code_makes_errors_in_proportion_to_levels() {
        let mean: Vec<f64> = (0..8).map(f64::from).collect();
        let states = States::new(&mean, &[0.15; 8]);
        let levels = states.best_levels();
        let of =
            |page: usize| CellPage { states: &states, bits: tlc()[page], levels: &levels }.rber();
        // Each level is crossed by the tail of two states out of eight.
        assert!((of(0) / (2.0 * q(0.5 / 0.15) / 8.0) - 1.0).abs() < 1e-9);
        assert!((of(1) / of(0) - 2.0).abs() < 1e-6);
        assert!((of(2) / of(0) - 4.0).abs() < 1e-6);
    }

    #[test]
    fn a_page_of_two_equal_states_has_the_tables_of_the_two_state_cell() {
        let two = TwoStates::symmetric(5e-3).unwrap();
        let states = two.cell();
        let levels = states.best_levels();
        let page = CellPage { states: &states, bits: PageBits::TWO_STATES, levels: &levels };
        for reads in READS_WITH_BEST_THRESHOLDS {
            let (ours, theirs) =
                (page.best_table(reads).unwrap(), Thresholds::Best(reads).table(&two).unwrap());
            // The search stops at a millionth of the distance; information hardly moves there.
            assert!((ours.mutual_information - theirs.mutual_information).abs() < 1e-9);
            for (ours, theirs) in ours.reads.iter().zip(&theirs.reads) {
                assert!((ours - theirs).abs() < 1e-3, "{reads} reads: {ours} {theirs}");
            }
            for (ours, theirs) in ours.bins.iter().zip(theirs.bins.iter().rev()) {
                assert_eq!(ours.sensed, theirs.sensed);
                assert!((ours.llr / theirs.llr - 1.0).abs() < 5e-3, "{reads} reads: {ours:?}");
            }
        }
        // At the same reads they are the same tables.
        let at = [-0.25, 0.0, 0.25];
        let (ours, theirs) =
            (page.table(&at).unwrap(), Thresholds::Given(at.to_vec()).table(&two).unwrap());
        for (ours, theirs) in ours.bins.iter().zip(theirs.bins.iter().rev()) {
            assert!((ours.llr - theirs.llr).abs() < 1e-9, "{ours:?} {theirs:?}");
            assert!((ours.if_zero - theirs.if_zero).abs() < 1e-12);
            assert!((ours.if_one - theirs.if_one).abs() < 1e-12);
        }
        assert!((ours.mutual_information - theirs.mutual_information).abs() < 1e-12);
    }

    #[test]
    fn every_page_has_whole_probabilities_and_its_own_error_rate() {
        let (states, levels) =
            (tlc_states(), ReadLevels::new(&[-0.6, 0.5, 1.5, 2.5, 3.5, 4.4, 5.3]));
        for bits in tlc() {
            let page = CellPage { states: &states, bits, levels: &levels };
            let mut information = 0.0;
            for reads in READS_WITH_BEST_THRESHOLDS {
                let table = page.best_table(reads).unwrap();
                for bit in [0, 1] {
                    assert!((table.probabilities(bit).sum::<f64>() - 1.0).abs() < 1e-12);
                }
                assert!(table.mutual_information > information, "more reads tell more");
                information = table.mutual_information;
                let directions = if bits.levels().count() > 1 { 2 } else { 1 };
                assert_eq!(table.bins.len(), 2 + directions * (reads - 1));
            }
            // The error rate of a single read is that of the page.
            let hard = page.best_table(1).unwrap().rber();
            assert!((hard / page.rber() - 1.0).abs() < 1e-12, "{hard:e} {:e}", page.rber());
        }
    }

    #[test]
    fn states_that_have_sunk_make_the_table_lopsided() {
        let states = tlc_states();
        let levels = ReadLevels::new(&[-0.6, 0.5, 1.5, 2.6, 3.65, 4.7, 5.7]);
        let page = CellPage { states: &states, bits: tlc()[0], levels: &levels };
        let bins = page.best_table(3).unwrap().bins;
        // A voltage sensed just below the level probably comes from a state above it.
        assert!(bins[0].llr.abs() > 1.2 * bins[bins.len() - 1].llr.abs(), "{bins:?}");
    }

    #[test]
    fn offsets_that_make_no_table_are_refused() {
        let states = TwoStates::symmetric(5e-3).unwrap().cell();
        let levels = states.best_levels();
        let page = CellPage { states: &states, bits: PageBits::TWO_STATES, levels: &levels };
        for (offsets, words) in [
            (vec![0.0, 0.1], "1, 3 or 7"),
            (vec![0.1, 0.0, 0.2], "rising"),
            (vec![-0.1, 0.0, f64::NAN], "rising"),
            (vec![-2.0, 0.0, 2.0], "between levels"),
        ] {
            let error = page.table(&offsets).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(page.best_table(5).unwrap_err(), CellError::Reads { reads: 5 });
    }
}
