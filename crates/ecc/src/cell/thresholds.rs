//! Where a cell of two states is read, and the LLR table of these reads.
//!
//! A table belongs to the states it was computed for. Used on other states it is *mismatched*, as
//! a controller's table is when the page has aged since: bins keep their thresholds, LLRs are those
//! of the states believed in ([`TwoStates::believe`]).

use super::table::{LlrBin, LlrTable};
use super::two_states::{bin_llrs, TwoStates};
use super::{CellError, READS_MAX, READS_WITH_BEST_THRESHOLDS};

/// Where the reads are.
#[derive(Clone, Debug, PartialEq)]
pub enum Thresholds {
    /// At the maximum of the mutual information; 1, 3 or 7 reads.
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
    /// known best thresholds.
    pub fn voltages(&self, states: &TwoStates) -> Result<Vec<f64>, CellError> {
        match self {
            Self::Best(reads) => {
                if !READS_WITH_BEST_THRESHOLDS.contains(reads) {
                    return Err(CellError::Reads { reads: *reads });
                }
                Ok(states.best_thresholds(*reads))
            }
            Self::Spaced(reads, spacing) => {
                if !(*spacing > 0.0 && *spacing <= 2.0) {
                    return Err(CellError::Spacing { spacing: *spacing });
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
                    return Err(CellError::Threshold { voltage });
                }
                if voltages.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err(CellError::Order);
                }
                Ok(voltages.clone())
            }
        }
    }

    /// The table of these reads of cells in these states, bins from the lowest upwards.
    ///
    /// # Errors
    /// As [`Thresholds::voltages`].
    pub fn table(&self, states: &TwoStates) -> Result<LlrTable, CellError> {
        let reads = self.voltages(states)?;
        let log_bins = states.log_bins(&reads);
        let bin = |(bin, llr)| LlrBin {
            // A read finds the lower state, bit 1, where the cell is below its threshold.
            sensed: (0..reads.len()).map(|read| u8::from(bin <= read)).collect(),
            if_zero: libm::exp(log_bins[0][bin]),
            if_one: libm::exp(log_bins[1][bin]),
            llr,
        };
        let bins = bin_llrs(&log_bins).into_iter().enumerate().map(bin).collect();
        let mutual_information = states.information(&reads).bits();
        Ok(LlrTable { reads, bins, mutual_information })
    }
}

fn check_count(reads: usize) -> Result<(), CellError> {
    if (1..=READS_MAX).contains(&reads) {
        Ok(())
    } else {
        Err(CellError::TooManyReads { reads })
    }
}

/// The LLR table of two equal states, with the thresholds that keep the most information.
///
/// # Errors
/// When the RBER is not inside (0, 0.5), or `reads` is not 1, 3 or 7.
///
/// ```
/// use opennandlab_ecc::cell::llr_table;
/// let table = llr_table(5e-3, 3).unwrap();
/// assert!((table.reads[2] - 0.2634).abs() < 5e-5);
/// assert!((table.bins[3].llr - 7.443).abs() < 5e-4);
/// ```
pub fn llr_table(rber: f64, reads: usize) -> Result<LlrTable, CellError> {
    Thresholds::Best(reads).table(&TwoStates::symmetric(rber)?)
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
            for (ours, theirs) in table.reads[reads / 2..].iter().zip(&thresholds) {
                // They are on a grid of about 2e-4: information hardly changes within a step.
                assert!((ours - theirs).abs() < 2e-4, "{reads} reads: {ours} {theirs}");
            }
            for (ours, theirs) in table.bins[reads / 2 + 1..].iter().map(|bin| bin.llr).zip(&llrs) {
                assert!((ours / theirs - 1.0).abs() < 1e-3, "{reads} reads: {ours} {theirs}");
            }
            for bin in 0..=reads {
                assert!((table.bins[bin].llr + table.bins[reads - bin].llr).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn probabilities_sum_to_one_and_llrs_are_their_quotients() {
        for ratio in [1.0, 1.5] {
            let states = TwoStates::with_ratio(0.01, ratio).unwrap();
            let spaced = Thresholds::Spaced(7, 0.19);
            let table = spaced.table(&states).unwrap();
            for bit in [0, 1] {
                let sum: f64 = table.probabilities(bit).sum();
                assert!((sum - 1.0).abs() < 1e-13);
            }
            for bin in 0..8 {
                let quotient = table.bins[bin].if_zero / table.bins[bin].if_one;
                assert!((libm::log(quotient) - table.bins[bin].llr).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_believed_state_changes_llrs_and_nothing_else() {
        let table = llr_table(0.01, 3).unwrap();
        let other = TwoStates::symmetric(0.001).unwrap().believe(table.clone());
        for bit in [0, 1] {
            assert!(table.probabilities(bit).eq(other.probabilities(bit)));
        }
        assert!(other.bins[3].llr > table.bins[3].llr);
        assert_eq!(table, TwoStates::symmetric(0.01).unwrap().believe(table.clone()));
    }

    #[test]
    fn impossible_reads_are_refused() {
        let states = TwoStates::symmetric(0.01).unwrap();
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
