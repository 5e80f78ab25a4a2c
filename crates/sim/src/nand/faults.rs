//! Faults that strike while a drive is used.
//!
//! A lost die does not respond any more: its reads fail at once, and its programs and erases end at
//! once without an effect. Whether the data survives depends on parity.
//!
//! The corruption of a unit, and a misdirected write to it, are not reported: the protection of the
//! data (`host.protection`) has to detect them. Only served drives have bytes and can have these
//! faults. Such a fault waits until the data is on the flash; without a clock it is due at once.

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
    /// A bit of the data of a map unit on the flash changes.
    Corrupt(Corrupt),
    /// The data of one map unit is written to the place of another.
    Misdirected(Misdirected),
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

/// Which unit is damaged, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Corrupt {
    /// Number of the map unit: byte address over bytes of a unit.
    pub unit: u32,
    /// Simulated seconds from the beginning of serving; 0 to 1e9.
    pub at_s: f64,
}

/// Which unit overwrites which, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Misdirected {
    /// Number of the map unit whose data goes astray.
    pub unit: u32,
    /// The one whose place it takes.
    pub to: u32,
    /// Simulated seconds from the beginning of serving; 0 to 1e9.
    pub at_s: f64,
}

/// A fault of the contents of a served drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitFault {
    /// When it is due.
    pub at: Ns,
    /// The unit whose data is damaged or goes astray.
    pub unit: u32,
    /// The unit whose place its data takes, for a misdirected write.
    pub to: Option<u32>,
}

impl Fault {
    fn at_s(&self) -> f64 {
        match self {
            Self::DieLost(it) => it.at_s,
            Self::Corrupt(it) => it.at_s,
            Self::Misdirected(it) => it.at_s,
        }
    }

    /// # Errors
    /// [`ConfigError`] relative to the fault, in a drive of `dies` dies.
    pub(super) fn check(&self, dies: u32) -> Result<(), ConfigError> {
        if let Self::DieLost(DieLost { die, .. }) = self {
            if *die >= dies {
                let message = format!(
                    "die {die} of a drive of {dies}; accepted: 0 to {}",
                    dies.saturating_sub(1)
                );
                return Err(ConfigError::new("die", message));
            }
        }
        if let Self::Misdirected(Misdirected { unit, to, .. }) = self {
            if unit == to {
                let message = format!("{to} is the unit itself; accepted: another");
                return Err(ConfigError::new("to", message));
            }
        }
        let at_s = self.at_s();
        if !(0.0..=1e9).contains(&at_s) {
            let message = format!("{at_s} s is out of range; accepted: 0 to 1e9");
            return Err(ConfigError::new("at_s", message));
        }
        Ok(())
    }

    /// The die that is lost, and when; `None` of other faults.
    pub fn lost_die(&self) -> Option<(u32, Ns)> {
        match self {
            Self::DieLost(DieLost { die, at_s }) => Some((*die, Ns::from_us(at_s * 1e6))),
            _ => None,
        }
    }

    /// The fault of the contents of a unit; `None` of other faults.
    pub fn of_unit(&self) -> Option<UnitFault> {
        let at = Ns::from_us(self.at_s() * 1e6);
        match *self {
            Self::DieLost(_) => None,
            Self::Corrupt(Corrupt { unit, .. }) => Some(UnitFault { at, unit, to: None }),
            Self::Misdirected(Misdirected { unit, to, .. }) => {
                Some(UnitFault { at, unit, to: Some(to) })
            }
        }
    }
}
