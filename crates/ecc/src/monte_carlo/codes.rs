//! The codecs of this crate in the form that the simulation needs.

use super::{HardCode, HardDecoder, SoftCode, SoftDecoder};
use crate::bch::{BchCode, BchDecoder};
use crate::ldpc::{quantise, Decoder, DecoderConfig, DecoderError, LdpcCode};

impl HardCode for BchCode {
    fn data_bits(&self) -> usize {
        self.data_bits()
    }
    fn parity_bits(&self) -> usize {
        self.parity_bits()
    }
    fn encode(&self, data: &[u8], parity: &mut [u8]) {
        self.encode(data, parity);
    }
    fn decoder(&self) -> Box<dyn HardDecoder + '_> {
        Box::new(self.decoder())
    }
}

impl HardDecoder for BchDecoder<'_> {
    fn decode(&mut self, data: &mut [u8], parity: &mut [u8]) -> Option<usize> {
        self.decode(data, parity).ok()
    }
}

/// In what numbers a decoder computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// LLRs as they are.
    Float32,
    /// LLRs rounded to 8 bits, in steps of 1 / `LLR_UNITS`, saturating; as controllers do it.
    Int8,
}

/// An LDPC code with the decoder that is asked for.
pub struct Ldpc {
    code: LdpcCode,
    config: DecoderConfig,
    arithmetic: Arithmetic,
}

impl Ldpc {
    /// Joins a code and its decoder.
    ///
    /// # Errors
    /// When the decoder cannot be set up like this.
    pub fn new(
        code: LdpcCode,
        config: DecoderConfig,
        arithmetic: Arithmetic,
    ) -> Result<Self, DecoderError> {
        // Whether the settings are possible is known once one decoder was made.
        drop(Decoder::new(&code, &config)?);
        Ok(Self { code, config, arithmetic })
    }
}

impl SoftCode for Ldpc {
    fn code_bits(&self) -> usize {
        self.code.code_bits()
    }
    fn info_bits(&self) -> usize {
        self.code.info_bits()
    }
    fn info_positions(&self) -> &[u32] {
        self.code.info_positions()
    }
    fn encode(&self, info: &[u8], code: &mut [u8]) {
        self.code.encode(info, code);
    }
    fn decoder(&self) -> Box<dyn SoftDecoder + '_> {
        let decoder = Decoder::new(&self.code, &self.config);
        let decoder = decoder.expect("the same settings made a decoder in `Ldpc::new`");
        let rounded = match self.arithmetic {
            Arithmetic::Float32 => None,
            Arithmetic::Int8 => Some(Vec::new()),
        };
        Box::new(LdpcDecoder { decoder, rounded })
    }
    fn ldpc_int8(&self) -> Option<(&LdpcCode, &DecoderConfig)> {
        (self.arithmetic == Arithmetic::Int8).then_some((&self.code, &self.config))
    }
}

struct LdpcDecoder {
    decoder: Decoder,
    rounded: Option<Vec<i8>>,
}

impl SoftDecoder for LdpcDecoder {
    fn batch(&self) -> usize {
        self.decoder.batch()
    }

    fn decode(&mut self, llrs: &[f32], hard: &mut [u8], ok: &mut [bool], iterations: &mut [u32]) {
        let frames = ok.len();
        match &mut self.rounded {
            None => self.decoder.decode_f32(llrs, frames, hard, ok, iterations),
            Some(rounded) => {
                rounded.resize(llrs.len(), 0);
                quantise(llrs, rounded);
                self.decoder.decode_i8(rounded, frames, hard, ok, iterations);
            }
        }
    }
}
