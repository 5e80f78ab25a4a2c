//! How long decoding takes: `controller.ecc_decode`, and the times that follow for each rung.
//!
//! ```text
//!   bch    base + errors × per_error               errors of the worst codeword of the page
//!   ldpc   base + iterations × per_iteration       of the slowest codeword; soft: × soft_factor
//!   gives up: after t errors, or after iterations_max
//! ```
//! The codewords of a page are decoded side by side, and so are the pages of a command. A BCH
//! decoder computes syndromes while the page comes in; the polynomial that locates the errors has
//! as many steps, and its search as many terms, as there are errors (Berlekamp-Massey and Chien;
//! Lin & Costello, "Error Control Coding", 2nd edition, section 6.2). The iterations of an LDPC
//! decoder follow from the error rate by density evolution of the code (`ecc::ldpc::evolution`),
//! or are given by a table.
//!
//! Times are means over the pages of a kind that the rung decodes, so that they are computed once
//! for each kind of stress. Left out: queues in front of decoders, and the spread of the times of
//! pages of one kind.

use std::collections::BTreeMap;

use opennandlab_ecc::ldpc::Evolution;
use opennandlab_ecc::PageCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::code::{Algorithm, EccConfig};
use super::fate::RungFate;
use crate::config::ConfigError;

/// A row of `controller.ecc_decode.iterations`: RBER, then the mean iterations after 1, 3 and 7
/// reads, null where unknown.
pub type IterationRow = (f64, Option<f64>, Option<f64>, Option<f64>);

/// The longest time of a key, in microseconds: sums of some fit 32 bits of nanoseconds.
const TIME_US_MAX: f64 = 1e6;

/// Decoding that takes its time by what there is to correct.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EccDecodeConfig {
    /// Time of every decoding, in microseconds, that of a page without errors with BCH. Default 0.
    pub base_us: f64,
    /// BCH: time for each error of the worst codeword of a page, in microseconds; pages that
    /// cannot be decoded take that of `ecc.bch_t` errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_error_us: Option<f64>,
    /// LDPC: time of an iteration, in microseconds; there is one at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_iteration_us: Option<f64>,
    /// LDPC: iterations after which a decoder gives up, 1 to 1000. Default 20, as the frame error
    /// rates of the package's codes were measured with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations_max: Option<u32>,
    /// LDPC: factor on the time of an iteration with soft decisions, 0.01 to 100. Default 1
    /// (assumed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soft_factor: Option<f64>,
    /// LDPC: rows of RBER and the mean iterations of a page after 1, 3 and 7 reads (null: unknown).
    /// Left out: they follow from the error rate by density evolution of the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<Vec<IterationRow>>,
}

impl EccDecodeConfig {
    const ITERATIONS_MAX: u32 = 20;

