//! Rows that many edges share, met by edge without asking each time whether the row exists.
//!
//! Every edge's row is compared with the number of rows once, in [`Linked::new`]; neither the rows
//! nor the edges can change their number afterwards, so the accesses by edge are sound. The check
//! per access that this saves was one of nine instructions of a min-sum edge. Layered min-sum of
//! `nand-4k-r090` in 8 bits was 3 % slower with the checks (best of 28 rounds each, in turns, on a
//! busy machine: at the edge of what could be measured there).

use super::{Bytes, Row, LANES};

/// Rows, and for each edge the row that it is connected to.
#[derive(Clone, Debug)]
pub(crate) struct Linked {
    rows: Vec<Row>,
    /// Bytes from the first row to that of the edge: a multiple of 64, below `64 * rows.len()`.
    offsets: Vec<u32>,
}

impl Linked {
    /// `count` rows of zeros; edge `i` is connected to row `edges[i]`.
    ///
    /// # Panics
    /// When an edge refers to a missing row, or offsets leave 32 bits.
    pub fn new(count: usize, edges: &[u32]) -> Self {
        assert!(count <= u32::MAX as usize / LANES, "{count} rows are more than 32 bits can reach");
        assert!(edges.iter().all(|&row| (row as usize) < count), "an edge beyond {count} rows");
        let offsets = edges.iter().map(|&row| row * LANES as u32).collect();
        Self { rows: vec![Row([0; LANES]); count], offsets }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn rows_mut(&mut self) -> &mut [Row] {
        &mut self.rows
    }

    /// `count` edges from `first` on.
    #[inline(always)]
    pub fn edges(&mut self, first: usize, count: usize) -> Edges<'_> {
        Edges { rows: &mut self.rows, offsets: &self.offsets[first..first + count] }
    }

    /// `count` pairs of edges from each of two places on.
    #[inline(always)]
    pub fn pairs(&mut self, firsts: [usize; 2], count: usize) -> Pairs<'_> {
        let pairs = |first: usize| {
            // The length equals the count; stated here, accesses below it need no check.
            &self.offsets[first..first + 2 * count].as_chunks().0[..count]
        };
        Pairs { offsets: [pairs(firsts[0]), pairs(firsts[1])], rows: &mut self.rows }
    }
}

/// Some edges of a [`Linked`], numbered from 0.
pub(crate) struct Edges<'a> {
    rows: &'a mut [Row],
    offsets: &'a [u32],
}

impl Edges<'_> {
    #[inline(always)]
    pub fn load<V: Bytes>(&self, edge: usize) -> V {
        // SAFETY: the offset is that of a row, see `Linked`; rows are 64 bytes each.
        V::load(unsafe { &*self.rows.as_ptr().byte_add(self.offsets[edge] as usize) })
    }

    #[inline(always)]
    pub fn store<V: Bytes>(&mut self, edge: usize, value: V) {
        // SAFETY: as above, and the rows are borrowed exclusively.
        value.store(unsafe { &mut *self.rows.as_mut_ptr().byte_add(self.offsets[edge] as usize) });
    }
}

/// Pairs of edges of a [`Linked`] in two places, numbered from 0 in each.
pub(crate) struct Pairs<'a> {
    rows: &'a mut [Row],
    offsets: [&'a [[u32; 2]]; 2],
}

impl Pairs<'_> {
    /// The row of an edge of the second place.
    #[inline(always)]
    pub fn load<V: Bytes>(&self, pair: usize, side: usize) -> V {
        let offset = self.offsets[1][pair][side];
        // SAFETY: the offset is that of a row, see `Linked`; rows are 64 bytes each.
        V::load(unsafe { &*self.rows.as_ptr().byte_add(offset as usize) })
    }

    /// Writes the row of an edge of the first place.
    #[inline(always)]
    pub fn store<V: Bytes>(&mut self, pair: usize, side: usize, value: V) {
        let offset = self.offsets[0][pair][side];
        // SAFETY: as above, and the rows are borrowed exclusively.
        value.store(unsafe { &mut *self.rows.as_mut_ptr().byte_add(offset as usize) });
    }
}
