//! Codes by their description.

use opennandlab_ecc::bch::BchCode;
use opennandlab_ecc::ldpc::{Algorithm, DecoderConfig, LdpcCode, Unsent};
use opennandlab_ecc::monte_carlo::{Arithmetic, Codec, Ldpc};
use serde_json::Value;

use super::refused;
use crate::doorway::Failure;

/// Builds the code that `spec` describes; also how many shifts were taken modulo the block size.
pub(super) fn build(spec: &Value) -> Result<(Codec, usize), Failure> {
    let text = |key: &str| spec[key].as_str().unwrap_or_default();
    let fail = |error| refused("code", error);
    let unsent = Unsent::parse(text("punctured"), text("shortened")).map_err(fail)?;
    let code = match text("kind") {
        "bch" => return Ok((bch(spec)?, 0)),
        "alist" => LdpcCode::from_alist_without(text("text"), &unsent).map_err(fail)?,
        "qc" => LdpcCode::from_qc_without(text("text"), &unsent).map_err(fail)?,
        "nand" => LdpcCode::nand(text("name")).map_err(fail)?,
        other => return Err(refused("code", format!("unknown code `{other}`"))),
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
    let reduced = code.reduced_shifts();
    let ldpc = Ldpc::new(code, config, arithmetic).map_err(|error| refused("decoder", error))?;
    Ok((Codec::Soft(Box::new(ldpc)), reduced))
}

fn bch(spec: &Value) -> Result<Codec, Failure> {
    let number = |key: &str| spec[key].as_u64();
    // A number that does not fit is out of range, and the constructor reports the range.
    let small = |key| number(key).and_then(|value| u32::try_from(value).ok()).unwrap_or(u32::MAX);
    let data_bits = number("data_bits").map(|bits| bits as usize);
    let code = BchCode::new(small("m"), small("t"), data_bits);
    Ok(Codec::Hard(Box::new(code.map_err(|error| refused("code", error))?)))
}
