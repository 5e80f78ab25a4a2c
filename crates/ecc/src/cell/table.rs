//! LLR tables: the value of each outcome of the reads of a cell as evidence for its bit.
//!
//! Every outcome (a bin of the voltage, or all bins that give the same sensed bits) has a
//! probability for either bit and is worth `llr = ln P(outcome | 0) / P(outcome | 1)`; positive
//! means 0. States that are not equally wide or not equally far make the table asymmetric.

/// Smallest probability whose logarithm is taken: of a pattern that never occurs with one bit.
const TINY: f64 = 1e-300;

/// One outcome of the reads.
#[derive(Clone, Debug, PartialEq)]
pub struct LlrBin {
    /// The bits of the reads, lowest read first.
    pub sensed: Vec<u8>,
    /// Probability of the outcome when the bit is 0.
    pub if_zero: f64,
    /// Probability of the outcome when the bit is 1.
    pub if_one: f64,
    /// `ln(if_zero / if_one)`.
    pub llr: f64,
}

impl LlrBin {
    /// Probability of the outcome given the bit.
    pub fn probability(&self, bit: usize) -> f64 {
        if bit == 0 {
            self.if_zero
        } else {
            self.if_one
        }
    }
}

/// The LLR of each outcome of the reads of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct LlrTable {
    /// Where the reads are, rising: voltages of a cell of two states, offsets of the levels of a
    /// page.
    pub reads: Vec<f64>,
    /// The outcomes: of two states from the lowest voltage upwards, of a page from the surest 0 to
    /// the surest 1.
    pub bins: Vec<LlrBin>,
    /// Mutual information between bit and outcome when both bits are equally likely, bits.
    pub mutual_information: f64,
}

impl LlrTable {
    /// The table of patterns whose probabilities are known: LLRs, order and information follow.
    pub(super) fn of_patterns(reads: &[f64], mut bins: Vec<LlrBin>) -> Self {
        for bin in &mut bins {
            bin.llr = libm::log(bin.if_zero.max(TINY) / bin.if_one.max(TINY));
        }
        bins.sort_by(|a, b| b.llr.total_cmp(&a.llr));
        let part = |p: f64, mean: f64| if p > 0.0 { 0.5 * p * libm::log2(p / mean) } else { 0.0 };
        let told = |bin: &LlrBin| {
            let mean = 0.5 * (bin.if_zero + bin.if_one);
            part(bin.if_zero, mean) + part(bin.if_one, mean)
        };
        let mutual_information = bins.iter().map(told).sum();
        Self { reads: reads.to_vec(), bins, mutual_information }
    }

    /// LLRs of the outcomes.
    pub fn llrs(&self) -> impl Iterator<Item = f64> + '_ {
        self.bins.iter().map(|bin| bin.llr)
    }

    /// Probabilities of the outcomes given the bit.
    pub fn probabilities(&self, bit: usize) -> impl Iterator<Item = f64> + '_ {
        self.bins.iter().map(move |bin| bin.probability(bit))
    }

    /// Error rate of a decision by the more probable bit.
    pub fn rber(&self) -> f64 {
        0.5 * self.bins.iter().map(|bin| bin.if_zero.min(bin.if_one)).sum::<f64>()
    }
}
