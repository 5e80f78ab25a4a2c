//! Whole buffers through a code: cut into words, encoded, damaged, decoded.
//!
//! Packed data fills the information bits of the words in order, most significant bit of a byte
//! first; every word is padded to whole bytes. This is what files are encoded with; curves count
//! frames without bytes between, see `hard` and `soft`.

use super::{Codec, HardCode, SoftCode};
use crate::channel::{BitErrors, Channel, ChannelError, Rng};

/// Names the random stream of injected errors: "inject" in ASCII.
const INJECTION: u64 = 0x696e_6a65_6374;

/// The result of decoding a buffer of codewords.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Packed data of all words.
    pub data: Vec<u8>,
    /// Corrected bits of each word.
    pub corrected: Vec<u64>,
    /// Numbers of the words that could not be decoded.
    pub failed: Vec<u64>,
}

/// Cuts packed data into words of the code and encodes each; words are padded to whole bytes.
pub fn encode(codec: &Codec, data: &[u8]) -> Vec<u8> {
    let (info, code) = (codec.info_bits(), codec.code_bits());
    let words = (data.len() * 8).div_ceil(info);
    let mut out = vec![0; words * code.div_ceil(8)];
    for (word, record) in out.chunks_mut(code.div_ceil(8)).enumerate() {
        match codec {
            Codec::Hard(hard) => {
                let mut bytes = vec![0; info.div_ceil(8)];
                let mut parity = vec![0; hard.parity_bits().div_ceil(8)];
                copy_bits(data, word * info, &mut bytes, 0, info);
                hard.encode(&bytes, &mut parity);
                copy_bits(&bytes, 0, record, 0, info);
                copy_bits(&parity, 0, record, info, code - info);
            }
            Codec::Soft(soft) => {
                let bits: Vec<u8> = (0..info).map(|place| bit(data, word * info + place)).collect();
                let mut sent = vec![0; code];
                soft.encode(&bits, &mut sent);
                for (place, &value) in sent.iter().enumerate() {
                    record[place >> 3] |= value << (7 - (place & 7));
                }
            }
        }
    }
    out
}

/// Decodes words as [`encode`] makes them. A soft decoder computes its LLRs for hard decisions that
/// are wrong with probability `rber`.
///
/// # Errors
/// When a soft decoder receives an RBER that is not inside (0, 0.5).
pub fn decode(codec: &Codec, words: &[u8], rber: f64) -> Result<Decoded, ChannelError> {
    let size = codec.code_bits().div_ceil(8);
    let count = words.len() / size;
    let mut decoded = Decoded {
        data: vec![0; (count * codec.info_bits()).div_ceil(8)],
        corrected: Vec::with_capacity(count),
        failed: Vec::new(),
    };
    match codec {
        Codec::Hard(code) => decode_hard(code.as_ref(), words, &mut decoded),
        Codec::Soft(code) => {
            // Checks the rate; the LLR of a hard decision follows from it.
            Channel::bsc(rber)?;
            let llr = libm::log((1.0 - rber) / rber) as f32;
            decode_soft(code.as_ref(), words, llr, &mut decoded);
        }
    }
    Ok(decoded)
}

/// Damages words in place: bits flip at a rate, or a fixed number in each word. Returns the number
/// of flipped bits.
///
/// # Errors
/// When the rate is not inside (0, 0.5).
///
/// # Panics
/// When more errors are asked for than a word has bits.
pub fn inject(
    codec: &Codec,
    words: &mut [u8],
    rber: f64,
    errors: BitErrors,
    seed: u64,
) -> Result<u64, ChannelError> {
    let bits = codec.code_bits();
    let channel = Channel::bsc(rber)?;
    let (mut wrong, mut positions) = (0, Vec::new());
    for (number, word) in words.chunks_mut(bits.div_ceil(8)).enumerate() {
        let rng = &mut Rng::frame(seed, INJECTION, number as u64);
        channel.wrong_positions(bits, errors, rng, |_| 0, &mut positions);
        for &position in &positions {
            word[position as usize >> 3] ^= 0x80 >> (position & 7);
        }
        wrong += positions.len() as u64;
    }
    Ok(wrong)
}

