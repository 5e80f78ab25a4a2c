//! Encoders: from information bits to a word that satisfies every check.
//!
//! ```text
//!   any matrix       Gauss-Jordan over packed rows picks `rank` pivot columns, last columns first:
//!                    H -> [G | 1], and pivot bit r = sum of the information bits in row r of G
//!   quasi-cyclic,    the staircase needs no elimination, see `Staircase`: a sum of shifted blocks
//!   own codes        per block row, then one pass down the stairs
//! ```
//!
//! Rows that depend on others drop out by themselves, so k = columns - rank, not columns - rows
//! (T. Richardson and R. Urbanke, Modern Coding Theory, 2008, appendix A, for both).

use super::error::MatrixError;
use super::matrix::ParityMatrix;
use super::qc::BaseMatrix;

/// Word operations of an elimination that is still begun: half a minute, or a matrix of 16,384
/// checks and 32,768 bits.
const ELIMINATION_WORK_MAX: u128 = 1 << 37;

/// How the parity of a word follows from its information bits.
#[derive(Clone, Debug)]
pub(crate) enum Encoder {
    /// Each pivot bit is a sum of information bits.
    Dense(Dense),
    /// Block by block down the stairs.
    Staircase(Staircase),
}

/// A systematic generator from elimination.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    /// Columns that carry information, ascending.
    info_columns: Vec<u32>,
    /// Column of each row of `sums`.
    pivot_columns: Vec<u32>,
    /// Packed rows over the information bits, `words` each.
    sums: Vec<u64>,
    words: usize,
}

impl Dense {
    /// Solves the checks for as many columns as they determine; `last` are solved for first.
    ///
    /// # Errors
    /// [`MatrixError::Matrix`] for a matrix too large to eliminate.
    pub fn new(matrix: &ParityMatrix, first_choice: &[u32]) -> Result<Self, MatrixError> {
        let (rows, columns) = (matrix.row_count(), matrix.column_count());
        let words = columns.div_ceil(64);
        let work = (rows as u128) * (rows as u128) * (words as u128);
        if work > ELIMINATION_WORK_MAX {
            let message = format!(
                "{rows} rows and {columns} columns take {work} word operations to solve; accepted: \
                 at most {ELIMINATION_WORK_MAX}"
            );
            return Err(MatrixError::matrix(message));
        }
        let mut bits = vec![0_u64; rows * words];
        for (row, ones) in matrix.rows().enumerate() {
            for &column in ones {
                bits[row * words + column as usize / 64] ^= 1 << (column % 64);
            }
        }
        let mut is_first = vec![false; columns];
        for &column in first_choice {
            is_first[column as usize] = true;
        }
        let others = (0..columns as u32).rev().filter(|&column| !is_first[column as usize]);
        let order = first_choice.iter().copied().chain(others);
        let pivot_columns = eliminate(&mut bits, words, order);
        Ok(Self::from_reduced(&bits, words, columns, pivot_columns))
    }

    fn from_reduced(bits: &[u64], words: usize, columns: usize, pivot_columns: Vec<u32>) -> Self {
        let mut is_info = vec![true; columns];
        for &column in &pivot_columns {
            is_info[column as usize] = false;
        }
        let info_columns: Vec<u32> =
            (0..columns as u32).filter(|&column| is_info[column as usize]).collect();
        let sum_words = info_columns.len().div_ceil(64);
        let mut sums = vec![0_u64; pivot_columns.len() * sum_words];
        for (row, sum) in sums.chunks_exact_mut(sum_words.max(1)).enumerate() {
            let reduced = &bits[row * words..(row + 1) * words];
            for (index, &column) in info_columns.iter().enumerate() {
                let bit = reduced[column as usize / 64] >> (column % 64) & 1;
                sum[index / 64] |= bit << (index % 64);
            }
        }
        Self { info_columns, pivot_columns, sums, words: sum_words }
    }

    /// Independent checks.
    pub fn rank(&self) -> usize {
        self.pivot_columns.len()
    }

    /// Columns that carry information, ascending.
    pub fn info_columns(&self) -> &[u32] {
        &self.info_columns
    }

