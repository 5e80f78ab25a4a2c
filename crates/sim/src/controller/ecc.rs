//! The bookkeeping of reads and their errors.
//!
//! A read's fate depends on the erase count of its block alone (for now), so reads are counted per
//! erase count. Mean figures are then exact sums over that histogram, without sampling noise.
//! Uncorrectable pages are drawn, in batches: failures of `n` independent reads with probability
//! `p` are points of a Poisson process of length `-n ln(1 - p)`, so one addition per batch decides
//! whether any occurs. Above `p` = 1 % each read is drawn by itself. A bit-true drive decodes its
//! host reads instead, see `bit_true`.

use opennandlab_ecc::PageCode;

use super::bit_true::BitTrue;
pub use super::code::{Algorithm, EccConfig, FerRow, Fidelity, ReliabilityClass};
use super::recovery::{Extra, Ladder};
use crate::nand::Media;
use crate::op::{Source, SOURCE_COUNT};
use crate::reliability::{RberModel, Stress};
use crate::rng::Rng;
use crate::units::{BlockId, Ppn};

/// What a read of a page gives at one erase count.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    rber: f64,
    /// Probability that the page is uncorrectable, after the whole ladder.
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
    /// Whether the last two go beyond what was measured of the code.
    is_extrapolated: bool,
}

/// Reads of the drive by erase count, and the failures among them.
pub struct ReadErrors {
    model: Box<dyn RberModel>,
    code: PageCode,
    ladder: Ladder,
    bit_true: Option<Box<BitTrue>>,
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
    /// Page reads that were corrected on each rung of the ladder; the first read is not counted.
    pub recovered: Vec<u64>,
    /// Pages that were rebuilt from their stripe.
    pub rebuilt: u64,
    /// Uncorrectable page reads by source.
    pub uncorrectable: [u64; SOURCE_COUNT],
    /// Pages that were decoded bit by bit.
    pub decoded_pages: u64,
    /// Codewords among them that were lost for good.
    pub lost_codewords: u64,
}

