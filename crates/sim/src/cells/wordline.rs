//! The cells of a wordline: one state each, from the images of its pages.
//!
//! Bit `7 - j % 8` of byte `j / 8` of each page is of cell `j`. A byte of every page is spread over
//! eight bytes, page by page into the bits of one word for each cell, and the word gives the state.

use opennandlab_ecc::cell::STATE_COUNT_MAX;

use crate::reliability::gray::GrayCode;

/// A byte with its bits, most significant first, as the lowest bits of eight bytes.
const SPREAD: [[u8; 8]; 256] = {
    let mut spread = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            spread[byte][bit] = (byte >> (7 - bit)) as u8 & 1;
            bit += 1;
        }
        byte += 1;
    }
    spread
};

/// The states of the cells of a wordline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wordline {
    pub(super) states: Vec<u8>,
}

impl Wordline {
    /// The cells that hold these pages, lower page first.
    ///
    /// # Panics
    /// When there are not as many pages as bits in a cell, or when they are not equally long.
    pub fn of(pages: &[&[u8]], code: GrayCode) -> Self {
        assert_eq!(pages.len(), code.bits(), "a page for each bit of a cell");
        let bytes = pages[0].len();
        assert!(pages.iter().all(|page| page.len() == bytes), "pages of one length");
        let mut state_of = [0; STATE_COUNT_MAX];
        for state in 0..code.states() {
            let word = (0..code.bits()).map(|page| usize::from(code.bit(state, page)) << page);
            state_of[word.sum::<usize>()] = state as u8;
        }
        let mut states = Vec::with_capacity(8 * bytes);
        for byte in 0..bytes {
            let mut words = 0;
            for (number, page) in pages.iter().enumerate() {
                words |= u64::from_le_bytes(SPREAD[usize::from(page[byte])]) << number;
            }
            let cells = words.to_le_bytes();
            states.extend(cells.map(|word| state_of[usize::from(word) & (STATE_COUNT_MAX - 1)]));
        }
        Self { states }
    }

    /// Cells that are erased.
    pub fn erased(cells: usize) -> Self {
        Self { states: vec![0; cells] }
    }

    /// The state of each cell.
    pub fn states(&self) -> &[u8] {
        &self.states
    }

    /// The image of a page.
    pub fn page(&self, code: GrayCode, page_type: usize) -> Vec<u8> {
        let byte = |cells: &[u8]| {
            let bit = |cell: &u8| code.bit(usize::from(*cell), page_type);
            cells.iter().fold(0, |byte, cell| byte << 1 | bit(cell))
        };
        self.states.chunks(8).map(byte).collect()
    }
}
