//! No code at all: every bit error is a data error. The skeleton of a code, and the lower bound of
//! all.
//!
//! The unit of loss is one host sector of 512 bytes, since that is the least a drive can report as
//! unreadable. A sector fails when any of its bits is wrong: `1 - (1 - rber)^4096`. Without parity
//! a real drive would not even notice; the model counts the loss all the same.

use super::Code;
use crate::tail::binomial_tail;

/// Data bits of one host sector.
const SECTOR_BITS: u32 = 512 * 8;

/// Stores the data as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncoded;

impl Code for Uncoded {
    fn data_bits_max(&self) -> u32 {
        SECTOR_BITS
    }

    fn parity_bits(&self) -> u32 {
        0
    }

    fn failure_probability(&self, data_bits: u32, rber: f64) -> f64 {
        binomial_tail(data_bits, 0, rber)
    }

    fn corrected_bits_mean(&self, _data_bits: u32, _rber: f64) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_loses_the_sector() {
        // 1 - (1 - 1e-6)^4096 = 4.087625e-3: 4096e-6 - 8386560e-12 + 1.1445e10 * 1e-18 by hand.
        let failure = Uncoded.failure_probability(SECTOR_BITS, 1e-6);
        assert!((failure - 4.087_625e-3).abs() < 1e-9, "{failure:e}");
        assert_eq!(Uncoded.failure_probability(SECTOR_BITS, 0.0).to_bits(), 0.0_f64.to_bits());
        assert_eq!(Uncoded.corrected_bits_mean(SECTOR_BITS, 0.1).to_bits(), 0.0_f64.to_bits());
    }
}
