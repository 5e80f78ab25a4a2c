//! Repetition codes: their error rates are known in closed form, so they test the machinery.

use super::{Codewords, HardCode, HardDecoder, SoftCode, SoftDecoder, Task};
use crate::channel::{BitErrors, Channel};

pub(super) fn task(channel: Channel) -> Task {
    Task { channel, codewords: Codewords::Random, errors: BitErrors::Natural, seed: 42, point: 1 }
}

/// One data bit and its copies; an odd number in all. Decides by majority.
#[derive(Clone, Copy)]
pub(super) struct HardRepetition {
    pub(super) copies: u32,
}

impl HardCode for HardRepetition {
    fn data_bits(&self) -> usize {
        1
    }
    fn parity_bits(&self) -> usize {
        self.copies as usize - 1
    }
    fn encode(&self, data: &[u8], parity: &mut [u8]) {
        let ones = 0xff_u8 << (9 - self.copies);
        parity[0] = if data[0] & 0x80 == 0 { 0 } else { ones };
    }
    fn decoder(&self) -> Box<dyn HardDecoder + '_> {
        Box::new(*self)
    }
}

impl HardDecoder for HardRepetition {
    fn decode(&mut self, data: &mut [u8], parity: &mut [u8]) -> Option<usize> {
        assert_eq!((data[0] & 0x7f, parity[0] & (0xff >> (self.copies - 1))), (0, 0), "padding");
        let ones = data[0].count_ones() + parity[0].count_ones();
        data[0] = if ones * 2 > self.copies { 0x80 } else { 0 };
        Some(0)
    }
}

/// One bit and its copies; decides by the sum of the LLRs.
#[derive(Clone, Copy)]
pub(super) struct SoftRepetition {
    pub(super) copies: usize,
}

impl SoftCode for SoftRepetition {
    fn code_bits(&self) -> usize {
        self.copies
    }
    fn info_bits(&self) -> usize {
        1
    }
    fn info_positions(&self) -> &[u32] {
        &[0]
    }
    fn encode(&self, info: &[u8], code: &mut [u8]) {
        code.fill(info[0]);
    }
    fn decoder(&self) -> Box<dyn SoftDecoder + '_> {
        Box::new(*self)
    }
}

impl SoftDecoder for SoftRepetition {
    fn batch(&self) -> usize {
        24
    }
    fn decode(&mut self, llrs: &[f32], hard: &mut [u8], ok: &mut [bool], iterations: &mut [u32]) {
        for (frame, bits) in hard.chunks_mut(self.copies).enumerate() {
            let sum: f32 = llrs[frame * self.copies..(frame + 1) * self.copies].iter().sum();
            bits.fill(u8::from(sum < 0.0));
            ok[frame] = true;
            iterations[frame] = 1;
        }
    }
}
