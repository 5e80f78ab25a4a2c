//! The bookkeeping of reads and their errors.
//!
//! A read's fate depends on the stress that its page is under: the erase count of its block, the
//! copybacks behind its data, its page type where the model tells page types apart, the class of
//! reads of its block where those are counted, and what the device file says of the rest. So reads
//! are counted per kind of stress. Mean figures are then exact sums over that histogram, without
//! sampling noise.
//!
//! Uncorrectable pages are drawn, in batches: failures of `n` independent reads with probability
//! `p` are points of a Poisson process of length `-n ln(1 - p)`, so one addition per batch decides
//! whether any occurs. Above `p` = 1 % each read is drawn by itself. A bit-true drive decodes its
//! host reads instead, see `bit_true`.
//!
//! ```text
//!   kind = ((erase count × (copybacks + 1) + copies) × page types + type) × classes + class
//!   slots[kind]     24 bytes: all that a read looks at
//!   outcomes[..]    the rest, computed when a kind is first met
//! ```

use opennandlab_ecc::PageCode;

use super::bit_true::BitTrue;
use super::disturb::{self, BlockReads};
use super::fate::{Fates, Outcome};
use super::figures::ReadTally;
use super::recovery::{Extra, Ladder};
use crate::geometry::Geometry;
use crate::nand::{CellMode, Media};
use crate::op::Source;
use crate::reliability::conditions::StressConfig;
use crate::reliability::{RberModel, Stress};
use crate::rng::Rng;
use crate::units::{BlockId, Ppn};

/// What a read looks at.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// Probability that the first read does not correct the page; [`UNKNOWN`] until it is asked.
    first_failure: f64,
    /// `-ln(1 - first_failure)`.
    hazard: f64,
    /// Where the outcome is.
    pub(super) outcome: u32,
}

/// Stands for a probability that was not computed yet; beyond the fast path like any large one.
const UNKNOWN: f64 = 2.0;

/// Reads of the drive by stress, and the failures among them.
pub struct ReadErrors {
    pub(super) fates: Fates,
    pub(super) bit_true: Option<Box<BitTrue>>,
    /// Copybacks that a page may have behind it, and one.
    pub(super) copies: usize,
    /// Page types that the model tells apart; 1 where it does not.
    pub(super) types: usize,
    /// Page type by place in the block; filled when a page type is first asked for.
    pub(super) type_at: Vec<u8>,
    /// Reads of blocks, where they are counted.
    pub(super) block_reads: Option<Box<BlockReads>>,
    /// By kind of stress, grown as blocks wear.
    pub(super) slots: Vec<Slot>,
    pub(super) outcomes: Vec<Outcome>,
    /// Raw bit error rate by erase count, for means over blocks; not a number until it is asked.
    pub(super) rates: Vec<f64>,
    pub(super) tally: ReadTally,
    pub(super) rng: Rng,
    /// Of the other pages of a stripe that is rebuilt.
    pub(super) stripe_rng: Rng,
    /// Hazard left until the next failure.
    pub(super) hazard_left: f64,
    /// A page was lost: the outcome of its stress, and whether its stripe gave it back.
    pub(super) lost: Option<(u32, bool)>,
}

/// Failure probability above which reads are drawn one by one.
const DRAW_EACH_ABOVE: f64 = 0.01;

