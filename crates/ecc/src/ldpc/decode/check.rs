//! One check of layered min-sum after another, two at a time.
//!
//! ```text
//!   read    edges of check i + 1   q = P - R,  least, second, parity        ┐ edge by edge
//!   answer  edges of check i       R' = ± (least or second),  P = q + R'    ┘ in turn
//! ```
//!
//! Until the last edge is read no edge can be answered, and a processor that waits there does
//! nothing. So the answers to one check go between the reads of the next, which must have no bit in
//! common with it; a *note* is kept of each edge in between. On an AVX-512 machine, where messages
//! come from the second level of cache, this took a quarter off the time of a check of 32 edges.
//!
//! What a check has sent is kept in one of two forms, which give the same messages. [`Plain`]:
//! messages as they are, a row each. [`Packed`]: both answers of a check, and two bits for each
//! edge and frame; a fifth of the memory, for two more operations an edge.

use crate::ldpc::simd::{Bytes, Hidden, Linked, Row, Weaken};

/// How answers are made of minima.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub weaken: Weaken,
    /// The largest answer.
    pub most: i8,
}

/// A check that has been read: what decides the messages to its edges.
#[derive(Clone, Copy)]
pub(super) struct Answers<V> {
    least: V,
    /// To the edge with the least |q|, before its own sign.
    to_least: V,
    /// To all other edges, before their own signs.
    to_others: V,
}

impl<V: Bytes> Answers<V> {
    #[inline(always)]
    fn to(&self, is_least: V::Mask) -> V {
        self.to_least.select(is_least, self.to_others)
    }
}

/// A form in which messages are kept.
pub(super) trait Form<V: Bytes> {
    /// State of an edge that is kept until the next iteration.
    type Edge;
    /// State of a check that is kept until the next iteration.
    type Sent;
    /// State of an edge that is kept until the edge is answered.
    type Note;
    /// Keeps the answers of a check, to the least edge and to the others.
    fn keep(sent: &mut Self::Sent, answers: [V; 2]);
    /// The answers that were kept.
    fn kept(sent: &Self::Sent) -> [V; 2];
    /// Prefetches the state of an edge, if it is not recalled.
    fn prefetch_for_write(edge: &Self::Edge);
    /// The message that was sent last; `answers` are those of the check then.
    fn recall(edge: &Self::Edge, answers: [V; 2]) -> V;
    /// Takes an extrinsic value, its sign and its magnitude.
    fn note(edge: &mut Self::Edge, note: &mut Self::Note, value: V, negative: V::Mask, size: V);
    /// Keeps the message to an edge; returns the new posterior.
    fn send(edge: &mut Self::Edge, note: &Self::Note, answers: Answers<V>, by: Hidden<V>) -> V;
}

/// Messages as they are; the note is q.
pub(super) struct Plain;

impl<V: Bytes> Form<V> for Plain {
    type Edge = Row;
    type Sent = ();
    type Note = Row;

    #[inline(always)]
    fn keep((): &mut (), _: [V; 2]) {}
    #[inline(always)]
    fn kept((): &()) -> [V; 2] {
        [V::splat(0); 2]
    }
    #[inline(always)]
    fn prefetch_for_write(edge: &Row) {
        V::prefetch_for_write(edge);
    }
    #[inline(always)]
    fn recall(edge: &Row, _: [V; 2]) -> V {
        V::load(edge)
    }
    #[inline(always)]
    fn note(_: &mut Row, note: &mut Row, value: V, _: V::Mask, _: V) {
        value.store(note);
    }
    #[inline(always)]
    fn send(edge: &mut Row, note: &Row, answers: Answers<V>, hidden: Hidden<V>) -> V {
        // Sign and magnitude again: to store and load them takes longer.
        let value = V::load(note);
        let negative = value.negative(hidden);
        let is_least = value.magnitude(negative, hidden).equal(answers.least);
        let message = answers.to(is_least).negate_if(negative);
        message.store(edge);
        value.add(message)
    }
}

/// Frames in which an edge was sent a negated answer, and in which it was the least; the note is q
/// and |q|.
pub(super) struct Packed;

impl<V: Bytes> Form<V> for Packed {
    type Edge = [u64; 2];
    type Sent = [Row; 2];
    type Note = [Row; 2];

