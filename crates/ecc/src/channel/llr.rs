//! The LLR table of a sensed page: what each pattern of reads says about the bit.
//!
//! A table belongs to the states it was computed for. Used on other states it is *mismatched*, as
//! a controller's table is when the page has aged since: bins keep their thresholds, LLRs are those
//! of the states believed in.

use super::sensing::{bin_llrs, States};
use super::ChannelError;

/// Numbers of reads for which the best thresholds are computed.
pub const READS_WITH_BEST_THRESHOLDS: [usize; 3] = [1, 3, 7];
/// The most thresholds that may be given.
pub const READS_MAX: usize = 63;

/// Where the reads are.
#[derive(Clone, Debug, PartialEq)]
pub enum Thresholds {
    /// Where they keep the most mutual information; 1, 3 or 7 reads.
    Best(usize),
    /// This far apart, around the decision point; in units of half the distance of the states.
    Spaced(usize, f64),
    /// At these voltages, ascending; in units of half the distance of the states.
    Given(Vec<f64>),
}

impl Thresholds {
    /// The voltages for these states.
    ///
    /// # Errors
    /// When there are none or too many, when they do not ascend, or for numbers of reads without
    /// thresholds of their own.
    pub fn voltages(&self, states: &States) -> Result<Vec<f64>, ChannelError> {
        match self {
            Self::Best(reads) => {
                if !READS_WITH_BEST_THRESHOLDS.contains(reads) {
                    return Err(ChannelError::Reads { reads: *reads });
                }
                Ok(states.best_thresholds(*reads))
            }
            Self::Spaced(reads, spacing) => {
                if !(*spacing > 0.0 && *spacing <= 2.0) {
                    return Err(ChannelError::Spacing { spacing: *spacing });
                }
                check_count(*reads)?;
                let middle = (*reads as f64 - 1.0) / 2.0;
                let point = states.decision_point();
                Ok((0..*reads).map(|read| point + (read as f64 - middle) * spacing).collect())
            }
            Self::Given(voltages) => {
                check_count(voltages.len())?;
                if let Some(&voltage) =
                    voltages.iter().find(|value| value.is_nan() || value.abs() > 10.0)
                {
                    return Err(ChannelError::Threshold { voltage });
                }
                if voltages.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err(ChannelError::Order);
                }
                Ok(voltages.clone())
            }
        }
    }
}

fn check_count(reads: usize) -> Result<(), ChannelError> {
    if (1..=READS_MAX).contains(&reads) {
        Ok(())
    } else {
        Err(ChannelError::TooManyReads { reads })
    }
}

/// Bins, their LLRs and how often they occur.
#[derive(Clone, Debug, PartialEq)]
pub struct LlrTable {
    /// The states that the cells have.
    pub states: States,
    /// Voltages of the reads, ascending, in units of half the distance of the states.
    pub thresholds: Vec<f64>,
    /// LLR of each bin from the lowest upwards, natural logarithm, positive for bit 0.
    pub llrs: Vec<f64>,
    /// `P(bin | bit)` for bit 0 and bit 1.
    pub probabilities: [Vec<f64>; 2],
    /// Mutual information between bit and bin, in bits.
    pub mutual_information: f64,
}

impl LlrTable {
    /// The table of reads of cells in these states.
    ///
    /// # Errors
    /// As [`Thresholds::voltages`].
    pub fn new(states: States, thresholds: &Thresholds) -> Result<Self, ChannelError> {
        let thresholds = thresholds.voltages(&states)?;
        let log_bins = states.log_bins(&thresholds);
        Ok(Self {
            llrs: bin_llrs(&log_bins),
            probabilities: log_bins.map(|bins| bins.into_iter().map(libm::exp).collect()),
            mutual_information: states.information(&thresholds).bits(),
            states,
            thresholds,
        })
    }

    /// The same reads, with the LLRs of a controller that takes the cells to be in other states.
    #[must_use]
    pub fn believed(mut self, states: &States) -> Self {
        self.llrs = bin_llrs(&states.log_bins(&self.thresholds));
        self
    }
}

