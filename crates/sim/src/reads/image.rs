//! Pages as the flash holds them: data bytes to the bits of their codewords, and back.
//!
//! ```text
//!   data      | 223 bits | 223 bits | ... | 210 bits |        a page, most significant bit first
//!   image     | 223 + 32 | 223 + 32 | ... | 210 + 32 |              codewords without gaps
//!   sensed    bits of the image, or a pattern of several reads of each   ─► decode ─► words left
//! ```
//! A word counts as decoded if the decoder gives back the bits that were written: one that ends at
//! another codeword has failed, as in the other modes.

use opennandlab_ecc::bch::BchCode;
use opennandlab_ecc::bits;
use opennandlab_ecc::ldpc::{Decoder, DecoderConfig, LdpcCode};
use opennandlab_ecc::PageCode;

use super::bit_true::bch_codes;
use super::code::{Algorithm, EccConfig};
use crate::config::ConfigError;

/// Codes of the words of a page.
enum Codec {
    Bch { full: Box<BchCode>, last: Box<BchCode> },
    Ldpc { code: Box<LdpcCode>, decoder: Box<Decoder> },
}

/// A place of a codeword in the data and in the image of its page, in bits.
#[derive(Clone, Copy)]
struct Word {
    data: usize,
    data_bits: usize,
    image: usize,
    /// Bits that the code takes as data: those of the page, and covered ones of the out-of-band
    /// area, which are zeros.
    info_bits: usize,
    image_bits: usize,
}

impl Word {
    /// The data of a word as its code takes it.
    fn info(&self, data: &[u8]) -> Vec<u8> {
        let mut own = taken(data, self.data, self.data_bits);
        own.resize(bits::bytes_of(self.info_bits), 0);
        own
    }

    /// Data and parity of a BCH word of an image, as its decoder takes them. An image has the bits
    /// in the order of the code.
    fn received(&self, image: &[u8], swaps_bits: bool) -> [Vec<u8>; 2] {
        let parity_bits = self.image_bits - self.info_bits;
        let mut parity = taken(image, self.image + self.info_bits, parity_bits);
        if swaps_bits {
            bits::reverse_in_bytes(&mut parity);
        }
        [taken(image, self.image, self.info_bits), parity]
    }
}

/// See the module.
pub(super) struct Images {
    codec: Codec,
    words: Vec<Word>,
}

