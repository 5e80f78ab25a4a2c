//! The `ecc` section of a device file: which code protects a page, and how its outcome is found.
//!
//! ```text
//!   algorithm   bch             bch_m, bch_t, codeword_spread     outcome exact, by formula
//!                               or step_bytes, strength: see `step`
//!               ldpc            ldpc_code, fer_table              outcome by measured table
//!                               ldpc_matrix: a matrix by its lengths, with a fer_table
//!   fidelity    table           a number drawn against the probability of the outcome
//!               bit_true        data encoded, bits flipped, decoded, at every host read
//!               cells           cells sensed and decoded, at host reads of picked blocks
//! ```

use opennandlab_ecc::{CodeError, LdpcByTable, PageCode, Uncoded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::step::{BchWords, BitOrder};
use crate::config::{is_default, ConfigError};

/// The code that protects a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// No code: one wrong bit makes a page uncorrectable.
    None,
    /// A binary BCH code of length `2^bch_m - 1` that corrects `bch_t` bits.
    #[default]
    Bch,
    /// One of the package's own quasi-cyclic LDPC codes, `ldpc_code`.
    Ldpc,
}

/// How the outcome of a read is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Drawn from its probability: by formula for BCH, by table for LDPC.
    #[default]
    Table,
    /// Host reads encode, flip bits and decode; other reads as with `table`.
    BitTrue,
    /// Host reads of the blocks that `nand.cells` picks sense cells and decode; other reads as with
    /// `table`.
    Cells,
}

/// The application class whose error rate is asked for, JESD218.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReliabilityClass {
    /// UBER of 1e-15 at most.
    #[default]
    Client,
    /// UBER of 1e-16 at most.
    Enterprise,
}

impl ReliabilityClass {
    /// The most data errors per bit read (JEDEC JESD218; recalled, unverified).
    pub fn uber_max(self) -> f64 {
        match self {
            Self::Client => 1e-15,
            Self::Enterprise => 1e-16,
        }
    }
}

/// A row of `ecc.fer_table`: RBER, then frame error rates after 1, 3 and 7 reads, null where
/// unknown.
pub type FerRow = (f64, Option<f64>, Option<f64>, Option<f64>);

/// An LDPC code that is not of the package: its lengths, and what its matrix is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatrixConfig {
    /// SHA-256 of the text of the matrix.
    pub sha256: String,
    /// Data bits of a codeword.
    pub data_bits: u32,
    /// Bits of a codeword.
    pub code_bits: u32,
}

/// Error correction of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EccConfig {
    /// `none`, `bch` or `ldpc`.
    pub algorithm: Algorithm,
    /// The code by one word, as `opennandlab ecc` takes it: `bch:m=13,t=8,data_bits=4096`, the name
    /// of an LDPC code of the package, or `ldpc:FILE`, with a `fer_table`. Gives the keys
    /// below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Data bytes of a BCH codeword, as data sheets state it with `strength`; a page is a whole
    /// number of them. Also `nand-ecc-step-size`. Left out: words as long as `bch_m` allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_bytes: Option<u32>,
    /// Bits that each step corrects. Also `nand-ecc-strength`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<u32>,
    /// Controller whose parity it is, of `opennandlab ecc dump dialects`: gives `step_bytes`,
    /// `primitive_poly`, `bit_order` and `meta_bytes`, and `strength` if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// Bytes of the out-of-band area that each step covers besides its data. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_bytes: Option<u32>,
    /// Primitive polynomial of the field, such as 0x201b; its degree is m. Left out: that of the
    /// Linux kernel. Does not change how often words fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primitive_poly: Option<u32>,
    /// Which bit of a byte comes first: `msb`, `lsb` or `nibble`. Left out: `msb`. Does not change
    /// how often words fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_order: Option<BitOrder>,
    /// Field degree of the BCH code, 5 to 16: codewords have at most `2^m - 1` bits. Default 8;
    /// with `step_bytes` 13 for 512, 14 for 1024, else the least that is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bch_m: Option<u32>,
    /// Bits that one codeword corrects. Default 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bch_t: Option<u32>,
    /// Name of the LDPC code, such as `nand-4k-r090`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ldpc_code: Option<String>,
    /// An LDPC code of a file, by its lengths; filled in by `code: ldpc:FILE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ldpc_matrix: Option<MatrixConfig>,
    /// Frame error rates of the LDPC code: rows of RBER and the rates after 1, 3 and 7 reads (null:
    /// unknown), or `{curves: [FILE, ...]}` of `ecc curve`. Left out: as measured by the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fer_table: Option<Vec<FerRow>>,
    /// Relative standard deviation of the error rates of BCH codewords; 0 (default): all alike.
    #[serde(skip_serializing_if = "is_default")]
    pub codeword_spread: f64,
    /// `table` (default), `bit_true` or `cells`.
    #[serde(skip_serializing_if = "is_default")]
    pub fidelity: Fidelity,
    /// `client` (default) or `enterprise`: whose limit `ecc_margin` is against.
    #[serde(skip_serializing_if = "is_default")]
    pub reliability_class: ReliabilityClass,
}