/// The LLR table of two equal states, with the thresholds that keep the most information.
///
/// # Errors
/// When the RBER is not inside (0, 0.5), or `reads` is not 1, 3 or 7.
///
/// ```
/// use opennandlab_ecc::channel::llr_table;
/// let table = llr_table(5e-3, 3).unwrap();
/// assert!((table.thresholds[2] - 0.2634).abs() < 5e-5);
/// assert!((table.llrs[3] - 7.443).abs() < 5e-4);
/// ```
pub fn llr_table(rber: f64, reads: usize) -> Result<LlrTable, ChannelError> {
    LlrTable::new(States::symmetric(rber)?, &Thresholds::Best(reads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_at_5e_3_are_those_computed_elsewhere() {
        // Thresholds, LLRs and information by an independent numerical optimisation.
        for (reads, thresholds, llrs, information) in [
            (1, vec![0.0], vec![5.293], 0.954_585),
            (3, vec![0.0, 0.2634], vec![1.685, 7.443], 0.975_352),
            (7, vec![0.0, 0.1125, 0.2506, 0.4684], vec![0.741, 2.384, 4.651, 9.374], 0.978_920),
        ] {
            let table = llr_table(5e-3, reads).unwrap();
            assert!((table.mutual_information - information).abs() < 5e-7, "{reads} reads");
            for (ours, theirs) in table.thresholds[reads / 2..].iter().zip(&thresholds) {
                // They stand on a grid of about 2e-4: information hardly moves there.
                assert!((ours - theirs).abs() < 2e-4, "{reads} reads: {ours} {theirs}");
            }
            for (ours, theirs) in table.llrs[reads / 2 + 1..].iter().zip(&llrs) {
                assert!((ours / theirs - 1.0).abs() < 1e-3, "{reads} reads: {ours} {theirs}");
            }
            for bin in 0..=reads {
                assert!((table.llrs[bin] + table.llrs[reads - bin]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn probabilities_sum_to_one_and_llrs_are_their_quotients() {
        for ratio in [1.0, 1.5] {
            let states = States::with_ratio(0.01, ratio).unwrap();
            let spaced = Thresholds::Spaced(7, 0.19);
            let table = LlrTable::new(states, &spaced).unwrap();
            for bit in [0, 1] {
                let sum: f64 = table.probabilities[bit].iter().sum();
                assert!((sum - 1.0).abs() < 1e-13);
            }
            for bin in 0..8 {
                let quotient = table.probabilities[0][bin] / table.probabilities[1][bin];
                assert!((libm::log(quotient) - table.llrs[bin]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_believed_state_changes_llrs_and_nothing_else() {
        let table = llr_table(0.01, 3).unwrap();
        let other = table.clone().believed(&States::symmetric(0.001).unwrap());
        assert_eq!(table.probabilities, other.probabilities);
        assert!(other.llrs[3] > table.llrs[3]);
        assert_eq!(table, table.clone().believed(&States::symmetric(0.01).unwrap()));
    }

    #[test]
    fn impossible_reads_are_refused() {
        let states = States::symmetric(0.01).unwrap();
        for thresholds in [
            Thresholds::Best(0),
            Thresholds::Best(2),
            Thresholds::Best(8),
            Thresholds::Spaced(3, 0.0),
            Thresholds::Spaced(3, f64::NAN),
            Thresholds::Spaced(0, 0.1),
            Thresholds::Spaced(64, 0.1),
            Thresholds::Given(vec![]),
            Thresholds::Given(vec![0.1, 0.1]),
            Thresholds::Given(vec![0.2, 0.1]),
            Thresholds::Given(vec![f64::NAN]),
            Thresholds::Given(vec![f64::INFINITY]),
        ] {
            assert!(thresholds.voltages(&states).is_err(), "{thresholds:?}");
        }
    }
}
