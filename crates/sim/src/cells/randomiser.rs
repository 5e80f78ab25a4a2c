//! Scramblers between the host's data and the cells, so that all states are about equally frequent.
//!
//! Scrambling twice gives the data back. `prbs15` is the sequence of the polynomial
//! `x^15 + x^14 + 1` that controllers use, from a start that depends on the page in its block; its
//! period of 32767 bits is shorter than a page. `hash` is a random sequence for each page.

use opennandlab_ecc::xoshiro::{split_mix, Xoshiro256PlusPlus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What data is scrambled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Randomiser {
    /// The pseudorandom sequence of a register of 15 bits.
    #[default]
    Prbs15,
    /// Random bits.
    Hash,
    /// Nothing: data is stored as it is.
    None,
}

impl Randomiser {
    /// Scrambles a page, or descrambles it; `page` is its number in the block.
    pub fn apply(self, page: u32, bytes: &mut [u8]) {
        let mut chain = u64::from(page);
        match self {
            Self::None => {}
            Self::Hash => {
                let mut random = Xoshiro256PlusPlus::from_seed(split_mix(&mut chain));
                for part in bytes.chunks_mut(8) {
                    let mask = random.next_u64().to_le_bytes();
                    part.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
                }
            }
            Self::Prbs15 => {
                // The newest bit is the lowest; never all zeros.
                let mut register = (split_mix(&mut chain) % 0x7fff + 1) as u16;
                for byte in bytes {
                    // Eight steps at once: a bit is the sum of those 14 and 15 before it.
                    let next = (register >> 6 ^ register >> 7) & 0xff;
                    register = register << 8 & 0x7fff | next;
                    *byte ^= next as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prbs15_has_its_recurrence_and_its_period() {
        for page in [0, 1, 63, 4000] {
            let mut bytes = vec![0; 3 * 4096];
            Randomiser::Prbs15.apply(page, &mut bytes);
            let bit = |i: usize| bytes[i / 8] >> (7 - i % 8) & 1;
            let count = 8 * bytes.len();
            assert!((15..count).all(|i| bit(i) == bit(i - 14) ^ bit(i - 15)));
            assert!((32_767..count).all(|i| bit(i) == bit(i - 32_767)));
            // A sequence of full length has one more 1 than 0 in a period.
            assert_eq!((0..32_767).filter(|&i| bit(i) == 1).count(), 16_384);
        }
    }

    proptest! {
        #[test]
        fn scrambling_twice_gives_the_data_back(
            page: u32,
            data in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            for kind in [Randomiser::Prbs15, Randomiser::Hash, Randomiser::None] {
                let mut bytes = data.clone();
                kind.apply(page, &mut bytes);
                prop_assert!(kind == Randomiser::None || data.len() < 9 || bytes != data);
                kind.apply(page, &mut bytes);
                prop_assert_eq!(&bytes, &data);
            }
        }
    }
}
