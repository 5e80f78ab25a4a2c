//! Keys of the `nand` section that only the full back end can carry out: cache commands, programs
//! of whole wordlines, process variation, times that move with wear.
//!
//! Each is off when left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{check_time, CellType, NandConfig};
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
    /// Each page by itself.
    Page(PageMode),
    /// All pages of a wordline at once, in all planes of a row.
    OneShot(OneShotMode),
    /// All pages of a wordline in several passes, the data sent anew for each.
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

impl NandConfig {
    /// Ranges and relations of the keys that need the full back end.
    pub(super) fn check_mechanisms(&self) -> Result<(), ConfigError> {
        match &self.program {
            ProgramMode::Page(_) => {}
            ProgramMode::OneShot(mode) => check_time("program.t_wordline_us", mode.t_wordline_us)?,
            ProgramMode::MultiPass(mode) => {
                if !(2..=8).contains(&mode.passes_us.len()) {
                    let message = format!("{} passes; accepted: 2 to 8", mode.passes_us.len());
                    return Err(ConfigError::new("program.passes_us", message));
                }
                mode.passes_us.iter().try_for_each(|&us| check_time("program.passes_us", us))?;
            }
        }
        if !matches!(self.program, ProgramMode::Page(_)) && self.cell_type == CellType::Slc {
            let message = "a wordline of SLC flash is one page; accepted: page";
            return Err(ConfigError::new("program", message));
        }
        if let Some(variation) = &self.variation {
            for (key, stddev) in
                [("die_stddev", variation.die_stddev), ("block_stddev", variation.block_stddev)]
            {
                if !(0.0..=0.3).contains(&stddev) {
                    let message = format!("{stddev} is out of range; accepted: 0 to 0.3");
                    return Err(ConfigError::new(format!("variation.{key}"), message));
                }
            }
        }
        if let Some(wear) = &self.wear_timing {
            for (key, slope) in
                [("program_slope", wear.program_slope), ("erase_slope", wear.erase_slope)]
            {
                if !(-0.9..=9.0).contains(&slope) {
                    let message = format!("{slope} is out of range; accepted: -0.9 to 9");
                    return Err(ConfigError::new(format!("wear_timing.{key}"), message));
                }
            }
        }
        Ok(())
    }

    /// Whether the plain back end cannot carry these keys out.
    pub(crate) fn needs_full(&self) -> bool {
        let cache = self.cache_commands.as_ref();
        self.timing.command_us.unwrap_or(0.0) > 0.0
            || !matches!(self.program, ProgramMode::Page(_))
            || cache.is_some_and(|cache| cache.read || cache.program)
            || self.variation.is_some()
            || self.wear_timing.is_some()
    }
}
