//! The `ecc` section of a device file, and the bookkeeping of reads and their errors.
//!
//! A read's fate depends on the erase count of its block alone (for now), so reads are counted per
//! erase count. Mean figures are then exact sums over that histogram, without sampling noise.
//! Uncorrectable pages are drawn, in batches: failures of `n` independent reads with probability
//! `p` are points of a Poisson process of length `-n ln(1 - p)`, so one addition per batch decides
//! whether any occurs. Above `p` = 1 % each read is drawn by itself.

use opennandlab_ecc::{Bch, PageCode, Uncoded};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::retry::Retry;
use crate::config::ConfigError;
use crate::nand::Media;
use crate::op::{Source, SOURCE_COUNT};
use crate::reliability::{RberModel, Stress};
use crate::rng::Rng;
use crate::units::BlockId;

/// The code that protects a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// No code: one wrong bit makes a page uncorrectable.
    None,
    /// A binary BCH code of length `2^bch_m - 1` that corrects `bch_t` bits.
    #[default]
    Bch,
}

/// Error correction of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EccConfig {
    /// `none` or `bch`.
    pub algorithm: Algorithm,
    /// Field degree of the BCH code, 5 to 16: codewords have `2^m - 1` bits.
    pub bch_m: u32,
    /// Bits that one codeword corrects.
    pub bch_t: u32,
}

impl Default for EccConfig {
    fn default() -> Self {
        Self { algorithm: Algorithm::Bch, bch_m: 8, bch_t: 4 }
    }
}

impl EccConfig {
    /// The code of a page with `page_bytes` data bytes, whose parity must fit `oob_bytes`.
    ///
    /// # Errors
    /// [`ConfigError`] relative to this section.
    pub fn page_code(&self, page_bytes: u64, oob_bytes: u64) -> Result<PageCode, ConfigError> {
        let code: Result<Box<dyn opennandlab_ecc::Code>, _> = match self.algorithm {
            Algorithm::None => Ok(Box::new(Uncoded)),
            Algorithm::Bch => {
                Bch::new(self.bch_m, self.bch_t, None).map(|code| Box::new(code) as _)
            }
        };
        let page = code
            .and_then(|code| PageCode::new(code, page_bytes as u32))
            .map_err(|error| ConfigError::new("bch_t", error.to_string()))?;
        let parity_bytes = u64::from(page.parity_bytes_per_page());
        if parity_bytes > oob_bytes {
            return Err(ConfigError::new(
                "bch_t",
                format!(
                    "parity of {parity_bytes} B per page ({} codewords) does not fit \
                     nand.oob_size_bytes = {oob_bytes}",
                    page.codewords_per_page()
                ),
            ));
        }
        Ok(page)
    }
}

/// What a read of a page gives at one erase count.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    rber: f64,
    /// Probability that the page is uncorrectable, after all retries.
    failure: f64,
    /// Probability that its data is lost, after rebuilding.
    loss: f64,
    /// Probability that the first read does not correct it.
    first_failure: f64,
    /// `-ln(1 - first_failure)`.
    hazard: f64,
    /// Mean bits corrected.
    corrected_bits: f64,
    /// Data errors per data bit read, JESD218.
    uber: f64,
}

/// Reads of the drive by erase count, and the failures among them.
pub struct ReadErrors {
    model: Box<dyn RberModel>,
    code: PageCode,
    retry: Retry,
    /// Classes of stress per erase count: one more than the copybacks that a page may have behind
    /// it.
    stride: usize,
    /// Pages of a parity stripe; 0 without.
    stripe: u32,
    is_lost: bool,
    /// By erase count and copybacks, grown as blocks wear.
    outcomes: Vec<Outcome>,
    tally: ReadTally,
    rng: Rng,
    /// Hazard left until the next failure.
    hazard_left: f64,
}

/// Counts that can be subtracted from later ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadTally {
    /// Page reads by erase count of their block, and copybacks.
    pub reads_at: Vec<u64>,
    /// Page reads that were corrected after so many retries; the first entry is not counted.
    pub retried: Vec<u64>,
    /// Pages that were rebuilt from their stripe.
    pub rebuilt: u64,
    /// Uncorrectable page reads by source.
    pub uncorrectable: [u64; SOURCE_COUNT],
}

/// Error figures of a span of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorFigures {
    /// Page reads.
    pub reads: u64,
    /// Mean number of bits corrected in all of them.
    pub corrected_bits: f64,
    /// Mean number of uncorrectable pages among them.
    pub uncorrectable_mean: f64,
    /// Data errors per bit read, JESD218, analytic.
    pub uber: f64,
    /// Uncorrectable pages drawn.
    pub uncorrectable: u64,
}

/// Failure probability above which reads are drawn one by one.
const DRAW_EACH_ABOVE: f64 = 0.01;

