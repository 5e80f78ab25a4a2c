//! Keys of the `nand` section that only the full back end can carry out: cache commands, programs
//! of whole wordlines, process variation, times that move with wear.
//!
//! Each is off when left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;

/// Overlapping transfers with the array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CacheCommands {
    /// Cache read: the next page is sensed while the last one leaves the register.
    pub read: bool,
    /// Cache program: the next page enters the register while the last one is programmed.
    pub program: bool,
}

/// Which pages are programmed together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramMode {
    /// Each page separately.
    Page(PageMode),
    /// All pages of a wordline at once, in all planes of a row.
    OneShot(OneShotMode),
    /// All pages of a wordline in several passes, the data sent again for each.
    MultiPass(MultiPassMode),
}

impl Default for ProgramMode {
    fn default() -> Self {
        Self::Page(PageMode {})
    }
}

/// No parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageMode {}

/// Parameters of one-shot programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneShotMode {
    /// tPROG of a wordline, in microseconds.
    pub t_wordline_us: f64,
}

/// Parameters of programs in passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiPassMode {
    /// tPROG of each pass over a wordline, in microseconds, such as foggy and fine.
    pub passes_us: Vec<f64>,
}

/// Process variation: how much the times of dies and blocks differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Variation {
    /// Standard deviation between dies, as a ratio of the nominal time, 0 to 0.3.
    pub die_stddev: f64,
    /// Standard deviation between blocks of a die, 0 to 0.3.
    pub block_stddev: f64,
}

/// How times move with wear, linearly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WearTiming {
    /// Relative change of tPROG at `max_pe_cycles`, -0.9 to 9. Default -0.2 (assumed).
    pub program_slope: f64,
    /// Relative change of tBERS at `max_pe_cycles`, -0.9 to 9. Default 1.0 (assumed).
    pub erase_slope: f64,
}

impl Default for WearTiming {
    fn default() -> Self {
        Self { program_slope: -0.2, erase_slope: 1.0 }
    }
}

impl ProgramMode {
    /// Whether pages are programmed one by one.
    pub(crate) fn is_page(&self) -> bool {
        matches!(self, Self::Page(_))
    }

    /// Ranges of the keys.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Page(_) => Ok(()),
            Self::OneShot(mode) => check_time("t_wordline_us", mode.t_wordline_us),
            Self::MultiPass(mode) => {
                if !(2..=8).contains(&mode.passes_us.len()) {
                    let message = format!("{} passes; accepted: 2 to 8", mode.passes_us.len());
                    return Err(ConfigError::new("passes_us", message));
                }
                mode.passes_us.iter().try_for_each(|&us| check_time("passes_us", us))
            }
        }
    }
}

impl Variation {
    /// Ranges of the keys.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, stddev) in [("die_stddev", self.die_stddev), ("block_stddev", self.block_stddev)]
        {
            if !(0.0..=0.3).contains(&stddev) {
                let message = format!("{stddev} is out of range; accepted: 0 to 0.3");
                return Err(ConfigError::new(key, message));
            }
        }
        Ok(())
    }
}

impl WearTiming {
    /// Ranges of the keys.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, slope) in
            [("program_slope", self.program_slope), ("erase_slope", self.erase_slope)]
        {
            if !(-0.9..=9.0).contains(&slope) {
                let message = format!("{slope} is out of range; accepted: -0.9 to 9");
                return Err(ConfigError::new(key, message));
            }
        }
        Ok(())
    }
}

/// Refuses shares of program disturb that are out of range, or that have no programs to disturb.
pub(super) fn check_disturb(
    share: Option<f64>,
    programs_per_page: Option<u32>,
) -> Result<(), ConfigError> {
    let message = match share {
        Some(share) if programs_per_page.is_none() => {
            format!("{share} without nand.partial_programs; accepted: omitted")
        }
        Some(share) if !(0.0..=100.0).contains(&share) => {
            format!("{share} is out of range; accepted: 0 to 100")
        }
        _ => return Ok(()),
    };
    Err(ConfigError::new("program_disturb", message))
}

/// Refuses times of the flash that are not above 0 and at most ten seconds: far beyond any flash,
/// and it keeps sums of times inside 64 bits.
pub(super) fn check_time(key: &str, us: f64) -> Result<(), ConfigError> {
    if us > 0.0 && us <= 1e7 {
        Ok(())
    } else {
        let message = format!("{us} us is out of range; accepted: above 0, at most 1e7");
        Err(ConfigError::new(key, message))
    }
}
