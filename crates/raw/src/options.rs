//! What a chip is: one declaration for Python, C, YAML and the command line.

use std::ops::RangeInclusive;

use opennandlab_sim::config::{parse, ConfigError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Blocks of a chip without an image and without the key.
const BLOCKS: u32 = 1024;
/// More than any chip has.
pub(crate) const BLOCKS_MAX: u32 = 1 << 20;

/// Keys of a chip; all have defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Data bytes of a page.
    pub page_bytes: u32,
    /// Its spare bytes.
    pub oob_bytes: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Erase blocks; none: those of the image, or 1024.
    pub blocks: Option<u32>,
    /// The code of the controller; none: bytes come as they are.
    pub ecc: Option<Ecc>,
    /// Programs of a page between two erases.
    pub nop: u32,
    /// Whether breaking a rule is an error; if not, bits are combined by AND as on a chip.
    pub strict: bool,
    /// Share of blocks that are bad from the factory; the first is not.
    pub bad_share: f64,
    /// Corrected bits of a step from which a read returns `EUCLEAN`; none: 3/4 of the strength.
    pub bitflip_threshold: Option<u32>,
    /// Seed of bad blocks, of torn pages, and of bit errors.
    pub seed: u64,
    /// The `reliability` section of a device file, for bit errors of wear, age and reads; none:
    /// there are only those that are injected.
    pub reliability: Option<Value>,
    /// The `nand.cells` section of a device file without `blocks`, for bit errors cell by cell
    /// with reliability `states`; none: independent bits.
    pub cells: Option<Value>,
    /// Wrong bits in each step of each read.
    pub read_flips: u32,
}

/// A code as in data sheets: the bits that it corrects in a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ecc {
    /// Data bytes of a word.
    pub step_bytes: u32,
    /// Bit errors that it corrects.
    pub strength: u32,
}

impl Default for Options {
    /// A chip of 128 MiB with 8 bits for each 512 bytes.
    fn default() -> Self {
        Self {
            page_bytes: 2048,
            oob_bytes: 64,
            pages_per_block: 64,
            blocks: None,
            ecc: Some(Ecc { step_bytes: 512, strength: 8 }),
            nop: 1,
            strict: true,
            bad_share: 0.0,
            bitflip_threshold: None,
            seed: 42,
            reliability: None,
            cells: None,
            read_flips: 0,
        }
    }
}

impl Options {
    /// Options from JSON.
    ///
    /// # Errors
    /// [`ConfigError`] for unknown keys, wrong types and values out of range.
    pub fn resolve(json: &str) -> Result<Self, ConfigError> {
        let options: Self = parse(json)?;
        options.check()?;
        Ok(options)
    }

    /// Bytes of a page with its OOB.
    pub fn raw_bytes(&self) -> usize {
        (self.page_bytes + self.oob_bytes) as usize
    }

    /// Erase blocks of a chip without an image.
    pub(crate) fn block_count(&self) -> u32 {
        self.blocks.unwrap_or(BLOCKS)
    }

    fn check(&self) -> Result<(), ConfigError> {
        // Above all chips that are made; sums of their sizes fit 64 bits.
        for (key, value, most) in [
            ("page_bytes", self.page_bytes, 1 << 16),
            ("oob_bytes", self.oob_bytes, 1 << 16),
            ("pages_per_block", self.pages_per_block, 1 << 13),
            ("blocks", self.block_count(), BLOCKS_MAX),
            ("nop", self.nop, 1 << 10),
        ] {
            within(key, value, 1..=most)?;
        }
        if !(0.0..1.0).contains(&self.bad_share) {
            let message = format!("{} is out of range; accepted: 0 to below 1", self.bad_share);
            return Err(ConfigError::new("bad_share", message));
        }
        Ok(())
    }
}

/// Refuses a number out of range.
pub(crate) fn within(
    key: &str,
    value: u32,
    accepted: RangeInclusive<u32>,
) -> Result<(), ConfigError> {
    if accepted.contains(&value) {
        return Ok(());
    }
    let (least, most) = accepted.into_inner();
    let message = format!("{value} is out of range; accepted: {least} to {most}");
    Err(ConfigError::new(key, message))
}
