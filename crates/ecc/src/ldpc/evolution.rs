//! How many iterations a decoder takes: density evolution of the package's own codes.
//!
//! ```text
//!   channel ─► bit ─► Σ messages of its other checks ─► check: sign, ¾ of the least of the others
//!               ▲                                          │
//!               └──────────── one layer after another ◄────┘     P(bit wrong) after each iteration
//! ```
//! Density evolution follows the distribution of a decoder's messages through its iterations, for
//! words of such length that a message never returns to its origin (T. Richardson and R. Urbanke,
//! IEEE Trans. Information Theory 47, 2001); here in whole numbers, as S.-Y. Chung et al. (IEEE
//! Communications Letters 5, 2001) do it, and for the decoder that the package has: layered
//! normalised min-sum in 8 bits (density evolution of min-sum with a factor: J. Chen and M.
//! Fossorier, IEEE Communications Letters 6, 2002). Only the shape of a code counts: weights of
//! columns, and its block rows, which are the layers. Columns are connected to random layers, so
//! all messages of a layer have one distribution, and a bit has a mean one from each of its other
//! layers.
//!
//! A word of `n` bits is decoded after iteration `i` with probability `(1 - P_i)^n`, its bits taken
//! as independent, and a page with `w` words when all are: `(1 - P_i)^(n w)`. Against the decoder
//! itself (see the tests) means of iterations are 2 to 9 % high: wrong bits come in groups. A
//! Gaussian instead of the whole distribution was tried and is an iteration or more too low, since
//! the messages of hard decisions are far from normal at rows of 40 ones.

use super::construct;
use super::decode::quantise;
use super::error::MatrixError;
use crate::cell::llr_table;

/// Largest message of a check, as of the decoder.
const MESSAGE_MAX: usize = 42;
/// Messages of a check, from the least to the largest.
const MESSAGES: usize = 2 * MESSAGE_MAX + 1;
/// From here on three quarters of a magnitude are the largest message.
const MAGNITUDE_MAX: usize = 4 * MESSAGE_MAX / 3;
/// Error rates that have a finite LLR.
const RBER: (f64, f64) = (1e-12, 0.49);
/// Ones in a column of parity: but for the first block, which has three and is taken as the others.
const PARITY_WEIGHT: usize = 2;
/// Wrong words below this share no longer count.
const DONE: f64 = 1e-9;

/// The shape of a code. See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evolution {
    info_blocks: usize,
    rows: usize,
    weight: usize,
    code_bits: usize,
}

/// LLRs of the reads of a cell with bit 0, in steps of the decoder, and their probabilities.
type Channel = Vec<(i32, f64)>;

impl Evolution {
    /// Edges of the information blocks.
    fn info_edges(&self) -> usize {
        self.info_blocks * self.weight
    }

    /// Edges of the dual-diagonal parity blocks: three of the first, two of each other.
    fn parity_edges(&self) -> usize {
        PARITY_WEIGHT * self.rows + 1
    }

    /// One of the package's own codes.
    ///
    /// # Errors
    /// [`MatrixError::Name`] with the names there are.
    pub fn of_nand(name: &str) -> Result<Self, MatrixError> {
        let (info_blocks, rows, expansion, weight) = construct::shape(name)?;
        Ok(Self { info_blocks, rows, weight, code_bits: (info_blocks + rows) * expansion })
    }

    /// Probability that a bit is wrong after each of up to `iterations` iterations, for cells of a
    /// raw bit error rate that are read 1, 3 or 7 times; ends early when no word is wrong any more.
    ///
    /// # Panics
    /// For other numbers of reads.
    pub fn wrong_bits(&self, rber: f64, reads: u32, iterations: u32) -> Vec<f64> {
        let channel = channel(rber, reads);
        let edges = (self.info_edges() + self.parity_edges()) as f64;
        let other_bits = edges / self.rows as f64 - 1.0;
        let info_share = self.info_edges() as f64 / edges;
        let blocks = (self.info_blocks + self.rows) as f64;
        let mut all_zero = [0.0; MESSAGES];
        all_zero[MESSAGE_MAX] = 1.0;
        let mut layers = vec![all_zero; self.rows];
        let mut wrong = Vec::new();
        for _ in 0..iterations {
            for layer in 0..self.rows {
                let mean = mean_without(&layers, Some(layer));
                let info = sent_to_check(&channel, &sums(&mean, self.weight - 1));
                let parity = sent_to_check(&channel, &sums(&mean, PARITY_WEIGHT - 1));
                let mix =
                    |(info, parity): (&f64, &f64)| info_share * info + (1.0 - info_share) * parity;
                let sent = Sent {
                    shares: info.shares.iter().zip(&parity.shares).map(mix).collect(),
                    leads: info.leads.iter().zip(&parity.leads).map(mix).collect(),
                };
                layers[layer] = check_message(&sent, other_bits);
            }
            let mean = mean_without(&layers, None);
            let info = wrong_share(&channel, &sums(&mean, self.weight));
            let parity = wrong_share(&channel, &sums(&mean, PARITY_WEIGHT));
            let share = (self.info_blocks as f64 * info + self.rows as f64 * parity) / blocks;
            wrong.push(share);
            if share * (self.code_bits as f64) < DONE {
                break;
            }
        }
        wrong
    }

