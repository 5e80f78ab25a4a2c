//! Layered min-sum in 8 bits: the decoder that is meant to be fast.
//!
//! ```text
//!   for each check:    q = P - R                                    extrinsic value
//!                      R'= ± min(weaken(min of the other |q|), M)   answer
//!                      P = q + R'                                   the next check sees it at once
//! ```
//!
//! Posteriors P are half-integers in 8 bits (see `simd`), messages R whole numbers: the difference
//! is again a half-integer, saturation is symmetric, and a decision is never a tie. An LLR of the
//! channel is moved by 1/2 away from zero; one of zero, or a punctured bit, becomes +1/2 or -1/2 by
//! its position, which is too little to leave its checks. Two minima serve all messages of a check:
//! the edge with the smallest |q| is sent the second. q takes the place of P in between.
//!
//! A posterior at its limit no longer holds all its messages, so P - R takes off more than was
//! added. Messages are therefore cut at M, a third of the range, or less where
//! [`Weaken::steady_max`] asks for it: then a decided frame stays as it is at any number of
//! iterations, and its posteriors keep two thirds of their range in hand. Of 24, 31 and 42, the
//! last came closest to floats on the 802.16e code (576,480) at 4.5 dB: 1.7, 1.1, 1.0
//! times their rate.
//!
//! Messages are kept as rows while they leave room in the second level of cache; beyond, where
//! masks are words, as both answers of a check and two bits for each edge and frame, a fifth of the
//! memory. Both forms give the same messages.
//!
//! The schedule is that of M. Mansour and N. Shanbhag (IEEE Trans. VLSI Systems 11, 2003), the
//! factor or offset that of J. Chen and M. Fossorier (IEEE Trans. Communications 50, 2002).

use super::{tie, transpose, Engine, Graph};
use crate::ldpc::simd::{Bytes, Edges, Hidden, Linked, Row, Weaken, LANES};

/// Largest message, in steps of an LLR; see above.
const MESSAGE_MAX: u8 = 42;

/// The most messages that are kept as rows: half a megabyte. A code of 2,048 bits and 12,288
/// messages gained a tenth from the other form, one of 576 bits and 1,920 messages lost as much.
const PLAIN_ROWS: usize = 8192;

/// Messages and posteriors of 64 frames.
#[derive(Debug)]
pub(super) struct Layered {
    posteriors: Linked,
    /// From check to bit, by edge; used when `is_plain`.
    messages: Vec<Row>,
    /// By check: what the edge with the least |q| is sent, and all others, before their signs.
    answers: Vec<[Row; 2]>,
    /// By edge: frames in which it is sent a negated answer, and in which it is the least.
    marks: Vec<[u64; 2]>,
    rule: Rule,
}

/// How answers are made of minima.
#[derive(Clone, Copy, Debug)]
struct Rule {
    weaken: Weaken,
    /// The largest answer.
    most: i8,
}

impl Layered {
    pub fn new(graph: &Graph, weaken: Weaken) -> Self {
        let most = MESSAGE_MAX.min(weaken.steady_max()) as i8;
        Self {
            posteriors: Linked::new(graph.column_count, &graph.columns),
            messages: Vec::new(),
            answers: Vec::new(),
            marks: Vec::new(),
            rule: Rule { weaken, most },
        }
    }
}

/// Whether messages are kept as rows.
#[inline(always)]
fn is_plain<V: Bytes>(graph: &Graph) -> bool {
    !V::MASKS_ARE_WORDS || graph.columns.len() <= PLAIN_ROWS
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
        let zero = Row([0; LANES]);
        let posteriors = self.posteriors.rows_mut();
        // Punctured bits are sent by nobody.
        if graph.sent.len() < graph.column_count {
            posteriors.fill(zero);
        }
        transpose::read_bytes(llrs, &graph.sent, posteriors);
        for (column, row) in (0_u32..).zip(posteriors) {
            let tie = tie(column);
            for lane in &mut row.0 {
                *lane = half_integer(*lane, tie);
            }
        }
        // Sized on first use, zeroed on every: an engine meets one code and one path only.
        if is_plain::<V>(graph) {
            self.messages.resize(graph.columns.len(), zero);
            self.messages.fill(zero);
        } else {
            self.answers.resize(graph.starts.len() - 1, [zero; 2]);
            self.answers.fill([zero; 2]);
            self.marks.resize(graph.columns.len(), [0; 2]);
        }
    }

    #[inline(always)]
    fn sweep<V: Bytes>(&mut self, graph: &Graph) {
        let hidden = Hidden::<V>::new();
        for (index, (first, limit)) in graph.rows().enumerate() {
            let edges = self.posteriors.edges(first, limit);
            if is_plain::<V>(graph) {
                let memory = Plain { messages: &mut self.messages[first..limit] };
                check::<V>(edges, memory, self.rule, hidden);
            } else {
                let answers = &mut self.answers[index];
                let memory = Packed::<V>::new(answers, &mut self.marks[first..limit]);
                check::<V>(edges, memory, self.rule, hidden);
            }
        }
    }

    #[inline(always)]
    fn decide<V: Bytes>(&self, _graph: &Graph, hard: &mut [u64]) {
        let hidden = Hidden::<V>::new();
        for (word, row) in hard.iter_mut().zip(self.posteriors.rows()) {
            *word = V::word(V::load(row).negative(hidden));
        }
    }
}

