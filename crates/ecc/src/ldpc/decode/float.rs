//! Sum-product and min-sum in 32-bit floats, layered or flooding, 16 frames at a time.
//!
//! ```text
//!   sum-product     |R| = φ( sum of φ(|q|) over the other edges )
//!                   φ(x) = ln((1 + e^-x)/(1 - e^-x))
//!   min-sum         |R| = weakened minimum of |q| over the other edges
//! ```
//!
//! φ is its own inverse; it turns the product of tanh(|q|/2) into a sum (R. Gallager, Low-Density
//! Parity-Check Codes, 1963). The sum over the others is a sum from the left plus one from the
//! right, not the whole less the own term, because that loses all digits next to the large φ of an
//! uncertain bit. Exponential and logarithm are written out in plain operations, so that every
//! machine gives the same digits and the compiler can use its vectors.

use super::{tie, Engine, Graph};
use crate::ldpc::simd::Bytes;

/// Frames of a batch.
const LANES: usize = 16;

/// A float for each of 16 frames.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
struct FloatRow([f32; LANES]);

const ZERO: FloatRow = FloatRow([0.0; LANES]);

impl FloatRow {
    /// Rows come and go by value: the compiler sees that they do not overlap, and uses vectors.
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let mut sum = self;
        for lane in 0..LANES {
            sum.0[lane] += other.0[lane];
        }
        sum
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        let mut difference = self;
        for lane in 0..LANES {
            difference.0[lane] -= other.0[lane];
        }
        difference
    }
}

/// Which posteriors a check sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The newest.
    Layered,
    /// Those of the last iteration.
    Flooding,
}

/// How a check answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum CheckRule {
    /// Exactly.
    SumProduct,
    /// The minimum times a factor.
    Scale(f32),
    /// The minimum less an offset, not below zero.
    Offset(f32),
}

/// Messages and posteriors of 16 frames.
#[derive(Debug)]
pub(super) struct Float {
    order: Order,
    rule: CheckRule,
    channel: Vec<FloatRow>,
    posteriors: Vec<FloatRow>,
    /// Posteriors in the making; unused when layered.
    sums: Vec<FloatRow>,
    /// From check to bit, by edge.
    messages: Vec<FloatRow>,
    /// Extrinsic values and answers of one check.
    extrinsics: Vec<FloatRow>,
    answers: Vec<FloatRow>,
    /// φ of the extrinsic values, and their sums from the left.
    transforms: Vec<FloatRow>,
    lefts: Vec<FloatRow>,
}

impl Float {
    pub fn new(graph: &Graph, order: Order, rule: CheckRule) -> Self {
        let columns = vec![ZERO; graph.column_count];
        let check = vec![ZERO; graph.row_weight_max];
        Self {
            order,
            rule,
            channel: columns.clone(),
            posteriors: columns.clone(),
            sums: if order == Order::Flooding { columns } else { Vec::new() },
            messages: vec![ZERO; graph.columns.len()],
            extrinsics: check.clone(),
            answers: check.clone(),
            transforms: check.clone(),
            lefts: check,
        }
    }

    /// Fills `answers` from `extrinsics` for a check of `weight` bits.
    #[inline(always)]
    fn answer(&mut self, weight: usize) {
        let extrinsics = &self.extrinsics[..weight];
        let answers = &mut self.answers[..weight];
        match self.rule {
            CheckRule::SumProduct => {
                let transforms = &mut self.transforms[..weight];
                sum_product(extrinsics, answers, transforms, &mut self.lefts[..weight]);
            }
            CheckRule::Scale(scale) => min_sum(extrinsics, answers, |least| least * scale),
            CheckRule::Offset(offset) => {
                min_sum(extrinsics, answers, |least| (least - offset).max(0.0));
            }
        }
    }
}

impl Engine for Float {
    type Llr = f32;
    const LANES: usize = LANES;

    #[inline(always)]
    fn begin<V: Bytes>(&mut self, graph: &Graph, llrs: &[f32], frames: usize) {
        self.channel.fill(ZERO);
        let bits = graph.sent.len();
        for (lane, frame) in llrs.chunks_exact(bits).take(frames).enumerate() {
            for (&llr, &column) in frame.iter().zip(&graph.sent) {
                self.channel[column as usize].0[lane] = llr.clamp(-LLR_MAX, LLR_MAX);
            }
        }
        self.posteriors.copy_from_slice(&self.channel);
        self.messages.fill(ZERO);
    }