/// What the decoder receives of each bit of an image.
pub(super) enum Received<'a> {
    /// Hard decisions, packed; all with this LLR.
    Hard(&'a [u8], i8),
    /// An LLR for each bit, positive for 0.
    Soft(&'a [i8]),
}

impl Images {
    /// Codecs for pages of this code.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc` if there is no codec for the code, or if its codewords are
    /// longer than pages.
    pub(super) fn new(config: &EccConfig, page: &PageCode) -> Result<Self, ConfigError> {
        if page.pages_per_codeword() > 1 {
            let message = format!(
                "cells decode a page by itself, and {} pages share a codeword; accepted: a code \
                 whose words are no longer than a map unit",
                page.pages_per_codeword()
            );
            return Err(ConfigError::new("fidelity", message));
        }
        let codec = match config.algorithm {
            // The section has refused a drive without a code.
            Algorithm::None | Algorithm::Bch => {
                let [full, last] = bch_codes(config, page)?;
                Codec::Bch { full, last }
            }
            Algorithm::Ldpc => {
                let refuse = |problem: String| ConfigError::new("ldpc_code", problem);
                let name = config.ldpc_code.as_deref().unwrap_or_default();
                let code = LdpcCode::nand(name).map_err(|error| refuse(error.to_string()))?;
                let decoder = Decoder::new(&code, &DecoderConfig::default());
                let decoder = Box::new(decoder.map_err(|error| refuse(error.to_string()))?);
                Codec::Ldpc { code: Box::new(code), decoder }
            }
        };
        let [meta_bits, parity_bits] = match &codec {
            Codec::Bch { last, .. } => {
                [last.data_bits() - page.last_data_bits() as usize, last.parity_bits()]
            }
            Codec::Ldpc { code, .. } => [0, code.code_bits() - code.info_bits()],
        };
        Ok(Self { words: words(page, meta_bits, parity_bits), codec })
    }

    /// Bits of an image.
    pub(super) fn bits(&self) -> usize {
        self.words.last().map_or(0, |word| word.image + word.image_bits)
    }

    /// Codewords of a page.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// The image of a page with this data.
    pub(super) fn encode(&self, data: &[u8]) -> Vec<u8> {
        let mut image = vec![0; bits::bytes_of(self.bits())];
        for (index, word) in self.words.iter().enumerate() {
            match &self.codec {
                Codec::Bch { full, last } => {
                    let code = if index + 1 < self.words.len() { full } else { last };
                    let mut parity = vec![0; code.parity_bytes()];
                    let own = word.info(data);
                    code.encode(&own, &mut parity);
                    bits::append(&mut image, word.image, &own, false);
                    let (place, swaps) = (word.image + word.info_bits, code.swap_bits());
                    bits::append(&mut image, place, &parity, swaps);
                }
                Codec::Ldpc { code, .. } => {
                    let own = word.info(data);
                    let mut sent = vec![0; code.code_bits()];
                    code.encode(&unpacked(&own, word.data_bits), &mut sent);
                    bits::append(&mut image, word.image, &packed(&sent), false);
                }
            }
        }
        image
    }

    /// Decodes those of the words of a page that are `left`, and keeps in it those that do not give
    /// back the bits of `sent`.
    pub(super) fn decode(&mut self, received: &Received<'_>, sent: &[u8], left: &mut Vec<usize>) {
        let Self { codec, words } = self;
        match codec {
            Codec::Bch { full, last } => {
                let Received::Hard(page, _) = received else { return };
                let swaps = full.swap_bits();
                let (mut of_full, mut of_last) = (full.decoder(), last.decoder());
                left.retain(|&index| {
                    let is_last = index + 1 == words.len();
                    let decoder = if is_last { &mut of_last } else { &mut of_full };
                    let [mut data, mut parity] = words[index].received(page, swaps);
                    let is_corrected = decoder.decode(&mut data, &mut parity).is_ok();
                    !(is_corrected && data == words[index].received(sent, swaps)[0])
                });
            }
            Codec::Ldpc { decoder, .. } => decode_ldpc(decoder, words, received, sent, left),
        }
    }
}

/// The places of the words of a page.
fn words(page: &PageCode, meta_bits: usize, parity_bits: usize) -> Vec<Word> {
    let (mut data, mut image) = (0, 0);
    let count = page.codewords_per_page();
    let word = |index| {
        let full = index + 1 < count;
        let data_bits = if full { page.code().data_bits_max() } else { page.last_data_bits() };
        let data_bits = data_bits as usize;
        let info_bits = data_bits + meta_bits;
        let word = Word { data, data_bits, image, info_bits, image_bits: info_bits + parity_bits };
        (data, image) = (data + data_bits, image + word.image_bits);
        word
    };
    (0..count).map(word).collect()
}

fn decode_ldpc(
    decoder: &mut Decoder,
    words: &[Word],
    received: &Received<'_>,
    sent: &[u8],
    left: &mut Vec<usize>,
) {
    let length = words.first().map_or(0, |word| word.image_bits);
    let mut llrs = Vec::with_capacity(left.len() * length);
    for &index in left.iter() {
        let Word { image, image_bits, .. } = words[index];
        match received {
            Received::Soft(all) => llrs.extend_from_slice(&all[image..image + image_bits]),
            Received::Hard(page, size) => {
                let own = unpacked(&taken(page, image, image_bits), image_bits);
                llrs.extend(own.iter().map(|&bit| if bit == 0 { *size } else { -*size }));
            }
        }
    }
    let count = left.len();
    let (mut hard, mut is_done) = (vec![0; count * length], vec![false; count]);
    decoder.decode_i8(&llrs, count, &mut hard, &mut is_done, &mut vec![0; count]);
    let mut decoded = hard.chunks(length.max(1));
    left.retain(|&index| {
        let Word { image, image_bits, .. } = words[index];
        decoded.next().map(packed) != Some(taken(sent, image, image_bits))
    });
}

/// `count` bits of a stream from one on, as a new stream.
fn taken(stream: &[u8], from: usize, count: usize) -> Vec<u8> {
    let (first, shift) = (from / 8, from % 8);
    let mut own: Vec<u8> = stream[first..]
        .iter()
        .enumerate()
        .take(bits::bytes_of(count))
        .map(|(index, &byte)| {
            let next = stream.get(first + index + 1).copied().unwrap_or(0);
            if shift == 0 {
                byte
            } else {
                byte << shift | next >> (8 - shift)
            }
        })
        .collect();
    bits::clear_behind(&mut own, count);
    own
}

/// A bit per byte.
pub(super) fn unpacked(stream: &[u8], count: usize) -> Vec<u8> {
    (0..count).map(|index| u8::from(bits::bit(stream, index))).collect()
}

fn packed(bits_of: &[u8]) -> Vec<u8> {
    let byte = |eight: &[u8]| {
        let bits = eight.iter().enumerate();
        bits.fold(0, |byte, (place, &bit)| byte | (bit & 1) << (7 - place))
    };
    bits_of.chunks(8).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads::step::BitOrder;
    use crate::rng::Rng;

    fn images(config: &EccConfig, page_bytes: u64) -> Images {
        let page = config.page_code(page_bytes).expect("a code");
        Images::new(config, &page).expect("a codec")
    }

    /// Every word corrects as many flipped bits as its code does, and one more is left.
    #[test]
    fn words_of_odd_lengths_are_encoded_and_corrected() {
        let config = EccConfig { ..EccConfig::default() };
        let mut images = images(&config, 512);
        assert_eq!((images.words(), images.bits()), (19, 512 * 8 + 19 * 32));
        let mut rng = Rng::from_seed(7);
        let data: Vec<u8> = (0..512).map(|_| rng.next_u64() as u8).collect();
        let sent = images.encode(&data);
        assert_eq!(taken(&sent, 0, 223), taken(&data, 0, 223));
        assert_eq!(taken(&sent, 255, 223), taken(&data, 223, 223));
        let mut page = sent.clone();
        for word in images.words.clone() {
            let errors = if word.image == 255 { 5 } else { 4 };
            (0..errors).for_each(|k| bits::flip(&mut page, word.image + k * word.image_bits / 5));
        }
        let mut left: Vec<usize> = (0..19).collect();
        images.decode(&Received::Hard(&page, 1), &sent, &mut left);
        assert_eq!(left, [1]);
    }

    /// Steps as data sheets state them, with covered bytes and the bits of bytes reversed.
    #[test]
    fn steps_with_covered_bytes_and_reversed_bits_are_corrected() {
        for order in [None, Some(BitOrder::Lsb)] {
            let config = EccConfig {
                step_bytes: Some(512),
                strength: Some(5),
                meta_bytes: Some(4),
                bit_order: order,
                ..EccConfig::default()
            };
            let mut images = images(&config, 1024);
            assert_eq!((images.words(), images.bits()), (2, 2 * (516 * 8 + 65)));
            let data: Vec<u8> = (0..1024_u32).map(|at| (at * 7 % 251) as u8).collect();
            let sent = images.encode(&data);
            let mut page = sent.clone();
            (0..5).for_each(|k| bits::flip(&mut page, 4100 + 20 * k));
            (0..6).for_each(|k| bits::flip(&mut page, 4193 + 20 * k));
            let mut left = vec![0, 1];
            images.decode(&Received::Hard(&page, 1), &sent, &mut left);
            assert_eq!(left, [1], "{order:?}");
        }
    }

    #[test]
    fn ldpc_words_are_decoded_from_hard_and_soft_decisions() {
        let config =
            EccConfig { ldpc_code: Some("nand-1k-r0889".into()), ..EccConfig::of(Algorithm::Ldpc) };
        let mut images = images(&config, 2048);
        let mut rng = Rng::from_seed(3);
        let data: Vec<u8> = (0..2048).map(|_| rng.next_u64() as u8).collect();
        let sent = images.encode(&data);
        let mut page = sent.clone();
        let first = images.words[1].image;
        (0..20).for_each(|k| bits::flip(&mut page, 97 * k));
        (0..first / 16).for_each(|k| bits::flip(&mut page, first + 16 * k));
        let mut left = vec![0, 1];
        images.decode(&Received::Hard(&page, 40), &sent, &mut left);
        assert_eq!(left, [1]);
        // The reader knows which bits are doubtful.
        let llrs: Vec<i8> = unpacked(&page, images.bits())
            .iter()
            .zip(unpacked(&sent, images.bits()))
            .map(|(&bit, right)| {
                let size = if bit == right { 40 } else { 1 };
                if bit == 0 {
                    size
                } else {
                    -size
                }
            })
            .collect();
        images.decode(&Received::Soft(&llrs), &sent, &mut left);
        assert!(left.is_empty());
    }
}
