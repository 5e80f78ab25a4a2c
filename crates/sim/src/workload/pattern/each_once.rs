//! Every aligned start once in a pass, in random order; then the next pass, in another one.
//!
//! What fio does for `randread` and `randwrite` without `norandommap`: after a pass every place was
//! used, while independent draws leave 1/e of them out. The order of a pass is a keyed shuffle,
//! which needs no memory; requests of one size, since a place cannot be taken in part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::permutation::{Permutation, ShuffleKeys};
use super::Parameters;
use crate::config::ConfigError;
use crate::rng::Rng;
use crate::workload::addresses::{Addresses, Extent};
use crate::workload::check::refuse;

/// `permutation` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermutationConfig {}

impl Parameters for PermutationConfig {
    type Addresses = EachOnce;

    fn check(&self, _: Extent, request_sectors: &[u32]) -> Result<(), ConfigError> {
        if request_sectors.len() == 1 {
            return Ok(());
        }
        Err(refuse("kind", "permutation", "another pattern for several block sizes"))
    }

    fn compile(&self, seed: u64) -> EachOnce {
        EachOnce { keys: Rng::stream(seed, "workload.permutation"), pass: None }
    }
}

/// The order of the pass, and how far it is.
#[derive(Clone, Debug)]
pub struct EachOnce {
    keys: Rng,
    pass: Option<(Permutation, u64)>,
}

/// The starts of one request size.
#[derive(Clone, Copy, Debug)]
pub struct Starts {
    count: u64,
    align_sectors: u64,
}

impl Addresses for EachOnce {
    type Span = Starts;

    fn span(&self, extent: Extent, request_sectors: u32) -> Starts {
        Starts { count: extent.starts(request_sectors), align_sectors: extent.align_sectors }
    }

    #[inline]
    fn next(&mut self, span: &Starts, _: &mut Rng) -> u64 {
        let (order, index) = match self.pass.take().filter(|&(_, index)| index < span.count) {
            Some(pass) => pass,
            None => (Permutation::over(span.count, ShuffleKeys::draw(&mut self.keys)), 0),
        };
        self.pass = Some((order, index + 1));
        order.apply(index) * span.align_sectors
    }

    fn other(&self, span: &Starts, _: u64, rng: &mut Rng) -> u64 {
        rng.below(span.count) * span.align_sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_takes_every_place_once_and_the_next_has_another_order() {
        let extent = Extent { sector_count: 8 * 1000, align_sectors: 8 };
        let mut addresses = PermutationConfig {}.compile(1);
        let span = addresses.span(extent, 8);
        let mut rng = Rng::from_seed(1);
        let mut pass =
            || -> Vec<u64> { (0..1000).map(|_| addresses.next(&span, &mut rng) / 8).collect() };
        let (first, second) = (pass(), pass());
        assert_ne!(first, second);
        for mut places in [first, second] {
            assert!(!places.is_sorted());
            places.sort_unstable();
            assert!(places.into_iter().eq(0..1000));
        }
        let refused = PermutationConfig {}.check(extent, &[8, 16]).expect_err("two sizes");
        assert!(refused.message.contains("several block sizes"), "{refused}");
    }
}
