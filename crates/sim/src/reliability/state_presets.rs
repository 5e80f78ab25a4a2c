//! Constants of the state model: each kind of cell with the data that it was fitted to.
//!
//! Fitted by `tools/fit_states.py`, which prints them and the quality of the fit:
//!
//! - **TLC** to the 72-layer TLC of Kim, Choi and Min, FAST 2019 ([`super::kim`]): its mean over
//!   the page types is within 4 % of the published points and within 8 % of the model from 500 to
//!   5000 cycles, an hour to a year, 100 to 1000 reads per page.
//! - **MLC**, planar, to the errors that reads add in 2Y nm MLC (Cai et al., DSN 2015,
//!   [`super::read_disturb`]): within 25 % from 2000 to 15 000 cycles and from 100 to 1000 reads
//!   per page of 256; and to decoding with 40 bits per KiB after 3000 cycles and a year at 30
//!   degrees, which data sheets of such parts promise.
//! - **QLC** so that an LDPC code of rate 0.9 reads fresh pages at once, and with soft decisions
//!   those after 1000 cycles and a year at 30 degrees.
//! - **SLC** to nothing: TLC with voltages in gaps halved and cycles scaled to 100 000.
//!
//! Quantities that do not follow from an error rate alone are assumed: the place and width of the
//! erased state, the coupling of neighbours, and that the published hours are hours at 40 degrees
//! Celsius. So are the error rates that MLC and QLC are fitted through (see the tool), that MLC has
//! no fast charge loss, since that occurs in 3D cells, and for both the rest of the constants of
//! TLC, voltages in gaps times 0.8 and 1.15.

use super::gray::GrayCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cells with a set of constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellPreset {
    /// One bit per cell, scaled from TLC.
    Slc,
    /// Two bits per cell, planar, fitted to read disturb and to a data sheet's code.
    Mlc,
    /// Three bits per cell, fitted to published 72-layer TLC.
    #[default]
    Tlc,
    /// Four bits per cell, 3D, fitted to what an LDPC code must decode.
    Qlc,
}

impl CellPreset {
    /// Every preset.
    pub const ALL: [Self; 4] = [Self::Slc, Self::Mlc, Self::Tlc, Self::Qlc];

    /// Bits of a cell.
    pub fn bits(self) -> usize {
        self.code().bits()
    }

    /// The code that is used unless another is asked for.
    pub(super) fn code(self) -> GrayCode {
        match self {
            Self::Slc => GrayCode::Slc,
            Self::Mlc => GrayCode::Mlc,
            Self::Tlc => GrayCode::Tlc124,
            Self::Qlc => GrayCode::Qlc4443,
        }
    }

    /// The codes that fit, in words.
    pub(super) fn codes(self) -> &'static str {
        match self {
            Self::Slc => "1",
            Self::Mlc => "1-2",
            Self::Tlc => "1-2-4, 2-3-2",
            Self::Qlc => "1-2-4-8, 4-4-4-3",
        }
    }

    /// The constants.
    pub(super) const fn constants(self) -> &'static Constants {
        match self {
            Self::Slc => &SLC,
            Self::Mlc => &MLC,
            Self::Tlc => &TLC,
            Self::Qlc => &QLC,
        }
    }
}

/// Constants of a cell; for their meaning and units see [`StatesKeys`].
pub(super) struct Constants {
    pub(super) sigma: f64,
    pub(super) wear_cycles: f64,
    pub(super) wear_exponent: f64,
    pub(super) retention_shift: f64,
    pub(super) retention_time_h: f64,
    pub(super) early_shift: f64,
    pub(super) early_time_h: f64,
    pub(super) retention_profile: f64,
    pub(super) read_shift: f64,
    pub(super) read_exponent: f64,
    pub(super) read_wear_exponent: f64,
}

/// Mean of the erased state, gaps. Assumed: it is not placed by verified pulses and is further away
/// than a programmed neighbour.
pub(super) const ERASED_MEAN: f64 = -1.4;
/// Width of the erased state over a programmed one. Assumed, for the same reason.
pub(super) const ERASED_SIGMA_RATIO: f64 = 1.5;
/// Share of a neighbour's voltage that couples into a cell. Assumed.
pub(super) const INTERFERENCE_RATIO: f64 = 0.02;

