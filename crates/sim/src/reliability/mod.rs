//! How often the flash gets a bit wrong: the raw bit error rate as a pure function of stress.
//!
//! A model is asked with what the page has been through ([`Stress`]) and answers with the
//! probability that any one bit of it is read wrong, before correction. It draws nothing and
//! remembers nothing; who counts errors and who decides whether a read worked live elsewhere. Bits
//! are taken as independent.
//!
//! To add a model: write `reliability/<name>.rs` with a struct of its parameters (serde, schemars,
//! a default for each with its source), `check` and `impl RberModel`; then add its row to
//! `rber_registry!` below. [`power_law::PowerLaw`] is the smallest member and serves as a skeleton.
//!
//! The formula models know some of the stress; [`states::StateModel`] knows all of it and gives
//! page types, LLRs and read-retry offsets as well.
//!
//! ```text
//!   opennandlab_ecc::cell ─► retry ─► states     arrhenius, layers: factors for all models
//!                gray, state_presets ──┘         questions: what the command line asks
//!                                                the other files: one formula each
//! ```
//!
//! Left out: errors that cluster in a page, wear by another temperature, retention before a block
//! is erased again.

pub mod arrhenius;
pub mod beside_slc;
pub mod conditions;
pub mod exponential;
pub mod gray;
pub mod kim;
pub mod layers;
pub mod power_law;
pub mod questions;
pub mod read_disturb;
pub mod retry;
pub mod spread;
pub mod state_presets;
pub mod states;
pub mod weibull;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
pub use beside_slc::BesideSlc;
pub use exponential::Exponential;
pub use kim::Kim;
pub use power_law::PowerLaw;
pub use read_disturb::ReadDisturb;
use retry::RetryStep;
pub use states::StateModel;
pub use weibull::{WearKeys, Weibull};

/// No cell can be read worse than by tossing a coin.
pub const RBER_MAX: f64 = 0.5;

/// Temperature at which models state their hours unless told otherwise, degrees Celsius: the
/// storage temperature of enterprise drives in JESD218. Assumed for published models.
pub const REFERENCE_C: f64 = 40.0;

/// What a page has been through when it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stress {
    /// Program/erase cycles of its block; a float, so that a mean over blocks can be asked for too.
    pub pe_cycles: f64,
    /// Hours since the page was programmed.
    pub retention_h: f64,
    /// Temperature during these hours, degrees Celsius, -55 to 200.
    pub temperature_c: f64,
    /// Reads of the block since it was programmed, per page of the block.
    pub reads: f64,
    /// Page type in the order of [`RberModel::page_types`], 0 the lower page; none for the mean
    /// over page types.
    pub page_type: Option<u8>,
}

impl Default for Stress {
    /// Fresh flash, just programmed.
    fn default() -> Self {
        Self {
            pe_cycles: 0.0,
            retention_h: 0.0,
            temperature_c: REFERENCE_C,
            reads: 0.0,
            page_type: None,
        }
    }
}

/// Raw bit error rate under stress.
///
/// Who calls: the device, once per block and stress, and reports, for curves. Implementations are
/// pure, never negative, at most [`RBER_MAX`], and do not fall as wear, time, temperature or reads
/// grow, in the range that they state. What a model does not know it ignores.
pub trait RberModel: Send + Sync {
    /// Probability that a bit is read wrong.
    fn rber(&self, stress: &Stress) -> f64;

    /// Probability that a bit is read wrong with the levels of a read-retry step; that of a first
    /// read where the model has no levels.
    fn rber_retried(&self, stress: &Stress, _step: &RetryStep) -> f64 {
        self.rber(stress)
    }

    /// Read-retry steps for data as stressed as a horizon; none where the model has no levels.
    fn retry_table(&self, _horizon: &Stress, _steps: usize) -> Option<Vec<RetryStep>> {
        None
    }

    /// Probability that a bit is read wrong at the levels of fewest errors; that of a first read
    /// where the model has no levels.
    fn rber_at_best(&self, stress: &Stress) -> f64 {
        self.rber(stress)
    }

    /// Read levels of a page type; 1 where the model has none.
    fn level_count(&self, _page_type: usize) -> u32 {
        1
    }

    /// Names of the page types that it distinguishes, lower page first; none if it does not.
    fn page_types(&self) -> &'static [&'static str] {
        &[]
    }

    /// The page type of blocks of one bit per cell, if it distinguishes them: the last.
    fn slc_type(&self) -> Option<u8> {
        None
    }
}

macro_rules! rber_registry {
    ($($(#[$doc:meta])* $row:ident($model:ty),)+) => {
        /// How the raw bit error rate grows as the flash wears.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum RberConfig {
            $($(#[$doc])* $row($model),)+
        }

        impl RberConfig {
            /// Whether the parameters make a model.
            ///
            /// # Errors
            /// [`ConfigError`] with the key, the value and the accepted range.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self { $(Self::$row(model) => model.check(),)+ }
            }

            /// The model, ready to be asked.
            pub fn build(&self) -> Box<dyn RberModel> {
                match self { $(Self::$row(model) => Box::new(model.clone()),)+ }
            }
        }
    };
}

rber_registry! {
    /// From a floor to a ceiling along a Weibull distribution function.
    Weibull(Weibull),
    /// A floor plus a power of the P/E cycles.
    PowerLaw(PowerLaw),
    /// Exponential growth with the P/E cycles.
    Exponential(Exponential),
    /// Wear, retention and reads as three power laws: published 72-layer TLC.
    Kim(Kim),
    /// A line in the reads whose slope grows with wear.
    ReadDisturb(ReadDisturb),
    /// Threshold-voltage states that wear, retention, temperature and reads widen and move.
    States(StateModel),
}

impl Default for RberConfig {
    fn default() -> Self {
        Self::Weibull(Weibull::default())
    }
}

/// Refuses `value` outside `accepted`, which names the range in words.
fn require(is_good: bool, path: &str, value: f64, accepted: &str) -> Result<(), ConfigError> {
    if is_good {
        return Ok(());
    }
    Err(ConfigError::new(path, format!("{value:e} is not usable; accepted: {accepted}")))
}

/// Whether a floor, and a factor times a power of the P/E cycles, make a curve.
fn require_power_law(floor: f64, factor: f64, exponent: f64) -> Result<(), ConfigError> {
    require((0.0..=RBER_MAX).contains(&floor), "floor", floor, "0 to 0.5")?;
    require(factor >= 0.0 && factor.is_finite(), "factor", factor, "0 or more")?;
    let is_good = exponent > 0.0 && exponent.is_finite();
    require(is_good, "exponent", exponent, "a number above 0")
}

#[cfg(test)]
mod tests;
