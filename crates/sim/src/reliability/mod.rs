//! How often the flash gets a bit wrong: the raw bit error rate as a pure function of stress.
//!
//! A model is asked with what the page has been through ([`Stress`]) and answers with the
//! probability that any one bit of it is read wrong, before correction. It draws nothing and
//! remembers nothing; who counts errors and who decides whether a read worked live elsewhere. Bits
//! are taken as independent.
//!
//! To add a model: write `reliability/<name>.rs` with a struct of its parameters (serde, schemars,
//! a default for each with its source), `check` and `impl RberModel`; then add the row to
//! [`RberConfig`] and its two matches. [`power_law::PowerLaw`] is the smallest member and serves as
//! a skeleton.
//!
//! Left out so far: time since programming, temperature, read disturb, page type and layer. Each
//! will be a field of [`Stress`].

pub mod power_law;
pub mod weibull;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
pub use power_law::PowerLaw;
pub use weibull::{WearKeys, Weibull};

/// No cell can be read worse than by tossing a coin.
pub const RBER_MAX: f64 = 0.5;

/// What a page has been through when it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stress {
    /// Program/erase cycles of its block; a float, so that a mean over blocks can be asked for too.
    pub pe_cycles: f64,
}

/// Raw bit error rate under stress.
///
/// Who calls: the device, once per block and erase count, and reports, for curves. Implementations
/// are pure, never negative, at most [`RBER_MAX`], and do not fall as `pe_cycles` grows.
pub trait RberModel: Send + Sync {
    /// Probability that a bit is read wrong.
    fn rber(&self, stress: &Stress) -> f64;
}

/// How the raw bit error rate grows as the flash wears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RberConfig {
    /// From a floor to a ceiling along a Weibull distribution function.
    Weibull(Weibull),
    /// A floor plus a power of the P/E cycles.
    PowerLaw(PowerLaw),
}

impl Default for RberConfig {
    fn default() -> Self {
        Self::Weibull(Weibull::default())
    }
}

impl RberConfig {
    /// Whether the parameters make a model.
    ///
    /// # Errors
    /// [`ConfigError`] with the key, the value and what is accepted.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Weibull(model) => model.check(),
            Self::PowerLaw(model) => model.check(),
        }
    }

    /// The model, ready to be asked.
    pub fn build(&self) -> Box<dyn RberModel> {
        match self {
            Self::Weibull(model) => Box::new(model.clone()),
            Self::PowerLaw(model) => Box::new(model.clone()),
        }
    }
}

/// Refuses `value` outside `accepted`, which names the range in words.
fn require(is_good: bool, path: &str, value: f64, accepted: &str) -> Result<(), ConfigError> {
    if is_good {
        return Ok(());
    }
    Err(ConfigError::new(path, format!("{value:e} is not usable; accepted: {accepted}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;
    use proptest::prelude::*;

    #[test]
    fn a_bare_kind_means_its_defaults() {
        let config: RberConfig = parse(r#"{"kind": "weibull"}"#).unwrap();
        assert_eq!(config, RberConfig::default());
        let config: RberConfig = parse(r#"{"kind": "power_law", "exponent": 1.5}"#).unwrap();
        let expected = PowerLaw { exponent: 1.5, ..PowerLaw::default() };
        assert_eq!(config, RberConfig::PowerLaw(expected));
    }

    #[test]
    fn unknown_kinds_and_keys_are_refused() {
        for (text, named) in [
            (r#"{"kind": "wiebull"}"#, "wiebull"),
            (r#"{"kind": "weibull", "flor": 1e-8}"#, "flor"),
            (r#"{"kind": "power_law", "scale_cycles": 1}"#, "scale_cycles"),
            (r#"{"floor": 1e-8}"#, "kind"),
        ] {
            let error = parse::<RberConfig>(text).unwrap_err();
            assert!(error.message.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_resolved_can_be_read_again() {
        for config in [RberConfig::default(), RberConfig::PowerLaw(PowerLaw::default())] {
            let text = serde_json::to_string(&config).unwrap();
            assert_eq!(parse::<RberConfig>(&text).unwrap(), config, "{text}");
        }
    }

    proptest! {
        #[test]
        fn models_are_bounded_and_never_improve_with_wear(
            pe_cycles in 0.0_f64..1e7,
            more in 0.0_f64..1e5,
            floor in 0.0_f64..0.01,
            span in 0.0_f64..0.4,
            exponent in 0.1_f64..6.0,
        ) {
            let ceiling = floor + span;
            let models = [
                RberConfig::Weibull(Weibull {
                    floor, ceiling, shape: exponent, ..Weibull::default()
                }),
                RberConfig::PowerLaw(PowerLaw { floor, exponent, ..PowerLaw::default() }),
            ];
            for config in models {
                prop_assert_eq!(config.check(), Ok(()));
                let model = config.build();
                let now = model.rber(&Stress { pe_cycles });
                let later = model.rber(&Stress { pe_cycles: pe_cycles + more });
                prop_assert!(now >= floor && now <= RBER_MAX);
                prop_assert!(later >= now);
            }
        }
    }
}