    #[inline(always)]
    fn keep(sent: &mut [Row; 2], answers: [V; 2]) {
        answers[0].store(&mut sent[0]);
        answers[1].store(&mut sent[1]);
    }
    #[inline(always)]
    fn kept(sent: &[Row; 2]) -> [V; 2] {
        [V::load(&sent[0]), V::load(&sent[1])]
    }
    #[inline(always)]
    fn prefetch_for_write(_: &[u64; 2]) {}
    #[inline(always)]
    fn recall(edge: &[u64; 2], [to_least, to_others]: [V; 2]) -> V {
        let [negative, is_least] = *edge;
        to_least.select(V::mask(is_least), to_others).negate_if(V::mask(negative))
    }
    #[inline(always)]
    fn note(edge: &mut [u64; 2], note: &mut [Row; 2], value: V, negative: V::Mask, size: V) {
        edge[0] = V::word(negative);
        value.store(&mut note[0]);
        size.store(&mut note[1]);
    }
    #[inline(always)]
    fn send(edge: &mut [u64; 2], note: &[Row; 2], answers: Answers<V>, _: Hidden<V>) -> V {
        let (value, size) = (V::load(&note[0]), V::load(&note[1]));
        let is_least = size.equal(answers.least);
        edge[1] = V::word(is_least);
        // Saturation is symmetric: the value added to q is added to |q|, and the result is inverted
        // if q is negative. There, q differs from |q| in all bits, elsewhere in none.
        size.add(answers.to(is_least)).xor(value).xor(size)
    }
}

/// Checks of equally many edges, none with a bit of the one before.
pub(super) struct Run<'a, E, S> {
    pub degree: usize,
    /// Number of the first edge.
    pub first: usize,
    /// Kept state, by edge of the run.
    pub edges: &'a mut [E],
    /// Kept state, by check of the run.
    pub sent: &'a mut [S],
}

/// Reading and answering, in all lanes.
pub(super) struct Lanes<'a, V> {
    pub posteriors: &'a mut Linked,
    pub rule: Rule,
    pub hidden: Hidden<V>,
}

impl<V: Bytes> Lanes<'_, V> {
    /// One iteration of a run, the `FIRST` or a later one. `notes` has room for two checks.
    #[inline(always)]
    pub fn run<F: Form<V>, const FIRST: bool>(
        &mut self,
        run: Run<'_, F::Edge, F::Sent>,
        notes: &mut [F::Note],
    ) {
        let degree = run.degree;
        let (mut notes, mut next_notes) = notes[..2 * degree].split_at_mut(degree);
        let mut checks = run.edges.chunks_exact_mut(degree).zip(run.sent);
        let (mut first, Some((mut edges, sent))) = (run.first, checks.next()) else { return };
        let mut minima = Minima::new(F::kept(sent), self.hidden);
        let posteriors = self.posteriors.edges(first, degree);
        for (index, (edge, note)) in edges.iter_mut().zip(&mut *notes).enumerate() {
            let value = minima.read::<F, FIRST>(posteriors.load(index), edge, note);
            minima.parity = minima.parity.xor(value);
        }
        let mut answers = minima.answers(self.rule);
        F::keep(sent, [answers.to_least, answers.to_others]);
        for (next_edges, sent) in checks {
            let done = Check { first, edges, notes: &mut *notes };
            first += degree;
            let next = Check { first, edges: &mut *next_edges, notes: &mut *next_notes };
            let minima = Minima::new(F::kept(sent), self.hidden);
            answers = self.answer_and_read::<F, FIRST>((done, answers), (next, minima));
            F::keep(sent, [answers.to_least, answers.to_others]);
            (edges, notes, next_notes) = (next_edges, next_notes, notes);
        }
        let mut posteriors = self.posteriors.edges(first, degree);
        for (index, (edge, note)) in edges.iter_mut().zip(notes).enumerate() {
            posteriors.store(index, F::send(edge, note, answers, self.hidden));
        }
    }

    /// Answers one check and reads the next, of equally many edges.
    #[inline(always)]
    fn answer_and_read<F: Form<V>, const FIRST: bool>(
        &mut self,
        (done, answers): (Check<'_, F::Edge, F::Note>, Answers<V>),
        (next, mut minima): (Check<'_, F::Edge, F::Note>, Minima<V>),
    ) -> Answers<V> {
        let degree = done.edges.len();
        let count = degree / 2;
        let mut posteriors = self.posteriors.pairs([done.first, next.first], count);
        let ((done_pairs, done_last), (next_pairs, next_last)) =
            (done.pairs(count), next.pairs(count));
        for pair in 0..count {
            let mut values = [V::splat(0); 2];
            for (side, value) in values.iter_mut().enumerate() {
                let edge = &mut done_pairs.edges[pair][side];
                let note = &done_pairs.notes[pair][side];
                posteriors.store(pair, side, F::send(edge, note, answers, self.hidden));
                let edge = &mut next_pairs.edges[pair][side];
                let note = &mut next_pairs.notes[pair][side];
                *value = minima.read::<F, FIRST>(posteriors.load(pair, side), edge, note);
            }
            // Of two values at once: one operation on AVX-512.
            minima.parity = minima.parity.xor(values[0]).xor(values[1]);
        }
        if let (Some((edge, note)), Some((next_edge, next_note))) = (done_last, next_last) {
            let mut posterior = self.posteriors.edges(done_pairs.first + degree - 1, 1);
            posterior.store(0, F::send(edge, note, answers, self.hidden));
            let posterior = self.posteriors.edges(next_pairs.first + degree - 1, 1).load(0);
            let value = minima.read::<F, FIRST>(posterior, next_edge, next_note);
            minima.parity = minima.parity.xor(value);
        }
        minima.answers(self.rule)
    }
}

/// The edges of a check, or pairs of them.
struct Check<'a, E, N> {
    /// Number of the first edge.
    first: usize,
    edges: &'a mut [E],
    notes: &'a mut [N],
}

