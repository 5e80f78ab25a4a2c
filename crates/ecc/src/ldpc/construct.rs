//! The package's own codes for NAND: quasi-cyclic, built from their names alone.
//!
//! ```text
//!   block columns:   information, weight 4 (3)          parity: a staircase, see `encode`
//!                 [ . 17  .  3 ...  9  .  . 40 | 1 0          ]
//!                 [ 5  .  . 21 ...  .  8  .  . |   0 0        ]
//!                 [ .  2 11  . ...  . 30  6  . | 0   0 0      ]     . = zero block
//!                 [ 8  . 26  . ...  1  .  2 13 | 1     0 ...  ]     s = identity shifted by s
//! ```
//!
//! Columns are placed one after another, each edge at the place with the fewest short cycles, in
//! the spirit of progressive edge growth (X.-Y. Hu, E. Eleftheriou and D. Arnold, IEEE Trans.
//! Information Theory 51, 2005):
//!
//! 1. rows: those with the fewest ones yet, and of these pairs that share few columns;
//! 2. shifts: among all shifts of an edge, one that closes no cycle of length 4, and of those one
//!    that closes the fewest cycles of length 6; ties by a generator seeded with the code's number.
//!
//! Cycles are counted exactly, by difference: two rows `a`, `b` of one column with shifts `s`, `t`
//! are a step from `a` to `b` by `s - t`; equal steps in two columns are a cycle of 4, and a step
//! equal to the sum of two others is one of 6. Weight 4 keeps the error floor low (a NAND code must
//! reach frame error rates of 1e-10 and less); the codes of 1024 bits and of few rows have room for
//! 3 only. Lengths are powers of two for information; the rate in the name is nominal, the true one
//! is `LdpcCode::rate`.

use super::error::MatrixError;
use super::qc::BaseMatrix;

/// Shape of one code.
struct Shape {
    /// Rate in ten-thousandths, as in the name.
    rate_name: &'static str,
    info_blocks: usize,
    rows: usize,
}

/// Rate 0.80 to 0.95: 128 information blocks over as many rows as come nearest to the rate.
const SHAPES: [Shape; 6] = [
    Shape { rate_name: "r080", info_blocks: 128, rows: 32 },
    Shape { rate_name: "r085", info_blocks: 128, rows: 23 },
    Shape { rate_name: "r0889", info_blocks: 128, rows: 16 },
    Shape { rate_name: "r090", info_blocks: 128, rows: 14 },
    Shape { rate_name: "r0933", info_blocks: 128, rows: 9 },
    Shape { rate_name: "r095", info_blocks: 128, rows: 7 },
];

/// Name and block size of 1, 2 and 4 KiB of information.
const SIZES: [(&str, usize); 3] = [("1k", 64), ("2k", 128), ("4k", 256)];

/// 1024 bits at a rate of 8/9, as on the OpenNANDLab 2.0 benchmark page: 57 and 7 blocks of 16,
/// since 1024 has no ninth part.
const SHORT_NAME: &str = "nand-n1024-r0889";

/// Names of all codes, shortest code first.
pub(crate) fn names() -> Vec<String> {
    let sized = SIZES.iter().flat_map(|(size, _)| {
        SHAPES.iter().map(move |shape| format!("nand-{size}-{}", shape.rate_name))
    });
    std::iter::once(SHORT_NAME.to_owned()).chain(sized).collect()
}

/// The shifts of a code.
///
/// # Errors
/// [`MatrixError::Name`] with the names there are.
pub(crate) fn base_matrix(name: &str) -> Result<BaseMatrix, MatrixError> {
    let (info_blocks, rows, expansion, weight) = shape(name)?;
    let number = names().iter().position(|known| known == name).unwrap_or_default();
    Ok(Builder::new(info_blocks, rows, expansion, number as u64).build(weight))
}