    /// Fills what the file left out, for a code and the numbers of reads that it is decoded from.
    ///
    /// # Errors
    /// [`ConfigError`] for keys that are missing for the code, or of no use to it.
    pub(crate) fn fill_defaults(
        &mut self,
        ecc: &EccConfig,
        soft_reads: &[u8],
    ) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError::new(key, message));
        let of_ldpc = [
            ("per_iteration_us", self.per_iteration_us.is_some()),
            ("iterations_max", self.iterations_max.is_some()),
            ("soft_factor", self.soft_factor.is_some()),
            ("iterations", self.iterations.is_some()),
        ];
        match ecc.algorithm {
            Algorithm::None => {
                let message = "there is no code to decode; accepted: with ecc.algorithm bch or \
                               ldpc, or no `ecc_decode`";
                return refuse("", message.into());
            }
            Algorithm::Bch => {
                if let Some((key, _)) = of_ldpc.iter().find(|(_, is_given)| *is_given) {
                    let accepted = "accepted: base_us and per_error_us, or ecc.algorithm ldpc";
                    return refuse(key, format!("has no effect on BCH; {accepted}"));
                }
                if self.per_error_us.is_none() {
                    let message = "is missing; accepted: a time for each error, 0 to 1e6";
                    return refuse("per_error_us", message.into());
                }
            }
            Algorithm::Ldpc => {
                if self.per_error_us.is_some() {
                    let accepted = "accepted: base_us, per_iteration_us, iterations_max, \
                                    soft_factor and iterations, or ecc.algorithm bch";
                    return refuse("per_error_us", format!("has no effect on LDPC; {accepted}"));
                }
                if self.per_iteration_us.is_none() {
                    let message = "is missing; accepted: the time of an iteration, 0 to 1e6";
                    return refuse("per_iteration_us", message.into());
                }
                if ecc.ldpc_matrix.is_some() && self.iterations.is_none() {
                    let message =
                        "is missing; accepted: rows of iterations, since nothing but the \
                                   lengths of ecc.ldpc_matrix is known";
                    return refuse("iterations", message.into());
                }
                self.iterations_max.get_or_insert(Self::ITERATIONS_MAX);
                self.soft_factor.get_or_insert(1.0);
                self.check_rows(soft_reads)?;
            }
        }
        Ok(())
    }

    /// Rows of a table, of the reads that the drive makes.
    fn check_rows(&self, soft_reads: &[u8]) -> Result<(), ConfigError> {
        let Some(rows) = &self.iterations else { return Ok(()) };
        let refuse = |message: String| Err(ConfigError::new("iterations", message));
        let most = f64::from(self.iterations_max.unwrap_or(Self::ITERATIONS_MAX));
        for (index, row) in rows.iter().enumerate() {
            let is_rising = index == 0 || row.0 > rows[index - 1].0;
            if !(row.0 > 0.0 && row.0 <= 0.5 && is_rising) {
                let message = format!("rber {:e}; accepted: rising, above 0, to 0.5", row.0);
                return refuse(message);
            }
            let counts = [row.1, row.2, row.3].into_iter().flatten();
            if let Some(count) = { counts }.find(|count| !(1.0..=most).contains(count)) {
                let message = format!("{count} iterations; accepted: 1 to iterations_max = {most}");
                return refuse(message);
            }
        }
        for reads in std::iter::once(&1).chain(soft_reads) {
            if !rows.iter().any(|row| column(row, u32::from(*reads)).is_some()) {
                let message = format!(
                    "no row has iterations after {reads} reads; accepted: one or more for each \
                     number of reads that the drive makes"
                );
                return refuse(message);
            }
        }
        Ok(())
    }

    /// Ranges of the keys.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        for (key, us) in [
            ("base_us", Some(self.base_us)),
            ("per_error_us", self.per_error_us),
            ("per_iteration_us", self.per_iteration_us),
        ] {
            if let Some(us) = us.filter(|us| !(0.0..=TIME_US_MAX).contains(us)) {
                let message = format!("{us} us is out of range; accepted: 0 to 1e6");
                return Err(ConfigError::new(key, message));
            }
        }
        if let Some(count) = self.iterations_max.filter(|count| !(1..=1000).contains(count)) {
            let message = format!("{count} is out of range; accepted: 1 to 1000");
            return Err(ConfigError::new("iterations_max", message));
        }
        if let Some(factor) = self.soft_factor.filter(|factor| !(0.01..=100.0).contains(factor)) {
            let message = format!("{factor} is out of range; accepted: 0.01 to 100");
            return Err(ConfigError::new("soft_factor", message));
        }
        Ok(())
    }

    /// Dotted path and source of each default.
    pub(crate) fn sources() -> [(&'static str, &'static str); 2] {
        [
            (
                "controller.ecc_decode.iterations_max",
                "what the frame error rates of the package's codes were measured with",
            ),
            (
                "controller.ecc_decode.soft_factor",
                "assumed: an iteration takes as long with soft decisions",
            ),
        ]
    }
}

fn column(row: &IterationRow, reads: u32) -> Option<f64> {
    match reads {
        1 => row.1,
        3 => row.2,
        _ => row.3,
    }
}

/// Times of a rung, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeTime {
    /// Until a page is decoded.
    pub done_ns: u32,
    /// Until the decoder gives up.
    pub failed_ns: u32,
}

/// The decoder of a drive, as far as its time goes.
#[derive(Debug)]
pub enum DecodeTimer {
    /// Every decoding takes as long.
    Constant(u32),
    /// By the errors of the worst codeword.
    Bch {
        /// Of every decoding, microseconds.
        base_us: f64,
        /// Of each error.
        per_error_us: f64,
    },
    /// By iterations.
    Ldpc(Box<LdpcTimer>),
}

impl Default for DecodeTimer {
    fn default() -> Self {
        Self::Constant(0)
    }
}

/// The time of an LDPC decoder.
#[derive(Debug)]
pub struct LdpcTimer {
    base_us: f64,
    per_iteration_us: f64,
    soft_factor: f64,
    iterations_max: u32,
    source: Iterations,
}