/// Error figures of a span of reads.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Mean raw bit error rate of the reads.
    pub rber: f64,
    /// Reads whose failure probability goes beyond what was measured of the code.
    pub extrapolated_reads: u64,
    /// Reads that were corrected on each rung after the first.
    pub recovered: Vec<u64>,
    /// Pages rebuilt from their stripe.
    pub rebuilt: u64,
    /// Data bits that were decoded bit by bit.
    pub decoded_bits: u64,
    /// Codewords among them that were lost for good.
    pub lost_codewords: u64,
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
            ladder: Ladder::default(),
            bit_true: None,
            stride: 1,
            stripe: 0,
            is_lost: false,
            outcomes: Vec::new(),
            tally: ReadTally::default(),
            rng,
            hazard_left,
        }
    }

    /// Adds a recovery ladder, and pages that carry the errors of copybacks.
    #[must_use]
    pub fn with(mut self, ladder: Ladder, copyback_limit: u32) -> Self {
        self.tally.recovered = vec![0; ladder.rungs().len()];
        self.ladder = ladder;
        self.stride = copyback_limit as usize + 1;
        self
    }

    /// Adds parity over stripes of pages, from which a lost one is rebuilt; 0 for none.
    #[must_use]
    pub fn with_stripe(mut self, stripe: u32) -> Self {
        self.stripe = stripe;
        self
    }

    /// Decodes host reads bit by bit.
    #[must_use]
    pub fn with_bit_true(mut self, bit_true: Option<BitTrue>) -> Self {
        self.bit_true = bit_true.map(Box::new);
        self
    }

    /// Draws follow from this seed from now on.
    pub fn reseed(&mut self, seed: u64) {
        self.rng = Rng::stream(seed, "ecc.uncorrectable");
        self.hazard_left = self.rng.exponential();
        self.is_lost = false;
        if let Some(bit_true) = &mut self.bit_true {
            bit_true.reseed(seed);
        }
    }

    /// The rungs that reads may climb.
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
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

    /// A page was read; returns what that cost beyond the first read.
    #[inline]
    pub fn record_page(&mut self, media: &Media, ppn: Ppn, source: Source) -> Extra {
        if self.bit_true.is_some() && source == Source::Host {
            return self.decode_page(media, ppn);
        }
        self.record_in(media, media.block_of(ppn), 1, source)
    }

    #[cold]
    fn decode_page(&mut self, media: &Media, ppn: Ppn) -> Extra {
        let block = media.block_of(ppn);
        let (erases, lpn) = (media.erase_count(block), media.lpn_at(ppn));
        let copybacks = if self.stride == 1 { 0 } else { media.copyback_depth(block) };
        let index = self.count(erases, copybacks.into(), 1);
        let outcome = self.outcomes[index];
        let Some(decoder) = &mut self.bit_true else { return Extra::default() };
        // Three odd constants keep the three apart; the generator mixes them.
        let hash = u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from(ppn.0).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ u64::from(erases).wrapping_mul(0x1656_67b1_9e37_79f9);
        let fate = decoder.read(hash, outcome.rber, &self.ladder);
        self.tally.decoded_pages += 1;
        match fate.rung {
            Some(0) => {}
            Some(rung) => self.tally.recovered[rung] += 1,
            None if self.lose(&outcome, Source::Host) => {}
            None => self.tally.lost_codewords += u64::from(fate.lost),
        }
        self.ladder.cost(fate.rung)
    }

    /// `page_count` pages of a block were read; returns what they cost together beyond that.
    #[inline]
    pub fn record_in(
        &mut self,
        media: &Media,
        block: BlockId,
        page_count: u32,
        source: Source,
    ) -> Extra {
        let copybacks = if self.stride == 1 { 0 } else { media.copyback_depth(block) };
        self.record_stressed(media.erase_count(block), copybacks.into(), page_count, source)
    }

    /// As [`ReadErrors::record_stressed`], for pages without copybacks.
    #[inline]
    pub fn record(&mut self, erase_count: u32, page_count: u32, source: Source) -> Extra {
        self.record_stressed(erase_count, 0, page_count, source)
    }

    /// `page_count` pages of a block with this erase count were read, which `copybacks` moves
    /// without correction lie behind; returns what they cost together beyond that.
    #[inline]
    pub fn record_stressed(
        &mut self,
        erase_count: u32,
        copybacks: u32,
        page_count: u32,
        source: Source,
    ) -> Extra {
        let index = self.count(erase_count, copybacks, page_count);
        let outcome = &self.outcomes[index];
        if outcome.first_failure <= DRAW_EACH_ABOVE {
            self.hazard_left -= f64::from(page_count) * outcome.hazard;
            if self.hazard_left < 0.0 {
                return self.fail(index, source);
            }
            Extra::default()
        } else {
            let failure = outcome.first_failure;
            let failed = (0..page_count).filter(|_| self.rng.unit() < failure).count();
            let mut extra = Extra::default();
            (0..failed).for_each(|_| extra += self.recover(index, source));
            extra
        }
    }

    /// Counts reads; returns where their outcome is.
    #[inline]
    fn count(&mut self, erase_count: u32, copybacks: u32, page_count: u32) -> usize {
        let index = erase_count as usize * self.stride + copybacks as usize;
        if index >= self.outcomes.len() {
            self.grow(index);
        }
        self.tally.reads_at[index] += u64::from(page_count);
        index
    }

    #[cold]
    fn fail(&mut self, index: usize, source: Source) -> Extra {
        let mut extra = Extra::default();
        while self.hazard_left < 0.0 {
            extra += self.recover(index, source);
            self.hazard_left += self.rng.exponential();
        }
        extra
    }

    /// The first read of a page did not correct it: what the ladder costs, successful or not.
    fn recover(&mut self, index: usize, source: Source) -> Extra {
        let outcome = self.outcomes[index];
        if self.ladder.rungs().len() == 1 {
            self.lose(&outcome, source);
            return Extra::default();
        }
        // One number stands for how bad the page is, so that rungs only ever help.
        let rank = self.rng.unit() * outcome.first_failure;
        let rung = self.ladder.climb(outcome.rber, rank, &self.code);
        match rung {
            Some(rung) => self.tally.recovered[rung] += 1,
            None => {
                self.lose(&outcome, source);
            }
        }
        self.ladder.cost(rung)
    }

    /// No read corrects the page: its stripe gives it back, unless another page of it is lost too.
    /// Returns whether it did.
    fn lose(&mut self, outcome: &Outcome, source: Source) -> bool {
        self.is_lost = self.stripe > 0;
        if self.is_lost && self.rng.unit() < libm::pow(1.0 - outcome.failure, self.others()) {
            self.tally.rebuilt += 1;
            true
        } else {
            self.tally.uncorrectable[source as usize] += 1;
            false
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
            self.outcomes.push(self.outcome(rber));
        }
        self.tally.reads_at.resize(self.outcomes.len(), 0);
    }

    /// What reads give at an error rate.
    fn outcome(&self, rber: f64) -> Outcome {
        let first_failure = self.code.page_failure_probability(rber);
        let (rung, failure) = self.ladder.best(rber, &self.code);
        let last_rber = rber * rung.factor;
        // With parity, data is lost only when another page of the stripe is lost as well.
        let survives =
            if self.stripe > 0 { 1.0 - libm::pow(1.0 - failure, self.others()) } else { 1.0 };
        Outcome {
            rber,
            failure,
            loss: failure * survives,
            first_failure,
            hazard: -libm::log1p(-first_failure),
            corrected_bits: self.code.corrected_bits_mean(rber),
            uber: self.code.uber_after(last_rber, rung.reads) * survives,
            is_extrapolated: self.code.is_extrapolated(last_rber, rung.reads),
        }
    }

    /// The factor by which an error rate could grow until data errors per bit read come to a
    /// limit; below 1 when they are beyond it, none when no factor leads there.
    pub fn margin(&self, rber: f64, uber_max: f64) -> Option<f64> {
        // In logarithms of the factor: from a billionth up to where half of the bits are wrong.
        let uber = |log_factor: f64| self.outcome((rber * libm::exp(log_factor)).min(0.5)).uber;
        let (mut low, mut high) = (-20.0, libm::log(0.5 / rber));
        if !(rber > 0.0 && uber(low) < uber_max && uber(high) > uber_max) {
            return None;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if uber(middle) < uber_max {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(libm::exp(0.5 * (low + high)))
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
            figures.rber += reads as f64 * outcome.rber;
            figures.extrapolated_reads += if outcome.is_extrapolated { reads } else { 0 };
        }
        if figures.reads > 0 {
            figures.uber /= figures.reads as f64;
            figures.rber /= figures.reads as f64;
        }
        let before = |rung: usize| earlier.recovered.get(rung).copied().unwrap_or(0);
        let rungs = self.tally.recovered.iter().enumerate();
        figures.recovered = rungs.map(|(rung, now)| now - before(rung)).collect();
        figures.rebuilt = self.tally.rebuilt - earlier.rebuilt;
        figures.decoded_bits =
            (self.tally.decoded_pages - earlier.decoded_pages) * u64::from(self.code.page_bits());
        figures.lost_codewords = self.tally.lost_codewords - earlier.lost_codewords;
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
    fn the_margin_leads_to_the_limit() {
        let errors = accounting(4, 3000.0);
        let margin = errors.margin(1e-4, 1e-9).expect("within reach");
        let uber = errors.code.uber(1e-4 * margin);
        assert!((uber / 1e-9 - 1.0).abs() < 1e-9, "{uber:e} at {margin}");
        assert!(errors.margin(1e-2, 1e-9).expect("beyond") < 1.0);
        assert_eq!((errors.margin(0.0, 1e-9), errors.margin(1e-4, 1.0)), (None, None));
    }
}
