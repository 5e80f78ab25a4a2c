//! Binary BCH codes, bit by bit: encoder and bounded-distance decoder.
//!
//! A [`BchCode`] over GF(2^m) corrects any t bit errors in a word of up to 2^m - 1 bits; drives use
//! m = 13 over 512 bytes and m = 14 over 1 KiB. Data may have any number of bits up to
//! [`BchCode::max_data_bits`]; the missing bits count as leading zeros that are not stored.
//!
//! ```text
//!   field          GF(2^m)                        residue        stream mod groups of factors
//!   polynomial     words over GF(2)               encode         parity from residues
//!   generator      factors, groups, g(x)          syndrome       S_i from residues
//!   multiplier     constants as tables            key_equation   locator from syndromes
//!   simd           the vector loops               locate         roots of the locator
//!   trace          the same without vectors      decode         all of it in order
//! ```
//!
//! Bytes are those of the BCH code of the Linux kernel: data in order, the most significant bit of
//! the first byte being the highest power of x; parity the same way, filled up with zeros to whole
//! bytes; [`BchCode::with_swap_bits`] reverses the bits in every byte.

mod decode;
mod encode;
mod field;
mod generator;
mod key_equation;
mod locate;
mod multiplier;
mod polynomial;
mod residue;
mod simd;
mod syndrome;
#[cfg(test)]
mod tests;
mod trace;

pub use decode::{BchDecoder, Uncorrectable};
pub use simd::Path;

use crate::codes::{Bch, CodeError};
use crate::tail::binomial_tail;
use crate::{bits, Code};
use encode::Encoder;
use field::{usual_polynomial, Field};
use generator::Generator;
use key_equation::KeyEquation;
use locate::Locator;
use multiplier::Multipliers;
use residue::{Residues, BLOCK_BYTES};
use syndrome::Syndromes;

/// The degree of a polynomial, bit k being the coefficient of x^k, if it makes a field: if it is
/// primitive and of degree 5 to 16.
pub fn primitive_degree(polynomial: u32) -> Option<u32> {
    Field::over(polynomial).map(|field| field.degree())
}

/// A binary primitive narrow-sense BCH code, possibly shortened, with all the tables it takes.
#[derive(Clone, Debug)]
pub struct BchCode {
    t: u32,
    data_bits: usize,
    max_data_bits: usize,
    swap_bits: bool,
    path: Path,
    field: Field,
    generator: Generator,
    multipliers: Multipliers,
    encoder: Encoder,
    residues: Residues,
    syndromes: Syndromes,
    locator: Locator,
}

impl BchCode {
    /// The code over GF(2^`m`) that corrects `t` errors, with `data_bits` data bits a word, or as
    /// many as fit when `None`.
    ///
    /// # Errors
    /// [`CodeError`] when `m` is outside 5 to 16, when `t` is 0 or so large that no data bit is
    /// left, and when `data_bits` is 0 or more than fits.
    ///
    /// ```
    /// use opennandlab_ecc::bch::BchCode;
    /// let code = BchCode::new(13, 8, Some(4096))?;
    /// let (mut data, mut parity) = (vec![0xa5; 512], vec![0; code.parity_bytes()]);
    /// code.encode(&data, &mut parity);
    /// data[17] ^= 0x20;
    /// let mut decoder = code.decoder();
    /// assert_eq!(decoder.decode(&mut data, &mut parity), Ok(1));
    /// assert_eq!((data[17], decoder.positions()), (0xa5, &[17 * 8 + 2][..]));
    /// # Ok::<(), opennandlab_ecc::CodeError>(())
    /// ```
    pub fn new(m: u32, t: u32, data_bits: Option<usize>) -> Result<Self, CodeError> {
        Self::with_path(Path::best(), m, t, data_bits)
    }

    /// The same computed in a certain way; results do not depend on it.
    ///
    /// # Errors
    /// As [`BchCode::new`].
    pub fn with_path(
        path: Path,
        m: u32,
        t: u32,
        data_bits: Option<usize>,
    ) -> Result<Self, CodeError> {
        Bch::new(m, t, None)?;
        Self::over(path, usual_polynomial(m), t, data_bits)
    }

    /// The same over the field of another primitive polynomial of degree m, bit k being the
    /// coefficient of x^k: controllers differ in it, and so do their parities.
    ///
    /// # Errors
    /// As [`BchCode::new`], and for a polynomial that is not primitive.
    pub fn over(
        path: Path,
        polynomial: u32,
        t: u32,
        data_bits: Option<usize>,
    ) -> Result<Self, CodeError> {
        let field = Field::over(polynomial).ok_or(CodeError::Polynomial { polynomial })?;
        let longest = Bch::new(field.degree(), t, None)?;
        let max_data_bits = longest.data_bits_max() as usize;
        let data_bits = data_bits.unwrap_or(max_data_bits);
        if data_bits == 0 || data_bits > max_data_bits {
            let (data_bits, data_bits_max) = (data_bits as u64, max_data_bits as u64);
            return Err(CodeError::DataBits { data_bits, data_bits_max });
        }
        let generator = Generator::new(&field, t as usize);
        debug_assert_eq!(generator.degree, longest.parity_bits() as usize);
        let code_bits = data_bits + generator.degree;
        // A word ends with a byte: bits behind it are undone by the weight.
        let padding = bits::bytes_of(code_bits) * 8 - code_bits;
        let groups = &generator.groups;
        let weights: Vec<u64> =
            groups.iter().map(|group| group.modulus.x_to_minus(padding)).collect();
        let multipliers = Multipliers::new(path, &field);
        Ok(Self {
            t,
            data_bits,
            max_data_bits,
            swap_bits: false,
            path,
            encoder: Encoder::new(path, &generator, data_bits),
            residues: Residues::new(path, groups, &weights),
            syndromes: Syndromes::new(&field, &generator, t as usize),
            locator: Locator::new(path, &field, &multipliers, t as usize, code_bits),
            field,
            generator,
            multipliers,
        })
    }