/// Messages of one check from one iteration to the next.
trait Memory<V: Bytes> {
    /// The message that the edge was sent last.
    fn recall(&self, edge: usize) -> V;
    /// Takes both answers, before any edge is kept.
    fn answer(&mut self, to_least: V, to_others: V);
    /// Takes the message that the edge is sent now, and how it is made of the answers.
    fn keep(&mut self, edge: usize, sent: V, negative: V::Mask, is_least: V::Mask);
}

/// Messages as they are.
struct Plain<'a> {
    messages: &'a mut [Row],
}

impl<V: Bytes> Memory<V> for Plain<'_> {
    #[inline(always)]
    fn recall(&self, edge: usize) -> V {
        V::load(&self.messages[edge])
    }
    #[inline(always)]
    fn answer(&mut self, _: V, _: V) {}
    #[inline(always)]
    fn keep(&mut self, edge: usize, sent: V, _: V::Mask, _: V::Mask) {
        sent.store(&mut self.messages[edge]);
    }
}

/// Answers and marks.
struct Packed<'a, V> {
    answers: &'a mut [Row; 2],
    marks: &'a mut [[u64; 2]],
    to_least: V,
    to_others: V,
}

impl<'a, V: Bytes> Packed<'a, V> {
    #[inline(always)]
    fn new(answers: &'a mut [Row; 2], marks: &'a mut [[u64; 2]]) -> Self {
        let (to_least, to_others) = (V::load(&answers[0]), V::load(&answers[1]));
        Self { answers, marks, to_least, to_others }
    }
}

impl<V: Bytes> Memory<V> for Packed<'_, V> {
    #[inline(always)]
    fn recall(&self, edge: usize) -> V {
        let [negative, is_least] = self.marks[edge];
        self.to_least.or_else(V::mask(is_least), self.to_others).negate_if(V::mask(negative))
    }
    #[inline(always)]
    fn answer(&mut self, to_least: V, to_others: V) {
        to_least.store(&mut self.answers[0]);
        to_others.store(&mut self.answers[1]);
    }
    #[inline(always)]
    fn keep(&mut self, edge: usize, _: V, negative: V::Mask, is_least: V::Mask) {
        self.marks[edge] = [V::word(negative), V::word(is_least)];
    }
}

/// One check in all lanes.
#[inline(always)]
fn check<V: Bytes>(
    mut edges: Edges<'_>,
    mut memory: impl Memory<V>,
    rule: Rule,
    hidden: Hidden<V>,
) {
    let mut least = V::splat(127);
    let mut second = least;
    let mut parity = V::splat(0);
    for edge in 0..edges.len() {
        let extrinsic = edges.load::<V>(edge).sub(memory.recall(edge));
        edges.store(edge, extrinsic);
        parity = parity.xor(extrinsic);
        let magnitude = extrinsic.magnitude(extrinsic.negative(hidden), hidden);
        second = second.min(least.max(magnitude));
        least = least.min(magnitude);
    }
    let odd = parity.negative(hidden);
    let most = V::splat(rule.most);
    let to_others = least.weaken(rule.weaken).min(most).negate_if(odd);
    let to_least = second.weaken(rule.weaken).min(most).negate_if(odd);
    memory.answer(to_least, to_others);
    for edge in 0..edges.len() {
        let extrinsic = edges.load::<V>(edge);
        let negative = extrinsic.negative(hidden);
        let is_least = extrinsic.magnitude(negative, hidden).equal(least);
        let sent = to_least.or_else(is_least, to_others).negate_if(negative);
        memory.keep(edge, sent, negative, is_least);
        edges.store(edge, extrinsic.add(sent));
    }
}
