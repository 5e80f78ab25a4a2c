//! `nand.energy`: energy that operations of the flash and idle dies draw from the supply.
//!
//! ```text
//! energy = V_cc I_cc t        of a page of a plane; V_cc, and I_cc and t of the operation, as in
//!                             data sheets (ICC1 read, ICC2 program, ICC3 erase)
//! ```
//! The dies draw `idle_mw` all the time, and operations draw their energy on top. So nothing
//! depends on when a die works, both back ends agree, and a sum by hand is exact. Data sheets give
//! the current of an operation with the standby current in it: 10 to 50 uA of 10 to 20 mA, which is
//! counted twice here unless it is taken off.
//!
//! Left out: that an operation in several planes shares its charge pumps, energy by page type and
//! wear, the cost of suspending and resuming, command and address cycles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{check_amount, ConfigError};

/// Energy of operations of the flash, and the power of idle dies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnergyConfig {
    /// Energy of a sense, in microjoules for a page of a plane, 0 to 1e6; no default. Retries, soft
    /// reads and pages that are moved inside a die are senses too.
    pub read_uj: f64,
    /// Energy of a program, in microjoules for a page of a plane, 0 to 1e6; no default. A wordline
    /// that is programmed at once, or in passes, costs that of its pages.
    pub program_uj: f64,
    /// Energy of an erase, in microjoules for a block of a plane, 0 to 1e6; no default.
    pub erase_uj: f64,
    /// `read_uj` of blocks that hold one bit per cell for the time being; left out: `read_uj`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_read_uj: Option<f64>,
    /// `program_uj` of blocks that hold one bit per cell for the time being; left out:
    /// `program_uj`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_program_uj: Option<f64>,
    /// Energy of both ends of a channel for 1024 bytes of data, in or out, in nanojoules, 0 to 1e6;
    /// default 0. Energy of encoding and decoding can be added here.
    #[serde(default)]
    pub transfer_nj_per_kib: f64,
    /// Power of a die, in milliwatts, 0 to 1e6; default 0. It is drawn all the time, and the
    /// energies of operations come on top.
    #[serde(default)]
    pub idle_mw: f64,
}

impl EnergyConfig {
    /// Ranges of the keys.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, value) in [
            ("read_uj", self.read_uj),
            ("program_uj", self.program_uj),
            ("erase_uj", self.erase_uj),
            ("slc_read_uj", self.slc_read_uj.unwrap_or_default()),
            ("slc_program_uj", self.slc_program_uj.unwrap_or_default()),
            ("transfer_nj_per_kib", self.transfer_nj_per_kib),
            ("idle_mw", self.idle_mw),
        ] {
            check_amount(key, value)?;
        }
        Ok(())
    }

    /// Energy of a sense of a page, in microjoules: of native blocks, and of those of one bit per
    /// cell.
    pub fn reads_uj(&self) -> [f64; 2] {
        [self.read_uj, self.slc_read_uj.unwrap_or(self.read_uj)]
    }

    /// The same of a program.
    pub fn programs_uj(&self) -> [f64; 2] {
        [self.program_uj, self.slc_program_uj.unwrap_or(self.program_uj)]
    }
}
