//! Addresses of requests: one file and one row per pattern.
//!
//! A pattern is declared by its parameters ([`Parameters`]) and compiled to [`Addresses`], which
//! turn randomness into start sectors of an [`Extent`].
//!
//! To add a pattern, start from `random`, the smallest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::addresses::{Addresses, Extent};
use super::synthetic::{Synthetic, SyntheticParts};
use super::Generator;
use crate::config::ConfigError;

pub mod each_once;
pub mod host_log;
pub mod hot_cold;
pub mod log_zones;
pub mod permutation;
pub mod random;
pub mod sequential;
pub mod zipf;
pub mod zone_actions;
pub mod zoned;

/// The declared parameters of a pattern.
pub(crate) trait Parameters {
    /// The compiled form.
    type Addresses: Addresses + 'static;

    /// Refuses parameters that are impossible for requests of these sizes in `extent`; each of them
    /// fits.
    ///
    /// # Errors
    /// With the parameter's own name as path.
    fn check(&self, extent: Extent, request_sectors: &[u32]) -> Result<(), ConfigError>;

    /// The pattern of the run with this `seed`.
    fn compile(&self, seed: u64) -> Self::Addresses;

    /// The commands of the run with this `seed`.
    fn generator(&self, parts: SyntheticParts, seed: u64) -> Box<dyn Generator> {
        Box::new(Synthetic::new(self.compile(seed), parts))
    }
}

macro_rules! patterns {
    ($($(#[$doc:meta])* $row:ident = $parameters:ty,)+) => {
        /// Addresses of requests.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum PatternConfig {
            $($(#[$doc])* $row($parameters),)+
        }

        impl PatternConfig {
            /// Refuses parameters that are impossible for requests of these sizes in `extent`.
            ///
            /// # Errors
            /// With the parameter's own name as path.
            pub fn check(&self, extent: Extent, sizes: &[u32]) -> Result<(), ConfigError> {
                match self {
                    $(Self::$row(parameters) => parameters.check(extent, sizes),)+
                }
            }

            /// Compiles the checked pattern; `seed` fixes its shuffles.
            pub(crate) fn generator(&self, parts: SyntheticParts, seed: u64) -> Box<dyn Generator> {
                match self {
                    $(Self::$row(parameters) => parameters.generator(parts, seed),)+
                }
            }
        }
    };
}

patterns! {
    /// Ascending without gaps, from the start again at the end of the active range.
    Sequential = sequential::SequentialConfig,
    /// Every start equally likely.
    Random = random::RandomConfig,
    /// Every start once in a pass, in random order.
    Permutation = each_once::PermutationConfig,
    /// A share of the requests goes to a hot fraction of the range.
    HotCold = hot_cold::HotColdConfig,
    /// Popularity of the k-th hottest place proportional to k^-theta.
    Zipf = zipf::ZipfConfig,
    /// Several zones, each with its fraction of the range and its share of the requests.
    Zoned = zoned::ZonedConfig,
    /// Zones that are trimmed and then written from end to end, in random order.
    LogZones = log_zones::LogZonesConfig,
    /// A host that keeps a log on the zones of a drive, and reclaims them itself.
    HostLog = host_log::HostLogConfig,
    /// Commands for the zones of a drive, one by one.
    ZoneActions = zone_actions::ZoneActionsConfig,
}