impl ReadErrors {
    /// Accounting for flash with this error model and code.
    pub fn new(model: Box<dyn RberModel>, code: PageCode, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "ecc.uncorrectable");
        let hazard_left = rng.exponential();
        let types = model.page_types().len().max(1);
        let (ladder, stress) = (Ladder::default(), Stress::default());
        Self {
            fates: Fates { model, code, ladder, stress, stripe: 0 },
            bit_true: None,
            copies: 1,
            types,
            type_at: Vec::new(),
            block_reads: None,
            slots: Vec::new(),
            outcomes: Vec::new(),
            rates: Vec::new(),
            tally: ReadTally::default(),
            rng,
            stripe_rng: Rng::stream(seed, "ecc.stripe"),
            hazard_left,
            lost: None,
        }
    }

    /// Adds a recovery ladder, and pages that carry the errors of copybacks.
    #[must_use]
    pub fn with(mut self, ladder: Ladder, copyback_limit: u32) -> Self {
        self.tally.recovered = vec![0; ladder.rungs().len()];
        self.fates.ladder = ladder;
        self.copies = copyback_limit as usize + 1;
        self
    }

    /// Adds parity over stripes of pages, from which a lost one is rebuilt; 0 for none.
    #[must_use]
    pub fn with_stripe(mut self, stripe: u32) -> Self {
        self.fates.stripe = stripe;
        self
    }

    /// Changes the stress under which reads are made from now on. Counts of earlier reads are
    /// dropped, except those of each block where reads go on being counted.
    pub fn set_stress(&mut self, stress: &StressConfig, geometry: &Geometry) {
        self.settle();
        self.fates.stress = stress.stress();
        let counters =
            || BlockReads::new(geometry.block_count(), geometry.physical_pages_per_block);
        let kept = self.block_reads.take().map(|reads| *reads);
        self.block_reads = stress.count_reads.then(|| Box::new(kept.unwrap_or_else(counters)));
        // Kinds of stress mean something else now.
        self.slots.clear();
        self.outcomes.clear();
        self.rates.clear();
        self.tally.reads_at.clear();
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
        self.stripe_rng = Rng::stream(seed, "ecc.stripe");
        self.lost = None;
        if let Some(bit_true) = &mut self.bit_true {
            bit_true.reseed(seed);
        }
    }

    /// The rungs that reads may climb.
    pub fn ladder(&self) -> &Ladder {
        &self.fates.ladder
    }

    /// Names of the page types that are told apart, lower page first; none if they are not.
    pub fn page_types(&self) -> &'static [&'static str] {
        self.fates.model.page_types()
    }

    /// Whether it matters which pages of a block are read.
    #[inline]
    pub fn tells_pages(&self) -> bool {
        self.types > 1
    }

    /// Pages of a stripe; 0 without parity.
    pub fn stripe(&self) -> u32 {
        self.fates.stripe
    }

    /// The most reads of a block between two erases, per page of it; none where not counted.
    pub fn reads_per_page_max(&self) -> Option<f64> {
        self.block_reads.as_ref().map(|reads| reads.reads_per_page_max())
    }

    /// Whether the last page read was lost and has a stripe to be rebuilt from.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.fates.stripe > 0 && self.lost.is_some()
    }

    /// What it costs to read the other pages of the stripe of the page that was lost last, beyond
    /// their first reads: they lie under the same stress, and climb the same ladder.
    #[cold]
    pub fn rebuild_costs(&mut self) -> Vec<Extra> {
        let Some((index, is_rebuilt)) = self.lost.take() else { return Vec::new() };
        let outcome = &self.outcomes[index as usize];
        // Ranks of pages; those of a stripe that could be rebuilt are none of the lost.
        let least = if is_rebuilt { outcome.failure } else { 0.0 };
        let fates = &self.fates;
        (1..fates.stripe)
            .map(|_| {
                let rank = least + self.stripe_rng.unit() * (1.0 - least);
                if rank >= outcome.first_failure() {
                    return Extra::default();
                }
                fates.ladder.cost(outcome.climb(rank))
            })
            .collect()
    }

    /// A page was read; returns what that cost beyond the first read.
    #[inline]
    pub fn record_page(&mut self, media: &Media, ppn: Ppn, source: Source) -> Extra {
        if self.bit_true.is_some() && source == Source::Host {
            return self.decode_page(media, ppn);
        }
        let block = media.block_of(ppn);
        let page_type = if self.types == 1 { 0 } else { self.type_of(media, ppn) };
        self.record_typed(media, block, page_type, 1, source)
    }

    /// Page type by the place in the block: rows go through the types in turn, lower page first,
    /// as the lists of `nand.timing` do. A block of one bit per cell has lower pages only.
    #[inline]
    pub(super) fn type_of(&mut self, media: &Media, ppn: Ppn) -> usize {
        let geometry = media.geometry();
        if media.mode(geometry.block_of(ppn)) == CellMode::Slc {
            return 0;
        }
        usize::from(self.types_of_block(geometry)[geometry.page_index(ppn) as usize])
    }

    fn types_of_block(&mut self, geometry: &Geometry) -> &[u8] {
        if self.type_at.is_empty() {
            let of = |page| (geometry.row_of(page) as usize % self.types) as u8;
            self.type_at = (0..geometry.pages_per_block).map(of).collect();
        }
        &self.type_at
    }

    /// `page_count` pages of a block were read, whichever; returns what they cost together beyond
    /// that. Not for drives that tell pages apart.
    #[inline]
    pub fn record_in(
        &mut self,
        media: &Media,
        block: BlockId,
        page_count: u32,
        source: Source,
    ) -> Extra {
        debug_assert!(!self.tells_pages(), "which pages of {block:?}?");
        self.record_typed(media, block, 0, page_count, source)
    }

    /// Pages of a block were read, by their index in it; returns what they cost together beyond
    /// that.
    pub fn record_pages(
        &mut self,
        media: &Media,
        block: BlockId,
        page_indices: &[u32],
        source: Source,
    ) -> Extra {
        if !self.tells_pages() {
            return self.record_in(media, block, page_indices.len() as u32, source);
        }
        let mut counts = [0; TYPES_MAX];
        if media.mode(block) == CellMode::Slc {
            counts[0] = page_indices.len() as u32;
        } else {
            let types = self.types_of_block(media.geometry());
            for &page in page_indices {
                counts[usize::from(types[page as usize])] += 1;
            }
        }
        let mut extra = Extra::default();
        for (page_type, &count) in counts[..self.types].iter().enumerate() {
            if count > 0 {
                extra += self.record_typed(media, block, page_type, count, source);
            }
        }
        extra
    }

    #[inline]
    fn record_typed(
        &mut self,
        media: &Media,
        block: BlockId,
        page_type: usize,
        page_count: u32,
        source: Source,
    ) -> Extra {
        let kind = self.count_in(media, block, page_type, page_count);
        // What a collection lost is no news for the next read of a page.
        self.lost = None;
        self.draw(kind, page_count, source)
    }

    /// `page_count` lower pages of blocks with this erase count were read, which `copybacks` moves
    /// without correction lie behind; returns what they cost together beyond that.
    #[inline]
    pub fn record(
        &mut self,
        erase_count: u32,
        copybacks: u32,
        page_count: u32,
        source: Source,
    ) -> Extra {
        let kind = self.kind(erase_count, copybacks as usize, 0, 0);
        self.count(kind, page_count);
        self.draw(kind, page_count, source)
    }

    /// The fate of reads of one kind.
    #[inline]
    fn draw(&mut self, kind: usize, page_count: u32, source: Source) -> Extra {
        let slot = &self.slots[kind];
        if slot.first_failure <= DRAW_EACH_ABOVE {
            self.hazard_left -= f64::from(page_count) * slot.hazard;
            if self.hazard_left < 0.0 {
                return self.fail(kind, source);
            }
            Extra::default()
        } else {
            self.draw_each(kind, page_count, source)
        }
    }

    /// As [`ReadErrors::draw`] for reads that fail often, or whose outcome is not known yet.
    fn draw_each(&mut self, kind: usize, page_count: u32, source: Source) -> Extra {
        if self.slots[kind].first_failure >= UNKNOWN {
            self.know(kind);
            return self.draw(kind, page_count, source);
        }
        let failure = self.slots[kind].first_failure;
        let failed = (0..page_count).filter(|_| self.rng.unit() < failure).count();
        let mut extra = Extra::default();
        (0..failed).for_each(|_| extra += self.recover(kind, source));
        extra
    }

    #[inline]
    fn kind(&self, erase_count: u32, copies: usize, page_type: usize, class: usize) -> usize {
        let kind = erase_count as usize * self.copies + copies;
        if self.types == 1 && self.block_reads.is_none() {
            return kind;
        }
        (kind * self.types + page_type) * self.classes() + class
    }

    /// Classes of reads per block.
    pub(super) fn classes(&self) -> usize {
        self.block_reads.as_ref().map_or(1, |_| disturb::CLASS_COUNT)
    }

    /// Counts reads of pages of one type of a block; returns their kind.
    #[inline]
    pub(super) fn count_in(
        &mut self,
        media: &Media,
        block: BlockId,
        page_type: usize,
        page_count: u32,
    ) -> usize {
        let erases = media.erase_count(block);
        let copies = if self.copies == 1 { 0 } else { usize::from(media.copyback_depth(block)) };
        let class =
            self.block_reads.as_mut().map_or(0, |reads| reads.note(block, erases, page_count));
        let kind = self.kind(erases, copies, page_type, class);
        self.count(kind, page_count);
        kind
    }

    #[inline]
    fn count(&mut self, kind: usize, page_count: u32) {
        if kind >= self.slots.len() {
            self.grow(kind);
        }
        self.tally.reads_at[kind] += u64::from(page_count);
    }

    #[cold]
    fn grow(&mut self, kind: usize) {
        // Whole rows, so that the length stays a multiple of an erase count's kinds.
        let row = self.copies * self.types * self.classes();
        let limit = (kind / row + 1) * row;
        self.slots.resize(limit, Slot { first_failure: UNKNOWN, hazard: 0.0, outcome: 0 });
        self.tally.reads_at.resize(limit, 0);
    }

    /// Computes the outcome of a kind if it is not known; returns where it is.
    #[cold]
    pub(super) fn know(&mut self, kind: usize) -> usize {
        if self.slots[kind].first_failure < UNKNOWN {
            return self.slots[kind].outcome as usize;
        }
        let class = kind % self.classes();
        let rest = kind / self.classes();
        let (page_type, rest) = (rest % self.types, rest / self.types);
        let stress = Stress {
            pe_cycles: (rest / self.copies) as f64,
            reads: self.fates.stress.reads + disturb::reads_of(class),
            page_type: self.tells_pages().then_some(page_type as u8),
            ..self.fates.stress
        };
        // A page that was copied without correction carries the errors of each of its lives.
        let lives = (rest % self.copies + 1) as f64;
        let outcome = self.fates.outcome(&stress, lives);
        let first_failure = outcome.first_failure();
        self.slots[kind] = Slot {
            first_failure,
            hazard: -libm::log1p(-first_failure),
            outcome: self.outcomes.len() as u32,
        };
        self.outcomes.push(outcome);
        self.outcomes.len() - 1
    }

    #[cold]
    fn fail(&mut self, kind: usize, source: Source) -> Extra {
        let mut extra = Extra::default();
        while self.hazard_left < 0.0 {
            extra += self.recover(kind, source);
            self.hazard_left += self.rng.exponential();
        }
        extra
    }

    /// The first read of a page did not correct it: what the ladder costs, successful or not.
    fn recover(&mut self, kind: usize, source: Source) -> Extra {
        let index = self.slots[kind].outcome as usize;
        if self.fates.ladder.rungs().len() == 1 {
            self.lose(index, source);
            return Extra::default();
        }
        // One number stands for how bad the page is, so that rungs only ever help.
        let outcome = &self.outcomes[index];
        let rank = self.rng.unit() * outcome.first_failure();
        let rung = outcome.climb(rank);
        match rung {
            Some(rung) => self.tally.recovered[rung] += 1,
            None => {
                self.lose(index, source);
            }
        }
        self.fates.ladder.cost(rung)
    }

    /// No read corrects the page: its stripe gives it back, unless another page of it is lost too.
    /// Returns whether it did.
    pub(super) fn lose(&mut self, index: usize, source: Source) -> bool {
        let failure = self.outcomes[index].failure;
        let is_rebuilt = self.fates.stripe > 0
            && self.rng.unit() < libm::pow(1.0 - failure, self.fates.others());
        if is_rebuilt {
            self.tally.rebuilt += 1;
        } else {
            self.tally.uncorrectable[source as usize] += 1;
        }
        self.lost = Some((index as u32, is_rebuilt));
        is_rebuilt
    }

    /// Raw bit error rate after so many program/erase cycles, under the stress of the drive, mean
    /// over page types.
    pub fn rber(&self, pe_cycles: f64) -> f64 {
        self.fates.rber(pe_cycles)
    }

    /// Mean raw bit error rate over blocks with these erase counts, without counted reads.
    pub fn rber_mean(&mut self, erase_counts: impl Iterator<Item = u32>) -> f64 {
        let (mut sum, mut blocks) = (0.0, 0_u64);
        for erase_count in erase_counts {
            let index = erase_count as usize;
            if index >= self.rates.len() {
                self.rates.resize(index + 1, f64::NAN);
            }
            if self.rates[index].is_nan() {
                self.rates[index] = self.fates.rber(f64::from(erase_count)).min(0.5);
            }
            sum += self.rates[index];
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
}

/// Bits of a cell, at most.
const TYPES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads::{EccConfig, ErrorFigures, TypeFigures};
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
                errors.record(3000, 0, batch, Source::Gc);
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
        errors.record(3000, 0, 1, Source::Host);
        let figures = errors.figures_since(&ReadTally::default());
        assert!((figures.uncorrectable_mean / 9.7e-4 - 1.0).abs() < 0.01, "{figures:?}");
        assert!((figures.corrected_bits / (147.0 * 223.0 * 9.87e-4) - 1.14).abs() < 0.01);
    }

    #[test]
    fn the_margin_leads_to_the_limit() {
        let errors = accounting(4, 3000.0);
        let margin = |rber: f64, uber_max: f64| {
            let one = TypeFigures { reads: 10, rates: vec![rber], ..TypeFigures::default() };
            let by_type = vec![one, TypeFigures::default()];
            let figures = ErrorFigures { reads: 10, by_type, ..ErrorFigures::default() };
            errors.margin(&figures, uber_max)
        };
        let found = margin(1e-4, 1e-9).expect("within reach");
        let uber = errors.fates.code.uber(1e-4 * found);
        assert!((uber / 1e-9 - 1.0).abs() < 1e-9, "{uber:e} at {found}");
        assert!(margin(1e-2, 1e-9).expect("beyond") < 1.0);
        assert_eq!((margin(0.0, 1e-9), margin(1e-4, 1.0)), (None, None));
    }
}
