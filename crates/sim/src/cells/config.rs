//! The `nand.cells` section of a device file: which blocks have cells, and how these behave.

use opennandlab_ecc::cell::Tail;
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::randomiser::Randomiser;
use crate::config::ConfigError;

/// Wordlines and bitlines further away do not couple.
const DISTANCE_MAX: u32 = 8;
/// Aggressors of a cell at most.
const AGGRESSORS_MAX: usize = 8;

/// Cells of the blocks that are simulated cell by cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellsConfig {
    /// Blocks with cells: a number, of blocks drawn by the seed, or `all`; default 64, or all if
    /// there are fewer.
    pub blocks: Blocks,
    /// Cells that move a cell when they are programmed after it: a list of ratios, of the next
    /// wordline, or of `{wordline: 1, bitline: 0, ratio}`. Default: the next wordline, with the
    /// `interference_ratio` of the error model.
    pub coupling: Option<Vec<Coupling>>,
    /// In how many passes wordlines are programmed; default `one_shot`.
    pub program: ProgramOrder,
    /// Share of the variance of a state that each read draws again, 0 to 0.9. Default 0.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub read_noise: f64,
    /// Distribution of a state: `normal`, or `{student: NU}` with NU degrees of freedom, 2.1 to
    /// 1000. Default `normal`.
    pub tail: TailConfig,
    /// What data is scrambled with before it is stored: `prbs15`, `hash` or `none`. Default
    /// `prbs15`.
    pub randomiser: Randomiser,
}

/// How many blocks have cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Every block.
    All,
    /// This number.
    Count(u32),
}

impl Default for Blocks {
    fn default() -> Self {
        Self::Count(64)
    }
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Count(count) => serializer.serialize_u32(*count),
        }
    }
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let count = value.as_u64().filter(|count| (1..=u64::from(u32::MAX)).contains(count));
        match (value.as_str(), count) {
            (Some("all"), _) => Ok(Self::All),
            (_, Some(count)) => Ok(Self::Count(count as u32)),
            _ => Err(serde::de::Error::custom(format!(
                "`{value}` is not a valid number of blocks with cells; accepted: 1 or more, or all"
            ))),
        }
    }
}

impl JsonSchema for Blocks {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Blocks".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "all" }] })
    }
}

/// A cell that moves another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coupling {
    /// Wordlines further on, 1 to 8: earlier ones are programmed before the cell is verified.
    pub wordline: u32,
    /// Bitlines aside, -8 to 8.
    pub bitline: i32,
    /// Share of the voltage that couples, 0 to 0.5.
    pub ratio: f64,
}

impl<'de> Deserialize<'de> for Coupling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let keys = match value.as_f64() {
            Some(ratio) => CouplingKeys { wordline: 1, bitline: 0, ratio },
            None => serde_json::from_value(value).map_err(serde::de::Error::custom)?,
        };
        let CouplingKeys { wordline, bitline, ratio } = keys;
        Ok(Self { wordline, bitline, ratio })
    }
}

impl JsonSchema for Coupling {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Coupling".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys = CouplingKeys::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 0.5 }, keys] })
    }
}

/// The long spelling of [`Coupling`].
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CouplingKeys {
    /// Wordlines further on, 1 to 8; default 1.
    #[serde(default = "next")]
    wordline: u32,
    /// Bitlines aside, -8 to 8; default 0.
    #[serde(default)]
    bitline: i32,
    /// Share of the voltage that couples, 0 to 0.5.
    ratio: f64,
}

fn next() -> u32 {
    1
}

/// In how many passes a wordline is programmed: what an aggressor moves after the last pass of
/// a cell is what couples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramOrder {
    /// All bits at once, wordline after wordline.
    #[default]
    OneShot,
    /// MLC: the second bit after the first bit of the next wordline. The chip reads the first bit
    /// itself before it programs the second.
    TwoStep,
    /// TLC and QLC: a coarse pass over the next wordline before the fine pass.
    FoggyFine,
}

