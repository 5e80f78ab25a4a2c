//! Blocks that fail in the field: programs and erases that the flash reports as failed.
//!
//! ```text
//! opened  ─► the program at which it will fail, or none     1 - (1 - p)^programs of a block
//! victim  ─► whether its erase will fail                     q
//! ```
//! Both probabilities grow with wear, by `growth` at the rated cycles: `p growth^(erases / rated)`.
//! Whether a use of a block ends in a failure follows from the run's seed, the block and its erase
//! count alone, so a page costs nothing, nothing is stored in images, and dies may work in any
//! order. The firmware looks ahead: it empties a block whose erase will fail while there is a spare
//! block, as it does at the rated end of life; a real drive cannot, and keeps spare blocks instead.
//!
//! Infant mortality: a share of the blocks has a defect and fails early, half of them at an erase
//! and half at a program. The erase count at which such a block fails is uniform over the first
//! `cycles`, so after `cycles` erases of all blocks the number that failed is binomial. An early
//! constant hazard is the simplest form of the falling branch of the bathtub curve (JEDEC JESD74A,
//! Early Life Failure Rate, fits a falling Weibull hazard; uniform needs no shape).
//!
//! Left out: failures of blocks at one bit per cell, and of blocks that static wear leveling
//! collects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::rng::Rng;
use crate::units::BlockId;

/// Probabilities that a flash operation fails, which takes its block out of use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FailuresConfig {
    /// Probability that the program of a program unit (a page, or the pages that joined planes and
    /// one-shot programming write at once) fails; 0 to below 1.
    pub program: f64,
    /// Probability that an erase fails; 0 to below 1.
    pub erase: f64,
    /// Factor on both at `nand.max_pe_cycles` erases, growing by equal factors with each; at least
    /// 1.
    pub growth: f64,
    /// Infant mortality, `{ratio, cycles}`: blocks that fail early; left out: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infant: Option<InfantConfig>,
}

/// Blocks that fail early, at an erase or a program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InfantConfig {
    /// Share of the blocks that fail so; above 0, below 1.
    pub ratio: f64,
    /// Erases of a block within which it fails, each as likely; 1 to 1e6.
    pub cycles: u32,
}

impl Default for FailuresConfig {
    fn default() -> Self {
        Self { program: 0.0, erase: 0.0, growth: 1.0, infant: None }
    }
}

impl FailuresConfig {
    /// Checks the numbers; the keys are relative to `nand`.
    ///
    /// # Errors
    /// [`ConfigError`] with the accepted range.
    pub fn check(&self, max_pe_cycles: Option<u32>) -> Result<(), ConfigError> {
        for (key, value) in [("failures.program", self.program), ("failures.erase", self.erase)] {
            if !(0.0..1.0).contains(&value) {
                return Err(ConfigError::new(key, format!("{value}; accepted: 0 to below 1")));
            }
        }
        if let Some(InfantConfig { ratio, cycles }) = self.infant {
            if !(ratio > 0.0 && ratio < 1.0) {
                let message = format!("{ratio}; accepted: above 0, below 1");
                return Err(ConfigError::new("failures.infant.ratio", message));
            }
            if !(1..=1_000_000).contains(&cycles) {
                let message = format!("{cycles}; accepted: 1 to 1e6");
                return Err(ConfigError::new("failures.infant.cycles", message));
            }
        }
        if !(self.growth >= 1.0 && self.growth.is_finite()) {
            let message = format!("{}; accepted: 1 or more", self.growth);
            return Err(ConfigError::new("failures.growth", message));
        }
        if self.growth > 1.0 && max_pe_cycles.is_none() {
            let message = format!(
                "{} at the rated cycles, which nand.max_pe_cycles does not give; accepted: 1, or a \
                 number of cycles there",
                self.growth
            );
            return Err(ConfigError::new("failures.growth", message));
        }
        Ok(())
    }
}

/// Which use of which block ends in a failure.
#[derive(Clone, Copy, Debug)]
pub struct Failures {
    seed: u64,
    program: f64,
    erase: f64,
    /// Growth of both per erase, as a logarithm.
    growth: f64,
    infants: Option<Infants>,
}

/// Which blocks fail early.
#[derive(Clone, Copy, Debug)]
struct Infants {
    seed: u64,
    config: InfantConfig,
}

/// The failure that ends the life of a block early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    Erase,
    /// The program at this index of the block's programs.
    Program(u32),
}

impl Infants {
    /// How a block with this erase count fails, if it has a defect and is due. It stays due if this
    /// use of the block cannot end in a failure.
    fn defect(self, block: BlockId, erase_count: u32, programs: u32) -> Option<Defect> {
        let InfantConfig { ratio, cycles } = self.config;
        let place = u64::from(block.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut rng = Rng::from_seed(self.seed ^ place);
        if rng.unit() >= ratio || u64::from(erase_count) < rng.below(cycles.into()) {
            return None;
        }
        let is_program = rng.below(2) == 1;
        let index = rng.below(u64::from(programs.max(1))) as u32;
        Some(if is_program { Defect::Program(index) } else { Defect::Erase })
    }
}

impl Failures {
    /// The failures of a run.
    pub fn new(config: &FailuresConfig, max_pe_cycles: Option<u32>, seed: u64) -> Self {
        let growth = max_pe_cycles
            .filter(|_| config.growth > 1.0)
            .map_or(0.0, |cycles| libm::log(config.growth) / f64::from(cycles));
        let of = |name| Rng::stream(seed, name).next_u64();
        let infants =
            config.infant.map(|config| Infants { seed: of("nand.failures.infant"), config });
        let seed = of("nand.failures");
        Self { seed, program: config.program, erase: config.erase, growth, infants }
    }

