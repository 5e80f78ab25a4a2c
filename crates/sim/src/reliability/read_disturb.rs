//! Errors added by reads of the same block, in proportion to their number.
//!
//! `rber = floor + s(PE) n`, `s = factor PE^exponent`, `n` reads of the block
//!
//! Source: Y. Cai et al., "Read Disturb Errors in MLC NAND Flash Memory", DSN 2015, 2Y nm MLC; the
//! slopes are recalled, unverified. The power of the cycles is our fit through them, within 10 %.
//! The formula counts reads of the block. [`Stress::reads`] are reads per page of it, as in all
//! models, so they are multiplied by the pages of a block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{require, require_power_law, RberModel, Stress, RBER_MAX};
use crate::config::ConfigError;

/// A line in the reads whose slope is a power of the P/E cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadDisturb {
    /// Raw bit error rate without reads, 0 to 0.5. Zero leaves what reads add.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub floor: f64,
    /// Raw bit error rate added by one read after one cycle, 0 or more.
    pub factor: f64,
    /// Power of the P/E cycles in the slope, above 0.
    pub exponent: f64,
    /// Pages of a block, 1 to 65536: the reads of the block that make one read per page. Null:
    /// those of the device, or 256 without a device.
    #[schemars(range(min = 1, max = 65536))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_per_block: Option<u32>,
}

/// Pages of a block without a key or a device; assumed for MLC of that time.
const PAGES_PER_BLOCK: u32 = 256;

impl Default for ReadDisturb {
    fn default() -> Self {
        // Our fit through the slopes of Cai et al., DSN 2015, at 2000 to 15 000 cycles.
        Self { floor: 0.0, factor: 1.335e-14, exponent: 1.468, pages_per_block: None }
    }
}

impl ReadDisturb {
    /// Whether the parameters make a model.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_power_law(self.floor, self.factor, self.exponent)?;
        let pages = self.pages_per_block.unwrap_or(PAGES_PER_BLOCK);
        require((1..=65_536).contains(&pages), "pages_per_block", f64::from(pages), "1 to 65536")
    }
}

impl RberModel for ReadDisturb {
    fn rber(&self, stress: &Stress) -> f64 {
        let slope = self.factor * libm::pow(stress.pe_cycles, self.exponent);
        let pages = f64::from(self.pages_per_block.unwrap_or(PAGES_PER_BLOCK));
        (self.floor + slope * stress.reads * pages).min(RBER_MAX)
    }
}

/// Errors that a read of the block adds, by program/erase cycles: Cai et al., DSN 2015.
#[cfg(test)]
pub(super) const PUBLISHED_SLOPES: [(f64, f64); 7] = [
    (2e3, 1.00e-9),
    (3e3, 1.63e-9),
    (4e3, 2.37e-9),
    (5e3, 3.74e-9),
    (8e3, 7.50e-9),
    (10e3, 9.10e-9),
    (15e3, 1.90e-8),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_slopes_are_met_within_ten_percent() {
        let model = ReadDisturb::default();
        for (pe_cycles, slope) in PUBLISHED_SLOPES {
            let reads = 1e5 / 256.0;
            let ours = model.rber(&Stress { pe_cycles, reads, ..Stress::default() }) / 1e5;
            assert!((ours / slope - 1.0).abs() < 0.10, "{pe_cycles}: {ours:e}");
        }
    }

    #[test]
    fn a_read_per_page_counts_as_often_as_the_block_has_pages() {
        let rber = |pages_per_block, reads| {
            let model = ReadDisturb { pages_per_block, ..ReadDisturb::default() };
            model.rber(&Stress { pe_cycles: 3e3, reads, ..Stress::default() })
        };
        assert!((rber(Some(64), 8.0) / rber(Some(1), 512.0) - 1.0).abs() < 1e-12);
        assert!((rber(None, 8.0) / rber(Some(256), 8.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn impossible_parameters_are_refused_by_name() {
        let good = ReadDisturb::default();
        for (bad, path) in [
            (ReadDisturb { floor: -0.1, ..good.clone() }, "floor"),
            (ReadDisturb { factor: f64::NAN, ..good.clone() }, "factor"),
            (ReadDisturb { exponent: 0.0, ..good.clone() }, "exponent"),
            (ReadDisturb { pages_per_block: Some(0), ..good.clone() }, "pages_per_block"),
        ] {
            assert_eq!(bad.check().unwrap_err().path, path);
        }
    }
}
