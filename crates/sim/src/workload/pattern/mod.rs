//! Where requests go: one file and one row per pattern.
//!
//! A pattern is declared by its parameters ([`Parameters`]) and compiled to [`Addresses`], which
//! turn randomness into start sectors. Request sizes are known when compiling, so each size gets a
//! `Span`: all that can be computed once. Invariant: `next` returns a start sector whose request
//! fits the extent.
//!
//! ```text
//!  extent   |----------------------------------------------------|   sectors of the active range
//!  starts   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^   ^  every `align_sectors`
//! ```
//!
//! To add a pattern, start from `random`, the smallest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::synthetic::{Synthetic, SyntheticParts};
use super::Generator;
use crate::config::ConfigError;
use crate::rng::Rng;

pub mod hot_cold;
pub mod permutation;
pub mod random;
pub mod sequential;
pub mod zipf;
pub mod zoned;

/// The part of the logical space that a pattern uses. It starts at sector 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Sectors of the active range.
    pub sector_count: u64,
    /// Requests start at multiples of this many sectors (not those of `sequential`).
    pub align_sectors: u64,
}

impl Extent {
    /// Number of aligned places at which a request of `request_sectors` fits; 0 when it does not
    /// fit.
    pub fn starts(&self, request_sectors: u32) -> u64 {
        match self.sector_count.checked_sub(u64::from(request_sectors)) {
            Some(room) => room / self.align_sectors + 1,
            None => 0,
        }
    }
}

/// Turns randomness into start sectors.
pub trait Addresses: Clone + Send {
    /// What is computed once for each request size.
    type Span: Send;

    /// Prepares for requests of `request_sectors` in `extent`, which fit.
    fn span(&self, extent: Extent, request_sectors: u32) -> Self::Span;

    /// Start sector of the next request.
    fn next(&mut self, span: &Self::Span, rng: &mut Rng) -> u64;

    /// Another start sector for a request that found nothing at `sector`. Leaves no trace in
    /// `self`.
    fn other(&self, span: &Self::Span, sector: u64, rng: &mut Rng) -> u64;
}

/// The declared parameters of a pattern.
pub trait Parameters {
    /// What they compile to.
    type Addresses: Addresses + 'static;

    /// Refuses what is impossible for requests of these sizes in `extent`; each of them fits.
    ///
    /// # Errors
    /// With the parameter's own name as path.
    fn check(&self, extent: Extent, request_sectors: &[u32]) -> Result<(), ConfigError>;

    /// The pattern of the run with this `seed`.
    fn compile(&self, seed: u64) -> Self::Addresses;
}

macro_rules! patterns {
    ($($(#[$doc:meta])* $row:ident = $parameters:ty,)+) => {
        /// Where requests go.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum PatternConfig {
            $($(#[$doc])* $row($parameters),)+
        }

        impl PatternConfig {
            /// Refuses what is impossible for requests of these sizes in `extent`.
            ///
            /// # Errors
            /// With the parameter's own name as path.
            pub fn check(&self, extent: Extent, sizes: &[u32]) -> Result<(), ConfigError> {
                match self {
                    $(Self::$row(parameters) => parameters.check(extent, sizes),)+
                }
            }

            /// Compiles the checked pattern; `seed` fixes what a pattern shuffles.
            pub(crate) fn generator(&self, parts: SyntheticParts, seed: u64) -> Box<dyn Generator> {
                match self {
                    $(Self::$row(p) => Box::new(Synthetic::new(p.compile(seed), parts)),)+
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
    /// A share of the requests goes to a hot fraction of the range.
    HotCold = hot_cold::HotColdConfig,
    /// Popularity of the k-th hottest place proportional to k^-theta.
    Zipf = zipf::ZipfConfig,
    /// Several zones, each with its fraction of the range and its share of the requests.
    Zoned = zoned::ZonedConfig,
}
