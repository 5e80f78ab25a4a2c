//! Blocks and layers whose error rates differ from the mean: classes of a factor of the error rate.
//!
//! ```text
//!   factor   ... 0.92  0.96   1   1.04  1.08 ...      steps of 4 %
//!   class    ...   8     9   10    11    12  ...      class of a read = that of its block + layer
//! ```
//! Outcomes of reads are kept per class, so classes are as wide as a twentieth of an ordinary
//! spread. Layers are put together in at most eight groups of similar factor. Factors are divided
//! by their mean over all blocks and pages, so the mean error rate of the drive is that of its
//! stress.

use super::block_read::PageTypes;
use crate::reliability::spread::SpreadConfig;

/// Logarithm of the factor from one class to the next.
const STEP: f64 = 0.04;

/// Factors below this one are raised to it: such a block has hardly any errors.
const LEAST: f64 = 0.02;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// Class of each block.
    blocks: Vec<u16>,
    /// Class of each group of layers, to be added.
    groups: Vec<u16>,
    /// Factor of each class.
    factors: Vec<f64>,
}

impl Spread {
    /// The spread of a drive of `block_count` blocks, and its pages put in groups of layers.
    pub(super) fn new(
        config: &SpreadConfig,
        block_count: u32,
        types: &mut PageTypes,
        seed: u64,
    ) -> Self {
        let (group_of, factors) = groups(&config.layer_factors(), types.layer_groups_max());
        let weights = types.lay_in_layers(&group_of, factors.len());
        let steps = |factor: &f64| libm::round(libm::log(factor.max(LEAST)) / STEP) as i32;
        let blocks: Vec<i32> = config.block_factors(block_count, seed).iter().map(steps).collect();
        let groups: Vec<i32> = factors.iter().map(steps).collect();
        let least = |all: &[i32]| all.iter().copied().min().unwrap_or(0);
        let most = |all: &[i32]| all.iter().copied().max().unwrap_or(0);
        let (low, group_low) = (least(&blocks), least(&groups));
        let factor = |step: i32| libm::exp(STEP * f64::from(step));
        let count = f64::from(block_count);
        let mean = blocks.iter().map(|&step| factor(step)).sum::<f64>() / count;
        let whole: f64 = weights.iter().sum();
        let weighted = groups.iter().zip(&weights).map(|(&step, weight)| factor(step) * weight);
        let mean = mean * weighted.sum::<f64>() / whole;
        let first = low + group_low;
        Self {
            factors: (first..=most(&blocks) + most(&groups)).map(|at| factor(at) / mean).collect(),
            blocks: blocks.iter().map(|step| (step - low) as u16).collect(),
            groups: groups.iter().map(|step| (step - group_low) as u16).collect(),
        }
    }

    /// The class of reads of a block in a group of layers.
    #[inline]
    pub(super) fn class(&self, block: usize, group: usize) -> usize {
        usize::from(self.blocks[block]) + usize::from(self.groups[group])
    }

    /// The factor of each class.
    pub(super) fn factors(&self) -> &[f64] {
        &self.factors
    }
}

