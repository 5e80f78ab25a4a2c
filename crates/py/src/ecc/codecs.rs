//! Codes by their description, and whole buffers through them.

use opennandlab_ecc::bch::BchCode;
use opennandlab_ecc::channel::Channel;
use opennandlab_ecc::ldpc::{Algorithm, DecoderConfig, LdpcCode};
use opennandlab_ecc::monte_carlo::{Arithmetic, Codec, HardCode, Ldpc, SoftCode};
use serde_json::Value;

use super::refused;
use crate::doorway::Failure;

/// Builds the code that `spec` describes.
pub(super) fn build(spec: &Value) -> Result<Codec, Failure> {
    let text = |key: &str| spec[key].as_str().unwrap_or_default();
    let fail = |error| refused("code", error);
    let code = match text("kind") {
        "bch" => return bch(spec),
        "alist" => LdpcCode::from_alist(text("text")).map_err(fail)?,
        "qc" => LdpcCode::from_qc(text("text")).map_err(fail)?,
        "nand" => LdpcCode::nand(text("name")).map_err(fail)?,
        other => return Err(refused("code", format!("there is no code `{other}`"))),
    };
    let default = DecoderConfig::default();
    let config = DecoderConfig {
        algorithm: Algorithm::from_name(text("algorithm"))
            .map_err(|error| refused("decoder", error))?,
        iterations: spec["iterations"].as_u64().unwrap_or_default() as u32,
        scale: spec["scale"].as_f64().map_or(default.scale, |scale| scale as f32),
        offset: spec["offset"].as_f64().map_or(default.offset, |offset| offset as f32),
        stop: spec["stop"].as_bool().unwrap_or(true),
    };
    let arithmetic = match text("arithmetic") {
        "int8" => Arithmetic::Int8,
        _ => Arithmetic::Float32,
    };
    let ldpc = Ldpc::new(code, config, arithmetic).map_err(|error| refused("decoder", error))?;
    Ok(Codec::Soft(Box::new(ldpc)))
}

fn bch(spec: &Value) -> Result<Codec, Failure> {
    let number = |key: &str| spec[key].as_u64();
    // What does not fit is out of range, and the constructor says which range that is.
    let small = |key| number(key).and_then(|value| u32::try_from(value).ok()).unwrap_or(u32::MAX);
    let data_bits = number("data_bits").map(|bits| bits as usize);
    let code = BchCode::new(small("m"), small("t"), data_bits);
    Ok(Codec::Hard(Box::new(code.map_err(|error| refused("code", error))?)))
}

/// What became of a buffer of codewords.
pub(super) struct Decoded {
    pub(super) data: Vec<u8>,
    /// Corrected bits of each word.
    pub(super) corrected: Vec<u64>,
    /// Numbers of the words that could not be decoded.
    pub(super) failed: Vec<u64>,
}

/// Cuts packed data into words of the code and encodes each; words are padded to whole bytes.
pub(super) fn encode(codec: &Codec, data: &[u8]) -> Vec<u8> {
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

/// Decodes words as [`encode`] makes them.
pub(super) fn decode(codec: &Codec, words: &[u8], rber: f64) -> Result<Decoded, Failure> {
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
            Channel::bsc(rber).map_err(|error| refused("rber", error))?;
            let llr = ((1.0 - rber) / rber).ln() as f32;
            decode_soft(code.as_ref(), words, llr, &mut decoded);
        }
    }
    Ok(decoded)
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

/// Copies bits into zeros; what is beyond the end of the source stays zero.
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
