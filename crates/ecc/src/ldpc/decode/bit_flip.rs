//! Weighted bit flipping: the bit that its checks accuse most is flipped, one per iteration.
//!
//! ```text
//!   weight of a check      w = least |LLR| of its bits
//!   accusation of a bit    E = sum over its checks of +w if the check fails, -w if it holds
//! ```
//!
//! Equal accusations fall on the least trusted bit, then on the first (Y. Kou, S. Lin and M.
//! Fossorier, IEEE Trans. Information Theory 47, 2001). A flip changes only the accusations of the
//! bits around its checks, so those are kept up to date. One frame at a time; an iteration corrects
//! at most one bit, so a long code needs as many iterations as it has errors.

use super::{tie, Engine, Graph};
use crate::ldpc::simd::Bytes;

/// State of one frame.
#[derive(Debug)]
pub(super) struct BitFlip {
    bits: Vec<bool>,
    /// |LLR| by column.
    trust: Vec<f32>,
    accusations: Vec<f32>,
    weights: Vec<f32>,
    failed: Vec<bool>,
    /// Checks sorted by column; those of column `c` are `checks[starts[c]..starts[c + 1]]`.
    checks: Vec<u32>,
    starts: Vec<u32>,
}

impl BitFlip {
    pub fn new(graph: &Graph) -> Self {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); graph.column_count];
        for (row, (first, limit)) in (0_u32..).zip(graph.rows()) {
            for &column in &graph.columns[first..limit] {
                rows[column as usize].push(row);
            }
        }
        let mut starts = vec![0];
        let mut checks = Vec::with_capacity(graph.columns.len());
        for list in &rows {
            checks.extend_from_slice(list);
            starts.push(checks.len() as u32);
        }
        let row_count = graph.starts.len() - 1;
        Self {
            bits: vec![false; graph.column_count],
            trust: vec![0.0; graph.column_count],
            accusations: vec![0.0; graph.column_count],
            weights: vec![0.0; row_count],
            failed: vec![false; row_count],
            checks,
            starts,
        }
    }

    #[inline(always)]
    fn accuse(&mut self, graph: &Graph, row: usize, weight: f32) {
        let limits = graph.starts[row] as usize..graph.starts[row + 1] as usize;
        for &column in &graph.columns[limits] {
            self.accusations[column as usize] += weight;
        }
    }

    /// The bit that is accused most.
    #[inline(always)]
    fn suspect(&self) -> usize {
        let mut worst = 0;
        for column in 1..self.accusations.len() {
            let (found, best) = (self.accusations[column], self.accusations[worst]);
            if found > best || (found == best && self.trust[column] < self.trust[worst]) {
                worst = column;
            }
        }
        worst
    }
}

impl Engine for BitFlip {
    type Llr = f32;
    const LANES: usize = 1;

    #[inline(always)]
    fn begin<V: Bytes>(&mut self, graph: &Graph, llrs: &[f32], _frames: usize) {
        for (column, bit) in (0_u32..).zip(&mut self.bits) {
            *bit = tie(column);
        }
        self.trust.fill(0.0);
        for (&llr, &column) in llrs.iter().zip(&graph.sent) {
            self.trust[column as usize] = llr.abs();
            if llr != 0.0 {
                self.bits[column as usize] = llr < 0.0;
            }
        }
        self.accusations.fill(0.0);
        for (row, (first, limit)) in graph.rows().enumerate() {
            let columns = &graph.columns[first..limit];
            let trust = columns.iter().map(|&column| self.trust[column as usize]);
            self.weights[row] = trust.fold(f32::MAX, f32::min);
            self.failed[row] =
                columns.iter().fold(false, |parity, &column| parity ^ self.bits[column as usize]);
            let sign = if self.failed[row] { 1.0 } else { -1.0 };
            self.accuse(graph, row, sign * self.weights[row]);
        }
    }

    #[inline(always)]
    fn sweep<V: Bytes>(&mut self, graph: &Graph) {
        let suspect = self.suspect();
        self.bits[suspect] ^= true;
        for index in self.starts[suspect]..self.starts[suspect + 1] {
            let row = self.checks[index as usize] as usize;
            self.failed[row] ^= true;
            let sign = if self.failed[row] { 2.0 } else { -2.0 };
            self.accuse(graph, row, sign * self.weights[row]);
        }
    }

    #[inline(always)]
    fn decide<V: Bytes>(&self, _graph: &Graph, hard: &mut [u64]) {
        for (word, &bit) in hard.iter_mut().zip(&self.bits) {
            *word = u64::from(bit);
        }
    }
}
