//! Gallager's algorithm B: messages of one bit, decided by majority.
//!
//! ```text
//!   check to bit     parity of the other bits' messages
//!   bit to check     majority of the other checks' messages; the channel's bit when they are split
//!   decision         majority of all messages and the channel; the channel's bit when split
//! ```
//!
//! With column weight 3 this is algorithm A. Of an LLR only the sign counts. 64 frames are the bits
//! of one word, votes are counted in words too: plane `i` of a counter holds bit `i` of the counts
//! of all frames (R. Gallager, Low-Density Parity-Check Codes, 1963, section 4.1).

use std::marker::PhantomData;

use super::{tie, Engine, Graph, Llr};
use crate::ldpc::simd::{Bytes, LANES};

/// Planes of a counter: enough for 2^24 - 1 votes, more than a matrix may have.
const PLANES: usize = 24;

/// Messages of 64 frames.
#[derive(Debug)]
pub(super) struct GallagerB {
    channel: Vec<u64>,
    /// From bit to check, then from check to bit, by edge.
    messages: Vec<u64>,
    decisions: Vec<u64>,
    /// Edges sorted by column; those of column `c` are `edges[starts[c]..starts[c + 1]]`.
    edges: Vec<u32>,
    starts: Vec<u32>,
}

impl GallagerB {
    pub fn new(graph: &Graph) -> Self {
        let mut starts = vec![0_u32; graph.column_count + 1];
        for &column in &graph.columns {
            starts[column as usize + 1] += 1;
        }
        for column in 0..graph.column_count {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; graph.columns.len()];
        for (edge, &column) in (0_u32..).zip(&graph.columns) {
            edges[next[column as usize] as usize] = edge;
            next[column as usize] += 1;
        }
        Self {
            channel: vec![0; graph.column_count],
            messages: vec![0; graph.columns.len()],
            decisions: vec![0; graph.column_count],
            edges,
            starts,
        }
    }

    #[inline(always)]
    fn vote(&mut self, column: usize) {
        let (first, limit) = (self.starts[column] as usize, self.starts[column + 1] as usize);
        let edges = &self.edges[first..limit];
        let channel = self.channel[column];
        let weight = edges.len() as u32;
        let mut ones =
            Votes { planes: [0; PLANES], used: (u32::BITS - weight.leading_zeros()) as usize + 1 };
        for &edge in edges {
            ones.add(self.messages[edge as usize]);
        }
        // The voters on an edge are the other edges. With a 1 on the edge itself, which is among
        // the counted ones, the majority is one vote higher.
        let others = weight.saturating_sub(1);
        let [without_zero, without_one] = [0, 1].map(|own| ones.majority(others, own, channel));
        for &edge in edges {
            let own = self.messages[edge as usize];
            self.messages[edge as usize] = (own & without_one) | (!own & without_zero);
        }
        ones.add(channel);
        self.decisions[column] = ones.majority(weight + 1, 0, channel);
    }
}

/// Counts in 64 frames.
struct Votes {
    planes: [u64; PLANES],
    used: usize,
}

impl Votes {
    #[inline(always)]
    fn add(&mut self, vote: u64) {
        let mut carry = vote;
        for plane in &mut self.planes[..self.used] {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// Frames whose count less `own` is more than half of `voters`; `split` if it is exactly half.
    #[inline(always)]
    fn majority(&self, voters: u32, own: u32, split: u64) -> u64 {
        let more = self.at_least(voters / 2 + 1 + own);
        if voters % 2 == 1 {
            return more;
        }
        more | (self.at_least(voters / 2 + own) & split)
    }

    /// Frames whose count is at least `limit`.
    #[inline(always)]
    fn at_least(&self, limit: u32) -> u64 {
        // From the lowest plane up: a higher digit that differs decides, an equal one leaves it.
        let mut result = u64::MAX;
        for (index, &plane) in self.planes[..self.used].iter().enumerate() {
            result = if limit >> index & 1 == 1 { plane & result } else { plane | result };
        }
        // A limit beyond the planes is reached by no count.
        if limit >> self.used == 0 {
            result
        } else {
            0
        }
    }
}

/// The algorithm on LLRs of one type.
pub(super) struct OnLlr<'a, L> {
    state: &'a mut GallagerB,
    llr: PhantomData<L>,
}

impl<'a, L> OnLlr<'a, L> {
    pub fn new(state: &'a mut GallagerB) -> Self {
        Self { state, llr: PhantomData }
    }
}

impl<L: Llr> Engine for OnLlr<'_, L> {
    type Llr = L;
    const LANES: usize = LANES;

    #[inline(always)]
    fn begin<V: Bytes>(&mut self, graph: &Graph, llrs: &[L], frames: usize) {
        // Bits that are not sent, and LLRs of 0, begin as the tie of their column.
        for (column, word) in (0_u32..).zip(&mut self.state.channel) {
            *word = if tie(column) { u64::MAX } else { 0 };
        }
        let bits = graph.sent.len();
        for (lane, frame) in llrs.chunks_exact(bits).take(frames).enumerate() {
            for (llr, &column) in frame.iter().zip(&graph.sent) {
                let word = &mut self.state.channel[column as usize];
                if !llr.is_zero() {
                    *word = (*word & !(1 << lane)) | u64::from(llr.is_negative()) << lane;
                }
            }
        }
        self.state.decisions.copy_from_slice(&self.state.channel);
        for (message, &column) in self.state.messages.iter_mut().zip(&graph.columns) {
            *message = self.state.channel[column as usize];
        }
    }

    #[inline(always)]
    fn sweep<V: Bytes>(&mut self, graph: &Graph) {
        for (first, limit) in graph.rows() {
            let messages = &mut self.state.messages[first..limit];
            let parity = messages.iter().fold(0, |parity, message| parity ^ message);
            for message in messages {
                *message ^= parity;
            }
        }
        for column in 0..graph.column_count {
            self.state.vote(column);
        }
    }

    #[inline(always)]
    fn decide<V: Bytes>(&self, _graph: &Graph, hard: &mut [u64]) {
        hard.copy_from_slice(&self.state.decisions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_are_counted_in_every_lane() {
        for weight in 1..9_u32 {
            // Lane `i` gets the votes that are the bits of `i`.
            let masks: Vec<u64> = (0..weight.min(6))
                .map(|bit| (0..64).map(|lane: u64| (lane >> bit & 1) << lane).sum())
                .collect();
            let mut votes = Votes { planes: [0; PLANES], used: 5 };
            for &mask in &masks {
                votes.add(mask);
            }
            for lane in 0..64_u64 {
                let count = masks.iter().filter(|mask| *mask >> lane & 1 == 1).count() as u32;
                for limit in 0..12 {
                    let expected = u64::from(count >= limit);
                    assert_eq!(votes.at_least(limit) >> lane & 1, expected, "{count} {limit}");
                }
                for split in [0, u64::MAX] {
                    let expected = match (2 * count).cmp(&weight) {
                        std::cmp::Ordering::Less => 0,
                        std::cmp::Ordering::Equal => split & 1,
                        std::cmp::Ordering::Greater => 1,
                    };
                    assert_eq!(votes.majority(weight, 0, split) >> lane & 1, expected);
                }
            }
        }
    }
}