/// Where iterations come from.
#[derive(Debug)]
enum Iterations {
    Table(Vec<IterationRow>),
    /// With the computed values, by step of the logarithm of the error rate and by reads.
    Evolution(Evolution, BTreeMap<(i32, u32), f64>),
}

/// Steps of the logarithm of the error rate at which density evolution is computed; in between
/// iterations are on a straight line.
const STEP: f64 = 0.02;

/// Error rates below are this one: pages that have an error once in a blue moon.
const RBER_MIN: f64 = 1e-8;

impl DecodeTimer {
    /// The decoder of a resolved device.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc` for an LDPC code that is not one of the package.
    pub fn new(
        constant_us: f64,
        config: Option<&EccDecodeConfig>,
        ecc: &EccConfig,
    ) -> Result<Self, ConfigError> {
        let Some(config) = config else { return Ok(Self::Constant(nanoseconds(constant_us))) };
        let base_us = config.base_us;
        if ecc.algorithm != Algorithm::Ldpc {
            let per_error_us = config.per_error_us.unwrap_or(0.0);
            return Ok(Self::Bch { base_us, per_error_us });
        }
        let source = if let Some(rows) = &config.iterations {
            Iterations::Table(rows.clone())
        } else {
            let name = ecc.ldpc_code.as_deref().unwrap_or_default();
            let evolution = Evolution::of_nand(name)
                .map_err(|error| ConfigError::new("ldpc_code", error.to_string()))?;
            Iterations::Evolution(evolution, BTreeMap::new())
        };
        Ok(Self::Ldpc(Box::new(LdpcTimer {
            base_us,
            per_iteration_us: config.per_iteration_us.unwrap_or(0.0),
            soft_factor: config.soft_factor.unwrap_or(1.0),
            iterations_max: config.iterations_max.unwrap_or(EccDecodeConfig::ITERATIONS_MAX),
            source,
        })))
    }

    /// The time to decode a page on a rung.
    pub(super) fn time(&mut self, code: &PageCode, rung: &RungFate) -> DecodeTime {
        match self {
            Self::Constant(ns) => DecodeTime { done_ns: *ns, failed_ns: *ns },
            Self::Bch { base_us, per_error_us } => {
                let of = |errors: f64| nanoseconds(*base_us + errors * *per_error_us);
                let most = code.code().errors_max().map_or(0.0, f64::from);
                let errors = code.worst_errors_mean(rung.rate).unwrap_or(0.0);
                DecodeTime { done_ns: of(errors), failed_ns: of(most) }
            }
            Self::Ldpc(timer) => {
                let factor = if rung.reads == 1 { 1.0 } else { timer.soft_factor };
                let each = timer.per_iteration_us * factor;
                let (words, most) = (code.codewords_per_page(), timer.iterations_max);
                let mean = timer.source.mean(rung.rate, rung.reads, words, most);
                let of = |iterations: f64| nanoseconds(timer.base_us + iterations * each);
                DecodeTime { done_ns: of(mean), failed_ns: of(f64::from(most)) }
            }
        }
    }
}

impl Iterations {
    /// Mean iterations of pages that are decoded.
    fn mean(&mut self, rber: f64, reads: u32, words: u32, most: u32) -> f64 {
        match self {
            Self::Table(rows) => {
                let points = rows.iter().filter_map(|row| Some((row.0, column(row, reads)?)));
                between(points, rber).unwrap_or(f64::from(most))
            }
            Self::Evolution(evolution, known) => {
                let place = libm::log(rber.max(RBER_MIN)) / STEP;
                let low = libm::floor(place);
                let mut at = |step: i32| {
                    *known.entry((step, reads)).or_insert_with(|| {
                        let rber = libm::exp(f64::from(step) * STEP).min(0.5);
                        evolution.iterations_mean(rber, reads, words, most)
                    })
                };
                let (below, above) = (at(low as i32), at(low as i32 + 1));
                below + (place - low) * (above - below)
            }
        }
    }
}

/// The value at `x` of the line through rising points, flat beyond both ends.
fn between(points: impl Iterator<Item = (f64, f64)>, x: f64) -> Option<f64> {
    let mut before: Option<(f64, f64)> = None;
    for (at, value) in points {
        match before {
            _ if x > at => before = Some((at, value)),
            None => return Some(value),
            Some((low, from)) => return Some(from + (x - low) / (at - low) * (value - from)),
        }
    }
    before.map(|(_, value)| value)
}

