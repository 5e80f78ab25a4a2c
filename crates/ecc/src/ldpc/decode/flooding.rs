//! Flooding min-sum: 8-bit messages, 16-bit posteriors.
//!
//! ```text
//!   for each check:    q  = clamp(P - R) to 8 bits,  R' = ± weaken(min of the other |q|)
//!   then for each bit: P' = channel + sum of its R'
//! ```
//!
//! All checks see the posteriors of the last iteration, as in the tables of the literature. Numbers
//! are half-integers and whole ones as in `layered`; the sum of a bit does not saturate in 16 bits.

use super::{transpose, Engine, Graph};
use crate::ldpc::simd::{Bytes, Hidden, Row, Weaken, LANES};

/// A 16-bit value for each of 64 frames.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct WideRow([i16; LANES]);

/// Messages and posteriors of 64 frames.
#[derive(Debug)]
pub(super) struct Flooding {
    channel: Vec<Row>,
    posteriors: Vec<WideRow>,
    /// Posteriors in the making.
    sums: Vec<WideRow>,
    /// From check to bit, by edge.
    messages: Vec<Row>,
    /// Extrinsic values of one check.
    extrinsics: Vec<Row>,
    weaken: Weaken,
}

impl Flooding {
    pub fn new(graph: &Graph, weaken: Weaken) -> Self {
        let zero = Row([0; LANES]);
        let wide = WideRow([0; LANES]);
        Self {
            channel: vec![zero; graph.column_count],
            posteriors: vec![wide; graph.column_count],
            sums: vec![wide; graph.column_count],
            messages: vec![zero; graph.columns.len()],
            extrinsics: vec![zero; graph.row_weight_max],
            weaken,
        }
    }
}

#[inline(always)]
fn widen(row: &Row, wide: &mut WideRow) {
    for (wide, &lane) in wide.0.iter_mut().zip(&row.0) {
        *wide = i16::from(lane);
    }
}

impl Engine for Flooding {
    type Llr = i8;
    const LANES: usize = LANES;

    #[inline(always)]
    fn begin<V: Bytes>(&mut self, graph: &Graph, llrs: &[i8], _frames: usize) {
        transpose::read_llrs::<V>(llrs, &graph.sent, &mut self.channel);
        for (row, wide) in self.channel.iter().zip(&mut self.posteriors) {
            widen(row, wide);
        }
        self.messages.fill(Row([0; LANES]));
    }

    #[inline(always)]
    fn sweep<V: Bytes>(&mut self, graph: &Graph) {
        let hidden = Hidden::<V>::new();
        for (row, sum) in self.channel.iter().zip(&mut self.sums) {
            widen(row, sum);
        }
        for (first, limit) in graph.rows() {
            let columns = &graph.columns[first..limit];
            let messages = &mut self.messages[first..limit];
            let extrinsics = &mut self.extrinsics[..limit - first];
            for ((&column, message), extrinsic) in
                columns.iter().zip(messages.iter()).zip(extrinsics.iter_mut())
            {
                let posterior = &self.posteriors[column as usize];
                for (lane, out) in extrinsic.0.iter_mut().enumerate() {
                    let difference = posterior.0[lane].saturating_sub(message.0[lane].into());
                    *out = difference.clamp(-128, 127) as i8;
                }
            }
            answer::<V>(extrinsics, messages, self.weaken, hidden);
            for (&column, message) in columns.iter().zip(messages.iter()) {
                let sum = &mut self.sums[column as usize];
                for (sum, &lane) in sum.0.iter_mut().zip(&message.0) {
                    *sum = sum.saturating_add(lane.into());
                }
            }
        }
        std::mem::swap(&mut self.posteriors, &mut self.sums);
    }

    #[inline(always)]
    fn decide<V: Bytes>(&self, _graph: &Graph, hard: &mut [u64]) {
        let hidden = Hidden::<V>::new();
        for (word, row) in hard.iter_mut().zip(&self.posteriors) {
            let mut signs = Row([0; LANES]);
            for (sign, &lane) in signs.0.iter_mut().zip(&row.0) {
                *sign = (lane >> 15) as i8;
            }
            *word = V::word(V::load(&signs).negative(hidden));
        }
    }
}

/// The messages of one check to each of its bits.
#[inline(always)]
fn answer<V: Bytes>(extrinsics: &[Row], messages: &mut [Row], weaken: Weaken, hidden: Hidden<V>) {
    let mut least = V::splat(127);
    let mut second = least;
    let mut parity = V::splat(0);
    for extrinsic in extrinsics {
        let extrinsic = V::load(extrinsic);
        parity = parity.xor(extrinsic);
        let magnitude = extrinsic.magnitude(extrinsic.negative(hidden), hidden);
        second = second.min(least.max(magnitude));
        least = least.min(magnitude);
    }
    let odd = parity.negative(hidden);
    let to_others = least.weaken(weaken).negate_if(odd);
    let to_least = second.weaken(weaken).negate_if(odd);
    for (extrinsic, message) in extrinsics.iter().zip(messages) {
        let extrinsic = V::load(extrinsic);
        let negative = extrinsic.negative(hidden);
        let is_least = extrinsic.magnitude(negative, hidden).equal(least);
        to_least.select(is_least, to_others).negate_if(negative).store(message);
    }
}