    fn encode(&self, info: &[u8], word: &mut [u8]) {
        let mut packed = vec![0_u64; self.words];
        for (index, (&bit, &column)) in info.iter().zip(&self.info_columns).enumerate() {
            packed[index / 64] |= u64::from(bit) << (index % 64);
            word[column as usize] = bit;
        }
        for (sum, &column) in self.sums.chunks_exact(self.words.max(1)).zip(&self.pivot_columns) {
            let folded = sum.iter().zip(&packed).fold(0, |fold, (a, b)| fold ^ (a & b));
            word[column as usize] = (folded.count_ones() & 1) as u8;
        }
    }
}

/// Gauss-Jordan in place: row `i` ends with the only one of the `i`-th column returned.
fn eliminate(bits: &mut [u64], words: usize, order: impl Iterator<Item = u32>) -> Vec<u32> {
    let rows = bits.len() / words;
    let mut pivots = Vec::new();
    let mut pivot_row = vec![0_u64; words];
    for column in order {
        if pivots.len() == rows {
            break;
        }
        let (word, mask) = (column as usize / 64, 1_u64 << (column % 64));
        let next = pivots.len();
        let Some(found) = (next..rows).find(|row| bits[row * words + word] & mask != 0) else {
            continue;
        };
        pivot_row.copy_from_slice(&bits[found * words..(found + 1) * words]);
        bits.copy_within(next * words..(next + 1) * words, found * words);
        bits[next * words..(next + 1) * words].copy_from_slice(&pivot_row);
        for (row, target) in bits.chunks_exact_mut(words).enumerate() {
            if row != next && target[word] & mask != 0 {
                target.iter_mut().zip(&pivot_row).for_each(|(a, b)| *a ^= b);
            }
        }
        pivots.push(column);
    }
    pivots
}

/// Parity of a quasi-cyclic code whose last `R` of `C` block columns are a staircase.
///
/// ```text
///   [ information |  a 0         ]    first parity column: shift a, then 0 in row `middle`, then a
///   [             |    0 0       ]    the others: identity on two stairs
///   [             |  0   0 0     ]
///   [             |  a     0 0 … ]
/// ```
///
/// The sum of all block rows leaves the first parity block alone, since every stair and both `a`
/// cancel; the rest follows row by row. (The form is that of IEEE 802.16e and 802.11n.)
#[derive(Clone, Debug)]
pub(crate) struct Staircase {
    base: BaseMatrix,
    info_blocks: usize,
    middle: usize,
    shift: usize,
}

impl Staircase {
    /// Takes a base matrix that has the form above.
    pub fn new(base: BaseMatrix) -> Option<Self> {
        let rows = base.shifts.len();
        let info_blocks = base.sent.len().checked_sub(rows)?;
        let first = |row: usize| base.shifts[row][info_blocks];
        let shift = first(0)? as usize;
        let mut inner = (1..rows.saturating_sub(1)).filter(|&row| first(row).is_some());
        let middle = inner.next()?;
        let is_first_column = inner.next().is_none()
            && first(middle) == Some(0)
            && first(rows - 1) == first(0)
            && base.sent.iter().all(|&sent| sent);
        let is_stairs = (0..rows).all(|row| {
            (1..rows).all(|column| {
                let stair = column == row || column == row + 1;
                base.shifts[row][info_blocks + column] == stair.then_some(0)
            })
        });
        (is_first_column && is_stairs).then_some(Self { base, info_blocks, middle, shift })
    }

    /// Bits of information.
    pub fn info_bits(&self) -> usize {
        self.info_blocks * self.base.expansion
    }

    fn encode(&self, info: &[u8], word: &mut [u8]) {
        let size = self.base.expansion;
        word[..info.len()].copy_from_slice(info);
        let parity = &mut word[info.len()..];
        // Block row r + 1 of the sums is built at the place of parity block r + 1.
        let mut sums = vec![0_u8; parity.len()];
        for (sum, shifts) in sums.chunks_exact_mut(size).zip(&self.base.shifts) {
            for (block, shift) in info.chunks_exact(size).zip(shifts) {
                if let Some(shift) = *shift {
                    add_rotated(sum, block, shift as usize);
                }
            }
        }
        let (first, rest) = parity.split_at_mut(size);
        first.fill(0);
        for sum in sums.chunks_exact(size) {
            add_rotated(first, sum, 0);
        }
        let mut stair = vec![0_u8; size];
        for (row, target) in rest.chunks_exact_mut(size).enumerate() {
            add_rotated(&mut stair, &sums[row * size..(row + 1) * size], 0);
            if row == 0 {
                add_rotated(&mut stair, first, self.shift);
            } else if row == self.middle {
                add_rotated(&mut stair, first, 0);
            }
            target.copy_from_slice(&stair);
        }
    }
}