fn nanoseconds(us: f64) -> u32 {
    (us * 1e3).round().min(f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(ecc: &EccConfig, config: &EccDecodeConfig, soft: &[u8]) -> DecodeTimer {
        let mut config = config.clone();
        config.check().expect("ranges");
        config.fill_defaults(ecc, soft).expect("keys of the code");
        DecodeTimer::new(0.0, Some(&config), ecc).expect("a decoder")
    }

    fn rung(rate: f64, reads: u32) -> RungFate {
        RungFate { rate, share: 1.0, reads, failure: 0.0 }
    }

    fn ldpc() -> EccConfig {
        EccConfig { ldpc_code: Some("nand-1k-r0889".into()), ..EccConfig::of(Algorithm::Ldpc) }
    }

    #[test]
    fn bch_takes_its_time_by_the_errors_of_the_worst_codeword() {
        let ecc = EccConfig { bch_m: Some(13), bch_t: Some(8), ..EccConfig::default() };
        let config =
            EccDecodeConfig { base_us: 2.0, per_error_us: Some(1.5), ..EccDecodeConfig::default() };
        let mut timer = timer(&ecc, &config, &[]);
        let code = ecc.page_code(512).expect("a code");
        let clean = DecodeTime { done_ns: 2000, failed_ns: 14_000 };
        assert_eq!(timer.time(&code, &rung(0.0, 1)), clean);
        // One codeword of 4200 bits: the mean of a binomial count, as good as none above 8.
        let found = timer.time(&code, &rung(1e-4, 1)).done_ns;
        assert_eq!(found, 2000 + (0.42_f64 * 1500.0).round() as u32);
        // Two of them: the larger of both.
        let pair = ecc.page_code(2048).expect("three codewords");
        assert!(timer.time(&pair, &rung(1e-4, 1)).done_ns > found + 300);
        assert_eq!(timer.time(&code, &rung(0.5, 1)).done_ns, 14_000, "hardly any is decoded");
    }

    #[test]
    fn ldpc_takes_its_time_by_iterations_of_a_table_or_by_evolution() {
        let rows = vec![
            (1e-3, Some(2.0), None, None),
            (3e-3, Some(4.0), Some(2.0), None),
            (5e-3, Some(9.0), Some(3.0), None),
        ];
        let config = EccDecodeConfig {
            base_us: 1.0,
            per_iteration_us: Some(0.5),
            iterations_max: Some(12),
            soft_factor: Some(3.0),
            iterations: Some(rows),
            ..EccDecodeConfig::default()
        };
        let ecc = ldpc();
        let code = ecc.page_code(1024).expect("a code");
        let mut by_table = timer(&ecc, &config, &[3]);
        let mut done = |rate, reads| by_table.time(&code, &rung(rate, reads)).done_ns;
        assert_eq!([1e-5, 1e-3, 2e-3, 0.1].map(|rate| done(rate, 1)), [2000, 2000, 2500, 5500]);
        assert_eq!([1e-3, 4e-3, 1e-2].map(|rate| done(rate, 3)), [4000, 4750, 5500]);
        assert_eq!(by_table.time(&code, &rung(1e-3, 1)).failed_ns, 7000);
        assert_eq!(by_table.time(&code, &rung(1e-3, 3)).failed_ns, 19_000);
        let config = EccDecodeConfig { iterations: None, iterations_max: None, ..config };
        let mut computed = timer(&ecc, &config, &[3, 7]);
        let evolution = Evolution::of_nand("nand-1k-r0889").expect("a shape");
        for (rate, reads) in [(1e-3, 1), (3.3e-3, 1), (6.1e-3, 1), (6.1e-3, 3), (1.2e-2, 7)] {
            let mean = evolution.iterations_mean(rate, reads, 1, 20);
            let us = 1.0 + mean * if reads == 1 { 0.5 } else { 1.5 };
            let found = f64::from(computed.time(&code, &rung(rate, reads)).done_ns) / 1e3;
            assert!((found / us - 1.0).abs() < 1e-3, "{rate} {reads}: {found} {us}");
        }
        assert_eq!(computed.time(&code, &rung(0.0, 1)).done_ns, 1500);
        assert_eq!(computed.time(&code, &rung(0.5, 1)).done_ns, 11_000);
    }
}
