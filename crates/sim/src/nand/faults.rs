//! Faults that strike while a drive is measured.
//!
//! A die that is lost answers nothing any more: its reads fail at once, and its programs and erases
//! are over at once and leave nothing. What becomes of the data is for parity to decide.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::units::Ns;

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// A die answers nothing any more.
    DieLost(DieLost),
}

/// Which die is lost, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DieLost {
    /// Number of the die: channel + channels x die of the channel, from 0 on.
    pub die: u32,
    /// Simulated seconds from the beginning of each timed stage; 0 to 1e9.
    pub at_s: f64,
}

impl Fault {
    /// # Errors
    /// [`ConfigError`] relative to the fault, in a drive of so many dies.
    pub(super) fn check(&self, dies: u32) -> Result<(), ConfigError> {
        let Self::DieLost(DieLost { die, at_s }) = self;
        if *die >= dies {
            let message = format!(
                "die {die} of a drive of {dies}; accepted: 0 to {}",
                dies.saturating_sub(1)
            );
            return Err(ConfigError::new("die", message));
        }
        if !(0.0..=1e9).contains(at_s) {
            let message = format!("{at_s} s is out of range; accepted: 0 to 1e9");
            return Err(ConfigError::new("at_s", message));
        }
        Ok(())
    }

    /// The die that is lost, and when.
    pub fn lost_die(&self) -> (u32, Ns) {
        let Self::DieLost(DieLost { die, at_s }) = self;
        (*die, Ns::from_us(at_s * 1e6))
    }
}