/// Information bits and sent bits of a code, known from its shape alone.
///
/// # Errors
/// [`MatrixError::Name`] with the names there are.
pub(crate) fn lengths(name: &str) -> Result<(usize, usize), MatrixError> {
    let (blocks, rows, expansion, _) = shape(name)?;
    Ok((blocks * expansion, (blocks + rows) * expansion))
}

/// Information blocks of a code, block rows, size of a block, and ones in a column of information.
///
/// # Errors
/// [`MatrixError::Name`] with the names there are.
pub(crate) fn shape(name: &str) -> Result<(usize, usize, usize, usize), MatrixError> {
    let names = names();
    let Some(number) = names.iter().position(|known| known == name) else {
        return Err(MatrixError::Name { name: name.to_owned(), accepted: names.join(", ") });
    };
    if number == 0 {
        return Ok((57, 7, 16, 3));
    }
    let (size, shape) = ((number - 1) / SHAPES.len(), &SHAPES[(number - 1) % SHAPES.len()]);
    Ok((shape.info_blocks, shape.rows, SIZES[size].1, 4))
}

/// A matrix in the making, with the steps that its columns allow.
struct Builder {
    rows: usize,
    expansion: usize,
    info_blocks: usize,
    shifts: Vec<Vec<Option<u32>>>,
    row_weights: Vec<u32>,
    /// Columns that make the step from row `a` to row `b` by `d`, at `(a * rows + b) * Z + d`.
    steps: Vec<u32>,
    /// Walks of two steps through different columns, likewise.
    walks: Vec<u32>,
    random: u64,
}

impl Builder {
    fn new(info_blocks: usize, rows: usize, expansion: usize, seed: u64) -> Self {
        let size = rows * rows * expansion;
        let mut builder = Self {
            rows,
            expansion,
            info_blocks,
            shifts: vec![vec![None; info_blocks + rows]; rows],
            row_weights: vec![0; rows],
            steps: vec![0; size],
            walks: vec![0; size],
            random: seed,
        };
        builder.place_staircase();
        builder
    }

    /// The first parity column has shift 1 outside and 0 in the middle, the others two stairs.
    fn place_staircase(&mut self) {
        let (rows, first) = (self.rows, self.info_blocks);
        self.place(first, &[(0, 1), (rows / 2, 0), (rows - 1, 1)]);
        for row in 0..rows - 1 {
            self.place(first + 1 + row, &[(row, 0), (row + 1, 0)]);
        }
    }

    fn build(mut self, weight: usize) -> BaseMatrix {
        for column in 0..self.info_blocks {
            let edges = self.choose(weight);
            self.place(column, &edges);
        }
        let sent = vec![true; self.info_blocks + self.rows];
        BaseMatrix { expansion: self.expansion, shifts: self.shifts, sent, reduced: 0 }
    }

