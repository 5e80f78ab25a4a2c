//! Uniform random: every aligned start is equally likely, exactly.
//!
//! The reference workload of every closed form for write amplification. `Rng::below` rejects, so
//! there is no modulo bias at any capacity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameters;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::workload::addresses::{Addresses, Extent};

/// `random` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomConfig {}

impl Parameters for RandomConfig {
    type Addresses = Random;

    fn check(&self, _: Extent, _: &[u32]) -> Result<(), ConfigError> {
        Ok(())
    }

    fn compile(&self, _: u64) -> Random {
        Random
    }
}

/// Draws uniformly.
#[derive(Clone, Debug)]
pub struct Random;

/// The starts of one request size.
#[derive(Clone, Copy, Debug)]
pub struct Starts {
    count: u64,
    align_sectors: u64,
}

impl Addresses for Random {
    type Span = Starts;

    fn span(&self, extent: Extent, request_sectors: u32) -> Starts {
        Starts { count: extent.starts(request_sectors), align_sectors: extent.align_sectors }
    }

    #[inline]
    fn next(&mut self, span: &Starts, rng: &mut Rng) -> u64 {
        self.other(span, 0, rng)
    }

    #[inline]
    fn other(&self, span: &Starts, _: u64, rng: &mut Rng) -> u64 {
        rng.below(span.count) * span.align_sectors
    }
}
