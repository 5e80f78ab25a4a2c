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
//! the edge with the smallest |q| is sent the second.
//!
//! A posterior at its limit no longer holds all its messages, so P - R takes off more than was
//! added. Messages are therefore cut at M, a third of the range, or less where
//! [`Weaken::steady_max`] asks for it: then a decided frame stays as it is at any number of
//! iterations, and its posteriors keep two thirds of their range in hand. Of 24, 31 and 42, the
//! last came closest to floats on the 802.16e code (576,480) at 4.5 dB: 1.7, 1.1, 1.0
//! times their rate.
//!
//! How a check is done, and in which form its messages are kept, is in `check`.
//!
//! The schedule is that of M. Mansour and N. Shanbhag (IEEE Trans. VLSI Systems 11, 2003), the
//! factor or offset that of J. Chen and M. Fossorier (IEEE Trans. Communications 50, 2002).

use std::ops::Range;

use super::check::{Form, Lanes, Packed, Plain, Rule, Run};
use super::{transpose, Engine, Graph};
use crate::ldpc::simd::{Bytes, Hidden, Linked, Path, Row, Weaken, LANES};

/// Largest message, in steps of an LLR; see above.
const MESSAGE_MAX: u8 = 42;

/// The most messages that are kept as rows: a megabyte, half of a second level of cache. 12,288 of
/// them are 3 % faster as rows, 34,624 a quarter slower.
const PLAIN_MAX: usize = 16_384;

/// Messages and posteriors of 64 frames.
#[derive(Debug)]
pub(super) struct Layered {
    posteriors: Linked,
    messages: Messages,
    runs: Vec<Stretch>,
    /// Whether no message has been sent yet.
    is_first: bool,
    rule: Rule,
}

/// Checks in a row with equally many edges, none with a bit of the one before.
#[derive(Clone, Debug, PartialEq)]
struct Stretch {
    degree: usize,
    checks: Range<usize>,
    edges: Range<usize>,
}

/// What checks have sent, in one of two forms, and notes of the edges of two checks.
#[derive(Debug)]
enum Messages {
    Plain { rows: Vec<Row>, sent: Vec<()>, notes: Vec<Row> },
    Packed { marks: Vec<[u64; 2]>, sent: Vec<[Row; 2]>, notes: Vec<[Row; 2]> },
}

impl Layered {
    /// An engine for the instructions of `path`.
    pub fn new(graph: &Graph, weaken: Weaken, path: Path) -> Self {
        let most = most(weaken) as i8;
        Self {
            posteriors: Linked::new(graph.column_count, &graph.columns),
            messages: Messages::new(graph, path),
            runs: runs(graph),
            is_first: true,
            rule: Rule { weaken, most },
        }
    }
}

impl Messages {
    fn new(graph: &Graph, path: Path) -> Self {
        let zero = Row([0; LANES]);
        let (edges, checks) = (graph.columns.len(), graph.starts.len() - 1);
        let notes = 2 * graph.row_weight_max;
        // Other paths have no use for masks in words.
        if path == Path::Avx512 && edges > PLAIN_MAX {
            let (marks, sent) = (vec![[0; 2]; edges], vec![[zero; 2]; checks]);
            Self::Packed { marks, sent, notes: vec![[zero; 2]; notes] }
        } else {
            let sent = vec![(); checks];
            Self::Plain { rows: vec![zero; edges], sent, notes: vec![zero; notes] }
        }
    }
}

/// The largest message.
pub(super) fn most(weaken: Weaken) -> u8 {
    MESSAGE_MAX.min(weaken.steady_max())
}

/// All checks in their order, in runs as long as they can be.
fn runs(graph: &Graph) -> Vec<Stretch> {
    let mut runs: Vec<Stretch> = Vec::new();
    // Number of the last check of each column, from 1.
    let mut last = vec![0; graph.column_count];
    for (check, (first, limit)) in graph.rows().enumerate() {
        let mut meets = false;
        for &column in &graph.columns[first..limit] {
            let before = std::mem::replace(&mut last[column as usize], check + 1);
            meets |= check > 0 && before == check;
        }
        let degree = limit - first;
        match runs.last_mut() {
            Some(run) if run.degree == degree && !meets => {
                (run.checks.end, run.edges.end) = (check + 1, limit);
            }
            _ => runs.push(Stretch { degree, checks: check..check + 1, edges: first..limit }),
        }
    }
    runs
}

impl Engine for Layered {
    type Llr = i8;
    const LANES: usize = LANES;

    #[inline(always)]
    fn begin<V: Bytes>(&mut self, graph: &Graph, llrs: &[i8], _frames: usize) {
        transpose::read_llrs::<V>(llrs, &graph.sent, self.posteriors.rows_mut());
        self.is_first = true;
    }

    #[inline(always)]
    fn sweep<V: Bytes>(&mut self, _graph: &Graph) {
        let (rule, hidden) = (self.rule, Hidden::<V>::new());
        let lanes = Lanes { posteriors: &mut self.posteriors, rule, hidden };
        let sweep = Sweep { runs: &self.runs, lanes };
        match (&mut self.messages, std::mem::take(&mut self.is_first)) {
            (Messages::Plain { rows, sent, notes }, true) => {
                sweep.run::<Plain, true>(rows, sent, notes);
            }
            (Messages::Plain { rows, sent, notes }, false) => {
                sweep.run::<Plain, false>(rows, sent, notes);
            }
            (Messages::Packed { marks, sent, notes }, true) => {
                sweep.run::<Packed, true>(marks, sent, notes);
            }
            (Messages::Packed { marks, sent, notes }, false) => {
                sweep.run::<Packed, false>(marks, sent, notes);
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

/// One iteration.
struct Sweep<'a, V> {
    runs: &'a [Stretch],
    lanes: Lanes<'a, V>,
}

impl<V: Bytes> Sweep<'_, V> {
    #[inline(always)]
    fn run<F: Form<V>, const FIRST: bool>(
        mut self,
        edges: &mut [F::Edge],
        sent: &mut [F::Sent],
        notes: &mut [F::Note],
    ) {
        for run in self.runs {
            let run = Run {
                degree: run.degree,
                first: run.edges.start,
                edges: &mut edges[run.edges.clone()],
                sent: &mut sent[run.checks.clone()],
            };
            self.lanes.run::<F, FIRST>(run, notes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::{LdpcCode, ParityMatrix};

    #[test]
    fn checks_of_a_run_are_alike_and_do_not_meet() {
        let rows = [vec![0, 1], vec![2, 3], vec![1, 3], vec![0, 2], vec![1, 3, 4]];
        let matrix = ParityMatrix::from_rows(6, &rows).expect("a matrix");
        let code = LdpcCode::from_matrix(matrix, &[], 1).expect("a code");
        let run = |degree, checks, edges| Stretch { degree, checks, edges };
        let expected = [run(2, 0..2, 0..4), run(2, 2..4, 4..8), run(3, 4..5, 8..11)];
        assert_eq!(runs(&Graph::new(&code)), expected);
    }
}
