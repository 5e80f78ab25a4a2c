//! Constants of the state model: TLC fitted to a published model, the other cells scaled from it.
//!
//! TLC was fitted by `tools/fit_states.py` to the 72-layer TLC model of Kim, Choi and Min, FAST
//! 2019 ([`super::kim`]): its mean over the page types lies within 10 % of the nine published
//! points and within 15 % of the model from 500 to 5000 cycles, a day to a year, 100 to 1000 reads
//! per page. What cannot be told from an error rate alone is assumed: the
//! place and width of the erased state, the coupling of neighbours, and that the published hours
//! are hours at 40 degrees Celsius.
//!
//! SLC, MLC and QLC are assumed scalings of TLC and were fitted to nothing: all voltages in gaps
//! are multiplied, because fewer states stand further apart in the same window, and cycles scale
//! with the rated endurance that device files assume (100 000, 10 000, 3000, 1000).

use super::gray::GrayCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cells with a set of constants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellPreset {
    /// One bit per cell, scaled from TLC.
    Slc,
    /// Two bits per cell, scaled from TLC.
    Mlc,
    /// Three bits per cell, fitted to published 72-layer TLC.
    #[default]
    Tlc,
    /// Four bits per cell, scaled from TLC.
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

    /// Factor of all voltages, and of the cycles. Assumed, see above.
    pub(super) fn scale(self) -> (f64, f64) {
        match self {
            Self::Slc => (0.5, 100_000.0 / 3000.0),
            Self::Mlc => (0.8, 10_000.0 / 3000.0),
            Self::Tlc => (1.0, 1.0),
            Self::Qlc => (1.15, 1000.0 / 3000.0),
        }
    }
}

/// Mean of the erased state of TLC, gaps. Assumed: it is not placed by verified pulses and stands
/// further away than a programmed neighbour.
pub(super) const ERASED_MEAN: f64 = -1.4;
/// Width of the erased state over a programmed one. Assumed, for the same reason.
pub(super) const ERASED_SIGMA_RATIO: f64 = 1.5;
/// Share of a neighbour's voltage that couples into a cell. Assumed.
pub(super) const INTERFERENCE_RATIO: f64 = 0.02;

// Fitted by tools/fit_states.py, which prints these lines.
pub(super) const SIGMA: f64 = 0.1755;
pub(super) const WEAR_CYCLES: f64 = 4798.0;
pub(super) const WEAR_EXPONENT: f64 = 1.61;
pub(super) const RETENTION_SHIFT: f64 = 0.06104;
pub(super) const RETENTION_TIME_H: f64 = 14.3;
pub(super) const RETENTION_PROFILE: f64 = 1.486;
pub(super) const READ_SHIFT: f64 = 0.3804;
pub(super) const READ_EXPONENT: f64 = 0.8928;
pub(super) const READ_WEAR_EXPONENT: f64 = 0.2613;

/// The keys of a device file that describe the states; what is not given comes from the preset.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatesKeys {
    /// `slc`, `mlc`, `tlc` or `qlc`: where constants come from that are not given.
    pub preset: CellPreset,
    /// Bits that the states stand for: `1`; `1-2`; `1-2-4`, `2-3-2`; `1-2-4-8`, `4-4-4-3`.
    pub gray_code: Option<GrayCode>,
    /// Mean of the erased state, in gaps (distances between programmed states), below 0.
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
    /// How steeply the shift rises with the state, above 0; 1 is in proportion.
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