fn decode_hard(code: &dyn HardCode, words: &[u8], decoded: &mut Decoded) {
    let (info, parity_bits) = (code.data_bits(), code.parity_bits());
    let mut decoder = code.decoder();
    let mut data = vec![0; info.div_ceil(8)];
    let mut parity = vec![0; parity_bits.div_ceil(8)];
    for (word, record) in words.chunks_exact((info + parity_bits).div_ceil(8)).enumerate() {
        data.fill(0);
        parity.fill(0);
        copy_bits(record, 0, &mut data, 0, info);
        copy_bits(record, info, &mut parity, 0, parity_bits);
        let corrected = decoder.decode(&mut data, &mut parity);
        decoded.corrected.push(corrected.unwrap_or(0) as u64);
        if corrected.is_none() {
            decoded.failed.push(word as u64);
        }
        copy_bits(&data, 0, &mut decoded.data, word * info, info);
    }
}

fn decode_soft(code: &dyn SoftCode, words: &[u8], llr: f32, decoded: &mut Decoded) {
    let (bits, size) = (code.code_bits(), code.code_bits().div_ceil(8));
    let mut decoder = code.decoder();
    let batch = decoder.batch().max(1);
    for (group, records) in words.chunks(batch * size).enumerate() {
        let count = records.len() / size;
        let mut llrs = vec![0.0; count * bits];
        for (record, llrs) in records.chunks_exact(size).zip(llrs.chunks_mut(bits)) {
            for (place, value) in llrs.iter_mut().enumerate() {
                *value = if bit(record, place) == 0 { llr } else { -llr };
            }
        }
        let (mut hard, mut ok) = (vec![0; count * bits], vec![false; count]);
        decoder.decode(&llrs, &mut hard, &mut ok, &mut vec![0; count]);
        for (place, hard) in hard.chunks(bits).enumerate() {
            let word = group * batch + place;
            let received = &records[place * size..(place + 1) * size];
            let changed = hard.iter().enumerate().filter(|&(at, &is)| is != bit(received, at));
            decoded.corrected.push(changed.count() as u64);
            if !ok[place] {
                decoded.failed.push(word as u64);
            }
            for (at, &position) in code.info_positions().iter().enumerate() {
                let target = word * code.info_bits() + at;
                decoded.data[target >> 3] |= hard[position as usize] << (7 - (target & 7));
            }
        }
    }
}

/// The bit at a position, most significant bit of a byte first; zero beyond the end.
fn bit(bytes: &[u8], position: usize) -> u8 {
    bytes.get(position >> 3).map_or(0, |byte| byte >> (7 - (position & 7)) & 1)
}

/// Copies bits into zeros; bits beyond the end of the source stay zero.
fn copy_bits(source: &[u8], from: usize, target: &mut [u8], to: usize, count: usize) {
    if [from, to, count].iter().all(|bits| bits.is_multiple_of(8)) {
        let source = source.get(from / 8..).unwrap_or_default();
        let bytes = (count / 8).min(source.len());
        target[to / 8..to / 8 + bytes].copy_from_slice(&source[..bytes]);
        return;
    }
    for place in 0..count {
        target[(to + place) >> 3] |= bit(source, from + place) << (7 - ((to + place) & 7));
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{HardRepetition, SoftRepetition};
    use super::*;

    fn codecs() -> [Codec; 2] {
        [
            Codec::Hard(Box::new(HardRepetition { copies: 5 })),
            Codec::Soft(Box::new(SoftRepetition { copies: 5 })),
        ]
    }

    #[test]
    fn data_comes_back_as_long_as_the_code_corrects_it() {
        let data = [0xa5, 0x3c, 0x01];
        for codec in codecs() {
            let mut words = encode(&codec, &data);
            assert_eq!(words.len() % codec.code_bits().div_ceil(8), 0);
            let wrong = inject(&codec, &mut words, 0.25, BitErrors::Exactly(2), 7).unwrap();
            let count = words.len() / codec.code_bits().div_ceil(8);
            assert_eq!(wrong, 2 * count as u64);
            let decoded = decode(&codec, &words, 0.25).unwrap();
            assert_eq!(decoded.data[..3], data);
            // The hard toy does not report how many bits it corrected.
            let expected = if matches!(codec, Codec::Soft(_)) { 2 } else { 0 };
            assert_eq!(decoded.corrected, vec![expected; count]);
            assert!(decoded.failed.is_empty());
        }
    }

    #[test]
    fn an_rber_that_is_no_probability_of_an_error_is_refused() {
        let [hard, soft] = codecs();
        assert!(inject(&hard, &mut [0; 5], 0.5, BitErrors::Natural, 1).is_err());
        assert!(decode(&soft, &[0; 5], 0.0).is_err());
    }
}