    fn at_wear(&self, probability: f64, erase_count: u32) -> f64 {
        (probability * libm::exp(self.growth * f64::from(erase_count))).min(1.0)
    }

    /// A separate random stream for each use of a block.
    fn draw(&self, block: BlockId, erase_count: u32) -> Rng {
        let place = u64::from(block.0) << 32 | u64::from(erase_count);
        Rng::from_seed(self.seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Whether the next erase of a block with this erase count fails.
    pub fn fails_erase(&self, block: BlockId, erase_count: u32) -> bool {
        let is_infant = |it: Infants| it.defect(block, erase_count, 1) == Some(Defect::Erase);
        self.infants.is_some_and(is_infant)
            || self.erase > 0.0
                && self.draw(block, erase_count).unit() < self.at_wear(self.erase, erase_count)
    }

    /// Which of `programs` programs of a block fails, if one does.
    pub fn failing_program(&self, block: BlockId, erase_count: u32, programs: u32) -> Option<u32> {
        let infant = self.infants.and_then(|it| it.defect(block, erase_count, programs));
        let early = match infant {
            Some(Defect::Program(index)) => Some(index),
            Some(Defect::Erase) | None => None,
        };
        if self.program == 0.0 {
            return early;
        }
        let mut rng = self.draw(block, erase_count);
        rng.next_u64(); // the erase has drawn the first
        let probability = self.at_wear(self.program, erase_count);
        // The number of programs before the first failure is geometric.
        let before = rng.exponential() / -libm::log1p(-probability);
        let random = (before < f64::from(programs)).then_some(before as u32);
        [early, random].into_iter().flatten().min()
    }

    /// Share of blocks that fail in one use from fresh: `programs` programs and an erase.
    pub fn share(config: &FailuresConfig, programs: u32) -> f64 {
        1.0 - libm::pow(1.0 - config.program, f64::from(programs)) * (1.0 - config.erase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u32 = 40_000;

    /// Drawn shares against their closed forms, within 4.5 standard deviations.
    #[test]
    fn shares_follow_the_probabilities_at_every_wear() {
        let config = FailuresConfig { program: 1e-3, erase: 0.02, growth: 10.0, infant: None };
        let failures = Failures::new(&config, Some(100), 42);
        for erase_count in [0, 50, 100] {
            let factor = 10_f64.powf(f64::from(erase_count) / 100.0);
            let erases = (0..BLOCKS)
                .filter(|&block| failures.fails_erase(BlockId(block), erase_count))
                .count() as f64;
            let programs: Vec<u32> = (0..BLOCKS)
                .filter_map(|block| failures.failing_program(BlockId(block), erase_count, 64))
                .collect();
            let first_half = programs.iter().filter(|&&index| index < 32).count() as f64;
            let of_program = |count: f64| 1.0 - (1.0 - 1e-3 * factor).powf(count);
            for (found, share) in [
                (erases, 0.02 * factor),
                (programs.len() as f64, of_program(64.0)),
                (first_half, of_program(32.0)),
            ] {
                let mean = f64::from(BLOCKS) * share;
                let limit = 4.5 * (mean * (1.0 - share)).sqrt();
                assert!((found - mean).abs() < limit, "{found} of {mean} at {erase_count}");
            }
        }
    }

    /// Of the blocks with a defect, the share that is due is uniform over the cycles.
    #[test]
    fn infants_fail_within_their_cycles() {
        let infant = Some(InfantConfig { ratio: 0.05, cycles: 40 });
        let config = FailuresConfig { infant, ..FailuresConfig::default() };
        let failures = Failures::new(&config, None, 42);
        for erase_count in [0, 9, 19, 39, 5000] {
            let share = 0.05 * f64::from((erase_count + 1).min(40)) / 40.0;
            let blocks = || (0..BLOCKS).map(BlockId);
            let erases = blocks().filter(|&block| failures.fails_erase(block, erase_count)).count();
            let programs: Vec<u32> = blocks()
                .filter_map(|block| failures.failing_program(block, erase_count, 64))
                .collect();
            let first_half = programs.iter().filter(|&&index| index < 32).count();
            for (found, share) in
                [(erases, share / 2.0), (programs.len(), share / 2.0), (first_half, share / 4.0)]
            {
                let mean = f64::from(BLOCKS) * share;
                let limit = 4.5 * (mean * (1.0 - share)).sqrt();
                let found = found as f64;
                assert!((found - mean).abs() < limit, "{found} of {mean} at {erase_count}");
            }
        }
    }

    #[test]
    fn growth_needs_a_rating() {
        let config = FailuresConfig { growth: 2.0, ..FailuresConfig::default() };
        assert!(config.check(None).is_err() && config.check(Some(3000)).is_ok());
    }
}