impl Default for EccConfig {
    fn default() -> Self {
        Self::of(Algorithm::Bch)
    }
}

impl EccConfig {
    /// Defaults with another code; LDPC still needs its `ldpc_code`.
    pub fn of(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            code: None,
            step_bytes: None,
            strength: None,
            dialect: None,
            meta_bytes: None,
            primitive_poly: None,
            bit_order: None,
            bch_m: None,
            bch_t: None,
            ldpc_code: None,
            ldpc_matrix: None,
            fer_table: None,
            codeword_spread: 0.0,
            fidelity: Fidelity::Table,
            reliability_class: ReliabilityClass::Client,
        }
    }

    /// The code of a page with `page_bytes` data bytes.
    ///
    /// # Errors
    /// [`ConfigError`] relative to this section.
    pub fn page_code(&self, page_bytes: u64) -> Result<PageCode, ConfigError> {
        self.check()?;
        self.words().check_page(page_bytes)?;
        PageCode::new(self.code()?, page_bytes as u32).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &CodeError) -> ConfigError {
        let is_table = matches!(error, CodeError::FerTable { .. });
        ConfigError::new(if is_table { "fer_table" } else { self.key() }, error.to_string())
    }

    /// Checks that a page of the flash, which holds `units` coded pages, has room for their parity
    /// in its out-of-band area.
    ///
    /// # Errors
    /// [`ConfigError`] relative to this section.
    pub fn check_parity(&self, page: &PageCode, units: u32, oob: u64) -> Result<(), ConfigError> {
        let parity = u64::from(units) * u64::from(page.parity_bytes_per_page());
        if parity <= oob {
            return Ok(());
        }
        let codewords = units * page.codewords_per_page();
        Err(ConfigError::new(
            self.key(),
            format!(
                "parity of {parity} B per page ({codewords} codewords) does not fit \
                 nand.oob_size_bytes = {oob}"
            ),
        ))
    }

    /// Fills what the file left out: m and t of codes without steps.
    ///
    /// # Errors
    /// [`ConfigError`] for a name whose meaning is not in the file.
    pub(crate) fn fill_defaults(&mut self) -> Result<(), ConfigError> {
        let is_ldpc = self.ldpc_code.is_some() || self.ldpc_matrix.is_some();
        for (key, is_named, is_known) in [
            ("dialect", self.dialect.is_some(), self.primitive_poly.is_some()),
            ("code", self.code.is_some(), self.bch_m.is_some() || is_ldpc),
        ] {
            if is_named && !is_known {
                let message = "names keys that are not here; accepted: as the package reads it";
                return Err(ConfigError::new(key, message));
            }
        }
        if self.step_bytes.is_none() {
            self.bch_m.get_or_insert(BchWords::DEGREE);
            self.bch_t.get_or_insert(BchWords::STRENGTH);
        }
        Ok(())
    }

    /// The BCH words of the file.
    pub(super) fn words(&self) -> BchWords {
        BchWords {
            step_bytes: self.step_bytes,
            strength: self.correctable_bits(),
            meta_bytes: self.meta_bytes.unwrap_or(0),
            polynomial: self.primitive_poly,
            degree: self.bch_m,
            order: self.bit_order,
        }
    }

    /// Errors that a BCH word corrects, t.
    pub(crate) fn correctable_bits(&self) -> u32 {
        self.strength.or(self.bch_t).unwrap_or(BchWords::STRENGTH)
    }

    /// The key that names the code.
    fn key(&self) -> &'static str {
        match self.algorithm {
            Algorithm::Ldpc if self.ldpc_matrix.is_some() => "ldpc_matrix",
            Algorithm::Ldpc => "ldpc_code",
            _ if self.strength.is_some() => "strength",
            _ => "bch_t",
        }
    }

    fn code(&self) -> Result<Box<dyn opennandlab_ecc::Code>, ConfigError> {
        Ok(match self.algorithm {
            Algorithm::None => Box::new(Uncoded),
            Algorithm::Bch => Box::new(self.words().code()?.with_spread(self.codeword_spread)),
            Algorithm::Ldpc => {
                let rows: Option<Vec<_>> = self
                    .fer_table
                    .as_ref()
                    .map(|rows| rows.iter().map(|row| (row.0, [row.1, row.2, row.3])).collect());
                let code = match &self.ldpc_matrix {
                    None => {
                        let name = self.ldpc_code.as_deref().unwrap_or_default();
                        LdpcByTable::new(name, rows.as_deref())
                    }
                    Some(matrix) => {
                        let rows = rows.as_deref().unwrap_or_default();
                        LdpcByTable::of_lengths(matrix.data_bits, matrix.code_bits, rows)
                    }
                };
                Box::new(code.map_err(|error| self.refused(&error))?)
            }
        })
    }

    /// Dotted path and source of each default that a resolved device can hold.
    pub(crate) fn sources(&self) -> Vec<(&'static str, &'static str)> {
        let class = "JEDEC JESD218: UBER 1e-15 (client) or 1e-16 (recalled, unverified)";
        let mut rows = vec![("ecc.reliability_class", class)];
        match self.algorithm {
            Algorithm::None => {}
            Algorithm::Bch if self.step_bytes.is_some() => {}
            Algorithm::Bch => {
                let page = "OpenNANDLab 2.0 benchmark page: BCH (255, 223), t = 4";
                rows.extend([("ecc.bch_m", page), ("ecc.bch_t", page)]);
                rows.push(("ecc.codeword_spread", "none: codewords err alike unless it is given"));
            }
            Algorithm::Ldpc => rows.push((
                "ecc.fer_table",
                "measured with the package's own engine (docs/ecc.md) unless it is given",
            )),
        }
        rows
    }

    /// Relations between the keys of BCH words.
    fn check_words(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError::new(key, message));
        if self.step_bytes.is_none() {
            let of_steps = [
                ("strength", self.strength.is_some()),
                ("meta_bytes", self.meta_bytes.is_some()),
                ("primitive_poly", self.primitive_poly.is_some()),
                ("bit_order", self.bit_order.is_some()),
                ("dialect", self.dialect.is_some()),
            ];
            return match of_steps.iter().find(|(_, is_given)| *is_given) {
                Some((key, _)) => refuse(key, "has no effect; accepted: with step_bytes".into()),
                None => Ok(()),
            };
        }
        if self.algorithm != Algorithm::Bch {
            let message = "has no effect; accepted: only with algorithm bch";
            return refuse("step_bytes", message.into());
        }
        match (self.strength, self.bch_t) {
            (None, None) => {
                let message = "is missing; accepted: the bits that each step corrects, 1 or more";
                refuse("strength", message.into())
            }
            (Some(strength), Some(t)) if strength != t => refuse(
                "bch_t",
                format!("{t} is not strength = {strength}; accepted: one of the two"),
            ),
            _ => Ok(()),
        }
    }

    /// Relations between the keys.
    fn check(&self) -> Result<(), ConfigError> {
        self.check_words()?;
        let refuse = |key: &str, message: String| Err(ConfigError::new(key, message));
        let is_ldpc = self.algorithm == Algorithm::Ldpc;
        if is_ldpc && self.ldpc_code.is_none() == self.ldpc_matrix.is_none() {
            let names = LdpcByTable::names_with_table().join(", ");
            return refuse("ldpc_code", format!("algorithm ldpc needs a code; accepted: {names}"));
        }
        for (key, is_given) in [
            ("ldpc_code", self.ldpc_code.is_some()),
            ("ldpc_matrix", self.ldpc_matrix.is_some()),
            ("fer_table", self.fer_table.is_some()),
        ] {
            if is_given && !is_ldpc {
                return refuse(key, "has no effect; accepted: only with algorithm ldpc".into());
            }
        }
        if !(0.0..=10.0).contains(&self.codeword_spread) {
            let message = format!("{} is out of range; accepted: 0 to 10", self.codeword_spread);
            return refuse("codeword_spread", message);
        }
        if self.codeword_spread > 0.0 && self.algorithm != Algorithm::Bch {
            let message = "is known for bch only; accepted: 0, or algorithm bch";
            return refuse("codeword_spread", message.into());
        }
        let name = match self.fidelity {
            Fidelity::Table => return Ok(()),
            Fidelity::BitTrue => "bit_true",
            Fidelity::Cells => "cells",
        };
        if self.ldpc_matrix.is_some() {
            let message = format!(
                "{name} decodes, and the drive has the lengths of this matrix only; accepted: \
                 table, or a code of the package"
            );
            return refuse("fidelity", message);
        }
        if self.algorithm == Algorithm::None {
            let message = format!("{name} needs a code to decode; accepted: algorithm bch or ldpc");
            return refuse("fidelity", message);
        }
        if self.codeword_spread > 0.0 {
            let message = format!("{name} has bits of one rate; accepted: codeword_spread = 0");
            return refuse("fidelity", message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::step::split_warning;
    use super::*;

    fn ldpc(name: &str) -> EccConfig {
        EccConfig { ldpc_code: Some(name.into()), ..EccConfig::of(Algorithm::Ldpc) }
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_the_numbers() {
        let bch = EccConfig::default;
        for (config, oob, path, words) in [
            (bch(), 512, "bch_t", "588 B"),
            (EccConfig::of(Algorithm::Ldpc), 512, "ldpc_code", "nand-4k-r090"),
            (ldpc("nand-4k-r090"), 447, "ldpc_code", "448 B"),
            (ldpc("nand-4k"), 512, "ldpc_code", "nand-4k-r090"),
            (ldpc("nand-n1024-r0889"), 4096, "ldpc_code", "fer_table"),
            (EccConfig { ldpc_code: Some("x".into()), ..bch() }, 4096, "ldpc_code", "no effect"),
            (EccConfig { fer_table: Some(Vec::new()), ..bch() }, 4096, "fer_table", "no effect"),
            (
                EccConfig { fer_table: Some(Vec::new()), ..ldpc("nand-4k-r090") },
                4096,
                "fer_table",
                "1 read",
            ),
            (EccConfig { codeword_spread: -1.0, ..bch() }, 4096, "codeword_spread", "0 to 10"),
            (
                EccConfig { codeword_spread: 0.1, ..ldpc("nand-4k-r090") },
                4096,
                "codeword_spread",
                "bch only",
            ),
            (
                EccConfig { fidelity: Fidelity::BitTrue, codeword_spread: 0.1, ..bch() },
                4096,
                "fidelity",
                "one rate",
            ),
            (
                EccConfig { fidelity: Fidelity::BitTrue, ..EccConfig::of(Algorithm::None) },
                4096,
                "fidelity",
                "bch or ldpc",
            ),
            (
                EccConfig { fidelity: Fidelity::Cells, codeword_spread: 0.1, ..bch() },
                4096,
                "fidelity",
                "cells has bits of one rate",
            ),
        ] {
            let checked =
                config.page_code(4096).and_then(|page| config.check_parity(&page, 1, oob));
            let error = checked.expect_err(words);
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
        let ldpc = ldpc("nand-4k-r090");
        let page = ldpc.page_code(4096).expect("one codeword");
        assert!(
            ldpc.check_parity(&page, 1, 448).is_ok() && ldpc.check_parity(&page, 4, 1792).is_ok()
        );
        let error = ldpc.check_parity(&page, 4, 1791).expect_err("four codewords");
        assert!(error.message.contains("1792 B per page (4 codewords)"), "{error}");
        let error = ldpc.page_code(6144).expect_err("1.5 codewords");
        assert!(error.message.contains("49152"), "{error}");
    }

    fn steps(step_bytes: u32, strength: u32) -> EccConfig {
        let (step_bytes, strength) = (Some(step_bytes), Some(strength));
        EccConfig { step_bytes, strength, ..EccConfig::default() }
    }

    #[test]
    fn steps_have_the_usual_degrees_and_refuse_what_contradicts_them() {
        // Words of 512 and 1024 bytes have 13 and 14 bits of parity for each error, others the
        // least that is enough.
        for (bytes, strength, parity) in [(512, 8, 104), (1024, 24, 336), (2048, 40, 600)] {
            let page = steps(bytes, strength).page_code(16384).expect("a code");
            assert_eq!(page.code().parity_bits(), parity);
            assert_eq!(page.last_data_bits(), 8 * bytes);
        }
        for (config, path, words) in [
            (steps(500, 8), "step_bytes", "48 left"),
            (steps(4096, 8), "step_bytes", "2048 left"),
            (steps(0, 8), "step_bytes", "steps of 0"),
            (steps(512, 0), "strength", "corrects nothing"),
            (steps(512, 5000), "strength", "beyond degree 16"),
            (EccConfig { strength: None, ..steps(512, 8) }, "strength", "is missing"),
            (EccConfig { step_bytes: None, ..steps(512, 8) }, "strength", "with step_bytes"),
            (EccConfig { bch_t: Some(4), ..steps(512, 8) }, "bch_t", "4 is not strength = 8"),
            (EccConfig { bch_m: Some(12), ..steps(512, 8) }, "bch_m", "4096 data bits"),
            (
                EccConfig { bch_m: Some(14), primitive_poly: Some(0x201b), ..steps(512, 8) },
                "bch_m",
                "14 is not the degree of primitive_poly, 13",
            ),
            (
                EccConfig { primitive_poly: Some(0x2000), ..steps(512, 8) },
                "primitive_poly",
                "not primitive",
            ),
            (EccConfig { algorithm: Algorithm::None, ..steps(512, 8) }, "step_bytes", "only with"),
        ] {
            let error = config.page_code(2048).expect_err(words);
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
    }

    #[test]
    fn a_short_last_word_is_told() {
        let long = EccConfig { bch_m: Some(13), bch_t: Some(8), ..EccConfig::default() };
        let warning =
            |config: &EccConfig, bytes| split_warning(&config.page_code(bytes).expect("a code"));
        let told = warning(&long, 4096).expect("4 words of 8087 bits, and 420");
        assert!(told.contains("4 codewords of 8087 data bits and one of 420"), "{told}");
        // Half as long, and equal ones.
        assert_eq!(warning(&long, 1517), None);
        assert_eq!(warning(&steps(512, 8), 4096), None);
        assert_eq!(warning(&EccConfig::default(), 4096), None);
    }

    #[test]
    fn a_matrix_by_its_lengths_needs_a_table_and_is_not_decoded() {
        let matrix = MatrixConfig { sha256: "f".into(), data_bits: 16384, code_bits: 18000 };
        let given = EccConfig {
            ldpc_matrix: Some(matrix),
            fer_table: Some(vec![(5e-3, Some(1e-4), None, None), (7e-3, Some(1e-2), None, None)]),
            ..EccConfig::of(Algorithm::Ldpc)
        };
        let page = given.page_code(4096).expect("two words");
        assert_eq!((page.codewords_per_page(), page.parity_bytes_per_page()), (2, 404));
        for (config, path, words) in [
            (EccConfig { fer_table: None, ..given.clone() }, "fer_table", "1 read"),
            (EccConfig { fidelity: Fidelity::BitTrue, ..given.clone() }, "fidelity", "lengths"),
            (EccConfig { ldpc_code: Some("x".into()), ..given.clone() }, "ldpc_code", "a code"),
            (EccConfig { algorithm: Algorithm::Bch, ..given }, "ldpc_matrix", "no effect"),
        ] {
            let error = config.page_code(4096).expect_err(words);
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(words), "{error}");
        }
    }
}
