//! Frames of a code that decodes LLRs, in batches.

use std::ops::Range;

use super::{Codewords, Tally, Task, CODEWORD_FRAMES};
use crate::ldpc::{DecoderConfig, LdpcCode};

/// A code over bits, one per byte.
pub trait SoftCode: Send + Sync {
    /// Bits of a codeword that are sent.
    fn code_bits(&self) -> usize;
    /// Information bits.
    fn info_bits(&self) -> usize;
    /// Positions of the information bits in a codeword.
    fn info_positions(&self) -> &[u32];
    /// Fills a codeword.
    fn encode(&self, info: &[u8], code: &mut [u8]);
    /// A decoder with its own memory.
    fn decoder(&self) -> Box<dyn SoftDecoder + '_>;
    /// The LDPC code and the decoder in 8 bits that this is, for those who do it otherwise.
    fn ldpc_int8(&self) -> Option<(&LdpcCode, &DecoderConfig)> {
        None
    }
}

/// A decoder of one thread.
pub trait SoftDecoder {
    /// Frames that it decodes at once.
    fn batch(&self) -> usize;
    /// Decodes `ok.len()` frames, frame after frame; positive LLRs are zeros.
    ///
    /// `ok` marks the frames that ended as codewords, `iterations` how many each took.
    fn decode(&mut self, llrs: &[f32], hard: &mut [u8], ok: &mut [bool], iterations: &mut [u32]);
}

/// Codewords and LLRs of a batch of frames.
pub(super) struct Batch {
    pub(super) llrs: Vec<f32>,
    pub(super) hard: Vec<u8>,
    pub(super) ok: Vec<bool>,
    pub(super) iterations: Vec<u32>,
    words: Vec<Vec<u8>>,
    /// Numbers of the codewords in `words`.
    numbers: Range<u64>,
}

impl Batch {
    pub(super) fn new(code: &dyn SoftCode, frames: usize) -> Self {
        let bits = code.code_bits();
        let words = frames.div_ceil(CODEWORD_FRAMES as usize) + 1;
        Self {
            llrs: vec![0.0; frames * bits],
            hard: vec![0; frames * bits],
            ok: vec![false; frames],
            iterations: vec![0; frames],
            words: vec![vec![0; bits]; words],
            numbers: 0..0,
        }
    }

    /// Sends some frames through the channel; returns how many hard decisions are wrong.
    pub(super) fn receive(&mut self, code: &dyn SoftCode, task: &Task, frames: Range<u64>) -> u64 {
        self.encode(code, task, &frames);
        let bits = code.code_bits();
        let mut wrong = 0;
        for (place, frame) in frames.enumerate() {
            let word = &self.words[(frame / CODEWORD_FRAMES - self.numbers.start) as usize];
            let llrs = &mut self.llrs[place * bits..(place + 1) * bits];
            let rng = &mut task.noise(frame);
            wrong += u64::from(task.channel.draw(word, task.errors, rng, llrs));
        }
        wrong
    }

    fn encode(&mut self, code: &dyn SoftCode, task: &Task, frames: &Range<u64>) {
        let numbers = frames.start / CODEWORD_FRAMES..(frames.end - 1) / CODEWORD_FRAMES + 1;
        if task.codewords == Codewords::Random && numbers != self.numbers {
            let mut info = vec![0; code.info_bits()];
            for (number, word) in numbers.clone().zip(&mut self.words) {
                sent_word(code, task, number, &mut info, word);
            }
        }
        self.numbers = numbers;
    }

    /// Wrong information bits of the frame at `place`, whose number is `frame`.
    fn wrong_bits(&self, code: &dyn SoftCode, place: usize, frame: u64) -> u64 {
        let bits = code.code_bits();
        let word = &self.words[(frame / CODEWORD_FRAMES - self.numbers.start) as usize];
        let hard = &self.hard[place * bits..(place + 1) * bits];
        if hard == word.as_slice() {
            return 0;
        }
        let positions = code.info_positions().iter().map(|&position| position as usize);
        positions.map(|position| u64::from(hard[position] != word[position])).sum()
    }
}