/// Fitted by `tools/fit_states.py`.
const TLC: Constants = Constants {
    sigma: 0.1741,
    wear_cycles: 4598.0,
    wear_exponent: 1.591,
    retention_shift: 0.0598,
    retention_time_h: 321.3,
    early_shift: 0.02072,
    early_time_h: 0.2245,
    retention_profile: 1.803,
    read_shift: 0.3857,
    read_exponent: 0.7955,
    read_wear_exponent: 0.1637,
};

/// Scaled.
const SLC: Constants = Constants {
    sigma: 0.5 * TLC.sigma,
    wear_cycles: TLC.wear_cycles * 100_000.0 / 3000.0,
    retention_shift: 0.5 * TLC.retention_shift,
    early_shift: 0.5 * TLC.early_shift,
    read_shift: 0.5 * TLC.read_shift,
    ..TLC
};

/// Fitted by `tools/fit_states.py`.
const MLC: Constants = Constants {
    sigma: 0.1268,
    wear_cycles: 13_650.0,
    wear_exponent: 0.7608,
    retention_shift: 0.04521,
    early_shift: 0.0,
    read_shift: 0.2082,
    read_exponent: 0.4005,
    read_wear_exponent: 0.6238,
    ..TLC
};

/// Fitted by `tools/fit_states.py`; the shifts scaled.
const QLC: Constants = Constants {
    sigma: 0.1736,
    wear_cycles: 1825.0,
    retention_shift: 1.15 * TLC.retention_shift,
    early_shift: 1.15 * TLC.early_shift,
    read_shift: 1.15 * TLC.read_shift,
    ..TLC
};

/// The keys of a device file that describe the states; keys that are not given have the preset's
/// values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatesKeys {
    /// `slc`, `mlc`, `tlc` or `qlc`: the source of constants that are not given.
    pub preset: CellPreset,
    /// Bits of the states: `1`; `1-2`; `1-2-4`, `2-3-2`; `1-2-4-8`, `4-4-4-3`.
    pub gray_code: Option<GrayCode>,
    /// Mean of the erased state, in gaps (distances between programmed states), -100 to -0.1.
    pub erased_mean: Option<f64>,
    /// Width of the erased state over that of a programmed one, 1 to 10.
    pub erased_sigma_ratio: Option<f64>,
    /// Width of a programmed state without interference, gaps, above 0.
    pub sigma: Option<f64>,
    /// Share of a neighbour's programmed voltage that couples into a cell, 0 to 0.5.
    pub interference_ratio: Option<f64>,
    /// P/E cycles at which the variance has doubled, above 0.
    pub wear_cycles: Option<f64>,
    /// Power of the P/E cycles in the variance, above 0.
    pub wear_exponent: Option<f64>,
    /// Downward shift of the highest state per e-fold of time, gaps, 0 or more.
    pub retention_shift: Option<f64>,
    /// Time after which the shift goes with the logarithm, hours, above 0.
    pub retention_time_h: Option<f64>,
    /// The same shift by the fast part of charge loss, gaps, 0 or more.
    pub early_shift: Option<f64>,
    /// Time after which the fast part goes with the logarithm, hours, above 0.
    pub early_time_h: Option<f64>,
    /// How steeply the shift rises with the state, 0 to 10; 1 is in proportion.
    pub retention_profile: Option<f64>,
    /// Activation energy of charge loss, eV, 0 to 3.
    pub activation_energy_ev: Option<f64>,
    /// Temperature at which time runs as stated, degrees Celsius.
    pub reference_c: Option<f64>,
    /// Upward shift of the erased state after 1000 reads per page of the block, gaps, 0 or more.
    pub read_shift: Option<f64>,
    /// Power of the reads, above 0.
    pub read_exponent: Option<f64>,
    /// Power of the wear `1 + PE / wear_cycles` in the shift by reads, 0 or more.
    pub read_wear_exponent: Option<f64>,
}