impl ProgramOrder {
    /// Bits of the cells that have it.
    fn bits(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Self::OneShot => 1..=4,
            Self::TwoStep => 2..=2,
            Self::FoggyFine => 3..=4,
        }
    }

    /// Its name in device files.
    fn name(self) -> &'static str {
        match self {
            Self::OneShot => "one_shot",
            Self::TwoStep => "two_step",
            Self::FoggyFine => "foggy_fine",
        }
    }
}

/// Distribution of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TailConfig {
    /// Normal.
    #[default]
    Normal,
    /// Student's t with these degrees of freedom and the same variance.
    Student(f64),
}

impl From<TailConfig> for Tail {
    fn from(config: TailConfig) -> Self {
        match config {
            TailConfig::Normal => Self::Normal,
            TailConfig::Student(degrees) => Self::Student(degrees),
        }
    }
}

impl CellsConfig {
    /// Whether the keys are in their ranges, for cells of this number of bits.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and the accepted range.
    pub fn check(&self, bits: usize) -> Result<(), ConfigError> {
        let refuse = |path: &str, value: String, accepted: &str| {
            Err(ConfigError::new(path, format!("{value} is not usable; accepted: {accepted}")))
        };
        let coupling = self.coupling.as_deref().unwrap_or_default();
        if coupling.len() > AGGRESSORS_MAX {
            return refuse("coupling", format!("a list of {}", coupling.len()), "up to 8 entries");
        }
        for (index, one) in coupling.iter().enumerate() {
            let path = |key: &str| format!("coupling[{index}].{key}");
            if !(1..=DISTANCE_MAX).contains(&one.wordline) {
                let accepted = "1 to 8 wordlines further on, since a cell is verified after \
                                the earlier ones";
                return refuse(&path("wordline"), one.wordline.to_string(), accepted);
            }
            if one.bitline.unsigned_abs() > DISTANCE_MAX {
                return refuse(&path("bitline"), one.bitline.to_string(), "-8 to 8");
            }
            if !(0.0..=0.5).contains(&one.ratio) {
                return refuse(&path("ratio"), one.ratio.to_string(), "0 to 0.5");
            }
        }
        if !(0.0..=0.9).contains(&self.read_noise) {
            return refuse("read_noise", self.read_noise.to_string(), "0 to 0.9");
        }
        match self.tail {
            TailConfig::Student(degrees) if !(2.1..=1000.0).contains(&degrees) => {
                return refuse("tail.student", degrees.to_string(), "2.1 to 1000");
            }
            _ => {}
        }
        if !self.program.bits().contains(&bits) {
            let accepted = match bits {
                1 => "one_shot with 1 bit per cell",
                2 => "one_shot or two_step with 2 bits per cell",
                _ => "one_shot or foggy_fine with 3 or 4 bits per cell",
            };
            return refuse("program", format!("`{}`", self.program.name()), accepted);
        }
        Ok(())
    }

    /// Whether the drive has enough blocks.
    ///
    /// # Errors
    /// [`ConfigError`] at `blocks`.
    pub fn check_blocks(&self, blocks: u64) -> Result<(), ConfigError> {
        match self.blocks {
            Blocks::Count(count)
                if u64::from(count) > blocks && self.blocks != Blocks::default() =>
            {
                let message =
                    format!("{count} is more than there are; accepted: 1 to {blocks}, or all");
                Err(ConfigError::new("blocks", message))
            }
            _ => Ok(()),
        }
    }

    /// Whether a drive programs its wordlines in this number of passes when its power is cut.
    ///
    /// # Errors
    /// [`ConfigError`] at `program`.
    pub fn check_passes(&self, passes: u32) -> Result<(), ConfigError> {
        let (own, accepted) = match self.program {
            ProgramOrder::OneShot => (1, "none, tlc_oneshot"),
            ProgramOrder::TwoStep => (2, "mlc"),
            ProgramOrder::FoggyFine => (3, "tlc_multi"),
        };
        if own == passes {
            return Ok(());
        }
        let message = format!(
            "`{}` does not fit a `power.paired_scheme` of {passes} passes; accepted there: \
             {accepted}",
            self.program.name()
        );
        Err(ConfigError::new("program", message))
    }
}