impl<'a, E, N> Check<'a, E, N> {
    /// All pairs, and the edge that is left of an odd number.
    #[inline(always)]
    #[allow(clippy::type_complexity)] // the remainder of two slices
    fn pairs(self, count: usize) -> (Check<'a, [E; 2], [N; 2]>, Option<(&'a mut E, &'a mut N)>) {
        let (edges, last_edge) = self.edges.as_chunks_mut();
        let (notes, last_note) = self.notes.as_chunks_mut();
        // The lengths equal the count; stated here, accesses below it need no check.
        let (edges, notes) = (&mut edges[..count], &mut notes[..count]);
        let pairs = Check { first: self.first, edges, notes };
        (pairs, last_edge.first_mut().zip(last_note.first_mut()))
    }
}

/// The minima and signs of the edges that were read.
struct Minima<V> {
    least: V,
    second: V,
    /// Signs, in the highest bits; kept up by the caller.
    parity: V,
    /// Answers of the last iteration.
    kept: [V; 2],
    hidden: Hidden<V>,
}

impl<V: Bytes> Minima<V> {
    #[inline(always)]
    fn new(kept: [V; 2], hidden: Hidden<V>) -> Self {
        let largest = V::splat(127);
        Self { least: largest, second: largest, parity: V::splat(0), kept, hidden }
    }

    /// Reads an edge; returns its extrinsic value.
    #[inline(always)]
    fn read<F: Form<V>, const FIRST: bool>(
        &mut self,
        posterior: V,
        edge: &mut F::Edge,
        note: &mut F::Note,
    ) -> V {
        // Before the first iteration nothing was sent.
        let value = if FIRST {
            F::prefetch_for_write(edge);
            posterior
        } else {
            posterior.sub(F::recall(edge, self.kept))
        };
        let negative = value.negative(self.hidden);
        let size = value.magnitude(negative, self.hidden);
        F::note(edge, note, value, negative, size);
        self.second = self.second.min(self.least.max(size));
        self.least = self.least.min(size);
        value
    }

    #[inline(always)]
    fn answers(&self, rule: Rule) -> Answers<V> {
        let (odd, most) = (self.parity.negative(self.hidden), V::splat(rule.most));
        let to_least = self.second.weaken(rule.weaken).min(most).negate_if(odd);
        let to_others = self.least.weaken(rule.weaken).min(most).negate_if(odd);
        Answers { least: self.least, to_least, to_others }
    }
}