/// Adds block `from`, rotated by a shift as in a matrix: bit `i` gets bit `(i + shift) mod size`.
fn add_rotated(to: &mut [u8], from: &[u8], shift: usize) {
    let (head, tail) = from.split_at(shift);
    let (low, high) = to.split_at_mut(tail.len());
    low.iter_mut().zip(tail).for_each(|(a, b)| *a ^= b);
    high.iter_mut().zip(head).for_each(|(a, b)| *a ^= b);
}

impl Encoder {
    /// Fills a word of all columns from information bits, one bit per byte.
    pub fn encode(&self, info: &[u8], word: &mut [u8]) {
        match self {
            Self::Dense(dense) => dense.encode(info, word),
            Self::Staircase(stairs) => stairs.encode(info, word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any matrix: words satisfy it, the information bits are at the stated positions, and
        /// there are 2^(columns - rank) words because the information positions are free.
        #[test]
        fn dense_words_satisfy_any_matrix(
            rows in prop::collection::vec(prop::collection::btree_set(0_u32..24, 1..6), 1..20),
            info in prop::collection::vec(0_u8..2, 24),
        ) {
            let rows: Vec<Vec<u32>> =
                rows.into_iter().map(|row| row.into_iter().collect()).collect();
            let matrix = ParityMatrix::from_rows(24, &rows).expect("a matrix");
            let dense = Dense::new(&matrix, &[5]).expect("small");
            prop_assert_eq!(dense.rank() + dense.info_columns().len(), 24);
            let info = &info[..dense.info_columns().len()];
            let mut word = vec![0; 24];
            dense.encode(info, &mut word);
            prop_assert!(matrix.is_codeword(&word));
            for (&bit, &column) in info.iter().zip(dense.info_columns()) {
                prop_assert_eq!(word[column as usize], bit);
            }
        }
    }

    #[test]
    fn dependent_rows_do_not_count() {
        let rows = vec![vec![0, 1], vec![1, 2], vec![0, 2]];
        let matrix = ParityMatrix::from_rows(3, &rows).expect("a matrix");
        assert_eq!(Dense::new(&matrix, &[]).expect("small").rank(), 2);
    }

    #[test]
    fn both_encoders_agree_on_a_staircase() {
        let text = "7 4 5\n1 3 0 2 0 -1 -1\n4 -1 2 -1 0 0 -1\n-1 2 1 0 -1 0 0\n0 1 4 2 -1 -1 0\n";
        let base = BaseMatrix::parse(text).expect("a base matrix");
        let matrix = base.expand().expect("its matrix");
        let stairs = Staircase::new(base).expect("a staircase");
        let dense = Dense::new(&matrix, &[]).expect("small");
        assert_eq!((stairs.info_bits(), dense.rank()), (15, 20));
        for seed in 0..1 << 8 {
            let info: Vec<u8> = (0..15).map(|bit| ((seed * 2_654_435) >> bit & 1) as u8).collect();
            let (mut word, mut other) = (vec![0; 35], vec![0; 35]);
            stairs.encode(&info, &mut word);
            dense.encode(&info, &mut other);
            assert!(matrix.is_codeword(&word));
            assert_eq!(word, other);
        }
    }

    #[test]
    fn a_matrix_that_would_take_minutes_is_refused() {
        let rows: Vec<Vec<u32>> = (0..100_000).map(|row| vec![row]).collect();
        let matrix = ParityMatrix::from_rows(100_000, &rows).expect("a matrix");
        let refused = Dense::new(&matrix, &[]).expect_err("refused").to_string();
        assert!(refused.contains("accepted: at most 137438953472"), "{refused}");
    }
}