    /// Mean iterations of the slowest of `words` words, of those that are decoded within
    /// `iterations_max`: that number if hardly any is.
    ///
    /// # Panics
    /// If `iterations_max` is 0, and for numbers of reads other than 1, 3 or 7.
    pub fn iterations_mean(&self, rber: f64, reads: u32, words: u32, iterations_max: u32) -> f64 {
        assert!(iterations_max > 0, "iterations_max is 0");
        let bits = self.code_bits as f64 * f64::from(words);
        let wrong = self.wrong_bits(rber, reads, iterations_max);
        let left = |wrong: &f64| -libm::expm1(bits * libm::log1p(-wrong.min(0.5)));
        let never = if wrong.len() < iterations_max as usize {
            0.0
        } else {
            wrong.last().map_or(0.0, left)
        };
        if never > 1.0 - 1e-6 {
            return f64::from(iterations_max);
        }
        let before_last = wrong.iter().take(iterations_max as usize - 1);
        1.0 + before_last.map(|wrong| (left(wrong) - never).max(0.0)).sum::<f64>() / (1.0 - never)
    }
}

/// LLRs of `reads` reads of a bit 0.
fn channel(rber: f64, reads: u32) -> Channel {
    let rber = rber.clamp(RBER.0, RBER.1);
    let hard = libm::log((1.0 - rber) / rber);
    let bins = if reads == 1 {
        vec![(hard, 1.0 - rber), (-hard, rber)]
    } else {
        // The rate is inside the limits of the table, so only the number of reads can be wrong.
        let table = llr_table(rber, reads as usize).expect("1, 3 or 7 reads");
        table.bins.iter().map(|bin| (bin.llr, bin.if_zero)).collect()
    };
    let step = |(llr, probability): (f64, f64)| {
        let mut rounded = [0];
        quantise(&[llr as f32], &mut rounded);
        (i32::from(rounded[0]), probability)
    };
    bins.into_iter().map(step).collect()
}

/// The mean distribution over layers, of those but one.
fn mean_without(layers: &[[f64; MESSAGES]], left_out: Option<usize>) -> [f64; MESSAGES] {
    let mut mean = [0.0; MESSAGES];
    let mut count = 0.0;
    for (_, layer) in layers.iter().enumerate().filter(|(index, _)| Some(*index) != left_out) {
        mean.iter_mut().zip(layer).for_each(|(sum, share)| *sum += share);
        count += 1.0;
    }
    mean.map(|sum| sum / count)
}

/// The distribution of the sum of `count` messages, from the least sum on.
fn sums(message: &[f64; MESSAGES], count: usize) -> Vec<f64> {
    let mut sum = message.to_vec();
    for _ in 1..count {
        let mut next = vec![0.0; sum.len() + MESSAGES - 1];
        for (at, share) in sum.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let places = next[at..at + MESSAGES].iter_mut();
            places.zip(message).for_each(|(place, other)| *place += share * other);
        }
        sum = next;
    }
    sum
}

/// Sums with their shares; the one in the middle is zero.
#[allow(clippy::cast_possible_wrap)] // some hundred sums
fn centred(sums: &[f64]) -> impl Iterator<Item = (i32, &f64)> {
    (-((sums.len() / 2) as i32)..).zip(sums)
}

/// The message of a bit 0 to a check, by magnitude; the last is [`MAGNITUDE_MAX`] and beyond.
struct Sent {
    /// Probability of the magnitude.
    shares: Vec<f64>,
    /// By how much the right sign is more probable than the wrong one.
    leads: Vec<f64>,
}

/// What a bit 0 sends to a check, with the sum of the messages of its other checks.
fn sent_to_check(channel: &Channel, sums: &[f64]) -> Sent {
    let (mut shares, mut leads) = (vec![0.0; MAGNITUDE_MAX + 1], vec![0.0; MAGNITUDE_MAX + 1]);
    for &(llr, probability) in channel {
        for (sum, share) in centred(sums) {
            let value = llr + sum;
            let magnitude = (value.unsigned_abs() as usize).min(MAGNITUDE_MAX);
            shares[magnitude] += probability * share;
            leads[magnitude] += f64::from(value.signum()) * probability * share;
        }
    }
    Sent { shares, leads }
}