impl ReadErrors {
    /// Accounting for flash with this error model and code.
    pub fn new(model: Box<dyn RberModel>, code: PageCode, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "ecc.uncorrectable");
        let hazard_left = rng.exponential();
        Self {
            model,
            code,
            retry: Retry::default(),
            stride: 1,
            stripe: 0,
            is_lost: false,
            outcomes: Vec::new(),
            tally: ReadTally::default(),
            rng,
            hazard_left,
        }
    }

    /// Adds read retry, and pages that carry the errors of copybacks.
    #[must_use]
    pub fn with(mut self, retry: Retry, copyback_limit: u32) -> Self {
        self.tally.retried = vec![0; retry.step_count() + 1];
        self.retry = retry;
        self.stride = copyback_limit as usize + 1;
        self
    }

    /// Adds parity over stripes of pages, from which a lost one is rebuilt; 0 for none.
    #[must_use]
    pub fn with_stripe(mut self, stripe: u32) -> Self {
        self.stripe = stripe;
        self
    }

    /// Pages of a stripe; 0 without parity.
    pub fn stripe(&self) -> u32 {
        self.stripe
    }

    /// Whether the last page read was lost and has a stripe to be rebuilt from.
    #[inline]
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.is_lost)
    }

    /// `page_count` pages of a block were read; returns the retry steps that they took together.
    #[inline]
    pub fn record_in(
        &mut self,
        media: &Media,
        block: BlockId,
        page_count: u32,
        source: Source,
    ) -> u32 {
        let copybacks = if self.stride == 1 { 0 } else { media.copyback_depth(block) };
        self.record_stressed(media.erase_count(block), copybacks.into(), page_count, source)
    }

    /// As [`ReadErrors::record_stressed`], for pages without copybacks.
    #[inline]
    pub fn record(&mut self, erase_count: u32, page_count: u32, source: Source) -> u32 {
        self.record_stressed(erase_count, 0, page_count, source)
    }

    /// `page_count` pages of a block with this erase count were read, which `copybacks` moves
    /// without correction lie behind; returns the retry steps that they took together.
    #[inline]
    pub fn record_stressed(
        &mut self,
        erase_count: u32,
        copybacks: u32,
        page_count: u32,
        source: Source,
    ) -> u32 {
        let index = erase_count as usize * self.stride + copybacks as usize;
        if index >= self.outcomes.len() {
            self.grow(index);
        }
        self.tally.reads_at[index] += u64::from(page_count);
        let outcome = &self.outcomes[index];
        if outcome.first_failure <= DRAW_EACH_ABOVE {
            self.hazard_left -= f64::from(page_count) * outcome.hazard;
            if self.hazard_left < 0.0 {
                return self.fail(index, source);
            }
            0
        } else {
            let failure = outcome.first_failure;
            let failed = (0..page_count).filter(|_| self.rng.unit() < failure).count();
            (0..failed).map(|_| self.recover(index, source)).sum()
        }
    }

    #[cold]
    fn fail(&mut self, index: usize, source: Source) -> u32 {
        let mut steps = 0;
        while self.hazard_left < 0.0 {
            steps += self.recover(index, source);
            self.hazard_left += self.rng.exponential();
        }
        steps
    }

    /// The first read of a page did not correct it: the retry steps that it takes, successful or
    /// not.
    fn recover(&mut self, index: usize, source: Source) -> u32 {
        let outcome = self.outcomes[index];
        if self.retry.step_count() == 0 {
            self.lose(&outcome, source);
            return 0;
        }
        // One number stands for how bad the page is, so that steps only ever help.
        let rank = self.rng.unit() * outcome.first_failure;
        let steps = self.retry.steps(outcome.rber, rank, &self.code);
        if rank < outcome.failure {
            self.lose(&outcome, source);
        } else {
            self.tally.retried[steps as usize] += 1;
        }
        steps
    }

    /// No read corrects the page: its stripe gives it back, unless another page of it is lost too.
    fn lose(&mut self, outcome: &Outcome, source: Source) {
        self.is_lost = self.stripe > 0;
        if self.is_lost && self.rng.unit() < libm::pow(1.0 - outcome.failure, self.others()) {
            self.tally.rebuilt += 1;
        } else {
            self.tally.uncorrectable[source as usize] += 1;
        }
    }

    /// Pages of a stripe beside one.
    fn others(&self) -> f64 {
        f64::from(self.stripe.saturating_sub(1))
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        // Whole rows, so that the length stays a multiple of the stride.
        let row_limit = (index / self.stride + 1) * self.stride;
        for index in self.outcomes.len()..row_limit {
            // A page that was copied without correction carries the errors of each of its lives.
            let lives = (index % self.stride + 1) as f64;
            let rber = (self.rber((index / self.stride) as f64) * lives).min(0.5);
            let first_failure = self.code.page_failure_probability(rber);
            let last_rber = rber * self.retry.last_factor();
            let failure = self.code.page_failure_probability(last_rber);
            // With parity, data is lost only when another page of the stripe is lost as well.
            let survives =
                if self.stripe > 0 { 1.0 - libm::pow(1.0 - failure, self.others()) } else { 1.0 };
            self.outcomes.push(Outcome {
                rber,
                failure,
                loss: failure * survives,
                first_failure,
                hazard: -libm::log1p(-first_failure),
                corrected_bits: self.code.corrected_bits_mean(rber),
                uber: self.code.uber(last_rber) * survives,
            });
        }
        self.tally.reads_at.resize(self.outcomes.len(), 0);
    }

    /// Raw bit error rate after so many program/erase cycles.
    pub fn rber(&self, pe_cycles: f64) -> f64 {
        self.model.rber(&Stress { pe_cycles, ..Stress::default() })
    }

    /// Mean raw bit error rate over blocks with these erase counts.
    pub fn rber_mean(&mut self, erase_counts: impl Iterator<Item = u32>) -> f64 {
        let (mut sum, mut blocks) = (0.0, 0_u64);
        for erase_count in erase_counts {
            let index = erase_count as usize * self.stride;
            if index >= self.outcomes.len() {
                self.grow(index);
            }
            sum += self.outcomes[index].rber;
            blocks += 1;
        }
        if blocks == 0 {
            0.0
        } else {
            sum / blocks as f64
        }
    }

    /// The counts so far.
    pub fn tally(&self) -> &ReadTally {
        &self.tally
    }

    /// Figures of the reads since `earlier`.
    pub fn figures_since(&self, earlier: &ReadTally) -> ErrorFigures {
        let mut figures = ErrorFigures::default();
        for (index, (&now, outcome)) in self.tally.reads_at.iter().zip(&self.outcomes).enumerate() {
            let reads = now - earlier.reads_at.get(index).copied().unwrap_or(0);
            figures.reads += reads;
            figures.corrected_bits += reads as f64 * outcome.corrected_bits;
            figures.uncorrectable_mean += reads as f64 * outcome.loss;
            figures.uber += reads as f64 * outcome.uber;
        }
        if figures.reads > 0 {
            figures.uber /= figures.reads as f64;
        }
        let failures = self.tally.uncorrectable.iter().zip(&earlier.uncorrectable);
        figures.uncorrectable = failures.map(|(now, before)| now - before).sum();
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reliability::{WearKeys, Weibull};

    fn accounting(bch_t: u32, max_pe_cycles: f64) -> ReadErrors {
        let keys = WearKeys { rber_floor: None, rber_ceil: None, max_pe_cycles };
        let config = EccConfig { bch_t, ..EccConfig::default() };
        let code = config.page_code(4096, 1 << 20).expect("a code");
        ReadErrors::new(Box::new(Weibull::for_device(&keys)), code, 1)
    }

    #[test]
    fn drawn_failures_follow_their_probability_in_both_regimes() {
        // 4 KiB pages of BCH (255, 223) at 3000 cycles fail with probability 9.7e-4, at t = 1
        // almost always.
        for (bch_t, batch, batches) in [(4, 200, 20_000), (3, 50, 20_000), (1, 50, 2000)] {
            let mut errors = accounting(bch_t, 3000.0);
            (0..batches).for_each(|_| {
                errors.record(3000, batch, Source::Gc);
            });
            let figures = errors.figures_since(&ReadTally::default());
            let p = figures.uncorrectable_mean / figures.reads as f64;
            let deviation = (figures.reads as f64 * p * (1.0 - p)).sqrt();
            let gap = (figures.uncorrectable as f64 - figures.uncorrectable_mean).abs();
            assert!(gap < 4.5 * deviation + 1.0, "t={bch_t}: {gap} of {deviation}, p={p}");
        }
    }

    #[test]
    fn the_published_page_failure_is_met() {
        // A 4 KiB page of 147 codewords at RBER 9.87e-4: 9.7e-4 (analytic table).
        let mut errors = accounting(4, 3000.0);
        errors.record(3000, 1, Source::Host);
        let figures = errors.figures_since(&ReadTally::default());
        assert!((figures.uncorrectable_mean / 9.7e-4 - 1.0).abs() < 0.01, "{figures:?}");
        assert!((figures.corrected_bits / (147.0 * 223.0 * 9.87e-4) - 1.14).abs() < 0.01);
    }

    #[test]
    fn parity_that_does_not_fit_is_refused() {
        let error =
            EccConfig::default().page_code(4096, 512).expect_err("588 bytes do not fit 512");
        assert!(error.message.contains("588") && error.message.contains("512"), "{error}");
    }
}