    /// The same code for bytes whose least significant bit comes first, in data and parity.
    #[must_use]
    pub fn with_swap_bits(mut self, swap_bits: bool) -> Self {
        self.swap_bits = swap_bits;
        self
    }

    /// The degree m of the field.
    pub fn m(&self) -> u32 {
        self.field.degree()
    }

    /// The number of bit errors that are corrected in any word.
    pub fn t(&self) -> u32 {
        self.t
    }

    /// Data bits of a word.
    pub fn data_bits(&self) -> usize {
        self.data_bits
    }

    /// Parity bits of a word: the degree of the generator.
    pub fn parity_bits(&self) -> usize {
        self.generator.degree
    }

    /// Length n of a word: data and parity bits.
    pub fn code_bits(&self) -> usize {
        self.data_bits + self.parity_bits()
    }

    /// The most data bits a word can carry.
    pub fn max_data_bits(&self) -> usize {
        self.max_data_bits
    }

    /// Bytes of the data of a word.
    pub fn data_bytes(&self) -> usize {
        bits::bytes_of(self.data_bits)
    }

    /// Bytes of the parity of a word.
    pub fn parity_bytes(&self) -> usize {
        bits::bytes_of(self.parity_bits())
    }

    /// Whether the least significant bit of a byte comes first.
    pub fn swap_bits(&self) -> bool {
        self.swap_bits
    }

    /// The way of computing.
    pub fn path(&self) -> Path {
        self.path
    }

    /// The coefficients of the generator polynomial, highest power first.
    pub fn generator(&self) -> impl Iterator<Item = bool> + '_ {
        self.generator.coefficients()
    }

    /// Writes the parity of `data`. Bits behind the last data bit are ignored.
    ///
    /// # Panics
    /// When data or parity do not have the length of the code.
    pub fn encode(&self, data: &[u8], parity: &mut [u8]) {
        self.check_lengths(data, parity);
        self.encoder.encode(data, parity, self.swap_bits);
    }

    /// A decoder with its own buffers; one for each thread.
    pub fn decoder(&self) -> BchDecoder<'_> {
        BchDecoder::new(self)
    }

    /// Probability that a word is not decoded, or wrongly, when every bit is wrong independently
    /// with probability `rber`: `P(X > t)`, `X ~ Binomial(n, rber)`.
    ///
    /// # Panics
    /// When `rber` is not in `0.0..=1.0`.
    pub fn failure_probability(&self, rber: f64) -> f64 {
        binomial_tail(self.code_bits() as u32, self.t, rber)
    }

    /// Share of the words far beyond t errors that are decoded, to a wrong codeword.
    ///
    /// Such a word is as good as random: of the `2^p` cosets of a code with p parity bits, the sum
    /// of `C(n, s)` for s = 0 to t have a leader of up to t errors within the word. With t + 1 or
    /// t + 2 errors the true value is near it too. Source of the argument: L. Swanson and R. J.
    /// `McEliece`, "On the decoder error probability for Reed-Solomon codes", IEEE Trans.
    /// Information Theory 32(5), 1986.
    pub fn miscorrection_probability(&self) -> f64 {
        let n = self.code_bits();
        let mut log2_term = -(self.parity_bits() as f64);
        let mut sum = libm::exp2(log2_term);
        for s in 0..self.t as usize {
            log2_term += libm::log2((n - s) as f64 / (s + 1) as f64);
            sum += libm::exp2(log2_term);
        }
        sum.min(1.0)
    }

    fn check_lengths(&self, data: &[u8], parity: &[u8]) {
        let (data_bytes, parity_bytes) = (self.data_bytes(), self.parity_bytes());
        assert!(
            data.len() == data_bytes && parity.len() == parity_bytes,
            "a word has {data_bytes} bytes of data and {parity_bytes} of parity, not {} and {}",
            data.len(),
            parity.len(),
        );
    }

    /// Bytes of a word in whole blocks.
    fn stream_bytes(&self) -> usize {
        bits::bytes_of(self.code_bits()).next_multiple_of(BLOCK_BYTES)
    }

    /// Writes data and parity as one stream of bits to the end of `stream`, whose front stays 0.
    fn pack(&self, data: &[u8], parity: &[u8], stream: &mut [u8]) {
        self.check_lengths(data, parity);
        let front = stream.len() - bits::bytes_of(self.code_bits());
        let word = &mut stream[front..];
        word[..data.len()].copy_from_slice(data);
        if self.data_bits.is_multiple_of(8) {
            word[data.len()..].copy_from_slice(parity);
            if self.swap_bits {
                bits::reverse_in_bytes(word);
            }
        } else {
            if self.swap_bits {
                bits::reverse_in_bytes(&mut word[..data.len()]);
            }
            bits::clear_behind(word, self.data_bits);
            bits::append(word, self.data_bits, parity, self.swap_bits);
        }
        bits::clear_behind(word, self.code_bits());
    }
}