/// The message of a check to a bit when each of its `other_bits` sends `sent`: the product of their
/// signs with three quarters of the least magnitude.
fn check_message(sent: &Sent, other_bits: f64) -> [f64; MESSAGES] {
    let mut message = [0.0; MESSAGES];
    // Of one bit, and then of all of them: of this magnitude and more.
    let (mut share, mut lead) = (0.0, 0.0);
    let (mut all_share_above, mut all_lead_above) = (0.0, 0.0);
    for magnitude in (0..=MAGNITUDE_MAX).rev() {
        share += sent.shares[magnitude];
        lead += sent.leads[magnitude];
        // Probability that no magnitude is less, and by how much an even number of wrong signs is
        // then more probable than an odd one.
        let all_share = libm::pow(share.clamp(0.0, 1.0), other_bits);
        let all_lead = libm::pow(lead.clamp(0.0, 1.0), other_bits);
        // The same, with exactly this least magnitude.
        let least_share = (all_share - all_share_above).max(0.0);
        let least_lead = all_lead - all_lead_above;
        let size = 3 * magnitude / 4;
        message[MESSAGE_MAX + size] += (0.5 * (least_share + least_lead)).max(0.0);
        message[MESSAGE_MAX - size] += (0.5 * (least_share - least_lead)).max(0.0);
        (all_share_above, all_lead_above) = (all_share, all_lead);
    }
    let whole: f64 = message.iter().sum();
    message.map(|share| share / whole)
}

/// Probability that a bit is decided wrongly; a tie is half of that.
fn wrong_share(channel: &Channel, sums: &[f64]) -> f64 {
    let mut wrong = 0.0;
    for &(llr, probability) in channel {
        for (sum, share) in centred(sums) {
            wrong += match (llr + sum).signum() {
                1 => 0.0,
                0 => 0.5 * probability * share,
                _ => probability * share,
            };
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::{Decoder, DecoderConfig, LdpcCode};
    use crate::xoshiro::Xoshiro256PlusPlus;

    /// Mean iterations of the package's own decoder over words of zeros, read with hard decisions,
    /// of those that it decodes.
    fn measured(code: &LdpcCode, rber: f64, words: usize) -> f64 {
        let mut decoder = Decoder::new(code, &DecoderConfig::default()).expect("a decoder");
        let bits = code.code_bits();
        let mut rng = Xoshiro256PlusPlus::from_seed(11);
        let mut size = [0];
        quantise(&[libm::log((1.0 - rber) / rber) as f32], &mut size);
        let is_wrong = |rng: &mut Xoshiro256PlusPlus| rng.next_u64() as f64 / 2_f64.powi(64) < rber;
        let llrs: Vec<i8> = (0..words * bits)
            .map(|_| if is_wrong(&mut rng) { -size[0] } else { size[0] })
            .collect();
        let (mut hard, mut ok) = (vec![0; llrs.len()], vec![false; words]);
        let mut iterations = vec![0; words];
        decoder.decode_i8(&llrs, words, &mut hard, &mut ok, &mut iterations);
        let decoded: Vec<u32> =
            iterations.iter().zip(&ok).filter(|(_, &ok)| ok).map(|(&count, _)| count).collect();
        assert!(decoded.len() * 10 > words * 9, "{} of {words}", decoded.len());
        f64::from(decoded.iter().sum::<u32>()) / decoded.len() as f64
    }

    #[test]
    fn iterations_are_those_of_the_decoder_within_a_tenth() {
        for (name, words, rates) in [
            ("nand-1k-r0889", 1024, [1e-3, 3e-3, 6e-3]),
            ("nand-4k-r090", 192, [1e-3, 3e-3, 6e-3]),
            ("nand-2k-r0933", 320, [5e-4, 2e-3, 3.5e-3]),
        ] {
            let code = LdpcCode::nand(name).expect("a code");
            let evolution = Evolution::of_nand(name).expect("its shape");
            for rber in rates {
                let expected = evolution.iterations_mean(rber, 1, 1, 20);
                let found = measured(&code, rber, words);
                println!("{name} {rber:e}: {expected:.3} by evolution, {found:.3} measured");
                assert!((expected / found - 1.0).abs() < 0.1, "{name} {rber}: {expected} {found}");
            }
        }
    }

    #[test]
    fn more_errors_fewer_reads_and_more_words_take_longer_up_to_the_limit() {
        let evolution = Evolution::of_nand("nand-1k-r0889").expect("a shape");
        let mean = |rber, reads, words| evolution.iterations_mean(rber, reads, words, 20);
        let rates = [0.0, 1e-6, 1e-4, 1e-3, 3e-3, 5e-3, 7e-3, 1e-2, 5e-2, 0.5];
        for pair in rates.windows(2) {
            assert!(mean(pair[0], 1, 1) <= mean(pair[1], 1, 1) + 1e-9, "{pair:?}");
        }
        assert!((mean(0.0, 1, 1) - 1.0).abs() < 1e-6);
        assert!((mean(0.5, 1, 1) - 20.0).abs() < 1e-9);
        assert!(mean(7e-3, 7, 1) < mean(7e-3, 3, 1) && mean(7e-3, 3, 1) < mean(7e-3, 1, 1));
        assert!(mean(3e-3, 1, 1) < mean(3e-3, 1, 16) && mean(3e-3, 1, 16) < 6.0);
        assert!((evolution.iterations_mean(1e-2, 1, 1, 1) - 1.0).abs() < 1e-12);
        assert!(Evolution::of_nand("nand-9k").is_err());
    }
}