/// The group of each layer, and the mean factor of each group: layers of similar factors together.
fn groups(layers: &[f64], limit: usize) -> (Vec<u8>, Vec<f64>) {
    let count = layers.len().min(limit);
    let mut order: Vec<usize> = (0..layers.len()).collect();
    order.sort_by(|&one, &other| layers[one].total_cmp(&layers[other]));
    let mut group_of = vec![0; layers.len()];
    let mut sums = vec![(0.0, 0.0); count];
    for (place, &layer) in order.iter().enumerate() {
        let group = place * count / layers.len();
        group_of[layer] = group as u8;
        sums[group].0 += layers[layer];
        sums[group].1 += 1.0;
    }
    (group_of, sums.iter().map(|(sum, members)| sum / members).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Geometry;
    use crate::op::Source;
    use crate::reads::block_read::{BlockRead, Stressed, SORTS_MAX};
    use crate::reads::tally::ReadTally;
    use crate::reads::{EccConfig, ErrorFigures, ReadErrors};
    use crate::reliability::PowerLaw;
    use crate::units::{BlockId, DieId};
    use opennandlab_ecc::BetaBinomial;

    #[test]
    fn the_mean_over_blocks_and_pages_is_one() {
        let geometry = Geometry::new([1, 1], [500, 96], 4096);
        for (block_cv, layers, layer_swing) in [(0.3, 1, 0.0), (0.0, 64, 1.0), (0.5, 12, 0.6)] {
            let config = SpreadConfig { block_cv, layers, layer_swing };
            let mut types = PageTypes::new(3, None, &geometry);
            let spread = Spread::new(&config, 500, &mut types, 3);
            let mut sum = 0.0;
            let mut squares = 0.0;
            for block in 0..500 {
                for page in 0..96 {
                    let factor = spread.factors()[spread.class(block, types.group_at(page))];
                    sum += factor;
                    squares += factor * factor;
                }
            }
            let mean = sum / (500.0 * 96.0);
            assert!((mean - 1.0).abs() < 1e-12, "{config:?}: {mean}");
            let cv = (squares / (500.0 * 96.0) - 1.0).sqrt();
            // The bowl has the variance swing^2 / 5, as the integral of (12 x^2 - 1)^2 / 4.
            let bowl = layer_swing * layer_swing / 5.0;
            let expected = ((1.0 + block_cv * block_cv) * (1.0 + bowl) - 1.0).sqrt();
            assert!((cv / expected - 1.0).abs() < 0.1, "{config:?}: {cv} {expected}");
        }
    }

    /// Figures of one read of every page of a drive with `block_count` blocks of 12 pages.
    fn figures(config: Option<&SpreadConfig>, block_count: u32, rber: f64) -> ErrorFigures {
        let geometry = Geometry::new([1, 1], [block_count, 12], 1024);
        let code = EccConfig { bch_m: Some(14), bch_t: Some(40), ..EccConfig::default() };
        let model = PowerLaw { floor: rber, ..PowerLaw::default() };
        let code = code.page_code(1024).expect("a code");
        let mut errors = ReadErrors::new(Box::new(model), code, &geometry, 11);
        if let Some(config) = config {
            errors = errors.with_spread(config, block_count, 11);
        }
        for block in 0..block_count {
            let stressed = Stressed {
                block: BlockId(block),
                die: DieId(0),
                erases: 0,
                copies: 0,
                is_half_erased: false,
            };
            let mut counts = [0; SORTS_MAX];
            let each = 12 / errors.page_types().sorts() as u32;
            counts[..errors.page_types().sorts()].fill(each);
            errors.record_block(&BlockRead {
                stressed,
                counts,
                suspects: [0; SORTS_MAX],
                source: Source::Host,
            });
        }
        errors.figures_since(&ReadTally::default())
    }

    #[test]
    fn a_spread_keeps_the_mean_rate_and_has_the_tail_of_beta_binomial_errors() {
        // 40 of 8752 bits.
        let (rber, bits) = (2e-3, 8752);
        let calm = figures(None, 40_000, rber);
        for block_cv in [0.1, 0.3] {
            let config = SpreadConfig { block_cv, ..SpreadConfig::default() };
            let found = figures(Some(&config), 40_000, rber);
            assert!((found.rber / calm.rber - 1.0).abs() < 1e-12, "{}", found.rber);
            let mean = found.uncorrectable_mean / found.reads as f64;
            let tail = BetaBinomial::new(bits, rber, block_cv).expect("a spread").tail(40);
            // Forty thousand blocks: the worst of them decide.
            assert!((mean / tail - 1.0).abs() < 0.08, "{block_cv}: {mean:e} {tail:e}");
            assert!(mean > 1.5 * calm.uncorrectable_mean / calm.reads as f64);
        }
    }

    #[test]
    fn layers_fail_as_the_mean_over_their_groups() {
        let (rber, bits) = (2e-3, 8752);
        let config = SpreadConfig { layers: 8, layer_swing: 0.8, ..SpreadConfig::default() };
        let found = figures(Some(&SpreadConfig { layers: 4, ..config.clone() }), 10, rber);
        let factors = SpreadConfig { layers: 4, ..config }.layer_factors();
        assert!((found.rber / rber - 1.0).abs() < 1e-12);
        let tail =
            |factor: f64| BetaBinomial::new(bits, rber * factor, 0.0).expect("no spread").tail(40);
        let expected = factors.iter().copied().map(tail).sum::<f64>() / 4.0;
        let mean = found.uncorrectable_mean / found.reads as f64;
        // A factor is rounded to 2 %, and errors go with a high power of it.
        assert!((mean / expected).ln().abs() < 0.2, "{mean:e} {expected:e}");
    }

    #[test]
    fn the_margin_is_that_of_the_pages_that_differ() {
        let margin = |config: Option<&SpreadConfig>| {
            let figures = figures(config, 4000, 5e-4);
            let geometry = Geometry::new([1, 1], [1, 12], 1024);
            let code = EccConfig { bch_m: Some(14), bch_t: Some(40), ..EccConfig::default() };
            let code = code.page_code(1024).expect("a code");
            let errors = ReadErrors::new(Box::new(PowerLaw::default()), code, &geometry, 1);
            figures.margin(errors.fates(), 1e-12).expect("within reach")
        };
        let config = SpreadConfig { block_cv: 0.3, ..SpreadConfig::default() };
        let (alike, spread) = (margin(None), margin(Some(&config)));
        assert!(spread < 0.8 * alike, "{spread} {alike}");
    }
}