/// Draws information bits and encodes them: the word of this number.
pub(super) fn sent_word(
    code: &dyn SoftCode,
    task: &Task,
    number: u64,
    info: &mut [u8],
    word: &mut [u8],
) {
    let mut rng = task.data(number);
    for bits in info.chunks_mut(64) {
        let drawn = rng.next_u64();
        for (place, bit) in bits.iter_mut().enumerate() {
            *bit = (drawn >> place & 1) as u8;
        }
    }
    code.encode(info, word);
}

pub(super) fn run(code: &dyn SoftCode, task: &Task, frames: Range<u64>) -> Tally {
    let mut decoder = code.decoder();
    let bits = code.code_bits();
    let size = decoder.batch().clamp(1, 256);
    let mut batch = Batch::new(code, size);
    let mut tally = Tally::default();
    let mut first = frames.start;
    while first < frames.end {
        let limit = frames.end.min(first + size as u64);
        let count = (limit - first) as usize;
        tally.frames += count as u64;
        tally.channel_errors += batch.receive(code, task, first..limit);
        decoder.decode(
            &batch.llrs[..count * bits],
            &mut batch.hard[..count * bits],
            &mut batch.ok[..count],
            &mut batch.iterations[..count],
        );
        for place in 0..count {
            let wrong = batch.wrong_bits(code, place, first + place as u64);
            tally.failures += u64::from(!batch.ok[place]);
            tally.iterations += u64::from(batch.iterations[place]);
            if wrong > 0 {
                tally.frame_errors += 1;
                tally.undetected += u64::from(batch.ok[place]);
                tally.bit_errors += wrong;
            }
        }
        first = limit;
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::super::toy::{task, SoftRepetition};
    use super::super::{binomial_weights, confidence_interval, run_chunk, Codec, Tally, Task};
    use crate::cell::{q, Thresholds, TwoStates};
    use crate::channel::{BitErrors, Channel};

    #[test]
    fn a_repetition_code_adds_up_its_energy() {
        // The sum of n LLRs decides as one bit of n times the energy: Q(sqrt(n) / sigma).
        let states = TwoStates::symmetric(0.2).unwrap();
        let codec = Codec::Soft(Box::new(SoftRepetition { copies: 3 }));
        let tally = run_chunk(&codec, &task(Channel::gaussian(states, states)), 0..200_000);
        let exact = q(3_f64.sqrt() / states.sigma()[0]);
        let (low, high) = confidence_interval(tally.frame_errors, tally.frames);
        assert!(low < exact && exact < high, "{low} {exact} {high}");
    }

    #[test]
    fn strata_weigh_up_to_the_whole_of_a_soft_channel() {
        let codec = Codec::Soft(Box::new(SoftRepetition { copies: 4 }));
        let states = TwoStates::symmetric(0.1).unwrap();
        let sensed = Thresholds::Best(7).table(&states).unwrap();
        for channel in [Channel::gaussian(states, states), Channel::discrete(&states, &sensed)] {
            let plain = run_chunk(&codec, &task(channel.clone()), 0..400_000);
            let (low, high) = confidence_interval(plain.frame_errors, plain.frames);
            let mut whole = 0.0;
            for (errors, weight) in (0..=4).zip(binomial_weights(4, 0, 5, 0.1)) {
                let errors = BitErrors::Exactly(errors);
                let tally =
                    run_chunk(&codec, &Task { errors, ..task(channel.clone()) }, 0..100_000);
                whole += weight * tally.frame_errors as f64 / tally.frames as f64;
            }
            assert!(low < whole && whole < high, "{low} {whole} {high}");
        }
    }

    #[test]
    fn the_tally_of_a_range_is_the_sum_of_its_parts() {
        let codec = Codec::Soft(Box::new(SoftRepetition { copies: 5 }));
        let task = task(Channel::bsc(0.2).unwrap());
        let whole = run_chunk(&codec, &task, 0..1000);
        let mut parts = Tally::default();
        for (first, limit) in [(700, 1000), (0, 1), (1, 333), (333, 700)] {
            parts += run_chunk(&codec, &task, first..limit);
        }
        assert_eq!(whole, parts);
    }
}