    /// Rows and shifts of the next column.
    fn choose(&mut self, weight: usize) -> Vec<(usize, u32)> {
        // A handful of attempts differ in their ties; the one with the fewest short cycles stays.
        let mut best: Option<(u64, Vec<(usize, u32)>)> = None;
        for _ in 0..16 {
            let rows = self.choose_rows(weight);
            let (cost, edges) = self.choose_shifts(&rows);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, edges));
            }
        }
        best.map(|(_, edges)| edges).unwrap_or_default()
    }

    /// The rows that carry least, at random among equals.
    fn choose_rows(&mut self, weight: usize) -> Vec<usize> {
        let mut order: Vec<(u32, u64, usize)> =
            (0..self.rows).map(|row| (self.row_weights[row], self.draw(), row)).collect();
        order.sort_unstable();
        order.truncate(weight);
        order.into_iter().map(|(_, _, row)| row).collect()
    }

    /// The best shift for one edge after another, and how many short cycles they close.
    fn choose_shifts(&mut self, rows: &[usize]) -> (u64, Vec<(usize, u32)>) {
        let mut edges: Vec<(usize, u32)> = Vec::with_capacity(rows.len());
        let mut total = 0;
        for &row in rows {
            let turn = self.draw() as usize % self.expansion;
            let costs = (0..self.expansion).map(|index| {
                let shift = (index + turn) % self.expansion;
                (self.cost(&edges, row, shift), shift)
            });
            // The first of equals: `turn` has chosen it at random.
            let (cost, shift) = costs.min_by_key(|&(cost, _)| cost).unwrap_or((0, 0));
            total += cost;
            edges.push((row, shift as u32));
        }
        (total, edges)
    }

    /// Cycles that an edge closes with those already in its column; one of 4 outweighs all of 6.
    fn cost(&self, edges: &[(usize, u32)], row: usize, shift: usize) -> u64 {
        edges
            .iter()
            .map(|&(other, other_shift)| {
                let index = self.step_index(other, row, other_shift as usize, shift);
                u64::from(self.steps[index]) << 32 | u64::from(self.walks[index])
            })
            .sum()
    }

    fn step_index(&self, from: usize, to: usize, from_shift: usize, to_shift: usize) -> usize {
        let difference = (from_shift + self.expansion - to_shift) % self.expansion;
        (from * self.rows + to) * self.expansion + difference
    }

    /// Writes a column, its steps, and the walks that they make with those of other columns.
    fn place(&mut self, column: usize, edges: &[(usize, u32)]) {
        let mut added = Vec::new();
        for &(row, shift) in edges {
            self.shifts[row][column] = Some(shift);
            self.row_weights[row] += 1;
            for &(other, other_shift) in edges {
                if other != row {
                    let index = self.step_index(row, other, shift as usize, other_shift as usize);
                    added.push((row, other, index % self.expansion));
                }
            }
        }
        for &(from, to, difference) in &added {
            self.extend_walks(from, to, difference);
        }
        for &(from, to, difference) in &added {
            self.steps[(from * self.rows + to) * self.expansion + difference] += 1;
        }
    }

    /// Walks of a new step followed by, or following, a step of an older column.
    fn extend_walks(&mut self, from: usize, to: usize, difference: usize) {
        let (rows, size) = (self.rows, self.expansion);
        for third in (0..rows).filter(|&row| row != from && row != to) {
            for step in 0..size {
                let sum = (difference + step) % size;
                let after = self.steps[(to * rows + third) * size + step];
                self.walks[(from * rows + third) * size + sum] += after;
                let before = self.steps[(third * rows + from) * size + step];
                self.walks[(third * rows + to) * size + sum] += before;
            }
        }
    }

    /// The generator `SplitMix64` (G. Steele, D. Lea and C. Flood, OOPSLA 2014).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::LdpcCode;

    #[test]
    fn every_code_is_what_its_name_says() {
        for name in names() {
            let code = LdpcCode::nand(&name).expect("a known name");
            let nominal = match name.rsplit('r').next().expect("a rate") {
                "080" => 0.80,
                "085" => 0.85,
                "0889" => 8.0 / 9.0,
                "090" => 0.90,
                "0933" => 14.0 / 15.0,
                _ => 0.95,
            };
            assert!((code.rate() - nominal).abs() < 0.0025, "{name}: {}", code.rate());
            let info_bits = match &name[5..7] {
                "1k" => 8192,
                "2k" => 16384,
                "4k" => 32768,
                _ => 912,
            };
            assert_eq!(code.info_bits(), info_bits, "{name}");
            assert_eq!(lengths(&name).expect("known"), (info_bits, code.code_bits()), "{name}");
            assert!(code.girth().expect("cycles") >= 6, "{name}: girth {:?}", code.girth());
        }
    }

    #[test]
    fn row_weights_are_even() {
        for name in names() {
            let code = LdpcCode::nand(&name).expect("a known name");
            let weights: Vec<usize> = code.matrix().rows().map(<[u32]>::len).collect();
            let (least, most) =
                (weights.iter().min().expect("rows"), weights.iter().max().expect("rows"));
            assert!(most - least <= 2, "{name}: {least} to {most}");
        }
    }
}