    #[inline(always)]
    fn sweep<V: Bytes>(&mut self, graph: &Graph) {
        if self.order == Order::Flooding {
            self.sums.copy_from_slice(&self.channel);
        }
        for (first, limit) in graph.rows() {
            let columns = &graph.columns[first..limit];
            for ((&column, message), extrinsic) in
                columns.iter().zip(&self.messages[first..limit]).zip(&mut self.extrinsics)
            {
                *extrinsic = self.posteriors[column as usize].minus(*message);
            }
            self.answer(limit - first);
            let answers = &self.answers[..limit - first];
            self.messages[first..limit].copy_from_slice(answers);
            let edges = columns.iter().zip(answers);
            if self.order == Order::Flooding {
                for (&column, &answer) in edges {
                    let sum = &mut self.sums[column as usize];
                    *sum = sum.plus(answer);
                }
            } else {
                for ((&column, &answer), extrinsic) in edges.zip(&self.extrinsics) {
                    self.posteriors[column as usize] = extrinsic.plus(answer);
                }
            }
        }
        if self.order == Order::Flooding {
            std::mem::swap(&mut self.posteriors, &mut self.sums);
        }
    }

    #[inline(always)]
    fn decide<V: Bytes>(&self, _graph: &Graph, hard: &mut [u64]) {
        let rows = self.posteriors.iter().zip(&self.channel);
        for ((column, word), (posterior, channel)) in (0_u32..).zip(hard).zip(rows) {
            let tie = tie(column);
            *word = 0;
            for lane in 0..LANES {
                let (value, first) = (posterior.0[lane], channel.0[lane]);
                // A tie goes to the channel, and to the pattern if the LLR of the channel is 0.
                let of_tie = value == 0.0 && (first < 0.0 || (first == 0.0 && tie));
                *word |= u64::from(value < 0.0 || of_tie) << lane;
            }
        }
    }
}

/// Larger LLRs carry no more information than this one.
const LLR_MAX: f32 = 1e4;

/// The sign bit of a float.
const SIGN: u32 = 1 << 31;

#[inline(always)]
fn min_sum(extrinsics: &[FloatRow], answers: &mut [FloatRow], weaken: impl Fn(f32) -> f32) {
    let mut least = [f32::MAX; LANES];
    let mut second = [f32::MAX; LANES];
    let mut parity = [0_u32; LANES];
    for extrinsic in extrinsics {
        for lane in 0..LANES {
            let magnitude = extrinsic.0[lane].abs();
            parity[lane] ^= extrinsic.0[lane].to_bits();
            let larger = if least[lane] > magnitude { least[lane] } else { magnitude };
            second[lane] = if second[lane] < larger { second[lane] } else { larger };
            least[lane] = if least[lane] < magnitude { least[lane] } else { magnitude };
        }
    }
    let (mut to_others, mut to_least) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        to_others[lane] = weaken(least[lane].min(LLR_MAX));
        to_least[lane] = weaken(second[lane].min(LLR_MAX));
    }
    for (extrinsic, answer) in extrinsics.iter().zip(answers) {
        for lane in 0..LANES {
            let own = extrinsic.0[lane];
            let magnitude = if own.abs() == least[lane] { to_least[lane] } else { to_others[lane] };
            let sign = (parity[lane] ^ own.to_bits()) & SIGN;
            answer.0[lane] = f32::from_bits(magnitude.to_bits() ^ sign);
        }
    }
}

#[inline(always)]
fn sum_product(
    extrinsics: &[FloatRow],
    answers: &mut [FloatRow],
    transforms: &mut [FloatRow],
    lefts: &mut [FloatRow],
) {
    let mut left = ZERO;
    let mut parity = [0_u32; LANES];
    for ((extrinsic, transform), before) in
        extrinsics.iter().zip(transforms.iter_mut()).zip(lefts.iter_mut())
    {
        let mut transformed = *extrinsic;
        for lane in 0..LANES {
            parity[lane] ^= extrinsic.0[lane].to_bits();
            transformed.0[lane] = phi(transformed.0[lane].abs());
        }
        *before = left;
        left = left.plus(transformed);
        *transform = transformed;
    }
    let mut right = ZERO;
    for (((extrinsic, answer), transform), before) in
        extrinsics.iter().zip(answers).zip(transforms.iter()).zip(lefts.iter()).rev()
    {
        let mut sent = before.plus(right);
        for lane in 0..LANES {
            let sign = (parity[lane] ^ extrinsic.0[lane].to_bits()) & SIGN;
            sent.0[lane] = f32::from_bits(phi(sent.0[lane]).to_bits() ^ sign);
        }
        right = right.plus(*transform);
        *answer = sent;
    }
}

/// Arguments below this are zero, and φ of zero is [`PHI_MAX`].
const PHI_ARGUMENT_MIN: f32 = 1e-18;

/// Arguments above this have a φ of zero, 4e-18 rounded: squares stay clear of denormal numbers,
/// which take a hundred times as long.
const PHI_ARGUMENT_MAX: f32 = 41.0;

