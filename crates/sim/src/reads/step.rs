//! BCH words as data sheets state them: bits that are corrected in each step of some bytes.
//!
//! ```text
//!   page of 2048 bytes, step_bytes 512, strength 8:   4 x (512 data + 13 parity)
//! ```
//! All words of a page are alike. The degree m of the field is the usual one: 13 for steps of 512
//! bytes, 14 for 1024, else the least whose words are long enough. Without `step_bytes` words are
//! as long as the field allows, and the last one of a page has the rest.

use opennandlab_ecc::bch::{primitive_degree, BchCode, Path};
use opennandlab_ecc::{Bch, CodeError, PageCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;

/// Which bit of a byte comes first in the polynomials of a BCH code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BitOrder {
    /// The most significant.
    Msb,
    /// The least significant.
    Lsb,
    /// The most significant, with the halves of bytes swapped.
    Nibble,
}

/// BCH words by the keys of a device file.
#[derive(Clone, Copy, Debug)]
pub(super) struct BchWords {
    pub step_bytes: Option<u32>,
    pub strength: u32,
    /// Covered bytes of the out-of-band area.
    pub meta_bytes: u32,
    pub polynomial: Option<u32>,
    pub degree: Option<u32>,
    pub order: Option<BitOrder>,
}

impl BchWords {
    /// The degree of what names no code: BCH (255, 223).
    pub(super) const DEGREE: u32 = 8;
    /// What that code corrects.
    pub(super) const STRENGTH: u32 = 4;
    const DEGREE_MAX: u32 = 16;

    fn refused(&self, error: &CodeError) -> ConfigError {
        let key = match (self.step_bytes, error) {
            (None, _) => "bch_t",
            // The usual degree has room for a step.
            (_, CodeError::DataBits { .. }) if self.degree.is_some() => "bch_m",
            (_, CodeError::DataBits { .. }) => "primitive_poly",
            _ => "strength",
        };
        ConfigError::new(key, error.to_string())
    }

    /// The degree of the field, m.
    fn degree(&self) -> Result<u32, ConfigError> {
        let Some(step_bytes) = self.step_bytes else {
            return Ok(self.degree.unwrap_or(Self::DEGREE));
        };
        if let Some(polynomial) = self.polynomial {
            let degree = primitive_degree(polynomial).ok_or_else(|| {
                let error = CodeError::Polynomial { polynomial };
                ConfigError::new("primitive_poly", error.to_string())
            })?;
            let Some(given) = self.degree.filter(|given| *given != degree) else {
                return Ok(degree);
            };
            let message = format!(
                "{given} is not the degree of primitive_poly, {degree}; accepted: {degree}"
            );
            return Err(ConfigError::new("bch_m", message));
        }
        if let Some(degree) = self.degree {
            return Ok(degree);
        }
        let usual = match step_bytes {
            512 => 13,
            1024 => 14,
            _ => 5,
        };
        let covered = 8 * (u64::from(step_bytes) + u64::from(self.meta_bytes));
        let is_enough = |&m: &u32| covered + u64::from(m) * u64::from(self.strength) < 1 << m;
        (usual..=Self::DEGREE_MAX).find(is_enough).ok_or_else(|| {
            let message = format!(
                "{} bits in {step_bytes} bytes need a field beyond degree {}; accepted: smaller \
                 steps, or fewer bits",
                self.strength,
                Self::DEGREE_MAX
            );
            ConfigError::new("strength", message)
        })
    }

    /// Lengths of a word, and how often it fails.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc` when there is no such code.
    pub(super) fn code(&self) -> Result<Bch, ConfigError> {
        let (m, t) = (self.degree()?, self.strength);
        let code = match self.step_bytes {
            None => Bch::new(m, t, None),
            Some(bytes) => Bch::of_step(m, t, bytes, self.meta_bytes),
        };
        code.map_err(|error| self.refused(&error))
    }

    /// The codec of a word with this many data bits of a page; covered bytes of the out-of-band
    /// area are further data bits.
    ///
    /// # Errors
    /// As [`BchWords::code`].
    pub(super) fn codec(&self, data_bits: u32) -> Result<BchCode, ConfigError> {
        let covered = Some((data_bits + 8 * self.meta_bytes) as usize);
        let (m, t) = (self.degree()?, self.strength);
        let code = match self.polynomial {
            None => BchCode::new(m, t, covered),
            Some(polynomial) => BchCode::over(Path::best(), polynomial, t, covered),
        };
        let code = code.map_err(|error| self.refused(&error))?;
        Ok(code.with_swap_bits(self.order == Some(BitOrder::Lsb)))
    }

    /// Checks that a page is a whole number of steps.
    ///
    /// # Errors
    /// [`ConfigError`] relative to `ecc` with the bytes left over.
    pub(super) fn check_page(&self, page_bytes: u64) -> Result<(), ConfigError> {
        let Some(step_bytes) = self.step_bytes else { return Ok(()) };
        let rest = page_bytes % u64::from(step_bytes.max(1));
        if rest == 0 && (1..=page_bytes).contains(&step_bytes.into()) {
            return Ok(());
        }
        let message = format!(
            "pages of {page_bytes} bytes (or map units, where they are smaller) are not whole \
             number of steps of {step_bytes}, {rest} left; accepted: a divisor, such as 512"
        );
        Err(ConfigError::new("step_bytes", message))
    }
}

/// That the last word of a page is much shorter than the others, which no controller does.
pub(crate) fn split_warning(page: &PageCode) -> Option<String> {
    let (full, last) = (page.code().data_bits_max(), page.last_data_bits());
    let others = page.codewords_per_page() - 1;
    (others > 0 && 2 * u64::from(last) < u64::from(full)).then(|| {
        format!(
            "ecc: a page of {} bytes is split into {others} codewords of {full} data bits and one \
             of {last}; controllers have equal ones: ecc.step_bytes and ecc.strength state them",
            page.page_bits() / 8
        )
    })
}
