//! Layered min-sum in 8 bits: the decoder that is meant to be fast.
//!
//! ```text
//!   for each check:    q = P - R            extrinsic: posterior less the check's old message
//!                      R'= ± weaken(min of the other |q|)
//!                      P = q + R'           the next check sees it at once
//! ```
//!
//! Posteriors P are half-integers in 8 bits (see `simd`), messages R whole numbers: the difference
//! is again a half-integer, saturation is symmetric, and a decision is never a tie. An LLR of the
//! channel is moved by 1/2 away from zero; one of zero, or a punctured bit, becomes +1/2 or -1/2 by
//! its position, which is too little to leave its checks. Two minima serve all messages of a check:
//! the edge with the smallest |q| is sent the second. q takes the place of P in between, so that a
//! check touches each cache line of its bits twice and nothing else.
//!
//! The schedule is that of M. Mansour and N. Shanbhag (IEEE Trans. VLSI Systems 11, 2003), the
//! factor or offset that of J. Chen and M. Fossorier (IEEE Trans. Communications 50, 2002).

use super::{tie, transpose, Engine, Graph};
use crate::ldpc::simd::{Bytes, Hidden, Row, Weaken, LANES};

/// Checks between asking for the posteriors of a check and using them: far enough for the second
/// level of cache, measured on codes of 2,048 and 36,352 bits.
const AHEAD: usize = 4;

/// Messages and posteriors of 64 frames.
#[derive(Debug)]
pub(super) struct Layered {
    posteriors: Vec<Row>,
    /// From check to bit, by edge.
    messages: Vec<Row>,
    weaken: Weaken,
}

impl Layered {
    pub fn new(graph: &Graph, weaken: Weaken) -> Self {
        let zero = Row([0; LANES]);
        Self {
            posteriors: vec![zero; graph.column_count],
            messages: vec![zero; graph.columns.len()],
            weaken,
        }
    }
}

/// The half-integer of a whole LLR, one away from zero; `tie` decides for zero.
#[inline(always)]
pub(super) fn half_integer(llr: i8, tie: bool) -> i8 {
    let nonzero = llr.max(-127) - i8::from(llr < 0);
    if llr == 0 {
        -i8::from(tie)
    } else {
        nonzero
    }
}

impl Engine for Layered {
    type Llr = i8;
    const LANES: usize = LANES;

    #[inline(always)]
    fn begin<V: Bytes>(&mut self, graph: &Graph, llrs: &[i8], _frames: usize) {
        // Punctured bits are sent by nobody.
        if graph.sent.len() < graph.column_count {
            self.posteriors.fill(Row([0; LANES]));
        }
        transpose::read_bytes(llrs, &graph.sent, &mut self.posteriors);
        for (column, row) in (0_u32..).zip(&mut self.posteriors) {
            let tie = tie(column);
            for lane in &mut row.0 {
                *lane = half_integer(*lane, tie);
            }
        }
        self.messages.fill(Row([0; LANES]));
    }

    #[inline(always)]
    fn sweep<V: Bytes>(&mut self, graph: &Graph) {
        let hidden = Hidden::<V>::new();
        for (first, limit) in graph.rows() {
            let columns = &graph.columns[first..limit];
            let messages = &mut self.messages[first..limit];
            let ahead = AHEAD * (limit - first);
            let coming = graph.columns.get(first + ahead..limit + ahead).unwrap_or(columns);
            let edges = Edges { columns, coming };
            check::<V>(edges, messages, &mut self.posteriors, self.weaken, hidden);
        }
    }

    #[inline(always)]
    fn decide<V: Bytes>(&self, _graph: &Graph, hard: &mut [u64]) {
        let hidden = Hidden::<V>::new();
        for (word, row) in hard.iter_mut().zip(&self.posteriors) {
            *word = V::word(V::load(row).negative(hidden));
        }
    }
}

/// The bits of a check, and as many bits of one that comes soon.
#[derive(Clone, Copy)]
struct Edges<'a> {
    columns: &'a [u32],
    coming: &'a [u32],
}

/// One check in all lanes.
#[inline(always)]
fn check<V: Bytes>(
    edges: Edges<'_>,
    messages: &mut [Row],
    posteriors: &mut [Row],
    weaken: Weaken,
    hidden: Hidden<V>,
) {
    let mut least = V::splat(127);
    let mut second = least;
    let mut parity = V::splat(0);
    for (&column, message) in edges.columns.iter().zip(messages.iter()) {
        let posterior = &mut posteriors[column as usize];
        let extrinsic = V::load(posterior).sub(V::load(message));
        extrinsic.store(posterior);
        parity = parity.xor(extrinsic);
        let magnitude = extrinsic.magnitude(extrinsic.negative(hidden), hidden);
        second = second.min(least.max(magnitude));
        least = least.min(magnitude);
    }
    let odd = parity.negative(hidden);
    let to_others = least.weaken(weaken).negate_if(odd);
    let to_least = second.weaken(weaken).negate_if(odd);
    for ((&column, message), &coming) in edges.columns.iter().zip(messages).zip(edges.coming) {
        V::prefetch(&posteriors[coming as usize]);
        let posterior = &mut posteriors[column as usize];
        let extrinsic = V::load(posterior);
        let negative = extrinsic.negative(hidden);
        let is_least = extrinsic.magnitude(negative, hidden).equal(least);
        let sent = to_least.or_else(is_least, to_others).negate_if(negative);
        sent.store(message);
        extrinsic.add(sent).store(posterior);
    }
}