/// Used as φ(0), which is infinite; φ of it is 0 in floats.
const PHI_MAX: f32 = 100.0;

/// ln((1 + e^-x)/(1 - e^-x)) for x >= 0, to 5e-5 of its value.
#[inline(always)]
fn phi(x: f32) -> f32 {
    let y = exp_minus(x);
    // 1 - e^-x = x - x^2/2 + ... keeps the digits that the difference would lose.
    let small = if x < PHI_ARGUMENT_MIN { PHI_ARGUMENT_MIN } else { x };
    let rest = if x < 1e-3 { small - 0.5 * small * small } else { 1.0 - y };
    let ratio = (2.0 - rest) / rest;
    let bits = ratio.to_bits();
    // ratio = 2^exponent * mantissa, mantissa in [1/sqrt 2, sqrt 2).
    let shifted = bits.wrapping_sub(0x3f35_04f3);
    let exponent = (shifted as i32) >> 23;
    let mantissa = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    let reduced = (mantissa - 1.0) / (mantissa + 1.0);
    // Where the ratio is below sqrt 2, y itself is the reduced argument, with all its digits.
    let is_small = y < 0.171;
    let t = if is_small { y } else { reduced };
    let scale = if is_small { 0.0 } else { exponent as f32 };
    let square = t * t;
    // ln((1 + t)/(1 - t)) = 2 (t + t^3/3 + t^5/5 + ...)
    let series = 1.0 / 9.0;
    let series = 1.0 / 7.0 + square * series;
    let series = 1.0 / 5.0 + square * series;
    let series = 1.0 / 3.0 + square * series;
    let value = 2.0 * t * (1.0 + square * series) + scale * std::f32::consts::LN_2;
    if x < PHI_ARGUMENT_MIN {
        PHI_MAX
    } else {
        value
    }
}

/// e^-x for x >= 0; 0 above [`PHI_ARGUMENT_MAX`].
#[inline(always)]
fn exp_minus(x: f32) -> f32 {
    /// Adding it rounds to whole numbers in the last bits: 1.5 * 2^23.
    const ROUND: f32 = 12_582_912.0;
    let is_tiny = x > PHI_ARGUMENT_MAX;
    let x = if is_tiny { PHI_ARGUMENT_MAX } else { x };
    let rounded = x * -std::f32::consts::LOG2_E + ROUND;
    let power = rounded - ROUND;
    // ln 2 in two parts, so that the difference keeps its digits.
    let rest = (-x - power * 0.693_359_4) + power * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = 1.0 / 120.0 + rest * series;
    let series = 1.0 / 24.0 + rest * series;
    let series = 1.0 / 6.0 + rest * series;
    let series = 0.5 + rest * series;
    let value = 1.0 + rest + rest * rest * series;
    let exponent = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let scale = f32::from_bits(((exponent + 127) << 23) as u32);
    if is_tiny {
        0.0
    } else {
        value * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phi_is_the_formula_and_its_own_inverse() {
        let mut x = 1e-17_f64;
        while x < 40.0 {
            let exact = 2.0 * libm::atanh(libm::exp(-x)).min(1e3);
            // From ln((2 - r)/r) with r = 1 - e^-x, exact for small x.
            let rest = -libm::expm1(-x);
            let exact = if x < 1e-3 { libm::log((2.0 - rest) / rest) } else { exact };
            let found = f64::from(phi(x as f32));
            assert!((found / exact - 1.0).abs() < 5e-5, "{x}: {found} for {exact}");
            x *= 1.01;
        }
        assert!((phi(phi(3.0)) - 3.0).abs() < 1e-5);
        assert!((phi(phi(0.02)) - 0.02).abs() < 1e-4);
        assert_eq!((phi(0.0), phi(PHI_MAX)), (100.0, 0.0));
    }

    #[test]
    fn a_check_of_three_is_the_hyperbolic_rule() {
        let rows = [1.2_f32, -0.4, 3.0].map(|value| FloatRow([value; LANES]));
        let (mut answers, mut scratch, mut lefts) = ([ZERO; 3], [ZERO; 3], [ZERO; 3]);
        sum_product(&rows, &mut answers, &mut scratch, &mut lefts);
        let tanh = |value: f64| libm::tanh(value / 2.0);
        let expected = |a: f64, b: f64| 2.0 * libm::atanh(tanh(a) * tanh(b));
        for (answer, exact) in
            answers.iter().zip([expected(-0.4, 3.0), expected(1.2, 3.0), expected(1.2, -0.4)])
        {
            assert!((f64::from(answer.0[5]) - exact).abs() < 1e-5, "{} {exact}", answer.0[5]);
        }
        min_sum(&rows, &mut answers, |least| 0.5 * least);
        assert_eq!(answers.map(|row| row.0[0]), [-0.2, 0.6, -0.2]);
    }
}
