//! The bits of each state, and the read levels that follow for each page type.
//!
//! ```text
//!   TLC, code 1-2-4        E    P1   P2   P3   P4   P5   P6   P7      reads at
//!   lower   page           1    1    1    1 |  0    0    0    0       4
//!   middle  page           1    1 |  0    0    0    0 |  1    1       2 6
//!   upper   page           1 |  0    0 |  1    1 |  0    0 |  1       1 3 5 7
//! ```
//!
//! Neighbouring states differ in exactly one bit (Gray), so that each read level belongs to one
//! page type and a small shift of a cell makes one wrong bit. The erased state is all ones.
//! The number of levels of a page decides its error rate and its read time; codes that share them
//! evenly make the pages alike.

use opennandlab_ecc::cell::PageBits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How states are coded, named by the number of read levels of each page type, lower page first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GrayCode {
    /// SLC: one level.
    #[serde(rename = "1")]
    Slc,
    /// MLC: lower page 1 level, upper page 2.
    #[serde(rename = "1-2")]
    Mlc,
    /// TLC: 1, 2, 4: the reflected Gray code.
    #[serde(rename = "1-2-4")]
    Tlc124,
    /// TLC: 2, 3, 2: levels shared evenly.
    #[serde(rename = "2-3-2")]
    Tlc232,
    /// QLC: 1, 2, 4, 8: the reflected Gray code.
    #[serde(rename = "1-2-4-8")]
    Qlc1248,
    /// QLC: 4, 4, 4, 3: levels shared evenly.
    #[serde(rename = "4-4-4-3")]
    Qlc4443,
}

/// Page types of cells with 1 to 4 bits, lowest first.
pub const PAGE_TYPES: [&[&str]; 4] = [
    &["lower"],
    &["lower", "upper"],
    &["lower", "middle", "upper"],
    &["lower", "middle", "upper", "top"],
];

/// The same with blocks of one bit per cell in addition.
const PAGE_TYPES_BESIDE_SLC: [&[&str]; 4] = [
    &["lower", "slc"],
    &["lower", "upper", "slc"],
    &["lower", "middle", "upper", "slc"],
    &["lower", "middle", "upper", "top", "slc"],
];

impl GrayCode {
    /// Bits of a cell, and so page types.
    pub fn bits(self) -> usize {
        match self {
            Self::Slc => 1,
            Self::Mlc => 2,
            Self::Tlc124 | Self::Tlc232 => 3,
            Self::Qlc1248 | Self::Qlc4443 => 4,
        }
    }

    /// States of a cell.
    pub fn states(self) -> usize {
        1 << self.bits()
    }

    /// Names of the page types, lower page first.
    pub fn page_types(self) -> &'static [&'static str] {
        PAGE_TYPES[self.bits() - 1]
    }

    /// The same, with blocks of one bit per cell as the last type.
    pub fn page_types_beside_slc(self) -> &'static [&'static str] {
        PAGE_TYPES_BESIDE_SLC[self.bits() - 1]
    }

    /// Page type that each read level belongs to, lowest level first.
    pub fn page_of_level(self) -> &'static [u8] {
        match self {
            Self::Slc => &[0],
            Self::Mlc => &[1, 0, 1],
            Self::Tlc124 => &[2, 1, 2, 0, 2, 1, 2],
            // Read levels 1 and 5; 2, 4 and 6; 3 and 7.
            Self::Tlc232 => &[0, 1, 2, 1, 0, 1, 2],
            Self::Qlc1248 => &[3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3],
            // A Gray code on the 4-cube whose directions are used 4, 4, 4 and 3 times.
            Self::Qlc4443 => &[0, 1, 0, 2, 0, 3, 2, 1, 2, 3, 0, 3, 1, 2, 1],
        }
    }

    /// The bit of a state on a page type.
    pub fn bit(self, state: usize, page_type: usize) -> u8 {
        let crossed = self.page_of_level()[..state]
            .iter()
            .filter(|&&page| usize::from(page) == page_type)
            .count();
        // The erased state is all ones, and each level crossed flips one bit.
        1 - (crossed % 2) as u8
    }

    /// The bits of the states on a page type.
    pub fn page(self, page_type: usize) -> PageBits {
        PageBits::new((0..self.states()).map(|state| self.bit(state, page_type)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [GrayCode; 6] = [
        GrayCode::Slc,
        GrayCode::Mlc,
        GrayCode::Tlc124,
        GrayCode::Tlc232,
        GrayCode::Qlc1248,
        GrayCode::Qlc4443,
    ];

    fn word(code: GrayCode, state: usize) -> u32 {
        (0..code.bits()).map(|page| u32::from(code.bit(state, page)) << page).sum()
    }

    #[test]
    fn states_are_told_apart_and_neighbours_differ_in_one_bit() {
        for code in ALL {
            let words: Vec<u32> = (0..code.states()).map(|state| word(code, state)).collect();
            let mut sorted = words.clone();
            sorted.sort_unstable();
            assert_eq!(
                sorted,
                (0..code.states() as u32).collect::<Vec<_>>(),
                "{code:?}: {words:?}"
            );
            assert!(words.windows(2).all(|pair| (pair[0] ^ pair[1]).is_power_of_two()));
            assert_eq!(words[0], code.states() as u32 - 1, "the erased state is all ones");
        }
    }

    #[test]
    fn codes_have_the_levels_of_their_names() {
        for (code, expected) in [
            (GrayCode::Mlc, "1-2"),
            (GrayCode::Tlc124, "1-2-4"),
            (GrayCode::Tlc232, "2-3-2"),
            (GrayCode::Qlc1248, "1-2-4-8"),
            (GrayCode::Qlc4443, "4-4-4-3"),
        ] {
            let counts: Vec<String> =
                (0..code.bits()).map(|page| code.page(page).levels().count().to_string()).collect();
            assert_eq!(counts.join("-"), expected);
            assert_eq!(serde_json::json!(code), expected);
        }
    }
}
