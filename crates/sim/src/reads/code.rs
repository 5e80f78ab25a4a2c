//! The `ecc` section of a device file: which code protects a page, and how its outcome is found.
//!
//! ```text
//!   algorithm   bch             bch_m, bch_t, codeword_spread     outcome exact, by formula
//!               ldpc            ldpc_code, fer_table              outcome by measured table
//!   fidelity    table           a number drawn against the probability of the outcome
//!               bit_true        data encoded, bits flipped, decoded, at every host read
//!               cells           cells sensed and decoded, at host reads of picked blocks
//! ```

use opennandlab_ecc::{Bch, CodeError, LdpcByTable, PageCode, Uncoded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Error correction of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EccConfig {
    /// `none`, `bch` or `ldpc`.
    pub algorithm: Algorithm,
    /// Field degree of the BCH code, 5 to 16: codewords have `2^m - 1` bits.
    pub bch_m: u32,
    /// Bits that one codeword corrects.
    pub bch_t: u32,
    /// Name of the LDPC code, such as `nand-4k-r090`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ldpc_code: Option<String>,
    /// Frame error rates of the LDPC code: rows of RBER and the rates after 1, 3 and 7 reads (null:
    /// unknown). Left out: as measured by the package.
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
            bch_m: 8,
            bch_t: 4,
            ldpc_code: None,
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
        let page = self.code().and_then(|code| PageCode::new(code, page_bytes as u32));
        page.map_err(|error| {
            let is_table = matches!(error, CodeError::FerTable { .. });
            ConfigError::new(if is_table { "fer_table" } else { self.key() }, error.to_string())
        })
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

    /// The key that names the code.
    fn key(&self) -> &'static str {
        match self.algorithm {
            Algorithm::None | Algorithm::Bch => "bch_t",
            Algorithm::Ldpc => "ldpc_code",
        }
    }

    fn code(&self) -> Result<Box<dyn opennandlab_ecc::Code>, CodeError> {
        Ok(match self.algorithm {
            Algorithm::None => Box::new(Uncoded),
            Algorithm::Bch => {
                let code = Bch::new(self.bch_m, self.bch_t, None)?;
                Box::new(code.with_spread(self.codeword_spread))
            }
            Algorithm::Ldpc => {
                let rows: Option<Vec<_>> = self
                    .fer_table
                    .as_ref()
                    .map(|rows| rows.iter().map(|row| (row.0, [row.1, row.2, row.3])).collect());
                let name = self.ldpc_code.as_deref().unwrap_or_default();
                Box::new(LdpcByTable::new(name, rows.as_deref())?)
            }
        })
    }

    /// Dotted path and source of each default that a resolved device can hold.
    pub(crate) fn sources(&self) -> Vec<(&'static str, &'static str)> {
        let class = "JEDEC JESD218: UBER 1e-15 (client) or 1e-16 (recalled, unverified)";
        let mut rows = vec![("ecc.reliability_class", class)];
        match self.algorithm {
            Algorithm::None => {}
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

    /// Relations between the keys.
    fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError::new(key, message));
        let is_ldpc = self.algorithm == Algorithm::Ldpc;
        if is_ldpc && self.ldpc_code.is_none() {
            let names = LdpcByTable::names_with_table().join(", ");
            return refuse("ldpc_code", format!("algorithm ldpc needs a code; accepted: {names}"));
        }
        for (key, is_given) in
            [("ldpc_code", self.ldpc_code.is_some()), ("fer_table", self.fer_table.is_some())]
        {
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
        if self.fidelity == Fidelity::Cells && self.codeword_spread > 0.0 {
            let message = "with fidelity cells, whose cells err each by itself; accepted: 0";
            return refuse("codeword_spread", message.into());
        }
        if self.fidelity == Fidelity::BitTrue {
            if self.algorithm == Algorithm::None {
                let message = "bit_true needs a code to decode; accepted: algorithm bch or ldpc";
                return refuse("fidelity", message.into());
            }
            if self.codeword_spread > 0.0 {
                let message = "bit_true flips bits of one rate; accepted: codeword_spread = 0";
                return refuse("fidelity", message.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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
}
