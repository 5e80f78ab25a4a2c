//! Frames of a code that decodes hard decisions, in packed bytes.

use std::ops::Range;

use super::{Codewords, Tally, Task, CODEWORD_FRAMES};

/// A code over packed bits: most significant bit first, data and parity padded with zeros at their
/// ends.
pub trait HardCode: Send + Sync {
    /// Data bits of a codeword.
    fn data_bits(&self) -> usize;
    /// Parity bits of a codeword.
    fn parity_bits(&self) -> usize;
    /// Computes the parity of data.
    fn encode(&self, data: &[u8], parity: &mut [u8]);
    /// A decoder with its own memory.
    fn decoder(&self) -> Box<dyn HardDecoder + '_>;
}

/// A decoder of one thread.
pub trait HardDecoder {
    /// Corrects data and parity in place; returns the corrected bits, or None when it gives up.
    fn decode(&mut self, data: &mut [u8], parity: &mut [u8]) -> Option<usize>;
}

/// Sent and received bytes of a frame.
pub(super) struct Frame {
    pub(super) data: Vec<u8>,
    pub(super) parity: Vec<u8>,
    sent_data: Vec<u8>,
    sent_parity: Vec<u8>,
    word: Option<u64>,
    positions: Vec<u32>,
}

impl Frame {
    pub(super) fn new(code: &dyn HardCode) -> Self {
        let data = vec![0; code.data_bits().div_ceil(8)];
        let parity = vec![0; code.parity_bits().div_ceil(8)];
        Self {
            sent_data: data.clone(),
            sent_parity: parity.clone(),
            data,
            parity,
            word: None,
            positions: Vec::new(),
        }
    }

    /// Sends frame `frame` through the channel; returns how many bits are wrong.
    pub(super) fn receive(&mut self, code: &dyn HardCode, task: &Task, frame: u64) -> usize {
        let word = frame / CODEWORD_FRAMES;
        if task.codewords == Codewords::Random && self.word != Some(word) {
            let mut rng = task.data(word);
            for byte in &mut self.sent_data {
                *byte = (rng.next_u64() >> 56) as u8;
            }
            let padding = self.sent_data.len() * 8 - code.data_bits();
            if let Some(last) = self.sent_data.last_mut() {
                *last &= 0xff << padding;
            }
            code.encode(&self.sent_data, &mut self.sent_parity);
            self.word = Some(word);
        }
        self.data.copy_from_slice(&self.sent_data);
        self.parity.copy_from_slice(&self.sent_parity);
        let data_bits = code.data_bits();
        let (data, parity) = (&mut self.data, &mut self.parity);
        let bit_at = |position: usize| {
            let (bytes, place) = if position < data_bits {
                (&self.sent_data, position)
            } else {
                (&self.sent_parity, position - data_bits)
            };
            bytes[place >> 3] >> (7 - (place & 7)) & 1
        };
        let bit_count = data_bits + code.parity_bits();
        let rng = &mut task.noise(frame);
        task.channel.wrong_positions(bit_count, task.errors, rng, bit_at, &mut self.positions);
        for &position in &self.positions {
            let position = position as usize;
            if position < data_bits {
                data[position >> 3] ^= 0x80 >> (position & 7);
            } else {
                let position = position - data_bits;
                parity[position >> 3] ^= 0x80 >> (position & 7);
            }
        }
        self.positions.len()
    }

    /// Wrong data bits.
    fn wrong_bits(&self) -> u64 {
        let differences = self.data.iter().zip(&self.sent_data);
        differences.map(|(is, was)| u64::from((is ^ was).count_ones())).sum()
    }
}

pub(super) fn run(code: &dyn HardCode, task: &Task, frames: Range<u64>) -> Tally {
    let mut decoder = code.decoder();
    let mut frame = Frame::new(code);
    let mut tally = Tally::default();
    for number in frames {
        tally.frames += 1;
        tally.channel_errors += frame.receive(code, task, number) as u64;
        let is_done = decoder.decode(&mut frame.data, &mut frame.parity).is_some();
        tally.failures += u64::from(!is_done);
        let wrong = frame.wrong_bits();
        if wrong > 0 {
            tally.frame_errors += 1;
            tally.undetected += u64::from(is_done);
            tally.bit_errors += wrong;
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::super::toy::{task, HardRepetition};
    use super::super::{confidence_interval, run_chunk, Codec, Codewords, Tally};
    use crate::binomial_tail;
    use crate::channel::{BitErrors, Channel};

    #[test]
    fn a_repetition_code_fails_as_the_binomial_tail_says() {
        for (copies, rber) in [(3, 0.05), (7, 0.2)] {
            let codec = Codec::Hard(Box::new(HardRepetition { copies }));
            let tally = run_chunk(&codec, &task(Channel::bsc(rber).unwrap()), 0..200_000);
            let (low, high) = confidence_interval(tally.frame_errors, tally.frames);
            let exact = binomial_tail(copies, copies / 2, rber);
            assert!(low < exact && exact < high, "{copies}: {low} {exact} {high}");
            // This decoder always decides.
            assert_eq!((tally.undetected, tally.failures), (tally.frame_errors, 0));
        }
    }

    #[test]
    fn the_tally_of_a_range_is_the_sum_of_its_parts() {
        let codec = Codec::Hard(Box::new(HardRepetition { copies: 5 }));
        for codewords in [Codewords::Random, Codewords::Zero] {
            let task = super::Task { codewords, ..task(Channel::bsc(0.2).unwrap()) };
            let whole = run_chunk(&codec, &task, 0..1000);
            let mut parts = Tally::default();
            for (first, limit) in [(700, 1000), (0, 1), (1, 333), (333, 700)] {
                parts += run_chunk(&codec, &task, first..limit);
            }
            assert_eq!(whole, parts);
        }
    }

    #[test]
    fn strata_weigh_up_to_the_whole() {
        let codec = Codec::Hard(Box::new(HardRepetition { copies: 5 }));
        let (mut whole, weights) = (0.0, super::super::binomial_weights(5, 0, 6, 0.1));
        for (errors, weight) in (0..=5).zip(weights) {
            let errors = BitErrors::Exactly(errors);
            let task = super::Task { errors, ..task(Channel::bsc(0.1).unwrap()) };
            let tally = run_chunk(&codec, &task, 0..2000);
            whole += weight * tally.frame_errors as f64 / tally.frames as f64;
        }
        // More than half of the copies wrong is wrong, always: no noise is left.
        assert!((whole / binomial_tail(5, 2, 0.1) - 1.0).abs() < 1e-12);
    }
}
